use serde::{Deserialize, Serialize};

use super::ModelPart;

/// `[train]`: the loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Optimiser steps. 1,000 when neither this nor `epochs` is given; giving both is an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Passes over the training text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<f64>,
    /// Examples in one forward pass.
    pub batch: usize,
    /// Forward passes of one optimiser step, each over `batch` examples: the step is that of `batch * accumulation` examples at once,
    /// in the memory of `batch`.
    pub accumulation: usize,
    /// Peak learning rate.
    pub learning_rate: f64,
    /// How the learning rate changes over the run.
    pub schedule: Schedule,
    /// AdamW's decay of the first moment.
    pub beta1: f64,
    /// AdamW's decay of the second moment.
    pub beta2: f64,
    /// AdamW's term against division by zero.
    pub epsilon: f64,
    /// Decoupled weight decay; biases and norms are not decayed.
    pub weight_decay: f64,
    /// Gradients are scaled down to this global norm; 0 = no clipping.
    pub clip_norm: f64,
    /// Share of tokens that masked-language modelling hides (80 % mask, 10 % random, 10 % kept).
    pub mask_fraction: f64,
    /// Share of the probability that a label spreads over the whole vocabulary while a translation is learnt, 0..1.
    #[serde(skip_serializing_if = "is_zero")]
    pub label_smoothing: f64,
    /// Steps between evaluations on the held-out text; 0 = only after the last step.
    pub evaluate_every: u64,
    /// Validation examples in one evaluation; 0 = all, as in files that say nothing and have labelled examples. Read it through
    /// [`super::RunConfig::evaluation_size`]: a config may say `evaluate_batches` in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate_examples: Option<usize>,
    /// The same in training batches; 0 = all. Giving both is an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate_batches: Option<usize>,
    /// Steps between regular checkpoints; 0 = none but the last. A state to resume from is written at the first evaluation and every five
    /// minutes in any case.
    pub checkpoint_every: u64,
    /// Number of regular checkpoints that are kept beside the best one and the newest state.
    pub keep_checkpoints: usize,
    /// What is kept of attention maps from forward to backward, on the CPU.
    pub map_memory: MapMemoryChoice,
    /// Whether the loss is watched for trouble. Left out of files where it is as usual, as in those from before it was known.
    #[serde(skip_serializing_if = "StabilityChoice::is_usual")]
    pub stability: StabilityChoice,
    /// Parts of the model that stay as they are: they get no gradient and no moments, and no share of the clipped norm.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub freeze: Vec<ModelPart>,
    /// By what the learning rate of a layer is multiplied for every layer above it, 0..1, 1 included: the head learns at the full rate, the
    /// last layer of L at this share, the embeddings at its power of L + 1 (Sun et al. 2019).
    #[serde(skip_serializing_if = "is_one")]
    pub layer_decay: f64,
    /// Whether the run ends before its last step once it improves no more, and by which metric its best checkpoint is the best;
    /// by the loss where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_early: Option<StopEarly>,
}

/// Ends a run whose evaluations improve no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StopEarly {
    /// The metric of its evaluations, such as `validation/f1`; which values are the good ones, the metric says.
    pub metric: String,
    /// Evaluations in a row without a better value after which the run ends, 1..
    pub patience: u64,
}

impl Default for StopEarly {
    fn default() -> Self {
        Self { metric: "validation/loss".to_owned(), patience: 3 }
    }
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            steps: None,
            epochs: None,
            batch: 16,
            accumulation: 1,
            learning_rate: 1e-3,
            schedule: Schedule::default(),
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
            clip_norm: 1.0,
            mask_fraction: 0.15,
            label_smoothing: 0.0,
            evaluate_every: 100,
            evaluate_examples: None,
            evaluate_batches: None,
            checkpoint_every: 500,
            keep_checkpoints: 2,
            map_memory: MapMemoryChoice::default(),
            stability: StabilityChoice::default(),
            freeze: Vec::new(),
            layer_decay: 1.0,
            stop_early: None,
        }
    }
}

/// Training batches in one evaluation of a config that says nothing.
const DEFAULT_EVALUATE_BATCHES: usize = 16;

impl TrainConfig {
    /// Validation examples in one evaluation as the file says it, 0 = all; none where it says nothing.
    pub(super) fn written_evaluation_size(&self) -> Option<usize> {
        self.evaluate_examples.or(self.evaluate_batches.map(|batches| batches.saturating_mul(self.batch)))
    }

