use headroom_engine::store::{Deleted, PurgeReport};

/// What was deleted and can be removed for good, as far as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeState {
    /// What was deleted; none until the answer came.
    pub deleted: Option<Vec<Deleted>>,
    /// It is being removed.
    pub is_purging: bool,
}

impl PurgeState {
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
