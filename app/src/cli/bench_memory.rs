//! `headroom measure-memory`: what another process of this program asks, so that each model is measured in one of its own.

use headroom_engine::speed::serve_memory;

use super::error::{CliError, CliResult};

/// Answers one request.
pub fn run() -> CliResult {
    headroom_engine::ops::tune_process();
    serve_memory().map_err(|error| CliError::BadInput(format!("The request cannot be answered: {error}.")))
}
