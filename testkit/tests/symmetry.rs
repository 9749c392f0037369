//! What the zoo declares about symmetry is true of every handler call, every property and every local state that
//! the naive checker comes across; and a declaration that is not true would be noticed.

use std::collections::BTreeSet;

use quorate::engine::{Engine, Explore, Search};
use quorate::model::Model;
use quorate::reduce::{Reduction, Reductions};
use quorate::report::{Stopped, Verdict};
use quorate::{
    Outbox, ProcessId, Quorum, Received, Rename, Role, RoleName, System, Transitions, World, majority_of,
    observe,
};
use quorate_testkit::naive::search;
use quorate_testkit::reductions::combinations;
use quorate_testkit::symmetry::asymmetries;

type Given = &'static [(&'static str, &'static str)];

fn model(name: &str, given: Given, bug: Option<&str>) -> Model {
    let found = quorate_zoo::protocols().into_iter().find(|protocol| protocol.name() == name);
    let protocol = found.unwrap_or_else(|| panic!("the zoo has no {name}"));
    let arguments = protocol.arguments(given.iter().copied(), bug);
    let arguments = arguments.unwrap_or_else(|error| panic!("{error}"));
    protocol.instance(&arguments).unwrap_or_else(|error| panic!("{error}"))
}

/// The model has groups of these sizes, and whatever happens in it happens to their members alike.
#[track_caller]
fn is_symmetric(model: &Model, sizes: &[usize]) {
    let groups = model.symmetry().groups();
    assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), sizes);
    let found = search(model, 200_000).expect("few enough states");
    assert_eq!(asymmetries(model, &found), BTreeSet::new());
}

#[test]
fn acceptors_of_paxos_are_interchangeable() {
    is_symmetric(&model("paxos", &[], None), &[3]);
    is_symmetric(&model("paxos", &[], Some("always-accept")), &[3]);
}

#[test]
fn learners_of_paxos_are_interchangeable() {
    is_symmetric(&model("paxos", &[("stale", "keep"), ("learners", "2")], None), &[2, 3]);
}

#[test]
fn acceptors_are_interchangeable_if_messages_come_one_by_one() {
    for bug in [None, Some("first-reply"), Some("learner-ignores-value")] {
        is_symmetric(&model("paxos", &[("transitions", "single"), ("stale", "keep")], bug), &[3]);
    }
}

#[test]
fn who_takes_the_first_of_a_quorum_distinguishes_acceptors() {
    for bug in ["first-reply", "learner-ignores-value"] {
        assert!(model("paxos", &[], Some(bug)).symmetry().groups().is_empty());
    }
}

#[test]
fn participants_of_two_phase_commit_are_interchangeable() {
    let bugs = ["commit-on-majority", "participant-unilateral-abort", "silent-abort"];
    for bug in [None].into_iter().chain(bugs.map(Some)) {
        is_symmetric(&model("two-phase-commit", &[], bug), &[3]);
    }
}

#[test]
fn secondaries_of_the_accumulator_are_interchangeable() {
    for bug in [None, Some("any-order"), Some("forward-sum"), Some("checkpoint-stops-forwarding")] {
        is_symmetric(&model("accumulator", &[("servers", "3")], bug), &[2]);
    }
    assert!(model("accumulator", &[("servers", "1")], None).symmetry().groups().is_empty());
}

const COLLECTOR: RoleName = RoleName::new("collector");
const VOTERS: RoleName = RoleName::new("voter");

/// What is wrong with the symmetry of the voters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Mistake {
    Nothing,
    CollectorPrefersFirst,
    CollectorComparesIds,
    VotersKnowTheirPlace,
    RestartKnowsItsPlace,
    PropertyKnowsTheFirst,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Vote(bool);

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Voter {
    voted: Option<bool>,
    me: Option<ProcessId>,
    #[rename(skip)]
    mistake: Mistake,
}

impl Role for Voter {
    type Message = Vote;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("vote").when(|voter| voter.voted.is_none()).run(Self::vote);
    }

    fn restarted(&self) -> Self {
        let forgets = self.mistake == Mistake::RestartKnowsItsPlace && self.me == Some(ProcessId::new(1));
        Voter { voted: self.voted.filter(|_| !forgets), ..self.clone() }
    }
}

