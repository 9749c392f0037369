//! The order in which roles and messages are declared is nobody's business: the same protocol, declared in two orders,
//! has the same counts with every combination of reductions, and the same verdict with a planted bug.
//!
//! A Paxos with two proposers, whose roles and kinds of messages come in either order. What stands for what and who steps
//! follows from contents; so the order may decide between what is equal, and never how much is searched.

use quorate::engine::{Engine, Explore, Search};
use quorate::model::Model;
use quorate::reduce::Reductions;
use quorate::{RoleName, System};
use quorate_testkit::reductions::combinations;

const PROPOSERS: RoleName = RoleName::new("proposer");
const ACCEPTORS: RoleName = RoleName::new("acceptor");
const LEARNERS: RoleName = RoleName::new("learner");

/// The protocol with its messages declared as they are given here, and its roles in this order.
macro_rules! paxos {
    ($module:ident, { $($messages:tt)* }, [$($role:ident),*]) => {
        mod $module {
            use super::{ACCEPTORS, LEARNERS, PROPOSERS, System};
            use quorate::{Outbox, Quorum, Received, Rename, Role, Transitions, majority_of, observe};

            #[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
            enum Msg {
                $($messages)*
            }

            #[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
            struct Proposer {
                ballot: u8,
                phase: u8,
            }

            impl Role for Proposer {
                type Message = Msg;

                fn transitions(&self, t: &mut Transitions<Self>) {
                    t.internal("prepare").when(|proposer| proposer.phase == 0).run(
                        |proposer: &mut Proposer, out: &mut Outbox<Msg>| {
                            proposer.phase = 1;
                            out.send_all(ACCEPTORS, Msg::Prepare(proposer.ballot));
                        },
                    );
                    t.quorum("propose", majority_of(ACCEPTORS))
                        .of(|proposer, m| {
                            proposer.phase == 1 && matches!(m, Msg::Promise(ballot, _) if *ballot == proposer.ballot)
                        })
                        .run(|proposer: &mut Proposer, promises: Quorum<'_, Msg>, out: &mut Outbox<Msg>| {
                            let mut found = None;
                            for promise in promises {
                                if let Msg::Promise(_, accepted) = *promise {
                                    found = found.max(accepted);
                                }
                            }
                            proposer.phase = 2;
                            let value = found.map_or(proposer.ballot, |(_, value)| value);
                            out.send_all(ACCEPTORS, Msg::Accept(proposer.ballot, value));
                        });
                }
            }

            #[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
            struct Acceptor {
                promised: u8,
                accepted: Option<(u8, u8)>,
                #[rename(skip)]
                accepts_all: bool,
            }

            impl Role for Acceptor {
                type Message = Msg;

                fn transitions(&self, t: &mut Transitions<Self>) {
                    t.message("promise")
                        .of(|acceptor, m| matches!(m, Msg::Prepare(ballot) if *ballot > acceptor.promised))
                        .run(|acceptor: &mut Acceptor, prepare: Received<'_, Msg>, out: &mut Outbox<Msg>| {
                            let Msg::Prepare(ballot) = *prepare else { return };
                            acceptor.promised = ballot;
                            out.send(prepare.from, Msg::Promise(ballot, acceptor.accepted));
                        });
                    t.message("accept")
                        .of(|acceptor, m| {
                            matches!(m, Msg::Accept(ballot, _) if acceptor.accepts_all || *ballot >= acceptor.promised)
                        })
                        .run(|acceptor: &mut Acceptor, accept: Received<'_, Msg>, out: &mut Outbox<Msg>| {
                            let Msg::Accept(ballot, value) = *accept else { return };
                            (acceptor.promised, acceptor.accepted) = (ballot, Some((ballot, value)));
                            out.send_all(LEARNERS, Msg::Accepted(ballot, value));
                        });
                }
            }

            #[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
            struct Learner(Vec<u8>);

            impl Role for Learner {
                type Message = Msg;

                fn transitions(&self, t: &mut Transitions<Self>) {
                    for (name, ballot) in [("learn the first", 1), ("learn the second", 2)] {
                        t.quorum(name, majority_of(ACCEPTORS))
                            .of(move |_, m| matches!(m, Msg::Accepted(accepted, _) if *accepted == ballot))
                            .run(|learner: &mut Learner, quorum: Quorum<'_, Msg>, _: &mut Outbox<Msg>| {
                                for accepted in quorum {
                                    if let Msg::Accepted(_, value) = *accepted
                                        && !learner.0.contains(&value)
                                    {
                                        learner.0.push(value);
                                        learner.0.sort_unstable();
                                    }
                                }
                            });
                    }
                }
            }

            fn proposers(system: System<Msg>, _: bool) -> System<Msg> {
                system.role(PROPOSERS, 2, |index| Proposer { ballot: if index == 0 { 1 } else { 2 }, phase: 0 })
            }

            fn acceptors(system: System<Msg>, accepts_all: bool) -> System<Msg> {
                system
                    .role(ACCEPTORS, 3, move |_| Acceptor { promised: 0, accepted: None, accepts_all })
                    .symmetric(ACCEPTORS)
            }

            fn learners(system: System<Msg>, _: bool) -> System<Msg> {
                system.role(LEARNERS, 1, |_| Learner(Vec::new()))
            }

            pub(super) fn model(bug: bool) -> quorate::model::Model {
                let system = System::new();
                $(let system = $role(system, bug);)*
                system
                    .renames::<Proposer>()
                    .renames::<Acceptor>()
                    .renames::<Learner>()
                    .invariant("one value", observe(|learner: &Learner| learner.0.len()), |learnt| {
                        learnt.iter().all(|values| *values <= 1)
                    })
                    .build()
                    .expect("a system")
            }
        }
    };
}

