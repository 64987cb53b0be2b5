//! The third question: how many pairs are scored.

use egui::Ui;
use headroom_engine::config::{Baseline, Coverage, EigenCoverage, PartialCoverage, Restore, RunConfig};

use super::{
    super::{
        difference::{Difference, Question, figures},
        field::Words,
        form::{Form, note_ui},
    },
    judged::Judged,
};

const COVERAGE: &str = "attention.coverage";
const PAIRS: Words = Words::new(
    "attention.coverage.k",
    "Pairs per row",
    "How many keys each query scores, k. A decoder's first queries, which see fewer, score all that they see.",
);
const DIRECTIONS: Words = Words::new(
    "attention.coverage.k",
    "Directions per row",
    "How many eigenvectors of its covariance each row is projected on, k.",
);
const RESTORE: Words = Words::new(
    "attention.coverage.restore",
    "Map to the others",
    "Whether R is trained, the map from the scored pairs of a row to its others: k numbers for each restored pair, \
     once for \
     all layers, or for each layer but the last.",
);
const FROM: Words = Words::new(
    "attention.coverage.from",
    "Pairs from run",
    "The name or id of a trained run that scores all pairs: pairs and R come from its best checkpoint. Empty: from the \
     warm-up of this run.",
);
const WARM_UP: Words = Words::new(
    "attention.coverage.warmup_steps",
    "Steps with all pairs",
    "Steps in which all pairs are scored, before pairs are chosen by what the model has learnt.",
);
const EXAMPLES: Words = Words::new(
    "attention.coverage.examples",
    "Examples for covariance",
    "Examples of the training text from whose scores the covariance is estimated.",
);

/// The answers by their name in the file.
const ANSWERS: [(&str, &str); 3] =
    [("full", "All of them"), ("partial", "Some, the others restored"), ("eigen", "All, projected (evaluation only)")];

fn words(kind: &str) -> Words {
    let help = match kind {
        "full" => {
            "Which pairs of positions are scored.\nAll: n² pairs of a text of n tokens; a decoder masks later \
             positions."
        }
        "partial" => {
            "In all layers but the last, a row of scores a is (a_P, R a_P) with R = C_P̄P C_PP⁻¹, where C is the \
             second \
             moment of a. Each next pair i of P takes away the most variance: the largest Σ_j C_ij² / C_ii. (Eigen \
             analysis, equations 6 to 9)"
        }
        _ => {
            "In all layers but the last, a row of scores a becomes Vᵀ V a with the k top eigenvectors V of its second \
             moment. (Eigen analysis, section 3)"
        }
    };
    Words::new(COVERAGE, "How many pairs", help)
}

fn note(kind: &str) -> &'static str {
    match kind {
        "full" => "Every pair that the mask allows is scored.",
        "partial" => "Each query scores its most informative keys; a linear map restores the others.",
        _ => "Every pair is scored, then each row keeps a few directions: for `headroom eval`, not for training.",
    }
}

/// An answer of this kind, with numbers that fit the length.
fn usual(kind: &str, config: &RunConfig) -> Coverage {
    let k = (config.data.sequence_length / 8).max(1);
    match kind {
        "partial" => {
            let steps = config.train.steps.unwrap_or(1000);
            let warmup_steps = PartialCoverage::default().warmup_steps.min((steps / 2).max(1));
            Coverage::Partial(PartialCoverage { k, warmup_steps, ..PartialCoverage::default() })
        }
        "eigen" => Coverage::Eigen(EigenCoverage { k }),
        _ => Coverage::default(),
    }
}

/// The answer with its numbers.
pub(super) fn coverage_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig, judged: &Judged<'_>) {
    let mut kind = config.attention.coverage.kind();
    let given = config.attention.coverage.clone();
    let cost = |kind: &&'static str| {
        let mut other = config.clone();
        other.attention.coverage = if *kind == given.kind() { given.clone() } else { usual(kind, config) };
        let of = figures(config, Question::Coverage.alone(&other));
        let baseline = figures(config, config.attention.baseline(Baseline::Standard));
        of.zip(baseline).map_or_else(String::new, |(of, baseline)| Difference { of, baseline }.words())
    };
    if form.choice_noted(ui, words(kind), &mut kind, &ANSWERS, cost) {
        config.attention.coverage = usual(kind, config);
        form.unreadable.forget("attention.coverage.");
    }
    note_ui(ui, note(kind));
    judged.difference_ui(ui, Question::Coverage);
    let most = config.data.sequence_length.saturating_sub(1);
    match &mut config.attention.coverage {
        Coverage::Full(_) => {}
        Coverage::Partial(PartialCoverage { k, restore, from, warmup_steps, examples }) => {
            form.slider(ui, PAIRS, k, most);
            let choices = [
                (Restore::Fixed, "Fixed"),
                (Restore::Common, "Trained, one for all layers"),
                (Restore::PerLayer, "Trained, one for each layer"),
            ];
            form.choice(ui, RESTORE, restore, &choices);
            form.optional_text(ui, FROM, from);
            if from.is_none() {
                form.whole(ui, WARM_UP, warmup_steps, 100);
            }
            form.size(ui, EXAMPLES, examples, 64);
        }
        Coverage::Eigen(EigenCoverage { k }) => drop(form.slider(ui, DIRECTIONS, k, most)),
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::attention::supported;

    use super::*;

    #[test]
    fn every_answer_can_be_chosen_and_fits_the_length() {
        for (length, steps) in [(2, None), (64, Some(40)), (128, Some(1))] {
            let mut config = RunConfig::default();
            (config.data.sequence_length, config.train.steps) = (length, steps);
            for (kind, _) in ANSWERS {
                let usual = usual(kind, &config);
                assert_eq!((usual.kind(), usual.problems(length)), (kind, vec![]));
                config.attention.coverage = usual;
                // There is no training with projections, and none of a single step with a warm-up.
                let is_sound = kind == "full" || (kind == "partial" && steps != Some(1));
                assert_eq!(supported(&config).is_empty(), is_sound, "{kind} {length}");
            }
        }
    }
}
