//! Sizes, times and large numbers: as people write them on a command line and as they read them.

use std::fmt;
use std::time::Duration;

/// What a value should have been.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Expected(&'static str);

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.0)
    }
}

impl std::error::Error for Expected {}

/// A number with one of these units behind it, or none.
fn with_unit(text: &str, units: &[(&str, u64)], expected: &'static str) -> Result<u64, Expected> {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let unit = &text[digits.len()..];
    let factor = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, factor)| *factor);
    digits
        .parse::<u64>()
        .ok()
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor))
        .filter(|&value| value > 0)
        .ok_or(Expected(expected))
}

/// `90`, `90s`, `10m`, `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, Expected> {
    const UNITS: [(&str, u64); 4] = [("", 1), ("s", 1), ("m", 60), ("h", 3600)];
    with_unit(text, &UNITS, "a time such as 90 (seconds), 10m or 1h").map(Duration::from_secs)
}

/// `500M`, `4G`; units are powers of 1024.
pub(crate) fn size(text: &str) -> Result<u64, Expected> {
    const UNITS: [(&str, u64); 13] = [
        ("", 1),
        ("k", 1 << 10),
        ("kb", 1 << 10),
        ("kib", 1 << 10),
        ("m", 1 << 20),
        ("mb", 1 << 20),
        ("mib", 1 << 20),
        ("g", 1 << 30),
        ("gb", 1 << 30),
        ("gib", 1 << 30),
        ("t", 1 << 40),
        ("tb", 1 << 40),
        ("tib", 1 << 40),
    ];
    with_unit(text, &UNITS, "a size such as 500M or 4G")
}

/// `7,479,449`.
pub fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `163 MiB`.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if number < 1024 {
        return format!("{number} bytes");
    }
    let mut value = ratio(number, 1024.0);
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(value < 99.5);
    format!("{value:.digits$} {}", UNITS[unit])
}

/// `0.021 s`, `4.2 s`, `12 min 5 s`.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_secs() {
        0 => format!("{seconds:.3} s"),
        1..=9 => format!("{seconds:.2} s"),
        10..=99 => format!("{seconds:.1} s"),
        whole @ 100..=3599 => format!("{} min {} s", whole / 60, whole % 60),
        whole => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// One number over another, for people: the last digits do not matter.
#[expect(clippy::cast_precision_loss, reason = "shown with a few digits only")]
pub(crate) fn ratio(number: u64, over: f64) -> f64 {
    number as f64 / over
}

/// As [`ratio`], of numbers that may be large.
#[expect(clippy::cast_precision_loss, reason = "shown with a few digits only")]
pub(crate) fn wide_ratio(number: u128, over: u128) -> f64 {
    number as f64 / over as f64
}

/// How many a second.
pub(crate) fn rate(number: u64, time: Duration) -> f64 {
    ratio(number, time.as_secs_f64().max(1e-6))
}

/// `12,345`, `12`, `3.4`, `0.7`, `0.02`: as many digits as matter, so that what is not zero does not look like it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating, rounded number")]
pub(crate) fn decimal(value: f64) -> String {
    if value >= 9.95 || value.fract() == 0.0 || !value.is_finite() {
        return grouped(value.round() as u128);
    }
    match (1..=6).find(|digits| value * 10_f64.powi(*digits) >= 0.95) {
        Some(digits) => format!("{value:.*}", digits as usize),
        None => format!("{value:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(duration("1H"), Ok(Duration::from_secs(3600)));
        assert_eq!(size("500M"), Ok(500 << 20));
        assert_eq!(size("4GiB"), Ok(4 << 30));
        for bad in
            ["", "m", "-3", "0", "1.5h", "10 parsecs", "99999999999999999999", "9999999999999999h", "ß"]
        {
            assert!(duration(bad).is_err(), "{bad}");
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_people_read_is_written() {
        assert_eq!(grouped(0_u64), "0");
        assert_eq!(grouped(999_u64), "999");
        assert_eq!(grouped(7_479_449_u64), "7,479,449");
        assert_eq!(bytes(512), "512 bytes");
        assert_eq!(bytes(1 << 20), "1.0 MiB");
        assert_eq!(bytes(163 << 20), "163 MiB");
        assert_eq!(time(Duration::from_millis(21)), "0.021 s");
        assert_eq!(time(Duration::from_secs(725)), "12 min 5 s");
        assert_eq!(decimal(rate(1000, Duration::from_millis(500))), "2,000");
    }

    #[test]
    fn what_is_not_zero_does_not_look_like_it() {
        let numbers = [0.0, 0.7, 0.05, 0.0012, 1.0, 1.25, 9.94, 9.96, 18.4, 1234.5, 1e-20];
        let texts = ["0", "0.7", "0.05", "0.001", "1", "1.2", "9.9", "10", "18", "1,235", "1e-20"];
        assert_eq!(numbers.map(decimal), texts);
    }
}
