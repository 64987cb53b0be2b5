//! Registry of metrics: every one that the program knows, by its series or its field.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};

use super::{
    Direction, LearnedTask, Measured, Measurements, Metric, Objective, Quantity, RECORDED, agreement::AGREEMENT,
    recorded::VALIDATION_LOSS, text_scores::TEXT_SCORES,
};
use crate::text::floats::Number;

impl Metric {
    /// The metric of a series, if it is one that the program knows.
    pub fn find(series: &str) -> Option<&'static Self> {
        RECORDED
            .iter()
            .chain(Self::of_objectives())
            .chain(AGREEMENT)
            .chain(TEXT_SCORES)
            .find(|metric| metric.series == series)
    }

    /// The metrics of evaluations, of all objectives; each begins with the loss.
    pub fn of_objectives() -> impl Iterator<Item = &'static Self> {
        Objective::EXAMPLES.into_iter().flat_map(|objective| objective.task().metrics())
    }

    /// Those that not every objective has, each once: all but the loss. They tell what a run learns.
    pub fn own_of_objectives() -> impl Iterator<Item = &'static Self> {
        let mut told = BTreeSet::from([VALIDATION_LOSS.series]);
        Self::of_objectives().filter(move |metric| told.insert(metric.series))
    }

    /// All but the loss that evaluations of some run find: those of objectives, of the built-in grammar and of translations.
    pub fn of_evaluations() -> impl Iterator<Item = &'static Self> {
        Self::own_of_objectives().chain(AGREEMENT).chain(TEXT_SCORES)
    }
}

impl Quantity {
    /// How values of a series are written; of one that the program does not know, judged by the end of its name.
    pub fn of(series: &str) -> Self {
        match Metric::find(series) {
            Some(metric) => metric.quantity,
            None if series.ends_with("accuracy") => Self::Share,
            None if series.ends_with("_bytes") => Self::Bytes,
            None if series.ends_with("tokens_per_sec") => Self::Rate,
            None if series.ends_with("_percent") => Self::Percent,
            None => Self::Number,
        }
    }
}

impl Direction {
    /// The direction of a series; of one that the program does not know, judged by the end of its name.
    pub fn of(series: &str) -> Self {
        let ends = |words: &[&str]| words.iter().any(|word| series.ends_with(word));
        match Metric::find(series) {
            Some(metric) => metric.direction,
            None if ends(&["loss", "perplexity", "error"]) => Self::Lower,
            None if ends(&[
                "accuracy",
                "bleu",
                "exact_match",
                "f1",
                "matthews",
                "pearson",
                "score",
                "spearman",
                "_per_sec",
            ]) =>
            {
                Self::Higher
            }
            None => Self::None,
        }
    }
}

impl<'de> Deserialize<'de> for Measurements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values: BTreeMap<String, Number> = BTreeMap::deserialize(deserializer)?;
        // Scores of written texts come all together; one of them has the field of another metric.
        let has_scores = TEXT_SCORES.iter().all(|metric| values.contains_key(metric.field()));
        let scores = if has_scores { TEXT_SCORES } else { &[] };
        let is_score = |metric: &&Metric| scores.iter().any(|score| score.field() == metric.field());
        let mut found = Vec::new();
        for metric in Metric::own_of_objectives().chain(AGREEMENT).filter(|metric| !is_score(metric)).chain(scores) {
            if let Some(Number(value)) = values.get(metric.field()) {
                found.push(Measured { metric, value: *value });
            }
        }
        Ok(found.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sums;
    use super::*;

    #[test]
    fn a_series_that_nobody_described_is_judged_by_its_name() {
        assert_eq!((Direction::of("probe/loss"), Quantity::of("probe/loss")), (Direction::Lower, Quantity::Number));
        assert_eq!((Direction::of("test/f1"), Quantity::of("test/f1")), (Direction::Higher, Quantity::Number));
        assert_eq!((Direction::of("x/accuracy"), Quantity::of("x/accuracy")), (Direction::Higher, Quantity::Share));
        assert_eq!((Direction::of("x/any_bytes"), Quantity::of("x/any_bytes")), (Direction::None, Quantity::Bytes));
    }

    /// Stores of earlier versions wrote down the direction that the name gives.
    #[test]
    fn descriptors_and_names_agree_on_the_direction() {
        for metric in RECORDED.iter().chain(Metric::of_objectives()) {
            let unknown = format!("unknown-{}", metric.field());
            assert_eq!(metric.direction, Direction::of(&unknown), "{metric:?}");
        }
    }

    #[test]
    fn measurements_are_fields_by_name_and_come_back() {
        for objective in Objective::EXAMPLES {
            let metrics = objective.task().metrics().split_at(1).1;
            let found = Measurements::of(metrics, &Sums::example());
            let text = serde_json::to_string(&found).unwrap();
            for measured in found.iter() {
                assert!(text.contains(&format!("\"{}\":", measured.metric.field())), "{text}");
            }
            assert_eq!(serde_json::from_str::<Measurements>(&text).unwrap(), found);
        }
        let mut found = Measurements::of_values(AGREEMENT, (1..).map(f64::from));
        found.extend(Measurements::of_values(TEXT_SCORES, (1..).map(f64::from)));
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Measurements>(&text).unwrap(), found);
    }
}
