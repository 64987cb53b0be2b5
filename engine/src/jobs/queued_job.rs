use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use rayon::ThreadPoolBuilder;

use super::{
    context::{JobContext, STACK_BYTES},
    error::JobError,
    job::{Ending, Job, Lane, Place, StoreList, Threads},
};
use crate::{
    ops,
    protocol::{Event, JobLabel, events},
    store::{RunId, StoreError},
};

/// Advice to whoever meets a fault of the program.
pub(crate) const REPORT_IT: &str = "Please report it with the run's config. Its checkpoints and metrics are kept.";

/// A job of any kind, as the scheduler and the engine thread see it.
pub(crate) trait QueuedJob: Send {
    /// Entry of the queue.
    fn label(&self) -> JobLabel;
    /// Place among the jobs that wait.
    fn place(&self) -> Place;
    /// Thread on which it is done.
    fn lane(&self) -> Lane;
    /// List that is sent again once it is done.
    fn adds_to(&self) -> Option<StoreList>;
    /// Makes relative paths absolute.
    fn anchor(&mut self);
    /// Last event of a job that is not to be queued.
    fn refusal(&self) -> Option<Event>;
    /// Event that says that it waits behind `position` others, if somebody is told.
    fn queued(&self, position: usize) -> Option<Event>;
    /// Does it and sends its last event, whatever happens.
    fn execute(&self, context: &JobContext);
    /// Sends the last event of a job that was taken out of the queue.
    ///
    /// # Errors
    /// The store could not be read or written.
    fn cancel(&self, context: &JobContext) -> Result<(), StoreError>;
    /// The engine ends before the job began.
    ///
    /// # Errors
    /// The store could not be written.
    fn abandon(&self, context: &JobContext) -> Result<(), StoreError>;
    /// A run has another name now.
    fn rename(&mut self, run: &RunId, name: &str);
}

impl<J: Job> QueuedJob for J {
    fn label(&self) -> JobLabel {
        Job::label(self)
    }

    fn place(&self) -> Place {
        J::PLACE
    }

    fn lane(&self) -> Lane {
        J::LANE
    }

    fn adds_to(&self) -> Option<StoreList> {
        J::ADDS_TO
    }

    fn anchor(&mut self) {
        Job::anchor(self);
    }

    fn refusal(&self) -> Option<Event> {
        Job::refusal(self)
    }

    fn queued(&self, position: usize) -> Option<Event> {
        Job::queued(self, position)
    }

    fn execute(&self, context: &JobContext) {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let outcome = match self.threads() {
                Threads::Own => self.run(context),
                Threads::Pool(threads) => on_threads(J::NAME, threads, || self.run(context)),
            };
            // What the engine thread keeps is of no use to the next job. A transfer has none of it, and a run may go on beside.
            if J::LANE == Lane::Engine {
                ops::release_buffers();
            }
            match outcome {
                Ok(output) => context.outbox.send(output),
                Err(error) => match self.ended(context, Ending::Failed(error)) {
                    Ok(event) => context.outbox.send(event),
                    Err(error) => context.outbox.send(JobError::failure(error.to_string())),
                },
            }
        }));
        if let Err(panic) = outcome {
            let why = format!("The engine met a fault of its own: {}.", message(panic.as_ref()));
            let last = self.faulted(context, &why);
            let run = self.label().run;
            context.outbox.send(events::Failed { run, why, what_to_do: REPORT_IT.to_owned() });
            if let Some(last) = last {
                context.outbox.send(last);
            }
        }
    }

    fn cancel(&self, context: &JobContext) -> Result<(), StoreError> {
        context.outbox.send(self.ended(context, Ending::Cancelled)?);
        Ok(())
    }

    fn abandon(&self, context: &JobContext) -> Result<(), StoreError> {
        self.abandoned(context)
    }

    fn rename(&mut self, run: &RunId, name: &str) {
        self.renamed(run, name);
    }
}

/// Works on `threads` threads of its own, or as many as there are cores, called after the job.
fn on_threads<T: Send>(
    name: &'static str,
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T, JobError> + Send,
) -> Result<T, JobError> {
    let pool = ThreadPoolBuilder::new()
        .stack_size(STACK_BYTES)
        .num_threads(threads.unwrap_or(0))
        .thread_name(move |index| format!("headroom-{name}-{index}"))
        .build();
    match pool {
        Ok(pool) => pool.install(work),
        Err(error) => Err(JobError::failure(format!("Its threads could not be started: {error}."))),
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
