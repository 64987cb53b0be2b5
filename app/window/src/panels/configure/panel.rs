use std::{mem::discriminant, path::PathBuf, time::Duration};

use egui::{Button, Frame, Margin, RichText, ScrollArea, Stroke, Ui};
use headroom_engine::{
    config::counted,
    config::{Fields, Problem, RunConfig},
};

use super::{
    draft::Draft,
    file::ConfigFile,
    form::Form,
    sections::{
        HeadEditor, Judged, MarksWish, SourceMemory, attention_ui, data_ui, follow_labels, follow_model_kind,
        follow_name, model_ui, picked, probe_ui, run_ui, train_ui,
    },
    start::Start,
    summary::{TextTokens, summary_ui},
    welcome::Choice,
    welcome::welcome_ui,
};
use crate::{
    context::{Action, Panel, PanelContext},
    file_dialogs::current_folder,
    keys,
    settings::{KeptForm, Settings},
    theme,
};

/// Width of the column at the right.
const SUMMARY: f32 = 300.0;
/// Below this width what it takes is scrolled with the form, above it.
const NARROW: f32 = SUMMARY + 440.0;
/// From this width on the sections stand in two columns.
const TWO_COLUMNS: f32 = 800.0;
/// From this width on in three.
const THREE_COLUMNS: f32 = 1500.0;

/// The Configure panel.
#[derive(Default)]
pub struct ConfigurePanel {
    draft: Draft,
    tokens: TextTokens,
    start: Start,
    file: ConfigFile,
    memory: SourceMemory,
    editor: HeadEditor,
    /// Whether the presets are shown in place of the form; `None` = while there is no run.
    choosing: Option<bool>,
    /// The field that shall have the keyboard.
    focus: Option<String>,
    is_drawn: bool,
    /// Whether the form is scrolled to its beginning next.
    to_top: bool,
    /// Fields that were drawn, for the list of problems.
    fields: Fields,
    /// The version of the draft that the settings hold; `None` before what they held was taken over.
    kept: Option<u64>,
}

impl ConfigurePanel {
    /// Puts a config into the draft; Undo brings the one before back.
    pub fn load(&mut self, config: RunConfig, base_dir: PathBuf) {
        self.draft.load(config, base_dir);
        self.file.forget();
        self.choosing = Some(false);
        self.to_top = true;
    }

    /// The draft as it stands.
    pub fn config(&self) -> &RunConfig {
        &self.draft.config
    }

    /// Where the draft's relative paths start.
    pub fn base_dir(&self) -> &std::path::Path {
        &self.draft.base_dir
    }

    /// Wants the draft started: it is, as soon as the engine has nothing against it.
    pub fn request_start(&mut self) {
        self.start.request(1);
    }

    /// A step forth after Undo; false if there is none.
    pub fn redo(&mut self) -> bool {
        self.draft.redo()
    }

    /// Takes over the draft that the settings hold, once; then writes every change into them.
    fn keep_draft(&mut self, cx: &mut PanelContext<'_>) {
        if self.kept.is_none()
            && let Some(KeptForm { config: Some(config), base_dir }) = cx.settings.form()
            && self.draft.version() == Draft::default().version()
        {
            self.draft.restore(config, base_dir);
        } else if self.kept.is_some() && self.kept != Some(self.draft.version()) {
            let kept = KeptForm { config: Some(self.draft.config.clone()), base_dir: self.draft.base_dir.clone() };
            cx.settings.set_panel(Settings::FORM, &kept);
        }
        self.kept = Some(self.draft.version());
    }

    /// What has to go on whether the panel is open or not: answers of dialogs, questions to the engine, a wanted start.
    /// The window calls it once a frame before it draws. Returns the time after which it wants to be asked again.
    pub fn poll(&mut self, cx: &mut PanelContext<'_>) -> Option<Duration> {
        self.keep_draft(cx);
        self.file.poll(&mut self.draft, cx);
        let before = self.draft.config.clone();
        if let Some(field) = picked(cx.dialogs, &mut self.draft.config.data) {
            self.draft.edited(before, field);
        }
        let is_drawn = std::mem::take(&mut self.is_drawn);
        self.start.poll(&mut self.draft, cx, is_drawn)
    }

