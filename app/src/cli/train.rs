//! `headroom train`: a config to its end.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use headroom_engine::{
    config::{Problem, RunConfig},
    protocol::{Event, commands, events},
};

use super::{
    args::TrainArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    follow::Follower,
    session::{Heard, Session},
};

/// How long the check of files, device and memory may take.
const CHECK_PATIENCE: Duration = Duration::from_mins(1);

/// Trains.
pub fn run(store: Option<&Path>, args: &TrainArgs) -> CliResult {
    let (session, given) = begin(store, args)?;
    let command = commands::Enqueue { config: Box::new(given.config), base_dir: given.base_dir };
    Follower::new(None, store, args.json).follow(session, command)
}

/// The config and a session for it, once all was checked that can be before there is a run.
fn begin(store: Option<&Path>, args: &TrainArgs) -> CliResult<(Session, GivenConfig)> {
    let given = GivenConfig::read_to_train(&args.config)?;
    let session = Session::open(store, false)?;
    let problems = check(&session, &given.config, &given.base_dir)?;
    if problems.is_empty() {
        return Ok((session, given));
    }
    Err(CliError::problems(&given.label, &problems))
}

/// What a config alone cannot tell: whether its files are there, its device, and memory enough.
pub(super) fn check(session: &Session, config: &RunConfig, base_dir: &Path) -> CliResult<Vec<Problem>> {
    let start = Instant::now();
    let command = commands::Check { config: Box::new(config.clone()), base_dir: base_dir.to_owned(), revision: 0 };
    let ticket = session.send(command)?;
    session.follow(ticket, "the check did", |event| match event {
        Some(Event::Checked(events::Checked { problems, .. })) => Ok(Heard::Answer(problems)),
        _ if start.elapsed() >= CHECK_PATIENCE => {
            Err(CliError::Failed("The engine does not answer. Try again.".to_owned()))
        }
        event => Ok(event.map_or(Heard::Taken, Heard::Usual)),
    })
}
