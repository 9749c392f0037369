//! Reads what `Debug` prints back as a tree, so that a diagram can compare two states field by field and
//! shorten a text where it hurts least.
//!
//! Known: any text is accepted. What does not look like derived `Debug` is one atom, shown as it is.
//! Held by: the tests below, tests/diagram.rs.

/// Deeper nesting than this is shown as text: the tree is walked recursively.
const DEPTH_MAX: usize = 64;
/// How far the later lines of a text that is broken up are moved to the right.
const HANGING: usize = 2;
/// No text takes more lines than this.
const LINES_MAX: usize = 16;
/// A space at which no line is broken.
pub(super) const STAY: char = '\u{a0}';

/// A text that `Debug` printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Tree {
    /// A number, a string, a variant without fields, or whatever has no structure we know.
    Atom(String),
    /// `Name { a: 1 }`, `Some(1)`, `[1, 2]`, `{1, 2}`, `{1: 2}`.
    Group(Group),
    /// Several of them one after the other, such as `Node { .. } timers {Election}`.
    Row(Vec<Tree>),
}

/// A name, which may be empty, and what stands in brackets behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    pub(super) head: String,
    pub(super) bracket: Bracket,
    pub(super) entries: Vec<Entry>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bracket {
    Brace,
    Round,
    Square,
}

/// What stands between two commas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The name of a field or the key of a map.
    pub(super) label: Option<String>,
    pub(super) value: Tree,
}

impl Bracket {
    fn opened_by(letter: char) -> Option<Self> {
        match letter {
            '{' => Some(Bracket::Brace),
            '(' => Some(Bracket::Round),
            '[' => Some(Bracket::Square),
            _ => None,
        }
    }

    fn letters(self) -> (char, char) {
        match self {
            Bracket::Brace => ('{', '}'),
            Bracket::Round => ('(', ')'),
            Bracket::Square => ('[', ']'),
        }
    }
}

impl Tree {
    /// Reads a text. `names` are the processes' names: their ids, printed as `#0`, are replaced by them,
    /// because nobody remembers that `#2` is `acceptor 0`.
    pub(super) fn read(text: &str, names: &[String]) -> Self {
        let mut reader = Reader { letters: text.chars().collect(), at: 0, names };
        match reader.value(0, false) {
            Some(tree) if reader.at == reader.letters.len() => tree,
            _ => Tree::Atom(text.trim().to_string()),
        }
    }

    /// As `Debug` prints it.
    pub(super) fn full(&self) -> String {
        self.print(Form::Full, false)
    }

    /// Without the names of fields: `Write(1, 2)` for `Write { ballot: 1, value: 2 }`.
    pub(super) fn values(&self) -> String {
        self.print(Form::Values, false)
    }

    /// Without the names of inner records either: `Some(1, 2)` for `Some(Vote { ballot: 1, value: 2 })`.
    pub(super) fn bare(&self) -> String {
        self.print(Form::Bare, false)
    }

    /// From the longest form to the shortest.
    pub(super) fn forms(&self) -> [String; 3] {
        [self.full(), self.values(), self.bare()]
    }

    /// The name in front: `Write` for `Write { ballot: 1, value: 2 }`.
    pub(super) fn head(&self) -> &str {
        match self {
            Tree::Atom(text) => text,
            Tree::Group(group) => &group.head,
            Tree::Row(parts) => parts.first().map_or("", Tree::head),
        }
    }

