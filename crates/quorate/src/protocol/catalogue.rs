//! A protocol as an entry of a catalogue: its name, its parameters and their domains, its planted bugs.
//! The command line, the list and the trace files are all derived from this.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use super::role::Message;
use super::system::{System, SystemError};
use crate::model::Model;
use crate::world::World;

/// What values a parameter may take; the first or named one is the default.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Domain {
    /// A whole number.
    Number {
        /// Its default.
        default: usize,
        /// What it may be.
        range: RangeInclusive<usize>,
    },
    /// One of a few words, the first being the default.
    Choice(
        /// The words.
        Vec<&'static str>,
    ),
}

/// A parameter of a protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name, as in `--acceptors`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it may be.
    pub domain: Domain,
}

/// A bug that can be planted, to see it found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bug {
    /// Its name, as in `--bug always-accept`.
    pub name: &'static str,
    /// What is wrong.
    pub about: &'static str,
    /// The world in which it shows.
    pub world: World,
    /// The parameters with which it shows, in the place of their defaults.
    pub parameters: Vec<(&'static str, &'static str)>,
}

/// The value of a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// Of a number.
    Number(
        /// The number.
        usize,
    ),
    /// Of a choice.
    Choice(
        /// The word.
        String,
    ),
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Number(number) => number.fmt(f),
            Argument::Choice(word) => word.fmt(f),
        }
    }
}

/// The values of all parameters of an instance, and the bug planted in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Arguments {
    values: BTreeMap<String, Argument>,
    bug: Option<String>,
}

impl Arguments {
    /// The value of a number that the protocol declares.
    pub fn number(&self, name: &str) -> usize {
        match self.values.get(name) {
            Some(Argument::Number(number)) => *number,
            _ => panic!("the protocol declares no number '{name}'"),
        }
    }

    /// The value of a choice that the protocol declares.
    pub fn choice(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(Argument::Choice(word)) => word,
            _ => panic!("the protocol declares no choice '{name}'"),
        }
    }

    /// The planted bug.
    pub fn bug(&self) -> Option<&str> {
        self.bug.as_deref()
    }

    /// All values by name.
    pub fn values(&self) -> &BTreeMap<String, Argument> {
        &self.values
    }
}

type BuildFn = dyn Fn(&Arguments) -> Result<Model, SystemError> + Send + Sync;

/// A protocol with its name, parameters and planted bugs.
///
/// ```
/// use quorate::engine::{Engine, Explore, Search};
/// use quorate::{Protocol, Role, RoleName, System, Transitions, observe};
///
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// # struct Counter { at: usize, limit: usize, by: usize }
/// # impl Role for Counter {
/// #     type Message = ();
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.internal("count").when(|c| c.at < c.limit).run(|c, _| c.at += c.by);
/// #     }
/// # }
/// let protocol = Protocol::new("counter", "counts to a limit", |arguments| {
///     let limit = arguments.number("limit");
///     let by = if arguments.bug() == Some("by-two") { 2 } else { 1 };
///     System::new()
///         .role(RoleName::new("counter"), 1, |_| Counter { at: 0, limit, by })
///         .invariant("within the limit", observe(|c: &Counter| c.at <= c.limit), |within| within[0])
/// })
/// .number("limit", 4, 1..=100, "how far it counts")
/// .bug("by-two", "counts two at a time");
///
/// // What `check counter --limit 5 --bug by-two` checks.
/// let arguments = protocol.arguments([("limit", "5")], Some("by-two"))?;
/// let model = protocol.instance(&arguments)?;
/// Explore::default().run(&model, &Search::default(), &mut ()).assert_violated();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Protocol {
    name: &'static str,
    about: &'static str,
    reference: &'static str,
    parameters: Vec<Parameter>,
    bugs: Vec<Bug>,
    build: Box<BuildFn>,
}

impl Protocol {
    /// A protocol without parameters so far; `build` makes the system for given arguments.
    pub fn new<M: Message>(
        name: &'static str,
        about: &'static str,
        build: impl Fn(&Arguments) -> System<M> + Send + Sync + 'static,
    ) -> Self {
        Protocol {
            name,
            about,
            reference: "",
            parameters: Vec::new(),
            bugs: Vec::new(),
            build: Box::new(move |arguments| build(arguments).build()),
        }
    }

    /// Where it is from.
    #[must_use]
    pub fn reference(mut self, reference: &'static str) -> Self {
        self.reference = reference;
        self
    }

