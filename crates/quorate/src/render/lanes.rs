//! The picture: a lane a process, a mark where it steps, an arrow to the mark from the lane of every
//! sender. The tail of an arrow is the number of the step that sent the message; a quorum is several
//! tails on one line.
//!
//! Known: arrows are drawn where a message is received, so time stays vertical and lines never cross
//! between steps; what is sent and never received stands in the notes.

use std::cmp::Ordering;
use std::ops::Range;

use super::canvas::{Line, Style};
use super::debug_text::{Tree, columns, cut};
use super::story::{Arrival, Moment, Observed, Story, split_name};

/// How many columns the notes get, and how wide lanes must and may be then. The first line with room for all lanes
/// is taken.
const SHARES: [Share; 4] = [
    Share { notes: 72, lane_min: LANE_WIDE, lane_max: 22 },
    Share { notes: 46, lane_min: 6, lane_max: 14 },
    Share { notes: 38, lane_min: 3, lane_max: 6 },
    Share { notes: 28, lane_min: LANE_MIN, lane_max: 3 },
];
/// From here on, most messages fit on their arrows.
const LANE_WIDE: usize = 15;
/// Below this, lanes would touch.
const LANE_MIN: usize = 2;

struct Share {
    notes: usize,
    lane_min: usize,
    lane_max: usize,
}

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
        let digits = columns(&story.steps.to_string());
        let (gutter, lanes) = (digits + 2, story.lanes.len().max(1));
        let lane = SHARES.iter().find_map(|share| {
            let lane = width.saturating_sub(gutter + share.notes + 2) / lanes;
            (lane >= share.lane_min && (lanes > 1 || share.lane_min < LANE_WIDE))
                .then_some(lane.min(share.lane_max))
        })?;
        Some(Layout { gutter, lane, lanes, notes: gutter + lanes * lane + 2, numbered_tails: digits < lane })
    }

    fn column(&self, lane: usize) -> usize {
        self.gutter + lane * self.lane + self.lane / 2
    }

    fn centred(&self, line: &mut Line, lanes: Range<usize>, text: &str, style: Style) {
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

    /// A line across all lanes.
    pub(super) fn rule(&self) -> Line {
        let mut line = Line::default();
        for column in self.gutter..self.notes.saturating_sub(1) {
            line.put(column, "┄", Style::Faint);
        }
        for lane in 0..self.lanes {
            line.put(self.column(lane), "┼", Style::Faint);
        }
        line
    }

    /// The lanes with what was observed of them, or with marks if that does not fit.
    pub(super) fn observed(&self, story: &Story<'_>) -> Line {
        let mut line = self.empty();
        let fits = |observed: &Observed| columns(&observed.value.bare()) < self.lane;
        let all_fit = story.observed.iter().all(fits);
        if all_fit {
            line.put(self.gutter - 2, "✗", Style::Bad);
        }
        for observed in &story.observed {
            let text = if all_fit { observed.value.bare() } else { "✗".to_string() };
            for &lane in &observed.lanes {
                self.centred(&mut line, lane..lane + 1, &text, Style::Bad);
            }
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
            let next = arrivals[at + 1..].iter().find(|other| Layout::same_side(moment, arrival, other));
            self.arrow(&mut line, moment.lane, arrival, next.copied());
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

    /// Do two messages come from the same side? One to itself comes from the right, unless others do.
    fn same_side(moment: &Moment<'_>, one: &Arrival, other: &Arrival) -> bool {
        let others_right = moment.arrivals.iter().any(|arrival| arrival.from > moment.lane);
        let right = |arrival: &Arrival| match arrival.from.cmp(&moment.lane) {
            Ordering::Less => false,
            Ordering::Equal => !others_right,
            Ordering::Greater => true,
        };
        right(one) == right(other)
    }

    /// The columns of the tail of an arrow to a lane.
    fn tail_columns(&self, arrival: &Arrival, to: usize, rightwards: bool) -> Range<usize> {
        let length = columns(&self.tail(arrival));
        let column = self.column(arrival.from);
        let start = match (arrival.from == to, rightwards) {
            (false, _) => column - (length - 1) / 2,
            (true, true) => column - 1 - length,
            (true, false) => column + 2,
        };
        start..start + length
    }

    /// Draws an arrow to a lane, with as much of the message on it as fits before the next tail.
    fn arrow(&self, line: &mut Line, to: usize, arrival: &Arrival, next: Option<&Arrival>) {
        let style = Style::Lane(arrival.from);
        let (start, end) = (self.column(arrival.from), self.column(to));
        if start == end {
            return self.loop_back(line, to, arrival, style);
        }
        let rightwards = start < end;
        for column in start.min(end) + 1..start.max(end) {
            let crossing = (0..self.lanes).any(|lane| self.column(lane) == column);
            line.put(column, if crossing { "┼" } else { "─" }, style);
        }
        line.put(if rightwards { end - 1 } else { end + 1 }, if rightwards { "▶" } else { "◀" }, style);
        let tail = self.tail_columns(arrival, to, rightwards);
        line.put(tail.start, &self.tail(arrival), style);
        // A label leaves a dash at its tail, and one column for a dash or the arrowhead at its end.
        let next = next.map_or(end..end + 1, |next| self.tail_columns(next, to, rightwards));
        let free = if rightwards { tail.end + 1..next.start - 1 } else { next.end + 1..tail.start - 1 };
        if let Some(label) = label(&arrival.message, free.len()) {
            let at = self.label_position(free.start..free.end + 1 - columns(&label), columns(&label));
            line.put(at, &label, style);
        }
    }

    /// Where a label stands best: in the middle, but rather beside a lane than over it, and rather over it
    /// than touching it.
    fn label_position(&self, free: Range<usize>, length: usize) -> usize {
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

    /// A message to itself, on the side that is free.
    fn loop_back(&self, line: &mut Line, at: usize, arrival: &Arrival, style: Style) {
        let column = self.column(at);
        let from_left = line.letter(column + 1) == '◀';
        let tail = self.tail_columns(arrival, at, from_left);
        // In narrow lanes it would hide the neighbours; the notes have it anyway.
        if tail.len() + 2 <= self.lane / 2 {
            line.put(tail.start, &self.tail(arrival), style);
            line.put(
                if from_left { column - 1 } else { column + 1 },
                if from_left { "↻" } else { "↺" },
                style,
            );
        }
    }
}

/// The most detailed form of a message that fits.
fn label(message: &Tree, room: usize) -> Option<String> {
    let forms = [message.values(), message.bare(), message.head().to_string()];
    forms.into_iter().find(|form| !form.is_empty() && columns(form) <= room)
}
