//! The panel itself.

use std::{collections::BTreeMap, sync::Arc};

use egui::{ComboBox, RichText, Ui};
use headroom_engine::{
    analysis::{Analysis, Measure, Similarity, Topic},
    attention::HeadAt,
    config::RunConfig,
};
use serde::{Deserialize, Serialize};

use super::{
    derived::Derived,
    domains::DomainsView,
    groups::groups_ui,
    heads::heads_ui,
    matrix::{self, matrix_ui, pair_ui},
    ranked,
};
use crate::{
    common::Exportable,
    context::{Action, Panel, PanelContext, PanelId},
    findings::left_out_words,
    format::{self, with_capital},
    panels::analysis::{
        About, AnalysisFrame, MapStyle, Subject, export_menu_ui, formula, notes_ui, pending_ui, provenance, undo_delete,
    },
    theme,
    widgets::{ChartView, HeatState, SpareHeight},
};

/// Below this width the parts stand below each other.
const NARROW: f32 = 760.0;
/// The least heights of the matrix and of the ranked curves.
const MATRIX: f32 = 380.0;
const RANKED: f32 = 230.0;

const ABOUT: About = About {
    name: "redundancy",
    without_runs: "Which heads and layers have similar attention is shown here while a run trains.",
    without_analysis: "How similar the attention maps of any two heads are, layer against layer, and how that grows \
                       while a \
                       run trains.",
    is_of_reconstructions: false,
};

/// What the panel remembers between starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    measure: Measure,
    look: MapStyle,
    threshold: f64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { measure: Measure::TotalVariation, look: MapStyle::default(), threshold: 0.8 }
    }
}

/// Which figure is exported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FigureChoice {
    Matrix,
    Ranked,
    /// One of the four matrices beside the control, by its place.
    Domain(usize),
}

/// Shows which heads and layers have similar attention.
#[derive(Default)]
pub struct RedundancyPanel {
    frame: AnalysisFrame<Memory>,
    derived: Derived,
    matrix: HeatState,
    domains: DomainsView,
    ranked: ChartView,
    spare: SpareHeight,
    /// The layers whose most similar heads are named.
    pair: Option<(usize, usize)>,
    /// The head whose like are listed.
    head: Option<HeadAt>,
    wanted: Option<FigureChoice>,
}

impl Panel for RedundancyPanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut frame = std::mem::take(&mut self.frame);
        frame.ui(ui, cx, &ABOUT, |frame, ui, subject, memory, cx| self.subject_ui(frame, ui, subject, memory, cx));
        self.frame = frame;
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        if self.domains.is_shown(cx) {
            self.wanted = Some(FigureChoice::Domain(0));
            return true;
        }
        let has_any = self.frame.has_figures(&ABOUT, cx);
        self.wanted = has_any.then_some(FigureChoice::Matrix);
        has_any
    }

    fn undo(&mut self, cx: &mut PanelContext<'_>) -> bool {
        undo_delete(cx)
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.frame.back() || self.head.take().is_some() || self.pair.take().is_some()
    }
}

impl RedundancyPanel {
    fn subject_ui(
        &mut self,
        frame: &mut AnalysisFrame<Memory>,
        ui: &mut Ui,
        subject: &Subject,
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) -> Option<Exportable> {
        match &subject.run {
            Some(run) if self.domains.is_shown(cx) => {
                ui.horizontal_wrapped(|ui| {
                    subject.picker_ui(ui, cx);
                    self.domains.button_ui(ui, run, cx);
                });
                pending_ui(ui, subject, cx);
                self.domains_ui(ui, subject, memory, cx)
            }
            run => {
                let shown = frame.header_ui(ui, subject, &ABOUT, cx, |ui, cx| {
                    if let Some(run) = run {
                        self.domains.button_ui(ui, run, cx);
                    }
                });
                let found = frame.found_ui(ui, subject, shown, &ABOUT, cx)?;
                self.analysis_ui(ui, subject, &found.analysis, memory, cx)
            }
        }
    }

