use headroom_engine::protocol::{Event, JobRef, JobRequest, Request, Ticket, commands};

/// Progress of a job that the engine was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It waits in the queue, or the model is being read.
    Waiting,
    /// It goes on.
    Going,
    /// It ended, or was stopped.
    Done {
        /// Whether it was stopped.
        stopped: bool,
    },
    /// It cannot be had, and why.
    Failed(String),
}

impl Phase {
    /// Whether more is to come.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Waiting | Self::Going)
    }
}

/// A job that this window asked for, followed to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowedJob {
    /// The request; its events have it.
    pub ticket: Ticket,
    /// Kind of work and what it is done on, such as "Conversion of bert".
    pub title: String,
    /// Stage in words, and the share of the whole that is done; none before the first progress.
    pub at: Option<(String, f64)>,
    /// How far it is.
    pub phase: Phase,
    /// The user told it to stop.
    pub is_stopping: bool,
}

impl FollowedJob {
    /// Asks for a job.
    pub(super) fn start(title: String, job: impl JobRequest, outgoing: &mut Vec<Request>) -> Self {
        let request = Request::from(job.into());
        let ticket = request.ticket;
        outgoing.push(request);
        Self { ticket, title, at: None, phase: Phase::Waiting, is_stopping: false }
    }

    /// Words of the newest progress, and the share that is done.
    pub fn progress(&self) -> (&str, f64) {
        self.at.as_ref().map_or(("", 0.0), |(stage, share)| (stage, *share))
    }

    /// Tells the engine to end it, once.
    pub(super) fn cancel(&mut self, outgoing: &mut Vec<Request>) {
        if self.phase.is_open() && !std::mem::replace(&mut self.is_stopping, true) {
            outgoing.push(commands::Cancel { job: JobRef::Ticket(self.ticket) }.into());
        }
    }

    /// Takes in how far it is; other events change nothing.
    pub(super) fn advance(&mut self, event: &Event) {
        if let Some(progress) = event.progress() {
            self.at = Some((progress.stage(), progress.share().unwrap_or_default()));
            self.phase = Phase::Going;
        }
    }

    /// Takes in that it came to nothing. What the user stopped did not fail.
    pub(super) fn fail(&mut self, why: &str) {
        self.phase = if self.is_stopping { Phase::Done { stopped: true } } else { Phase::Failed(why.to_owned()) };
    }

    /// Takes in that it ended.
    pub(super) fn end(&mut self, stopped: bool) {
        self.phase = Phase::Done { stopped };
    }
}

/// Lets what holds a job, as its field `job`, be asked as the job is.
macro_rules! follows_job {
    ($($of:ty),*) => {$(
        impl std::ops::Deref for $of {
            type Target = $crate::state::FollowedJob;

            fn deref(&self) -> &Self::Target {
                &self.job
            }
        }
    )*};
}
pub(super) use follows_job;
