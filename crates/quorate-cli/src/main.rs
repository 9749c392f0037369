//! The program `quorate`: the command line of the library, with the protocols of the zoo and the tables of the
//! papers.

mod tables;

fn main() -> std::process::ExitCode {
    quorate::program::main_with(quorate_zoo::protocols(), tables::all())
}
