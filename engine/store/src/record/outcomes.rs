use serde::{Deserialize, Serialize};

/// Evaluation of a run whose outcomes are kept example by example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The best evaluation so far.
    Best,
    /// The newest evaluation.
    Last,
}

impl OutcomeKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Best, Self::Last];

    /// Name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Last => "last",
        }
    }
}

/// Outcomes of the single examples of one evaluation, in the order of the validation set: the same place is the same example
/// in every run with the same `evaluated_hash`.
///
/// The mean loss of the evaluation is `sum(loss) / sum(labels)`, its accuracy `sum(correct) / sum(labels)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExampleOutcomes {
    /// Optimiser steps done.
    pub step: u64,
    /// Hash of the examples that were evaluated, see [`super::RunFacts::evaluated_hash`].
    pub evaluated_hash: String,
    /// Loss of each example, summed over its labels, nats where it is a cross-entropy. May be NaN or infinite.
    #[serde(with = "bits")]
    pub loss: Vec<f32>,
    /// Labels of each example: tokens that are predicted, or 1 where an example has one answer.
    pub labels: Vec<u32>,
    /// Labels of each example that were predicted right, where the objective counts them.
    pub correct: Option<Vec<u32>>,
}

impl ExampleOutcomes {
    /// Most examples that are kept of an evaluation; of a larger one none are.
    pub const MOST: usize = 1 << 22;

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.loss.len()
    }

    /// True if nothing was evaluated.
    pub fn is_empty(&self) -> bool {
        self.loss.is_empty()
    }

    /// True if there is at least one example, no more than [`Self::MOST`], and a number of each kind for every one.
    pub fn is_complete(&self) -> bool {
        let examples = self.len();
        let fits = |numbers: &Vec<u32>| numbers.len() == examples;
        (1..=Self::MOST).contains(&examples) && fits(&self.labels) && self.correct.as_ref().is_none_or(fits)
    }
}

/// Floats as their bits: JSON has no NaN and no infinity.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(values: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| value.to_bits()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
        Ok(Vec::<u32>::deserialize(deserializer)?.into_iter().map(f32::from_bits).collect())
    }
}
