//! Worlds on the command line: what their options mean, what the program says of faults, what it refuses, and
//! that a run in any world can be replayed.

use crate::program::{Run, resealed, run, run_with_input};
use serde_json::{Value, json};

/// Paxos whose counts under crashes are known.
const PAXOS: [&str; 4] = ["check", "paxos", "--stale", "keep"];

fn check(start: &[&str], options: &str) -> Run {
    run(&[start, &options.split_whitespace().collect::<Vec<_>>()].concat())
}

/// The states of Paxos, and its vectors of local states.
fn states(options: &str) -> (u64, u64) {
    let ran = check(&PAXOS, &format!("{options} --reduce none --count-system-states --json"));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{options}");
    let count = |field: &str| ran.json()[field].as_u64().expect("a count");
    (count("states"), count("system_states"))
}

#[test]
fn explicit_crashes_have_the_known_counts() {
    let counts = [
        ("--crash implicit", 8_649),
        ("--crash explicit --crash-prone acceptor=1", 17_198),
        ("--crash explicit --crash-prone acceptor=2", 34_205),
        ("--crash-prone acceptor=3", 68_042),
        ("--crash-prone acceptor=1 --partial-sends", 21_215),
        ("--crash-prone acceptor=2 --partial-sends", 51_033),
        ("--crash-prone acceptor=3 --partial-sends", 121_995),
        ("--crash-prone acceptor=0", 8_649),
    ];
    for (options, known) in counts {
        assert_eq!(states(options), (known, 531), "{options}");
    }
}

#[test]
fn without_crash_prone_every_process_may_crash() {
    let json = check(&PAXOS, "--crash explicit --depth-max 3 --json").json();
    assert_eq!(json["faults"]["prone"], json!({"acceptor": 3, "learner": 1, "proposer": 2}));
    let json = check(&PAXOS, "--partial-sends --depth-max 3 --json").json();
    assert_eq!(json["faults"]["prone"], json!({"acceptor": 3, "learner": 1, "proposer": 2}));
    assert_eq!(json["faults"]["partial_sends"], true);
    let json =
        check(&PAXOS, "--crash-prone acceptor=1,learner=1 --crash-prone proposer=2 --depth-max 3 --json");
    assert_eq!(json.json()["faults"]["prone"], json!({"acceptor": 1, "learner": 1, "proposer": 2}));
}

#[test]
fn every_channel_and_model_is_known() {
    for channel in [
        "bag",
        "set",
        "fifo",
        "mailbox",
        "lossy",
        "lossy-fifo",
        "lossy-mailbox",
        "duplicating",
        "blocking:2",
        "overwriting:1",
    ] {
        let json = check(&PAXOS, &format!("--channel {channel} --depth-max 4 --json")).json();
        assert_eq!((&json["channel"], &json["verdict"]), (&channel.into(), &"unknown".into()));
    }
    for model in ["m", "mp", "m-mp"] {
        let json = check(&PAXOS, &format!("--model {model} --depth-max 4 --json")).json();
        assert_eq!((&json["model"], &json["verdict"]), (&model.into(), &"unknown".into()));
    }
}

#[test]
fn people_read_the_world_and_how_often_faults_fired() {
    let page = check(&PAXOS, "--channel fifo --crash-prone acceptor=1 --lose 1 --count-system-states").stdout;
    let world = "\nworld: --channel fifo --crash explicit --crash-prone acceptor=1 --lose 1\n";
    assert!(page.contains(world), "{page}");
    let row = |name: &str| page.lines().find(|line| line.trim_start().starts_with(name)).expect(name);
    for fault in ["crashes", "lost messages"] {
        assert!(row(fault).ends_with("   distinct local steps"), "{page}");
    }
    assert!(row("system states").ends_with("   vectors of local states"), "{page}");

    let page = check(&PAXOS, "").stdout;
    assert!(!page.contains("world:"), "{page}");
    for covered in [
        "covered, without steps: a crashed process is a slow one",
        "covered, without steps: a lost message is one that is never consumed",
    ] {
        assert!(page.contains(covered), "{page}");
    }
}

