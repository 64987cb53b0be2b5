use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    job::{Progress, share_of},
    target::Target,
};

use crate::{data::PreviewImage, objective::Labels};

/// Answers about texts or images with a run's model or that of a model directory; answered by [`super::Event::Predicting`] as it
/// goes on and by [`super::Event::Predicted`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Predict {
    /// Which model.
    pub target: Target,
    /// One or two texts a row; none where there are images.
    pub rows: Vec<Vec<String>>,
    /// An image, a folder of such, or an IDX or CIFAR file; an absolute path.
    pub images: Option<PathBuf>,
}

/// A [`super::commands::Predict`] is being answered. At most some 30 a second.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Predicting {
    /// Texts or images with an answer.
    pub done: usize,
    /// All of them.
    pub count: usize,
}

/// Answer to [`super::commands::Predict`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Predicted {
    /// The model, as given.
    pub target: String,
    /// What the outputs stand for.
    pub labels: Labels,
    /// Of each row the probabilities of all classes, in the order of the labels, or its number.
    pub outputs: Vec<Vec<f64>>,
    /// Rows that were longer than the model reads, and cut off.
    pub cut_rows: usize,
    /// The file of each image, where each is one of its own; else none.
    pub names: Vec<String>,
    /// The first of the images, made small; none of texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PreviewImage>,
}

/// Answer to [`super::commands::Predict`] of a model that answers questions about paragraphs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AnswersFound {
    /// The model, as given.
    pub target: String,
    /// Whether it learnt that a question may have no answer in its paragraph.
    pub may_lack_answers: bool,
    /// The least excess of the score of no answer over that of the best one with which no answer is given.
    pub no_answer_threshold: f64,
    /// Of each row.
    pub answers: Vec<FoundAnswer>,
    /// Questions that were longer than the model reads, and cut off.
    pub cut_questions: usize,
}

/// What a model says of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundAnswer {
    /// The best answer; none where nothing of the paragraph could be read.
    pub answer: Option<AnswerSpan>,
    /// The score of there being no answer, the sum of two logits.
    pub no_answer_score: f64,
}

/// An answer in its paragraph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerSpan {
    /// Its text.
    pub text: String,
    /// Where it begins, in characters from 0.
    pub start: usize,
    /// Where it ends, in characters.
    pub end: usize,
    /// The sum of the logits of its beginning and its end.
    pub score: f64,
}

impl Progress for Predicting {
    fn stage(&self) -> String {
        format!("{} of {}", self.done, self.count)
    }

    fn share(&self) -> Option<f64> {
        Some(share_of(self.done as u64, self.count as u64))
    }
}

/// Answer to [`super::commands::Predict`].
#[derive(Clone, Debug)]
pub enum Prediction {
    /// Probabilities of classes, or numbers.
    Outputs(Predicted),
    /// Answers to questions about paragraphs.
    Answers(AnswersFound),
}
