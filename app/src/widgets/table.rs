//! A table that can be sorted, selected from, walked with the keyboard, and whose columns can be hidden.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use egui::{
    Align, Color32, EventFilter, Key, Layout, Response, RichText, Role, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo,
    pos2,
};
use egui_extras::{Column as Width, TableBuilder};

use crate::theme;

/// A column: how it is called and laid out. The cells are drawn by the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Column<'a> {
    /// Stable name, kept in the settings: "loss.last".
    pub id: &'a str,
    /// The header: "Last loss".
    pub title: &'a str,
    /// What the column means, with its formula and unit; shown on hover. May be empty.
    pub help: &'a str,
    /// Width at first, in points; the user can drag it.
    pub width: f32,
    /// Numbers stand on the right.
    pub numeric: bool,
    /// Whether a click on the header sorts.
    pub sortable: bool,
    /// Whether the user may hide it. The column that names the row should stay.
    pub hideable: bool,
}

impl<'a> Column<'a> {
    /// A sortable, hideable column of text.
    pub fn text(id: &'a str, title: &'a str, width: f32) -> Self {
        Self { id, title, help: "", width, numeric: false, sortable: true, hideable: true }
    }

    /// A sortable, hideable column of numbers.
    pub fn number(id: &'a str, title: &'a str, width: f32) -> Self {
        Self { numeric: true, ..Self::text(id, title, width) }
    }

    /// With an explanation.
    pub fn help(mut self, help: &'a str) -> Self {
        self.help = help;
        self
    }

    /// Never hidden.
    pub fn always(mut self) -> Self {
        self.hideable = false;
        self
    }

    /// Never sorted by: swatches, buttons.
    pub fn unsorted(mut self) -> Self {
        self.sortable = false;
        self
    }
}

/// By which column the rows are sorted.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sorting {
    /// Id of the column.
    pub column: String,
    /// Largest first.
    pub descending: bool,
}

/// What the user did to a table. Serialisable, to be kept in the settings; the caller may change it at any time.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct TableState {
    /// None: the order in which the rows are given.
    pub sorting: Option<Sorting>,
    /// Ids of hidden columns.
    pub hidden: BTreeSet<String>,
    /// Keys of selected rows.
    #[serde(skip)]
    pub selected: BTreeSet<u64>,
    /// Key of the row that the keyboard is at.
    #[serde(skip)]
    pub cursor: Option<u64>,
    /// Where a Shift-click or Shift-arrow extends from.
    #[serde(skip)]
    pub anchor: Option<u64>,
}

impl TableState {
    /// True when this column is shown.
    pub fn shows(&self, column: &Column<'_>) -> bool {
        !(column.hideable && self.hidden.contains(column.id))
    }

    /// Sorts by a column: ascending, then descending, then not at all.
    pub fn toggle_sorting(&mut self, column: &str) {
        self.sorting = match self.sorting.take() {
            Some(Sorting { column: by, descending: false }) if by == column => {
                Some(Sorting { column: by, descending: true })
            }
            Some(Sorting { column: by, .. }) if by == column => None,
            _ => Some(Sorting { column: column.to_owned(), descending: false }),
        };
    }

    /// A click on the row `key` among `rows`: alone selects it, with `toggle` adds or removes it, with `extend` selects
    /// everything from the last plain click to here.
    pub fn click(&mut self, rows: &[u64], key: u64, toggle: bool, extend: bool) {
        let place = |key: u64| rows.iter().position(|&row| row == key);
        match (extend, self.anchor.and_then(place), place(key)) {
            (true, Some(from), Some(to)) => {
                let range = from.min(to)..=from.max(to);
                self.selected = rows.get(range).unwrap_or_default().iter().copied().collect();
            }
            _ if toggle => {
                if !self.selected.remove(&key) {
                    self.selected.insert(key);
                }
                self.anchor = Some(key);
            }
            _ => {
                self.selected = BTreeSet::from([key]);
                self.anchor = Some(key);
            }
        }
        self.cursor = Some(key);
    }

    /// Moves the keyboard by `by` rows, staying inside. Returns the new row.
    pub fn step(&mut self, rows: &[u64], by: isize) -> Option<u64> {
        let last = rows.len().checked_sub(1)?;
        let at = self.cursor.and_then(|key| rows.iter().position(|&row| row == key));
        let to = match at {
            Some(at) => at.saturating_add_signed(by).min(last),
            None if by < 0 => last,
            None => 0,
        };
        self.cursor = rows.get(to).copied();
        self.cursor
    }

