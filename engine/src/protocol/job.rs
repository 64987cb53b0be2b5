use crate::store::RunId;

/// Progress of a job. A newer payload replaces an older one, so that a slow reader gets the newest alone.
pub trait Progress {
    /// Current work in words, such as a file or an attention; empty where nothing is to be said.
    fn stage(&self) -> String;

    /// Share of the whole that is done, 0..=1; none where the whole is not known.
    fn share(&self) -> Option<f64>;

    /// Line that is written, once, where no bar can be drawn; none where the stage says nothing that lasts.
    fn line(&self) -> Option<String> {
        None
    }

    /// Id of the job, where it has one of its own; else it is known by the ticket of its request.
    fn id(&self) -> Option<&RunId> {
        None
    }
}

/// Share of a count.
pub(super) fn share_of(done: u64, count: u64) -> f64 {
    if count == 0 { 1.0 } else { done as f64 / count as f64 }
}
