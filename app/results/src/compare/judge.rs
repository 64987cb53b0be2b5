//! Whether runs may be judged against each other: one rule for the window and the command line.

use std::borrow::Cow;

use headroom_engine::{
    config::grouped,
    objective::Metric,
    store::{Direction, RunSummary},
};

use super::first_names;

/// Why a lower loss of one run is no better one than the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotJudged {
    /// They learn different things.
    Objective,
    /// They were measured on different held-out text or examples, or in other tokens.
    Text,
    /// They were evaluated on different examples of one validation set.
    Rows {
        /// Validation examples that each was evaluated on; none for all.
        examples: [Option<u64>; 2],
        /// True if both runs counted them; a run of an earlier version has only what its config asks for.
        is_counted: bool,
    },
}

impl NotJudged {
    /// The reason in words, for people.
    pub fn reason(self) -> Cow<'static, str> {
        match self {
            Self::Objective => "The runs have different objectives: their losses cannot be compared.".into(),
            Self::Text => {
                "The runs were measured on different held-out text or examples, or cut text by different tokenizers: what \
                 they came to cannot be compared."
                    .into()
            }
            Self::Rows { examples: [a, b], .. } if a == b => {
                "The runs were evaluated on validation examples of different lengths, or with other tokens hidden: what they \
                 came to cannot be compared."
                    .into()
            }
            Self::Rows { examples, is_counted } => {
                let [a, b] = examples.map(|count| count.map_or_else(|| "all".to_owned(), grouped));
                let source = if is_counted { "" } else { " (as their configs ask for)" };
                format!(
                    "The runs were evaluated on {a} and {b} validation examples{source}: what they came to cannot be compared."
                )
                .into()
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
    let (text_a, text_b) = a.held_out_hash.as_ref().zip(b.held_out_hash.as_ref())?;
    if text_a != text_b {
        return Some(NotJudged::Text);
    }
    let (is_counted, is_same) = match (&a.evaluated_hash, &b.evaluated_hash) {
        (Some(a), Some(b)) => (true, a == b),
        _ => (false, evaluated_examples(a, b) == evaluated_examples(b, a)),
    };
    let examples = if is_counted {
        [a.evaluated_examples, b.evaluated_examples]
    } else {
        [evaluated_examples(a, b), evaluated_examples(b, a)]
    };
    (!is_same).then_some(NotJudged::Rows { examples, is_counted })
}

/// Validation examples that a run was evaluated on, none for all: no more than the set has, where that is known of the run or of
/// another one with the same validation set.
fn evaluated_examples(run: &RunSummary, other: &RunSummary) -> Option<u64> {
    match (run.evaluated_examples, run.validation_examples.or(other.validation_examples)) {
        (Some(examples), Some(of)) => Some(examples.min(of)),
        (examples, of) => examples.or(of),
    }
}

/// Which of these are not judged against `base`, by their names, and why; a sentence for each reason. Where there are others, it says
/// that these are judged.
pub fn not_judged_words(base: &str, others: &[(&str, Option<NotJudged>)]) -> Vec<String> {
    let rest = if others.iter().any(|(_, why)| why.is_none()) { " The others are judged." } else { "" };
    let of = |why: NotJudged| {
        let names: Vec<&str> = others.iter().filter(|(_, own)| *own == Some(why)).map(|(name, _)| *name).collect();
        let told = || format!("Not judged against {base}: {}. {}{rest}", first_names(&names), why.reason());
        (!names.is_empty()).then(told)
    };
    let mut reasons = vec![NotJudged::Objective, NotJudged::Text];
    for why in others.iter().filter_map(|(_, why)| *why) {
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    reasons.into_iter().filter_map(of).collect()
}

/// A run against which the most of these may be judged; of those that were evaluated, where some were. The first of equal ones.
pub fn judged_by_most<'a>(runs: &[&'a RunSummary]) -> Option<&'a RunSummary> {
    // Of what was not evaluated nothing is known: it would go with every text.
    let is_known = |run: &&&RunSummary| run.held_out_hash.is_some();
    let is_any_known = runs.iter().any(|run| is_known(&run));
    let mut found: Vec<(&RunSummary, usize)> = Vec::new();
    for run in runs.iter().filter(|run| is_known(run) || !is_any_known).copied() {
        match found.iter_mut().find(|(first, _)| why_not_judged(first, run).is_none()) {
            Some((_, count)) => *count += 1,
            None => found.push((run, 1)),
        }
    }
    // Of equal ones the last is found.
    found.into_iter().rev().max_by_key(|(_, count)| *count).map(|(run, _)| run)
}

/// Whether it is how fast a run was. That depends on what else the machine did then, of which nothing is kept: a difference is told and
/// not judged.
pub fn is_rate(series: &str) -> bool {
    series.ends_with("_per_sec")
}

/// What is said where rates of runs are compared.
pub const RATE: &str = "What else the machine did then is not known, so no run is called faster: the panel Speed and \
                        `headroom bench` measure speed.";

/// Direction in which values of a series are better between two runs; none where a difference is told and not judged: that of a rate, and
/// of runs that have a reason for it.
pub fn judged_direction(series: &str, not_judged: Option<NotJudged>) -> Direction {
    if is_rate(series) || not_judged.is_some() { Direction::None } else { Direction::of(series) }
}

