//! What events change of the view model.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use headroom_engine::{
    config::counted,
    protocol::{Event, JobLabel, JobRef, Notice, Request, Ticket, commands, events},
    store::{OutcomeKind, RunId, RunState, RunSummary, SnapshotData, snapshot_kinds},
    train::Health,
};

use super::{
    CheckAnswer, CurrentRun, FollowedJob, StartFacts, State, SystemLoad,
    view::{Asked, Deleted},
};
use crate::{
    compare::{is_of_race, metric_value, names_apart},
    format,
    messages::Level,
};

/// Runs that are shown when the window opens for the first time.
const SHOWN_AT_FIRST: usize = 6;

impl State {
    /// Takes in one event.
    pub fn apply(&mut self, notice: impl Into<Notice>) {
        let Notice { ticket, event } = notice.into();
        if let (Some(ticket), Event::Failed(events::Failed { why, .. }) | Event::Refused(events::Refused { why })) =
            (ticket, &event)
        {
            // A panel says itself why a model cannot be read, converted so or uploaded, and what a hub does not know.
            let is_said = self.models.says(ticket)
                || self.hub.says(ticket)
                || self.uploads.says(ticket)
                || self.answers.says(ticket)
                || self.mistakes.says(ticket);
            self.failed(ticket, why);
            // What the user stopped before it began did not fail.
            let was_stopped =
                self.hub.was_stopped(ticket) || self.jobs().any(|job| job.ticket == ticket && job.is_stopping);
            if is_said || was_stopped {
                return;
            }
        }
        if let (Some(ticket), Event::Exported(_)) = (ticket, &event)
            && let Some(answer) = self.exports.get_mut(&ticket)
        {
            *answer = Some(Ok(()));
        }
        if self.mistakes.take(ticket, &event) {
            return;
        }
        match event {
            Event::Queued(events::Queued { run, name, position, .. }) => self.queued(run, &name, position),
            Event::Queue(events::Queue { current, waiting, .. }) => self.queue(current.as_ref(), &waiting),
            Event::Preparing(events::Preparing { run, stage, fraction }) => {
                self.current(&run).preparing = Some((stage, fraction));
            }
            Event::Started(events::Started {
                run,
                name,
                parameters,
                first_step,
                steps,
                device,
                threads,
                vocabulary,
                train_tokens,
                validation_tokens,
                flops_per_step,
                parameter_match,
            }) => {
                self.begin_attempt(&run, &name, first_step, steps);
                let facts = StartFacts {
                    parameters,
                    first_step,
                    steps,
                    device,
                    threads,
                    vocabulary,
                    train_tokens,
                    validation_tokens,
                    flops_per_step,
                };
                let verb = if first_step == 0 { "Training" } else { "Continuing" };
                self.messages.push(
                    Level::Info,
                    format!(
                        "{verb} \"{}\": {} on {}.",
                        self.run_name(&run),
                        format::parameters(parameters),
                        facts.device
                    ),
                    parameter_match.map(|text| text + ".").unwrap_or_default(),
                    Some(run.clone()),
                );
                self.series.touch(&run, Instant::now());
                self.started.insert(run.clone(), facts);
                self.refresh_record(&run);
            }
            Event::Step(events::Step { run, step, steps, loss, tokens_per_sec, eta_secs, .. }) => {
                let current = self.current(&run);
                (current.step, current.steps, current.preparing) = (step, steps, None);
                (current.loss, current.tokens_per_sec, current.eta_secs) =
                    (Some(loss), Some(tokens_per_sec), Some(eta_secs));
                self.series.touch(&run, Instant::now());
                self.update_row(&run, |summary| {
                    summary.state = RunState::Running;
                    (summary.steps_done, summary.steps_total) = (step, Some(steps));
                });
            }
            Event::Evaluated(events::Evaluated { run, loss, .. }) => {
                self.current(&run).validation_loss = Some(loss);
                self.series.touch(&run, Instant::now());
                if self.mixing.contains_key(&run) {
                    self.refresh(&run, Asked::Mixing);
                }
                if self.confusion.contains_key(&run) {
                    self.refresh(&run, Asked::Confusion);
                }
                self.refresh_outcomes(&run);
            }
            Event::Health(events::Health { run, health, message, .. }) => {
                self.current(&run).health = Some(health);
                self.update_row(&run, |summary| summary.health = Some(health));
                self.refresh_record(&run);
                let name = self.run_name(&run);
                let (level, what) = match health {
                    Health::Sound => (Level::Info, format!("\"{name}\" is sound again.")),
                    Health::Plateau { .. } => (Level::Info, format!("\"{name}\": {message}")),
                    Health::Stalled { .. } => (Level::Warning, format!("\"{name}\" is stalled. {}", health.why())),
                    Health::Unstable { .. } => (Level::Warning, format!("\"{name}\" is unstable. {}", health.why())),
                    Health::Diverged { .. } => (Level::Error, format!("\"{name}\" has diverged. {}", health.why())),
                };
                self.messages.push(level, what, health.what_to_do(), Some(run));
            }
            Event::Sample(events::Sample { run, .. }) => {
                if self.mixing.contains_key(&run) {
                    self.refresh(&run, Asked::Mixing);
                }
                if self.samples.contains_key(&run) {
                    self.refresh(&run, Asked::Samples);
                }
            }
            Event::BegunWith(events::BegunWith { run, model, taken, fresh, left_out, .. }) => {
                let named = |what: &str, names: &[String]| match names {
                    [] => String::new(),
                    names => format!(" {what}: {}.", names.join(", ")),
                };
                let text = format!(
                    "\"{}\" begins with {model}: {} taken.{}{}",
                    self.run_name(&run),
                    counted(taken, "tensor"),
                    named("Fresh", &fresh),
                    named("Not used", &left_out)
                );
                self.messages.push(Level::Info, text, "", Some(run));
            }
            Event::PairsChosen(events::PairsChosen { run, step, k, score_error, .. }) => {
                let text = format!(
                    "From step {} on, \"{}\" scores {} of each row; {:.2} % of the scores' mean square is lost.",
                    format::count(step + 1),
                    self.run_name(&run),
                    counted(k, "pair"),
                    100.0 * score_error
                );
                self.messages.push(Level::Info, text, "", Some(run));
            }
            Event::Checkpointed(events::Checkpointed { run, step, bytes, best, .. }) => {
                let what = if best { "Best checkpoint so far" } else { "Checkpoint" };
                let text = format!(
                    "{what} of \"{}\" at step {} ({}).",
                    self.run_name(&run),
                    format::count(step),
                    format::bytes(bytes)
                );
                self.refresh_record(&run);
                self.maps.checkpointed(&run, best);
                self.models.checkpointed(&run, best);
                self.messages.push(Level::Info, text, "", Some(run));
            }
            Event::Paused(events::Paused { run, step }) => {
                let current = self.current(&run);
                (current.step, current.is_paused) = (step, true);
                (current.tokens_per_sec, current.eta_secs) = (None, None);
                self.series.touch(&run, Instant::now());
                self.update_row(&run, |summary| (summary.state, summary.steps_done) = (RunState::Paused, step));
            }
            Event::Resumed(events::Resumed { run, step }) => {
                let current = self.current(&run);
                (current.step, current.is_paused) = (step, false);
                self.update_row(&run, |summary| (summary.state, summary.steps_done) = (RunState::Running, step));
            }
            Event::Failed(events::Failed { run, why, what_to_do }) => {
                self.messages.push(Level::Error, why, what_to_do, run);
            }
            Event::Refused(events::Refused { why }) => self.messages.push(Level::Error, why, "", None),
            Event::Warning(events::Warning { run, message }) => {
                if !self.is_told_of_race(run.as_ref(), &message) {
                    self.messages.push(Level::Warning, message, "", run);
                }
            }
            Event::Finished(events::Finished { run, state, step, why, unwritten, .. }) => {
                let name = self.run_name(&run);
                self.finished(run.clone(), &name, state, step, why);
                if let Some(where_it_is) = unwritten {
                    self.messages.push(Level::Error, where_it_is, "", Some(run));
                }
            }
            Event::System(events::System { cpu_percent, memory_bytes, free_bytes, disk_free_bytes, gpus }) => {
                self.system = Some(SystemLoad { cpu_percent, memory_bytes, free_bytes, disk_free_bytes, gpus });
            }
            Event::Runs(events::Runs { runs }) => self.take_runs(runs),
            Event::Damaged(events::Damaged { runs }) => self.damaged = runs,
            Event::Deleted(events::Deleted { deleted }) => self.purge.deleted = Some(deleted),
            Event::Purged(events::Purged { report }) => {
                let is_gone = |run: &RunId| report.purged.iter().any(|gone| gone.id == run.as_str());
                self.deleted.retain(|deleted| !is_gone(&deleted.run));
                self.messages.push_info(format!(
                    "Removed {} for good, {} of files.",
                    counted(report.purged.len() as u64, "thing"),
                    format::bytes(report.bytes())
                ));
                self.purge.done(report);
            }
            Event::Run(events::Run { record, checkpoints, folder }) => {
                let run = record.summary.id.clone();
                self.answered(&run, Asked::Record);
                self.checkpoints.insert(run.clone(), checkpoints);
                self.folders.insert(run.clone(), folder);
                self.records.insert(run, *record);
            }
            Event::Series(events::Series { run, series, whole, data }) => self.series.take(run, series, whole, data),
            Event::Outcomes(events::Outcomes { run, kind, outcomes }) => {
                self.answered(&run, Asked::Outcomes(kind));
                self.outcomes.insert((run, kind), outcomes);
            }
            Event::Samples(events::Samples { run, samples }) => {
                self.answered(&run, Asked::Samples);
                self.samples.insert(run, samples);
            }
            Event::Snapshots(events::Snapshots { run, kind, snapshots }) if kind == snapshot_kinds::CONFUSION => {
                self.answered(&run, Asked::Confusion);
                match snapshots.last().map(|newest| newest.id) {
                    Some(id) => {
                        self.outgoing.push(commands::LoadSnapshot { id }.into());
                        self.confusion_to_come.insert(id, run);
                    }
                    None => drop(self.confusion.insert(run, None)),
                }
            }
            Event::SnapshotData(events::SnapshotData { snapshot })
                if snapshot.record.kind == snapshot_kinds::CONFUSION =>
            {
                if let Some(run) = self.confusion_to_come.remove(&snapshot.record.id) {
                    let found = serde_json::from_slice(&snapshot.data).ok();
                    self.confusion.insert(run, found.map(|found| (snapshot.record.step, found)));
                }
            }
            Event::Snapshots(events::Snapshots { run, kind, snapshots }) if kind == snapshot_kinds::MIXING => {
                self.answered(&run, Asked::Mixing);
                let newest = snapshots.last().map(|newest| newest.step);
                let ids: Vec<i64> = snapshots.iter().filter(|one| Some(one.step) == newest).map(|one| one.id).collect();
                self.outgoing.extend(ids.iter().map(|&id| Request::from(commands::LoadSnapshot { id })));
                if ids.is_empty() {
                    self.mixing.insert(run, Vec::new());
                } else {
                    self.mixing_to_come.insert(run, (ids, Vec::new()));
                }
            }
            Event::SnapshotData(events::SnapshotData { snapshot })
                if snapshot.record.kind == snapshot_kinds::MIXING =>
            {
                self.take_mixing(*snapshot);
            }
            Event::Checked(events::Checked { revision, problems, free_bytes, facts, preview }) => {
                // An answer to an older question that comes late is worth nothing.
                if self.check.as_ref().is_none_or(|known| known.revision <= revision) {
                    let preview = preview.map(|preview| *preview);
                    self.check = Some(CheckAnswer { revision, problems, free_bytes, facts: *facts, preview });
                }
            }
            Event::Evaluation(events::Evaluation { target, loss, metrics, tokens, unit, .. }) => {
                let more = metrics.iter().map(|found| {
                    format!(", {}", found.metric.sentence(&metric_value(found.metric.series, found.value)))
                });
                let more = more.collect::<String>();
                self.messages.push_info(format!(
                    "Evaluated {target} on {}: loss {} {unit}{more}.",
                    counted(tokens, if unit.ends_with("example") { "example" } else { "token" }),
                    format::number(loss)
                ));
            }
            Event::Exported(events::Exported { run, step, path, opens_in_transformers, reason }) => {
                let name = self.run_name(&run);
                let text = format!("Exported \"{name}\" at step {} to {}", format::count(step), path.display());
                let more = if opens_in_transformers { String::new() } else { reason };
                self.messages.push(Level::Info, text, more, Some(run));
            }
            Event::Devices(events::Devices { devices }) => self.devices = devices,
            Event::Advice(events::Advice { advice }) => self.advice.take(advice),
            Event::Ended => {
                self.engine_ended = true;
                self.current = None;
                self.waiting.clear();
            }
            event => self.apply_of_jobs(ticket, event),
        }
    }

