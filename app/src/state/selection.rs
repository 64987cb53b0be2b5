use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use headroom_engine::store::RunId;

/// Which runs every panel shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Runs whose eye is open.
    pub visible: BTreeSet<RunId>,
    /// The run in the inspector.
    pub focused: Option<RunId>,
    /// The model directory that panels of analyses show, and the run that was focused when it was chosen.
    directory: Option<(PathBuf, Option<RunId>)>,
    /// The pinned baseline.
    pub baseline: Option<RunId>,
    /// The run that Live stays at; none: it follows what trains.
    pub live: Option<RunId>,
    /// The run under the mouse, in whichever chart or table. Set anew every frame: the window clears it before it draws
    /// and panels read [`Selection::hovered_before`].
    pub hovered: Option<RunId>,
    /// The run that was under the mouse in the frame before.
    pub hovered_before: Option<RunId>,
}

impl Selection {
    /// The model directory that panels of analyses show; none: the focused run. A run that is focused after a directory
    /// was chosen takes its place.
    pub fn directory(&self) -> Option<&Path> {
        let (path, focused) = self.directory.as_ref()?;
        (*focused == self.focused).then_some(path)
    }

    /// Panels of analyses show the model of this directory; none: the focused run.
    pub fn set_directory(&mut self, path: Option<PathBuf>) {
        self.directory = path.map(|path| (path, self.focused.clone()));
    }

    /// Opens or closes a run's eye.
    pub fn toggle_visible(&mut self, run: &RunId) {
        if !self.visible.remove(run) {
            self.visible.insert(run.clone());
        }
    }

    /// Pins a run as the baseline, or unpins it.
    pub fn toggle_baseline(&mut self, run: &RunId) {
        self.baseline = if self.baseline.as_ref() == Some(run) { None } else { Some(run.clone()) };
    }

    /// Whether a run's eye is open.
    pub fn is_visible(&self, run: &RunId) -> bool {
        self.visible.contains(run)
    }

    /// What was hovered in the last frame moves to `hovered_before`.
    pub fn begin_frame(&mut self) {
        self.hovered_before = self.hovered.take();
    }

    /// Forgets runs that are no more.
    pub fn retain(&mut self, exists: impl Fn(&RunId) -> bool) {
        self.visible.retain(|run| exists(run));
        let Self { focused, baseline, live, hovered, hovered_before, .. } = self;
        for slot in [focused, baseline, live, hovered, hovered_before] {
            if slot.as_ref().is_some_and(|run| !exists(run)) {
                *slot = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_shown_until_a_run_is_chosen() {
        let mut selection = Selection::default();
        assert_eq!(selection.directory(), None);
        selection.set_directory(Some(PathBuf::from("/models/a")));
        assert_eq!(selection.directory(), Some(Path::new("/models/a")));
        selection.focused = Some("000000000a".parse().unwrap());
        assert_eq!(selection.directory(), None, "the run was chosen later");
        selection.set_directory(Some(PathBuf::from("/models/b")));
        assert_eq!(selection.directory(), Some(Path::new("/models/b")));
        selection.set_directory(None);
        assert_eq!(selection.directory(), None);
    }
}
