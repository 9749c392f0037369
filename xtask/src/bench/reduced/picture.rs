//! A bar chart as an SVG picture: groups of bars on a logarithmic scale.
//!
//! Known: one self-contained picture, no script, no font of its own, on a painted background, so that it looks the same
//! on a light and on a dark page.

use std::fmt::{self, Write as _};

/// Bars side by side under one name; nothing where nothing was measured.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) bars: Vec<Option<f64>>,
}

const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 96.0;
const BAR: f64 = 26.0;
const GAP: f64 = 30.0;
const COLOURS: [&str; 4] = ["#0969da", "#9a6700", "#1a7f37", "#8250df"];
const INK: &str = "#1f2328";
const FAINT: &str = "#d0d7de";

/// Draws groups of bars, the names of which stand at the top in their colours.
pub(super) fn bars(title: &str, names: &[&str], groups: &[Group]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = Scale::of(names, groups).draw(title, names, groups, &mut text);
    text
}

/// Where groups and values are.
struct Scale {
    /// The width of a group, with the gap to the next.
    group: f64,
    width: f64,
    /// The exponents of the powers of ten that all values are between.
    lowest: i32,
    highest: i32,
}

impl Scale {
    fn of(names: &[&str], groups: &[Group]) -> Scale {
        let drawn = || groups.iter().flat_map(|group| &group.bars).flatten().filter(|value| **value > 0.0);
        #[expect(clippy::cast_possible_truncation, reason = "exponents are small")]
        let whole = |exponent: f64| exponent as i32;
        let (least, most) = drawn().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), value| {
            (least.min(*value), most.max(*value))
        });
        let (lowest, highest) =
            if most > 0.0 { (whole(least.log10().floor()), whole(most.log10().ceil())) } else { (0, 1) };
        let group = BAR * count(names.len()) + GAP;
        Scale {
            group,
            width: (LEFT + group * count(groups.len()) + RIGHT).max(480.0),
            lowest,
            highest: highest.max(lowest + 1),
        }
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.lowest)) / f64::from(self.highest - self.lowest);
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }

    fn draw(&self, title: &str, names: &[&str], groups: &[Group], to: &mut String) -> fmt::Result {
        let width = self.width;
        writeln!(
            to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {width} {HEIGHT}\" width=\"{width}\" \
             height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"{INK}\">"
        )?;
        let title = escaped(title);
        writeln!(
            to,
            "<title>{title}</title>\n<rect width=\"{width}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>"
        )?;
        writeln!(to, "<text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{title}</text>")?;
        for exponent in self.lowest..=self.highest {
            let value = 10f64.powi(exponent);
            let (y, end, x) = (self.y(value), width - RIGHT, LEFT - 8.0);
            writeln!(to, "<path d=\"M{LEFT} {y:.1}H{end}\" stroke=\"{FAINT}\"/>")?;
            writeln!(to, "<text x=\"{x}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>", y + 4.0)?;
        }
        for (at, name) in names.iter().enumerate() {
            let (x, colour) = (LEFT + 110.0 * count(at), colour(at));
            writeln!(to, "<rect x=\"{x}\" y=\"36\" width=\"12\" height=\"12\" fill=\"{colour}\"/>")?;
            writeln!(to, "<text x=\"{}\" y=\"47\">{}</text>", x + 18.0, escaped(name))?;
        }
        for (at, group) in groups.iter().enumerate() {
            self.group(LEFT + GAP / 2.0 + self.group * count(at), group, to)?;
        }
        writeln!(to, "</svg>")
    }

    fn group(&self, left: f64, group: &Group, to: &mut String) -> fmt::Result {
        let floor = HEIGHT - BOTTOM;
        for (at, value) in group.bars.iter().enumerate() {
            let Some(value) = value.filter(|value| *value > 0.0) else { continue };
            let (x, y, colour) = (left + BAR * count(at), self.y(value), colour(at));
            let (width, height, middle) = (BAR - 2.0, floor - y, x + BAR / 2.0 - 1.0);
            writeln!(
                to,
                "<rect x=\"{x}\" y=\"{y:.1}\" width=\"{width}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
            )?;
            let label = short(value);
            writeln!(
                to,
                "<text x=\"{middle}\" y=\"{:.1}\" font-size=\"10\" text-anchor=\"middle\">{label}</text>",
                y - 4.0
            )?;
        }
        let (x, y) = (left + BAR * count(group.bars.len()) / 2.0, floor + 16.0);
        // Names are longer than groups are wide.
        let name = escaped(&group.name);
        writeln!(
            to,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\" transform=\"rotate(-30 {x} {y})\">{name}</text>"
        )
    }
}

fn colour(at: usize) -> &'static str {
    COLOURS[at % COLOURS.len()]
}

#[expect(clippy::cast_precision_loss, reason = "a picture has few bars")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Two figures that count.
fn short(value: f64) -> String {
    if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_logarithms() {
        let groups = [
            Group { name: "small & <fast>".to_string(), bars: vec![Some(10.0), Some(1.0)] },
            Group { name: "large".to_string(), bars: vec![None, Some(100.0)] },
        ];
        let picture = bars("Time", &["after", "before"], &groups);
        // The ground, two names, three bars.
        assert_eq!(picture.matches("<rect").count(), 1 + 2 + 3);
        let full = HEIGHT - TOP - BOTTOM;
        for height in [full, full / 2.0, 0.0] {
            assert!(picture.contains(&format!(" height=\"{height:.1}\" fill=\"#")), "{height} in {picture}");
        }
        assert!(picture.contains(">small &amp; &lt;fast></text>") && picture.contains("<title>Time</title>"));
        assert_eq!(picture.matches("<path").count(), 3, "a line for 1, 10 and 100");
    }

    #[test]
    fn nothing_is_a_picture_too() {
        assert!(bars("Nothing", &[], &[]).ends_with("</svg>\n"));
        let empty = [Group { name: "one".to_string(), bars: vec![Some(0.0), None] }];
        assert!(!bars("Nothing", &["a"], &empty).contains("NaN"));
    }
}
