use super::{Examples, HeldOut};
use crate::config::Objective;
use crate::objective::{Answers, Spans};
use crate::{Corpus, hash::sha256_hex};

/// Validation examples of one evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluatedSet {
    /// Hash of the validation text, of the chosen examples and of all else that decides what a loss on them is. It is the same
    /// for any batch; for examples with an answer it is the same for any sequence length too, as each is read by every model.
    pub hash: String,
    /// Number of the chosen examples.
    pub examples: usize,
    /// Examples of the validation set.
    pub of: usize,
}

impl HeldOut {
    /// Describes the examples of [`HeldOut::batches`] with the same limit; `corpus` and `objective` are those of these examples.
    pub fn evaluated_set(&self, corpus: &Corpus, objective: &Objective, limit: usize) -> EvaluatedSet {
        let mut numbers: Vec<usize> = self.chosen(limit).into_iter().map(|row| self.example_of(row)).collect();
        numbers.dedup();
        let cut = match &self.examples {
            Examples::Windows(windows) => {
                let hidden = objective.hidden_share().map(|share| share.to_string()).unwrap_or_default();
                format!("windows of {}, hidden {hidden}", windows.sequence())
            }
            Examples::Pairs(pairs) => {
                format!("pairs of {}, {:?}{}", pairs.sequence(), pairs.rule, pairs.frame_words())
            }
            Examples::Rows(_) | Examples::Images(_) => "examples".to_owned(),
        };
        let places: Vec<u8> = numbers.iter().flat_map(|number| (*number as u64).to_le_bytes()).collect();
        let hash = sha256_hex([corpus.held_out_hash.as_bytes(), cut.as_bytes(), &places]);
        let last = self.examples.with_tail().checked_sub(1);
        EvaluatedSet { hash, examples: numbers.len(), of: last.map_or(0, |row| self.example_of(row) + 1) }
    }

    /// Returns the number of the example that a row of [`HeldOut::numbered_batches`] belongs to: its question where it is one of
    /// the windows of a question, else the row itself.
    pub fn example_of(&self, row: usize) -> usize {
        match &self.examples {
            Examples::Rows(rows) => match rows.answers() {
                Answers::Spans(Spans { windows, .. }) => windows.get(row).map_or(row, |window| window.question),
                Answers::Classes { .. } | Answers::Numbers(_) => row,
            },
            Examples::Windows(_) | Examples::Pairs(_) | Examples::Images(_) => row,
        }
    }
}
