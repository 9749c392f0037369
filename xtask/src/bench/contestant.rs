//! The contestants: how each is built, started and read.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::measure::{Finished, Measured, json_number, measure};
use super::{Counts, Instance, Options};
use crate::failure::Failure;
use crate::run::{answers, cargo, output, program, root, run, target};

/// The package that writes the reference Paxos for stateright.
pub(crate) const STATERIGHT_MANIFEST: &str = "benches/stateright/Cargo.toml";

/// Stateright's actors get one message at a time, and (3,3,1) with single messages has no end in sight:
/// after so many transitions it is stopped, and its speed until then counts.
const ACTOR_TRANSITIONS_MAX: &str = "4000000";

/// A program that explores the reference Paxos.
pub(super) struct Contestant {
    pub(super) name: String,
    pub(super) threads: usize,
    program: PathBuf,
    arguments: Vec<String>,
    /// Does it leave out states? Then only the time to its verdict can be compared.
    pub(super) reduced: bool,
    /// What it must count; nothing for a search that is stopped early or leaves out states.
    expected: Option<Counts>,
    read: fn(&str) -> Option<Counts>,
}

impl Contestant {
    /// Runs once and insists on the known counts.
    pub(super) fn run(&self) -> Result<Measured, Failure> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        let Finished { printed, complained, wall_s, cpu_s, peak_bytes } = measure(command)?;
        let Some(counts) = (self.read)(&printed) else {
            let name = &self.name;
            return Err(Failure::Bench(format!("{name} printed no counts:\n{printed}{complained}")));
        };
        if let Some(expected) = self.expected.filter(|expected| *expected != counts) {
            return Err(Failure::Bench(format!(
                "{} counts {} states and {} transitions, all others {} and {}:\n{printed}{complained}",
                self.name, counts.states, counts.transitions, expected.states, expected.transitions
            )));
        }
        let own_peak = json_number(&printed, "peak_bytes");
        Ok(Measured { counts, wall_s, cpu_s, peak_bytes: peak_bytes.max(own_peak) })
    }
}

/// How a peer is built for an instance.
type Build = fn(&Instance) -> Result<Vec<Contestant>, Failure>;

/// Builds everybody who can take part.
pub(super) fn prepare(instance: &Instance, options: &Options) -> Result<Vec<Contestant>, Failure> {
    let mut contestants = Vec::new();
    if !options.skips("quorate") {
        contestants.extend(quorate(instance, options.as_tested)?);
    }
    if !options.skips("stateright") {
        contestants.extend(stateright(instance)?);
    }
    for (name, build) in [("spin", spin as Build), ("rumur", rumur)] {
        if options.skips(name) {
            continue;
        }
        match available(name, options.install) {
            Ok(()) => contestants.extend(build(instance)?),
            Err(why) => eprintln!("{name} does not take part: {why}"),
        }
    }
    Ok(contestants)
}

/// Builds Quorate and says where it is.
pub(super) fn built_quorate(as_tested: bool) -> Result<PathBuf, Failure> {
    eprintln!("building Quorate");
    let built = if as_tested {
        // With the whole workspace chosen it has the features that it has in the tests, and is not built anew.
        run(cargo(["build", "--quiet", "--workspace", "--bin", "quorate"]))?;
        "debug/quorate"
    } else {
        run(cargo(["build", "--quiet", "--release", "--package", "quorate-cli"]))?;
        "release/quorate"
    };
    Ok(target()?.join(built))
}

fn quorate(instance: &Instance, as_tested: bool) -> Result<Vec<Contestant>, Failure> {
    let built = built_quorate(as_tested)?;
    let one = |name: &str, threads: usize, reduce: &str| -> Result<Contestant, Failure> {
        let words = format!(
            "check paxos --proposers {} --acceptors 3 --learners 1 --reduce {reduce} --threads {threads} --json",
            instance.proposers
        );
        let reduced = reduce != "none";
        Ok(Contestant {
            name: format!("Quorate, {name}"),
            threads,
            program: built.clone(),
            arguments: words.split(' ').map(str::to_string).collect(),
            reduced,
            expected: (!reduced).then_some(instance.quorum),
            read: read_quorate,
        })
    };
    Ok(vec![one("1 thread", 1, "none")?, one("2 threads", 2, "none")?, one("reduced", 1, "auto")?])
}

