use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::target::Target;

use crate::{
    config::{Coverage, DataConfig, LabelRules, Precision},
    data::PreviewImage,
    objective::{ConfusionMatrix, Measurements, text_scores::UnscoredReferences},
    text::floats,
};

/// Measures the loss of a run or model directory on text; answered by [`super::Event::Evaluation`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Evaluate {
    /// What to evaluate.
    pub target: Target,
    /// Which text; `None` = the held-out text that the run was evaluated on.
    pub data: Option<Box<DataConfig>>,
    /// Labels of that text that the model has other names for, or that mean "none".
    #[serde(default, skip_serializing_if = "LabelRules::is_default")]
    pub labels: Box<LabelRules>,
    /// Leaves out pairs, or projects scores, of a model that was trained with all of them.
    pub coverage: Option<Approximation>,
    /// Tokens of an example; none: as the model was trained, or as many as it has positions where nobody says.
    pub tokens: Option<usize>,
    /// Once more with noise on the embeddings, of these shares of their mean length; of models of one stack.
    pub noise: Vec<f64>,
    /// The same seed gives the same noise.
    pub noise_seed: u64,
    /// How many examples are told that the model puts into another class than their own, or questions that it gives another
    /// answer, the surest mistakes first.
    #[serde(default)]
    pub mistakes: usize,
    /// Number format; none: that of the run, and `f32` for a model directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Folder from which relative paths in `data` are taken.
    pub base_dir: PathBuf,
}

/// Answer to [`super::commands::Evaluate`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Evaluation {
    /// What was evaluated, as given.
    pub target: String,
    /// Mean loss, in `unit`.
    #[serde(with = "floats")]
    pub loss: f64,
    /// The other metrics of its objective, each a field.
    #[serde(flatten)]
    pub metrics: Measurements,
    /// Labelled tokens, or examples, that were counted.
    pub tokens: u64,
    /// What its metrics are of, where that is something else.
    #[serde(default, skip_serializing_if = "EvaluationCounts::is_none")]
    pub counts: EvaluationCounts,
    /// The unit of the loss in words: `nats per token`, `nats per example`, `squared error per example`.
    pub unit: String,
    /// Tokens of an example.
    pub sequence_length: usize,
    /// Number format of the computation.
    #[serde(default)]
    pub precision: Precision,
    /// How many pairs were scored, in words, where it is not as the model was trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<String>,
    /// Mean squared error of the scores that this makes on the training text, as a share of their mean square.
    #[serde(default, with = "floats", skip_serializing_if = "Option::is_none")]
    pub score_error: Option<f64>,
    /// How often each class was predicted where each is right, where examples are classified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Box<ConfusionMatrix>>,
    /// Examples that the model puts into another class than their own, or questions that it gives another answer, where that was
    /// asked for, the surest mistakes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
    /// The same with noise on the embeddings, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<NoisyEvaluation>,
}

/// How many pairs of a trained model are scored in an evaluation, other than in its training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approximation {
    /// The answer; what it says about training has no meaning here.
    pub coverage: Coverage,
    /// Examples of the training text from whose scores pairs or directions are chosen.
    pub examples: usize,
}

/// What the metrics of an evaluation are of, where that is neither tokens nor examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EvaluationCounts {
    /// Questions, each of which may be read in several windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<u64>,
    /// Those of them that have an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions_with_answer: Option<u64>,
    /// Pairs that were translated and scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translations: Option<u64>,
    /// Pairs that there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u64>,
    /// Rows without a label and questions whose answers stand elsewhere than they say, which were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
    /// Translated pairs whose references ROUGE or BLEU says nothing of, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unscored_references: Option<UnscoredReferences>,
}

impl EvaluationCounts {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// An evaluation with noise on the embeddings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoisyEvaluation {
    /// The length of the noise as a share of the mean length of the embeddings.
    pub noise: f64,
    /// Mean loss.
    #[serde(with = "floats")]
    pub loss: f64,
    /// The other metrics of its objective, each a field.
    #[serde(flatten)]
    pub metrics: Measurements,
}

/// Where answers stand in the paragraph of a question, in characters: where they begin and where they end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerPlaces {
    /// The right one, the first of several; none where there is none.
    pub right: Option<[usize; 2]>,
    /// That of the model; none where it gives none.
    pub predicted: Option<[usize; 2]>,
}

/// An example that a model puts into another class than its own, or a question that it gives another answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mistake {
    /// Its text or its two texts as they stand in its table, as far as the model reads them; none of an image. A question and its
    /// whole paragraph.
    pub texts: Vec<String>,
    /// Where an image stands among all that were read, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<usize>,
    /// That image, of the first mistakes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<PreviewImage>,
    /// Its class, or the first right answer; `no answer` where there is none.
    pub right: String,
    /// The class or the answer that the model gives it.
    pub predicted: String,
    /// The probability of that one, 0..=1. Of an answer that of its beginning times that of its end in the window that it is from.
    #[serde(with = "floats")]
    pub confidence: f64,
    /// Where both answers stand in the paragraph of a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<AnswerPlaces>,
}
