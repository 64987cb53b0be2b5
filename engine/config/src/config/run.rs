use serde::{Deserialize, Serialize};

use super::{AttentionConfig, DataConfig, DeviceChoice, ModelConfig, Objective, Precision, TaskConfig, TrainConfig};

/// Version of the config file format that this program reads and writes.
pub const FORMAT: u32 = 1;

/// Everything that a run depends on, as written: plain data that becomes a checked plan by `resolve()`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// File format version; the only field without a default in a file.
    pub format: u32,
    /// What people call the run; need not be unique.
    pub name: String,
    /// Seed of initialisation, data order, dropout and masking. At most 2^63 - 1 (TOML's largest integer).
    pub seed: u64,
    /// Where the run computes.
    pub device: DeviceChoice,
    /// Threads of a run on the CPU; 0 = one per core.
    pub threads: usize,
    /// Number format.
    pub precision: Precision,
    /// The text and its tokens.
    pub data: DataConfig,
    /// What is learnt of a table, or how translations are scored; when absent the model learns language, or to translate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskConfig>,
    /// The transformer.
    pub model: ModelConfig,
    /// The four questions.
    pub attention: AttentionConfig,
    /// The loop.
    pub train: TrainConfig,
    /// What is looked at while training.
    pub probe: ProbeConfig,
}

impl RunConfig {
    /// What the model learns.
    pub fn objective(&self) -> Objective {
        let (kind, train) = (self.model.kind, &self.train);
        self.task.as_ref().and_then(|task| task.objective()).unwrap_or_else(|| {
            if kind.has_encoder() {
                Objective::of_pairs(train.label_smoothing)
            } else {
                Objective::of_language_model(kind.is_causal(), train.mask_fraction)
            }
        })
    }

    /// Whether the model answers about each example, rather than learn language or write texts.
    pub fn answers_examples(&self) -> bool {
        self.task.as_ref().is_some_and(TaskConfig::answers_examples)
    }

    /// Validation examples in one evaluation; 0 = all. Without a word about it labelled examples are evaluated whole: they are few
    /// beside tokens, and metrics of a set are of all of it. Of text and of translations 16 batches are enough.
    pub fn evaluation_size(&self) -> usize {
        let default = if self.answers_examples() { 0 } else { self.train.default_evaluation_size() };
        self.train.written_evaluation_size().unwrap_or(default)
    }

    /// The same config with the number of evaluated examples written out, so that another batch is evaluated on the same ones.
    /// One that says both `evaluate_examples` and `evaluate_batches` stays as it is, for [`RunConfig::validate`] to refuse.
    #[must_use]
    pub fn with_evaluation_size(&self) -> Self {
        let mut config = self.clone();
        if config.train.evaluate_examples.is_none() {
            config.train.evaluate_on(self.evaluation_size());
        }
        config
    }
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            format: FORMAT,
            name: "untitled".to_owned(),
            seed: 1,
            device: DeviceChoice::default(),
            threads: 0,
            precision: Precision::default(),
            data: DataConfig::default(),
            task: None,
            model: ModelConfig::default(),
            attention: AttentionConfig::default(),
            train: TrainConfig::default(),
            probe: ProbeConfig::default(),
        }
    }
}

/// `[probe]`: a fixed batch of held-out text that is looked at while training, the same at every step,
/// so that what is seen at different steps can be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeConfig {
    /// Steps between looks; 0 = never.
    pub every: u64,
    /// Examples in the probe batch, 1..=1,024.
    pub examples: usize,
}

impl ProbeConfig {
    /// How many analyses of the probe batch are due by `step` of a run of `steps` in all: before the first step, every
    /// [`Self::every`] steps, and after the last.
    pub fn analyses_due(&self, step: u64, steps: u64) -> u64 {
        if self.every == 0 {
            return 0;
        }
        let is_end_extra = step >= steps && !steps.is_multiple_of(self.every);
        1 + step / self.every + u64::from(is_end_extra)
    }
}

impl Default for ProbeConfig {
    fn default() -> Self {
        Self { every: 100, examples: 16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn analyses_are_due_before_the_first_step_and_after_the_last() {
        let due = |every, step, steps| ProbeConfig { every, ..ProbeConfig::default() }.analyses_due(step, steps);
        assert_eq!((due(50, 0, 600), due(50, 600, 600), due(50, 260, 600)), (1, 13, 6));
        assert_eq!((due(50, 10, 10), due(50, 9, 10), due(4, 10, 10), due(0, 10, 10)), (2, 1, 4, 0));
    }
}
