//! Entrants with what they cost.

use headroom_engine::{
    attention::{Cost, ModelPlan, Workload, estimated_vocabulary},
    config::{DEFAULT_STEPS, Entrant, RunConfig},
};

use crate::panels::configure::{Labels, told};

/// An entrant and its costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Priced {
    /// The entrant, judged as a whole model.
    pub entrant: Entrant,
    /// What it costs; none for one that cannot be trained.
    pub cost: Option<Price>,
    /// Why it cannot be trained, field by field under the labels of the form; empty where it can.
    pub why_not: String,
}

/// What one run costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Trained parameters.
    pub parameters: u64,
    /// FLOPs of an optimiser step.
    pub flops_per_step: u64,
    /// Optimiser steps, where the config names them.
    pub steps: Option<u64>,
}

impl Price {
    fn of(config: &RunConfig, plan: &ModelPlan) -> Self {
        let cost = Cost::of(plan, &Workload::training(config));
        let steps = match (config.train.steps, config.train.epochs) {
            (Some(steps), _) => Some(steps),
            (None, None) => Some(DEFAULT_STEPS),
            (None, Some(_)) => None,
        };
        Self { parameters: cost.parameters, flops_per_step: cost.flops_per_step, steps }
    }
}

impl Priced {
    /// Judges the entrant and counts what it costs. `labels`: those of the fields of its config.
    pub fn of(entrant: Entrant, labels: &Labels) -> Self {
        Self::judged(entrant, None, labels)
    }

    /// The same of one whose model is there, and knows so many tokens.
    pub fn knowing(entrant: Entrant, vocabulary: usize, labels: &Labels) -> Self {
        Self::judged(entrant, Some(vocabulary), labels)
    }

    fn judged(mut entrant: Entrant, vocabulary: Option<usize>, labels: &Labels) -> Self {
        let resolved = entrant.config.as_ref().ok().map(|config| {
            let config = &config.clone().with_image_tokens();
            let vocabulary = vocabulary.unwrap_or_else(|| estimated_vocabulary(config));
            ModelPlan::resolve(config, vocabulary).map(|plan| Price::of(config, &plan))
        });
        let cost = match resolved {
            Some(Ok(price)) => Some(price),
            Some(Err(problems)) => {
                entrant.config = Err(problems);
                None
            }
            None => None,
        };
        let told: Vec<String> = entrant.problems().iter().map(|problem| told(problem, labels)).collect();
        Self { entrant, cost, why_not: told.join(" ") }
    }
}

/// FLOPs of all runs together; none while the steps of one are not known.
pub fn flops_of<'a>(all: impl Iterator<Item = &'a Priced>, seeds: u64) -> Option<f64> {
    all.filter_map(|priced| priced.cost)
        .map(|cost| Some(cost.flops_per_step as f64 * cost.steps? as f64 * seeds as f64))
        .sum()
}
