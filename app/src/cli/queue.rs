//! `headroom queue`, `pause`, `resume-current`, `stop`, `move`: the queue of an engine in another process on the same store.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use headroom_engine::{
    config::counted,
    protocol::{Command, Event, JobLabel, JobRef, commands, events},
    store::RunId,
};
use serde_json::{Value, json};

use crate::export::TextTable;
use crate::format;

use super::{
    args::{JobArgs, MoveArgs, QueueArgs},
    error::{CliError, CliResult, joined},
    open, plain, print,
    session::{Heard, Session},
};

/// How long another process may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// An engine of another process, with what it does.
struct Held {
    session: Session,
    current: Option<JobLabel>,
    is_paused: bool,
    waiting: Vec<JobLabel>,
}

impl Held {
    /// Every job: the current one at place 0, then those that wait.
    fn jobs(&self) -> impl Iterator<Item = (usize, &JobLabel)> {
        let waiting = self.waiting.iter().enumerate().map(|(place, job)| (place + 1, job));
        self.current.iter().map(|job| (0, job)).chain(waiting)
    }
}

/// Lists what runs and what waits.
pub fn list(store: Option<&Path>, args: &QueueArgs) -> CliResult {
    let mut held = if open::is_not_yet(store)? { Vec::new() } else { reached(store)? };
    let reading = if held.is_empty() { None } else { open::reading(store)? };
    let summary = |job: &JobLabel| Some(reading.as_ref()?.run(job.run.as_ref()?.as_str()).ok()?.summary);
    for job in held.iter_mut().flat_map(|held| held.current.iter_mut().chain(&mut held.waiting)) {
        // Its name may have changed since it was queued.
        if let Some(run) = summary(job) {
            job.name = Some(run.name);
        }
    }
    if args.json {
        let jobs = |is_meant: fn(usize) -> bool| -> Vec<Value> {
            let of_engine = |(engine, held): (usize, &Held)| {
                let jobs = held.jobs().filter(|(place, _)| is_meant(*place));
                jobs.map(|(place, job)| described(engine, held, place, job)).collect::<Vec<_>>()
            };
            held.iter().enumerate().flat_map(of_engine).collect()
        };
        return print::json_answer(&json!({
            "event": "queue", "running": jobs(|place| place == 0), "waiting": jobs(|place| place > 0),
        }));
    }
    if held.iter().all(|held| held.jobs().next().is_none()) {
        return print::line("Nothing runs, and nothing waits.");
    }
    let mut table = TextTable::new(["", "#", "id", "job", "seed", "steps"]);
    for (place, held, job) in held.iter().flat_map(|held| held.jobs().map(move |(place, job)| (place, held, job))) {
        let state = match place {
            0 if held.is_paused => "paused".to_owned(),
            0 => "running".to_owned(),
            place => place.to_string(),
        };
        let (number, seed, steps) = summary(job).map_or_else(Default::default, |run| {
            let all = run.steps_total.map(|all| format!(" of {}", plain::count(all))).unwrap_or_default();
            (run.number.to_string(), run.seed.to_string(), format!("{}{all}", plain::count(run.steps_done)))
        });
        table.row([
            state,
            number,
            job.id().map(ToString::to_string).unwrap_or_default(),
            format::brief(&words(job)),
            seed,
            steps,
        ]);
    }
    print::line(table.to_plain().trim_end())
}

/// Pauses what runs.
pub fn pause(store: Option<&Path>, args: &JobArgs) -> CliResult {
    let (held, job) = current(store, args)?;
    ask(&held.session, Command::Pause)?;
    let text = if held.is_paused { "It was paused already" } else { "Pausing after this step" };
    tell(store, args.json, "pausing", &job, text)
}

/// Lets what was paused go on.
pub fn resume(store: Option<&Path>, args: &JobArgs) -> CliResult {
    let (held, job) = current(store, args)?;
    if !held.is_paused {
        return Err(CliError::Failed(format!("It is not paused: {}.", words(&job))));
    }
    ask(&held.session, Command::Resume)?;
    tell(store, args.json, "resuming", &job, "Going on")
}

/// Stops what runs, or takes what waits out of the queue.
pub fn stop(store: Option<&Path>, args: &JobArgs) -> CliResult {
    let Some(query) = &args.job else {
        let (held, job) = current(store, args)?;
        ask(&held.session, Command::Stop)?;
        return tell(store, args.json, "stopping", &job, stopping(&job));
    };
    let (held, place, job) = named(store, query)?;
    if place == 0 {
        ask(&held.session, Command::Stop)?;
        return tell(store, args.json, "stopping", &job, stopping(&job));
    }
    let Some(id) = job.id().cloned() else {
        return Err(CliError::at("run", "What answers somebody who waits cannot be taken out of the queue."));
    };
    ask(&held.session, commands::Cancel { job: JobRef::Id(id) })?;
    tell(store, args.json, "removed", &job, "Taken out of the queue")
}

/// Moves a run, an analysis or a measurement that waits.
pub fn move_to(store: Option<&Path>, args: &MoveArgs) -> CliResult {
    let (held, place, job) = named(store, &args.job)?;
    let Some(run) = job.id().filter(|_| place > 0).cloned() else {
        let why = if place == 0 { "It runs already" } else { "What answers somebody who waits cannot be moved" };
        return Err(CliError::at("run", format!("{why}: {}.", words(&job))));
    };
    let most = held.waiting.len();
    let to = (args.place as usize).min(most);
    ask(&held.session, commands::Move { run, position: to - 1 })?;
    tell(store, args.json, "moved", &job, &format!("Now number {to} of {most} that wait"))
}

