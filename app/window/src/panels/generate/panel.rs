//! The panel itself.

use std::collections::BTreeMap;

use egui::{Button, CollapsingHeader, RichText, ScrollArea, Ui};
use headroom_engine::{
    generate::Search,
    protocol::{GenerateSource, Target, Which},
    store::{RunId, RunSummary},
};
use serde::{Deserialize, Serialize};

use super::{
    answers::{About, AnswersForm},
    attention::AttentionView,
    beams::beams_ui,
    difference::differing,
    exported,
    form::{Setting, Source},
    known::Known,
    output::output_ui,
    proof::{Clicked, ProofForm},
};
use crate::{
    common::{ExportDialog, Exportable, no_runs_ui, working_ui},
    context::{Action, Panel, PanelContext, PanelId},
    export::MapFigure,
    panels::{
        live::{picker_ui, shown_run},
        model_choice::{ModelChoice, checkpoint_ui},
    },
    state::{Generation, GenerationSpec, Phase},
    theme,
    widgets::Thumbnails,
};

/// What the panel remembers between starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    source: Source,
    settings: [Setting; 2],
    has_two: bool,
    details: bool,
    proof: ProofForm,
    answers: AnswersForm,
    /// What the model of a folder does.
    folder: About,
}

/// Generates text.
pub struct GeneratePanel {
    memory: Option<Memory>,
    run: Option<RunId>,
    which: Which,
    /// Images that were answered about.
    thumbnails: Thumbnails,
    /// What the model of the run that was shown last answers about.
    of_run: Option<About>,
    /// Tokens that only one side has, of texts of these tickets and lengths.
    differs: Option<(Versions, [Vec<bool>; 2])>,
    attention: [AttentionView; 2],
    export: Option<ExportDialog>,
    /// Ctrl+Enter was pressed.
    is_wanted: bool,
}

/// What tells texts apart: how long they are, and whether they are whole, with their place in time.
type Versions = [(usize, bool, u64); 2];

impl Default for GeneratePanel {
    fn default() -> Self {
        Self {
            thumbnails: Thumbnails::default(),
            memory: None,
            run: None,
            which: Which::Best,
            of_run: None,
            differs: None,
            attention: Default::default(),
            export: None,
            is_wanted: false,
        }
    }
}

impl Panel for GeneratePanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut memory = self.memory.take().unwrap_or_else(|| cx.settings.of_panel("generate"));
        match cx.state.generate.opened.take() {
            Some(Target::Directory(folder)) => memory.settings[0].model = ModelChoice::of_folder(&folder),
            Some(Target::Run { .. }) => memory.settings[0].model = ModelChoice::default(),
            None => memory.settings[0].model.follow(&cx.state.selection),
        }
        let run = shown_run(cx);
        match &run {
            _ if !cx.state.runs_loaded && cx.state.current.is_none() => working_ui(ui, "Reading the runs…"),
            None if memory.settings[0].model.is_of_run() => {
                no_runs_ui(ui, cx, "A model writes text here: of a run with a checkpoint, or of a model directory.");
                ui.vertical_centered(|ui| {
                    if ui.button("Use a model directory").clicked() {
                        memory.settings[0].model = ModelChoice::folder();
                    }
                });
            }
            run => {
                let scroll = ScrollArea::vertical().auto_shrink([false, false]);
                scroll.show(ui, |ui| self.full_ui(ui, run.as_ref(), &mut memory, cx));
            }
        }
        if let Some(mut export) = self.export.take()
            && export.ui(ui, cx)
        {
            self.export = Some(export);
        }
        cx.settings.set_panel("generate", &memory);
        self.memory = Some(memory);
    }

    fn shows_directory(&self, _cx: &PanelContext<'_>) -> bool {
        self.memory.as_ref().is_some_and(|memory| !memory.settings[0].model.is_of_run())
    }

    fn submit(&mut self) -> bool {
        self.is_wanted = true;
        true
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        if cx.state.generate.sides.iter().flatten().all(|side| side.text.tokens.is_empty()) {
            return false;
        }
        self.export_texts(cx);
        true
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.export.take().is_some()
    }
}

