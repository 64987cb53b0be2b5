//! `headroom runs`: the table of runs.

use std::path::Path;

use headroom_engine::{
    store::{DamagedRun, RunFilter, RunList, RunState, RunSummary, series_names},
    text::escaped_line,
    train::Health,
};
use serde_json::Value;

use crate::format;

use super::{
    args::RunsArgs,
    error::{CliError, CliResult, joined},
    hint, open, plain, print,
    table::{Table, maybe},
};

/// So many bad ends are told below the table.
const TOLD: usize = 10;

/// Lists runs, newest first.
pub fn run(store: Option<&Path>, args: &RunsArgs) -> CliResult {
    let filter = RunFilter { include_archived: args.all, include_deleted: false };
    let reading = open::reading(store)?;
    let RunList { mut runs, damaged } = match &reading {
        Some(reading) => reading.run_list(filter)?,
        None => RunList::default(),
    };
    runs.sort_by_key(|run| std::cmp::Reverse(run.number));
    for warning in reading.iter().flat_map(|reading| reading.warnings().try_iter().collect::<Vec<_>>()) {
        print::aside(format!("Warning: {warning}"));
    }
    if args.json {
        return print::json(&with_damaged(&runs, &damaged)?);
    }
    if runs.is_empty() && damaged.is_empty() {
        let place = open::path(store)?;
        let start = hint::command("train grammar-decoder", store);
        return print::line(format!("No runs yet in {}\nStart one with: {start}", place.display()));
    }
    let mut table = Table::new([
        "#",
        "id",
        "name",
        "state",
        "steps",
        "device",
        "training time",
        "train loss",
        "best validation loss",
    ]);
    for run in &runs {
        let metric = |name: &str| run.metrics.get(name);
        table.row([
            run.number.to_string(),
            run.id.to_string(),
            format::brief(&run.name),
            run.state_words(),
            steps(run),
            run.device.clone(),
            plain::duration(run.train_secs),
            maybe(metric(series_names::TRAIN_LOSS).map(|series| series.last)),
            maybe(metric(series_names::VALIDATION_LOSS).and_then(|series| series.best)),
        ]);
    }
    for run in damaged.iter().rev() {
        let mut row = vec!["-".to_owned(); 9];
        row.splice(..4, [run.number.to_string(), id(run), name(run), "damaged".to_owned()]);
        table.row(row);
    }
    print::block(&table.text())?;
    print::block(&bad_ends(&runs))?;
    let told: Vec<String> = damaged
        .iter()
        .rev()
        .map(|run| format!("#{} {}: damaged, and left out elsewhere. {}.\n", run.number, name(run), run.why()))
        .collect();
    print::block(&if told.is_empty() { String::new() } else { format!("\n{}", told.concat()) })
}

/// All runs as JSON; damaged ones last, with the state "damaged".
fn with_damaged(runs: &[RunSummary], damaged: &[DamagedRun]) -> CliResult<Vec<Value>> {
    let unwritable =
        |error: serde_json::Error| CliError::Failed(format!("The runs cannot be written as JSON: {error}."));
    let mut all: Vec<Value> = runs.iter().map(serde_json::to_value).collect::<Result<_, _>>().map_err(unwritable)?;
    for run in damaged.iter().rev() {
        let mut value = serde_json::to_value(run).map_err(unwritable)?;
        if let Some(object) = value.as_object_mut() {
            object.insert("state".to_owned(), "damaged".into());
        }
        all.push(value);
    }
    Ok(all)
}

/// The id of a damaged run, where it can be read.
fn id(run: &DamagedRun) -> String {
    run.id.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string)
}

/// Its name, where it can be read.
fn name(run: &DamagedRun) -> String {
    run.name.as_deref().map_or_else(|| "?".to_owned(), |name| escaped_line(name).into_owned())
}

/// Why runs failed or diverged, or what is wrong with them, a line each, newest first.
fn bad_ends(runs: &[RunSummary]) -> String {
    let told: Vec<String> = runs
        .iter()
        .filter_map(|run| Some(format!("#{} {}: {}\n", run.number, escaped_line(&run.name), bad_end(run)?)))
        .collect();
    let mut text: String = told.iter().take(TOLD).map(String::as_str).collect();
    if told.len() > TOLD {
        let more = (told.len() - TOLD).to_string();
        text.extend([more.as_str(), " more ended badly; `headroom show RUN` says why.\n"]);
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Why a run ended badly or goes badly, on one line; none for one that does not.
fn bad_end(run: &RunSummary) -> Option<String> {
    if let Some(health) = run.told_health().filter(|health| health.is_bad()) {
        return Some(format!("{}. {}", health.word(), health.why()));
    }
    match run.state {
        RunState::Failed => {
            let why = run.failure.as_ref().map(|failure| joined(&failure.why, &failure.what_to_do));
            Some(format!("failed. {}", why.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")))
        }
        RunState::Diverged => {
            if let Some(health @ Health::Diverged { .. }) = run.health {
                return Some(format!("diverged. {}", health.why()));
            }
            let at = run.diverged.as_ref()?;
            let place = at.at.as_ref().map(|place| format!(", first in {place}")).unwrap_or_default();
            Some(format!("diverged at step {}{place}.", plain::count(at.step)))
        }
        _ => None,
    }
}

/// Steps done, of how many.
pub fn steps(run: &RunSummary) -> String {
    match run.steps_total {
        Some(total) => format!("{} of {}", plain::count(run.steps_done), plain::count(total)),
        None => plain::count(run.steps_done),
    }
}