    /// Declares a number.
    #[must_use]
    pub fn number(
        mut self,
        name: &'static str,
        default: usize,
        range: RangeInclusive<usize>,
        about: &'static str,
    ) -> Self {
        assert!(range.contains(&default), "the default of --{name} must be in its range");
        self.parameters.push(Parameter { name, about, domain: Domain::Number { default, range } });
        self
    }

    /// Declares a choice between words, the first being the default.
    #[must_use]
    pub fn choice(
        mut self,
        name: &'static str,
        words: impl IntoIterator<Item = &'static str>,
        about: &'static str,
    ) -> Self {
        let words: Vec<_> = words.into_iter().collect();
        assert!(!words.is_empty(), "--{name} needs at least one word");
        self.parameters.push(Parameter { name, about, domain: Domain::Choice(words) });
        self
    }

    /// Declares a bug that can be planted.
    #[must_use]
    pub fn bug(self, name: &'static str, about: &'static str) -> Self {
        self.bug_in(World::default(), name, about)
    }

    /// Declares a bug that does no harm but in a certain world, into which [`Protocol::instance`] then puts
    /// the model.
    #[must_use]
    pub fn bug_in(mut self, world: World, name: &'static str, about: &'static str) -> Self {
        self.bugs.push(Bug { name, about, world, parameters: Vec::new() });
        self
    }

    /// Declares a bug that does no harm but with certain parameters, which are then the defaults.
    #[must_use]
    pub fn bug_with(
        mut self,
        parameters: &[(&'static str, &'static str)],
        name: &'static str,
        about: &'static str,
    ) -> Self {
        self.bugs.push(Bug { name, about, world: World::default(), parameters: parameters.to_vec() });
        self
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in a sentence.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// Where it is from; empty if nowhere.
    pub fn reference_text(&self) -> &'static str {
        self.reference
    }

    /// Its parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The bugs that can be planted.
    pub fn bugs(&self) -> &[Bug] {
        &self.bugs
    }

    /// Checks given values, and fills in the defaults of the others.
    pub fn arguments<'a>(
        &self,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
        bug: Option<&str>,
    ) -> Result<Arguments, ArgumentError> {
        let mut arguments = Arguments::default();
        for parameter in &self.parameters {
            let default = match &parameter.domain {
                Domain::Number { default, .. } => Argument::Number(*default),
                Domain::Choice(words) => Argument::Choice(words[0].to_string()),
            };
            arguments.values.insert(parameter.name.to_string(), default);
        }
        let mut shows_with = &[][..];
        if let Some(bug) = bug {
            let Some(known) = self.bugs.iter().find(|known| known.name == bug) else {
                let known = listed(self.bugs.iter().map(|bug| bug.name));
                return Err(ArgumentError(format!("{} has no bug '{bug}': expected {known}", self.name)));
            };
            shows_with = &known.parameters;
            arguments.bug = Some(bug.to_string());
        }
        for (name, text) in shows_with.iter().copied().chain(given) {
            let parameter =
                self.parameters.iter().find(|parameter| parameter.name == name).ok_or_else(|| {
                    let known = listed(self.parameters.iter().map(|parameter| parameter.name));
                    ArgumentError(format!("{} has no parameter '{name}': expected {known}", self.name))
                })?;
            arguments.values.insert(name.to_string(), parameter.parse(text)?);
        }
        Ok(arguments)
    }

    /// The model for these arguments, in the world in which its planted bug shows.
    pub fn instance(&self, arguments: &Arguments) -> Result<Model, SystemError> {
        let model = (self.build)(arguments)?;
        let planted = self.bugs.iter().find(|bug| arguments.bug() == Some(bug.name));
        match planted {
            Some(bug) => model.in_world(bug.world.clone()).map_err(SystemError::World),
            None => Ok(model),
        }
    }
}

impl Parameter {
    fn parse(&self, text: &str) -> Result<Argument, ArgumentError> {
        let (value, expected) = match &self.domain {
            Domain::Number { range, .. } => {
                let number = text.parse().ok().filter(|number| range.contains(number));
                (number.map(Argument::Number), format!("a number from {} to {}", range.start(), range.end()))
            }
            Domain::Choice(words) => {
                let word = words.iter().find(|word| **word == text);
                (word.map(|word| Argument::Choice((*word).to_string())), listed(words.iter().copied()))
            }
        };
        value.ok_or_else(|| ArgumentError(format!("--{} is '{text}': expected {expected}", self.name)))
    }
}

fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    if words.is_empty() { "none".to_string() } else { words.join(", ") }
}

/// A value that a parameter cannot take, or a name that does not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ArgumentError(String);

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ArgumentError {}
