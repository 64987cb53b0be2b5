//! The first components of the network as patterns of queries and keys.

use std::{collections::BTreeMap, sync::Arc};

use egui::{RichText, Ui, vec2};
use headroom_engine::analysis::{Analysis, ScoreSpectra};

use crate::{
    export::MapFigure,
    findings::{between, component_maps, component_share},
    format,
    plot::HeatAxis,
    theme,
    widgets::{HeatMap, HeatState},
};

/// The side of a pattern.
const SIDE: f32 = 168.0;
/// The side of the one that was clicked.
const LARGE: f32 = 460.0;

/// The patterns, made anew only when the analysis changes.
#[derive(Default)]
pub struct Patterns {
    of: Option<Arc<Analysis>>,
    maps: Vec<MapFigure>,
    states: BTreeMap<usize, HeatState>,
    large: HeatState,
    chosen: Option<usize>,
}

impl Patterns {
    /// Brings the patterns up to date.
    pub fn update(&mut self, analysis: &Arc<Analysis>) {
        if !self.of.as_ref().is_some_and(|known| Arc::ptr_eq(known, analysis)) {
            self.of = Some(Arc::clone(analysis));
            self.maps = component_maps(analysis);
            self.chosen = self.chosen.filter(|place| *place < self.maps.len());
        }
    }

    /// Closes the large one; false if none is open.
    pub fn back(&mut self) -> bool {
        self.chosen.take().is_some()
    }

    /// Draws them, and the one that was clicked large.
    pub fn ui(&mut self, ui: &mut Ui, spectra: &ScoreSpectra) {
        let palette = theme::palette(ui.visuals());
        ui.label(RichText::new("The first components as patterns").color(palette.strong));
        if self.maps.is_empty() {
            ui.label(RichText::new("No patterns were kept.").color(palette.weak));
            return;
        }
        let mut clicked = None;
        // A row that wraps gives what is drawn downwards the rest of a line, however little that is.
        let across = (((ui.available_width() + ui.spacing().item_spacing.x) / (SIDE + ui.spacing().item_spacing.x))
            as usize)
            .max(1);
        let maps: Vec<(usize, &MapFigure)> = self.maps.iter().enumerate().collect();
        for row in maps.chunks(across) {
            ui.horizontal(|ui| {
                for (place, map) in row.iter().copied() {
                    ui.vertical(|ui| {
                        ui.set_width(SIDE);
                        let share = component_share(&spectra.network, place);
                        let words = |share| format!(", {}", between(share, format::percent));
                        let share = share.map_or_else(String::new, words);
                        ui.label(RichText::new(format!("{}{share}", place + 1)).small().color(palette.weak));
                        let name = format!("component {}", place + 1);
                        let plain = HeatAxis::default();
                        let shown = HeatMap::of(&name, map)
                            .axes(&plain, &plain)
                            .without_bar()
                            .selected(None)
                            .room(vec2(SIDE, SIDE))
                            .show(ui, self.states.entry(place).or_default());
                        if shown.clicked.is_some() {
                            clicked = Some(place);
                        }
                    });
                }
            });
        }
        if let Some(place) = clicked {
            self.chosen = if self.chosen == Some(place) { None } else { Some(place) };
            self.large.reset();
        }
        let Some((place, map)) = self.chosen.and_then(|place| Some((place, self.maps.get(place)?))) else {
            let words =
                "Orange and blue have opposite signs; which is which is arbitrary. Click a component to enlarge it.";
            ui.label(RichText::new(words).small().color(palette.weak));
            return;
        };
        ui.horizontal(|ui| {
            ui.label(RichText::new(&map.title).strong());
            if ui.small_button("Close").on_hover_text("Esc").accessible_name("Close the component").clicked() {
                self.chosen = None;
            }
        });
        let name = format!("component {}, large", place + 1);
        let cell_name = |row: usize, column: usize| format!("Query {row}, key {column}");
        HeatMap::of(&name, map).cell_name(&cell_name).room(vec2(ui.available_width(), LARGE)).show(ui, &mut self.large);
    }

    /// They as they are exported.
    pub fn figures(&self) -> &[MapFigure] {
        &self.maps
    }
}
