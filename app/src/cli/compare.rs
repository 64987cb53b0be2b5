//! `headroom compare`: runs side by side, measured against the first.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use headroom_engine::{
    config::nearest,
    store::{Direction, RunRecord, SeriesSummary},
    text::{csv_cell, escaped_line},
};
use serde_json::{Value, json};

use super::{
    args::CompareArgs,
    error::{CliError, CliResult},
    open, plain, print,
    race_table::{self, Form},
    table::{Table, maybe},
};
use crate::compare::{NotJudged, direction_between, why_not_judged};

/// Metrics of the machine rather than of the model: compared only when asked for.
const MACHINE: &str = "system/";

/// Compares runs.
pub fn run(store: Option<&Path>, args: &CompareArgs) -> CliResult {
    let reading = open::reading_existing(store)?;
    if let Some(tag) = &args.tag {
        let form = match (args.json, args.csv) {
            (true, _) => Form::Json,
            (_, true) => Form::Csv,
            _ => Form::Text,
        };
        return race_table::of_tag(&reading, tag, form);
    }
    let records = args.runs.iter().map(|query| open::run(&reading, store, query)).collect::<CliResult<Vec<_>>>()?;
    let metrics = metrics(&records, &args.metric)?;
    let differences = differences(&records);
    if args.json {
        print::json(&as_json(&records, &metrics, &differences))
    } else if args.csv {
        print::block(&as_csv(&records, &metrics, &differences))
    } else {
        print::block(&as_text(&records, &metrics, &differences))
    }
}

/// The metrics to compare: those asked for, else all of the model.
fn metrics(records: &[RunRecord], wanted: &[String]) -> CliResult<Vec<String>> {
    let known: BTreeSet<&str> =
        records.iter().flat_map(|record| record.summary.metrics.keys().map(String::as_str)).collect();
    if wanted.is_empty() {
        return Ok(known.into_iter().filter(|name| !name.starts_with(MACHINE)).map(str::to_owned).collect());
    }
    for name in wanted {
        if !known.contains(name.as_str()) {
            let hint = nearest(name, known.iter().copied()).map(|near| format!(" Did you mean `{near}`?"));
            let names: Vec<&str> = known.into_iter().collect();
            let (hint, names) = (hint.unwrap_or_default(), names.join(", "));
            let message = format!("No run here has a metric `{name}`.{hint} Known: {names}.");
            return Err(CliError::at("--metric", message));
        }
    }
    Ok(wanted.to_vec())
}

/// Why the run at `index` is neither better nor worse than the first.
fn not_judged(records: &[RunRecord], index: usize) -> Option<NotJudged> {
    records.first().zip(records.get(index)).and_then(|(first, own)| why_not_judged(&first.summary, &own.summary))
}

fn series<'a>(record: &'a RunRecord, name: &str) -> Option<&'a SeriesSummary> {
    record.summary.metrics.get(name)
}

/// The fields in which the configs differ, with each run's value (null where it has none).
fn differences(records: &[RunRecord]) -> BTreeMap<String, Vec<Value>> {
    let flat: Vec<BTreeMap<String, Value>> = records
        .iter()
        .map(|record| {
            let mut fields = BTreeMap::new();
            flatten("", &record.config, &mut fields);
            fields
        })
        .collect();
    let names: BTreeSet<&String> = flat.iter().flat_map(BTreeMap::keys).collect();
    names
        .into_iter()
        .map(|name| {
            let values: Vec<Value> =
                flat.iter().map(|fields| fields.get(name).cloned().unwrap_or(Value::Null)).collect();
            (name.clone(), values)
        })
        .filter(|(_, values)| values.windows(2).any(|pair| pair.first() != pair.last()))
        .collect()
}

/// Puts every leaf of a config under its dotted path.
fn flatten(path: &str, value: &Value, fields: &mut BTreeMap<String, Value>) {
    if let Value::Object(object) = value {
        for (name, inner) in object {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            flatten(&path, inner, fields);
        }
    } else {
        fields.insert(path.to_owned(), value.clone());
    }
}

/// The difference to the first run, none for the first itself or where either has no value.
fn delta(records: &[RunRecord], index: usize, value: impl Fn(&RunRecord) -> Option<f64>) -> Option<f64> {
    let (base, own) = (records.first().and_then(&value)?, records.get(index).and_then(&value)?);
    (index > 0).then_some(own - base)
}

fn as_json(records: &[RunRecord], metrics: &[String], differences: &BTreeMap<String, Vec<Value>>) -> Value {
    let runs: Vec<Value> = records
        .iter()
        .enumerate()
        .map(|(index, record)| {
            let run = &record.summary;
            let values: serde_json::Map<String, Value> = metrics
                .iter()
                .filter_map(|name| {
                    let of = series(record, name)?;
                    let value = json!({
                        "last": of.last, "last_step": of.last_step, "best": of.best, "best_step": of.best_step,
                        "direction": of.direction,
                        "last_delta": delta(records, index, |record| series(record, name).map(|of| of.last)),
                        "best_delta": delta(records, index, |record| series(record, name)?.best),
                    });
                    Some((name.clone(), value))
                })
                .collect();
            json!({
                "id": run.id, "name": run.name, "state": run.state, "steps": run.steps_done,
                "parameters": run.parameters, "train_secs": run.train_secs, "metrics": values,
                "not_judged": not_judged(records, index).map(NotJudged::reason),
            })
        })
        .collect();
    json!({ "baseline": records.first().map(|record| &record.summary.id), "runs": runs, "config": differences })
}

