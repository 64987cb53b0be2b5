use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::JoinHandle,
};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{
    Event,
    analyse_job::analyse_job,
    bench::{Bench, STACK_BYTES},
    evaluate_job::evaluate_job,
    job::Job,
    measure_job::measure_job,
    monitor::Position,
    note::Note,
    outbox::Outbox,
    steering::Steering,
    train_job::train_job,
};
use crate::store::{Failure, RunState, StateDetails, Store, StoreWriter};

/// The desk's end of the engine thread, which does one job at a time.
pub(super) struct Machinist {
    jobs: Option<Sender<(Job, Arc<Steering>)>>,
    thread: Option<JoinHandle<()>>,
}

impl Machinist {
    pub(super) fn start(
        store: Store,
        writer: StoreWriter,
        outbox: Outbox,
        notes: Sender<Note>,
        position: Arc<Position>,
    ) -> Result<Self, std::io::Error> {
        let (jobs, inbox) = bounded(1);
        let bench = Bench::new(store, writer, outbox, position, notes.clone());
        let thread = std::thread::Builder::new()
            .name("headroom-engine".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || work(&bench, &inbox, &notes))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) fn hand_over(&self, job: Job, steering: Arc<Steering>) {
        if let Some(jobs) = &self.jobs {
            // The engine thread outlives this sender, and the desk hands over only when it is free.
            let _ = jobs.send((job, steering));
        }
    }

    /// Waits for the engine thread to end; it has no job any more.
    pub(super) fn end(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(bench: &Bench, inbox: &Receiver<(Job, Arc<Steering>)>, notes: &Sender<Note>) {
    for (job, steering) in inbox {
        let run = job.run().cloned();
        let name = if let Job::Train(job) = &job { job.config.name.clone() } else { String::new() };
        let (benchmark, analysis) = (job.benchmark().cloned(), job.analysis().cloned());
        let outcome = catch_unwind(AssertUnwindSafe(|| match job {
            Job::Train(job) => train_job(bench, *job, &steering),
            Job::Evaluate(job) => evaluate_job(bench, job, &steering),
            Job::Measure(job) => measure_job(bench, *job, &steering),
            Job::Analyse(job) => analyse_job(bench, *job, &steering),
        }));
        bench.position.clear();
        if let Err(panic) = outcome {
            let why = format!("The engine met a fault of its own: {}.", words(panic.as_ref()));
            let what_to_do = "Please report it with the run's config. Its checkpoints and metrics are kept.".to_owned();
            if let Some(run) = &run {
                let failure = Failure { why: why.clone(), what_to_do: what_to_do.clone() };
                let details = StateDetails { failure: Some(failure), ..StateDetails::default() };
                bench.writer.set_state(run, RunState::Failed, details);
            }
            bench.outbox.send(Event::Failed { run: run.clone(), why: why.clone(), what_to_do });
            if let Some(benchmark) = benchmark {
                let (name, why) = (String::new(), Some(why.clone()));
                bench.outbox.send(Event::MeasureEnded { benchmark, name, complete: false, why });
            }
            if let Some(analysis) = analysis {
                bench.outbox.send(Event::AnalyseEnded {
                    analysis,
                    complete: false,
                    why: Some(why.clone()),
                    is_refusal: false,
                });
            }
            if let Some(run) = run {
                bench.outbox.send(Event::Finished {
                    run,
                    name,
                    state: RunState::Failed,
                    step: 0,
                    loss: None,
                    best_validation_loss: None,
                    best_step: None,
                    train_secs: 0.0,
                    why: Some(why),
                    unwritten: None,
                });
            }
        }
        if notes.send(Note::JobDone).is_err() {
            break;
        }
    }
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