#[test]
fn what_is_not_covered_is_said() {
    let page = check(&PAXOS, "--channel mailbox").stdout;
    for needle in ["crashes", "not covered: with mailbox channels", "use --crash explicit --partial-sends\n"]
    {
        assert!(page.contains(needle), "{needle} in {page}");
    }
    assert!(
        page.contains("not covered: in mailbox channels a message in front holds up the others"),
        "{page}"
    );
    let json = check(&PAXOS, "--channel mailbox --json").json();
    assert_eq!(
        (&json["faults"]["crash"], &json["faults"]["loss"]),
        (&"not-covered".into(), &"not-covered".into())
    );

    let page = run(&["check", "two-phase-commit"]).stdout;
    assert!(
        page.contains("not covered: 'everybody decides' looks at the end of runs, and a crash"),
        "{page}"
    );
    let instead = "not covered: 'everybody decides' looks at the end of runs: use --channel lossy or --lose";
    assert!(page.contains(instead), "{page}");
}

#[test]
fn a_fault_that_never_fired_is_a_warning() {
    let warning = "restarts were asked for and never happened: nothing is known of them";
    let ran = check(&PAXOS, "--restart learner --json");
    let json = ran.json();
    assert_eq!((ran.code, ran.stderr), (0, format!("warning: {warning}\n")));
    assert_eq!((&json["warnings"], &json["faults"]["fired"]), (&json!([warning]), &json!({"restart": 0})));
    let page = check(&PAXOS, "--restart learner").stdout;
    assert!(page.contains("\n  restarts                0   distinct local steps\n"), "{page}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cases = [
        ("--channel hose", "--channel is 'hose': expected bag, set, fifo"),
        ("--channel blocking:0", "--channel is 'blocking:0': expected bag"),
        ("--delivery p", "--delivery is 'p': expected at-once, in-steps, in-steps-all"),
        ("--crash maybe", "--crash is 'maybe': expected implicit, explicit"),
        ("--crash-prone acceptor", "--crash-prone is 'acceptor': expected ROLE=N, such as acceptor=1"),
        ("--crash-prone acceptor=many", "--crash-prone is 'acceptor=many': expected ROLE=N"),
        ("--crash-prone =1", "--crash-prone is '=1': expected ROLE=N"),
        ("--crash-prone general=1", "no role is called 'general': expected proposer, acceptor, learner"),
        (
            "--crash-prone acceptor=4",
            "4 crash-prone processes of role 'acceptor', which has 3: expected 0 to 3",
        ),
        ("--crash-prone acceptor=1,acceptor=2", "--crash-prone names role 'acceptor' twice: expected once"),
        (
            "--crash implicit --crash-prone acceptor=1",
            "--crash-prone is for crashes that are steps: expected --crash explicit",
        ),
        (
            "--crash implicit --partial-sends",
            "--partial-sends is for crashes that are steps: expected --crash explicit",
        ),
        ("--restart general", "no role is called 'general': expected proposer, acceptor, learner"),
        (
            "--restart acceptor=256",
            "--restart is 'acceptor=256': expected ROLE or ROLE=N with N from 0 to 255",
        ),
        ("--lose 256", "--lose is '256': expected a number from 0 to 255"),
        ("--duplicate -1", "--duplicate is '-1': expected a number from 0 to 255"),
        (
            "--channel fifo --delivery in-steps-all",
            "messages in fifo channels are not delivered in steps of their own: expected bags or sets",
        ),
        ("--channel lossy-fifo --lose 1", "no budget of losses: leave out --lose"),
        ("--channel set --duplicate 1", "messages in set channels cannot be doubled: use bag"),
        (
            "--crash implicit --channel mailbox",
            "--crash implicit does not cover crashes: with mailbox channels",
        ),
        ("--count-system-states --visited fingerprint", "expected --visited exact"),
    ];
    for (options, needle) in cases {
        check(&PAXOS, options).assert_error(64, needle);
    }
    let two_phase_commit = ["check", "two-phase-commit"];
    check(&two_phase_commit, "--crash implicit").assert_error(
        64,
        "--crash implicit does not cover crashes: 'everybody decides' looks at the end of runs, and a crash can \
         bring it about: use --crash explicit",
    );
}

