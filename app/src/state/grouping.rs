//! Which of the runs that are shown Compare draws as one line: they look alike in every panel, whether it was opened or not.

use std::collections::BTreeMap;

use headroom_engine::store::{RunId, RunSummary};
use serde::Deserialize;
use serde_json::Value;

use super::{FlatConfigs, State};
use crate::{
    compare::{Group, group_all_but, group_by},
    settings::Settings,
};

/// By what runs are put together, as Compare remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Grouping {
    /// A key of configs; "seed" puts runs together that differ in nothing but the seed.
    group: Option<String>,
    /// Whether it is "seed" as soon as a config was trained with several seeds, and nothing otherwise.
    group_repeats: bool,
    /// The tag whose seeds were put together.
    grouped_tag: Option<String>,
}

impl Default for Grouping {
    fn default() -> Self {
        Self { group: None, group_repeats: true, grouped_tag: None }
    }
}

/// What runs were put together of: nothing is done anew as long as it is the same.
#[derive(PartialEq, Eq)]
pub(super) struct GroupedOf {
    grouping: Grouping,
    /// The tag whose runs alone are shown.
    tag: Option<String>,
    /// With whether they ended before their first step.
    runs: Vec<(RunId, bool)>,
}

/// A race or sweep that comes on the screen with several seeds is grouped, whatever was chosen for runs of before: one seed against
/// another says little. Changes whether seeds that repeat are put together, and the tag for which they were. `tag` is that whose
/// runs alone are shown, `repeats` whether some config of theirs has several seeds.
pub fn group_anew(
    (group_repeats, grouped_tag): (&mut bool, &mut Option<String>),
    tag: Option<&str>,
    runs: &[RunSummary],
    repeats: bool,
) {
    // One of them that is hidden and shown again is no other race.
    if grouped_tag.as_ref().is_some_and(|own| !runs.iter().any(|run| run.tags.contains(own))) {
        *grouped_tag = None;
    }
    if tag.is_some() && repeats && grouped_tag.as_deref() != tag {
        (*group_repeats, *grouped_tag) = (true, tag.map(str::to_owned));
    }
}

impl Grouping {
    /// The first run of the group of every run; empty where each is drawn by itself.
    fn groups(mut self, tag: Option<&str>, runs: &[RunSummary], configs: &FlatConfigs) -> BTreeMap<RunId, RunId> {
        let flat: Vec<&BTreeMap<String, Value>> =
            runs.iter().filter_map(|run| configs.get(&run.id)).map(AsRef::as_ref).collect();
        if flat.len() < runs.len() {
            return BTreeMap::new();
        }
        let by_seed = group_all_but(&flat, "seed");
        let repeats = by_seed.iter().any(|group| group.members.len() > 1);
        group_anew((&mut self.group_repeats, &mut self.grouped_tag), tag, runs, repeats);
        let key = if self.group_repeats { Some("seed") } else { self.group.as_deref() };
        let groups = match key {
            Some("seed") => by_seed,
            Some(key) => group_by(&flat, key),
            None => Vec::new(),
        };
        groups.iter().flat_map(|group| members(group, runs)).collect()
    }
}

/// The runs of a group, each with the first of them.
fn members(group: &Group, runs: &[RunSummary]) -> Vec<(RunId, RunId)> {
    let own: Vec<&RunSummary> = group.members.iter().filter_map(|&index| runs.get(index)).collect();
    // What ended before its first step says nothing of the group.
    let first = own.iter().min_by_key(|run| (is_idle(run), run.number)).map(|run| run.id.clone());
    first.map_or_else(Vec::new, |first| own.iter().map(|run| (run.id.clone(), first.clone())).collect())
}

fn is_idle(run: &RunSummary) -> bool {
    run.state.is_ended() && run.steps_done == 0
}

