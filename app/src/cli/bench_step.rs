//! `headroom bench step`: how long a training step takes, and where its time goes.

use headroom_engine::{
    config::{RunConfig, counted, from_toml_with},
    machine::devices,
    speed::{MachineLimits, StepSpeed, StepTime, compare, in_pool, limits_of, peak_memory_bytes},
    store::Machine,
    train::TrainError,
};
use serde_json::json;

use super::{
    bench_args::BenchStepArgs,
    error::{CliError, CliResult},
    print, signals,
};
use crate::{
    export::TextTable,
    format,
    measured::{PAST_PRODUCTS, passes_products},
};

/// One of the times of a step, in seconds.
type Part = fn(&StepTime) -> f64;

/// What was measured.
struct Measured {
    times: Vec<StepTime>,
    /// The step whose operations were timed.
    profiled: Option<StepTime>,
    operations: Vec<headroom_engine::ops::profile::OperationTime>,
    limits: MachineLimits,
    peak_memory_bytes: Option<u64>,
    device_peak_bytes: Option<u64>,
    parameters: u64,
    tokens: u64,
    flops_per_step: u64,
    predicted_memory_bytes: u64,
}

impl Measured {
    /// The FLOPs of a median step in its time beside the rate at which the machine multiplies matrices: 1.0 = a step that were
    /// nothing but products in the cache. It survives a change of machine, which a time does not.
    fn share_of_product_rate(&self) -> f64 {
        let [_, step, _] = spread(self, |time| time.step_secs);
        self.flops_per_step as f64 / step / self.limits.product_flops_per_sec
    }
}

/// Times whole training steps of one model on random tokens.
pub fn run(args: &BenchStepArgs) -> CliResult {
    headroom_engine::ops::tune_process();
    signals::listen();
    let config = config(args)?;
    if args.steps == 0 {
        return Err(CliError::at("--steps", "--steps is 0: there would be nothing to measure."));
    }
    let threads = config.threads_used();
    if let Some(note) = config.threads_note() {
        print::aside(format!("Warning: {note}"));
    }
    let measured = in_pool(threads, || measure(args, &config))
        .map_err(|error| CliError::of_training(&error))?
        .map_err(|error| CliError::of_training(&error))?;
    if args.json { print_json(args, threads, &measured) } else { print_table(args, threads, &measured) }
}

fn config(args: &BenchStepArgs) -> CliResult<RunConfig> {
    let BenchStepArgs { width, layers, heads, sequence_length, batch, dropout, .. } = args;
    let quoted = |text: &String| toml::Value::String(text.clone()).to_string();
    let mut fields = vec![
        format!("model.kind={}", quoted(&args.kind)),
        format!("model.width={width}"),
        format!("model.layers={layers}"),
        format!("model.heads={heads}"),
        format!("model.feed_forward={}", args.feed_forward.unwrap_or(4 * width)),
        format!("model.dropout={dropout:?}"),
        format!("data.sequence_length={sequence_length}"),
        format!("train.batch={batch}"),
        format!("device={}", quoted(&args.device)),
    ];
    if args.kind == "encoder_decoder" {
        // Its batches are as random as any others; only such data have two sides.
        fields.push("data.kind=\"number_words\"".to_owned());
    }
    fields.extend(args.threads.map(|threads| format!("threads={threads}")));
    let answers = [("reuse", &args.reuse), ("compatibility", &args.compatibility), ("coverage", &args.coverage)];
    for (question, answer) in answers {
        fields.extend(answer.iter().flat_map(|answer| answer_fields(question, answer)));
    }
    fields.extend(args.set.iter().cloned());
    let config =
        from_toml_with("format = 1\n", &fields).map_err(|error| CliError::of_config("The model to measure", &error))?;
    let problems = config.validate();
    if problems.is_empty() { Ok(config) } else { Err(CliError::problems("The model to measure", &problems)) }
}

