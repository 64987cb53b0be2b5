//! Printing that no closed pipe can turn into a panic.

use std::io::{self, ErrorKind, Write};

use serde::Serialize;

use super::error::{CliError, CliResult};

/// Writes a line of the answer.
pub fn line(text: impl AsRef<str>) -> CliResult {
    block(&format!("{}\n", text.as_ref()))
}

/// Writes a part of the answer as it is.
pub fn block(text: &str) -> CliResult {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => CliError::ReaderLeft,
        _ => CliError::Failed(format!("The answer could not be written: {error}.")),
    })
}

/// Writes the answer as one JSON value, indented for people.
pub fn json(value: &impl Serialize) -> CliResult {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| CliError::Failed(format!("The answer could not be written as JSON: {error}.")))?;
    line(text)
}

/// Writes one JSON value on one line.
pub fn json_line(value: &impl Serialize) -> CliResult {
    let text = serde_json::to_string(value)
        .map_err(|error| CliError::Failed(format!("The answer could not be written as JSON: {error}.")))?;
    line(text)
}

/// Says something beside the answer. Nobody listening is no reason to stop.
pub fn aside(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
}
