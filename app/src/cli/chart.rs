//! `headroom chart`: the charts of Compare as files.

use std::{collections::BTreeSet, path::Path};

use headroom_engine::{
    config::{counted, nearest},
    store::{RunFilter, RunRecord, Store, series_names},
};
use serde_json::json;

use super::{
    error::{CliError, CliResult},
    files::{self, Files},
    open, print, race_table,
    run_args::ChartArgs,
};
use crate::{
    compare::{common_keys, flatten},
    export::Figure,
    panels::compare::{View, stored_figures},
};

/// Writes a chart for each metric.
pub fn run(given: Option<&Path>, args: &ChartArgs) -> CliResult {
    files::refuse_file(&args.out)?;
    let store = open::reading_existing(given)?;
    let records = records(&store, given, args)?;
    let metrics = metrics(&records, &args.metric)?;
    check_group(&records, args.group.as_deref())?;
    let view = View {
        x: args.x,
        log_x: args.log_x,
        log_y: args.log_y,
        smoothing: args.smooth,
        ignore_outliers: args.ignore_outliers,
        group: args.group.clone(),
        band: args.band,
        difference: args.difference,
        ..View::default()
    };
    let mut files = Files::create(&args.out)?;
    let mut names = Vec::new();
    if let Some(against) = &args.against {
        let view = View { cost: cost_key(against).to_owned(), ..view.clone() };
        for metric in &metrics {
            let figure = stored_scatter(&records, metric, &view).map_err(|known| {
                let hint = nearest(against, known.iter().map(String::as_str));
                let hint = hint.map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
                CliError::at(
                    "--against",
                    format!("No run here has a cost `{against}`.{hint} Known: {}.", known.join(", ")),
                )
            })?;
            let name = format!("{}-against-{}", metric.replace('/', "-"), against.replace('.', "-"));
            files.put_figure(&name, &figure)?;
            names.push(name);
        }
    }
    for metric in metrics.iter().filter(|_| args.against.is_none()) {
        let curves = records
            .iter()
            .map(|record| Ok((record.summary.id.clone(), store.series(&record.summary.id, metric, None)?)))
            .collect::<CliResult<Vec<_>>>()?;
        let (figures, missing) = stored_figures(&records, metric, curves, &view);
        if missing > 0 {
            let runs = counted(missing, "run");
            print::aside(format!(
                "{metric}: {runs} of {} cannot be drawn, for want of points or of this x.",
                records.len()
            ));
        }
        for (name, figure) in figures {
            files.put_figure(&name, &figure)?;
            names.push(name);
        }
    }
    if args.json {
        let runs: Vec<_> = records.iter().map(|record| &record.summary.id).collect();
        return print::json_answer(
            &json!({ "event": "charts", "runs": runs, "out": args.out, "charts": names, "files": files.count() }),
        );
    }
    print::line(format!("Wrote {} to {}", counted(files.count(), "file"), args.out.display()))
}

/// The costs of the scatter as they are typed, and their keys in the window.
const COSTS: [(&str, &str); 4] = [
    ("parameters", "parameters"),
    ("flops", "FLOPs per step"),
    ("step_time", "step time"),
    ("memory", series_names::SYSTEM_PEAK_MEMORY_BYTES),
];

fn cost_key(typed: &str) -> &str {
    COSTS.iter().find(|(name, _)| *name == typed).map_or(typed, |(_, key)| key)
}

/// What is typed for a key of the window.
fn typed_cost(key: &str) -> &str {
    COSTS.iter().find(|(_, known)| *known == key).map_or(key, |(name, _)| name)
}

/// The scatter of a metric against the view's cost; the costs that there are where it is none of them.
fn stored_scatter(records: &[RunRecord], metric: &str, view: &View) -> Result<Figure, Vec<String>> {
    let found = crate::panels::compare::stored_scatter(records, metric, view);
    found.map_err(|known| known.iter().map(|key| typed_cost(key).to_owned()).collect())
}

fn records(store: &Store, given: Option<&Path>, args: &ChartArgs) -> CliResult<Vec<RunRecord>> {
    let Some(tag) = &args.tag else {
        return args.runs.iter().map(|query| open::run(store, given, query)).collect();
    };
    let runs = store.runs(RunFilter { include_archived: true, include_deleted: false })?;
    race_table::tagged(&runs, tag)?.into_iter().map(|run| Ok(store.record(&run.id)?)).collect()
}

/// The series that were asked for, which some run must have.
fn metrics(records: &[RunRecord], wanted: &[String]) -> CliResult<Vec<String>> {
    let usual = [series_names::VALIDATION_LOSS.to_owned()];
    let known: BTreeSet<&str> =
        records.iter().flat_map(|record| record.summary.metrics.keys().map(String::as_str)).collect();
    let wanted = if wanted.is_empty() { &usual[..] } else { wanted };
    for name in wanted {
        if !known.contains(name.as_str()) {
            let hint = nearest(name, known.iter().copied()).map(|near| format!(" Did you mean `{near}`?"));
            let known: Vec<&str> = known.iter().copied().collect();
            let known =
                if known.is_empty() { "They have none yet".to_owned() } else { format!("Known: {}", known.join(", ")) };
            let message = format!("No run here has a metric `{name}`.{} {known}.", hint.unwrap_or_default());
            return Err(CliError::at("--metric", message));
        }
    }
    Ok(wanted.to_vec())
}

/// Runs can be put together by a field in which they differ.
fn check_group(records: &[RunRecord], group: Option<&str>) -> CliResult {
    let Some(group) = group else { return Ok(()) };
    let flat: Vec<_> = records.iter().map(|record| flatten(&record.config)).collect();
    if flat.iter().any(|config| config.contains_key(group)) {
        return Ok(());
    }
    let keys = common_keys(&flat.iter().collect::<Vec<_>>());
    let hint = nearest(group, keys.iter().map(String::as_str)).map(|near| format!(" Did you mean `{near}`?"));
    let message = format!(
        "No config here has a field `{group}`.{} They differ in {}.",
        hint.unwrap_or_default(),
        keys.join(", ")
    );
    Err(CliError::at("--group", message))
}
