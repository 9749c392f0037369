use quorate::engine::{Search, explore};
use quorate::reduce::{
    Reduction::{self, *},
    Reductions,
};
#[test]
fn t() {
    let protocols = quorate_zoo::protocols();
    let protocol = protocols.iter().find(|known| known.name() == "paxos").unwrap();
    for (p, a) in [("2", "3"), ("2", "4"), ("3", "3"), ("2", "5"), ("2", "7"), ("3", "5")] {
        let arguments = protocol.arguments([("proposers", p), ("acceptors", a)], None).unwrap();
        for which in [
            vec![Symmetry],
            vec![Stubborn, Inert],
            vec![Beliefs, Inert, Symmetry],
            vec![Beliefs, Stubborn, Inert],
            vec![Beliefs, Stubborn, Inert, Symmetry],
        ] {
            if (a == "5" || a == "7") && which.len() < 4
                || a == "7" && which.len() < 4
                || (p, a) == ("3", "5") && which.len() < 4
            {
                continue;
            }
            let model = protocol.instance(&arguments).unwrap();
            let reductions = Reductions::checked(&which, &model).unwrap();
            let t = std::time::Instant::now();
            let r = explore(
                &model,
                &Search {
                    reductions,
                    count_orbits: (p, a) != ("3", "3") && a != "7" && p != "3",
                    ..Search::default()
                },
                &mut (),
            );
            eprintln!(
                "{p} {a} {which:?} states {} tr {} rounds {} local {} {} {:?} orbits {:?} {}",
                r.coverage.states,
                r.coverage.transitions,
                r.rounds,
                r.coverage.local_steps,
                r.coverage.terminal_states,
                t.elapsed(),
                r.orbits,
                r.verdict.word()
            );
            if let quorate::Verdict::Unknown(s) = r.verdict {
                eprintln!("{s}");
            }
        }
    }
}
