//! What a step changed in a local state: the difference of two texts that `Debug` printed, field by field.
//!
//! Known: a field that kept its text is taken for unchanged; two types that print alike look alike.
//! Held by: the tests below, tests/diagram.rs.

use super::debug_text::{Bracket, Entry, Group, Tree, columns};

/// A collection whose two texts are longer than this together is shown by what came and what went.
const WHOLE_COLLECTION_MAX: usize = 24;

/// One difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Change {
    /// Where: the names of the fields on the way, with dots. Empty for the whole state.
    path: String,
    how: How,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum How {
    Turned {
        from: Tree,
        to: Tree,
    },
    Gained(Tree),
    Lost(Tree),
    /// The state has another shape now.
    Became(Tree),
}

/// Everything that differs between two states.
pub(super) fn changes(before: &Tree, after: &Tree) -> Vec<Change> {
    let mut found = Vec::new();
    compare("", before, after, &mut found);
    found
}

fn compare(path: &str, before: &Tree, after: &Tree, found: &mut Vec<Change>) {
    if before == after {
        return;
    }
    let inside = match (before, after) {
        (Tree::Group(old), Tree::Group(new)) if old.head == new.head && old.bracket == new.bracket => {
            compare_groups(path, old, new, found)
        }
        (Tree::Row(_), _) | (_, Tree::Row(_)) => compare_rows(path, parts(before), parts(after), found),
        _ => false,
    };
    if inside {
        return;
    }
    let shapeless = matches!((before, after), (Tree::Atom(_), Tree::Atom(_)));
    let how = if path.is_empty() && !shapeless {
        How::Became(after.clone())
    } else {
        How::Turned { from: before.clone(), to: after.clone() }
    };
    found.push(Change { path: path.to_string(), how });
}

/// Compares what two groups with the same name hold. `false` if that says nothing: compare them as a whole.
fn compare_groups(path: &str, old: &Group, new: &Group, found: &mut Vec<Change>) -> bool {
    let same_labels = old.entries.len() == new.entries.len()
        && old.entries.iter().zip(&new.entries).all(|(old, new)| old.label == new.label);
    if !old.is_record() && old.bracket == Bracket::Brace {
        return compare_collections(path, old, new, found);
    }
    if same_labels && !path.is_empty() && reads_better_whole(old, new) {
        let bare = |group: &Group| Tree::Group(Group::tuple(&group.entries));
        found.push(Change { path: path.to_string(), how: How::Turned { from: bare(old), to: bare(new) } });
        return true;
    }
    if same_labels {
        let single = old.entries.len() == 1 && !old.head.is_empty();
        for (at, (old_entry, new_entry)) in old.entries.iter().zip(&new.entries).enumerate() {
            let inner = match &old_entry.label {
                Some(label) => join(path, label),
                None if single => path.to_string(),
                None if old.bracket == Bracket::Square => format!("{path}[{at}]"),
                None => join(path, &at.to_string()),
            };
            compare(&inner, &old_entry.value, &new_entry.value, found);
        }
        return true;
    }
    old.bracket == Bracket::Square
        && new.entries.starts_with(&old.entries)
        && compare_collections(path, old, new, found)
}

/// Several fields of a small record that changed together: `(1, 1)→(2, 2)` reads better than each of them.
fn reads_better_whole(old: &Group, new: &Group) -> bool {
    let atoms = |group: &Group| group.entries.iter().all(|entry| matches!(entry.value, Tree::Atom(_)));
    let changed = old.entries.iter().zip(&new.entries).filter(|(old, new)| old != new).count();
    old.bracket != Bracket::Square && changed > 1 && changed == old.entries.len() && atoms(old) && atoms(new)
}

/// Compares two sets, maps or lists by their elements.
fn compare_collections(path: &str, old: &Group, new: &Group, found: &mut Vec<Change>) -> bool {
    let length = |group: &Group| columns(&Tree::Group(group.clone()).values());
    let named = join(path, &old.head);
    if length(old) + length(new) <= WHOLE_COLLECTION_MAX && old.head.is_empty() {
        return false;
    }
    let missing_in = |entry: &Entry, other: &Group| {
        !other
            .entries
            .iter()
            .any(|there| if entry.label.is_some() { there.label == entry.label } else { there == entry })
    };
    let alone = |entry: &Entry| match &entry.label {
        Some(label) => Tree::Atom(format!("{label}: {}", entry.value.values())),
        None => entry.value.clone(),
    };
    for entry in &old.entries {
        let kept = new.entries.iter().find(|there| entry.label.is_some() && there.label == entry.label);
        if let (Some(kept), Some(label)) = (kept, &entry.label) {
            compare(&format!("{named}[{label}]"), &entry.value, &kept.value, found);
        } else if missing_in(entry, new) {
            found.push(Change { path: named.clone(), how: How::Lost(alone(entry)) });
        }
    }
    for entry in new.entries.iter().filter(|entry| missing_in(entry, old)) {
        found.push(Change { path: named.clone(), how: How::Gained(alone(entry)) });
    }
    true
}

