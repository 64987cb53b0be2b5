use std::collections::BTreeSet;

use headroom_engine::store::RunId;

/// Which runs every panel shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Runs whose eye is open.
    pub visible: BTreeSet<RunId>,
    /// The run in the inspector.
    pub focused: Option<RunId>,
    /// The pinned baseline.
    pub baseline: Option<RunId>,
    /// The run under the mouse, in whichever chart or table. Set anew every frame: the window clears it before it draws
    /// and panels read [`Selection::hovered_before`].
    pub hovered: Option<RunId>,
    /// The run that was under the mouse in the frame before.
    pub hovered_before: Option<RunId>,
}

impl Selection {
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
        for slot in [&mut self.focused, &mut self.baseline, &mut self.hovered, &mut self.hovered_before] {
            if slot.as_ref().is_some_and(|run| !exists(run)) {
                *slot = None;
            }
        }
    }
}
