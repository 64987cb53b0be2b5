use std::path::{Path, PathBuf};

use crate::store::{CheckpointKind, CheckpointRecord};

/// The checkpoints of a run that trains, known without the store: which ones give way must be known when the store cannot
/// be written, too, or they would fill the disk.
///
/// A state at a multiple of `train.checkpoint_every`, or of the last step, is regular: the newest `train.keep_checkpoints` of them stay. One
/// between them (of the first evaluation, of [`crate::train::STATE_INTERVAL`], of a stop) stays until the next state and takes the
/// place of no regular one.
#[derive(Debug, Default)]
pub(crate) struct KeptCheckpoints {
    checkpoints: Vec<(u64, CheckpointKind, PathBuf)>,
    /// Directories that could not be removed when they were to go.
    left: Vec<PathBuf>,
    /// Steps between regular checkpoints; 0 for none.
    every: u64,
    /// The last step of the run.
    steps: u64,
}

impl KeptCheckpoints {
    /// Checkpoints that a run of `steps` steps has when it resumes, with a regular checkpoint at `every` so many. What is not to be read is
    /// not to be removed either.
    pub(crate) fn of(records: Vec<CheckpointRecord>, every: u64, steps: u64) -> Self {
        let own = records.into_iter().filter(|record| record.problem.is_none());
        let checkpoints = own.map(|record| (record.step, record.kind, record.path)).collect();
        Self { checkpoints, left: Vec::new(), every, steps }
    }

    fn is_regular(&self, step: u64) -> bool {
        step == self.steps || (self.every > 0 && step.is_multiple_of(self.every))
    }

    /// Step of the newest state that the run can be resumed from.
    fn newest_state(&self) -> Option<u64> {
        let states = self.checkpoints.iter().filter(|(_, kind, _)| *kind != CheckpointKind::Best);
        states.map(|(step, ..)| *step).max()
    }

    /// The newest from which the run can go on, by its step.
    pub(crate) fn newest(&self) -> Option<(u64, &Path)> {
        let newest = self.checkpoints.iter().max_by_key(|(step, ..)| *step)?;
        Some((newest.0, &newest.2))
    }

    /// One that was just written. A run has one best.
    pub(crate) fn add(&mut self, step: u64, kind: CheckpointKind, path: &Path) {
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

    /// The directories that are to go now: of regular states all but the newest `keep`, of those between them all but the newest
    /// state of the run, unless they are kept for another reason, too. They are forgotten; what cannot be removed is to be given
    /// back by [`Self::left`].
    pub(crate) fn superfluous(&mut self, keep: usize) -> Vec<PathBuf> {
        let states = self.checkpoints.iter().filter(|(_, kind, _)| *kind == CheckpointKind::Last);
        let states = states.map(|(step, _, path)| (*step, path.clone()));
        let (mut regular, mut between): (Vec<_>, Vec<_>) = states.partition(|(step, _)| self.is_regular(*step));
        regular.sort_by_key(|(step, _)| std::cmp::Reverse(*step));
        let newest = self.newest_state();
        between.retain(|(step, _)| Some(*step) != newest);
        for (_, path) in regular.into_iter().skip(keep).chain(between) {
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
    pub(crate) fn left(&mut self, path: PathBuf) {
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

    /// Checkpoints of a run of 1,000 steps.
    fn none(every: u64) -> KeptCheckpoints {
        KeptCheckpoints::of(Vec::new(), every, 1000)
    }

    #[test]
    fn the_newest_stay_with_the_best_and_those_asked_for() {
        let mut kept = none(1);
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
    fn a_state_between_regular_ones_stays_until_the_next_and_pushes_none_out() {
        let mut kept = none(100);
        let mut after = |step: u64| {
            kept.add(step, Last, &path(step));
            let gone = kept.superfluous(2);
            (gone, kept.checkpoints.iter().map(|(step, ..)| *step).collect::<Vec<_>>())
        };
        assert_eq!(after(20), (vec![], vec![20]));
        assert_eq!(after(70), (vec![path(20)], vec![70]));
        assert_eq!(after(100), (vec![path(70)], vec![100]));
        assert_eq!(after(200), (vec![], vec![100, 200]));
        assert_eq!(after(250), (vec![], vec![100, 200, 250]), "both regular ones stay");
        assert_eq!(after(290), (vec![path(250)], vec![100, 200, 290]));
        assert_eq!(after(300), (vec![path(100), path(290)], vec![200, 300]));
    }

    #[test]
    fn the_best_and_what_was_asked_for_outlast_the_state_of_their_step() {
        let mut kept = none(0);
        kept.add(20, Last, &path(20));
        kept.add(20, Best, &path(20));
        kept.add(30, Asked, &path(30));
        assert_eq!(kept.superfluous(2), Vec::<PathBuf>::new());
        kept.add(40, Last, &path(40));
        assert_eq!(kept.superfluous(2), Vec::<PathBuf>::new(), "the best is of step 20");
        kept.add(1000, Last, &path(1000));
        assert_eq!(kept.superfluous(2), [path(40)], "the last step is regular");
        kept.add(1000, Best, &path(1000));
        assert_eq!(kept.superfluous(2), [path(20)]);
    }

    #[test]
    fn what_cannot_be_removed_is_tried_again() {
        let mut kept = none(1);
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