    /// Jobs that this window asked for.
    pub fn jobs(&self) -> impl Iterator<Item = &FollowedJob> {
        let transfers = self.hub.fetches.iter().map(|run| &run.job).chain(self.uploads.runs.iter().map(|run| &run.job));
        self.queued_jobs().chain(transfers)
    }

    /// Jobs that this window asked for and that take their turn in the queue.
    pub fn queued_jobs(&self) -> impl Iterator<Item = &FollowedJob> {
        let analyses = self.analysis.pending.iter().map(|pending| &pending.job);
        let measurements = self.speed.measuring.iter().map(|measuring| &measuring.job);
        let conversions = self.models.conversions.iter().map(|run| &run.job);
        let answers = self.answers.asked.iter().map(|asked| &asked.job);
        let texts = self.generate.sides.iter().flatten().map(|side| &side.job);
        let proof = self.generate.proving.iter().map(|proving| &proving.job);
        let asked = conversions.chain(answers).chain(texts).chain(proof).chain(self.mistakes.job());
        analyses.chain(asked).chain(measurements)
    }

    fn job_mut(&mut self, of: &JobRef) -> Option<&mut FollowedJob> {
        let analyses = self.analysis.pending.iter_mut().map(|pending| &mut pending.job);
        let measurements = self.speed.measuring.iter_mut().map(|measuring| &mut Arc::make_mut(measuring).job);
        let conversions = self.models.conversions.iter_mut().map(|run| &mut run.job);
        let fetches = self.hub.fetches.iter_mut().map(|run| &mut run.job);
        let uploads = self.uploads.runs.iter_mut().map(|run| &mut run.job);
        let answers = self.answers.asked.iter_mut().map(|asked| &mut asked.job);
        let texts = self.generate.sides.iter_mut().flatten().map(|side| &mut side.job);
        let proof = self.generate.proving.iter_mut().map(|proving| &mut proving.job);
        let mut all = analyses
            .chain(measurements)
            .chain(conversions)
            .chain(answers)
            .chain(texts)
            .chain(proof)
            .chain(self.mistakes.job_mut())
            .chain(fetches)
            .chain(uploads);
        all.find(|job| job.job() == *of)
    }

