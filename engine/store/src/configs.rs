use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::{RunConfig, TaskConfig, TrainConfig};

/// Facts from stored configs, by the number of the run. A config never changes once it is stored, so that each is read once.
#[derive(Clone, Debug)]
pub(crate) struct KnownConfigs {
    /// Number of the last run whose config was read.
    pub upto: i64,
    /// Reasons why configs cannot be read.
    pub unreadable: BTreeMap<i64, String>,
    /// Validation examples that a config asks for in one evaluation; configs that ask for all are left out.
    asked: BTreeMap<i64, u64>,
}

impl Default for KnownConfigs {
    fn default() -> Self {
        Self { upto: i64::MIN, unreadable: BTreeMap::new(), asked: BTreeMap::new() }
    }
}

impl KnownConfigs {
    /// Reads the config of a run: JSON that may say anything.
    pub fn add(&mut self, number: i64, json: &str) {
        self.asked.extend(asked_examples(json).map(|examples| (number, examples)));
    }

    /// Validation examples that a config asks for in one evaluation; none where it asks for all, or cannot be read.
    pub fn asked_examples(&self, number: i64) -> Option<u64> {
        self.asked.get(&number).copied()
    }
}

/// Validation examples that a stored config asks for in one evaluation; none where it asks for all, or is no config.
fn asked_examples(json: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Stored {
        task: Option<TaskConfig>,
        #[serde(default)]
        train: Train,
    }
    #[derive(Default, Deserialize)]
    struct Train {
        batch: Option<usize>,
        evaluate_batches: Option<usize>,
        evaluate_examples: Option<usize>,
    }
    let Stored { task, train: Train { batch, evaluate_batches, evaluate_examples } } =
        serde_json::from_str(json).ok()?;
    let default = TrainConfig::default();
    let train = TrainConfig { batch: batch.unwrap_or(default.batch), evaluate_batches, evaluate_examples, ..default };
    let config = RunConfig { task, train, ..RunConfig::default() };
    Some(config.evaluation_size() as u64).filter(|examples| *examples > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_config_asks_for_examples_or_for_batches_of_them() {
        for (json, asked) in [
            (r#"{"train": {"batch": 2, "evaluate_batches": 16}}"#, Some(32)),
            (r#"{"train": {"batch": 2, "evaluate_examples": 256}}"#, Some(256)),
            (r#"{"train": {"batch": 2}}"#, Some(32)),
            ("{}", Some(256)),
            (r#"{"task": {"kind": "classification"}}"#, None),
            (r#"{"task": {"kind": "classification"}, "train": {"evaluate_batches": 2}}"#, Some(32)),
            (r#"{"train": {"batch": 16, "evaluate_batches": 0}}"#, None),
            (r#"{"train": {"evaluate_examples": 0}}"#, None),
            (r#"{"train": {"batch": -1}}"#, None),
            (r#"{"train": 7}"#, None),
            ("7", None),
            ("not json", None),
        ] {
            assert_eq!(asked_examples(json), asked, "{json}");
        }
        let huge = r#"{"train": {"batch": 4000000000000, "evaluate_batches": 4000000000000}}"#;
        assert_eq!(asked_examples(huge), Some(usize::MAX as u64), "nothing overflows");
    }
}
