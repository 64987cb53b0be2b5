//! `headroom purge`: what was deleted goes for good, after it was listed.

use std::{
    io::{IsTerminal, stdin},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use headroom_engine::{
    config::counted,
    protocol::{Event, commands, events},
    store::{Deleted, DeletedKind, PurgeReport},
};

use crate::export::TextTable;

use super::{
    args::PurgeArgs,
    error::{CliError, CliResult},
    hint, plain, print,
    session::{Heard, Session},
};

/// A day in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Lists what was deleted, asks, and removes it.
pub fn run(store: Option<&Path>, args: &PurgeArgs) -> CliResult {
    if args.json && !args.yes && !args.dry_run {
        return Err(CliError::BadInput(
            "Nobody can be asked with --json. Say --dry-run to list what would go, or --yes to remove it.".to_owned(),
        ));
    }
    let before_ms = before(args.older_than);
    let session = if args.dry_run { Session::open_for_reading(store, true)? } else { Session::open(store, true)? };
    carry_out(&session, store, args, before_ms)
}

/// The moment before which things must have been deleted.
fn before(older_than_days: u32) -> i64 {
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    now_ms - i64::from(older_than_days) * DAY_MS
}

fn carry_out(session: &Session, store: Option<&Path>, args: &PurgeArgs, before_ms: i64) -> CliResult {
    let deleted = session.ask(commands::ListDeleted { before_ms }, "the list came", |event| match event {
        Event::Deleted(events::Deleted { deleted }) => Ok(Heard::Answer(deleted)),
        event => Ok(Heard::Usual(event)),
    })?;
    if args.json && args.dry_run {
        return print::json_answer(&Event::Deleted(events::Deleted { deleted }));
    }
    let (refused, going): (Vec<&Deleted>, Vec<&Deleted>) = deleted.iter().partition(|one| one.refused.is_some());
    if !args.json {
        print::block(&listed(&going, &refused))?;
    }
    if args.dry_run || (going.is_empty() && !args.json) {
        return Ok(());
    }
    if !args.yes && !is_agreed()? {
        let again = hint::command("purge --yes", store);
        return Err(CliError::BadInput(format!("Nothing was removed. Remove it without being asked with: {again}")));
    }
    let report = session.ask(commands::Purge { before_ms }, "it was done", |event| match event {
        Event::Purged(events::Purged { report }) => Ok(Heard::Answer(report)),
        event => Ok(Heard::Usual(event)),
    })?;
    if args.json {
        return print::json_answer(&Event::Purged(events::Purged { report }));
    }
    told(&report, refused.len())
}

/// What goes, and below it what stays with the reason.
fn listed(going: &[&Deleted], refused: &[&Deleted]) -> String {
    let mut text = String::new();
    if going.is_empty() {
        text.push_str("Nothing that was deleted can be purged.\n");
    } else {
        let mut table = TextTable::new(["goes for good", "#", "name", "size", "folder"]);
        for one in going {
            table.row([
                one.kind.as_str().to_owned(),
                one.number.to_string(),
                one.name.clone(),
                if one.kind == DeletedKind::Run { plain::bytes(one.bytes) } else { "-".to_owned() },
                one.folder.as_ref().map_or_else(|| "-".to_owned(), |folder| folder.display().to_string()),
            ]);
        }
        text.push_str(&table.to_plain());
    }
    for one in refused {
        text.extend(["Stays: ", &words(one), "\n"]);
    }
    text
}

/// Something that stays, with the reason.
fn words(one: &Deleted) -> String {
    let why = one.refused.as_deref().unwrap_or_default();
    let folder = one.folder.as_ref().map(|folder| format!(" ({})", folder.display())).unwrap_or_default();
    format!("{} #{} \"{}\"{folder}. {why}", one.kind.as_str(), one.number, one.name)
}

/// Asks on the terminal; where there is none nobody agrees.
fn is_agreed() -> CliResult<bool> {
    if !stdin().is_terminal() {
        return Ok(false);
    }
    print::line("Remove these for good? [y/N]")?;
    let mut said = String::new();
    Ok(stdin().read_line(&mut said).is_ok() && matches!(said.trim(), "y" | "Y" | "yes"))
}

fn told(report: &PurgeReport, known_to_stay: usize) -> CliResult {
    let gone = counted(report.purged.len() as u64, "thing");
    print::line(format!("Removed {gone} for good, {} of files.", plain::bytes(report.bytes())))?;
    // What was listed as staying was told already.
    if report.refused.len() > known_to_stay {
        let stays: Vec<String> = report.refused.iter().map(words).collect();
        return Err(CliError::Failed(format!("Not everything could be removed.\n{}", stays.join("\n"))));
    }
    Ok(())
}
