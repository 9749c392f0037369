//! The program `quorate`: the command line of the library, with the protocols of the zoo.

fn main() -> std::process::ExitCode {
    quorate::main(quorate_zoo::protocols())
}
