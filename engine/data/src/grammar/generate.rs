use super::compile::Grammar;
use super::document::Writer;
use super::surface::{Surface, join};
use crate::progress::advance;
use crate::rng::{Purpose, Stream, below};
use crate::{DataError, Documents, Progress, Stage, memory};

/// A generous estimate for the bytes of a word with its blank, for the check of memory.
const BYTES_PER_WORD: u64 = 7;

/// Documents between two reports.
const GROUP: u64 = 1024;

/// Generates documents of at least `words` words in all (punctuation not counted); the last ends with a sentence.
/// The text depends on `text_seed` alone: a longer text begins with the documents of the shorter one.
pub fn generate_grammar(words: usize, text_seed: u64, progress: &dyn Progress) -> Result<Documents, DataError> {
    let grammar = Grammar::english()?;
    let mut documents = Documents::new();
    let mut text = String::new();
    generate_tokens(&grammar, words, text_seed, progress, |tokens| {
        text.clear();
        join(&grammar, tokens, &mut text);
        documents.push(&text);
    })?;
    Ok(documents)
}

/// As [`generate_grammar`]; hands every document to `take` as tokens.
pub(crate) fn generate_tokens(
    grammar: &Grammar,
    words: usize,
    text_seed: u64,
    progress: &dyn Progress,
    mut take: impl FnMut(&[Surface]),
) -> Result<(), DataError> {
    memory::check(words as u64 * BYTES_PER_WORD, None)?;
    let [least, most] = grammar.shape.sentences;
    let mut tokens = Vec::new();
    let mut done = 0;
    let mut number = 0;
    while done < words {
        if number % GROUP == 0 {
            advance(progress, Stage::Generating, done as u64, words as u64)?;
        }
        tokens.clear();
        let mut stream = Stream::new(text_seed, Purpose::Grammar, number);
        let sentences = least + below(&mut stream, (most - least + 1) as usize) as u64;
        let mut writer = Writer::new(grammar, &mut stream, &mut tokens);
        for _ in 0..sentences {
            writer.sentence();
        }
        let before = done;
        done += tokens.iter().filter(|token| grammar.is_word(**token)).count();
        if done == before {
            return Err(DataError::Grammar { why: "it generates no words".to_owned() });
        }
        take(&tokens);
        number += 1;
    }
    advance(progress, Stage::Generating, 1, 1)
}