/// Where the package for stateright is built, away from the product.
pub(crate) fn stateright_target() -> Result<PathBuf, Failure> {
    Ok(target()?.join("stateright"))
}

fn stateright(instance: &Instance) -> Result<Vec<Contestant>, Failure> {
    eprintln!("building stateright");
    let mut build =
        cargo(["build", "--quiet", "--release", "--locked", "--manifest-path", STATERIGHT_MANIFEST]);
    build.arg("--target-dir").arg(stateright_target()?);
    run(build)?;
    let single_limit = if instance.single.is_some() { "" } else { ACTOR_TRANSITIONS_MAX };
    Ok(vec![
        faster_order("Model", "model", Some(instance.quorum), instance, "")?,
        faster_order("actors", "actors", instance.single, instance, single_limit)?,
    ])
}

/// Runs breadth-first and depth-first once each; the faster enters the race.
fn faster_order(
    title: &str,
    encoding: &str,
    expected: Option<Counts>,
    instance: &Instance,
    limit: &str,
) -> Result<Contestant, Failure> {
    let one = |order: &str| -> Result<(f64, Contestant), Failure> {
        let words = format!("{encoding} {} 3 1 {order} {limit}", instance.proposers);
        let contestant = Contestant {
            name: format!("stateright {title}, {order}"),
            threads: 1,
            program: stateright_target()?.join("release/quorate-bench-stateright"),
            arguments: words.split_whitespace().map(str::to_string).collect(),
            reduced: false,
            expected,
            read: read_json,
        };
        let trial = contestant.run()?;
        eprintln!("trial: {} ... {trial}", contestant.name);
        // Of the processor where that is known: the machine may be busy with something else.
        Ok((trial.cpu_s.unwrap_or(trial.wall_s), contestant))
    };
    let (breadth, depth) = (one("bfs")?, one("dfs")?);
    Ok(if breadth.0 < depth.0 { breadth.1 } else { depth.1 })
}

fn read_json(printed: &str) -> Option<Counts> {
    Some(Counts {
        states: json_number(printed, "states")?,
        transitions: json_number(printed, "transitions")?,
    })
}

/// Of a search that found nothing wrong.
fn read_quorate(printed: &str) -> Option<Counts> {
    read_json(printed).filter(|_| printed.contains("\"holds\""))
}

/// Whether a program of this name is on the path.
pub(super) fn present(name: &str) -> bool {
    answers(program("sh", ["-c", &format!("command -v {name}")]))
}

/// A peer from Debian: there, or installed now, or the reason why not.
fn available(name: &str, install: bool) -> Result<(), String> {
    let present = || present(name) && present("gcc");
    if present() {
        return Ok(());
    }
    if !install {
        return Err("it is not installed, and the test command installs no peers".to_string());
    }
    let is_root = output(program("id", ["-u"])).is_ok_and(|id| id.trim_ascii() == b"0");
    if !is_root {
        return Err(format!("it is not installed (as root: apt-get install {name} gcc)"));
    }
    let install = format!("apt-get install -y -qq {name} gcc libc6-dev");
    eprintln!("installing {name}");
    answers(program("sh", ["-c", &format!("{install} || {{ apt-get update -qq && {install}; }}")]));
    if present() { Ok(()) } else { Err("apt-get could not install it".to_string()) }
}

/// An empty folder in which a peer generates and builds its checker.
fn workshop(name: &str) -> Result<PathBuf, Failure> {
    let folder = target()?.join("peers").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(Failure::io(format!("clearing {}", folder.display())))?;
    }
    std::fs::create_dir_all(&folder).map_err(Failure::io(format!("creating {}", folder.display())))?;
    Ok(folder)
}

/// Runs one command line in a folder, quietly unless it fails.
fn shell(folder: &Path, line: &str) -> Result<(), Failure> {
    let mut command = program("sh", ["-c", line]);
    command.current_dir(folder);
    output(command).map(drop)
}

