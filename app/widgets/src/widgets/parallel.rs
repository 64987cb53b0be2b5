//! Parallel coordinates: an axis a quantity, a line a thing that has a value on each. Dragging along an axis keeps only
//! the lines that pass there; a click on the axis frees it.

use std::collections::BTreeMap;

use egui::{
    Align2, Color32, CursorIcon, Mesh, Painter, Pos2, Rect, Response, Role, Sense, Shape, Stroke, StrokeKind,
    TextStyle, Ui, WidgetInfo, pos2, vec2,
};

use headroom_config::config::counted;

use crate::{
    export::{ParallelFigure, ParallelFigureAxis, ParallelFigureLine},
    plot::{Axis, Scale, Tick},
    theme,
    widgets::{beginning, text_width},
};

/// Lines this near to the pointer are touched, in points.
const TOUCH: f32 = 8.0;
/// Room above the axes for their names and below them, in points.
const ABOVE: f32 = 30.0;
const BELOW: f32 = 10.0;
/// Height of a second line of names.
const LINE: f32 = 14.0;
/// The least and the most room at a side, for the name of the outer axis and the values that stand at the right of the last.
const BESIDE: f32 = 62.0;
const MOST_BESIDE: f32 = 170.0;
/// From an axis to the values at its right.
const TO_VALUE: f32 = 7.0;
/// What stands for a value that is not there: "none" is the value of some keys.
const NO_VALUE: &str = "no value";
/// So close to a brush, in points, a value is taken in.
const SNAP: f32 = 9.0;
/// Places that differ by less are the same: a brush that ends at a value holds it.
const ROUNDING: f32 = 1e-4;
/// Half the width in which an axis takes the pointer.
const GRIP: f32 = 12.0;
/// The height of the place for lines without a value, as a share of the axis.
const NONE: f32 = 0.12;
/// So many different values have a tick each.
const FEW: usize = 8;

/// What the values of an axis are.
#[derive(Clone, Debug, PartialEq)]
pub enum ParallelScale {
    /// Numbers, linear or logarithmic.
    Number(Axis),
    /// Places in this list.
    Category(Vec<String>),
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct ParallelAxis {
    /// The whole name: what a brush belongs to, and the tooltip.
    pub key: String,
    /// The name above the axis.
    pub label: String,
    /// What its values are.
    pub scale: ParallelScale,
    /// A value for each line: a number, or the index of a category; none where the line has none.
    pub values: Vec<Option<f64>>,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParallelLine<'a> {
    /// What hover and clicks speak of.
    pub id: u64,
    /// Its name.
    pub name: &'a str,
    /// Its colour; none: that of its place on the axis that colours.
    pub colour: Option<Color32>,
}

/// What is remembered between frames: the brushes, by the key of their axis, as shares of its height.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelState {
    brushes: BTreeMap<String, (f32, f32)>,
    /// From where to where the axes of these reach.
    reaches: BTreeMap<String, Reach>,
    /// Where the brush that is being drawn began.
    began: Option<(String, f32)>,
}

impl ParallelState {
    /// Whether any axis is brushed.
    pub fn is_brushed(&self) -> bool {
        !self.brushes.is_empty()
    }

    /// Frees all axes.
    pub fn clear(&mut self) {
        self.brushes.clear();
        self.reaches.clear();
        self.began = None;
    }

    /// Keeps a brush at its values where its axis reaches from others to others now: what is brushed is what was, and a brush beyond all
    /// values is freed.
    fn follow(&mut self, key: &str, reach: &Reach) {
        let Some((low, high)) = self.brushes.get(key).copied() else {
            self.reaches.remove(key);
            return;
        };
        if let Some(before) = self.reaches.get(key).filter(|before| *before != reach) {
            let moved = reach.moved(before, low).zip(reach.moved(before, high));
            match moved.filter(|(low, high)| *high >= -ROUNDING && *low <= 1.0 + ROUNDING) {
                Some((low, high)) => self.brush(key, low, high),
                None => drop(self.brushes.remove(key)),
            }
        }
        self.reaches.insert(key.to_owned(), reach.clone());
    }

    /// Keeps the lines between two shares of an axis' height.
    pub fn brush(&mut self, key: impl Into<String>, low: f32, high: f32) {
        self.brushes.insert(key.into(), (low.min(high), low.max(high)));
    }
}

/// From where to where an axis reaches.
#[derive(Clone, Debug, PartialEq)]
struct Reach {
    scale: Scale,
    /// The places of its ends, on the scale.
    ends: (f64, f64),
    /// The height of the lower one, as a share.
    floor: f32,
    /// Its categories.
    names: Vec<String>,
}

