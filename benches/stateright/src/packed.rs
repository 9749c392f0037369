//! The reference Paxos for stateright's `Model` trait, in the fastest encoding we know.
//!
//! From: the header of crates/quorate-zoo/src/paxos.rs; the same slots and steps as `../peers/paxos.pml`. A message (kind, ballot,
//! acceptor) is sent at most once, so the network is one slot for each. The whole state is two words that
//! are copied, compared and hashed as such; nothing is allocated.
//! The action *is* the next state, so `next_state` has nothing left to compute.
//! Known: with quorum transitions (proposers, acceptors, 1 learner) (2,3,1) has 27,410 states and 94,055
//! transitions; (2,4,1) 196,297 and 787,452; (3,3,1) 7,479,449 and 37,238,397.
//! Held by: `cargo xtask bench --small`, which fails where two contestants disagree.

use std::hash::{Hash, Hasher};

use stateright::{Model, Property};

/// Messages on their way to and from acceptors, one slot for each (ballot, acceptor).
const SLOTS: u32 = 9;
const SLOT_MASK: u64 = (1 << SLOTS) - 1;
/// The low bit of each of the two-bit fields, one for each slot.
const PAIR_MASK: u64 = 0b01_01_01_01_01_01_01_01_01;

// Word `near`: what waits at acceptors, and the processes themselves.
const READ: u32 = 0;
const WRITE: u32 = READ + SLOTS;
const ACCEPTOR: u32 = WRITE + 2 * SLOTS;
const ACCEPTOR_BITS: u32 = 6;
const PHASE: u32 = ACCEPTOR + 4 * ACCEPTOR_BITS;
const LEARNT: u32 = PHASE + 2 * 3;

// Word `far`: what waits at proposers and at the learner.
const REPLY: u32 = 0;
const REPLY_BALLOT: u32 = REPLY + SLOTS;
const REPLY_VALUE: u32 = REPLY_BALLOT + 2 * SLOTS;
const ACCEPT: u32 = REPLY_VALUE + 2 * SLOTS;

const IDLE: u64 = 0;
const READING: u64 = 1;

/// A global state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packed {
    near: u64,
    far: u64,
}

impl Hash for Packed {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // PERF: one call that mixes both words at once.
        hasher.write_u128(u128::from(self.near) << 64 | u128::from(self.far));
    }
}

/// Paxos with `P` proposers (at most 3), `A` acceptors (at most 9 / P) and one learner.
pub(crate) struct Paxos<const P: usize, const A: usize> {
    /// Every majority of acceptors: one bit for each, and the low bit of one pair for each.
    majorities: Vec<(u64, u64)>,
}

impl<const P: usize, const A: usize> Paxos<P, A> {
    pub(crate) fn new() -> Self {
        const { assert!(P <= 3 && A <= 4 && P * A <= SLOTS as usize, "the state has 9 slots") }
        let majority_size = A / 2 + 1;
        let majorities = (0u64..1 << A)
            .filter(|set| set.count_ones() as usize == majority_size)
            .map(|set| (set, (0..A).filter(|a| set >> a & 1 == 1).fold(0, |pairs, a| pairs | 1 << (2 * a))))
            .collect();
        Paxos { majorities }
    }
}

/// The two-bit field that starts at `shift`.
fn pair(word: u64, shift: u32) -> u64 {
    word >> shift & 0b11
}

/// The positions of the set bits.
fn bits(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let position = set.trailing_zeros();
            set &= set - 1;
            position
        })
    })
}

#[expect(clippy::cast_possible_truncation, reason = "process numbers are below ten")]
impl<const P: usize, const A: usize> Model for Paxos<P, A> {
    type State = Packed;
    type Action = Packed;

    fn init_states(&self) -> Vec<Packed> {
        vec![Packed { near: 0, far: 0 }]
    }