impl GeneratePanel {
    fn full_ui(&mut self, ui: &mut Ui, run: Option<&RunSummary>, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        // Beside the model of a folder a run would say nothing.
        if let Some(run) = run.filter(|_| memory.settings[0].model.is_of_run()) {
            ui.horizontal_wrapped(|ui| {
                cx.state.want_record(&run.id);
                if self.run.as_ref() != Some(&run.id) {
                    (self.run, self.which) = (Some(run.id.clone()), Which::Best);
                }
                picker_ui(ui, run, cx);
                checkpoint_ui(ui, &mut self.which, run, cx);
            });
        }
        let is_of_run = memory.settings[0].model.is_of_run();
        if let Some(before) = self.of_run.take_if(|_| !is_of_run).filter(|about| *about != About::Nothing) {
            // A folder that is about to be named is of a model like the one that was shown, until somebody says otherwise.
            memory.folder = before;
        }
        let about = Self::about(run, memory, cx);
        if is_of_run {
            self.of_run = Some(about);
        }
        if !is_of_run || about != About::Nothing {
            ui.horizontal_wrapped(|ui| {
                // What writes text has its settings beside it, further below.
                if about != About::Nothing {
                    ui.label("Model");
                    memory.settings[0].model.ui(ui, PanelId::GENERATE, false, cx);
                }
                if !is_of_run {
                    memory.folder.choice_ui(ui);
                }
            });
        }
        if about != About::Nothing {
            let target = memory.settings[0].model.target(run.map(|run| (run, self.which)), cx);
            let is_wanted = std::mem::take(&mut self.is_wanted);
            memory.answers.ui(ui, about, target, is_wanted, (cx, &mut self.thumbnails));
            return;
        }
        let known = Known::of(&memory.settings[0].model, run, cx);
        let fills_in = known.fills_in;
        memory.source.ui(ui, fills_in);
        let [first, second] = &mut memory.settings;
        if memory.has_two {
            columns_ui(ui, |ui, side| match side {
                0 => first.ui(ui, false, known, cx),
                _ => second.ui(ui, true, known, cx),
            });
        } else {
            first.ui(ui, false, known, cx);
        }
        self.buttons_ui(ui, (run, known), memory, cx);
        ui.separator();
        let shown = memory.settings[0].model.target(run.map(|run| (run, self.which)), cx).ok();
        self.outputs_ui(ui, (shown.map(|(_, name)| name).as_deref(), fills_in), cx);
        self.details_ui(ui, cx);
        if !fills_in {
            self.proof_ui(ui, run, memory, cx);
        }
    }

    /// What the chosen model answers about, where it is one with a task.
    fn about(run: Option<&RunSummary>, memory: &Memory, cx: &PanelContext<'_>) -> About {
        if !memory.settings[0].model.is_of_run() {
            return memory.folder;
        }
        let record = run.and_then(|run| cx.state.records.get(&run.id));
        record.map_or(About::Nothing, |record| About::of(&record.config))
    }

    /// What is to be generated, or what is missing.
    fn specs(
        &self,
        run: Option<&RunSummary>,
        memory: &Memory,
        cx: &PanelContext<'_>,
    ) -> Result<[Option<GenerationSpec>; 2], String> {
        let source = memory.source.source()?;
        let shown = run.map(|run| (run, self.which));
        let [first, second] = &memory.settings;
        let of = |setting: &Setting, model: &ModelChoice| -> Result<GenerationSpec, String> {
            setting.search.check().map_err(|error| error.to_string())?;
            let (target, name) = model.target(shown, cx)?;
            Ok(GenerationSpec {
                target,
                name,
                source: source.clone(),
                search: setting.search.clone(),
                precision: setting.precision,
                details: memory.details,
            })
        };
        let beside = if second.model.is_of_run() { &first.model } else { &second.model };
        let second = memory.has_two.then(|| of(second, beside)).transpose();
        Ok([Some(of(first, &first.model)?), second.map_err(|why| format!("Second setting: {why}"))?])
    }

