//! What differs between the configs of several runs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{flatten, plain};
use crate::export::{Cell, TextTable};

/// Keys that say nothing about what a run computes.
const SILENT: [&str; 2] = ["format", "name"];

/// The configs of several runs side by side, one row a key. Name and file format are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigDiff {
    /// A label for each config, in the order given.
    pub labels: Vec<String>,
    /// All keys, sorted.
    pub rows: Vec<DiffRow>,
}

/// One key of a [`ConfigDiff`].
#[derive(Clone, Debug, PartialEq)]
pub struct DiffRow {
    /// Dotted key.
    pub key: String,
    /// Each config's value, of a group all that its runs have; none where the config has no such key.
    pub values: Vec<Option<String>>,
    /// Whether the values are not all the same (a missing key is a difference).
    pub differs: bool,
}

impl ConfigDiff {
    /// Lays labelled configs side by side; each label has those of a group, or the one of a run.
    pub fn new<'a>(groups: impl IntoIterator<Item = (String, Vec<&'a Value>)>) -> Self {
        let flat_all = |configs: Vec<&Value>| configs.into_iter().map(flatten).collect::<Vec<_>>();
        let (labels, flat): (Vec<String>, Vec<Vec<BTreeMap<String, Value>>>) =
            groups.into_iter().map(|(label, configs)| (label, flat_all(configs))).unzip();
        let keys: BTreeSet<&String> = flat.iter().flatten().flat_map(BTreeMap::keys).collect();
        let rows = keys
            .into_iter()
            .filter(|key| !SILENT.contains(&key.as_str()))
            .map(|key| {
                let found: Vec<Vec<Option<&Value>>> = flat.iter().map(|configs| distinct(configs, key)).collect();
                let differs = found.windows(2).any(|pair| match pair {
                    [a, b] => a.len() != b.len() || a.iter().zip(b).any(|(a, b)| !same(*a, *b)),
                    _ => false,
                });
                DiffRow { key: key.clone(), values: found.iter().map(|values| words(values)).collect(), differs }
            })
            .collect();
        Self { labels, rows }
    }

    /// The rows to show: those that differ or all; with a search, those whose key or a value holds it, whatever its case.
    pub fn shown(&self, only_differences: bool, search: &str) -> Vec<&DiffRow> {
        let wanted = search.trim().to_lowercase();
        let holds = |text: &str| text.to_lowercase().contains(&wanted);
        self.rows
            .iter()
            .filter(|row| row.differs || !only_differences)
            .filter(|row| wanted.is_empty() || holds(&row.key) || row.values.iter().flatten().any(|value| holds(value)))
            .collect()
    }

    /// The rows to show as a table to copy; a missing key is an empty cell.
    pub fn table(&self, only_differences: bool, search: &str) -> TextTable {
        let header = std::iter::once("Key".to_owned()).chain(self.labels.iter().cloned()).collect();
        let rows = self.shown(only_differences, search).into_iter().map(|row| {
            let values = row.values.iter().map(|value| Cell::text(value.clone().unwrap_or_default()));
            std::iter::once(Cell::text(row.key.clone())).chain(values).collect()
        });
        TextTable { header, rows: rows.collect() }
    }
}

/// The values of a key in the configs of a group, each once, numbers in their order.
fn distinct<'a>(configs: &'a [BTreeMap<String, Value>], key: &str) -> Vec<Option<&'a Value>> {
    let mut values: Vec<Option<&Value>> = Vec::new();
    for config in configs {
        let value = config.get(key);
        if !values.iter().any(|known| same(*known, value)) {
            values.push(value);
        }
    }
    let number = |value: Option<&Value>| value.and_then(Value::as_f64).unwrap_or(f64::INFINITY);
    values.sort_by(|a, b| number(*a).total_cmp(&number(*b)));
    values
}

/// The values of a group as people read them; none where no config has the key.
fn words(values: &[Option<&Value>]) -> Option<String> {
    let word = |value: Option<&Value>| value.map_or_else(|| "not set".to_owned(), plain);
    let is_set = values.iter().any(Option::is_some);
    is_set.then(|| values.iter().copied().map(word).collect::<Vec<_>>().join(", "))
}

/// Equal as config values: `1` and `1.0` are the same number.
fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    a == b || matches!((a.and_then(Value::as_f64), b.and_then(Value::as_f64)), (Some(a), Some(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn diff() -> ConfigDiff {
        let a = json!({"name": "a", "seed": 1, "model": {"layers": 4, "norm": "pre"}, "train": {"clip_norm": 1}});
        let b = json!({"name": "b", "seed": 2, "model": {"layers": 4, "norm": "post"}, "train": {"clip_norm": 1.0}});
        let c = json!({"name": "c", "seed": 2, "model": {"layers": 4}, "train": {"clip_norm": 1}});
        ConfigDiff::new([("A".to_owned(), vec![&a]), ("B".to_owned(), vec![&b]), ("C".to_owned(), vec![&c])])
    }

    #[test]
    fn of_a_group_all_values_are_shown() {
        let run = |seed: u64, layers: u64| json!({"seed": seed, "model": {"layers": layers}});
        let (narrow, wide) = ([run(3, 4), run(1, 4), run(2, 4)], [run(1, 8), run(2, 8)]);
        let group = |label: &str, configs: &[Value]| -> ConfigDiff {
            ConfigDiff::new([(label.to_owned(), configs.iter().collect()), ("wide".to_owned(), wide.iter().collect())])
        };
        let csv = group("narrow", &narrow).table(true, "").to_csv();
        assert_eq!(csv, "Key,narrow,wide\nmodel.layers,4,8\nseed,\"1, 2, 3\",\"1, 2\"\n");
        let csv = group("narrow", &narrow[1..]).table(true, "").to_csv();
        assert_eq!(csv, "Key,narrow,wide\nmodel.layers,4,8\n", "they have the same seeds");
    }

    #[test]
    fn only_differences_are_shown_by_default_and_a_missing_key_is_one() {
        let diff = diff();
        let keys: Vec<_> = diff.shown(true, "").iter().map(|row| row.key.as_str()).collect();
        assert_eq!(keys, ["model.norm", "seed"]);
        assert_eq!(diff.shown(false, "").len(), 4);
        assert_eq!(diff.rows[1].values, [Some("pre".to_owned()), Some("post".to_owned()), None]);
    }

    #[test]
    fn the_search_looks_at_keys_and_values() {
        let diff = diff();
        assert_eq!(diff.shown(true, "POST").len(), 1);
        assert_eq!(diff.shown(true, "layers").len(), 0);
        assert_eq!(diff.shown(false, "layers").len(), 1);
    }

    #[test]
    fn one_config_has_no_differences() {
        let config = json!({"seed": 1});
        assert!(ConfigDiff::new([("A".to_owned(), vec![&config])]).shown(true, "").is_empty());
        assert!(ConfigDiff::new([]).shown(false, "").is_empty());
    }

    #[test]
    fn what_is_copied_is_what_is_shown() {
        let csv = diff().table(true, "seed").to_csv();
        assert_eq!(csv, "Key,A,B,C\nseed,1,2,2\n");
    }
}
