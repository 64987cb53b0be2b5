//! `headroom bench list`, `bench show` and `bench compare`: what was measured before.

use std::path::Path;

use headroom_engine::{
    speed::{Outcome, PointRatio, Setting, point_ratios, sweep_csv},
    store::{BenchmarkRecord, BenchmarkSummary},
};
use serde_json::json;

use super::{
    args::{BenchCompareArgs, BenchShowArgs, JsonArgs},
    error::CliResult,
    hint, open, plain, print,
    table::Table,
};
use crate::widgets::format;

/// Lists benchmarks, newest first.
pub fn list(store: Option<&Path>, args: &JsonArgs) -> CliResult {
    let all = match open::reading(store)? {
        Some(reading) => reading.benchmarks()?,
        None => Vec::new(),
    };
    if args.json {
        return print::json(&all);
    }
    if all.is_empty() {
        let start = hint::command("bench sweep --axis data.sequence_length=64,128,256,512", store);
        return print::line(format!(
            "Nothing was measured yet in {}\nStart with: {start}",
            open::path(store)?.display()
        ));
    }
    let mut table = Table::new(["#", "id", "name", "when (UTC)", "points", "device", "threads", "machine", "version"]);
    for known in &all {
        table.row([
            known.number.to_string(),
            known.id.to_string(),
            known.name.clone(),
            format::date_time(known.created_ms as f64 / 1e3),
            points(known),
            known.device.clone(),
            known.threads.to_string(),
            known.machine.cpu.clone(),
            version(known),
        ]);
    }
    print::block(&table.text())
}

/// Shows one.
pub fn show(store: Option<&Path>, args: &BenchShowArgs) -> CliResult {
    let record = open::reading_existing(store)?.benchmark(&args.benchmark)?;
    if args.json {
        print::json(&record)
    } else if args.csv {
        print::block(&sweep_csv(&record.spec, &record.results))
    } else {
        print_record(&record)
    }
}

/// Compares two.
pub fn compare(store: Option<&Path>, args: &BenchCompareArgs) -> CliResult {
    let reading = open::reading_existing(store)?;
    let (first, second) = (reading.benchmark(&args.first)?, reading.benchmark(&args.second)?);
    let ratios = point_ratios(&first.results, &second.results);
    if args.json {
        return print::json(&json!({ "first": first.summary, "second": second.summary, "ratios": ratios }));
    }
    print::line(format!(
        "First: {} ({}), {} on {}.\nSecond: {} ({}), {} on {}.",
        first.summary.name,
        first.summary.id,
        version(&first.summary),
        first.summary.machine.cpu,
        second.summary.name,
        second.summary.id,
        version(&second.summary),
        second.summary.machine.cpu,
    ))?;
    if ratios.is_empty() {
        return print::line("They have no measured point in common: the same fields, values and side names.");
    }
    let mut table = Table::new(["point", "side", "first", "second", "second / first"]);
    for PointRatio { settings, side, first_secs, second_secs, ratio } in ratios {
        let point = settings.iter().map(Setting::to_override).collect::<Vec<_>>().join(", ");
        table.row([point, side, millis(first_secs), millis(second_secs), format!("{ratio:.3}")]);
    }
    print::block(&table.text())
}

/// The whole benchmark as a table.
pub fn print_record(record: &BenchmarkRecord) -> CliResult {
    let BenchmarkRecord { summary, spec, results } = record;
    print::line(format!(
        "{} ({}), {} points, {} threads on {}, {}, {}.",
        summary.name,
        summary.id,
        points(summary),
        summary.threads,
        summary.device,
        summary.machine.cpu,
        version(summary),
    ))?;
    let fields = spec.axes.iter().map(|axis| axis.field.clone());
    let columns = [
        "side",
        "step",
        "quartiles",
        "forward",
        "backward",
        "optimiser",
        "tokens/s",
        "ratio",
        "memory",
        "of predicted",
        "FLOP/s",
    ];
    let mut table = Table::new(fields.chain(columns.map(str::to_owned)));
    for point in &results.points {
        let first = point.sides.first().and_then(|side| side.outcome.measurement());
        for side in &point.sides {
            let mut cells: Vec<String> = point.settings.iter().map(|setting| setting.value.clone()).collect();
            cells.push(side.side.clone());
            match side.outcome.measurement() {
                Some(found) => cells.extend([
                    millis(found.step_secs.median),
                    format!("{} to {}", millis(found.step_secs.lower), millis(found.step_secs.upper)),
                    millis(found.forward_secs),
                    millis(found.backward_secs),
                    millis(found.optimiser_secs),
                    plain::count(found.tokens_per_sec() as u64),
                    first.map_or_else(String::new, |first| {
                        format!("{:.3}", found.step_secs.median / first.step_secs.median)
                    }),
                    found.model_memory_bytes().map_or_else(|| "-".to_owned(), plain::bytes),
                    found.memory_ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
                    plain::flops(found.flops_per_sec()) + "/s",
                ]),
                None => cells.push(outcome_words(&side.outcome)),
            }
            table.row(cells);
        }
    }
    print::block(&table.text())
}

/// What came of a side, on one line.
pub fn outcome_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Measured(found) => format!(
            "{} a step ({} to {}), {} tokens/s",
            millis(found.step_secs.median),
            millis(found.step_secs.lower),
            millis(found.step_secs.upper),
            plain::count(found.tokens_per_sec() as u64)
        ),
        Outcome::OutOfMemory { needed_bytes, free_bytes } => {
            format!("out of memory: needs {}, {} is free", plain::bytes(*needed_bytes), plain::bytes(*free_bytes))
        }
        Outcome::Invalid { reason } => format!("cannot be built: {reason}"),
        Outcome::Failed { reason } => format!("failed: {reason}"),
    }
}

fn millis(seconds: f64) -> String {
    if seconds < 0.01 { format!("{:.2} ms", seconds * 1e3) } else { format!("{:.1} ms", seconds * 1e3) }
}

fn points(known: &BenchmarkSummary) -> String {
    if known.is_complete() { known.points.to_string() } else { format!("{} of {}", known.points, known.points_total) }
}

/// Version and commit of the program that measured.
fn version(known: &BenchmarkSummary) -> String {
    let commit = known.git_commit.as_ref().map(|commit| {
        let dirty = if known.git_dirty == Some(true) { " with changes" } else { "" };
        format!(" ({}{dirty})", commit.chars().take(10).collect::<String>())
    });
    format!("{}{}", known.program_version, commit.unwrap_or_default())
}
