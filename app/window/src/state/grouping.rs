//! Which of the runs that are shown Compare draws as one line: they look alike in every panel, whether it was opened or not.

use std::{collections::BTreeMap, sync::Arc};

use headroom_engine::store::{RunId, RunSummary};
use serde::Deserialize;
use serde_json::Value;

use super::{
    FlatConfigs, Selection, State,
    grouped_of::{GroupedOf, PANEL, is_idle},
};
use crate::{
    compare::{Group, group_all_but, group_by},
    settings::Settings,
};

/// By what runs are put together, as Compare remembers it.
#[derive(Clone, Debug, Deserialize)]
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

/// Runs that are drawn as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunGroup {
    /// As [`Group::label`].
    pub label: String,
    /// Places of its runs in the list that was grouped. The oldest comes first and gives the colour, so that a new repetition
    /// changes nothing.
    pub runs: Vec<usize>,
    /// Places of runs beside others that ended before their first step: what they came to says nothing of the group.
    pub idle: Vec<usize>,
}

impl RunGroup {
    fn new(group: Group, runs: &[RunSummary]) -> Self {
        let Group { label, mut members } = group;
        members.sort_by_key(|&place| runs.get(place).map(|run| run.number));
        let (idle, others): (Vec<usize>, Vec<usize>) =
            members.into_iter().partition(|&place| runs.get(place).is_some_and(is_idle));
        if others.is_empty() {
            return Self { label, runs: idle, idle: Vec::new() };
        }
        Self { label, runs: others, idle }
    }

    /// Places of all of them.
    pub fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.runs.iter().chain(&self.idle).copied()
    }

    fn ids<'a>(&self, runs: &'a [RunSummary]) -> Vec<&'a RunId> {
        self.all().filter_map(|place| runs.get(place)).map(|run| &run.id).collect()
    }
}

impl FlatConfigs {
    /// The runs that are drawn together by this key; "seed" puts those together that differ in nothing but the seed. None as long
    /// as a config of theirs is not known.
    pub fn grouped(&self, runs: &[RunSummary], key: &str) -> Option<Vec<RunGroup>> {
        let known: Option<Vec<&Arc<BTreeMap<String, Value>>>> = runs.iter().map(|run| self.get(&run.id)).collect();
        let flat: Vec<&BTreeMap<String, Value>> = known?.into_iter().map(AsRef::as_ref).collect();
        let groups = if key == "seed" { group_all_but(&flat, "seed") } else { group_by(&flat, key) };
        Some(groups.into_iter().map(|group| RunGroup::new(group, runs)).collect())
    }
}

impl Selection {
    /// The runs of each of these groups are drawn together from now on, as the first of them.
    pub fn draw_groups<'a>(&mut self, groups: impl IntoIterator<Item = Vec<&'a RunId>>) {
        let with_first = |group: Vec<&'a RunId>| {
            let first = group.first().copied();
            first.map_or_else(Vec::new, |first| group.iter().map(|&run| (run.clone(), first.clone())).collect())
        };
        self.draw_together(groups.into_iter().flat_map(with_first).collect());
    }
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
    /// The groups of these runs; empty where each is drawn by itself.
    fn groups(mut self, tag: Option<&str>, runs: &[RunSummary], configs: &FlatConfigs) -> Vec<RunGroup> {
        let Some(by_seed) = configs.grouped(runs, "seed") else { return Vec::new() };
        let repeats = by_seed.iter().any(|group| group.all().count() > 1);
        group_anew((&mut self.group_repeats, &mut self.grouped_tag), tag, runs, repeats);
        let key = if self.group_repeats { Some("seed") } else { self.group.as_deref() };
        match key {
            Some("seed") => by_seed,
            Some(key) => configs.grouped(runs, key).unwrap_or_default(),
            None => Vec::new(),
        }
    }
}

