//! Regression on one or two texts: a number from the first position, learnt by its squared error.

use candle_core::{DType, Tensor};

use super::{Answers, Batch, Direction, ExampleSums, Metric, Quantity, Sums, Task, recorded::VALIDATION_LOSS};
use crate::{
    config::Regression,
    model::{ForwardOptions, Loss, Model, ModelError},
    ops,
};

/// -1..=1.
const PEARSON: Metric = Metric {
    series: "validation/pearson",
    title: "Pearson correlation",
    phrase: "Pearson correlation {}",
    unit: "",
    quantity: Quantity::Number,
    direction: Direction::Higher,
    formula: "covariance of right and predicted numbers / product of their deviations; no number where either is constant",
    of_sums: Some(|sums| correlation(&sums.answers)),
    of_examples: None,
};

/// -1..=1.
const SPEARMAN: Metric = Metric {
    series: "validation/spearman",
    title: "Spearman correlation",
    phrase: "Spearman correlation {}",
    formula: "Pearson correlation of the ranks of right and predicted numbers; equal numbers share the mean of their ranks",
    of_sums: Some(|sums| rank_correlation(&sums.answers)),
    ..PEARSON
};

impl Task for Regression {
    fn metrics(&self) -> &'static [Metric] {
        const { &[VALIDATION_LOSS, PEARSON, SPEARMAN] }
    }

    fn loss_unit(&self) -> &'static str {
        "squared error per example"
    }

    /// 0, 1, 2 in turns.
    fn random_answers(&self, batch: usize) -> Option<Answers> {
        Some(Answers::Numbers((0..batch).map(|row| (row % 3) as f32).collect()))
    }

    /// Mean squared error over the examples.
    fn loss(&self, model: &Model, batch: &Batch, options: &ForwardOptions) -> Result<Loss, ModelError> {
        let found = model.forward(&batch.input(model)?, options)?;
        let right = right_numbers(batch)?;
        let predicted = ops::at_least_f32(&found.logits)?.flatten_all()?;
        let right_ones = Tensor::new(right, predicted.device())?.to_dtype(predicted.dtype())?;
        let loss = (predicted - right_ones)?.sqr()?.mean_all()?;
        Ok(Loss { loss, labelled: right.len(), maps: found.maps, hidden: found.hidden })
    }

    /// The squared errors, and every right number with the predicted one: ranks are of all examples together.
    fn evaluate(&self, model: &Model, batch: &Batch) -> Result<Sums, ModelError> {
        let logits = model.forward(&batch.input(model)?, &ForwardOptions::default())?.logits.detach();
        let predicted = logits.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()?;
        let right = right_numbers(batch)?;
        let answers: Vec<[f64; 2]> =
            right.iter().zip(predicted).map(|(right, predicted)| [f64::from(*right), predicted]).collect();
        let errors: Vec<f64> = answers.iter().map(|[right, predicted]| (right - predicted).powi(2)).collect();
        let (loss, labelled) = (errors.iter().sum(), answers.len() as u64);
        Ok(Sums { loss, labelled, answers, examples: ExampleSums::of_answers(errors, None), ..Sums::default() })
    }
}

fn right_numbers(batch: &Batch) -> Result<&[f32], ModelError> {
    match &batch.answers {
        Some(Answers::Numbers(numbers)) => Ok(numbers),
        Some(Answers::Classes { .. } | Answers::Spans(_)) | None => {
            Err(ModelError::Unsupported("examples without numbers".to_owned()))
        }
    }
}

/// Pearson's correlation of pairs; NaN where one side is constant.
fn correlation(pairs: &[[f64; 2]]) -> f64 {
    let count = pairs.len() as f64;
    let mean = |side: usize| pairs.iter().map(|pair| pair[side]).sum::<f64>() / count;
    let (x0, y0) = (mean(0), mean(1));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for [x, y] in pairs {
        let (x, y) = (x - x0, y - y0);
        (xx, yy, xy) = (xx + x * x, yy + y * y, xy + x * y);
    }
    if xx > 0.0 && yy > 0.0 { xy / (xx * yy).sqrt() } else { f64::NAN }
}

fn rank_correlation(pairs: &[[f64; 2]]) -> f64 {
    let of = |side: usize| pairs.iter().map(|pair| pair[side]).collect::<Vec<_>>();
    let ranked: Vec<[f64; 2]> = ranks(&of(0)).into_iter().zip(ranks(&of(1))).map(|(x, y)| [x, y]).collect();
    correlation(&ranked)
}

/// The rank of each value, from 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    sorted.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    #[expect(clippy::float_cmp, reason = "only the same number shares a rank")]
    for equal in sorted.chunk_by(|(_, a), (_, b)| a == b) {
        let rank = before as f64 + f64::midpoint(equal.len() as f64, 1.0);
        for (place, _) in equal {
            ranks[*place] = rank;
        }
        before += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        name: String,
        pred: Vec<f64>,
        gold: Vec<f64>,
        pearson: Option<f64>,
        spearman: Option<f64>,
    }

    #[test]
    fn correlations_are_those_of_scipy_however_examples_are_cut() {
        let text = include_str!("../../../../tests/golden/metrics.json");
        let all: serde_json::Value = serde_json::from_str(text).unwrap();
        let goldens: Vec<Golden> = serde_json::from_value(all["correlation"].clone()).unwrap();
        assert!(goldens.len() > 3);
        for golden in goldens {
            let pairs: Vec<[f64; 2]> =
                golden.gold.iter().zip(&golden.pred).map(|(right, predicted)| [*right, *predicted]).collect();
            let mut sums = Sums::default();
            for answers in pairs.chunks(7) {
                let labelled = answers.len() as u64;
                sums.add(&Sums { labelled, answers: answers.to_vec(), ..Sums::default() });
            }
            for (metric, expected) in [(PEARSON, golden.pearson), (SPEARMAN, golden.spearman)] {
                let found = metric.value(&sums).unwrap();
                let is_right = expected.map_or(found.is_nan(), |expected| (found - expected).abs() < 1e-10);
                assert!(is_right, "{} {}: {found} {expected:?}", golden.name, metric.series);
            }
        }
    }

    #[test]
    fn equal_numbers_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(ranks(&[]), Vec::<f64>::new());
    }
}