    /// Validation examples in one evaluation of text without labels where a file with this batch says nothing.
    pub fn default_evaluation_size(&self) -> usize {
        DEFAULT_EVALUATE_BATCHES.saturating_mul(self.batch)
    }

    /// Evaluates on `examples` validation examples, 0 = all, whatever the batch.
    pub fn evaluate_on(&mut self, examples: usize) {
        (self.evaluate_examples, self.evaluate_batches) = (Some(examples), None);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(number: &f64) -> bool {
    *number == 1.0
}

/// Whether the loss of a run is watched, and what follows where it diverges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StabilityChoice {
    /// It is judged step by step; a run whose loss has diverged ends as diverged.
    Watch(Watched),
    /// It is not judged; only a loss that is not finite ends a run as diverged.
    Off(Unwatched),
}

impl Default for StabilityChoice {
    fn default() -> Self {
        Self::Watch(Watched::default())
    }
}

impl StabilityChoice {
    /// One of each kind, for menus and conformance tests.
    pub fn examples() -> Vec<Self> {
        vec![Self::Watch(Watched::default()), Self::Off(Unwatched::default())]
    }

    /// The name in the config file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Watch(_) => "watch",
            Self::Off(_) => "off",
        }
    }

    /// Whether a run ends once it has diverged.
    pub fn stops(&self) -> bool {
        matches!(self, Self::Watch(Watched { stop: true }))
    }

    /// Whether the loss is judged at all.
    pub fn is_watched(&self) -> bool {
        matches!(self, Self::Watch(_))
    }

    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// Watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watched {
    /// Whether a run that has diverged ends at once, instead of doing all its steps: it could still recover.
    pub stop: bool,
}

/// Not watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Unwatched {}

/// What the backward pass has of attention maps. It changes time and memory, not one bit of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapMemoryChoice {
    /// Maps of sequences of up to 512 tokens are kept, longer ones computed again.
    #[default]
    Auto,
    /// The maps themselves: memory grows with the square of the sequence length.
    Keep,
    /// Two numbers for each row: scores are multiplied out once more. Maps that are lent to other layers are kept.
    Recompute,
}

impl MapMemoryChoice {
    /// Every choice, for menus.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Keep, Self::Recompute];

    /// The longest sequence whose maps are kept where nothing else is said.
    pub const LONGEST_KEPT: usize = 512;

    /// Whether the maps of a sequence are kept.
    pub fn keeps(self, sequence: usize) -> bool {
        match self {
            Self::Auto => sequence <= Self::LONGEST_KEPT,
            Self::Keep => true,
            Self::Recompute => false,
        }
    }
}

/// Optimiser steps when the config names neither steps nor epochs.
pub const DEFAULT_STEPS: u64 = 1000;

/// How the learning rate changes over the run. Warm-up rises linearly from 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Schedule {
    /// The peak after warm-up.
    Constant(Constant),
    /// From the peak to `final_fraction` of it in a straight line.
    Linear(Linear),
    /// From the peak to `final_fraction` of it along half a cosine.
    Cosine(Cosine),
    /// The peak times `sqrt(warmup / step)`.
    InverseSquareRoot(InverseSquareRoot),
}

impl Default for Schedule {
    fn default() -> Self {
        Self::Cosine(Cosine::default())
    }
}

impl Schedule {
    /// One of each kind, for menus and conformance tests.
    pub fn examples() -> Vec<Self> {
        vec![
            Self::Constant(Constant::default()),
            Self::Linear(Linear::default()),
            Self::Cosine(Cosine::default()),
            Self::InverseSquareRoot(InverseSquareRoot::default()),
        ]
    }

