//! Refusals of engines and reductions in the words of the command line: which option would help.

use crate::engine::{Engine, Refusal};
use crate::reduce::Refused;
use crate::world::Delivery;

/// Why an engine cannot search as it is asked to.
pub(super) fn of_engine(engine: &dyn Engine, refusal: &Refusal) -> String {
    match refusal {
        Refusal::DepthFirstWithBound => "--depth-max goes with --order breadth only".to_string(),
        Refusal::CountsForgottenStates => {
            "--count-system-states needs the states, which fingerprints forget: expected --visited exact"
                .to_string()
        }
        Refusal::EndsComeEarlier { .. } | Refusal::MissesCopies(_) | Refusal::ConsumesCopies => {
            format!("--copies-max: {refusal}")
        }
        Refusal::NothingInteresting => {
            format!("--stones: {refusal}: expected a protocol with stepping stones")
        }
        Refusal::NeedsDefaultWorld => refusal.to_string(),
        Refusal::UsesNoDepth => format!("--depth-max does not go with --engine {}: {refusal}", engine.name()),
        other => format!("the engine {} cannot be used: {}", engine.name(), with_option(other)),
    }
}

/// Why a reduction that was asked for cannot be used.
pub(super) fn of_reduction(Refused { reduction, reason }: &Refused) -> String {
    match reason {
        Refusal::CountsAllStates { .. } => format!(
            "--count-system-states needs all system states, which --reduce {reduction} leaves out: expected --reduce none \
             or inert"
        ),
        Refusal::UsesNoReductions => {
            format!(
                "--reduce {reduction} goes with --engine explore or local only: expected --reduce none or auto"
            )
        }
        other => format!("--reduce {reduction}: {}", with_option(other)),
    }
}

/// A refusal, with the option that would help where there is one.
pub(super) fn with_option(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NeedsDelivery(Delivery::AtOnce) => format!("{refusal}: --delivery at-once"),
        Refusal::NeedsImplicitCrashes => format!("{refusal}: --crash implicit"),
        Refusal::CountsAllStates { .. } => "--count-system-states needs all system states".to_string(),
        Refusal::LimitsEqualMessages => {
            "with --copies-max it makes a difference whether a message comes before or after an equal one is consumed"
                .to_string()
        }
        other => other.to_string(),
    }
}
