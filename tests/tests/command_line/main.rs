//! The program, started as a user or a script starts it: what it answers, what it keeps, how it is stopped and killed.
#![expect(clippy::panic, clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]

use headroom_tests::Program;

mod advise;
mod analyse;
mod bad_input;
mod cli;
mod convert;
mod coverage;
mod crash;
mod every_command;
mod full_disk;
mod further;
mod generate;
mod health;
mod hub;
mod limits;
mod measure;
mod older_store;
mod pytorch;
mod queue;
mod race;
mod strangers;
mod tasks;
mod translation;

/// The program under test.
const BINARY: &str = env!("CARGO_BIN_EXE_headroom-under-test");

/// The program, with a folder of its own.
fn program() -> Program {
    Program::new(BINARY)
}
