//! What an encoder makes of texts in which words are hidden.

use super::{control::JobControl, error::JobError, text_model::TextModel};
use crate::{
    generate::{Ending, Prediction, fill_masks},
    model::Model,
    protocol::{FilledWord, Filling, GenerateSource, WordGuess, WrittenText},
};

/// Guesses at each hidden word.
const GUESSES: usize = 5;
/// Of an example of the held-out text every so manieth token is hidden, about as many as in training.
const EVERY: usize = 7;
/// The first of them: what stands before it tells something.
const FIRST: usize = 3;

/// Fills in the hidden words of all texts; whether it was told to stop before the last. Of a held-out example words are hidden
/// here, so that what stood there is known.
///
/// # Errors
/// If there is no mask token, in the tokenizer or in a text, or a text is longer than the model's positions.
pub(crate) fn fill_all(
    text_model: &TextModel,
    model: &Model,
    (texts, sources): (&[Vec<u32>], &[GenerateSource]),
    control: &JobControl,
) -> Result<(Vec<WrittenText>, bool), JobError> {
    let Some((mask, spelled)) = text_model.mask() else {
        let why = "This model is an encoder, which fills in hidden words, and its tokenizer has no mask token to hide them \
                   with. Choose a model whose tokenizer.json has one, or a decoder.";
        return Err(JobError::refusal(why));
    };
    let mut written = Vec::with_capacity(texts.len());
    for (text, source) in texts.iter().zip(sources) {
        if control.should_stop() {
            return Ok((written, true));
        }
        let is_example = matches!(source, GenerateSource::HeldOut { .. });
        let mut hidden = text.clone();
        if is_example {
            // What stands around a text and between its sentences is no word.
            let is_word = |token: u32| !text_model.text(&[token]).trim().is_empty();
            let some = hidden.iter_mut().skip(FIRST).step_by(EVERY).filter(|token| is_word(**token));
            some.for_each(|token| *token = mask);
        }
        if !hidden.contains(&mask) {
            return Err(JobError::refusal(if is_example {
                "The example is too short for a word of it to be hidden. Take more of its tokens.".to_owned()
            } else {
                format!(
                    "This model is an encoder: it fills in hidden words. Write {spelled} in the text where a word is to be \
                     filled in, as in \"The {spelled} sleeps.\""
                )
            }));
        }
        let mut tokens = hidden.clone();
        let found = fill_masks(model, &hidden, mask, GUESSES)?;
        for filled in &found {
            if let (Some(token), Some(best)) = (tokens.get_mut(filled.position), filled.predictions.first()) {
                *token = best.token;
            }
        }
        let until = |end: usize| text_model.text(tokens.get(..end).unwrap_or_default());
        let mut told = String::new();
        let words = found.into_iter().map(|filled| {
            let (before, with) = (until(filled.position), until(filled.position + 1));
            let beside = before.strip_prefix(told.as_str()).unwrap_or_default().to_owned();
            let guess =
                |guess: &Prediction| WordGuess { word: text_model.piece(guess.token), probability: guess.probability };
            let guesses: Vec<WordGuess> = filled.predictions.iter().map(guess).collect();
            let first = guesses.first().map_or("", |guess| guess.word.as_str());
            let word = with.strip_prefix(before.as_str()).unwrap_or(first).to_owned();
            let truth = text.get(filled.position).filter(|_| is_example).map(|token| text_model.piece(*token));
            told = with;
            FilledWord { position: filled.position, before: beside, word, truth, guesses }
        });
        let words: Vec<FilledWord> = words.collect();
        let whole = until(tokens.len());
        let rest = whole.strip_prefix(told.as_str()).unwrap_or_default().to_owned();
        written.push(WrittenText {
            text: whole,
            ending: Ending::Filled,
            score: f64::NAN,
            pieces: tokens.iter().map(|token| text_model.piece(*token)).collect(),
            tokens,
            costs: Vec::new(),
            source: hidden.iter().map(|token| text_model.piece(*token)).collect(),
            tree: Vec::new(),
            tree_pieces: Vec::new(),
            attention: None,
            filled: Some(Box::new(Filling { words, rest })),
        });
    }
    Ok((written, false))
}