/// As it is asked for all states, and with the partial-order reduction that it has by default.
pub(super) fn spin(instance: &Instance) -> Result<Vec<Contestant>, Failure> {
    eprintln!("building SPIN's checker");
    let folder = workshop("spin")?;
    let model = root().join("benches/peers/paxos.pml");
    std::fs::copy(&model, folder.join("paxos.pml")).map_err(Failure::io("copying SPIN's model"))?;
    shell(&folder, &format!("spin -a -DNP={} paxos.pml", instance.proposers))?;
    let one = |name: &str, program: &str, switch: &str, reduced: bool| -> Result<Contestant, Failure> {
        shell(&folder, &format!("gcc -O2 -w -DSAFETY -DNOFAIR {switch} -o {program} pan.c"))?;
        Ok(Contestant {
            name: name.to_string(),
            threads: 1,
            program: folder.join(program),
            arguments: vec!["-m10000".to_string(), "-w24".to_string()],
            reduced,
            expected: (!reduced).then_some(instance.quorum),
            read: read_spin,
        })
    };
    Ok(vec![one("SPIN", "pan", "-DNOREDUCE", false)?, one("SPIN, reduced", "pan-reduced", "", true)?])
}

/// `7479449 states, stored` and `37238398 transitions (= stored+matched)`; the initial state is one more.
/// Of a search that found nothing wrong.
fn read_spin(printed: &str) -> Option<Counts> {
    if !printed.contains("errors: 0") {
        return None;
    }
    let before = |words: &str| {
        let line = printed.lines().find(|line| line.contains(words))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(Counts { states: before("states, stored")?, transitions: before("transitions (=")?.checked_sub(1)? })
}

fn rumur(instance: &Instance) -> Result<Vec<Contestant>, Failure> {
    eprintln!("building rumur's checker");
    let folder = workshop("rumur")?;
    let model = root().join("benches/peers/paxos.m.in");
    std::fs::copy(&model, folder.join("paxos.m.in")).map_err(Failure::io("copying rumur's model"))?;
    let proposers = instance.proposers;
    shell(&folder, &format!("gcc -E -P -w -x c -DNP={proposers} -DNA=3 -DNL=1 paxos.m.in > paxos.m"))?;
    shell(&folder, "rumur --deadlock-detection off --threads 1 -o paxos.c paxos.m")?;
    // The double-width compare-and-swap is a switch of one processor family only.
    let wide = if cfg!(target_arch = "x86_64") { "-mcx16" } else { "" };
    shell(&folder, &format!("gcc -std=c11 -O3 -march=native {wide} -o paxos paxos.c -lpthread"))?;
    Ok(vec![Contestant {
        name: "rumur".to_string(),
        threads: 1,
        program: folder.join("paxos"),
        arguments: Vec::new(),
        reduced: false,
        expected: Some(instance.quorum),
        read: read_rumur,
    }])
}

/// `7479449 states, 37238397 rules fired in 84s.`
fn read_rumur(printed: &str) -> Option<Counts> {
    let line = printed.lines().find(|line| line.contains("rules fired in"))?;
    let mut numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    Some(Counts { states: numbers.next()?, transitions: numbers.next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_peers_are_read() {
        let counts = Some(Counts { states: 27_410, transitions: 94_055 });
        let spin = "depth reached 18, errors: 0\n    27410 states, stored\n    66646 states, matched\n    94056 transitions (= stored+matched)\n";
        assert_eq!(read_spin(spin), counts);
        assert_eq!(
            read_rumur(
                "\t 100 states explored in 0s, with 7 rules fired\n\t27410 states, 94055 rules fired in 0s.\n"
            ),
            counts
        );
        assert_eq!(read_json(r#"{"states": 27410, "transitions": 94055}"#), counts);
        assert_eq!(read_spin("pan: out of memory\n"), None);
        assert_eq!(read_spin(&spin.replace("errors: 0", "errors: 1")), None);
        let quorate = r#"{"verdict": "holds", "states": 27410, "transitions": 94055}"#;
        assert_eq!(read_quorate(quorate), counts);
        assert_eq!(read_quorate(&quorate.replace("holds", "violated")), None);
    }

    #[test]
    fn a_wrong_count_ends_the_run() {
        let liar = Contestant {
            name: "liar".to_string(),
            threads: 1,
            program: PathBuf::from("echo"),
            reduced: false,
            arguments: vec![r#"{"states": 1, "transitions": 2}"#.to_string()],
            expected: Some(Counts { states: 1, transitions: 3 }),
            read: read_json,
        };
        assert!(
            matches!(liar.run(), Err(Failure::Bench(message)) if message.contains("liar counts 1 states"))
        );
    }
}
