//! Which modules a file of the library uses: every path in its code that begins with `crate`, `super`, `self` or the
//! name of a submodule.
//!
//! Known: a name that is brought in by `use x::*` is not followed, the `x` is. What a module brings in with `use` is
//! followed to where it is from.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{At, Source};

/// A module by the names that lead to it from the root of the library.
pub(super) type Module = Vec<String>;

/// The modules of a library, and what each file uses.
pub(super) struct Library {
    /// Every module with a file of its own.
    modules: BTreeSet<Module>,
    /// What a module has from another by a `use`: the name there, and the whole path.
    imported: BTreeMap<(Module, String), Module>,
    /// By file, the module that it is, and the paths in it from the root, where they stand.
    files: Vec<(String, Module, Vec<At<Module>>)>,
}

impl Library {
    /// Of files by their paths below the library's `src/`, with their texts.
    pub(super) fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Library {
        let read: Vec<(&str, Module, Source)> =
            files.into_iter().map(|(path, text)| (path, module_of(path), Source::read(text))).collect();
        let modules: BTreeSet<Module> = read.iter().map(|(_, module, _)| module.clone()).collect();
        let mut library = Library { modules, imported: BTreeMap::new(), files: Vec::new() };
        for (path, module, source) in read {
            let found = Walk { library: &library, module: module.clone(), tokens: &source.tokens }.paths();
            for path in found.iter().filter(|path| path.is_use && path.inside.is_empty()) {
                let name = path.known_as.clone().or_else(|| path.what.last().cloned());
                library.imported.extend(name.map(|name| ((module.clone(), name), path.what.clone())));
            }
            let paths = found.into_iter().map(|path| At { line: path.line, what: path.what }).collect();
            library.files.push((path.to_string(), module, paths));
        }
        library
    }

    pub(super) fn modules(&self) -> &BTreeSet<Module> {
        &self.modules
    }

    /// What a file uses: the module of the file, and the module with a file that something is from, with its line.
    pub(super) fn uses(&self) -> impl Iterator<Item = (&str, &Module, At<Module>)> {
        self.files.iter().flat_map(move |(file, module, paths)| {
            let uses = paths.iter().map(|path| At { line: path.line, what: self.source_of(&path.what) });
            uses.map(move |used| (file.as_str(), module, used))
        })
    }

    /// The module with a file that a path leads to, through what modules have from each other.
    fn source_of(&self, path: &Module) -> Module {
        let mut path = path.clone();
        // As often as there are modules: what is brought in may be brought in there, too.
        for _ in 0..self.modules.len() {
            let depth = (0..=path.len()).rev().find(|depth| self.modules.contains(&path[..*depth]));
            let depth = depth.unwrap_or(0);
            let Some(name) = path.get(depth) else { return path };
            match self.imported.get(&(path[..depth].to_vec(), name.clone())) {
                Some(from) if from[..] != path[..=depth] => {
                    path = from.iter().chain(&path[depth + 1..]).cloned().collect();
                }
                _ => return path[..depth].to_vec(),
            }
        }
        path
    }
}

/// The module that a file is, by its path below the library's `src/`.
fn module_of(path: &str) -> Module {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let mut names: Module = stem.split('/').map(str::to_string).collect();
    if names.last().is_some_and(|name| name == "mod") || names == ["lib"] {
        names.pop();
    }
    names
}

/// A path in a file, from the root.
struct Path {
    line: usize,
    what: Module,
    is_use: bool,
    /// The name behind `as`.
    known_as: Option<String>,
    /// The module inside the file in which it stands.
    inside: Module,
}

struct Walk<'a> {
    library: &'a Library,
    module: Module,
    tokens: &'a [At<String>],
}

