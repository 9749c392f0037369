//! What the properties see: observations as numbers, and judgements over them, memoized.
//!
//! A view of a local state is what all properties observe of it; a view of a node is the pair of its
//! children's views. Most steps change no view, so there are few, and the user's predicates run once for
//! each combination.

use super::process::ProcessGraph;
use super::table::{Interner, PairMap};
use crate::property::{Moment, Property};
use crate::protocol::{Model, ProcessId, Value};

pub(super) type ViewId = u32;

/// What the properties say of a state: which one is broken, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Judgement(u32);

impl Judgement {
    const FINE: Judgement = Judgement(0);
    const ALWAYS: u32 = 1;
    const AT_END: u32 = 2;
    const PANICS: u32 = 4;

    /// Is the state itself a violation?
    #[inline]
    pub(crate) fn broken(self) -> bool {
        self.0 & Self::ALWAYS != 0
    }

    /// Would it be one if nothing could happen any more?
    #[inline]
    pub(crate) fn broken_at_end(self) -> bool {
        self.0 & Self::AT_END != 0
    }

    /// Does a step of the state panic?
    #[inline]
    pub(crate) fn panics(self) -> bool {
        self.0 & Self::PANICS != 0
    }

    #[inline]
    pub(super) fn or_panics(self, panics: bool) -> Self {
        if panics { Judgement(self.0 | Self::PANICS) } else { self }
    }
}

pub(super) struct Views {
    observed: Interner<Vec<Option<Value>>>,
    pairs: Interner<(ViewId, ViewId)>,
    judgements: PairMap,
}

/// Views of pairs are told from views of local states by this bit.
const PAIR: ViewId = 1 << 31;

impl Views {
    pub(super) fn new(model: &Model) -> Self {
        let mut observed = Interner::default();
        observed.number(vec![None; model.properties().len() + 1]);
        Views { observed, pairs: Interner::default(), judgements: PairMap::default() }
    }

    /// The view of nobody: no property sees anything.
    #[expect(clippy::unused_self, reason = "the views decide which number that is")]
    pub(super) fn nobody(&self) -> ViewId {
        0
    }

    /// What is seen of a process in a local state; of a monitor, whether it holds.
    pub(super) fn of_local(&mut self, model: &Model, process: ProcessId, local: &Value) -> ViewId {
        let monitor = model.monitor(process);
        let observe = |property: &Property| if monitor.is_some() { None } else { property.observe(local) };
        let mut seen: Vec<Option<Value>> = model.properties().iter().map(observe).collect();
        seen.push(monitor.map(|monitor| Value::new(monitor.holds(local))));
        self.observed.number(seen)
    }

    pub(super) fn of_pair(&mut self, left: ViewId, right: ViewId) -> ViewId {
        self.pairs.number((left, right)) | PAIR
    }

    #[inline]
    pub(super) fn judge(&self, left: ViewId, right: ViewId) -> Option<Judgement> {
        self.judgements.get(left, right).map(Judgement)
    }

    /// Asks the properties about a state with these configurations.
    pub(super) fn learn(
        &mut self,
        model: &Model,
        processes: &[ProcessGraph],
        configurations: &[u32],
        (left, right): (ViewId, ViewId),
    ) {
        if self.judge(left, right).is_some() {
            return;
        }
        let locals: Vec<&Value> = processes
            .iter()
            .zip(configurations)
            .map(|(process, configuration)| process.local_value(process.local(*configuration)))
            .collect();
        let mut judgement = Judgement::FINE;
        for property in model.properties() {
            if property.check(locals[..model.processes().len()].iter().copied()).is_err() {
                judgement.0 |= match property.moment() {
                    Moment::Always => Judgement::ALWAYS,
                    Moment::AtEnd => Judgement::AT_END,
                };
            }
        }
        let heard = model.monitors().iter().zip(&locals[model.processes().len()..]);
        if heard.into_iter().any(|(monitor, state)| !monitor.holds(state)) {
            judgement.0 |= Judgement::ALWAYS;
        }
        self.judgements.insert(left, right, judgement.0);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.observed.bytes() + self.pairs.bytes() + self.judgements.bytes()
    }
}
