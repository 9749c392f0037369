use quorate::engine::{Search, explore};
use quorate::reduce::{Reduction, Reductions};
#[test]
fn t() {
    let protocols = quorate_zoo::protocols();
    let protocol = protocols.iter().find(|known| known.name() == "paxos").unwrap();
    for (p,a) in [("2","3"),("2","4"),("3","3"),("2","5")] {
    let arguments = protocol.arguments([("proposers", p),("acceptors",a)], None).unwrap();
    for which in [vec![Reduction::Stubborn], vec![Reduction::Inert], vec![Reduction::Stubborn, Reduction::Inert], vec![Reduction::Beliefs,Reduction::Stubborn, Reduction::Inert]] {
        if which == [Reduction::Stubborn] && (a == "5" || p == "3") {continue}
        let model = protocol.instance(&arguments).unwrap();
        let reductions = Reductions::checked(&which, &model).unwrap();
        let t = std::time::Instant::now();
        let r = explore(&model, &Search { reductions, ..Search::default() }, &mut ());
        eprintln!("{p} {a} {which:?} states {} tr {} rounds {} local {} {} {:?}", r.coverage.states, r.coverage.transitions, r.rounds, r.coverage.local_steps, r.coverage.terminal_states, t.elapsed());
    }}
}