    fn is_choosing(&self, cx: &PanelContext<'_>) -> bool {
        let state = &cx.state;
        let is_new = state.runs_loaded && state.runs.is_empty() && state.current.is_none() && state.waiting.is_empty();
        self.choosing.unwrap_or(is_new)
    }

    fn choose(&mut self, choice: Choice) {
        match choice {
            Choice::Preset(config) => self.load(*config, current_folder()),
            Choice::Draft => self.choosing = Some(false),
        }
    }

    fn head_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        ui.horizontal(|ui| {
            ui.heading("Configure");
            ui.add_space(8.0);
            if ui
                .button("Presets")
                .on_hover_text("Shows the ready configs; one that is chosen replaces every field, and Undo brings them back")
                .accessible_name("Show the presets")
                .clicked()
            {
                self.choosing = Some(true);
            }
            let (back, forth) = self.draft.can_step();
            if ui
                .add_enabled(back, Button::new("Undo"))
                .on_hover_text("Ctrl+Z")
                .accessible_name("Undo the change")
                .clicked()
            {
                self.draft.undo();
            }
            if ui
                .add_enabled(forth, Button::new("Redo"))
                .on_hover_text("Ctrl+Shift+Z")
                .accessible_name("Redo the change")
                .clicked()
            {
                self.draft.redo();
            }
            let help = "Queues the baseline of this config and variants of it, a sweep over its fields, or its control on shuffled text";
            if ui.button("Race…").on_hover_text(help).accessible_name("Race or sweep").clicked() {
                let Draft { config, base_dir, .. } = &self.draft;
                cx.act(Action::SetUpRace(Box::new(config.clone()), base_dir.clone()));
            }
        });
        ui.add_space(4.0);
    }

    fn form_ui(&mut self, ui: &mut Ui, problems: &[Problem], cx: &mut PanelContext<'_>) {
        let before = self.draft.config.clone();
        let preview = self.draft.preview(cx.state);
        let Draft { config, unreadable, base_dir, edition, heads, estimate, is_estimate_old, .. } = &mut self.draft;
        let (devices, marked) = (&cx.state.devices, &cx.state.analysis.marked);
        let (memory, editor) = (&mut self.memory, &mut self.editor);
        let judged =
            Judged { heads, estimate: estimate.as_ref(), is_estimate_old: *is_estimate_old, marked: marked.as_ref() };
        let mut form = Form {
            unreadable,
            problems,
            focus: &mut self.focus,
            base_dir,
            dialogs: cx.dialogs,
            attended: None,
            touched: None,
            is_step: false,
            fields: &mut self.fields,
        };
        let mut left = |ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig| {
            section(ui, "Run", problems, &["name", "seed", "device", "threads", "precision", "format"], |ui| {
                run_ui(ui, form, config, devices);
            });
            let source = discriminant(&config.data.source);
            section(ui, "Data", problems, &["data", "task"], |ui| data_ui(ui, form, config, preview, memory));
            let had_pairs = config.model.kind.has_encoder();
            section(ui, "Model", problems, &["model"], |ui| {
                let images = config.data.source.has_images();
                let note = config.task.as_ref().filter(|task| task.answers_examples()).map(|task| task.info().note);
                model_ui(ui, form, &mut config.model, note, images);
            });
            let has_pairs = config.model.kind.has_encoder();
            if had_pairs != has_pairs {
                follow_model_kind(&mut config.data.source, &mut config.model.encoder_layers, has_pairs, memory);
            }
            if discriminant(&config.data.source) != source {
                form.unreadable.forget("task.");
                follow_labels(config, memory);
                follow_name(config);
            }
        };
        let mut attention = |ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig| {
            section(ui, "Attention", problems, &["attention"], |ui| attention_ui(ui, form, config, &judged, editor));
        };
        let training = |ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig| {
            section(ui, "Training", problems, &["train"], |ui| train_ui(ui, form, config));
            section(ui, "Probe", problems, &["probe"], |ui| {
                let of_texts = config.answers_examples() && !config.data.source.has_images();
                probe_ui(ui, form, &mut config.probe, of_texts);
            });
        };
        // New ids when the whole draft was replaced: text that was being typed into fields goes.
        ui.push_id(("form", *edition), |ui| {
            let width = ui.available_width();
            if width >= THREE_COLUMNS {
                ui.columns_const(|[first, second, third]| {
                    left(first, &mut form, config);
                    attention(second, &mut form, config);
                    training(third, &mut form, config);
                });
            } else if width >= TWO_COLUMNS {
                ui.columns_const(|[first, second]| {
                    left(first, &mut form, config);
                    attention(second, &mut form, config);
                    training(second, &mut form, config);
                });
            } else {
                left(ui, &mut form, config);
                attention(ui, &mut form, config);
                training(ui, &mut form, config);
            }
        });
        let (attended, touched) = (form.attended, (form.touched, form.is_step));
        match self.editor.take_marks_wish() {
            Some(MarksWish::Remove) => cx.state.analysis.marked = None,
            Some(MarksWish::OpenConfig) => {
                let config = cx.state.analysis.marked.as_ref().and_then(|marked| marked.config.clone());
                if let Some(config) = config {
                    cx.act(Action::Configure(config, current_folder()));
                }
            }
            None => {}
        }
        self.draft.attend(attended);
        match touched {
            (Some(_), true) => self.draft.stepped(before),
            (Some(field), false) => self.draft.edited(before, field),
            (None, _) => {}
        }
    }

    fn start_ui(&mut self, ui: &mut Ui, problems: &[Problem], cx: &mut PanelContext<'_>) {
        if let Some(field) = self.start.ui(ui, problems, &self.fields, cx) {
            self.focus = Some(field);
        }
        ui.add_space(8.0);
        ui.separator();
    }

    fn side_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        summary_ui(ui, &self.draft, &mut self.tokens, cx);
        ui.add_space(8.0);
        ui.separator();
        self.file.ui(ui, &self.draft, cx);
    }
}

