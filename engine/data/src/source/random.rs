//! Words drawn at random: the control of the built-in grammar.

use std::collections::HashMap;

use super::loader::{Content, DataSource, Examples, KnownModel, LoadContext, held_out};
use crate::config::RandomSource;
use crate::grammar::{Grammar, Surface, generate_tokens, join};
use crate::progress::advance;
use crate::rng::{Purpose, Stream, below};
use crate::{DataError, Documents, Progress, Stage, split};

impl DataSource for RandomSource {
    fn split(&self, fraction: f64, context: LoadContext<'_>) -> Result<Examples, DataError> {
        Ok(Content::Text(split(&generate(self, context)?, fraction)).into())
    }

    fn all(&self, _: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError> {
        Ok(Content::Text(held_out(generate(self, context)?)).into())
    }
}

fn generate(source: &RandomSource, LoadContext { progress, .. }: LoadContext<'_>) -> Result<Documents, DataError> {
    advance(progress, Stage::Generating, 0, 1)?;
    generate_random(source.words, source.text_seed, progress)
}

/// The grammar's control: as many documents, each with as many words and punctuation marks, as
/// [`generate_grammar`](crate::generate_grammar) makes for the same arguments, but every token is drawn independently with the
/// frequency that it has there. What a model learns here it learns from frequencies alone.
pub fn generate_random(words: usize, text_seed: u64, progress: &dyn Progress) -> Result<Documents, DataError> {
    let grammar = Grammar::english()?;
    let mut counts: HashMap<Surface, usize> = HashMap::new();
    let mut lengths = Vec::new();
    generate_tokens(&grammar, words, text_seed, progress, |tokens| {
        for token in tokens {
            *counts.entry(*token).or_default() += 1;
        }
        lengths.push(tokens.len());
    })?;
    // Sorted, so that the text does not hang on the order of the map.
    let mut urn: Vec<(Surface, usize)> = counts.into_iter().collect();
    urn.sort_unstable();
    let mut total = 0;
    for (_, count) in &mut urn {
        total += *count;
        *count = total;
    }
    let mut documents = Documents::new();
    let mut tokens = Vec::new();
    let mut text = String::new();
    for (number, length) in lengths.iter().enumerate() {
        if number % 1024 == 0 {
            advance(progress, Stage::Generating, 1, 1)?;
        }
        let mut stream = Stream::new(text_seed, Purpose::RandomTokens, number as u64);
        tokens.clear();
        for _ in 0..*length {
            let place = below(&mut stream, total);
            let index = urn.partition_point(|(_, up_to)| *up_to <= place);
            tokens.extend(urn.get(index).map(|(token, _)| *token));
        }
        text.clear();
        join(&grammar, &tokens, &mut text);
        documents.push(&text);
    }
    Ok(documents)
}
