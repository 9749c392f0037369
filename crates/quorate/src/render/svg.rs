//! A trace as a picture: a title that says what it is of, lanes as vertical lines, a sloped arrow from where a message is sent to where it
//! is received, arrows that meet in a ring for a quorum, and the notes of the diagram beside it.
//!
//! Known: one self-contained SVG, no script, no font of its own. Its colours follow the viewer's light or
//! dark scheme where the viewer knows one; the background is painted, so it is readable where it does not.
//! Held by: tests/diagram.rs.

use std::fmt::{self, Write as _};

use super::canvas::{Line, Style};
use super::debug_text::{broken_up, columns, cut};
use super::story::{Arrival, Moment, Story};
use super::{Diagram, Mark, notes};

/// How many columns the notes have.
const NOTES_COLUMNS: usize = 62;
const LETTER_WIDTH: f64 = 7.25;
const LINE_HEIGHT: f64 = 16.0;
const LANE_WIDTH: f64 = 104.0;
const MARGIN: f64 = 24.0;
const LANE_COLOURS: usize = 6;
/// The radius of a step's mark, and that of the ring around a quorum's.
const MARK: f64 = 9.0;
const RING: f64 = 12.5;
/// Where on an arrow its label may stand, best first, and how far from others is far enough.
const LABEL_SHARES: [f64; 7] = [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78];
const CLEAR: f64 = 24.0;
/// How much room the line takes where the search began.
const MARK_HEIGHT: f64 = 30.0;

/// The colours of the lanes, then those of text, faint text, what is broken, lines and background.
const LIGHT: [&str; 11] = [
    "#0969da", "#9a6700", "#1a7f37", "#8250df", "#0e7490", "#bf3989", "#1f2328", "#6e7781", "#d1242f",
    "#d0d7de", "#ffffff",
];
const DARK: [&str; 11] = [
    "#58a6ff", "#d29922", "#3fb950", "#bc8cff", "#39c5cf", "#f778ba", "#e6edf3", "#8b949e", "#ff7b72",
    "#30363d", "#0d1117",
];

impl Diagram<'_> {
    /// The same as an SVG picture by itself, below a title and what it is a picture of: a sentence, and the instance with
    /// its parameters, which may take several lines.
    pub fn svg(&self, title: &str, instance: &str) -> String {
        let story = Story::of(self.trace, self.broken);
        let picture = Picture::of(self, &story, title, instance);
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = picture.draw(&mut text, title);
        text
    }
}

struct Picture<'s> {
    story: &'s Story<'s>,
    /// What stands above the lanes.
    heading: Vec<Line>,
    /// The height at which the names of the lanes stand.
    top: f64,
    /// What is said of starts that are not shown.
    left_out: Vec<Line>,
    notes: Vec<Vec<Line>>,
    /// The number of each step that is shown, and the height at which it stands.
    heights: Vec<(usize, f64)>,
    /// Where the search began, if not at the beginning.
    mark: Option<(f64, &'s Mark)>,
    end: f64,
    conclusion: Vec<Line>,
}

#[derive(Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
}

impl Point {
    fn towards(self, other: Point, share: f64) -> Point {
        Point { x: self.x + (other.x - self.x) * share, y: self.y + (other.y - self.y) * share }
    }

    fn distance(self, other: Point) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

impl<'s> Picture<'s> {
    fn of(diagram: &'s Diagram<'_>, story: &'s Story<'s>, title: &str, instance: &str) -> Self {
        let room = columns_in(width_of(story));
        let heading = heading(title, instance, room);
        let conclusion = Diagram { width: room, searched_from: None, ..*diagram }.conclusion(story);
        let notes: Vec<Vec<Line>> =
            story.moments.iter().map(|moment| notes::notes(story, moment, NOTES_COLUMNS, false)).collect();
        let left_out = notes::left_out(story, NOTES_COLUMNS);
        let top = MARGIN + LINE_HEIGHT * amount(heading.len()) + if heading.is_empty() { 0.0 } else { 14.0 };
        let mut marks: Vec<(usize, Point)> = Vec::new();
        let mut height = top + 36.0 + LINE_HEIGHT * amount(left_out.len());
        let marked = diagram.mark_before(story);
        let mut mark = None;
        for (at, (moment, lines)) in story.moments.iter().zip(&notes).enumerate() {
            if let Some((_, what)) = marked.filter(|(before, _)| *before == at) {
                mark = Some((height, what));
                height += MARK_HEIGHT;
            }
            // An arrow through another mark would look like two: its end moves down until it passes by.
            let lower = (0..12).map(|turn| height + 8.0 * amount(turn));
            let x = lane_at(moment.lane);
            let passes = |y: &f64| {
                moment
                    .arrivals
                    .iter()
                    .filter(|arrival| arrival.from != moment.lane)
                    .all(|arrival| passes_by(&marks, arrival.sent_in, Point { x, y: *y }))
            };
            let y = lower.into_iter().find(passes).unwrap_or(height);
            marks.push((moment.number, Point { x, y }));
            height = y + LINE_HEIGHT * amount(lines.len()) + 12.0;
        }
        if let Some((_, what)) = marked.filter(|(before, _)| *before == story.moments.len()) {
            mark = Some((height, what));
            height += MARK_HEIGHT;
        }
        let heights = marks.iter().map(|(number, mark)| (*number, mark.y)).collect();
        Picture { story, heading, top, left_out, notes, heights, mark, end: height, conclusion }
    }

