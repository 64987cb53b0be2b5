use std::time::Instant;

use headroom_engine::{
    protocol::{JobRef, JobRequest, Progress, Request, Ticket, commands},
    store::RunId,
};

/// Seconds, and the share of the whole that was done in them, from which on the rest is told.
const TELLING: (f64, f64) = (2.0, 0.03);

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
    /// Id of its own, of an analysis or a measurement: one request may ask for several.
    pub id: Option<RunId>,
    /// Kind of work and what it is done on, such as "Conversion of bert".
    pub title: String,
    /// Stage in words, and the share of the whole that is done; none before the first progress.
    pub at: Option<(String, f64)>,
    /// Time of the first progress, and the share that was done then.
    since: Option<(Instant, f64)>,
    /// Progress of the transfer.
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
        Self::waiting(ticket, None, title)
    }

    /// Asks for a job that has an id of its own.
    pub(super) fn start_as(id: &RunId, title: String, job: impl JobRequest, outgoing: &mut Vec<Request>) -> Self {
        Self { id: Some(id.clone()), ..Self::start(title, job, outgoing) }
    }

    /// One that was asked for by this request, maybe with others.
    pub(super) fn waiting(ticket: Ticket, id: Option<RunId>, title: String) -> Self {
        Self { ticket, id, title, at: None, since: None, phase: Phase::Waiting, is_stopping: false }
    }

    /// Name by which the engine knows it.
    pub fn job(&self) -> JobRef {
        self.id.clone().map_or(JobRef::Ticket(self.ticket), JobRef::Id)
    }

    /// Words of the newest progress, and the share that is done.
    pub fn progress(&self) -> (&str, f64) {
        self.at.as_ref().map_or(("", 0.0), |(stage, share)| (stage, *share))
    }

    /// Seconds until it ends, as far as it has come; none where that is not known yet.
    pub fn seconds_left(&self) -> Option<f64> {
        let (since, from) = self.since?;
        left(since.elapsed().as_secs_f64(), from, self.at.as_ref()?.1)
    }

    /// Tells the engine to end it, once.
    pub(super) fn cancel(&mut self, outgoing: &mut Vec<Request>) {
        if self.phase.is_open() && !std::mem::replace(&mut self.is_stopping, true) {
            outgoing.push(commands::Cancel { job: self.job() }.into());
        }
    }

    /// Takes in how far it is.
    pub(super) fn advance(&mut self, progress: &dyn Progress) {
        let share = progress.share().unwrap_or_default();
        self.since.get_or_insert_with(|| (Instant::now(), share));
        self.at = Some((progress.stage(), share));
        self.phase = Phase::Going;
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

/// Seconds that are left after so many, in which it went from one share to another.
fn left(seconds: f64, from: f64, to: f64) -> Option<f64> {
    let done = to - from;
    (seconds >= TELLING.0 && done >= TELLING.1 && to < 1.0).then(|| seconds * (1.0 - to) / done)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_was_done() {
        assert_eq!(left(10.0, 0.0, 0.25), Some(30.0));
        assert_eq!(left(10.0, 0.5, 0.75), Some(10.0));
        assert_eq!([left(1.0, 0.0, 0.5), left(10.0, 0.2, 0.21), left(10.0, 0.0, 1.0)], [None; 3]);
    }
}