impl Voter {
    fn vote(&mut self, out: &mut Outbox<Vote>) {
        let likes: &[bool] = if self.mistake == Mistake::VotersKnowTheirPlace && out.me().index() == 1 {
            &[true]
        } else {
            &[true, false]
        };
        let vote = out.choose(likes.iter().copied());
        (self.voted, self.me) = (Some(vote), Some(out.me()));
        out.send_all(COLLECTOR, Vote(vote));
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Collector {
    voters: BTreeSet<ProcessId>,
    result: Option<bool>,
    #[rename(skip)]
    mistake: Mistake,
}

impl Role for Collector {
    type Message = Vote;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.quorum("collect", majority_of(VOTERS)).when(|c, _| c.result.is_none()).run(Self::collect);
        t.message("late").of(|c, _| c.result.is_some()).run(Self::late);
    }
}

impl Collector {
    fn collect(&mut self, votes: Quorum<'_, Vote>, _: &mut Outbox<Vote>) {
        let prefers_first = self.mistake == Mistake::CollectorPrefersFirst;
        let all = votes.iter().all(|vote| vote.0);
        self.result = Some(if prefers_first { votes.first().0 } else { all });
        self.voters = votes.iter().map(|vote| vote.from).collect();
    }

    fn late(&mut self, vote: Received<'_, Vote>, _: &mut Outbox<Vote>) {
        let smaller = self.voters.first().is_some_and(|first| vote.from < *first);
        if self.mistake != Mistake::CollectorComparesIds || smaller {
            self.voters.insert(vote.from);
        }
    }
}

fn election(mistake: Mistake) -> Model {
    let system = System::new()
        .role(COLLECTOR, 1, |_| Collector { voters: BTreeSet::new(), result: None, mistake })
        .role(VOTERS, 3, |_| Voter { voted: None, me: None, mistake })
        .symmetric(VOTERS)
        .renames::<(Collector, Voter)>()
        .invariant("a vote", observe(|voter: &Voter| voter.voted), move |votes| {
            mistake != Mistake::PropertyKnowsTheFirst || votes[0].is_none_or(|vote| vote)
        });
    system.build().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_declaration_that_is_not_true_is_noticed() {
    for (mistake, noticed) in [
        (Mistake::Nothing, None),
        (Mistake::CollectorPrefersFirst, Some("collect")),
        (Mistake::CollectorComparesIds, Some("late")),
        (Mistake::VotersKnowTheirPlace, Some("vote")),
        (Mistake::PropertyKnowsTheFirst, Some("a vote")),
    ] {
        let model = election(mistake);
        let found = search(&model, 10_000).expect("few enough states");
        let expected: BTreeSet<String> = noticed.into_iter().map(str::to_string).collect();
        assert_eq!(asymmetries(&model, &found), expected, "{mistake:?}");
    }
    let model = election(Mistake::RestartKnowsItsPlace);
    let found = search(&model, 10_000).expect("few enough states");
    // Neighbours change places, and process 1 is voter 0.
    let restarts = ["restart of voter 0", "restart of voter 1"].map(str::to_string);
    assert_eq!(asymmetries(&model, &found), BTreeSet::from(restarts));
}

const PICKER: RoleName = RoleName::new("picker");
const PEERS: RoleName = RoleName::new("peer");

/// Calls one of the peers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Picker {
    called: bool,
}

impl Role for Picker {
    type Message = u8;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("call").when(|picker| !picker.called).run(|picker, out: &mut Outbox<u8>| {
            picker.called = true;
            let peer = out.choose(out.members(PEERS).to_vec());
            out.send(peer, 1);
        });
    }
}

/// Comes when it is called. When it restarts, the odd one remembers what the others forget.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Peer {
    me: Option<ProcessId>,
    bad: bool,
    #[rename(skip)]
    odd: ProcessId,
}

impl Role for Peer {
    type Message = u8;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("come")
            .of(|peer, _| peer.me.is_none())
            .run(|peer: &mut Peer, _, out| peer.me = Some(out.me()));
    }

    fn restarted(&self) -> Self {
        Peer { bad: self.bad || self.me == Some(self.odd), ..self.clone() }
    }
}

#[test]
fn a_restart_of_one_far_away_from_those_who_are_met_is_not_overlooked() {
    for odd in (1..=7).map(ProcessId::new) {
        let system = System::new()
            .role(PICKER, 1, |_| Picker { called: false })
            .role(PEERS, 7, |_| Peer { me: None, bad: false, odd })
            .symmetric(PEERS)
            .renames::<(Picker, Peer)>()
            .invariant("nobody is bad", observe(|peer: &Peer| peer.bad), |bad| !bad.contains(&true));
        let world = World::default().restarts(vec![("peer".to_string(), 1)]);
        let model = system.build().expect("a system").in_world(world).expect("a world that fits");
        for which in combinations(&model).into_iter().filter(|which| which.contains(&Reduction::Symmetry)) {
            let reductions = Reductions::checked(&which, &model).expect("checked before");
            let reduced = Search::default().threads(1).reductions(reductions);
            let verdict = Explore::default().run(&model, &reduced, &mut ()).verdict;
            let is_noticed =
                matches!(verdict, Verdict::Violated(_) | Verdict::Unknown(Stopped::Asymmetric(_)));
            assert!(is_noticed, "{which:?}, {odd:?}: {verdict:?}");
        }
    }
}
