//! The zoo: protocols from the papers and the textbooks, one file each, with their parameters, their
//! planted bugs and their known counts.

use quorate::Protocol;

mod accumulator;
mod byzantine_generals;
mod chord;
mod dining_philosophers;
mod echo_multicast;
mod one_paxos;
mod pam;
mod pastry;
mod paxos;
mod paxos_node;
mod raft;
mod rand_tree;
mod regular_storage;
mod tree;
mod two_phase_commit;

/// Every protocol, in the order of the list.
pub fn protocols() -> Vec<Protocol> {
    vec![
        paxos::protocol(),
        tree::protocol(),
        two_phase_commit::protocol(),
        accumulator::protocol(),
        dining_philosophers::protocol(),
        echo_multicast::protocol(),
        regular_storage::protocol(),
        byzantine_generals::protocol(),
        pam::protocol(),
        chord::protocol(),
        pastry::protocol(),
        paxos_node::protocol(),
        one_paxos::protocol(),
        rand_tree::protocol(),
        raft::protocol(),
    ]
}
