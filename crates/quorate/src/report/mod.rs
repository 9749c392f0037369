//! What a check answers: the verdict, and what was done to find it. Plain data; `render` and `program` make text of it.

mod coverage;
mod details;
mod fallback;
mod faults;
mod stop;
mod verdict;
mod watch;

pub use coverage::Coverage;
pub use details::{ComponentCounts, Details, ExploreDetails, LocalDetails, Stages, SymmetryCompared};
pub use fallback::Fallback;
pub use faults::{Covered, NotCovered, Warning};
pub(crate) use stop::Sentinel;
pub use stop::{Stop, heeding};
pub use verdict::{Stopped, Verdict};
pub use watch::{Stone, Watch};

pub use crate::base::heed;

pub use crate::kernel::ClosureSize;
use crate::model::{Model, Snapshot};
use crate::property::When;
use crate::replay::Violation;
use crate::world::StepKind;

/// The answer, with what was done to find it.
///
/// ```
/// use quorate::{Report, Role, RoleName, System, Transitions, observe};
///
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// # struct Counter(u8);
/// # impl Role for Counter {
/// #     type Message = ();
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.internal("count").when(|c| c.0 < 3).run(|c, _| c.0 += 1);
/// #     }
/// # }
/// # let system = System::new()
/// #     .role(RoleName::new("counter"), 2, |_| Counter(0))
/// #     .invariant("at most three", observe(|c: &Counter| c.0), |counts| counts.iter().all(|c| *c <= 3));
/// // Two processes that count to three each, in every order.
/// let report: Report = quorate::check(system).unreduced().run()?;
/// report.assert_holds();
/// assert_eq!(report.properties, ["at most three"]);
/// assert_eq!((report.coverage.states, report.coverage.depth), (4 * 4, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// The properties that were checked.
    pub properties: Vec<String>,
    /// Those of them that look at the end of runs only.
    pub at_end: Vec<String>,
    /// After how many steps the search began, if it began in the middle of a run: other runs were not looked at.
    pub from_step: Option<usize>,
    /// What it took.
    pub coverage: Coverage,
    /// The kinds of faults that were asked for, each with how many distinct steps of processes it is: a fault that
    /// never fired says nothing about the protocol.
    pub faults: Vec<(StepKind, u64)>,
    /// The kinds of faults that were not looked for, though the answer could be another with them.
    pub not_covered: Vec<NotCovered>,
    /// What was given up on the way, and done otherwise. The verdict does not depend on it.
    pub fallbacks: Vec<Fallback>,
    /// How many threads searched.
    pub threads: usize,
    /// What the engine has to say beside that.
    pub details: Details,
}

impl Report {
    /// The report of a search on one thread, in which no fault fired.
    pub fn new(model: &Model, verdict: Verdict, coverage: Coverage, details: Details) -> Self {
        let at_end = model.properties().iter().filter(|property| property.when() == When::AtEnd);
        let not_covered = |covered| match covered {
            Covered::Not(reason) => Some(reason),
            Covered::WithoutSteps | Covered::InSteps => None,
        };
        let faults = [Covered::crashes(model), Covered::losses(model)];
        Report {
            verdict,
            properties: model.property_names().map(str::to_string).collect(),
            at_end: at_end.map(|property| property.name().to_string()).collect(),
            from_step: model.start().map(Snapshot::steps),
            coverage,
            faults: Vec::new(),
            not_covered: faults.into_iter().filter_map(not_covered).collect(),
            fallbacks: Vec::new(),
            threads: 1,
            details,
        }
    }

    /// What there is to say of the search over global states, if there was one: of the last one, if there were several.
    pub fn explored(&self) -> Option<&ExploreDetails> {
        self.details.explored()
    }

    /// What was found out from local states, if they were explored first.
    pub fn local(&self) -> Option<&LocalDetails> {
        match self.details.of_engine() {
            Details::Local(details) => Some(details),
            _ => None,
        }
    }

    /// What came of exploring components one by one, if that was done.
    pub fn components(&self) -> Option<ComponentCounts> {
        match self.details.of_engine() {
            Details::Components(counts) => Some(*counts),
            _ => None,
        }
    }

    /// What the stages came to, if it was searched in stages.
    pub fn stages(&self) -> Option<Stages> {
        match &self.details {
            Details::Staged(stages, _) => Some(*stages),
            _ => None,
        }
    }

