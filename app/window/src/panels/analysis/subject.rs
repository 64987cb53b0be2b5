//! Whose attention a panel of analyses shows: a run's, or that of the model in a directory, and on which text.

use std::path::PathBuf;

use egui::{Button, Color32, TextEdit, Ui};
use headroom_engine::{
    checkpoint::DirectoryFacts,
    config::{DataConfig, OtherText},
    protocol::Which,
    store::RunSummary,
};

use crate::{
    common::{leads_nowhere, mark_path},
    compare::task_info,
    context::{Action, PanelContext, PanelId},
    file_dialogs::{Answer, Ask, Pick, current_folder, typed_path},
    panels::{
        live::shown_run,
        run_picker::{PICKER, chosen_name, name_combo, run_choices_ui, run_combo},
    },
    state::{State, SubjectId, folder_name},
    theme::LineStyle,
    widgets::tooltip_above,
};

/// Under which name the text is remembered.
const TEXT: &str = "directory_text";

/// The text that models of directories read in panels of analyses, as it was typed.
pub fn typed_text(cx: &PanelContext<'_>) -> String {
    cx.settings.of_panel(TEXT)
}

/// Whose attention is shown.
pub struct Subject {
    /// Which run or directory.
    pub id: SubjectId,
    /// What it is called.
    pub name: String,
    /// The run, if it is one's.
    pub run: Option<RunSummary>,
}

impl Subject {
    /// What is shown: the model directory that was chosen, else the focused run. None where there is neither.
    pub fn shown(cx: &PanelContext<'_>) -> Option<Self> {
        if let Some(path) = cx.state.selection.directory() {
            let (id, name) = (SubjectId::Directory(path.to_owned()), folder_name(path));
            return Some(Self { id, name, run: None });
        }
        let run = shown_run(cx)?;
        Some(Self { id: SubjectId::Run(run.id.clone()), name: cx.state.run_name(&run.id), run: Some(run) })
    }

    /// The colour of its bars.
    pub fn colour(&self, state: &State) -> Color32 {
        self.style(state).colour
    }

    /// How its curves are drawn.
    pub fn style(&self, state: &State) -> LineStyle {
        let style = self.run.as_ref().map(|run| state.selection.style_of(&run.id));
        style.unwrap_or_else(|| LineStyle::of_place(0))
    }

    /// Whether there is a model to be analysed: of a run, a checkpoint.
    pub fn has_model(&self, state: &State) -> bool {
        match &self.id {
            SubjectId::Run(run) => state.checkpoints.get(run).is_some_and(|all| !all.is_empty()),
            SubjectId::Directory(_) => true,
        }
    }

