use serde::{Deserialize, Serialize};

use super::Objective;

/// What labels of examples are: what the outputs of a model with a task stand for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Labels {
    /// Classes by their names; an output each, in this order.
    Classes(Vec<String>),
    /// A number, the only output.
    Number,
}

impl Labels {
    /// Outputs of a model that gives them.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Classes(names) => names.len(),
            Self::Number => 1,
        }
    }

    /// What a model learns that gives them.
    pub fn objective(&self) -> Objective {
        match self {
            Self::Classes(_) => Objective::CLASSIFICATION,
            Self::Number => Objective::REGRESSION,
        }
    }

    /// The name of an output; none where there is no such class, or it is a number.
    pub fn name(&self, output: usize) -> Option<&str> {
        match self {
            Self::Classes(names) => names.get(output).map(String::as_str),
            Self::Number => None,
        }
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
}

impl Answers {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes { classes, .. } => classes.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those of some rows, in their order.
    pub fn of_rows(&self, rows: &[usize]) -> Self {
        fn chosen<T: Copy>(all: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().filter_map(|row| all.get(*row).copied()).collect()
        }
        match self {
            Self::Classes { classes, weights } => Self::Classes {
                classes: chosen(classes, rows),
                weights: weights.as_ref().map(|weights| chosen(weights, rows)),
            },
            Self::Numbers(numbers) => Self::Numbers(chosen(numbers, rows)),
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
        }
    }
}
