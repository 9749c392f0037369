//! The program `quorate`: the command line of the library, with the protocols of the zoo, the engines of the papers and
//! their tables.

use quorate::program::Program;

fn main() -> std::process::ExitCode {
    let program = Program::new(quorate_zoo::protocols());
    let program = quorate_papers::engines().into_iter().fold(program, Program::engine);
    program.command(quorate_papers::Tables::published()).main()
}