    /// What the files of a model directory say; nothing of a run, and while that is to come.
    pub fn facts<'a>(&self, state: &'a mut State) -> Result<Option<&'a DirectoryFacts>, String> {
        match &self.id {
            SubjectId::Run(_) => Ok(None),
            SubjectId::Directory(_) => state.models.facts(&self.id.target(Which::Best)),
        }
    }

    /// Whether its model reads images, as far as is known.
    pub fn reads_images(&self, state: &mut State) -> bool {
        match &self.id {
            SubjectId::Run(run) => {
                let task = state.records.get(run).and_then(|record| task_info(&record.config));
                task.is_some_and(|task| task.reads_images)
            }
            SubjectId::Directory(_) => {
                self.facts(state).is_ok_and(|facts| facts.is_some_and(|facts| facts.architecture == "vision"))
            }
        }
    }

    /// Whether it says nothing of a text of its own: only runs, and what was exported from them, do.
    pub fn needs_text(&self, state: &mut State) -> bool {
        self.run.is_none() && self.facts(state).is_ok_and(|facts| facts.is_none_or(|facts| facts.config.is_none()))
    }

    /// The text that a model directory reads; none: its own.
    pub fn data(&self, cx: &PanelContext<'_>) -> Option<Box<DataConfig>> {
        if self.run.is_some() { None } else { self.reading(&typed_text(cx), cx) }
    }

    /// The text that it reads by what is typed in the forms of panels: another one than a run's own, or a directory's.
    pub fn reads(&self, cx: &PanelContext<'_>) -> Option<Box<DataConfig>> {
        match self.id.run() {
            Some(run) => self.reading(cx.state.analysis.other_text(run), cx),
            None => self.data(cx),
        }
    }

    /// Text of a typed path, read as the model's own is; none where nothing is typed: its own.
    fn reading(&self, typed: &str, cx: &PanelContext<'_>) -> Option<Box<DataConfig>> {
        if typed.trim().is_empty() {
            return None;
        }
        let record = self.id.run().and_then(|run| cx.state.records.get(run));
        let own = record.and_then(|record| record.run_config().ok()).map(|config| config.data);
        let path = typed_path(typed, &current_folder());
        Some(Box::new(own.unwrap_or_default().reading(&path, OtherText::default())))
    }

    /// Why it cannot read a text yet.
    pub fn why_no_text(&self, cx: &mut PanelContext<'_>) -> Option<&'static str> {
        let lacks = self.data(cx).is_none() && self.needs_text(cx.state);
        lacks.then_some("A model directory holds no text: name a text file")
    }

    /// Why the text that is typed cannot be read, as far as its path tells; `panel` as in [`Self::text_ui`].
    pub fn why_not_there(&self, panel: &str, cx: &mut PanelContext<'_>) -> Option<&'static str> {
        let typed = match self.id.run() {
            Some(run) => cx.state.analysis.other_text(run).to_owned(),
            None => typed_text(cx),
        };
        leads_nowhere(&typed, &format!("{panel}.text"), cx.dialogs)
    }

    /// Chooses the text that a model directory reads; `panel` tells the dialogs of panels apart. Nothing for a run.
    pub fn text_ui(&self, ui: &mut Ui, panel: &str, cx: &mut PanelContext<'_>) {
        // Images are not typed.
        if self.run.is_some() || (self.reads_images(cx.state) && !self.needs_text(cx.state)) {
            return;
        }
        let mut typed = typed_text(cx);
        let before = typed.clone();
        let hint = if self.needs_text(cx.state) { "path of a text file" } else { "its own text, or a path" };
        let help = "A file or folder of plain text, JSONL, CSV or TSV that models of directories read in all panels of \
                    analyses";
        text_field_ui(ui, &mut typed, (hint, help), panel, cx);
        if typed != before {
            cx.settings.set_panel(TEXT, &typed);
        }
    }

    /// Chooses another text for analyses of a run than the one that it was trained on, in the forms of all panels; none of images.
    pub fn other_text_ui(&self, ui: &mut Ui, panel: &str, cx: &mut PanelContext<'_>) {
        let Some(run) = self.id.run().filter(|_| !self.reads_images(cx.state)) else { return };
        let help = "Another text than the run's own held-out one, for this analysis: a file or folder of plain text, JSONL, \
                    CSV or TSV";
        let mut typed = cx.state.analysis.other_text(run).to_owned();
        text_field_ui(ui, &mut typed, ("its held-out text, or a path", help), panel, cx);
        cx.state.analysis.set_other_text(run, typed);
    }

    /// Chooses another run or model directory.
    pub fn picker_ui(&self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut directories = cx.state.analysis.directories();
        if let SubjectId::Directory(path) = &self.id
            && !directories.contains(path)
        {
            directories.insert(0, path.clone());
        }
        let (mut run, mut directory) = (None, None::<PathBuf>);
        let combo = run_combo("live run", PICKER).selected_text(chosen_name(ui, &self.name, PICKER, cx)).truncate();
        let combo = combo.show_ui(ui, |ui| {
            for path in &directories {
                let is_it = matches!(&self.id, SubjectId::Directory(shown) if shown == path);
                ui.push_id(path, |ui| {
                    let label = ui.selectable_label(is_it, folder_name(path));
                    if label.on_hover_text(path.display().to_string()).clicked() {
                        directory = Some(path.clone());
                        ui.close();
                    }
                });
            }
            if !directories.is_empty() {
                ui.separator();
            }
            run = run_choices_ui(ui, self.id.run(), |_| true, cx);
            if !cx.state.runs.is_empty() {
                ui.separator();
            }
            let other = ui.selectable_label(false, "A model directory…");
            if other.on_hover_text("Opens Models, where models are brought from folders and hubs").clicked() {
                cx.act(Action::Open(PanelId::MODELS));
                ui.close();
            }
        });
        let whole = match &self.id {
            SubjectId::Run(_) => self.name.clone(),
            SubjectId::Directory(path) => path.display().to_string(),
        };
        name_combo(combo.response, "Run", (&self.name, &whole));
        if let Some(run) = run {
            cx.state.selection.set_directory(None);
            cx.state.selection.focused = Some(run);
        } else if directory.is_some() {
            cx.state.selection.set_directory(directory);
        }
    }
}

/// A path of a text, typed or browsed for, with what stands in it while it is empty, and what it is.
fn text_field_ui(ui: &mut Ui, typed: &mut String, (hint, help): (&str, &str), panel: &str, cx: &mut PanelContext<'_>) {
    let key = format!("{panel}.text");
    if let Some(Answer::Picked(path)) = cx.dialogs.take(&key) {
        *typed = path.display().to_string();
    }
    let label = ui.label("Text file");
    let field = TextEdit::singleline(typed).desired_width(190.0).hint_text(hint);
    let field = tooltip_above(ui.add(field).labelled_by(label.id), help);
    mark_path(ui, field, typed, &key, cx.dialogs);
    let browse = ui.add_enabled(!cx.dialogs.is_busy(&key), Button::new("Browse…"));
    if browse.accessible_name("Browse for a text").clicked() {
        cx.dialogs.pick(&key, Ask::new(Pick::File, "A text"));
    }
}
