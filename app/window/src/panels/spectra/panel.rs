//! The panel itself.

use std::{collections::BTreeMap, sync::Arc};

use egui::{Color32, RichText, Ui};
use headroom_engine::analysis::{Analysis, ScoreSpectra, Topic};
use serde::{Deserialize, Serialize};

use super::{
    bars::{self, bars_ui},
    captured::{Captured, KINDS},
    curves::{self, Curves},
    options::{Heights, Options},
    overlap::{self, Overlap},
    patterns::Patterns,
    projections::Projections,
    queries::{self, Queries},
    table::{table_csv, table_ui},
    words::words,
};
use crate::{
    common::Exportable,
    context::{Action, Panel, PanelContext},
    export::{Figure, MapFigure},
    format::with_capital,
    panels::analysis::{
        About, AnalysisFrame, FoundAnalysis, MapStyle, Subject, export_menu_ui, notes_ui, provenance, undo_delete,
    },
    theme,
    widgets::{SpareHeight, sideways_ui},
};

/// Below this width the parts stand below each other.
const NARROW: f32 = 860.0;

const ABOUT: About = About {
    name: "spectra",
    without_runs: "In how few dimensions attention scores lie is shown here while a run trains.",
    without_analysis: "How many components hold the energy of attention scores and of query and key weights, and how \
                       that \
                       changes while a run trains.",
    is_of_reconstructions: false,
};

/// What the panel remembers between starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    options: Options,
    heights: Heights,
    look: MapStyle,
}

/// Which figure is exported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FigureChoice {
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
    frame: AnalysisFrame<Memory>,
    curves: Curves,
    patterns: Patterns,
    overlap: Overlap,
    projections: Projections,
    queries: Queries,
    captured: Captured,
    spare: SpareHeight,
    wanted: Option<FigureChoice>,
}

impl Panel for SpectraPanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut frame = std::mem::take(&mut self.frame);
        frame.ui(ui, cx, &ABOUT, |frame, ui, subject, memory, cx| {
            let shown = frame.header_ui(ui, subject, &ABOUT, cx, |_, _| ());
            let FoundAnalysis { analysis, steps, .. } = frame.found_ui(ui, subject, shown, &ABOUT, cx)?;
            self.analysis_ui(ui, subject, &analysis, &steps, memory, cx)
        });
        self.frame = frame;
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let has_any = self.frame.has_figures(&ABOUT, cx);
        self.wanted = has_any.then_some(FigureChoice::Curves);
        has_any
    }

    fn undo(&mut self, cx: &mut PanelContext<'_>) -> bool {
        undo_delete(cx)
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.frame.back() || self.patterns.back()
    }
}

