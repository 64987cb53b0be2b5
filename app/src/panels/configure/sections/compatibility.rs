//! The second question: how a head scores a pair.

use egui::Ui;
use headroom_engine::config::{About, Biases, Compatibility, ModelConfig, NumberValue, RunConfig, Standard};

use super::{
    super::{difference::Question, field::Words, form::Form},
    answer::{GivenAnswer, answer_ui},
    judged::Judged,
};

const BIASES: Words = Words::new(
    "attention.compatibility.biases",
    "Biases",
    "Which maps of the layer have a bias. A key bias adds the same to all scores of a row, which softmax ignores.",
);

pub(super) const WORDS: [Words; 1] = [BIASES];

impl GivenAnswer for Compatibility {
    const QUESTION: Question = Question::Compatibility;
    const PATH: &'static str = "attention.compatibility";
    const LABEL: &'static str = "How a pair is scored";

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
        let choices = [
            (Biases::All, "On all maps"),
            (Biases::WithoutKey, "On all maps but the key's"),
            (Biases::None, "On none"),
        ];
        form.choice(ui, BIASES, biases, &choices);
    }
    for number in config.attention.compatibility.numbers(&config.model) {
        let words = Words::new(number.path, number.label, number.help);
        // More than the model's width would be no saving.
        let most = number.most.min(config.model.width);
        match number.value {
            NumberValue::Always(value) if !number.divides_heads => form.slider_from(ui, words, value, 1..=most),
            NumberValue::Always(value) => form.size(ui, words, value, number.step),
            NumberValue::Optional(value) => form.optional_size(ui, words.empty("as many as heads"), value),
        };
    }
}
