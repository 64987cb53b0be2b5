//! Classification of one or two texts: an output for each class, from the first position (Devlin et al. 2019, section 4.1).

use candle_core::{Device, Tensor};

use super::{
    Answers, Batch, Direction, ExampleMetric, ExampleSums, Metric, Quantity, Sums, Task, recorded::VALIDATION_LOSS,
};
use crate::{
    config::Classification,
    model::{ForwardOptions, Loss, Model, ModelError},
    ops,
};

const fn of_confusion(series: &'static str, title: &'static str, of_sums: fn(&Sums) -> f64) -> Metric {
    Metric {
        series,
        title,
        phrase: "{}",
        unit: "",
        quantity: Quantity::Number,
        direction: Direction::Higher,
        formula: "",
        of_sums: Some(of_sums),
        of_examples: None,
    }
}

/// Share of examples whose most probable class is the right one, 0..=1.
const ACCURACY: Metric = Metric {
    phrase: "{} of examples right",
    quantity: Quantity::Share,
    formula: "examples whose most probable class is the right one / examples",
    of_examples: Some(ExampleMetric::Correct),
    ..of_confusion("validation/accuracy", "Accuracy", |sums| Confusion::of(sums).accuracy())
};

/// 0..=1.
const F1: Metric = Metric {
    phrase: "F1 {}",
    quantity: Quantity::Share,
    formula: "of classes 2 tp / (2 tp + fp + fn) of the last class where there are two, else the mean of all classes; 0 where a class is \
              neither there nor predicted; of answers to questions the mean of that of their words",
    ..of_confusion("validation/f1", "F1", |sums| Confusion::of(sums).f1())
};

/// -1..=1, 0 = no better than chance.
const MATTHEWS: Metric = Metric {
    phrase: "Matthews correlation {}",
    formula: "correlation of right and predicted classes (Gorodkin 2004): 1 = all right, 0 = as good as chance, or nothing but \
              one class",
    ..of_confusion("validation/matthews", "Matthews correlation", |sums| Confusion::of(sums).matthews())
};

impl Task for Classification {
    fn metrics(&self) -> &'static [Metric] {
        const { &[VALIDATION_LOSS, ACCURACY, F1, MATTHEWS] }
    }

    fn class_counts(&self, sums: &Sums) -> Option<Vec<Vec<u64>>> {
        let rows = Confusion::of(sums);
        Some(rows.rows().map(|row| row.iter().map(|count| *count as u64).collect()).collect())
    }

    fn loss_unit(&self) -> &'static str {
        "nats per example"
    }

    /// Classes 0 and 1 in turns.
    fn random_answers(&self, batch: usize) -> Option<Answers> {
        Some(Answers::Classes { classes: (0..batch).map(|row| (row % 2) as u32).collect(), weights: None })
    }

    /// Mean cross-entropy over the examples; with class weights w the sum of w times loss over the sum of w.
    fn loss_weight(&self, batch: &Batch) -> f64 {
        match &batch.answers {
            Some(Answers::Classes { weights: Some(weights), .. }) => {
                weights.iter().map(|weight| f64::from(*weight)).sum()
            }
            _ => batch.targets() as f64,
        }
    }

    fn loss(&self, model: &Model, batch: &Batch, options: &ForwardOptions) -> Result<Loss, ModelError> {
        let found = model.forward(&batch.input(model)?, options)?;
        let (classes, weights) = right_classes(batch)?;
        let loss = match weights {
            Some(weights) => ops::weighted_cross_entropy(&found.logits, classes, weights)?,
            None => ops::cross_entropy(&found.logits, &labels_of(classes)?)?,
        };
        Ok(Loss { loss, labelled: classes.len(), maps: found.maps, hidden: found.hidden })
    }

    /// The loss, of all classes alike, and the counts of every right class with every predicted one.
    fn evaluate(&self, model: &Model, batch: &Batch) -> Result<Sums, ModelError> {
        let logits = model.forward(&batch.input(model)?, &ForwardOptions::default())?.logits.detach();
        let (classes, _) = right_classes(batch)?;
        let found = ops::cross_entropy_by_row(&logits, &labels_of(classes)?)?;
        let predicted = logits.argmax(1)?.to_vec1::<u32>()?;
        let counts = Confusion::count(logits.dim(1)?, classes, &predicted).0;
        let correct = classes.iter().zip(&predicted).map(|(class, predicted)| u32::from(class == predicted)).collect();
        Ok(Sums {
            loss: found.mean * classes.len() as f64,
            labelled: classes.len() as u64,
            counts,
            examples: ExampleSums::of_answers(found.rows, Some(correct)),
            ..Sums::default()
        })
    }
}

