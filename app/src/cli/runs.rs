//! `headroom runs`: the table of runs.

use std::{collections::BTreeMap, path::Path};

use headroom_engine::{
    store::{DamagedRun, RunFilter, RunId, RunList, RunState, RunSummary, Store, series_names},
    text::escaped_line,
    train::Health,
};
use serde_json::{Value, json};

use crate::{
    compare::filter::{Filter, Record, Value as Field},
    export::TextTable,
    format::{self, Names},
    panels::runs::{FlatConfigs, RUN_FIELDS, RunFields, needs_config, unknown_field},
};

use super::{
    args::RunsArgs,
    error::{CliError, CliResult, joined},
    hint, open, plain, print,
};

/// So many bad ends are told below the table.
const TOLD: usize = 10;
/// Whole numbers up to this one are exact.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Lists runs, newest first.
pub fn run(store: Option<&Path>, args: &RunsArgs) -> CliResult {
    let reading = open::reading(store)?;
    let called = reading.as_ref().map(open::names).transpose()?.unwrap_or_default();
    let filter = RunFilter { include_archived: args.all, include_deleted: false };
    let list = reading.as_ref().map(|reading| reading.run_list(filter)).transpose()?;
    let RunList { mut runs, damaged } = list.unwrap_or_default();
    runs.sort_by_key(|run| std::cmp::Reverse(run.number));
    for warning in reading.iter().flat_map(|reading| reading.warnings().try_iter().collect::<Vec<_>>()) {
        print::aside(format!("Warning: {warning}"));
    }
    let had_none = runs.is_empty() && damaged.is_empty();
    let configs = found(&mut runs, args, reading.as_ref())?;
    // A filter says nothing of a run that cannot be read.
    let damaged = if args.filter.is_some() { Vec::new() } else { damaged };
    if args.json {
        return print::json(&as_json(&runs, &damaged, &args.columns, &configs)?);
    }
    if had_none {
        let place = open::path(store)?;
        let start = hint::command("train grammar-decoder", store);
        return print::line(format!("No runs yet in {}\nStart one with: {start}", place.display()));
    }
    if runs.is_empty() && damaged.is_empty() {
        return print::line("No run matches the filter.");
    }
    let names: Names = runs.iter().filter_map(|run| called.get(&run.id)).map(String::as_str).collect();
    // What another program reads can be looked for.
    let is_read_by_people = print::is_terminal();
    let name_of = |run: &RunSummary| {
        let name = called.get(&run.id).map_or(run.name.as_str(), String::as_str);
        if is_read_by_people { names.brief(name) } else { name.into() }
    };
    let text = if args.columns.is_empty() {
        usual(&runs, &damaged, name_of)
    } else {
        chosen(&runs, &damaged, &args.columns, &configs, name_of)
    };
    print::block(&text)?;
    print::block(&bad_ends(&runs, &called))?;
    let told: Vec<String> = damaged
        .iter()
        .rev()
        .map(|run| format!("#{} {}: damaged, and left out elsewhere. {}.\n", run.number, name(run), run.why()))
        .collect();
    print::block(&if told.is_empty() { String::new() } else { format!("\n{}", told.concat()) })
}

/// Leaves the runs that the filter finds; the configs that filter and columns speak of come back.
fn found(runs: &mut Vec<RunSummary>, args: &RunsArgs, reading: Option<&Store>) -> CliResult<FlatConfigs> {
    let text = args.filter.clone().unwrap_or_default();
    let filter = Filter::parse(&text).map_err(|error| CliError::at("--filter", error.describe(&text)))?;
    let mut configs = FlatConfigs::default();
    let fields = filter.fields().into_iter().map(|(field, _)| field).chain(args.columns.iter().map(String::as_str));
    if let Some(reading) = reading.filter(|_| fields.clone().any(|field| needs_config(field, runs))) {
        for run in runs.iter() {
            configs.insert(run.id.clone(), &reading.run(run.id.as_str())?.config);
        }
    }
    if !runs.is_empty() {
        let unknown = |field: &str| unknown_field(field, runs, &configs);
        if let Some(why) = filter.fields().into_iter().find_map(|(field, _)| unknown(field)) {
            return Err(CliError::at("--filter", why));
        }
        if let Some(why) = args.columns.iter().find_map(|field| unknown(field)) {
            return Err(CliError::at("--columns", why));
        }
    }
    runs.retain(|run| filter.matches(&RunFields::of(run, &configs)));
    Ok(configs)
}