    /// Ends a job that this window asked for.
    pub fn cancel_job(&mut self, of: &JobRef) {
        let mut requests = Vec::new();
        if let Some(job) = self.job_mut(of) {
            job.cancel(&mut requests);
        }
        self.outgoing.extend(requests);
    }

    /// Hands an event to the state of the panel that asked for it. Each gives back what is none of its business.
    fn apply_of_jobs(&mut self, ticket: Option<Ticket>, event: Event) {
        if let Some(progress) = event.progress() {
            let of = progress.id().cloned().map(JobRef::Id).or(ticket.map(JobRef::Ticket));
            if let Some(job) = of.and_then(|of| self.job_mut(&of)) {
                job.advance(progress);
            }
        }
        let subject = self.analysis.subject_of(&event);
        let name = subject.map(|of| self.subject_name(&of)).unwrap_or_default();
        let messages = &mut self.messages;
        let rest = self.maps.apply(event);
        let rest = rest.and_then(|event| self.analysis.apply(ticket, event, &name, messages));
        let rest = rest.and_then(|event| self.generate.apply(ticket, event));
        let rest = rest.and_then(|event| self.models.apply(ticket, event, messages));
        let rest = rest.and_then(|event| self.hub.apply(ticket, event, messages));
        let rest = rest.and_then(|event| self.uploads.apply(ticket, event, messages));
        let rest = rest.and_then(|event| self.answers.apply(ticket, event));
        // What nobody takes, nobody asked for: the window does not score translations.
        let _rest = rest.and_then(|event| self.speed.apply(event, messages));
        if let Some(folder) = self.hub.take_fetched() {
            self.models.open(folder);
        }
    }

