use std::{collections::BTreeMap, ops::ControlFlow, time::Instant};

use candle_core::{DType, Device};
use rayon::ThreadPoolBuilder;

use super::{
    Event, GenerateSource, WrittenText,
    job::GenerateJob,
    job_context::{JobContext, STACK_BYTES},
    job_control::JobControl,
    job_error::JobError,
    subject::{self, Subject},
};
use crate::{
    attention::ModelPlan,
    checkpoint,
    data::{DataError, TextTokenizer},
    generate::{Generated, GeneratedText, Marks, generate},
    model::{Model, dtype},
    ops,
    train::free_memory,
};

/// Time between two events about one text.
const LEAST_SECONDS: f64 = 0.033;

/// Generates texts.
pub(super) fn generate_job(context: &JobContext, job: &GenerateJob, control: &JobControl) {
    let named = Subject::name(&job.target);
    let pool = ThreadPoolBuilder::new()
        .stack_size(STACK_BYTES)
        .num_threads(job.threads.unwrap_or(0))
        .thread_name(|index| format!("headroom-generate-{index}"))
        .build();
    let outcome = match pool {
        Ok(pool) => pool.install(|| run(context, job, control, &named)),
        Err(error) => Err(JobError::failure(format!("The threads that generate could not be started: {error}."))),
    };
    ops::release_buffers();
    context.outbox.send(outcome.unwrap_or_else(|error| {
        let why = format!("{named} could not generate a text. {}", error.why);
        if error.is_refusal {
            Event::Refused { why }
        } else {
            Event::Failed { run: None, why, what_to_do: String::new() }
        }
    }));
}

/// Who reads sources and writes texts.
struct Speaker {
    plan: ModelPlan,
    tokenizer: Option<TextTokenizer>,
    marks: Marks,
}

