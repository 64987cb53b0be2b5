//! `headroom push`: takes a model to a hub.

use std::path::Path;

use headroom_engine::{
    config::counted,
    hub::{PushContents, Pushed},
    protocol::{Event, Target, commands, events},
    text::listed,
};

use super::{
    args::PushArgs,
    error::{CliError, CliResult},
    job::{Shown, ignored, run_command, run_job},
    plain, print,
    session::Session,
    target::{Named, named},
};

/// Uploads.
pub fn run(store: Option<&Path>, args: &PushArgs) -> CliResult {
    let name = args.name.parse().map_err(|why: String| CliError::at("name", why))?;
    let target = match named(store, &args.target)? {
        Named::Directory(path) => Target::Directory(path),
        Named::Run(_, record) => Target::Run { run: record.summary.id, which: args.which },
    };
    let session = Session::open_for_reading(store, matches!(target, Target::Run { .. }))?;
    if args.dry_run {
        let command = commands::PreviewPush { target };
        let contents: events::PushPreviewed = run_command(&session, command, "name", Shown::Silent, ignored)?;
        session.end();
        return if args.json { print::json_answer(&Event::from(contents)) } else { tell_contents(&contents.contents) };
    }
    let job = commands::Push { target, name, public: args.public };
    let pushed = run_job(&session, job, "name", Shown::streamed(args.json), ignored)?;
    session.end();
    if args.json {
        return print::json_answer(&Event::from(pushed));
    }
    tell_pushed(&pushed.target, &pushed.pushed, pushed.seconds)
}

fn tell_contents(contents: &PushContents) -> CliResult {
    for file in &contents.files {
        print::line(format!("{:>12}  {}", plain::bytes(file.bytes), file.name))?;
    }
    let count = counted(contents.files.len(), "file");
    print::aside(format!("{count}, {}; nothing was sent.", plain::bytes(contents.bytes())));
    tell_left_out(&contents.left_out);
    Ok(())
}

fn tell_left_out(files: &[String]) {
    if !files.is_empty() {
        print::aside(format!("Not uploaded: {}.", listed(files)));
    }
}

fn tell_pushed(target: &str, pushed: &Pushed, seconds: f64) -> CliResult {
    if pushed.commit.is_none() {
        print::aside(format!("{} has all of it already.", pushed.name));
        return print::line(&pushed.url);
    }
    let who = if pushed.public { "everybody can read it" } else { "private" };
    print::aside(format!(
        "{target}: {}, {} ({} sent in {}), {who}.",
        counted(pushed.files.len(), "file"),
        plain::bytes(pushed.bytes),
        plain::bytes(pushed.sent),
        plain::duration(seconds)
    ));
    tell_left_out(&pushed.left_out);
    print::line(&pushed.url)
}