impl State {
    /// Puts together what Compare draws as one line, once the configs of all that is shown are known.
    pub(super) fn group_shown(&mut self, settings: &Settings) {
        let selection = &self.selection;
        let is_shown =
            |run: &&RunSummary| selection.is_visible(&run.id) || selection.baseline.as_ref() == Some(&run.id);
        let shown: Vec<&RunSummary> = self.runs.iter().filter(is_shown).collect();
        let of = GroupedOf {
            grouping: settings.of_panel("compare"),
            tag: selection.held_tag().map(str::to_owned),
            runs: shown.iter().map(|run| (run.id.clone(), is_idle(run))).collect(),
        };
        if self.grouped_of.as_ref() == Some(&of) {
            return;
        }
        let mut configs = std::mem::take(&mut self.configs);
        // One run alone is in no group, whatever its config.
        let missing =
            if of.runs.len() < 2 { 0 } else { configs.want(self, of.runs.iter().map(|(run, _)| run.clone())) };
        let groups = (missing == 0).then(|| {
            let is_of = |run: &&RunSummary| of.runs.iter().any(|(own, _)| *own == run.id);
            let runs: Vec<RunSummary> = self.runs.iter().filter(is_of).cloned().collect();
            of.grouping.clone().groups(of.tag.as_deref(), &runs, &configs)
        });
        self.configs = configs;
        if let Some(groups) = groups {
            self.selection.draw_together(groups);
            self.grouped_of = Some(of);
        }
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::RunState;
    use serde_json::json;

    use super::*;
    use crate::{examples, theme::LineStyle};

    /// Two configs, of two seeds each; all four runs are shown.
    fn shown() -> State {
        let mut state = State::default();
        for number in 0..4_u64 {
            let mut record = examples::record(number, "run");
            record.config["seed"] = (number % 2).into();
            record.config["model"]["layers"] = (4 + number / 2).into();
            state.runs.insert(0, record.summary.clone());
            state.records.insert(record.summary.id.clone(), record);
        }
        state.selection.show_only(state.runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>());
        state
    }

    fn styles(state: &State) -> Vec<LineStyle> {
        (0..4).map(|number| state.selection.style_of(&examples::summary(number, "").id)).collect()
    }

    fn places(places: [usize; 4]) -> Vec<LineStyle> {
        places.map(LineStyle::of_place).to_vec()
    }

    #[test]
    fn seeds_that_repeat_look_alike_before_compare_is_opened() {
        let mut state = shown();
        state.begin_frame(&Settings::default());
        assert_eq!(styles(&state), places([0, 0, 1, 1]));
        // A group keeps its colour where another run of it stands for it from now on.
        (state.runs[3].state, state.runs[3].steps_done) = (RunState::Cancelled, 0);
        state.begin_frame(&Settings::default());
        assert_eq!(styles(&state)[0], styles(&state)[1]);
        assert_eq!(styles(&state)[2..], places([0, 0, 1, 1])[2..]);
    }

    #[test]
    fn what_compare_remembers_decides_what_is_put_together() {
        let mut settings = Settings::default();
        settings.set_panel("compare", &json!({ "group_repeats": false, "group": null, "metric": "train/loss" }));
        let mut state = shown();
        state.begin_frame(&settings);
        assert_eq!(styles(&state), places([0, 1, 2, 3]), "the user wants every run alone");
        settings.set_panel("compare", &json!({ "group_repeats": false, "group": "seed" }));
        state.begin_frame(&settings);
        assert_eq!(styles(&state), places([0, 0, 1, 1]));
        settings.set_panel("compare", &json!({ "group_repeats": false, "group": "model.layers" }));
        state.records.clear();
        state.begin_frame(&settings);
        assert_eq!(styles(&state), places([0, 0, 1, 1]), "configs that are known are not asked for again");
        assert!(state.take_requests().is_empty());
    }

    #[test]
    fn until_all_configs_are_known_every_run_looks_as_it_does_alone() {
        let mut state = shown();
        let records = std::mem::take(&mut state.records);
        state.begin_frame(&Settings::default());
        assert_eq!(styles(&state), places([0, 1, 2, 3]));
        assert_eq!(state.take_requests().len(), 4, "they are asked for");
        state.records = records;
        state.begin_frame(&Settings::default());
        assert_eq!(styles(&state), places([0, 0, 1, 1]));
    }
}