    fn actions(&self, state: &Packed, steps: &mut Vec<Packed>) {
        let Packed { near, far } = *state;
        let all_acceptors = (1u64 << A) - 1;
        let one_pair_each = PAIR_MASK & ((1 << (2 * A)) - 1);

        for slot in bits(near >> READ & SLOT_MASK) {
            let (ballot, acceptor) = (u64::from(slot) / A as u64 + 1, slot % A as u32);
            let consumed = near & !(1 << (READ + slot));
            let at = ACCEPTOR + ACCEPTOR_BITS * acceptor;
            steps.push(if ballot > pair(near, at) {
                let (accepted_ballot, accepted_value) = (pair(near, at + 2), pair(near, at + 4));
                Packed {
                    near: consumed & !(0b11 << at) | ballot << at,
                    far: far
                        | 1 << (REPLY + slot)
                        | accepted_ballot << (REPLY_BALLOT + 2 * slot)
                        | accepted_value << (REPLY_VALUE + 2 * slot),
                }
            } else {
                Packed { near: consumed, far }
            });
        }

        let writes = near >> WRITE;
        for twice in bits((writes | writes >> 1) & PAIR_MASK) {
            let slot = twice / 2;
            let (ballot, acceptor) = (u64::from(slot) / A as u64 + 1, slot % A as u32);
            let value = pair(writes, twice);
            let consumed = near & !(0b11 << (WRITE + twice));
            let at = ACCEPTOR + ACCEPTOR_BITS * acceptor;
            steps.push(if ballot >= pair(near, at) {
                Packed {
                    near: consumed & !(0b11_1111 << at) | (value << 4 | ballot << 2 | ballot) << at,
                    far: far | value << (ACCEPT + twice),
                }
            } else {
                Packed { near: consumed, far }
            });
        }

        for p in 0..P as u32 {
            let phase = pair(near, PHASE + 2 * p);
            if phase == IDLE {
                let near = near | READING << (PHASE + 2 * p) | all_acceptors << (READ + A as u32 * p);
                steps.push(Packed { near, far });
            } else if phase == READING {
                let replies = far >> (REPLY + A as u32 * p);
                for &(majority, one_pair_each_member) in &self.majorities {
                    if replies & majority == majority {
                        let pairs = one_pair_each_member * 0b11;
                        let ballots = far >> (REPLY_BALLOT + 2 * A as u32 * p) & pairs;
                        let values = far >> (REPLY_VALUE + 2 * A as u32 * p) & pairs;
                        let mut highest = (0, u64::from(p) + 1);
                        for twice in bits((ballots | ballots >> 1) & PAIR_MASK) {
                            highest = highest.max((pair(ballots, twice), pair(values, twice)));
                        }
                        // READING becomes WRITTEN, the pair's other bit.
                        let phase = 0b11 << (PHASE + 2 * p);
                        steps.push(Packed {
                            near: (near ^ phase) | (highest.1 * one_pair_each) << (WRITE + 2 * A as u32 * p),
                            far: far
                                & !(majority << (REPLY + A as u32 * p)
                                    | pairs << (REPLY_BALLOT + 2 * A as u32 * p)
                                    | pairs << (REPLY_VALUE + 2 * A as u32 * p)),
                        });
                    }
                }
            }

            let accepts = far >> (ACCEPT + 2 * A as u32 * p) & (one_pair_each * 0b11);
            let senders = (accepts | accepts >> 1) & PAIR_MASK;
            if senders != 0 {
                let value = pair(accepts, senders.trailing_zeros());
                for &(_, majority) in &self.majorities {
                    if senders & majority == majority {
                        steps.push(Packed {
                            near: near | 1 << (LEARNT + value as u32 - 1),
                            far: far & !((majority * 0b11) << (ACCEPT + 2 * A as u32 * p)),
                        });
                    }
                }
            }
        }
    }

    fn next_state(&self, _: &Packed, step: Packed) -> Option<Packed> {
        Some(step)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("agreement", |_, state: &Packed| (state.near >> LEARNT).count_ones() <= 1)]
    }
}
