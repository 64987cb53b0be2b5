use std::{
    io,
    sync::Arc,
    thread::{Builder, JoinHandle},
};

use crate::{
    jobs::{JobContext, JobControl, QueuedJob},
    protocol::Ticket,
};

/// A transfer in progress, on a thread of its own: a run that trains is not to wait for a network, nor the network for a run.
pub(super) struct Transfer {
    ticket: Option<Ticket>,
    control: Arc<JobControl>,
    thread: JoinHandle<()>,
}

impl Transfer {
    /// Begins.
    pub(super) fn start(job: Box<dyn QueuedJob>, context: JobContext) -> io::Result<Self> {
        let (ticket, control) = (context.outbox.ticket(), Arc::clone(&context.control));
        let thread = Builder::new().name("headroom-hub".to_owned()).spawn(move || job.execute(&context))?;
        Ok(Self { ticket, control, thread })
    }

    /// Whether it is the one that this request asked for.
    pub(super) fn is_of(&self, ticket: Ticket) -> bool {
        self.ticket == Some(ticket)
    }

    pub(super) fn stop(&self) {
        self.control.stop();
    }

    pub(super) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for its end.
    pub(super) fn join(self) {
        // A fault was told by the job.
        let _ = self.thread.join();
    }
}
