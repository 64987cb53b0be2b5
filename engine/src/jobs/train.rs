use std::{
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

use candle_core::Device;
use rayon::ThreadPoolBuilder;

use super::{
    context::{JobContext, STACK_BYTES},
    control::JobControl,
    coverage,
    error::JobError,
    health,
    hooks::RunHooks,
    initial::Begun,
    job::{Ending, Job, Threads},
    queued_job::REPORT_IT,
    resume::{Found, newest_state},
    train_run::TrainRun,
    unready::Unready,
};
use crate::{
    attention::{Cost, ModelPlan, Workload},
    data::{Corpus, DataError, Dataset, Progress, Reading, Stage},
    machine,
    objective::Labels,
    protocol::{Event, JobLabel, events},
    speed::{peak_memory_bytes, reset_peak_memory},
    store::{Divergence, Failure, RunFacts, RunId, RunState, Settled, StateDetails, StoreError},
    train::{Hooks as _, MemoryCheck, Moment, Outcome, STATE_INTERVAL, Start, TrainError, Trainer, train},
};

/// How long the end of a run waits until all of it is in the store.
const SETTLE_PATIENCE: Duration = Duration::from_secs(5);

/// How a run ended, for the record.
struct RunEnd {
    state: RunState,
    why: Option<String>,
    details: StateDetails,
}

/// Trains a run and writes down how it ended, whatever happens.
impl Job for TrainRun {
    type Output = events::Finished;

    const NAME: &'static str = "train";

    fn label(&self) -> JobLabel {
        JobLabel::train(self.run.clone(), self.config.name.as_str())
    }

    fn threads(&self) -> Threads {
        Threads::Own
    }

    fn queued(&self, position: usize) -> Option<Event> {
        let (run, name) = (self.run.clone(), self.config.name.clone());
        Some(events::Queued { run, name, number: self.number, position }.into())
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        Ok(train_with_states(context, self, STATE_INTERVAL))
    }

    fn failure(&self, _context: &JobContext) -> String {
        format!("\"{}\" could not be trained.", self.config.name)
    }

    fn ended(&self, context: &JobContext, ending: Ending) -> Result<Event, StoreError> {
        // A run that was already going before it was queued again keeps what it has.
        let has_begun = !context.store.run(self.run.as_str())?.attempts.is_empty();
        let (state, why) = match ending {
            Ending::Cancelled if has_begun => (RunState::Stopped, None),
            Ending::Cancelled => (RunState::Cancelled, None),
            Ending::Failed(error) => (RunState::Failed, Some(error.why)),
        };
        context.store.set_state(&self.run, state, StateDetails::default())?;
        let summary = context.store.run(self.run.as_str())?.summary;
        let (name, step, train_secs) = (summary.name, summary.steps_done, summary.train_secs);
        Ok(events::Finished { name, step, train_secs, why, ..self.finished(state) }.into())
    }

    fn faulted(&self, context: &JobContext, why: &str) -> Option<Event> {
        let failure = Failure { why: why.to_owned(), what_to_do: REPORT_IT.to_owned() };
        let details = StateDetails { failure: Some(failure), ..StateDetails::default() };
        context.writer.set_state(&self.run, RunState::Failed, details);
        Some(events::Finished { why: Some(why.to_owned()), ..self.finished(RunState::Failed) }.into())
    }

    fn abandoned(&self, context: &JobContext) -> Result<(), StoreError> {
        // Nobody took it out of the queue: it can be resumed as after a crash.
        let state = if self.is_continued { RunState::Stopped } else { RunState::Interrupted };
        context.store.set_state(&self.run, state, StateDetails::default())
    }

    fn renamed(&mut self, run: &RunId, name: &str) {
        if self.run == *run {
            name.clone_into(&mut self.config.name);
        }
    }

    #[cfg(test)]
    fn example(_folder: &Path) -> Self {
        let numerics = crate::train::Numerics::CURRENT;
        Self {
            run: RunId::new(),
            number: 1,
            config: crate::config::RunConfig::default(),
            numerics,
            is_continued: false,
        }
    }
}

impl TrainRun {
    /// Last event of a run of which nothing else is known.
    fn finished(&self, state: RunState) -> events::Finished {
        events::Finished {
            run: self.run.clone(),
            name: self.config.name.clone(),
            state,
            step: 0,
            loss: None,
            best_validation_loss: None,
            best_step: None,
            train_secs: 0.0,
            why: None,
            unwritten: None,
        }
    }
}

/// Trains a run with a state to resume from at least every `state_interval`.
fn train_with_states(context: &JobContext, job: &TrainRun, state_interval: Duration) -> events::Finished {
    let control = &*context.control;
    let run = job.run.clone();
    let name = job.config.name.clone();
    let mut hooks = RunHooks::new(context, job, control);
    reset_peak_memory();
    let threads = job.config.threads_used();
    if let Some(message) = job.config.threads_note() {
        context.outbox.send(events::Warning { run: Some(run.clone()), message });
    }
    let ending = match ThreadPoolBuilder::new()
        .num_threads(threads)
        .stack_size(STACK_BYTES)
        .thread_name(|index| format!("headroom-train-{index}"))
        .build()
    {
        Ok(pool) => pool.install(|| carry_through(context, job, control, &mut hooks, state_interval)),
        Err(error) => failed(&format!("The threads of the run could not be started: {error}."), "Lower `threads`."),
    };
    let peak = peak_memory_bytes();
    // The next run has other shapes.
    crate::ops::release_buffers();
    let mut details = ending.details;
    details.progress = hooks.progress();
    hooks.note_peak(peak);
    context.writer.set_state(&run, ending.state, details);
    let unwritten = unwritten(context);
    if ending.state == RunState::Failed
        && let Some(why) = &ending.why
    {
        context.outbox.send(events::Failed { run: Some(run.clone()), why: why.clone(), what_to_do: String::new() });
    }
    hooks.finish(name, ending.state, ending.why, unwritten)
}

/// Where the record of a run that ended is, and what to do about it, if it is not in the store.
fn unwritten(context: &JobContext) -> Option<String> {
    let folder = context.store.paths().root().display().to_string();
    match context.writer.settle(SETTLE_PATIENCE) {
        Settled::Stored => None,
        Settled::Beside { path } => Some(format!(
            "The store could not be written, so the rest of the run's record is in a file beside it. Free some space; the \
             next command that opens the store brings it in: {}",
            path.display()
        )),
        Settled::Apart { path } => Some(format!(
            "The store could not be written, nor any file beside it, so the rest of the run's record is in a file apart. Free \
             some space and move it, under the same name, to the folder {folder}; the next command that opens the store \
             brings it in: {}",
            path.display()
        )),
        Settled::Removed { copy, spill } => Some(of_removed(context.store.paths().database(), copy, spill)),
        Settled::Held => Some(format!(
            "The store could not be written, nor any file beside it or in the folder for temporary files: points of the \
             run are in the memory of this program alone and end with it. What was written before is in {folder}"
        )),
    }
}

/// The same of a run whose database was removed or replaced.
fn of_removed(database: &Path, copy: Option<PathBuf>, spill: Option<PathBuf>) -> String {
    let database = database.display();
    let mut text = match copy {
        Some(copy) => format!(
            "The database of the store was removed or replaced while the run was trained. A copy of what it held is in {}: put it \
             in the place of {database}.",
            copy.display()
        ),
        None => format!(
            "The database of the store, or the log beside it, was removed or replaced while the run was trained ({database}). Put \
             it back if it is missing."
        ),
    };
    if let Some(spill) = spill {
        text += " The rest of the run's record is in a file that the next command which opens that store brings in, if it lies \
                 in the same folder: ";
        text += &spill.display().to_string();
    }
    text
}

fn failed(why: &str, what_to_do: &str) -> RunEnd {
    let failure = Failure { why: why.to_owned(), what_to_do: what_to_do.to_owned() };
    RunEnd {
        state: RunState::Failed,
        why: Some(format!("{why} {what_to_do}").trim().to_owned()),
        details: StateDetails { failure: Some(failure), ..StateDetails::default() },
    }
}

/// Everything between the first file that is read and the last step.
fn carry_through(
    context: &JobContext,
    job: &TrainRun,
    control: &JobControl,
    hooks: &mut RunHooks<'_>,
    state_interval: Duration,
) -> RunEnd {
    let device = match machine::open_of(&job.config) {
        Ok(device) => device,
        Err(why) => return failed(&why, "Choose another device; `headroom devices` lists them."),
    };
    let facts = RunFacts { device: Some(job.config.device.to_string()), ..RunFacts::default() };
    context.writer.set_facts(&job.run, facts);
    context.writer.set_state(&job.run, RunState::Running, StateDetails::default());
    // Whoever looks at the runs now is to find it. A store in trouble speaks for itself.
    let _ = context.writer.flush();
    context.runs_changed();
    let begun = match begun(context, job, &device) {
        Ok(begun) => begun,
        Err(why) => return unready(why),
    };
    let tokenizer = begun.as_ref().and_then(|begun| begun.tokenizer_json.as_deref());
    let corpus = match load_corpus(context, job, tokenizer, control) {
        Ok(corpus) => corpus,
        Err(DataError::Stopped) => return stopped(),
        Err(error) => return failed(&error.to_string(), ""),
    };
    for message in &corpus.warnings {
        context.outbox.send(events::Warning { run: Some(job.run.clone()), message: message.clone() });
    }
    let is_from_elsewhere = begun.as_ref().is_some_and(|begun| matches!(begun.start, Start::Weights(_)));
    let prepared = match begun {
        Some(begun) => {
            hooks.set_lineage(begun.lineage.clone());
            prepare_begun(context, job, corpus, &device, begun)
        }
        None => prepare(context, job, corpus, &device),
    };
    let mut trainer = match prepared {
        Ok(trainer) => trainer,
        Err(why) => return unready(why),
    };
    for message in trainer.score_warnings() {
        context.outbox.send(events::Warning { run: Some(job.run.clone()), message });
    }
    if let Err(why) = coverage::take_pairs(context, &job.run, &mut trainer, control) {
        return if control.should_stop() { stopped() } else { failed(&why.to_string(), "") };
    }
    hooks.start(&trainer, &device_words(job));
    if is_from_elsewhere {
        // From now on the run needs the model no more that it began with.
        hooks.checkpoint(&trainer, Moment { best: false, resumable: true, asked: false });
    }
    match train(&mut trainer, hooks, state_interval) {
        Ok(Outcome::Finished) => ended(hooks),
        Ok(Outcome::EndedEarly(why)) => {
            let ending = ended(hooks);
            if ending.state == RunState::Finished { RunEnd { why: Some(why), ..ending } } else { ending }
        }
        Ok(Outcome::Stopped) if hooks.is_over() => ended(hooks),
        Ok(Outcome::Stopped) => stopped(),
        Ok(Outcome::Diverged(divergence)) => {
            let kept = match hooks.newest_checkpoint() {
                Some((step, _)) => format!("Its newest checkpoint, of step {step}, is kept."),
                None => "It had no checkpoint yet.".to_owned(),
            };
            let why = format!(
                "The loss became non-finite at step {}, first in {}. {kept} Lower the learning rate, lengthen the warm-up \
                 or clip harder.",
                divergence.step, divergence.place
            );
            let diverged = Divergence { step: divergence.step, at: Some(divergence.place) };
            let details = StateDetails { diverged: Some(diverged), ..StateDetails::default() };
            RunEnd { state: RunState::Diverged, why: Some(why), details }
        }
        Err(error) => failed(&error.to_string(), ""),
    }
}

/// The end of a run that went its way: finished, unless its loss has diverged.
fn ended(hooks: &mut RunHooks<'_>) -> RunEnd {
    let (state, why, details) = health::ended(hooks.last_health());
    match hooks.unsaved() {
        Some(why) if state == RunState::Finished => failed(
            &format!("All steps were done, but the checkpoint of the last one could not be written. {why}"),
            "Going on with the run does the steps since its newest checkpoint again, with the same numbers.",
        ),
        _ => RunEnd { state, why, details },
    }
}

/// End of a run that cannot begin.
fn unready(why: Unready) -> RunEnd {
    match why {
        Unready::Train(error) => failed(&error.to_string(), ""),
        Unready::Refused { why, what_to_do } => failed(&why, &what_to_do),
    }
}

fn stopped() -> RunEnd {
    RunEnd { state: RunState::Stopped, why: None, details: StateDetails::default() }
}

/// Loads the text, telling how far it is at most some ten times a second.
fn load_corpus(
    context: &JobContext,
    job: &TrainRun,
    tokenizer: Option<&str>,
    control: &JobControl,
) -> Result<Corpus, DataError> {
    let progress = Loading { context, job, control, told: Mutex::new(None) };
    // Paths in a stored config are absolute.
    let base = PathBuf::new();
    let cache = context.store.paths().tokenizer_cache();
    let reading = Reading::of(job.config.task.as_ref()).in_edition(job.numerics.edition());
    let rules = (&job.config.objective(), &reading);
    let corpus = Corpus::load_for(tokenizer, &job.config.data, rules, &base, &cache, &progress)?;
    corpus.weighted(job.config.task.as_ref())
}

struct Loading<'a> {
    context: &'a JobContext,
    job: &'a TrainRun,
    control: &'a JobControl,
    told: Mutex<Option<(Stage, Instant)>>,
}