    /// Whether another run of the same race or sweep was warned in the same words, before the first step of this one: such a warning is
    /// about what all of them read.
    fn is_told_of_race(&self, run: Option<&RunId>, message: &str) -> bool {
        let Some(own) = run.filter(|&run| !self.started.contains_key(run)).and_then(|run| self.run(run)) else {
            return false;
        };
        let is_beside = |run: &RunId| {
            let beside = self.run(run).filter(|beside| beside.id != own.id);
            beside.is_some_and(|beside| own.tags.iter().any(|tag| is_of_race(tag) && beside.tags.contains(tag)))
        };
        self.messages.newest_first().any(|told| {
            (told.level, told.what.as_str()) == (Level::Warning, message) && told.run.as_ref().is_some_and(is_beside)
        })
    }

    /// The current run, to be changed; made the current one if it is not.
    fn current(&mut self, run: &RunId) -> &mut CurrentRun {
        let same = self.current.as_ref().is_some_and(|current| current.run == *run);
        let known = if same { self.current.take() } else { None };
        let current = known.unwrap_or_else(|| CurrentRun::named(run.clone(), self.run_name(run)));
        self.current.insert(current)
    }

    /// An attempt of a run begins after `first_step`: nothing that an earlier one did later is current any more.
    fn begin_attempt(&mut self, run: &RunId, name: &str, first_step: u64, steps: u64) {
        let current = self.current(run);
        let (is_paused, is_stopping) = (current.is_paused, current.is_stopping);
        *current =
            CurrentRun { step: first_step, steps, is_paused, is_stopping, ..CurrentRun::named(run.clone(), name) };
        self.update_row(run, |summary| {
            (summary.state, summary.steps_done, summary.steps_total) = (RunState::Running, first_step, Some(steps));
            (summary.health, summary.failure, summary.diverged) = (None, None, None);
            summary.metrics.retain(|_, found| found.last_step <= first_step);
        });
        self.analysis.rewind(run, first_step);
        for (what, is_known) in [
            (Asked::Samples, self.samples.contains_key(run)),
            (Asked::Mixing, self.mixing.contains_key(run)),
            (Asked::Confusion, self.confusion.contains_key(run)),
        ] {
            if is_known {
                self.refresh(run, what);
            }
        }
        if let Some(samples) = self.samples.get_mut(run) {
            samples.retain(|sample| sample.step <= first_step);
        }
        if self.mixing.get(run).and_then(|matrices| matrices.first()).is_some_and(|one| one.record.step > first_step) {
            self.mixing.insert(run.clone(), Vec::new());
        }
        if let Some(Some((step, _))) = self.confusion.get(run)
            && *step > first_step
        {
            self.confusion.insert(run.clone(), None);
        }
    }

