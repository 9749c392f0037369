//! What a check answers: the verdict, and what was done to find it. Plain data; `render` and `program` make text of it.

mod coverage;
mod details;
mod stop;
mod verdict;
mod watch;

pub use coverage::Coverage;
pub use details::{ComponentCounts, Details, ExploreDetails, LocalDetails, Stages, SymmetryCompared};
pub(crate) use stop::Sentinel;
pub use stop::{Stop, heeding};

pub use crate::base::heed;
pub use verdict::{Stopped, Verdict};
pub use watch::{Stone, Watch};

pub use crate::kernel::ClosureSize;
use crate::model::Model;
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
    /// What it took.
    pub coverage: Coverage,
    /// The kinds of faults that were asked for, each with how many distinct steps of processes it is: a fault that
    /// never fired says nothing about the protocol.
    pub faults: Vec<(StepKind, u64)>,
    /// How many threads searched.
    pub threads: usize,
    /// What the engine has to say beside that.
    pub details: Details,
}

impl Report {
    /// The report of a search on one thread, in which no fault fired.
    pub fn new(model: &Model, verdict: Verdict, coverage: Coverage, details: Details) -> Self {
        Report {
            verdict,
            properties: model.property_names().map(str::to_string).collect(),
            coverage,
            faults: Vec::new(),
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

    /// Panics with the diagram of the violation, or with the reason, unless the verdict is `Holds`.
    #[track_caller]
    pub fn assert_holds(&self) {
        match &self.verdict {
            Verdict::Holds => {}
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
