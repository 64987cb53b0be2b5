use std::{collections::BTreeMap, time::Instant};

use candle_core::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::{
    AgreementMeasure, Chosen, CoverageReport, Divergence, EvaluationReport, Numerics, StepReport, Stepper, TrainError,
    TranslationMeasure,
    coverage::{choose, require_memory, row_covariances, training_batches},
    dtype_of,
    evaluate::{Found, evaluate},
    live_analyses::LiveAnalyses,
    probe::Probe,
};
use crate::{
    analysis::{Analysis, AnalysisError},
    attention::{Cost, ModelPlan, Workload},
    config::{
        Coverage, DEFAULT_STEPS, ModelPart, PartialCoverage, Problem, RunConfig, StopEarly, TrainConfig, counted,
        grouped,
    },
    data::{Batcher, Corpus, EvaluatedSet},
    model::{ParameterSet, depth_of},
    objective::{ConfusionMatrix, LearnedTask, Metric, Objective, judging_metric, series_names, text_scores::Words},
    ops::AdamW,
};

/// How far a run has come: with parameters and moments, all that a continued run needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Optimiser steps done.
    pub step: u64,
    /// Tokens trained on.
    pub tokens: u64,
    /// Time spent in steps, pauses and evaluations left out.
    pub train_secs: f64,
    /// The validation loss of the best evaluation so far: the lowest, where nothing else judges.
    pub best_validation_loss: Option<f64>,
    /// Its step.
    pub best_step: Option<u64>,
    /// What it found of the metric by which evaluations are judged ([`judging_metric`]).
    #[serde(default)]
    pub best_value: Option<f64>,
    /// Evaluations since then, of other steps.
    #[serde(default)]
    pub evaluations_since_best: u64,
    /// The step of the last evaluation that counts there.
    #[serde(default)]
    pub counted_step: Option<u64>,
    /// The evaluation and the probe after this step have not been done yet.
    #[serde(rename = "is_look_due")]
    pub is_evaluation_due: bool,
}

/// A state to go on from.
pub struct Resume {
    /// Weights.
    pub parameters: ParameterSet,
    /// The optimiser's state, by the optimiser's own names.
    pub moments: BTreeMap<String, Tensor>,
    /// How far the run had come.
    pub progress: Progress,
}

/// What a run begins with.
pub enum Start {
    /// Weights that are drawn.
    Fresh,
    /// Weights of another model, with which the first step begins.
    Weights(ParameterSet),
    /// A state of the run itself.
    Resume(Resume),
}

/// Model, optimiser and batches of a run; does single steps.
pub struct Trainer {
    config: RunConfig,
    numerics: Numerics,
    objective: Objective,
    /// What is trained now: every pair is scored until pairs were chosen.
    plan: ModelPlan,
    /// What the config asks for.
    goal: ModelPlan,
    corpus: Corpus,
    batcher: Batcher,
    parameters: ParameterSet,
    stepper: Stepper,
    device: Device,
    progress: Progress,
    steps: u64,
    probe: Probe,
    agreement: Option<AgreementMeasure>,
    translation: Option<TranslationMeasure>,
    live_analyses: LiveAnalyses,
    /// Estimated need of memory in bytes.
    needed: u64,
    /// By what evaluations are judged.
    judged_by: &'static Metric,
}

/// The share of the learning rate with which a parameter moves; 0 where its part is frozen.
fn rate_of(train: &TrainConfig, layers: usize, name: &str) -> f64 {
    let depth = depth_of(name, layers);
    if train.freeze.iter().any(|part| is_in(*part, depth, layers)) {
        return 0.0;
    }
    train.layer_decay.powi((layers + 1 - depth.min(layers + 1)) as i32)
}

fn is_in(part: ModelPart, depth: usize, layers: usize) -> bool {
    match part {
        ModelPart::Embeddings => depth == 0,
        ModelPart::Layers { first, last } => (first + 1..=last + 1).contains(&depth) && depth <= layers,
        ModelPart::Head => depth == layers + 1,
    }
}

/// Refuses parts without a parameter, and a model without one that learns.
fn require_matches(train: &TrainConfig, layers: usize, parameters: &ParameterSet) -> Result<(), TrainError> {
    let refused = |why: String| Err(TrainError::Config(vec![Problem::new("train.freeze", why)]));
    for part in &train.freeze {
        if !parameters.iter().any(|(name, _)| is_in(*part, depth_of(name, layers), layers)) {
            return refused(format!(
                "{part} matches no parameter of the model, which has no such part of its own; leave it out"
            ));
        }
    }
    if parameters.iter().all(|(name, _)| parameters.is_frozen(name)) {
        return refused("nothing is left to learn; leave out a part".to_owned());
    }
    Ok(())
}