/// A violation in some world, and its replay: the same run in the same world.
#[track_caller]
fn replayed(start: &[&str], options: &str) -> Value {
    let ran = check(start, &format!("{options} --json"));
    assert_eq!(ran.code, 1, "{options}: {}{}", ran.stdout, ran.stderr);
    let story = ran.json();
    let once = run_with_input(&["replay", "-", "--json"], ran.stdout.as_bytes());
    assert_eq!((once.code, once.stderr.as_str()), (1, ""), "{options}");
    let again = once.json();
    for field in ["model", "channel", "property", "trace", "observed"] {
        assert_eq!(again[field], story[field], "{options}: {field}");
    }
    for field in ["crash", "prone", "partial_sends", "restarts", "losses", "duplications"] {
        assert_eq!(again["faults"][field], story["faults"][field], "{options}: {field}");
    }
    let (page, shown) =
        (check(start, options).stdout, run_with_input(&["replay", "-"], ran.stdout.as_bytes()));
    assert!(page.starts_with(shown.stdout.trim_end()), "{options}: the same picture, {page}");
    story
}

fn steps_of<'s>(story: &'s Value, kind: &str) -> Vec<&'s Value> {
    let steps = story["trace"].as_array().expect("a trace");
    steps.iter().filter(|step| step.get("kind").is_some_and(|said| said == kind)).collect()
}

#[test]
fn a_crash_with_unsent_messages_is_replayed() {
    let story = replayed(&["check", "two-phase-commit"], "--crash-prone coordinator=1 --partial-sends");
    assert_eq!(story["property"], "everybody decides");
    let crashes = steps_of(&story, "crash");
    assert_eq!(crashes.len(), 1);
    assert!(!crashes[0]["unsent"].as_array().expect("what was not sent").is_empty(), "{}", crashes[0]);

    // The same run is none where processes do not crash, or not while they send.
    let edits = [
        ("/faults/crash", json!("implicit"), "coordinator cannot crash like this"),
        ("/faults/prone", json!({"participant": 1}), "coordinator cannot crash like this"),
        ("/faults/partial_sends", json!(false), "coordinator cannot crash like this"),
        ("/faults/prone", json!({"nobody": 1}), "a world that does not exist: no role is called 'nobody'"),
        ("/faults/crash", json!("sometimes"), "unknown variant `sometimes`"),
        ("/faults/losses", json!(999), "a budget of 999 faults: expected at most 255"),
        ("/channel", json!("hose"), "a world that does not exist: channel 'hose': expected bag"),
        ("/model", json!("p"), "a world that does not exist: model 'p': expected m, mp or m-mp"),
    ];
    for (field, value, needle) in edits {
        let mut edited = story.clone();
        *edited.pointer_mut(field).expect(field) = value;
        run_with_input(&["replay", "-"], resealed(&edited).as_bytes()).assert_error(65, needle);
    }
}

#[test]
fn deliveries_are_replayed() {
    for model in ["mp", "m-mp"] {
        let story = replayed(&["check", "paxos", "--bug", "always-accept"], &format!("--model {model}"));
        assert!(!steps_of(&story, "delivery").is_empty(), "{model}");
        let mut edited = story.clone();
        edited["model"] = json!("m");
        run_with_input(&["replay", "-"], resealed(&edited).as_bytes()).assert_error(65, "does not replay");
    }
}

#[test]
fn restarts_are_replayed() {
    // The world of the bug, which options change only as far as they say.
    let pam = ["check", "pam", "--bug", "lost-state"];
    let story = replayed(&pam, "");
    assert_eq!((&story["faults"]["restarts"], steps_of(&story, "restart").len()), (&json!({"node": 1}), 1));
    let story = replayed(&pam, "--channel fifo");
    assert_eq!((&story["channel"], &story["faults"]["restarts"]), (&"fifo".into(), &json!({"node": 1})));
    let mut edited = story.clone();
    edited["faults"]["restarts"] = json!({});
    run_with_input(&["replay", "-"], resealed(&edited).as_bytes()).assert_error(65, "does not replay");
    assert_eq!(check(&pam, "--restart node=0").code, 0);
}

#[test]
fn losses_are_replayed() {
    let story = replayed(&["check", "two-phase-commit"], "--channel fifo --lose 1");
    assert!(!steps_of(&story, "loss").is_empty(), "{story}");
    let mut edited = story.clone();
    edited["faults"]["losses"] = json!(0);
    run_with_input(&["replay", "-"], resealed(&edited).as_bytes()).assert_error(65, "does not replay");
}

#[test]
fn every_channel_is_replayed() {
    for channel in ["set", "fifo", "lossy-fifo", "mailbox", "lossy-mailbox", "duplicating", "blocking:3"] {
        let story = replayed(
            &["check", "paxos", "--bug", "always-accept"],
            &format!("--channel {channel} --stale keep"),
        );
        assert_eq!(story["channel"], channel);
    }
}
