//! The panel itself.

use std::sync::Arc;

use egui::{RichText, Ui};
use headroom_engine::{
    analysis::{Analysis, AnalysisSpec, ReconstructionSpec},
    config::{RunConfig, from_toml},
    store::{RunId, RunSummary},
    worker::{Which, choose_checkpoint},
};

use super::{
    chart::Charts,
    derived::Derived,
    memory::Memory,
    outcome::Outcomes,
    parts::{CHARTS, dimensions_ui, heads_ui, pairs_ui},
    saving::{Source, saving_ui},
};
use crate::{
    export::Figure,
    findings,
    inspector::{ExportBox, Taking, base_dir, working_ui},
    panels::{
        Panel, PanelContext,
        live::picker_ui,
        snapshots::{
            AskForm, Scrubber, Shown, empty_ui, export_ui, has_analysis, looking_ui, notes_ui, of_run_ui, provenance,
            source_ui, with_capital,
        },
    },
    theme,
    widgets::HeadSpot,
};

/// Below this width the parts stand below each other.
const NARROW: f32 = 860.0;

/// Shows what a trained model could save.
#[derive(Default)]
pub struct AdviserPanel {
    memory: Option<Memory>,
    scrubber: Scrubber,
    ask: AskForm,
    derived: Derived,
    charts: Charts,
    outcomes: Outcomes,
    /// The config of the run that is shown, read once; or why it cannot be.
    config: Option<(RunId, Result<RunConfig, String>)>,
    /// The head whose reason is told.
    pointed: Option<HeadSpot>,
    export: Option<ExportBox>,
}

impl Panel for AdviserPanel {
    fn title(&self) -> &'static str {
        "Adviser"
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut memory = self.memory.take().unwrap_or_else(|| cx.settings.of_panel("adviser"));
        of_run_ui(ui, cx, "What a trained model could save shows here, by what was measured of it.", |ui, run, cx| {
            self.run_ui(ui, run, &mut memory, cx);
        });
        export_ui(&mut self.export, ui, cx);
        cx.settings.set_panel("adviser", &memory);
        self.memory = Some(memory);
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let has_any = has_analysis(cx);
        self.charts.wanted = has_any.then_some(0);
        has_any
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.export.take().is_some() || self.pointed.take().is_some()
    }
}

impl AdviserPanel {
    fn run_ui(&mut self, ui: &mut Ui, run: &RunSummary, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        cx.state.want_record(&run.id);
        // A row that is wider than the panel makes nothing below it wider.
        let width = ui.available_width();
        let shown = Shown::of(run, &mut self.scrubber, cx);
        ui.horizontal_wrapped(|ui| {
            picker_ui(ui, run, cx);
            source_ui(ui, run, cx);
            self.ask.button_ui(ui, run, cx);
        });
        if let Shown::Analysis { steps, step, .. } = &shown {
            ui.horizontal(|ui| self.scrubber.ui(ui, steps, *step));
        }
        self.ask.ui(ui, run, cx);
        looking_ui(ui, cx);
        ui.vertical(|ui| {
            ui.set_max_width(width);
            self.outcomes.ui(ui, &run.id, cx);
            match shown {
                Shown::Reading => working_ui(ui, "Reading the analysis…"),
                Shown::Nothing => {
                    let what = "Which heads could borrow their maps, how many dimensions could be shared and how many pairs \
                                are enough follows from an analysis of a trained model's attention.";
                    empty_ui(ui, run, what, &mut self.ask, cx);
                }
                Shown::Analysis { analysis, .. } => self.analysis_ui(ui, run, &analysis, memory, cx),
            }
        });
    }

    fn analysis_ui(
        &mut self,
        ui: &mut Ui,
        run: &RunSummary,
        analysis: &Arc<Analysis>,
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) {
        let palette = theme::palette(ui.visuals());
        if self.config.as_ref().is_none_or(|(known, _)| *known != run.id) {
            let Some(record) = cx.state.records.get(&run.id) else {
                working_ui(ui, "Reading the run…");
                return;
            };
            self.config = Some((run.id.clone(), from_toml(&record.config_toml).map_err(|error| error.to_string())));
        }
        let config = match &self.config {
            Some((_, Ok(config))) => config,
            Some((_, Err(why))) => {
                ui.label(RichText::new(format!("The config of the run cannot be read. {why}")).color(palette.error));
                return;
            }
            None => return,
        };
        let (words, metadata) = provenance(run, analysis, cx);
        ui.label(format!("What this model could save. {}.", with_capital(&words)));
        if analysis.step == Some(0) {
            let words = "Before the first step nothing is learnt yet: go on to a later one.";
            ui.label(RichText::new(words).color(palette.warning));
        }
        ui.add_space(4.0);
        let wanted = &mut self.charts.wanted;
        ui.menu_button("Export", |ui| {
            for (number, title) in CHARTS.into_iter().enumerate() {
                if ui.button(format!("{title}…")).clicked() {
                    *wanted = Some(number);
                    ui.close();
                }
            }
        });
        let (known, now) = match self.derived.update(run, config, analysis, memory) {
            Ok(found) => found,
            Err(why) => {
                ui.label(RichText::new(format!("No advice can be given. {why}")).color(palette.error));
                notes_ui(ui, analysis);
                return;
            }
        };
        let (charts, pointed) = (&mut self.charts, &mut self.pointed);
        *pointed = pointed.filter(|at| at.layer < now.grid.layers() && at.head < now.grid.heads());
        let best = cx.state.checkpoints.get(&run.id).and_then(|all| choose_checkpoint(all, Which::Best).ok());
        let of_errors = known.adviser.errors().is_ok().then_some(analysis.as_ref());
        let sources = findings::sources_words(analysis, of_errors, best.map(|best| best.step));
        let source = Source { run, given: config, words: &words, step: analysis.step };
        let mut wants_look = false;
        if ui.available_width() >= NARROW {
            ui.columns(2, |columns| {
                if let [left, right] = columns {
                    // Columns set their text to both edges; what stands in one of them does not.
                    left.vertical(|ui| heads_ui(ui, known, now, memory, charts, pointed));
                    right.vertical(|ui| {
                        dimensions_ui(ui, known, now, memory, charts);
                        ui.separator();
                        wants_look = pairs_ui(ui, known, now, memory, &sources, charts);
                        ui.separator();
                        saving_ui(ui, &source, now, memory, cx);
                    });
                }
            });
        } else {
            heads_ui(ui, known, now, memory, charts, pointed);
            ui.separator();
            dimensions_ui(ui, known, now, memory, charts);
            ui.separator();
            wants_look = pairs_ui(ui, known, now, memory, &sources, charts);
            ui.separator();
            saving_ui(ui, &source, now, memory, cx);
        }
        // A chart that was not drawn does not leave later, unasked.
        self.charts.wanted = None;
        if let Some(figure) = self.charts.leaving.take() {
            let figure = Figure { subtitle: with_capital(&words), metadata, ..figure };
            self.export = Some(ExportBox::new("adviser", Taking::Figure(Box::new(figure)), cx));
        }
        if wants_look && !cx.state.analysis.looking.iter().any(|looking| looking.run == run.id) {
            let reconstruction = ReconstructionSpec { whole: false, ..ReconstructionSpec::default() };
            let spec = AnalysisSpec { reconstruction: Some(reconstruction), ..AnalysisSpec::default() };
            cx.state.analysis.look(&run.id, Which::Best, spec, Vec::new(), base_dir());
        }
        notes_ui(ui, analysis);
    }
}
