//! The pairs that are computed, drawn.

use std::sync::Arc;

use egui::{RichText, Ui, vec2};
use headroom_engine::analysis::{Analysis, reconstruction::ScopeReconstruction};

use crate::{
    export::MapFigure,
    findings::{PLACE, query_key_map},
    format,
    plot::{HeatData, HeatScale, Tone},
    theme::{self, ColourMap},
    widgets::{HeatMap, HeatState},
};

/// The pairs, made anew only when the analysis or k changes.
#[derive(Default)]
pub struct Pairs {
    of: Option<(Arc<Analysis>, usize, usize)>,
    map: HeatData,
    state: HeatState,
}

/// What the map is, also of the exported figure.
fn title(k: usize) -> String {
    match k {
        1 => "The computed pair of each query".to_owned(),
        k => format!("The {} computed pairs of each query", format::count(k as u64)),
    }
}

impl Pairs {
    /// Brings the map up to date: places in the order, from 1, of the first k.
    pub fn update(&mut self, analysis: &Arc<Analysis>, at: usize, scope: &ScopeReconstruction, n: usize, k: usize) {
        let is_same = self
            .of
            .as_ref()
            .is_some_and(|(known, scope, pairs)| Arc::ptr_eq(known, analysis) && (*scope, *pairs) == (at, k));
        if !is_same {
            self.of = Some((Arc::clone(analysis), at, k));
            let place = |rank: &f32| if (0.0..k as f32).contains(rank) { rank + 1.0 } else { f32::NAN };
            self.map = HeatData::new(n, n, scope.ranks.iter().map(place).collect());
        }
    }

    /// Draws the map.
    pub fn ui(&mut self, ui: &mut Ui, scope: &ScopeReconstruction, n: usize, k: usize, height: f32) {
        let palette = theme::palette(ui.visuals());
        ui.label(RichText::new(title(k)).color(palette.strong)).on_hover_text(
            "Coloured: computed, by their place in the order. Hatched: restored from the coloured pairs of the row, \
             or masked.",
        );
        let cell_name = |query: usize, key: usize| match scope.ranks.get(query * n + key) {
            Some(rank) if *rank < 0.0 => format!("Query {query} does not see key {key}"),
            Some(rank) => {
                let place = *rank as usize + 1;
                let what = if place <= k { "computed" } else { "restored; computed" };
                format!("Query {query}, key {key}: {what} as number {place}")
            }
            None => String::new(),
        };
        HeatMap::of("computed pairs", &self.whole(k))
            .cell_name(&cell_name)
            .room(vec2(ui.available_width(), height))
            .show(ui, &mut self.state);
    }

    fn whole(&self, k: usize) -> MapFigure {
        let tone = Tone::between(ColourMap::Viridis, HeatScale::Linear, 1.0, k.max(2) as f32);
        query_key_map(title(k), self.map.clone(), tone).value(PLACE)
    }

    /// The map as it is exported.
    pub fn figure(&self, k: usize) -> MapFigure {
        self.state.seen_of(self.whole(k))
    }
}
