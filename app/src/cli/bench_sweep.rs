//! `headroom bench sweep`: training steps at many points, side against side.

use std::path::Path;

use headroom_engine::{
    config::{Problem, RunConfig, SweepMistake, counted},
    protocol::{Event, commands, events},
    speed::{Outcome, Point, PointResult, Setting, SweepSpec, TypedMistakes},
    store::{BenchmarkId, BenchmarkRecord},
};

use crate::{format::with_capital, measured::disturbed_words};

use super::{
    bench_args::BenchSweepArgs,
    bench_show, bench_step,
    common_args::ConfigArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    job::{Shown, ignored, run_command, run_job},
    plain, print,
    session::Session,
    signals,
};

/// The options that name axes and sides.
const AXIS: &str = "--axis";
const SIDE: &str = "--side";
/// So many problems of points that cannot be built are told.
const MOST_TOLD: usize = 10;

/// Measures, and keeps what was measured; Ctrl-C ends it with what there is.
pub fn run(store: Option<&Path>, args: &BenchSweepArgs) -> CliResult {
    headroom_engine::ops::tune_process();
    let (spec, session) = begin(store, args)?;
    let name = args.name.clone().unwrap_or_else(|| default_name(&spec));
    finish(session, name, spec, (args.json, args.csv))
}

/// Measures what was checked, and prints what was kept: as JSON, as CSV, or as a table.
pub fn finish(session: Session, name: String, spec: SweepSpec, (json, csv): (bool, bool)) -> CliResult {
    signals::listen();
    let (record, complete) = follow(&session, name, spec)?;
    session.end();
    if json {
        bench_show::print_json(&record)?;
    } else if csv {
        print::block(&headroom_engine::speed::sweep_csv(&record.spec, &record.results))?;
    } else {
        bench_show::print_record(&record)?;
    }
    if complete {
        refuse_nothing(&record)
    } else {
        let (points, all) = (record.summary.points, record.summary.points_total);
        Err(CliError::Failed(format!(
            "Stopped after {points} of {}; what was measured is kept as {}.",
            counted(all, "point"),
            record.summary.id
        )))
    }
}

/// What is measured, checked whole, and a session for it.
fn begin(store: Option<&Path>, args: &BenchSweepArgs) -> CliResult<(SweepSpec, Session)> {
    let spec = spec(args)?;
    Ok((spec, Session::open(store, false)?))
}

fn spec(args: &BenchSweepArgs) -> CliResult<SweepSpec> {
    let given = GivenConfig::read(&ConfigArgs {
        config: Some(args.config.clone()),
        set: args.set.clone(),
        device: args.device.clone(),
        threads: args.threads,
        ..ConfigArgs::default()
    })?;
    let axes = if args.axis.is_empty() { vec![lengths(&given.config)] } else { args.axis.clone() };
    let BenchSweepArgs { vocabulary, warmup, steps, repeats, largest_batch, memory: memory_bytes, .. } = *args;
    let spec = SweepSpec {
        base: given.config,
        vocabulary,
        warmup,
        steps,
        repeats,
        largest_batch,
        memory_bytes,
        ..SweepSpec::default()
    };
    let (spec, points) = spec.typed(&axes, &args.side).map_err(|mistakes| refused(&mistakes))?;
    if let Some(note) = spec.base.threads_note() {
        print::aside(format!("Warning: {note}"));
    }
    refuse_what_cannot_be_built(&points)?;
    Ok(spec)
}

/// Everything that is wrong with axes and sides: at their options, or at the field of the config where that is to blame.
fn refused(mistakes: &TypedMistakes) -> CliError {
    let of_axis = |mistake: &SweepMistake| match mistake {
        SweepMistake::UnknownField(problem) | SweepMistake::Value { problem, .. } => problem.clone(),
        other => Problem::new(AXIS, other.to_string()),
    };
    let axes = mistakes.axes.iter().map(of_axis);
    let sides = mistakes.sides.iter().map(|mistake| Problem::new(SIDE, mistake.to_string()));
    let whole = mistakes.whole.iter().map(|mistake| Problem::new(AXIS, mistake.to_string()));
    let problems: Vec<Problem> = axes.chain(sides).chain(whole).collect();
    match problems.as_slice() {
        [only] if [AXIS, SIDE].contains(&only.field.as_str()) => CliError::at(only.field.clone(), only.message()),
        all => CliError::problems("The sweep", all),
    }
}

