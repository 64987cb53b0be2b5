use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Identifies one request of this process. Everything that answers the request or follows from it returns the ticket: answers,
/// progress, failures, the events of the run that it queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(u64);

impl Ticket {
    /// A ticket that nobody else in this process has.
    #[expect(clippy::new_without_default, reason = "two tickets are never the same")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// It as a number, to tell what belongs to different requests apart.
    pub fn number(self) -> u64 {
        self.0
    }
}
