//! Layers x heads of thumbnails.

use std::collections::BTreeMap;

use egui::{Align2, FontId, Rect, ScrollArea, Sense, Stroke, StrokeKind, Ui, UiBuilder, Vec2, pos2, vec2};
use headroom_engine::attention::HeadAt;

use super::tokens::MASKED;
use crate::{
    export::{MapBlocks, MapFigure},
    panels::analysis::{MapStyle, head_name},
    plot::{Extent, HeatAxis, HeatData, Tone},
    state::ShownMaps,
    theme,
    widgets::{HeatMap, HeatState},
};

/// The sides that a thumbnail may have: in the least one a diagonal and a column are still told apart.
const LEAST: f32 = 16.0;
const MOST: f32 = 240.0;
/// So large a thumbnail is made smaller until all layers are in sight.
const FITTED: f32 = 40.0;
const GAP: f32 = 4.0;
/// Room for the numbers of layers and heads.
const NUMBERS: f32 = 26.0;
const HEADINGS: f32 = 16.0;
/// Room of the number of a head, beyond the first ten.
const NUMBER: f32 = 22.0;
/// Between the numbers and the thumbnails: the mark around one has room there.
const EDGE: f32 = 4.0;
/// Room for scroll bars.
const BARS: f32 = 10.0;

/// The side of thumbnails: as wide as there is room for, and so small that all layers are seen, while that is not too small.
fn side(room: Vec2, layers: usize, heads: usize) -> f32 {
    let wide = ((room.x - NUMBERS - EDGE - BARS) / heads.max(1) as f32 - GAP).floor();
    let high = ((room.y - HEADINGS - EDGE - BARS) / layers.max(1) as f32 - GAP).floor();
    wide.min(high.max(FITTED)).clamp(LEAST, MOST)
}

/// The least width at which thumbnails of so many heads are well seen, and the most that they take.
pub fn width_of(heads: usize) -> [f32; 2] {
    [FITTED, MOST].map(|side| NUMBERS + EDGE + BARS + (side + GAP) * heads as f32)
}

/// The whole grid as a figure, every thumbnail in the same colours.
pub fn grid_figure(maps: &ShownMaps, style: MapStyle) -> MapFigure {
    let side = maps.thumbnails.iter().map(HeatData::rows).max().unwrap_or_default();
    let blocks = MapBlocks {
        side,
        rows: (0..maps.layers).map(|layer| format!("L{layer}")).collect(),
        columns: (0..maps.heads).map(|head| format!("H{head}")).collect(),
    };
    let map = |layer: usize, head: usize| maps.thumbnails.get(layer * maps.heads + head);
    let tone = tone_of(maps, style);
    let figure = MapFigure::of_blocks("all heads", blocks, ("Layer", "Head"), map, tone).value("Attention");
    let mut figure = MapFigure { title: "Attention of all heads".to_owned(), ..figure };
    if side < maps.tokens.len() {
        figure.notes.push(format!("Each map made small: {side} × {side} of {0} × {0} tokens.", maps.tokens.len()));
    }
    figure
}

/// One scale for all of them, so that they can be compared.
fn tone_of(maps: &ShownMaps, style: MapStyle) -> Tone {
    style.tone(maps.thumbnails.iter().map(HeatData::extent).reduce(Extent::with).unwrap_or(Extent::NONE))
}

