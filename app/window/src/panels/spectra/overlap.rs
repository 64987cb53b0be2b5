//! How much of each layer's energy lies in the first components of the network.

use std::sync::Arc;

use egui::{RichText, Ui, vec2};
use headroom_engine::analysis::{Analysis, ScoreSpectra};

use crate::{
    export::MapFigure,
    format,
    panels::analysis::MapStyle,
    plot::{HeatAxis, HeatData},
    theme,
    widgets::{HeatMap, HeatState},
};

/// Its title, also of the exported figure.
pub const TITLE: &str = "Energy of each layer in the network's first components";

/// The matrix, made anew only when the analysis changes.
#[derive(Default)]
pub struct Overlap {
    of: Option<Arc<Analysis>>,
    map: HeatData,
    state: HeatState,
}

impl Overlap {
    /// Brings the matrix up to date.
    pub fn update(&mut self, analysis: &Arc<Analysis>, spectra: &ScoreSpectra) {
        if !self.of.as_ref().is_some_and(|known| Arc::ptr_eq(known, analysis)) {
            self.of = Some(Arc::clone(analysis));
            let rows = spectra.overlaps.len();
            let columns = spectra.overlaps.iter().map(Vec::len).max().unwrap_or(0);
            let padded = spectra.overlaps.iter().flat_map(|row| {
                let missing = std::iter::repeat_n(f32::NAN, columns - row.len());
                row.iter().map(|share| *share as f32).chain(missing)
            });
            self.map = HeatData::new(rows, columns, padded.collect());
        }
    }

    /// Whether there is anything to draw.
    pub fn is_empty(&self) -> bool {
        self.map.values().is_empty()
    }

    /// Draws the matrix.
    pub fn ui(&mut self, ui: &mut Ui, style: MapStyle) {
        let palette = theme::palette(ui.visuals());
        ui.label(RichText::new(TITLE).color(palette.strong)).on_hover_text(
            "Tr(V^T C V) / Tr(C): V are the network's first k eigenvectors, C is the layer's covariance",
        );
        let figure = self.whole(style);
        let cell_name = |row: usize, column: usize| {
            let k = column + 1;
            let components = if k == 1 { "component" } else { "components" };
            format!("L{row} in the first {} {components}", format::count(k as u64))
        };
        HeatMap::of("layers in the network's components", &figure)
            .cell_name(&cell_name)
            .room(vec2(ui.available_width(), (60.0 + 24.0 * self.map.rows() as f32).clamp(130.0, 360.0)))
            .show(ui, &mut self.state);
    }

    fn whole(&self, style: MapStyle) -> MapFigure {
        let axes = (HeatAxis::numbered("Layer", "L"), HeatAxis::numbered_from("Components k", "", 1));
        let figure = MapFigure::new(TITLE, self.map.clone(), axes, style.tone(self.map.extent()));
        MapFigure { is_stretched: true, ..figure.value("Share of the energy") }
    }

    /// The matrix as it is exported.
    pub fn figure(&self, style: MapStyle) -> MapFigure {
        self.state.seen_of(self.whole(style))
    }
}