impl Reach {
    /// The share of the height of what stood at a share where the axis reached differently; none where it has other categories.
    fn moved(&self, before: &Self, share: f32) -> Option<f32> {
        if self.names != before.names {
            return None;
        }
        // Below the lowest value are the lines without one, where there are such.
        if share < before.floor {
            return (self.floor > 0.0).then_some(0.0);
        }
        let along = f64::from((share - before.floor) / (1.0 - before.floor));
        let place = before.ends.0 + along * (before.ends.1 - before.ends.0);
        let value = if self.scale == before.scale { place } else { self.scale.forward(before.scale.inverse(place)) };
        let (low, high) = self.ends;
        let along = if high > low { (value - low) / (high - low) } else { 0.5 + (value - low) };
        Some(self.floor + (1.0 - self.floor) * along as f32)
    }
}

/// What shown parallel coordinates report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParallelResponse {
    /// The line under the pointer.
    pub hovered: Option<u64>,
    /// The line that was clicked.
    pub clicked: Option<u64>,
    /// The lines that pass all brushes.
    pub passing: Vec<u64>,
}

/// The drawing, built anew each frame.
#[must_use = "call `show`"]
pub struct Parallel<'a> {
    name: &'a str,
    axes: &'a [ParallelAxis],
    lines: &'a [ParallelLine<'a>],
    colour_by: usize,
    highlight: Option<u64>,
    kept: Option<u64>,
    height: f32,
}

