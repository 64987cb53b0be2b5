//! `headroom push`: takes a model to a hub.

use std::path::Path;

use headroom_engine::{
    config::counted,
    hub::{PushContents, Pushed},
    protocol::{Command, Event, JobCommand, Target, commands, events},
    text::listed,
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
    let command = if args.dry_run {
        Command::PreviewPush(commands::PreviewPush { target })
    } else {
        Command::Job(JobCommand::Push(commands::Push { target, name, public: args.public }))
    };
    let event = transfer::follow(&session, command, "it was uploaded", args.json, |event| {
        matches!(event, Event::Pushed(_) | Event::PushPreviewed(_))
    })?;
    session.end();
    if args.json { print::json_answer(&event) } else { tell(&event) }
}

fn tell(event: &Event) -> CliResult {
    match event {
        Event::PushPreviewed(events::PushPreviewed { contents, .. }) => tell_contents(contents),
        Event::Pushed(events::Pushed { target, pushed, seconds }) => tell_pushed(target, pushed, *seconds),
        _ => Ok(()),
    }
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
