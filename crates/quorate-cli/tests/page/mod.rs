//! A page of documentation as a test: its code blocks, the commands in it, and the output it shows.
//!
//! In a `console` block a line that starts with `$ ` is a command, and what follows is its standard output.
//! A line `…` stands for any number of lines and an `…` within a line for any text; figures of time and
//! memory may differ. With `QUORATE_REWRITE=1` in the environment, output that differs is written into the
//! page instead of failing the test: look at the difference with git, and shorten it again where it is long.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The repository's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the package lies two folders deep")
}

/// Is output to be written into the pages, rather than compared with them?
pub(crate) fn rewriting() -> bool {
    std::env::var_os("QUORATE_REWRITE").is_some()
}

/// A page being read, and what it should have said.
pub(crate) struct Page {
    path: PathBuf,
    lines: Vec<String>,
    /// What is shown in these lines, and what should be.
    corrections: Vec<(std::ops::Range<usize>, String)>,
}

/// A fenced block: the words after the fence, and the lines of the page that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) language: String,
    pub(crate) subject: String,
    pub(crate) lines: std::ops::Range<usize>,
}

/// A command, and the lines of the page that show its output.
pub(crate) struct Exchange {
    pub(crate) command: String,
    shown: std::ops::Range<usize>,
}

impl Page {
    /// Reads a page, by its path from the root.
    pub(crate) fn read(path: &str) -> Self {
        let path = root().join(path);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Page { path, lines: text.lines().map(str::to_string).collect(), corrections: Vec::new() }
    }

    /// The blocks, in order.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut fences = self.lines.iter().enumerate().filter(|(_, line)| line.starts_with("```"));
        let mut blocks = Vec::new();
        while let Some((open, fence)) = fences.next() {
            let (close, _) = fences.next().unwrap_or_else(|| panic!("line {}: not closed", open + 1));
            let info = &fence[3..];
            let (language, subject) = info.split_once(' ').unwrap_or((info, ""));
            let (language, subject) = (language.to_string(), subject.to_string());
            blocks.push(Block { language, subject, lines: open + 1..close });
        }
        blocks
    }

    /// The text of some lines.
    pub(crate) fn text(&self, lines: std::ops::Range<usize>) -> String {
        self.lines[lines].iter().fold(String::new(), |mut text, line| {
            _ = writeln!(text, "{line}");
            text
        })
    }

    /// The commands of a `console` block.
    pub(crate) fn exchanges(&self, block: &Block) -> Vec<Exchange> {
        let mut exchanges: Vec<Exchange> = Vec::new();
        for at in block.lines.clone() {
            if let Some(command) = self.lines[at].strip_prefix("$ ") {
                exchanges.push(Exchange { command: command.to_string(), shown: at + 1..at + 1 });
            } else if let Some(last) = exchanges.last_mut() {
                last.shown.end = at + 1;
            } else {
                panic!("line {}: output without a command", at + 1);
            }
        }
        exchanges
    }

    /// Compares what is shown of each command with what `run` says that it prints; `None` if it cannot be run.
    /// Returns how many could.
    pub(crate) fn compare_all(&mut self, run: impl Fn(&str) -> Option<String>) -> usize {
        let mut compared = 0;
        for block in self.blocks().iter().filter(|block| block.language == "console") {
            for exchange in self.exchanges(block) {
                if let Some(real) = run(&exchange.command) {
                    self.compare(&exchange, &real);
                    compared += 1;
                }
            }
        }
        compared
    }

    /// Compares what is shown of a command with what it really printed.
    pub(crate) fn compare(&mut self, exchange: &Exchange, real: &str) {
        let shown = self.text(exchange.shown.clone());
        if let Err(difference) = compare(&shown, real) {
            let place = format!("{}:{}", self.path.display(), exchange.shown.start);
            assert!(rewriting(), "{place}: `{}`: {difference}\nin:\n{real}", exchange.command);
            self.corrections.push((exchange.shown.clone(), real.to_string()));
        }
    }

    /// Writes the corrections, if there are any.
    pub(crate) fn finish(mut self) {
        if self.corrections.is_empty() {
            return;
        }
        for (lines, real) in std::mem::take(&mut self.corrections).into_iter().rev() {
            self.lines.splice(lines, real.trim_end().lines().map(|line| line.trim_end().to_string()));
        }
        let text = self.text(0..self.lines.len());
        std::fs::write(&self.path, text).expect("the page can be written");
    }
}

/// Is this what was printed? Says where it first is not.
pub(crate) fn compare(shown: &str, real: &str) -> Result<(), String> {
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let real: Vec<&str> = real.trim_end().lines().map(str::trim_end).collect();
    let furthest = first_difference(&shown, &real);
    match furthest {
        None => Ok(()),
        Some((shown_at, real_at)) => {
            let line = |lines: &[&str], at: usize| {
                lines.get(at).map_or("the end".into(), |line| format!("{line:?}"))
            };
            Err(format!("shows {}, but printed was {}", line(&shown, shown_at), line(&real, real_at)))
        }
    }
}

/// Where the lines cease to agree; `None` if they never do.
fn first_difference(shown: &[&str], real: &[&str]) -> Option<(usize, usize)> {
    let agreeing = shown.iter().zip(real).take_while(|(s, r)| s.trim() != "…" && same_line(s, r)).count();
    match shown.get(agreeing) {
        Some(line) if line.trim() == "…" => {
            let rest = &shown[agreeing + 1..];
            let tries = (agreeing..=real.len())
                .map(|from| first_difference(rest, &real[from..]).map(|(s, r)| (agreeing + 1 + s, from + r)));
            // Of several ways to leave lines out, the one that agrees for longest shows the difference best.
            tries.min_by_key(|difference| difference.map_or(0, |(s, _)| usize::MAX - s)).flatten()
        }
        None if agreeing == real.len() => None,
        _ => Some((agreeing, agreeing)),
    }
}

fn same_line(shown: &str, real: &str) -> bool {
    let name = |line: &str| line.split_whitespace().next().unwrap_or_default().to_string();
    if shown.starts_with("  ") && ["time", "memory"].contains(&name(shown).as_str()) {
        return name(shown) == name(real);
    }
    // What cargo's test harness took.
    let seconds = |line: &str| line.split_once("; finished in ").map(|(before, _)| before.to_string());
    if let (Some(shown), Some(real)) = (seconds(shown), seconds(real)) {
        return shown == real;
    }
    let mut parts = shown.split('…');
    let Some(mut rest) = real.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Applies a `diff` block, whose hunks are separated by lines that start with `@@`. What a hunk removes and
/// keeps must stand in the text exactly once.
pub(crate) fn apply(diff: &str, text: &str) -> String {
    let mut text = text.to_string();
    let mut lines = diff.lines().peekable();
    while lines.peek().is_some() {
        let hunk: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("@@")).collect();
        let side = |skipped: char| {
            hunk.iter().filter(|line| !line.starts_with(skipped)).fold(String::new(), |mut side, line| {
                _ = writeln!(side, "{}", line.get(1..).unwrap_or_default());
                side
            })
        };
        let (old, new) = (side('+'), side('-'));
        let found = text.matches(&old).count();
        assert_eq!(found, 1, "this must be in the file once:\n{old}");
        text = text.replacen(&old, &new, 1);
    }
    text
}
