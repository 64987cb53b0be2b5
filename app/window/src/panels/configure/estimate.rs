use headroom_engine::{
    attention::{Cost, ModelFacts, ParameterMatch},
    config::{Baseline, DEFAULT_STEPS, Problem, RunConfig, from_json},
};

use super::difference::{Difference, Figures, Question, figures};

/// What a config costs, known without running it.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The cost model's table.
    pub cost: Cost,
    /// Entries of the vocabulary that it was counted for.
    pub vocabulary: usize,
    /// Facts about the model that it was counted by.
    pub facts: ModelFacts,
    /// Tokens of one optimiser step.
    pub tokens_per_step: u64,
    /// Optimiser steps, where the config names them.
    pub steps: Option<u64>,
    /// Against standard attention in which every head computes.
    pub difference: Option<Difference>,
    /// What each answer alone changes against the same.
    pub answers: [(Question, Option<Difference>); 4],
    /// What matching of parameters did.
    pub matched: Option<Matched>,
}

/// What matching of parameters did; parameters with the vocabulary asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// Layers that were added.
    pub added: usize,
    /// Layers of the config.
    pub given: usize,
    /// Parameters of the model.
    pub parameters: u64,
    /// Parameters of what it was matched with.
    pub baseline_parameters: u64,
}

impl Matched {
    fn of(config: &RunConfig, cost: &Cost, facts: &ModelFacts) -> Option<Self> {
        let found = ParameterMatch::of(config).ok().flatten()?;
        let baseline = figures(config, &config.attention.baseline(found.baseline), facts)?;
        Some(Self {
            added: found.added,
            given: found.layers - found.added,
            parameters: cost.parameters,
            baseline_parameters: baseline.parameters,
        })
    }
}

impl Estimate {
    /// What the config costs, where that can be said, and everything that is wrong with it: fields that have no part in
    /// the costs do not take them away. `facts`: those about its model.
    pub fn judged(config: &RunConfig, facts: &ModelFacts) -> (Option<Self>, Vec<Problem>) {
        match Self::knowing(config, facts) {
            Ok(estimate) => (Some(estimate), Vec::new()),
            Err(problems) => {
                let without = without(config, &problems);
                (without.and_then(|config| Self::knowing(&config, facts).ok()), problems)
            }
        }
    }

    /// Counts, or says everything that is wrong with the config.
    pub fn of(config: &RunConfig) -> Result<Self, Vec<Problem>> {
        Self::knowing(config, &ModelFacts::default())
    }

    fn knowing(config: &RunConfig, facts: &ModelFacts) -> Result<Self, Vec<Problem>> {
        let config = &facts.filled(config);
        let problems = config.validate();
        if problems.iter().any(|problem| ["model.layers", "model.heads"].contains(&problem.field.as_str())) {
            // A table of so many heads is not even tried.
            return Err(problems);
        }
        let cost = facts.training_cost(config)?;
        let baseline = figures(config, &config.attention.baseline(Baseline::Standard), facts);
        let against = |of: Option<Figures>| Some(Difference { of: of?, baseline: baseline? });
        let train = &config.train;
        let tokens = [train.batch, train.accumulation, config.data.sequence_length];
        Ok(Self {
            difference: against(Some(Figures::of(&cost))),
            answers: Question::ALL.map(|question| (question, against(figures(config, &question.alone(config), facts)))),
            matched: Matched::of(config, &cost, facts),
            cost,
            vocabulary: facts.vocabulary_of(config),
            facts: facts.clone(),
            tokens_per_step: tokens.into_iter().fold(1, |product, n| product.saturating_mul(n as u64)),
            steps: match (train.steps, train.epochs) {
                (Some(steps), _) => Some(steps),
                (None, None) => Some(DEFAULT_STEPS),
                (None, Some(_)) => None,
            },
        })
    }

    /// Steps of one pass over so many tokens, rounded up.
    pub fn steps_per_epoch(&self, train_tokens: u64) -> u64 {
        train_tokens.div_ceil(self.tokens_per_step.max(1))
    }
}

/// Fields that decide what a step costs, by how they begin.
const COUNTED: [&str; 9] = [
    "attention.",
    "data.kind",
    "data.sequence_length",
    "data.tokenizer",
    "model.",
    "precision",
    "train.accumulation",
    "train.batch",
    "train.map_memory",
];