    fn print(&self, form: Form, inner: bool) -> String {
        match self {
            Tree::Atom(text) => text.clone(),
            Tree::Group(group) => group.print(form, inner),
            Tree::Row(parts) => {
                parts.iter().map(|part| part.print(form, inner)).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// How much of a tree is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Full,
    Values,
    Bare,
}

impl Group {
    /// The values of some entries, without the names.
    pub(super) fn tuple(entries: &[Entry]) -> Self {
        let entries = entries.iter().map(|entry| Entry { label: None, value: entry.value.clone() }).collect();
        Group { head: String::new(), bracket: Bracket::Round, entries }
    }

    /// Has it named fields, as a struct or a variant with fields?
    pub(super) fn is_record(&self) -> bool {
        self.bracket == Bracket::Brace
            && !self.head.is_empty()
            && self.entries.iter().any(|entry| entry.label.is_some())
    }

    fn print(&self, form: Form, inner: bool) -> String {
        let named = form == Form::Full || !self.is_record();
        let entry_text = |entry: &Entry| match &entry.label {
            Some(label) if named => format!("{label}: {}", entry.value.print(form, true)),
            _ => entry.value.print(form, true),
        };
        let inside = self.entries.iter().map(entry_text).collect::<Vec<_>>().join(", ");
        let head = &self.head;
        match self.bracket {
            Bracket::Brace if self.is_record() => match form {
                Form::Full => format!("{head} {{ {inside} }}"),
                Form::Bare if inner => format!("({inside})"),
                _ => format!("{head}({inside})"),
            },
            Bracket::Brace if !head.is_empty() => format!("{head} {{{inside}}}"),
            Bracket::Round if form == Form::Bare && inside.starts_with('(') && self.entries.len() == 1 => {
                format!("{head}{inside}")
            }
            bracket => {
                let (open, close) = bracket.letters();
                format!("{head}{open}{inside}{close}")
            }
        }
    }
}

struct Reader<'n> {
    letters: Vec<char>,
    at: usize,
    names: &'n [String],
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    /// Reads up to a comma, a closing bracket, the end, or, where a label may stand, a colon. `None` if
    /// the brackets do not match.
    fn value(&mut self, depth: usize, label_allowed: bool) -> Option<Tree> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut parts = Vec::new();
        let mut text = String::new();
        while let Some(letter) = self.peek() {
            if let Some(bracket) = Bracket::opened_by(letter) {
                self.at += 1;
                let entries = self.entries(bracket, depth)?;
                let head = std::mem::take(&mut text).trim().to_string();
                parts.push(Tree::Group(Group { head, bracket, entries }));
                continue;
            }
            let next_is_space = self.letters.get(self.at + 1).is_some_and(|next| next.is_whitespace());
            match letter {
                '}' | ')' | ']' if depth == 0 => return None,
                '}' | ')' | ']' => break,
                ',' if depth > 0 => break,
                ':' if label_allowed && next_is_space => break,
                '"' | '\'' => self.quoted(letter, &mut text),
                _ => {
                    text.push(letter);
                    self.at += 1;
                }
            }
        }
        let rest = text.trim();
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Tree::Atom(self.named(rest)));
        }
        if parts.len() == 1 { parts.pop() } else { Some(Tree::Row(parts)) }
    }

    fn entries(&mut self, bracket: Bracket, depth: usize) -> Option<Vec<Entry>> {
        let (_, close) = bracket.letters();
        let mut entries = Vec::new();
        loop {
            let mut entry = Entry { label: None, value: self.value(depth + 1, true)? };
            if self.peek() == Some(':') {
                self.at += 1;
                entry = Entry { label: Some(entry.value.full()), value: self.value(depth + 1, false)? };
            }
            if entry.label.is_some() || entry.value != Tree::Atom(String::new()) {
                entries.push(entry);
            }
            let end = self.peek()?;
            self.at += 1;
            match end {
                ',' => {}
                end if end == close => return Some(entries),
                _ => return None,
            }
        }
    }

    /// Copies a string or a letter with its quotes; a lone apostrophe is a letter like any other.
    fn quoted(&mut self, quote: char, text: &mut String) {
        let mut end = self.at + 1;
        while end < self.letters.len() && self.letters[end] != quote {
            end += if self.letters[end] == '\\' { 2 } else { 1 };
        }
        // The longest letter that Debug prints is '\u{10ffff}'.
        let closed = end < self.letters.len() && (quote == '"' || end - self.at <= 11);
        let upto = if closed { end } else { self.at };
        text.extend(&self.letters[self.at..=upto]);
        self.at = upto + 1;
    }

    fn named(&self, atom: &str) -> String {
        let id = atom.strip_prefix('#').and_then(|digits| digits.parse::<usize>().ok());
        id.and_then(|id| self.names.get(id)).map_or_else(|| atom.to_string(), Clone::clone)
    }
}

/// The number of columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// A text in at most `width` columns, shortened with an ellipsis.
pub(super) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_string();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        short.push('…');
    }
    short
}

/// Some words around a tree in lines of at most `width` columns: without the names of fields if that makes it one line,
/// in several lines if it does not.
pub(super) fn fit(before: &str, tree: &Tree, after: &str, width: usize) -> Vec<String> {
    match fit_whole(before, tree, after, width) {
        Some(fitting) => vec![fitting],
        None => broken_up(&format!("{before}{}{after}", tree.values()), width),
    }
    .into_iter()
    .map(|line| line.replace(STAY, " "))
    .collect()
}

