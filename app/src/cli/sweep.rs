//! `headroom sweep`: a config with several values of its fields, trained and compared.

use std::path::Path;

use headroom_engine::config::{Axis, Combine, SpecError, Sweep};

use super::{
    args::SweepArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    race_follow::QueuedRace,
};

/// Queues a sweep and follows it to its end.
pub fn run(store: Option<&Path>, args: &SweepArgs) -> CliResult {
    queued(store, args)?.run()
}

fn queued<'a>(store: Option<&'a Path>, args: &SweepArgs) -> CliResult<QueuedRace<'a>> {
    let given = GivenConfig::read_to_train(&args.config)?;
    let bad = |error: SpecError| CliError::at("--over", error.to_string());
    let axes = args.over.iter().map(|text| text.parse::<Axis>()).collect::<Result<Vec<_>, _>>().map_err(bad)?;
    let combine = if args.list { Combine::List } else { Combine::Grid };
    if args.seeds > 1 && axes.iter().any(|axis| axis.field == "seed") {
        return Err(CliError::at("--seeds", "Give seeds once: as --over seed=1,2,3 or as --seeds 3."));
    }
    let entrants = Sweep { base: given.config.clone(), axes, combine }.entrants().map_err(bad)?;
    let (seeds, skip, json) = (args.seeds, args.skip, args.json);
    Ok(QueuedRace { kind: "sweep", store, given, entrants, seeds, skip, json })
}
