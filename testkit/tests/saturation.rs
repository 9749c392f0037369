//! What reductions rest on must be seen of all interchangeable processes, not only of those in representatives.
//!
//! One of two askers asks a server, which opens the door and says so to both. The other may enter, and then reports,
//! which the server should never hear; but the server may close for good at any time, and then hears nothing. Whether
//! the server need only close while the door is open depends on what the other asker may still send. It is seen to
//! report only once it has entered, and by then another state stands for that one, in which perhaps the two askers have
//! changed places. Which state stands for which depends on what was found before: so the server first does a number of
//! things that have nothing to do with it, and some numbers show the mistake. Random twins show it too
//! (`reduction_mutants.rs`), but not with stubborn sets and symmetry alone.
//!
//! What makes a difference to a process only after some steps of its own is another matter: whether it does is asked when
//! a message arrives, and the steps may have been seen of the other process only. A key is given to one of two
//! climbers, who needs it at the top.

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

fn door(busy: usize, askers: usize) -> Model {
    let system = System::new()
        .role(SERVER, 1, |_| Server::Busy(busy))
        .role(ASKERS, askers, |_| Asker::Outside)
        .renames::<(Server, Asker)>()
        .symmetric(ASKERS)
        .invariant("nobody reports", observe(|server: &Server| *server), |server| {
            server.iter().all(|server| *server != Server::Reported)
        });
    system.build().unwrap_or_else(|error| panic!("{error}"))
}

fn finds_the_report(busy: usize, which: &[Reduction], mutant: Option<Mutant>) -> bool {
    violated(&door(busy, 2), which, mutant)
}

fn violated(model: &Model, which: &[Reduction], mutant: Option<Mutant>) -> bool {
    violated_with(model, which, Tuning { mutants: mutant.into(), ..Tuning::default() })
}

fn violated_with(model: &Model, which: &[Reduction], tuning: Tuning) -> bool {
    let reductions = Reductions::checked(which, model).expect("an allowed combination");
    let search = Search::default().reductions(reductions).tuning(tuning);
    let report = Explore::default().run(model, &search, &mut ());
    match report.verdict {
        Verdict::Violated(_) => true,
        Verdict::Holds => false,
        other => panic!("the verdict is {other:?}"),
    }
}

#[test]
fn what_was_seen_of_a_process_is_noted_for_all_it_can_be_exchanged_with() {
    let which = [Stubborn, Symmetry];
    let missed = (0..20).filter(|busy| !finds_the_report(*busy, &which, Some(Mutant::NoSaturation))).count();
    assert!(missed >= 3, "only {missed} miss the report");
}

#[test]
fn the_report_is_found_whichever_state_stands_for_others() {
    for which in combinations(&door(0, 2)) {
        for busy in 0..20 {
            assert!(finds_the_report(busy, &which, None), "{which:?}, {busy}");
        }
    }
}

const GATE: RoleName = RoleName::new("gate");
const CLIMBERS: RoleName = RoleName::new("climber");

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Climb {
    Ask,
    Granted,
    Key,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
struct Gate {
    free: bool,
}

impl Role for Gate {
    type Message = Climb;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.message("grant").of(|gate, message| gate.free && *message == Climb::Ask).run(|gate, ask, out| {
            gate.free = false;
            out.send(ask.from, Climb::Granted);
            out.send(ask.from, Climb::Key);
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
struct Climber {
    mountain: usize,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Rename)]
enum Place {
    Home,
    Foot,
    Height(usize),
    Through,
}

const TOP: usize = 4;

impl Role for Climber {
    type Message = Climb;

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("ask").when(|climber| climber.place == Place::Home).run(|climber, out| {
            climber.place = Place::Foot;
            out.send_all(GATE, Climb::Ask);
        });
        t.message("set out")
            .of(|climber, message| climber.place == Place::Foot && *message == Climb::Granted)
            .run(|climber, _, _| climber.place = Place::Height(0));
        t.internal("climb").when(|climber| matches!(climber.place, Place::Height(..TOP))).run(
            |climber, _| {
                if let Place::Height(height) = &mut climber.place {
                    *height += 1;
                }
            },
        );
        t.message("pass")
            .of(|climber, message| climber.place == Place::Height(TOP) && *message == Climb::Key)
            .run(|climber, _, _| climber.place = Place::Through);
    }
}

fn mountain(mountain: usize, climbers: usize) -> Model {
    let climber = Climber { mountain, place: Place::Home };
    let system = System::new()
        .role(GATE, 1, |_| Gate { free: true })
        .role(CLIMBERS, climbers, move |_| climber)
        .renames::<(Gate, Climber)>()
        .symmetric(CLIMBERS)
        .invariant("nobody is through", observe(|climber: &Climber| climber.place), |places| {
            places.iter().all(|place| *place != Place::Through)
        });
    system.build().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_makes_a_difference_later_does_for_all_who_can_be_exchanged() {
    for which in combinations(&mountain(0, 2)) {
        for one in 0..20 {
            assert!(violated(&mountain(one, 2), &which, None), "{which:?}, {one}");
        }
    }
    let which = [Inert, Symmetry];
    let missed =
        (0..20).filter(|one| !violated(&mountain(*one, 2), &which, Some(Mutant::NoSaturation))).count();
    assert!(missed >= 3, "only {missed} miss it");
}

#[test]
fn what_was_seen_of_one_of_many_is_noted_for_all() {
    // No walks go before, which would see something of everybody.
    let tuning = Tuning { walks_in_vain: 0, ..Tuning::default() };
    for many in 3..=5 {
        for which in [vec![Inert, Symmetry], vec![Stubborn, Symmetry], vec![Inert, Stubborn, Symmetry]] {
            for one in 0..20 {
                let models = [mountain(one, many), door(one, many)];
                let found = models.map(|model| violated_with(&model, &which, tuning));
                assert_eq!(found, [true; 2], "{many}, {which:?}, {one}");
            }
        }
    }
}
