//! `headroom push`: takes a model to a hub.

use std::path::Path;

use headroom_engine::{
    config::counted,
    worker::{Command, Event, Target},
};

use super::{
    args::PushArgs,
    error::{CliError, CliResult},
    plain, print,
    session::Session,
    target::{Named, named},
    transfer,
};

/// Uploads.
pub fn run(store: Option<&Path>, args: &PushArgs) -> CliResult {
    let name = args.name.parse().map_err(|why: String| CliError::at("name", why))?;
    let target = match named(store, &args.target)? {
        Named::Directory(path) => Target::Directory(path),
        Named::Run(_, record) => Target::Run { run: record.summary.id, which: args.which },
    };
    let session = Session::open_for_reading(store, matches!(target, Target::Run { .. }))?;
    let command = Command::Push { target, name, public: args.public };
    let event = transfer::follow(&session, command, "it was uploaded", args.json, |event| {
        matches!(event, Event::Pushed { .. })
    })?;
    session.end();
    if args.json { print::json_line(&event) } else { tell(&event) }
}

fn tell(event: &Event) -> CliResult {
    let Event::Pushed { target, pushed, public, seconds } = event else { return Ok(()) };
    if pushed.commit.is_none() {
        print::aside(format!("{} has all of it already.", pushed.name));
        return print::line(&pushed.url);
    }
    let who = if *public { "everybody can read it" } else { "private" };
    print::aside(format!(
        "{target}: {}, {} ({} sent in {}), {who}.",
        counted(pushed.files.len(), "file"),
        plain::bytes(pushed.bytes),
        plain::bytes(pushed.sent),
        plain::duration(*seconds)
    ));
    if !pushed.left_out.is_empty() {
        print::aside(format!("Not uploaded: {}.", pushed.left_out.join(", ")));
    }
    print::line(&pushed.url)
}