/// The engines that hold the store in other processes; at least one.
fn held(store: Option<&Path>) -> CliResult<Vec<Held>> {
    let all = reached(store)?;
    if all.is_empty() {
        return Err(CliError::Failed(
            "Nothing runs: no other program trains on this store. Start a run with `headroom train`, or open the window."
                .to_owned(),
        ));
    }
    Ok(all)
}

/// The engines that hold the store in other processes, if any.
fn reached(store: Option<&Path>) -> CliResult<Vec<Held>> {
    let (mut all, mut silent) = (Vec::new(), 0);
    for session in Session::others(store)? {
        match ask(&session, Command::ListQueue)? {
            Event::Queue(events::Queue { current, is_paused, waiting }) => {
                all.push(Held { session, current, is_paused, waiting });
            }
            _ => silent += 1,
        }
    }
    if all.is_empty() && silent > 0 {
        let why = "A program on this store ended just now, or is asked too much at once. Try again in a moment.";
        return Err(CliError::Failed(why.to_owned()));
    }
    Ok(all)
}

/// The engine whose job is meant, and that job: the named one, else the only one that runs.
fn current(store: Option<&Path>, args: &JobArgs) -> CliResult<(Held, JobLabel)> {
    if let Some(query) = &args.job {
        let (held, place, job) = named(store, query)?;
        if place > 0 {
            return Err(CliError::at("run", format!("It does not run, it waits: {}.", words(&job))));
        }
        return Ok((held, job));
    }
    let mut running: Vec<(Held, JobLabel)> =
        held(store)?.into_iter().filter_map(|held| held.current.clone().map(|job| (held, job))).collect();
    match (running.pop(), running.as_slice()) {
        (Some(one), []) => Ok(one),
        (Some((_, last)), others) => {
            let names: Vec<String> = others.iter().map(|(_, job)| words(job)).chain([words(&last)]).collect();
            Err(CliError::at(
                "run",
                format!(
                    "{} run in different programs. Name one of them: {}.",
                    counted(names.len() as u64, "job"),
                    names.join("; ")
                ),
            ))
        }
        (None, _) => Err(CliError::Failed("Nothing runs.".to_owned())),
    }
}

/// The engine that has a job in its queue, the job's place (0 = it runs), and the job.
fn named(store: Option<&Path>, query: &str) -> CliResult<(Held, usize, JobLabel)> {
    let all = held(store)?;
    let is_id = |job: &JobLabel| job.id().is_some_and(|id| id.as_str() == query);
    let wanted: Option<RunId> = if all.iter().flat_map(Held::jobs).any(|(_, job)| is_id(job)) {
        query.parse().ok()
    } else {
        Some(open::reading_run(store, query)?.1.summary.id)
    };
    for held in all {
        let found = held.jobs().find(|(_, job)| job.id() == wanted.as_ref()).map(|(place, job)| (place, job.clone()));
        if let Some((place, job)) = found {
            return Ok((held, place, job));
        }
    }
    Err(CliError::at("run", format!("It neither runs nor waits: {query}. See what does with `headroom queue`.")))
}

/// What an engine answers: its queue, or that it is done.
fn ask(session: &Session, command: impl Into<Command>) -> CliResult<Event> {
    let command = command.into();
    let start = Instant::now();
    let wants_queue = matches!(command, Command::ListQueue);
    let ticket = session.send(command)?;
    session.follow(ticket, "it answered", |event| match event {
        Some(event @ Event::Queue(_)) if wants_queue => Ok(Heard::Answer(event)),
        Some(event @ Event::Done) => Ok(Heard::Answer(event)),
        Some(event @ Event::Ended) if wants_queue => Ok(Heard::Answer(event)),
        Some(Event::Ended) => Err(CliError::Failed("The other program has ended.".to_owned())),
        Some(Event::Refused(events::Refused { why })) => Err(CliError::Failed(why)),
        Some(Event::Failed(events::Failed { why, what_to_do, .. })) => Err(CliError::Failed(joined(&why, &what_to_do))),
        _ if start.elapsed() > PATIENCE => {
            Err(CliError::Failed("The other program does not answer. Try again in a moment.".to_owned()))
        }
        _ => Ok(Heard::Taken),
    })
}

/// What was done to a job; of runs of one name the seed says which it is.
fn tell(store: Option<&Path>, json: bool, event: &str, job: &JobLabel, text: &str) -> CliResult {
    if json {
        return print::json_answer(&json!({ "event": event, "job": job }));
    }
    let seed = job.run.as_ref().and_then(|run| Some(open::reading(store).ok()??.run(run.as_str()).ok()?.summary.seed));
    let seed = seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    print::line(format!("{text}: {}{seed}.", words(job)))
}

fn stopping(job: &JobLabel) -> &'static str {
    if job.run.is_some() { "Stopping after this step, with a checkpoint" } else { "Stopping" }
}

fn described(engine: usize, held: &Held, place: usize, job: &JobLabel) -> Value {
    let mut value = serde_json::to_value(job).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("engine".to_owned(), (engine + 1).into());
        if place == 0 {
            fields.insert("paused".to_owned(), held.is_paused.into());
        } else {
            fields.insert("place".to_owned(), place.into());
        }
    }
    value
}

/// Name of a run, or kind of work with its name or model: "evaluation of bert".
fn words(job: &JobLabel) -> String {
    let (noun, title) = (job.kind.noun(), job.title());
    match (&job.run, &job.target) {
        (Some(_), _) => title.to_owned(),
        (None, Some(_)) => format!("{noun} of {title}"),
        (None, None) => format!("{noun} {title}"),
    }
}
