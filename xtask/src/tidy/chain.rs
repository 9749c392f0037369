//! One direction: a module of the library uses what stands to its left in the chain, and the files of some folders
//! use each other in no circle.
//!
//! From: the chain in ARCHITECTURE.md. The root and `testing` may use everything; tests beside the code, too.
//! Known: methods are not followed, only names: what is called on a value needs no `use`.

use std::collections::{BTreeMap, BTreeSet};

use super::File;
use super::paths::{Library, Module};

/// Where the library is.
pub(super) const LIBRARY: &str = "crates/quorate/src/";

/// Every module at the top of the library, each after all that it may use.
const CHAIN: &[&str] = &[
    "base", "world", "property", "model", "protocol", "replay", "reduce", "kernel", "report", "engine",
    "render", "check", "program",
];

/// What may use everything.
const FREE: &[&str] = &["testing"];

/// Folders whose files must be free of circles, and those of the folders inside them.
const LAYERED: &[&str] = &["kernel", "engine::components"];

/// Folders in which files still use each other in a circle. None, and none is to be added.
const CYCLIC: &[&str] = &[];

/// The page that explains the library shows the chain as it is.
pub(super) fn shown_in_architecture(file: &File<'_>) -> Vec<String> {
    let chain = CHAIN.join(" → ");
    if file.path == "ARCHITECTURE.md" && !file.text.lines().any(|line| line.trim() == chain) {
        return vec![format!(": expected the line {chain}")];
    }
    Vec::new()
}

/// What the chain and the folders look like, and what is wrong with them.
pub(super) struct Graph {
    folders: Vec<(String, Order)>,
    faults: Vec<String>,
}

/// The files of a folder in an order in which each uses only earlier ones, as far as there is one.
#[derive(PartialEq, Eq, Debug)]
struct Order {
    /// Groups of files that use each other in a circle; a group of one is none.
    groups: Vec<Vec<String>>,
    /// Who uses whom, and where first.
    uses: BTreeMap<(String, String), String>,
}

impl Order {
    /// Where a circle is closed: each use inside of it.
    fn edges<'a>(&'a self, circle: &'a [String]) -> impl Iterator<Item = String> + 'a {
        let inside = move |(from, to): &(String, String)| circle.contains(from) && circle.contains(to);
        let edges = self.uses.iter().filter(move |(edge, _)| inside(edge));
        edges.map(|((from, to), place)| format!("  {from} uses {to}: {place}"))
    }

    fn circles(&self) -> impl Iterator<Item = &Vec<String>> {
        self.groups.iter().filter(|group| group.len() > 1)
    }
}

impl Graph {
    /// Of the library's files, by their paths from the root of the repository.
    pub(super) fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Graph {
        let library = Library::read(
            files.into_iter().filter_map(|(path, text)| Some((path.strip_prefix(LIBRARY)?, text))),
        );
        let mut faults = broken_edges(&library);
        let folders = orders(&library);
        faults.extend(circles(&folders, CYCLIC));
        Graph { folders, faults }
    }

    pub(super) fn faults(self) -> Vec<String> {
        self.faults
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        let mut lines = vec![CHAIN.join(" → ")];
        for (folder, order) in &self.folders {
            let group = |group: &Vec<String>| match group.as_slice() {
                [one] => one.clone(),
                several => format!("({})", several.join(" ↔ ")),
            };
            let groups: Vec<String> = order.groups.iter().map(group).collect();
            lines.push(format!("{folder}: {}", groups.join(" → ")));
            lines.extend(order.circles().flat_map(|circle| order.edges(circle)));
        }
        lines.extend(self.faults.iter().cloned());
        lines.join("\n")
    }
}

/// Every use of a module that does not stand to the left, and every module that stands nowhere.
fn broken_edges(library: &Library) -> Vec<String> {
    let place = |module: &Module| {
        let name = module.first()?;
        CHAIN.iter().position(|room| room == name)
    };
    let is_free = |module: &Module| module.first().is_none_or(|name| FREE.contains(&name.as_str()));
    let mut faults: Vec<String> = library
        .modules()
        .iter()
        .filter(|module| module.len() == 1 && place(module).is_none() && !is_free(module))
        .map(|module| format!("{LIBRARY}{}: it has no place in the chain {}", module[0], CHAIN.join(" → ")))
        .collect();
    for (file, module, used) in library.uses().filter(|(_, module, _)| !is_free(module)) {
        let line = used.line;
        let fault = match (place(module), place(&used.what)) {
            (Some(own), Some(other)) if other <= own => continue,
            (Some(_), None) if used.what.is_empty() => {
                format!("{LIBRARY}{file}:{line}: a name of lib.rs itself; expected where it is from")
            }
            (Some(_), _) => {
                let (own, other) = (&module[0], &used.what[0]);
                format!("{LIBRARY}{file}:{line}: {own} uses {other}, which does not stand to its left")
            }
            (None, _) => continue,
        };
        faults.push(fault);
    }
    faults.dedup();
    faults
}

/// The order of the files in every folder that has to have one.
fn orders(library: &Library) -> Vec<(String, Order)> {
    let is_layered = |module: &Module| {
        let name = module.join("::");
        LAYERED.iter().any(|folder| name == *folder || name.starts_with(&format!("{folder}::")))
    };
    let parents: BTreeSet<Module> = library
        .modules()
        .iter()
        .filter_map(|module| Some(module.split_last()?.1.to_vec()))
        .filter(is_layered)
        .collect();
    parents.into_iter().map(|folder| (folder.join("::"), order(library, &folder))).collect()
}

