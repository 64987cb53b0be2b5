//! `headroom train`: a config to its end.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use headroom_engine::{
    config::Problem,
    worker::{Command, Engine, Event},
};

use super::{
    args::TrainArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    follow::Follower,
    open,
};

/// How long the check of files, device and memory may take.
const CHECK_PATIENCE: Duration = Duration::from_mins(1);

/// Trains.
pub fn run(store: Option<&Path>, args: &TrainArgs) -> CliResult {
    let GivenConfig { label, config, base_dir } = GivenConfig::read(&args.config)?;
    let engine = open::engine(store, false)?;
    let config = Box::new(config);
    engine.send(Command::Check { config: config.clone(), base_dir: base_dir.clone(), ticket: 0 })?;
    let problems = checked(&engine)?;
    if !problems.is_empty() {
        engine.shutdown(CHECK_PATIENCE);
        return Err(CliError::problems(&label, &problems));
    }
    Follower::new(None, store, args.json).follow(engine, Command::Enqueue { config, base_dir })
}

/// What the engine found.
fn checked(engine: &Engine) -> CliResult<Vec<Problem>> {
    let start = Instant::now();
    while start.elapsed() < CHECK_PATIENCE {
        match engine.wait_event(Duration::from_millis(200)) {
            Some(Event::Checked { problems, .. }) => return Ok(problems),
            Some(Event::Failed { why, what_to_do, run: None }) => {
                return Err(CliError::Failed(format!("{why} {what_to_do}")));
            }
            Some(Event::Ended) => break,
            _ => {}
        }
    }
    Err(CliError::Failed("The engine does not answer. Try again.".to_owned()))
}