impl Progress for Loading<'_> {
    fn report(&self, stage: Stage, fraction: f32) {
        let Ok(mut told) = self.told.lock() else { return };
        let is_due = told.is_none_or(|(last, at)| last != stage || at.elapsed() > Duration::from_millis(100));
        if is_due {
            *told = Some((stage, Instant::now()));
            self.context.outbox.send(events::Preparing {
                run: self.job.run.clone(),
                stage: stage.label().to_owned(),
                fraction: f64::from(fraction),
            });
        }
    }

    fn is_stopped(&self) -> bool {
        self.control.should_stop()
    }
}

/// The model that a run begins with which does not draw all of its weights, before text is read in its tokens; its own newest
/// checkpoint where the run is continued.
fn begun(context: &JobContext, job: &TrainRun, device: &Device) -> Result<Option<Begun>, Unready> {
    let Some(initial) = &job.config.model.initial else { return Ok(None) };
    let found = if job.is_continued { newest_state(context, job, device)? } else { None };
    match found {
        Some(Found { resume, plan, tokenizer_json, lineage, labels, normalisation }) => {
            let begun = Begun::resumed(job, &plan, Start::Resume(resume), tokenizer_json, lineage)?;
            Ok(Some(begun.reading(labels, normalisation)))
        }
        None => Begun::with(context, job, initial, device).map(Some),
    }
}