    /// The name in the config file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Constant(_) => "constant",
            Self::Linear(_) => "linear",
            Self::Cosine(_) => "cosine",
            Self::InverseSquareRoot(_) => "inverse_square_root",
        }
    }

    /// Steps of warm-up.
    pub fn warmup_steps(&self) -> u64 {
        match self {
            Self::Constant(Constant { warmup_steps })
            | Self::Linear(Linear { warmup_steps, .. })
            | Self::Cosine(Cosine { warmup_steps, .. })
            | Self::InverseSquareRoot(InverseSquareRoot { warmup_steps }) => *warmup_steps,
        }
    }

    /// The warm-up, to be changed.
    pub fn warmup_steps_mut(&mut self) -> &mut u64 {
        match self {
            Self::Constant(Constant { warmup_steps })
            | Self::Linear(Linear { warmup_steps, .. })
            | Self::Cosine(Cosine { warmup_steps, .. })
            | Self::InverseSquareRoot(InverseSquareRoot { warmup_steps }) => warmup_steps,
        }
    }

    /// Factor on the peak learning rate at `step` (0-based) of `steps`, in 0..=1.
    pub fn factor(&self, step: u64, steps: u64) -> f64 {
        let warmup = self.warmup_steps();
        if step < warmup {
            return (step + 1) as f64 / warmup as f64;
        }
        let span = steps.saturating_sub(warmup).max(1) as f64;
        let progress = ((step - warmup) as f64 / span).clamp(0.0, 1.0);
        match self {
            Self::Constant(_) => 1.0,
            Self::Linear(Linear { final_fraction, .. }) => 1.0 - (1.0 - final_fraction) * progress,
            Self::Cosine(Cosine { final_fraction, .. }) => {
                final_fraction + (1.0 - final_fraction) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
            }
            Self::InverseSquareRoot(_) => {
                let reference = warmup.max(1) as f64;
                (reference / (step + 1).max(warmup.max(1)) as f64).sqrt()
            }
        }
    }
}

/// Constant after warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Constant {
    /// Steps of linear warm-up.
    pub warmup_steps: u64,
}

/// Linear decay after warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Linear {
    /// Steps of linear warm-up.
    pub warmup_steps: u64,
    /// Share of the peak that is left at the end, 0..=1.
    pub final_fraction: f64,
}

/// Cosine decay after warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cosine {
    /// Steps of linear warm-up.
    pub warmup_steps: u64,
    /// Share of the peak that is left at the end, 0..=1.
    pub final_fraction: f64,
}

impl Default for Cosine {
    fn default() -> Self {
        Self { warmup_steps: 100, final_fraction: 0.1 }
    }
}

/// Inverse square root decay after warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InverseSquareRoot {
    /// Steps of linear warm-up, after which the rate falls with the square root of the step.
    pub warmup_steps: u64,
}

impl Default for InverseSquareRoot {
    fn default() -> Self {
        Self { warmup_steps: 100 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_warms_up_to_the_peak_and_never_exceeds_it() {
        for mut schedule in Schedule::examples() {
            *schedule.warmup_steps_mut() = 10;
            let factors: Vec<f64> = (0..100).map(|step| schedule.factor(step, 100)).collect();
            assert!((factors[0] - 0.1).abs() < 1e-12, "{schedule:?}");
            assert!((factors[9] - 1.0).abs() < 1e-12, "{schedule:?}");
            assert!(factors.iter().all(|f| (0.0..=1.0).contains(f)), "{schedule:?}");
            assert!(factors[10..].windows(2).all(|w| w[1] <= w[0] + 1e-12), "{schedule:?}");
        }
    }

    #[test]
    fn decays_follow_their_formulas() {
        let linear = Schedule::Linear(Linear { warmup_steps: 0, final_fraction: 0.2 });
        assert!((linear.factor(50, 100) - 0.6).abs() < 1e-12);
        let cosine = Schedule::Cosine(Cosine { warmup_steps: 0, final_fraction: 0.0 });
        assert!((cosine.factor(50, 100) - 0.5).abs() < 1e-12);
        let root = Schedule::InverseSquareRoot(InverseSquareRoot { warmup_steps: 25 });
        assert!((root.factor(99, 1000) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_loss_that_is_watched_as_usual_is_not_written_down() {
        let usual = TrainConfig::default();
        let text = toml::to_string(&usual).unwrap();
        assert!(usual.stability.is_watched() && !usual.stability.stops());
        assert!(!text.contains("stability"), "configs of before would differ: {text}");
        for stability in StabilityChoice::examples().into_iter().chain([StabilityChoice::Watch(Watched { stop: true })])
        {
            let config = TrainConfig { stability, ..TrainConfig::default() };
            assert_eq!(toml::from_str::<TrainConfig>(&toml::to_string(&config).unwrap()).unwrap(), config);
        }
    }

    #[test]
    fn a_run_shorter_than_its_warm_up_does_not_divide_by_zero() {
        for mut schedule in Schedule::examples() {
            *schedule.warmup_steps_mut() = 10;
            assert!((0..5).all(|step| schedule.factor(step, 5).is_finite()));
        }
    }
}
