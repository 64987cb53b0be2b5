//! `headroom rename`, `tag`, `note`, `archive`, `delete` and `restore`: what is written about runs.

use std::path::Path;

use headroom_engine::{
    config::counted,
    data::read_stream,
    store::{RunId, RunRecord, RunSummary, Store},
    text::escaped_line,
};
use serde_json::json;

use super::{
    error::{CliError, CliResult},
    hint, open, print,
    run_args::{ArchiveArgs, NoteArgs, RenameArgs, RunsGivenArgs, TagArgs},
};

/// Gives a run another name.
pub fn rename(given: Option<&Path>, args: &RenameArgs) -> CliResult {
    let name = args.name.trim();
    if name.is_empty() {
        return Err(CliError::at("name", "The name is empty. A run needs a name."));
    }
    let store = open::writing(given)?;
    let run = open::run(&store, given, &args.run)?.summary;
    store.rename(&run.id, name)?;
    let words = format!("Renamed {} to {}", called(&run), escaped_line(name));
    tell(&store, "renamed", &[run.id], args.json, &words)
}

/// Adds labels and takes others away; without either, prints them.
pub fn tag(given: Option<&Path>, args: &TagArgs) -> CliResult {
    if let Some(empty) = args.add.iter().find(|tag| tag.trim().is_empty()) {
        return Err(CliError::at("--add", format!("\"{empty}\" is no tag: it is empty.")));
    }
    let changes = !(args.add.is_empty() && args.remove.is_empty());
    let store = if changes { open::writing(given)? } else { open::reading_existing(given)? };
    let run = open::run(&store, given, &args.run)?.summary;
    if let Some(missing) = args.remove.iter().find(|tag| !run.tags.iter().any(|own| own == tag.trim())) {
        let known =
            if run.tags.is_empty() { "It has none.".to_owned() } else { format!("It has {}.", run.tags.join(", ")) };
        let message = format!("{} has no tag `{missing}`. {known} Nothing was changed.", called(&run));
        return Err(CliError::at("--remove", message));
    }
    for tag in &args.add {
        store.add_tag(&run.id, tag)?;
    }
    for tag in &args.remove {
        store.remove_tag(&run.id, tag)?;
    }
    let tags = store.record(&run.id)?.summary.tags;
    let tags = if tags.is_empty() { "none".to_owned() } else { tags.join(", ") };
    tell(&store, "tagged", std::slice::from_ref(&run.id), args.json, &format!("Tags of {}: {tags}", called(&run)))
}

/// Bytes of the longest note that standard input may give.
const LONGEST_NOTE: u64 = 1 << 20;

/// Replaces the remark on a run; without one, prints it.
pub fn note(given: Option<&Path>, args: &NoteArgs) -> CliResult {
    let text = match args.text.as_deref() {
        Some("-") => {
            let wrong = |error: std::io::Error| {
                CliError::at("text", format!("The note on standard input cannot be read: {error}."))
            };
            let bytes = read_stream(&mut std::io::stdin().lock(), LONGEST_NOTE).map_err(wrong)?;
            let text = String::from_utf8(bytes)
                .map_err(|error| wrong(std::io::Error::new(std::io::ErrorKind::InvalidData, error.utf8_error())))?;
            Some(text.trim_end().to_owned())
        }
        other => other.map(str::to_owned),
    };
    let Some(text) = text else {
        let (store, record) = open::reading_run(given, &args.run)?;
        let run = record.summary;
        return tell(&store, "note", std::slice::from_ref(&run.id), args.json, &run.note);
    };
    let store = open::writing(given)?;
    let run = open::run(&store, given, &args.run)?.summary;
    store.set_note(&run.id, &text)?;
    let did = if text.is_empty() { "Removed the note of" } else { "Wrote the note of" };
    tell(&store, "noted", std::slice::from_ref(&run.id), args.json, &format!("{did} {}", called(&run)))
}

/// Puts runs away, or brings them back.
pub fn archive(given: Option<&Path>, args: &ArchiveArgs) -> CliResult {
    let store = open::writing(given)?;
    let runs = all(&args.runs, |query| open::run(&store, given, query))?;
    for run in &runs {
        store.set_archived(&run.id, !args.undo)?;
    }
    let words = if args.undo {
        format!("Took {} out of the archive", named(&runs))
    } else {
        format!("Archived {}. Bring back with: {}", named(&runs), undo("archive --undo", &runs, given))
    };
    tell(&store, "archived", &ids(&runs), args.json, &words)
}

/// Deletes runs so that they can be brought back.
pub fn delete(given: Option<&Path>, args: &RunsGivenArgs) -> CliResult {
    let store = open::writing(given)?;
    let runs = all(&args.runs, |query| open::run(&store, given, query))?;
    if let Some(active) = runs.iter().find(|run| run.state.is_active()) {
        let message = format!("{} is {}. Stop it first. Nothing was deleted.", called(active), active.state);
        return Err(CliError::at("run", message));
    }
    for run in &runs {
        store.delete(&run.id)?;
    }
    let words = format!("Deleted {}. Bring back with: {}", named(&runs), undo("restore", &runs, given));
    tell(&store, "deleted", &ids(&runs), args.json, &words)
}

/// Brings deleted runs back.
pub fn restore(given: Option<&Path>, args: &RunsGivenArgs) -> CliResult {
    let store = open::writing(given)?;
    let runs = all(&args.runs, |query| {
        store.deleted_run(query).map_err(|error| {
            let error = CliError::from(error);
            let message = error.message().unwrap_or_default();
            CliError::at("run", format!("No deleted run fits. {message}"))
        })
    })?;
    for run in &runs {
        store.undelete(&run.id)?;
    }
    tell(&store, "restored", &ids(&runs), args.json, &format!("Brought back {}", named(&runs)))
}

/// All that were meant, before anything is done with the first.
fn all(queries: &[String], find: impl Fn(&str) -> CliResult<RunRecord>) -> CliResult<Vec<RunSummary>> {
    let mut found: Vec<RunSummary> = Vec::with_capacity(queries.len());
    for query in queries {
        let run = find(query)?.summary;
        if !found.iter().any(|known| known.id == run.id) {
            found.push(run);
        }
    }
    Ok(found)
}

fn ids(runs: &[RunSummary]) -> Vec<RunId> {
    runs.iter().map(|run| run.id.clone()).collect()
}

/// What a run is called in a sentence.
fn called(run: &RunSummary) -> String {
    format!("{} (#{}, {})", escaped_line(&run.name), run.number, run.id)
}

fn named(runs: &[RunSummary]) -> String {
    match runs {
        [run] => called(run),
        several => counted(several.len(), "run"),
    }
}

/// The command that takes it back.
fn undo(command: &str, runs: &[RunSummary], given: Option<&Path>) -> String {
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    hint::command(&format!("{command} {}", ids.join(" ")), given)
}

/// Answers with the runs as they are now.
fn tell(store: &Store, event: &str, runs: &[RunId], json: bool, words: &str) -> CliResult {
    if !json {
        return print::line(words);
    }
    let runs = runs.iter().map(|run| Ok(store.record(run)?.summary)).collect::<CliResult<Vec<_>>>()?;
    print::json_answer(&json!({ "event": event, "runs": runs }))
}