/// Builds model and optimiser of such a run.
fn prepare_begun(
    context: &JobContext,
    job: &TrainRun,
    mut corpus: Corpus,
    device: &Device,
    begun: Begun,
) -> Result<Trainer, Unready> {
    begun.require_tokens(&corpus)?;
    // A model goes on with the numbers that it knows, and not with those of the new images' own mean and deviation. The data, and
    // with them the hashes, are the same.
    if let (Dataset::Images { images, .. }, Some(own)) = (&mut corpus.dataset, &begun.normalisation) {
        images.normalisation = own.clone();
    }
    let corpus = Corpus { tokenizer: corpus.tokenizer.known_to(begun.plan.vocabulary()), ..corpus };
    require_labels(&corpus, begun.labels.as_ref())?;
    require_memory(job, &begun.plan, device)?;
    require_disk(context, job, &begun.plan)?;
    if let Some(told) = begun.told {
        context.outbox.send(told);
    }
    Ok(Trainer::new(job.config.clone(), job.numerics, begun.plan, corpus, device, begun.start)?)
}

/// Builds model and optimiser, from the newest checkpoint that can be read where the run is continued.
fn prepare(context: &JobContext, job: &TrainRun, corpus: Corpus, device: &Device) -> Result<Trainer, Unready> {
    let plan = ModelPlan::resolve(&job.config, corpus.tokenizer.vocabulary_size()).map_err(TrainError::Config)?;
    let plan = corpus.labels().map_or_else(|| plan.clone(), |own| plan.clone().with_outputs(own.outputs()));
    require_memory(job, &plan, device)?;
    let resume = if job.is_continued { newest_state(context, job, device)? } else { None };
    require_disk(context, job, &plan)?;
    if let Some(found) = &resume {
        require_labels(&corpus, found.labels.as_ref())?;
    }
    let start = resume.map_or(Start::Fresh, |found| Start::Resume(found.resume));
    Ok(Trainer::new(job.config.clone(), job.numerics, plan, corpus, device, start)?)
}

