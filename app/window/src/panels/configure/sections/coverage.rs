//! The third question: how many pairs are scored.

use egui::Ui;
use headroom_engine::config::{About, Coverage, EigenCoverage, FieldSpec, PartialCoverage, Restore, RunConfig};

use super::{
    super::{difference::Question, field::field, form::Form},
    answer::{GivenAnswer, answer_ui, sliders_ui},
    judged::Judged,
};

impl GivenAnswer for Coverage {
    const QUESTION: Question = Question::Coverage;
    const FIELD: FieldSpec = field!("attention.coverage.kind");

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
        form.named(ui, field!("attention.coverage.restore"), restore, &Restore::ALL);
        form.optional_text(ui, field!("attention.coverage.from"), from);
        if from.is_none() {
            form.whole(ui, field!("attention.coverage.warmup_steps"), warmup_steps);
        }
        form.size(ui, field!("attention.coverage.examples"), examples);
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