/// A value with four significant digits or so.
fn significant(value: f64) -> String {
    if value.abs() >= 1000.0 { format!("{value:.1}") } else { format!("{value:.4}") }
}

/// Optimiser steps of a run: as written, or as many as the passes over the text take (rounded up).
fn steps_of(train: &TrainConfig, batcher: &Batcher, numerics: Numerics) -> u64 {
    match (train.steps, train.epochs) {
        (Some(steps), _) => steps,
        (None, Some(epochs)) => {
            // Where micro-batches are drawn one by one, the batcher counts them.
            let passes = if numerics.weights_micro_batches() { 1 } else { train.accumulation };
            let batches = epochs * batcher.steps_per_epoch() as f64;
            ((batches / passes as f64).ceil() as u64).max(1)
        }
        (None, None) => DEFAULT_STEPS,
    }
}

impl Trainer {
    /// Builds everything for a checked plan whose vocabulary is the corpus's, or holds it. Where the plan leaves out pairs, and the state
    /// to go on from does not say which, every pair is scored until [`Trainer::choose_pairs`] or [`Trainer::cover`]. A run that an
    /// earlier version began has its `numerics`.
    pub fn new(
        config: RunConfig,
        numerics: Numerics,
        plan: ModelPlan,
        corpus: Corpus,
        device: &Device,
        start: Start,
    ) -> Result<Self, TrainError> {
        let train = &config.train;
        let objective = config.objective();
        let judged_by = judging_metric(&config).map_err(|problem| TrainError::Config(vec![problem]))?;
        let batcher = Batcher::new(&corpus, &objective, train.batch, config.data.sequence_length, config.seed)?;
        let accumulation = if numerics.weights_micro_batches() { train.accumulation } else { 1 };
        let batcher = batcher.with_accumulation(accumulation);
        let dtype = dtype_of(config.precision);
        let goal = plan;
        let is_chosen = match &start {
            Start::Fresh => false,
            Start::Weights(parameters) | Start::Resume(Resume { parameters, .. }) => parameters.has_coverage(),
        };
        let plan = if is_chosen { goal.clone() } else { goal.exact() };
        if plan != goal {
            // Before steps are spent on a warm-up.
            require_memory(config.data.sequence_length)?;
        }
        let (parameters, moments, progress) = match start {
            Start::Resume(resume) => (resume.parameters, Some(resume.moments), resume.progress),
            // What a trained model is worth is measured before it is trained further.
            Start::Weights(parameters) => {
                (parameters, None, Progress { is_evaluation_due: true, ..Progress::default() })
            }
            Start::Fresh => (ParameterSet::init(&plan, config.seed, dtype, device)?, None, Progress::default()),
        };
        let parameters = parameters.with_rates(|name| rate_of(&config.train, plan.stack.layers, name));
        require_matches(&config.train, plan.stack.layers, &parameters)?;
        let needed = Cost::of(&goal, &Workload::training(&config)).memory_bytes;
        let stepper = Stepper::new(&plan, &parameters, &config, device);
        let mut stepper = stepper.map_err(|error| error.with_memory(needed))?.with_numerics(numerics);
        if let Some(moments) = moments {
            stepper.load_state(moments)?;
        }
        let steps = steps_of(&config.train, &batcher, numerics);
        let probe = Probe::new(&config, &batcher);
        let agreement = AgreementMeasure::new(&config.data, &objective, &corpus.tokenizer)?;
        let translation = TranslationMeasure::new(&config, &corpus.tokenizer, batcher.held_out())?;
        let live_analyses = LiveAnalyses::new(&config, &plan, batcher.held_out());
        let device = device.clone();
        Ok(Self {
            config,
            numerics,
            objective,
            plan,
            goal,
            corpus,
            batcher,
            parameters,
            stepper,
            device,
            progress,
            steps,
            probe,
            agreement,
            translation,
            live_analyses,
            needed,
            judged_by,
        })
    }

    /// Warnings about held-out translations that some scores say nothing of.
    pub fn score_warnings(&self) -> Vec<String> {
        self.translation
            .iter()
            .flat_map(|measure| measure.unscored().warnings(measure.pairs(), Words::default()))
            .collect()
    }

