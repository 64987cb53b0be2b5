//! `headroom show`: all about one run.

use std::path::Path;

use headroom_engine::{
    attention::ParameterMatch,
    config::counted,
    store::{RunRecord, RunSummary, Store, series_names},
    train::Health,
};
use serde_json::{Map, Value, json};

use crate::export::TextTable;
use crate::findings::{analyses_due, analyses_left_out};

use super::{
    args::ShowArgs,
    error::{CliError, CliResult, joined},
    plain, print,
    progress::sample_marks,
    runs::steps,
    show_directory,
    target::{Named, named},
};

/// Shows one run.
pub fn run(given: Option<&Path>, args: &ShowArgs) -> CliResult {
    let (store, record) = match named(given, &args.run)? {
        Named::Directory(path) => return show_directory::run(&path, args),
        Named::Run(store, record) => (store, record),
    };
    if args.further {
        return show_directory::run_further(&store, &record);
    }
    if args.config {
        return print::toml(&record.config_toml);
    }
    if args.json { print::json(&whole(&store, &record, args.points)?) } else { print::block(&text(&store, &record)?) }
}

/// The run as one JSON object.
fn whole(store: &Store, record: &RunRecord, with_points: bool) -> CliResult<Value> {
    let unwritable =
        |error: serde_json::Error| CliError::Failed(format!("The run cannot be written as JSON: {error}."));
    let run = &record.summary;
    let mut value = serde_json::to_value(record).map_err(unwritable)?;
    let Some(object) = value.as_object_mut() else { return Ok(value) };
    object.insert("steps".to_owned(), json!(run.steps_done));
    object.insert("folder".to_owned(), json!(store.paths().run(&run.id)));
    object.insert("parameter_match".to_owned(), json!(parameter_match(record)));
    let made = store.live_analyses(&run.id)?;
    object.insert("analyses_due".to_owned(), json!(analyses_due(record).max(made.len() as u64)));
    object.insert("analyses_made".to_owned(), json!(made));
    object.insert("checkpoints".to_owned(), serde_json::to_value(store.checkpoints(&run.id)?).map_err(unwritable)?);
    object.insert("samples".to_owned(), serde_json::to_value(store.samples(&run.id)?).map_err(unwritable)?);
    if with_points {
        let mut points = Map::new();
        for name in run.metrics.keys() {
            let data = store.series(&run.id, name, None)?;
            points.insert(
                name.clone(),
                json!({
                    "steps": data.steps, "values": data.values, "wall_ms": data.wall_ms, "tokens": data.tokens,
                    "cuts": data.cuts,
                }),
            );
        }
        object.insert("points".to_owned(), Value::Object(points));
    }
    Ok(value)
}

/// What `attention.match_parameters` did.
fn parameter_match(record: &RunRecord) -> Option<String> {
    let config = record.run_config().ok()?;
    Some(ParameterMatch::of(&config).ok()??.to_string())
}

/// The examples of an evaluation; empty for a run that has not started.
fn evaluated_on(run: &RunSummary) -> String {
    let examples = run.evaluated_examples.map(plain::count);
    match (&run.evaluated_hash, run.validation_examples, examples) {
        (Some(_), Some(of), Some(examples)) => format!("{examples} of {}", counted(of, "validation example")),
        _ if run.held_out_hash.is_none() => String::new(),
        (.., Some(examples)) => format!("up to {examples} validation examples, as its config asks"),
        (.., None) => "all validation examples".to_owned(),
    }
}

fn text(store: &Store, record: &RunRecord) -> CliResult<String> {
    let run = &record.summary;
    let mut facts = TextTable::default();
    let mut fact = |name: &str, value: String| {
        // Every line stands in the second column, so that none passes for another fact.
        for (index, line) in value.lines().enumerate() {
            facts.row([if index == 0 { name } else { "" }.to_owned(), line.to_owned()]);
        }
    };
    fact("name", run.name.clone());
    fact("id", format!("{} (#{})", run.id, run.number));
    fact("state", run.state_words());
    if let Some(health) = run.health.filter(|health| *health != Health::Sound) {
        fact("loss", joined(&health.why(), health.what_to_do()));
    }
    if let Some(failure) = &run.failure {
        fact("why", joined(&failure.why, &failure.what_to_do));
    }
    if let Some(diverged) = &run.diverged {
        let step = plain::count(diverged.step);
        let words = diverged
            .at
            .as_ref()
            .map_or_else(|| format!("from step {step} on"), |at| format!("at step {step}, first in {at}"));
        fact("diverged", words);
    }
    fact("steps", steps(run));
    fact("tokens", plain::count(run.tokens));
    fact("training time", plain::duration(run.train_secs));
    fact("parameters", run.parameters.map(plain::count).unwrap_or_default());
    fact("matched", parameter_match(record).unwrap_or_default());
    fact("device", format!("{}, {}", run.device, counted(run.threads, "thread")));
    fact("seed", run.seed.to_string());
    fact("tags", run.tags.join(", "));
    fact("note", run.note.clone());
    fact(
        "machine",
        format!("{}, {}, {}", record.machine.cpu, counted(record.machine.cores, "core"), record.machine.os),
    );
    let commit = record.git_commit.as_ref().map(|commit| {
        format!(", commit {commit}{}", if record.git_dirty == Some(true) { " with changes" } else { "" })
    });
    fact("program", format!("{}{}", record.program_version, commit.unwrap_or_default()));
    fact("numerics", record.numerics.0.to_string());
    fact("evaluated on", evaluated_on(run));
    fact("data hash", record.data_hash.clone().unwrap_or_default());
    fact("folder", store.paths().run(&run.id).display().to_string());
    let resumes: Vec<String> = record
        .attempts
        .iter()
        .skip(1)
        .map(|attempt| format!("from step {} on", plain::count(attempt.first_step)))
        .collect();
    fact("resumed", resumes.join(", "));
    fact("analyses", analyses_left_out(record, &store.live_analyses(&run.id)?).unwrap_or_default());

    if let Some(chosen) = run.metrics.get(series_names::COVERAGE_SCORE_ERROR).filter(|chosen| chosen.last_step > 0) {
        let step = plain::count(chosen.last_step);
        fact("pairs chosen", format!("after step {step}, until which all were scored; best values are those after it"));
    }

    let mut metrics = TextTable::new(["metric", "last", "best", "best at step"]);
    for (name, series) in &run.metrics {
        metrics.row([
            name.clone(),
            plain::number(series.last),
            plain::maybe(series.best),
            series.best_step.map_or_else(|| "-".to_owned(), plain::count),
        ]);
    }
    let mut checkpoints = TextTable::new(["checkpoint", "kept as", "size", "directory"]);
    for checkpoint in store.checkpoints(&run.id)? {
        checkpoints.row([
            format!("step {}", plain::count(checkpoint.step)),
            checkpoint.kind.as_str().to_owned(),
            plain::bytes(checkpoint.bytes),
            checkpoint.path.display().to_string(),
        ]);
    }
    let sample = store.samples(&run.id)?.pop().map(|sample| {
        let marks = sample_marks(&sample.text);
        format!("\nSample at step {}:\n{}\n({marks})\n", plain::count(sample.step), sample.text.trim_end())
    });
    Ok(format!(
        "{}\n{}\n{}{}\n{}",
        facts.to_plain(),
        metrics.to_plain(),
        checkpoints.to_plain(),
        sample.unwrap_or_default(),
        record.config_toml
    ))
}
