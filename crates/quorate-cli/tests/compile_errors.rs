//! What the compiler says to a user who has forgotten something.

use std::path::Path;
use std::process::Command;

use crate::page::root;

/// A program in which a role is said to be symmetric, with what its types derive left open.
const PROGRAM: &str = "
use quorate::{ProcessId, Role, RoleName, System, Transitions};

#[derive(Clone, PartialEq, Eq, Hash, Debug, MESSAGE)]
struct Ask(ProcessId);

#[derive(Clone, PartialEq, Eq, Hash, Debug, STATE)]
struct Client;

impl Role for Client {
    type Message = Ask;
    fn transitions(&self, _: &mut Transitions<Self>) {}
}

fn main() {
    let clients = RoleName::new(\"client\");
    let system = System::<Ask>::new().role(clients, 2, |_| Client);
    _ = system.symmetric(clients).renames::<Client>();
}
";

/// What the compiler says of a program.
fn compiled(name: &str, program: &str) -> String {
    let folder = std::env::temp_dir().join(format!("quorate-compile-error-{name}-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("src")).expect("a folder");
    let quorate = root().join("crates/quorate");
    let manifest = format!(
        "[package]\nname = \"forgetful\"\nedition = \"2024\"\n[dependencies.quorate]\npath = '{}'\n\
         default-features = false\n",
        quorate.display()
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("a manifest");
    std::fs::write(folder.join("src/main.rs"), program).expect("a program");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("tmp lies in the target folder");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["check", "--color", "never"]).current_dir(&folder);
    cargo.env("CARGO_NET_OFFLINE", "true").env("CARGO_TARGET_DIR", target);
    let said = cargo.output().expect("cargo starts");
    std::fs::remove_dir_all(folder).expect("the folder was there");
    String::from_utf8_lossy(&said.stderr).to_string()
}

#[test]
fn a_missing_rename_is_named() {
    let said = compiled("state", &PROGRAM.replace("MESSAGE", "quorate::Rename").replace(", STATE", ""));
    assert!(said.contains("ids in `Client` cannot be renamed"), "{said}");
    assert!(said.contains("add `#[derive(quorate::Rename)]` to `Client`"), "{said}");
    let tuple = PROGRAM.replace("renames::<Client>", "renames::<(Client, Client)>");
    let said = compiled("tuple", &tuple.replace("MESSAGE", "quorate::Rename").replace(", STATE", ""));
    assert!(said.contains("ids in `Client` cannot be renamed"), "{said}");
    let said = compiled("message", &PROGRAM.replace(", MESSAGE", "").replace("STATE", "quorate::Rename"));
    assert!(said.contains("ids in `Ask` cannot be renamed"), "{said}");
    assert!(said.contains("add `#[derive(quorate::Rename)]` to `Ask`"), "{said}");
}
