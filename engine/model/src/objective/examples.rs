use std::collections::BTreeMap;

use super::IGNORED;
use crate::model::LabelOutcome;

/// Outcomes of single examples: with `labels`, what [`super::Sums`] adds up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExampleSums {
    /// Loss of each example, summed over its labels.
    pub loss: Vec<f64>,
    /// Labels of each example.
    pub labels: Vec<u32>,
    /// Labels of each example that were predicted right, where the objective counts them.
    pub correct: Option<Vec<u32>>,
}

impl ExampleSums {
    /// Outcomes of examples with one label each.
    pub(super) fn of_answers(loss: Vec<f64>, correct: Option<Vec<u32>>) -> Self {
        Self { labels: vec![1; loss.len()], loss, correct }
    }

    /// Outcomes of rows of `sequence` positions with the labels `labels`; `found` is of the labelled ones, in their order.
    pub(super) fn of_labels(labels: &[i64], sequence: usize, found: &[LabelOutcome], counts_correct: bool) -> Self {
        let mut found = found.iter();
        let mut examples = Self { correct: counts_correct.then(Vec::new), ..Self::default() };
        for row in labels.chunks(sequence.max(1)) {
            let count = row.iter().filter(|label| **label != IGNORED).count();
            let (mut loss, mut correct) = (0.0, 0);
            for label in found.by_ref().take(count) {
                loss += label.loss;
                correct += u32::from(label.is_correct);
            }
            examples.loss.push(loss);
            examples.labels.push(count as u32);
            examples.correct.as_mut().into_iter().for_each(|all| all.push(correct));
        }
        examples
    }

    /// Adds those of another batch.
    pub(super) fn add(&mut self, other: &Self) {
        if self.loss.is_empty() {
            self.clone_from(other);
            return;
        }
        self.loss.extend_from_slice(&other.loss);
        self.labels.extend_from_slice(&other.labels);
        self.correct = self.correct.take().zip(other.correct.as_ref()).map(|(mut all, more)| {
            all.extend_from_slice(more);
            all
        });
    }

    /// Orders them by their numbers, of which there is one for each; those with the same number become one.
    #[must_use]
    pub fn by_number(&self, numbers: &[usize]) -> Self {
        let mut all: BTreeMap<usize, (f64, u32, u32)> = BTreeMap::new();
        let correct = |place: usize| self.correct.as_ref().and_then(|all| all.get(place)).copied().unwrap_or(0);
        for (place, ((number, loss), labels)) in numbers.iter().zip(&self.loss).zip(&self.labels).enumerate() {
            let known = all.entry(*number).or_default();
            *known = (known.0 + loss, known.1 + labels, known.2 + correct(place));
        }
        Self {
            loss: all.values().map(|(loss, ..)| *loss).collect(),
            labels: all.values().map(|(_, labels, _)| *labels).collect(),
            correct: self.correct.as_ref().map(|_| all.values().map(|(.., correct)| *correct).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_summed_row_by_row() {
        let labels = [IGNORED, 4, 5, IGNORED, IGNORED, IGNORED, 1, IGNORED, IGNORED];
        let found =
            [(1.0, true), (2.5, false), (4.0, true)].map(|(loss, is_correct)| LabelOutcome { loss, is_correct });
        let examples = ExampleSums::of_labels(&labels, 3, &found, true);
        assert_eq!((examples.loss, examples.labels), (vec![3.5, 0.0, 4.0], vec![2, 0, 1]));
        assert_eq!(examples.correct, Some(vec![1, 0, 1]));
        assert_eq!(ExampleSums::of_labels(&labels, 3, &found, false).correct, None);
    }

    #[test]
    fn examples_come_in_the_order_of_their_numbers_and_windows_of_one_are_added() {
        let mut all = ExampleSums::default();
        all.add(&ExampleSums::of_answers(vec![1.0, 2.0, 3.0], Some(vec![1, 0, 1])));
        all.add(&ExampleSums::of_answers(vec![4.0, 5.0], Some(vec![0, 1])));
        let sorted = all.by_number(&[9, 2, 7, 2, 0]);
        assert_eq!((sorted.loss, sorted.labels), (vec![5.0, 6.0, 3.0, 1.0], vec![1, 2, 1, 1]));
        assert_eq!(sorted.correct, Some(vec![1, 0, 1, 1]));
    }
}
