/// What an evaluation counted. Everything is a plain sum, so that it adds up over batches and no metric depends on how
/// examples were put into batches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// Loss in nats, summed over the labelled positions.
    pub loss: f64,
    /// Positions that have a label.
    pub labelled: u64,
    /// What the objective counts beside them, in an order of its own.
    pub counts: Vec<f64>,
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
    }

    /// Mean loss in nats per labelled position; NaN when nothing was labelled.
    pub fn mean_loss(&self) -> f64 {
        self.loss / self.labelled as f64
    }

    /// A count per labelled position; NaN when nothing was labelled.
    pub fn share(&self, count: usize) -> f64 {
        self.counts.get(count).copied().unwrap_or(0.0) / self.labelled as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_add_up_whatever_they_count() {
        let mut sums = Sums::default();
        assert!(sums.mean_loss().is_nan() && sums.share(0).is_nan());
        sums.add(&Sums { loss: 6.0, labelled: 3, counts: vec![1.0, 2.0] });
        sums.add(&Sums { loss: 2.0, labelled: 1, counts: vec![0.5] });
        assert_eq!((sums.mean_loss(), sums.share(0), sums.share(1)), (2.0, 0.375, 0.5));
    }
}
