//! Putting runs together that differ in nothing that matters.

use std::collections::{BTreeMap, BTreeSet};

use headroom_engine::store::RunState;
use serde_json::Value;

use super::plain;

/// Keys that never tell runs apart when grouping by all but some key: what a run is called, and what cannot change
/// what it computes.
const SILENT: [&str; 2] = ["format", "name"];

/// Runs that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What its runs share, in words: `layers = 4`. Empty when that is everything.
    pub label: String,
    /// Indices of its runs in the list that was grouped, ascending.
    pub members: Vec<usize>,
}

/// Runs with the same value of `key`. A run without the key is in a group of its own kind, "not set": "none" is the value
/// of some keys.
/// Groups are in the order of their first run. `configs` are flat, see [`super::flatten()`].
pub fn group_by(configs: &[&BTreeMap<String, Value>], key: &str) -> Vec<Group> {
    gather(configs.iter().map(|config| {
        let value = config.get(key).map_or_else(|| "not set".to_owned(), plain);
        format!("{} = {value}", short_key(key))
    }))
}

/// Runs whose configs are the same in everything but `key` (and name): with "seed", the repetitions of one
/// experiment. The label tells the groups apart by the keys in which they differ, at most three of them.
pub fn group_all_but(configs: &[&BTreeMap<String, Value>], key: &str) -> Vec<Group> {
    let all: BTreeSet<&String> = configs.iter().flat_map(|config| config.keys()).collect();
    let telling: Vec<&String> = all
        .into_iter()
        .filter(|candidate| candidate.as_str() != key && !SILENT.contains(&candidate.as_str()))
        .filter(|candidate| {
            configs.windows(2).any(|pair| matches!(pair, [a, b] if a.get(*candidate) != b.get(*candidate)))
        })
        .collect();
    let value =
        |config: &BTreeMap<String, Value>, key: &String| config.get(key).map_or_else(|| "not set".to_owned(), plain);
    let mut groups = gather(
        configs.iter().map(|config| telling.iter().map(|key| value(config, key)).collect::<Vec<_>>().join("\u{0}")),
    );
    for group in &mut groups {
        let Some(config) = group.members.first().and_then(|&first| configs.get(first)) else { continue };
        let mut parts: Vec<String> =
            telling.iter().take(3).map(|key| format!("{} = {}", short_key(key), value(config, key))).collect();
        if telling.len() > 3 {
            parts.push(format!("+{} more", telling.len() - 3));
        }
        group.label = parts.join(", ");
    }
    groups
}

/// The keys that it makes sense to group by: those whose values differ among the runs, "seed" first.
pub fn common_keys(configs: &[&BTreeMap<String, Value>]) -> Vec<String> {
    let all: BTreeSet<&String> = configs.iter().flat_map(|config| config.keys()).collect();
    let mut keys: Vec<String> = all
        .into_iter()
        .filter(|key| !SILENT.contains(&key.as_str()) && key.as_str() != "seed")
        .filter(|key| configs.windows(2).any(|pair| matches!(pair, [a, b] if a.get(*key) != b.get(*key))))
        .cloned()
        .collect();
    keys.insert(0, "seed".to_owned());
    keys
}

fn gather(labels: impl Iterator<Item = String>) -> Vec<Group> {
    let mut place: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (index, label) in labels.enumerate() {
        let at = *place.entry(label.clone()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.members.push(index),
            None => groups.push(Group { label, members: vec![index] }),
        }
    }
    groups
}

/// The last part of a key, with the one before it when the last says little.
pub fn short_key(key: &str) -> &str {
    let mut cuts = key.rmatch_indices('.').map(|(at, _)| at);
    let last = cuts.next();
    let vague = match last.and_then(|at| key.get(at + 1..)) {
        Some("kind" | "path" | "every" | "words") => true,
        // A model has them too.
        Some("layers" | "heads" | "biases") => key.starts_with("attention."),
        _ => false,
    };
    let cut = if vague { cuts.next() } else { last };
    cut.and_then(|at| key.get(at + 1..)).unwrap_or(key)
}

/// Whether a run trained to its end: where some of a group did, these alone count. Whatever ended in another way did not do all its
/// steps.
pub fn is_finished(state: RunState) -> bool {
    state == RunState::Finished
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::compare::flatten;

    fn configs() -> Vec<BTreeMap<String, Value>> {
        [(1, 4, "pre"), (2, 4, "pre"), (1, 8, "pre"), (3, 4, "pre"), (2, 8, "pre")]
            .into_iter()
            .enumerate()
            .map(|(index, (seed, layers, norm))| {
                flatten(&json!({"name": index.to_string(), "seed": seed, "model": {"layers": layers, "norm": norm}}))
            })
            .collect()
    }

    #[test]
    fn seeds_fall_together_and_the_label_names_what_is_left() {
        let configs = configs();
        let groups = group_all_but(&configs.iter().collect::<Vec<_>>(), "seed");
        assert_eq!(
            groups,
            [
                Group { label: "layers = 4".to_owned(), members: vec![0, 1, 3] },
                Group { label: "layers = 8".to_owned(), members: vec![2, 4] },
            ]
        );
    }

    #[test]
    fn runs_that_differ_in_the_seed_only_are_one_group_without_a_label() {
        let configs = configs();
        let groups = group_all_but(&configs.iter().take(2).collect::<Vec<_>>(), "seed");
        assert_eq!(groups, [Group { label: String::new(), members: vec![0, 1] }]);
    }

    #[test]
    fn any_key_groups_and_a_missing_one_is_a_value_too() {
        let mut configs = configs();
        configs[4].remove("model.layers");
        let groups = group_by(&configs.iter().collect::<Vec<_>>(), "model.layers");
        let labels: Vec<_> = groups.iter().map(|group| group.label.as_str()).collect();
        assert_eq!(labels, ["layers = 4", "layers = 8", "layers = not set"]);
        let caches = [BTreeMap::from([("cache".to_owned(), json!("none"))]), BTreeMap::new()];
        assert_eq!(
            group_by(&caches.iter().collect::<Vec<_>>(), "cache").len(),
            2,
            "\"none\" was chosen by one of them"
        );
    }

    #[test]
    fn only_keys_that_differ_are_offered_and_the_seed_comes_first() {
        let configs = configs();
        assert_eq!(common_keys(&configs.iter().collect::<Vec<_>>()), ["seed", "model.layers"]);
        assert_eq!(common_keys(&[]), ["seed"]);
    }

    #[test]
    fn a_vague_last_part_keeps_its_owner() {
        assert_eq!(short_key("attention.reuse.kind"), "reuse.kind");
        assert_eq!(short_key("model.layers"), "layers");
        assert_eq!(short_key("attention.reuse.layers"), "reuse.layers");
        assert_eq!(short_key("seed"), "seed");
        assert_eq!(short_key("data.kind"), "data.kind");
    }
}
