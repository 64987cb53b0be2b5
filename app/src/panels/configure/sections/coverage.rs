//! The third question: how many pairs are scored.

use egui::Ui;
use headroom_engine::config::{About, Coverage, EigenCoverage, PartialCoverage, Restore, RunConfig};

use super::{
    super::{difference::Question, field::Words, form::Form},
    answer::{GivenAnswer, answer_ui, sliders_ui},
    judged::Judged,
};

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
)
.empty("the warm-up of this run");
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

pub(super) const WORDS: [Words; 4] = [RESTORE, FROM, WARM_UP, EXAMPLES];

impl GivenAnswer for Coverage {
    const QUESTION: Question = Question::Coverage;
    const PATH: &'static str = "attention.coverage";
    const LABEL: &'static str = "How many pairs";

    fn of(config: &mut RunConfig) -> &mut Self {
        &mut config.attention.coverage
    }

    fn about(&self) -> About {
        self.about()
    }

    fn kinds() -> Vec<Self> {
        let (partial, eigen) = (PartialCoverage::default(), EigenCoverage::default());
        vec![Self::default(), Self::Partial(partial), Self::Eigen(eigen)]
    }

    fn usual(&self, config: &RunConfig) -> Self {
        let k = (config.data.sequence_length / 8).max(1);
        match self {
            Self::Full(_) => Self::default(),
            Self::Partial(_) => {
                let steps = config.train.steps.unwrap_or(1000);
                let warmup_steps = PartialCoverage::default().warmup_steps.min((steps / 2).max(1));
                Self::Partial(PartialCoverage { k, warmup_steps, ..PartialCoverage::default() })
            }
            Self::Eigen(_) => Self::Eigen(EigenCoverage { k }),
        }
    }
}

/// The answer with its numbers.
pub(super) fn coverage_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig, judged: &Judged<'_>) {
    answer_ui::<Coverage>(ui, form, config, judged);
    sliders_ui(ui, form, config.attention.coverage.numbers(config.data.sequence_length));
    if let Coverage::Partial(PartialCoverage { restore, from, warmup_steps, examples, .. }) =
        &mut config.attention.coverage
    {
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
            for coverage in Coverage::kinds() {
                let (kind, usual) = (coverage.kind(), coverage.usual(&config));
                assert_eq!((usual.kind(), usual.problems(length)), (kind, vec![]));
                config.attention.coverage = usual;
                // There is no training with projections, and none of a single step with a warm-up.
                let is_sound = kind == "full" || (kind == "partial" && steps != Some(1));
                assert_eq!(supported(&config).is_empty(), is_sound, "{kind} {length}");
            }
        }
    }
}
