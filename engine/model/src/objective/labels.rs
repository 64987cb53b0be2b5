use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Objective, Spans};

/// What labels of examples are: what the outputs of a model with a task stand for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Labels {
    /// Classes by their names; an output each, in this order.
    Classes(Vec<String>),
    /// A number, the only output.
    Number,
    /// Where in a paragraph the answer to a question begins and ends.
    Span {
        /// Whether a question may have no answer there.
        may_lack_answers: bool,
    },
}

impl Labels {
    /// Outputs of a model that gives them.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Classes(names) => names.len(),
            Self::Number => 1,
            Self::Span { .. } => 2,
        }
    }

    /// What a model learns that gives them.
    pub fn objective(&self) -> Objective {
        match self {
            Self::Classes(_) => Objective::CLASSIFICATION,
            Self::Number => Objective::REGRESSION,
            Self::Span { .. } => Objective::SPAN,
        }
    }

    /// Whether outputs that stand for these can be judged by those.
    pub fn fits(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Span { .. }, Self::Span { .. })) || self == other
    }

    /// The name of an output; none where there is no such class, or outputs have no names.
    pub fn name(&self, output: usize) -> Option<&str> {
        match self {
            Self::Classes(names) => names.get(output).map(String::as_str),
            Self::Number | Self::Span { .. } => None,
        }
    }
}

/// How often each class was predicted where each is right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfusionMatrix {
    /// The classes.
    pub labels: Vec<String>,
    /// `[classes][classes]`: a row for each right class, a column for each predicted one.
    pub counts: Vec<Vec<u64>>,
}

impl ConfusionMatrix {
    /// Of these counts, where the labels are as many classes.
    pub fn of(counts: Option<Vec<Vec<u64>>>, labels: Option<&Labels>) -> Option<Self> {
        let (counts, Labels::Classes(labels)) = (counts?, labels?) else { return None };
        let fits = counts.len() == labels.len() && counts.iter().all(|row| row.len() == labels.len());
        fits.then(|| Self { labels: labels.clone(), counts })
    }
}

/// The right answers of the examples of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Answers {
    /// The class of each, from 0, and how much each counts in the training loss; all alike where nothing is said.
    Classes {
        /// `[batch]`
        classes: Vec<u32>,
        /// `[batch]`
        weights: Option<Vec<f32>>,
    },
    /// The number of each. `[batch]`
    Numbers(Vec<f32>),
    /// Where the answers stand in paragraphs, by window.
    Spans(Spans),
}

impl Answers {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes { classes, .. } => classes.len(),
            Self::Numbers(numbers) => numbers.len(),
            Self::Spans(spans) => spans.windows.len(),
        }
    }

    /// The class of an example; none where there are no classes, or no such example.
    pub fn class(&self, row: usize) -> Option<usize> {
        match self {
            Self::Classes { classes, .. } => classes.get(row).map(|class| *class as usize),
            Self::Numbers(_) | Self::Spans(_) => None,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those of some rows, in their order.
    pub fn of_rows(&self, rows: &[usize]) -> Self {
        fn chosen<T: Copy>(all: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|row| all[*row]).collect()
        }
        match self {
            Self::Classes { classes, weights } => Self::Classes {
                classes: chosen(classes, rows),
                weights: weights.as_ref().map(|weights| chosen(weights, rows)),
            },
            Self::Numbers(numbers) => Self::Numbers(chosen(numbers, rows)),
            Self::Spans(Spans { questions, windows }) => {
                Self::Spans(Spans { questions: Arc::clone(questions), windows: chosen(windows, rows) })
            }
        }
    }

    /// Keeps the first ones, `rows` at most.
    pub(super) fn truncate(&mut self, rows: usize) {
        match self {
            Self::Classes { classes, weights } => {
                classes.truncate(rows);
                if let Some(weights) = weights {
                    weights.truncate(rows);
                }
            }
            Self::Numbers(numbers) => numbers.truncate(rows),
            Self::Spans(spans) => spans.windows.truncate(rows),
        }
    }
}
