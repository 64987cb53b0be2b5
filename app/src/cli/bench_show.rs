//! `headroom bench list`, `bench show` and `bench compare`: what was measured before.

use std::path::Path;

use headroom_engine::{
    config::counted,
    speed::{
        GroupTime, LargestBatch, Measurement, MemorySource, Outcome, PointRatio, Setting, Spread, SweepResult,
        point_ratios, sweep_csv,
    },
    store::{BenchmarkRecord, BenchmarkSummary},
    text::{escaped_line, to_json_pretty},
};
use serde::Serialize;
use serde_json::json;

use super::{
    bench_args::{BenchCompareArgs, BenchShowArgs, BenchmarkArgs},
    common_args::JsonArgs,
    error::{CliError, CliResult},
    files::{self, Files},
    hint, open, plain, print,
};
use crate::{
    export::TextTable,
    format,
    measured::{self, Standing},
    panels::speed::standing,
};

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
    let mut table = TextTable::new(["#", "id", "name", "when (UTC)", "points", "device", "machine", "program"]);
    for known in &all {
        table.row([
            known.number.to_string(),
            known.id.to_string(),
            known.name.clone(),
            format::date_time(known.created_ms as f64 / 1e3),
            points(known),
            known.device_words(),
            known.machine.cpu.clone(),
            known.program(),
        ]);
    }
    print::block(&table.to_plain())
}

/// Shows a benchmark.
pub fn show(store: Option<&Path>, args: &BenchShowArgs) -> CliResult {
    if let Some(out) = &args.out {
        files::refuse_file(out)?;
    }
    let record = open::reading_existing(store)?.benchmark(&args.benchmark)?;
    if let Some(out) = &args.out {
        let count = write(out, &record)?;
        print::aside(format!("Wrote {} to {}.", counted(count, "file"), out.display()));
    }
    if args.json {
        print_json(&record)
    } else if args.csv {
        print::block(&sweep_csv(&record.spec, &record.results))
    } else {
        print_record(&record)
    }
}

/// A benchmark as JSON.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    record: &'a BenchmarkRecord,
    /// What speaks against its times.
    warnings: Vec<String>,
}

impl<'a> Told<'a> {
    fn new(record: &'a BenchmarkRecord) -> Self {
        Self { record, warnings: measured::warnings(&record.results) }
    }
}

/// The whole benchmark as JSON, and what speaks against its times.
pub fn print_json(record: &BenchmarkRecord) -> CliResult {
    print::json(&Told::new(record))
}

/// Writes figures and tables of a benchmark; how many files.
fn write(out: &Path, record: &BenchmarkRecord) -> CliResult<usize> {
    let mut files = Files::create(out)?;
    for (name, figure) in measured::figures(record) {
        files.put_figure(name, &figure)?;
    }
    files.put("benchmark.csv", sweep_csv(&record.spec, &record.results).as_bytes())?;
    let all = to_json_pretty(&Told::new(record)).map_err(|error| CliError::Failed(error.to_string()))?;
    files.put("benchmark.json", all.as_bytes())?;
    Ok(files.count())
}

/// The ratio of a point in two benchmarks, with what to think of it.
#[derive(Serialize)]
struct Judged {
    #[serde(flatten)]
    found: PointRatio,
    verdict: &'static str,
}

impl Judged {
    fn new(found: PointRatio, sweeps: &[&SweepResult]) -> Self {
        let is_disturbed = measured::is_disturbed(&found.settings, sweeps);
        let verdict = standing(&found.second_spread, &found.first_spread, is_disturbed).word();
        Self { found, verdict }
    }
}

/// Compares two benchmarks.
pub fn compare(store: Option<&Path>, args: &BenchCompareArgs) -> CliResult {
    let reading = open::reading_existing(store)?;
    let (first, second) = (reading.benchmark(&args.first)?, reading.benchmark(&args.second)?);
    let sweeps = [&first.results, &second.results];
    let ratios = point_ratios(&first.results, &second.results);
    let ratios: Vec<Judged> = ratios.into_iter().map(|found| Judged::new(found, &sweeps)).collect();
    let warnings = sweeps.map(measured::warnings);
    if args.json {
        let [of_first, of_second] = warnings;
        let warnings = json!({ "first": of_first, "second": of_second });
        let (first, second) = (first.summary, second.summary);
        return print::json(&json!({ "first": first, "second": second, "ratios": ratios, "warnings": warnings }));
    }
    for (place, summary) in [("First", &first.summary), ("Second", &second.summary)] {
        print::line(format!("{place}: {} ({}), {}.", escaped_line(&summary.name), summary.id, made_by(summary)))?;
    }
    if ratios.is_empty() {
        return print::line("They have no measured point in common: the same fields, values and side names.");
    }
    let mut table = TextTable::new(["point", "side", "first", "second", "second / first", "memory"]);
    let is_disturbed = ratios.iter().any(|judged| judged.verdict == Standing::Disturbed.word());
    for Judged { found, verdict } in ratios {
        let PointRatio { settings, side, first_secs, second_secs, ratio, memory_ratio, .. } = found;
        let point = settings.iter().map(Setting::to_override).collect::<Vec<_>>().join(", ");
        let memory = memory_ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
        table.row([point, side, millis(first_secs), millis(second_secs), format!("{ratio:.3} {verdict}"), memory]);
    }
    print::block(&format!("{}\n{}\n", table.to_plain(), legend(is_disturbed)))?;
    for (place, warnings) in ["First", "Second"].into_iter().zip(warnings) {
        for words in warnings {
            print::line(format!("{place}: {words}"))?;
        }
    }
    Ok(())
}