fn labels_of(classes: &[u32]) -> Result<Tensor, ModelError> {
    let labels: Vec<i64> = classes.iter().map(|class| i64::from(*class)).collect();
    Ok(Tensor::new(labels.as_slice(), &Device::Cpu)?)
}

fn right_classes(batch: &Batch) -> Result<(&[u32], Option<&[f32]>), ModelError> {
    match &batch.answers {
        Some(Answers::Classes { classes, weights }) => Ok((classes, weights.as_deref())),
        Some(Answers::Numbers(_) | Answers::Spans(_)) | None => {
            Err(ModelError::Unsupported("examples without classes".to_owned()))
        }
    }
}

/// How often each class was predicted where each is right: C by C counts, rows of right classes.
struct Confusion(Vec<f64>);

impl Confusion {
    fn count(classes: usize, right: &[u32], predicted: &[u32]) -> Self {
        let mut counts = vec![0.0; classes * classes];
        for (right, predicted) in right.iter().zip(predicted) {
            counts[*right as usize * classes + *predicted as usize] += 1.0;
        }
        Self(counts)
    }

    fn of(sums: &Sums) -> Self {
        Self(sums.counts.clone())
    }

    fn classes(&self) -> usize {
        self.0.len().isqrt()
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.0.chunks_exact(self.classes().max(1))
    }

    fn all(&self) -> f64 {
        self.0.iter().sum()
    }

    fn correct(&self) -> f64 {
        self.0.iter().step_by(self.classes() + 1).sum()
    }

    /// How often each class is right, and how often it was predicted.
    fn totals(&self) -> Vec<(f64, f64)> {
        let predicted = |class: usize| self.rows().map(|row| row[class]).sum();
        self.rows().enumerate().map(|(class, row)| (row.iter().sum(), predicted(class))).collect()
    }

    fn accuracy(&self) -> f64 {
        self.correct() / self.all()
    }

    fn f1(&self) -> f64 {
        let hits = self.0.iter().step_by(self.classes() + 1);
        // 2 tp + fp + fn = right ones + predicted ones.
        let each =
            hits.zip(self.totals()).map(
                |(hits, (right, predicted))| {
                    if right + predicted > 0.0 { 2.0 * hits / (right + predicted) } else { 0.0 }
                },
            );
        let each: Vec<f64> = each.collect();
        match each.as_slice() {
            [_, positive] => *positive,
            all => all.iter().sum::<f64>() / all.len() as f64,
        }
    }

    fn matthews(&self) -> f64 {
        let (all, totals) = (self.all(), self.totals());
        let sum = |of: fn(&(f64, f64)) -> f64| totals.iter().map(of).sum::<f64>();
        let joint = self.correct() * all - sum(|(right, predicted)| right * predicted);
        let spread = (all * all - sum(|(right, _)| right * right)) * (all * all - sum(|(_, other)| other * other));
        if spread > 0.0 { joint / spread.sqrt() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        name: String,
        classes: usize,
        pred: Vec<u32>,
        gold: Vec<u32>,
        accuracy: f64,
        matthews: f64,
        f1_positive_1: f64,
        f1_macro: f64,
    }

    #[test]
    fn metrics_are_those_of_scikit_learn_however_examples_are_cut() {
        let text = include_str!("../../../../tests/golden/metrics.json");
        let all: serde_json::Value = serde_json::from_str(text).unwrap();
        let goldens: Vec<Golden> = serde_json::from_value(all["classification"].clone()).unwrap();
        assert!(goldens.len() > 4);
        for golden in goldens {
            let mut sums = Sums::default();
            for (right, predicted) in golden.gold.chunks(7).zip(golden.pred.chunks(7)) {
                let counts = Confusion::count(golden.classes, right, predicted).0;
                sums.add(&Sums { labelled: right.len() as u64, counts, ..Sums::default() });
            }
            let f1 = if golden.classes == 2 { golden.f1_positive_1 } else { golden.f1_macro };
            for (metric, expected) in [(ACCURACY, golden.accuracy), (F1, f1), (MATTHEWS, golden.matthews)] {
                let found = metric.value(&sums).unwrap();
                assert!((found - expected).abs() < 1e-12, "{} {}: {found} {expected}", golden.name, metric.series);
            }
        }
    }
}
