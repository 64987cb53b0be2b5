//! What `fetch` and `push` have in common: a transfer that is followed to its end, and ended by Ctrl-C.

use std::time::{Duration, Instant};

use headroom_engine::protocol::{Command, Event, JobRef, commands, events};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    error::{CliError, CliResult, joined},
    plain, print,
    session::{Heard, Session},
    signals,
};

/// How often scripts hear of the progress.
const OBJECT_EVERY: Duration = Duration::from_secs(1);

/// Sends the command and waits for its answer. Ctrl-C ends it; what is said then says what was kept.
pub(super) fn follow(
    session: &Session,
    command: Command,
    before: &str,
    json: bool,
    is_answer: impl Fn(&Event) -> bool,
) -> CliResult<Event> {
    signals::listen();
    let ticket = session.send(command)?;
    let mut shown = Shown::new(json);
    let mut is_stopping = false;
    session.follow(ticket, before, |event| {
        if signals::is_stop_wanted() && !is_stopping {
            is_stopping = true;
            session.send(Command::Cancel(commands::Cancel { job: JobRef::Ticket(ticket) }))?;
        }
        match event {
            Some(event) if is_answer(&event) => {
                shown.clear();
                return Ok(Heard::Answer(event));
            }
            Some(event @ (Event::Fetching(_) | Event::Pushing(_))) => shown.show(&event)?,
            Some(Event::Failed(events::Failed { why, what_to_do, .. })) => {
                shown.clear();
                return Err(CliError::FailedAt { field: "name", message: joined(&why, &what_to_do) });
            }
            Some(Event::Refused(events::Refused { why })) => {
                shown.clear();
                return Err(CliError::at("name", why));
            }
            event => return Ok(event.map_or(Heard::Taken, Heard::Usual)),
        }
        Ok(Heard::Taken)
    })
}

/// How the progress is shown.
enum Shown {
    /// A bar, on a terminal.
    Bar(ProgressBar),
    /// A line for each file, where the output goes elsewhere.
    Lines { last: Option<usize> },
    /// A JSON object a line.
    Json { told: Option<Instant> },
}

impl Shown {
    fn new(json: bool) -> Self {
        if json {
            return Self::Json { told: None };
        }
        if !print::is_terminal() {
            return Self::Lines { last: None };
        }
        let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes} of {total_bytes}");
        Self::Bar(ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    fn show(&mut self, event: &Event) -> CliResult {
        let (Event::Fetching(events::Fetching { file, number, count, bytes, total_bytes, bytes_per_sec, .. })
        | Event::Pushing(events::Pushing { file, number, count, bytes, total_bytes, bytes_per_sec, .. })) = event
        else {
            return Ok(());
        };
        match self {
            Self::Bar(bar) => {
                bar.set_length(*total_bytes);
                bar.set_position(*bytes);
                print::beside(bar, format!("{file}, {}/s", plain::bytes(*bytes_per_sec as u64)));
                Ok(())
            }
            Self::Lines { last } => {
                if last.replace(*number) != Some(*number) {
                    print::aside(format!("{file}, {} of {count}", number + 1));
                }
                Ok(())
            }
            Self::Json { told } => {
                if told.is_some_and(|last| last.elapsed() < OBJECT_EVERY) {
                    return Ok(());
                }
                *told = Some(Instant::now());
                print::json_line(event)
            }
        }
    }

    /// Takes the bar away.
    fn clear(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