fn as_csv(records: &[RunRecord], metrics: &[String], differences: &BTreeMap<String, Vec<Value>>) -> String {
    let mut heading: Vec<String> =
        ["id", "name", "state", "steps", "parameters", "train_secs"].map(str::to_owned).to_vec();
    for name in metrics {
        heading.extend(["last", "best", "best_step", "last_delta", "best_delta"].map(|part| format!("{name} {part}")));
    }
    heading.extend(differences.keys().cloned());
    let mut lines = vec![heading];
    for (index, record) in records.iter().enumerate() {
        let run = &record.summary;
        let text = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let mut cells = vec![
            run.id.to_string(),
            run.name.clone(),
            run.state.to_string(),
            run.steps_done.to_string(),
            run.parameters.map(|count| count.to_string()).unwrap_or_default(),
            run.train_secs.to_string(),
        ];
        for name in metrics {
            let of = series(record, name);
            cells.extend([
                text(of.map(|of| of.last)),
                text(of.and_then(|of| of.best)),
                of.and_then(|of| of.best_step).map(|step| step.to_string()).unwrap_or_default(),
                text(delta(records, index, |record| series(record, name).map(|of| of.last))),
                text(delta(records, index, |record| series(record, name)?.best)),
            ]);
        }
        cells.extend(differences.values().map(|values| values.get(index).map(typed).unwrap_or_default()));
        lines.push(cells);
    }
    lines
        .iter()
        .map(|cells| {
            cells.iter().map(|cell| csv_cell(&escaped_line(cell)).into_owned()).collect::<Vec<_>>().join(",") + "\n"
        })
        .collect()
}

/// A config value as it would be typed; nothing for a field that is not there.
fn typed(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn as_text(records: &[RunRecord], metrics: &[String], differences: &BTreeMap<String, Vec<Value>>) -> String {
    let mut heading = vec!["metric".to_owned()];
    heading.extend(records.iter().map(|record| record.summary.name.clone()));
    let mut table = Table::new(heading);
    let mut row = |name: String, cells: &mut dyn Iterator<Item = String>| {
        table.row(std::iter::once(name).chain(cells));
    };
    row("id".to_owned(), &mut records.iter().map(|record| record.summary.id.to_string()));
    row("state".to_owned(), &mut records.iter().map(|record| record.summary.state.to_string()));
    row("steps".to_owned(), &mut records.iter().map(|record| plain::count(record.summary.steps_done)));
    row(
        "parameters".to_owned(),
        &mut records.iter().map(|record| record.summary.parameters.map_or_else(|| "-".to_owned(), plain::count)),
    );
    row("training time".to_owned(), &mut records.iter().map(|record| plain::duration(record.summary.train_secs)));
    for name in metrics {
        let direction =
            records.iter().find_map(|record| series(record, name)).map_or(Direction::None, |of| of.direction);
        let cell = |index: usize, value: &dyn Fn(&RunRecord) -> Option<f64>| {
            let shown = maybe(records.get(index).and_then(value));
            match delta(records, index, value) {
                Some(delta) => {
                    let verdict = verdict(direction_between(name, not_judged(records, index)), delta);
                    format!("{shown} ({}{verdict})", plain::delta(delta))
                }
                None => shown,
            }
        };
        let last = |record: &RunRecord| series(record, name).map(|of| of.last);
        row(format!("{name}, last"), &mut (0..records.len()).map(|index| cell(index, &last)));
        if direction != Direction::None {
            let best = |record: &RunRecord| series(record, name)?.best;
            row(format!("{name}, best"), &mut (0..records.len()).map(|index| cell(index, &best)));
        }
    }
    let mut text = table.text();
    let reasons: BTreeSet<&str> =
        (0..records.len()).filter_map(|index| not_judged(records, index)).map(NotJudged::reason).collect();
    for reason in reasons {
        text.extend(["\n", reason, "\n"]);
    }
    if differences.is_empty() {
        text += "\nThe configs are the same.\n";
    } else {
        let mut heading = vec!["config field".to_owned()];
        heading.extend(records.iter().map(|record| record.summary.name.clone()));
        let mut table = Table::new(heading);
        for (field, values) in differences {
            let shown = |value: &Value| if value.is_null() { "-".to_owned() } else { typed(value) };
            table.row(std::iter::once(field.clone()).chain(values.iter().map(shown)));
        }
        text += "\n";
        text += &table.text();
    }
    text
}

fn verdict(direction: Direction, delta: f64) -> &'static str {
    match direction {
        Direction::Lower if delta < 0.0 => ", better",
        Direction::Lower if delta > 0.0 => ", worse",
        Direction::Higher if delta > 0.0 => ", better",
        Direction::Higher if delta < 0.0 => ", worse",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configs_are_laid_flat() {
        let mut fields = BTreeMap::new();
        flatten("", &json!({ "a": 1, "b": { "c": "x", "d": { "e": null } } }), &mut fields);
        let names: Vec<_> = fields.keys().cloned().collect();
        assert_eq!(names, ["a", "b.c", "b.d.e"]);
    }

    #[test]
    fn the_direction_says_what_is_better() {
        assert_eq!(verdict(Direction::Lower, -0.1), ", better");
        assert_eq!(verdict(Direction::Higher, -0.1), ", worse");
        assert_eq!(verdict(Direction::None, -0.1), "");
    }
}
