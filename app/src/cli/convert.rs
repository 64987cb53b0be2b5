//! `headroom convert`: another model of a run's or of a model directory.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use headroom_engine::{
    config::counted,
    convert::{Conversion, ConvertedAttention, ToCollaborative},
    worker::{Command, Event, Target},
};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    args::ConvertArgs,
    error::{CliError, CliResult, joined},
    export, plain, print,
    session::{Heard, Session},
    signals,
    table::Table,
    target::{Named, named},
};

/// How often scripts hear of the progress.
const OBJECT_EVERY: Duration = Duration::from_secs(1);

/// Converts.
pub fn run(store: Option<&Path>, args: &ConvertArgs) -> CliResult {
    let to = std::path::absolute(&args.to).map_err(|error| {
        CliError::at("--to", format!("The directory {} cannot be used: {error}.", args.to.display()))
    })?;
    export::refuse_occupied(&to)?;
    let target = match named(store, &args.target)? {
        Named::Directory(path) => Target::Directory(path),
        Named::Run(_, record) => Target::Run { run: record.summary.id, which: args.which },
    };
    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let conversion = Conversion::Collaborative(ToCollaborative {
        d_k: args.d_k.unwrap_or_default(),
        random_starts: whole(args.restarts),
        seed: args.seed,
        sweeps: whole(args.sweeps),
        tolerance: args.tolerance,
    });
    let session = Session::open_for_reading(store, matches!(target, Target::Run { .. }))?;
    signals::listen();
    let ticket = session.send(Command::Convert { target, conversion, to, threads: args.threads.map(whole) })?;
    let mut shown = Shown::new(args.json);
    let mut is_stopping = false;
    let event = session.follow(ticket, "the model was converted", |event| {
        if signals::is_stop_wanted() && !is_stopping {
            is_stopping = true;
            session.send(Command::CancelConversion { conversion: ticket })?;
        }
        match event {
            Some(event @ Event::Converted { .. }) => return Ok(Heard::Answer(event)),
            Some(event @ Event::Converting { .. }) => shown.show(&event)?,
            Some(Event::Failed { why, what_to_do, .. }) => {
                shown.clear();
                return Err(CliError::FailedAt { field: "run", message: joined(&why, &what_to_do) });
            }
            event => return Ok(event.map_or(Heard::Taken, Heard::Usual)),
        }
        Ok(Heard::Taken)
    })?;
    shown.clear();
    session.end();
    if args.json { print::json_line(&event) } else { tell(&event) }
}

/// How the progress is shown.
enum Shown {
    /// A bar, on a terminal.
    Bar(ProgressBar),
    /// A line for each attention, where the output goes elsewhere.
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
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos} of {len}");
        Self::Bar(ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    fn show(&mut self, event: &Event) -> CliResult {
        let Event::Converting { attention, number, count, start, sweep, relative_error } = event else {
            return Ok(());
        };
        match self {
            Self::Bar(bar) => {
                bar.set_length(*count as u64);
                bar.set_position(*number as u64);
                let error = 100.0 * relative_error;
                print::beside(bar, format!("{attention}: beginning {}, sweep {sweep}, error {error:.2} %", start + 1));
                Ok(())
            }
            Self::Lines { last } => {
                if last.replace(*number) != Some(*number) {
                    print::aside(format!("{attention}, {} of {count}", number + 1));
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

fn tell(event: &Event) -> CliResult {
    let Event::Converted { target, conversion, path, bytes, parameters_before, parameters, attentions, seconds } =
        event
    else {
        return Ok(());
    };
    print::line(format!("{target} became {}: {}", conversion.words(), path.display()))?;
    print::line(format!(
        "{} instead of {}, {} on disk, {} s",
        counted(*parameters, "parameter"),
        plain::count(*parameters_before),
        plain::bytes(*bytes),
        plain::number(*seconds)
    ))?;
    let mut table = Table::new(["attention", "error of its products", "sweeps", "time"]);
    for ConvertedAttention { attention, relative_error, sweeps, seconds } in attentions {
        table.row([
            attention.clone(),
            format!("{:.2} %", 100.0 * relative_error),
            plain::count(*sweeps as u64),
            format!("{} s", plain::number(*seconds)),
        ]);
    }
    print::block(&table.text())
}