    /// Whether the warm-up is over and pairs are to be chosen before the next step.
    pub fn is_choice_due(&self) -> bool {
        self.plan != self.goal && self.pairs_from().is_none() && self.progress.step >= self.warmup_steps()
    }

    /// The run from which pairs are to be taken before the first step, by name or id.
    pub fn pairs_from(&self) -> Option<&str> {
        match &self.config.attention.coverage {
            Coverage::Partial(PartialCoverage { from, .. }) if self.plan != self.goal => from.as_deref(),
            _ => None,
        }
    }

    /// Returns true if the model evaluated after `step` is the one that the config asks for, and not that of a warm-up.
    pub fn is_goal_at(&self, step: u64) -> bool {
        match &self.config.attention.coverage {
            Coverage::Partial(PartialCoverage { from: None, warmup_steps, .. }) => step > *warmup_steps,
            Coverage::Partial(_) | Coverage::Full(_) | Coverage::Eigen(_) => true,
        }
    }

    /// The metric by which evaluations are compared.
    pub fn judged_by(&self) -> &'static Metric {
        self.judged_by
    }

    fn warmup_steps(&self) -> u64 {
        match &self.config.attention.coverage {
            Coverage::Partial(PartialCoverage { warmup_steps, .. }) => *warmup_steps,
            Coverage::Full(_) | Coverage::Eigen(_) => 0,
        }
    }

    /// Chooses pairs by what the model has learnt so far and leaves out the others from now on; `None` when `should_stop`
    /// cut it short. A function of the weights and the training text: a run continued before it chooses the same.
    pub fn choose_pairs(&mut self, should_stop: &dyn Fn() -> bool) -> Result<Option<CoverageReport>, TrainError> {
        let examples = match &self.config.attention.coverage {
            Coverage::Partial(PartialCoverage { examples, .. }) => *examples,
            Coverage::Full(_) | Coverage::Eigen(_) => 0,
        };
        let model = self.stepper.frozen()?;
        let found = row_covariances(&model, training_batches(&self.batcher), examples, should_stop)
            .map_err(|error| error.with_memory(self.needed))?;
        let Some(covariances) = found else { return Ok(None) };
        let chosen = choose(&self.goal, &covariances)?;
        self.cover(&chosen)?;
        Ok(Some(chosen.report))
    }

    /// Leaves out all pairs but these from the next step on. Weights and moments stay; a map that is trained starts as it was
    /// found, at its own first step. What was the best so far was another model, so that the best is looked for anew.
    pub fn cover(&mut self, chosen: &Chosen) -> Result<(), TrainError> {
        let Self { config, goal, device, .. } = self;
        let parameters = self.parameters.covering(goal, &chosen.state)?;
        let stepper =
            Stepper::new(goal, &parameters, config, device).map_err(|error| error.with_memory(self.needed))?;
        let mut stepper = stepper.with_numerics(self.numerics);
        stepper.load_state(AdamW::joined(stepper.state()?, self.stepper.state()?)?)?;
        self.stepper = stepper;
        self.parameters = parameters;
        self.plan = self.goal.clone();
        (self.progress.best_validation_loss, self.progress.best_step, self.progress.best_value) = (None, None, None);
        self.progress.evaluations_since_best = 0;
        Ok(())
    }

    /// One optimiser step. The inner error is a loss or gradient that is not finite; weights are then unchanged.
    pub fn step(&mut self) -> Result<Result<StepReport, Divergence>, TrainError> {
        if self.plan != self.goal && (self.pairs_from().is_some() || self.is_choice_due()) {
            return Err(TrainError::State("its pairs were not chosen".to_owned()));
        }
        let train = &self.config.train;
        let step = self.progress.step;
        let learning_rate = train.learning_rate * train.schedule.factor(step, self.steps);
        let batcher = &self.batcher;
        let stepped = self
            .stepper
            .step(step, train.accumulation as u64, learning_rate, |micro_step| batcher.train_batch(micro_step))
            .map_err(|error| error.with_memory(self.needed))?;
        let stepped = match stepped {
            Ok(stepped) => stepped,
            Err(divergence) => return Ok(Err(divergence)),
        };
        let step_secs = stepped.step_secs();
        self.progress.step += 1;
        self.progress.tokens += stepped.tokens;
        self.progress.train_secs += step_secs;
        self.progress.is_evaluation_due = true;
        Ok(Ok(StepReport {
            step: self.progress.step,
            loss: stepped.loss,
            learning_rate,
            grad_norm: stepped.grad_norm,
            tokens: self.progress.tokens,
            step_secs,
            forward_secs: stepped.forward_secs,
            backward_secs: stepped.backward_secs,
            optimiser_secs: stepped.optimiser_secs,
            tokens_per_sec: stepped.tokens as f64 / step_secs,
        }))
    }

    /// The loss on held-out text; `None` when `should_stop` cut it short.
    pub fn evaluate(&mut self, should_stop: &dyn Fn() -> bool) -> Result<Option<EvaluationReport>, TrainError> {
        let limit = self.config.evaluation_size();
        let model = self.stepper.frozen()?;
        let held_out = self.batcher.held_out();
        let mut numbers = Vec::new();
        let batches = held_out.numbered_batches(limit).map(|(rows, batch)| {
            numbers.extend(rows.into_iter().map(|row| held_out.example_of(row)));
            batch
        });
        let found = evaluate(&model, &self.objective, batches, should_stop);
        let Some(mut found) = found.map_err(|error| error.with_memory(self.needed))? else {
            return Ok(None);
        };
        if let Some(agreement) = &self.agreement {
            let more = agreement.measure(&model, self.batcher.validation_batches(limit), should_stop);
            let Some(more) = more.map_err(|error| error.with_memory(self.needed))? else { return Ok(None) };
            found.metrics.extend(more);
        }
        if let Some(translation) = &self.translation {
            let more = translation.measure(&model, should_stop).map_err(|error| error.with_memory(self.needed))?;
            let Some(more) = more else { return Ok(None) };
            found.metrics.extend(more);
        }
        let best = self.judge(&found)?;
        Ok(Some(EvaluationReport {
            step: self.progress.step,
            loss: found.loss,
            metrics: found.metrics,
            tokens: found.tokens,
            examples: found.examples.by_number(&numbers),
            confusion: ConfusionMatrix::of(found.class_counts, self.corpus.labels()),
            best,
        }))
    }

    /// Whether an evaluation of the present step is the best so far; notes it.
    fn judge(&mut self, found: &Found) -> Result<bool, TrainError> {
        let metric = self.judged_by;
        let of_metric = found.metrics.iter().find(|measured| measured.metric.series == metric.series);
        let value = match of_metric {
            Some(measured) => measured.value,
            None if metric.series == series_names::VALIDATION_LOSS => found.loss,
            None => {
                let why = format!("the held-out text has no {} to judge the run by", metric.series);
                return Err(TrainError::Config(vec![Problem::new("train.stop_early.metric", why)]));
            }
        };
        let Progress { step, best_step, best_value, .. } = self.progress;
        // An evaluation that is done again, since a stop cut short what was to follow it, is still the best that it was.
        let is_again = best_step == Some(step) && best_value == Some(value);
        let best = metric.direction.improves(value, best_value) || is_again;
        if best {
            self.progress.best_validation_loss = Some(found.loss);
            self.progress.best_step = Some(step);
            self.progress.best_value = Some(value);
            self.progress.evaluations_since_best = 0;
        } else if self.progress.counted_step != Some(step) {
            self.progress.evaluations_since_best += 1;
        }
        self.progress.counted_step = Some(step);
        Ok(best)
    }

    /// Why the run ends before its last step; none where it goes on.
    pub fn early_end(&self) -> Option<String> {
        let StopEarly { patience, .. } = self.config.train.stop_early.as_ref()?;
        let Progress { step, best_step, best_value, evaluations_since_best, .. } = self.progress;
        if evaluations_since_best < *patience || step >= self.steps {
            return None;
        }
        let best = match (best_value, best_step) {
            (Some(value), Some(step)) => format!("the best, {}, is of step {}", significant(value), grouped(step)),
            _ => "it was never a number".to_owned(),
        };
        Some(format!(
            "{} did not improve in {} (train.stop_early): {best}.",
            self.judged_by.title,
            counted(evaluations_since_best, "evaluation")
        ))
    }

    /// What the model can do, as text; `None` when `should_stop` cut it short.
    pub fn sample(&self, should_stop: &dyn Fn() -> bool) -> Result<Option<String>, TrainError> {
        self.probe.sample(&self.stepper.frozen()?, &self.objective, &self.corpus, should_stop)
    }

    /// What the attention of the model is like on the probe batch, always the same text.
    ///
    /// # Errors
    /// The outer one ends the run, the inner one says what cannot be found out.
    pub fn analyse(&mut self, should_stop: &dyn Fn() -> bool) -> Result<Result<Analysis, AnalysisError>, TrainError> {
        let started = Instant::now();
        let model = self.stepper.frozen()?;
        let found = self.live_analyses.analyse(&model, self.batcher.held_out(), should_stop);
        let secs = started.elapsed().as_secs_f64();
        let is_between = self.progress.step > 0 && self.progress.step < self.steps;
        self.live_analyses.spent(secs, is_between);
        Ok(found.map(|found| Analysis {
            target: self.config.name.clone(),
            step: Some(self.progress.step),
            data: "the probe batch".to_owned(),
            is_own_text: true,
            secs,
            ..found
        }))
    }

    /// Whether the analyses of the probe batch so far have left something of their share of the training time.
    pub(super) fn has_time_to_analyse(&self) -> bool {
        self.live_analyses.has_time(self.progress.train_secs)
    }

    /// How long an analysis takes at least, the first time that this is asked.
    pub(super) fn first_analysis_left_out(&mut self) -> Option<f64> {
        self.live_analyses.first_left_out()
    }

    /// Notes that evaluation and probe after the current step are done.
    pub(super) fn evaluation_is_done(&mut self) {
        self.progress.is_evaluation_due = false;
    }

    /// The config as written.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// The plan of the model as it is now.
    pub fn plan(&self) -> &ModelPlan {
        &self.plan
    }

    /// The plan that the config asks for, in which pairs are left out from the end of the warm-up on.
    pub fn goal(&self) -> &ModelPlan {
        &self.goal
    }

    /// Where it computes.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The text.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// The validation examples of an evaluation.
    pub fn evaluated_set(&self) -> EvaluatedSet {
        let limit = self.config.evaluation_size();
        self.batcher.held_out().evaluated_set(&self.corpus, &self.objective, limit)
    }

    /// The weights, changed in place by each step.
    pub fn parameters(&self) -> &ParameterSet {
        &self.parameters
    }

    /// Trainable numbers of the model that the config asks for.
    pub fn parameter_count(&self) -> u64 {
        Cost::of(&self.goal, &Workload::training(&self.config)).parameters
    }

    /// A copy of the optimiser's state by name.
    pub fn moments(&self) -> Result<BTreeMap<String, Tensor>, TrainError> {
        self.stepper.state()
    }

    /// Share of the positions that training computes which are padding, 0..1; none where examples have one length.
    pub fn padding_share(&self) -> Option<f64> {
        let has_lengths = self.objective.task().reads_sources() || self.objective.answers_examples();
        let has_lengths = has_lengths && self.corpus.images().is_none();
        has_lengths.then(|| self.batcher.padding_share())
    }

    /// How many numbers stay as they are, where any do.
    pub fn frozen_count(&self) -> u64 {
        let frozen = self.parameters.iter().filter(|(name, _)| self.parameters.is_frozen(name));
        frozen.map(|(_, variable)| variable.elem_count() as u64).sum()
    }

    /// How far the run has come.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Optimiser steps in all.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_fall_from_the_head_to_the_embeddings() {
        let train = TrainConfig { layer_decay: 0.5, ..TrainConfig::default() };
        let of = |name: &str| rate_of(&train, 2, name);
        for (name, rate) in [
            ("head.classes.weight", 1.0),
            ("head.span.bias", 1.0),
            ("decoder.final_norm.weight", 1.0),
            ("encoder.1.self.query.weight", 0.5),
            ("encoder.0.feed_forward.in.bias", 0.25),
            ("encoder.positions.weight", 0.125),
            ("encoder.embedding_norm.bias", 0.125),
            ("input.tokens.weight", 0.125),
        ] {
            assert_eq!(of(name).to_bits(), f64::to_bits(rate), "{name}");
        }
        let freeze = vec![ModelPart::Embeddings, ModelPart::Layers { first: 1, last: 1 }];
        let train = TrainConfig { freeze, ..TrainConfig::default() };
        let is_frozen = |name: &str| rate_of(&train, 2, name) == 0.0;
        assert!(is_frozen("input.types.weight") && is_frozen("encoder.1.self.norm.bias"));
        assert!(!is_frozen("encoder.0.self.norm.bias") && !is_frozen("head.pooler.weight"));
    }
}
