//! Answers that are read again, each with a checksum of what it says: traces, snapshots.
//!
//! The checksum is of the values, not of the bytes: a program that prints the same JSON in another way, with line breaks
//! or its fields in another order, breaks nothing.
//! Held by: the tests below, quorate-cli/tests/damage.rs.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::json_line;
use crate::program::checksum::Checksum;
use crate::program::failure::Failure;

/// The field that has the checksum of all others.
const FIELD: &str = "checksum";

/// What is written.
#[derive(Serialize)]
struct Sealed<'c, C> {
    #[serde(flatten)]
    content: &'c C,
    checksum: String,
}

/// One JSON object on a line of its own, with its checksum.
pub(crate) fn line(content: &impl Serialize) -> Result<String, Failure> {
    // As it is read, not as it is here: large numbers are read as others.
    let read = serde_json::from_str(&json_line(content)?)
        .map_err(|error| Failure::Output(format!("cannot write JSON: {error}: expected plain values")))?;
    json_line(&Sealed { content, checksum: checksum(&read) })
}

/// Why a file is not believed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unsealed {
    NoChecksum,
    /// What it should be.
    Changed {
        said: String,
        found: String,
    },
}

impl fmt::Display for Unsealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsealed::NoChecksum => write!(f, "is no answer of quorate, or has lost its field '{FIELD}'"),
            Unsealed::Changed { said, found } => write!(
                f,
                "was changed after it was written, or is damaged: its field '{FIELD}' is '{said}', but that of what it \
                 says is '{found}' (set the field to this if you mean the change)"
            ),
        }
    }
}

/// Is what was read the same as what was written?
pub(crate) fn check(read: &Value) -> Result<(), Unsealed> {
    let said = read.get(FIELD).and_then(Value::as_str).ok_or(Unsealed::NoChecksum)?;
    let found = checksum(read);
    if said == found { Ok(()) } else { Err(Unsealed::Changed { said: said.to_string(), found }) }
}

/// The checksum of all fields but its own.
fn checksum(content: &Value) -> String {
    let mut checksum = Checksum::NOTHING;
    match content {
        Value::Object(fields) => add_fields(&mut checksum, fields, |name| name != FIELD),
        other => add(&mut checksum, other),
    }
    format!("{:016x}", checksum.value())
}

/// Each value begins with its kind, and whatever has parts with their number, so that no two are taken for each other.
fn add(checksum: &mut Checksum, value: &Value) {
    match value {
        Value::Null => checksum.add(b"n"),
        Value::Bool(false) => checksum.add(b"f"),
        Value::Bool(true) => checksum.add(b"t"),
        Value::Number(number) => {
            // 1.0 and 1 are one number, however it is printed.
            let whole = number.as_u64().map(|whole| whole.to_string());
            let text = whole.or_else(|| number.as_f64().map(|float| float.to_string()));
            add_text(checksum, b"#", &text.unwrap_or_else(|| number.to_string()));
        }
        Value::String(text) => add_text(checksum, b"\"", text),
        Value::Array(values) => {
            add_count(checksum, b"[", values.len());
            for value in values {
                add(checksum, value);
            }
        }
        Value::Object(fields) => add_fields(checksum, fields, |_| true),
    }
}

fn add_fields(checksum: &mut Checksum, fields: &Map<String, Value>, counts: impl Fn(&str) -> bool) {
    let mut fields: Vec<(&String, &Value)> = fields.iter().filter(|(name, _)| counts(name)).collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    add_count(checksum, b"{", fields.len());
    for (name, value) in fields {
        add_text(checksum, b"\"", name);
        add(checksum, value);
    }
}

fn add_text(checksum: &mut Checksum, kind: &[u8], text: &str) {
    add_count(checksum, kind, text.len());
    checksum.add(text.as_bytes());
}

fn add_count(checksum: &mut Checksum, kind: &[u8], count: usize) {
    checksum.add(kind);
    checksum.add(&(count as u64).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sealed(content: &Value) -> Value {
        serde_json::from_str(&line(content).expect("plain values")).expect("JSON")
    }

    #[test]
    fn what_says_the_same_has_the_same_checksum() {
        let content = json!({"b": [1, 2.5, -3, 1e300, null], "a": {"y": true, "x": "é\n"}, "seconds": 4.0});
        let written = sealed(&content);
        assert_eq!(check(&written), Ok(()));
        let pretty = serde_json::to_string_pretty(&written).expect("JSON").replace("4.0", "4");
        assert_eq!(check(&serde_json::from_str(&pretty).expect("JSON")), Ok(()));
        let floats = (1..2_000u32).map(|number| 1.0 / f64::from(number)).collect::<Vec<_>>();
        let written = sealed(&json!({ "floats": floats }));
        assert_eq!(check(&serde_json::from_str(&written.to_string()).expect("JSON")), Ok(()));
    }

    #[test]
    fn what_says_something_else_has_another() {
        let contents = [
            json!({"a": [1, 2]}),
            json!({"a": [1], "b": 2}),
            json!({"a": [[1, 2]]}),
            json!({"a": ["1", 2]}),
            json!({"a": ["12"]}),
            json!({"a": [12]}),
            json!({"a": null}),
            json!({"a": false}),
            json!({"a": {}}),
            json!({"a": []}),
            json!({"a": ""}),
            json!({"b": ""}),
            json!({}),
        ];
        for (at, content) in contents.iter().enumerate() {
            for other in &contents[..at] {
                assert_ne!(checksum(content), checksum(other), "{content} and {other}");
            }
        }
    }

    #[test]
    fn what_was_changed_is_noticed_and_may_be_sealed_again() {
        let mut edited = sealed(&json!({"property": "agreement"}));
        edited["property"] = json!("validity");
        let Err(Unsealed::Changed { found, .. }) = check(&edited) else { panic!("it was changed") };
        edited[FIELD] = json!(found);
        assert_eq!(check(&edited), Ok(()));
        edited.as_object_mut().expect("an object").remove(FIELD);
        assert_eq!(check(&edited), Err(Unsealed::NoChecksum));
        assert_eq!(check(&json!([1])), Err(Unsealed::NoChecksum));
    }
}
