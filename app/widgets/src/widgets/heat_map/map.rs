use egui::{Color32, Response, Role, Sense, Stroke, StrokeKind, TextStyle, Ui, Vec2, WidgetInfo};

use super::{
    bar::bar_ui,
    draw::{axes_ui, hatching, outline},
    layout::{HeatLayout, LINE, View, beside_cells},
    navigate::moves,
    tiles::Tiles,
};
use crate::{
    export::MapFigure,
    format,
    plot::{HeatAxis, HeatData, HeatScale, Tone},
    theme::{self, ColourMap},
};

/// What a map remembers between frames: what is seen of it, its textures, which cell has the keyboard. Keep one a map; it
/// may be dropped at any time.
#[derive(Default)]
pub struct HeatState {
    view: Option<View>,
    shape: (usize, usize),
    cursor: Option<(usize, usize)>,
    tiles: Tiles,
}

impl HeatState {
    /// Shows the whole map again.
    pub fn reset(&mut self) {
        self.view = None;
    }

    /// Whether a part of the map is out of sight.
    pub fn is_zoomed(&self) -> bool {
        self.view.is_some_and(|view| view.is_zoomed())
    }

    /// The rows and columns that are seen; all of a map that was not shown yet.
    pub fn seen(&self, data: &HeatData) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let whole = View::whole(data.rows(), data.columns());
        let fits = self.shape == (data.rows(), data.columns());
        self.view.filter(|_| fits).unwrap_or(whole).seen()
    }

    /// The figure, but only the part of it that is seen.
    pub fn seen_of(&self, figure: MapFigure) -> MapFigure {
        let seen = self.seen(&figure.data);
        figure.seen(seen)
    }

    /// Textures made since the start: stands still while nothing changes. For tests.
    pub fn made(&self) -> u64 {
        self.tiles.made
    }
}

impl std::fmt::Debug for HeatState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeatState").field("view", &self.view).field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

/// What happened to a map.
#[derive(Clone, Debug)]
pub struct HeatResponse {
    /// The cells.
    pub response: Response,
    /// The cell under the pointer: row, column.
    pub hovered: Option<(usize, usize)>,
    /// The cell that was clicked, or chosen with Enter.
    pub clicked: Option<(usize, usize)>,
    /// The row or column whose name was clicked.
    pub named: Option<HeatLine>,
    /// The row or column whose name is under the pointer.
    pub pointed: Option<HeatLine>,
}

/// A whole row or column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeatLine {
    /// A row.
    Row(usize),
    /// A column.
    Column(usize),
}

/// A heat map, built anew each frame; its textures are not.
///
/// ```no_run
/// # use headroom_figures::plot::{HeatAxis, HeatData};
/// # use headroom_widgets::widgets::{HeatMap, HeatState};
/// # fn panel(ui: &mut egui::Ui, similarity: &HeatData, state: &mut HeatState) {
/// let layers = HeatAxis::numbered("Layer", "L");
/// let shown = HeatMap::new("similarity of layers", similarity).axes(&layers, &layers).value("Similarity").show(ui, state);
/// let clicked_layers = shown.clicked;
/// # }
/// ```
#[must_use = "call `show`"]
pub struct HeatMap<'a> {
    name: &'a str,
    data: &'a HeatData,
    axes: Option<(&'a HeatAxis, &'a HeatAxis)>,
    tone: Option<Tone>,
    value: &'a str,
    cell_name: Option<&'a dyn Fn(usize, usize) -> String>,
    cell_text: Option<&'a dyn Fn(usize, usize) -> String>,
    gap: &'a str,
    selected: Option<(usize, usize)>,
    line: Option<HeatLine>,
    marked: &'a [(usize, usize)],
    room: Option<Vec2>,
    has_bar: bool,
    is_stretched: bool,
}

impl<'a> HeatMap<'a> {
    /// A map; `name` tells the maps of a panel apart, for screen readers too.
    pub fn new(name: &'a str, data: &'a HeatData) -> Self {
        Self {
            name,
            data,
            axes: None,
            tone: None,
            value: "",
            cell_name: None,
            cell_text: None,
            gap: "nothing",
            selected: None,
            line: None,
            marked: &[],
            room: None,
            has_bar: true,
            is_stretched: false,
        }
    }

    /// A figure as it is exported, drawn: its values, axes, colours and shape.
    pub fn of(name: &'a str, figure: &'a MapFigure) -> Self {
        let MapFigure { data, row_axis, column_axis, tone, value, is_stretched, .. } = figure;
        let map = Self::new(name, data).axes(row_axis, column_axis).tone(*tone).value(value);
        Self { is_stretched: *is_stretched, ..map }
    }

