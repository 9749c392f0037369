//! The engines. Each is one loop; what differs between two searches is a value handed to it.
//!
//! An engine is a value that carries its own options, so an option that it would ignore cannot be asked of it. What all
//! engines share is a [`Search`]: threads, limits, reductions.
//! Invariant: engines read no clock and print nothing. Limits and progress go through a [`Watch`].

pub mod bounded;
pub mod components;
mod explore;
mod grace;
mod local;
pub mod local_graphs;
mod search;
mod staged;

use std::fmt::Debug;

pub use crate::model::Refusal;
pub use bounded::BoundedDepth;
pub use components::Components;
pub use explore::{Count, Explore, Order, Visited};
pub use grace::violation;
pub use local::Local;
pub use search::Search;
pub use staged::Staged;

pub(crate) use explore::explore_and_read;
use grace::{Grace, Signed, with_grace};
pub(crate) use local::read_closure;

pub use crate::kernel::CombineBy;
use crate::model::Model;
use crate::reduce::{Reduction, Reductions, Refused};
use crate::report::{Coverage, Details, Report, Stopped, Verdict, Watch};

/// A way to find out whether properties hold.
///
/// ```
/// use quorate::engine::{Engine, Explore, Order, Search};
/// # use quorate::{Outbox, Role, RoleName, System, Transitions, observe};
/// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// # struct Counter(u8);
/// # impl Role for Counter {
/// #     type Message = ();
/// #     fn transitions(&self, t: &mut Transitions<Self>) {
/// #         t.internal("count").when(|c| c.0 < 3).run(|c: &mut Counter, _: &mut Outbox<()>| c.0 += 1);
/// #     }
/// # }
/// # let system = System::new()
/// #     .role(RoleName::new("counter"), 1, |_| Counter(0))
/// #     .invariant("at most three", observe(|c: &Counter| c.0), |counts| counts.iter().all(|c| *c <= 3));
/// let model = system.build().expect("a system without mistakes");
/// let engine = Explore::default().order(Order::Depth);
/// let report = engine.run(&model, &Search::default().threads(1), &mut ());
/// report.assert_holds();
/// assert_eq!(report.coverage.states, 4);
/// ```
pub trait Engine: Debug + Send + Sync {
    /// What it is called on the command line.
    fn name(&self) -> &'static str;

    /// What it is for, in a line.
    fn purpose(&self) -> &'static str;

    /// Why it cannot search a model in its world as it is asked to. An engine must refuse what it would ignore.
    fn refuses(&self, model: &Model, search: &Search) -> Option<Refusal>;

    /// Why it cannot use a reduction, though the model allows it. Most engines use none.
    fn refuses_reduction(&self, _: Reduction) -> Option<Refusal> {
        Some(Refusal::UsesNoReductions)
    }

    /// Searches a model that it does not refuse: for [`Engine::run`].
    fn search(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report;

    /// Searches a model. If it refuses to, the answer is `Unknown`, with the reason.
    fn run(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
        let reduction = || search.reductions.which.iter().find_map(|which| self.refuses_reduction(*which));
        match self.refuses(model, search).or_else(reduction) {
            None => self.search(model, search, watch),
            Some(refusal) => {
                let verdict = Verdict::Unknown(Stopped::Unsuited(format!("{}: {refusal}", self.name())));
                Report::new(model, verdict, Coverage::default(), Details::Nothing)
            }
        }
    }
}

impl<E: Engine + ?Sized> Engine for Box<E> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn purpose(&self) -> &'static str {
        (**self).purpose()
    }

    fn refuses(&self, model: &Model, search: &Search) -> Option<Refusal> {
        (**self).refuses(model, search)
    }

    fn refuses_reduction(&self, reduction: Reduction) -> Option<Refusal> {
        (**self).refuses_reduction(reduction)
    }

    fn search(&self, model: &Model, search: &Search, watch: &mut dyn Watch) -> Report {
        (**self).search(model, search, watch)
    }
}

/// The engines, each with its default options.
pub const ENGINES: &[&dyn Engine] =
    &[&Explore::DEFAULT, &Local::DEFAULT, &BoundedDepth::DEFAULT, &Components::DEFAULT];

/// The strongest reductions that an engine can use for a model, and those that it cannot, with the reasons. For an
/// engine that uses no reductions at all the second list is empty.
pub fn strongest_reductions(engine: &dyn Engine, model: &Model) -> (Reductions, Vec<Refused>) {
    let (mut reductions, mut refused) = Reductions::strongest(model);
    reductions.which.retain(|reduction| match engine.refuses_reduction(*reduction) {
        None => true,
        Some(reason) => {
            refused.push(Refused { reduction: *reduction, reason });
            false
        }
    });
    refused.retain(|_| Reduction::ALL.iter().any(|reduction| uses(engine, *reduction)));
    (reductions, refused)
}

/// These reductions; an error says which of them cannot be used by an engine for a model, and why.
pub fn checked_reductions(
    engine: &dyn Engine,
    which: &[Reduction],
    model: &Model,
) -> Result<Reductions, Refused> {
    for reduction in which {
        if let Some(reason) = engine.refuses_reduction(*reduction) {
            return Err(Refused { reduction: *reduction, reason });
        }
    }
    Reductions::checked(which, model)
}

fn uses(engine: &dyn Engine, reduction: Reduction) -> bool {
    engine.refuses_reduction(reduction) != Some(Refusal::UsesNoReductions)
}
