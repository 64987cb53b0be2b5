//! The dialog that exports: what, in which form, and where to; the path is chosen in a file dialog or typed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use egui::{Id, Key, RichText, TextEdit, Ui};
use headroom_engine::{
    attention::ModelPlan,
    checkpoint::in_transformers,
    protocol::{Ticket, Which, commands},
    speed::sweep_csv,
    store::{BenchmarkRecord, RunRecord, RunSummary, series_names},
};

use super::{Exportable, FigureFormat, dialog_ui, exportable::slug, gather::gathered, left_by_key, run_json};
use crate::{
    context::{Action, PanelContext},
    file_dialogs::{Answer, Ask, Pick, current_folder, typed_path},
    format,
    messages::Level,
    theme,
};

/// Which checkpoint is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Best,
    Last,
    Step,
}

/// The form of measured numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataFormat {
    Json,
    Csv,
}

impl DataFormat {
    fn ending(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }

    fn encode(self, record: &BenchmarkRecord) -> Result<Vec<u8>, String> {
        match self {
            Self::Json => serde_json::to_vec_pretty(record).map_err(|error| error.to_string()),
            Self::Csv => Ok(sweep_csv(&record.spec, &record.results).into_bytes()),
        }
    }
}

/// How far an export is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The user chooses.
    Asking,
    /// The points of the run are loaded, to be written there.
    Gathering(PathBuf),
    /// The file is written.
    Writing,
    /// The engine writes a model directory.
    Asked(Ticket),
}

/// The dialog; keep it while it is open.
pub struct ExportDialog {
    /// Key of its errands, and its id.
    key: String,
    what: Exportable,
    format: FigureFormat,
    data: DataFormat,
    /// A zoomed chart leaves as it is shown, and not with its whole range.
    as_zoomed: bool,
    choice: Choice,
    step: u64,
    path: String,
    /// The path that the user has agreed to replace.
    replace: Option<PathBuf>,
    stage: Stage,
    problem: Option<String>,
    /// The path is to be typed next.
    wants_path: bool,
}

impl ExportDialog {
    /// An open dialog. `panel` tells the dialogs of different panels apart.
    pub fn new(panel: &str, what: Exportable, cx: &mut PanelContext<'_>) -> Self {
        let key = format!("{panel}.export");
        // An answer to an export whose dialog was closed meanwhile does not concern this one.
        drop(cx.dialogs.take(&key));
        let (step, choice) = match &what {
            Exportable::Checkpoint { step: Some(step), .. } => (*step, Choice::Step),
            Exportable::Checkpoint { run, .. } => {
                cx.state.want_record(run);
                // What another program wrote meanwhile is in the store.
                cx.state.refresh_record(run);
                let newest = cx.state.checkpoints.get(run).and_then(|all| all.last()).map(|last| last.step);
                (newest.unwrap_or_default(), Choice::Best)
            }
            _ => (0, Choice::Best),
        };
        let mut new = Self {
            key,
            what,
            format: FigureFormat::default(),
            data: DataFormat::Json,
            as_zoomed: true,
            choice,
            step,
            path: String::new(),
            replace: None,
            stage: Stage::Asking,
            problem: None,
            wants_path: true,
        };
        let folder = cx.settings.last_folder.clone().unwrap_or_else(current_folder);
        new.path = folder.join(new.file_name()).display().to_string();
        new
    }

