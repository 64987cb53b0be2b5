//! `headroom bench forward`: how long a model directory takes to read.

use headroom_engine::{
    config::counted,
    jobs::{ForwardSpec, forward_times},
    machine::cores,
    speed::in_pool,
};
use serde_json::json;

use super::{
    bench_args::BenchForwardArgs,
    error::{CliError, CliResult},
    plain, print, signals,
};
use crate::format;

/// Times forward passes.
pub fn run(args: &BenchForwardArgs) -> CliResult {
    headroom_engine::ops::tune_process();
    signals::listen();
    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let spec = ForwardSpec {
        batch: whole(args.batch),
        tokens: whole(args.tokens),
        warmup: whole(args.warmup),
        runs: whole(args.runs),
    };
    let threads = args.threads.map_or_else(cores, whole);
    let found = in_pool(threads, || {
        forward_times(&args.directory, &spec, &signals::is_stop_wanted).map_err(|why| why.to_string())
    })
    .map_err(|error| CliError::of_training(&error))?
    .map_err(|why| CliError::at("DIR", why))?;
    if args.json {
        return print::json(&json!({
            "seconds": found.seconds,
            "flops": found.flops,
            "parameters": found.parameters,
            "batch": spec.batch,
            "tokens": spec.tokens,
            "threads": threads,
        }));
    }
    let mut sorted = found.seconds.clone();
    sorted.sort_by(f64::total_cmp);
    let Some(median) = sorted.get(sorted.len() / 2) else {
        return print::line("It was stopped before a pass was timed.");
    };
    print::line(format!(
        "{} of {} of {}: median {} s of {}, {}, on {}",
        args.directory.display(),
        counted(spec.batch as u64, "example"),
        counted(spec.tokens as u64, "token"),
        plain::number(*median),
        counted(found.seconds.len() as u64, "run"),
        format::rate(found.flops as f64 / median, "FLOP"),
        counted(threads as u64, "thread")
    ))
}
