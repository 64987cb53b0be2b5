//! The one place that prints: no closed pipe turns into a panic, and no text from outside reaches the terminal raw.
//!
//! Names, notes, excerpts and paths may hold characters that steer a terminal or turn its lines around; whatever is
//! written here spells them out. Only `\n` and `\t` pass, since they are the layout of the commands.

use std::{
    io::{self, ErrorKind, IsTerminal, Write},
    sync::{Mutex, MutexGuard, TryLockError},
    time::{Duration, Instant},
};

use headroom_engine::text::{escaped, escaped_json, escaped_line, to_json, to_json_pretty};
use indicatif::ProgressBar;
use serde::Serialize;

use super::error::{CliError, CliResult};

/// State of the answer of `--json`. Locked while an object is written: a signal is answered on another thread.
static ANSWER: Mutex<Progress> = Mutex::new(Progress::Pending);
/// Longest time that an object waits for one that nobody reads.
const PATIENCE: Duration = Duration::from_secs(1);

/// State of the answer of `--json`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// There is none yet.
    Pending,
    /// Notes that the object which `--json` promises was written: an error that follows is told on standard error alone.
    Answered,
    /// It was told why there is no answer, after which nothing may follow.
    Refused,
}

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
    object(&text, true)
}

/// Writes one JSON value on one line: one of several answers, or one event of a stream.
pub fn json_line(value: &impl Serialize) -> CliResult {
    let text = to_json(value).map_err(|error| unwritable(&error))?;
    object(&text, false)
}

/// Writes the answer, or the last one, as one JSON value on one line.
pub fn json_answer(value: &impl Serialize) -> CliResult {
    let text = to_json(value).map_err(|error| unwritable(&error))?;
    object(&text, true)
}

fn object(text: &str, is_last: bool) -> CliResult {
    let Some(mut progress) = locked() else { return Ok(()) };
    if *progress == Progress::Refused {
        return Ok(());
    }
    if is_last {
        *progress = Progress::Answered;
    }
    write(&format!("{text}\n"))
}

/// Writes why there is no answer, as one JSON value on one line; nothing where there was one.
pub fn json_refusal(value: &impl Serialize) -> CliResult {
    let text = to_json(value).map_err(|error| unwritable(&error))?;
    let Some(mut progress) = locked() else { return Ok(()) };
    if *progress != Progress::Pending {
        return Ok(());
    }
    *progress = Progress::Refused;
    write(&format!("{text}\n"))
}

/// Notes that what `--json` promises was written.
pub fn answered() {
    if let Some(mut progress) = locked() {
        *progress = Progress::Answered;
    }
}

/// The progress once no other thread writes; none where one waits for a reader that does not read.
fn locked() -> Option<MutexGuard<'static, Progress>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ANSWER.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
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