    fn queued(&mut self, run: RunId, name: &str, position: usize) {
        let place = match position {
            0 => "It is next.".to_owned(),
            1 => "One other is before it.".to_owned(),
            more => format!("{} others are before it.", format::count(more as u64)),
        };
        self.messages.push(Level::Info, format!("Queued \"{name}\". {place}"), "", Some(run.clone()));
        self.names.insert(run.clone(), name.to_owned());
        self.show_begun(&run);
        if position == 0 {
            self.selection.focused = Some(run);
        }
    }

    fn queue(&mut self, current: Option<&JobLabel>, waiting: &[JobLabel]) {
        let runs = waiting.iter().enumerate().filter_map(|(place, job)| Some((job.run.clone()?, place)));
        (self.waiting, self.waiting_places) = runs.unzip();
        match current.and_then(|job| job.run.as_ref()) {
            None => self.current = None,
            Some(run) => {
                // One whose eye the user closed since stays closed.
                if self.current.as_ref().is_none_or(|current| current.run != *run) {
                    self.show_begun(run);
                }
                self.current(run);
            }
        }
    }

    /// A run begins, or waits for it: it is shown, unless the runs of a tag alone are; whether it has that tag may be known later.
    fn show_begun(&mut self, run: &RunId) {
        if self.selection.held_tag().is_none() {
            self.selection.visible.insert(run.clone());
        } else if !self.selection.is_visible(run) && !self.undecided.contains(run) {
            self.undecided.push(run.clone());
        }
    }

