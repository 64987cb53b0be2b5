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
    convert_job::convert_job,
    evaluate_job::evaluate_job,
    generate_job::generate_job,
    job::{Job, JobLabel, Work},
    job_context::{JobContext, STACK_BYTES},
    job_control::JobControl,
    measure_job::measure_job,
    monitor::Position,
    outbox::Outbox,
    predict_job::predict_job,
    prove_job::prove_job,
    scheduler::Message,
    train_job::train_job,
    translate_job::translate_job,
};
use crate::store::{Failure, RunState, StateDetails, Store, StoreWriter};

/// The scheduler's end of the engine thread, which does one job at a time.
pub(super) struct EngineThread {
    jobs: Option<Sender<(Job, Arc<JobControl>)>>,
    thread: Option<JoinHandle<()>>,
}

impl EngineThread {
    pub(super) fn start(
        store: Store,
        writer: StoreWriter,
        outbox: Outbox,
        messages: Sender<Message>,
        position: Arc<Position>,
    ) -> Result<Self, std::io::Error> {
        let (jobs, inbox) = bounded(1);
        let context = JobContext::new(store, writer, outbox, position, messages.clone());
        let thread = std::thread::Builder::new()
            .name("headroom-engine".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || work(&context, &inbox, &messages))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) fn hand_over(&self, job: Job, control: Arc<JobControl>) {
        if let Some(jobs) = &self.jobs {
            // The engine thread outlives this sender, and the scheduler hands over only when it is free.
            let _ = jobs.send((job, control));
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

fn work(context: &JobContext, inbox: &Receiver<(Job, Arc<JobControl>)>, messages: &Sender<Message>) {
    for (job, control) in inbox {
        let label = job.label();
        let context = &context.of_job(job.outbox.clone());
        let outcome = catch_unwind(AssertUnwindSafe(|| match job.work {
            Work::Train(job) => train_job(context, *job, &control),
            Work::Evaluate(job) => evaluate_job(context, job, &control),
            Work::Generate(job) => generate_job(context, &job, &control),
            Work::Prove(job) => prove_job(context, &job, &control),
            Work::Translate(job) => translate_job(context, &job, &control),
            Work::Predict(job) => predict_job(context, &job, &control),
            Work::Measure(job) => measure_job(context, *job, &control),
            Work::Analyse(job) => analyse_job(context, *job, &control),
            Work::Convert(job) => convert_job(context, &job, &control),
        }));
        context.position.clear();
        if let Err(panic) = outcome {
            let why = format!("The engine met a fault of its own: {}.", words(panic.as_ref()));
            let what_to_do = "Please report it with the run's config. Its checkpoints and metrics are kept.".to_owned();
            if let Some(run) = label.run() {
                let failure = Failure { why: why.clone(), what_to_do: what_to_do.clone() };
                let details = StateDetails { failure: Some(failure), ..StateDetails::default() };
                context.writer.set_state(run, RunState::Failed, details);
            }
            context.outbox.send(Event::Failed { run: label.run().cloned(), why: why.clone(), what_to_do });
            let why = Some(why);
            match label {
                JobLabel::Train { run, name } => context.outbox.send(Event::Finished {
                    run,
                    name,
                    state: RunState::Failed,
                    step: 0,
                    loss: None,
                    best_validation_loss: None,
                    best_step: None,
                    train_secs: 0.0,
                    why,
                    unwritten: None,
                }),
                JobLabel::Measure { benchmark, name } => {
                    context.outbox.send(Event::MeasureEnded { benchmark, name, complete: false, why });
                }
                JobLabel::Analyse { analysis, .. } => {
                    context.outbox.send(Event::AnalyseEnded {
                        analysis,
                        complete: false,
                        why,
                        is_refusal: false,
                        unwritten: None,
                    });
                }
                JobLabel::Convert { .. } | JobLabel::Evaluate { .. } | JobLabel::Generate { .. } => {}
            }
        }
        if messages.send(Message::JobDone).is_err() {
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
