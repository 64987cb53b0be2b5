use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::Sums;
use crate::text::floats::Number;

/// A number that is recorded over the steps of a run: everything that stores, tables, charts and exports need to know of it.
#[derive(Clone, Copy)]
pub struct Metric {
    /// Its series in stores and in `--json`, `group/field`; fixed, since stores and scripts have it.
    pub series: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// A value in a sentence, with `{}` in its place.
    pub phrase: &'static str,
    /// Unit on axes; empty where values carry it or there is none.
    pub unit: &'static str,
    /// How values are written.
    pub quantity: Quantity,
    /// Which values are the good ones.
    pub direction: Direction,
    /// What it is, as a formula or in words.
    pub formula: &'static str,
    /// Its value from what an evaluation counted, of all batches together; none where it is logged as it comes.
    pub of_sums: Option<fn(&Sums) -> f64>,
    /// Relation to the outcomes of single examples; none where it is no mean over them, as BLEU, F1 and correlations are none.
    pub of_examples: Option<ExampleMetric>,
}

/// Relation of a metric to the outcomes of single examples: a mean over their labels, or a function of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleMetric {
    /// Loss per label.
    Loss,
    /// exp(loss per label).
    ExpOfLoss,
    /// Share of labels that were predicted correctly.
    Correct,
}

impl Metric {
    /// Its field in events: the last part of the name of its series.
    pub fn field(&self) -> &'static str {
        self.series.rsplit('/').next().unwrap_or(self.series)
    }

    /// Its value from what was counted; none where it does not come from an evaluation.
    pub fn value(&self, sums: &Sums) -> Option<f64> {
        self.of_sums.map(|of_sums| of_sums(sums))
    }

    /// A value, written already, in a sentence.
    pub fn sentence(&self, value: &str) -> String {
        self.phrase.replace("{}", value)
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.series == other.series
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Metric").field(&self.series).finish()
    }
}

/// How values of a metric are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// As they are.
    Number,
    /// 0 to 1, in percent.
    Share,
    /// Percent already.
    Percent,
    /// Bytes.
    Bytes,
    /// So many a second.
    Rate,
}

/// Which values of a series are the good ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The lower the better: losses.
    Lower,
    /// The higher the better: accuracies, speeds.
    Higher,
    /// Neither: a learning rate, a memory reading.
    None,
}

impl Direction {
    /// The direction's word in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::None => "none",
        }
    }

    /// The direction of a word; an unknown one has none.
    pub fn parse(word: &str) -> Self {
        match word {
            "lower" => Self::Lower,
            "higher" => Self::Higher,
            _ => Self::None,
        }
    }

    /// Whether `value` beats `best`. Non-finite values never do.
    pub fn improves(self, value: f64, best: Option<f64>) -> bool {
        if !value.is_finite() {
            return false;
        }
        match (self, best) {
            (Self::None, _) => false,
            (_, None) => true,
            (Self::Lower, Some(best)) => value < best,
            (Self::Higher, Some(best)) => value > best,
        }
    }
}

/// What a metric came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The metric.
    pub metric: &'static Metric,
    /// Its value.
    pub value: f64,
}

/// What an evaluation found beside its loss. In JSON the fields of the metrics with their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements(Vec<Measured>);

impl Measurements {
    /// The values of some metrics from what was counted.
    pub fn of(metrics: &'static [Metric], sums: &Sums) -> Self {
        let measured = |metric: &'static Metric| Some(Measured { metric, value: metric.value(sums)? });
        Self(metrics.iter().filter_map(measured).collect())
    }

    /// Values of some metrics, in their order.
    pub fn of_values(metrics: &'static [Metric], values: impl IntoIterator<Item = f64>) -> Self {
        Self(metrics.iter().zip(values).map(|(metric, value)| Measured { metric, value }).collect())
    }

    /// Adds what else was measured.
    pub fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// One after the other, in the order of the objective.
    pub fn iter(&self) -> impl Iterator<Item = Measured> {
        self.0.iter().copied()
    }
}

impl FromIterator<Measured> for Measurements {
    fn from_iter<T: IntoIterator<Item = Measured>>(measured: T) -> Self {
        Self(measured.into_iter().collect())
    }
}

impl Serialize for Measurements {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|measured| (measured.metric.field(), Number(measured.value))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_values_improve() {
        assert!(Direction::Lower.improves(1.0, None));
        assert!(!Direction::Lower.improves(f64::NEG_INFINITY, None));
        assert!(!Direction::Higher.improves(f64::NAN, Some(1.0)));
        assert!(Direction::Higher.improves(2.0, Some(1.0)));
        assert!(!Direction::Lower.improves(1.0, Some(1.0)));
        assert!(!Direction::None.improves(1.0, None));
    }
}