/// The axis where none is given: a quarter, half and all of the config's sequence length.
fn lengths(config: &RunConfig) -> String {
    let longest = config.data.sequence_length;
    let mut lengths = vec![longest / 4, longest / 2, longest];
    lengths.retain(|length| *length >= 4);
    let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
    format!("data.sequence_length={}", lengths.join(","))
}

/// A point that cannot be built is a result; nothing but such points is a mistake.
pub fn refuse_what_cannot_be_built(points: &[Point]) -> CliResult {
    let subjects = || points.iter().flat_map(|point| point.subjects.iter().map(move |subject| (point, subject)));
    if subjects().any(|(_, subject)| subject.problems.is_empty()) {
        return Ok(());
    }
    let mut lines = vec!["None of these points can be built; nothing was measured. Correct the fields:".to_owned()];
    let mut problems = Vec::new();
    for (point, subject) in subjects() {
        let at = point.settings.iter().map(Setting::to_override).collect::<Vec<_>>().join(", ");
        let side = if points.iter().any(|point| point.subjects.len() > 1) {
            format!(" ({})", subject.side)
        } else {
            String::new()
        };
        lines.extend(subject.problems.iter().map(|problem| format!("  {at}{side}: {problem}")));
        problems.extend(subject.problems.iter().cloned());
    }
    let more = lines.len().saturating_sub(1 + MOST_TOLD);
    if more > 0 {
        lines.truncate(1 + MOST_TOLD);
        lines.push(format!("  and {} of other points", counted(more, "problem")));
    }
    Err(CliError::Problems { message: lines.join("\n"), problems })
}

/// Whether anything was measured; where nothing was, it is said why the command did not do what it is for.
fn refuse_nothing(record: &BenchmarkRecord) -> CliResult {
    let outcomes = || record.results.points.iter().flat_map(|point| &point.sides).map(|side| &side.outcome);
    if outcomes().next().is_none() || outcomes().any(Outcome::is_measured) {
        return Ok(());
    }
    let id = &record.summary.id;
    let why = format!("No point could be measured; what kept each from it is kept as {id}.");
    let is_mistaken = outcomes().all(|outcome| matches!(outcome, Outcome::Invalid { .. }));
    Err(if is_mistaken { CliError::BadInput(why) } else { CliError::Failed(why) })
}

/// The swept fields and their values.
pub fn default_name(spec: &SweepSpec) -> String {
    spec.axes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ")
}

/// Shows what happens until the measurement ends; what was kept, and whether it is all.
///
/// # Errors
/// Also where it was stopped before a point was measured: nothing is kept then.
fn follow(session: &Session, name: String, spec: SweepSpec) -> CliResult<(BenchmarkRecord, bool)> {
    let benchmark = BenchmarkId::new();
    let job = commands::Measure { benchmark: benchmark.clone(), name, spec: Box::new(spec) };
    let mut measured = 0;
    let ended = run_job(session, job, "run", Shown::lines(), |event| {
        let Event::MeasuredPoint(events::MeasuredPoint { point, limits, .. }) = event else { return Ok(()) };
        match (point, limits) {
            (Some(point), _) => {
                measured += 1;
                tell_point(&point);
            }
            (None, Some(limits)) => print::aside(format!(
                "Limits of {}: products {}/s, copies {}/s.",
                bench_step::limited(limits),
                plain::flops(limits.product_flops_per_sec),
                plain::bytes(limits.copy_bytes_per_sec as u64),
            )),
            (None, None) => {}
        }
        Ok(())
    })?;
    if let Some(why) = ended.why {
        return Err(CliError::Failed(why));
    }
    let complete = ended.complete;
    if measured == 0 && !complete {
        return Err(CliError::Failed("Stopped before a point was measured; nothing is kept.".to_owned()));
    }
    let command = commands::LoadBenchmark { benchmark };
    let events::Benchmark { record } = run_command(session, command, "benchmark", Shown::Silent, ignored)?;
    Ok((*record, complete))
}

/// Tells what came of a point.
fn tell_point(point: &PointResult) {
    for side in &point.sides {
        let batch = side.largest_batch.map(|found| {
            let run = found.run_secs.map(|secs| format!(", {:.1} samples/s", found.batch as f64 / secs));
            format!("; largest batch {}{}", plain::count(found.batch as u64), run.unwrap_or_default())
        });
        let words = bench_show::outcome_words(&side.outcome);
        print::aside(format!("  {}: {words}{}", side.side, batch.unwrap_or_default()));
    }
    if let Some(words) = disturbed_words(point) {
        print::aside(format!("  {}", with_capital(&words)));
    }
}
