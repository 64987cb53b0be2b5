use std::collections::BTreeMap;

use egui::{Color32, ColorImage, Painter, Rect, TextureHandle, TextureOptions, Ui, pos2};

use super::layout::View;
use crate::plot::{HeatData, Tone};

/// Side of a texture: a map of this size or smaller is one, and every GPU can hold it.
const SIDE: usize = 1024;
/// Textures that are made in one frame at most, the coarse one apart.
const A_FRAME: usize = 2;
/// Textures that are kept though they are out of sight.
const KEPT: usize = 12;

/// The textures of a map.
///
/// The level is chosen so that a texel is at least a pixel. What is not there yet shows from the coarse texture of the
/// whole map, which always is.
#[derive(Default)]
pub(super) struct Tiles {
    key: Option<(u64, [u32; 2], Tone)>,
    table: Vec<Color32>,
    textures: BTreeMap<Place, Tile>,
    frame: u64,
    /// Textures made since the start.
    pub made: u64,
}

/// Level, row and column of a texture.
type Place = (usize, usize, usize);

struct Tile {
    texture: TextureHandle,
    used: u64,
}

impl Tiles {
    /// Draws what is seen of a map; whether more has to come in the next frame.
    pub fn paint(&mut self, ui: &Ui, data: &HeatData, tone: &Tone, plot: Rect, view: &View) -> bool {
        let key = Some((data.version(), [tone.low.to_bits(), tone.high.to_bits()], *tone));
        if self.key != key {
            self.key = key;
            self.textures.clear();
            self.table = tone.colours.table();
        }
        self.frame += 1;
        let painter = ui.painter().with_clip_rect(plot.intersect(ui.clip_rect()));
        let pixels = view.cell(plot).min_elem() * ui.ctx().pixels_per_point();
        let finest = (1.0 / pixels).log2().ceil().max(0.0) as usize;
        let coarse = (0..data.levels()).find(|&level| data.level(level).rows.max(data.level(level).columns) <= SIDE);
        let coarse = coarse.unwrap_or(data.levels() - 1);
        let level = finest.min(coarse);
        if level == coarse {
            // The texture of the whole map at this level, or a coarser one of a map that is far away.
            let far = finest.clamp(coarse, data.levels() - 1);
            self.paint_tile(ui, &painter, data, tone, (plot, view), (far, 0, 0));
            self.forget();
            return false;
        }
        let mut room = A_FRAME;
        let mut found = Vec::new();
        for place in in_sight(level, view) {
            let is_made = self.textures.contains_key(&place);
            if is_made || room > 0 {
                room -= usize::from(!is_made);
                found.push(place);
            }
        }
        let is_whole = found.len() == in_sight(level, view).count();
        if !is_whole {
            self.paint_tile(ui, &painter, data, tone, (plot, view), (coarse, 0, 0));
        }
        for place in found {
            self.paint_tile(ui, &painter, data, tone, (plot, view), place);
        }
        self.forget();
        !is_whole
    }

    fn paint_tile(
        &mut self,
        ui: &Ui,
        painter: &Painter,
        data: &HeatData,
        tone: &Tone,
        (plot, view): (Rect, &View),
        place: Place,
    ) {
        let (level, row, column) = place;
        let cells = data.level(level);
        let (rows, columns) =
            (row * SIDE..cells.rows.min((row + 1) * SIDE), column * SIDE..cells.columns.min((column + 1) * SIDE));
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        let (table, made) = (&self.table, &mut self.made);
        let tile = self.textures.entry(place).or_insert_with(|| {
            *made += 1;
            let colours = rows.clone().flat_map(|row| {
                let line = cells.values.get(row * cells.columns + columns.start..row * cells.columns + columns.end);
                line.unwrap_or_default().iter().map(|&value| {
                    let place = tone.place(value).map(|place| (place * 255.0).round() as usize);
                    place.and_then(|place| table.get(place)).copied().unwrap_or(Color32::TRANSPARENT)
                })
            });
            let image = ColorImage::new([columns.len(), rows.len()], colours.collect());
            Tile { texture: ui.ctx().load_texture("heat map", image, TextureOptions::NEAREST), used: 0 }
        });
        tile.used = self.frame;
        let corner = (rows.start << level, columns.start << level);
        let rect = view.rect(plot, corner, rows.len() << level, columns.len() << level);
        let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        painter.image(tile.texture.id(), rect, uv, Color32::WHITE);
    }

    /// Drops textures that were out of sight the longest.
    fn forget(&mut self) {
        let mut unseen: Vec<(u64, Place)> = self
            .textures
            .iter()
            .filter(|(_, tile)| tile.used < self.frame)
            .map(|(place, tile)| (tile.used, *place))
            .collect();
        unseen.sort_unstable();
        let surplus = unseen.len().saturating_sub(KEPT);
        for (_, place) in unseen.into_iter().take(surplus) {
            self.textures.remove(&place);
        }
    }
}

/// The textures of a level of which something is seen.
fn in_sight(level: usize, view: &View) -> impl Iterator<Item = Place> + use<> {
    let (rows, columns) = view.seen();
    let side = SIDE << level;
    let tiles = |range: std::ops::Range<usize>| range.start / side..range.end.div_ceil(side);
    let columns = tiles(columns);
    tiles(rows).flat_map(move |row| columns.clone().map(move |column| (level, row, column)))
}
