//! `headroom export`: a checkpoint as a model directory.

use std::path::Path;

use headroom_engine::{
    jobs::choose_checkpoint,
    protocol::{Event, commands, events},
};
use serde_json::json;

use super::{
    args::ExportArgs,
    error::{CliError, CliResult},
    open, plain, print,
    session::{Heard, Session},
};

/// Exports.
pub fn run(store: Option<&Path>, args: &ExportArgs) -> CliResult {
    let (reading, record) = open::reading_run(store, &args.run)?;
    let run = record.summary.id;
    choose_checkpoint(&reading.checkpoints(&run)?, args.which).map_err(|why| CliError::at("--which", why))?;
    drop(reading);
    let to = std::path::absolute(&args.to).map_err(|error| {
        CliError::at("--to", format!("The directory {} cannot be used: {error}.", args.to.display()))
    })?;
    refuse_occupied(&to)?;
    let session = Session::open_for_reading(store, true)?;
    let command = commands::Export { run, which: args.which, to };
    let (run, step, path, opens_in_transformers, reason) =
        session.ask(command, "the export did", |event| match event {
            Event::Exported(events::Exported { run, step, path, opens_in_transformers, reason }) => {
                Ok(Heard::Answer((run, step, path, opens_in_transformers, reason)))
            }
            event => Ok(Heard::Usual(event)),
        })?;
    session.end();
    if args.json {
        print::json_answer(&json!({
            "event": "exported", "run": run, "step": step, "path": path,
            "opens_in_transformers": opens_in_transformers, "reason": reason,
        }))
    } else {
        print::line(format!("Wrote step {} of {run} to {}", plain::count(step), path.display()))?;
        print::line(reason)
    }
}

/// Nothing is ever written over.
pub(super) fn refuse_occupied(to: &Path) -> CliResult {
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
