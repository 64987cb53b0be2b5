//! Masked-language modelling: tokens are hidden, and the model fills them in (Devlin et al. 2019, section 3.1).

use std::sync::Arc;

use super::{
    Batch, Direction, Example, ExampleMetric, ExampleSums, IGNORED, Labeller, Metric, Quantity, Showing, Specials,
    Sums, Task, Vocabulary, recorded::VALIDATION_LOSS, task::spread_labels,
};
use crate::{
    config::MaskedTokens,
    model::{ForwardOptions, Loss, Model, ModelError},
    ops::random::{Purpose, Stream},
};

/// Among [`Sums::counts`]: hidden tokens that were guessed right.
const CORRECT: usize = 0;

/// Share of hidden tokens guessed right, 0..=1.
const ACCURACY: Metric = Metric {
    series: "validation/masked_accuracy",
    title: "Masked accuracy",
    phrase: "{} of hidden tokens right",
    unit: "",
    quantity: Quantity::Share,
    direction: Direction::Higher,
    formula: "hidden tokens whose most probable token is the right one / hidden tokens",
    of_sums: Some(|sums| sums.share(CORRECT)),
    of_examples: Some(ExampleMetric::Correct),
};

impl Task for MaskedTokens {
    fn metrics(&self) -> &'static [Metric] {
        const { &[VALIDATION_LOSS, ACCURACY] }
    }

    fn separator(&self, specials: &Specials) -> Option<u32> {
        specials.sep
    }

    fn serves(&self, specials: &Specials) -> bool {
        specials.mask.is_some()
    }

    fn labeller(&self, vocabulary: &Vocabulary) -> Option<Arc<dyn Labeller>> {
        let ids = vocabulary.is_special.iter().zip(0_u32..);
        Some(Arc::new(Masker {
            mask: vocabulary.specials.mask?,
            share: self.share,
            ordinary: ids.filter(|(special, _)| !**special).map(|(_, id)| id).collect(),
            is_special: vocabulary.is_special.clone(),
        }))
    }

    fn random_labels(&self, targets: Vec<i64>) -> Vec<i64> {
        spread_labels(targets, self.share)
    }

    fn loss(&self, model: &Model, batch: &Batch, options: &ForwardOptions) -> Result<Loss, ModelError> {
        model.loss(&batch.input(model)?, &batch.labels, options)
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
        Showing::FilledIn
    }
}

/// Hides tokens: each one that is not special is chosen with a fixed probability; of the chosen, 80 % become the mask
/// token, 10 % a random token and 10 % stay.
#[derive(Debug)]
struct Masker {
    mask: u32,
    share: f64,
    /// By id: whether the token is special and therefore never chosen.
    is_special: Vec<bool>,
    /// Ids that may stand in for another.
    ordinary: Vec<u32>,
}

impl Labeller for Masker {
    /// Hides tokens and labels them with what they were. At least one is hidden, unless the example holds special tokens
    /// only.
    fn label(&self, Example { ids, labels, seed, number, .. }: Example<'_>) {
        let mut stream = Stream::new(seed, Purpose::Masking, number);
        let is_special = |id: u32| self.is_special.get(id as usize).copied().unwrap_or(true);
        let mut hidden = 0_usize;
        for (id, label) in ids.iter_mut().zip(labels.iter_mut()) {
            if !is_special(*id) && stream.uniform() < self.share {
                self.hide_one(&mut stream, id, label);
                hidden += 1;
            }
        }
        if hidden == 0 {
            let count = ids.iter().filter(|id| !is_special(**id)).count();
            if count > 0 {
                let chosen = stream.below(count as u64) as usize;
                let one = ids.iter_mut().zip(labels).filter(|(id, _)| !is_special(**id)).nth(chosen);
                if let Some((id, label)) = one {
                    self.hide_one(&mut stream, id, label);
                }
            }
        }
    }
}

impl Masker {
    fn hide_one(&self, stream: &mut Stream, id: &mut u32, label: &mut i64) {
        *label = i64::from(*id);
        let draw = stream.uniform();
        if draw < 0.8 {
            *id = self.mask;
        } else if draw < 0.9 && !self.ordinary.is_empty() {
            *id = self.ordinary[stream.below(self.ordinary.len() as u64) as usize];
        }
        debug_assert_ne!(*label, IGNORED);
    }
}
