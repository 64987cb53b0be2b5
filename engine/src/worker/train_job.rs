use std::{
    path::PathBuf,
    sync::Mutex,
    time::{Duration, Instant},
};

use candle_core::Device;
use rayon::ThreadPoolBuilder;

use super::{
    Event,
    bench::{Bench, STACK_BYTES},
    coverage, device, health,
    hooks::RunHooks,
    job::TrainJob,
    resume::newest_state,
    steering::Steering,
};
use crate::{
    attention::{Cost, ModelPlan, Workload},
    data::{Corpus, DataError, Progress, Stage},
    speed::{peak_memory_bytes, reset_peak_memory},
    store::{Divergence, Failure, RunFacts, RunState, StateDetails},
    train::{MemoryCheck, Outcome, TrainError, Trainer, train},
};

/// How a run ended, for the record.
struct Ending {
    state: RunState,
    why: Option<String>,
    details: StateDetails,
}

/// Carries a run through and writes down how it ended, whatever happens.
pub(super) fn train_job(bench: &Bench, job: TrainJob, steering: &Steering) {
    let run = job.run.clone();
    let name = job.config.name.clone();
    let mut hooks = RunHooks::new(bench, &job, steering);
    reset_peak_memory();
    let threads = job.config.threads_used();
    let ending = match ThreadPoolBuilder::new()
        .num_threads(threads)
        .stack_size(STACK_BYTES)
        .thread_name(|index| format!("headroom-train-{index}"))
        .build()
    {
        Ok(pool) => pool.install(|| carry_through(bench, &job, steering, &mut hooks)),
        Err(error) => failed(&format!("The threads of the run could not be started: {error}."), "Lower `threads`."),
    };
    let peak = peak_memory_bytes();
    // The next run has other shapes.
    crate::ops::release_buffers();
    let mut details = ending.details;
    details.progress = hooks.progress();
    hooks.note_peak(peak);
    // What was logged is to be in the store before the state that says it is all there.
    let _ = bench.writer.flush();
    if let Err(error) = bench.store.set_state(&run, ending.state, details) {
        bench.outbox.send(Event::Warning { run: Some(run.clone()), message: error.to_string() });
    }
    if ending.state == RunState::Failed
        && let Some(why) = &ending.why
    {
        bench.outbox.send(Event::Failed { run: Some(run.clone()), why: why.clone(), what_to_do: String::new() });
    }
    hooks.finish(name, ending.state, ending.why);
}

fn failed(why: &str, what_to_do: &str) -> Ending {
    let failure = Failure { why: why.to_owned(), what_to_do: what_to_do.to_owned() };
    Ending {
        state: RunState::Failed,
        why: Some(format!("{why} {what_to_do}").trim().to_owned()),
        details: StateDetails { failure: Some(failure), ..StateDetails::default() },
    }
}

/// Everything between the first file that is read and the last step.
fn carry_through(bench: &Bench, job: &TrainJob, steering: &Steering, hooks: &mut RunHooks<'_>) -> Ending {
    let device = match device::open(job.config.device) {
        Ok(device) => device,
        Err(why) => return failed(&why, "Choose another device; `headroom devices` lists them."),
    };
    let facts = RunFacts { device: Some(job.config.device.to_string()), ..RunFacts::default() };
    let begun = bench.store.set_facts(&job.run, facts);
    if let Err(error) = begun.and_then(|()| bench.store.set_state(&job.run, RunState::Running, StateDetails::default()))
    {
        bench.outbox.send(Event::Warning { run: Some(job.run.clone()), message: error.to_string() });
    }
    bench.runs_changed();
    let corpus = match load_corpus(bench, job, steering) {
        Ok(corpus) => corpus,
        Err(DataError::Stopped) => return stopped(),
        Err(error) => return failed(&error.to_string(), ""),
    };
    for message in &corpus.warnings {
        bench.outbox.send(Event::Warning { run: Some(job.run.clone()), message: message.clone() });
    }
    let mut trainer = match prepare(bench, job, corpus, &device) {
        Ok(trainer) => trainer,
        Err(error) => return failed(&error.to_string(), ""),
    };
    if let Err(why) = coverage::take_pairs(bench, &job.run, &mut trainer, steering) {
        return if steering.should_stop() { stopped() } else { failed(&why, "") };
    }
    hooks.start(&trainer, &device_words(job));
    match train(&mut trainer, hooks) {
        Ok(Outcome::Finished) => ended(hooks),
        Ok(Outcome::Stopped) if hooks.is_over() => ended(hooks),
        Ok(Outcome::Stopped) => stopped(),
        Ok(Outcome::Diverged(divergence)) => {
            let why = format!(
                "The loss became non-finite at step {}, first in {}. The last good checkpoint is kept. Lower the \
                 learning rate, lengthen the warm-up or clip harder.",
                divergence.step, divergence.place
            );
            let diverged = Divergence { step: divergence.step, at: Some(divergence.place) };
            let details = StateDetails { diverged: Some(diverged), ..StateDetails::default() };
            Ending { state: RunState::Diverged, why: Some(why), details }
        }
        Err(error) => failed(&error.to_string(), ""),
    }
}

