use egui::{ComboBox, Ui};
use headroom_engine::{
    config::counted,
    store::{AnalysisSummary, RunSummary},
};

use crate::{context::PanelContext, format};

/// Chooses between what a run kept while it trained and what was found on demand; nothing where there is no choice.
pub fn source_ui(ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
    let all = cx.state.analysis.on_demand(&run.id);
    let opened = cx.state.analysis.opened(&run.id);
    if all.is_empty() {
        return;
    }
    let shown = opened.as_ref().and_then(|id| all.iter().find(|found| found.id == *id));
    let text = shown.map_or_else(|| "During training".to_owned(), |found| name(found, run));
    let mut wanted = opened.clone();
    let combo = ComboBox::from_id_salt("source").width(190.0).selected_text(text).show_ui(ui, |ui| {
        ui.selectable_value(&mut wanted, None, "During training");
        for found in &all {
            ui.push_id(found.number, |ui| ui.selectable_value(&mut wanted, Some(found.id.clone()), name(found, run)));
        }
    });
    combo.response.accessible_name("Which analysis");
    if wanted != opened {
        cx.state.analysis.open(&run.id, wanted);
    }
    if let Some(found) = shown {
        let id = found.id.clone();
        let button = ui.button("Delete").on_hover_text("Deletes this analysis; Ctrl+Z brings it back");
        if button.accessible_name("Delete the analysis").clicked() {
            let state = &mut *cx.state;
            state.analysis.delete(&id, &mut state.messages);
        }
    }
}

fn name(found: &AnalysisSummary, run: &RunSummary) -> String {
    let step = found.step.map_or_else(String::new, |step| format!("step {}, ", format::count(step)));
    let of = if found.run.as_ref() == Some(&run.id) { String::new() } else { format!("{}, ", found.target) };
    let name =
        format!("{of}{step}{} × {}, {}", format::count(found.examples), counted(found.tokens, "token"), found.data);
    super::with_capital(&name)
}