/// The fields of an answer to one of the four questions, from `kind:field=value,field=value`.
fn answer_fields(question: &str, answer: &str) -> Vec<String> {
    let (kind, numbers) = answer.split_once(':').unwrap_or((answer, ""));
    let kind = toml::Value::String(kind.trim().to_owned());
    let mut fields = vec![format!("attention.{question}.kind={kind}")];
    let numbers = numbers.split(',').map(str::trim).filter(|number| !number.is_empty());
    fields.extend(numbers.map(|number| format!("attention.{question}.{number}")));
    fields
}

fn measure(args: &BenchStepArgs, config: &RunConfig) -> Result<Measured, TrainError> {
    let mut subjects = [StepSpeed::new(config.clone(), args.vocabulary)?];
    let times = compare(&mut subjects, args.warmup, args.steps, |_| !signals::is_stop_wanted())?;
    // Before the limits are measured, which take memory of their own.
    let peak_memory_bytes = peak_memory_bytes();
    let [subject] = &mut subjects;
    let device_peak_bytes = subject.device_peak_bytes();
    let (profiled, operations) = if args.profile {
        let (time, operations) = subject.profiled_step()?;
        (Some(time), operations)
    } else {
        (None, Vec::new())
    };
    Ok(Measured {
        times: times.into_iter().flatten().collect(),
        profiled,
        operations,
        limits: limits_of(config)?,
        peak_memory_bytes,
        device_peak_bytes,
        parameters: subject.parameters(),
        tokens: subject.tokens(),
        flops_per_step: subject.cost().flops_per_step,
        predicted_memory_bytes: subject.cost().memory_bytes,
    })
}

fn print_json(args: &BenchStepArgs, threads: usize, measured: &Measured) -> CliResult {
    let part = |part: Part| measured.times.iter().map(part).collect::<Vec<_>>();
    print::json(&json!({
        "step_seconds": part(|time| time.step_secs),
        "forward_seconds": part(|time| time.forward_secs),
        "backward_seconds": part(|time| time.backward_secs),
        "optimiser_seconds": part(|time| time.optimiser_secs),
        "peak_memory_bytes": measured.peak_memory_bytes,
        "device_peak_memory_bytes": measured.device_peak_bytes,
        "predicted_memory_bytes": measured.predicted_memory_bytes,
        "parameters": measured.parameters,
        "tokens": measured.tokens,
        "flops_per_step": measured.flops_per_step,
        "vocabulary": args.vocabulary,
        "threads": threads,
        "device": args.device,
        "device_name": devices().into_iter().find(|device| device.id == args.device).map(|device| device.name),
        "machine": Machine::current(),
        "version": env!("CARGO_PKG_VERSION"),
        "git_commit": headroom_engine::GIT_COMMIT,
        "git_dirty": headroom_engine::GIT_DIRTY,
        "operations": measured.operations,
        "limits": measured.limits,
        "share_of_product_rate": measured.share_of_product_rate(),
    }))
}

/// Least, median and most of some seconds.
fn spread(measured: &Measured, part: Part) -> [f64; 3] {
    let mut seconds: Vec<f64> = measured.times.iter().map(part).collect();
    seconds.sort_by(f64::total_cmp);
    let at = |place: usize| seconds.get(place).copied().unwrap_or(f64::NAN);
    [at(0), at(seconds.len() / 2), at(seconds.len().saturating_sub(1))]
}

