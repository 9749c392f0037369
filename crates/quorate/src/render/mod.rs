//! A trace as a space-time diagram: one lane a process, time downwards, an arrow for every message where
//! it is received, and beside each step what it did.
//!
//! The parts: `debug_text` reads what `Debug` printed, `change` compares two states, `story` collects what is shown,
//! `lanes` draws the picture, `notes` writes the words, `canvas` prints both; `svg` makes a picture of the same story.
//!
//! Known: a letter is taken for one column wide.
//! Invariant: no line is longer than the width, and nothing but the width decides the layout.
//! Held by: tests/diagram.rs.

mod canvas;
mod change;
mod debug_text;
mod lanes;
mod notes;
mod story;
mod svg;

use std::fmt;

use self::canvas::{Line, Style};
use self::debug_text::{Tree, columns, cut, fit};
use self::lanes::Layout;
use self::story::{Story, enumerate_names};
pub use self::svg::svg;
use crate::model::Trace;
use crate::replay::Broken;

/// How wide a diagram is by default.
const WIDTH_DEFAULT: usize = 100;
/// Narrower than this, nothing can be shown.
const WIDTH_MIN: usize = 40;

const LEGEND: &str = "n──▶● receives what step n sent";

/// How a diagram is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paint {
    /// Not at all.
    Plain,
    /// With ANSI colours.
    Ansi,
}

/// A trace with what it breaks, ready to print.
pub struct Diagram<'t> {
    trace: &'t Trace,
    broken: &'t Broken,
    paint: Paint,
    width: usize,
}

impl<'t> Diagram<'t> {
    /// Prepares a trace for printing.
    pub fn new(trace: &'t Trace, broken: &'t Broken, paint: Paint) -> Self {
        Diagram { trace, broken, paint, width: WIDTH_DEFAULT }
    }

    /// In at most this many columns; 100 by default, 40 at least.
    #[must_use]
    pub fn width(mut self, columns: usize) -> Self {
        self.width = columns.max(WIDTH_MIN);
        self
    }

    fn picture(&self, story: &Story<'_>, layout: &Layout) -> Vec<Line> {
        let mut lines = layout.header(story);
        let has_arrows = story.moments.iter().any(|moment| !moment.arrivals.is_empty());
        if let Some(first) = lines.first_mut()
            && layout.numbered_tails
            && has_arrows
            && layout.notes + columns(LEGEND) <= self.width
        {
            first.put(layout.notes, LEGEND, Style::Faint);
        }
        lines.push(layout.empty());
        let room = self.width - layout.notes;
        for moment in &story.moments {
            let notes = notes::notes(story, moment, room, !layout.numbered_tails);
            for (at, note) in notes.iter().enumerate() {
                let mut line = if at == 0 { layout.step(moment) } else { layout.empty() };
                line.overlay(layout.notes, note);
                lines.push(line);
            }
        }
        if !story.observed.is_empty() {
            lines.push(layout.observed(story));
        }
        lines
    }

    /// Too many lanes to draw: steps in words.
    fn list(&self, story: &Story<'_>) -> Vec<Line> {
        let gutter = columns(&story.moments.len().to_string()) + 2;
        let mut lines = Vec::new();
        for moment in &story.moments {
            for (at, note) in notes::notes(story, moment, self.width - gutter, true).iter().enumerate() {
                let mut line = Line::default();
                if at == 0 {
                    line.put(0, &format!("{:>1$}", moment.number, gutter - 1), Style::Faint);
                }
                line.overlay(gutter, note);
                lines.push(line);
            }
        }
        lines
    }

    /// What is broken, and what was seen of it.
    fn conclusion(&self, story: &Story<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut say = |text: &str, style| {
            let mut line = Line::default();
            line.put(1, &cut(text, self.width - 1), style);
            lines.push(line);
        };
        match self.broken {
            Broken::Property { name, .. } | Broken::History { name, .. } => {
                let after = self.trace.steps.len();
                let when =
                    if after == 0 { "at the start".to_string() } else { format!("after step {after}") };
                say(&format!("✗ violated {when}: {name}"), Style::Bad);
            }
            Broken::Panic { process, transition, message } => {
                let name = self.trace.processes.get(process.index()).map_or("?", String::as_str);
                say(&format!("✗ {name} panics in {transition}: {message}"), Style::Bad);
            }
        }
        if let Broken::History { heard, .. } = self.broken {
            say(
                &fit("  the monitor: ", &Tree::read(heard, &self.trace.processes), "", self.width - 1),
                Style::Bad,
            );
        }
        let who =
            |lanes: &[usize]| enumerate_names(lanes.iter().map(|&lane| story.lanes[lane].name.as_str()));
        let names: Vec<String> =
            story.observed.iter().map(|observed| cut(&who(&observed.lanes), self.width / 2)).collect();
        let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
        for (observed, name) in story.observed.iter().zip(&names) {
            let before = format!("  {name:<widest$}  ");
            say(&fit(&before, &observed.value, "", self.width - 1), Style::Bad);
        }
        lines
    }
}

impl fmt::Display for Diagram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let story = Story::of(self.trace, self.broken);
        let mut lines = match Layout::of(&story, self.width) {
            Some(layout) => self.picture(&story, &layout),
            None => self.list(&story),
        };
        lines.extend(self.conclusion(&story));
        lines.iter().try_for_each(|line| line.print(f, self.paint))
    }
}

impl fmt::Display for crate::replay::Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "violated: {}", self.broken)?;
        write!(f, "{}", Diagram::new(&self.trace, &self.broken, Paint::Plain))
    }
}
