//! `headroom bench largest-batch`: how many examples of a forward pass fit into memory.

use headroom_engine::{attention::estimated_vocabulary, config::counted, speed::largest_batch};

use super::{
    bench_args::LargestBatchArgs,
    common_args::ConfigArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    plain, print,
};

/// Finds it and takes one step with it.
pub fn run(args: &LargestBatchArgs) -> CliResult {
    let given = ConfigArgs { config: Some(args.config.clone()), set: args.set.clone(), ..ConfigArgs::default() };
    let config = GivenConfig::read(&given)?.config;
    let vocabulary = args.vocabulary.unwrap_or_else(|| estimated_vocabulary(&config));
    let found = largest_batch(&config, vocabulary, args.memory).map_err(|error| CliError::of_training(&error))?;
    if args.json {
        return print::json(&found);
    }
    let (needed, free) = (plain::bytes(found.needed_bytes), plain::bytes(found.free_bytes));
    if found.batch == 0 {
        return print::line(format!("Not even one example fits: it needs {needed}, {free} may be used."));
    }
    print::line(format!(
        "{} {needed} by the estimate, {free} may be used. A step was taken with as many.",
        match found.batch {
            1 => "1 example fits: it needs".to_owned(),
            more => format!("{} fit: they need", counted(more, "example")),
        }
    ))
}
