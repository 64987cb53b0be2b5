//! Pairs and directions from the scores of a stored model.

use std::path::Path;

use super::{checkpoints, context::JobContext, control::JobControl, error::JobError, refusal::Refusal};
use crate::{
    attention::ModelPlan,
    checkpoint::load_model_dir,
    config::{Coverage, PartialCoverage, Restore, RunConfig},
    convert::PairsLeftOut,
    data::{Batcher, Corpus, Reading, Silent},
    model::{Model, ParameterSet},
    objective::Batch,
    protocol::{Approximation, Event, Which, events},
    store::{RunId, series_names},
    train::{Chosen, CoverageReport, TrainError, Trainer, choose, dtype_of, row_covariances, training_batches},
};

/// Takes the pairs of a run that names another one from that one's best checkpoint.
///
/// # Errors
/// In words: why the named run cannot give them.
pub(crate) fn take_pairs(
    context: &JobContext,
    run: &RunId,
    trainer: &mut Trainer,
    control: &JobControl,
) -> Result<(), Refusal> {
    let Some(from) = trainer.pairs_from().map(str::to_owned) else { return Ok(()) };
    let because = |why: Refusal| Refusal::Pairs { from: from.clone(), why: Box::new(why) };
    let record = context.store.run(&from).map_err(|error| because(error.into()))?;
    let records = context.store.checkpoints(&record.summary.id).map_err(|error| because(error.into()))?;
    let path = &checkpoints::choose_checkpoint(&records, Which::Best).map_err(because)?.path;
    let config = record.run_config().map_err(|error| because(error.into()))?;
    let chosen = pairs_of(context, trainer, path, &config, control).map_err(because)?;
    trainer.cover(&chosen)?;
    let at = trainer.progress();
    let series = series_names::COVERAGE_SCORE_ERROR;
    let wall_ms = (at.train_secs * 1e3) as u64;
    context.writer.log(run, series, at.step, chosen.report.score_error, wall_ms, at.tokens);
    context.outbox.send(chosen_event(run, at.step, &chosen.report));
    Ok(())
}

/// Tells of pairs that were chosen after `step` steps.
pub(crate) fn chosen_event(run: &RunId, step: u64, report: &CoverageReport) -> Event {
    let CoverageReport { k, score_error, samples } = *report;
    Event::PairsChosen(events::PairsChosen { run: run.clone(), step, k, score_error, samples })
}

fn pairs_of(
    context: &JobContext,
    trainer: &Trainer,
    path: &Path,
    config: &RunConfig,
    control: &JobControl,
) -> Result<Chosen, Refusal> {
    let goal = trainer.goal();
    let loaded = load_model_dir(path, dtype_of(config.precision), trainer.device())?;
    if !loaded.plan.stack.coverage.is_full() {
        return Err("It leaves out pairs itself; name a run with attention.coverage.kind = \"full\".".into());
    }
    if loaded.plan.stack.is_causal != goal.stack.is_causal {
        return Err("Its queries see other keys; name a run of the same model.kind.".into());
    }
    let n = trainer.config().data.sequence_length;
    if loaded.plan.stack.positions < n {
        return Err(Refusal::TooShort { longest: loaded.plan.stack.positions, tokens: n });
    }
    let own;
    let corpus = if config.data == trainer.config().data {
        trainer.corpus()
    } else {
        own = load_corpus(context, config, loaded.tokenizer_json.as_deref())?;
        &own
    };
    if corpus.require_known(loaded.plan.vocabulary()).is_err() {
        return Err("Its text is not what it was trained on any more.".into());
    }
    let examples = match &trainer.config().attention.coverage {
        Coverage::Partial(PartialCoverage { examples, .. }) => *examples,
        Coverage::Full(_) | Coverage::Eigen(_) => 0,
    };
    let model = Model::frozen(&loaded.plan, &loaded.parameters)?;
    let batcher = batcher(corpus, config, n)?;
    let stopped = || control.should_stop();
    let found = row_covariances(&model, training_batches(&batcher), examples, &stopped)?;
    Ok(choose(goal, &found.ok_or("It was stopped.")?)?)
}

