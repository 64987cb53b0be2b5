//! What `race` and `sweep` share: entrants judged, trained one after the other, compared.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use headroom_engine::{
    attention::{ModelPlan, ParameterMatch, estimated_vocabulary},
    config::{Entrant, Problem, RunConfig, counted, free_tag, runs_of},
    protocol::{Command, Event, commands, events},
    store::{RunFilter, RunId, Store},
    text::escaped_line,
};

use super::{
    config_source::GivenConfig,
    error::{CliError, CliResult, joined},
    hint, open, plain, print,
    progress::Progress,
    race_table::{self, Form},
    session::{Heard, Session},
    signals, train,
};

/// What is trained and how it is told.
pub struct QueuedRace<'a> {
    /// `race` or `sweep`.
    pub kind: &'static str,
    /// `--store`.
    pub store: Option<&'a Path>,
    /// The config that all start from.
    pub given: GivenConfig,
    /// Everything that was asked for.
    pub entrants: Vec<Entrant>,
    /// How many seeds each has.
    pub seeds: u64,
    /// Whether what cannot be trained is left out.
    pub skip: bool,
    /// Whether scripts read the answer.
    pub json: bool,
}

impl QueuedRace<'_> {
    /// Trains all, one after the other, and prints how they stand.
    pub fn run(self) -> CliResult {
        let (store, json) = (self.store, self.json);
        let (session, entrants, configs) = self.begin()?;
        let base_dir = self.given.base_dir.clone();
        let name = self.given.config.name.clone();
        let tag = {
            let runs = open::reading(store)?.map(|store| store.runs(RunFilter::ALL)).transpose()?.unwrap_or_default();
            let taken = runs.iter().flat_map(|run| run.tags.iter().map(String::as_str)).collect();
            free_tag(self.kind, &name, &taken)
        };
        signals::listen();
        let mut course = Course::new(configs.len(), json);
        let command = commands::EnqueueAll { configs, base_dir, tags: vec![tag.clone()] };
        course.take(session, command)?;
        let reading = open::reading_existing(store)?;
        let form = if json { Form::Json } else { Form::Text };
        if !json {
            print::aside("");
        }
        let complete = race_table::tell(&reading, store, course.runs(), Some(&tag), &entrants, form)?;
        if complete {
            return Ok(());
        }
        let again = format!("compare --tag {}", hint::quoted(&tag));
        Err(CliError::Failed(unfinished(&reading, course.runs(), &again, store)?))
    }

    /// A session, once all was judged that can be before there is a run.
    fn begin(&self) -> CliResult<(Session, Vec<Entrant>, Vec<RunConfig>)> {
        let mut entrants: Vec<Entrant> = self.entrants.iter().cloned().map(priced).collect();
        self.refuse(&entrants)?;
        let session = Session::open(self.store, false)?;
        for entrant in &mut entrants {
            if let Ok(config) = &entrant.config {
                let problems = train::check(&session, config, &self.given.base_dir)?;
                if !problems.is_empty() {
                    entrant.config = Err(problems);
                }
            }
        }
        self.refuse(&entrants)?;
        for entrant in &entrants {
            if let Some(matched) = entrant.config.as_ref().ok().and_then(|config| ParameterMatch::of(config).ok()?) {
                print::aside(format!("{}: {matched}.", escaped_line(&entrant.name)));
            }
        }
        let configs = runs_of(&entrants, self.seeds);
        Ok((session, entrants, configs))
    }

    /// Refuses what cannot be trained: all of it, or with `--skip` only where nothing is left.
    fn refuse(&self, entrants: &[Entrant]) -> CliResult {
        let illegal: Vec<&Entrant> = entrants.iter().filter(|entrant| entrant.config.is_err()).collect();
        if illegal.is_empty() || (self.skip && illegal.len() < entrants.len()) {
            return Ok(());
        }
        let named = |entrant: &&Entrant| {
            let name = entrant.name.clone();
            entrant
                .problems()
                .iter()
                .map(move |problem| Problem::new(problem.field.clone(), format!("{} ({name})", problem.message())))
                .collect::<Vec<_>>()
        };
        let problems: Vec<Problem> = illegal.iter().flat_map(named).collect();
        let mut lines = vec![format!(
            "{} of {} cannot be trained; nothing was started.{}",
            illegal.len(),
            entrants.len(),
            if illegal.len() < entrants.len() { " Leave them out with --skip." } else { "" }
        )];
        lines.extend(problems.iter().map(|problem| format!("  {problem}")));
        Err(CliError::Problems { message: lines.join("\n"), problems })
    }
}

/// Note on runs that did not train to their end: the command that resumes each. `again`: the command that compares all.
pub(super) fn unfinished(reading: &Store, runs: &[RunId], again: &str, store: Option<&Path>) -> CliResult<String> {
    let mut lines = vec!["Not every run trained to its end. Go on with each of these, one after the other:".to_owned()];
    for run in runs {
        if reading.run(run.as_str())?.summary.is_worth_resuming() {
            lines.push(format!("  {}", hint::command(&format!("resume {run}"), store)));
        }
    }
    if lines.len() == 1 {
        let ended = hint::command("runs", store);
        return Ok(format!("Not every run trained to its end. See how they ended with: {ended}"));
    }
    lines.push(format!("Then compare all with: {}", hint::command(again, store)));
    Ok(lines.join("\n"))
}