    fn draw(&self, out: &mut String, title: &str) -> fmt::Result {
        let width = width_of(self.story);
        let height = self.end + LINE_HEIGHT * amount(self.conclusion.len() + 1) + MARGIN;
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}">"#
        )?;
        writeln!(out, "<title>{}</title>", escaped(title))?;
        Self::style(out)?;
        writeln!(out, r#"<rect class="ground" width="100%" height="100%" rx="8"/>"#)?;
        for (at, line) in self.heading.iter().enumerate() {
            write_line(out, line, MARGIN, MARGIN + 4.0 + LINE_HEIGHT * amount(at))?;
        }
        self.lanes(out)?;
        self.rule(out)?;
        let mut taken: Vec<Point> =
            self.story.moments.iter().map(|moment| self.place(moment.lane, moment.number)).collect();
        for moment in &self.story.moments {
            for arrival in &moment.arrivals {
                self.arrow(out, moment, arrival)?;
            }
        }
        // After all arrows, so that none runs over a label.
        for moment in &self.story.moments {
            for arrival in &moment.arrivals {
                self.label(out, moment, arrival, &mut taken)?;
            }
        }
        for moment in &self.story.moments {
            self.mark(out, moment)?;
        }
        for (at, line) in self.left_out.iter().enumerate() {
            write_line(out, line, self.notes_from(), self.top + 24.0 + LINE_HEIGHT * amount(at))?;
        }
        for (lines, (_, height)) in self.notes.iter().zip(&self.heights) {
            for (at, line) in lines.iter().enumerate() {
                write_line(out, line, self.notes_from(), height + 4.0 + LINE_HEIGHT * amount(at))?;
            }
        }
        self.observed(out)?;
        for (at, line) in self.conclusion.iter().enumerate() {
            write_line(out, line, MARGIN, self.end + 8.0 + LINE_HEIGHT * amount(at + 2))?;
        }
        writeln!(out, "</svg>")
    }

    /// The lines of the processes, with their names above.
    fn lanes(&self, out: &mut String) -> fmt::Result {
        let top = self.top;
        for (lane, process) in self.story.lanes.iter().enumerate() {
            let x = lane_at(lane);
            writeln!(
                out,
                r#"<line class="lane" x1="{x}" y1="{:.0}" x2="{x}" y2="{:.0}"/>"#,
                top + 14.0,
                self.end
            )?;
            let name = escaped(&cut(&process.name, 14));
            writeln!(
                out,
                r#"<text class="strong c{}" x="{x}" y="{top}" text-anchor="middle">{name}</text>"#,
                lane % LANE_COLOURS
            )?;
        }
        Ok(())
    }

