//! `headroom resume`: a run that ended early goes on.

use std::path::Path;

use headroom_engine::worker::Command;

use super::{args::ResumeArgs, error::CliResult, follow::Follower, open};

/// Goes on with the run.
pub fn run(store: Option<&Path>, args: &ResumeArgs) -> CliResult {
    let run = open::run(&open::reading_existing(store)?, store, &args.run)?.summary.id;
    let engine = open::engine(store, true)?;
    Follower::new(Some(run.clone()), store, args.json).follow(engine, Command::ResumeRun { run })
}