/// What is said below ratios that are marked so.
const DISTURBED: &str = "disturbed: other programs used the machine meanwhile, so neither is called faster.";

/// What is said below ratios.
fn legend(is_disturbed: bool) -> String {
    let overlap = "unclear: the quartiles of the two overlap, so neither is called faster.";
    if is_disturbed { format!("{overlap}\n{DISTURBED}") } else { overlap.to_owned() }
}

/// A ratio of medians with what to think of it.
fn ratio_words(own: &Spread, first: &Spread, is_disturbed: bool) -> String {
    format!("{:.3} {}", own.median / first.median, standing(own, first, is_disturbed).word())
}

/// Deletes one so that it can be brought back.
pub fn delete(given: Option<&Path>, args: &BenchmarkArgs) -> CliResult {
    let store = open::writing(given)?;
    let known = store.benchmark(&args.benchmark)?.summary;
    store.set_benchmark_deleted(&known.id, true)?;
    if args.json {
        return print::json_answer(&json!({ "event": "deleted", "benchmark": known }));
    }
    let undo = hint::command(&format!("bench restore {}", known.id), given);
    print::line(format!("Deleted the benchmark {} ({}). Bring back with: {undo}", escaped_line(&known.name), known.id))
}

/// Brings one back.
pub fn restore(given: Option<&Path>, args: &BenchmarkArgs) -> CliResult {
    let store = open::writing(given)?;
    let known = store.deleted_benchmark(&args.benchmark)?;
    store.set_benchmark_deleted(&known.id, false)?;
    if args.json {
        return print::json_answer(&json!({ "event": "restored", "benchmark": known }));
    }
    print::line(format!("Brought back the benchmark {} ({})", escaped_line(&known.name), known.id))
}

/// The whole benchmark as a table.
pub fn print_record(record: &BenchmarkRecord) -> CliResult {
    let BenchmarkRecord { summary, spec, results } = record;
    print::line(format!(
        "{} ({}), {}, {}.",
        escaped_line(&summary.name),
        summary.id,
        points_words(summary),
        made_by(summary)
    ))?;
    if spec.generation.is_some() {
        return print_generation(record);
    }
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
    let sides = || results.points.iter().flat_map(|point| &point.sides);
    let has_energy = sides().any(|side| side.outcome.measurement().is_some_and(|found| found.step_joules.is_some()));
    let has_batches = sides().any(|side| side.largest_batch.is_some());
    let extra = [(has_energy, "energy"), (has_batches, "largest batch")];
    let extra = extra.into_iter().filter(|(is_known, _)| *is_known).map(|(_, title)| title.to_owned());
    let titles: Vec<String> = fields.chain(columns.map(str::to_owned)).chain(extra).collect();
    let mut table = TextTable::new(titles.iter().cloned());
    for point in &results.points {
        let first = point.sides.first().and_then(|side| side.outcome.measurement());
        let is_disturbed = point.disturbed_by().is_some();
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
                    match first.filter(|first| !std::ptr::eq(*first, found)) {
                        Some(first) => ratio_words(&found.step_secs, &first.step_secs, is_disturbed),
                        None => "1.000".to_owned(),
                    },
                    found.model_memory_bytes().map_or_else(|| "-".to_owned(), plain::bytes),
                    found.memory_ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
                    plain::flops(found.flops_per_sec()) + "/s",
                ]),
                None => cells.push(outcome_words(&side.outcome)),
            }
            if has_energy {
                let joules = side.outcome.measurement().and_then(|found| found.step_joules);
                cells.resize(titles.len() - 1 - usize::from(has_batches), String::new());
                cells.push(joules.map_or_else(|| "-".to_owned(), |joules| format!("{joules:.3} J")));
            }
            if has_batches {
                cells.resize(titles.len() - 1, String::new());
                cells.push(side.largest_batch.map_or_else(|| "-".to_owned(), |found| plain::count(found.batch as u64)));
            }
            table.row(cells);
        }
    }
    print::block(&table.to_plain())?;
    if spec.sides.len() > 1 {
        print::line(legend(results.points.iter().any(|point| point.disturbed_by().is_some())))?;
    }
    print_warnings(results)?;
    let sources =
        sides().filter_map(|side| side.outcome.measurement()).filter(|found| found.peak_memory_bytes.is_some());
    let is_own = |found: &Measurement| found.memory_source == MemorySource::OwnProcess;
    let (own, shared): (Vec<_>, Vec<_>) = sources.partition(|found| is_own(found));
    if !own.is_empty() {
        print::line("Memory: the peak of a process of its own for each side, less what the process held before.")?;
    }
    if !shared.is_empty() {
        let which = if own.is_empty() { "Memory" } else { "Memory of some sides" };
        print::line(format!(
            "{which}: the peak of the one process that measured everything; what it kept of models before is part of it."
        ))?;
    }
    if has_batches {
        print::line(format!(
            "Largest batch: by the estimate within {} % of the memory that was free{}, tried with one step.",
            LargestBatch::SHARE_PERCENT,
            spec.memory_bytes.map(|bytes| format!(" and {}", plain::bytes(bytes))).unwrap_or_default()
        ))?;
    }
    Ok(())
}

