//! Rust source taken apart, as far as the rules need it: code, comments, and strings.
//!
//! Known: a lexer for whole files that compile, not a parser. Raw strings, nested comments, lifetimes and characters
//! are distinguished; what a macro makes of its tokens is not known.

/// Something that stands on a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct At<T> {
    pub(super) line: usize,
    pub(super) what: T,
}

/// A file, taken apart.
#[derive(Default, Debug)]
pub(super) struct Source {
    /// Names and signs of the code; `::` is one sign. Nothing of `#[cfg(test)]` items.
    pub(super) tokens: Vec<At<String>>,
    /// The text of string literals, as written, outside of `#[cfg(test)]` items.
    pub(super) strings: Vec<At<String>>,
    /// Every line of a comment, without its slashes.
    pub(super) comments: Vec<At<String>>,
}

/// What a string literal is replaced by among the tokens.
const STRING: &str = "\"";

impl Source {
    pub(super) fn read(text: &str) -> Source {
        let mut source = Reader { rest: text, line: 1, source: Source::default() }.read();
        source.leave_out_tests();
        source
    }

    /// Takes out every item that stands behind `#[cfg(test)]`.
    fn leave_out_tests(&mut self) {
        let marks = ["#", "[", "cfg", "(", "test", ")", "]"];
        let mut strings = std::mem::take(&mut self.strings).into_iter();
        let mut kept = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let begins =
                self.tokens[at..].iter().map(|token| token.what.as_str()).take(marks.len()).eq(marks);
            let end = if begins { self.end_of_item(at + marks.len()) } else { at + 1 };
            for token in &self.tokens[at..end] {
                let string = if token.what == STRING { strings.next() } else { None };
                if !begins {
                    self.strings.extend(string);
                    kept.push(token.clone());
                }
            }
            at = end;
        }
        self.tokens = kept;
    }

    /// Behind the block or the semicolon that ends the item that begins here.
    fn end_of_item(&self, from: usize) -> usize {
        let mut depth = 0usize;
        for (at, token) in self.tokens.iter().enumerate().skip(from) {
            match token.what.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && token.what == "}" {
                        return at + 1;
                    }
                }
                ";" if depth == 0 => return at + 1,
                _ => {}
            }
        }
        self.tokens.len()
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    source: Source,
}

impl<'a> Reader<'a> {
    fn read(mut self) -> Source {
        while let Some(next) = self.rest.chars().next() {
            if let Some(comment) = self.rest.strip_prefix("//") {
                let text = comment.lines().next().unwrap_or_default();
                let words = text.trim_start_matches(['/', '!']).trim().to_string();
                self.source.comments.push(At { line: self.line, what: words });
                self.take(2 + text.len());
            } else if self.rest.starts_with("/*") {
                self.block_comment();
            } else if let Some(opening) = string_opening(self.rest) {
                self.string(opening);
            } else if next == '\'' {
                let length = character(self.rest);
                self.take(length);
            } else if next.is_alphanumeric() || next == '_' {
                let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
                self.token(end.unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("::") {
                self.token(2);
            } else if next.is_whitespace() {
                self.take(next.len_utf8());
            } else {
                self.token(next.len_utf8());
            }
        }
        self.source
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn token(&mut self, bytes: usize) {
        let line = self.line;
        let what = self.take(bytes).to_string();
        self.source.tokens.push(At { line, what });
    }

    fn block_comment(&mut self) {
        let mut depth = 0usize;
        let mut end = 0;
        for (at, _) in self.rest.char_indices() {
            if at < end {
                continue;
            }
            match self.rest.get(at..at + 2) {
                Some("/*") => (depth, end) = (depth + 1, at + 2),
                Some("*/") => (depth, end) = (depth - 1, at + 2),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        let end = if depth == 0 { end } else { self.rest.len() };
        let line = self.line;
        for (below, text) in self.take(end).lines().enumerate() {
            let words = text.trim().trim_matches(['/', '*', '!']).trim().to_string();
            self.source.comments.push(At { line: line + below, what: words });
        }
    }

    fn string(&mut self, opening: Opening) {
        let line = self.line;
        self.take(opening.length);
        let end = if opening.raw {
            self.rest.find(&format!("\"{}", "#".repeat(opening.hashes)))
        } else {
            end_of_escaped(self.rest)
        };
        let end = end.unwrap_or(self.rest.len());
        let what = self.take(end).to_string();
        let closing = (1 + opening.hashes).min(self.rest.len());
        self.take(closing);
        self.source.strings.push(At { line, what });
        self.source.tokens.push(At { line, what: STRING.to_string() });
    }
}

/// How a string literal begins.
#[derive(Clone, Copy)]
struct Opening {
    length: usize,
    raw: bool,
    hashes: usize,
}

fn string_opening(text: &str) -> Option<Opening> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        text.strip_prefix(prefix).is_some_and(|rest| {
            rest.starts_with('"') || prefix.ends_with('r') && rest.trim_start_matches('#').starts_with('"')
        })
    })?;
    let raw = prefix.ends_with('r');
    let rest = &text[prefix.len()..];
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    Some(Opening { length: prefix.len() + hashes + 1, raw, hashes })
}

fn end_of_escaped(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// The length of a character literal, or of the quote of a lifetime.
fn character(text: &str) -> usize {
    let inside = &text[1..];
    if let Some(escape) = inside.strip_prefix('\\') {
        // What is escaped may be a quote itself.
        let first = escape.chars().next().map_or(0, char::len_utf8);
        return escape[first..].find('\'').map_or(1, |end| 2 + first + end + 1);
    }
    let first = inside.chars().next().map_or(0, char::len_utf8);
    if inside[first..].starts_with('\'') { 1 + first + 1 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[At<String>]) -> Vec<(usize, &str)> {
        list.iter().map(|at| (at.line, at.what.as_str())).collect()
    }

    #[test]
    fn code_comments_and_strings_are_distinguished() {
        let text = "//! Head.\nfn f<'a>(c: char) -> &'a str {\n    g('\"', '\\'', b'x'); // why\n    r#\"a \"b\" //\"#\n}\n/* in\n/* it */ a */ use a::b;\n";
        let source = Source::read(text);
        assert_eq!(words(&source.comments), [(1, "Head."), (3, "why"), (6, "in"), (7, "it */ a")]);
        assert_eq!(words(&source.strings), [(4, "a \"b\" //")]);
        let code: Vec<&str> = source.tokens.iter().map(|token| token.what.as_str()).collect();
        assert_eq!(code.join(" "), "fn f < a > ( c : char ) - > & a str { g ( , , b ) ; \" } use a :: b ;");
    }

    #[test]
    fn tests_are_left_out() {
        let text = "const A: &str = \"a\\\"\";\n#[cfg(test)]\nmod tests {\n    fn f() { g(\"b\") }\n}\n#[cfg(test)]\nuse x::y;\nfn h() { \"c\" }\n";
        let source = Source::read(text);
        assert_eq!(words(&source.strings), [(1, "a\\\""), (8, "c")]);
        assert!(!source.tokens.iter().any(|token| ["tests", "g", "x"].contains(&token.what.as_str())));
    }
}
