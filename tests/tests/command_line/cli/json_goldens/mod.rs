//! Goldens of what every command answers with `--json`: scripts of other people read it.
//!
//! A file `tests/golden/json/COMMAND.json` holds, by the arguments of each case: the exit code; whether the answer is one value a
//! line or indented; the shapes of the events that only tell progress, of which any number may come; and all other values in
//! their order, masked by [`masks`] and compared by [`comparison`]. Keys keep their order, integers and words are exact, floats
//! have a tolerance, sentences and what is of the machine, the moment or the build are masked.
//!
//! `HEADROOM_RENEW_GOLDENS=1 cargo test -p headroom-tests --test command_line json_goldens` writes the files anew. Look at the
//! difference before it is committed: a key, a type, an order or a word that changes breaks scripts.
#![expect(clippy::panic, clippy::expect_used, reason = "test code: a broken premise is to end the test")]

mod comparison;
mod masks;
mod recorder;
mod scenes;
mod value;

use std::collections::BTreeSet;

use headroom_tests::Program;

use super::program;

#[test]
fn every_command_answers_scripts_as_its_golden_says() {
    let cases = scenes::record_all();
    recorder::check(cases, &commands_with_json(&program()));
}

/// The commands that have `--json`, by the program's own help: `train`, `bench step`.
fn commands_with_json(program: &Program) -> BTreeSet<String> {
    let mut commands = BTreeSet::new();
    let mut open = vec![String::new()];
    while let Some(command) = open.pop() {
        let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).chain(["--help"]).collect();
        let help = program.run(&words).expect_code(0).stdout;
        if help.lines().any(|line| line.trim_start().starts_with("--json")) {
            commands.insert(command.clone());
        }
        let below = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        for line in below {
            let name =
                line.strip_prefix("  ").filter(|line| !line.starts_with(' ')).and_then(|line| line.split(' ').next());
            if let Some(name) = name.filter(|name| *name != "help") {
                open.push(format!("{command} {name}").trim_start().to_owned());
            }
        }
    }
    let has = |command: &str| commands.contains(command);
    assert!(commands.len() >= 50 && has("bench step") && has("analyses"), "{commands:?}");
    commands
}
