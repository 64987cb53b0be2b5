//! Which runs the table shows and in which order; computed anew only when something that it depends on changed.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use headroom_engine::store::RunSummary;

use super::{
    Column, FlatConfigs,
    fields::{RunFields, needs_config, unknown_field},
};
use crate::compare::filter::{Filter, FilterError};

/// What the order depends on besides the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// The filter as typed.
    pub filter: String,
    /// By which column, and whether the largest come first; none: newest first.
    pub sorting: Option<(Column, bool)>,
    /// Archived runs, too.
    pub show_archived: bool,
}

/// The runs to show.
#[derive(Debug, Default)]
pub struct Order {
    key: Option<(u64, Wish, usize)>,
    /// Indices in the list of runs.
    indices: Vec<usize>,
    /// The stable numbers of the runs to show.
    numbers: Vec<u64>,
    shown: HashSet<u64>,
    places: HashMap<u64, usize>,
    filter: Filter,
    error: Option<FilterError>,
    /// Whether filter or order can only be had with every run's config.
    wants_configs: bool,
    /// Grows when the order changes.
    version: u64,
}

impl Order {
    /// Brings the order up to date; `print` is the [`fingerprint`] of the runs. Returns whether it changed.
    pub fn update(&mut self, runs: &[RunSummary], print: u64, configs: &FlatConfigs, wish: &Wish) -> bool {
        let loaded = if self.wants_configs { configs.len() } else { 0 };
        if matches!(&self.key, Some((a, b, c)) if (*a, b, *c) == (print, wish, loaded)) {
            return false;
        }
        match Filter::parse(&wish.filter) {
            Ok(filter) => (self.filter, self.error) = (filter, None),
            // While a filter is being typed, the last good one stays.
            Err(error) => self.error = Some(error),
        }
        self.wants_configs = self.filter.fields().iter().any(|(field, _)| needs_config(field, runs))
            || matches!(wish.sorting, Some((Column::Config(_), _)));
        let shown = |run: &RunSummary| {
            (wish.show_archived || !run.archived) && self.filter.matches(&RunFields::of(run, configs))
        };
        self.indices = (0..runs.len()).filter(|&index| runs.get(index).is_some_and(&shown)).collect();
        if wish.sorting.is_none() {
            // Who types a whole name means that run.
            let typed = wish.filter.trim();
            let is_named = |index: &usize| runs.get(*index).is_some_and(|run| run.name.eq_ignore_ascii_case(typed));
            self.indices.sort_by_key(|index| !is_named(index));
        }
        if let Some((column, descending)) = &wish.sorting {
            self.indices.sort_by(|&a, &b| match (runs.get(a), runs.get(b)) {
                (Some(a), Some(b)) => {
                    column.compare(&RunFields::of(a, configs), &RunFields::of(b, configs), *descending)
                }
                _ => std::cmp::Ordering::Equal,
            });
        }
        self.numbers = self.indices.iter().filter_map(|&index| runs.get(index)).map(|run| run.number).collect();
        self.shown = self.numbers.iter().copied().collect();
        self.places = runs.iter().enumerate().map(|(index, run)| (run.number, index)).collect();
        self.version += 1;
        self.key = Some((print, wish.clone(), if self.wants_configs { configs.len() } else { 0 }));
        true
    }

    /// The stable numbers of the runs to show, in order.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Another number after each change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Indices in the list of runs, in order.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// Where the run with this number is in the list of runs.
    pub fn place(&self, number: u64) -> Option<usize> {
        self.places.get(&number).copied()
    }

    /// Whether the run with this number is shown.
    pub fn is_shown(&self, number: u64) -> bool {
        self.shown.contains(&number)
    }

    /// What is wrong with the filter.
    pub fn error(&self) -> Option<&FilterError> {
        self.error.as_ref()
    }

    /// Whether the filter speaks of configs.
    pub fn wants_configs(&self) -> bool {
        self.wants_configs
    }

    /// Once all configs are loaded: a field of the filter that no run has, with the one that may be meant.
    pub fn unknown_field(&self, runs: &[RunSummary], configs: &FlatConfigs) -> Option<String> {
        if !self.wants_configs || configs.len() < runs.len() {
            return None;
        }
        self.filter.fields().into_iter().find_map(|(field, _)| unknown_field(field, runs, configs))
    }
}

