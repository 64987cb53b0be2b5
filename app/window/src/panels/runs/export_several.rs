//! The checkpoints of several runs in one folder, a sub-folder each.

use std::{collections::BTreeSet, path::PathBuf};

use egui::{Button, Frame, Id, RichText, ScrollArea, TextEdit, Ui};
use headroom_engine::{
    config::counted,
    protocol::{Ticket, Which, commands},
    store::RunId,
};

use crate::{
    common::{dialog_ui, left_by_key, slug},
    context::PanelContext,
    file_dialogs::{Answer, Ask, Pick, current_folder, typed_path},
    messages::Level,
    theme,
};

/// Key of its file dialog, and its id.
const KEY: &str = "runs.export_several";

/// One run of those that are exported.
struct Item {
    run: RunId,
    name: String,
    folder: String,
    at: At,
}

/// How far its export is.
enum At {
    Waits,
    Asked(Ticket),
    Written,
    Failed(String),
}

/// The dialog; keep it while it is open.
pub(super) struct ExportSeveral {
    items: Vec<Item>,
    which: Which,
    path: String,
    problem: Option<String>,
    wants_path: bool,
}

impl ExportSeveral {
    /// A dialog about these runs.
    pub fn new(runs: &[RunId], cx: &PanelContext<'_>) -> Self {
        let mut taken = BTreeSet::new();
        let item = |run: &RunId| {
            let name = cx.state.run_name(run);
            let plain = slug(&name);
            let free = (1..).map(|n| if n == 1 { plain.clone() } else { format!("{plain}-{n}") });
            let folder = free.into_iter().find(|folder| taken.insert(folder.clone())).unwrap_or_default();
            Item { run: run.clone(), name, folder, at: At::Waits }
        };
        let items = runs.iter().map(item).collect();
        let folder = cx.settings.last_folder.clone().unwrap_or_else(current_folder);
        Self { items, which: Which::Best, path: folder.display().to_string(), problem: None, wants_path: true }
    }

    fn is_going(&self) -> bool {
        self.items.iter().any(|item| matches!(item.at, At::Asked(_)))
    }

    fn has_begun(&self) -> bool {
        self.items.iter().any(|item| !matches!(item.at, At::Waits))
    }

    /// Takes in what was written; false once all is, and nothing failed.
    fn answers(&mut self, cx: &mut PanelContext<'_>) -> bool {
        for item in &mut self.items {
            if let At::Asked(ticket) = item.at
                && let Some(answer) = cx.state.take_export(ticket)
            {
                item.at = answer.map_or_else(At::Failed, |()| At::Written);
            }
        }
        !self.items.iter().all(|item| matches!(item.at, At::Written))
    }

    /// Draws it and carries the export on; false once it is closed.
    pub fn ui(&mut self, ui: &Ui, cx: &mut PanelContext<'_>) -> bool {
        if !self.answers(cx) {
            let words = format!("Exported {} to {}", counted(self.items.len() as u64, "checkpoint"), self.path);
            cx.act(crate::context::Action::Say(Level::Info, words, String::new()));
            return false;
        }
        if let Some(Answer::Picked(path)) = cx.dialogs.take(KEY) {
            self.path = path.display().to_string();
        }
        let mut open = true;
        let modal = dialog_ui(ui.ctx(), Id::unique(KEY), Frame::window(ui.style()), 480.0, |ui| {
            let count = counted(self.items.len() as u64, "checkpoint");
            ui.label(RichText::new(format!("Export {count}")).heading());
            ui.label("A model directory each (config, weights and tokenizer), in a folder of the run's name.");
            ui.add_enabled_ui(!self.has_begun(), |ui| self.choices_ui(ui, cx));
            self.list_ui(ui);
            if let Some(problem) = &self.problem {
                ui.label(RichText::new(problem).color(theme::palette(ui.visuals()).error));
            }
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                if self.is_going() {
                    let written = self.items.iter().filter(|item| matches!(item.at, At::Written)).count();
                    ui.add(egui::Spinner::new());
                    ui.label(format!("{written} of {} written…", self.items.len()));
                } else if !self.has_begun() && ui.button(format!("Export {count}")).clicked() {
                    self.begin(cx);
                }
                let word = if self.has_begun() { "Close" } else { "Cancel" };
                open &= !ui.button(word).clicked();
            });
        });
        open && !left_by_key(&modal)
    }

    fn choices_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        ui.horizontal(|ui| {
            ui.radio_value(&mut self.which, Which::Best, "The best of each");
            ui.radio_value(&mut self.which, Which::Last, "The last of each");
        });
        ui.horizontal(|ui| {
            let label = ui.label("Folder");
            let typed = ui.add(TextEdit::singleline(&mut self.path).desired_width(300.0)).labelled_by(label.id);
            if std::mem::take(&mut self.wants_path) {
                typed.request_focus();
            }
            if typed.changed() {
                self.problem = None;
            }
            let browse = ui.add_enabled(!cx.dialogs.is_busy(KEY), Button::new("Browse…"));
            if browse.on_hover_text("Opens a file dialog; you can also type a path").clicked() {
                cx.dialogs.pick(KEY, Ask::new(Pick::Folder, "Folder for the checkpoints"));
            }
        });
    }

    /// Which folder each run gets, or what came of it.
    fn list_ui(&self, ui: &mut Ui) {
        let palette = theme::palette(ui.visuals());
        ScrollArea::vertical().max_height(200.0).auto_shrink([false, true]).show(ui, |ui| {
            for item in &self.items {
                match &item.at {
                    At::Failed(why) => {
                        ui.label(RichText::new(format!("{}: {why}", item.name)).color(palette.error));
                    }
                    At::Written => {
                        ui.label(format!("{}: written to {}", item.name, item.folder));
                    }
                    _ => {
                        ui.label(RichText::new(format!("{}: {}", item.name, item.folder)).color(palette.weak));
                    }
                }
            }
        });
    }

    fn begin(&mut self, cx: &mut PanelContext<'_>) {
        if self.path.trim().is_empty() {
            self.problem = Some("Type a folder, or choose one with \"Browse…\".".to_owned());
            return;
        }
        let folder: PathBuf = typed_path(&self.path, &current_folder());
        cx.settings.last_folder = Some(folder.clone());
        for item in &mut self.items {
            let command = commands::Export { run: item.run.clone(), which: self.which, to: folder.join(&item.folder) };
            item.at = At::Asked(cx.state.ask_export(command));
        }
    }
}
