use std::collections::BTreeSet;

use headroom_engine::store::{RunId, RunSummary};
use serde_json::Value;

use super::Selection;
use crate::settings::Settings;

/// Under what Compare's choices are remembered, and those of them that decide what is put together: the fields of `Grouping`.
pub(super) const PANEL: &str = "compare";
const CHOICES: [&str; 3] = ["group", "group_repeats", "grouped_tag"];

/// What runs were put together of: nothing is done anew as long as it is the same.
pub(super) struct GroupedOf {
    /// As they are written: reading them would cost more in every frame.
    choices: [Option<Value>; 3],
    /// The tag whose runs alone are shown.
    tag: Option<String>,
    visible: BTreeSet<RunId>,
    baseline: Option<RunId>,
    /// Of all runs: see [`fingerprint`].
    runs: u64,
}

impl GroupedOf {
    pub(super) fn of(selection: &Selection, runs: &[RunSummary], settings: &Settings) -> Self {
        Self {
            choices: choices(settings).map(Option::<&Value>::cloned),
            tag: selection.held_tag().map(str::to_owned),
            visible: selection.visible.clone(),
            baseline: selection.baseline.clone(),
            runs: fingerprint(runs),
        }
    }

    /// Whether all of it is as it was.
    pub(super) fn is_same(&self, selection: &Selection, runs: &[RunSummary], settings: &Settings) -> bool {
        (&self.visible, &self.baseline) == (&selection.visible, &selection.baseline)
            && self.tag.as_deref() == selection.held_tag()
            && self.runs == fingerprint(runs)
            && self.choices.each_ref().map(Option::as_ref) == choices(settings)
    }
}

fn choices(settings: &Settings) -> [Option<&Value>; 3] {
    let compare = settings.panels.get(PANEL);
    CHOICES.map(|choice| compare.and_then(|compare| compare.get(choice)))
}

/// Another number for other runs, and where one ends before its first step.
fn fingerprint(runs: &[RunSummary]) -> u64 {
    runs.iter().fold(runs.len() as u64, |print, run| {
        let own = run.number.wrapping_mul(2) | u64::from(is_idle(run));
        (print.rotate_left(5) ^ own).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// Returns true if a run ended before its first step.
pub(super) fn is_idle(run: &RunSummary) -> bool {
    run.state.is_ended() && run.steps_done == 0
}
