//! `headroom resume`: a run that ended early goes on.

use std::path::Path;

use headroom_engine::protocol::commands;

use super::{args::ResumeArgs, error::CliResult, follow::Follower, open, session::Session};

/// Goes on with the run.
pub fn run(store: Option<&Path>, args: &ResumeArgs) -> CliResult {
    let run = open::reading_run(store, &args.run)?.1.summary.id;
    let session = Session::open(store, true)?;
    Follower::new(Some(run.clone()), store, args.json).follow(session, commands::ResumeRun { run })
}
