//! `headroom train`: a config to its end.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use headroom_engine::{
    config::{Problem, RunConfig},
    worker::{Command, Engine, Event},
};

use super::{
    args::TrainArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult, joined},
    follow::Follower,
    open,
};

/// How long the check of files, device and memory may take.
const CHECK_PATIENCE: Duration = Duration::from_mins(1);

/// Trains.
pub fn run(store: Option<&Path>, args: &TrainArgs) -> CliResult {
    let (engine, given) = begin(store, args)?;
    let command = Command::Enqueue { config: Box::new(given.config), base_dir: given.base_dir };
    Follower::new(None, store, args.json).follow(engine, command)
}

/// The config and an engine for it, once all was checked that can be before there is a run.
fn begin(store: Option<&Path>, args: &TrainArgs) -> CliResult<(Engine, GivenConfig)> {
    let given = GivenConfig::read(&args.config)?;
    let engine = open::engine(store, false)?;
    let problems = check(&engine, &given.config, &given.base_dir)?;
    if problems.is_empty() {
        return Ok((engine, given));
    }
    engine.shutdown(CHECK_PATIENCE);
    Err(CliError::problems(&given.label, &problems))
}

/// What a config alone cannot tell: whether its files are there, its device, and memory enough.
pub(super) fn check(engine: &Engine, config: &RunConfig, base_dir: &Path) -> CliResult<Vec<Problem>> {
    engine.send(Command::Check { config: Box::new(config.clone()), base_dir: base_dir.to_owned(), revision: 0 })?;
    checked(engine)
}

/// What the engine found.
fn checked(engine: &Engine) -> CliResult<Vec<Problem>> {
    let start = Instant::now();
    while start.elapsed() < CHECK_PATIENCE {
        match engine.wait_event(Duration::from_millis(200)).map(|notice| notice.event) {
            Some(Event::Checked { problems, .. }) => return Ok(problems),
            Some(Event::Failed { why, what_to_do, run: None }) => {
                return Err(CliError::Failed(joined(&why, &what_to_do)));
            }
            Some(Event::Ended) => break,
            _ => {}
        }
    }
    Err(CliError::Failed("The engine does not answer. Try again.".to_owned()))
}