/// Refuses a table whose labels are others than those that the model's outputs stand for.
fn require_labels(corpus: &Corpus, known: Option<&Labels>) -> Result<(), Unready> {
    match (corpus.labels(), known) {
        (Some(own), Some(known)) if !own.fits(known) => Err(Unready::Refused {
            why: "The data have other labels than when the run began, so that the model's outputs would stand for others."
                .to_owned(),
            what_to_do: "Put them back as they were, or start a new run.".to_owned(),
        }),
        _ => Ok(()),
    }
}

fn require_memory(job: &TrainRun, plan: &ModelPlan, device: &Device) -> Result<(), Unready> {
    Ok(MemoryCheck::new(&Cost::of(plan, &Workload::training(&job.config)), device).require()?)
}

fn require_disk(context: &JobContext, job: &TrainRun, plan: &ModelPlan) -> Result<(), Unready> {
    let has = context.store.run_bytes(&job.run);
    if let Some(why) = machine::shortage(&job.config, plan, context.store.paths(), has) {
        return Err(Unready::Refused {
            why: format!("There is not enough disk space: {why}."),
            what_to_do: "Free some space on it, and go on with the run or start it again.".to_owned(),
        });
    }
    Ok(())
}

fn device_words(job: &TrainRun) -> String {
    let id = job.config.device.to_string();
    machine::devices().into_iter().find(|device| device.id == id).map_or(id, |device| device.name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        config::{RunConfig, from_toml, to_toml},
        jobs::{JobControl, Monitor},
        machine::GpuReader,
        objective::{LearnedTask, Objective},
        protocol::Outbox,
        store::{
            CheckpointKind, CheckpointRecord, NewCheckpoint, NewRun, OpenMode, RunId, RunRecord, Store, series_names,
            snapshot_kinds,
        },
        train::Numerics,
    };

    const TINY: &str = r#"
        format = 1
        name = "tiny"
        threads = 1
        [data]
        kind = "grammar"
        words = 1000
        sequence_length = 16
        tokenizer = { kind = "bytes" }
        [model]
        kind = "decoder"
        layers = 1
        heads = 1
        width = 8
        feed_forward = 8
        [train]
        steps = 20
        batch = 1
        [probe]
        every = 0
    "#;

    /// A store of its own with a run that waits.
    struct Place {
        folder: tempfile::TempDir,
        store: Store,
        config: RunConfig,
        run: RunId,
    }

    impl Place {
        fn new(toml: &str) -> Self {
            let folder = tempfile::TempDir::new().unwrap();
            let store = Store::open(&folder.path().join("headroom.db"), OpenMode::ReadWrite).unwrap();
            let config = from_toml(toml).unwrap();
            let new = NewRun { name: "tiny".to_owned(), config_toml: to_toml(&config), ..NewRun::default() };
            let run = store.create_run(new).unwrap().summary.id;
            Self { folder, store, config, run }
        }

        /// Trains it from the start, or on, while the machine is read at this interval; what was warned of.
        fn train(&self, is_continued: bool, control: JobControl, interval: Duration) -> Vec<String> {
            let events = self.train_with_states(is_continued, control, interval, STATE_INTERVAL).into_iter();
            events
                .filter_map(|event| {
                    if let Event::Warning(events::Warning { message, .. }) = event { Some(message) } else { None }
                })
                .collect()
        }

        /// The same with states at an interval of their own; all events.
        fn train_with_states(
            &self,
            is_continued: bool,
            control: JobControl,
            interval: Duration,
            state_interval: Duration,
        ) -> Vec<Event> {
            let (writer, outbox) = (self.store.writer().unwrap(), Outbox::new(None));
            let none = || Box::new(Vec::<Box<dyn GpuReader>>::new()) as Box<dyn GpuReader>;
            let mut monitor =
                Monitor::start(outbox.clone(), writer.clone(), self.folder.path().to_owned(), interval, none).unwrap();
            monitor.set_busy(true);
            let context =
                JobContext::new(self.store.clone(), writer.clone(), outbox.clone(), monitor.position(), || ());
            let context = context.of_job(outbox.clone(), Arc::new(control));
            let (run, config, numerics) = (self.run.clone(), self.config.clone(), Numerics::CURRENT);
            let job = TrainRun { run, number: 1, config, numerics, is_continued };
            train_with_states(&context, &job, state_interval);
            monitor.end();
            writer.flush().unwrap();
            std::iter::from_fn(|| outbox.take()).map(|notice| notice.event).collect()
        }

        /// Kinds and steps of what is kept.
        fn kept(&self) -> Vec<(CheckpointKind, u64)> {
            self.store.checkpoints(&self.run).unwrap().into_iter().map(|kept| (kept.kind, kept.step)).collect()
        }

        /// Leaves what a crash leaves of a run that has not come to its first state: the best model, without a state.
        fn lose_states(&self) {
            let writer = self.store.writer().unwrap();
            let kept = self.store.checkpoints(&self.run).unwrap();
            let best = kept.iter().find(|kept| kept.kind == CheckpointKind::Best).unwrap().clone();
            for kept in &kept {
                writer.forget_checkpoint(&self.run, &kept.path);
                if kept.path != best.path {
                    let _ = std::fs::remove_dir_all(&kept.path);
                }
            }
            let CheckpointRecord { step, path, kind, metric, value, bytes, .. } = best;
            let manifest = path.join("headroom.json");
            let mut text: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
            let files = text["files"].as_object_mut().unwrap();
            if files.remove("training_state.safetensors").is_some() {
                std::fs::write(&manifest, text.to_string()).unwrap();
                std::fs::remove_file(path.join("training_state.safetensors")).unwrap();
            }
            writer.checkpoint(&self.run, NewCheckpoint { step, path, kind, metric, value, bytes });
            writer.set_state(&self.run, RunState::Interrupted, StateDetails::default());
            writer.flush().unwrap();
        }

        fn value_at(&self, step: u64) -> Option<f64> {
            self.store.logged_value(&self.run, series_names::VALIDATION_LOSS, step).unwrap()
        }

        fn record(&self) -> RunRecord {
            self.store.run(self.run.as_str()).unwrap()
        }

        /// Steps and the bits of the values of a series.
        fn curve(&self, series: &str) -> Vec<(u64, u64)> {
            let data = self.store.series(&self.run, series, None).unwrap();
            data.steps.iter().copied().zip(data.values.iter().map(|value| value.to_bits())).collect()
        }
    }

    /// Trains a run on a store of its own, while `reader` reads the machine at this interval.
    fn trained(toml: &str, interval: Duration) -> (Place, Store, RunRecord) {
        let place = Place::new(toml);
        place.train(false, JobControl::default(), interval);
        let record = place.record();
        assert_eq!(record.summary.state, RunState::Finished, "{:?}", record.summary.failure);
        let store = place.store.clone();
        (place, store, record)
    }

    const SELDOM: Duration = Duration::from_mins(1);

    /// A run in which little time passes between evaluations, probes and checkpoints.
    fn busy() -> String {
        TINY.replace(
            "steps = 20",
            "steps = 4\n        evaluate_every = 2\n        evaluate_batches = 3\n        checkpoint_every = 3",
        )
        .replace("every = 0", "every = 4\n        examples = 2")
    }

    #[test]
    fn a_stop_at_any_moment_loses_no_evaluation() {
        let peaceful = Place::new(&busy());
        peaceful.train(false, JobControl::default(), SELDOM);
        let evaluated = Objective::NEXT_TOKEN.task().metrics().iter().map(|metric| metric.series);
        let series: Vec<&str> = [series_names::TRAIN_LOSS].into_iter().chain(evaluated).collect();
        let curves = |place: &Place| series.iter().map(|name| place.curve(name)).collect::<Vec<_>>();
        let expected = curves(&peaceful);
        assert_eq!(expected[1].iter().map(|point| point.0).collect::<Vec<_>>(), [2, 4]);
        let best = |place: &Place| {
            let metrics = place.record().summary.metrics;
            let found = &metrics[series_names::VALIDATION_LOSS];
            let is_best = |kept: &&CheckpointRecord| kept.kind == CheckpointKind::Best;
            let kept = place.store.checkpoints(&place.run).unwrap();
            (
                found.best,
                found.best_step,
                found.last_step,
                kept.iter().find(is_best).map(|kept| (kept.step, kept.value)),
            )
        };
        let (mut stops, mut in_evaluation) = (0, 0);
        for question in 1.. {
            let place = Place::new(&busy());
            place.train(false, JobControl::stop_at(question), SELDOM);
            if place.record().summary.state == RunState::Finished {
                break;
            }
            stops += 1;
            // Once more in the very moment in which it goes on, and then to the end.
            if question % 2 == 0 {
                place.train(true, JobControl::stop_at(2), SELDOM);
            }
            if place.record().summary.state == RunState::Stopped {
                let before = place.record().summary.steps_done;
                let evaluated = place.curve(series_names::VALIDATION_LOSS).last().map_or(0, |point| point.0);
                in_evaluation += u64::from(before > 0 && before.is_multiple_of(2) && evaluated < before);
                place.train(true, JobControl::default(), SELDOM);
            }
            assert_eq!(place.record().summary.state, RunState::Finished, "question {question}");
            assert_eq!(curves(&place), expected, "question {question}");
            assert_eq!(best(&place), best(&peaceful), "question {question}");
            // Those between may be left out to save time.
            assert_eq!(place.store.live_analyses(&place.run).unwrap().last(), Some(&4), "question {question}");
        }
        assert!(stops > 12 && in_evaluation > 2, "{stops} stops, {in_evaluation} of them in an evaluation");
    }

    #[test]
    fn a_checkpoint_has_the_loss_of_its_own_step_or_none() {
        let toml = TINY.replace("steps = 20", "steps = 7\n        evaluate_every = 2\n        checkpoint_every = 3");
        let (place, store, _) = trained(&toml.replace("steps = 7", "steps = 7\n        keep_checkpoints = 9"), SELDOM);
        let losses = place.curve(series_names::VALIDATION_LOSS);
        let kept = store.checkpoints(&place.run).unwrap();
        let of = |step: u64| losses.iter().find(|point| point.0 == step).map(|point| point.1);
        for checkpoint in &kept {
            assert_eq!(checkpoint.value.map(f64::to_bits), of(checkpoint.step), "step {}", checkpoint.step);
            assert_eq!(checkpoint.metric.is_some(), checkpoint.value.is_some());
        }
        let last: Vec<_> = kept.iter().filter(|kept| kept.kind == CheckpointKind::Last).collect();
        let told: Vec<_> = last.iter().map(|kept| (kept.step, kept.value.is_some())).collect();
        assert_eq!(told, [(3, false), (6, true), (7, true)]);
    }

    /// Steps of the states and models that were written.
    fn written(events: &[Event]) -> Vec<u64> {
        let steps = events.iter();
        steps
            .filter_map(|event| {
                if let Event::Checkpointed(events::Checkpointed { step, .. }) = event { Some(*step) } else { None }
            })
            .collect()
    }

    #[test]
    fn a_state_is_written_at_the_first_evaluation_and_at_an_interval() {
        let toml = TINY.replace("steps = 20", "steps = 12\n        evaluate_every = 5\n        checkpoint_every = 500");
        let place = Place::new(&toml);
        let told = place.train_with_states(false, JobControl::default(), SELDOM, SELDOM);
        assert!(written(&told).starts_with(&[5]) && written(&told).ends_with(&[12]), "{:?}", written(&told));
        let last =
            |place: &Place| place.kept().into_iter().filter(|kept| kept.0 == CheckpointKind::Last).collect::<Vec<_>>();
        assert_eq!(last(&place).last(), Some(&(CheckpointKind::Last, 12)));
        // Without a rest: after every step, and a newer one replaces the one before.
        let often = Place::new(&toml);
        let told = often.train_with_states(false, JobControl::default(), SELDOM, Duration::ZERO);
        assert_eq!(written(&told), (1..=12).collect::<Vec<_>>());
        assert!(often.kept().len() <= 3, "{:?}", often.kept());
        for series in [series_names::TRAIN_LOSS, series_names::VALIDATION_LOSS] {
            assert_eq!(often.curve(series), place.curve(series), "states change no bit");
        }
        // Regular ones are pushed out by none between them.
        let regular =
            Place::new(&toml.replace("checkpoint_every = 500", "checkpoint_every = 4\n        keep_checkpoints = 2"));
        for stop in [60, 0] {
            let control = if stop > 0 { JobControl::stop_at(stop) } else { JobControl::default() };
            regular.train_with_states(stop == 0, control, SELDOM, Duration::ZERO);
            let steps: Vec<u64> = last(&regular).into_iter().map(|kept| kept.1).collect();
            let done = regular.record().summary.steps_done;
            let newest = (1..=done).filter(|step| step % 4 == 0).rev().take(2);
            assert!(newest.into_iter().all(|step| steps.contains(&step)), "{steps:?} after {done} steps");
        }
    }

    #[test]
    fn a_better_best_outlasts_a_restart_from_the_first_step() {
        let toml = TINY.replace("steps = 20", "steps = 20\n        evaluate_every = 4\n        checkpoint_every = 500");
        let place = Place::new(&toml);
        place.train(false, JobControl::default(), SELDOM);
        let best =
            |place: &Place| place.kept().into_iter().find(|kept| kept.0 == CheckpointKind::Best).map(|kept| kept.1);
        let found = best(&place).unwrap();
        assert!(found > 8, "a small model learns for so long: {found}");
        let value = place.value_at(found);
        place.lose_states();
        assert_eq!(place.kept(), [(CheckpointKind::Best, found)]);
        // It starts again, and is ended before it is where it was.
        let stopped = (20..400).step_by(5).find(|question| {
            let again = Place::new(&toml);
            again.train(false, JobControl::stop_at(*question), SELDOM);
            (4..8).contains(&again.record().summary.steps_done)
        });
        place.train(true, JobControl::stop_at(stopped.unwrap()), SELDOM);
        let record = place.record();
        assert_eq!((record.summary.state, record.attempts[1].first_step), (RunState::Stopped, 1));
        assert!((4..found).contains(&record.summary.steps_done), "{}", record.summary.steps_done);
        assert_eq!(best(&place), Some(found), "its first evaluation is worse than what was kept");
        assert_eq!(place.value_at(found), value);
        // Nothing of the dead attempt is current.
        assert!(record.summary.metrics[series_names::TRAIN_LOSS].last_step < 8);
        place.train(true, JobControl::default(), SELDOM);
        assert_eq!((place.record().summary.state, best(&place)), (RunState::Finished, Some(found)));
    }

    /// A run of 20 steps that was stopped after some, with checkpoints at every second.
    fn stopped_half_way() -> Place {
        let toml = TINY.replace("steps = 20", "steps = 20\n        checkpoint_every = 2\n        evaluate_every = 100");
        // Reading the text asks, too.
        let stopped = (8..200).step_by(4).map(|question| {
            let place = Place::new(&toml);
            place.train(false, JobControl::stop_at(question), SELDOM);
            place
        });
        let mut found = stopped.skip_while(|place| place.store.checkpoints(&place.run).unwrap().len() < 2);
        let place = found.next().unwrap();
        assert_eq!(place.record().summary.state, RunState::Stopped);
        place
    }

    fn damage(checkpoint: &CheckpointRecord) {
        let weights = checkpoint.path.join("model.safetensors");
        let whole = std::fs::read(&weights).unwrap();
        std::fs::write(&weights, &whole[..whole.len() / 2]).unwrap();
    }

    #[test]
    fn a_damaged_checkpoint_gives_way_to_an_older_one() {
        let place = stopped_half_way();
        let kept = place.store.checkpoints(&place.run).unwrap();
        assert_eq!(kept.len(), 2);
        damage(&kept[1]);
        let warnings = place.train(true, JobControl::default(), SELDOM);
        assert!(warnings.iter().any(|told| told.contains("an older one is tried")), "{warnings:?}");
        let record = place.record();
        assert_eq!((record.summary.state, record.attempts[1].first_step), (RunState::Finished, kept[0].step + 1));
    }

    #[test]
    fn a_run_whose_checkpoints_are_all_damaged_is_not_begun_anew() {
        let place = stopped_half_way();
        let before = place.curve(series_names::TRAIN_LOSS);
        let kept = place.store.checkpoints(&place.run).unwrap();
        kept.iter().for_each(damage);
        place.train(true, JobControl::default(), SELDOM);
        let record = place.record();
        assert_eq!((record.summary.state, record.attempts.len()), (RunState::Failed, 1));
        let failure = record.summary.failure.unwrap();
        for words in ["None of the run's 2 checkpoints can be used", "model.safetensors is damaged", "train it anew"] {
            assert!(failure.why.contains(words), "{words}: {failure:?}");
        }
        assert_eq!(place.curve(series_names::TRAIN_LOSS), before);
        assert!(kept.iter().all(|kept| kept.path.is_dir()), "nothing is removed");
        // Without their folders it is the same.
        for kept in &kept {
            std::fs::remove_dir_all(&kept.path).unwrap();
        }
        place.train(true, JobControl::default(), SELDOM);
        assert_eq!((place.record().summary.state, place.record().attempts.len()), (RunState::Failed, 1));
    }

    #[test]
    fn checkpoints_that_could_not_be_recorded_are_gone_on_from_where_there_is_no_other() {
        let place = stopped_half_way();
        let kept = place.store.checkpoints(&place.run).unwrap();
        let writer = place.store.writer().unwrap();
        for kept in &kept {
            writer.forget_checkpoint(&place.run, &kept.path);
        }
        writer.flush().unwrap();
        let warnings = place.train(true, JobControl::default(), SELDOM);
        assert!(warnings.iter().any(|told| told.contains("may be missing")), "{warnings:?}");
        let record = place.record();
        assert_eq!((record.summary.state, record.attempts[1].first_step), (RunState::Finished, kept[1].step + 1));
    }

    #[test]
    fn a_reading_of_the_machine_before_the_first_step_opens_no_attempt_of_its_own() {
        // One that reads without a rest is sure to read while the attempt is written down.
        let (_folder, _store, record) = trained(TINY, Duration::ZERO);
        assert!(record.summary.metrics.contains_key(series_names::SYSTEM_CPU_PERCENT), "it read meanwhile");
        let attempts: Vec<_> = record.attempts.iter().map(|attempt| (attempt.attempt, attempt.first_step)).collect();
        assert_eq!(attempts, [(1, 1)]);
    }

    #[test]
    fn a_collaborative_run_keeps_its_mixing_matrices_as_it_trains() {
        let toml = TINY.replace("batch = 1", "batch = 1\n        evaluate_every = 10")
            + "[attention]\ncompatibility = { kind = \"collaborative\", d_k = 4 }\n";
        let (_folder, store, record) = trained(&toml, Duration::from_mins(1));
        let kept = store.snapshots(&record.summary.id, Some(snapshot_kinds::MIXING)).unwrap();
        let shapes: Vec<_> = kept.iter().map(|one| (one.step, one.layer, one.shape.clone())).collect();
        // Of the beginning, after ten steps and at the end.
        let steps: Vec<u64> = shapes.iter().map(|one| one.0).collect();
        assert!(steps.ends_with(&[10, 20]), "{steps:?}");
        assert!(shapes.iter().all(|(_, layer, shape)| *layer == Some(0) && shape == &[1, 4]), "{shapes:?}");
        let values = |place: usize| store.snapshot(kept[place].id).unwrap().to_f32().unwrap();
        assert_ne!(values(0), values(kept.len() - 1), "it learns");
        let (_folder, store, plain) = trained(TINY, Duration::from_mins(1));
        assert_eq!(store.snapshots(&plain.summary.id, Some(snapshot_kinds::MIXING)).unwrap(), []);
    }
}
