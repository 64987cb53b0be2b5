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

/// Progress of a job by its field `transfer`.
macro_rules! progress_of_transfer {
    ($of:ty) => {
        impl $crate::protocol::Progress for $of {
            fn stage(&self) -> String {
                let $crate::hub::Transfer { file, bytes, total_bytes, bytes_per_sec, .. } = &self.transfer;
                let [done, all, speed] = [*bytes, *total_bytes, *bytes_per_sec as u64].map($crate::data::memory::words);
                format!("{file}, {done} of {all}, {speed}/s")
            }

            fn share(&self) -> Option<f64> {
                Some(self.transfer.share())
            }

            fn line(&self) -> Option<String> {
                let $crate::hub::Transfer { file, number, count, .. } = &self.transfer;
                Some(format!("{file}, {} of {count}", number + 1))
            }
        }
    };
}
pub(super) use progress_of_transfer;

/// Share of a count.
pub(super) fn share_of(done: u64, count: u64) -> f64 {
    if count == 0 { 1.0 } else { done as f64 / count as f64 }
}