    /// What rows and columns are.
    pub fn axes(mut self, rows: &'a HeatAxis, columns: &'a HeatAxis) -> Self {
        self.axes = Some((rows, columns));
        self
    }

    /// Which colour a value has; from the smallest to the largest unless it is said.
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = Some(tone);
        self
    }

    /// What the values are, beside the colour bar: "Similarity".
    pub fn value(mut self, value: &'a str) -> Self {
        self.value = value;
        self
    }

    /// What a cell is called, by row and column: "L3H7 and L2H1".
    pub fn cell_name(mut self, name: &'a dyn Fn(usize, usize) -> String) -> Self {
        self.cell_name = Some(name);
        self
    }

    /// What stands in a cell, by row and column, where it has room for it.
    pub fn cell_text(mut self, text: &'a dyn Fn(usize, usize) -> String) -> Self {
        self.cell_text = Some(text);
        self
    }

    /// What is said of a cell without a value.
    pub fn gap(mut self, gap: &'a str) -> Self {
        self.gap = gap;
        self
    }

    /// This cell is outlined.
    pub fn selected(mut self, selected: Option<(usize, usize)>) -> Self {
        self.selected = selected;
        self
    }

    /// This row or column is outlined.
    pub fn selected_line(mut self, line: Option<HeatLine>) -> Self {
        self.line = line;
        self
    }

    /// These cells have a thin outline, such as those that were chosen to be computed.
    pub fn marked(mut self, marked: &'a [(usize, usize)]) -> Self {
        self.marked = marked;
        self
    }

    /// The most room that it takes, everything included; the width that there is and 420 points unless it is said.
    pub fn room(mut self, room: Vec2) -> Self {
        self.room = Some(room);
        self
    }

    /// Without the colour bar.
    pub fn without_bar(mut self) -> Self {
        self.has_bar = false;
        self
    }

    /// Cells need not be squares: the map fills its room.
    pub fn stretched(mut self) -> Self {
        self.is_stretched = true;
        self
    }

    /// Points that are not cells in a map of so many rows and columns that is `width` wide: maps beside each other have cells
    /// of one size where that is allowed for.
    pub fn beside_cells(rows: &HeatAxis, count: usize, has_bar: bool, width: f32) -> f32 {
        let named = beside_cells(rows, count, has_bar);
        if rows.every((width - named) / count.max(1) as f32, LINE - 1.0).is_some() {
            return named;
        }
        beside_cells(&HeatAxis::plain(&rows.title), count, has_bar)
    }

    /// Draws it.
    pub fn show(self, ui: &mut Ui, state: &mut HeatState) -> HeatResponse {
        let palette = theme::palette(ui.visuals());
        let nothing = HeatAxis::default();
        let (rows, columns) = self.axes.unwrap_or((&nothing, &nothing));
        let shape = (self.data.rows(), self.data.columns());
        let room = self.room.unwrap_or_else(|| Vec2::new(ui.available_width(), 420.0));
        let layout_of = |rows: &HeatAxis, columns: &HeatAxis| {
            HeatLayout::new(shape, (rows, columns), room, self.has_bar, self.is_stretched)
        };
        let mut layout = layout_of(rows, columns);
        // Names that show only when a part is magnified take no room before.
        let cell = View::whole(shape.0, shape.1).cell(layout.plot);
        let is_whole = state.view.is_none() || state.shape != shape;
        let (bare_rows, bare_columns) = (HeatAxis::plain(&rows.title), HeatAxis::plain(&columns.title));
        let fits = |axis: &HeatAxis, step: f32| !is_whole || axis.every(step, LINE - 1.0).is_some();
        let rows = if fits(rows, cell.y) { rows } else { &bare_rows };
        let columns = if fits(columns, cell.x) { columns } else { &bare_columns };
        if !rows.has_labels() || !columns.has_labels() {
            layout = layout_of(rows, columns);
        }
        let (outer, _) = ui.allocate_exact_size(layout.outer.size(), Sense::empty());
        let layout = layout.at(outer.min);
        let plot = layout.plot;
        if state.shape != shape {
            (state.shape, state.view, state.cursor) = (shape, None, None);
        }
        let id = ui.scope_id().with(("heat map", self.name));
        let response = ui.interact(plot, id, Sense::click_and_drag());
        let tone =
            self.tone.unwrap_or_else(|| Tone::fitting(ColourMap::default(), HeatScale::default(), self.data.extent()));

        let whole = View::whole(shape.0, shape.1);
        let found = moves(ui, &response, self.data, (plot, state.view.unwrap_or(whole)), state.cursor);
        if let Some(view) = found.view {
            state.view = view.is_zoomed().then_some(view);
        }
        state.cursor = found.cursor.or(state.cursor);
        let view = state.view.unwrap_or(whole);
        let hovered = response.hover_pos().filter(|_| !response.dragged()).and_then(|at| view.cell_at(plot, at));
        let mut clicked = if response.clicked() { response.interact_pointer_pos() } else { None }
            .and_then(|at| view.cell_at(plot, at));
        if let Some(at) = clicked {
            state.cursor = Some(at);
            response.request_focus();
        }
        if found.chosen && shape.0 * shape.1 > 0 {
            clicked = Some(*state.cursor.get_or_insert((0, 0)));
        }

        let lines =
            [self.names_ui(ui, id, &layout, &view, rows, true), self.names_ui(ui, id, &layout, &view, columns, false)];
        let [pointed, named] = [0, 1].map(|which| lines.iter().flatten().find_map(|found| found[which]));

        if ui.is_rect_visible(layout.outer) {
            let painter = ui.painter().with_clip_rect(plot.intersect(ui.clip_rect()));
            if self.data.extent().has_gaps {
                hatching(&painter, plot, palette.well, palette.line);
            }
            if shape.0 * shape.1 > 0 && state.tiles.paint(ui, self.data, &tone, plot, &view) {
                ui.ctx().request_repaint();
            }
            self.texts_ui(&painter, ui, (plot, &view), &tone);
            self.marks_ui(ui, &response, state, &view, hovered);
            for line in [self.line, pointed].into_iter().flatten() {
                self.line_ui(ui, plot, &view, line);
            }
            let edge =
                if response.has_focus() { Stroke::new(1.5, palette.accent) } else { Stroke::new(1.0, palette.line) };
            ui.painter().rect_stroke(plot, 0.0, edge, StrokeKind::Outside);
            let line = pointed.or(self.line);
            let cell = hovered.or(self.selected);
            let told = match line {
                Some(HeatLine::Row(row)) => (Some(row), None),
                Some(HeatLine::Column(column)) => (None, Some(column)),
                None => (cell.map(|(row, _)| row), cell.map(|(_, column)| column)),
            };
            axes_ui(ui, &layout, &view, (rows, columns), told);
            if let Some(bar) = layout.bar {
                bar_ui(ui, bar, &tone, self.value);
            }
        }
        let told = hovered.or(if response.has_focus() { state.cursor } else { None }).or(self.selected);
        self.describe(ui, &response, told);
        let response = match hovered {
            Some(at) => response.on_hover_ui_at_pointer(|ui| self.tooltip(ui, at)),
            None => response,
        };
        HeatResponse { response, hovered, clicked, named, pointed }
    }

    /// The names of rows or columns, which can be clicked: the one under the pointer and the one that was clicked.
    fn names_ui(
        &self,
        ui: &Ui,
        id: egui::Id,
        layout: &HeatLayout,
        view: &View,
        axis: &HeatAxis,
        is_rows: bool,
    ) -> Option<[Option<HeatLine>; 2]> {
        if !axis.has_labels() || self.has_bar && self.data.values().is_empty() {
            return None;
        }
        let (plot, outer) = (layout.plot, layout.outer);
        let strip = if is_rows {
            egui::Rect::from_min_max(egui::pos2(outer.left(), plot.top()), plot.left_bottom())
        } else {
            egui::Rect::from_min_max(egui::pos2(plot.left(), outer.top()), plot.right_top())
        };
        let names = ui.interact(strip, id.with(("names", is_rows)), Sense::click());
        let title = if axis.title.is_empty() { if is_rows { "Row" } else { "Column" } } else { &axis.title };
        names.widget_info(|| {
            WidgetInfo::labeled(Role::Group, ui.is_enabled(), format!("{title} names of {}", self.name))
        });
        let line = |at: egui::Pos2| {
            let inside = if is_rows { egui::pos2(plot.center().x, at.y) } else { egui::pos2(at.x, plot.center().y) };
            let (row, column) = view.cell_at(plot, inside)?;
            Some(if is_rows { HeatLine::Row(row) } else { HeatLine::Column(column) })
        };
        let pointed = names.hover_pos().and_then(line);
        let clicked = if names.clicked() { names.interact_pointer_pos().and_then(line) } else { None };
        Some([pointed, clicked])
    }

    /// What stands in the cells that have room for it.
    fn texts_ui(&self, painter: &egui::Painter, ui: &Ui, (plot, view): (egui::Rect, &View), tone: &Tone) {
        let Some(text) = self.cell_text else { return };
        let font = TextStyle::Small.resolve(ui.style());
        let cell = view.cell(plot);
        if cell.y < font.size + 2.0 {
            return;
        }
        let (rows, columns) = view.seen();
        for (row, column) in rows.flat_map(|row| columns.clone().map(move |column| (row, column))) {
            let colour = tone.colour(self.data.at(row, column)).map_or(Color32::GRAY, theme::readable_on);
            let galley = painter.layout_no_wrap(text(row, column), font.clone(), colour);
            if galley.size().x + 4.0 <= cell.x {
                let centre = view.rect(plot, (row, column), 1, 1).center();
                painter.galley(centre - 0.5 * galley.size(), galley, colour);
            }
        }
    }

    /// The outline of a row or column.
    fn line_ui(&self, ui: &Ui, plot: egui::Rect, view: &View, line: HeatLine) {
        let palette = theme::palette(ui.visuals());
        let rect = match line {
            HeatLine::Row(row) => view.rect(plot, (row, 0), 1, self.data.columns()),
            HeatLine::Column(column) => view.rect(plot, (0, column), self.data.rows(), 1),
        };
        let painter = ui.painter().with_clip_rect(plot.expand(2.0).intersect(ui.clip_rect()));
        outline(&painter, rect.intersect(plot), Stroke::new(1.5, palette.strong), palette.well);
    }

    fn marks_ui(&self, ui: &Ui, response: &Response, state: &HeatState, view: &View, hovered: Option<(usize, usize)>) {
        let palette = theme::palette(ui.visuals());
        let plot = response.rect;
        let painter = ui.painter().with_clip_rect(plot.expand(2.0).intersect(ui.clip_rect()));
        let (rows, columns) = view.seen();
        let rect = |at| view.rect(plot, at, 1, 1);
        for &at in self.marked.iter().filter(|(row, column)| rows.contains(row) && columns.contains(column)) {
            painter.rect_stroke(rect(at), 0.0, Stroke::new(1.0, palette.strong), StrokeKind::Inside);
        }
        if let Some(at) = self.selected.filter(|(row, column)| rows.contains(row) && columns.contains(column)) {
            outline(&painter, rect(at), Stroke::new(2.0, palette.strong), palette.well);
        }
        let cursor = state.cursor.filter(|_| response.has_focus());
        for at in [cursor, hovered].into_iter().flatten() {
            outline(&painter, rect(at), Stroke::new(1.5, palette.accent), palette.well);
        }
    }

    /// What a cell is and holds: "L3 and L2: 0.87".
    fn words(&self, at: (usize, usize)) -> (String, String) {
        let nothing = HeatAxis::default();
        let (rows, columns) = self.axes.unwrap_or((&nothing, &nothing));
        let name = match self.cell_name {
            Some(name) => name(at.0, at.1),
            None => format!("{}, {}", rows.name(at.0), columns.name(at.1)),
        };
        let value = self.data.at(at.0, at.1);
        let value = if value.is_nan() { self.gap.to_owned() } else { format::number(f64::from(value)) };
        (name, value)
    }

    fn tooltip(&self, ui: &mut Ui, at: (usize, usize)) {
        let (name, value) = self.words(at);
        ui.strong(name);
        ui.label(if self.value.is_empty() { value } else { format!("{}: {value}", self.value) });
    }

    fn describe(&self, ui: &Ui, response: &Response, told: Option<(usize, usize)>) {
        let name = format!("Map: {}", self.name);
        response.widget_info(|| WidgetInfo::labeled(Role::Figure, ui.is_enabled(), &name));
        ui.ctx().accesskit_node_builder(response.id, |node| {
            let extent = self.data.extent();
            let mut text = format!("{} × {}", self.data.rows(), self.data.columns());
            if extent.most.is_finite() {
                let (least, most) = (f64::from(extent.least), f64::from(extent.most));
                text = format!("{text}, {} to {}", format::number(least), format::number(most));
            }
            if let Some(at) = told {
                let (name, value) = self.words(at);
                text = format!("{text}. {name}: {value}");
            }
            node.set_description(format!("{text}."));
        });
    }
}