    /// Draws the dialog and carries the export on. False once it is closed.
    pub fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> bool {
        let mut open = self.answers(cx);
        self.gather(cx);
        let frame = egui::Frame::window(ui.style());
        let modal = dialog_ui(ui.ctx(), Id::unique(("export box", &self.key)), frame, 460.0, |ui| {
            ui.label(RichText::new(self.heading()).heading());
            ui.add_enabled_ui(self.stage == Stage::Asking, |ui| self.choices_ui(ui, cx));
            ui.add_space(4.0);
            let entered = self.path_ui(ui, cx);
            if let Some(problem) = &self.problem {
                ui.label(RichText::new(problem).color(theme::palette(ui.visuals()).error));
            }
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                if self.stage == Stage::Asking {
                    let verb = if self.replace.is_some() { "Replace" } else { "Export" };
                    // An Enter that is held down must not replace a file.
                    if ui.button(verb).clicked() || (entered && self.problem.is_none()) {
                        open &= self.export(cx);
                    }
                } else {
                    ui.add(egui::Spinner::new());
                    ui.label(match self.stage {
                        Stage::Asked(_) => "Writing the model directory…",
                        Stage::Writing => "Writing the file…",
                        Stage::Asking | Stage::Gathering(_) => "Loading the points…",
                    });
                }
                if ui.button("Cancel").clicked() {
                    open = false;
                }
            });
        });
        open && !left_by_key(&modal)
    }

    fn heading(&self) -> String {
        let brief = |name: &String| format::brief(name);
        match &self.what {
            Exportable::Checkpoint { name, .. } => format!("Export a checkpoint of \"{}\"", brief(name)),
            Exportable::Run { name, .. } => format!("Export the run \"{}\" as JSON", brief(name)),
            Exportable::Figure(figure) => format!("Export the chart \"{}\"", figure.title),
            Exportable::Drawing(drawing) => format!("Export the figure \"{}\"", drawing.title),
            Exportable::Benchmark(record) => format!("Export the measurements of \"{}\"", brief(&record.summary.name)),
            Exportable::Map(figure) => format!("Export the map \"{}\"", figure.title),
            Exportable::Data(data) => format!("Export \"{}\"", data.title),
        }
    }

    /// A name that fits what is exported.
    fn file_name(&self) -> String {
        match &self.what {
            Exportable::Checkpoint { name, .. } => match self.choice {
                Choice::Best => format!("{}-best", slug(name)),
                Choice::Last => format!("{}-last", slug(name)),
                Choice::Step => format!("{}-step-{}", slug(name), self.step),
            },
            Exportable::Run { name, run } => format!("{}-{run}.json", slug(name)),
            Exportable::Figure(figure) => self.figure_name(&figure.title, &figure.metadata),
            Exportable::Drawing(drawing) => self.figure_name(&drawing.title, &drawing.metadata),
            Exportable::Benchmark(record) => format!("{}.{}", slug(&record.summary.name), self.data.ending()),
            Exportable::Map(figure) => self.figure_name(&figure.title, &figure.metadata),
            Exportable::Data(data) => format!("{}.{}", slug(&data.title), self.data.ending()),
        }
    }

    /// The name of a figure of one run or model says of which: the same figure of another one has another name.
    fn figure_name(&self, title: &str, metadata: &BTreeMap<String, String>) -> String {
        let mut name = slug(title);
        if let Some(of) = metadata.get("model").or_else(|| metadata.get("run")) {
            // Of a directory its own name, not the way there.
            let last = Path::new(of).file_name().map_or(of.into(), |last| last.to_string_lossy());
            name.extend(["-", &slug(&last)]);
        }
        // So does one of a race or sweep.
        if let Some(tags) = metadata.get("tags") {
            name.extend(["-", &slug(tags)]);
        }
        if let Some(step) = metadata.get("step") {
            name.extend(["-step-", step]);
        }
        format!("{name}.{}", self.format.ending())
    }

    /// A new choice gives the path a new last part, if the last one was not typed by the user.
    fn rename(&mut self, before: &str) {
        let path = PathBuf::from(&self.path);
        if path.file_name().is_some_and(|name| name.to_string_lossy() == before) {
            self.path = path.with_file_name(self.file_name()).display().to_string();
        }
        self.replace = None;
        self.problem = None;
    }

    fn choices_ui(&mut self, ui: &mut Ui, cx: &PanelContext<'_>) {
        let before = self.file_name();
        match &self.what {
            Exportable::Checkpoint { run, .. } => {
                let summary = cx.state.run(run);
                match transformers_words(cx.state.records.get(run)) {
                    None => ui.label(
                        "A model directory: config, weights and tokenizer. Standard models open in transformers.",
                    ),
                    Some(why) => ui.label(format!("A model directory: config, weights and tokenizer. {why}")),
                };
                ui.radio_value(&mut self.choice, Choice::Best, best_label(summary));
                let newest = cx.state.checkpoints.get(run).and_then(|all| all.last()).map(|last| last.step);
                let newest = newest.or(summary.map(|run| run.steps_done)).unwrap_or_default();
                let last = format!("The last: step {}", format::count(newest));
                ui.radio_value(&mut self.choice, Choice::Last, last);
                ui.horizontal(|ui| {
                    ui.radio_value(&mut self.choice, Choice::Step, "The checkpoint at step");
                    let mut steps: Vec<u64> =
                        cx.state.checkpoints.get(run).into_iter().flatten().map(|kept| kept.step).collect();
                    steps.dedup();
                    let chosen = self.step;
                    let combo = egui::ComboBox::from_id_salt("step").selected_text(format::count(self.step));
                    let combo = combo.show_ui(ui, |ui| {
                        for step in steps {
                            ui.selectable_value(&mut self.step, step, format::count(step));
                        }
                    });
                    combo.response.accessible_name("Step of the checkpoint");
                    if self.step != chosen {
                        self.choice = Choice::Step;
                    }
                });
            }
            Exportable::Benchmark(_) | Exportable::Data(_) => {}
            Exportable::Run { .. } => {
                ui.label("Config, machine, every point of every curve and the text samples, in one document.");
            }
            Exportable::Figure(_) | Exportable::Drawing(_) | Exportable::Map(_) => {
                ui.horizontal(|ui| {
                    for format in FigureFormat::ALL {
                        ui.radio_value(&mut self.format, format, format.name()).on_hover_text(format.about());
                    }
                });
            }
        }
        if let Exportable::Figure(figure) = &self.what
            && figure.whole.is_some()
        {
            ui.horizontal_wrapped(|ui| {
                ui.radio_value(&mut self.as_zoomed, true, format!("As zoomed: {}", figure.view_words()));
                ui.radio_value(&mut self.as_zoomed, false, "The whole range");
            });
        }
        let about = match &self.what {
            Exportable::Benchmark(_) => Some((
                "Everything: config, machine, driver, commit, every step, every operation",
                "One row per point and side",
            )),
            Exportable::Data(_) => Some(("Everything that is known of it", "The table alone")),
            _ => None,
        };
        if let Some((whole, table)) = about {
            ui.horizontal(|ui| {
                ui.radio_value(&mut self.data, DataFormat::Json, "JSON").on_hover_text(whole);
                ui.radio_value(&mut self.data, DataFormat::Csv, "CSV").on_hover_text(table);
            });
        }
        if self.file_name() != before {
            self.rename(&before);
        }
    }

    /// Draws the path; true when Enter was pressed in it.
    fn path_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> bool {
        let drawn = ui.horizontal(|ui| {
            let is_folder = matches!(self.what, Exportable::Checkpoint { .. });
            let label = ui.label(if is_folder { "New folder" } else { "File" });
            let typed = ui.add(TextEdit::singleline(&mut self.path).desired_width(280.0)).labelled_by(label.id);
            if typed.changed() {
                self.replace = None;
                self.problem = None;
            }
            if std::mem::take(&mut self.wants_path) {
                typed.request_focus();
            }
            let waits = cx.dialogs.is_busy(&self.key);
            let browse = ui.add_enabled(!waits, egui::Button::new("Browse…"));
            if browse.on_hover_text("Opens a file dialog; you can also type a path").clicked() {
                let path = typed_path(&self.path, &current_folder());
                let mut ask = Ask::new(Pick::Save, self.heading())
                    .file_name(self.file_name())
                    .folder(path.parent().map(Path::to_owned));
                match &self.what {
                    Exportable::Checkpoint { .. } => {}
                    Exportable::Run { .. } => ask = ask.kind("JSON", &["json"]),
                    Exportable::Figure(_) | Exportable::Drawing(_) | Exportable::Map(_) => {
                        ask = ask.kind(self.format.name(), &[self.format.ending()]);
                    }
                    Exportable::Benchmark(_) | Exportable::Data(_) => {
                        ask = ask.kind(self.data.ending(), &[self.data.ending()]);
                    }
                }
                cx.dialogs.pick(&self.key, ask);
            }
            typed.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter))
        });
        drawn.inner
    }

    /// Starts the export; false when that closes the dialog.
    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let path = typed_path(&self.path, &current_folder());
        if self.path.trim().is_empty() || path.file_name().is_none() {
            self.problem = Some("Type a path, or choose one with \"Browse…\".".to_owned());
            return true;
        }
        match &self.what {
            Exportable::Checkpoint { run, .. } => {
                let which = match self.choice {
                    Choice::Best => Which::Best,
                    Choice::Last => Which::Last,
                    Choice::Step => Which::Step(self.step),
                };
                let ticket = cx.state.ask_export(commands::Export { run: run.clone(), which, to: path });
                self.stage = Stage::Asked(ticket);
            }
            Exportable::Run { .. } => self.stage = Stage::Gathering(path),
            Exportable::Figure(figure) => {
                let (figure, format, as_zoomed) = (figure.clone(), self.format, self.as_zoomed);
                self.write(path, cx, move || format.encode(&if as_zoomed { *figure } else { figure.of_whole_range() }));
            }
            Exportable::Drawing(drawing) => {
                let (drawing, format) = (drawing.clone(), self.format);
                self.write(path, cx, move || format.encode_drawing(&drawing));
            }
            Exportable::Benchmark(record) => {
                let (record, data) = (record.clone(), self.data);
                self.write(path, cx, move || data.encode(&record));
            }
            Exportable::Map(figure) => {
                let (figure, format) = (figure.clone(), self.format);
                self.write(path, cx, move || format.encode_map(&figure));
            }
            Exportable::Data(data) => {
                let text = match self.data {
                    DataFormat::Json => data.json.clone(),
                    DataFormat::Csv => data.csv.clone(),
                };
                self.write(path, cx, move || Ok(text.into_bytes()));
            }
        }
        true
    }

    /// Once every point of the run has come, writes them.
    fn gather(&mut self, cx: &mut PanelContext<'_>) {
        let (Stage::Gathering(path), Exportable::Run { run, .. }) = (&self.stage, &self.what) else { return };
        if let Some((record, series, samples)) = gathered(run, cx) {
            let path = path.clone();
            self.write(path, cx, move || run_json(&record, &series, &samples));
        }
    }

    fn write(
        &mut self,
        path: PathBuf,
        cx: &mut PanelContext<'_>,
        produce: impl FnOnce() -> Result<Vec<u8>, String> + Send + 'static,
    ) {
        let may_replace = self.replace.as_ref() == Some(&path);
        let target = path.clone();
        cx.dialogs.write(&self.key, path, move || {
            // On the errand's own thread: asking the disk may take its time.
            if !may_replace && target.exists() {
                return Err(exists_message(&target));
            }
            produce()
        });
        self.stage = Stage::Writing;
    }

    /// The folder that something was written to is the first choice of the next export.
    fn keep_folder(&self, cx: &mut PanelContext<'_>) {
        cx.settings.last_folder = typed_path(&self.path, &current_folder()).parent().map(Path::to_owned);
    }

    /// Takes the answers of the engine and of its file errands; false when that closes the dialog.
    fn answers(&mut self, cx: &mut PanelContext<'_>) -> bool {
        if let Stage::Asked(ticket) = self.stage
            && let Some(answer) = cx.state.take_export(ticket)
        {
            let Err(why) = answer else {
                self.keep_folder(cx);
                return false;
            };
            self.problem = Some(why);
            self.wants_path = true;
            self.stage = Stage::Asking;
        }
        match cx.dialogs.take(&self.key) {
            Some(Answer::Picked(path)) => {
                self.path = path.display().to_string();
                self.problem = None;
                // The dialog has asked already whether to replace a file.
                self.replace = Some(path);
            }
            Some(Answer::NotShown) => {
                self.problem = Some("This system shows no file dialog. Type the path here.".to_owned());
                self.wants_path = true;
            }
            Some(Answer::Written { path, bytes }) if self.stage == Stage::Writing => {
                let what = format!("Exported {} to {}", format::bytes(bytes), path.display());
                cx.act(Action::Say(Level::Info, what, String::new()));
                self.keep_folder(cx);
                return false;
            }
            Some(Answer::Failed(why)) => {
                let path = typed_path(&self.path, &current_folder());
                if why == exists_message(&path) {
                    self.replace = Some(path);
                } else {
                    cx.act(Action::Say(Level::Error, why.clone(), "Choose another place and export again.".to_owned()));
                }
                self.problem = Some(why);
                self.wants_path = true;
                self.stage = Stage::Asking;
            }
            _ => {}
        }
        true
    }
}

