//! How good a text is that a model wrote, against one or more that people wrote: BLEU and chrF as `sacreBLEU` computes
//! them, ROUGE as `rouge_score` does, and equality; answers to questions as the scripts of `SQuAD` do.
//!
//! All but single scores are sums over pairs of texts, so that nothing depends on how these are put into batches.

mod bleu;
mod chrf;
mod exact_match;
#[cfg(test)]
mod goldens;
mod porter;
mod rouge;
mod scores;
mod tokenize;

pub use super::squad_score::{SquadRules, SquadScore, normalized};
pub use bleu::{Bleu, BleuOptions, BleuSums, split_compounds};
pub use chrf::ChrfSums;
pub use exact_match::ExactMatches;
pub use porter::porter_stem;
pub use rouge::{Rouge, RougeScore, RougeSums};
pub use scores::{TEXT_SCORES, TextScores, UnscoredReferences};
pub use tokenize::{Words, WordsError, tokenize_13a, tokenize_intl, tokenize_zh};