impl<'a> Parallel<'a> {
    /// Axes and lines; every axis has a value for each line, in their order.
    pub fn new(name: &'a str, axes: &'a [ParallelAxis], lines: &'a [ParallelLine<'a>]) -> Self {
        Self { name, axes, lines, colour_by: 0, highlight: None, kept: None, height: 340.0 }
    }

    /// The axis whose values colour the lines.
    pub fn colour_by(mut self, axis: usize) -> Self {
        self.colour_by = axis;
        self
    }

    /// The line to draw on top: what is hovered elsewhere.
    pub fn highlight(mut self, id: Option<u64>) -> Self {
        self.highlight = id;
        self
    }

    /// The line that passes whatever is brushed: the baseline, which the others are held against.
    pub fn keep(mut self, id: Option<u64>) -> Self {
        self.kept = id;
        self
    }

    /// Its height in points.
    pub fn height(mut self, height: f32) -> Self {
        self.height = height;
        self
    }

    /// Draws it.
    pub fn show(self, ui: &mut Ui, state: &mut ParallelState) -> ParallelResponse {
        state.brushes.retain(|key, _| self.axes.iter().any(|axis| axis.key == *key));
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), self.height), Sense::CLICK);
        let rulers: Vec<Ruler> = self.axes.iter().map(Ruler::new).collect();
        for (axis, ruler) in self.axes.iter().zip(&rulers) {
            state.follow(&axis.key, &ruler.reach);
        }
        let beside = self.beside(ui, &rulers, rect.width());
        let mut plot = Rect::from_min_max(
            pos2(rect.left() + beside[0], rect.top() + ABOVE),
            pos2(rect.right() - beside[1], rect.bottom() - BELOW),
        );
        let xs = self.places(plot);
        // Names that have no room beside each other stand in two lines in turn.
        let is_staggered = self.is_tight(ui, plot.width());
        if is_staggered {
            plot.min.y += LINE;
        }
        let painter = ui.painter_at(rect);
        painter.rect_filled(rect, 6.0, theme::palette(ui.visuals()).well);
        for ((axis, ruler), &x) in self.axes.iter().zip(&rulers).zip(&xs) {
            brush_ui(ui, (axis, ruler), x, plot, state);
        }
        let points: Vec<Vec<Pos2>> = (0..self.lines.len())
            .map(|line| {
                let at = |(ruler, &x): (&Ruler, &f32)| pos2(x, lerp(plot, ruler.place(line)));
                rulers.iter().zip(&xs).map(at).collect()
            })
            .collect();
        let passing: Vec<usize> = (0..self.lines.len()).filter(|&line| self.passes(&rulers, state, line)).collect();
        let pointer = response.hover_pos();
        let touched = pointer.and_then(|at| touched(&points, &passing, at));
        let hovered = touched.and_then(|line| self.lines.get(line)).map(|line| line.id);
        self.lines_ui(ui, &painter, &points, &passing, &rulers, hovered.or(self.highlight));
        self.axes_ui(ui, &painter, (plot, is_staggered, beside), &xs, &rulers, state);
        if let Some(line) = touched {
            self.tooltip(&response, line);
        }
        let said = format!("Parallel coordinates: {}", self.name);
        response.widget_info(|| WidgetInfo::labeled(Role::Figure, ui.is_enabled(), &said));
        ui.ctx().accesskit_node_builder(response.id, |node| {
            node.set_description(format!(
                "{} axes, {} of {} pass the brushes.",
                self.axes.len(),
                passing.len(),
                counted(self.lines.len(), "line")
            ));
        });
        let ids = passing.iter().filter_map(|&line| self.lines.get(line)).map(|line| line.id);
        ParallelResponse { hovered, clicked: if response.clicked() { hovered } else { None }, passing: ids.collect() }
    }

    /// What it shows, to be exported.
    pub fn figure(&self, state: &ParallelState, title: &str) -> ParallelFigure {
        let rulers: Vec<Ruler> = self.axes.iter().map(Ruler::new).collect();
        let colour = |line: usize| self.colour(&rulers, line).unwrap_or(theme::PAPER.weak);
        let figure_axis = |(axis, ruler): (&ParallelAxis, &Ruler)| ParallelFigureAxis {
            label: axis.label.clone(),
            key: axis.key.clone(),
            ticks: ruler.ticks.clone(),
            brush: state.brushes.get(&axis.key).copied(),
        };
        let lines = self.lines.iter().enumerate().map(|(line, known)| ParallelFigureLine {
            name: known.name.to_owned(),
            places: rulers.iter().map(|ruler| ruler.place(line)).collect(),
            values: self.axes.iter().map(|axis| axis.exact(line)).collect(),
            colour: colour(line),
            passes: self.passes(&rulers, state, line),
        });
        ParallelFigure {
            title: title.to_owned(),
            axes: self.axes.iter().zip(&rulers).map(figure_axis).collect(),
            colour_by: self.is_ramped().then_some(self.colour_by),
            lines: lines.collect(),
            ..ParallelFigure::default()
        }
    }

    /// A line's own colour, or that of its place on the axis that colours; none where it has no value there.
    fn colour(&self, rulers: &[Ruler], line: usize) -> Option<Color32> {
        let own = self.lines.get(line).and_then(|line| line.colour);
        let ruler = rulers.get(self.colour_by).filter(|ruler| ruler.has(line));
        own.or_else(|| ruler.map(|ruler| theme::ramp(ruler.place(line))))
    }

    /// Whether lines are coloured by an axis.
    fn is_ramped(&self) -> bool {
        self.lines.iter().any(|line| line.colour.is_none())
    }

    /// Whether a line passes all brushes.
    fn passes(&self, rulers: &[Ruler], state: &ParallelState, line: usize) -> bool {
        if self.kept.is_some() && self.lines.get(line).map(|line| line.id) == self.kept {
            return true;
        }
        rulers.iter().zip(self.axes).all(|(ruler, axis)| {
            let place = ruler.place(line);
            let brush = state.brushes.get(&axis.key);
            brush.is_none_or(|&(low, high)| (low - ROUNDING..=high + ROUNDING).contains(&place))
        })
    }

    fn places(&self, plot: Rect) -> Vec<f32> {
        let gaps = self.axes.len().saturating_sub(1).max(1) as f32;
        (0..self.axes.len()).map(|index| plot.left() + plot.width() * index as f32 / gaps).collect()
    }

    fn lines_ui(
        &self,
        ui: &Ui,
        painter: &Painter,
        points: &[Vec<Pos2>],
        passing: &[usize],
        rulers: &[Ruler],
        on_top: Option<u64>,
    ) {
        let palette = theme::palette(ui.visuals());
        let id = |line: usize| self.lines.get(line).map(|line| line.id);
        let colour = |line: usize| self.colour(rulers, line).unwrap_or(palette.weak);
        let draw = |line: usize, stroke: Stroke| {
            if let Some(points) = points.get(line) {
                painter.add(Shape::line(points.clone(), stroke));
            }
        };
        for line in (0..points.len()).filter(|line| !passing.contains(line)) {
            draw(line, Stroke::new(1.0, palette.weak.gamma_multiply(0.18)));
        }
        for &line in passing.iter().filter(|&&line| id(line) != on_top || on_top.is_none()) {
            let strength = if on_top.is_some() { 0.45 } else { 0.95 };
            draw(line, Stroke::new(1.8, colour(line).gamma_multiply(strength)));
        }
        for line in (0..points.len()).filter(|&line| on_top.is_some() && id(line) == on_top) {
            draw(line, Stroke::new(3.4, colour(line)));
        }
    }

    /// Points between two axes.
    fn gap(&self, width: f32) -> f32 {
        if self.axes.len() > 1 { width / (self.axes.len() - 1) as f32 } else { width }
    }

    /// Room at both sides, so wide that what stands there is not cut unless it is very long.
    fn beside(&self, ui: &Ui, rulers: &[Ruler], width: f32) -> [f32; 2] {
        let small = TextStyle::Small.resolve(ui.style());
        let of = |text: &str| text_width(ui, text, &small);
        let half = |axis: Option<&ParallelAxis>| axis.map_or(0.0, |axis| of(&axis.label) / 2.0 + 4.0);
        let ticks = rulers.last().map_or(&[][..], |ruler| ruler.ticks.as_slice());
        let values = ticks.iter().map(|(_, label)| of(label) + TO_VALUE + 4.0).fold(0.0, f32::max);
        let needed = [half(self.axes.first()), half(self.axes.last()).max(values)];
        needed.map(|needed| needed.clamp(BESIDE, MOST_BESIDE.min(0.25 * width).max(BESIDE)))
    }

    /// Whether the name of an axis is wider than what there is between two.
    fn is_tight(&self, ui: &Ui, width: f32) -> bool {
        let small = TextStyle::Small.resolve(ui.style());
        self.axes.iter().any(|axis| text_width(ui, &axis.label, &small) > self.gap(width) - 8.0)
    }

    fn axes_ui(
        &self,
        ui: &Ui,
        painter: &Painter,
        (plot, is_staggered, beside): (Rect, bool, [f32; 2]),
        xs: &[f32],
        rulers: &[Ruler],
        state: &ParallelState,
    ) {
        let palette = theme::palette(ui.visuals());
        let small = TextStyle::Small.resolve(ui.style());
        let gap = self.gap(plot.width());
        for (index, ((axis, ruler), &x)) in self.axes.iter().zip(rulers).zip(xs).enumerate() {
            let is_last = index + 1 == self.axes.len();
            let mut room = if is_staggered { 2.0 * gap } else { gap } - 8.0;
            if index == 0 {
                room = room.min(2.0 * (beside[0] - 2.0));
            }
            if is_last {
                room = room.min(2.0 * (beside[1] - 2.0));
            }
            let title = beginning(ui, &axis.label, &small, room);
            let above = if is_staggered && index % 2 == 1 { LINE } else { 0.0 };
            painter.text(
                pos2(x, plot.top() - 8.0 - above),
                Align2::CENTER_BOTTOM,
                title,
                small.clone(),
                palette.strong,
            );
            if index == self.colour_by && self.is_ramped() {
                painter.add(ramp_shape(Rect::from_min_max(pos2(x - 2.5, plot.top()), pos2(x + 2.5, plot.bottom()))));
            } else {
                painter.vline(x, plot.y_range(), Stroke::new(1.2, palette.weak));
            }
            if let Some(&(low, high)) = state.brushes.get(&axis.key) {
                // Around the values at its ends.
                let brushed = Rect::from_min_max(pos2(x - 8.0, lerp(plot, high)), pos2(x + 8.0, lerp(plot, low)));
                let brushed = brushed.expand2(vec2(0.0, 5.0));
                painter.rect(
                    brushed,
                    2.0,
                    palette.accent.gamma_multiply(0.25),
                    Stroke::new(1.0, palette.accent),
                    StrokeKind::Inside,
                );
            }
            let mut last: Option<f32> = None;
            for (place, label) in &ruler.ticks {
                let y = lerp(plot, *place);
                if last.is_some_and(|last| (last - y).abs() < 13.0) {
                    continue;
                }
                last = Some(y);
                painter.hline(x - 3.0..=x + 3.0, y, Stroke::new(1.0, palette.weak));
                let room = if is_last { beside[1] - TO_VALUE - 2.0 } else { gap - 16.0 };
                let text = beginning(ui, label, &small, room.max(30.0));
                let galley = painter.layout_no_wrap(text, small.clone(), palette.text);
                let at = pos2(x + TO_VALUE, y - galley.size().y / 2.0);
                let ground = Rect::from_min_size(at, galley.size()).expand2(vec2(2.0, 0.0));
                painter.rect_filled(ground, 2.0, palette.well.gamma_multiply(0.75));
                painter.galley(at, galley, palette.text);
            }
        }
    }

    fn tooltip(&self, response: &Response, line: usize) {
        response.clone().on_hover_ui_at_pointer(|ui| {
            if let Some(line) = self.lines.get(line) {
                ui.strong(line.name);
            }
            egui::Grid::new("values").num_columns(2).spacing([14.0, 2.0]).show(ui, |ui| {
                for axis in self.axes {
                    ui.label(&axis.label);
                    ui.label(axis.text(line));
                    ui.end_row();
                }
            });
        });
    }
}