    fn analysis_ui(
        &mut self,
        ui: &mut Ui,
        subject: &Subject,
        analysis: &Arc<Analysis>,
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) -> Option<Exportable> {
        let palette = theme::palette(ui.visuals());
        let Some(similarity) = analysis.similarity(memory.measure).or(analysis.similarity.first()) else {
            ui.add_space(8.0);
            ui.label("This analysis did not compare attention maps.");
            notes_ui(ui, analysis, &[Topic::Analysis]);
            return None;
        };
        if self.derived.update(analysis, similarity, memory.threshold) {
            self.ranked.lines = ranked::lines(similarity);
        }
        self.keep_inside(similarity);
        let (words, metadata) = provenance(subject, analysis, cx);
        self.controls_ui(ui, analysis, similarity, memory);
        let (near, far) = self.derived.near_and_far;
        let told = |value: f64| if value.is_nan() { "none".to_owned() } else { format::fixed(value, 3) };
        // Of two layers none are further apart.
        let far = if far.is_nan() { String::new() } else { format!(", layers further apart {}", told(far)) };
        ui.label(format!(
            "Neighbouring layers {}{far} (means of the most similar heads; 1 = identical). {}.",
            told(near),
            with_capital(&words),
        ));
        let record = subject.id.run().and_then(|run| cx.state.records.get(run).map(|record| (run, record)));
        let heads = similarity.layers * similarity.heads;
        let about_borrowers = match (similarity.borrowers(), similarity.origins.is_empty()) {
            (0, false) => None,
            (borrowers, false) => Some(left_out_words(borrowers, heads)),
            // Older analyses do not know the plan.
            (_, true) => record
                .map(|(_, record)| self.derived.borrowers(record))
                .filter(|borrowers| *borrowers > 0)
                .map(|borrowers| {
                    format!(
                        "{borrowers} of {heads} heads borrow by this run's plan: their maps equal their lenders' by \
                         construction. A new analysis leaves them out."
                    )
                }),
        };
        if let Some(words) = about_borrowers {
            ui.label(RichText::new(words).color(palette.warning));
        }
        ui.add_space(4.0);
        let is_wide = ui.available_width() >= NARROW;
        // Most of a high window is for the matrix, the rest for the ranked curves below it.
        let room = ui.clip_rect().height() - (ui.cursor().top() - ui.min_rect().top());
        let (high, low) = ((room * 0.58).clamp(MATRIX, 1_000.0), (room * 0.28).clamp(RANKED, 420.0));
        let low = self.spare.of(None, low);
        let (derived, pair, head) = (&self.derived, &mut self.pair, &mut self.head);
        let state = &mut self.matrix;
        let mut wants_maps = false;
        let mut left = |ui: &mut Ui, head: &mut Option<HeadAt>| {
            matrix_ui(ui, similarity, derived, (memory.look, high), state, pair);
            if let Some(pair) = *pair {
                wants_maps |= pair_ui(ui, similarity, pair, head);
            } else {
                let words = "Click a cell to see its two heads.";
                ui.label(RichText::new(words).small().color(palette.weak));
            }
        };
        let threshold = &mut memory.threshold;
        let mut wants_marks = false;
        if is_wide {
            ui.columns(2, |columns| {
                if let [first, second] = columns {
                    // Columns set their text to both edges; what stands in one of them does not.
                    first.vertical(|ui| left(ui, head));
                    second.vertical(|ui| wants_marks = groups_ui(ui, similarity, derived, threshold, head));
                }
            });
        } else {
            left(ui, head);
            wants_marks = groups_ui(ui, similarity, derived, threshold, head);
        }
        if wants_maps && let Some((a, b, _)) = self.pair.and_then(|(a, b)| similarity.best_pair(a, b)) {
            cx.state.maps.pair = Some((subject.id.clone(), a, b));
            cx.act(Action::Open(PanelId::HEADS));
        }
        if wants_marks {
            let config = config_of(subject, cx);
            cx.state.analysis.marked = Some(self.derived.marked(&subject.name, config, similarity, memory.threshold));
            cx.act(Action::Open(PanelId::CONFIGURE));
        }
        ui.add_space(8.0);
        if is_wide {
            ui.columns(2, |columns| {
                if let [first, second] = columns {
                    first.vertical(|ui| self.ranked.show(ui, ranked::chart().height(low)));
                    second.vertical(|ui| heads_ui(ui, similarity, head));
                }
            });
        } else {
            self.ranked.show(ui, ranked::chart().height(low));
            heads_ui(ui, similarity, head);
        }
        notes_ui(ui, analysis, &[Topic::Analysis]);
        self.spare.update(ui, 1);
        self.figure(similarity, &words, metadata, memory)
    }

