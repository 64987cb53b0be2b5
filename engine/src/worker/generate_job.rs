use std::{ops::ControlFlow, time::Instant};

use candle_core::Device;
use rayon::ThreadPoolBuilder;

use super::{
    Event, TokenCost, WrittenText,
    job::GenerateJob,
    job_context::{JobContext, STACK_BYTES},
    job_control::JobControl,
    job_error::JobError,
    speaker::Speaker,
    subject::Subject,
};
use crate::{
    generate::{Generated, GeneratedText, Search, attention_on_source, generate},
    ops,
    train::free_memory,
};

/// Time between two events, of all texts together.
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

fn run(context: &JobContext, job: &GenerateJob, control: &JobControl, named: &str) -> Result<Event, JobError> {
    let speaker = Speaker::open(&context.store, &job.target)?;
    let sources = speaker.read_all(&context.store, &job.target, &job.sources)?;
    let model = speaker.model(job.precision)?;
    let search = Search { keep_tree: job.details, ..job.search.clone() };
    let mut texts = Vec::new();
    let (mut seconds, mut reading_seconds, mut cache_bytes) = (0.0, 0.0, 0);
    let mut stopped = false;
    for (number, batch) in sources.chunks(job.batch.max(1)).enumerate() {
        let first = number * job.batch.max(1);
        let mut of_texts: Vec<Telling> = batch.iter().map(|_| Telling::default()).collect();
        let free = free_memory(&Device::Cpu);
        let pause = LEAST_SECONDS * batch.len() as f64;
        let found = generate(&model, batch, &speaker.marks, &search, free, |progress| {
            if let Some(telling) = of_texts.get_mut(progress.source) {
                telling.costs.push(TokenCost { seconds: progress.seconds, bytes: progress.filled_bytes });
                if telling.told.is_none_or(|last| last.elapsed().as_secs_f64() >= pause) {
                    telling.told = Some(Instant::now());
                    telling.read(progress.tokens, &speaker);
                    context.outbox.send(Event::Generating {
                        source: first + progress.source,
                        step: progress.step,
                        text: speaker.text(progress.tokens),
                        seconds: progress.seconds,
                        cache_bytes: progress.cache_bytes,
                        tokens: telling.tokens.clone(),
                        pieces: telling.pieces.clone(),
                        costs: telling.costs.clone(),
                    });
                }
            }
            stopped |= control.should_stop();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let Generated { texts: of_batch, seconds: more, first_seconds, cache_bytes: kept, .. } = found?;
        seconds += more;
        reading_seconds += first_seconds;
        cache_bytes = cache_bytes.max(kept);
        for ((text, source), telling) in of_batch.into_iter().zip(batch).zip(of_texts) {
            let mut written = written(&speaker, text, source, telling);
            if job.details {
                let found = attention_on_source(&model, source, &written.tokens, speaker.start())?;
                written.attention = found.map(Box::new);
            }
            texts.push(written);
        }
        if stopped {
            break;
        }
    }
    Ok(Event::Generated { target: named.to_owned(), texts, seconds, reading_seconds, cache_bytes, stopped })
}

/// What is told of a text while it grows.
#[derive(Default)]
struct Telling {
    told: Option<Instant>,
    tokens: Vec<u32>,
    /// The same as text.
    pieces: Vec<String>,
    costs: Vec<TokenCost>,
}

impl Telling {
    /// Takes the tokens in as text; those that are known are not read again.
    fn read(&mut self, tokens: &[u32], speaker: &Speaker) {
        let known = self.tokens.iter().zip(tokens).take_while(|(known, token)| known == token).count();
        self.tokens.truncate(known);
        self.pieces.truncate(known);
        for token in tokens.iter().skip(known) {
            self.tokens.push(*token);
            self.pieces.push(speaker.piece(*token));
        }
    }
}

fn written(speaker: &Speaker, text: GeneratedText, source: &[u32], mut telling: Telling) -> WrittenText {
    let GeneratedText { tokens, ending, score, tree } = text;
    telling.read(&tokens, speaker);
    WrittenText {
        text: speaker.text(&tokens),
        tokens,
        ending,
        score,
        pieces: telling.pieces,
        costs: telling.costs,
        source: source.iter().map(|token| speaker.piece(*token)).collect(),
        tree_pieces: tree.iter().map(|node| speaker.piece(node.token)).collect(),
        tree,
        attention: None,
    }
}