/// The config with the default wherever something is wrong that does not count; none where something is wrong that does.
fn without(config: &RunConfig, problems: &[Problem]) -> Option<RunConfig> {
    let mut value = serde_json::to_value(config).ok()?;
    let default = serde_json::to_value(RunConfig::default()).ok()?;
    for Problem { field, .. } in problems {
        if COUNTED.iter().any(|counted| field.starts_with(counted)) {
            return None;
        }
        let place = format!("/{}", field.replace('.', "/"));
        // A path is never read here, so that any will do.
        let sound = default.pointer(&place).cloned().unwrap_or_else(|| "text.txt".into());
        if let Some(wrong) = value.pointer_mut(&place) {
            *wrong = sound;
        }
    }
    from_json(&value.to_string()).ok()
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::{
        Compatibility, FullReuse, ModelKind, PartialReuse, Reuse, Symmetric, preset, presets,
    };

    use super::*;

    #[test]
    fn every_preset_has_an_estimate_but_for_its_missing_file() {
        for preset in presets() {
            let config = preset.config().unwrap();
            match Estimate::of(&config) {
                Ok(estimate) => {
                    assert!(estimate.cost.parameters > 100_000, "{}", preset.name);
                    assert!(estimate.tokens_per_step >= 1024);
                }
                Err(problems) => assert!(problems.iter().all(|p| p.field == "data.path"), "{problems:?}"),
            }
        }
    }

    #[test]
    fn what_has_no_part_in_the_costs_does_not_take_them_away() {
        let mut config = RunConfig::default();
        let sound = Estimate::of(&config).unwrap();
        config.train.learning_rate = -1.0;
        config.name = String::new();
        config.data.validation_fraction = 7.0;
        let (counted, problems) = Estimate::judged(&config, &ModelFacts::default());
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(counted, Some(sound));
        config.model.width = 130;
        assert_eq!(Estimate::judged(&config, &ModelFacts::default()).0, None);
        let text = preset("text-decoder").unwrap().config().unwrap();
        let (counted, problems) = Estimate::judged(&text, &ModelFacts::default());
        assert!(counted.is_some_and(|estimate| estimate.cost.parameters > 100_000), "{problems:?}");
    }

    #[test]
    fn costs_are_those_of_the_initial_model_with_what_each_answer_would_change() {
        let mut config = RunConfig::default();
        config.data.sequence_length = 128;
        let model = headroom_engine::attention::ModelPlan::resolve(&config, 321).unwrap();
        (config.data.sequence_length, config.model.initial) = (32, Some("model".to_owned()));
        let facts = ModelFacts { initial: Some(model.clone()), ..ModelFacts::default() };
        let (estimate, problems) = Estimate::judged(&config, &facts);
        let estimate = estimate.unwrap();
        assert_eq!((problems, estimate.vocabulary), (Vec::new(), 321));
        assert_eq!(estimate.cost, facts.training_cost(&config).unwrap());
        assert!(estimate.difference.is_some_and(|difference| difference.is_none()), "it is the baseline itself");
        let without = Estimate::of(&config).unwrap().cost.parameters;
        assert!(estimate.cost.parameters != without, "the model has positions for 128 tokens and another vocabulary");
    }

    #[test]
    fn steps_per_epoch_round_up() {
        let mut config = RunConfig::default();
        (config.train.batch, config.train.accumulation, config.data.sequence_length) = (2, 3, 10);
        let estimate = Estimate::of(&config).unwrap();
        assert_eq!(estimate.tokens_per_step, 60);
        assert_eq!((estimate.steps_per_epoch(60), estimate.steps_per_epoch(61)), (1, 2));
        assert_eq!(estimate.steps, Some(1000));
    }

    #[test]
    fn more_heads_than_memory_are_a_problem_and_no_crash() {
        for (layers, heads) in [(usize::MAX, 1), (12, 99_999_999_999)] {
            let mut config = RunConfig::default();
            (config.model.layers, config.model.heads) = (layers, heads);
            assert!(Estimate::of(&config).is_err());
        }
    }

    #[test]
    fn an_answer_is_weighed_alone_and_all_of_them_together() {
        let mut config = RunConfig::default();
        let plain = Estimate::of(&config).unwrap();
        assert!(plain.answers.iter().all(|(_, difference)| difference.is_some_and(|d| d.is_none())));
        assert!(plain.difference.is_some_and(|d| d.is_none()) && plain.matched.is_none());
        config.attention.reuse = Reuse::Full(FullReuse { layers: 1 });
        config.attention.compatibility = Compatibility::Symmetric(Symmetric {});
        let both = Estimate::of(&config).unwrap();
        let alone = |question| both.answers.iter().find(|(asked, _)| *asked == question).unwrap().1.unwrap();
        let (reuse, symmetric) = (alone(Question::Reuse), alone(Question::Compatibility));
        // A key projection with its bias is gone from every layer; both projections are gone from one.
        let projection = (config.model.width * (config.model.width + 1)) as u64;
        assert_eq!(reuse.baseline.parameters - reuse.of.parameters, 2 * projection);
        assert_eq!(symmetric.baseline.parameters - symmetric.of.parameters, config.model.layers as u64 * projection);
        let all = both.difference.unwrap();
        assert_eq!(all.of.parameters, both.cost.parameters);
        assert!(all.of.parameters < reuse.of.parameters.min(symmetric.of.parameters));
        assert!(alone(Question::Coverage).is_none() && alone(Question::Cache).is_none());
    }

    #[test]
    fn a_match_says_what_it_did() {
        let mut config = RunConfig::default();
        config.model.kind = ModelKind::Encoder;
        (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (12, 12, 768, 3072);
        config.attention.reuse = Reuse::Partial(PartialReuse { heads: 6 });
        config.attention.match_parameters = Some(Baseline::Standard);
        let estimate = Estimate::of(&config).unwrap();
        let matched = estimate.matched.unwrap();
        assert_eq!((matched.given, matched.added), (12, 1));
        assert_eq!(matched.parameters, estimate.cost.parameters);
        assert_eq!(Some(matched.baseline_parameters), estimate.difference.map(|all| all.baseline.parameters));
    }
}
