//! Engines with a part left out, to show that the tests notice. A mutant can answer *holds* wrongly, so without the
//! feature `testing` there is none: [`Mutants`] is then a value without contents, and [`Mutants::has`] is `false`.

#![cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "testing.rs exports it"))]

/// A part without which a reduction, or an engine, is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// Stubborn sets do not look at who can send what they wait for.
    NoEnabling,
    /// Steps that change what properties see are taken apart from others.
    NoVisibility,
    /// Steps that can be repeated for ever are taken apart from others.
    NoProviso,
    /// Stubborn sets are grown from processes too that have steps and need not take any.
    IdleSeeds,
    /// Beliefs with stubborn sets forget that a process may never send.
    NoQuiescence,
    /// With symmetry, reductions rely on the steps of representatives only, and no random walks come first.
    NoSaturation,
    /// A search that has seen more than its reductions knew of need not have left out the same messages.
    LeftOutForGood,
    /// Nor need it have chosen the same stubborn sets.
    ChosenForGood,
    /// Nor need properties stay broken as they seemed to.
    StableForGood,
    /// A declaration of symmetry is believed.
    NoCertificate,
    /// Bounded search does not expand a state again that it meets on a shorter way.
    NoSecondLook,
    /// In the local closure no process consumes a message twice, however often it is sent.
    ConsumedOnce,
    /// Of the local states that lead to a candidate, only those are kept that do so in one step.
    NoAncestors,
    /// Component by component: nobody notices that a component stays where it could go on.
    NoPauses,
    /// Component by component: only what sends something else makes a difference.
    NoReceptions,
    /// Component by component: skeletons are compared as a whole only.
    NoPrefixes,
    /// Component by component: in a group, nothing that comes late can come earlier.
    NoRaces,
    /// Component by component: where a conjunction is looked for, no component waits for what others send.
    NoWaiting,
    /// Component by component: inside a component, nobody notices that a part stays because those outside must not see
    /// it go on.
    NoRestrictedPauses,
    /// In stages: a violation is shown from its last stone on.
    NoFirstPart,
}

/// The mutants of a search: one at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mutants {
    #[cfg(feature = "testing")]
    planted: Option<Mutant>,
}

impl Mutants {
    /// None.
    pub const NONE: Mutants = Mutants {
        #[cfg(feature = "testing")]
        planted: None,
    };

    /// Is this part left out?
    #[cfg(feature = "testing")]
    pub(crate) fn has(self, mutant: Mutant) -> bool {
        self.planted == Some(mutant)
    }

    /// Is this part left out? Never.
    #[cfg(not(feature = "testing"))]
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) const fn has(self, _: Mutant) -> bool {
        false
    }
}

#[cfg(feature = "testing")]
impl From<Option<Mutant>> for Mutants {
    fn from(planted: Option<Mutant>) -> Self {
        Mutants { planted }
    }
}

#[cfg(feature = "testing")]
impl From<Mutant> for Mutants {
    fn from(mutant: Mutant) -> Self {
        Some(mutant).into()
    }
}
