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
pub(crate) use self::debug_text::columns;
use self::debug_text::{Tree, broken_up, fit};
use self::lanes::Layout;
use self::story::{Story, enumerate_names};
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
    searched_from: Option<Mark>,
}

/// Where a search began that did not begin at the beginning.
struct Mark {
    /// After how many steps.
    step: usize,
    /// What is said there.
    text: String,
}

impl<'t> Diagram<'t> {
    /// Prepares a trace for printing.
    pub fn new(trace: &'t Trace, broken: &'t Broken, paint: Paint) -> Self {
        Diagram { trace, broken, paint, width: WIDTH_DEFAULT, searched_from: None }
    }

    /// In at most this many columns; 100 by default, 40 at least.
    #[must_use]
    pub fn width(mut self, columns: usize) -> Self {
        self.width = columns.max(WIDTH_MIN);
        self
    }

    /// Marks the place after so many steps: there the search began, because something, such as a snapshot, ended.
    #[must_use]
    pub fn searched_from(mut self, step: usize, ended: &str) -> Self {
        self.searched_from = Some(Mark { step, text: format!("{ended}, the search begins") });
        self
    }

    /// Before which of the moments of a story the mark stands; none if behind all.
    fn mark_before(&self, story: &Story<'_>) -> Option<(usize, &Mark)> {
        let mark = self.searched_from.as_ref()?;
        let later = story.moments.iter().position(|moment| moment.number > mark.step);
        Some((later.unwrap_or(story.moments.len()), mark))
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
        let mark = self.mark_before(story);
        let mut beside = |notes: Vec<Line>, first: Line| {
            let mut first = Some(first);
            for note in notes {
                let mut line = first.take().unwrap_or_else(|| layout.empty());
                line.overlay(layout.notes, &note);
                lines.push(line);
            }
        };
        beside(notes::left_out(story, room), layout.empty());
        for at in 0..=story.moments.len() {
            if let Some((_, mark)) = mark.filter(|(before, _)| *before == at) {
                beside(faint(&mark.text, room), layout.rule());
            }
            if let Some(moment) = story.moments.get(at) {
                beside(notes::notes(story, moment, room, !layout.numbered_tails), layout.step(moment));
            }
        }
        if !story.observed.is_empty() {
            lines.push(layout.observed(story));
        }
        lines
    }

    /// Too many lanes to draw: steps in words.
    fn list(&self, story: &Story<'_>) -> Vec<Line> {
        let gutter = columns(&story.steps.to_string()) + 2;
        let room = self.width - gutter;
        let mark = self.mark_before(story);
        let mut lines = Vec::new();
        let mut beside = |notes: Vec<Line>, number: &str| {
            for (at, note) in notes.iter().enumerate() {
                let mut line = Line::default();
                line.put(0, &format!("{:>1$}", if at == 0 { number } else { "" }, gutter - 1), Style::Faint);
                line.overlay(gutter, note);
                lines.push(line);
            }
        };
        beside(notes::left_out(story, room), "");
        for at in 0..=story.moments.len() {
            if let Some((_, mark)) = mark.filter(|(before, _)| *before == at) {
                beside(faint(&format!("┄┄ {}", mark.text), room), "");
            }
            if let Some(moment) = story.moments.get(at) {
                beside(notes::notes(story, moment, room, true), &moment.number.to_string());
            }
        }
        lines
    }

    /// What is broken, and what was seen of it.
    fn conclusion(&self, story: &Story<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        let room = self.width - 1;
        let mut say = |texts: Vec<String>| {
            for text in texts {
                let mut line = Line::default();
                line.put(1, &text, Style::Bad);
                lines.push(line);
            }
        };
        match self.broken {
            Broken::Property { .. } | Broken::History { .. } => {
                let after = self.trace.steps.len();
                let when =
                    if after == 0 { "at the start".to_string() } else { format!("after step {after}") };
                say(broken_up(&format!("✗ violated {when}: {}", self.broken), room));
            }
            Broken::Panic { process, transition, message } => {
                let name = self.trace.processes.get(process.index()).map_or("?", String::as_str);
                say(broken_up(&format!("✗ {name} panics in {transition}: {message}"), room));
            }
        }
        if let Broken::History { heard, .. } = self.broken {
            say(fit("  the monitor: ", &Tree::read(heard, &self.trace.processes), "", room));
        }
        let who =
            |lanes: &[usize]| enumerate_names(lanes.iter().map(|&lane| story.lanes[lane].name.as_str()));
        let names: Vec<String> = story.observed.iter().map(|observed| who(&observed.lanes)).collect();
        let short = |name: &&String| columns(name) <= self.width / 2;
        let widest = names.iter().filter(short).map(|name| columns(name)).max().unwrap_or(0);
        for (observed, name) in story.observed.iter().zip(&names) {
            let before = if short(&name) {
                format!("  {name:<widest$}  ")
            } else {
                say(broken_up(&format!("  {name}"), room));
                "    ".to_string()
            };
            say(fit(&before, &observed.value, "", room));
        }
        lines
    }
}

/// A remark in as many lines as it takes.
fn faint(text: &str, width: usize) -> Vec<Line> {
    let line = |text: String| {
        let mut line = Line::default();
        line.put(0, &text, Style::Faint);
        line
    };
    broken_up(text, width).into_iter().map(line).collect()
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
