//! Answers of the rows of a table.

use super::{TableError, class_labels::key};
use crate::{
    config::TaskConfig,
    objective::{Answers, Labels},
};

/// What is right of the rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct RowAnswers {
    /// What the answers are.
    pub labels: Labels,
    /// Texts of a row, 1 or 2; 0 of images.
    pub texts: usize,
    /// Of the rows to train on.
    pub train: Answers,
    /// Of the held-out rows.
    pub validation: Answers,
}

impl RowAnswers {
    /// Lets each class count as the task says in the training loss.
    ///
    /// # Errors
    /// If the task gives the weight of a class that is not there.
    pub(super) fn weigh(&mut self, task: &TaskConfig) -> Result<(), TableError> {
        let Some(class_weights) = task.class_weights() else { return Ok(()) };
        let Labels::Classes(names) = &self.labels else { return Ok(()) };
        let is_class = |label: &&String| names.iter().any(|name| key(name) == key(label));
        if let Some(label) = class_weights.keys().find(|label| !is_class(label)) {
            return Err(TableError::UnknownWeight { label: label.clone(), known: names.clone() });
        }
        let weight = |name: &String| {
            let by_key = || class_weights.iter().find(|(label, _)| key(label) == key(name)).map(|(_, weight)| weight);
            class_weights.get(name).or_else(by_key).map_or(1.0, |weight| *weight as f32)
        };
        if let Answers::Classes { classes, weights } = &mut self.train
            && !class_weights.is_empty()
        {
            let of_class: Vec<f32> = names.iter().map(weight).collect();
            *weights = Some(classes.iter().map(|class| of_class[*class as usize]).collect());
        }
        Ok(())
    }
}