    /// Shows runs that began and are in the table now, or says why they are not shown.
    fn show_undecided(&mut self) {
        let waiting = std::mem::take(&mut self.undecided);
        let (there, waiting): (Vec<RunId>, Vec<RunId>) =
            waiting.into_iter().partition(|run| self.runs.iter().any(|summary| summary.id == *run));
        self.undecided = waiting;
        for run in there {
            let tags = self.run(&run).map(|summary| summary.tags.clone()).unwrap_or_default();
            let held = self.selection.held_tag().map(str::to_owned);
            // A race that was refused has no runs to be kept among themselves.
            let has_runs = |tag: &String| self.runs.iter().any(|run| run.tags.contains(tag));
            if !held.as_ref().is_some_and(has_runs) {
                self.selection.visible.insert(run);
                continue;
            }
            if !self.selection.show_begun(&run, &tags)
                && let Some(tag) = held
            {
                let what =
                    format!("\"{}\" is not drawn: charts show the runs of \"{tag}\" alone.", self.run_name(&run));
                self.messages.push(Level::Info, what, "Its eye in Runs draws it too.", Some(run));
            }
        }
    }

    fn finished(&mut self, run: RunId, name: &str, state: RunState, step: u64, why: Option<String>) {
        if self.current.as_ref().is_some_and(|current| current.run == run) {
            self.current = None;
            self.selection.stay_with(run.clone());
        }
        self.waiting.retain(|waiting| *waiting != run);
        self.series.touch(&run, Instant::now());
        self.refresh_record(&run);
        let steps = counted(step, "step");
        let because = why.map_or_else(String::new, |why| format!(" {why}"));
        let (level, what) = match state {
            RunState::Finished => (Level::Info, format!("\"{name}\" finished after {steps}.{because}")),
            RunState::Stopped => (Level::Info, format!("\"{name}\" was stopped after {steps}.{because}")),
            RunState::Cancelled => (Level::Info, format!("\"{name}\" was taken out of the queue.{because}")),
            RunState::Diverged => (Level::Error, format!("\"{name}\" diverged after {steps}.{because}")),
            RunState::Failed => (Level::Error, format!("\"{name}\" failed after {steps}.{because}")),
            other => (Level::Warning, format!("\"{name}\" ended as {other} after {steps}.{because}")),
        };
        let what_to_do = match state {
            RunState::Diverged => "Lower the learning rate, clip the gradient or warm up longer.",
            RunState::Stopped => "Resume continues from its last checkpoint.",
            _ => "",
        };
        self.messages.push(level, what, what_to_do, Some(run));
    }

