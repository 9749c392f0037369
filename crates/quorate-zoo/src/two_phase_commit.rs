//! Two-phase commit: one coordinator, and participants that all commit or all abort.
//!
//! From: Gray, Notes on Data Base Operating Systems (1978). The coordinator asks every participant to
//! prepare; each votes yes or no, as it likes, and one that votes no has aborted. The coordinator commits
//! on a yes from everybody, which it consumes in one quorum transition (Bokor et al., MP-Basset, DSN 2011),
//! aborts on the first no, and tells everybody.
//! Differs: nobody crashes and no message is lost, so that everybody decides in the end. What reaches a
//! process that has decided stays in its inbox.
//! Known: n participants have 1 + 3^n + 2^n + n 5^(n-1) states (before the first step, voting, committed,
//! aborted), 111 for n = 3; they end in one state in which all commit, or in n 3^(n-1) in which all abort.
//! Participants are interchangeable.
//! Held by: tests/counts.rs.

use quorate::protocol::Arguments;
use quorate::{
    Outbox, Protocol, Quorum, Received, Rename, Role, RoleName, System, Transitions, all_of, majority_of,
    observe,
};

const COORDINATOR: RoleName = RoleName::new("coordinator");
const PARTICIPANTS: RoleName = RoleName::new("participant");

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Vote {
    Yes,
    No,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Decision {
    Commit,
    Abort,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
enum Msg {
    Prepare,
    Vote(Vote),
    Decide(Decision),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bug {
    CommitOnMajority,
    ParticipantUnilateralAbort,
    SilentAbort,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Phase {
    Working,
    /// The coordinator has asked for votes, the participant has voted yes.
    Prepared,
    Decided(Decision),
}

impl Phase {
    fn decision(self) -> Option<Decision> {
        if let Phase::Decided(decision) = self { Some(decision) } else { None }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Coordinator {
    phase: Phase,
    #[rename(skip)]
    bug: Option<Bug>,
}

impl Role for Coordinator {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        let majority = self.bug == Some(Bug::CommitOnMajority);
        t.internal("prepare").when(|c| c.phase == Phase::Working).run(Self::prepare);
        t.quorum("commit", if majority { majority_of(PARTICIPANTS) } else { all_of(PARTICIPANTS) })
            .of(|c, m| c.phase == Phase::Prepared && *m == Msg::Vote(Vote::Yes))
            .run(Self::commit);
        t.message("abort")
            .of(|c, m| c.phase == Phase::Prepared && *m == Msg::Vote(Vote::No))
            .run(Self::abort);
    }
}

impl Coordinator {
    fn prepare(&mut self, out: &mut Outbox<Msg>) {
        self.phase = Phase::Prepared;
        out.send_all(PARTICIPANTS, Msg::Prepare);
    }

    fn commit(&mut self, _: Quorum<'_, Msg>, out: &mut Outbox<Msg>) {
        self.phase = Phase::Decided(Decision::Commit);
        out.send_all(PARTICIPANTS, Msg::Decide(Decision::Commit));
    }

    fn abort(&mut self, _: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        self.phase = Phase::Decided(Decision::Abort);
        if self.bug != Some(Bug::SilentAbort) {
            out.send_all(PARTICIPANTS, Msg::Decide(Decision::Abort));
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Rename)]
struct Participant {
    phase: Phase,
    #[rename(skip)]
    bug: Option<Bug>,
}

impl Role for Participant {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("vote").of(|p, m| p.phase == Phase::Working && *m == Msg::Prepare).run(Self::vote);
        t.message("decide")
            .of(|p, m| p.phase.decision().is_none() && matches!(m, Msg::Decide(_)))
            .run(Self::decide);
        if self.bug == Some(Bug::ParticipantUnilateralAbort) {
            t.internal("give_up").when(|p| p.phase == Phase::Prepared).run(Self::give_up);
        }
    }
}

impl Participant {
    fn vote(&mut self, _: Received<'_, Msg>, out: &mut Outbox<Msg>) {
        let vote = out.choose([Vote::Yes, Vote::No]);
        self.phase = match vote {
            Vote::Yes => Phase::Prepared,
            Vote::No => Phase::Decided(Decision::Abort),
        };
        out.send_all(COORDINATOR, Msg::Vote(vote));
    }

    fn decide(&mut self, decide: Received<'_, Msg>, _: &mut Outbox<Msg>) {
        if let Msg::Decide(decision) = *decide {
            self.phase = Phase::Decided(decision);
        }
    }

    fn give_up(&mut self, _: &mut Outbox<Msg>) {
        self.phase = Phase::Decided(Decision::Abort);
    }
}

/// The catalogue entry.
pub(crate) fn protocol() -> Protocol {
    Protocol::new("two-phase-commit", "two-phase commit: all commit or all abort", system)
        .reference("Gray, Notes on Data Base Operating Systems, 1978")
        .number("participants", 3, 1..=60, "how many participants")
        .bug("commit-on-majority", "the coordinator commits on a yes from a majority, not from everybody")
        .bug("participant-unilateral-abort", "a participant that has voted yes times out and aborts")
        .bug("silent-abort", "the coordinator tells nobody that it has aborted")
}

fn system(arguments: &Arguments) -> System<Msg> {
    let bug = arguments.bug().map(|bug| match bug {
        "commit-on-majority" => Bug::CommitOnMajority,
        "participant-unilateral-abort" => Bug::ParticipantUnilateralAbort,
        _ => Bug::SilentAbort,
    });
    let decisions =
        || observe(|c: &Coordinator| c.phase.decision()).and(|p: &Participant| p.phase.decision());
    System::new()
        .role(COORDINATOR, 1, |_| Coordinator { phase: Phase::Working, bug })
        .role(PARTICIPANTS, arguments.number("participants"), |_| Participant { phase: Phase::Working, bug })
        .invariant("atomicity", decisions(), |decisions| {
            let taken = |decision| decisions.contains(&Some(decision));
            !(taken(Decision::Commit) && taken(Decision::Abort))
        })
        .at_end("everybody decides", decisions(), |decisions| decisions.iter().all(Option::is_some))
        .symmetric(PARTICIPANTS)
        .renames::<(Coordinator, Participant)>()
}
