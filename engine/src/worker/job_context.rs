use std::sync::Arc;

use crossbeam_channel::Sender;
use rayon::ThreadPoolBuilder;

use super::{Event, job_error::JobError, monitor::Position, outbox::Outbox, scheduler::Message};
use crate::{
    checkpoint::LoadedModel,
    ops,
    store::{Store, StoreWriter},
};

/// Stack of the engine thread and of the threads that compute: sorting and dropping a graph of many operations recurses.
pub(super) const STACK_BYTES: usize = 256 << 20;

/// What a job works with.
pub(super) struct JobContext {
    pub(super) store: Store,
    pub(super) writer: StoreWriter,
    pub(super) outbox: Outbox,
    pub(super) position: Arc<Position>,
    messages: Sender<Message>,
}

impl JobContext {
    pub(super) fn new(
        store: Store,
        writer: StoreWriter,
        outbox: Outbox,
        position: Arc<Position>,
        messages: Sender<Message>,
    ) -> Self {
        Self { store, writer, outbox, position, messages }
    }

    /// The same for a job with an outbox of its own.
    pub(super) fn of_job(&self, outbox: Outbox) -> Self {
        let position = Arc::clone(&self.position);
        Self::new(self.store.clone(), self.writer.clone(), outbox, position, self.messages.clone())
    }

    /// Tells what was decided in spite of a model's settings, and what was left out of it.
    pub(super) fn tell_notes(&self, loaded: &LoadedModel) {
        for note in &loaded.notes {
            self.outbox.send(Event::Warning { run: None, message: note.clone() });
        }
    }

    /// Does a job on `threads` threads of its own, or as many as there are cores, gives back what they kept, and sends the
    /// answer. `job` names the threads; `failed` says what could not be done, before the reason.
    pub(super) fn answer_on_threads(
        &self,
        (job, threads): (&'static str, Option<usize>),
        failed: &str,
        work: impl FnOnce() -> Result<Event, JobError> + Send,
    ) {
        let pool = ThreadPoolBuilder::new()
            .stack_size(STACK_BYTES)
            .num_threads(threads.unwrap_or(0))
            .thread_name(move |index| format!("headroom-{job}-{index}"))
            .build();
        let outcome = match pool {
            Ok(pool) => pool.install(work),
            Err(error) => Err(JobError::failure(format!("Its threads could not be started: {error}."))),
        };
        ops::release_buffers();
        self.outbox.send(outcome.unwrap_or_else(|error| {
            let why = format!("{failed} {}", error.why);
            if error.is_refusal {
                Event::Refused { why }
            } else {
                Event::Failed { run: None, why, what_to_do: String::new() }
            }
        }));
    }

    /// Tells the scheduler that what is written about the current run changed.
    pub(super) fn runs_changed(&self) {
        // A scheduler that is busy hears of it with the next change.
        let _ = self.messages.try_send(Message::RunsChanged);
    }
}
