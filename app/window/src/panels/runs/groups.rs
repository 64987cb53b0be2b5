//! Runs of the table in groups that fold: by tag, by race or sweep, or by a key of the config.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use headroom_engine::store::{Direction, RunSummary, series_names};
use serde::{Deserialize, Serialize};

use super::{Column, Order, RunFields, Which};
use crate::{
    compare::{Summary, is_of_race, metric_spread, metric_value, plain, short_key},
    format::Names,
    state::FlatConfigs,
};

/// The bit of the rows that head a group.
const HEAD: u64 = 1 << 63;
/// Below this bit stands the number of the run, above it, where a run has several tags, its group.
const NUMBER_BITS: u32 = 40;

/// What puts runs into one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// A tag; a run with several stands in several groups.
    Tag,
    /// The race, sweep or control that they were queued with.
    Race,
    /// The value of a key of the config.
    Config(String),
}

impl GroupBy {
    /// Its name in the menu.
    pub fn label(&self) -> &str {
        match self {
            Self::Tag => "By tag",
            Self::Race => "By race or sweep",
            Self::Config(key) => key,
        }
    }

    /// The labels of the groups that a run stands in.
    fn labels(&self, fields: &RunFields<'_>) -> Vec<String> {
        let tags = &fields.summary.tags;
        let or = |labels: Vec<String>, none: &str| if labels.is_empty() { vec![none.to_owned()] } else { labels };
        match self {
            Self::Tag => or(tags.clone(), "No tag"),
            Self::Race => or(tags.iter().filter(|tag| is_of_race(tag)).take(1).cloned().collect(), "No race or sweep"),
            Self::Config(key) => {
                let value = fields.config.and_then(|config| config.get(key)).map_or_else(|| "none".to_owned(), plain);
                // The value first: it is what tells groups apart where there is little room.
                vec![format!("{value}  ({})", short_key(key))]
            }
        }
    }
}

/// One group.
#[derive(Clone, Debug, PartialEq)]
pub struct RunGroup {
    /// What its runs have in common.
    pub label: String,
    /// The numbers of its runs, in the order of the table.
    pub numbers: Vec<u64>,
    /// Whether only its head is shown.
    pub is_folded: bool,
}

/// What the rows of the table depend on.
type Key = (u64, Option<GroupBy>, BTreeSet<String>, usize);

/// The rows of the table: runs, and heads of groups.
#[derive(Default)]
pub struct Rows {
    key: Option<Key>,
    groups: Vec<RunGroup>,
    names: Names,
    keys: Vec<u64>,
    /// What values of a column come to in a group, by group and title, with the best one.
    summaries: HashMap<(usize, String), Option<GroupSummary>>,
}

/// What the values of a group come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupSummary {
    /// Mean, deviation, least and most.
    pub all: Summary,
    /// The best value of a metric that has a better side.
    pub best: Option<f64>,
}

impl Rows {
    /// Brings the rows up to date; `version` changes when the order does.
    pub fn update(
        &mut self,
        version: u64,
        order: &Order,
        runs: &[RunSummary],
        configs: &FlatConfigs,
        group: Option<&GroupBy>,
        folded: &BTreeSet<String>,
    ) {
        let loaded = if matches!(group, Some(GroupBy::Config(_))) { configs.len() } else { 0 };
        let is_same = |(a, b, c, d): &Key| (*a, b.as_ref(), c, *d) == (version, group, folded, loaded);
        if self.key.as_ref().is_some_and(is_same) {
            return;
        }
        self.key = Some((version, group.cloned(), folded.clone(), loaded));
        self.summaries.clear();
        self.groups.clear();
        self.names = Names::default();
        let Some(group) = group else {
            self.keys = order.numbers().to_vec();
            return;
        };
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for run in order.indices().iter().filter_map(|&index| runs.get(index)) {
            for label in group.labels(&RunFields::of(run, configs)) {
                let place = *places.entry(label.clone()).or_insert(self.groups.len());
                if let Some(known) = self.groups.get_mut(place) {
                    known.numbers.push(run.number);
                } else {
                    let is_folded = folded.contains(&label);
                    self.groups.push(RunGroup { label, numbers: vec![run.number], is_folded });
                }
            }
        }
        // What has none stands at the end, whatever it is sorted by.
        self.groups.sort_by_key(|group| group.label.starts_with("No ") || group.label.ends_with(" = none"));
        self.names = self.groups.iter().map(|group| group.label.as_str()).collect();
        let mut seen = BTreeSet::new();
        self.keys.clear();
        for (place, group) in self.groups.iter().enumerate() {
            self.keys.push(HEAD | place as u64);
            if !group.is_folded {
                let again = (place as u64 + 1) << NUMBER_BITS;
                self.keys.extend(
                    group.numbers.iter().map(|&number| if seen.insert(number) { number } else { again | number }),
                );
            }
        }
    }

