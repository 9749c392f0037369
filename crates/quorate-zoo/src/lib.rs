//! The zoo: protocols from the papers and the textbooks, one file each, with their parameters, their
//! planted bugs and their known counts.

use quorate::Protocol;

mod paxos;

/// Every protocol, in the order of the list.
pub fn protocols() -> Vec<Protocol> {
    vec![paxos::protocol()]
}