    /// A menu button with a check mark per column.
    pub fn columns_menu_ui(&mut self, ui: &mut Ui, columns: &[Column<'_>]) {
        let config =
            egui::containers::menu::MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
        egui::containers::menu::MenuButton::new("Columns").config(config).ui(ui, |ui| self.columns_ui(ui, columns));
    }

    fn columns_ui(&mut self, ui: &mut Ui, columns: &[Column<'_>]) {
        for column in columns.iter().filter(|column| column.hideable) {
            let mut shown = !self.hidden.contains(column.id);
            if ui.checkbox(&mut shown, column.title).changed() {
                if shown {
                    self.hidden.remove(column.id);
                } else {
                    self.hidden.insert(column.id.to_owned());
                }
            }
        }
        ui.separator();
        if ui.button("Show all columns").clicked() {
            self.hidden.clear();
        }
    }
}

/// What rows are sorted by. Missing and NaN come last, whatever the direction.
#[derive(Clone, Debug, PartialEq)]
pub enum SortKey {
    /// By value.
    Number(f64),
    /// By text, ignoring case.
    Text(String),
    /// No value.
    Missing,
}

impl SortKey {
    fn is_missing(&self) -> bool {
        matches!(self, Self::Missing) || matches!(self, Self::Number(x) if x.is_nan())
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.to_lowercase().cmp(&b.to_lowercase()).then_with(|| a.cmp(b)),
            (Self::Number(_), _) => Ordering::Less,
            (_, Self::Number(_)) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

/// Sorts rows by a key, keeping the order of equal ones.
pub fn sort_rows<T>(rows: &mut [T], descending: bool, key: impl Fn(&T) -> SortKey) {
    rows.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        match (a.is_missing(), b.is_missing()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ if descending => b.compare(&a),
            _ => a.compare(&b),
        }
    });
}

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
    /// Whether the selection changed.
    pub selection_changed: bool,
    /// Whether the caller has to sort anew.
    pub sorting_changed: bool,
}

impl<'a> Table<'a> {
    /// A table called `name` (for screen readers). `salt` tells the tables of a panel apart.
    pub fn new(salt: &'a str, name: &'a str, columns: &'a [Column<'a>], rows: &'a [u64]) -> Self {
        Self { salt, name, columns, rows, highlight: None, row_height: 26.0, max_height: f32::INFINITY }
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

