//! Small pure functions from losses to the numbers that are shown.

/// Perplexity `exp(loss)` of a mean negative log-likelihood in nats. 1.0 = certain and right; the vocabulary size =
/// guessing. Infinite where `exp` overflows, NaN for a NaN loss.
pub fn perplexity(mean_loss: f64) -> f64 {
    mean_loss.exp()
}

#[cfg(test)]
mod tests {
    use super::perplexity;

    #[test]
    fn perplexity_of_guessing_is_the_vocabulary() {
        assert!((perplexity(1024_f64.ln()) - 1024.0).abs() < 1e-9);
        assert_eq!(perplexity(0.0), 1.0);
        assert_eq!(perplexity(1e4), f64::INFINITY);
        assert!(perplexity(f64::NAN).is_nan());
    }
}
