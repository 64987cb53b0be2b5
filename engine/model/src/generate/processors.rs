use serde::{Deserialize, Serialize};

/// Logits processors that a model directory asks for, as `transformers` has them: they change the scores of single tokens, the
/// same way in every search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogitsProcessors {
    /// Sequences of tokens, and what is added to the score of the last of each after the others.
    pub sequence_bias: Vec<(Vec<u32>, f64)>,
    /// Sequences of tokens that never come; the end token alone is not meant.
    pub bad_words: Vec<Vec<u32>>,
    /// Tokens that never come.
    pub suppressed: Vec<u32>,
    /// Tokens that do not come first.
    pub suppressed_first: Vec<u32>,
    /// Scores below 0 of tokens that the text has are multiplied by it, others divided.
    pub repetition_penalty: f64,
    /// The same for tokens of the source, the other way round: above 1 they become more probable.
    pub encoder_repetition_penalty: f64,
    /// No sequence of so many tokens of the source comes again; 0 = any may.
    pub encoder_no_repeat: usize,
    /// From so many new tokens on, the score of an end token rises by its size times (factor^tokens beyond - 1).
    pub length_decay: Option<(usize, f64)>,
    /// True where scores are normalised again after all that.
    pub renormalises: bool,
    /// Drawn tokens have at least this share of the probability of the most probable one.
    pub min_p: Option<f64>,
    /// Drawn tokens are the most probable ones of the first hundred, up to this share of their entropy (top-H).
    pub top_h: Option<f64>,
    /// Drawn tokens are those nearest to the expected information that have this share of the probability (Meister et al., 2022).
    pub typical_p: Option<f64>,
    /// Drawn tokens have at least this probability.
    pub epsilon_cutoff: Option<f64>,
    /// The same, lowered where the entropy is large (Hewitt et al., 2022).
    pub eta_cutoff: Option<f64>,
}

impl Default for LogitsProcessors {
    fn default() -> Self {
        Self {
            sequence_bias: Vec::new(),
            bad_words: Vec::new(),
            suppressed: Vec::new(),
            suppressed_first: Vec::new(),
            repetition_penalty: 1.0,
            encoder_repetition_penalty: 1.0,
            encoder_no_repeat: 0,
            length_decay: None,
            renormalises: false,
            min_p: None,
            top_h: None,
            typical_p: None,
            epsilon_cutoff: None,
            eta_cutoff: None,
        }
    }
}

/// A token that may be drawn, with its logit.
pub(super) type Drawn = (u32, f64);

/// Tokens that the entropy of top-H is taken over.
const TOP_H_TOKENS: usize = 100;

impl LogitsProcessors {
    /// Leaves out the tokens that are not drawn. `tokens` are in order, the most probable first, and at least one stays.
    pub(super) fn filter(&self, tokens: &mut Vec<Drawn>) {
        if let Some(share) = self.min_p {
            let largest = tokens.first().map_or(0.0, |(_, logit)| *logit);
            keep(tokens, |_, logit| (logit - largest).exp() >= share);
        }
        if let Some(mass) = self.typical_p {
            typical(tokens, mass);
        }
        if let Some(least) = self.epsilon_cutoff {
            let log_sum = log_sum(tokens);
            keep(tokens, |_, logit| (logit - log_sum).exp() >= least);
        }
        if let Some(cutoff) = self.eta_cutoff {
            let log_sum = log_sum(tokens);
            let least = cutoff.min(cutoff.sqrt() * (-entropy(tokens)).exp());
            keep(tokens, |_, logit| (logit - log_sum).exp() >= least);
        }
    }

    /// Leaves out what top-H does, which comes before top-k.
    pub(super) fn filter_by_entropy(&self, tokens: &mut Vec<Drawn>) {
        let Some(share) = self.top_h else { return };
        tokens.truncate(TOP_H_TOKENS);
        let (most, log_sum) = (entropy(tokens) * share, log_sum(tokens));
        let mut so_far = 0.0;
        keep(tokens, |_, logit| {
            let log_probability = logit - log_sum;
            so_far -= log_probability.exp() * log_probability;
            so_far <= most
        });
    }
}

/// Keeps the first token and those of the others that do.
fn keep(tokens: &mut Vec<Drawn>, mut does: impl FnMut(u32, f64) -> bool) {
    let mut is_first = true;
    tokens.retain(|(token, logit)| {
        let stays = does(*token, *logit);
        std::mem::take(&mut is_first) || stays
    });
}

/// Keeps the tokens whose information is nearest to the entropy, until they have this share of the probability.
fn typical(tokens: &mut Vec<Drawn>, mass: f64) {
    let (log_sum, entropy) = (log_sum(tokens), entropy(tokens));
    let distance = |logit: f64| (log_sum - logit - entropy).abs();
    let mut nearest: Vec<(f64, f64)> =
        tokens.iter().map(|(_, logit)| (distance(*logit), (logit - log_sum).exp())).collect();
    nearest.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut so_far = 0.0;
    let last = nearest.iter().find(|(_, probability)| {
        so_far += probability;
        so_far >= mass
    });
    let Some(furthest) = last.or(nearest.last()).map(|(distance, _)| *distance) else { return };
    tokens.retain(|(_, logit)| distance(*logit) <= furthest);
}

/// The logarithm of the sum of exponentials.
fn log_sum(tokens: &[Drawn]) -> f64 {
    let largest = tokens.iter().map(|(_, logit)| *logit).fold(f64::NEG_INFINITY, f64::max);
    largest + tokens.iter().map(|(_, logit)| (logit - largest).exp()).sum::<f64>().ln()
}

/// Entropy in nats.
fn entropy(tokens: &[Drawn]) -> f64 {
    let log_sum = log_sum(tokens);
    -tokens.iter().map(|(_, logit)| (logit - log_sum).exp() * (logit - log_sum)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(processors: &LogitsProcessors, probabilities: &[f64]) -> Vec<u32> {
        let mut tokens: Vec<Drawn> = (0..).zip(probabilities.iter().map(|p| p.ln())).collect();
        processors.filter_by_entropy(&mut tokens);
        processors.filter(&mut tokens);
        tokens.into_iter().map(|(token, _)| token).collect()
    }

    /// Expected: the warpers of `transformers` 5.24 on the same four probabilities.
    #[test]
    fn filters_keep_what_those_of_transformers_keep() {
        let none = LogitsProcessors::default();
        let p = [0.5, 0.25, 0.15, 0.1];
        assert_eq!(kept(&none, &p), [0, 1, 2, 3]);
        assert_eq!(kept(&LogitsProcessors { min_p: Some(0.3), ..none.clone() }, &p), [0, 1, 2]);
        assert_eq!(kept(&LogitsProcessors { typical_p: Some(0.3), ..none.clone() }, &p), [0, 1]);
        assert_eq!(kept(&LogitsProcessors { typical_p: Some(0.2), ..none.clone() }, &p), [1]);
        assert_eq!(kept(&LogitsProcessors { epsilon_cutoff: Some(0.12), ..none.clone() }, &p), [0, 1, 2]);
        assert_eq!(kept(&LogitsProcessors { epsilon_cutoff: Some(0.9), ..none.clone() }, &p), [0]);
        assert_eq!(kept(&LogitsProcessors { eta_cutoff: Some(0.2), ..none.clone() }, &p), [0, 1, 2]);
        assert_eq!(kept(&LogitsProcessors { top_h: Some(0.6), ..none }, &p), [0, 1]);
    }
}
