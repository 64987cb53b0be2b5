//! The way from a config to the plan of its model.

use super::{ModelPlan, ParameterMatch, supported};
use crate::config::{Problem, RunConfig};

impl ModelPlan {
    /// Checks a config and derives the plan of its model for a vocabulary of `vocabulary` tokens.
    ///
    /// # Errors
    /// Every problem at once: of single fields, of combinations, of the head plan.
    pub fn resolve(config: &RunConfig, vocabulary: usize) -> Result<Self, Vec<Problem>> {
        let mut problems = config.validate();
        let fields: Vec<String> = problems.iter().map(|problem| problem.field.clone()).collect();
        problems.extend(supported(config).into_iter().filter(|problem| !fields.contains(&problem.field)));
        if vocabulary == 0 && !config.data.source.has_images() {
            problems.push(Problem::new("data.tokenizer", "the tokenizer has no tokens"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let layers = ParameterMatch::of(config)?.map_or(config.model.layers, |found| found.layers);
        Self::of_depth(config, &config.attention, layers, vocabulary)
    }
}