/// The name of a folder's own file among its files.
const DOOR: &str = "mod";

fn order(library: &Library, folder: &Module) -> Order {
    let part = |module: &Module| -> Option<String> {
        let inside = module.strip_prefix(folder.as_slice())?;
        Some(inside.first().map_or(DOOR, String::as_str).to_string())
    };
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in library.modules().iter().filter_map(part) {
        uses.entry(name).or_default();
    }
    let mut places = BTreeMap::new();
    for (file, module, used) in library.uses() {
        if let (Some(from), Some(to)) = (part(module), part(&used.what))
            && from != to
        {
            places.entry((from.clone(), to.clone())).or_insert_with(|| format!("{file}:{}", used.line));
            uses.entry(from).or_default().insert(to);
        }
    }
    Order { groups: groups(&uses), uses: places }
}

/// Nodes that reach each other are one group; a group stands after all that it uses.
fn groups(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            for other in uses.get(next).into_iter().flatten() {
                if reached.insert(other.clone()) {
                    open.push(other);
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&String, BTreeSet<String>> = uses.keys().map(|name| (name, reach(name))).collect();
    let mut left: BTreeSet<&String> = uses.keys().collect();
    let mut groups = Vec::new();
    while let Some(first) = left.iter().copied().min_by_key(|name| {
        // Whoever needs the fewest of those that are left needs only its own circle.
        (reached[name].iter().filter(|other| left.contains(other)).count(), *name)
    }) {
        let together = |name: &&String| {
            *name == first || reached[first].contains(*name) && reached[*name].contains(first)
        };
        let group: Vec<&String> = left.iter().copied().filter(together).collect();
        left.retain(|name| !group.contains(name));
        groups.push(group.into_iter().cloned().collect());
    }
    groups
}

/// Circles in folders that are not known to have them, and folders that are and have none.
fn circles(folders: &[(String, Order)], known: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    for (folder, order) in folders.iter().filter(|(folder, _)| !known.contains(&folder.as_str())) {
        let fault =
            |circle: &Vec<String>| format!("{folder}: {} use each other in a circle", circle.join(", "));
        faults.extend(order.circles().map(fault));
    }
    for name in known {
        let has_circles =
            folders.iter().any(|(folder, order)| folder == name && order.circles().next().is_some());
        if !has_circles {
            faults.push(format!(
                "{name} has no circle any more: take it off the list CYCLIC in xtask/src/tidy/chain.rs"
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(files: &[(&str, &str)]) -> (Vec<String>, Vec<(String, Order)>) {
        let library = Library::read(files.iter().copied());
        (broken_edges(&library), orders(&library))
    }

    #[test]
    fn an_edge_against_the_chain_is_reported() {
        let fine = [
            ("lib.rs", "pub use report::Report;"),
            ("report/mod.rs", "use crate::kernel::Counts;"),
            (
                "kernel/mod.rs",
                "use crate::base::Value; #[cfg(test)] mod tests { use crate::report::Report; }",
            ),
            ("testing.rs", "pub struct Mutant; use crate::report::Report;"),
            ("base/mod.rs", ""),
        ];
        assert_eq!(graph(&fine).0, Vec::<String>::new());
        for (text, expected) in [
            ("use crate::report::Report;", "kernel uses report"),
            ("use crate::{base::Value, Report};", "kernel uses report"),
            ("fn f() -> crate::report::Report {}", "kernel uses report"),
            ("use crate::testing::Mutant;", "kernel uses testing"),
            ("use crate::Unknown;", "a name of lib.rs itself"),
        ] {
            let mut files = fine;
            files[2] = ("kernel/mod.rs", text);
            let found = graph(&files).0;
            assert!(found.len() == 1 && found[0].contains(expected), "{text}: {found:?}");
        }
        let found = graph(&[("attic.rs", "")]).0;
        assert!(found.len() == 1 && found[0].contains("no place in the chain"), "{found:?}");
    }

    #[test]
    fn another_chain_on_the_page_is_reported() {
        let faults = |text: &str| shown_in_architecture(&File { path: "ARCHITECTURE.md", text }).len();
        assert_eq!(faults(&format!("One line:\n\n    {}\n", CHAIN.join(" → "))), 0);
        assert_eq!(faults("One line:\n\n    base → kernel\n"), 1);
    }

    #[test]
    fn files_that_use_each_other_are_reported() {
        let files = [
            ("kernel/mod.rs", "mod a; mod b; mod c; pub use c::C; use a::A;"),
            ("kernel/a.rs", "use super::b::B;"),
            ("kernel/b.rs", "use super::C;"),
            ("kernel/c.rs", ""),
            ("kernel/c/d.rs", "use crate::kernel::c::C;"),
            ("engine/mod.rs", "use crate::engine::x::X;"),
            ("engine/x.rs", "use super::Y;"),
        ];
        let (_, fine) = graph(&files);
        let kernel = &fine[0];
        assert_eq!((kernel.0.as_str(), kernel.1.groups.concat().join(" ").as_str()), ("kernel", "c b a mod"));
        assert_eq!(circles(&fine, &[]), Vec::<String>::new());
        assert!(circles(&fine, &["kernel"])[0].contains("take it off"));

        let mut files = files;
        files[3] = ("kernel/c.rs", "use super::a::A;");
        let (_, wrong) = graph(&files);
        assert_eq!(circles(&wrong, &[]), ["kernel: a, b, c use each other in a circle"]);
        assert_eq!(circles(&wrong, &["kernel"]), Vec::<String>::new());
    }
}
