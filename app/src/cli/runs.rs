//! `headroom runs`: the table of runs.

use std::path::Path;

use headroom_engine::{
    store::{RunFilter, RunState, RunSummary, series_names},
    text::escaped_line,
};

use super::{
    args::RunsArgs,
    error::{CliResult, joined},
    hint, open, plain, print,
    table::{Table, maybe},
};

/// So many bad ends are told below the table.
const TOLD: usize = 10;

/// Lists runs, newest first.
pub fn run(store: Option<&Path>, args: &RunsArgs) -> CliResult {
    let filter = RunFilter { include_archived: args.all, include_deleted: false };
    let mut runs = match open::reading(store)? {
        Some(reading) => reading.runs(filter)?,
        None => Vec::new(),
    };
    runs.sort_by_key(|run| std::cmp::Reverse(run.number));
    if args.json {
        return print::json(&runs);
    }
    if runs.is_empty() {
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
            run.name.clone(),
            run.state.to_string(),
            steps(run),
            run.device.clone(),
            plain::duration(run.train_secs),
            maybe(metric(series_names::TRAIN_LOSS).map(|series| series.last)),
            maybe(metric(series_names::VALIDATION_LOSS).and_then(|series| series.best)),
        ]);
    }
    print::block(&table.text())?;
    print::block(&bad_ends(&runs))
}

/// Why runs failed or diverged, a line each, newest first.
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

/// Why a run ended badly, on one line; none for one that did not.
fn bad_end(run: &RunSummary) -> Option<String> {
    match run.state {
        RunState::Failed => {
            let why = run.failure.as_ref().map(|failure| joined(&failure.why, &failure.what_to_do));
            Some(format!("failed. {}", why.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")))
        }
        RunState::Diverged => {
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