/// The usual table.
fn usual(runs: &[RunSummary], damaged: &[DamagedRun], name_of: impl Fn(&RunSummary) -> String) -> String {
    let mut table = TextTable::new([
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
    for run in runs {
        let metric = |name: &str| run.metrics.get(name);
        table.row([
            run.number.to_string(),
            run.id.to_string(),
            name_of(run),
            run.state_words(),
            steps(run),
            run.device.clone(),
            plain::duration(run.train_secs),
            plain::maybe(metric(series_names::TRAIN_LOSS).map(|series| series.last)),
            plain::maybe(metric(series_names::VALIDATION_LOSS).and_then(|series| series.best)),
        ]);
    }
    add_damaged(&mut table, damaged, 9);
    table.to_plain()
}

/// The table of the columns that were asked for.
fn chosen(
    runs: &[RunSummary],
    damaged: &[DamagedRun],
    columns: &[String],
    configs: &FlatConfigs,
    name_of: impl Fn(&RunSummary) -> String,
) -> String {
    let mut table = TextTable::new(["#", "id", "name", "state"].into_iter().chain(columns.iter().map(String::as_str)));
    for run in runs {
        let value = |field: &String| match RunFields::of(run, configs).value(field) {
            Some(Field::Number(number)) if is_measured(run, field) => plain::number(number),
            Some(Field::Number(number)) => number_of(field, number),
            Some(Field::Text(text)) => text,
            Some(Field::List(words)) => words.join(", "),
            None => "-".to_owned(),
        };
        let own = [run.number.to_string(), run.id.to_string(), name_of(run), run.state_words()];
        table.row(own.into_iter().chain(columns.iter().map(value)));
    }
    add_damaged(&mut table, damaged, 4 + columns.len());
    table.to_plain()
}

/// Whether a field is a metric of the run: whole numbers among its values are chance.
fn is_measured(run: &RunSummary, field: &str) -> bool {
    !RUN_FIELDS.contains(&field.to_lowercase().as_str()) && RunFields::alone(run).value(field).is_some()
}

/// A number of a run or its config: whole ones as such, and what names something as it is typed.
fn number_of(field: &str, number: f64) -> String {
    if number.fract() != 0.0 || number.abs() > LARGEST_WHOLE {
        return plain::number(number);
    }
    if ["number", "seed"].contains(&field.to_lowercase().as_str()) {
        return format!("{number:.0}");
    }
    plain::ascii(&format::fixed(number, 0))
}

fn add_damaged(table: &mut TextTable, damaged: &[DamagedRun], width: usize) {
    for run in damaged.iter().rev() {
        let mut row = vec!["-".to_owned(); width];
        row.splice(..4, [run.number.to_string(), id(run), name(run), "damaged".to_owned()]);
        table.row(row);
    }
}

/// The runs as JSON, each with the columns that were asked for; damaged ones last.
fn as_json(
    runs: &[RunSummary],
    damaged: &[DamagedRun],
    columns: &[String],
    configs: &FlatConfigs,
) -> CliResult<Vec<Value>> {
    let mut all = with_damaged(runs, damaged)?;
    for (run, value) in runs.iter().zip(&mut all).filter(|_| !columns.is_empty()) {
        let of = |field: &String| match RunFields::of(run, configs).value(field) {
            Some(Field::Number(number)) => json!(number),
            Some(Field::Text(text)) => json!(text),
            Some(Field::List(words)) => json!(words),
            None => Value::Null,
        };
        let found: serde_json::Map<String, Value> = columns.iter().map(|field| (field.clone(), of(field))).collect();
        if let Some(object) = value.as_object_mut() {
            object.insert("columns".to_owned(), found.into());
        }
    }
    Ok(all)
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
fn bad_ends(runs: &[RunSummary], called: &BTreeMap<RunId, String>) -> String {
    let name = |run: &RunSummary| called.get(&run.id).cloned().unwrap_or_else(|| escaped_line(&run.name).into_owned());
    let told: Vec<String> =
        runs.iter().filter_map(|run| Some(format!("#{} {}: {}\n", run.number, name(run), bad_end(run)?))).collect();
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
