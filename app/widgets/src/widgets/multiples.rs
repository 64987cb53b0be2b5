//! Several charts beside and below each other, in an order that the user chooses: dragged by their handles, or moved with the
//! arrow keys.

use egui::{
    Align, CursorIcon, DragAndDrop, EventFilter, Id, Key, Label, LayerId, Layout, Order, Rect, Response, RichText,
    Role, Sense, Stroke, TextStyle, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use crate::theme;

/// Below this width, in points, a chart is not read any more: fewer stand beside each other.
const NARROWEST: f32 = 300.0;
/// The most charts beside each other.
pub const MOST_ACROSS: usize = 6;
/// Height of a heading in points.
const HEAD: f32 = 20.0;
/// Width of what a chart is dragged by.
const HANDLE: f32 = 14.0;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileWish {
    /// The chart at one place is to stand at another; those between move up.
    Move {
        /// Its place.
        from: usize,
        /// Its place from now on.
        to: usize,
    },
    /// The chart is to be left out.
    Remove(usize),
}

impl TileWish {
    /// Does so to the list of what the charts show.
    pub fn apply<T>(self, list: &mut Vec<T>) {
        match self {
            Self::Move { from, to } if from < list.len() && to < list.len() => {
                let moved = list.remove(from);
                list.insert(to, moved);
            }
            Self::Remove(at) if at < list.len() => drop(list.remove(at)),
            Self::Move { .. } | Self::Remove(_) => {}
        }
    }
}

/// One chart of a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile<'a> {
    /// Stable name, of which a grid has one each: a chart is known by it wherever it stands.
    pub key: &'a str,
    /// Above the chart.
    pub title: String,
}

/// What is dragged: others may come or go meanwhile, so its place is found anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dragged {
    /// The grid it belongs to.
    of: Id,
    /// Of its key.
    tile: Id,
}

impl Dragged {
    fn new(of: Id, tile: &Tile<'_>) -> Self {
        Self { of, tile: of.with(("tile", tile.key)) }
    }

    fn place(self, of: Id, tiles: &[Tile<'_>]) -> Option<usize> {
        tiles.iter().position(|tile| Self::new(of, tile) == self)
    }
}

/// Where a heading stands in its grid.
#[derive(Clone, Copy)]
struct Spot {
    of: Id,
    place: usize,
    /// How many charts there are, and how many beside each other.
    count: usize,
    across: usize,
}

/// A grid of charts.
#[must_use = "call `show`"]
pub struct Multiples<'a> {
    salt: &'a str,
    across: Option<usize>,
    height: f32,
    about: &'a [&'a str],
}

impl<'a> Multiples<'a> {
    /// A grid of charts that are so high, without their headings, in points. `salt` tells grids of a panel apart.
    pub fn new(salt: &'a str, height: f32) -> Self {
        Self { salt, across: None, height, about: &[] }
    }

    /// What the hover of each title says, in the order of the charts; nothing where it is empty.
    pub fn about(mut self, about: &'a [&'a str]) -> Self {
        self.about = about;
        self
    }

    /// How many stand beside each other; none: as many as can be read.
    pub fn across(mut self, across: Option<usize>) -> Self {
        self.across = across;
        self
    }

    /// How many of `count` charts stand beside each other in so much width.
    pub fn columns(&self, width: f32, count: usize) -> usize {
        let fitting = || ((width / NARROWEST) as usize).clamp(1, MOST_ACROSS);
        self.across.unwrap_or_else(fitting).clamp(1, count.max(1))
    }

    /// Draws the charts: `chart` draws one by its place, `menu` adds to the menu of one. Those out of sight are not drawn.
    pub fn show(
        self,
        ui: &mut Ui,
        tiles: &[Tile<'_>],
        mut chart: impl FnMut(&mut Ui, usize, f32),
        mut menu: impl FnMut(&mut Ui, usize),
    ) -> Option<TileWish> {
        let id = ui.scope_id().with(self.salt);
        let gap = ui.spacing().item_spacing;
        let whole = ui.available_width();
        let across = self.columns(whole, tiles.len());
        let width = ((whole - gap.x * (across - 1) as f32) / across as f32).floor();
        let size = vec2(width, HEAD + gap.y + self.height);
        let mut wish = None;
        for (row, beside) in tiles.chunks(across).enumerate() {
            let (line, _) = ui.allocate_exact_size(vec2(whole, size.y), Sense::hover());
            for (column, tile) in beside.iter().enumerate() {
                let place = row * across + column;
                let rect = Rect::from_min_size(line.min + vec2((width + gap.x) * column as f32, 0.0), size);
                if !ui.is_rect_visible(rect) {
                    continue;
                }
                let builder = UiBuilder::new().max_rect(rect).id_salt((self.salt, tile.key));
                ui.scope_builder(builder.layout(Layout::top_down(Align::LEFT)), |ui| {
                    let spot = Spot { of: id, place, count: tiles.len(), across };
                    let about = self.about.get(place).copied().unwrap_or_default();
                    let asked = head_ui(ui, (tile, about), spot, |ui| menu(ui, place));
                    wish = wish.or(asked);
                    chart(ui, place, self.height);
                });
                wish = wish.or(drop_ui(ui, rect, (id, place), tiles, gap.x));
            }
        }
        wish
    }
}

