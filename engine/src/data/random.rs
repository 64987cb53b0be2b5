use std::collections::HashMap;

use super::grammar::{Grammar, Surface, generate_tokens, join};
use super::progress::advance;
use super::rng::{Purpose, Stream, below};
use super::{DataError, Documents, Progress, Stage};

/// The grammar's control: as many documents, each with as many words and punctuation marks, as
/// [`super::generate_grammar`] makes for the same arguments, but every token is drawn independently with the
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