    /// The run beside its control.
    fn domains_ui(
        &mut self,
        ui: &mut Ui,
        subject: &Subject,
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) -> Option<Exportable> {
        ui.horizontal_wrapped(|ui| {
            memory.look.ui(ui);
            let titles = DomainsView::titles().enumerate().map(|(place, title)| (FigureChoice::Domain(place), title));
            self.wanted = export_menu_ui(ui, titles).or(self.wanted);
        });
        self.domains.ui(ui, memory.measure, memory.look, cx);
        let Some(FigureChoice::Domain(place)) = self.wanted.take() else { return None };
        self.domains.figure(place, subject, memory.look, cx).map(|figure| Exportable::Map(Box::new(figure)))
    }

    fn controls_ui(&mut self, ui: &mut Ui, analysis: &Analysis, similarity: &Similarity, memory: &mut Memory) {
        let palette = theme::palette(ui.visuals());
        ui.horizontal_wrapped(|ui| {
            let combo = ComboBox::from_id_salt("measure").selected_text(similarity.measure.label());
            let combo = combo.show_ui(ui, |ui| {
                for measure in Measure::ALL {
                    let is_there = analysis.similarity(measure).is_some();
                    let label = egui::Button::selectable(measure == similarity.measure, measure.label());
                    let label = ui.add_enabled(is_there, label).on_hover_text(formula(measure));
                    if label.on_disabled_hover_text("This analysis does not include it").clicked() {
                        memory.measure = measure;
                    }
                }
            });
            combo.response.accessible_name("Measure of similarity");
            memory.look.ui(ui);
            let figures = [(FigureChoice::Matrix, matrix::TITLE), (FigureChoice::Ranked, ranked::TITLE)];
            self.wanted = export_menu_ui(ui, figures).or(self.wanted);
            if self.matrix.is_zoomed() && ui.button("Reset zoom").clicked() {
                self.matrix.reset();
            }
        });
        ui.label(RichText::new(formula(similarity.measure)).small().color(palette.weak));
    }

    /// A choice that another run or step does not have goes.
    fn keep_inside(&mut self, similarity: &Similarity) {
        let (layers, heads) = (similarity.layers, similarity.heads);
        self.pair = self.pair.filter(|(a, b)| *a < layers && *b < layers);
        self.head = self.head.filter(|at| at.layer < layers && at.head < heads);
    }

    /// The figure that is to be exported.
    fn figure(
        &mut self,
        similarity: &Similarity,
        subtitle: &str,
        metadata: BTreeMap<String, String>,
        memory: &Memory,
    ) -> Option<Exportable> {
        let subtitle = with_capital(subtitle);
        match self.wanted.take()? {
            FigureChoice::Domain(_) => None,
            FigureChoice::Matrix => {
                let figure = matrix::figure(similarity, &self.derived, memory.look, &self.matrix);
                Some(Exportable::Map(Box::new(figure.origin(subtitle, metadata))))
            }
            FigureChoice::Ranked => {
                let mut figure = self.ranked.figure(ranked::chart(), metadata);
                figure.subtitle = subtitle;
                figure.notes.push(formula(similarity.measure));
                Some(Exportable::Figure(Box::new(figure)))
            }
        }
    }
}

/// The config of the run, or one that trains the model of a directory further.
fn config_of(subject: &Subject, cx: &mut PanelContext<'_>) -> Option<RunConfig> {
    match subject.id.run() {
        Some(run) => cx.state.records.get(run)?.run_config().ok(),
        None => subject.facts(cx.state).ok()??.further.clone(),
    }
}
