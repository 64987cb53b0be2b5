//! The second question: how a head scores a pair.

use egui::Ui;
use headroom_engine::config::{About, Biases, Compatibility, FieldSpec, ModelConfig, NumberValue, RunConfig, Standard};

use super::{
    super::{difference::Question, field::field, form::Form},
    answer::{GivenAnswer, answer_ui},
    judged::Judged,
};

impl GivenAnswer for Compatibility {
    const QUESTION: Question = Question::Compatibility;
    const FIELD: FieldSpec = field!("attention.compatibility.kind");

    fn of(config: &mut RunConfig) -> &mut Self {
        &mut config.attention.compatibility
    }

    fn about(&self) -> About {
        self.about()
    }

    fn kinds() -> Vec<Self> {
        Self::usual(&ModelConfig::default())
    }

    fn usual(&self, config: &RunConfig) -> Self {
        let usual = Self::usual(&config.model);
        usual.into_iter().find(|usual| usual.kind() == self.kind()).unwrap_or_default()
    }
}

/// The answer with its numbers.
pub(super) fn compatibility_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig, judged: &Judged<'_>) {
    answer_ui::<Compatibility>(ui, form, config, judged);
    if let Compatibility::Standard(Standard { biases }) = &mut config.attention.compatibility {
        form.named(ui, field!("attention.compatibility.biases"), biases, &Biases::ALL);
    }
    for number in config.attention.compatibility.numbers(&config.model) {
        // More than the model's width would be no saving.
        let most = number.most.min(config.model.width);
        match number.value {
            NumberValue::Always(value) if !number.divides_heads => form.slider_from(ui, number.field, value, 1..=most),
            NumberValue::Always(value) => form.size(ui, number.field, value),
            NumberValue::Optional(value) => form.optional_size(ui, number.field, value),
        };
    }
}