impl ParallelAxis {
    /// The value of a line in full; empty where it has none.
    fn exact(&self, line: usize) -> String {
        match (self.values.get(line).copied().flatten(), &self.scale) {
            (None, _) => String::new(),
            (Some(value), ParallelScale::Number(_)) => value.to_string(),
            (Some(_), ParallelScale::Category(_)) => self.text(line),
        }
    }

    /// The value of a line as people read it.
    pub fn text(&self, line: usize) -> String {
        match (self.values.get(line).copied().flatten(), &self.scale) {
            (None, _) => NO_VALUE.to_owned(),
            (Some(value), ParallelScale::Number(axis)) => axis.quantity.value(value),
            (Some(place), ParallelScale::Category(names)) => {
                names.get(place.max(0.0) as usize).cloned().unwrap_or_default()
            }
        }
    }
}

/// An axis with the places of its lines, as shares of its height from the bottom.
struct Ruler {
    places: Vec<Option<f32>>,
    ticks: Vec<(f32, String)>,
    reach: Reach,
}

impl Ruler {
    fn new(axis: &ParallelAxis) -> Self {
        let scale = match &axis.scale {
            ParallelScale::Number(axis) => axis.scale,
            ParallelScale::Category(_) => Scale::Linear,
        };
        let forward = |value: f64| Some(scale.forward(value)).filter(|position| position.is_finite());
        let positions: Vec<Option<f64>> = axis.values.iter().map(|value| value.and_then(forward)).collect();
        let (low, high) = match &axis.scale {
            ParallelScale::Category(names) => (0.0, names.len().saturating_sub(1) as f64),
            ParallelScale::Number(_) => {
                let all = || positions.iter().flatten().copied();
                (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
            }
        };
        let floor = if positions.iter().any(Option::is_none) { NONE } else { 0.0 };
        let place = |position: f64| {
            let share = if high > low { (position - low) / (high - low) } else { 0.5 };
            floor + (1.0 - floor) * share as f32
        };
        let mut ticks: Vec<(f32, String)> = Vec::new();
        if floor > 0.0 {
            ticks.push((0.0, NO_VALUE.to_owned()));
        }
        match &axis.scale {
            ParallelScale::Category(names) => {
                ticks.extend(names.iter().enumerate().map(|(index, name)| (place(index as f64), name.clone())));
            }
            ParallelScale::Number(axis_of) => {
                let mut values: Vec<f64> = axis.values.iter().flatten().copied().filter(|v| v.is_finite()).collect();
                values.sort_by(f64::total_cmp);
                values.dedup();
                let marks: Vec<(f64, String)> = if values.len() <= FEW {
                    values.iter().map(|&value| (value, axis_of.quantity.value(value))).collect()
                } else {
                    let (from, to) = (scale.inverse(low), scale.inverse(high));
                    let is_inside = |tick: &Tick| tick.value >= from && tick.value <= to && !tick.label.is_empty();
                    axis_of
                        .ticks(from, to, 6)
                        .into_iter()
                        .filter(is_inside)
                        .map(|tick| (tick.value, tick.label))
                        .collect()
                };
                ticks.extend(marks.into_iter().filter_map(|(value, label)| Some((place(forward(value)?), label))));
            }
        }
        let places = positions.into_iter().map(|position| position.map(place)).collect();
        let names = match &axis.scale {
            ParallelScale::Category(names) => names.clone(),
            ParallelScale::Number(_) => Vec::new(),
        };
        Self { places, ticks, reach: Reach { scale, ends: (low, high), floor, names } }
    }

    fn has(&self, line: usize) -> bool {
        self.places.get(line).copied().flatten().is_some()
    }

    /// Where the line crosses; at the foot where it has no value.
    fn place(&self, line: usize) -> f32 {
        self.places.get(line).copied().flatten().unwrap_or(0.0)
    }
}

/// The y of a share of the height.
fn lerp(plot: Rect, share: f32) -> f32 {
    plot.bottom() - plot.height() * share
}

/// A brush from one share of the height to another, moved to the values at its ends: those that are inside or less than a
/// hand's tremble outside. Where there is no value it stays as it was drawn.
fn snapped(ruler: &Ruler, from: f32, to: f32, slack: f32) -> (f32, f32) {
    let (low, high) = (from.min(to), from.max(to));
    let inside = |place: &f32| (low - slack..=high + slack).contains(place);
    let held = (0..ruler.places.len()).map(|line| ruler.place(line)).filter(inside);
    held.fold(None, |range: Option<(f32, f32)>, place| {
        Some(range.map_or((place, place), |(low, high)| (low.min(place), high.max(place))))
    })
    .unwrap_or((low, high))
}

/// A drag along the axis brushes it, a click frees it.
fn brush_ui(ui: &Ui, (axis, ruler): (&ParallelAxis, &Ruler), x: f32, plot: Rect, state: &mut ParallelState) {
    let grip = Rect::from_min_max(pos2(x - GRIP, plot.top() - ABOVE), pos2(x + GRIP, plot.bottom() + BELOW));
    let response = ui.interact(grip, ui.scope_id().with(("axis", &axis.key)), Sense::click_and_drag());
    let share = |at: Pos2| ((plot.bottom() - at.y) / plot.height()).clamp(-0.02, 1.02);
    if let Some(at) = response.interact_pointer_pos() {
        if response.drag_started() {
            // The press, not the first move.
            let from = ui.input(|input| input.pointer.press_origin()).unwrap_or(at);
            state.began = Some((axis.key.clone(), share(from)));
        }
        if response.dragged()
            && let Some((key, from)) = state.began.clone()
            && key == axis.key
        {
            let (low, high) = snapped(ruler, from, share(at), SNAP / plot.height());
            state.brush(key, low, high);
        }
    }
    if response.drag_stopped() {
        state.began = None;
    }
    if response.clicked() {
        state.brushes.remove(&axis.key);
    }
    let is_brushed = state.brushes.contains_key(&axis.key);
    let name = format!("Brush {}", axis.label);
    response.widget_info(|| WidgetInfo::selected(Role::Button, ui.is_enabled(), is_brushed, &name));
    if response.hovered() || response.dragged() {
        ui.ctx().set_cursor_icon(CursorIcon::ResizeVertical);
    }
    let more = if is_brushed { "Click to free it." } else { "Drag along the axis to keep only the lines there." };
    response.on_hover_text(format!("{}\n{more}", axis.key));
}

/// The line nearest to the pointer of those that pass.
fn touched(points: &[Vec<Pos2>], passing: &[usize], at: Pos2) -> Option<usize> {
    let distance = |line: usize| {
        let points = points.get(line)?;
        let of = |pair: &[Pos2]| match pair {
            [a, b] => {
                let along = *b - *a;
                let t = ((at - *a).dot(along) / along.length_sq().max(f32::EPSILON)).clamp(0.0, 1.0);
                (*a + along * t).distance(at)
            }
            _ => f32::INFINITY,
        };
        points.windows(2).map(of).min_by(f32::total_cmp)
    };
    let near = passing.iter().filter_map(|&line| Some((distance(line)?, line)));
    near.filter(|(distance, _)| *distance <= TOUCH).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, line)| line)
}

