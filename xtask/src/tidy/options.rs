//! No text below the program names a command-line option: a library that is used without the program has none.

use super::chain::LIBRARY;
use super::source::Source;
use super::{File, ratchet};

/// Files that still name one. To be emptied.
const OFFENDERS: &[&str] = &[];

/// Strings that name an option, in files that are not known to.
pub(super) fn options(file: &File<'_>) -> Vec<String> {
    let Some(below) = file.path.strip_prefix(LIBRARY).filter(|path| !path.starts_with("program/")) else {
        return Vec::new();
    };
    if !file.is_rust() {
        return Vec::new();
    }
    let named = named(file.text);
    ratchet(OFFENDERS.contains(&below), named, "OFFENDERS in xtask/src/tidy/options.rs")
}

fn named(text: &str) -> Vec<String> {
    let has_option = |text: &str| {
        text.match_indices("--").any(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    let strings = Source::read(text).strings;
    let named = strings.iter().filter(|string| has_option(&string.what));
    named.map(|string| format!(":{}: a command-line option below the program", string.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_in_a_string_is_reported() {
        let text = "//! As `--reduce`.\nfn f() { g(\"use --reduce\") }\nconst A: &str = \"a -- b\";\n";
        assert_eq!(named(text), [":2: a command-line option below the program"]);
    }
}
