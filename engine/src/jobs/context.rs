use std::sync::Arc;

use super::{control::JobControl, monitor::Position};
use crate::{
    checkpoint::LoadedModel,
    protocol::{Outbox, events},
    store::{Store, StoreWriter},
};

/// Stack of the engine thread and of the threads that compute: sorting and dropping a graph of many operations recurses.
pub(crate) const STACK_BYTES: usize = 256 << 20;

/// Everything that a job works with.
#[derive(Clone)]
pub(crate) struct JobContext {
    pub(crate) store: Store,
    pub(crate) writer: StoreWriter,
    /// Marks what is sent with the ticket of the request.
    pub(crate) outbox: Outbox,
    pub(crate) position: Arc<Position>,
    /// Wishes of the user: pause, stop, checkpoint.
    pub(crate) control: Arc<JobControl>,
    runs_changed: Arc<dyn Fn() + Send + Sync>,
}

impl JobContext {
    /// `runs_changed` is called when what is written about the current run changed.
    pub(crate) fn new(
        store: Store,
        writer: StoreWriter,
        outbox: Outbox,
        position: Arc<Position>,
        runs_changed: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let (control, runs_changed) = (Arc::default(), Arc::new(runs_changed));
        Self { store, writer, outbox, position, control, runs_changed }
    }

    /// The same for a job with an outbox and a control of its own.
    pub(crate) fn of_job(&self, outbox: Outbox, control: Arc<JobControl>) -> Self {
        Self { outbox, control, ..self.clone() }
    }

    /// Sends, as warnings, what was decided in spite of a model's settings and what was left out of it.
    pub(crate) fn send_notes(&self, loaded: &LoadedModel) {
        for note in &loaded.notes {
            self.outbox.send(events::Warning { run: None, message: note.clone() });
        }
    }

    /// Says that what is written about the current run changed.
    pub(crate) fn runs_changed(&self) {
        (self.runs_changed)();
    }
}
