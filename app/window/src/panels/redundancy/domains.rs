//! A run and its control, trained in the same way on the same text shuffled: four matrices of layers side by side.

use std::sync::Arc;

use egui::{Button, RichText, Ui};
use headroom_engine::{
    analysis::{Analysis, Measure, Similarity},
    config::counted,
    store::{AnalysisId, RunId, RunSummary},
};

use super::matrix;
use crate::{
    common::working_ui,
    context::PanelContext,
    export::MapFigure,
    file_dialogs::current_folder,
    findings::{between, left_out_words, similarity_map},
    format::{self, with_capital},
    panels::analysis::{MapStyle, Subject, failed_ui, formula, provenance},
    plot::{Extent, Tone},
    state::AnalysisPart,
    theme,
    widgets::{HeatMap, HeatState},
};

/// What the tag of two runs that belong together begins with.
const TAG: &str = "domains:";
/// The most height of a matrix.
const HEIGHT: f32 = 300.0;
/// Below this width the matrices stand below each other.
const NARROW: f32 = 620.0;

/// Shows a run beside its control.
#[derive(Default)]
pub struct DomainsView {
    /// The run whose text is in order and the one whose text is shuffled.
    pair: Option<[RunId; 2]>,
    cells: [Cell; 4],
}

/// One of the four: a model on a text.
#[derive(Default)]
struct Cell {
    of: Option<(AnalysisId, Measure)>,
    found: Option<Found>,
    state: HeatState,
}

struct Found {
    analysis: Arc<Analysis>,
    measure: Measure,
    matrix: MapFigure,
    near_and_far: (f64, f64),
    /// What is left out, where heads borrow.
    left_out: Option<String>,
    /// Share of the energy of scores in the first hundredth of all eigenvalues, at least and at most, and of how many samples.
    energy: Option<((f64, f64), u64)>,
}

impl Found {
    fn new(analysis: Arc<Analysis>, measure: Measure) -> Option<Self> {
        let similarity: &Similarity = analysis.similarity(measure).or(analysis.similarity.first())?;
        let network = analysis.spectra.as_ref().map(|spectra| &spectra.network);
        let (borrowers, heads) = (similarity.borrowers(), similarity.layers * similarity.heads);
        Some(Self {
            left_out: (borrowers > 0).then(|| left_out_words(borrowers, heads)),
            measure: similarity.measure,
            matrix: similarity_map(similarity),
            near_and_far: similarity.near_and_far(),
            energy: network.map(|network| (network.share_between(network.dimension.div_ceil(100)), network.samples)),
            analysis,
        })
    }
}

/// Model and text of the four places: whether each is shuffled.
const PLACES: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

fn title((model, text): (bool, bool)) -> &'static str {
    match (model, text) {
        (false, false) => "Trained on text in order, reads text in order",
        (false, true) => "Trained on text in order, reads it shuffled",
        (true, false) => "Trained on shuffled text, reads text in order",
        (true, true) => "Trained on shuffled text, reads it shuffled",
    }
}