fn exists_message(path: &Path) -> String {
    format!("A file of that name exists; \"Replace\" overwrites it. {}", path.display())
}

fn best_label(run: Option<&RunSummary>) -> String {
    let best = run.and_then(|run| run.metrics.get(series_names::VALIDATION_LOSS));
    match best.and_then(|series| series.best.zip(series.best_step)) {
        Some((value, step)) => {
            format!("The best: validation loss {} at step {}", format::number(value), format::count(step))
        }
        None => "The best".to_owned(),
    }
}

/// Why `transformers` does not open what a run exports; none where it does, or where the run is not loaded yet.
fn transformers_words(record: Option<&RunRecord>) -> Option<String> {
    let config = record?.json_config().ok()?;
    // The vocabulary has no say in it.
    let found = in_transformers(&ModelPlan::resolve(&config, 1).ok()?);
    (!found.opens).then_some(found.words)
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;
    use crate::{export::Figure, file_dialogs::FileDialogs, settings::Settings, state::State};

    #[test]
    fn a_file_that_is_there_is_replaced_only_when_the_user_says_so() {
        let folder = std::env::temp_dir().join(format!("headroom-export-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.csv");
        std::fs::write(&path, "mine").unwrap();
        let (mut state, mut settings) = (State::default(), Settings::default());
        let (mut dialogs, mut actions) = (FileDialogs::new(Arc::new(|| ())), Vec::new());
        let mut cx =
            PanelContext { state: &mut state, settings: &mut settings, dialogs: &mut dialogs, actions: &mut actions };
        let mut export = ExportDialog::new("test", Exportable::Figure(Box::default()), &mut cx);
        export.format = FigureFormat::Csv;
        export.path = path.display().to_string();
        let mut attempt = |export: &mut ExportDialog| {
            assert!(export.export(&mut cx));
            for _ in 0..10_000 {
                cx.dialogs.drain();
                if !export.answers(&mut cx) {
                    return false;
                }
                if export.stage == Stage::Asking {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            panic!("no answer");
        };
        assert!(attempt(&mut export), "it stays open and asks");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        assert!(export.problem.as_ref().unwrap().contains("of that name exists"));
        assert!(!attempt(&mut export), "the second time it is written");
        assert_ne!(std::fs::read_to_string(&path).unwrap(), "mine");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_new_choice_renames_the_file_unless_its_name_was_typed() {
        let (mut state, mut settings) = (State::default(), Settings::default());
        let (mut dialogs, mut actions) = (FileDialogs::new(Arc::new(|| ())), Vec::new());
        let mut cx =
            PanelContext { state: &mut state, settings: &mut settings, dialogs: &mut dialogs, actions: &mut actions };
        let figure = Figure { title: "Training loss".to_owned(), ..Figure::default() };
        let mut export = ExportDialog::new("test", Exportable::Figure(Box::new(figure)), &mut cx);
        assert!(export.path.ends_with("training-loss.png"));
        let before = export.file_name();
        export.format = FigureFormat::Svg;
        export.rename(&before);
        assert!(export.path.ends_with("training-loss.svg"));
        export.path = "mine.xyz".to_owned();
        let before = export.file_name();
        export.format = FigureFormat::Csv;
        export.rename(&before);
        assert_eq!(export.path, "mine.xyz");
    }
}