/// The heading of a chart: its handle, its title with what its hover says, its menu.
fn head_ui(ui: &mut Ui, (tile, about): (&Tile<'_>, &str), spot: Spot, menu: impl FnOnce(&mut Ui)) -> Option<TileWish> {
    let (title, Spot { place, count, .. }) = (&tile.title, spot);
    let mut wish = None;
    let strong = theme::palette(ui.visuals()).strong;
    ui.allocate_ui_with_layout(vec2(ui.available_width(), HEAD), Layout::left_to_right(Align::Center), |ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        wish = handle_ui(ui, tile, spot);
        let room = (ui.available_width() - 34.0).max(20.0);
        ui.scope(|ui| {
            ui.set_max_width(room);
            let label = ui.add(Label::new(RichText::new(title).color(strong)).truncate());
            if !about.is_empty() {
                ui.ctx().accesskit_node_builder(label.id, |node| node.set_description(about));
                label.on_hover_text(about);
            }
        });
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let button = ui.menu_button("…", |ui| {
                for (label, to, is_possible) in [
                    ("Earlier", place.wrapping_sub(1), place > 0),
                    ("Later", place + 1, place + 1 < count),
                    ("To the front", 0, place > 0),
                ] {
                    if ui.add_enabled(is_possible, egui::Button::new(label)).clicked() {
                        wish = Some(TileWish::Move { from: place, to });
                        ui.close();
                    }
                }
                menu(ui);
                if ui.button("Leave out").clicked() {
                    wish = Some(TileWish::Remove(place));
                    ui.close();
                }
            });
            button.response.accessible_name(format!("Chart {title}"));
        });
    });
    wish
}

/// What a chart is dragged by, or moved with the arrow keys.
fn handle_ui(ui: &mut Ui, tile: &Tile<'_>, Spot { of, place, count, across }: Spot) -> Option<TileWish> {
    let title = &tile.title;
    let (rect, _) = ui.allocate_exact_size(vec2(HANDLE, HEAD), Sense::empty());
    // By its key, so that it keeps the keyboard at its next place.
    let handle = ui.interact(rect, of.with(("move", tile.key)), Sense::click_and_drag());
    handle.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Move {title}")));
    handle.dnd_set_drag_payload(Dragged::new(of, tile));
    if handle.clicked() {
        handle.request_focus();
    }
    let palette = theme::palette(ui.visuals());
    let is_active = handle.hovered() || handle.dragged() || handle.has_focus();
    let colour = if is_active { palette.accent } else { palette.weak };
    for (x, y) in [(-2.0, -4.0), (2.0, -4.0), (-2.0, 0.0), (2.0, 0.0), (-2.0, 4.0), (2.0, 4.0)] {
        ui.painter().circle_filled(rect.center() + vec2(x, y), 1.1, colour);
    }
    let to = arrows(ui, &handle, across).map(|by| place as isize + by);
    let wish =
        to.filter(|to| (0..count as isize).contains(to)).map(|to| TileWish::Move { from: place, to: to as usize });
    if handle.dragged()
        && let Some(pointer) = ui.ctx().pointer_interact_pos()
    {
        let painter = ui.ctx().layer_painter(LayerId::new(Order::Tooltip, of.with("dragged")));
        let font = TextStyle::Body.resolve(ui.style());
        let galley = painter.layout_no_wrap(title.clone(), font, palette.strong);
        let at = pointer + vec2(12.0, 4.0);
        let ground = Rect::from_min_size(at, galley.size()).expand(4.0);
        painter.rect_filled(ground, 3.0, palette.background);
        painter.rect_stroke(ground, 3.0, Stroke::new(1.0, palette.accent), egui::StrokeKind::Outside);
        painter.galley(at, galley, palette.strong);
    }
    let cursor = if handle.dragged() { CursorIcon::Grabbing } else { CursorIcon::Grab };
    handle.on_hover_cursor(cursor).on_hover_text("Drag it to another place, or use the arrow keys");
    wish
}

