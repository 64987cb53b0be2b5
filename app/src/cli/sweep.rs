//! `headroom sweep`: a config with several values of its fields, trained and compared.

use std::path::Path;

use headroom_engine::config::{Axis, Combine, Problem, Sweep, SweepMistake};

use super::{
    args::SweepArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    race_follow::QueuedRace,
};

/// The option that names fields and values.
const OPTION: &str = "--over";

/// Queues a sweep and follows it to its end.
pub fn run(store: Option<&Path>, args: &SweepArgs) -> CliResult {
    queued(store, args)?.run()
}

fn queued<'a>(store: Option<&'a Path>, args: &SweepArgs) -> CliResult<QueuedRace<'a>> {
    let given = GivenConfig::read_to_train(&args.config)?;
    let axes: Vec<Axis> = args.over.iter().map(|text| Axis::as_typed(text)).collect();
    let combine = if args.list { Combine::List } else { Combine::Grid };
    if args.seeds > 1 && axes.iter().any(|axis| axis.field == "seed") {
        return Err(CliError::at("--seeds", "Give seeds once: as --over seed=1,2,3 or as --seeds 3."));
    }
    let entrants = Sweep { base: given.config.clone(), axes, combine }.entrants();
    let entrants = entrants.map_err(|mistakes| refused(&mistakes))?;
    let (seeds, skip, json) = (args.seeds, args.skip, args.json);
    Ok(QueuedRace { kind: "sweep", store, given, entrants, seeds, skip, json })
}

/// Everything that is wrong with what is swept: at the option, or at the field of the config where that is to blame.
fn refused(mistakes: &[SweepMistake]) -> CliError {
    let problem = |mistake: &SweepMistake| match mistake {
        SweepMistake::UnknownField(problem) | SweepMistake::Value { problem, .. } => problem.clone(),
        other => Problem::new(OPTION, other.to_string()),
    };
    let problems: Vec<Problem> = mistakes.iter().map(problem).collect();
    match problems.as_slice() {
        [only] if only.field == OPTION => CliError::at(OPTION, only.message()),
        all => CliError::problems("The sweep", all),
    }
}
