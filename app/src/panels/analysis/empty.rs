use egui::Ui;
use headroom_engine::{config::from_toml, store::RunSummary};

use super::AnalysisForm;
use crate::{
    common::blank_ui,
    context::{Action, PanelContext},
    file_dialogs::current_folder,
};

/// Steps between analyses that are offered where a run has none.
const EVERY: u64 = 100;

/// A run has no analysis: says what would fill the panel, and offers it.
pub fn empty_ui(ui: &mut Ui, run: &RunSummary, what: &str, form: &mut AnalysisForm, cx: &mut PanelContext<'_>) {
    cx.state.want_record(&run.id);
    let config = cx.state.records.get(&run.id).and_then(|record| from_toml(&record.config_toml).ok());
    let is_training = cx.state.current.as_ref().is_some_and(|current| current.run == run.id);
    let why = match &config {
        Some(config) if config.probe.every == 0 => {
            "It was not analysed during training: \"Analyse every\" (probe.every) is 0.".to_owned()
        }
        Some(config) if is_training => format!("The first comes at step {}.", config.probe.every),
        _ => "None was kept during training.".to_owned(),
    };
    let heading = format!("No analysis of \"{}\" yet", run.name);
    let has_any = cx.state.checkpoints.get(&run.id).is_some_and(|all| !all.is_empty());
    let waits = cx.state.analysis.looking.iter().any(|looking| looking.run == run.id);
    blank_ui(ui, &heading, &format!("{what} {why}"), |ui| {
        if has_any && !waits {
            let now =
                ui.button("Analyse its best checkpoint now").on_hover_text("Runs when its turn in the queue comes");
            if now.clicked() {
                form.start(run, cx);
            }
        }
        if let Some(mut config) = config {
            if config.probe.every == 0 {
                config.probe.every = EVERY;
            }
            let again = ui.button("Set up the same run with analyses during training");
            if again.on_hover_text("Opens Configure; \"Analyse every\" says how often").clicked() {
                cx.act(Action::Configure(Box::new(config), current_folder()));
            }
        }
    });
}