/// Leaves out what `wanted` says of a model that scores every pair, for sequences of `n` tokens. Pairs and directions come
/// from the text that it was trained on: `corpus`, or the one of its config, in the tokens of a `tokenizer.json`.
///
/// # Errors
/// In words: why this cannot be.
pub(crate) fn approximate(
    context: &JobContext,
    (plan, parameters): (&ModelPlan, &ParameterSet),
    wanted: &Approximation,
    (config, tokenizer): (&RunConfig, &str),
    corpus: Option<&Corpus>,
    n: usize,
    control: &JobControl,
) -> Result<PairsLeftOut, JobError> {
    let _ = goal(plan, wanted, n)?;
    let own;
    let corpus = if let Some(corpus) = corpus {
        corpus
    } else {
        own = load_corpus(context, config, Some(tokenizer)).map_err(JobError::refusal)?;
        &own
    };
    let batcher = batcher(corpus, config, n)?;
    approximate_from((plan, parameters), wanted, training_batches(&batcher), n, control)
}

/// The same with pairs and directions from examples of `n` tokens.
///
/// # Errors
/// As above.
pub(crate) fn approximate_from(
    (plan, parameters): (&ModelPlan, &ParameterSet),
    wanted: &Approximation,
    examples: impl Iterator<Item = Batch>,
    n: usize,
    control: &JobControl,
) -> Result<PairsLeftOut, JobError> {
    let failure = |error: &dyn std::fmt::Display| JobError::failure(error.to_string());
    let [exact, goal] = goal(plan, wanted, n)?;
    let parameters = parameters.with_positions(plan, n).map_err(|error| failure(&error))?;
    let model = Model::frozen(&exact, &parameters).map_err(|error| failure(&error))?;
    let stopped = || control.should_stop();
    let found = row_covariances(&model, examples, wanted.examples, &stopped)?;
    let chosen = choose(&goal, &found.ok_or_else(|| JobError::stopped("It was stopped."))?)?;
    let parameters = parameters.covering(&goal, &chosen.state).map_err(|error| failure(&error))?;
    Ok(PairsLeftOut { plan: goal, parameters, score_error: chosen.report.score_error })
}

/// The plan for sequences of `n` tokens, as it is and as it is to be.
fn goal(plan: &ModelPlan, wanted: &Approximation, n: usize) -> Result<[ModelPlan; 2], JobError> {
    let refuse = |why: &str| Err(JobError::refusal(why));
    if !plan.stack.coverage.is_full() {
        return refuse(
            "It was trained to leave out pairs; evaluate it as it is, or name a model that scores all of them.",
        );
    }
    if let Coverage::Partial(PartialCoverage { restore, .. }) = &wanted.coverage
        && *restore != Restore::Fixed
    {
        return refuse("Nothing is trained here; use restore = \"fixed\", or train a run with this coverage.");
    }
    if wanted.examples == 0 {
        return refuse("Pairs and directions come from examples; use at least one.");
    }
    let k = wanted.coverage.k().unwrap_or(0);
    if k == 0 || k >= n {
        let most = n.saturating_sub(1);
        return refuse(&format!("k is {k}, but must be from 1 to {most} for sequences of {n} tokens."));
    }
    let mut exact = plan.clone();
    exact.stack.positions = n;
    let goal = exact.with_coverage(wanted.coverage.of_model());
    if !(0..goal.stack.layers).any(|layer| goal.stack.approximates(layer)) {
        return refuse("No head before its last layer computes a map, so that there is nothing to leave out.");
    }
    Ok([exact, goal])
}

fn load_corpus(context: &JobContext, config: &RunConfig, tokenizer: Option<&str>) -> Result<Corpus, Refusal> {
    let cache = context.store.paths().tokenizer_cache();
    let (objective, reading) = (config.objective(), Reading::of(config.task.as_ref()));
    let rules = (&objective, &reading);
    Ok(Corpus::load_for(tokenizer, &config.data, rules, Path::new(""), &cache, &Silent)?)
}

fn batcher(corpus: &Corpus, config: &RunConfig, n: usize) -> Result<Batcher, TrainError> {
    Ok(Batcher::new(corpus, &config.objective(), config.train.batch, n, config.seed)?)
}
