//! The picture: a lane a process, a mark where it steps, an arrow to the mark from the lane of every
//! sender. The tail of an arrow is the number of the step that sent the message; a quorum is several
//! tails on one line.
//!
//! Known: arrows are drawn where a message is received, so time stays vertical and lines never cross
//! between steps; what is sent and never received is told in the notes.

use super::canvas::{Line, Style};
use super::debug_text::{Tree, columns, cut};
use super::story::{Arrival, Moment, Story, split_name};

/// What the notes beside the picture get at least, and what they get before lanes are widened.
const NOTES_MIN: usize = 30;
const NOTES_GOOD: usize = 46;
/// Below this, lanes cannot be told apart.
const LANE_MIN: usize = 2;
const LANE_MAX: usize = 14;

/// Where everything stands.
pub(super) struct Layout {
    gutter: usize,
    lane: usize,
    lanes: usize,
    /// Where the notes begin.
    pub(super) notes: usize,
    /// Are lanes wide enough for the number of every step?
    pub(super) numbered_tails: bool,
}

impl Layout {
    /// Finds room for the lanes of a story. `None` if there are too many: the notes are then all there is.
    pub(super) fn of(story: &Story<'_>, width: usize) -> Option<Self> {
        let digits = columns(&story.moments.len().to_string());
        let (gutter, lanes) = (digits + 2, story.lanes.len().max(1));
        let room_for_lanes = |notes: usize| width.saturating_sub(gutter + notes + 2) / lanes;
        let longest_name = story.lanes.iter().map(|lane| columns(&lane.name)).max().unwrap_or(0);
        let widest = (longest_name + 2).clamp(8, LANE_MAX);
        let good = room_for_lanes(NOTES_GOOD).min(widest);
        // Narrow lanes are no use: take some room from the notes instead.
        let lane = if good < 6 { room_for_lanes(NOTES_MIN).min(6) } else { good };
        (lane >= LANE_MIN).then(|| Layout {
            gutter,
            lane,
            lanes,
            notes: gutter + lanes * lane + 2,
            numbered_tails: digits < lane,
        })
    }

    fn column(&self, lane: usize) -> usize {
        self.gutter + lane * self.lane + self.lane / 2
    }

    fn centred(&self, line: &mut Line, lanes: std::ops::Range<usize>, text: &str, style: Style) {
        let span = lanes.len() * self.lane;
        let text = cut(text, span.saturating_sub(1).max(1));
        // An odd number of lanes has a lane in its middle, on which the text is centred.
        let middle = usize::midpoint(self.column(lanes.start), self.column(lanes.end - 1));
        line.put((middle + 1).saturating_sub(columns(&text).div_ceil(2)), &text, style);
    }

    /// The names of the lanes: in one line if they fit, else roles above and numbers below.
    pub(super) fn header(&self, story: &Story<'_>) -> Vec<Line> {
        let names: Vec<&str> = story.lanes.iter().map(|lane| lane.name.as_str()).collect();
        if names.iter().all(|name| columns(name) < self.lane) {
            let mut line = Line::default();
            for (lane, name) in names.iter().enumerate() {
                self.centred(&mut line, lane..lane + 1, name, Style::StrongLane(lane));
            }
            return vec![line];
        }
        let mut roles = Line::default();
        let mut from = 0;
        for group in names.chunk_by(|a, b| split_name(a).1.is_some() && split_name(a).0 == split_name(b).0) {
            self.centred(&mut roles, from..from + group.len(), split_name(group[0]).0, Style::Strong);
            from += group.len();
        }
        let numbers: Vec<&str> = names.iter().map(|name| split_name(name).1.unwrap_or("")).collect();
        let digits = numbers.iter().map(|number| number.len()).max().unwrap_or(0);
        let mut lines = vec![roles];
        if digits < self.lane {
            let mut line = Line::default();
            for (lane, number) in numbers.iter().enumerate() {
                self.centred(&mut line, lane..lane + 1, number, Style::StrongLane(lane));
            }
            lines.push(line);
        } else {
            // Numbers that would touch are written downwards.
            for digit in 0..digits {
                let mut line = Line::default();
                for (lane, number) in numbers.iter().enumerate() {
                    let number = format!("{number:>digits$}");
                    line.put(self.column(lane), &number[digit..=digit], Style::StrongLane(lane));
                }
                lines.push(line);
            }
        }
        lines
    }

    /// Nothing but lanes.
    pub(super) fn empty(&self) -> Line {
        let mut line = Line::default();
        for lane in 0..self.lanes {
            line.put(self.column(lane), "│", Style::Faint);
        }
        line
    }