/// The colours of the axis that colours the lines.
fn ramp_shape(rect: Rect) -> Shape {
    let mut mesh = Mesh::default();
    let steps = 8_u32;
    for step in 0..=steps {
        let share = step as f32 / steps as f32;
        let y = rect.bottom() - rect.height() * share;
        for x in [rect.left(), rect.right()] {
            mesh.colored_vertex(pos2(x, y), theme::ramp(share));
        }
        if step > 0 {
            let at = step * 2;
            mesh.add_triangle(at - 2, at - 1, at);
            mesh.add_triangle(at - 1, at, at + 1);
        }
    }
    Shape::mesh(mesh)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(values: &[Option<f64>], scale: Scale) -> ParallelAxis {
        let axis = Axis::new("loss").scale(scale);
        ParallelAxis {
            key: "loss".to_owned(),
            label: "loss".to_owned(),
            scale: ParallelScale::Number(axis),
            values: values.to_vec(),
        }
    }

    #[test]
    fn values_have_their_place_on_every_scale() {
        let linear = Ruler::new(&number(&[Some(1.0), Some(2.0), Some(3.0)], Scale::Linear));
        assert_eq!([0, 1, 2].map(|line| linear.place(line)), [0.0, 0.5, 1.0]);
        let log = Ruler::new(&number(&[Some(1.0), Some(10.0), Some(100.0)], Scale::Log));
        assert_eq!([0, 1, 2].map(|line| log.place(line)), [0.0, 0.5, 1.0]);
        assert_eq!(log.ticks.len(), 3, "few values have a tick each");
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let category = ParallelAxis {
            scale: ParallelScale::Category(names),
            ..number(&[Some(2.0), Some(0.0), None], Scale::Linear)
        };
        let ruler = Ruler::new(&category);
        assert_eq!([0, 1, 2].map(|line| ruler.place(line)), [1.0, NONE, 0.0], "what has no value stands at the foot");
        assert!(!ruler.has(2));
        assert_eq!((category.text(0), category.text(2)), ("c".to_owned(), NO_VALUE.to_owned()));
        assert_eq!(ruler.ticks[0].1, NO_VALUE);
        let category = ParallelAxis {
            scale: ParallelScale::Category(vec!["none".to_owned()]),
            ..number(&[Some(0.0), None], Scale::Linear)
        };
        assert_ne!(category.text(0), category.text(1), "\"none\" may be what was chosen");
        let ticks = Ruler::new(&category).ticks;
        assert_eq!(ticks.len(), 2);
        assert_ne!(ticks[0].1, ticks[1].1);
    }

    #[test]
    fn names_and_values_at_the_edges_are_not_cut() {
        let names = ["a value of many letters", "b"].map(str::to_owned).to_vec();
        let axis = |label: &str| ParallelAxis {
            key: label.to_owned(),
            label: label.to_owned(),
            scale: ParallelScale::Category(names.clone()),
            values: vec![Some(0.0), Some(1.0)],
        };
        let axes = [axis("A name at the left edge"), axis("A name at the right")];
        let lines = ["a", "b"].map(|name| ParallelLine { id: 0, name, colour: None });
        let ctx = egui::Context::default();
        let input = || egui::RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(700.0, 500.0))),
            ..egui::RawInput::default()
        };
        let mut shown = BTreeMap::new();
        for _ in 0..3 {
            let output = ctx.run_ui(input(), |ui| {
                Parallel::new("test", &axes, &lines).show(ui, &mut ParallelState::default());
            });
            for shape in &output.shapes {
                if let Shape::Text(text) = &shape.shape {
                    let is_whole = shape.clip_rect.expand(0.5).contains_rect(text.visual_bounding_rect());
                    *shown.entry(text.galley.text().to_owned()).or_insert(true) &= is_whole;
                }
            }
            output.drop_without_applying_deltas();
        }
        for text in ["A name at the left edge", "A name at the right", "a value of many letters"] {
            assert_eq!(shown.get(text), Some(&true), "{shown:?}");
        }
    }

    #[test]
    fn one_value_stands_in_the_middle_and_none_breaks_nothing() {
        assert_eq!(Ruler::new(&number(&[Some(5.0)], Scale::Linear)).place(0), 0.5);
        let nothing = Ruler::new(&number(&[None, Some(f64::NAN), Some(-1.0)], Scale::Log));
        assert!((0..3).all(|line| nothing.place(line) == 0.0));
        assert!(Ruler::new(&number(&[], Scale::Linear)).places.is_empty());
    }

    #[test]
    fn what_is_exported_is_what_is_shown() {
        let axes = [
            number(&[Some(1.0), Some(2.5), None], Scale::Linear),
            ParallelAxis {
                key: "model.norm".to_owned(),
                label: "norm".to_owned(),
                scale: ParallelScale::Category(vec!["post".to_owned(), "pre".to_owned()]),
                values: vec![Some(1.0), Some(0.0), Some(1.0)],
            },
        ];
        let lines = ["a", "b", "c"].map(|name| ParallelLine { id: 0, name, colour: None });
        let mut state = ParallelState::default();
        state.brush("model.norm", 0.5, 1.0);
        let figure = Parallel::new("test", &axes, &lines).figure(&state, "Config and results");
        assert_eq!(figure.lines.iter().map(|line| line.passes).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(figure.lines[1].values, ["2.5", "post"]);
        assert_eq!(figure.lines[2].values, ["", "pre"], "what is not there stays empty");
        assert_eq!(figure.lines[0].places, [NONE, 1.0]);
        assert_eq!(figure.axes[1].brush, Some((0.5, 1.0)));
        assert_ne!(figure.lines[0].colour, figure.lines[1].colour);
        assert_eq!(figure.colour_by, Some(0));
        let own = lines.map(|line| ParallelLine { colour: Some(Color32::RED), ..line });
        let figure = Parallel::new("test", &axes, &own).figure(&state, "Config and results");
        assert!(figure.lines.iter().all(|line| line.colour == Color32::RED), "lines may bring colours of their own");
        assert_eq!(figure.colour_by, None, "then no axis colours");
    }

    #[test]
    fn a_brush_ends_at_values_and_holds_them() {
        let ruler = Ruler::new(&number(&[Some(0.0), Some(1.0), Some(4.0), Some(10.0)], Scale::Linear));
        assert_eq!(snapped(&ruler, 0.38, 0.08, 0.03), (0.1, 0.4), "both ends were missed by a little");
        assert_eq!(snapped(&ruler, 0.9, 0.3, 0.03), (0.4, 0.4));
        assert_eq!(snapped(&ruler, 0.6, 0.7, 0.03), (0.6, 0.7), "nothing is there");
    }

    #[test]
    fn a_brush_keeps_its_values_when_the_axis_reaches_elsewhere() {
        let reach = |values: &[Option<f64>]| Ruler::new(&number(values, Scale::Linear)).reach;
        let brushed = |later: &[Option<f64>]| {
            let mut state = ParallelState::default();
            state.brush("loss", 0.5, 1.0);
            state.follow("loss", &reach(&[Some(4.0), Some(6.0)]));
            state.follow("loss", &reach(later));
            state.brushes.get("loss").copied()
        };
        assert_eq!(brushed(&[Some(4.0), Some(6.0)]), Some((0.5, 1.0)));
        assert_eq!(brushed(&[Some(5.0), Some(9.0)]), Some((0.0, 0.25)), "from 5 to 6 as before");
        assert_eq!(brushed(&[Some(4.0), None, Some(6.0)]), Some((NONE + (1.0 - NONE) * 0.5, 1.0)));
        assert_eq!(brushed(&[Some(5.5)]), Some((0.0, 1.0)), "around the only value");
        assert_eq!(brushed(&[Some(7.0), Some(9.0)]), None, "beyond all of them");
        assert_eq!(brushed(&[Some(1.0)]), None);
        let names = |names: &[&str]| Reach {
            scale: Scale::Linear,
            ends: (0.0, 1.0),
            floor: 0.0,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert_eq!(names(&["a", "b"]).moved(&names(&["a", "c"]), 0.5), None);
        // From 10 to 100 on another scale, where that is from the middle to the upper end.
        let linear = reach(&[Some(10.0), Some(100.0)]);
        let log = Ruler::new(&number(&[Some(1.0), Some(10.0), Some(100.0)], Scale::Log)).reach;
        assert_eq!([0.0, 1.0].map(|share| log.moved(&linear, share)), [Some(0.5), Some(1.0)]);
        // The lines without a value are gone.
        let (without, with) = (reach(&[Some(1.0), None, Some(2.0)]), reach(&[Some(1.0), Some(2.0)]));
        assert_eq!((with.moved(&without, 0.0), without.moved(&without, 0.0)), (None, Some(0.0)));
        // A brush that was freed leaves nothing behind.
        let mut state = ParallelState::default();
        state.brush("loss", 0.0, 0.5);
        state.follow("loss", &reach(&[Some(1.0), Some(2.0)]));
        state.clear();
        state.brush("loss", 0.0, 0.5);
        state.follow("loss", &reach(&[Some(5.0), Some(6.0)]));
        assert_eq!(state.brushes.get("loss"), Some(&(0.0, 0.5)));
    }

    #[test]
    fn the_baseline_passes_every_brush() {
        let axes = [number(&[Some(1.0), Some(2.0), Some(3.0)], Scale::Linear)];
        let lines = [(7, "base"), (8, "b"), (9, "c")].map(|(id, name)| ParallelLine { id, name, colour: None });
        let mut state = ParallelState::default();
        state.brush("loss", 1.0, 1.0);
        let passes = |kept| {
            let figure = Parallel::new("test", &axes, &lines).keep(kept).figure(&state, "t");
            figure.lines.iter().map(|line| line.passes).collect::<Vec<_>>()
        };
        assert_eq!(passes(None), [false, false, true]);
        assert_eq!(passes(Some(7)), [true, false, true]);
    }

    #[test]
    fn only_lines_that_pass_are_touched() {
        let line = |y: f32| vec![pos2(0.0, y), pos2(100.0, y)];
        let points = [line(10.0), line(14.0), line(50.0)];
        assert_eq!(touched(&points, &[0, 1, 2], pos2(50.0, 13.0)), Some(1));
        assert_eq!(touched(&points, &[0, 2], pos2(50.0, 13.0)), Some(0));
        assert_eq!(touched(&points, &[0, 1, 2], pos2(50.0, 30.0)), None);
    }
}
