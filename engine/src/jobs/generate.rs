use std::{ops::ControlFlow, time::Instant};

use candle_core::Device;

use super::{
    context::JobContext,
    error::JobError,
    fill::fill_all,
    job::{Job, Place, Threads},
    pace::Pace,
    subject::Subject,
    text_model::TextModel,
};
use crate::{
    generate::{Generated, GeneratedText, Search, attention_on_source, generate_numbered},
    protocol::{JobLabel, TokenCost, WorkKind, WrittenText, commands, events},
    train::free_memory,
};

impl Job for commands::Generate {
    type Output = events::Generated;

    const NAME: &'static str = "generate";
    const PLACE: Place = Place::BehindAnswers;

    fn label(&self) -> JobLabel {
        JobLabel::of_target(WorkKind::Generate, Subject::name(&self.target))
    }

    fn threads(&self) -> Threads {
        Threads::Pool(self.threads)
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        run(context, self)
    }

    fn failure(&self, context: &JobContext) -> String {
        format!("{} could not generate a text.", Subject::called(&context.store, &self.target))
    }

    #[cfg(test)]
    fn example(folder: &std::path::Path) -> Self {
        Self {
            target: crate::protocol::Target::Directory(folder.join("absent")),
            sources: vec![crate::protocol::GenerateSource::Tokens(vec![1])],
            batch: 1,
            search: Box::default(),
            precision: crate::config::Precision::F32,
            threads: Some(1),
            details: false,
        }
    }
}

fn run(context: &JobContext, job: &commands::Generate) -> Result<events::Generated, JobError> {
    let control = &*context.control;
    let text_model = TextModel::open(context, &job.target)?;
    let sources = text_model.read_all(&context.store, &job.target, &job.sources)?;
    let model = text_model.model(job.precision)?;
    if text_model.plan.fills_in() {
        let started = Instant::now();
        let (texts, stopped) = fill_all(&text_model, &model, (&sources, &job.sources), control)?;
        let seconds = started.elapsed().as_secs_f64();
        let target = Subject::name(&job.target);
        return Ok(events::Generated {
            target,
            texts,
            seconds,
            reading_seconds: seconds,
            cache_bytes: 0,
            stopped,
            unused_settings: Vec::new(),
            other_settings: Vec::new(),
        });
    }
    let search = Search { keep_tree: job.details, ..(*job.search).clone() };
    let mut texts = Vec::new();
    let (mut seconds, mut reading_seconds, mut cache_bytes) = (0.0, 0.0, 0);
    let mut stopped = false;
    for (number, batch) in sources.chunks(job.batch.max(1)).enumerate() {
        let first = number * job.batch.max(1);
        let mut of_texts: Vec<Telling> = batch.iter().map(|_| Telling::default()).collect();
        let free = free_memory(&Device::Cpu);
        let numbers: Vec<u64> = (first as u64..).take(batch.len()).collect();
        let found = generate_numbered(&model, (batch, &numbers), &text_model.marks, &search, free, &mut |progress| {
            if let Some(telling) = of_texts.get_mut(progress.source) {
                telling.costs.push(TokenCost { seconds: progress.seconds, bytes: progress.filled_bytes });
                if telling.pace.is_due_for(batch.len()) {
                    telling.read(progress.tokens, &text_model);
                    context.outbox.send(events::Generating {
                        source: first + progress.source,
                        step: progress.step,
                        text: text_model.text(progress.tokens),
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
            let mut written = written(&text_model, text, source, telling);
            if job.details {
                let found = attention_on_source(&model, source, &written.tokens, text_model.start())?;
                written.attention = found.map(Box::new);
            }
            texts.push(written);
        }
        if stopped {
            break;
        }
    }
    Ok(events::Generated {
        target: Subject::name(&job.target),
        texts,
        seconds,
        reading_seconds,
        cache_bytes,
        stopped,
        other_settings: text_model.search.other_than(&search),
        unused_settings: text_model.unused_settings,
    })
}

/// What is told of a text while it grows.
#[derive(Default)]
struct Telling {
    pace: Pace,
    tokens: Vec<u32>,
    /// The same as text.
    pieces: Vec<String>,
    costs: Vec<TokenCost>,
}

impl Telling {
    /// Takes the tokens in as text; those that are known are not read again.
    fn read(&mut self, tokens: &[u32], text_model: &TextModel) {
        let known = self.tokens.iter().zip(tokens).take_while(|(known, token)| known == token).count();
        self.tokens.truncate(known);
        self.pieces.truncate(known);
        for token in tokens.iter().skip(known) {
            self.tokens.push(*token);
            self.pieces.push(text_model.piece(*token));
        }
    }
}

fn written(text_model: &TextModel, text: GeneratedText, source: &[u32], mut telling: Telling) -> WrittenText {
    let GeneratedText { tokens, ending, score, tree } = text;
    telling.read(&tokens, text_model);
    WrittenText {
        text: text_model.text(&tokens),
        tokens,
        ending,
        score,
        pieces: telling.pieces,
        costs: telling.costs,
        source: source.iter().map(|token| text_model.piece(*token)).collect(),
        tree_pieces: tree.iter().map(|node| text_model.piece(node.token)).collect(),
        tree,
        attention: None,
        filled: None,
    }
}
