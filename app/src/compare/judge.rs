//! Whether runs may be judged against each other: one rule for the window and the command line.

use headroom_engine::store::{Direction, RunSummary, series_names};

/// Why a lower loss of one run is no better one than the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotJudged {
    /// One guesses hidden tokens, the other the next one.
    Objective,
    /// Their losses were measured on different held-out text, or in other tokens.
    Text,
}

impl NotJudged {
    /// The reason in words, for people.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Objective => {
                "Encoders guess hidden tokens, decoders the next one: their losses are not to be compared, so none is \
                 called better."
            }
            Self::Text => {
                "The runs were measured on different held-out text or cut it by different tokenizers: losses per token \
                 are not to be compared, so none is called better."
            }
        }
    }
}

/// Why what two runs make of text cannot be judged; none where it can, or where one of them was not evaluated yet.
pub fn why_not_judged(a: &RunSummary, b: &RunSummary) -> Option<NotJudged> {
    let differs = |a: Option<_>, b: Option<_>| a.zip(b).is_some_and(|(a, b)| a != b);
    if differs(guesses_hidden(a), guesses_hidden(b)) {
        return Some(NotJudged::Objective);
    }
    a.held_out_hash.as_ref().zip(b.held_out_hash.as_ref()).is_some_and(|(a, b)| a != b).then_some(NotJudged::Text)
}

/// Which values of a series are the better ones between two runs. How fast a run is can always be judged.
pub fn direction_between(series: &str, why_not: Option<NotJudged>) -> Direction {
    let is_of_text = !series.ends_with("_per_sec");
    if is_of_text && why_not.is_some() { Direction::None } else { Direction::of(series) }
}

/// Whether a run learns to guess hidden tokens (encoder) or the next one (decoder), once it was evaluated.
fn guesses_hidden(run: &RunSummary) -> Option<bool> {
    let has = |name| run.metrics.contains_key(name);
    match (has(series_names::VALIDATION_MASKED_ACCURACY), has(series_names::VALIDATION_PERPLEXITY)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspector::examples;

    #[test]
    fn an_encoder_and_a_decoder_have_no_objective_in_common() {
        let evaluated = |name: &str| {
            let mut run = examples::summary(1, "run");
            let loss = run.metrics[series_names::VALIDATION_LOSS].clone();
            run.metrics.insert(name.to_owned(), loss);
            run
        };
        let encoder = evaluated(series_names::VALIDATION_MASKED_ACCURACY);
        let decoder = evaluated(series_names::VALIDATION_PERPLEXITY);
        assert_eq!(why_not_judged(&encoder, &encoder), None);
        assert_eq!(why_not_judged(&decoder, &decoder), None);
        assert_eq!(why_not_judged(&encoder, &decoder), Some(NotJudged::Objective));
        assert_eq!(why_not_judged(&encoder, &examples::summary(2, "not evaluated yet")), None);
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
    fn speed_is_judged_whatever_the_text() {
        let why = Some(NotJudged::Text);
        assert_eq!(direction_between(series_names::VALIDATION_LOSS, None), Direction::Lower);
        assert_eq!(direction_between(series_names::VALIDATION_LOSS, why), Direction::None);
        assert_eq!(direction_between(series_names::VALIDATION_MASKED_ACCURACY, why), Direction::None);
        assert_eq!(direction_between(series_names::TRAIN_TOKENS_PER_SEC, why), Direction::Higher);
    }
}