/// By how many places the focused handle is moved.
fn arrows(ui: &Ui, handle: &Response, across: usize) -> Option<isize> {
    if !handle.has_focus() {
        return None;
    }
    let filter = EventFilter { vertical_arrows: true, horizontal_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(handle.id, filter));
    let row = across as isize;
    let moves = [(Key::ArrowLeft, -1), (Key::ArrowRight, 1), (Key::ArrowUp, -row), (Key::ArrowDown, row)];
    ui.input(|input| moves.into_iter().find(|(key, _)| input.key_pressed(*key)).map(|(_, by)| by))
}

/// Shows where what is dragged over a chart would stand, and has it stand there once it is let go.
fn drop_ui(ui: &Ui, rect: Rect, (of, place): (Id, usize), tiles: &[Tile<'_>], gap: f32) -> Option<TileWish> {
    let dragged = DragAndDrop::payload::<Dragged>(ui.ctx()).filter(|dragged| dragged.of == of)?;
    let from = dragged.place(of, tiles)?;
    let pointer = ui.ctx().pointer_interact_pos()?;
    if !rect.expand(gap / 2.0).contains(pointer) || !ui.clip_rect().contains(pointer) {
        return None;
    }
    let is_after = pointer.x > rect.center().x;
    let slot = place + usize::from(is_after);
    let to = if slot > from { slot - 1 } else { slot };
    if to == from {
        return None;
    }
    let x = if is_after { rect.right() + gap / 2.0 } else { rect.left() - gap / 2.0 };
    let accent = theme::palette(ui.visuals()).accent;
    ui.painter().line_segment([pos2(x, rect.top()), pos2(x, rect.bottom())], Stroke::new(3.0, accent));
    if ui.input(|input| input.pointer.any_released()) {
        DragAndDrop::clear_payload(ui.ctx());
        return Some(TileWish::Move { from, to });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_moves_to_its_place_and_the_others_close_up() {
        let mut list = vec!["a", "b", "c", "d"];
        TileWish::Move { from: 0, to: 2 }.apply(&mut list);
        assert_eq!(list, ["b", "c", "a", "d"]);
        TileWish::Move { from: 3, to: 0 }.apply(&mut list);
        assert_eq!(list, ["d", "b", "c", "a"]);
        TileWish::Remove(1).apply(&mut list);
        assert_eq!(list, ["d", "c", "a"]);
        TileWish::Move { from: 1, to: 7 }.apply(&mut list);
        TileWish::Remove(3).apply(&mut list);
        assert_eq!(list, ["d", "c", "a"], "a place that is not there changes nothing");
    }

    #[test]
    fn what_is_dragged_is_found_where_it_stands_now() {
        let tiles = |keys: &[&'static str]| -> Vec<Tile<'static>> {
            keys.iter().map(|key| Tile { key, title: "Loss".to_owned() }).collect()
        };
        let of = Id::unique("grid");
        let dragged = Dragged::new(of, &tiles(&["b"])[0]);
        assert_eq!(dragged.place(of, &tiles(&["a", "b"])), Some(1));
        assert_eq!(dragged.place(of, &tiles(&["new", "a", "b"])), Some(2), "a chart that came before it");
        assert_eq!(dragged.place(of, &tiles(&["a"])), None);
    }

    #[test]
    fn as_many_stand_beside_each_other_as_can_be_read() {
        let grid = || Multiples::new("grid", 150.0);
        assert_eq!([250.0, 700.0, 1200.0, 2400.0].map(|width| grid().columns(width, 12)), [1, 2, 4, 6]);
        assert_eq!(grid().columns(2400.0, 2), 2, "no empty places");
        assert_eq!(grid().across(Some(3)).columns(2400.0, 12), 3);
        assert_eq!(grid().columns(0.0, 0), 1);
    }
}
