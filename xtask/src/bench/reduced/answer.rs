//! What the program says: the answer of one check, and which protocols there are.

use super::super::json::Json;

/// All reductions, in the order in which the program names them.
const REDUCTIONS: [&str; 4] = ["inert", "stubborn", "beliefs", "symmetry"];

/// What is used of the answer of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Answer {
    pub(super) verdict: String,
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) table_bytes: Option<u64>,
    pub(super) handler_calls: Option<u64>,
    /// The reductions that are sound here, whether or not the search kept them to its end.
    pub(super) sound: Vec<&'static str>,
}

impl Answer {
    pub(super) fn read(printed: &str) -> Option<Answer> {
        let json = Json::read(printed)?;
        let off: Vec<&str> =
            json.list("switched_off").iter().filter_map(|one| one.text("reduction")).collect();
        Some(Answer {
            verdict: json.text("verdict")?.to_string(),
            states: json.number("states")?,
            transitions: json.number("transitions")?,
            table_bytes: json.number("table_bytes"),
            handler_calls: json.number("handler_calls"),
            sound: REDUCTIONS.into_iter().filter(|name| !off.contains(name)).collect(),
        })
    }

    /// Whether the search came to an end by itself.
    pub(super) fn ended(&self) -> bool {
        self.verdict != "unknown"
    }
}

/// A protocol of the zoo with the names of its planted bugs.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Protocol {
    pub(super) name: String,
    pub(super) bugs: Vec<String>,
}

/// The whole zoo.
pub(super) fn zoo(printed: &str) -> Option<Vec<Protocol>> {
    let json = Json::read(printed)?;
    let name = |of: &Json| of.text("name").map(str::to_string);
    let protocol = |of: &Json| {
        Some(Protocol { name: name(of)?, bugs: of.list("bugs").iter().map(name).collect::<Option<_>>()? })
    };
    json.list("protocols").iter().map(protocol).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let printed = r#"{"parameters":{"transitions":"quorum"},"verdict":"holds","reductions":[],
            "switched_off":[{"reduction":"symmetry","reason":"none is symmetric"}],
            "fallbacks":["reductions were dropped"],"states":12,"transitions":34,"handler_calls":5,"table_bytes":null}"#;
        let answer = Answer::read(printed).unwrap();
        let Answer { verdict, states, transitions, table_bytes, handler_calls, sound } = &answer;
        assert_eq!((verdict.as_str(), *states, *transitions), ("holds", 12, 34));
        assert_eq!((*table_bytes, *handler_calls), (None, Some(5)));
        assert_eq!(sound, &["inert", "stubborn", "beliefs"]);
        assert!(answer.ended() && !Answer { verdict: "unknown".to_string(), ..answer }.ended());
        assert_eq!(Answer::read("error: --reduce symmetry: none is symmetric"), None);
    }

    #[test]
    fn the_zoo_is_read() {
        let printed = r#"{"quorate":2,"protocols":[
            {"name":"tree","parameters":[{"name":"nodes"}],"bugs":[{"name":"first-child-only","about":"one"}]},
            {"name":"calm","bugs":[]}]}"#;
        let zoo = zoo(printed).unwrap();
        let names: Vec<_> = zoo.iter().map(|one| (one.name.as_str(), one.bugs.len())).collect();
        assert_eq!(names, [("tree", 1), ("calm", 0)]);
        assert_eq!(zoo[0].bugs, ["first-child-only"]);
    }
}
