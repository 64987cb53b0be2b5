//! Entrants with what they cost.

use headroom_engine::{
    attention::{Cost, ModelFacts, ParameterMatch},
    config::{DEFAULT_STEPS, Entrant, Fields, RunConfig},
};

use crate::panels::configure::told;

/// Reason why a config that trains an initial model further has no other attention than that model. It is the same whatever the attention
/// is, so that a list says it once.
const KEEPS_ATTENTION: &str = "Training further keeps the attention of the initial model. Convert that model in Models; what comes out \
                               is raced under Models above.";

/// An entrant and its costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Priced {
    /// The entrant, judged as a whole model.
    pub entrant: Entrant,
    /// What it costs; none for one that cannot be trained.
    pub cost: Option<Price>,
    /// Why it cannot be trained, field by field under the labels of the form; empty where it can.
    pub why_not: String,
    /// Result of the match of its parameters, where its config asks for one.
    pub matched: Option<ParameterMatch>,
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
    fn of(config: &RunConfig, cost: &Cost) -> Self {
        let steps = match (config.train.steps, config.train.epochs) {
            (Some(steps), _) => Some(steps),
            (None, None) => Some(DEFAULT_STEPS),
            (None, Some(_)) => None,
        };
        Self { parameters: cost.parameters, flops_per_step: cost.flops_per_step, steps }
    }
}

impl Priced {
    /// Judges the entrant and counts what it costs. `facts`: those about the model of `base`, the config that it was made of;
    /// `fields`: those of its config.
    pub fn of(mut entrant: Entrant, (base, facts): (&RunConfig, &ModelFacts), fields: &Fields) -> Self {
        let mut keeps_attention = false;
        let resolved = entrant.config.as_ref().ok().map(|config| {
            let facts = facts.kept_for(base, config);
            keeps_attention = facts.needs_conversion(config);
            facts.training_cost(config).map(|cost| Price::of(config, &cost))
        });
        let cost = match resolved {
            Some(Ok(price)) => Some(price),
            Some(Err(problems)) => {
                entrant.config = Err(problems);
                None
            }
            None => None,
        };
        let why_not = if keeps_attention {
            KEEPS_ATTENTION.to_owned()
        } else {
            let told: Vec<String> = entrant.problems().iter().map(|problem| told(problem, fields)).collect();
            told.join(" ")
        };
        let matched = entrant.config.as_ref().ok().and_then(|config| ParameterMatch::of(config).ok().flatten());
        Self { entrant, cost, why_not, matched }
    }
}

/// FLOPs of all runs together; none while the steps of one are not known.
pub fn flops_of<'a>(all: impl Iterator<Item = &'a Priced>, seeds: u64) -> Option<f64> {
    all.filter_map(|priced| priced.cost)
        .map(|cost| Some(cost.flops_per_step as f64 * cost.steps? as f64 * seeds as f64))
        .sum()
}
