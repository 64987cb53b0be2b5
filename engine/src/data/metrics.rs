//! Small pure functions from losses to the numbers that are shown.

/// Perplexity `exp(loss)` of a mean negative log-likelihood in nats. 1.0 = certain and right; the vocabulary size =
/// guessing. Infinite where `exp` overflows, NaN for a NaN loss.
pub fn perplexity(mean_loss: f64) -> f64 {
    mean_loss.exp()
}

/// Share (0..=1) of labelled positions whose prediction is right, and how many positions were labelled.
/// `predictions` and `labels` run over the same positions; labels below 0 are ignored. NaN when nothing is labelled.
pub fn masked_accuracy(predictions: &[u32], labels: &[i64]) -> (f64, usize) {
    let mut labelled = 0_usize;
    let mut right = 0_usize;
    for (prediction, label) in predictions.iter().zip(labels).filter(|(_, label)| **label >= 0) {
        labelled += 1;
        right += usize::from(i64::from(*prediction) == *label);
    }
    (right as f64 / labelled as f64, labelled)
}

/// A mean over batches in which every token weighs the same, however many tokens each batch has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TokenMean {
    sum: f64,
    tokens: u64,
}

impl TokenMean {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a batch's mean over `tokens` tokens. A batch without tokens changes nothing, whatever its mean.
    pub fn add(&mut self, mean: f64, tokens: usize) {
        if tokens > 0 {
            self.sum += mean * tokens as f64;
            self.tokens += tokens as u64;
        }
    }

    /// `sum of mean * tokens / sum of tokens`, or `None` when nothing was counted.
    pub fn mean(&self) -> Option<f64> {
        (self.tokens > 0).then(|| self.sum / self.tokens as f64)
    }

    /// Tokens counted.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::{TokenMean, masked_accuracy, perplexity};

    #[test]
    fn perplexity_of_guessing_is_the_vocabulary() {
        assert!((perplexity(1024_f64.ln()) - 1024.0).abs() < 1e-9);
        assert_eq!(perplexity(0.0), 1.0);
        assert_eq!(perplexity(1e4), f64::INFINITY);
        assert!(perplexity(f64::NAN).is_nan());
    }

    #[test]
    fn accuracy_looks_at_labelled_positions_only() {
        assert_eq!(masked_accuracy(&[1, 2, 3, 4], &[-100, 2, 9, -100]), (0.5, 2));
        let (accuracy, labelled) = masked_accuracy(&[1], &[-100]);
        assert!(accuracy.is_nan() && labelled == 0);
    }

    #[test]
    fn every_token_weighs_the_same() {
        let mut mean = TokenMean::new();
        assert_eq!(mean.mean(), None);
        mean.add(1.0, 30);
        mean.add(4.0, 10);
        mean.add(f64::NAN, 0);
        assert_eq!((mean.mean(), mean.tokens()), (Some(1.75), 40));
    }
}
