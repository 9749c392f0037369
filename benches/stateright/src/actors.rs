//! The reference Paxos as stateright's actors, the way its own users write a protocol.
//!
//! From: the header of crates/quorate-zoo/src/paxos.rs, the single-message variant (MP-Basset, figure 3), for an actor gets one
//! message at a time and cannot consume a quorum. The network is unordered and does not duplicate. Proposing
//! is a timer that fires once. A stale message is consumed, as in the reference: stateright drops a delivery
//! that neither sends nor touches the state, so the handler touches it (`Cow::to_mut`).
//! Known: (2,3,1) has 131,022 states and 648,709 transitions, as with rumur and SPIN.
//! Held by: `cargo xtask bench --small`, which fails where the counts differ.

use std::borrow::Cow;

use stateright::Expectation;
use stateright::actor::{Actor, ActorModel, ActorModelState, Id, Network, Out, model_timeout};

type Ballot = u8;
type Value = u8;

/// What an acceptor has accepted; ballots come first, so that the greater is the later.
type Accepted = Option<(Ballot, Value)>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Message {
    Read { ballot: Ballot },
    Reply { accepted: Accepted },
    Write { ballot: Ballot, value: Value },
    Accept { ballot: Ballot, value: Value },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum State {
    Proposer { written: bool, replies: u8, highest: Accepted },
    Acceptor { promised: Ballot, accepted: Accepted },
    Learner { learnt: Vec<Value>, accepts: Vec<u8> },
}

#[derive(Clone)]
pub(crate) enum Process {
    Proposer { ballot: Ballot, acceptors: Vec<Id>, majority: u8 },
    Acceptor { learner: Id },
    Learner { ballots: usize, majority: u8 },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Propose;

impl Actor for Process {
    type Msg = Message;
    type Timer = Propose;
    type State = State;
    type Storage = ();
    type Random = ();

    fn on_start(&self, _: Id, _: &Option<()>, out: &mut Out<Self>) -> State {
        match self {
            Process::Proposer { .. } => {
                out.set_timer(Propose, model_timeout());
                State::Proposer { written: false, replies: 0, highest: None }
            }
            Process::Acceptor { .. } => State::Acceptor { promised: 0, accepted: None },
            Process::Learner { ballots, .. } => State::Learner { learnt: vec![], accepts: vec![0; *ballots] },
        }
    }

    fn on_timeout(&self, _: Id, _: &mut Cow<'_, State>, _: &Propose, out: &mut Out<Self>) {
        if let Process::Proposer { ballot, acceptors, .. } = self {
            out.broadcast(acceptors, &Message::Read { ballot: *ballot });
        }
    }

    fn on_msg(&self, _: Id, state: &mut Cow<'_, State>, from: Id, message: Message, out: &mut Out<Self>) {
        match (self, state.to_mut(), message) {
            (
                Process::Proposer { ballot, acceptors, majority },
                State::Proposer { written, replies, highest },
                Message::Reply { accepted },
            ) => {
                *replies += 1;
                *highest = (*highest).max(accepted);
                if replies == majority {
                    let value = highest.map_or(*ballot, |(_, value)| value);
                    (*written, *replies, *highest) = (true, 0, None);
                    out.broadcast(acceptors, &Message::Write { ballot: *ballot, value });
                }
            }
            (Process::Acceptor { .. }, State::Acceptor { promised, accepted }, Message::Read { ballot })
                if ballot > *promised =>
            {
                *promised = ballot;
                out.send(from, Message::Reply { accepted: *accepted });
            }
            (
                Process::Acceptor { learner },
                State::Acceptor { promised, accepted },
                Message::Write { ballot, value },
            ) if ballot >= *promised => {
                *promised = ballot;
                *accepted = Some((ballot, value));
                out.send(*learner, Message::Accept { ballot, value });
            }
            (
                Process::Learner { majority, .. },
                State::Learner { learnt, accepts },
                Message::Accept { ballot, value },
            ) => {
                let count = &mut accepts[usize::from(ballot) - 1];
                *count += 1;
                if count == majority {
                    *count = 0;
                    if !learnt.contains(&value) {
                        learnt.push(value);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Paxos with one learner, counting messages one by one.
pub(crate) fn paxos(proposers: usize, acceptors: usize) -> ActorModel<Process> {
    let majority = u8::try_from(acceptors / 2 + 1).expect("few acceptors");
    let acceptor_ids: Vec<Id> = (proposers..proposers + acceptors).map(Id::from).collect();
    ActorModel::new((), ())
        .actors((1..=proposers).map(|ballot| Process::Proposer {
            ballot: Ballot::try_from(ballot).expect("few proposers"),
            acceptors: acceptor_ids.clone(),
            majority,
        }))
        .actors((0..acceptors).map(|_| Process::Acceptor { learner: Id::from(proposers + acceptors) }))
        .actor(Process::Learner { ballots: proposers, majority })
        .init_network(Network::new_unordered_nonduplicating([]))
        .property(Expectation::Always, "agreement", |_, state| agreement(state))
}

fn agreement(state: &ActorModelState<Process>) -> bool {
    state.actor_states.iter().all(|process| match &**process {
        State::Learner { learnt, .. } => learnt.len() <= 1,
        _ => true,
    })
}
