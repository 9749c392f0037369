//! The stutter-free words of a system: what is seen of its local states along a run, without repetitions.
//!
//! From: docs/theory/faults.md 4. Two systems have the same words if and only if the deterministic automata of their
//! words have; these are built together, as far as they go (the subset construction). Every prefix of a run is a run,
//! so all states accept, and the languages differ where one automaton has a next letter and the other has not.
//! Held by: tests/theorems.rs, where words are counted by hand.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use quorate::model::Value;

use crate::naive::Findings;

/// The local states of all processes, as a number.
type Letter = usize;

/// A set of states, in ascending order.
type Subset = Vec<usize>;

/// The letters that several systems have in common.
#[derive(Default)]
pub struct Alphabet {
    letters: HashMap<Vec<Value>, Letter>,
}

/// A system as an automaton: the letter seen in each state, and the steps between states.
pub struct Automaton {
    seen: Vec<Letter>,
    next: Vec<Vec<usize>>,
}

impl Alphabet {
    /// The automaton of what was found.
    pub fn automaton(&mut self, found: &Findings) -> Automaton {
        let mut number = |locals: &Vec<Value>| {
            let fresh = self.letters.len();
            *self.letters.entry(locals.clone()).or_insert(fresh)
        };
        let seen = found.locals.iter().map(&mut number).collect();
        let mut next = vec![Vec::new(); found.depths.len()];
        for &(from, to) in &found.edges {
            next[from].push(to);
        }
        Automaton { seen, next }
    }
}

impl Automaton {
    /// The states that can be reached from these without anybody seeing it.
    fn unseen(&self, from: BTreeSet<usize>) -> Subset {
        let mut reached = from.clone();
        let mut open: Vec<usize> = from.into_iter().collect();
        while let Some(state) = open.pop() {
            for &next in self.next[state].iter().filter(|next| self.seen[**next] == self.seen[state]) {
                if reached.insert(next) {
                    open.push(next);
                }
            }
        }
        reached.into_iter().collect()
    }

    fn start(&self) -> Subset {
        self.unseen(BTreeSet::from([0]))
    }

    /// Where each letter that may come next leads.
    fn after(&self, subset: &Subset) -> BTreeMap<Letter, Subset> {
        let mut after: BTreeMap<Letter, BTreeSet<usize>> = BTreeMap::new();
        for &state in subset {
            for &next in self.next[state].iter().filter(|next| self.seen[**next] != self.seen[state]) {
                after.entry(self.seen[next]).or_default().insert(next);
            }
        }
        after.into_iter().map(|(letter, states)| (letter, self.unseen(states))).collect()
    }

    /// Every word that cannot be continued by any run with the same beginning. For systems without cycles only.
    pub fn longest_words(&self) -> Vec<Vec<Letter>> {
        let mut words = Vec::new();
        let mut open = vec![(vec![self.seen[0]], self.start())];
        while let Some((word, subset)) = open.pop() {
            let after = self.after(&subset);
            if after.is_empty() {
                words.push(word);
                continue;
            }
            for (letter, subset) in after {
                open.push(([word.as_slice(), &[letter]].concat(), subset));
            }
        }
        words
    }
}

/// The length of a shortest word that only one of two systems has; `None` if they have the same words.
pub fn shortest_difference(one: &Automaton, other: &Automaton) -> Option<usize> {
    if one.seen[0] != other.seen[0] {
        return Some(1);
    }
    let start = (one.start(), other.start());
    let mut known = BTreeSet::from([start.clone()]);
    let mut open = VecDeque::from([(1, start)]);
    while let Some((length, (ours, theirs))) = open.pop_front() {
        let (ours, mut theirs) = (one.after(&ours), other.after(&theirs));
        if !ours.keys().eq(theirs.keys()) {
            return Some(length + 1);
        }
        for (letter, ours) in ours {
            let theirs = theirs.remove(&letter).expect("both have the letter");
            if known.insert((ours.clone(), theirs.clone())) {
                open.push_back((length + 1, (ours, theirs)));
            }
        }
    }
    None
}
