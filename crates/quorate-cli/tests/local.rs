//! The local graphs that `graph` shows: their size, their forms, and that no reduction leaves out a step.

use crate::program::{run, scratch};
use quorate::engine::Search;
use quorate::engine::local_graphs::{LocalGraphs, local_graphs};
use quorate::reduce::Reductions;
use serde_json::Value;

fn paxos() -> Value {
    let ran = run(&["graph", "paxos", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    ran.json()
}

fn length(list: &Value) -> usize {
    list.as_array().expect("a list").len()
}

#[test]
fn the_acceptors_of_paxos_have_one_graph() {
    let paxos = paxos();
    assert_eq!(paxos["complete"], true);
    let graphs = paxos["graphs"].as_array().expect("graphs");
    let shown: Vec<String> = graphs.iter().map(|graph| graph["processes"].to_string()).collect();
    assert_eq!(
        shown,
        [
            r#"["proposer 0"]"#,
            r#"["proposer 1"]"#,
            r#"["acceptor 0","acceptor 1","acceptor 2"]"#,
            r#"["learner"]"#
        ]
    );
    // What is promised and accepted is nothing, nothing but one promise, or one of the writes 1/1, 2/1, 2/2, the
    // first of them with a later promise or without.
    let acceptor = &graphs[2];
    assert_eq!((length(&acceptor["states"]), length(&acceptor["steps"])), (7, 16));
    let states = acceptor["states"].as_array().expect("states");
    let marked = |mark: &str| states.iter().filter(|state| state[mark] == true).count();
    // Nothing happens after the second ballot is accepted, with either value.
    assert_eq!((marked("initial"), marked("end")), (1, 2));
    let steps = acceptor["steps"].as_array().expect("steps");
    let called = |name: &str| steps.iter().filter(|step| step["transition"] == name).count();
    assert_eq!((called("read"), called("write")), (4, 12));
    let messages = run(&["graph", "paxos", "--json", "--process", "acceptor 1"]).json();
    // Two reads and three writes; two replies to those who have not accepted, one to those who have, three accepts.
    assert_eq!(messages["totals"]["messages"], 11);
    assert_eq!(messages["totals"]["local_steps"], 16);
}

#[test]
fn text_shows_states_and_steps() {
    let all = run(&["graph", "paxos"]).stdout;
    for shown in [
        "\nacceptor 0-2: 7 local states, 16 local steps\n",
        "\nproposer 0: 3 local states, ",
        "  s0 --propose()--> s1 / Read { ballot: 1 } to acceptor 0-2\n",
        "--read(Read { ballot: 2 } from proposer 1)--> ",
        " / Reply { ballot: 2, accepted: None } to proposer 1\n",
        "(Reply { ballot: 1, accepted: None } from acceptor 0-1)",
        "(initial)",
        "(end)",
        "\n6 processes: ",
    ] {
        assert!(all.contains(shown), "expected {shown:?} in {all}");
    }
    let one = run(&["graph", "paxos", "--process", "acceptor 2"]).stdout;
    assert!(one.contains("\nacceptor 2: 7 local states") && !one.contains("\nproposer"), "{one}");
    let role = run(&["graph", "paxos", "--process", "proposer"]).stdout;
    assert!(role.contains("\nproposer 1: ") && !role.contains("\nacceptor"), "{role}");
}

#[test]
fn a_picture_has_a_node_for_each_state_and_an_arrow_for_each_step() {
    let json = paxos();
    let graphs = json["graphs"].as_array().expect("graphs");
    let sum = |what: &str| graphs.iter().map(|graph| length(&graph[what])).sum::<usize>();
    let drawn = run(&["graph", "paxos", "--dot"]);
    assert_eq!((drawn.code, drawn.stderr.as_str()), (0, ""));
    let dot = drawn.stdout;
    assert!(dot.starts_with("digraph \"paxos\" {\n") && dot.ends_with("\n}\n"), "{dot}");
    // Braces inside of labels are part of the text.
    let unquoted: String = dot.split('"').step_by(2).collect();
    assert_eq!(unquoted.matches('{').count(), unquoted.matches('}').count());
    assert_eq!(unquoted.matches('{').count(), 1 + graphs.len());
    for line in dot.lines() {
        assert_eq!(line.replace("\\\"", "").matches('"').count() % 2, 0, "{line}");
    }
    let arrows = dot.lines().filter(|line| line.contains(" -> ")).count();
    let nodes = dot.lines().filter(|line| line.starts_with("    g") && !line.contains(" -> ")).count();
    assert_eq!((nodes, arrows), (sum("states"), sum("steps")));

    let file = scratch("paxos.dot");
    let beside = run(&["graph", "paxos", "--dot", file.to_str().expect("text")]);
    assert!(beside.stdout.contains("acceptor 0-2: "), "{}", beside.stdout);
    assert_eq!(std::fs::read_to_string(&file).expect("a picture"), dot);
    std::fs::remove_file(file).expect("the file was there");
}

#[test]
fn reductions_leave_out_no_local_step() {
    for protocol in quorate_zoo::protocols() {
        let model = || {
            let arguments = protocol.arguments([], None).expect("defaults");
            protocol.instance(&arguments).expect("an instance")
        };
        let search = |reductions| Search::default().threads(1).reductions(reductions);
        let (strongest, _) = Reductions::strongest(&model());
        let reduced = local_graphs(model(), &search(strongest), &mut ());
        let full = local_graphs(model(), &search(Reductions::default()), &mut ());
        let what = |found: &LocalGraphs| (found.incomplete(), found.graphs.clone());
        assert!(reduced.report.coverage.states <= full.report.coverage.states, "{}", protocol.name());
        assert!(what(&reduced) == what(&full), "{}", protocol.name());
        assert_eq!(reduced.incomplete(), None, "{}", protocol.name());
    }
}

#[test]
fn a_violation_does_not_end_the_search_and_a_limit_is_reported() {
    let broken = run(&["graph", "paxos", "--bug", "always-accept", "--json"]);
    assert_eq!((broken.code, &broken.json()["complete"]), (0, &true.into()));
    let cut = run(&["graph", "paxos", "--states-max", "2"]);
    assert_eq!(cut.code, 2);
    assert!(cut.stdout.starts_with("not complete: the limit of 2 states was reached\n"), "{}", cut.stdout);
    let cut = run(&["graph", "paxos", "--states-max", "2", "--json"]).json();
    assert_eq!(
        (&cut["complete"], &cut["reason"]),
        (&false.into(), &"the limit of 2 states was reached".into())
    );
}

#[test]
fn a_crash_in_the_middle_of_sending_is_a_step_of_its_own() {
    let crashing = run(&["graph", "paxos", "--process", "proposer 0", "--partial-sends"]).stdout;
    assert!(crashing.contains("--propose, crash()--> s1 / Read { ballot: 1 } to acceptor 0\n"), "{crashing}");
    assert!(crashing.contains("--propose()--> s1 / Read { ballot: 1 } to acceptor 0-2\n"), "{crashing}");
    assert!(
        !crashing.contains("--propose, crash()--> s1 / Read { ballot: 1 } to acceptor 0-2\n"),
        "{crashing}"
    );
}

#[test]
fn what_cannot_be_shown_is_an_error() {
    run(&["graph", "paxos", "--process", "nobody"]).assert_error(
        64,
        "unknown process 'nobody': expected proposer 0, proposer 1, acceptor 0, acceptor 1, acceptor 2, learner",
    );
    run(&["graph"]).assert_error(64, "no protocol given: expected paxos");
    run(&["graph", "paxos", "--json", "--dot"]).assert_error(64, "expected --dot FILE");
    run(&["graph", "paxos", "--dot", "no-such-folder/paxos.dot"]).assert_error(73, "no-such-folder");
    let help = run(&["graph", "paxos", "--help"]).stdout;
    for shown in
        ["Examples:\n  quorate graph paxos\n", "--acceptors <NUMBER>", "--crash-prone", "--dot [<FILE>]"]
    {
        assert!(help.contains(shown), "expected {shown:?} in {help}");
    }
}

#[test]
fn the_closure_has_every_step_and_some_that_never_happen() {
    let closure = run(&["graph", "paxos", "--closure", "--json"]).json();
    let seen = paxos();
    assert_eq!((&closure["complete"], &seen["complete"]), (&true.into(), &true.into()));
    let states = |graphs: &Value| graphs["totals"]["local_states"].as_u64().expect("a number");
    let steps = |graphs: &Value| graphs["totals"]["local_steps"].as_u64().expect("a number");
    assert!(states(&closure) >= states(&seen) && steps(&closure) > steps(&seen));
    assert_eq!(states(&closure), 31);
}