    /// What a reader should know, lest the answer be taken for more than it is.
    pub fn warnings(&self) -> Vec<Warning> {
        let silent = self.faults.iter().filter(|(_, fired)| *fired == 0);
        let mut warnings: Vec<Warning> = silent.map(|(kind, _)| Warning::NeverHappened(*kind)).collect();
        let holds = matches!(self.verdict, Verdict::Holds | Verdict::HoldsWithin(_));
        if holds && self.some_run_ends() == Some(false) {
            let never_asked = |property: &String| Warning::NoRunEnds { property: property.clone() };
            warnings.extend(self.at_end.iter().map(never_asked));
        }
        warnings
    }

    /// Has a run been seen to its end? Nothing if the engine does not look at ends.
    fn some_run_ends(&self) -> Option<bool> {
        match self.details.of_engine() {
            Details::Components(counts) => Some(counts.some_run_ends),
            _ => self.explored().map(|_| self.coverage.terminal_states > 0),
        }
    }

    /// Panics with the diagram of the violation, or with the reason, unless every property holds and has been asked.
    ///
    /// A property of the end of runs ([`System::at_end`](crate::System::at_end)) can be broken by a crash or a lost
    /// message that ends a run early. In a world that does not cover these faults the report says so, and this panics:
    /// ask for them in the [`World`](crate::World), or say with [`Report::assert_holds_without_faults`] that they are
    /// not meant. It panics, too, if no run ends, since such a property was never asked then.
    ///
    /// ```
    /// use quorate::{Role, RoleName, System, Transitions, observe};
    ///
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// # struct Counter(u8);
    /// # impl Role for Counter {
    /// #     type Message = ();
    /// #     fn transitions(&self, t: &mut Transitions<Self>) {
    /// #         t.internal("count").when(|c| c.0 < 3).run(|c, _| c.0 += 1);
    /// #     }
    /// # }
    /// // A process that counts to three, unless it crashes before.
    /// let system = System::new()
    ///     .role(RoleName::new("counter"), 1, |_| Counter(0))
    ///     .at_end("counts to three", observe(|c: &Counter| c.0), |counts| counts[0] == 3);
    /// let report = quorate::check(system).run()?;
    /// report.assert_holds_without_faults();
    /// // In this world `report.assert_holds()` panics: crashes and lost messages are not covered.
    /// assert_eq!(report.not_covered.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn assert_holds(&self) {
        self.assert_holds_without_faults();
        if let (Some(property), Some(reason)) = (self.at_end.first(), self.not_covered.first()) {
            let what: Vec<&str> = self.not_covered.iter().map(NotCovered::what).collect();
            panic!(
                "'{property}' holds, but only as long as nothing fails: {} are not covered ({reason}); ask for them in \
                 the world, or use assert_holds_without_faults",
                what.join(" and "),
            );
        }
    }

    /// As [`Report::assert_holds`], for runs in which nothing fails: faults that are not covered are not meant.
    #[track_caller]
    pub fn assert_holds_without_faults(&self) {
        match &self.verdict {
            Verdict::Holds => {
                let never_asked = |warning: &Warning| matches!(warning, Warning::NoRunEnds { .. });
                if let Some(warning) = self.warnings().into_iter().find(never_asked) {
                    panic!("nothing is violated, but {warning}");
                }
            }
            Verdict::HoldsWithin(reservation) => panic!("holds only within: {reservation}"),
            Verdict::Violated(violation) => panic!("{violation}"),
            Verdict::Unknown(stopped) => panic!("unknown: {stopped}; {} states seen", self.coverage.states),
        }
    }

    /// The violation; panics if there is none.
    #[track_caller]
    pub fn assert_violated(&self) -> &Violation {
        match &self.verdict {
            Verdict::Violated(violation) => violation,
            other => panic!("expected a violation, but the verdict is: {}", other.word()),
        }
    }
}

impl Details {
    /// Without what a search in stages puts around it.
    fn of_engine(&self) -> &Details {
        match self {
            Details::Staged(_, inside) => inside.of_engine(),
            other => other,
        }
    }

    fn explored(&self) -> Option<&ExploreDetails> {
        match self.of_engine() {
            Details::Explore(details) => Some(details),
            Details::Local(details) => details.explored.as_ref(),
            _ => None,
        }
    }
}
