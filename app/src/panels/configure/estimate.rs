use headroom_engine::{
    attention::{Cost, ModelPlan, ParameterMatch, Workload, estimated_vocabulary},
    config::{Baseline, DEFAULT_STEPS, DeviceChoice, Problem, RunConfig, counted, from_json},
    store::{RunState, RunSummary},
};

use super::difference::{Difference, Figures, Question, figures};
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
    fn of(config: &RunConfig, cost: &Cost) -> Option<Self> {
        let found = ParameterMatch::of(config).ok().flatten()?;
        let baseline = figures(config, config.attention.baseline(found.baseline))?;
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
    /// the costs do not take them away.
    pub fn judged(config: &RunConfig) -> (Option<Self>, Vec<Problem>) {
        match Self::of(config) {
            Ok(estimate) => (Some(estimate), Vec::new()),
            Err(problems) => (without(config, &problems).and_then(|config| Self::of(&config).ok()), problems),
        }
    }

    /// Counts, or says everything that is wrong with the config.
    pub fn of(config: &RunConfig) -> Result<Self, Vec<Problem>> {
        let problems = config.validate();
        if problems.iter().any(|problem| ["model.layers", "model.heads"].contains(&problem.field.as_str())) {
            // A table of so many heads is not even tried.
            return Err(problems);
        }
        let vocabulary = estimated_vocabulary(config);
        let plan = ModelPlan::resolve(config, vocabulary)?;
        let cost = Cost::of(&plan, &Workload::training(config));
        let baseline = figures(config, config.attention.baseline(Baseline::Standard));
        let against = |of: Option<Figures>| Some(Difference { of: of?, baseline: baseline? });
        let train = &config.train;
        let tokens = [train.batch, train.accumulation, config.data.sequence_length];
        Ok(Self {
            difference: against(Some(Figures::of(&cost))),
            answers: Question::ALL.map(|question| (question, against(figures(config, question.alone(config))))),
            matched: Matched::of(config, &cost),
            cost,
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

/// Time that a run will probably take on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    secs: f64,
    /// Threads that it is for.
    threads: usize,
    /// Threads that the config asks for.
    asked: usize,
    /// Whether earlier runs say so.
    is_measured: bool,
}

impl Expected {
    /// From the speed of earlier runs on the device with as many threads, or with the number nearest to it; before there is one,
    /// on the processor, from the number of cores. None where nothing is known.
    pub fn of(estimate: &Estimate, config: &RunConfig, state: &State, steps: u64) -> Option<Self> {
        let flops = estimate.cost.flops_per_step as f64 * steps as f64;
        let asked = config.threads_used();
        if let Some((speed, threads)) = measured_speed(config, state) {
            return Some(Self { secs: flops / speed, threads, asked, is_measured: true });
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(asked);
        let secs = flops / (FLOPS_PER_CORE_SEC * cores as f64);
        (config.device == DeviceChoice::Cpu).then_some(Self { secs, threads: asked, asked, is_measured: false })
    }

    /// The time in round words, and for how many threads where they are not those of the config.
    pub fn words(&self) -> String {
        let time = expected_words(self.secs);
        if self.threads == self.asked { time } else { format!("{time} with {}", threads_words(self.threads)) }
    }

    /// Where it is from.
    pub fn about(&self) -> String {
        match self {
            Self { is_measured: false, .. } => {
                format!("A guess for {}, until a run has been measured here.", threads_words(self.asked))
            }
            Self { threads, asked, .. } if threads == asked => {
                "From the speed of earlier runs like it in this store.".to_owned()
            }
            Self { threads, asked, .. } => format!(
                "From the speed of earlier runs with {}: none with {} was measured in this store.",
                threads_words(*threads),
                threads_words(*asked)
            ),
        }
    }
}

fn threads_words(threads: usize) -> String {
    counted(threads as u64, "thread")
}

/// FLOPs a second of the runs on the config's device, the median of `6 parameters tokens / seconds`, and their threads: of those
/// whose number of threads is nearest to the config's.
fn measured_speed(config: &RunConfig, state: &State) -> Option<(f64, usize)> {
    let (device, asked) = (config.device.to_string(), config.threads_used());
    // A GPU is as fast with any number of them.
    let threads = |run: &RunSummary| if config.device == DeviceChoice::Cpu { run.threads as usize } else { asked };
    let is_measured = |run: &&RunSummary| {
        run.train_secs >= MEASURED_SECS && run.tokens > 0 && run.state != RunState::Queued && run.device == device
    };
    let speed = |run: &RunSummary| 6.0 * run.parameters.unwrap_or_default() as f64 * run.tokens as f64 / run.train_secs;
    let runs = state.runs.iter().filter(is_measured);
    let measured: Vec<(usize, f64)> =
        runs.map(|run| (threads(run), speed(run))).filter(|(_, speed)| *speed > 0.0).collect();
    let nearest = measured.iter().map(|(threads, _)| *threads).min_by_key(|threads| threads.abs_diff(asked))?;
    let mut speeds: Vec<f64> =
        measured.iter().filter(|(threads, _)| *threads == nearest).map(|(_, speed)| *speed).collect();
    speeds.sort_by(f64::total_cmp);
    Some((*speeds.get(speeds.len() / 2)?, nearest))
}

/// A guessed time in round words.
fn expected_words(secs: f64) -> String {
    match secs {
        secs if !secs.is_finite() => "unknown".to_owned(),
        secs if secs < 45.0 => "under 1 min".to_owned(),
        secs if secs < 90.0 * 60.0 => format!("about {} min", (secs / 60.0).round().max(1.0)),
        secs if secs < 48.0 * 3600.0 => format!("about {} h", (secs / 3600.0).round()),
        secs => format!("about {} days", (secs / 86_400.0).round()),
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::{
        Architecture, Compatibility, FullReuse, PartialReuse, Reuse, Symmetric, preset, presets,
    };

    use super::*;
    use crate::examples;

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
        let (counted, problems) = Estimate::judged(&config);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(counted, Some(sound));
        config.model.width = 130;
        assert_eq!(Estimate::judged(&config).0, None);
        let text = preset("text-decoder").unwrap().config().unwrap();
        let (counted, problems) = Estimate::judged(&text);
        assert!(counted.is_some_and(|estimate| estimate.cost.parameters > 100_000), "{problems:?}");
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
        config.model.kind = Architecture::Encoder;
        (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (12, 12, 768, 3072);
        config.attention.reuse = Reuse::Partial(PartialReuse { heads: 6 });
        config.attention.match_parameters = Some(Baseline::Standard);
        let estimate = Estimate::of(&config).unwrap();
        let matched = estimate.matched.unwrap();
        assert_eq!((matched.given, matched.added), (12, 1));
        assert_eq!(matched.parameters, estimate.cost.parameters);
        assert_eq!(Some(matched.baseline_parameters), estimate.difference.map(|all| all.baseline.parameters));
    }

    #[test]
    fn the_expected_time_is_of_as_many_threads_or_says_of_how_many() {
        let mut config = RunConfig { threads: 1, ..RunConfig::default() };
        let estimate = Estimate::of(&config).unwrap();
        let flops = estimate.cost.flops_per_step as f64 * 1000.0;
        let expected = |config: &RunConfig, state: &State| Expected::of(&estimate, config, state, 1000);
        let mut state = State::default();
        let guess = expected(&config, &state).unwrap();
        assert_eq!((guess.secs, guess.is_measured), (flops / FLOPS_PER_CORE_SEC, false));
        // Runs of 6e12 FLOPs in 60 s with two threads, one in 100 s with one, and one on another device.
        let run = |number: u64, threads: u32, train_secs: f64, device: &str| RunSummary {
            threads,
            train_secs,
            device: device.to_owned(),
            parameters: Some(1_000_000),
            tokens: 1_000_000,
            ..examples::summary(number, "run")
        };
        state.runs = vec![run(0, 2, 60.0, "cpu"), run(1, 2, 60.0, "cpu"), run(2, 1, 6.0, "cuda:0")];
        let one = expected(&config, &state).unwrap();
        assert_eq!((one.secs, one.threads), (flops / 1e11, 2), "none with one thread was measured");
        assert!(one.words().ends_with(" with 2 threads"), "{}", one.words());
        assert!(one.about().contains("none with 1 thread was measured"), "{}", one.about());
        state.runs.push(run(3, 1, 100.0, "cpu"));
        let one = expected(&config, &state).unwrap();
        assert_eq!((one.secs, one.threads), (flops / 6e10, 1));
        assert!(!one.words().contains("thread"), "{}", one.words());
        config.threads = 2;
        assert_eq!(expected(&config, &state).unwrap().secs, flops / 1e11);
        config.device = DeviceChoice::Cuda(0);
        assert_eq!(expected(&config, &state).unwrap().secs, flops / 1e12);
        config.device = DeviceChoice::Cuda(1);
        assert_eq!(expected(&config, &state), None, "nothing is known of it");
    }

    #[test]
    fn guesses_are_round() {
        assert_eq!(expected_words(3.0), "under 1 min");
        assert_eq!(expected_words(100.0), "about 2 min");
        assert_eq!(expected_words(7300.0), "about 2 h");
        assert_eq!(expected_words(f64::INFINITY), "unknown");
    }
}