    /// The lanes with marks on some of them.
    pub(super) fn marked(&self, lanes: impl Iterator<Item = usize>) -> Line {
        let mut line = self.empty();
        for lane in lanes {
            line.put(self.column(lane), "✗", Style::Bad);
        }
        line
    }

    /// The lanes where a step happens.
    pub(super) fn step(&self, moment: &Moment<'_>) -> Line {
        let mut line = self.empty();
        line.put(0, &format!("{:>1$}", moment.number, self.gutter - 1), Style::Faint);
        // From the outermost sender inwards, so that the tails of the inner ones stay on top.
        let mut arrivals: Vec<&Arrival> = moment.arrivals.iter().collect();
        arrivals.sort_by_key(|arrival| std::cmp::Reverse(arrival.from.abs_diff(moment.lane)));
        for (at, arrival) in arrivals.iter().enumerate() {
            let same_side = |other: &&&Arrival| (other.from < moment.lane) == (arrival.from < moment.lane);
            let inner = arrivals[at + 1..].iter().filter(|other| other.from != moment.lane).find(same_side);
            self.arrow(&mut line, moment.lane, arrival, inner.copied());
        }
        let (mark, style) = if moment.panic.is_some() {
            ("✗", Style::Bad)
        } else {
            ("●", Style::StrongLane(moment.lane))
        };
        line.put(self.column(moment.lane), mark, style);
        line
    }

    fn tail(&self, arrival: &Arrival) -> String {
        if self.numbered_tails { arrival.sent_in.to_string() } else { "○".to_string() }
    }

    /// Draws an arrow to a lane, with as much of the message on it as fits before the next tail.
    fn arrow(&self, line: &mut Line, to: usize, arrival: &Arrival, inner: Option<&Arrival>) {
        let style = Style::Lane(arrival.from);
        let tail = self.tail(arrival);
        let (start, end) = (self.column(arrival.from), self.column(to));
        let tail_at = start - (columns(&tail) - 1) / 2;
        if arrival.from == to {
            return self.loop_back(line, end, &tail, style);
        }
        let rightwards = start < end;
        for column in start.min(end) + 1..start.max(end) {
            let crossing = (0..self.lanes).any(|lane| self.column(lane) == column);
            line.put(column, if crossing { "┼" } else { "─" }, style);
        }
        line.put(if rightwards { end - 1 } else { end + 1 }, if rightwards { "▶" } else { "◀" }, style);
        line.put(tail_at, &tail, style);
        // A label leaves a dash at its tail, and room for what comes next: an arrowhead or a tail.
        let next = inner.map_or(end, |inner| self.column(inner.from));
        let (low, high) = if rightwards {
            (tail_at + columns(&tail) + 1, next.saturating_sub(1))
        } else {
            (next + 2 + usize::from(inner.is_some()), tail_at.saturating_sub(1))
        };
        if let Some(label) = label(&arrival.message, high.saturating_sub(low)) {
            let at = self.label_position(low..high + 1 - columns(&label), columns(&label));
            line.put(at, &label, style);
        }
    }

    /// Where a label stands best: in the middle, but rather beside a lane than over it, and rather over it
    /// than touching it.
    fn label_position(&self, free: std::ops::Range<usize>, length: usize) -> usize {
        let lanes_in = |from: usize, to: usize| {
            (0..self.lanes).filter(|&lane| (from..to).contains(&self.column(lane))).count()
        };
        let middle = usize::midpoint(free.start, free.end - 1);
        let badness = |&at: &usize| {
            let covered = lanes_in(at, at + length);
            let touched = lanes_in(at - 1, at + length + 1) - covered;
            (touched, covered, at.abs_diff(middle))
        };
        free.min_by_key(badness).unwrap_or(middle)
    }

    /// A message to itself comes from the side that is free, from the right if both are.
    fn loop_back(&self, line: &mut Line, at: usize, tail: &str, style: Style) {
        if self.lane < columns(tail) + 3 {
            return;
        }
        if line.letter(at + 1) == '◀' {
            line.put(at - 1 - columns(tail), &format!("{tail}↻"), style);
        } else {
            line.put(at + 1, &format!("↺{tail}"), style);
        }
    }
}

/// The most telling form of a message that fits.
fn label(message: &Tree, room: usize) -> Option<String> {
    let forms = [message.values(), message.bare(), message.head().to_string()];
    forms.into_iter().find(|form| !form.is_empty() && columns(form) <= room)
}
