//! The one place that prints: no closed pipe turns into a panic, and no text from outside reaches the terminal raw.
//!
//! Names, notes, excerpts and paths may hold characters that steer a terminal or turn its lines around; whatever is
//! written here spells them out. Only `\n` and `\t` pass, since they are the layout of the commands.

use std::{
    io::{self, ErrorKind, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use headroom_engine::text::{escaped, escaped_json, escaped_line, to_json, to_json_pretty};
use indicatif::ProgressBar;
use serde::Serialize;

use super::error::{CliError, CliResult};

/// Whether the last object of `--json` was written, after which none may follow.
static IS_ANSWERED: AtomicBool = AtomicBool::new(false);

/// Writes a line of the answer.
pub fn line(text: impl AsRef<str>) -> CliResult {
    block(&format!("{}\n", text.as_ref()))
}

/// Writes a part of the answer, deceptive characters spelled out.
pub fn block(text: &str) -> CliResult {
    write(&escaped(text))
}

/// Writes a config as TOML: as [`block`], but deceptive characters are spelled out as TOML does it, so that it can be
/// read again.
pub fn toml(text: &str) -> CliResult {
    write(&escaped_json(text))
}

/// Writes the answer as one JSON value, indented for people.
pub fn json(value: &impl Serialize) -> CliResult {
    let text = to_json_pretty(value).map_err(|error| unwritable(&error))?;
    write(&format!("{text}\n"))?;
    answered();
    Ok(())
}

/// Writes one JSON value on one line: an answer, or one event of a stream.
pub fn json_line(value: &impl Serialize) -> CliResult {
    let text = to_json(value).map_err(|error| unwritable(&error))?;
    write(&format!("{text}\n"))
}

/// Notes that what `--json` promises was written: an error that follows is told on standard error alone.
pub fn answered() {
    IS_ANSWERED.store(true, Ordering::Relaxed);
}

/// Whether [`answered`] was noted.
pub fn is_answered() -> bool {
    IS_ANSWERED.load(Ordering::Relaxed)
}

/// Says something beside the answer. Nobody listening is no reason to stop.
pub fn aside(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", escaped(text.as_ref()));
}

/// Says what the reading of arguments came to: help and version with their colours, since no text from outside is in them;
/// refusals without.
pub fn arguments(told: &clap::Error) {
    if told.use_stderr() {
        aside(told.render().to_string().trim_end());
    } else {
        let _ = told.print();
    }
}

/// Says something on lines of its own above a bar.
pub fn above(bar: &ProgressBar, text: impl AsRef<str>) {
    bar.println(escaped(text.as_ref()));
}

/// Says something at the end of a bar, on its line.
pub fn beside(bar: &ProgressBar, text: impl AsRef<str>) {
    bar.set_message(escaped_line(text.as_ref()).into_owned());
}

/// Whether a person reads both the answer and what is said beside it.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal() && io::stderr().is_terminal()
}

fn write(text: &str) -> CliResult {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => CliError::ReaderLeft,
        _ => CliError::Failed(format!("The answer could not be written: {error}.")),
    })
}

fn unwritable(error: &serde_json::Error) -> CliError {
    CliError::Failed(format!("The answer could not be written as JSON: {error}."))
}