impl DomainsView {
    /// The four titles.
    pub fn titles() -> impl Iterator<Item = &'static str> {
        PLACES.into_iter().map(title)
    }

    /// Whether it is what the panel shows.
    pub fn is_shown(&self, cx: &PanelContext<'_>) -> bool {
        cx.state.analysis.beside_control && self.pair.is_some()
    }

    /// The button that shows it; nothing for a run that has no control.
    pub fn button_ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        let is_known = self.pair.as_ref().is_some_and(|pair| {
            let is_there = |id: &RunId| cx.state.runs.iter().any(|other| other.id == *id);
            pair.contains(&run.id) && pair.iter().all(is_there)
        });
        if !is_known {
            self.pair = pair_of(run, cx);
        }
        if self.pair.is_none() {
            return;
        }
        let is_open = &mut cx.state.analysis.beside_control;
        let button = ui.add(Button::selectable(*is_open, "Beside its control").frame_when_inactive(true));
        let words = "The same model trained on this text and on its tokens shuffled, each analysed on both";
        if button.on_hover_text(words).clicked() {
            *is_open = !*is_open;
        }
    }

    /// The four matrices.
    pub fn ui(&mut self, ui: &mut Ui, measure: Measure, style: MapStyle, cx: &mut PanelContext<'_>) {
        let Some(pair) = self.pair.clone() else { return };
        let palette = theme::palette(ui.visuals());
        self.update(&pair, measure, cx);
        let shown = self.cells.iter().find_map(|cell| cell.found.as_ref()).map_or(measure, |found| found.measure);
        ui.label(RichText::new(formula(shown)).small().color(palette.weak));
        let words = "What is similar in all four is not due to language: it comes from the model or from the \
                     frequency of tokens.";
        ui.label(words);
        // Both models have the same plan.
        if let Some(words) = self.cells.iter().find_map(|cell| cell.found.as_ref()?.left_out.as_ref()) {
            ui.label(RichText::new(words).color(palette.warning));
        }
        let missing: Vec<(RunId, bool)> = self.missing(&pair);
        let waits = pair.iter().any(|run| cx.state.analysis.is_pending(&run.into()));
        if !missing.is_empty() && !waits {
            let has_all = pair.iter().all(|run| cx.state.checkpoints.get(run).is_some_and(|all| !all.is_empty()));
            let button = ui.add_enabled(has_all, Button::new("Analyse what is missing"));
            let button = button.on_hover_text("On the best checkpoints; runs when its turn in the queue comes");
            if button.on_disabled_hover_text("Both runs need a checkpoint first").clicked() {
                for (run, shuffled) in missing {
                    let name = cx.state.run_name(&run);
                    cx.state.analysis.analyse_beside(&run, &name, shuffled, current_folder());
                }
            }
        }
        ui.add_space(4.0);
        let tone = self.tone(style);
        let is_wide = ui.available_width() >= NARROW;
        for row in self.cells.chunks_mut(2).zip(PLACES.chunks(2)) {
            let (cells, places) = row;
            if is_wide {
                ui.columns(2, |columns| {
                    for ((column, cell), place) in columns.iter_mut().zip(cells).zip(places) {
                        // Columns set their text to both edges; what stands in one of them does not.
                        column.vertical(|ui| cell.ui(ui, *place, tone, cx));
                    }
                });
            } else {
                for (cell, place) in cells.iter_mut().zip(places) {
                    cell.ui(ui, *place, tone, cx);
                }
            }
            ui.add_space(8.0);
        }
    }

    /// One of the matrices as it is exported.
    pub fn figure(&self, place: usize, subject: &Subject, style: MapStyle, cx: &PanelContext<'_>) -> Option<MapFigure> {
        let (cell, place) = (self.cells.get(place)?, *PLACES.get(place)?);
        let found = cell.found.as_ref()?;
        let title = format!("{}. {}", matrix::TITLE, title(place));
        let (words, metadata) = provenance(subject, &found.analysis, cx);
        let notes = vec![formula(found.measure)];
        let figure = MapFigure { title, notes, tone: self.tone(style), ..found.matrix.clone() };
        Some(cell.state.seen_of(figure.origin(with_capital(&words), metadata)))
    }

    /// Colours that mean the same in all four.
    fn tone(&self, style: MapStyle) -> Tone {
        let found = self.cells.iter().filter_map(|cell| cell.found.as_ref());
        let whole = found.map(|found| found.matrix.data.extent()).reduce(Extent::with);
        style.tone(whole.unwrap_or(Extent::NONE))
    }

    fn update(&mut self, pair: &[RunId; 2], measure: Measure, cx: &mut PanelContext<'_>) {
        for (cell, (model, text)) in self.cells.iter_mut().zip(PLACES) {
            let [in_order, shuffled] = pair;
            let run = if model { shuffled } else { in_order };
            let of = cx.state.analysis.by_order(run, text).map(|found| (found.id, measure));
            if cell.of != of {
                (cell.of, cell.found) = (of, None);
            }
            if let (Some((id, measure)), None) = (&cell.of, &cell.found) {
                cell.found = cx.state.analysis.result(id).and_then(|analysis| Found::new(analysis, *measure));
            }
        }
    }

    fn missing(&self, pair: &[RunId; 2]) -> Vec<(RunId, bool)> {
        let [in_order, shuffled] = pair;
        let missing = self.cells.iter().zip(PLACES).filter(|(cell, _)| cell.of.is_none());
        missing.map(|(_, (model, text))| (if model { shuffled } else { in_order }.clone(), text)).collect()
    }
}

impl Cell {
    fn ui(&mut self, ui: &mut Ui, place: (bool, bool), tone: Tone, cx: &mut PanelContext<'_>) {
        let palette = theme::palette(ui.visuals());
        ui.label(RichText::new(title(place)).color(palette.strong));
        let Some(found) = &self.found else {
            let Some((id, _)) = &self.of else {
                ui.label(RichText::new("Not analysed yet.").color(palette.weak));
                return;
            };
            let part = AnalysisPart::OnDemand(id.clone());
            match cx.state.analysis.failure(&part).map(str::to_owned) {
                None => working_ui(ui, "Reading the analysis…"),
                Some(why) if failed_ui(ui, "The analysis cannot be read", &why, |_| ()) => {
                    cx.state.analysis.retry(&part);
                }
                Some(_) => {}
            }
            return;
        };
        let told = |value: f64| if value.is_nan() { "none".to_owned() } else { format::fixed(value, 3) };
        let (near, far) = found.near_and_far;
        let energy = found.energy.map_or_else(String::new, |(energy, samples)| {
            let share = between(energy, format::percent);
            format!(", {share} of the energy of scores in 1 % of the eigenvalues, from {}", counted(samples, "sample"))
        });
        let words = format!("Neighbouring layers {}, further apart {}{energy}.", told(near), told(far));
        ui.label(RichText::new(words).small());
        let _ = HeatMap::of(title(place), &found.matrix)
            .tone(tone)
            .room(egui::vec2(ui.available_width(), HEIGHT))
            .show(ui, &mut self.state);
    }
}

/// The run and its control, in this order, whichever of them is given.
fn pair_of(run: &RunSummary, cx: &mut PanelContext<'_>) -> Option<[RunId; 2]> {
    let tag = run.tags.iter().find(|tag| tag.starts_with(TAG))?.clone();
    let together: Vec<RunId> =
        cx.state.runs.iter().filter(|other| other.tags.contains(&tag)).map(|other| other.id.clone()).collect();
    let mut orders = together.into_iter().filter_map(|id| {
        cx.state.want_record(&id);
        let config = cx.state.records.get(&id)?.run_config().ok()?;
        Some((config.data.shuffled, id))
    });
    let all: Vec<(bool, RunId)> = orders.by_ref().collect();
    let own = all.iter().find(|(_, id)| *id == run.id)?.0;
    let other = all.iter().find(|(shuffled, _)| *shuffled != own)?.1.clone();
    Some(if own { [other, run.id.clone()] } else { [run.id.clone(), other] })
}