    /// The rows, in order.
    pub fn rows(&self) -> &[u64] {
        &self.keys
    }

    /// The groups.
    pub fn groups(&self) -> &[RunGroup] {
        &self.groups
    }

    /// The labels of the groups, which have to be told apart where there is no room for all of one.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The place of the group that a row heads.
    pub fn head(row: u64) -> Option<usize> {
        (row & HEAD != 0).then_some((row & !HEAD) as usize)
    }

    /// The number of the run in a row.
    pub fn number(row: u64) -> Option<u64> {
        (row & HEAD == 0).then_some(row & ((1 << NUMBER_BITS) - 1))
    }

    /// What the values of a column come to in a group.
    pub fn summary(
        &mut self,
        place: usize,
        (title, column): (&str, &Column),
        fields: impl Fn(u64) -> Option<f64>,
    ) -> Option<GroupSummary> {
        if let Some(known) = self.summaries.get(&(place, title.to_owned())) {
            return *known;
        }
        let values: Vec<f64> = self.groups.get(place)?.numbers.iter().filter_map(|&number| fields(number)).collect();
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let best = match column {
            Column::Metric(series, _) => match Direction::of(series) {
                Direction::Lower => finite().min_by(f64::total_cmp),
                Direction::Higher => finite().max_by(f64::total_cmp),
                Direction::None => None,
            },
            _ => None,
        };
        let summary = Summary::of(&values).map(|all| GroupSummary { all, best });
        self.summaries.insert((place, title.to_owned()), summary);
        summary
    }
}

/// The column whose best value stands in the head of a group: the loss on held-out text.
pub fn main_column() -> Column {
    Column::Metric(series_names::VALIDATION_LOSS.to_owned(), Which::Best)
}

/// Whole numbers of a size that people read digit by digit.
const WHOLE: f64 = 1e9;

