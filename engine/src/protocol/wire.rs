use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;

/// Version of the protocol between processes. Raised when a request or a notice changes so that another version misreads it.
pub const PROTOCOL: u32 = 2;

/// Reason why a line of another process cannot be read.
#[derive(Debug, Error)]
pub enum WireError {
    /// The other process speaks another version.
    #[error(
        "The other program speaks version {theirs} of Headroom's protocol between processes, and this one version {PROTOCOL}. \
         Use the same version of Headroom for both."
    )]
    Version {
        /// Version of the other process.
        theirs: u32,
    },
    /// The line is no message.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// The version alone, which every version can read.
#[derive(Deserialize)]
struct Versioned {
    /// Lines of the first version do not say it.
    #[serde(default = "first")]
    protocol: u32,
}

fn first() -> u32 {
    1
}

#[derive(Serialize)]
struct Line<'a, T> {
    protocol: u32,
    #[serde(flatten)]
    message: &'a T,
}

/// A request or a notice as a line of the wire, with its line feed.
///
/// # Errors
/// A path that is not Unicode.
pub fn to_line(message: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut line = serde_json::to_string(&Line { protocol: PROTOCOL, message })?;
    line.push('\n');
    Ok(line)
}

/// A request or a notice from a line of the wire.
///
/// # Errors
/// The line is none, or of another version.
pub fn from_line<T: DeserializeOwned>(line: &str) -> Result<T, WireError> {
    let Versioned { protocol: theirs } = serde_json::from_str(line)?;
    if theirs == PROTOCOL { Ok(serde_json::from_str(line)?) } else { Err(WireError::Version { theirs }) }
}