/// Says what speaks against the times.
fn print_warnings(results: &SweepResult) -> CliResult {
    measured::warnings(results).into_iter().try_for_each(print::line)
}

/// Texts that were generated: each cache at each point, and the ratios that a paper publishes.
fn print_generation(record: &BenchmarkRecord) -> CliResult {
    let BenchmarkRecord { spec, results, .. } = record;
    let fields = spec.axes.iter().map(|axis| axis.field.clone());
    let columns =
        ["cache", "samples/s", "run", "reading", "token", "attention", "build k/v", "query", "attend", "kept"];
    let has_batches = results.points.iter().flat_map(|point| &point.sides).any(|side| side.largest_batch.is_some());
    let batches = has_batches.then_some(["largest batch", "samples/s with it"]).into_iter().flatten();
    let titles: Vec<String> = fields.chain(columns.into_iter().chain(batches).map(str::to_owned)).collect();
    let mut table = TextTable::new(titles.iter().cloned());
    for point in &results.points {
        for side in &point.sides {
            let mut cells: Vec<String> = point.settings.iter().map(|setting| setting.value.clone()).collect();
            cells.push(side.side.clone());
            match side.outcome.generation() {
                Some(found) => {
                    let group = |group: &GroupTime| millis(group.seconds);
                    cells.extend([
                        format!("{:.2}", found.samples_per_sec()),
                        millis(found.total_secs.median),
                        millis(found.reading_secs),
                        millis(found.token_secs()),
                        millis(found.attention_secs()),
                    ]);
                    cells.extend(found.groups.iter().map(group));
                    cells.push(plain::bytes(found.cache_bytes));
                }
                None => cells.push(outcome_words(&side.outcome)),
            }
            if let Some(largest) = &side.largest_batch {
                cells.resize(titles.len() - 2, String::new());
                let rate = largest.run_secs.map(|secs| format!("{:.2}", largest.batch as f64 / secs));
                let missing = || if largest.is_confirmed { "-" } else { "no run ended" }.to_owned();
                cells.extend([plain::count(largest.batch as u64), rate.unwrap_or_else(missing)]);
            }
            table.row(cells);
        }
    }
    print::block(&table.to_plain())?;
    print_warnings(results)?;
    print::line(
        "run: from the sources to the last token. token, attention: of one text, all beams together, without the reading. \
         build k/v, query, attend: attention to the source in one step of all texts.",
    )?;
    if has_batches {
        print::line(format!(
            "Largest batch: by the estimate within {} % of the memory that was free{}, tried with one run.",
            LargestBatch::SHARE_PERCENT,
            spec.memory_bytes.map(|bytes| format!(" and {}", plain::bytes(bytes))).unwrap_or_default()
        ))?;
    }
    let ratios = measured::published_ratios(spec, &results.points);
    if ratios.is_empty() {
        return Ok(());
    }
    let mut table = TextTable::new(["ratio", "published", "measured"]);
    let mut is_any_disturbed = false;
    for ratio in ratios {
        let is_disturbed = ratio.is_disturbed && ratio.measured.is_some();
        is_any_disturbed |= is_disturbed;
        let mark = if is_disturbed { [" ", Standing::Disturbed.word()].concat() } else { String::new() };
        let here = ratio.measured.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}{mark}"));
        table.row([ratio.what, format!("{}, {}", ratio.published, ratio.place), here]);
    }
    print::block(&table.to_plain())?;
    if is_any_disturbed {
        print::line(DISTURBED)?;
    }
    print::line(measured::PUBLISHED_SETTING)
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
        Outcome::Generated(found) => format!(
            "{:.2} samples/s ({} to {} a run), {} a token, {} of it attention to the source, {} kept",
            found.samples_per_sec(),
            millis(found.total_secs.lower),
            millis(found.total_secs.upper),
            millis(found.token_secs()),
            millis(found.attention_secs()),
            plain::bytes(found.cache_bytes)
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

fn points_words(known: &BenchmarkSummary) -> String {
    let all = counted(known.points_total, "point");
    if known.is_complete() { all } else { format!("{} of {all}", known.points) }
}

/// What measured and on what: device, processor and program.
fn made_by(known: &BenchmarkSummary) -> String {
    format!("{}, {}, Headroom {}", known.device_words(), known.machine.cpu, known.program())
}
