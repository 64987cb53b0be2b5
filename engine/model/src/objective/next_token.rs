//! Causal language modelling: at each position the token that follows (Radford et al. 2019, GPT-2).

use std::sync::Arc;

use super::{
    Batch, Direction, Example, ExampleMetric, ExampleSums, Framing, Labeller, Metric, Quantity, Showing, Specials,
    Sums, Task, Vocabulary, recorded::VALIDATION_LOSS,
};
use crate::{
    config::NextToken,
    model::{ForwardOptions, Loss, Model, ModelError},
};

/// 1.0 = certain and right; the vocabulary size = guessing. Infinite where `exp` overflows, NaN for a NaN loss.
pub(super) const PERPLEXITY: Metric = Metric {
    series: "validation/perplexity",
    title: "Perplexity",
    phrase: "perplexity {}",
    unit: "",
    quantity: Quantity::Number,
    direction: Direction::Lower,
    formula: "exp(L) of the mean validation loss L in nats per token; 1 = certain and right, the vocabulary size = guessing",
    of_sums: Some(|sums| sums.mean_loss().exp()),
    of_examples: Some(ExampleMetric::ExpOfLoss),
};

impl Task for NextToken {
    fn metrics(&self) -> &'static [Metric] {
        const { &[VALIDATION_LOSS, PERPLEXITY] }
    }

    fn framing(&self, _: &Specials) -> Framing {
        Framing { before: None, after: None, lookahead: 1 }
    }

    fn separator(&self, specials: &Specials) -> Option<u32> {
        specials.end_of_text
    }

    fn serves(&self, _: &Specials) -> bool {
        true
    }

    fn labeller(&self, _: &Vocabulary) -> Option<Arc<dyn Labeller>> {
        Some(Arc::new(Following))
    }

    fn random_labels(&self, targets: Vec<i64>) -> Vec<i64> {
        targets
    }

    fn loss(&self, model: &Model, batch: &Batch, options: &ForwardOptions) -> Result<Loss, ModelError> {
        model.loss(&batch.input(model)?, &batch.labels, options)
    }

    fn evaluate(&self, model: &Model, batch: &Batch) -> Result<Sums, ModelError> {
        let found = model.evaluate(&batch.input(model)?, &batch.labels)?;
        let examples = ExampleSums::of_labels(&batch.labels, batch.sequence, &found.labels, false);
        Ok(Sums { loss: found.loss_sum, labelled: found.labelled as u64, examples, ..Sums::default() })
    }

    fn showing(&self) -> Showing {
        Showing::Continuation
    }
}

/// Labels each token with the next one of the text.
#[derive(Debug)]
struct Following;

impl Labeller for Following {
    fn label(&self, example: Example<'_>) {
        for (label, next) in example.labels.iter_mut().zip(example.following) {
            *label = i64::from(*next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perplexity_of_guessing_is_the_vocabulary() {
        let of = |loss| PERPLEXITY.value(&Sums { loss, labelled: 2, ..Sums::default() }).unwrap();
        assert!((of(2.0 * 1024_f64.ln()) - 1024.0).abs() < 1e-9);
        assert_eq!(of(0.0), 1.0);
        assert_eq!(of(2e4), f64::INFINITY);
        assert!(of(f64::NAN).is_nan());
    }
}
