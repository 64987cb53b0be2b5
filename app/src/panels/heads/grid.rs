//! Layers x heads of thumbnails.

use std::collections::BTreeMap;

use egui::{Align2, FontId, ScrollArea, Sense, Stroke, StrokeKind, Ui, UiBuilder, pos2, vec2};
use headroom_engine::attention::HeadAt;

use crate::{
    panels::snapshots::{Look, head_name},
    state::ShownMaps,
    theme,
    widgets::{Extent, HeatAxis, HeatData, HeatMap, HeatState, Tone},
};

/// The sides that a thumbnail may have.
const LEAST: f32 = 28.0;
const MOST: f32 = 72.0;
const GAP: f32 = 4.0;
/// Room for the numbers of layers and heads.
const NUMBERS: f32 = 26.0;

/// Draws the grid; the head that was clicked.
pub fn grid_ui(
    ui: &mut Ui,
    maps: &ShownMaps,
    look: Look,
    states: &mut BTreeMap<HeadAt, HeatState>,
    chosen: &[Option<HeadAt>; 2],
    height: f32,
) -> Option<HeadAt> {
    let palette = theme::palette(ui.visuals());
    // One scale for all of them, so that they can be compared.
    let tone = if look.is_whole {
        Tone::between(look.colours, look.scale, 0.0, 1.0)
    } else {
        let whole = maps.thumbnails.iter().map(HeatData::extent).reduce(Extent::with);
        whole.map_or_else(
            || Tone::between(look.colours, look.scale, 0.0, 1.0),
            |whole| Tone::fitting(look.colours, look.scale, whole),
        )
    };
    let heads = maps.heads.max(1) as f32;
    let side = ((ui.available_width() - NUMBERS - 10.0) / heads - GAP).floor().clamp(LEAST, MOST);
    let step = side + GAP;
    let mut clicked = None;
    ScrollArea::both().id_salt("thumbnails").max_height(height).auto_shrink([false, true]).show(ui, |ui| {
        let size = vec2(NUMBERS + step * heads, 16.0 + step * maps.layers as f32);
        let (whole, _) = ui.allocate_exact_size(size, Sense::empty());
        let font = FontId::proportional(11.0);
        for head in 0..maps.heads {
            let at = pos2(whole.left() + NUMBERS + step * head as f32 + side / 2.0, whole.top() + 6.0);
            ui.painter().text(at, Align2::CENTER_CENTER, format!("H{head}"), font.clone(), palette.weak);
        }
        for layer in 0..maps.layers {
            let top = whole.top() + 16.0 + step * layer as f32;
            let at = pos2(whole.left() + NUMBERS - 6.0, top + side / 2.0);
            ui.painter().text(at, Align2::RIGHT_CENTER, format!("L{layer}"), font.clone(), palette.weak);
            for head in 0..maps.heads {
                let at = HeadAt::new(layer, head);
                let corner = pos2(whole.left() + NUMBERS + step * head as f32, top);
                let rect = egui::Rect::from_min_size(corner, vec2(side, side));
                let Some(map) = maps.thumbnails.get(layer * maps.heads + head) else { continue };
                if !ui.is_rect_visible(rect) {
                    continue;
                }
                let name = head_name(at);
                let plain = HeatAxis::default();
                // Pixels of a thumbnail have no tokens of their own.
                let cell_name = |_: usize, _: usize| name.clone();
                let shown = ui
                    .scope_builder(UiBuilder::new().max_rect(rect), |ui| {
                        HeatMap::new(&name, map)
                            .axes(&plain, &plain)
                            .tone(tone)
                            .cell_name(&cell_name)
                            .without_bar()
                            .stretched()
                            .room(vec2(side - 1.0, side - 2.0))
                            .show(ui, states.entry(at).or_default())
                    })
                    .inner;
                if shown.clicked.is_some() {
                    clicked = Some(at);
                }
                if let Some(which) = chosen.iter().position(|chosen| *chosen == Some(at)) {
                    let colour = if which == 0 { palette.accent } else { palette.warning };
                    ui.painter().rect_stroke(rect.expand(1.0), 1.0, Stroke::new(2.0, colour), StrokeKind::Outside);
                }
            }
        }
    });
    clicked
}
