//! A line plot as an SVG picture: depths to the right, numbers upwards on a logarithmic scale.
//!
//! Known: one self-contained picture, no script, no font of its own, on a painted background. A zero has no place on a
//! logarithmic scale and is left out; a curve without depths is a dashed line at its height.

use std::fmt::{self, Write as _};

use super::figure::{Unit, shown};

/// A curve: numbers, each for a depth or for any.
pub(super) struct Drawn<'f> {
    pub(super) name: &'f str,
    pub(super) points: Vec<(Option<u32>, f64)>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 52.0;
const COLOURS: [&str; 6] = ["#d1242f", "#9a6700", "#1a7f37", "#0969da", "#8250df", "#0e7490"];
const INK: &str = "#1f2328";
const FAINT: &str = "#d0d7de";

/// Draws curves over depths.
pub(super) fn svg(title: &str, unit: Unit, curves: &[Drawn<'_>]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = Axes::of(curves).draw(title, unit, curves, &mut text);
    text
}

/// Where depths and numbers are.
struct Axes {
    depth_max: u32,
    /// The exponents of the powers of ten that all numbers are between.
    lowest: i32,
    highest: i32,
}

impl Axes {
    fn of(curves: &[Drawn<'_>]) -> Self {
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let depth_max = points().filter_map(|(depth, _)| *depth).max().unwrap_or(1);
        let exponents = || points().filter(|(_, value)| *value > 0.0).map(|(_, value)| value.log10());
        #[expect(clippy::cast_possible_truncation, reason = "exponents are small")]
        let whole = |exponent: f64| exponent as i32;
        let lowest = whole(exponents().fold(f64::INFINITY, f64::min).min(300.0).floor());
        let highest = whole(exponents().fold(f64::NEG_INFINITY, f64::max).max(-300.0).ceil());
        let lowest = lowest.min(highest);
        Axes { depth_max: depth_max.max(1), lowest, highest: highest.max(lowest + 1) }
    }

    fn x(&self, depth: u32) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * f64::from(depth) / f64::from(self.depth_max)
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.lowest)) / f64::from(self.highest - self.lowest);
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }

    fn draw(&self, title: &str, unit: Unit, curves: &[Drawn<'_>], to: &mut String) -> fmt::Result {
        writeln!(
            to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"{INK}\">"
        )?;
        writeln!(to, "<title>{}</title>", escaped(title))?;
        writeln!(to, "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>")?;
        writeln!(to, "<text x=\"{LEFT}\" y=\"26\" font-size=\"15\">{}</text>", escaped(title))?;
        for exponent in self.lowest..=self.highest {
            let value = 10f64.powi(exponent);
            let (y, end) = (self.y(value), WIDTH - RIGHT);
            writeln!(to, "<path d=\"M{LEFT} {y:.1}H{end}\" stroke=\"{FAINT}\"/>")?;
            let (label, x) = (shown(value, unit), LEFT - 8.0);
            writeln!(to, "<text x=\"{x}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", y + 4.0)?;
        }
        let step = if self.depth_max > 30 { 10 } else { 5 };
        for depth in (0..=self.depth_max).step_by(step) {
            let (x, y) = (self.x(depth), HEIGHT - BOTTOM);
            writeln!(to, "<path d=\"M{x:.1} {TOP}V{y}\" stroke=\"{FAINT}\"/>")?;
            writeln!(to, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{depth}</text>", y + 20.0)?;
        }
        let (x, y) = (self.x(self.depth_max) / 2.0 + LEFT / 2.0, HEIGHT - 12.0);
        writeln!(to, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">depth</text>")?;
        for (at, curve) in curves.iter().enumerate() {
            self.curve(curve, COLOURS[at % COLOURS.len()], to)?;
        }
        self.names(curves, to)?;
        writeln!(to, "</svg>")
    }

    fn curve(&self, curve: &Drawn<'_>, colour: &str, to: &mut String) -> fmt::Result {
        let drawn: Vec<(Option<u32>, f64)> =
            curve.points.iter().copied().filter(|(_, value)| *value > 0.0).collect();
        let place = |depth: u32, value: f64| format!("{:.1} {:.1}", self.x(depth), self.y(value));
        let path: Vec<String> =
            drawn.iter().filter_map(|(depth, value)| depth.map(|depth| place(depth, *value))).collect();
        if !path.is_empty() {
            let line = path.join("L");
            writeln!(to, "<path d=\"M{line}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>")?;
        }
        for (depth, value) in drawn {
            if let Some(depth) = depth {
                let (x, y) = (self.x(depth), self.y(value));
                writeln!(to, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>")?;
            } else {
                let (y, end) = (self.y(value), WIDTH - RIGHT);
                writeln!(
                    to,
                    "<path d=\"M{LEFT} {y:.1}H{end}\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"6 4\"/>"
                )?;
            }
        }
        Ok(())
    }

    /// The names of the curves, each at the height where its curve ends, or as near as there is room.
    fn names(&self, curves: &[Drawn<'_>], to: &mut String) -> fmt::Result {
        let mut ends: Vec<(f64, usize)> = curves
            .iter()
            .enumerate()
            .map(|(at, curve)| {
                let last = curve.points.iter().rev().map(|(_, value)| *value).find(|value| *value > 0.0);
                (last.map_or(HEIGHT - BOTTOM, |value| self.y(value)), at)
            })
            .collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = TOP;
        for (end, at) in ends {
            let (x, y, colour) = (WIDTH - RIGHT + 10.0, end.max(free), COLOURS[at % COLOURS.len()]);
            free = y + 17.0;
            let zero = curves[at].points.iter().all(|(_, value)| *value <= 0.0);
            let name = escaped(curves[at].name) + if zero { " (zero)" } else { "" };
            writeln!(to, "<text x=\"{x}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>", y + 4.0)?;
        }
        Ok(())
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroes_are_named_and_not_drawn() {
        let curves = [
            Drawn { name: "grows", points: vec![(Some(1), 1.0), (Some(2), 100.0)] },
            Drawn { name: "none", points: vec![(Some(1), 0.0), (Some(2), 0.0)] },
            Drawn { name: "flat & <wide>", points: vec![(None, 10.0)] },
        ];
        let picture = svg("Growth", Unit::Count, &curves);
        // One dot for each number above zero, one line for the curve and one for the number without a depth.
        assert_eq!(picture.matches("<circle").count(), 2);
        assert_eq!(picture.matches("stroke-dasharray").count(), 1);
        for shown in [">none (zero)<", ">flat &amp; &lt;wide><", ">100<", ">1<", "<title>Growth</title>"] {
            assert!(picture.contains(shown), "{shown} in {picture}");
        }
        // Ten is half way between one and a hundred.
        let half = f64::midpoint(TOP, HEIGHT - BOTTOM);
        assert!(picture.contains(&format!("M{LEFT} {half:.1}H")), "{picture}");
    }

    #[test]
    fn nothing_is_a_picture_too() {
        assert!(svg("Nothing", Unit::Seconds, &[]).ends_with("</svg>\n"));
    }
}