/// A text in lines of at most `width` columns, the later ones a little to the right. Broken between words where that can
/// be; what is longer than a screen full of lines ends with an ellipsis.
pub(super) fn broken_up(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    loop {
        let indent = if lines.is_empty() || width < 4 * HANGING { 0 } else { HANGING };
        let room = width.saturating_sub(indent).max(1);
        if rest.len() <= room {
            lines.push(format!("{:indent$}{}", "", rest.iter().collect::<String>()));
            return lines;
        }
        if lines.len() + 1 == LINES_MAX {
            let cut: String = rest[..room - 1].iter().collect();
            lines.push(format!("{:indent$}{cut}…", ""));
            return lines;
        }
        // A space in the first half would leave most of the line empty.
        let space = (room / 2..=room).rev().find(|at| rest[*at] == ' ');
        let end = space.unwrap_or(room);
        lines.push(format!("{:indent$}{}", "", rest[..end].iter().collect::<String>()));
        rest.drain(..end + usize::from(space.is_some()));
    }
}

/// As [`fit`], but `None` if it takes more than one line.
pub(super) fn fit_whole(before: &str, tree: &Tree, after: &str, width: usize) -> Option<String> {
    tree.forms().into_iter().map(|form| format!("{before}{form}{after}")).find(|text| columns(text) <= width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Tree {
        Tree::read(text, &["proposer".to_string(), "acceptor 0".to_string()])
    }

    #[test]
    fn derived_debug_comes_back_as_it_was() {
        for text in [
            "7",
            "Idle",
            "A { b: 1, c: Some(D { e: [1, 2], f: {} }), g: {1: (2, 3)} }",
            "\"a, { b: \\\" c\"",
            "('{', '\\'', 'x')",
            "Node { term: 1 } timers {Election}",
            "{(1, 2): A { b: 1 }}",
        ] {
            assert_eq!(read(text).full(), text);
        }
    }

    #[test]
    fn structure_is_found_outside_quotes_only() {
        assert!(matches!(read("A { b: 1 }"), Tree::Group(group) if group.is_record()));
        assert!(matches!(read("{1: 2}"), Tree::Group(group) if !group.is_record()));
        assert!(matches!(read("A { b: 1 } timers {B}"), Tree::Row(parts) if parts.len() == 2));
        assert!(matches!(read("[\"a, b\", ']']"), Tree::Group(group) if group.entries.len() == 2));
        assert!(matches!(read("\"A { b: 1 }\""), Tree::Atom(_)));
    }

    #[test]
    fn what_is_not_derived_debug_stays_text() {
        for text in ["", "a } b", "don't {", "](", "{\"", "'", "((((", "a: b, c: d"] {
            assert_eq!(read(text), Tree::Atom(text.to_string()));
        }
        let deep = "(".repeat(200) + &")".repeat(200);
        assert_eq!(read(&deep), Tree::Atom(deep.clone()));
    }

    #[test]
    fn pretty_debug_is_read_too() {
        assert_eq!(read("A {\n    b: 1,\n    c: [\n        2,\n    ],\n}").full(), "A { b: 1, c: [2] }");
    }

    #[test]
    fn field_names_and_ids_are_shortened() {
        let tree = read("Vote { term: 1, by: #1, seen: {#0: X { y: 1 }} }");
        assert_eq!(tree.values(), "Vote(1, acceptor 0, {proposer: X(1)})");
        assert_eq!(fit("", &tree, "", 40), ["Vote(1, acceptor 0, {proposer: X(1)})"]);
        assert_eq!(fit("", &tree, "", 20), ["Vote(1, acceptor 0,", "  {proposer: X(1)})"]);
        assert_eq!(tree.head(), "Vote");
        assert_eq!(read("Reply { to: Some(Vote { term: 1, by: 2 }) }").bare(), "Reply(Some(1, 2))");
        assert_eq!(read("Some((1, 2))").bare(), "Some(1, 2)");
    }

    #[test]
    fn a_long_text_is_broken_between_words_and_in_the_end_cut() {
        assert_eq!(broken_up("", 8), [""]);
        assert_eq!(broken_up("one two three", 8), ["one two", "  three"]);
        assert_eq!(broken_up("incomprehensible", 10), ["incomprehe", "  nsible"]);
        let endless = broken_up(&"x".repeat(1000), 10);
        assert_eq!((endless.len(), endless.last().map(String::as_str)), (LINES_MAX, Some("  xxxxxxx…")));
        assert!(endless.iter().all(|line| columns(line) <= 10));
    }
}
