//! The panel itself.

use std::{collections::BTreeMap, sync::Arc};

use egui::{RichText, ScrollArea, Ui};
use headroom_engine::{
    analysis::{Analysis, ScoreSpectra},
    store::RunSummary,
};
use serde::{Deserialize, Serialize};

use super::{
    bars::{self, bars_ui},
    captured::{Captured, KINDS},
    curves::{self, Curves},
    options::Options,
    overlap::{self, Overlap},
    patterns::Patterns,
    projections::Projections,
    queries::{self, Queries},
    table::{table_csv, table_ui},
    words::words,
};
use crate::{
    inspector::{ExportBox, Taking, working_ui},
    panels::{
        Action, Panel, PanelContext,
        live::picker_ui,
        snapshots::{
            AskForm, Look, Scrubber, Shown, empty_ui, export_ui, has_analysis, looking_ui, notes_ui, of_run_ui,
            provenance, source_ui, with_capital,
        },
    },
    theme,
    widgets::{ChartState, SharedX},
};

/// Below this width the parts stand below each other.
const NARROW: f32 = 860.0;

/// What the panel remembers between starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    options: Options,
    look: Look,
}

/// Which figure leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaves {
    Curves,
    Bars,
    Pattern(usize),
    Overlap,
    Projection(usize),
    Queries,
    Captured(usize),
}

/// Shows in how small a space the scores of a model live.
#[derive(Default)]
pub struct SpectraPanel {
    memory: Option<Memory>,
    scrubber: Scrubber,
    ask: AskForm,
    curves: Curves,
    chart: ChartState,
    shared: SharedX,
    patterns: Patterns,
    overlap: Overlap,
    projections: Projections,
    queries: Queries,
    captured: Captured,
    export: Option<ExportBox>,
    leaves: Option<Leaves>,
}

impl Panel for SpectraPanel {
    fn title(&self) -> &'static str {
        "Spectra"
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut memory = self.memory.take().unwrap_or_else(|| cx.settings.of_panel("spectra"));
        of_run_ui(
            ui,
            cx,
            "In how small a space attention scores live shows here while a run trains.",
            |ui, run, cx| self.run_ui(ui, run, &mut memory, cx),
        );
        export_ui(&mut self.export, ui, cx);
        cx.settings.set_panel("spectra", &memory);
        self.memory = Some(memory);
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let has_any = has_analysis(cx);
        self.leaves = has_any.then_some(Leaves::Curves);
        has_any
    }

    fn undo(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let state = &mut *cx.state;
        state.analysis.undo_delete(&mut state.messages)
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.export.take().is_some() || self.patterns.back()
    }
}

impl SpectraPanel {
    fn run_ui(&mut self, ui: &mut Ui, run: &RunSummary, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        cx.state.want_record(&run.id);
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
        match shown {
            Shown::Reading => working_ui(ui, "Reading the analysis…"),
            Shown::Nothing => {
                let what = "How many components hold the energy of attention scores and of query and key weights, and \
                            how that changes while a run trains.";
                empty_ui(ui, run, what, &mut self.ask, cx);
            }
            Shown::Analysis { analysis, steps, .. } => self.analysis_ui(ui, run, &analysis, &steps, memory, cx),
        }
    }

    fn analysis_ui(
        &mut self,
        ui: &mut Ui,
        run: &RunSummary,
        analysis: &Arc<Analysis>,
        steps: &[u64],
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) {
        let palette = theme::palette(ui.visuals());
        let (told, metadata) = provenance(run, analysis, cx);
        ui.label(RichText::new(format!("{}.", with_capital(&told))).small().color(palette.weak));
        self.controls_ui(ui, analysis, memory, cx);
        if let Some(spectra) = &analysis.spectra {
            self.curves.update(run, analysis, steps, memory.options, cx);
            self.patterns.update(analysis, spectra);
            self.overlap.update(analysis, spectra);
            self.queries.update(analysis, spectra);
            let colour = theme::run_style(run.number).0;
            let (curves, chart, shared) = (&self.curves, &mut self.chart, &mut self.shared);
            let right = |ui: &mut Ui| {
                bars_ui(ui, &spectra.network, colour);
                ui.add_space(4.0);
                ScrollArea::horizontal().id_salt("components").show(ui, |ui| table_ui(ui, spectra));
            };
            if ui.available_width() >= NARROW {
                ui.columns(2, |columns| {
                    if let [first, second] = columns {
                        curves.ui(first, memory.options, chart, shared);
                        right(second);
                    }
                });
            } else {
                curves.ui(ui, memory.options, chart, shared);
                right(ui);
            }
            for (sentence, is_warning) in words(spectra) {
                let colour = if is_warning { palette.warning } else { palette.weak };
                ui.label(RichText::new(sentence).color(colour));
            }
            ui.add_space(8.0);
            self.patterns.ui(ui, spectra);
            if !self.overlap.is_empty() {
                ui.add_space(8.0);
                self.overlap.ui(ui, memory.look);
            }
            self.projections.update(analysis);
            self.projections.ui(ui);
            if !self.queries.is_empty() {
                ui.add_space(8.0);
                self.queries.ui(ui);
            }
        } else {
            ui.label("The spectra of this run's scores were not asked for.");
        }
        if let Some(captured) = &analysis.captured {
            ui.add_space(8.0);
            self.captured.update(analysis, captured);
            self.captured.ui(ui, captured);
        }
        notes_ui(ui, analysis);
        self.leave(analysis, run, &told, metadata, memory, cx);
    }

