use std::borrow::Cow;

use egui::{RichText, Ui};

use headroom_engine::{
    config::counted,
    store::{RunId, RunSummary},
};

use super::{
    lines::{Line, Made},
    view::View,
};
use crate::{
    compare::{series_title, unequal_training_words, why_missing, why_not_judged},
    context::PanelContext,
    theme,
};

/// What is loaded, what is left out, how groups were aligned. `is_untold`: no run has a point that the baseline has too, so that
/// there is no difference to be drawn.
pub(super) fn notes_ui(
    ui: &mut Ui,
    view: &View,
    (made, difference, is_untold): (&[Made], Option<&Made>, bool),
    missing_configs: usize,
) {
    let palette = theme::palette(ui.visuals());
    let loading: usize = made.iter().map(|made| made.loading).sum();
    let first = made.first();
    let banded = difference.is_some_and(|made| made.lines.iter().any(Line::has_band));
    let silent = |made: &Made| made.alignment.is_none() && made.without_x + made.without_metric == 0;
    let is_grouped = view.group.is_none() || missing_configs == 0;
    if loading == 0 && is_grouped && !banded && !is_untold && first.is_none_or(silent) {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        if loading > 0 {
            ui.add(egui::Spinner::new().size(14.0));
            ui.label(format!("Loading {}…", counted(loading, "curve")));
        }
        if view.group.is_some() && missing_configs > 0 {
            ui.add(egui::Spinner::new().size(14.0));
            ui.label(format!(
                "Grouped once {} {} read…",
                counted(missing_configs, "more config"),
                if missing_configs == 1 { "is" } else { "are" }
            ));
        }
        if let Some(alignment) = first.and_then(|made| made.alignment) {
            let text = alignment.describe(&view.x.label().to_lowercase());
            ui.label(RichText::new(text).color(palette.weak));
        }
        if banded {
            let text =
                "The difference has 95 % intervals over seeds; verdicts add the noise of the validation examples.";
            ui.label(RichText::new(text).color(palette.weak));
        }
        if is_untold {
            let text = "No other run has a point that the baseline has too: there is no difference to draw yet.";
            ui.label(RichText::new(text).color(palette.weak));
        }
        if let Some(without) = first.map(|made| made.without_x).filter(|&n| n > 0) {
            let are = if without == 1 { "is" } else { "are" };
            let text = format!("{} {are} left out. {}", counted(without, "run"), why_missing(view.x));
            ui.label(RichText::new(text).color(palette.warning));
        }
        if let Some(without) = first.map(|made| made.without_metric).filter(|&n| n > 0) {
            let have = if without == 1 { "has" } else { "have" };
            let text = format!("{} {have} no points of this metric.", counted(without, "run"));
            ui.label(RichText::new(text).color(palette.weak));
        }
    });
}

/// Says that the wished metric is not there yet, and what is shown until it is.
pub(super) fn instead_ui(ui: &mut Ui, wished: &str, instead: &str) {
    let (wished, instead) = (series_title(wished), series_title(instead));
    let text = format!("None of these runs has \"{wished}\" yet: \"{instead}\" is shown until one has.");
    ui.label(RichText::new(text).small().color(theme::palette(ui.visuals()).weak));
}

/// Says above the table that its runs did not train equally long.
pub(super) fn unequal_training_ui(ui: &mut Ui, runs: &[RunSummary]) {
    if let Some(words) = unequal_training_words(runs.iter()) {
        ui.label(RichText::new(words).color(theme::palette(ui.visuals()).warning));
    }
}

/// Names so many runs; of the others only how many.
const NAMED: usize = 3;

/// Says which runs were measured on other text than the baseline, or learn something else: their curves are beside the others
/// all the same. One click takes them off the charts.
pub(super) fn other_text_ui(ui: &mut Ui, runs: &[RunSummary], cx: &mut PanelContext<'_>) {
    let pinned = cx.state.selection.baseline.clone();
    let Some(base) = runs.iter().find(|run| Some(&run.id) == pinned.as_ref()).or(runs.first()) else { return };
    let others: Vec<(&RunSummary, Cow<'static, str>)> =
        runs.iter().filter_map(|run| Some((run, why_not_judged(base, run)?.reason()))).collect();
    let Some((_, reason)) = others.first() else { return };
    let palette = theme::palette(ui.visuals());
    let names: Vec<String> = others.iter().take(NAMED).map(|(run, _)| cx.state.run_name(&run.id)).collect();
    let mut words = names.join(", ");
    if let Some(more) = others.len().checked_sub(NAMED + 1) {
        words += &[" and ", &counted(more as u64 + 1, "other run")].concat();
    }
    let beside = cx.state.run_name(&base.id);
    let mut hide = false;
    ui.horizontal_wrapped(|ui| {
        let rest = if others.len() + 1 < runs.len() { " The others are compared with it." } else { "" };
        let told = format!("Not to be held against \"{beside}\": {words}. {reason}{rest}");
        ui.label(RichText::new(told).color(palette.warning));
        let it = if others.len() == 1 { "Hide it" } else { "Hide them" };
        hide = ui.button(it).on_hover_text("Closes their eyes; Runs opens them again").clicked();
    });
    if hide {
        let hidden: Vec<RunId> = others.iter().map(|(run, _)| run.id.clone()).collect();
        cx.state.selection.visible.retain(|run| !hidden.contains(run));
    }
}
