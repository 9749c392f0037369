//! Monitors as a user meets them: added to a system, named beside its properties, fed with what the
//! handlers emit.

use quorate::property::Monitor;
use quorate::protocol::SystemError;
use quorate::{Outbox, ProcessId, Role, RoleName, System, Transitions, observe};

const DRINKERS: RoleName = RoleName::new("drinker");

/// Takes a sip from the one cup that all share, in two steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Drinker {
    sips: u8,
    lifted: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Cup {
    Lifted,
    PutDown,
}

impl Role for Drinker {
    type Message = ();

    fn transitions(&self, t: &mut Transitions<Self>) {
        t.internal("lift").when(|drinker| !drinker.lifted && drinker.sips < 1).run(Self::lift);
        t.internal("put down").when(|drinker| drinker.lifted).run(Self::put_down);
    }
}

impl Drinker {
    fn lift(&mut self, out: &mut Outbox<()>) {
        self.lifted = true;
        out.emit("not for the monitor");
        out.emit(Cup::Lifted);
    }

    fn put_down(&mut self, out: &mut Outbox<()>) {
        self.sips += 1;
        self.lifted = false;
        out.emit(Cup::PutDown);
    }
}

/// Nobody lifts the cup while somebody holds it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct OneCup {
    held: Option<ProcessId>,
    spilt: bool,
}

impl Monitor for OneCup {
    type Event = Cup;

    fn hear(&mut self, process: ProcessId, event: &Cup) {
        match event {
            Cup::Lifted => self.spilt |= self.held.replace(process).is_some(),
            Cup::PutDown => self.held = None,
        }
    }

    fn holds(&self) -> bool {
        !self.spilt
    }
}

fn drinkers(count: usize) -> System<()> {
    System::new().role(DRINKERS, count, |_| Drinker::default())
}

#[test]
fn a_monitor_has_a_name_of_its_own() {
    let twice = |name: &str| Err(SystemError::PropertyTwice { property: name.to_string() });
    let sober = || observe(|drinker: &Drinker| drinker.sips);
    let built = |system: System<()>| system.build().map(|_| ());

    let one_cup = || drinkers(2).monitor("one cup", OneCup::default());
    assert_eq!(built(one_cup()), Ok(()));
    assert_eq!(built(one_cup().monitor("one cup", OneCup::default())), twice("one cup"));
    assert_eq!(built(one_cup().invariant("one cup", sober(), |_| true)), twice("one cup"));
    let invariant_first = drinkers(2).invariant("one cup", sober(), |_| true);
    assert_eq!(built(invariant_first.monitor("one cup", OneCup::default())), twice("one cup"));
}

#[test]
fn a_monitor_follows_the_events_of_the_handlers() {
    let model = drinkers(2).monitor("one cup", OneCup::default()).build().unwrap();
    let [monitor] = model.monitors() else { panic!("one monitor: {:?}", model.monitors()) };
    let [lift, put_down] = [0, 1];
    // Runs the transitions of processes in this order; says after how many the monitor was broken.
    let broken_after = |schedule: &[(usize, usize)]| {
        let mut locals: Vec<_> = model.processes().iter().map(|process| process.initial().clone()).collect();
        let mut state = monitor.initial().clone();
        schedule.iter().position(|&(process, transition)| {
            let id = ProcessId::new(process);
            let outcome = model.run_with(id, transition, &locals[process], &[], &[]).unwrap();
            locals[process] = outcome.state;
            state = monitor.after(&state, id, &outcome.events);
            !monitor.holds(&state)
        })
    };
    assert_eq!(broken_after(&[(0, lift), (0, put_down), (1, lift), (1, put_down)]), None);
    assert_eq!(broken_after(&[(0, lift), (1, lift), (1, put_down)]), Some(1));
}