    fn controls_ui(&mut self, ui: &mut Ui, analysis: &Analysis, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        ui.horizontal_wrapped(|ui| {
            memory.options.ui(ui);
            memory.look.ui(ui);
            ui.menu_button("Export", |ui| {
                let mut all = Vec::new();
                if analysis.spectra.is_some() {
                    all.extend([(Leaves::Curves, curves::TITLE.to_owned()), (Leaves::Bars, bars::TITLE.to_owned())]);
                    let patterns = 0..self.patterns.count();
                    all.extend(patterns.map(|place| (Leaves::Pattern(place), format!("Component {}", place + 1))));
                    if !self.overlap.is_empty() {
                        all.push((Leaves::Overlap, overlap::TITLE.to_owned()));
                    }
                    let spaces = self.projections.titles().into_iter().enumerate();
                    all.extend(spaces.map(|(place, title)| (Leaves::Projection(place), title)));
                    if !self.queries.is_empty() {
                        all.push((Leaves::Queries, queries::TITLE.to_owned()));
                    }
                }
                if analysis.captured.is_some() {
                    let kinds = KINDS.into_iter().enumerate();
                    all.extend(kinds.map(|(kind, (title, _))| (Leaves::Captured(kind), title.to_owned())));
                }
                for (leaves, title) in all {
                    if ui.button(format!("{title}…")).clicked() {
                        self.leaves = Some(leaves);
                        ui.close();
                    }
                }
            });
            if let Some(spectra) = &analysis.spectra
                && ui.button("Copy table").on_hover_text("Components for 80, 90 and 95 % as CSV").clicked()
            {
                cx.act(Action::Copy("The table of components".to_owned(), table_csv(spectra)));
            }
        });
    }

    fn leave(
        &mut self,
        analysis: &Analysis,
        run: &RunSummary,
        told: &str,
        metadata: BTreeMap<String, String>,
        memory: &Memory,
        cx: &mut PanelContext<'_>,
    ) {
        let Some(leaves) = self.leaves.take() else { return };
        let colour = theme::run_style(run.number).0;
        let spectra = analysis.spectra.as_ref();
        let curve = match leaves {
            Leaves::Curves => Some(self.curves.figure(memory.options, &mut self.chart, &self.shared, metadata.clone())),
            Leaves::Bars => spectra.map(|spectra| bars::figure(&spectra.network, colour, metadata.clone())),
            Leaves::Projection(place) => self.projections.figure(place, metadata.clone()),
            Leaves::Queries => Some(self.queries.figure(metadata.clone())),
            Leaves::Captured(kind) => self.captured.figure(kind, metadata.clone()),
            Leaves::Pattern(_) | Leaves::Overlap => None,
        };
        let map = match leaves {
            Leaves::Pattern(place) => self.patterns.figure(place),
            Leaves::Overlap => Some(self.overlap.figure(memory.look)),
            _ => None,
        };
        let taking = if let Some(mut figure) = curve {
            figure.subtitle = with_capital(told);
            figure.notes.extend(spectra.into_iter().flat_map(words).map(|(sentence, _)| sentence));
            Taking::Figure(Box::new(figure))
        } else if let Some(mut figure) = map {
            figure.subtitle = with_capital(told);
            if matches!(leaves, Leaves::Overlap) && spectra.is_some_and(ScoreSpectra::is_sketched) {
                figure.subtitle.push_str("; shares are what they are at least");
            }
            figure.metadata = metadata;
            Taking::Map(Box::new(figure))
        } else {
            return;
        };
        self.export = Some(ExportBox::new("spectra", taking, cx));
    }
}
