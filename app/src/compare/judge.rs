//! Whether runs may be judged against each other: one rule for the window and the command line.

use headroom_engine::{
    objective::Metric,
    store::{Direction, RunSummary},
};

/// Why a lower loss of one run is no better one than the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotJudged {
    /// They learn different things.
    Objective,
    /// They were measured on different held-out text or examples, or in other tokens.
    Text,
}

impl NotJudged {
    /// The reason in words, for people.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Objective => {
                "The runs have different objectives: their losses cannot be compared, so none is called better."
            }
            Self::Text => {
                "The runs were measured on different held-out text or examples, or cut text by different tokenizers: what \
                 they came to cannot be compared, so none is called better."
            }
        }
    }
}

/// Why what two runs make of text cannot be judged; none where it can, or where one of them was not evaluated yet.
pub fn why_not_judged(a: &RunSummary, b: &RunSummary) -> Option<NotJudged> {
    let (learns_a, learns_b) = (objective_of(a), objective_of(b));
    if !learns_a.is_empty() && !learns_b.is_empty() && learns_a != learns_b {
        return Some(NotJudged::Objective);
    }
    a.held_out_hash.as_ref().zip(b.held_out_hash.as_ref()).is_some_and(|(a, b)| a != b).then_some(NotJudged::Text)
}

/// Whether it is how fast a run was. That depends on what else the machine did then, of which nothing is kept: a difference is told and
/// not judged.
pub fn is_rate(series: &str) -> bool {
    series.ends_with("_per_sec")
}

/// What is said where rates of runs are compared.
pub const RATE: &str = "What else the machine did then is not known, so no run is called faster: the panel Speed and \
                        `headroom bench` measure speed.";

/// Which values of a series are the better ones between two runs, whatever the text where it is a rate.
pub fn direction_between(series: &str, why_not: Option<NotJudged>) -> Direction {
    if !is_rate(series) && why_not.is_some() { Direction::None } else { Direction::of(series) }
}

/// What a run learns, by the metrics that its objective alone has; none as long as it was not evaluated.
fn objective_of(run: &RunSummary) -> Vec<&'static str> {
    Metric::own_of_objectives().map(|metric| metric.series).filter(|series| run.metrics.contains_key(*series)).collect()
}

#[cfg(test)]
mod tests {
    use headroom_engine::{objective::Objective, store::series_names};

    use super::*;
    use crate::examples;

    #[test]
    fn runs_of_different_objectives_are_not_judged() {
        let runs = Objective::EXAMPLES.map(|objective| {
            let mut run = examples::summary(1, "run");
            let loss = run.metrics[series_names::VALIDATION_LOSS].clone();
            let metrics = objective.task().metrics().iter();
            run.metrics.extend(metrics.map(|metric| (metric.series.to_owned(), loss.clone())));
            run
        });
        for (i, a) in runs.iter().enumerate() {
            for (j, b) in runs.iter().enumerate() {
                assert_eq!(why_not_judged(a, b), (i != j).then_some(NotJudged::Objective));
            }
            assert_eq!(why_not_judged(a, &examples::summary(2, "not evaluated yet")), None);
        }
    }

    #[test]
    fn no_reason_speaks_of_a_metric_that_may_not_be_the_one_that_is_compared() {
        let reason = NotJudged::Text.reason();
        assert!(reason.contains("different tokenizers") && !reason.contains("loss"), "{reason}");
    }

    #[test]
    fn losses_on_other_text_or_in_other_tokens_are_not_judged() {
        let run =
            |hash: Option<&str>| RunSummary { held_out_hash: hash.map(str::to_owned), ..examples::summary(1, "run") };
        assert_eq!(why_not_judged(&run(Some("a")), &run(Some("a"))), None);
        assert_eq!(why_not_judged(&run(Some("a")), &run(Some("b"))), Some(NotJudged::Text));
        assert_eq!(why_not_judged(&run(Some("a")), &run(None)), None, "nothing is known against it");
    }

    #[test]
    fn the_good_values_of_a_rate_are_the_same_whatever_the_text() {
        let why = Some(NotJudged::Text);
        assert_eq!(direction_between(series_names::VALIDATION_LOSS, None), Direction::Lower);
        assert_eq!(direction_between(series_names::VALIDATION_LOSS, why), Direction::None);
        assert_eq!(direction_between(series_names::TRAIN_TOKENS_PER_SEC, why), Direction::Higher);
    }
}
