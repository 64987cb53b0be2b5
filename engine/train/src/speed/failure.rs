//! Errors of a measurement as outcomes.

use super::Outcome;
use crate::train::TrainError;

/// Problems as a sentence.
pub(super) fn reason_of(problems: &[crate::config::Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What went wrong with a side, for whose measurement `free` bytes were free.
pub(super) fn failure_of(error: &TrainError, free: Option<u64>) -> Outcome {
    match error {
        TrainError::Memory { needed, free } => Outcome::OutOfMemory { needed_bytes: *needed, free_bytes: *free },
        TrainError::OutOfMemory { needed } => {
            Outcome::OutOfMemory { needed_bytes: *needed, free_bytes: free.unwrap_or(0) }
        }
        TrainError::Config(problems) => Outcome::Invalid { reason: reason_of(problems) },
        TrainError::State(message) => Outcome::Failed { reason: message.clone() },
        other => Outcome::Failed { reason: other.to_string() },
    }
}
