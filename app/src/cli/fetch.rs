//! `headroom fetch`: brings a model or a data set of a hub into the cache that other tools share.

use std::path::Path;

use headroom_engine::{
    config::counted,
    hub::{FetchRequest, Gating, RepoFacts, RepoKind, RepoPath, Revision},
    protocol::{Command, Event, commands, events},
};

use crate::export::TextTable;

use super::{
    args::FetchArgs,
    error::{CliError, CliResult},
    job::{Shown, ignored, run_command, run_job},
    plain, print,
    session::{Heard, Session},
};

/// Fetches, or says what there is to fetch, or what was fetched.
pub fn run(store: Option<&Path>, args: &FetchArgs) -> CliResult {
    let Some(name) = args.name.as_deref().filter(|_| !args.cached) else { return list(store, args.json) };
    let request = FetchRequest {
        kind: if args.dataset { RepoKind::Dataset } else { RepoKind::Model },
        name: name.parse().map_err(|why: String| CliError::at("name", why))?,
        revision: match &args.revision {
            Some(text) => text.parse().map_err(|why: String| CliError::at("--revision", why))?,
            None => Revision::default(),
        },
        only: args
            .only
            .iter()
            .map(|text| text.trim_end_matches('/').parse::<RepoPath>())
            .collect::<Result<_, _>>()
            .map_err(|why| CliError::at("--only", why))?,
    };
    let session = Session::open_for_reading(store, false)?;
    if args.info {
        let job = commands::Inspect { request };
        let events::Inspected { facts } = run_command(&session, job, "name", Shown::Silent, ignored)?;
        session.end();
        return if args.json { print::json(&facts) } else { print::block(&text(&facts)) };
    }
    let fetched = run_job(&session, commands::Fetch { request }, "name", Shown::streamed(args.json), ignored)?;
    session.end();
    if args.json { print::json_answer(&Event::from(fetched)) } else { tell(&fetched) }
}

/// Says what is in the cache.
fn list(store: Option<&Path>, json: bool) -> CliResult {
    let session = Session::open_for_reading(store, false)?;
    let facts = session.ask(Command::DescribeHub, "the cache was read", |event| match event {
        Event::HubDescribed(events::HubDescribed { facts }) => Ok(Heard::Answer(facts)),
        Event::Refused(events::Refused { why }) => Err(CliError::at("--cached", why)),
        event => Ok(Heard::Usual(event)),
    })?;
    session.end();
    if json {
        return print::json(&facts);
    }
    let offline = if facts.is_offline { "; HF_HUB_OFFLINE forbids to ask the hub" } else { "" };
    print::aside(format!("In {}{offline}:", facts.cache.display()));
    if facts.models.is_empty() && facts.interrupted.is_empty() {
        return print::line("No models.");
    }
    let mut table = TextTable::new(["model", "revision", "size", "folder"]);
    for model in &facts.models {
        let revisions: Vec<&str> = model.revisions.iter().map(Revision::as_str).collect();
        let revision = if revisions.is_empty() { model.commit.to_string() } else { revisions.join(", ") };
        let folder = model.path.display().to_string();
        table.row([model.name.to_string(), revision, plain::bytes(model.bytes), folder]);
    }
    for cut in &facts.interrupted {
        let size = format!("{} so far", plain::bytes(cut.bytes));
        table.row([cut.name.to_string(), "-".to_owned(), size, "cut off; fetch it again to go on".to_owned()]);
    }
    print::block(&table.to_plain())
}

fn tell(answer: &events::Fetched) -> CliResult {
    let events::Fetched { fetched, bytes, downloaded, seconds } = answer;
    let how = match downloaded {
        0 => "all of it was here".to_owned(),
        downloaded => format!("{} downloaded in {}", plain::bytes(*downloaded), plain::duration(*seconds)),
    };
    print::aside(format!(
        "{} at {}: {}, {}; {how}.",
        fetched.name,
        fetched.commit,
        counted(fetched.files.len(), "file"),
        plain::bytes(*bytes)
    ));
    // The answer alone, for scripts: `headroom show "$(headroom fetch NAME)"`.
    print::line(fetched.path.display().to_string())
}

/// What the hub says, as a table.
fn text(facts: &RepoFacts) -> String {
    let mut table = TextTable::default();
    let mut fact = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            table.row([name.to_owned(), value]);
        }
    };
    fact(facts.kind.words(), Some(facts.name.to_string()));
    fact("revision", Some(format!("{} ({})", facts.revision, facts.commit)));
    fact("licence", Some(facts.licence.clone().unwrap_or_else(|| "not said".to_owned())));
    let access = match (facts.private, facts.gated) {
        (true, _) => "private",
        (false, Gating::Open) => "everybody",
        (false, Gating::Terms) => "whoever agrees to its terms on its page",
        (false, Gating::Owner) => "whom its owner lets in",
    };
    fact("open to", Some(access.to_owned()));
    fact("made for", facts.task.clone());
    fact("changed", facts.updated.clone());
    fact("parameters", facts.parameters.map(plain::count));
    if let Some(of) = &facts.architecture {
        fact("architecture", of.class.clone().or_else(|| of.model_type.clone()));
        let sizes = [("layers", of.layers), ("heads", of.heads), ("width", of.width), ("vocabulary", of.vocabulary)];
        for (name, size) in sizes {
            fact(name, size.map(plain::count));
        }
    }
    fact("opens here", facts.opens.map(|opens| if opens { "yes" } else { "no" }.to_owned()));
    fact("why not", facts.refusal.clone());
    fact("to fetch", Some(format!("{}, {}", counted(facts.files.len(), "file"), plain::bytes(facts.bytes))));
    fact("here already", (facts.bytes_here > 0).then(|| plain::bytes(facts.bytes_here)));
    fact("folder", Some(facts.folder.display().to_string()));
    fact("left out", (facts.other_files > 0).then(|| counted(facts.other_files, "file")));
    fact("problem", facts.problem.clone());
    let mut files = TextTable::new(["file", "size"]);
    for file in &facts.files {
        files.row([file.path.to_string(), file.bytes.map_or_else(|| "-".to_owned(), plain::bytes)]);
    }
    format!("{}\n{}", table.to_plain(), files.to_plain())
}