    fn buttons_ui(
        &mut self,
        ui: &mut Ui,
        (run, Known { fills_in, is_mute, .. }): (Option<&RunSummary>, Known),
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) {
        let palette = theme::palette(ui.visuals());
        let specs = match self.specs(run, memory, cx) {
            Ok(_) if is_mute => {
                Err("This model gives hidden states or answers and predicts no tokens: there is nothing to \
                                     write with. Heads and Redundancy show its attention."
                    .to_owned())
            }
            specs => specs,
        };
        ui.horizontal_wrapped(|ui| {
            let is_generating = cx.state.generate.is_generating();
            let button = ui.add_enabled(
                specs.is_ok() && !is_generating,
                Button::new(if fills_in { "Fill in" } else { "Generate text" }),
            );
            let button = button.on_hover_text("Runs when its turn in the queue comes (Ctrl+Enter)");
            let is_wanted = std::mem::take(&mut self.is_wanted) && !is_generating;
            if (button.clicked() || is_wanted)
                && let Ok(specs) = specs.clone()
            {
                cx.state.generate.generate(specs);
            }
            let is_stopping =
                cx.state.generate.sides.iter().flatten().any(|side| side.phase.is_open() && side.is_stopping);
            let words = if is_stopping { "Stopping…" } else { "Stop" };
            let stop = ui.add_enabled(is_generating && !is_stopping, Button::new(words));
            if stop.on_hover_text("What was generated is kept").accessible_name("Stop generating").clicked() {
                cx.state.generate.stop();
            }
            ui.checkbox(&mut memory.has_two, "Two settings side by side")
                .on_hover_text("The same source with two settings or two models; tokens that differ are underlined");
            if !fills_in {
                ui.checkbox(&mut memory.details, "Beams and attention")
                    .on_hover_text("Also show which prefixes beams followed, and what each token attended to");
            }
            let has_text = cx.state.generate.sides.iter().flatten().any(|side| !side.text.tokens.is_empty());
            if ui.add_enabled(has_text, Button::new("Copy")).on_hover_text("The generated text").clicked() {
                let texts = cx.state.generate.sides.iter().flatten().map(|side| side.text.text.as_str());
                let text = texts.collect::<Vec<_>>().join("\n\n");
                cx.act(Action::Copy("The text".to_owned(), text));
            }
            let export = ui.add_enabled(has_text, Button::new("Export…"));
            if export.on_hover_text("JSON of everything or CSV of the tokens (Ctrl+E)").clicked() {
                self.export_texts(cx);
            }
        });
        if let Err(why) = &specs {
            ui.label(RichText::new(why).color(palette.weak));
        }
    }

    fn export_texts(&mut self, cx: &mut PanelContext<'_>) {
        let sides: Vec<&Generation> = cx.state.generate.sides.iter().flatten().collect();
        let differs = if sides.len() == 2 { self.differs.as_ref().map(|(_, marks)| marks) } else { None };
        let data = exported::texts(&sides, differs);
        self.export = Some(ExportDialog::new("generate", Exportable::Data(Box::new(data)), cx));
    }

    /// What was generated. `shown`: the model that is chosen now.
    fn outputs_ui(&mut self, ui: &mut Ui, (shown, fills_in): (Option<&str>, bool), cx: &PanelContext<'_>) {
        let is_busy = cx.state.current.is_some() || cx.state.analysis.pending.iter().any(|other| other.at.is_some());
        match &cx.state.generate.sides {
            // Why another model could not says nothing of this one.
            [Some(side), None] if matches!(side.phase, Phase::Failed(_)) && Some(side.name.as_str()) != shown => {}
            [None, _] => {
                let palette = theme::palette(ui.visuals());
                let text = if fills_in {
                    "The text appears here with its hidden words filled in, and below it what else may stand there."
                } else {
                    "The text appears here token by token, with its time and with what is kept between tokens."
                };
                ui.label(RichText::new(text).color(palette.weak));
            }
            [Some(side), None] => {
                self.differs = None;
                output_ui(ui, side, None, false, is_busy);
            }
            [Some(first), Some(second)] => {
                let version = |side: &Generation| (side.text.tokens.len(), side.phase.is_open(), side.ticket.number());
                let versions = [version(first), version(second)];
                if self.differs.as_ref().is_none_or(|(known, _)| *known != versions) {
                    // While both grow, only what both have is compared.
                    let (a, b) = (&first.text.tokens, &second.text.tokens);
                    let both = a.len().min(b.len());
                    let is_open = first.phase.is_open() || second.phase.is_open();
                    let [a, b] = [a, b].map(|tokens| tokens.get(..if is_open { both } else { tokens.len() }));
                    let marks = differing(a.unwrap_or_default(), b.unwrap_or_default());
                    let lengths = [first.text.tokens.len(), second.text.tokens.len()];
                    let mut marks = marks.into_iter().zip(lengths).map(|(mut marks, length)| {
                        marks.resize(length, false);
                        marks
                    });
                    let marks = [marks.next().unwrap_or_default(), marks.next().unwrap_or_default()];
                    self.differs = Some((versions, marks));
                }
                let marks = self.differs.as_ref().map(|(_, marks)| marks);
                let has_both = !first.text.tokens.is_empty() && !second.text.tokens.is_empty();
                let marks = marks.filter(|_| has_both);
                columns_ui(ui, |ui, side| match side {
                    0 => output_ui(ui, first, marks.map(|[marks, _]| marks.as_slice()), false, is_busy),
                    _ => output_ui(ui, second, marks.map(|[_, marks]| marks.as_slice()), true, is_busy),
                });
            }
        }
    }