/// What a run learns, by the metrics that its objective alone has; none as long as it was not evaluated.
fn objective_of(run: &RunSummary) -> Vec<&'static str> {
    Metric::own_of_objectives().map(|metric| metric.series).filter(|series| run.metrics.contains_key(*series)).collect()
}

#[cfg(test)]
mod tests {
    use headroom_engine::objective::LearnedTask;
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
    fn those_that_are_not_judged_are_named_and_the_others_are_said_to_be() {
        let text = Some(NotJudged::Text);
        let told = not_judged_words("base", &[("a", None), ("b", text), ("c", text)]);
        let [told] = told.as_slice() else { panic!("{told:?}") };
        assert!(told.starts_with("Not judged against base: b, c. The runs were measured on different"), "{told}");
        assert!(told.ends_with("cannot be compared. The others are judged."), "{told}");
        let told = not_judged_words("base", &[("b", text), ("c", Some(NotJudged::Objective))]);
        assert!(told.len() == 2 && !told.iter().any(|words| words.contains("The others")), "{told:?}");
        assert!(not_judged_words("base", &[("a", None)]).is_empty());
    }

    #[test]
    fn the_text_of_most_is_that_of_evaluated_runs() {
        let run = |number: u64, hash: Option<&str>| RunSummary {
            held_out_hash: hash.map(str::to_owned),
            ..examples::summary(number, "run")
        };
        let runs = [run(1, None), run(2, Some("a")), run(3, Some("b")), run(4, Some("b")), run(5, None)];
        let of = |runs: &[RunSummary]| judged_by_most(&runs.iter().collect::<Vec<_>>()).map(|run| run.number);
        assert_eq!(of(&runs), Some(3));
        assert_eq!(of(&runs[..3]), Some(2), "the first of equal ones");
        assert_eq!((of(&runs[..1]), of(&[])), (Some(1), None));
    }

    #[test]
    fn losses_on_other_text_or_in_other_tokens_are_not_judged() {
        let run =
            |hash: Option<&str>| RunSummary { held_out_hash: hash.map(str::to_owned), ..examples::summary(1, "run") };
        assert_eq!(why_not_judged(&run(Some("a")), &run(Some("a"))), None);
        assert_eq!(why_not_judged(&run(Some("a")), &run(Some("b"))), Some(NotJudged::Text));
        assert_eq!(why_not_judged(&run(Some("a")), &run(None)), None, "nothing is known against it");
    }

    /// A run of batch 16 was evaluated on 256 examples and one of batch 2 on 32, and they were compared.
    #[test]
    fn losses_on_other_examples_of_one_validation_set_are_not_judged() {
        let run = |hash: Option<&str>, examples: Option<u64>, of: Option<u64>| RunSummary {
            evaluated_hash: hash.map(str::to_owned),
            evaluated_examples: examples,
            validation_examples: of,
            ..examples::summary(1, "run")
        };
        let new = |hash: &str, examples: u64| run(Some(hash), Some(examples), Some(300));
        assert_eq!(why_not_judged(&new("a", 256), &new("a", 256)), None);
        let why = why_not_judged(&new("a", 256), &new("b", 32)).unwrap();
        assert_eq!(why, NotJudged::Rows { examples: [Some(256), Some(32)], is_counted: true });
        assert!(why.reason().contains("evaluated on 256 and 32 validation examples: what"), "{}", why.reason());
        let why = why_not_judged(&new("a", 256), &new("b", 256)).unwrap();
        assert!(why.reason().contains("of different lengths"), "{}", why.reason());
        // Runs of earlier versions say how many they asked for.
        let old = |examples: Option<u64>| run(None, examples, None);
        assert_eq!(why_not_judged(&old(Some(256)), &old(Some(256))), None);
        assert_eq!(why_not_judged(&old(None), &old(None)), None);
        let why = why_not_judged(&old(None), &old(Some(1_024))).unwrap();
        assert!(why.reason().contains("on all and 1,024 validation examples (as"), "{}", why.reason());
        assert!(why_not_judged(&old(Some(256)), &old(Some(32))).is_some());
        // A newer run on the same set says how many there are.
        assert_eq!(why_not_judged(&old(Some(256)), &new("a", 256)), None);
        assert!(why_not_judged(&old(Some(32)), &new("a", 256)).is_some());
        for asked in [Some(300), Some(1_024), None] {
            assert_eq!(why_not_judged(&old(asked), &new("a", 300)), None, "{asked:?}");
            assert_eq!(why_not_judged(&new("a", 300), &old(asked)), None, "{asked:?}");
            assert!(why_not_judged(&old(asked), &new("a", 256)).is_some(), "{asked:?}");
        }
        let rows = why_not_judged(&new("a", 256), &new("b", 32));
        let told = not_judged_words("base", &[("small", rows), ("same", None)]);
        assert!(
            told.len() == 1 && told[0].starts_with("Not judged against base: small. The runs were evaluated"),
            "{told:?}"
        );
    }

    #[test]
    fn a_loss_is_judged_unless_there_is_a_reason_and_a_rate_never() {
        let why = Some(NotJudged::Text);
        assert_eq!(judged_direction(series_names::VALIDATION_LOSS, None), Direction::Lower);
        assert_eq!(judged_direction(series_names::VALIDATION_LOSS, why), Direction::None);
        assert_eq!(judged_direction(series_names::TRAIN_TOKENS_PER_SEC, None), Direction::None);
    }
}
