//! What only tests may have: small sizes, so that small protocols go through everything that large ones do; censuses of
//! visited states, to compare with what there is; and mutants, engines with a part left out, to show that the tests
//! notice. A mutant can answer *holds* wrongly, so nothing here exists without the feature `testing`, which only the
//! testkit turns on.

pub use crate::base::{Mutant, Mutants};
pub use crate::kernel::{Census, Sleep, Tuning};

use crate::engine::{BoundedDepth, Explore, Search};
use crate::kernel::{AllowedLocals, Closure, Level};
use crate::model::Model;
use crate::report::Report;

impl Search {
    /// With these sizes, and perhaps a mutant.
    #[must_use]
    pub fn tuning(self, tuning: Tuning) -> Self {
        Search { tuning, ..self }
    }

    /// The sizes, and the mutant if there is one.
    pub fn current_tuning(&self) -> Tuning {
        self.tuning
    }
}

impl Explore {
    /// Reports what the visited states are made of.
    #[must_use]
    pub fn with_census(self) -> Self {
        Explore { census: true, ..self }
    }
}

impl BoundedDepth {
    /// Reports what the visited states are made of.
    #[must_use]
    pub fn with_census(self) -> Self {
        BoundedDepth { census: true, ..self }
    }
}

impl Report {
    /// What the visited states are made of, if that was asked for.
    pub fn census(&self) -> Option<&Census> {
        self.explored()?.census.as_ref()
    }
}

/// The local states of each process in the local closure, and how closely processes had to be followed; `None` if there
/// is none.
pub fn closure_of(model: &Model, tuning: Tuning) -> Option<(AllowedLocals, u8)> {
    let mut closure = Closure::new(model, tuning, 1);
    closure.close(None, &mut |_| false);
    let precision = closure.levels().max().unwrap_or(Level::Loose) as u8;
    closure.gave_up().is_none().then(|| (closure.everything(), precision))
}
