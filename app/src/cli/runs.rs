//! `headroom runs`: the table of runs.

use std::path::Path;

use headroom_engine::store::{RunFilter, RunSummary, series_names};

use super::{
    args::RunsArgs,
    error::CliResult,
    open, print,
    table::{Table, maybe},
};
use crate::widgets::format;

/// Lists runs, newest first.
pub fn run(store: Option<&Path>, args: &RunsArgs) -> CliResult {
    let filter = RunFilter { include_archived: args.all, include_deleted: false };
    let mut runs = match open::reading(store)? {
        Some(store) => store.runs(filter)?,
        None => Vec::new(),
    };
    runs.sort_by_key(|run| std::cmp::Reverse(run.number));
    if args.json {
        return print::json(&runs);
    }
    if runs.is_empty() {
        return print::line("No runs yet. Start one with `headroom train grammar-decoder`.");
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
            format::duration(run.train_secs),
            maybe(metric(series_names::TRAIN_LOSS).map(|series| series.last)),
            maybe(metric(series_names::VALIDATION_LOSS).and_then(|series| series.best)),
        ]);
    }
    print::block(&table.text())
}

/// Steps done, of how many.
pub fn steps(run: &RunSummary) -> String {
    match run.steps_total {
        Some(total) => format!("{} of {}", format::count(run.steps_done), format::count(total)),
        None => format::count(run.steps_done),
    }
}
