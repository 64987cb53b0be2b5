use egui::{
    Align, Color32, EventFilter, Key, Layout, Rect, Response, RichText, Role, ScrollArea, Sense, Shape, Stroke, Ui,
    UiBuilder, Vec2, WidgetInfo, pos2, scroll_area::ScrollBarVisibility,
};
use egui_extras::{Column as Width, TableBuilder};

use super::{Column, Sorting, TableState};
use crate::{keys, theme};

/// The most that a column takes of the room that is left over, in points: eyes must find the way from a name to its values.
const WIDEST: f32 = 420.0;
/// The largest share of the room that columns take which stay while the others scroll.
const MOST_FROZEN: f32 = 0.6;

/// A table of rows with stable keys, already sorted and filtered by the caller.
#[must_use = "call `show`"]
pub struct Table<'a> {
    salt: &'a str,
    name: &'a str,
    columns: &'a [Column<'a>],
    rows: &'a [u64],
    highlight: Option<u64>,
    row_height: f32,
    max_height: f32,
    frozen: usize,
}

/// The columns that are drawn together.
struct Part<'a> {
    columns: &'a [&'a Column<'a>],
    /// Whether they name the row.
    names: bool,
    has_focus: bool,
    /// Whether the keyboard's row is another one.
    moved: bool,
    /// How far they are scrolled, where others beside them scroll too.
    offset: Option<f32>,
}

/// What happened in a table this frame.
#[derive(Clone, Debug, Default)]
pub struct TableResponse {
    /// The row under the pointer.
    pub hovered: Option<u64>,
    /// The row that was clicked. The selection in the state is up to date already.
    pub clicked: Option<u64>,
    /// The row that was double-clicked, or the keyboard's row on Enter.
    pub activated: Option<u64>,
    /// The row a context menu was asked for.
    pub context: Option<u64>,
    /// The keyboard's row on Space.
    pub toggled: Option<u64>,
    /// Whether the selection changed.
    pub selection_changed: bool,
    /// Whether the caller has to sort anew.
    pub sorting_changed: bool,
}

