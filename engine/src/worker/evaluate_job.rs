use std::path::PathBuf;

use candle_core::DType;
use rayon::ThreadPoolBuilder;

use super::{
    Event, Target, checkpoints,
    job::EvaluateJob,
    machinist::{Bench, STACK_BYTES},
    steering::Steering,
};
use crate::{
    checkpoint,
    config::{Architecture, RunConfig, from_toml},
    data::{Batcher, Corpus, Silent},
    data::metrics,
    model::Model,
    train::evaluate,
};

/// Measures the loss of a run's checkpoint or of a model directory.
pub(super) fn evaluate_job(bench: &Bench, job: EvaluateJob, steering: &Steering) {
    let named = match &job.target {
        Target::Run { run, which } => format!("{run} ({which})"),
        Target::Directory(path) => path.display().to_string(),
    };
    let pool = ThreadPoolBuilder::new()
        .stack_size(STACK_BYTES)
        .thread_name(|index| format!("headroom-evaluate-{index}"))
        .build();
    let outcome = match pool {
        Ok(pool) => pool.install(|| measure(bench, &job, steering, &named)),
        Err(error) => Err(format!("The threads of the evaluation could not be started: {error}.")),
    };
    bench.outbox.send(outcome.unwrap_or_else(|why| Event::Failed {
        run: None,
        why: format!("{named} could not be evaluated. {why}"),
        what_to_do: "Nothing was changed.".to_owned(),
    }));
}

fn measure(bench: &Bench, job: &EvaluateJob, steering: &Steering, named: &str) -> Result<Event, String> {
    let (directory, stored) = match &job.target {
        Target::Directory(path) => (path.clone(), None),
        Target::Run { run, which } => {
            let record = bench.store.run(run.as_str()).map_err(|error| error.to_string())?;
            let records = bench.store.checkpoints(run).map_err(|error| error.to_string())?;
            let config = from_toml(&record.config_toml).map_err(|error| error.to_string())?;
            (checkpoints::choose(&records, *which)?.path.clone(), Some(config))
        }
    };
    let device = candle_core::Device::Cpu;
    let loaded = checkpoint::load_model_dir(&directory, DType::F32, &device).map_err(|error| error.to_string())?;
    let mut config = stored.or(loaded.config).unwrap_or_else(RunConfig::default);
    config.model.kind = loaded.plan.architecture;
    if let Some(data) = &job.data {
        config.data.source = data.source.clone();
    }
    config.data.sequence_length = config.data.sequence_length.min(loaded.plan.positions);
    let corpus = match &loaded.tokenizer_json {
        // The text is cut into the tokens that the model knows, whatever the config says.
        Some(json) => Corpus::load_with(
            &config.data,
            loaded.plan.architecture,
            &PathBuf::new(),
            json,
            job.data.is_some(),
            &Silent,
        ),
        None => Corpus::load(
            &config.data,
            loaded.plan.architecture,
            &PathBuf::new(),
            &bench.store.paths().tokenizer_cache(),
            &Silent,
        ),
    }
    .map_err(|error| error.to_string())?;
    if corpus.vocabulary() > loaded.plan.vocabulary {
        return Err(format!(
            "Its tokenizer has {} tokens, the model knows {}.",
            corpus.vocabulary(),
            loaded.plan.vocabulary
        ));
    }
    let batcher = Batcher::new(&corpus, &config).map_err(|error| error.to_string())?;
    let model = Model::frozen(&loaded.plan, &loaded.parameters).map_err(|error| error.to_string())?;
    // A whole text that was named is measured whole; the held-out part as often as the run did.
    let limit = if job.data.is_some() { 0 } else { config.train.evaluate_batches };
    let batches = batcher.validation_batches((limit > 0).then_some(limit));
    let found = evaluate(&model, loaded.plan.architecture, batches, &device, &|| steering.should_stop())
        .map_err(|error| error.to_string())?
        .ok_or_else(|| "It was stopped.".to_owned())?;
    Ok(Event::Evaluation {
        target: named.to_owned(),
        loss: found.loss,
        perplexity: (loaded.plan.architecture == Architecture::Decoder).then(|| metrics::perplexity(found.loss)),
        masked_accuracy: found.masked_accuracy,
        tokens: found.tokens,
    })
}