/// Changes when the runs may have.
pub fn fingerprint(runs: &[RunSummary]) -> u64 {
    let mut hash = DefaultHasher::new();
    runs.len().hash(&mut hash);
    for run in runs {
        (run.number, run.steps_done, run.train_secs.to_bits(), run.state, run.archived).hash(&mut hash);
        (run.name.as_str(), &run.tags, run.note.len(), run.metrics.len(), run.parameters).hash(&mut hash);
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{examples, state::State};

    fn runs() -> Vec<RunSummary> {
        let mut runs: Vec<_> = (0..5).map(|i| examples::summary(i, &format!("run {i}"))).collect();
        runs[3].archived = true;
        runs[1].steps_done = 900;
        runs
    }

    fn wish(filter: &str) -> Wish {
        Wish { filter: filter.to_owned(), sorting: None, show_archived: false }
    }

    #[test]
    fn archived_runs_are_hidden_until_asked_for() {
        let (runs, mut order) = (runs(), Order::default());
        assert!(order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &wish("")));
        assert_eq!(order.numbers(), [0, 1, 2, 4]);
        assert!(!order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &wish("")), "nothing changed");
        order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &Wish { show_archived: true, ..wish("") });
        assert_eq!(order.numbers().len(), 5);
        assert_eq!(order.place(4), Some(4));
    }

    #[test]
    fn the_run_whose_whole_name_was_typed_stands_first() {
        let (mut runs, mut order) = (runs(), Order::default());
        runs[0].name = "run 4: symmetric".to_owned();
        order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &wish("\"run 4\""));
        assert_eq!(order.numbers(), [0, 4], "a quotation is no name");
        order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &wish("Run 4"));
        assert_eq!(order.numbers(), [4, 0]);
        // Who sorts has said what stands first.
        let by_name = Wish { sorting: Some((Column::Name, true)), ..wish("run 4") };
        order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &by_name);
        assert_eq!(order.numbers(), [0, 4]);
    }

    #[test]
    fn a_change_of_a_run_is_seen() {
        let (mut runs, mut order) = (runs(), Order::default());
        let by_steps = Wish { sorting: Some((Column::Steps, true)), ..wish("run") };
        order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &by_steps);
        assert_eq!(order.numbers()[0], 1);
        runs[2].steps_done = 1000;
        assert!(order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &by_steps));
        assert_eq!(order.numbers()[0], 2);
    }

    #[test]
    fn a_filter_that_is_being_typed_leaves_the_last_good_one() {
        let (runs, mut order) = (runs(), Order::default());
        order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &wish("steps>500"));
        assert_eq!(order.numbers(), [1]);
        order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &wish("steps>500 and"));
        assert_eq!(order.numbers(), [1]);
        assert!(order.error().is_some());
        order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &wish(""));
        assert_eq!((order.numbers().len(), order.error()), (4, None));
    }

    #[test]
    fn configs_are_wanted_only_by_filters_that_speak_of_them_and_unknown_fields_are_named() {
        let (runs, mut order) = (runs(), Order::default());
        let (mut configs, mut state) = (FlatConfigs::default(), State::default());
        order.update(&runs, fingerprint(&runs), &configs, &wish("loss<2"));
        assert!(!order.wants_configs());
        order.update(&runs, fingerprint(&runs), &configs, &wish("model.layers=4 or modl.heads=3"));
        assert!(order.wants_configs());
        assert_eq!(order.numbers().len(), 0);
        for run in &runs {
            state.records.insert(run.id.clone(), examples::record(run.number, &run.name));
        }
        configs.want(&mut state, runs.iter().map(|run| run.id.clone()));
        order.update(&runs, fingerprint(&runs), &configs, &wish("model.layers=4 or modl.heads=3"));
        assert_eq!(order.numbers().len(), 4);
        let message = order.unknown_field(&runs, &configs).unwrap();
        assert_eq!(message, "No run has the field `modl.heads`. Did you mean `model.heads`?");
    }
}