fn print_table(args: &BenchStepArgs, threads: usize, measured: &Measured) -> CliResult {
    let [_, step, _] = spread(measured, |time| time.step_secs);
    print::line(format!(
        "{} of {}, width {}: {}, {} a step, {} on {}.",
        args.kind,
        counted(args.layers, "layer"),
        format::count(args.width as u64),
        counted(measured.parameters, "parameter"),
        counted(measured.tokens, "token"),
        counted(threads, "thread"),
        args.device,
    ))?;
    let mut table = TextTable::new(["part", "median", "least", "most", "share"]);
    let milliseconds = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
    let parts: [(&str, Part); 4] = [
        ("step", |time| time.step_secs),
        ("forward", |time| time.forward_secs),
        ("backward", |time| time.backward_secs),
        ("optimiser", |time| time.optimiser_secs),
    ];
    for (name, part) in parts {
        let [least, median, most] = spread(measured, part);
        let share = format!("{:.0} %", 100.0 * median / step);
        table.row([name.to_owned(), milliseconds(median), milliseconds(least), milliseconds(most), share]);
    }
    print::block(&table.to_plain())?;
    let memory = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), format::bytes);
    print::line(format!(
        "{} tokens/s; {} a step, {}/s; peak memory of {} ({} predicted for the model).",
        format::count((measured.tokens as f64 / step) as u64),
        format::flops(measured.flops_per_step as f64),
        format::flops(measured.flops_per_step as f64 / step),
        match measured.device_peak_bytes {
            Some(bytes) => format!("tensors on {} {}", args.device, format::bytes(bytes)),
            None => format!("the process {}", memory(measured.peak_memory_bytes)),
        },
        format::bytes(measured.predicted_memory_bytes),
    ))?;
    print::line(format!(
        "{:.2} of the rate of products of {} ({}/s).",
        measured.share_of_product_rate(),
        limited(measured.limits),
        format::flops(measured.limits.product_flops_per_sec),
    ))?;
    if args.profile { print_operations(measured) } else { Ok(()) }
}

/// What has these limits.
pub fn limited(limits: MachineLimits) -> String {
    match limits.threads {
        0 => "this GPU".to_owned(),
        threads => format!("this machine with {}", counted(threads, "thread")),
    }
}

/// Every kind of operation beside what the machine could do at best.
fn print_operations(measured: &Measured) -> CliResult {
    let limits = measured.limits;
    print::line(format!(
        "\nLimits of {}: products {}/s, copies {}/s.",
        limited(limits),
        format::flops(limits.product_flops_per_sec),
        format::bytes(limits.copy_bytes_per_sec as u64),
    ))?;
    let mut operations = measured.operations.clone();
    operations.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let mut table = TextTable::new(["operation", "calls", "time", "limit", "of limit", "rate"]);
    let (mut all, mut all_limits) = (0.0, 0.0);
    for operation in &operations {
        let limit = if operation.flops > 0 {
            operation.flops as f64 / limits.product_flops_per_sec
        } else {
            operation.bytes as f64 / limits.copy_bytes_per_sec
        };
        (all, all_limits) = (all + operation.seconds, all_limits + limit);
        let rate = if operation.flops > 0 {
            format!("{}/s", format::flops(operation.flops as f64 / operation.seconds))
        } else {
            format!("{}/s", format::bytes((operation.bytes as f64 / operation.seconds) as u64))
        };
        table.row([
            operation.name.clone(),
            operation.calls.to_string(),
            format!("{:.2} ms", operation.seconds * 1e3),
            format!("{:.2} ms", limit * 1e3),
            format!("{:.0} %", 100.0 * limit / operation.seconds),
            rate,
        ]);
    }
    if let Some(step) = measured.profiled {
        let between = (step.step_secs - all).max(0.0);
        all += between;
        let time = format!("{:.2} ms", between * 1e3);
        table.row(["between operations".to_owned(), String::new(), time, String::new(), String::new(), String::new()]);
    }
    let of_limit = format!("{:.0} %", 100.0 * all_limits / all);
    table.row([
        "All".to_owned(),
        String::new(),
        format!("{:.2} ms", all * 1e3),
        format!("{:.2} ms", all_limits * 1e3),
        of_limit,
        String::new(),
    ]);
    print::block(&table.to_plain())?;
    if operations.iter().any(|operation| passes_products(&limits, operation.flops as f64, operation.seconds)) {
        print::line(PAST_PRODUCTS)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::answer_fields;

    #[test]
    fn an_answer_is_a_kind_with_its_numbers() {
        assert_eq!(answer_fields("reuse", "alternate"), ["attention.reuse.kind=\"alternate\""]);
        let fields = answer_fields("reuse", "first: layers=2, heads=4");
        assert_eq!(fields[1..], ["attention.reuse.layers=2", "attention.reuse.heads=4"]);
    }
}