    /// Draws the table. `cell` draws the cell of a row (key) in a column; only visible rows are asked for. `row_name`
    /// says what a row is called, for screen readers.
    ///
    /// Keys while the table has focus: up, down, Page up, Page down, Home, End move; Space toggles; Shift extends;
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
            let mut table = TableBuilder::new(ui)
                .sense(Sense::CLICK | Sense::HOVER)
                .striped(true)
                .resizable(true)
                .auto_shrink([false, true])
                .max_scroll_height(self.max_height)
                .cell_layout(Layout::left_to_right(Align::Center));
            for column in &columns {
                table = table.column(Width::initial(column.width).at_least(36.0).clip(true));
            }
            if moved && let Some(row) = state.cursor.and_then(|key| self.rows.iter().position(|&row| row == key)) {
                table = table.scroll_to_row(row, None);
            }
            let body = table.header(self.row_height, |mut header| {
                for column in &columns {
                    let (_, response) = header.col(|ui| {
                        if header_ui(ui, column, state.sorting.as_ref()) {
                            state.toggle_sorting(column.id);
                            out.sorting_changed = true;
                        }
                    });
                    response.context_menu(|ui| state.columns_ui(ui, self.columns));
                }
            });
            let mut focus = false;
            body.body(|body| {
                body.rows(self.row_height, self.rows.len(), |mut row| {
                    let Some(&key) = self.rows.get(row.index()) else { return };
                    let selected = state.selected.contains(&key);
                    row.set_selected(selected);
                    row.set_hovered(self.highlight == Some(key));
                    let mut cursor_rect = egui::Rect::NOTHING;
                    for column in &columns {
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
                    response.widget_info(|| WidgetInfo::selected(Role::Row, true, selected, row_name(key)));
                    if response.hovered() {
                        out.hovered = Some(key);
                    }
                    if response.clicked() {
                        let modifiers = response.ctx.input(|i| i.modifiers);
                        state.click(self.rows, key, modifiers.command, modifiers.shift);
                        out.clicked = Some(key);
                        focus = true;
                    }
                    if response.double_clicked() {
                        out.activated = Some(key);
                    }
                    if response.secondary_clicked() {
                        out.context = Some(key);
                        state.cursor = Some(key);
                    }
                    if has_focus && state.cursor == Some(key) {
                        let accent = theme::palette(&response.ctx.global_style().visuals).accent;
                        let painter =
                            response.ctx.layer_painter(response.layer_id).with_clip_rect(response.rect.expand(2.0));
                        painter.line_segment(
                            [cursor_rect.left_bottom(), cursor_rect.left_top()],
                            Stroke::new(3.0, accent),
                        );
                    }
                });
            });
            let rect = egui::Rect::from_min_max(start, pos2(start.x + width, ui.cursor().min.y));
            let keyboard = ui.interact(rect, id, Sense::focusable_noninteractive());
            keyboard.widget_info(|| WidgetInfo::labeled(Role::Table, ui.is_enabled(), self.name));
            if focus {
                keyboard.request_focus();
            }
        });
        out.selection_changed = before != state.selected;
        out
    }

    /// Handles the keys; true when the cursor moved.
    fn keys(&self, ui: &Ui, id: egui::Id, state: &mut TableState, out: &mut TableResponse) -> bool {
        if !ui.memory(|memory| memory.has_focus(id)) {
            return false;
        }
        let filter = EventFilter { vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
        let (by, space, enter, all, shift) = ui.input(|i| {
            let end = isize::try_from(self.rows.len()).unwrap_or(isize::MAX);
            let steps = [
                (Key::ArrowDown, 1),
                (Key::ArrowUp, -1),
                (Key::PageDown, 15),
                (Key::PageUp, -15),
                (Key::End, end),
                (Key::Home, -end),
            ];
            let by = steps.iter().find(|(key, _)| i.key_pressed(*key)).map(|(_, by)| *by);
            let all = i.modifiers.command && i.key_pressed(Key::A);
            (by, i.key_pressed(Key::Space), i.key_pressed(Key::Enter), all, i.modifiers.shift)
        });
        if let Some(by) = by
            && let Some(key) = state.step(self.rows, by)
            && shift
        {
            state.click(self.rows, key, false, true);
        }
        if let Some(key) = state.cursor {
            if space {
                state.click(self.rows, key, true, false);
            }
            if enter {
                out.activated = Some(key);
            }
        }
        if all {
            state.selected = self.rows.iter().copied().collect();
        }
        by.is_some()
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
        let text = RichText::new(column.title).color(if direction.is_some() { palette.strong } else { palette.weak });
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
    if !column.help.is_empty() {
        label.on_hover_text(column.help);
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
    fn clicks_select_toggle_and_extend() {
        let rows = [5, 3, 9, 1];
        let mut state = TableState::default();
        state.click(&rows, 3, false, false);
        assert_eq!(state.selected, [3].into());
        state.click(&rows, 1, false, true);
        assert_eq!(state.selected, [1, 3, 9].into(), "everything from the anchor, in row order");
        state.click(&rows, 5, true, false);
        state.click(&rows, 9, true, false);
        assert_eq!(state.selected, [1, 3, 5].into());
        state.click(&rows, 9, false, false);
        assert_eq!(state.selected, [9].into());
        assert_eq!(state.cursor, Some(9));
    }

    #[test]
    fn the_keyboard_stays_inside() {
        let rows = [5, 3, 9];
        let mut state = TableState::default();
        assert_eq!(state.step(&rows, 1), Some(5));
        assert_eq!(state.step(&rows, -7), Some(5));
        assert_eq!(state.step(&rows, 99), Some(9));
        state.cursor = Some(1234);
        assert_eq!(state.step(&rows, -1), Some(9), "a row that is gone");
        assert_eq!(state.step(&[], 1), None);
    }

    #[test]
    fn sorting_goes_round_and_missing_stays_last() {
        let mut state = TableState::default();
        state.toggle_sorting("a");
        state.toggle_sorting("a");
        assert_eq!(state.sorting, Some(Sorting { column: "a".to_owned(), descending: true }));
        state.toggle_sorting("b");
        assert_eq!(state.sorting, Some(Sorting { column: "b".to_owned(), descending: false }));
        state.toggle_sorting("b");
        state.toggle_sorting("b");
        assert_eq!(state.sorting, None);

        let keys = [
            SortKey::Number(2.0),
            SortKey::Missing,
            SortKey::Number(f64::NAN),
            SortKey::Number(-1.0),
            SortKey::Number(10.0),
        ];
        for (descending, expected) in [(false, [3, 0, 4, 1, 2]), (true, [4, 0, 3, 1, 2])] {
            let mut rows = [0, 1, 2, 3, 4];
            sort_rows(&mut rows, descending, |&row| keys[row].clone());
            assert_eq!(rows, expected);
        }
        let mut names = ["b", "A", "a"];
        sort_rows(&mut names, false, |name| SortKey::Text((*name).to_owned()));
        assert_eq!(names, ["A", "a", "b"]);
    }

    #[test]
    fn hidden_columns_are_hidden_unless_they_must_stay() {
        let state = TableState { hidden: ["name".to_owned(), "loss".to_owned()].into(), ..TableState::default() };
        assert!(state.shows(&Column::text("name", "Name", 100.0).always()));
        assert!(!state.shows(&Column::number("loss", "Loss", 60.0)));
    }

    #[test]
    fn it_draws_only_visible_rows() {
        let rows: Vec<u64> = (0..10_000).collect();
        let columns = [Column::text("name", "Name", 100.0), Column::number("loss", "Loss", 60.0)];
        let mut state = TableState::default();
        let ctx = egui::Context::default();
        let mut drawn = 0;
        let screen = egui::Rect::from_min_size(pos2(0.0, 0.0), Vec2::new(400.0, 300.0));
        let input = egui::RawInput { screen_rect: Some(screen), ..egui::RawInput::default() };
        let mut output = ctx.run_ui(input, |ui| {
            let table = Table::new("t", "Runs", &columns, &rows);
            let _ = table.show(
                ui,
                &mut state,
                |key| format!("run {key}"),
                |ui, key, column| {
                    drawn += 1;
                    ui.label(format!("{key} {}", column.id));
                },
            );
        });
        output.textures_delta.clear();
        assert!(drawn > 4 && drawn < 200, "{drawn}");
    }
}
