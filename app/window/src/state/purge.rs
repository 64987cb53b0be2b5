use std::time::{SystemTime, UNIX_EPOCH};

use headroom_engine::store::{Deleted, PurgeReport};

/// What was deleted and can be removed for good, as far as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeState {
    /// When it was asked for, unix milliseconds: what is deleted later is not in the list, and does not go with it.
    pub before_ms: i64,
    /// What was deleted; none until the answer came.
    pub deleted: Option<Vec<Deleted>>,
    /// It is being removed.
    pub is_purging: bool,
}

impl PurgeState {
    /// Asked for now; the answer is not there yet.
    pub fn asked() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self { before_ms: now.map_or(0, |since| since.as_millis() as i64), ..Self::default() }
    }

    /// What would go.
    pub fn going(&self) -> impl Iterator<Item = &Deleted> {
        self.deleted.iter().flatten().filter(|one| one.refused.is_none())
    }

    /// What would stay.
    pub fn staying(&self) -> impl Iterator<Item = &Deleted> {
        self.deleted.iter().flatten().filter(|one| one.refused.is_some())
    }

    /// What came of a purge: what stayed is what is left.
    pub fn done(&mut self, report: PurgeReport) {
        self.is_purging = false;
        self.deleted = Some(report.refused);
    }
}
