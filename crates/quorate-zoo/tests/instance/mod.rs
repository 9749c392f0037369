//! Instances of the zoo's protocols, by name.

use quorate::Protocol;
use quorate::model::Model;

/// A protocol of the zoo.
pub(crate) fn protocol(name: &str) -> Protocol {
    let found = quorate_zoo::protocols().into_iter().find(|protocol| protocol.name() == name);
    found.unwrap_or_else(|| panic!("the zoo has no {name}"))
}

/// An instance of it: with these parameters, and this planted bug.
pub(crate) fn model(name: &str, given: &[(&str, &str)], bug: Option<&str>) -> Model {
    let protocol = protocol(name);
    let arguments = protocol.arguments(given.iter().copied(), bug);
    let arguments = arguments.unwrap_or_else(|error| panic!("{error}"));
    protocol.instance(&arguments).unwrap_or_else(|error| panic!("{error}"))
}
