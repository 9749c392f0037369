//! Tasks of the house: `cargo xtask test` is the one test command, `cargo xtask bench` the race with peers.
//!
//! Nothing but the standard library, so that it builds in seconds on a fresh machine.

mod bench;
mod failure;
mod run;
mod test;
mod tidy;

use std::process::ExitCode;

use failure::Failure;

const HELP: &str = "\
cargo xtask COMMAND

  test [STEP...]   Everything that must hold before a merge, in this order, stopping at the first failure:
                   components, tidy, format, clippy, bare, tests, doctests, docs, bench. With steps named, only
                   those. Missing parts of the toolchain are installed. Random protocols are few, of which some
                   change with the commit.
      --full         all random protocols, and the steps that take long: peers (lints of the benchmark's own
                     package), package (packs what is published), and bench with a release build and peers
  tidy             The style of the house as a test: only the `tidy` step, without building anything.
      --graph        which modules of the library may use which, and the order of files inside some of them
  bench            The reference Paxos (3,3,1), unreduced, in Quorate, stateright, SPIN and rumur, in turns, and
                   reduced in Quorate and SPIN; prints the medians, the ratios, and which targets are
                   reached. SPIN and rumur are installed with apt-get where that is possible, and left out
                   where it is not.
      --small        Paxos (2,3,1), a matter of seconds; checks the counts, and says nothing of targets
      --rounds N     how often each contestant runs (default 3)
      --skip NAME    leave out a contestant whose name contains NAME; may be repeated
      --json FILE    write the figures to FILE as well
      --reduced      instead of the race: searches with the default reductions, what they find and what they cost;
                     instructions as well, where there is valgrind
      --against PATH   with --reduced: another program of Quorate's, say of the commit before, beside this one
      --picture FILE   with --reduced: time per state as a bar chart
      --default      instead of the race: the default reductions beside each choice that can be made by hand, on
                     the whole zoo with every planted bug, and on 1,000 random protocols (--skip random); says
                     how often the default loses, and where most
      --program PATH   with --reduced or --default: this program, and builds none
      --limit N        with --reduced or --default: seconds that a search may take (default 60)
  help             This text.

Exit code: 0 when all is well, 1 when something failed, 64 for a usage error.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [] | ["help" | "--help" | "-h", ..] | [_, "--help" | "-h"] => {
            run::say(HELP.trim_end());
            Ok(())
        }
        ["test", steps @ ..] => test::run(steps),
        ["tidy"] => test::run(&["tidy"]),
        ["tidy", "--graph"] => tidy::show_graph(),
        ["bench", options @ ..] => bench::Options::parse(options).and_then(|options| bench::run(&options)),
        [unknown, ..] => {
            Err(Failure::Usage(format!("no command `{unknown}`; expected test, tidy, bench or help")))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            failure.exit_code()
        }
    }
}
