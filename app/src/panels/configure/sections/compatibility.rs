//! The second question: how a head scores a pair.

use egui::Ui;
use headroom_engine::config::{Baseline, Biases, Compatibility, NumberValue, RunConfig, Standard};

use super::{
    super::{
        difference::{Difference, Question, figures},
        field::Words,
        form::{Form, note_ui},
    },
    judged::Judged,
};

const COMPATIBILITY: &str = "attention.compatibility";
const BIASES: Words = Words::new(
    "attention.compatibility.biases",
    "Biases",
    "Which maps of the layer have a bias. A key bias adds the same to all scores of a row, which softmax ignores.",
);

/// The answer with its numbers.
pub(super) fn compatibility_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig, judged: &Judged<'_>) {
    let given = config.attention.compatibility.clone();
    let usual = Compatibility::usual(&config.model);
    let of_kind = |kind: &str| usual.iter().find(|usual| usual.kind() == kind).unwrap_or(&given).clone();
    let cost = |kind: &&'static str| {
        let mut other = config.clone();
        other.attention.compatibility = if *kind == given.kind() { given.clone() } else { of_kind(kind) };
        let of = figures(config, Question::Compatibility.alone(&other));
        let baseline = figures(config, config.attention.baseline(Baseline::Standard));
        of.zip(baseline).map_or_else(String::new, |(of, baseline)| Difference { of, baseline }.words())
    };
    let answers: Vec<(&str, &str)> = usual.iter().map(|usual| (usual.kind(), usual.about().title)).collect();
    let mut kind = given.kind();
    let words = Words::new(COMPATIBILITY, "How a pair is scored", given.about().formula);
    if form.choice_noted(ui, words, &mut kind, &answers, cost) {
        config.attention.compatibility = of_kind(kind);
        form.unreadable.forget("attention.compatibility.");
    }
    note_ui(ui, config.attention.compatibility.about().note);
    judged.difference_ui(ui, Question::Compatibility);
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
        match number.value {
            NumberValue::Always(value) => form.size(ui, words, value, number.step),
            NumberValue::Optional(value) => form.optional_size(ui, words, value),
        };
    }
}
