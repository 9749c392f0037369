//! What reductions rest on must be seen of all interchangeable processes, not only of those in representatives.
//!
//! One of two askers asks a server, which opens the door and says so to both. The other may enter, and then reports,
//! which the server should never hear; but the server may close for good at any time, and then hears nothing. Whether
//! the server need only close while the door is open depends on what the other asker may still send. It is seen to
//! report only once it has entered, and by then another state stands for that one, in which perhaps the two askers have
//! changed places. Which state stands for which depends on what was found before: so the server first does a number of
//! things that have nothing to do with it, and some numbers show the mistake. Random twins show it too
//! (`reduction_mutants.rs`), but not with stubborn sets and symmetry alone.

use quorate::engine::{Engine, Explore, Search};
use quorate::model::Model;
use quorate::reduce::Reduction::{self, Inert, Stubborn, Symmetry};
use quorate::reduce::Reductions;
use quorate::report::Verdict;
use quorate::testing::{Mutant, Tuning};
use quorate::{Outbox, Rename, Role, RoleName, System, Transitions, observe};
use quorate_testkit::reductions::combinations;

const SERVER: RoleName = RoleName::new("server");
const ASKERS: RoleName = RoleName::new("asker");

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Msg {
    Ask,
    Open,
    Report,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Server {
    /// Has so much to do before it listens.
    Busy(usize),
    Open,
    Closed,
    Reported,
}

impl Role for Server {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("work").when(|server| matches!(server, Server::Busy(1..))).run(Self::work);
        t.internal("close")
            .when(|server| matches!(server, Server::Busy(0) | Server::Open))
            .run(|server, _| *server = Server::Closed);
        t.message("ask").of(|server, message| *server == Server::Busy(0) && *message == Msg::Ask).run(
            |server, _, out| {
                *server = Server::Open;
                out.send_all(ASKERS, Msg::Open);
            },
        );
        t.message("report")
            .of(|server, message| *server == Server::Open && *message == Msg::Report)
            .run(|server, _, _| *server = Server::Reported);
    }
}

impl Server {
    fn work(&mut self, _: &mut Outbox<Msg>) {
        if let Server::Busy(left) = self {
            *left -= 1;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Asker {
    Outside,
    Asking,
    Inside,
    Gone,
}

impl Role for Asker {
    type Message = Msg;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("ask").when(|asker| *asker == Asker::Outside).run(|asker, out| {
            *asker = Asker::Asking;
            out.send_all(SERVER, Msg::Ask);
        });
        t.message("enter")
            .of(|asker, message| *asker == Asker::Outside && *message == Msg::Open)
            .run(|asker, _, _| *asker = Asker::Inside);
        t.internal("report").when(|asker| *asker == Asker::Inside).run(|asker, out| {
            *asker = Asker::Gone;
            out.send_all(SERVER, Msg::Report);
        });
    }
}

fn door(busy: usize) -> Model {
    let system = System::new()
        .role(SERVER, 1, |_| Server::Busy(busy))
        .role(ASKERS, 2, |_| Asker::Outside)
        .renames::<(Server, Asker)>()
        .symmetric(ASKERS)
        .invariant("nobody reports", observe(|server: &Server| *server), |server| {
            server.iter().all(|server| *server != Server::Reported)
        });
    system.build().unwrap_or_else(|error| panic!("{error}"))
}

fn finds_the_report(busy: usize, which: &[Reduction], mutant: Option<Mutant>) -> bool {
    let model = door(busy);
    let reductions = Reductions::checked(which, &model).expect("an allowed combination");
    let tuning = Tuning { mutants: mutant.into(), ..Tuning::default() };
    let search = Search::default().reductions(reductions).tuning(tuning);
    let report = Explore::default().run(&model, &search, &mut ());
    match report.verdict {
        Verdict::Violated(_) => true,
        Verdict::Holds => false,
        other => panic!("the verdict is {other:?}"),
    }
}

#[test]
fn what_was_seen_of_a_process_is_noted_for_all_it_can_be_exchanged_with() {
    for which in [&[Stubborn, Symmetry][..], &[Stubborn, Symmetry, Inert]] {
        let overlooked = |busy: &usize| !finds_the_report(*busy, which, Some(Mutant::NoSaturation));
        let missed: Vec<usize> = (0..20).filter(overlooked).collect();
        assert!(missed.len() >= 3, "{which:?}: only {missed:?} miss the report");
    }
}

#[test]
fn the_report_is_found_whichever_state_stands_for_others() {
    for which in combinations(&door(0)) {
        for busy in 0..20 {
            assert!(finds_the_report(busy, &which, None), "{which:?}, {busy}");
        }
    }
}