    /// Changes a row of the table of runs by what an event says; the next table from the store says the same.
    fn update_row(&mut self, run: &RunId, change: impl FnOnce(&mut RunSummary)) {
        if let Some(summary) = self.runs.iter_mut().find(|summary| summary.id == *run) {
            change(summary);
        }
    }

    /// Loads the record of a run again where one is shown or asked for. An answer that is under way may have been read before what is known now.
    pub fn refresh_record(&mut self, run: &RunId) {
        let key = (run.clone(), Asked::Record);
        if self.asked.is_waiting(&key) || self.records.contains_key(run) {
            self.asked.refresh(&key, || Asked::Record.of(run));
        }
    }

    /// Shows, focuses and pins runs whose deletion was undone as they were before, once they are in the table again.
    fn restore_undeleted(&mut self) {
        let (back, waiting): (Vec<Deleted>, Vec<Deleted>) = std::mem::take(&mut self.returning)
            .into_iter()
            .partition(|deleted| self.runs.iter().any(|summary| summary.id == deleted.run));
        self.returning = waiting;
        for Deleted { run, was_visible, was_focused, was_baseline, style, .. } in back {
            let selection = &mut self.selection;
            if was_focused {
                selection.focused = Some(run.clone());
            }
            if was_baseline && selection.baseline.is_none() {
                selection.baseline = Some(run.clone());
            }
            if was_visible {
                if let Some(place) = style {
                    selection.styles.take_back(&run, place);
                }
                let tags = self.runs.iter().find(|summary| summary.id == run).map(|summary| summary.tags.as_slice());
                // Its own eye was open, whether or not a tag is shown alone now.
                if !self.selection.show_begun(&run, tags.unwrap_or_default()) {
                    self.selection.toggle_visible(&run);
                }
            }
        }
    }

    /// Runs of which the list tells more than before, and nothing else does: another program trains them.
    fn grown_elsewhere(&self, runs: &[RunSummary]) -> Vec<RunId> {
        let told = |run: &RunSummary| (run.state, run.steps_done, run.metrics.values().map(|of| of.count).sum::<u64>());
        let before: BTreeMap<&RunId, _> = self.runs.iter().map(|run| (&run.id, told(run))).collect();
        let is_here = |run: &RunId| self.current.as_ref().is_some_and(|current| current.run == *run);
        let has_grown = |now: &&RunSummary| before.get(&now.id).is_some_and(|then| *then != told(now));
        runs.iter().filter(has_grown).map(|run| run.id.clone()).filter(|run| !is_here(run)).collect()
    }