impl<'a> Table<'a> {
    /// A table called `name` (for screen readers). `salt` tells the tables of a panel apart.
    pub fn new(salt: &'a str, name: &'a str, columns: &'a [Column<'a>], rows: &'a [u64]) -> Self {
        Self { salt, name, columns, rows, highlight: None, row_height: 26.0, max_height: f32::INFINITY, frozen: 0 }
    }

    /// The row to draw as if hovered: what is hovered in a chart.
    pub fn highlight(mut self, key: Option<u64>) -> Self {
        self.highlight = key;
        self
    }

    /// Row height in points.
    pub fn row_height(mut self, height: f32) -> Self {
        self.row_height = height;
        self
    }

    /// The height at which the body starts to scroll.
    pub fn max_height(mut self, height: f32) -> Self {
        self.max_height = height;
        self
    }

    /// So many of the shown columns stay on the left while the others scroll sideways, which the table then does itself.
    pub fn frozen(mut self, columns: usize) -> Self {
        self.frozen = columns;
        self
    }

    /// Draws the table. `cell` draws the cell of a row (key) in a column; only visible rows are asked for. `row_name`
    /// says what a row is called, for screen readers.
    ///
    /// Keys while the table has focus: up, down, Page up, Page down, Home, End move; Space is the caller's; Shift extends;
    /// Ctrl/Cmd+A selects all; Enter activates.
    pub fn show(
        self,
        ui: &mut Ui,
        state: &mut TableState,
        row_name: impl Fn(u64) -> String,
        mut cell: impl FnMut(&mut Ui, u64, &Column<'_>),
    ) -> TableResponse {
        let mut out = TableResponse::default();
        let before = state.selected.clone();
        let columns: Vec<&Column<'_>> = self.columns.iter().filter(|column| state.shows(column)).collect();
        ui.push_id(self.salt, |ui| {
            let id = ui.scope_id().with("keyboard");
            let moved = self.keys(ui, id, state, &mut out);
            let start = ui.cursor().min;
            let width = ui.available_width();
            let has_focus = ui.memory(|memory| memory.has_focus(id));
            let mut focus = false;
            let frozen = self.frozen_of(&columns, width, ui.spacing().item_spacing.x);
            let (left, right) = columns.split_at(frozen.map_or(0, |(count, _)| count));
            let offset = state.offset;
            let mut part = |ui: &mut Ui, columns: &[&Column<'_>], names: bool, offset: Option<f32>| {
                let part = Part { columns, names, has_focus, moved, offset };
                self.part_ui(ui, &part, (state, &mut out, &mut focus), &row_name, &mut cell)
            };
            match frozen {
                None => {
                    if self.frozen > 0 {
                        let all = |ui: &mut Ui| part(ui, right, true, None);
                        ScrollArea::horizontal().auto_shrink([false, false]).show(ui, all);
                    } else {
                        part(ui, right, true, None);
                    }
                }
                Some((_, left_width)) => {
                    let room = ui.available_rect_before_wrap();
                    let mut beside = room;
                    beside.min.x += left_width + ui.spacing().item_spacing.x;
                    let right_offset = ui.scope_builder(UiBuilder::new().max_rect(beside).id_salt("right"), |ui| {
                        let all = |ui: &mut Ui| part(ui, right, false, Some(offset));
                        ScrollArea::horizontal().auto_shrink([false, false]).show(ui, all).inner
                    });
                    let frozen_rect = Rect::from_min_max(room.min, pos2(room.min.x + left_width, room.max.y));
                    let left_offset = ui.scope_builder(UiBuilder::new().max_rect(frozen_rect).id_salt("left"), |ui| {
                        ui.set_clip_rect(frozen_rect.expand(2.0).intersect(ui.clip_rect()));
                        part(ui, left, true, Some(offset))
                    });
                    let edge = Stroke::new(1.0, theme::palette(ui.visuals()).line);
                    ui.painter().vline(frozen_rect.right() + 2.0, frozen_rect.y_range(), edge);
                    // Whichever of the two was scrolled leads, and the other follows in the next frame.
                    let (left, right) = (left_offset.inner, right_offset.inner);
                    let led = if left == offset { right } else { left };
                    if led != offset {
                        state.offset = led;
                        ui.ctx().request_repaint();
                    }
                }
            }
            let rect = Rect::from_min_max(start, pos2(start.x + width, ui.cursor().min.y));
            let keyboard = ui.interact(rect, id, Sense::focusable_noninteractive());
            keyboard.widget_info(|| WidgetInfo::labeled(Role::Table, ui.is_enabled(), self.name));
            if focus {
                keyboard.request_focus();
            }
        });
        out.selection_changed = before != state.selected;
        out
    }

    /// How many columns stay on the left and how wide they are together; none where all columns have room.
    fn frozen_of(&self, columns: &[&Column<'_>], width: f32, gap: f32) -> Option<(usize, f32)> {
        let wide = |columns: &[&Column<'_>]| columns.iter().map(|column| column.width + gap).sum::<f32>();
        // As many of them as leave room for the others: the first ones say what a row is.
        let first = (1..=self.frozen.min(columns.len())).rev();
        let left = first.filter_map(|count| columns.get(..count)).find(|left| wide(left) <= width * MOST_FROZEN)?;
        (wide(columns) > width + gap).then(|| (left.len(), wide(left)))
    }

    /// Draws some of the columns; the vertical scroll comes back.
    fn part_ui(
        &self,
        ui: &mut Ui,
        part: &Part<'_>,
        (state, out, focus): (&mut TableState, &mut TableResponse, &mut bool),
        row_name: &impl Fn(u64) -> String,
        cell: &mut impl FnMut(&mut Ui, u64, &Column<'_>),
    ) -> f32 {
        let columns = part.columns;
        let width = ui.available_width();
        // Widths are remembered by place: another choice of columns, another room, or columns that must be wider begin anew.
        let least = |column: &&Column<'_>| if column.keeps { column.width as i32 } else { 0 };
        let ids: Vec<(&str, i32)> = columns.iter().map(|column| (column.id, least(column))).collect();
        let mut table = TableBuilder::new(ui)
            .id_salt((ids, (width / 8.0) as i32))
            .sense(Sense::CLICK | Sense::HOVER)
            .striped(true)
            .resizable(true)
            .auto_shrink([false, true])
            .max_scroll_height(self.max_height)
            .cell_layout(Layout::left_to_right(Align::Center));
        for column in columns {
            let width = if column.grows {
                Width::remainder().at_least(column.width).at_most(WIDEST)
            } else {
                let least = if column.keeps { column.width } else { column.width.min(36.0) };
                Width::initial(column.width).at_least(least)
            };
            table = table.column(width.clip(true));
        }
        if let Some(offset) = part.offset {
            table = table.vertical_scroll_offset(offset);
            if part.names {
                table = table.scroll_bar_visibility(ScrollBarVisibility::AlwaysHidden);
            }
        }
        if part.moved
            && let Some(row) = state.cursor.and_then(|key| self.rows.iter().position(|&row| row == key))
        {
            table = table.scroll_to_row(row, None);
        }
        let body = table.header(self.row_height, |mut header| {
            for column in columns {
                let (_, response) = header.col(|ui| {
                    if header_ui(ui, column, state.sorting.as_ref()) {
                        state.toggle_sorting(column.id);
                        out.sorting_changed = true;
                    }
                });
                response.context_menu(|ui| state.columns_ui(ui, self.columns));
            }
        });
        let scrolled = body.body(|body| {
            body.rows(self.row_height, self.rows.len(), |mut row| {
                let Some(&key) = self.rows.get(row.index()) else { return };
                let selected = state.selected.contains(&key);
                row.set_selected(selected);
                row.set_hovered(self.highlight == Some(key));
                let mut cursor_rect = Rect::NOTHING;
                for column in columns {
                    let (rect, _) = row.col(|ui| {
                        if column.numeric {
                            ui.with_layout(Layout::right_to_left(Align::Center), |ui| cell(ui, key, column));
                        } else {
                            cell(ui, key, column);
                        }
                    });
                    cursor_rect = cursor_rect.union(rect);
                }
                if columns.is_empty() {
                    return;
                }
                let response = row.response();
                if part.names {
                    response.widget_info(|| WidgetInfo::selected(Role::Row, true, selected, row_name(key)));
                }
                if response.hovered() {
                    out.hovered = Some(key);
                }
                if response.clicked() {
                    let modifiers = response.ctx.input(|i| i.modifiers);
                    state.click(self.rows, key, modifiers.command, modifiers.shift);
                    out.clicked = Some(key);
                    *focus = true;
                }
                if response.double_clicked() {
                    out.activated = Some(key);
                }
                if response.secondary_clicked() {
                    out.context = Some(key);
                    state.cursor = Some(key);
                }
                if part.has_focus && part.names && state.cursor == Some(key) {
                    let accent = theme::palette(&response.ctx.global_style().visuals).accent;
                    let painter =
                        response.ctx.layer_painter(response.layer_id).with_clip_rect(response.rect.expand(2.0));
                    painter.line_segment([cursor_rect.left_bottom(), cursor_rect.left_top()], Stroke::new(3.0, accent));
                }
            });
        });
        scrolled.state.unclamped_offset().y
    }

    /// Handles the keys; true when the cursor moved.
    fn keys(&self, ui: &Ui, id: egui::Id, state: &mut TableState, out: &mut TableResponse) -> bool {
        if !ui.memory(|memory| memory.has_focus(id)) {
            return false;
        }
        let filter = EventFilter { vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
        let (step, space, enter, all) = ui.input(|i| {
            let end = isize::try_from(self.rows.len()).unwrap_or(isize::MAX);
            let steps = [
                (Key::ArrowDown, 1),
                (Key::ArrowUp, -1),
                (Key::PageDown, 15),
                (Key::PageUp, -15),
                (Key::End, end),
                (Key::Home, -end),
            ];
            let step = steps.iter().find_map(|(key, by)| Some((*by, keys::pressed_with(i, *key)?.shift)));
            let all = keys::pressed_with(i, Key::A).is_some_and(|held| held.command);
            (step, i.key_pressed(Key::Space), i.key_pressed(Key::Enter), all)
        });
        if let Some((by, shift)) = step
            && let Some(key) = state.step(self.rows, by)
        {
            if shift {
                state.click(self.rows, key, false, true);
            } else {
                state.anchor = Some(key);
            }
        }
        if let Some(key) = state.cursor {
            if space {
                out.toggled = Some(key);
            }
            if enter {
                out.activated = Some(key);
            }
        }
        if all {
            state.selected = self.rows.iter().copied().collect();
        }
        step.is_some()
    }
}

/// A header cell; true when it was clicked to sort.
fn header_ui(ui: &mut Ui, column: &Column<'_>, sorting: Option<&Sorting>) -> bool {
    let palette = theme::palette(ui.visuals());
    let direction = sorting.filter(|s| s.column == column.id).map(|s| s.descending);
    let layout =
        if column.numeric { Layout::right_to_left(Align::Center) } else { Layout::left_to_right(Align::Center) };
    let shown = ui.with_layout(layout, |ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let text = RichText::new(column.short).color(if direction.is_some() { palette.strong } else { palette.weak });
        let sense = if column.sortable { Sense::click() } else { Sense::hover() };
        let label = ui.add(egui::Label::new(text).selectable(false).truncate().sense(sense));
        if let Some(descending) = direction {
            arrow_ui(ui, descending, palette.accent);
        }
        label
    });
    let label: Response = shown.inner;
    if column.sortable {
        let state = match direction {
            None => "not sorted",
            Some(false) => "sorted, smallest first",
            Some(true) => "sorted, largest first",
        };
        label.widget_info(|| WidgetInfo::labeled(Role::ColumnHeader, true, column.title));
        ui.ctx().accesskit_node_builder(label.id, |node| node.set_description(format!("{state}. {}", column.help)));
    }
    let clicked = column.sortable && label.clicked();
    match (column.short == column.title, column.help) {
        (true, "") => {}
        (true, help) => drop(label.on_hover_text(help)),
        (false, "") => drop(label.on_hover_text(column.title)),
        (false, help) => drop(label.on_hover_text(format!("{}. {help}", column.title))),
    }
    clicked
}

fn arrow_ui(ui: &mut Ui, descending: bool, colour: Color32) {
    let (rect, _) = ui.allocate_exact_size(Vec2::new(9.0, 9.0), Sense::hover());
    let rect = rect.shrink(1.0);
    let points = if descending {
        vec![rect.left_top(), rect.right_top(), rect.center_bottom()]
    } else {
        vec![rect.left_bottom(), rect.center_top(), rect.right_bottom()]
    };
    ui.painter().add(Shape::convex_polygon(points, colour, Stroke::NONE));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_columns_stay_as_leave_room_for_the_others_and_the_first_ones_in_any_case() {
        let all: Vec<Column<'_>> =
            ["eye", "name", "a", "b", "c"].map(|id| Column::text(id, id, 100.0)).into_iter().collect();
        let columns: Vec<&Column<'_>> = all.iter().collect();
        let frozen = |wanted: usize, width: f32| {
            Table::new("t", "t", &all, &[]).frozen(wanted).frozen_of(&columns, width, 0.0).map(|(count, _)| count)
        };
        assert_eq!(frozen(2, 500.0), None, "all have room");
        assert_eq!(frozen(2, 400.0), Some(2));
        assert_eq!(frozen(4, 400.0), Some(2), "the pinned ones give way, the name stays");
        assert_eq!(frozen(0, 400.0), None);
    }
}