impl SpectraPanel {
    fn analysis_ui(
        &mut self,
        ui: &mut Ui,
        subject: &Subject,
        analysis: &Arc<Analysis>,
        steps: &[u64],
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) -> Option<Exportable> {
        let palette = theme::palette(ui.visuals());
        let (told, metadata) = provenance(subject, analysis, cx);
        ui.label(RichText::new(format!("{}.", with_capital(&told))).small().color(palette.weak));
        self.controls_ui(ui, analysis, memory, cx);
        let spare = self.spare;
        // Charts below each other whose height the user did not choose.
        let mut stacked = 0;
        if let Some(spectra) = &analysis.spectra {
            self.curves.update(subject, analysis, steps, memory.options, cx);
            self.patterns.update(analysis);
            self.overlap.update(analysis, spectra);
            self.queries.update(analysis, spectra);
            let colour = subject.colour(cx.state);
            let right = |ui: &mut Ui| {
                bars_ui(ui, &spectra.network, colour);
                ui.add_space(4.0);
                sideways_ui(ui, "components", |ui| table_ui(ui, spectra));
            };
            if ui.available_width() >= NARROW {
                ui.columns(2, |columns| {
                    if let [first, second] = columns {
                        // Columns set their text to both edges; what stands in one of them does not.
                        first.vertical(|ui| self.curves.ui(ui, memory.options, &mut memory.heights.energy, spare));
                        second.vertical(right);
                    }
                });
            } else {
                self.curves.ui(ui, memory.options, &mut memory.heights.energy, spare);
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
            self.projections.ui(ui, &mut memory.heights.projections, spare);
            if !self.queries.is_empty() {
                ui.add_space(8.0);
                self.queries.ui(ui, &mut memory.heights.queries, spare);
            }
            let heights = &memory.heights;
            stacked += usize::from(heights.energy.is_none());
            stacked += if heights.projections.is_none() { self.projections.titles().count() } else { 0 };
            stacked += usize::from(!self.queries.is_empty() && heights.queries.is_none());
        } else {
            ui.label("This analysis has no spectra of scores.");
        }
        if let Some(captured) = &analysis.captured {
            ui.add_space(8.0);
            self.captured.update(analysis, captured);
            let rows = self.captured.ui(ui, captured, &mut memory.heights.captured, spare);
            stacked += if memory.heights.captured.is_none() { rows } else { 0 };
        }
        notes_ui(ui, analysis, &[Topic::Analysis, Topic::Spectra]);
        self.spare.update(ui, stacked);
        let colour = subject.colour(cx.state);
        self.figure(analysis, &told, metadata, memory, colour)
    }

    fn controls_ui(&mut self, ui: &mut Ui, analysis: &Analysis, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        ui.horizontal_wrapped(|ui| {
            memory.options.ui(ui, analysis);
            memory.look.ui(ui);
            let mut all = Vec::new();
            if analysis.spectra.is_some() {
                all.extend([
                    (FigureChoice::Curves, curves::TITLE.to_owned()),
                    (FigureChoice::Bars, bars::TITLE.to_owned()),
                ]);
                let patterns = self.patterns.figures().iter().enumerate();
                all.extend(patterns.map(|(place, figure)| (FigureChoice::Pattern(place), figure.title.clone())));
                if !self.overlap.is_empty() {
                    all.push((FigureChoice::Overlap, overlap::TITLE.to_owned()));
                }
                let spaces = self.projections.titles().enumerate();
                all.extend(spaces.map(|(place, title)| (FigureChoice::Projection(place), title.to_owned())));
                if !self.queries.is_empty() {
                    all.push((FigureChoice::Queries, queries::TITLE.to_owned()));
                }
            }
            if analysis.captured.is_some() {
                let kinds = KINDS.into_iter().enumerate();
                all.extend(kinds.map(|(kind, (title, _))| (FigureChoice::Captured(kind), title.to_owned())));
            }
            self.wanted = export_menu_ui(ui, all).or(self.wanted);
            if let Some(spectra) = &analysis.spectra
                && ui.button("Copy table").on_hover_text("Components for 80, 90 and 95 % as CSV").clicked()
            {
                cx.act(Action::Copy("The table of components".to_owned(), table_csv(spectra)));
            }
        });
    }

    /// The figure that is to be exported.
    fn figure(
        &mut self,
        analysis: &Analysis,
        told: &str,
        metadata: BTreeMap<String, String>,
        memory: &Memory,
        colour: Color32,
    ) -> Option<Exportable> {
        let wanted = self.wanted.take()?;
        let spectra = analysis.spectra.as_ref();
        let mut subtitle = with_capital(told);
        let map = |figure: MapFigure, subtitle, metadata| Exportable::Map(Box::new(figure.origin(subtitle, metadata)));
        let figure = match wanted {
            FigureChoice::Curves => self.curves.figure(memory.options, metadata),
            FigureChoice::Bars => bars::figure(&spectra?.network, colour, metadata),
            FigureChoice::Projection(place) => self.projections.figure(place, metadata)?,
            FigureChoice::Queries => self.queries.figure(metadata),
            FigureChoice::Captured(kind) => self.captured.figure(kind, metadata)?,
            FigureChoice::Pattern(place) => {
                return Some(map(self.patterns.figures().get(place)?.clone(), subtitle, metadata));
            }
            FigureChoice::Overlap => {
                if spectra.is_some_and(ScoreSpectra::is_sketched) {
                    subtitle.push_str("; shares are lower bounds");
                }
                return Some(map(self.overlap.figure(memory.look), subtitle, metadata));
            }
        };
        let notes = spectra.into_iter().flat_map(words).map(|(sentence, _)| sentence);
        let notes = figure.notes.iter().cloned().chain(notes).collect();
        Some(Exportable::Figure(Box::new(Figure { subtitle, notes, ..figure })))
    }
}