/// The entrant, judged as a whole model.
fn priced(entrant: Entrant) -> Entrant {
    entrant.judged_by(|config| ModelPlan::resolve(config, estimated_vocabulary(config)).map(drop))
}

/// The runs on their way.
#[derive(Default)]
pub(super) struct Course {
    progress: Progress,
    /// How many there are to be.
    total: usize,
    /// In the order in which they were queued.
    runs: Vec<RunId>,
    names: BTreeMap<RunId, String>,
    /// Runs whose first event came.
    begun: Vec<RunId>,
    /// What was warned of: all read one text, of which it is said once.
    warned: BTreeSet<String>,
    ended: usize,
    is_stopping: bool,
}

impl Course {
    /// So many runs. `json`: scripts read the answer.
    pub(super) fn new(total: usize, json: bool) -> Self {
        Self { progress: Progress::beside_answer(json), total, ..Self::default() }
    }

    /// Sends the command that queues the runs, shows what happens until the last has ended, ends the engine.
    pub(super) fn take(&mut self, session: Session, command: impl Into<Command>) -> CliResult {
        let outcome = self.follow(&session, command);
        self.progress.clear();
        session.end();
        outcome
    }

    /// The runs, in the order in which they were queued.
    pub(super) fn runs(&self) -> &[RunId] {
        &self.runs
    }

    /// Shows events until the last run has ended.
    fn follow(&mut self, session: &Session, command: impl Into<Command>) -> CliResult {
        let ticket = session.send(command)?;
        session.follow(ticket, "the runs did", |event| {
            self.stop_if_wanted(session)?;
            let Some(event) = event else { return Ok(Heard::Taken) };
            match &event {
                Event::Queued(events::Queued { run, name, .. }) => {
                    self.runs.push(run.clone());
                    self.names.insert(run.clone(), name.clone());
                }
                Event::Failed(events::Failed { run: None, why, what_to_do }) if self.runs.is_empty() => {
                    return Err(CliError::BadInput(joined(why, what_to_do)));
                }
                Event::Warning(events::Warning { message, .. }) if !self.warned.insert(message.clone()) => {}
                Event::Failed(events::Failed { run, why, what_to_do }) => {
                    if run.is_none() {
                        // No more are queued.
                        self.total = self.runs.len();
                    }
                    print::aside(format!("Warning: {}", joined(why, what_to_do)));
                }
                Event::Preparing(events::Preparing { run, .. }) | Event::Started(events::Started { run, .. }) => {
                    self.begin(run)?;
                    self.progress.show(&event)?;
                }
                Event::Finished(events::Finished {
                    run,
                    state,
                    step,
                    best_validation_loss,
                    train_secs,
                    why,
                    unwritten,
                    ..
                }) => {
                    self.ended += 1;
                    let best = best_validation_loss
                        .map(|loss| format!(" Best validation loss {}.", plain::number(loss)))
                        .unwrap_or_default();
                    let why: String =
                        [why, unwritten].into_iter().flatten().flat_map(|why| [" ", why.as_str()]).collect();
                    let (steps, time) = (counted(*step, "step"), plain::duration(*train_secs));
                    let name = self.name(run);
                    self.tell(&format!("Ended as {state}: {name}, {steps} in {time}.{best}{why}"))?;
                }
                Event::Checkpointed(_)
                | Event::Evaluated(_)
                | Event::Health(_)
                | Event::Paused(_)
                | Event::Resumed(_)
                | Event::Step(_) => self.progress.show(&event)?,
                // What waited does not begin any more.
                Event::Ended if self.is_stopping => return Ok(Heard::Answer(())),
                _ => return Ok(Heard::Usual(event)),
            }
            Ok(if self.ended < self.total { Heard::Taken } else { Heard::Answer(()) })
        })
    }

    fn name(&self, run: &RunId) -> String {
        self.names.get(run).map_or_else(|| run.to_string(), |name| escaped_line(name).into_owned())
    }

    fn begin(&mut self, run: &RunId) -> CliResult {
        if self.begun.contains(run) {
            return Ok(());
        }
        self.begun.push(run.clone());
        let place = self.runs.iter().position(|own| own == run).map_or(0, |index| index + 1);
        let text = format!("Run {place} of {} ({run}): {}", self.total, self.name(run));
        self.tell(&text)
    }

    /// Beside the answer, whoever reads that.
    fn tell(&self, text: &str) -> CliResult {
        if matches!(self.progress, Progress::Silent) {
            print::aside(text);
            return Ok(());
        }
        self.progress.say(text)
    }

    /// Ends the engine, once: what trains is stopped with a checkpoint, and what waits can be resumed like it.
    fn stop_if_wanted(&mut self, session: &Session) -> CliResult {
        if !signals::is_stop_wanted() || self.is_stopping || self.runs.is_empty() {
            return Ok(());
        }
        self.is_stopping = true;
        print::aside("Stopping after this step, with a checkpoint. Press Ctrl-C again to quit at once.");
        session.send(Command::Shutdown)?;
        Ok(())
    }
}
