//! Conversions of a model that is not trained with other attention: their savings, and the way to them.

use egui::{Button, Label, RichText, Ui};

use super::{
    derived::{OfAnalysis, OfThresholds},
    saving::{rows_ui, words_ui},
};
use crate::{
    context::{Action, PanelContext, PanelId},
    findings, format,
    state::SubjectId,
    theme,
};

/// Draws the table, the conversions in their order, and the button that opens Models with the first of them.
pub fn conversions_ui(ui: &mut Ui, of: &SubjectId, known: &OfAnalysis, now: &OfThresholds, cx: &mut PanelContext<'_>) {
    let palette = theme::palette(ui.visuals());
    ui.label(RichText::new("What that would save").color(palette.strong));
    let advice = &now.advice;
    if let Some(why) = advice.why_converted {
        ui.add(Label::new(why).wrap());
        ui.add_space(4.0);
    }
    if let Ok(prediction) = &advice.prediction {
        rows_ui(ui, findings::conversion_rows(prediction, known.adviser.tokens()));
        words_ui(ui, &findings::measured_words(prediction));
    }
    let words =
        "Counted by the cost model. What a conversion does to the model is measured when it is made, on a text.";
    ui.add(Label::new(RichText::new(words).small().color(palette.weak)).wrap());
    ui.add_space(4.0);
    for (place, step) in advice.steps().iter().enumerate() {
        let then = if place == 0 { "" } else { "then, of what that makes: " };
        let costs = format!(
            "{}. {then}{}: {}, {} to read {} tokens",
            place + 1,
            step.conversion.label(),
            format::parameters(step.costs.parameters),
            format::flops(step.costs.forward_flops_per_example as f64),
            format::count(known.adviser.tokens() as u64),
        );
        ui.add(Label::new(costs).wrap());
    }
    if advice.steps().len() > 1 {
        let words =
            "Similarity, energy and error are those of the model as it is: what one conversion changes is not in them.";
        ui.add(Label::new(RichText::new(words).small().color(palette.weak)).wrap());
    }
    let why_not = advice.why_not();
    let button = Button::new(RichText::new("Set it up in Models").strong());
    let button = ui.add_enabled(why_not.is_none(), button);
    let about = "Opens Models with the first of these conversions; nothing is made before it is asked for there";
    if button.on_hover_text(about).on_disabled_hover_text(why_not.clone().unwrap_or_default()).clicked()
        && let Some(first) = advice.steps().first()
    {
        cx.state.models.set_up(of.clone(), first.conversion.clone(), known.adviser.tokens());
        cx.act(Action::Open(PanelId::MODELS));
    }
    // Nothing can be done, or something without what is left out.
    let told = why_not.as_deref().map_or_else(|| advice.left_out(), |why| vec![why]);
    for why in told {
        ui.add(Label::new(RichText::new(why).color(palette.weak)).wrap());
    }
}