/// Compares texts one after the other, such as a node and its timers, by their names.
fn compare_rows(path: &str, old: &[Tree], new: &[Tree], found: &mut Vec<Change>) -> bool {
    let find = |part: &Tree, among: &[Tree]| among.iter().find(|other| other.head() == part.head()).cloned();
    if old.first().map(Tree::head) != new.first().map(Tree::head) {
        return false;
    }
    for part in old {
        match find(part, new) {
            Some(kept) => compare(path, part, &kept, found),
            None => found.push(Change { path: path.to_string(), how: How::Lost(part.clone()) }),
        }
    }
    for part in new.iter().filter(|part| find(part, old).is_none()) {
        found.push(Change { path: path.to_string(), how: How::Gained(part.clone()) });
    }
    true
}

fn parts(tree: &Tree) -> &[Tree] {
    match tree {
        Tree::Row(parts) => parts,
        other => std::slice::from_ref(other),
    }
}

fn join(path: &str, label: &str) -> String {
    match (path.is_empty(), label.is_empty()) {
        (true, _) => label.to_string(),
        (_, true) => path.to_string(),
        _ => format!("{path}.{label}"),
    }
}

impl Change {
    /// In at most `width` columns if one of its forms fits, else in the shortest.
    pub(super) fn text(&self, width: usize) -> String {
        let path = if self.path.is_empty() { String::new() } else { format!("{} ", self.path) };
        let forms = match &self.how {
            How::Turned { from, to } => {
                let pairs = from.forms().into_iter().zip(to.forms());
                let mut forms: Vec<String> = pairs.map(|(from, to)| format!("{path}{from}→{to}")).collect();
                forms.push(format!("{path}…→{}", to.bare()));
                forms
            }
            How::Gained(element) => element.forms().map(|form| format!("{path}+{form}")).to_vec(),
            How::Lost(element) => element.forms().map(|form| format!("{path}−{form}")).to_vec(),
            How::Became(state) => state.forms().map(|form| format!("becomes {form}")).to_vec(),
        };
        let shortest = forms.last().cloned().unwrap_or_default();
        forms.into_iter().find(|form| columns(form) <= width).unwrap_or(shortest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let read = |text| Tree::read(text, &[]);
        let found = changes(&read(before), &read(after));
        found.iter().map(|change| change.text(60)).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn only_changed_fields_are_shown() {
        assert_eq!(
            shown(
                "A { promised: 0, accepted: None, v: V { x: 1 } }",
                "A { promised: 1, accepted: Some(B { c: 2 }), v: V { x: 1 } }"
            ),
            "promised 0→1, accepted None→Some(B { c: 2 })"
        );
        assert_eq!(shown("A { b: 1 }", "A { b: 1 }"), "");
    }

    #[test]
    fn nested_fields_have_a_path() {
        assert_eq!(shown("A { b: Some(C { d: 1, e: 2 }) }", "A { b: Some(C { d: 1, e: 3 }) }"), "b.e 2→3");
        assert_eq!(
            shown("A { b: Some(C { d: 1, e: 2 }) }", "A { b: Some(C { d: 2, e: 3 }) }"),
            "b (1, 2)→(2, 3)"
        );
        assert_eq!(shown("A { b: (1, 2), c: [1, 2] }", "A { b: (1, 3), c: [0, 2] }"), "b.1 2→3, c[0] 1→0");
    }

    #[test]
    fn another_shape_is_shown_whole() {
        assert_eq!(shown("Follower { term: 1 }", "Leader { term: 2 }"), "becomes Leader { term: 2 }");
        assert_eq!(shown("Idle", "Busy"), "Idle→Busy");
    }

    #[test]
    fn small_collections_are_shown_whole_and_large_ones_by_element() {
        assert_eq!(shown("A { s: {1} }", "A { s: {1, 2} }"), "s {1}→{1, 2}");
        assert_eq!(
            shown("A { s: {1111111, 2222222, 3333333} }", "A { s: {1111111, 3333333, 4444444} }"),
            "s −2222222, s +4444444"
        );
        assert_eq!(
            shown("A { m: {1: 1111111, 2: 2222222} }", "A { m: {1: 1111111, 2: 3333333, 4: 5} }"),
            "m[2] 2222222→3333333, m +4: 5"
        );
        assert_eq!(
            shown("A { log: [1111111, 2222222] }", "A { log: [1111111, 2222222, 3333333] }"),
            "log +3333333"
        );
    }

    #[test]
    fn timers_beside_a_node_are_compared_by_name() {
        assert_eq!(shown("N { t: 1 }", "N { t: 2 } timers {Tick}"), "t 1→2, +timers {Tick}");
        assert_eq!(shown("N { t: 1 } timers {Tick}", "N { t: 1 }"), "−timers {Tick}");
        assert_eq!(shown("N { t: 1 } timers {A}", "N { t: 1 } timers {A, B}"), "timers +B");
    }
}
