//! Styled lines: text placed by column, printed with or without ANSI colours.
//!
//! Invariant: control letters never reach the terminal, so no text of the user's can move its cursor.

use std::fmt;

use super::Paint;

/// How a piece of text looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    Normal,
    Faint,
    Strong,
    /// In the colour of a lane.
    Lane(usize),
    StrongLane(usize),
    /// What is broken.
    Bad,
}

/// Red is kept for what is broken.
const LANE_COLOURS: [u8; 10] = [36, 33, 32, 35, 34, 96, 93, 92, 95, 94];

impl Style {
    fn start(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colour = |lane: usize| LANE_COLOURS[lane % LANE_COLOURS.len()];
        match self {
            Style::Normal => Ok(()),
            Style::Faint => write!(f, "\x1b[2m"),
            Style::Strong => write!(f, "\x1b[1m"),
            Style::Lane(lane) => write!(f, "\x1b[{}m", colour(lane)),
            Style::StrongLane(lane) => write!(f, "\x1b[1;{}m", colour(lane)),
            Style::Bad => write!(f, "\x1b[1;31m"),
        }
    }

    fn end(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self == Style::Normal { Ok(()) } else { write!(f, "\x1b[0m") }
    }
}

/// A line of text.
#[derive(Clone, Default, Debug)]
pub(super) struct Line(Vec<(char, Style)>);

impl Line {
    /// How long it is.
    pub(super) fn columns(&self) -> usize {
        self.0.len()
    }

    /// What stands in a column.
    pub(super) fn letter(&self, column: usize) -> char {
        self.0.get(column).map_or(' ', |(letter, _)| *letter)
    }

    /// Writes over what is there, from a column on.
    pub(super) fn put(&mut self, column: usize, text: &str, style: Style) {
        let end = column + text.chars().count();
        if self.0.len() < end {
            self.0.resize(end, (' ', Style::Normal));
        }
        for (at, letter) in text.chars().enumerate() {
            self.0[column + at] = (if letter.is_control() { ' ' } else { letter }, style);
        }
    }

    /// Writes behind what is there.
    pub(super) fn add(&mut self, text: &str, style: Style) {
        self.put(self.0.len(), text, style);
    }

    /// Writes another line over this one, from a column on.
    pub(super) fn overlay(&mut self, column: usize, other: &Line) {
        for (at, (letter, style)) in other.0.iter().enumerate() {
            self.put(column + at, letter.encode_utf8(&mut [0; 4]), *style);
        }
    }

    /// Its text without the spaces at its end, in pieces of one style.
    pub(super) fn runs(&self) -> impl Iterator<Item = (String, Style)> {
        let end = self.0.iter().rposition(|(letter, _)| *letter != ' ').map_or(0, |last| last + 1);
        let runs = self.0[..end].chunk_by(|(_, a), (_, b)| a == b);
        runs.map(|run| (run.iter().map(|(letter, _)| letter).collect(), run[0].1))
    }

    /// Prints it.
    pub(super) fn print(&self, f: &mut fmt::Formatter<'_>, paint: Paint) -> fmt::Result {
        for (text, style) in self.runs() {
            let style = if paint == Paint::Ansi { style } else { Style::Normal };
            style.start(f)?;
            f.write_str(&text)?;
            style.end(f)?;
        }
        writeln!(f)
    }
}
