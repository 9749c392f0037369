//! JSON as programs print it, read as a whole.
//!
//! Known: numbers stay text until somebody asks, and of escapes only those are read that a program of the house writes.

use std::str::Chars;

/// A value.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Json {
    /// `null`, `true`, `false` or a number, as it was written.
    Word(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads one value with nothing behind it.
    pub(super) fn read(text: &str) -> Option<Json> {
        let mut rest = Rest(text.chars());
        let value = rest.value()?;
        rest.end().then_some(value)
    }

    /// What an object has under this key.
    pub(super) fn get(&self, key: &str) -> Option<&Json> {
        let Json::Object(fields) = self else { return None };
        fields.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The text under this key.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// The whole number under this key.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        let Json::Word(word) = self.get(key)? else { return None };
        word.parse().ok()
    }

    /// The values of the list under this key; none if there is no list.
    pub(super) fn list(&self, key: &str) -> &[Json] {
        if let Some(Json::List(values)) = self.get(key) { values } else { &[] }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }
}

/// What is still to be read.
struct Rest<'t>(Chars<'t>);

impl Rest<'_> {
    fn value(&mut self) -> Option<Json> {
        Some(match self.peek()? {
            '{' => Json::Object(self.many('}', |rest| {
                let key = rest.string()?;
                rest.take(':')?;
                Some((key, rest.value()?))
            })?),
            '[' => Json::List(self.many(']', Rest::value)?),
            '"' => Json::Text(self.string()?),
            _ => Json::Word(self.word()?),
        })
    }

    /// Values with commas between them, up to the bracket that closes them.
    fn many<T>(&mut self, close: char, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.0.next();
        let mut values = Vec::new();
        if self.take(close).is_some() {
            return Some(values);
        }
        loop {
            values.push(one(self)?);
            if self.take(',').is_none() {
                return self.take(close).map(|()| values);
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take('"')?;
        let mut text = String::new();
        loop {
            match self.0.next()? {
                '"' => return Some(text),
                '\\' => text.push(self.escaped()?),
                other => text.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        match self.0.next()? {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'u' => {
                let digits: String = self.0.by_ref().take(4).collect();
                u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
            }
            same => Some(same),
        }
    }

    fn word(&mut self) -> Option<String> {
        let rest = self.0.as_str();
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(rest.len());
        self.0 = rest[end..].chars();
        (end > 0).then(|| rest[..end].to_string())
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        self.0 = self.0.as_str().trim_start().chars();
        self.0.clone().next()
    }

    fn take(&mut self, wanted: char) -> Option<()> {
        (self.peek()? == wanted).then(|| {
            self.0.next();
        })
    }

    fn end(&mut self) -> bool {
        self.peek().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let json = Json::read(
            r#" {"states": 12, "none" : [], "of": {"states": "quorum"}, "list": ["a\"b", -1.5e3, {"x": null}], "é": "\u00e9\n"} "#,
        )
        .unwrap();
        assert_eq!(json.number("states"), Some(12));
        assert_eq!(json.get("of").and_then(|of| of.text("states")), Some("quorum"));
        assert_eq!(json.get("of").and_then(|of| of.number("states")), None);
        assert!(json.list("none").is_empty() && json.list("states").is_empty());
        assert_eq!(json.list("list")[0].as_text(), Some("a\"b"));
        assert_eq!(json.list("list")[1], Json::Word("-1.5e3".to_string()));
        assert_eq!(json.list("list")[2].get("x"), Some(&Json::Word("null".to_string())));
        assert_eq!(json.text("é"), Some("é\n"));
    }

    #[test]
    fn what_is_broken_is_nothing() {
        for broken in
            ["", "{", "[1,]", "[1 2]", "{\"a\" 1}", "\"a", "1 2", "{1: 2}", "\"\\u00\"", "error: no"]
        {
            assert_eq!(Json::read(broken), None, "{broken}");
        }
    }
}