fn run(context: &JobContext, job: &GenerateJob, control: &JobControl, named: &str) -> Result<Event, JobError> {
    let (directory, ..) = subject::open(&context.store, &job.target).map_err(JobError::refusal)?;
    let loaded = checkpoint::load_model_dir(&directory, DType::F32, &Device::Cpu);
    let loaded = loaded.map_err(|error| JobError::refusal(error.to_string()))?;
    let speaker = Speaker::new(loaded.plan, loaded.tokenizer_json.as_deref(), loaded.marks)?;
    let sources = (1..).zip(&job.sources).map(|(number, source)| speaker.read(source, number, job.sources.len()));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let model = match dtype(job.precision) {
        DType::F32 => Model::frozen(&speaker.plan, &loaded.parameters),
        other => Model::frozen_in(&speaker.plan, &loaded.parameters, other),
    };
    let model = model.map_err(|error| JobError::failure(error.to_string()))?;
    let mut texts = Vec::new();
    let (mut seconds, mut reading_seconds, mut cache_bytes) = (0.0, 0.0, 0);
    let mut stopped = false;
    for (number, batch) in sources.chunks(job.batch.max(1)).enumerate() {
        let first = number * job.batch.max(1);
        let mut told: BTreeMap<usize, Instant> = BTreeMap::new();
        let free = free_memory(&Device::Cpu);
        let found = generate(&model, batch, &speaker.marks, &job.search, free, |progress| {
            let is_due = told.get(&progress.source).is_none_or(|last| last.elapsed().as_secs_f64() >= LEAST_SECONDS);
            if is_due {
                told.insert(progress.source, Instant::now());
                context.outbox.send(Event::Generating {
                    source: first + progress.source,
                    step: progress.step,
                    text: speaker.text(progress.tokens),
                    seconds: progress.seconds,
                    cache_bytes: progress.cache_bytes,
                });
            }
            stopped |= control.should_stop();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let Generated { texts: of_batch, seconds: more, first_seconds, cache_bytes: kept, .. } = found?;
        seconds += more;
        reading_seconds += first_seconds;
        cache_bytes = cache_bytes.max(kept);
        texts.extend(of_batch.into_iter().map(|text| speaker.written(text)));
        if stopped {
            break;
        }
    }
    Ok(Event::Generated { target: named.to_owned(), texts, seconds, reading_seconds, cache_bytes, stopped })
}

impl Speaker {
    fn new(plan: ModelPlan, tokenizer_json: Option<&str>, mut marks: Marks) -> Result<Self, JobError> {
        let tokenizer = tokenizer_json.map(TextTokenizer::from_json).transpose();
        let tokenizer = tokenizer.map_err(|error| JobError::refusal(error.to_string()))?;
        if let Some(tokenizer) = &tokenizer {
            let (size, known) = (tokenizer.vocabulary_size(), plan.vocabulary());
            if size > known && known > 0 {
                return Err(JobError::refusal(format!(
                    "Its tokenizer has {size} tokens, the model knows {known}: it is another model's. Put the \
                     tokenizer.json of this model into its directory."
                )));
            }
            if marks.end.is_empty() {
                marks.end.extend(tokenizer.specials().end_of_text);
            }
        }
        Ok(Self { plan, tokenizer, marks })
    }

    /// The tokens of source `number` of `count`, from 1.
    fn read(&self, source: &GenerateSource, number: usize, count: usize) -> Result<Vec<u32>, JobError> {
        let which = if count == 1 { "The text".to_owned() } else { format!("Text {number}") };
        let text = match source {
            GenerateSource::Tokens(tokens) if tokens.is_empty() => {
                return Err(JobError::refusal(format!("{which} is empty. Give at least one token.")));
            }
            GenerateSource::Tokens(tokens) => return Ok(tokens.clone()),
            GenerateSource::Text(text) => text,
        };
        let Some(tokenizer) = &self.tokenizer else {
            let why = "The model directory has no tokenizer.json, so text cannot be read. Give token ids instead.";
            return Err(JobError::refusal(why));
        };
        if text.trim().is_empty() {
            return Err(JobError::refusal(format!("{which} is empty. Give at least one word.")));
        }
        let told = |error: DataError| JobError::refusal(error.to_string());
        let mut tokens = tokenizer.encode(text).map_err(told)?;
        let unknown = tokenizer.specials().unknown;
        let is_unknown = |tokens: &[u32]| unknown.is_some_and(|unknown| tokens.contains(&unknown));
        if is_unknown(&tokens) {
            let mut strange: Vec<char> = Vec::new();
            for letter in text.chars().filter(|letter| !letter.is_whitespace()) {
                let alone = tokenizer.encode(&letter.to_string()).map_err(told)?;
                if is_unknown(&alone) && !strange.contains(&letter) {
                    strange.push(letter);
                }
            }
            let letters: Vec<String> = strange.iter().take(5).map(|letter| format!("{letter:?}")).collect();
            let what =
                if letters.is_empty() { "words".to_owned() } else { format!("characters ({})", letters.join(", ")) };
            return Err(JobError::refusal(format!(
                "{which} has {what} that the model's tokenizer does not know. Write it without them."
            )));
        }
        if tokens.is_empty() {
            let why = format!("{which} has no characters that the model's tokenizer knows. Write it in others.");
            return Err(JobError::refusal(why));
        }
        if self.plan.encoder.is_some() {
            // What an encoder reads stands between the special tokens that its tokenizer puts around a text; where that puts none,
            // as those that are trained here, the end of a text stands after it.
            let framed = tokenizer.encode_framed(text).map_err(told)?;
            if framed == tokens {
                tokens.extend(tokenizer.specials().end_of_text);
            } else {
                tokens = framed;
            }
        }
        Ok(tokens)
    }

    /// Tokens as text.
    fn text(&self, tokens: &[u32]) -> String {
        let decoded = self.tokenizer.as_ref().and_then(|tokenizer| tokenizer.decode(tokens).ok());
        decoded.unwrap_or_else(|| tokens.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    fn written(&self, GeneratedText { tokens, ending, score }: GeneratedText) -> WrittenText {
        WrittenText { text: self.text(&tokens), tokens, ending, score }
    }
}
