use serde::{Deserialize, Serialize};

use super::{GenerateError, LogitsProcessors};
use crate::{
    attention::{CacheBytes, Decoding, ModelPlan, cache_bytes},
    config::{Cache, KeyValueCache, counted, grouped},
};

/// How text is searched for. The same settings give the same tokens as `generate` of Hugging Face's `transformers`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// What is kept between tokens; it changes no token.
    pub cache: Cache,
    /// How many tokens at most, the end token included.
    pub max_new_tokens: usize,
    /// Instead of it, tokens of the whole text at most: with the prompt, or with what a decoder after an encoder begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// The end token may come after that many.
    pub min_new_tokens: usize,
    /// The end token may come after so many tokens of the whole text too.
    #[serde(skip_serializing_if = "is_zero")]
    pub min_length: usize,
    /// Texts that are followed at the same time; 1 = the most probable token, or a drawn one, is taken at each step.
    pub beams: usize,
    /// Groups of beams, each of which avoids what those before it chose at the same step (diverse beam search, Vijayakumar et al.,
    /// 2018).
    pub groups: usize,
    /// What a token loses in log-probability for every beam of an earlier group that chose it.
    pub diversity: f64,
    /// Texts are compared by their log-probability divided by their length to this power: 0 = shorter ones win, 1 = the mean of a
    /// token.
    pub length_penalty: f64,
    /// Stop as soon as as many texts as beams have ended, rather than when no running one can be better.
    pub early_stopping: bool,
    /// Stop only when no running text can be better at any length that it may have (`early_stopping = "never"`); without it the
    /// length that it has counts.
    #[serde(skip_serializing_if = "is_false")]
    pub is_exhaustive: bool,
    /// No sequence of so many tokens comes twice; 0 = any may.
    pub no_repeat: usize,
    /// Logits are divided by it before a token is drawn, 0..=100; 0 = the most probable token, nothing is drawn.
    pub temperature: f64,
    /// Draw from that many most probable tokens only.
    pub top_k: Option<usize>,
    /// Draw from the most probable tokens that have this share of the probability together, above 0 and up to 1.
    pub top_p: Option<f64>,
    /// The same seed draws the same tokens.
    pub seed: u64,
    /// Whether every prefix that a beam followed is told at the end; it changes no token.
    pub keep_tree: bool,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            cache: Cache::KeyValue(KeyValueCache {}),
            max_new_tokens: 64,
            max_length: None,
            min_new_tokens: 0,
            min_length: 0,
            beams: 1,
            groups: 1,
            diversity: 0.0,
            length_penalty: 1.0,
            early_stopping: false,
            is_exhaustive: false,
            no_repeat: 0,
            temperature: 0.0,
            top_k: None,
            top_p: None,
            seed: 1,
            keep_tree: false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(is_true: &bool) -> bool {
    !is_true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Most beams of a source.
pub(super) const MOST_BEAMS: usize = 1024;

/// Most tokens of a text; no model here has as many positions.
pub(super) const MOST_TOKENS: usize = 1 << 20;

impl Search {
    /// Refuses settings out of range, and such as have no meaning together.
    ///
    /// # Errors
    /// The first that does not do.
    pub fn check(&self) -> Result<(), GenerateError> {
        let refuse = |why: String| Err(GenerateError::Setting(why));
        if !(0.0..=100.0).contains(&self.temperature) {
            return Err(GenerateError::Temperature(self.temperature));
        }
        if self.top_k == Some(0) {
            return Err(GenerateError::TopK);
        }
        if !self.top_p.is_none_or(|p| p > 0.0 && p <= 1.0) {
            return refuse("A share of the probability to draw from must be above 0 and at most 1.".to_owned());
        }
        if !(1..=MOST_BEAMS).contains(&self.beams) {
            let (beams, most) = (counted(self.beams, "beam"), grouped(MOST_BEAMS));
            return refuse(format!("{beams} cannot be followed: use 1 to {most}."));
        }
        if self.groups == 0 || !self.beams.is_multiple_of(self.groups) {
            return refuse(format!(
                "{} cannot be put into {}. Use a number of groups that divides them.",
                counted(self.beams, "beam"),
                counted(self.groups, "equal group")
            ));
        }
        if !self.diversity.is_finite() || self.diversity < 0.0 {
            return refuse("The strength of diversity must be a number from 0 on.".to_owned());
        }
        if self.groups == 1 && self.diversity > 0.0 {
            return refuse("Diversity needs several groups of beams, such as as many as there are beams.".to_owned());
        }
        if !self.length_penalty.is_finite() {
            return refuse("The length penalty must be a finite number.".to_owned());
        }
        if self.beams > 1 && self.temperature > 0.0 {
            return refuse(
                "Beams follow the most probable texts, so that nothing is drawn. Use one beam to draw tokens at a \
                 temperature, or leave the temperature out."
                    .to_owned(),
            );
        }
        if self.temperature == 0.0 && (self.top_k.is_some() || self.top_p.is_some()) {
            return refuse(
                "Top-k and top-p say what tokens are drawn from; give a temperature above 0 too.".to_owned(),
            );
        }
        if !(1..=MOST_TOKENS).contains(&self.max_new_tokens) || self.max_length == Some(0) {
            return refuse(format!("The largest number of new tokens must be from 1 to {}.", grouped(MOST_TOKENS)));
        }
        if self.min_new_tokens > self.max_new_tokens && self.max_length.is_none() {
            return refuse(format!(
                "At least {} and at most {} cannot both be.",
                counted(self.min_new_tokens, "new token"),
                grouped(self.max_new_tokens)
            ));
        }
        Ok(())
    }

    /// Number of new tokens that are asked for after a source of `tokens`.
    pub fn wanted_tokens(&self, plan: &ModelPlan, tokens: usize) -> usize {
        let before = if plan.encoder.is_some() { 1 } else { tokens };
        self.max_length.map_or(self.max_new_tokens, |length| length.saturating_sub(before))
    }

    /// How many tokens a model can write after a source of `tokens`: as many as are asked for and as it has positions for. An
    /// encoder's source takes none of the decoder's positions; the last token that is written is not read any more.
    pub fn most_tokens(&self, plan: &ModelPlan, tokens: usize) -> usize {
        let longest = plan.stack.longest();
        let left = if plan.encoder.is_some() { longest } else { (longest + 1).saturating_sub(tokens) };
        self.wanted_tokens(plan, tokens).min(left)
    }

    /// What the cache takes for sources of these lengths.
    pub fn cache_bytes(&self, plan: &ModelPlan, lengths: &[usize], bytes: usize) -> CacheBytes {
        let written = lengths.iter().map(|tokens| self.most_tokens(plan, *tokens)).max().unwrap_or(0);
        let decoding = Decoding {
            source_tokens: lengths.iter().fold(0, |sum, length| sum.saturating_add(*length)),
            rows: lengths.len().saturating_mul(self.beams),
            beams: self.beams,
            // A decoder after an encoder reads the token that it begins with.
            written: written + usize::from(plan.encoder.is_some()),
            bytes,
        };
        cache_bytes(plan, &self.cache, &decoding)
    }
}

/// Tokens with a meaning for generation, and what a model directory says of others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Marks {
    /// What a decoder after an encoder begins with.
    pub start: Option<u32>,
    /// Tokens that end a text; the one that came is given back as the last token. One beyond the vocabulary never comes.
    pub end: Vec<u32>,
    /// Token that fills up rows that ended: groups of beams that are done count as having chosen it.
    pub pad: Option<u32>,
    /// The first token of a text that has one token before it.
    pub forced_first: Option<u32>,
    /// Tokens one of which ends a text that would become too long.
    pub forced_last: Vec<u32>,
    /// Further settings of a model.
    pub processors: LogitsProcessors,
}