paxos!(
    one_order,
    { Prepare(u8), Promise(u8, Option<(u8, u8)>), Accept(u8, u8), Accepted(u8, u8), },
    [proposers, acceptors, learners]
);
paxos!(
    the_other,
    { Accepted(u8, u8), Accept(u8, u8), Promise(u8, Option<(u8, u8)>), Prepare(u8), },
    [learners, acceptors, proposers]
);

#[test]
fn counts_do_not_depend_on_the_order_of_declarations() {
    let (one, other) = (one_order::model(false), the_other::model(false));
    let mut which: Vec<_> = combinations(&one);
    assert_eq!(which, combinations(&other));
    which.push(Vec::new());
    for reductions in which {
        let states = |model: &Model| {
            let reductions = Reductions::checked(&reductions, model).expect("an allowed combination");
            let report = Explore::default().run(model, &Search::default().reductions(reductions), &mut ());
            assert_eq!(report.verdict.word(), "holds");
            let coverage = report.coverage;
            (coverage.states, coverage.transitions, coverage.terminal_states)
        };
        assert_eq!(states(&one), states(&other), "{reductions:?}");
    }
}

#[test]
fn a_bug_is_found_in_either_order() {
    for model in [one_order::model(true), the_other::model(true)] {
        for which in combinations(&model) {
            let reductions = Reductions::checked(&which, &model).expect("an allowed combination");
            let report = Explore::default().run(&model, &Search::default().reductions(reductions), &mut ());
            assert_eq!(report.verdict.word(), "violated", "{which:?}");
        }
    }
}

mod table {
    //! Renamed by hand, with no more room than for the ids of its own role.

    use quorate::{
        Outbox, ProcessId, Received, Rename, Renaming, Role, RoleName, System, Transitions, observe,
    };

    const VOTERS: RoleName = RoleName::new("voter");
    const COORDINATORS: RoleName = RoleName::new("coordinator");

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Voter {
        voted: bool,
        heard: [bool; 3],
    }

    impl Rename for Voter {
        fn rename(&self, ids: &Renaming) -> Self {
            let mut heard = [false; 3];
            for (at, heard_of) in self.heard.iter().enumerate() {
                heard[ids.of(ProcessId::new(at)).index()] = *heard_of;
            }
            Voter { voted: self.voted, heard }
        }
    }

    impl Role for Voter {
        type Message = bool;

        fn transitions(&self, t: &mut Transitions<Self>) {
            t.internal("vote").when(|voter| !voter.voted).run(|voter: &mut Voter, out: &mut Outbox<bool>| {
                voter.voted = true;
                out.send_all(VOTERS, true);
            });
            t.message("hear").run(|voter: &mut Voter, vote: Received<'_, bool>, _: &mut Outbox<bool>| {
                voter.heard[vote.from.index()] = true;
            });
        }
    }

    #[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
    struct Coordinator;

    impl Role for Coordinator {
        type Message = bool;

        fn transitions(&self, _: &mut Transitions<Self>) {}
    }

    pub(super) fn model() -> quorate::model::Model {
        System::new()
            .role(VOTERS, 3, |_| Voter { voted: false, heard: [false; 3] })
            .role(COORDINATORS, 1, |_| Coordinator)
            .symmetric(VOTERS)
            .renames::<Voter>()
            .renames::<Coordinator>()
            .invariant(
                "not all are heard",
                observe(|voter: &Voter| voter.heard.iter().all(|heard| *heard)),
                |all| all.iter().filter(|all| **all).count() < 4,
            )
            .build()
            .expect("a system")
    }
}

#[test]
fn who_renames_its_own_role_only_is_searched_all_the_same() {
    let model = table::model();
    for which in combinations(&model) {
        let reductions = Reductions::checked(&which, &model).expect("an allowed combination");
        let report = Explore::default().run(&model, &Search::default().reductions(reductions), &mut ());
        assert_eq!(report.verdict.word(), "holds", "{which:?}");
    }
}
