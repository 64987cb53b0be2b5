//! What the questions about attention have in common: the answers with what each would change, and the numbers of the
//! one that was given.

use egui::Ui;
use headroom_engine::{
    attention::ModelFacts,
    config::{About, Baseline, FieldSpec, Number, NumberValue, RunConfig},
};

use super::{
    super::{
        difference::{Difference, Question, figures},
        form::{Form, note_ui},
    },
    judged::Judged,
};

/// An answer to one of the questions.
pub(super) trait GivenAnswer: Clone {
    /// The question.
    const QUESTION: Question;
    /// The field of its kind.
    const FIELD: FieldSpec;

    /// Where a config has it.
    fn of(config: &mut RunConfig) -> &mut Self;

    /// What people read of it.
    fn about(&self) -> About;

    /// One of each kind, in menu order.
    fn kinds() -> Vec<Self>;

    /// One of the same kind with numbers that suit a config.
    fn usual(&self, config: &RunConfig) -> Self;
}

/// Draws the answers, what the given one is and what it alone changes.
pub(super) fn answer_ui<A: GivenAnswer>(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig, judged: &Judged<'_>) {
    let given = A::of(config).clone();
    let kinds = A::kinds();
    let of_kind = |kind: &str, config: &RunConfig| {
        let found = kinds.iter().find(|answer| answer.about().kind == kind && kind != given.about().kind);
        found.map_or_else(|| given.clone(), |answer| answer.usual(config))
    };
    let facts = judged.estimate.map_or_else(ModelFacts::default, |estimate| estimate.facts.clone());
    let cost = |kind: &&'static str| {
        let mut other = config.clone();
        *A::of(&mut other) = of_kind(kind, config);
        let of = figures(config, &A::QUESTION.alone(&other), &facts);
        let baseline = figures(config, &config.attention.baseline(Baseline::Standard), &facts);
        of.zip(baseline).map_or_else(String::new, |(of, baseline)| Difference { of, baseline }.words())
    };
    let answers: Vec<(&str, &str)> = kinds.iter().map(|answer| (answer.about().kind, answer.about().title)).collect();
    let mut kind = given.about().kind;
    let field = A::FIELD.explained(given.about().formula);
    if form.choice_noted(ui, field, &mut kind, &answers, cost) {
        *A::of(config) = of_kind(kind, config);
        form.unreadable.forget(&format!("{}.", A::FIELD.place().0));
    }
    note_ui(ui, A::of(config).about().note);
    judged.difference_ui(ui, A::QUESTION);
}

/// A slider for each number, from 0 to the most that is allowed.
pub(super) fn sliders_ui(ui: &mut Ui, form: &mut Form<'_>, numbers: Vec<Number<'_>>) {
    for Number { field, most, value, .. } in numbers {
        match value {
            NumberValue::Always(value) => form.slider(ui, field, value, most),
            NumberValue::Optional(value) => form.optional_slider(ui, field, value, most),
        };
    }
}