/// A summary as a cell of the head shows it: `1.25 ± 0.02`, and in full.
pub fn summary_words(summary: &GroupSummary, column: &Column) -> (String, String) {
    let value = |value: f64| match column {
        Column::Metric(series, _) => metric_value(series, value),
        Column::Duration => crate::format::duration(value),
        // Steps, and keys of the config that count something.
        _ if value.fract() == 0.0 && value.abs() < WHOLE => crate::format::integer(value as i64),
        _ => crate::format::number(value),
    };
    let Summary { n, mean, sd, min, max, .. } = summary.all;
    let short = match column {
        _ if !sd.is_finite() || min == max => value(min),
        Column::Metric(series, _) => metric_spread(series, mean, sd),
        Column::Duration => format!("{} ± {}", value(mean), value(sd)),
        _ => crate::format::mean_and_spread(mean, sd),
    };
    let best = summary.best.map(|best| format!(", best {}", value(best))).unwrap_or_default();
    let whole = format!(
        "Mean{} of {n}: {short}{best}, from {} to {}",
        if sd.is_finite() && min < max { " ± sd" } else { "" },
        value(min),
        value(max)
    );
    (short, whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;
    use crate::panels::runs::{Wish, fingerprint};

    fn runs() -> Vec<RunSummary> {
        let tags: [&[&str]; 5] = [&["race:a"], &["race:a", "paper"], &["paper"], &[], &["sweep:b"]];
        let run = |(number, tags): (usize, &&[&str])| {
            let mut run = examples::summary(number as u64, "run");
            run.tags = tags.iter().map(|&tag| tag.to_owned()).collect();
            run.metrics.get_mut(series_names::VALIDATION_LOSS).unwrap().best = Some(1.0 + number as f64);
            run
        };
        tags.iter().enumerate().map(run).collect()
    }

    fn rows(group: &GroupBy, folded: &[&str]) -> Rows {
        let (runs, mut order, mut rows) = (runs(), Order::default(), Rows::default());
        let wish = Wish { filter: String::new(), sorting: None, show_archived: false };
        order.update(&runs, fingerprint(&runs), &FlatConfigs::default(), &wish);
        let folded = folded.iter().map(|&label| label.to_owned()).collect();
        rows.update(1, &order, &runs, &FlatConfigs::default(), Some(group), &folded);
        rows
    }

    fn shown(rows: &Rows) -> Vec<String> {
        let row = |&row: &u64| match Rows::head(row) {
            Some(place) => rows.groups()[place].label.clone(),
            None => Rows::number(row).unwrap().to_string(),
        };
        rows.rows().iter().map(row).collect()
    }

    #[test]
    fn runs_stand_below_the_heads_of_their_groups_and_folded_ones_do_not() {
        assert_eq!(
            shown(&rows(&GroupBy::Race, &[])),
            ["race:a", "0", "1", "sweep:b", "4", "No race or sweep", "2", "3"]
        );
        assert_eq!(
            shown(&rows(&GroupBy::Tag, &[])),
            ["race:a", "0", "1", "paper", "1", "2", "sweep:b", "4", "No tag", "3"]
        );
        assert_eq!(
            shown(&rows(&GroupBy::Tag, &["race:a", "No tag"])),
            ["race:a", "paper", "1", "2", "sweep:b", "4", "No tag"]
        );
        let all = rows(&GroupBy::Tag, &[]);
        let keys: BTreeSet<&u64> = all.rows().iter().collect();
        assert_eq!(keys.len(), all.rows().len(), "a run that stands in two groups has two rows");
    }

    #[test]
    fn a_head_sums_up_its_runs() {
        let mut rows = rows(&GroupBy::Race, &["race:a"]);
        let column = main_column();
        let all = runs();
        let value = |number: u64| column.number(&RunFields::alone(&all[number as usize]));
        let summary = rows.summary(0, ("best", &column), value).unwrap();
        assert_eq!((summary.all.n, summary.all.mean, summary.best), (2, 1.5, Some(1.0)));
        let (short, whole) = summary_words(&summary, &column);
        assert_eq!(short, "1.50 ± 0.71");
        assert_eq!(whole, "Mean ± sd of 2: 1.50 ± 0.71, best 1.000, from 1.000 to 2.000");
    }

    #[test]
    fn whole_numbers_are_written_whole_and_what_is_alike_has_no_spread() {
        let words = |values: &[f64], column: &Column| {
            let all = Summary::of(values).unwrap();
            summary_words(&GroupSummary { all, best: None }, column)
        };
        let (short, whole) = words(&[500.0, 500.0, 500.0], &Column::Steps);
        assert_eq!((short.as_str(), whole.as_str()), ("500", "Mean of 3: 500, from 500 to 500"));
        assert_eq!(words(&[60.0], &Column::Steps).0, "60");
        assert_eq!(words(&[60.0, 60.0], &Column::Duration).0, "1:00");
        assert_eq!(words(&[1.5, 1.5], &main_column()).0, "1.500");
        let (short, whole) = words(&[40.0, 60.0], &Column::Steps);
        assert_eq!(short, "50 ± 14");
        assert!(whole.ends_with("from 40 to 60"), "{whole}");
    }
}
