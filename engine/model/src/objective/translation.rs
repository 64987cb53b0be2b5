//! Translation: the text is read by an encoder, and a decoder writes its translation, each token from the right ones
//! before it (Vaswani et al. 2017).

use super::{
    Batch, Direction, ExampleMetric, ExampleSums, Framing, Metric, Quantity, Showing, Specials, Sums, Task,
    next_token::PERPLEXITY, recorded::VALIDATION_LOSS,
};
use crate::{
    config::Translation,
    model::{ForwardOptions, Loss, Model, ModelError},
};

/// Among [`Sums::counts`]: tokens that were guessed right.
const CORRECT: usize = 0;

/// Share of the tokens of translations guessed right from the right ones before them, 0..=1.
const ACCURACY: Metric = Metric {
    series: "validation/token_accuracy",
    title: "Token accuracy",
    phrase: "{} of tokens right",
    unit: "",
    quantity: Quantity::Share,
    direction: Direction::Higher,
    formula: "tokens of the translations whose most probable token, after the right ones before it, is the right one / \
              tokens of the translations",
    of_sums: Some(|sums| sums.share(CORRECT)),
    of_examples: Some(ExampleMetric::Correct),
};

impl Task for Translation {
    fn metrics(&self) -> &'static [Metric] {
        const { &[VALIDATION_LOSS, PERPLEXITY, ACCURACY] }
    }

    /// Of a source: its end stands after it. What is written begins with the same token, and its last label is it.
    fn framing(&self, specials: &Specials) -> Framing {
        Framing { before: None, after: specials.end_of_text, lookahead: 0 }
    }

    fn reads_sources(&self) -> bool {
        true
    }

    fn serves(&self, specials: &Specials) -> bool {
        specials.end_of_text.is_some()
    }

    fn random_labels(&self, targets: Vec<i64>) -> Vec<i64> {
        targets
    }

    fn loss(&self, model: &Model, batch: &Batch, options: &ForwardOptions) -> Result<Loss, ModelError> {
        model.smoothed_loss(&batch.input(model)?, &batch.labels, self.label_smoothing, options)
    }

    fn evaluate(&self, model: &Model, batch: &Batch) -> Result<Sums, ModelError> {
        let found = model.evaluate(&batch.input(model)?, &batch.labels)?;
        Ok(Sums {
            loss: found.loss_sum,
            labelled: found.labelled as u64,
            counts: vec![found.correct as f64],
            examples: ExampleSums::of_labels(&batch.labels, batch.sequence, &found.labels, true),
            ..Sums::default()
        })
    }

    fn showing(&self) -> Showing {
        Showing::Translated
    }
}
