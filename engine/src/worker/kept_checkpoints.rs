use std::path::{Path, PathBuf};

use crate::store::{CheckpointKind, CheckpointRecord};

/// The checkpoints of a run that trains, known without the store: which ones give way must be known when the store cannot
/// be written, too, or they would fill the disk.
#[derive(Debug, Default)]
pub(super) struct KeptCheckpoints {
    checkpoints: Vec<(u64, CheckpointKind, PathBuf)>,
    /// Directories that could not be removed when they were to go.
    left: Vec<PathBuf>,
}

impl KeptCheckpoints {
    /// Those that the run has when it goes on. What is not to be read is not to be removed either.
    pub(super) fn of(records: Vec<CheckpointRecord>) -> Self {
        let own = records.into_iter().filter(|record| record.problem.is_none());
        let checkpoints = own.map(|record| (record.step, record.kind, record.path)).collect();
        Self { checkpoints, left: Vec::new() }
    }

    /// The newest from which the run can go on, by its step.
    pub(super) fn newest(&self) -> Option<(u64, &Path)> {
        let newest = self.checkpoints.iter().max_by_key(|(step, ..)| *step)?;
        Some((newest.0, &newest.2))
    }

    /// One that was just written. A run has one best.
    pub(super) fn add(&mut self, step: u64, kind: CheckpointKind, path: &Path) {
        self.left.retain(|left| left != path);
        let mut displaced = Vec::new();
        self.checkpoints.retain(|(of, as_kind, old)| {
            let is_replaced = *as_kind == kind && (kind == CheckpointKind::Best || *of == step);
            if is_replaced {
                displaced.push(old.clone());
            }
            !is_replaced
        });
        self.checkpoints.push((step, kind, path.to_owned()));
        self.left.extend(displaced.into_iter().filter(|old| !self.checkpoints.iter().any(|(_, _, kept)| kept == old)));
    }

    /// The directories that are to go now: of what is kept to go on from, all but the newest `keep`, unless they are kept
    /// for another reason, too. They are forgotten; what cannot be removed is to be given back by [`Self::left`].
    pub(super) fn superfluous(&mut self, keep: usize) -> Vec<PathBuf> {
        let mut last: Vec<(u64, PathBuf)> = self
            .checkpoints
            .iter()
            .filter(|(_, kind, _)| *kind == CheckpointKind::Last)
            .map(|(step, _, path)| (*step, path.clone()))
            .collect();
        last.sort_by_key(|(step, _)| std::cmp::Reverse(*step));
        for (_, path) in last.into_iter().skip(keep) {
            let is_needed =
                |(_, kind, kept): &(u64, CheckpointKind, PathBuf)| *kept == path && *kind != CheckpointKind::Last;
            if !self.checkpoints.iter().any(is_needed) {
                self.checkpoints.retain(|(_, _, kept)| *kept != path);
                self.left.push(path);
            }
        }
        std::mem::take(&mut self.left)
    }

    /// A directory that could not be removed: it is tried again next time.
    pub(super) fn left(&mut self, path: PathBuf) {
        self.left.push(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CheckpointKind::{Best, Kept as Asked, Last};

    fn path(step: u64) -> PathBuf {
        PathBuf::from(format!("step-{step}"))
    }

    #[test]
    fn the_newest_stay_with_the_best_and_those_asked_for() {
        let mut kept = KeptCheckpoints::default();
        for (step, kind) in [(1, Last), (1, Best), (2, Last), (3, Asked), (4, Last), (5, Last)] {
            kept.add(step, kind, &path(step));
        }
        assert_eq!(kept.newest().map(|(step, _)| step), Some(5));
        assert_eq!(kept.superfluous(2), [path(2)], "the best is kept though it is old");
        assert_eq!(kept.superfluous(2), Vec::<PathBuf>::new());
        kept.add(6, Best, &path(6));
        assert_eq!(kept.superfluous(2), [path(1)], "the best gave way to another");
        kept.add(7, Best, &path(7));
        assert_eq!(kept.superfluous(2), [path(6)], "the best alone goes at once");
        assert_eq!(kept.superfluous(0), [path(5), path(4)]);
    }

    #[test]
    fn what_cannot_be_removed_is_tried_again() {
        let mut kept = KeptCheckpoints::default();
        kept.add(1, Last, &path(1));
        kept.add(2, Last, &path(2));
        for gone in kept.superfluous(1) {
            kept.left(gone);
        }
        assert_eq!(kept.superfluous(1), [path(1)]);
        // Written again meanwhile.
        kept.left(path(2));
        kept.add(2, Last, &path(2));
        assert_eq!(kept.superfluous(1), Vec::<PathBuf>::new());
    }
}