/// The end of a run that went its way: finished, unless its loss has diverged.
fn ended(hooks: &mut RunHooks<'_>) -> Ending {
    let (state, why, details) = health::ended(hooks.last_health());
    Ending { state, why, details }
}

fn stopped() -> Ending {
    Ending { state: RunState::Stopped, why: None, details: StateDetails::default() }
}

/// Loads the text, telling how far it is at most some ten times a second.
fn load_corpus(bench: &Bench, job: &TrainJob, steering: &Steering) -> Result<Corpus, DataError> {
    let progress = Loading { bench, job, steering, told: Mutex::new(None) };
    // Paths in a stored config are absolute.
    let base = PathBuf::new();
    let cache = bench.store.paths().tokenizer_cache();
    Corpus::load(&job.config.data, job.config.model.kind, &base, &cache, &progress)
}

struct Loading<'a> {
    bench: &'a Bench,
    job: &'a TrainJob,
    steering: &'a Steering,
    told: Mutex<Option<(Stage, Instant)>>,
}

impl Progress for Loading<'_> {
    fn report(&self, stage: Stage, fraction: f32) {
        let Ok(mut told) = self.told.lock() else { return };
        let is_due = told.is_none_or(|(last, at)| last != stage || at.elapsed() > Duration::from_millis(100));
        if is_due {
            *told = Some((stage, Instant::now()));
            self.bench.outbox.send(Event::Preparing {
                run: self.job.run.clone(),
                stage: stage.label().to_owned(),
                fraction: f64::from(fraction),
            });
        }
    }

    fn is_stopped(&self) -> bool {
        self.steering.should_stop()
    }
}

/// Builds model and optimiser, from the newest checkpoint that can be read where the run is continued.
fn prepare(bench: &Bench, job: &TrainJob, corpus: Corpus, device: &Device) -> Result<Trainer, TrainError> {
    let plan = ModelPlan::resolve(&job.config, corpus.tokenizer.vocabulary_size()).map_err(TrainError::Config)?;
    MemoryCheck::new(&Cost::of(&plan, &Workload::training(&job.config)), device).require()?;
    let resume = if job.is_continued { newest_state(bench, job, device) } else { None };
    Trainer::new(job.config.clone(), plan, corpus, device, resume)
}

fn device_words(job: &TrainJob) -> String {
    let id = job.config.device.to_string();
    device::devices().into_iter().find(|device| device.id == id).map_or(id, |device| device.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{from_toml, to_toml},
        store::{NewRun, OpenMode, Store, series_names, snapshot_kinds},
        worker::{gpu::GpuReader, monitor::Monitor, outbox::Outbox},
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

    /// Trains a run on a store of its own, while `reader` reads the machine at this interval.
    fn trained(toml: &str, interval: Duration) -> (tempfile::TempDir, Store, crate::store::RunRecord) {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(&folder.path().join("headroom.db"), OpenMode::ReadWrite).unwrap();
        let config = from_toml(toml).unwrap();
        let new = NewRun { name: "tiny".to_owned(), config_toml: to_toml(&config), ..NewRun::default() };
        let run = store.create_run(new).unwrap().summary.id;
        let (writer, outbox) = (store.writer().unwrap(), Outbox::new(None));
        let none = || Box::new(Vec::<Box<dyn GpuReader>>::new()) as Box<dyn GpuReader>;
        let mut monitor = Monitor::start(outbox.clone(), writer.clone(), interval, none).unwrap();
        monitor.set_busy(true);
        let (notes, _inbox) = crossbeam_channel::bounded(64);
        let bench = Bench::new(store.clone(), writer.clone(), outbox, monitor.position(), notes);
        let job = TrainJob { run: run.clone(), config, is_continued: false };
        train_job(&bench, job, &Steering::default());
        monitor.end();
        writer.flush().unwrap();
        let record = store.run(run.as_str()).unwrap();
        assert_eq!(record.summary.state, RunState::Finished, "{:?}", record.summary.failure);
        (folder, store, record)
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
