use std::{ops::ControlFlow, time::Instant};

use rayon::prelude::*;

use super::{
    Ending, GenerateError, Generated, GeneratedText, Marks, Search,
    beam::SourceBeams,
    choice::{Choice, TextSoFar},
};
use crate::{
    attention::{Cost, Workload},
    config::Precision,
    model::{Begun, Model, Room, sources_read_together},
    ops::random::{Purpose, Stream},
};

/// How far the text of a source is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress<'a> {
    /// The source, from 0.
    pub source: usize,
    /// Tokens that were chosen so far, from 1.
    pub step: usize,
    /// The most probable text so far; with beams an earlier token of it may change.
    pub tokens: &'a [u32],
    /// Time since the sources.
    pub seconds: f64,
    /// What is kept at the moment, room for tokens to come included.
    pub cache_bytes: u64,
    /// What of it holds something.
    pub filled_bytes: u64,
}

/// Generates a text for each of some sources: prompts that a decoder goes on with, or texts that the encoder before it reads.
/// `each` hears of every token and may stop, whereupon what there is so far is the result. `free_bytes` is the memory
/// that is there, where known. What is drawn for a source depends on its place: those of one of several batches have numbers in
/// [`generate_numbered`].
///
/// # Errors
/// If the model generates no text, a source or a setting does not do, or it does not fit into memory.
pub fn generate(
    model: &Model,
    sources: &[Vec<u32>],
    marks: &Marks,
    search: &Search,
    free_bytes: Option<u64>,
    mut each: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Generated, GenerateError> {
    let numbers: Vec<u64> = (0..sources.len() as u64).collect();
    generate_numbered(model, (sources, &numbers), marks, search, free_bytes, &mut each)
}

/// As [`generate`], for some of many sources. Each has its number among all of them, by which its tokens are drawn, so that they do
/// not depend on how sources are put into batches.
///
/// # Errors
/// As [`generate`], and if there is not a number for each source.
pub fn generate_numbered(
    model: &Model,
    (sources, numbers): (&[Vec<u32>], &[u64]),
    marks: &Marks,
    search: &Search,
    free_bytes: Option<u64>,
    each: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Generated, GenerateError> {
    if sources.len() != numbers.len() {
        let why = format!("{} sources have {} numbers; give each its own.", sources.len(), numbers.len());
        return Err(GenerateError::Setting(why));
    }
    check(model, sources, marks, search, free_bytes)?;
    let started = Instant::now();
    let plan = model.plan();
    let most: Vec<usize> = sources.iter().map(|source| search.most_tokens(plan, source.len())).collect();
    let room = Room { rows: sources.len() * search.beams, tokens: most.iter().copied().max().unwrap_or(0) };
    let Begun { mut decoder, logits } = model.begin(&search.cache, sources, marks.start, room)?;
    let mut generated = Generated {
        texts: Vec::new(),
        seconds: 0.0,
        first_seconds: started.elapsed().as_secs_f64(),
        steps: 0,
        cache_bytes: decoder.cache_bytes(),
        filled_bytes: decoder.filled_bytes(),
    };
    // What repeated sequences are looked for in: the text that a decoder has read.
    let texts: Vec<Vec<u32>> =
        if plan.encoder.is_some() { vec![marks.start.into_iter().collect(); sources.len()] } else { sources.to_vec() };
    let lengths = sources.iter().zip(&most).map(|(source, most)| [*most, search.wanted_tokens(plan, source.len())]);
    let mut writers: Vec<Writer> = (0..)
        .zip(sources.iter().zip(numbers).zip(texts.into_iter().zip(lengths)))
        .map(|(place, ((source, number), (text, lengths)))| {
            Writer::new((place, *number), text, source.clone(), lengths, search)
        })
        .collect();
    let mut logits = logits;
    let vocabulary = plan.vocabulary();
    let mut stopped = false;
    loop {
        // Of every row that goes on: the row of the last step that it goes on from, and its token.
        let (mut parents, mut tokens) = (Vec::new(), Vec::new());
        let mut rows = logits.chunks_exact_mut(vocabulary);
        let mut waiting: Vec<(&mut Writer, Vec<&mut [f32]>)> = Vec::new();
        for writer in &mut writers {
            let own: Vec<&mut [f32]> = rows.by_ref().take(writer.rows()).collect();
            if own.len() != writer.rows() {
                return Err(GenerateError::NotFinite);
            }
            if !own.is_empty() {
                waiting.push((writer, own));
            }
        }
        let choose = |(writer, own): &mut (&mut Writer, Vec<&mut [f32]>)| writer.choose(own, search, marks);
        let chosen: Vec<_> = if waiting.len() < 2 {
            waiting.iter_mut().map(choose).collect::<Result<_, _>>()?
        } else {
            waiting.par_iter_mut().map(choose).collect::<Result<_, _>>()?
        };
        let mut first = 0;
        for ((writer, own), chosen) in waiting.iter().zip(chosen) {
            for (parent, token) in chosen {
                parents.push(first + parent);
                tokens.push(token);
            }
            first += own.len();
            let best = writer.best();
            let progress = Progress {
                source: writer.source,
                step: writer.step,
                tokens: &best.tokens,
                seconds: started.elapsed().as_secs_f64(),
                cache_bytes: generated.cache_bytes,
                filled_bytes: decoder.filled_bytes(),
            };
            stopped |= each(progress).is_break();
        }
        if stopped || tokens.is_empty() {
            break;
        }
        decoder.select(&parents)?;
        logits = decoder.step(&tokens)?;
        generated.steps += tokens.len();
        generated.cache_bytes = generated.cache_bytes.max(decoder.cache_bytes());
        generated.filled_bytes = generated.filled_bytes.max(decoder.filled_bytes());
    }
    generated.texts = writers.iter().map(Writer::result).collect();
    generated.seconds = started.elapsed().as_secs_f64();
    Ok(generated)
}

/// Refuses what cannot be generated, before anything is computed.
pub(super) fn check(
    model: &Model,
    sources: &[Vec<u32>],
    marks: &Marks,
    search: &Search,
    free_bytes: Option<u64>,
) -> Result<(), GenerateError> {
    search.check()?;
    let plan = model.plan();
    if !plan.predicts_tokens() {
        return Err(GenerateError::NoTokens);
    }
    if !plan.stack.is_causal {
        return Err(GenerateError::NoDecoder);
    }
    if sources.is_empty() || sources.iter().any(Vec::is_empty) {
        return Err(if plan.encoder.is_some() { GenerateError::EmptySource } else { GenerateError::EmptyPrompt });
    }
    let vocabulary = plan.vocabulary();
    if let Some(token) = sources.iter().flatten().find(|token| **token as usize >= vocabulary) {
        return Err(GenerateError::UnknownToken { token: *token, vocabulary });
    }
    if plan.encoder.is_some() && marks.start.is_none() {
        return Err(GenerateError::NoStart);
    }
    if let Some(why) = plan.stack.why_not_kept(&search.cache) {
        let why = format!("The cache \"{}\" cannot be used with this model: {why}.", search.cache.word());
        return Err(GenerateError::Setting(why));
    }
    let reading = plan.encoder.as_deref().unwrap_or(&plan.stack).longest();
    let lengths: Vec<usize> = sources.iter().map(Vec::len).collect();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    if longest > reading {
        return Err(GenerateError::TooLong { tokens: longest, positions: reading });
    }
    if let Some(tokens) = lengths.iter().copied().find(|tokens| search.wanted_tokens(plan, *tokens) == 0) {
        return Err(GenerateError::NoRoom { tokens, length: search.max_length.unwrap_or(search.max_new_tokens) });
    }
    let bytes = model.dtype().size_in_bytes();
    let kept = search.cache_bytes(plan, &lengths, bytes).total();
    // Logits of a step, and what layers work with while they read the sources.
    let rows = (sources.len() as u64).saturating_mul(search.beams as u64);
    let logits = rows.saturating_mul(vocabulary as u64).saturating_mul(4);
    let together = sources_read_together(model.is_stepped(&search.cache), longest, sources.len());
    let states = (longest as u64)
        .saturating_mul(together as u64)
        .saturating_mul(((plan.stack.layers + 1) * plan.stack.width + 4 * plan.stack.feed_forward) as u64)
        .saturating_mul(bytes as u64);
    // Weights that steps of several rows have once more, in another order.
    let panels = if model.is_stepped(&search.cache) && rows > 1 {
        let weights = Cost::of(plan, &Workload::inference(1, 1, Precision::F32)).parameters;
        weights.saturating_mul(bytes as u64)
    } else {
        0
    };
    let needed = [logits, states, panels].into_iter().fold(kept, u64::saturating_add);
    if let Some(free) = free_bytes.filter(|free| needed > *free) {
        return Err(GenerateError::Memory { needed, kept, free, sources: sources.len(), beams: search.beams });
    }
    Ok(())
}

/// Who writes the text of one source.
struct Writer {
    source: usize,
    step: usize,
    kind: Kind,
}

enum Kind {
    /// One row: the most probable token at each step, or a drawn one.
    Single {
        text: Vec<u32>,
        source: Vec<u32>,
        first: usize,
        most: usize,
        wanted: usize,
        sum: f64,
        ending: Option<Ending>,
        stream: Box<Stream>,
    },
    Beams(SourceBeams),
}

impl Writer {
    /// The writer of source `place` of a batch, with its number among all; `lengths` are the new tokens that it can write and
    /// those that are asked for.
    fn new(
        (place, number): (usize, u64),
        text: Vec<u32>,
        source: Vec<u32>,
        lengths: [usize; 2],
        search: &Search,
    ) -> Self {
        let kind = if search.beams == 1 {
            let stream = Box::new(Stream::new(search.seed, Purpose::Sampling, number));
            let [most, wanted] = lengths;
            Kind::Single { first: text.len(), text, source, most, wanted, sum: 0.0, ending: None, stream }
        } else {
            Kind::Beams(SourceBeams::new(text, source, lengths, search))
        };
        Self { source: place, step: 0, kind }
    }

    /// Rows that wait for a token.
    fn rows(&self) -> usize {
        match &self.kind {
            Kind::Single { ending, .. } => usize::from(ending.is_none()),
            Kind::Beams(beams) => beams.rows(),
        }
    }

    /// Takes the logits of its rows, and says from which of them it goes on with which tokens.
    fn choose(
        &mut self,
        logits: &mut [&mut [f32]],
        search: &Search,
        marks: &Marks,
    ) -> Result<Vec<(usize, u32)>, GenerateError> {
        self.step += 1;
        match &mut self.kind {
            Kind::Single { text, source, first, most, wanted, sum, ending, stream } => {
                let Some(logits) = logits.first_mut() else { return Ok(Vec::new()) };
                let written = text.len() - *first;
                let mut choice = Choice::new(logits)?;
                let so_far = TextSoFar { tokens: text, written, most: *most, source };
                choice.process(&so_far, search, marks, &[]);
                let token = if search.temperature > 0.0 {
                    choice.draw(search, &marks.processors, stream)
                } else {
                    choice.best()
                };
                let Some(token) = token else { return Err(GenerateError::NothingLeft { step: written + 1 }) };
                *sum += choice.log_probability(token);
                text.push(token);
                *ending = if marks.end.contains(&token) {
                    Some(Ending::EndToken)
                } else if written + 1 >= *most {
                    Some(if *most < *wanted { Ending::Positions } else { Ending::Length })
                } else {
                    None
                };
                Ok(if ending.is_none() { vec![(0, token)] } else { Vec::new() })
            }
            Kind::Beams(beams) => beams.choose(logits, search, marks),
        }
    }

    /// The best text so far.
    fn best(&self) -> GeneratedText {
        match &self.kind {
            Kind::Single { text, first, sum, ending, .. } => GeneratedText {
                tokens: text[*first..].to_vec(),
                ending: ending.unwrap_or(Ending::Stopped),
                score: *sum / (text.len() - first).max(1) as f64,
                tree: Vec::new(),
            },
            Kind::Beams(beams) => beams.best(),
        }
    }

    /// The same with what is told at the end alone.
    fn result(&self) -> GeneratedText {
        let tree = match &self.kind {
            Kind::Single { .. } => Vec::new(),
            Kind::Beams(beams) => beams.tree(),
        };
        GeneratedText { tree, ..self.best() }
    }
}