    fn take_runs(&mut self, runs: Vec<RunSummary>) {
        // A record shows the name, note and tags as well: a line that changed makes it stale.
        let changed: Vec<RunId> = runs
            .iter()
            .filter(|now| {
                self.records.get(&now.id).is_some_and(|record| {
                    let then = &record.summary;
                    // Of the run that trains here, checkpoints tell of themselves; of one in another program its steps do.
                    let is_here = self.current.as_ref().is_some_and(|current| current.run == now.id);
                    let is_longer = (now.state.is_ended() || !is_here) && then.steps_done != now.steps_done;
                    is_longer
                        || (&then.name, &then.note, &then.tags, then.archived, then.state)
                            != (&now.name, &now.note, &now.tags, now.archived, now.state)
                })
            })
            .map(|run| run.id.clone())
            .collect();
        for run in &changed {
            self.refresh_record(run);
        }
        for run in self.grown_elsewhere(&runs) {
            self.series.touch(&run, Instant::now());
            for (what, is_known) in [
                (Asked::Samples, self.samples.contains_key(&run)),
                (Asked::Mixing, self.mixing.contains_key(&run)),
                (Asked::Confusion, self.confusion.contains_key(&run)),
            ] {
                if is_known {
                    self.refresh(&run, what);
                }
            }
            self.refresh_outcomes(&run);
        }
        let labels = names_apart(&runs);
        self.run_names = labels.iter().map(String::as_str).collect();
        self.labels = runs.iter().map(|run| run.id.clone()).zip(labels).collect();
        self.runs = runs;
        self.restore_undeleted();
        self.show_undecided();
        self.pin_expected_race();
        let first = !std::mem::replace(&mut self.runs_loaded, true);
        let exists = |run: &RunId| self.runs.iter().any(|summary| summary.id == *run);
        self.selection.retain(exists);
        self.series.retain(exists);
        self.analysis.retain(exists);
        self.records.retain(|run, _| exists(run));
        self.names.retain(|run, _| !exists(run));
        self.checkpoints.retain(|run, _| exists(run));
        self.folders.retain(|run, _| exists(run));
        self.samples.retain(|run, _| exists(run));
        self.mixing.retain(|run, _| exists(run));
        if first && self.selection.visible.is_empty() {
            let newest = self.runs.iter().filter(|run| !run.archived && run.steps_done > 0).take(SHOWN_AT_FIRST);
            self.selection.visible = newest.map(|run| run.id.clone()).collect();
        }
        if let Some(current) = &mut self.current
            && let Some(summary) = self.runs.iter().find(|summary| summary.id == current.run)
        {
            current.name.clone_from(&summary.name);
        }
    }

    /// Keeps one of the matrices that were asked for; all of a step are shown together.
    fn take_mixing(&mut self, snapshot: SnapshotData) {
        let waits = |(ids, _): &(Vec<i64>, Vec<SnapshotData>)| ids.contains(&snapshot.record.id);
        let Some(run) = self.mixing_to_come.iter().find(|(_, waiting)| waits(waiting)).map(|(run, _)| run.clone())
        else {
            return;
        };
        if let Some((ids, mut there)) = self.mixing_to_come.remove(&run) {
            there.push(snapshot);
            if there.len() < ids.len() {
                self.mixing_to_come.insert(run, (ids, there));
            } else {
                self.mixing.insert(run, there);
            }
        }
    }

    /// Asks for something of a run anew.
    fn refresh(&mut self, run: &RunId, what: Asked) {
        self.asked.refresh(&(run.clone(), what), || what.of(run));
    }

    /// Asks anew for the outcomes of single examples that are here.
    fn refresh_outcomes(&mut self, run: &RunId) {
        for kind in OutcomeKind::ALL {
            if self.outcomes.contains_key(&(run.clone(), kind)) {
                self.refresh(run, Asked::Outcomes(kind));
            }
        }
    }

    fn answered(&mut self, run: &RunId, what: Asked) {
        self.asked.answer((run.clone(), what), ());
    }

    /// Takes in that a request failed.
    fn failed(&mut self, ticket: Ticket, why: &str) {
        if let Some(answer) = self.exports.get_mut(&ticket) {
            *answer = Some(Err(why.to_owned()));
        }
        if let Some(job) = self.job_mut(&JobRef::Ticket(ticket)) {
            job.fail(why);
        }
        let _ = self.asked.fail(ticket, why)
            || self.series.fail(ticket)
            || self.analysis.fail(ticket, why)
            || self.advice.fail(ticket, why)
            || self.answers.fail(ticket, why)
            || self.mistakes.fail(ticket, why)
            || self.hub.fail(ticket, why)
            || self.maps.fail(ticket, why)
            || self.models.fail(ticket, why)
            || self.speed.fail(ticket, why)
            || self.uploads.fail(ticket, why);
    }

    fn pin_expected_race(&mut self) {
        let Some(tag) = &self.expected_race else { return };
        let first = self.runs.iter().filter(|run| run.tags.contains(tag)).min_by_key(|run| run.number);
        if let Some(first) = first {
            self.selection.baseline = Some(first.id.clone());
            self.expected_race = None;
        }
    }
}