/// A section of the form: its name, how many problems it has, its fields.
fn section(ui: &mut Ui, name: &str, problems: &[Problem], paths: &[&str], add: impl FnOnce(&mut Ui)) {
    let palette = theme::palette(ui.visuals());
    let belongs = |problem: &&Problem| {
        paths
            .iter()
            .any(|path| problem.field.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    let wrong = problems.iter().filter(belongs).count();
    let frame = Frame::new()
        .fill(palette.surface)
        .stroke(Stroke::new(1.0, palette.line))
        .corner_radius(6.0)
        .inner_margin(Margin::symmetric(12, 8))
        .outer_margin(Margin { bottom: 8, ..Margin::ZERO });
    frame.show(ui, |ui| {
        ui.set_min_width(ui.available_width());
        ui.horizontal(|ui| {
            ui.label(RichText::new(name).strong());
            if wrong > 0 {
                let words = counted(wrong, "problem");
                ui.label(RichText::new(words).small().color(palette.error));
            }
        });
        // The fields of a section know each other by the scope in which they stand.
        ui.push_id(name, add);
    });
}

impl Panel for ConfigurePanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        self.is_drawn = true;
        if self.is_choosing(cx) {
            if let Some(choice) = welcome_ui(ui, cx.state) {
                self.choose(choice);
            }
            return;
        }
        if !cx.state.runs_loaded && self.choosing.is_none() {
            // Presets or form: that depends on whether there are runs, which is known in a moment.
            ui.colored_label(theme::palette(ui.visuals()).weak, "Opening the store…");
            return;
        }
        let problems = self.draft.problems(cx.state);
        let tab = keys::take_tab(ui.ctx());
        self.head_ui(ui, cx);
        let is_narrow = ui.available_width() < NARROW;
        if is_narrow {
            // Beside each other they would overlap. One area scrolls all but Start: two above each other would compete for the wheel.
            self.start_ui(ui, &problems, cx);
        } else {
            let frame = Frame::new().inner_margin(Margin { left: 12, ..Margin::ZERO });
            let side = egui::Panel::right("configure summary").exact_size(SUMMARY).resizable(false);
            side.show_separator_line(false).frame(frame).show(ui, |ui| {
                ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                    self.start_ui(ui, &problems, cx);
                    self.side_ui(ui, cx);
                });
            });
        }
        let mut area = ScrollArea::vertical().id_salt("form").auto_shrink(false);
        if std::mem::take(&mut self.to_top) {
            // What was chosen just now is seen from its name on.
            area = area.vertical_scroll_offset(0.0);
        }
        area.show(ui, |ui| {
            if is_narrow {
                self.side_ui(ui, cx);
                ui.add_space(8.0);
            }
            if tab {
                keys::give_tab(ui.ctx());
            }
            self.form_ui(ui, &problems, cx);
        });
    }

    fn undo(&mut self, _: &mut PanelContext<'_>) -> bool {
        self.draft.undo()
    }

    fn back(&mut self, _: &mut PanelContext<'_>) -> bool {
        if self.choosing == Some(true) {
            self.choosing = Some(false);
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::{
        Answer, FileSource, FileTokenizer, GrammarSource, ImagesSource, ListOpsSource, ModelKind, NumberWordsSource,
        PairsSource, PathfinderSource, RandomSource, Source, SquadSource, StopEarly, TableSource, TaskConfig,
        Tokenizer, TranslationTask, fields_of, presets,
    };

    use super::*;
    use crate::{common::driver::Driver, state::State};

    /// Configs that have every field between them.
    fn configs() -> Vec<RunConfig> {
        let pairs = PairsSource {
            path: Some("a.tsv".into()),
            text: Some(["en".to_owned(), "de".to_owned()]),
            ..PairsSource::default()
        };
        let sources = [
            Source::Grammar(GrammarSource::default()),
            Source::Random(RandomSource::default()),
            Source::File(FileSource::default()),
            Source::NumberWords(NumberWordsSource::default()),
            Source::Pairs(PairsSource::default()),
            Source::Pairs(pairs),
            Source::Table(TableSource::default()),
            Source::Squad(SquadSource::default()),
            Source::Images(ImagesSource { validation_path: Some("a".into()), ..ImagesSource::default() }),
            Source::Pathfinder(PathfinderSource::default()),
            Source::ListOps(ListOpsSource::default()),
        ];
        let of_source = |source: Source| {
            let mut config = RunConfig::default();
            config.data.source = source;
            if config.data.source.has_pairs() {
                config.model.kind = ModelKind::EncoderDecoder;
                config.task = Some(TaskConfig::Translation(TranslationTask::default()));
            }
            follow_labels(&mut config, &mut SourceMemory::default());
            config.model.initial = Some("a run".to_owned());
            config.train.stop_early = Some(StopEarly::default());
            config
        };
        let of_answer = |answer: Answer| {
            let mut config = RunConfig::default();
            match answer {
                Answer::Compatibility(own) => config.attention.compatibility = own,
                Answer::Reuse(own) => config.attention.reuse = own,
                Answer::Coverage(own) => config.attention.coverage = own,
            }
            config.data.tokenizer = Tokenizer::File(FileTokenizer::default());
            config
        };
        let of_presets = presets().iter().filter_map(|preset| preset.config().ok());
        let answers = Answer::all(&RunConfig::default());
        sources.into_iter().map(of_source).chain(answers.into_iter().map(of_answer)).chain(of_presets).collect()
    }

    #[test]
    fn every_field_is_called_elsewhere_as_it_is_here() {
        let mut drawn = Fields::new();
        for config in configs() {
            let known = fields_of(&config);
            let mut panel = ConfigurePanel::default();
            panel.load(config, PathBuf::new());
            Driver::new(State::default()).settle(&mut panel);
            assert!(panel.fields.len() > 20, "{:?}", panel.fields);
            for (path, field) in &panel.fields {
                assert_eq!(known.get(path).map(|known| known.label), Some(field.label), "{path}");
            }
            drawn.append(&mut panel.fields);
        }
        for path in ["data.classes", "data.text.second", "task.beams", "task.doc_stride", "train.freeze"] {
            assert!(drawn.contains_key(path), "{path} was not drawn");
        }
    }
}