    /// Beams and attention of the texts that have them.
    fn details_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut figure = None;
        let views = self.attention.iter_mut();
        for ((number, side), view) in cx.state.generate.sides.iter().enumerate().zip(views) {
            let Some(side) = side.as_ref().filter(|side| !side.phase.is_open() && !side.text.source.is_empty()) else {
                continue;
            };
            let second = number == 1;
            let suffix = if second { ", second setting" } else { "" };
            if !side.text.tree.is_empty() {
                CollapsingHeader::new(format!("Beams{suffix}")).default_open(true).show(ui, |ui| {
                    beams_ui(ui, &side.text, second);
                });
            }
            if side.text.attention.is_some() {
                CollapsingHeader::new(format!("Attention on the source{suffix}")).default_open(true).show(ui, |ui| {
                    let found = view.ui(ui, &side.text, side.ticket.number(), second);
                    if let Some(found) = found {
                        figure = Some(found.origin(side.name.clone(), metadata(side)));
                    }
                });
            }
        }
        if let Some(figure) = figure {
            let figure: Box<MapFigure> = Box::new(figure);
            self.export = Some(ExportDialog::new("generate", Exportable::Map(figure), cx));
        }
    }

    fn proof_ui(&mut self, ui: &mut Ui, run: Option<&RunSummary>, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        let open = cx.state.generate.proving.is_some();
        CollapsingHeader::new("Lossless?").default_open(open).show(ui, |ui| {
            let wanted = self.proof_spec(run, memory, cx);
            let verdict = wanted.as_ref().map(|_| ()).map_err(String::as_str);
            let clicked = memory.proof.ui(ui, cx.state.generate.proving.as_ref(), verdict);
            match (clicked, wanted) {
                (Some(Clicked::Prove), Ok((target, sources, search))) => {
                    let examples = memory.proof.examples;
                    cx.state.generate.prove(target, (sources, examples), search, memory.proof.precisions());
                }
                (Some(Clicked::Stop), _) => cx.state.generate.stop_proving(),
                (Some(clicked @ (Clicked::Export | Clicked::Copy)), _) => {
                    let Some(data) = cx.state.generate.proving.as_ref().map(exported::proof) else { return };
                    if clicked == Clicked::Copy {
                        cx.act(Action::Copy("The comparison as CSV".to_owned(), data.csv));
                    } else {
                        self.export = Some(ExportDialog::new("generate", Exportable::Data(Box::new(data)), cx));
                    }
                }
                _ => {}
            }
        });
    }

    /// Model, sources and search of a comparison, or what is missing.
    fn proof_spec(&self, run: Option<&RunSummary>, memory: &Memory, cx: &PanelContext<'_>) -> Result<Compared, String> {
        let [setting, _] = &memory.settings;
        setting.search.check().map_err(|error| error.to_string())?;
        let target = setting.model.target(run.map(|run| (run, self.which)), cx)?;
        let mut sources = Vec::new();
        if memory.proof.of_written {
            let lines = memory.source.written.lines().filter(|line| !line.trim().is_empty());
            sources.extend(lines.map(|line| GenerateSource::Text(line.to_owned())));
            if sources.is_empty() || memory.source.is_example {
                return Err("Write a source in each line above.".to_owned());
            }
        }
        Ok((target, sources, setting.search.clone()))
    }
}

/// Model with its name, sources and search of a comparison of the caches.
type Compared = ((Target, String), Vec<GenerateSource>, Search);

/// What an exported figure says of its origin.
fn metadata(side: &Generation) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("program".to_owned(), format!("Headroom {}", env!("CARGO_PKG_VERSION"))),
        ("model".to_owned(), side.name.clone()),
        ("search".to_owned(), serde_json::to_string(&side.search).unwrap_or_default()),
        ("text".to_owned(), side.text.text.clone()),
    ])
}

/// With less width than this, in points, two settings stand below each other.
const WIDE: f32 = 940.0;

/// Two sides, beside each other where there is room for both.
fn columns_ui(ui: &mut Ui, mut add: impl FnMut(&mut Ui, usize)) {
    if ui.available_width() < WIDE {
        for side in 0..2 {
            ui.push_id(("side", side), |ui| add(ui, side));
        }
        return;
    }
    ui.columns(2, |columns| {
        for (side, ui) in columns.iter_mut().enumerate() {
            ui.push_id(("side", side), |ui| add(ui, side));
        }
    });
}
