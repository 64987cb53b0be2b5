use crate::{
    jobs::{context::JobContext, error::JobError},
    protocol::{Event, JobLabel},
    store::{RunId, StoreError},
};

/// Place among the jobs that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before all of them: somebody waits for a short answer.
    First,
    /// Before all of them, behind others of this place: somebody waits for an answer that may take its time.
    BehindAnswers,
    /// Behind all of them.
    Last,
}

/// Thread on which a job is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The engine thread, one job at a time.
    Engine,
    /// A thread of its own, beside whatever computes: it waits for a network most of the time.
    Transfer,
}

/// Threads that compute for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// As many as this; none: as many as there are cores.
    Pool(Option<usize>),
    /// Threads that the job starts itself.
    Own,
}

/// List of the store that a job adds to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreList {
    /// [`crate::protocol::events::Analyses`].
    Analyses,
    /// [`crate::protocol::events::Benchmarks`].
    Benchmarks,
}

/// Reason why a job ends without its output.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The job came to nothing.
    Failed(JobError),
    /// The job was taken out of the queue before it began.
    Cancelled,
}

/// A background job: how the queue lists it, how it is done, and what is told of it. One file each in this module; its request is
/// the payload of its command.
pub(crate) trait Job: Send + Sync + 'static {
    /// Answer, always the last event of the job.
    type Output: Into<Event> + Send;

    /// Name of its threads.
    const NAME: &'static str;
    /// Place among the jobs that wait.
    const PLACE: Place = Place::Last;
    /// Thread on which it is done.
    const LANE: Lane = Lane::Engine;
    /// List that is sent again once it is done.
    const ADDS_TO: Option<StoreList> = None;

    /// Entry of the queue.
    fn label(&self) -> JobLabel;

    /// Makes relative paths absolute.
    fn anchor(&mut self) {}

    /// Threads that compute for it.
    fn threads(&self) -> Threads {
        Threads::Pool(None)
    }

    /// Event that says that it waits behind `position` others, if somebody is told.
    fn queued(&self, _position: usize) -> Option<Event> {
        None
    }

    /// Last event of a job that cannot be done as it was asked for: it is not queued.
    fn refusal(&self) -> Option<Event> {
        None
    }

    /// Does it.
    ///
    /// # Errors
    /// It came to nothing, or cannot be had as it was asked for.
    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError>;

    /// First sentence of the reason why it came to nothing, such as "bert could not be evaluated.".
    fn failure(&self, context: &JobContext) -> String;

    /// Last event of a job that ends without its output.
    fn ended(&self, context: &JobContext, ending: Ending) -> Result<Event, StoreError> {
        Ok(match ending {
            Ending::Failed(error) => error.explain(|why| format!("{} {why}", self.failure(context))).into(),
            Ending::Cancelled => JobError::refusal("It was taken out of the queue before it began.").into(),
        })
    }

    /// Last event of a job that a fault in the program ended, besides the report of the fault.
    fn faulted(&self, _context: &JobContext, _why: &str) -> Option<Event> {
        None
    }

    /// The engine ends before the job began.
    ///
    /// # Errors
    /// The store could not be written.
    fn abandoned(&self, _context: &JobContext) -> Result<(), StoreError> {
        Ok(())
    }

    /// A run has another name now.
    fn renamed(&mut self, _run: &RunId, _name: &str) {}

    /// Example of a job that comes to nothing: what it names is not in `folder`.
    #[cfg(test)]
    fn example(folder: &std::path::Path) -> Self
    where
        Self: Sized;
}