impl Walk<'_> {
    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.what.as_str())
    }

    fn paths(&self) -> Vec<Path> {
        let mut found = Vec::new();
        let mut inside: Vec<(usize, String)> = Vec::new();
        let (mut depth, mut at, mut is_use) = (0usize, 0, false);
        while at < self.tokens.len() {
            let begins = at == 0 || self.word(at - 1) != "::";
            match self.word(at) {
                "mod" if self.word(at + 2) == "{" => inside.push((depth, self.word(at + 1).to_string())),
                // Who may see something is no use of that.
                "pub" if self.word(at + 1) == "(" => {
                    at += self.tokens[at..].iter().position(|token| token.what == ")").unwrap_or(0);
                }
                "use" => is_use = true,
                ";" => is_use = false,
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    inside.retain(|(outer, _)| *outer < depth);
                }
                word if begins && self.may_lead_to_a_module(word, at) => {
                    let inside: Module = inside.iter().map(|(_, name)| name.clone()).collect();
                    let here: Module = self.module.iter().chain(&inside).cloned().collect();
                    let before = found.len();
                    at = self.tree(at, &Vec::new(), &mut found);
                    for path in &mut found[before..] {
                        path.what = from_root(&here, &path.what);
                        (path.is_use, path.inside) = (is_use, inside.clone());
                    }
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        found
    }

    fn may_lead_to_a_module(&self, word: &str, at: usize) -> bool {
        if self.word(at + 1) != "::" {
            return false;
        }
        let submodule: Module = self.module.iter().cloned().chain([word.to_string()]).collect();
        matches!(word, "crate" | "super" | "self") || self.library.modules.contains(&submodule)
    }

    /// A path, or a tree of paths in a `use`; answers where it ends.
    fn tree(&self, mut at: usize, before: &Module, found: &mut Vec<Path>) -> usize {
        let mut path = before.clone();
        let line = self.tokens.get(at).map_or(0, |token| token.line);
        loop {
            let word = self.word(at);
            if word == "{" {
                at += 1;
                while at < self.tokens.len() && self.word(at) != "}" {
                    at = if self.word(at) == "," { at + 1 } else { self.tree(at, &path, found) };
                }
                return at + 1;
            }
            let is_name = word.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            if is_name {
                path.push(word.to_string());
            }
            at += 1;
            if is_name && self.word(at) == "::" && self.word(at + 1) != "<" {
                at += 1;
                continue;
            }
            let known_as = (is_name && self.word(at) == "as").then(|| self.word(at + 1).to_string());
            let at = if known_as.is_some() { at + 2 } else { at };
            found.push(Path { line, what: path, is_use: false, known_as, inside: Vec::new() });
            return at;
        }
    }
}

/// A path that begins in a module, from the root.
fn from_root(here: &Module, path: &Module) -> Module {
    let mut names = path.iter().map(String::as_str).peekable();
    let mut base = here.clone();
    if names.next_if_eq(&"crate").is_some() {
        base.clear();
    }
    while let Some(name) = names.next_if(|name| matches!(*name, "self" | "super")) {
        if name == "super" {
            base.pop();
        }
    }
    // `use x::{self, y}`.
    base.extend(names.filter(|name| *name != "self").map(str::to_string));
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(files: &[(&str, &str)], of: &str) -> Vec<String> {
        let library = Library::read(files.iter().copied());
        let of = library.uses().filter(|(file, ..)| *file == of);
        of.map(|(_, _, used)| used.what.join("::")).collect()
    }

    #[test]
    fn paths_lead_to_modules() {
        let files = [
            ("lib.rs", "pub use report::{Report, Verdict as V};"),
            ("report/mod.rs", "mod details; pub use self::details::Details; pub struct Report;"),
            ("report/details.rs", "pub(in crate::report) struct Details;"),
            ("kernel/mod.rs", "mod mail; use mail::{Mail, Kind};"),
            ("kernel/mail.rs", "pub struct Kind; // crate::report\nconst A: &str = \"crate::report\";"),
            ("kernel/post.rs", "use super::Kind;"),
            (
                "engine.rs",
                "use crate::{Report, V, kernel::{self, mail::Mail as M}}; use crate::report::*;\n\
                 fn f() { crate::report::Details { a: super::kernel::x::<u8>(crate::kernel::mail::A) } }\n\
                 mod inner { use super::super::report; fn g() { super::super::kernel::g() } }",
            ),
        ];
        assert_eq!(uses(&files, "lib.rs"), ["report", "report"]);
        assert_eq!(uses(&files, "report/mod.rs"), ["report::details"]);
        assert_eq!(uses(&files, "kernel/mail.rs"), Vec::<String>::new());
        assert_eq!(uses(&files, "report/details.rs"), Vec::<String>::new());
        assert_eq!(uses(&files, "kernel/post.rs"), ["kernel::mail"]);
        assert_eq!(
            uses(&files, "engine.rs"),
            [
                "report",
                "report",
                "kernel",
                "kernel::mail",
                "report",
                "report::details",
                "kernel",
                "kernel::mail",
                "report",
                "kernel"
            ]
        );
    }
}
