use super::{ExampleSums, Guesses};

/// What an evaluation counted. It adds up over batches, so that no metric depends on how examples were put into batches: plain
/// sums, and where a metric is of all examples together (ranks) the examples themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// Loss, in nats where it is a cross-entropy, summed over the labelled positions or examples.
    pub loss: f64,
    /// Positions, or examples, that have a label.
    pub labelled: u64,
    /// What the objective counts beside them, in an order of its own.
    pub counts: Vec<f64>,
    /// The right number of each example and the predicted one, where numbers are learnt.
    pub answers: Vec<[f64; 2]>,
    /// What was said of questions about paragraphs, where these are answered.
    pub guesses: Guesses,
    /// Loss and labels of the single examples, in the order in which they were read.
    pub examples: ExampleSums,
}

impl Sums {
    /// Adds another batch.
    pub fn add(&mut self, other: &Self) {
        self.loss += other.loss;
        self.labelled += other.labelled;
        self.counts.resize(self.counts.len().max(other.counts.len()), 0.0);
        for (sum, more) in self.counts.iter_mut().zip(&other.counts) {
            *sum += more;
        }
        self.answers.extend_from_slice(&other.answers);
        self.guesses.add(&other.guesses);
        self.examples.add(&other.examples);
    }

    /// Mean loss per labelled position, in nats where it is a cross-entropy; NaN when nothing was labelled.
    pub fn mean_loss(&self) -> f64 {
        self.loss / self.labelled as f64
    }

    /// A count per labelled position; NaN when nothing was labelled.
    pub fn share(&self, count: usize) -> f64 {
        self.counts.get(count).copied().unwrap_or(0.0) / self.labelled as f64
    }
}

#[cfg(test)]
impl Sums {
    /// Sums of which the metrics of every objective are numbers.
    pub(super) fn example() -> Self {
        let answers = vec![[1.0, 2.0], [2.0, 3.0], [3.0, 1.0], [4.0, 4.0]];
        Self {
            loss: 2.0,
            labelled: 4,
            counts: vec![1.0],
            answers,
            guesses: Guesses::example(),
            examples: ExampleSums::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_add_up_whatever_they_count() {
        let mut sums = Sums::default();
        assert!(sums.mean_loss().is_nan() && sums.share(0).is_nan());
        sums.add(&Sums {
            loss: 6.0,
            labelled: 3,
            counts: vec![1.0, 2.0],
            answers: vec![[1.0, 2.0]],
            ..Sums::default()
        });
        sums.add(&Sums { loss: 2.0, labelled: 1, counts: vec![0.5], answers: vec![[3.0, 4.0]], ..Sums::default() });
        assert_eq!((sums.mean_loss(), sums.share(0), sums.share(1)), (2.0, 0.375, 0.5));
        assert_eq!(sums.answers, [[1.0, 2.0], [3.0, 4.0]]);
    }
}