impl State {
    /// Puts together what Compare draws as one line, once the configs of all that is shown are known.
    pub(super) fn group_shown(&mut self, settings: &Settings) {
        if self.grouped_of.as_ref().is_some_and(|of| of.is_same(&self.selection, &self.runs, settings)) {
            return;
        }
        let shown: Vec<RunId> = self.drawn().map(|run| run.id.clone()).collect();
        let mut configs = std::mem::take(&mut self.configs);
        // One run alone is in no group, whatever its config.
        let missing = if shown.len() < 2 { 0 } else { configs.want(self, shown) };
        if missing == 0 {
            let runs: Vec<RunSummary> = self.drawn().cloned().collect();
            let grouping: Grouping = settings.of_panel(PANEL);
            let groups = grouping.groups(self.selection.held_tag(), &runs, &configs);
            self.selection.draw_groups(groups.iter().map(|group| group.ids(&runs)));
            self.grouped_of = Some(GroupedOf::of(&self.selection, &self.runs, settings));
        }
        self.configs = configs;
    }

    /// The runs that Compare draws: those that are shown, and the baseline.
    fn drawn(&self) -> impl Iterator<Item = &RunSummary> {
        let selection = &self.selection;
        let is_drawn =
            move |run: &&RunSummary| selection.is_visible(&run.id) || selection.baseline.as_ref() == Some(&run.id);
        self.runs.iter().filter(is_drawn)
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
    fn nothing_is_done_as_long_as_nothing_changes_and_all_of_it_where_something_does() {
        let mut settings = Settings::default();
        let mut state = shown();
        state.begin_frame(&settings);
        assert_eq!(styles(&state), places([0, 0, 1, 1]));
        // What is undone by hand is found undone: nobody looked.
        let is_renewed = |state: &mut State, settings: &Settings| {
            state.selection.draw_together(BTreeMap::new());
            state.begin_frame(settings);
            styles(state) == places([0, 0, 1, 1])
        };
        assert!(!is_renewed(&mut state, &settings));
        settings.set_panel("compare", &json!({ "metric": "train/loss", "group_repeats": true }));
        assert!(is_renewed(&mut state, &settings), "a choice");
        settings.set_panel("compare", &json!({ "metric": "validation/loss", "group_repeats": true }));
        assert!(!is_renewed(&mut state, &settings), "of what is drawn, not of what is put together");
        let more = examples::summary(7, "run");
        state.runs.insert(0, more.clone());
        assert!(is_renewed(&mut state, &settings), "another run");
        state.runs[0].steps_done += 1;
        assert!(!is_renewed(&mut state, &settings), "it goes on");
        (state.runs[0].state, state.runs[0].steps_done) = (RunState::Cancelled, 0);
        assert!(is_renewed(&mut state, &settings), "it ended before its first step");
        state.selection.toggle_visible(&more.id);
        state.records.insert(more.id.clone(), examples::record(7, "run"));
        assert!(is_renewed(&mut state, &settings), "one more is shown");
        let ids: Vec<RunId> = (0..4).map(|number| examples::summary(number, "").id).collect();
        state.selection.hold("race:a".to_owned(), ids);
        assert!(is_renewed(&mut state, &settings), "the runs of a tag");
        assert!(!is_renewed(&mut state, &settings));
    }

    #[test]
    fn the_oldest_run_that_did_a_step_stands_for_its_group() {
        let mut state = shown();
        let mut configs = FlatConfigs::default();
        let ids: Vec<RunId> = state.runs.iter().map(|run| run.id.clone()).collect();
        assert_eq!(configs.want(&mut state, ids), 0);
        let grouped = |state: &State, key: &str| -> Vec<(Vec<usize>, Vec<usize>)> {
            let groups = configs.grouped(&state.runs, key).unwrap();
            groups.into_iter().map(|group| (group.runs, group.idle)).collect()
        };
        // The newest run comes first in the list.
        assert_eq!(grouped(&state, "seed"), [(vec![1, 0], vec![]), (vec![3, 2], vec![])]);
        assert_eq!(grouped(&state, "model.layers"), grouped(&state, "seed"));
        (state.runs[3].state, state.runs[3].steps_done) = (RunState::Cancelled, 0);
        assert_eq!(grouped(&state, "seed")[1], (vec![2], vec![3]));
        (state.runs[2].state, state.runs[2].steps_done) = (RunState::Cancelled, 0);
        assert_eq!(grouped(&state, "seed")[1], (vec![3, 2], vec![]), "where none did, all are what there is");
        state.runs.push(examples::summary(9, "run"));
        assert!(configs.grouped(&state.runs, "seed").is_none(), "its config is not known");
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
