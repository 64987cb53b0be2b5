use crossbeam_channel::Sender;

use crate::protocol::{Notice, Request};

/// What reaches the scheduler.
pub(super) enum Message {
    /// From outside.
    Request {
        /// What is asked.
        request: Box<Request>,
        /// Gets a copy of everything that follows from it.
        asker: Option<Sender<Notice>>,
    },
    /// What is written about the current run changed: its state, its best, its checkpoints.
    RunsChanged,
    /// The engine thread is done with its job.
    JobDone,
}
