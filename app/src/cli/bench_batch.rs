//! `headroom bench largest-batch`: how many examples of a forward pass fit into memory.

use headroom_engine::{
    attention::estimated_vocabulary,
    config::counted,
    speed::{LargestBatch, MemoryProbe, largest_batch},
};

use super::{
    bench_args::LargestBatchArgs,
    common_args::ConfigArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    plain, print, signals,
};

/// Finds it and takes one step with it.
pub fn run(args: &LargestBatchArgs) -> CliResult {
    let given = ConfigArgs { config: Some(args.config.clone()), set: args.set.clone(), ..ConfigArgs::default() };
    let config = GivenConfig::read(&given)?.config;
    let vocabulary = args.vocabulary.unwrap_or_else(|| estimated_vocabulary(&config));
    signals::listen();
    let probe = MemoryProbe::of_this_program();
    let found = largest_batch(&config, vocabulary, args.memory, &probe, &signals::is_stop_wanted)
        .map_err(|error| CliError::of_training(&error))?;
    if args.json {
        return print::json(&found);
    }
    let (needed, free) = (plain::bytes(found.needed_bytes), usable(&found));
    if found.batch == 0 {
        return print::line(format!("Not even one example fits: it needs {needed}, {free} may be used."));
    }
    let tried = match found.peak_memory_bytes {
        _ if !found.is_confirmed => "No step could be taken with as many.".to_owned(),
        Some(peak) => {
            format!("A step was taken with as many; the process that took it held {} at most.", plain::bytes(peak))
        }
        None => "A step was taken with as many.".to_owned(),
    };
    print::line(format!(
        "{} {needed} by the estimate, {free} may be used. {tried}",
        match found.batch {
            1 => "1 example fits: it needs".to_owned(),
            more => format!("{} fit: they need", counted(more, "example")),
        }
    ))
}

/// What a search may use, and of how much.
fn usable(found: &LargestBatch) -> String {
    let usable = plain::bytes(found.free_bytes);
    match found.machine_free_bytes {
        Some(free) if free / 100 * LargestBatch::SHARE_PERCENT == found.free_bytes => {
            format!("{usable} ({} % of the {} that were free)", LargestBatch::SHARE_PERCENT, plain::bytes(free))
        }
        _ => usable,
    }
}