/// Draws the grid; the head that was clicked. The numbers of heads and layers stay in sight when it scrolls.
pub fn grid_ui(
    ui: &mut Ui,
    maps: &ShownMaps,
    style: MapStyle,
    states: &mut BTreeMap<HeadAt, HeatState>,
    chosen: &[Option<HeadAt>; 2],
    height: f32,
) -> Option<HeadAt> {
    let palette = theme::palette(ui.visuals());
    let tone = tone_of(maps, style);
    let side = side(vec2(ui.available_width(), height), maps.layers, maps.heads);
    let step = side + GAP;
    let mut clicked = None;
    let scroll = ScrollArea::both().id_salt("thumbnails").max_height(height).min_scrolled_height(height);
    scroll.auto_shrink([false, true]).show(ui, |ui| {
        let size = vec2(NUMBERS + step * maps.heads as f32, HEADINGS + step * maps.layers as f32) + vec2(EDGE, EDGE);
        let (whole, _) = ui.allocate_exact_size(size, Sense::empty());
        for layer in 0..maps.layers {
            let top = whole.top() + HEADINGS + EDGE + step * layer as f32;
            for head in 0..maps.heads {
                let at = HeadAt::new(layer, head);
                let corner = pos2(whole.left() + NUMBERS + EDGE + step * head as f32, top);
                let rect = Rect::from_min_size(corner, vec2(side, side));
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
                            .gap(MASKED)
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
        numbers_ui(ui, whole, (maps.layers, maps.heads), side);
    });
    clicked
}

/// The numbers of heads at the top and those of layers at the left of what is in sight, over the thumbnails.
fn numbers_ui(ui: &Ui, whole: Rect, (layers, heads): (usize, usize), side: f32) {
    let palette = theme::palette(ui.visuals());
    let (painter, seen, font) = (ui.painter(), ui.clip_rect(), FontId::proportional(11.0));
    let corner = pos2(whole.left().max(seen.left()), whole.top().max(seen.top()));
    let ground = palette.background;
    let place = |at: usize| (side + GAP) * at as f32 + side / 2.0;
    let strips = [vec2(whole.right() - corner.x, HEADINGS), vec2(NUMBERS, whole.bottom() - corner.y)];
    painter.rect_filled(Rect::from_min_size(corner, strips[0]), 0.0, ground);
    let every = if heads > 10 && side + GAP < NUMBER { 2 } else { 1 };
    for head in (0..heads).step_by(every) {
        let at = pos2(whole.left() + NUMBERS + EDGE + place(head), corner.y + 7.0);
        painter.text(at, Align2::CENTER_CENTER, format!("H{head}"), font.clone(), palette.weak);
    }
    painter.rect_filled(Rect::from_min_size(corner, strips[1]), 0.0, ground);
    for layer in 0..layers {
        let at = pos2(corner.x + NUMBERS - 6.0, whole.top() + HEADINGS + EDGE + place(layer));
        painter.text(at, Align2::RIGHT_CENTER, format!("L{layer}"), font.clone(), palette.weak);
    }
    // Where both meet there is neither.
    painter.rect_filled(Rect::from_min_size(corner, vec2(NUMBERS, HEADINGS)), 0.0, ground);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbnails_use_the_room_and_all_layers_are_seen_where_that_is_not_too_small() {
        let (wide, low) = (vec2(800.0, 700.0), vec2(800.0, 260.0));
        let fits = |side: f32, layers: usize, room: Vec2| HEADINGS + EDGE + (side + GAP) * layers as f32 <= room.y;
        let few = side(wide, 6, 8);
        assert!(few > 72.0 && fits(few, 6, wide), "{few}");
        assert_eq!(side(vec2(2000.0, 2000.0), 2, 2), MOST);
        let many = side(wide, 12, 12);
        assert!(many >= FITTED && fits(many, 12, wide), "{many}");
        // Twenty-four layers would be specks in so little room: they scroll.
        assert_eq!((side(low, 24, 8), fits(side(low, 24, 8), 24, low)), (FITTED, false));
        // Twelve heads beside a large map have their width, without scrolling sideways.
        for across in [300.0, 310.0, 420.0] {
            let fitted = side(vec2(across, 700.0), 6, 12);
            assert!(fitted >= LEAST && NUMBERS + EDGE + (fitted + GAP) * 12.0 <= across, "{across}: {fitted}");
        }
        assert_eq!(side(vec2(200.0, 500.0), 6, 32), LEAST, "and many heads scroll sideways");
    }

    fn shown(layers: usize, heads: usize, thumbnails: Vec<HeatData>) -> ShownMaps {
        ShownMaps {
            examples: 0,
            target: String::new(),
            step: None,
            tokens: Vec::new(),
            picture: None,
            layers,
            heads,
            thumbnails,
        }
    }

    /// Where the numbers stand that are in sight, in a grid that is scrolled so far down.
    fn seen_numbers(scrolled: f32) -> BTreeMap<String, egui::Pos2> {
        let plain = || HeatData::new(2, 2, vec![0.25; 4]);
        let (layers, heads) = (24, 4);
        let maps = shown(layers, heads, (0..layers * heads).map(|_| plain()).collect());
        let ctx = egui::Context::default();
        let mut states = BTreeMap::new();
        let mut seen = BTreeMap::new();
        for frame in 0..30 {
            let at = pos2(100.0, 150.0);
            let wheel = egui::Event::MouseWheel {
                unit: egui::MouseWheelUnit::Point,
                delta: vec2(0.0, -scrolled),
                phase: egui::TouchPhase::Move,
                source: egui::MouseWheelSource::Unknown,
                modifiers: egui::Modifiers::NONE,
            };
            let input = egui::RawInput {
                screen_rect: Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(600.0, 400.0))),
                time: Some(f64::from(frame) * 0.1),
                events: if frame == 2 { vec![egui::Event::PointerMoved(at), wheel] } else { Vec::new() },
                ..egui::RawInput::default()
            };
            let mut output = ctx.run_ui(input, |ui| {
                let _ = grid_ui(ui, &maps, MapStyle::default(), &mut states, &[None, None], 300.0);
            });
            output.textures_delta.clear();
            seen.clear();
            for shape in output.shapes {
                if let egui::Shape::Text(text) = &shape.shape
                    && shape.clip_rect.contains_rect(text.visual_bounding_rect())
                {
                    seen.insert(text.galley.text().to_owned(), text.pos);
                }
            }
        }
        seen
    }

    #[test]
    fn a_masked_cell_of_a_thumbnail_is_told_as_one() {
        let maps = shown(1, 1, vec![HeatData::new(2, 2, vec![1.0, f32::NAN, 0.5, 0.5])]);
        let (ctx, mut states) = (egui::Context::default(), BTreeMap::new());
        let mut told = Vec::new();
        for frame in 0..40 {
            // The upper right of a thumbnail that is as large as one may be.
            let pointer = egui::Event::PointerMoved(pos2(NUMBERS + 0.75 * MOST, HEADINGS + 0.25 * MOST));
            let input = egui::RawInput {
                screen_rect: Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(600.0, 400.0))),
                time: Some(f64::from(frame) * 0.1),
                events: if frame == 2 { vec![pointer] } else { Vec::new() },
                ..egui::RawInput::default()
            };
            let mut output = ctx.run_ui(input, |ui| {
                let _ = grid_ui(ui, &maps, MapStyle::default(), &mut states, &[None, None], 300.0);
            });
            output.textures_delta.clear();
            let texts = output.shapes.iter().filter_map(|shape| match &shape.shape {
                egui::Shape::Text(text) => Some(text.galley.text().to_owned()),
                _ => None,
            });
            told = texts.collect();
        }
        assert!(told.iter().any(|text| text == MASKED), "{told:?}");
    }

    #[test]
    fn the_numbers_of_heads_stay_in_sight_when_it_scrolls() {
        let (top, down) = (seen_numbers(0.0), seen_numbers(700.0));
        assert!(top.contains_key("L0") && !top.contains_key("L20"), "{top:?}");
        assert!(!down.contains_key("L0") && down.contains_key("L16"), "it did not scroll: {down:?}");
        for head in ["H0", "H1", "H2", "H3"] {
            let apart = (top[head] - down[head]).length();
            assert!(apart < 4.0, "{head} moved by {apart}");
        }
    }
}
