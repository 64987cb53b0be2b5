use headroom_engine::{
    attention::{Cost, ModelPlan, Workload, estimated_vocabulary},
    config::{DEFAULT_STEPS, Problem, RunConfig},
    store::RunState,
};

use crate::state::State;

/// Training speed of a core that is assumed until a run was measured here.
const FLOPS_PER_CORE_SEC: f64 = 8e10;
/// Runs shorter than this say little about the machine's speed.
const MEASURED_SECS: f64 = 5.0;

/// What a config costs, known without running it.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The cost model's table.
    pub cost: Cost,
    /// The vocabulary that was assumed.
    pub vocabulary: usize,
    /// Tokens of one optimiser step.
    pub tokens_per_step: u64,
    /// Optimiser steps, where the config names them.
    pub steps: Option<u64>,
}

impl Estimate {
    /// Counts, or says everything that is wrong with the config.
    pub fn of(config: &RunConfig) -> Result<Self, Vec<Problem>> {
        let vocabulary = estimated_vocabulary(config);
        let plan = ModelPlan::resolve(config, vocabulary)?;
        let train = &config.train;
        let tokens = [train.batch, train.accumulation, config.data.sequence_length];
        Ok(Self {
            cost: Cost::of(&plan, &Workload::training(config)),
            vocabulary,
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

/// Time that a run will probably take on this machine, from the speed of earlier runs, and whether any was measured.
pub fn expected_secs(estimate: &Estimate, state: &State, steps: u64) -> (f64, bool) {
    let flops = estimate.cost.flops_per_step as f64 * steps as f64;
    if let Some(speed) = measured_speed(state) {
        return (flops / speed, true);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (flops / (FLOPS_PER_CORE_SEC * cores as f64), false)
}

/// FLOPs a second of the runs on this store: the median of `6 parameters tokens / seconds`.
fn measured_speed(state: &State) -> Option<f64> {
    let mut speeds: Vec<f64> = state
        .runs
        .iter()
        .filter(|run| run.train_secs >= MEASURED_SECS && run.tokens > 0 && run.state != RunState::Queued)
        .filter_map(|run| Some(6.0 * run.parameters? as f64 * run.tokens as f64 / run.train_secs))
        .filter(|speed| *speed > 0.0)
        .collect();
    speeds.sort_by(f64::total_cmp);
    speeds.get(speeds.len() / 2).copied()
}

/// A guessed time in round words.
pub fn expected_words(secs: f64) -> String {
    match secs {
        secs if !secs.is_finite() => "unknown".to_owned(),
        secs if secs < 45.0 => "less than a minute".to_owned(),
        secs if secs < 90.0 * 60.0 => format!("about {} min", (secs / 60.0).round().max(1.0)),
        secs if secs < 48.0 * 3600.0 => format!("about {} h", (secs / 3600.0).round()),
        secs => format!("about {} days", (secs / 86_400.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::presets;

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
    fn steps_per_epoch_round_up() {
        let mut config = RunConfig::default();
        (config.train.batch, config.train.accumulation, config.data.sequence_length) = (2, 3, 10);
        let estimate = Estimate::of(&config).unwrap();
        assert_eq!(estimate.tokens_per_step, 60);
        assert_eq!((estimate.steps_per_epoch(60), estimate.steps_per_epoch(61)), (1, 2));
        assert_eq!(estimate.steps, Some(1000));
    }

    #[test]
    fn guesses_are_round() {
        assert_eq!(expected_words(3.0), "less than a minute");
        assert_eq!(expected_words(100.0), "about 2 min");
        assert_eq!(expected_words(7300.0), "about 2 h");
        assert_eq!(expected_words(f64::INFINITY), "unknown");
    }
}
