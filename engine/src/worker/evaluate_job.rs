use std::path::PathBuf;

use candle_core::DType;
use rayon::ThreadPoolBuilder;

use super::{
    Event, Target,
    bench::{Bench, STACK_BYTES},
    checkpoints, coverage,
    job::EvaluateJob,
    steering::Steering,
};
use crate::{
    checkpoint,
    config::{Architecture, AttentionConfig, attention_words, from_toml},
    data::{Corpus, DataError, HeldOut, Silent, TextTokenizer, metrics},
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
        what_to_do: String::new(),
    }));
}

fn measure(bench: &Bench, job: &EvaluateJob, steering: &Steering, named: &str) -> Result<Event, String> {
    let (directory, stored) = match &job.target {
        Target::Directory(path) => (path.clone(), None),
        Target::Run { run, which } => {
            let record = bench.store.run(run.as_str()).map_err(|error| error.to_string())?;
            let records = bench.store.checkpoints(run).map_err(|error| error.to_string())?;
            let config = from_toml(&record.config_toml).map_err(|error| error.to_string())?;
            (checkpoints::choose_checkpoint(&records, *which)?.path.clone(), Some(config))
        }
    };
    let device = candle_core::Device::Cpu;
    let loaded = checkpoint::load_model_dir(&directory, DType::F32, &device).map_err(|error| error.to_string())?;
    let has_text = stored.is_some() || loaded.config.is_some();
    let config = stored.or(loaded.config).unwrap_or_default();
    let architecture = loaded.plan.architecture;
    let words = |error: DataError| error.to_string();
    let corpus = match (&job.data, &loaded.tokenizer_json) {
        // Other text is cut into the tokens that the model knows, whatever the config says, and measured whole.
        (Some(data), Some(json)) => {
            let tokenizer = TextTokenizer::from_json(json).map_err(words)?;
            Corpus::load_held_out(&data.source, tokenizer, architecture, &PathBuf::new(), &Silent)
        }
        (None, _) => {
            Corpus::load(&config.data, architecture, &PathBuf::new(), &bench.store.paths().tokenizer_cache(), &Silent)
        }
        (Some(_), None) => return Err("The model directory has no tokenizer.json, so text cannot be read.".to_owned()),
    }
    .map_err(words)?;
    let vocabulary = corpus.tokenizer.vocabulary_size();
    if vocabulary > loaded.plan.vocabulary {
        return Err(format!("Its tokenizer has {vocabulary} tokens, the model knows {}.", loaded.plan.vocabulary));
    }
    let sequence = config.data.sequence_length.min(loaded.plan.positions);
    let held_out = HeldOut::new(&corpus, config.train.batch, sequence)
        .map_err(words)?
        .with_mask_fraction(config.train.mask_fraction);
    let (mut plan, mut parameters, mut score_error) = (loaded.plan, loaded.parameters, None);
    if let Some(wanted) = &job.coverage {
        if !has_text {
            let why = "Pairs and directions come from the text that a model was trained on, and this folder does not say \
                       which; name a run.";
            return Err(why.to_owned());
        }
        let own = job.data.is_none().then_some(&corpus);
        let found = coverage::approximate(bench, (&plan, &parameters), wanted, &config, own, sequence, steering)?;
        (plan, parameters, score_error) = (found.plan, found.parameters, Some(found.score_error));
    }
    let model = Model::frozen(&plan, &parameters).map_err(|error| error.to_string())?;
    let limit = if job.data.is_some() { 0 } else { config.train.evaluate_batches };
    let found = evaluate(&model, held_out.batches(limit), &device, &|| steering.should_stop())
        .map_err(|error| error.to_string())?
        .ok_or_else(|| "It was stopped.".to_owned())?;
    Ok(Event::Evaluation {
        target: named.to_owned(),
        loss: found.loss,
        perplexity: (architecture == Architecture::Decoder).then(|| metrics::perplexity(found.loss)),
        masked_accuracy: found.masked_accuracy,
        tokens: found.tokens,
        coverage: job.coverage.as_ref().map(|wanted| {
            attention_words(&AttentionConfig { coverage: wanted.coverage.clone(), ..AttentionConfig::default() })
        }),
        score_error,
    })
}
