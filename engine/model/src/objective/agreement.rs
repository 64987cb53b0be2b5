//! Metrics of models that learn the built-in grammar: whether what they write or fill in agrees. They are measured by the
//! grammar's checker (`data::Checker`), beside what every evaluation measures.

use super::{Direction, Metric, Quantity};

const fn share(series: &'static str, title: &'static str, phrase: &'static str, formula: &'static str) -> Metric {
    Metric {
        series,
        title,
        phrase,
        unit: "",
        quantity: Quantity::Share,
        direction: Direction::Higher,
        formula,
        of_sums: None,
        of_examples: None,
    }
}

/// Of texts that a decoder writes.
const AGREEMENTS: Metric = share(
    "validation/agreement",
    "Agreement",
    "{} of agreements hold",
    "verbs, determiners and pronouns that agree / all that were checked, in 32 texts that the model writes: few are checked \
     where few of its sentences are the grammar's",
);

/// The same, by whole sentences.
const SENTENCES: Metric = share(
    "validation/sentences_right",
    "Sentences right",
    "{} of sentences right",
    "sentences that the grammar has and in which everything agrees / sentences, in 32 texts that the model writes",
);

/// Of words that an encoder fills in.
const DETERMINED: Metric = share(
    "validation/determined_accuracy",
    "Determined words right",
    "{} of determined words right",
    "hidden words filled in with a word in the only form that the grammar allows / hidden words that can stand in one of \
     their forms only",
);

/// What is measured of a decoder: first the share of agreements, then that of sentences.
pub const WRITTEN: &[Metric] = &[AGREEMENTS, SENTENCES];

/// What is measured of an encoder.
pub const FILLED_IN: &[Metric] = &[DETERMINED];

/// All of them.
pub const AGREEMENT: &[Metric] = &[AGREEMENTS, SENTENCES, DETERMINED];
