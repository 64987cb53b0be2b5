//! `headroom export`: a checkpoint as a model directory.

use std::{path::Path, time::Duration};

use headroom_engine::worker::{Command, Event, choose_checkpoint};
use serde_json::json;

use super::{
    args::ExportArgs,
    error::{CliError, CliResult, joined},
    open, plain, print,
};

/// Exports.
pub fn run(store: Option<&Path>, args: &ExportArgs) -> CliResult {
    let reading = open::reading_existing(store)?;
    let run = open::run(&reading, store, &args.run)?.summary.id;
    choose_checkpoint(&reading.checkpoints(&run)?, args.which).map_err(|why| CliError::at("--which", why))?;
    drop(reading);
    let to = std::path::absolute(&args.to).map_err(|error| {
        CliError::at("--to", format!("The directory {} cannot be used: {error}.", args.to.display()))
    })?;
    refuse_occupied(&to)?;
    let engine = open::engine_for_reading(store, true)?;
    engine.send(Command::Export { run: run.clone(), which: args.which, to })?;
    let outcome = loop {
        match engine.wait_event(Duration::from_millis(200)).map(|notice| notice.event) {
            Some(Event::Exported { run, step, path, opens_in_transformers, reason }) => {
                break Ok((run, step, path, opens_in_transformers, reason));
            }
            Some(Event::Failed { run: of, why, what_to_do }) if of.as_ref().is_none_or(|of| *of == run) => {
                break Err(CliError::Failed(joined(&why, &what_to_do)));
            }
            Some(Event::Warning { message, .. }) => print::aside(format!("Warning: {message}")),
            Some(Event::Ended) => break Err(CliError::Failed("The engine ended before the export did.".to_owned())),
            _ => {}
        }
    };
    engine.shutdown(Duration::from_secs(30));
    let (run, step, path, opens_in_transformers, reason) = outcome?;
    if args.json {
        print::json_line(&json!({
            "event": "exported", "run": run, "step": step, "path": path,
            "opens_in_transformers": opens_in_transformers, "reason": reason,
        }))
    } else {
        print::line(format!("Wrote step {} of {run} to {}", plain::count(step), path.display()))?;
        print::line(reason)
    }
}

/// Nothing is ever written over.
fn refuse_occupied(to: &Path) -> CliResult {
    if to.is_file() {
        let message = format!("{} is a file. Name a directory that does not exist yet.", to.display());
        return Err(CliError::at("--to", message));
    }
    let is_occupied = std::fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some());
    if is_occupied {
        let message =
            format!("{} holds files already. Name a directory that is empty or does not exist yet.", to.display());
        return Err(CliError::at("--to", message));
    }
    Ok(())
}