    /// Where the search began.
    fn rule(&self, out: &mut String) -> fmt::Result {
        let Some((height, Mark { text, .. })) = self.mark else { return Ok(()) };
        let (from, to, y) = (MARGIN, width_of(self.story) - MARGIN, height - 6.0);
        writeln!(out, r#"<line class="rule" x1="{from}" y1="{y:.1}" x2="{to:.1}" y2="{y:.1}"/>"#)?;
        let mut line = Line::default();
        line.put(0, &cut(text, NOTES_COLUMNS), Style::Faint);
        write_line(out, &line, self.notes_from(), y + 14.0)
    }

    fn style(out: &mut String) -> fmt::Result {
        writeln!(out, "<style>")?;
        writeln!(
            out,
            "text {{ font: 12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }}"
        )?;
        writeln!(
            out,
            ".strong {{ font-weight: bold }} .lane {{ stroke-width: 2 }} .arrow {{ fill: none; stroke-width: 1.5 }}"
        )?;
        writeln!(
            out,
            ".label {{ font-size: 10.5px; paint-order: stroke; stroke-width: 3px; stroke-linejoin: round }} .ring {{ stroke-width: 1.5 }} .rule {{ stroke-width: 1.5; stroke-dasharray: 5 4 }} .number {{ font-size: 10px; font-weight: bold }}"
        )?;
        scheme(out, &LIGHT)?;
        writeln!(out, "@media (prefers-color-scheme: dark) {{")?;
        scheme(out, &DARK)?;
        writeln!(out, "}}\n</style>")
    }

    fn notes_from(&self) -> f64 {
        notes_from(self.story)
    }

    fn place(&self, lane: usize, number: usize) -> Point {
        // A trace that replay has not seen may name a step that is not there.
        let found = self.heights.binary_search_by_key(&number, |(number, _)| *number);
        let y = found.map_or(MARGIN, |at| self.heights[at].1);
        Point { x: lane_at(lane), y }
    }

    fn arrow(&self, out: &mut String, moment: &Moment<'_>, arrival: &Arrival) -> fmt::Result {
        let (from, to) = (self.place(arrival.from, arrival.sent_in), self.place(moment.lane, moment.number));
        let colour = arrival.from % LANE_COLOURS;
        if arrival.from == moment.lane {
            let bend = from.x + LANE_WIDTH * 0.4;
            let (x, end) = (from.x + MARK, Point { x: to.x + gap(moment) + 1.0, y: to.y - 2.0 });
            writeln!(
                out,
                r#"<path class="arrow s{colour}" d="M{x:.1} {:.1} C{bend:.1} {:.1} {bend:.1} {:.1} {:.1} {:.1}"/>"#,
                from.y, from.y, end.y, end.x, end.y
            )?;
            return head(out, Point { x: end.x + 10.0, ..end }, end, colour);
        }
        let end = from.towards(to, 1.0 - (gap(moment) + 1.0) / from.distance(to));
        let Point { x, y } = from;
        writeln!(
            out,
            r#"<line class="arrow s{colour}" x1="{x:.1}" y1="{y:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            end.x, end.y
        )?;
        head(out, from, end, colour)
    }

    /// Writes a message beside its arrow, away from what is `taken` already.
    fn label(
        &self,
        out: &mut String,
        moment: &Moment<'_>,
        arrival: &Arrival,
        taken: &mut Vec<Point>,
    ) -> fmt::Result {
        let (from, to) = (self.place(arrival.from, arrival.sent_in), self.place(moment.lane, moment.number));
        let length = from.distance(to);
        let along = |share: f64| from.towards(to, share);
        let colour = arrival.from % LANE_COLOURS;
        // The label is written along the arrow, never upside down.
        let label = [arrival.message.values(), arrival.message.bare(), arrival.message.head().to_string()]
            .into_iter()
            .find(|form| {
                arrival.from != moment.lane && amount(columns(form)) * 6.4 < length - 2.0 * RING - 16.0
            });
        let Some(label) = label else { return Ok(()) };
        let reach = amount(columns(&label)) * 3.2 / length;
        let covered = |share: f64| [along(share - reach * 0.7), along(share), along(share + reach * 0.7)];
        let clearance = |share: &f64| {
            let distances =
                covered(*share).into_iter().flat_map(|a| taken.iter().map(move |b| a.distance(*b)));
            distances.fold(f64::MAX, f64::min).min(CLEAR)
        };
        // The first that is clear enough, else the clearest; `max_by` would take the last of equals.
        let inside = LABEL_SHARES.into_iter().filter(|share| share - reach > 0.0 && share + reach < 1.0);
        let best =
            inside.fold(0.5, |best, share| if clearance(&share) > clearance(&best) { share } else { best });
        taken.extend(covered(best));
        let middle = along(best);
        let mut angle = (to.y - from.y).atan2(to.x - from.x).to_degrees();
        if angle.abs() > 90.0 {
            angle -= 180.0 * angle.signum();
        }
        writeln!(
            out,
            r#"<text class="label c{colour}" text-anchor="middle" transform="translate({:.1} {:.1}) rotate({angle:.1})" y="-4">{}</text>"#,
            middle.x,
            middle.y,
            escaped(&label)
        )
    }

    /// The number of a step in a dot, a ring around it for a quorum; a panic is red.
    fn mark(&self, out: &mut String, moment: &Moment<'_>) -> fmt::Result {
        let Point { x, y } = self.place(moment.lane, moment.number);
        let colour = moment.lane % LANE_COLOURS;
        if moment.arrivals.len() > 1 {
            writeln!(out, r#"<circle class="ring s{colour}" cx="{x}" cy="{y}" r="{RING}"/>"#)?;
        }
        let class = if moment.panic.is_some() { "bad".to_string() } else { format!("c{colour}") };
        let number = moment.number;
        writeln!(out, r#"<circle class="{class}" cx="{x}" cy="{y}" r="{MARK}"/>"#)?;
        writeln!(
            out,
            r#"<text class="number" x="{x}" y="{:.1}" text-anchor="middle">{number}</text>"#,
            y + 3.5
        )?;
        let x = self.notes_from() - 10.0;
        writeln!(
            out,
            r#"<text class="faint" x="{x:.1}" y="{:.1}" text-anchor="end">{number}</text>"#,
            y + 4.0
        )
    }

    /// What was observed, at the end of its lane.
    fn observed(&self, out: &mut String) -> fmt::Result {
        for observed in &self.story.observed {
            for &lane in &observed.lanes {
                let text = escaped(&cut(&observed.value.bare(), 13));
                let (x, y) = (lane_at(lane), self.end + 16.0);
                writeln!(
                    out,
                    r#"<text class="bad strong" x="{x}" y="{y:.1}" text-anchor="middle">{text}</text>"#
                )?;
            }
        }
        Ok(())
    }
}

/// The title, and below it what the picture is of.
fn heading(title: &str, instance: &str, room: usize) -> Vec<Line> {
    let lines = |text: &str, style: Style| -> Vec<Line> {
        let line = |text: String| {
            let mut line = Line::default();
            line.put(0, &text, style);
            line
        };
        text.lines().flat_map(|text| broken_up(text, room)).map(line).collect()
    };
    [lines(title, Style::Strong), lines(instance, Style::Faint)].concat()
}

/// Where the notes begin.
fn notes_from(story: &Story<'_>) -> f64 {
    lane_at(story.lanes.len()) - LANE_WIDTH / 2.0 + 2.0 * MARGIN
}

fn width_of(story: &Story<'_>) -> f64 {
    notes_from(story) + LETTER_WIDTH * amount(NOTES_COLUMNS) + MARGIN
}

/// How many letters a line across the whole picture has.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a width in pixels")]
fn columns_in(width: f64) -> usize {
    ((width - 2.0 * MARGIN) / LETTER_WIDTH) as usize
}

fn scheme(out: &mut String, colours: &[&str; 11]) -> fmt::Result {
    for (lane, colour) in colours[..LANE_COLOURS].iter().enumerate() {
        writeln!(out, ".c{lane} {{ fill: {colour} }} .s{lane} {{ stroke: {colour} }}")?;
    }
    let [.., text, faint, bad, lane, ground] = colours;
    writeln!(
        out,
        "text {{ fill: {text} }} .faint {{ fill: {faint} }} .rule {{ stroke: {faint} }} .bad {{ fill: {bad} }}"
    )?;
    writeln!(
        out,
        ".lane {{ stroke: {lane} }} .label {{ stroke: {ground} }} .ground, .ring, .number {{ fill: {ground} }}"
    )
}

/// The head of an arrow that comes from somewhere.
fn head(out: &mut String, from: Point, tip: Point, colour: usize) -> fmt::Result {
    let angle = (tip.y - from.y).atan2(tip.x - from.x);
    let corner =
        |turn: f64| Point { x: tip.x - 9.0 * (angle + turn).cos(), y: tip.y - 9.0 * (angle + turn).sin() };
    let (left, right) = (corner(0.4), corner(-0.4));
    writeln!(
        out,
        r#"<path class="c{colour}" d="M{:.1} {:.1} L{:.1} {:.1} L{:.1} {:.1} Z"/>"#,
        tip.x, tip.y, left.x, left.y, right.x, right.y
    )
}

fn write_line(out: &mut String, line: &Line, x: f64, y: f64) -> fmt::Result {
    write!(out, r#"<text x="{x:.1}" y="{y:.1}" xml:space="preserve">"#)?;
    for (text, style) in line.runs() {
        let class = match style {
            Style::Normal => String::new(),
            Style::Faint => "faint".to_string(),
            Style::Strong => "strong".to_string(),
            Style::Lane(at) => format!("c{}", at % LANE_COLOURS),
            Style::StrongLane(at) => format!("strong c{}", at % LANE_COLOURS),
            Style::Bad => "strong bad".to_string(),
        };
        write!(out, r#"<tspan class="{class}">{}</tspan>"#, escaped(&text))?;
    }
    writeln!(out, "</text>")
}

/// Does an arrow from one of these marks to a new one keep clear of the others?
fn passes_by(marks: &[(usize, Point)], sent_in: usize, to: Point) -> bool {
    let Some(&(_, start)) = marks.iter().find(|(number, _)| *number == sent_in) else { return true };
    let length = start.distance(to);
    marks.iter().filter(|(number, _)| *number != sent_in).all(|(_, mark)| {
        let share = ((mark.x - start.x) * (to.x - start.x) + (mark.y - start.y) * (to.y - start.y))
            / (length * length);
        mark.distance(start.towards(to, share.clamp(0.0, 1.0))) > RING + 2.0
    })
}

/// How far from the middle of a step its arrows end.
fn gap(moment: &Moment<'_>) -> f64 {
    if moment.arrivals.len() > 1 { RING } else { MARK }
}

fn lane_at(lane: usize) -> f64 {
    MARGIN + LANE_WIDTH * (amount(lane) + 0.5)
}

fn amount(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}
