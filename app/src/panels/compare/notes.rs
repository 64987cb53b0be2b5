use egui::{RichText, Ui};

use headroom_engine::config::counted;

use super::{lines::Made, view::View};
use crate::{compare::why_missing, theme};

/// What is loaded, what is left out, how groups were aligned.
pub(super) fn notes_ui(ui: &mut Ui, view: &View, made: &[Made], missing_configs: usize) {
    let palette = theme::palette(ui.visuals());
    let loading: usize = made.iter().map(|made| made.loading).sum();
    let first = made.first();
    let silent = |made: &Made| made.alignment.is_none() && made.without_x + made.without_metric == 0;
    if loading == 0 && (view.group.is_none() || missing_configs == 0) && first.is_none_or(silent) {
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
