//! Several metrics at once: a chart each, small, in an order that the user chooses.

use std::collections::{BTreeMap, BTreeSet};

use egui::{ComboBox, ScrollArea, TextEdit, Ui};

use super::{
    figures::chart,
    lines::{Bundle, Line, LineMaker},
    view::View,
};
use crate::{
    compare::{series_hint, series_title},
    state::State,
    widgets::{
        ChartLine, ChartResponse, ChartState, HeightHandle, LegendEntry, MOST_ACROSS, Multiples, SharedX, Tile,
        legend_ui, together_ui,
    },
};

/// Rows that are in sight at once.
const ROWS: usize = 3;
/// From so many metrics on, the list is searched.
const SEARCHED: usize = 12;

/// Chooses metrics and how many charts stand beside each other.
pub(super) fn choices_ui(ui: &mut Ui, series: &BTreeSet<&String>, view: &mut View, search: &mut String) {
    let shown = view.charts.shown(series);
    let title = format!("Charts: {} of {}", shown.len(), series.len().max(shown.len()));
    let menu = ui.menu_button(title, |ui| {
        ui.set_min_width(220.0);
        let mut chosen = shown.clone();
        if series.len() > SEARCHED {
            ui.add(TextEdit::singleline(search).hint_text("Search").desired_width(f32::INFINITY))
                .accessible_name("Search metrics");
        }
        let wanted = search.to_lowercase();
        ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
            for name in series {
                let title = series_title(name);
                if ![&title, *name].iter().any(|text| text.to_lowercase().contains(&wanted)) {
                    continue;
                }
                let place = chosen.iter().position(|own| own == *name);
                let mut has_one = place.is_some();
                if ui.checkbox(&mut has_one, title).on_hover_text(series_hint(name)).changed() {
                    match place {
                        Some(place) => drop(chosen.remove(place)),
                        None => chosen.push((*name).clone()),
                    }
                }
            }
        });
        ui.separator();
        if ui.button("The usual ones").clicked() {
            view.charts.metrics = None;
        } else if chosen != shown {
            view.charts.metrics = Some(chosen);
        }
    });
    menu.response.accessible_name("Charts").on_hover_text("Which metrics have a chart");
    together_ui(ui, "across", |ui| {
        ui.label("Across");
        let text = |across: Option<usize>| across.map_or_else(|| "as many as fit".to_owned(), |n| n.to_string());
        let combo = ComboBox::from_id_salt("across").selected_text(text(view.charts.across)).show_ui(ui, |ui| {
            for across in std::iter::once(None).chain((1..=MOST_ACROSS).map(Some)) {
                ui.selectable_value(&mut view.charts.across, across, text(across));
            }
        });
        combo.response.accessible_name("Charts beside each other");
    });
}

/// What the user did with the charts.
#[derive(Default)]
pub(super) struct WorkspaceResponse {
    /// The line under the pointer.
    pub hovered: Option<u64>,
    /// The line that was clicked.
    pub clicked: Option<u64>,
    /// The metric that the table is to be about.
    pub metric: Option<String>,
    /// The metric whose chart is to be exported.
    pub export: Option<String>,
    /// Whether a mean is older than its points.
    pub stale: bool,
}

/// The charts.
#[derive(Default)]
pub(super) struct Workspace {
    charts: BTreeMap<String, ChartState>,
    /// What is searched for among the metrics.
    pub search: String,
}

impl Workspace {
    /// Whether a chart shows a part of its range.
    pub fn is_zoomed(&self) -> bool {
        self.charts.values().any(ChartState::is_zoomed)
    }

    /// Shows whole ranges again.
    pub fn reset(&mut self) {
        self.charts.values_mut().for_each(ChartState::reset);
    }

    /// Draws the charts. Curves of those out of sight are not read.
    #[expect(clippy::too_many_arguments, reason = "called once; each is a part of the one frame that is drawn")]
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        bundles: &[Bundle],
        series: &BTreeSet<&String>,
        view: &mut View,
        highlight: Option<u64>,
        shared: &mut SharedX,
        maker: &mut LineMaker,
        state: &mut State,
    ) -> WorkspaceResponse {
        let mut response = WorkspaceResponse::default();
        let mut metrics = view.charts.shown(series);
        self.charts.retain(|metric, _| metrics.contains(metric));
        let entries: Vec<LegendEntry<'_>> = bundles
            .iter()
            .map(|bundle| LegendEntry { id: bundle.number, name: &bundle.name, style: bundle.style })
            .collect();
        (response.hovered, response.clicked) = legend_ui(ui, &entries, highlight);
        if metrics.is_empty() {
            ui.label("No metric has a chart. Choose some under Charts above.");
            return response;
        }
        let tiles: Vec<Tile<'_>> =
            metrics.iter().map(|metric| Tile { key: metric, title: series_title(metric) }).collect();
        let grid = Multiples::new("workspace", 0.0).across(view.charts.across);
        let rows = tiles.len().div_ceil(grid.columns(ui.available_width(), tiles.len()));
        let room = ui.clip_rect().height() - (ui.cursor().top() - ui.min_rect().top());
        let usual = (room / rows.min(ROWS) as f32 - 44.0).clamp(150.0, 420.0);
        let height = view.charts.height.unwrap_or(usual);
        let shown = &*view;
        let (mut wishes, mut found) = ((None, None), Vec::<ChartResponse>::new());
        let wish = Multiples::new("workspace", height).across(view.charts.across).show(
            ui,
            &tiles,
            |ui, place, height| {
                let (metric, title) = (&metrics[place], &tiles[place].title);
                let made = maker.make(bundles, metric, shown, state);
                response.stale |= made.stale;
                let lines: Vec<ChartLine<'_>> = made.lines.iter().map(Line::chart_line).collect();
                let chart = chart("chart", title, metric, &lines, shown, made.loading > 0);
                let chart = chart.without_title().among(tiles.len());
                let own = self.charts.entry(metric.clone()).or_default();
                found.push(chart.height(height).highlight(highlight).show(ui, own, shared));
            },
            |ui, place| {
                if ui.button("Compare by it").on_hover_text("The table below is about this metric").clicked() {
                    wishes.0 = metrics.get(place).cloned();
                    ui.close();
                }
                if ui.button("Export…").clicked() {
                    wishes.1 = metrics.get(place).cloned();
                    ui.close();
                }
            },
        );
        (response.metric, response.export) = wishes;
        for chart in found {
            response.hovered = response.hovered.or(chart.hovered);
            response.clicked = response.clicked.or(chart.clicked);
        }
        HeightHandle::new("charts", 90.0..=900.0).show(ui, &mut view.charts.height, height);
        if let Some(wish) = wish {
            wish.apply(&mut metrics);
            view.charts.metrics = Some(metrics);
        }
        response
    }

    /// The zoom of a metric's chart.
    pub fn state_of(&mut self, metric: &str) -> &mut ChartState {
        self.charts.entry(metric.to_owned()).or_default()
    }
}
