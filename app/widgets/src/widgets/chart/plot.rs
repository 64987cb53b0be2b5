//! The chart itself.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use egui::{
    Align2, Color32, CursorIcon, Response, RichText, Role, Sense, Stroke, StrokeKind, TextStyle, TextWrapMode, Ui,
    Vec2, WidgetInfo,
};
use egui_plot::{AxisHints, Plot, PlotBounds, PlotItemBase, PlotTransform};

use headroom_config::config::counted;

use super::curve::{Misfit, Settings};
use super::hover;
use super::legend::{LegendEntry, legend_ui};
use super::line::ChartLine;
use super::line_cache::LineCache;
use super::marks::Marks;
use super::paint::Lines;
use super::state::{ChartState, SharedX};
use crate::plot::{Axis, DEFAULT_SMOOTHING, Quantity, Scale, XAxis};
use crate::{
    theme,
    widgets::{beginning, is_new},
};

/// The most values per line that the range without outliers looks at.
const OUTLIER_SAMPLE: usize = 4_096;

/// Room for the half of the last tick label that stands out to the right, in points.
const RIGHT_MARGIN: f32 = 16.0;
/// The least room left of a plot, in points.
const LEAST_GUTTER: f32 = 48.0;
/// What a plot leaves beside the labels of its ticks, in points, and what the label of an axis takes, in rows of text.
const TICK_MARGINS: f32 = 8.0;
const AXIS_LABEL: f32 = 1.25;
/// Plots of less width have no room for words over their curves.
const SMALL_PLOT: f32 = 260.0;

/// A line chart, built anew each frame from borrowed lines.
///
/// ```no_run
/// # use headroom_figures::plot::{Series, XAxis};
/// # use headroom_widgets::widgets::{Chart, ChartLine, ChartState, SharedX};
/// # fn panel(ui: &mut egui::Ui, loss: &Series, state: &mut ChartState, shared: &mut SharedX) {
/// let lines = [ChartLine::new(0, "baseline", loss)];
/// let shown = Chart::new("loss", "Training loss", &lines).x(XAxis::Step).y_unit("nats/token").show(ui, state, shared);
/// let hovered_run = shown.hovered;
/// # }
/// ```
#[must_use = "call `show`"]
pub struct Chart<'a> {
    pub(super) salt: &'a str,
    pub(super) title: &'a str,
    about: &'a str,
    is_headed: bool,
    pub(super) lines: &'a [ChartLine<'a>],
    pub(super) x: Axis,
    pub(super) link: Option<XAxis>,
    pub(super) y: Axis,
    pub(super) smoothing: f64,
    show_raw: bool,
    ignore_outliers: bool,
    pub(super) highlight: Option<u64>,
    height: f32,
    pub(super) legend: bool,
    empty: &'a str,
    /// Charts that are drawn in a frame.
    among: usize,
    /// What x holds in any case, in data values.
    spans: Option<(f64, f64)>,
    bands_within: Option<f64>,
}

/// What a shown chart reports.
#[derive(Clone, Debug)]
pub struct ChartResponse {
    /// The plot area.
    pub response: Response,
    /// The id of the line under the pointer, in the plot or in the legend.
    pub hovered: Option<u64>,
    /// The id of the line that was clicked.
    pub clicked: Option<u64>,
    /// Whether it was clicked in the plot, and not in the legend.
    pub is_in_plot: bool,
    /// How many values are not shown because they are at or below zero on a logarithmic axis.
    pub dropped: usize,
    /// The x range shown, in data values.
    pub x_range: (f64, f64),
    /// The y range shown, in data values.
    pub y_range: (f64, f64),
}

impl<'a> Chart<'a> {
    /// A chart of `lines`. `salt` tells charts of one panel apart; `title` is shown above and is the chart's name for
    /// screen readers.
    pub fn new(salt: &'a str, title: &'a str, lines: &'a [ChartLine<'a>]) -> Self {
        Self {
            salt,
            title,
            about: "",
            is_headed: true,
            lines,
            x: XAxis::Step.into(),
            link: Some(XAxis::Step),
            y: Axis::new(title),
            smoothing: DEFAULT_SMOOTHING,
            show_raw: true,
            ignore_outliers: false,
            highlight: None,
            height: 220.0,
            legend: false,
            empty: "No points yet",
            among: 1,
            spans: None,
            bands_within: None,
        }
    }

    /// What is to be known of its values, said on the title's hover and to screen readers: "Lower is better".
    pub fn about(mut self, about: &'a str) -> Self {
        self.about = about;
        self
    }

    /// The same chart of other lines.
    pub(super) fn of<'b>(self, lines: &'b [ChartLine<'b>]) -> Chart<'b>
    where
        'a: 'b,
    {
        Chart { lines, ..self }
    }

    /// The kind of x; charts of a panel with the same kind zoom together. Keeps the scale set by [`Chart::log_x`].
    pub fn x(mut self, x: XAxis) -> Self {
        self.x = Axis::from(x).scale(self.x.scale);
        self.link = Some(x);
        self
    }

    /// Any other x axis; the chart is not linked then.
    pub fn x_axis(mut self, x: Axis) -> Self {
        self.x = x;
        self.link = None;
        self
    }

    /// The y axis: label, unit, kind of value, scale.
    pub fn y_axis(mut self, y: Axis) -> Self {
        self.y = y;
        self
    }

    /// The unit of y.
    pub fn y_unit(mut self, unit: &str) -> Self {
        unit.clone_into(&mut self.y.unit);
        self
    }

    /// Logarithmic x.
    pub fn log_x(mut self, log: bool) -> Self {
        self.x.scale = Scale::log_if(log);
        self
    }

    /// Logarithmic y.
    pub fn log_y(mut self, log: bool) -> Self {
        self.y.scale = Scale::log_if(log);
        self
    }

    /// Weight of the past in 0..=0.999; 0 draws the values as they are, and so are lines of few points always
    /// ([`super::FEWEST_SMOOTHED`]).
    pub fn smoothing(mut self, smoothing: f64) -> Self {
        self.smoothing = smoothing;
        self
    }

    /// Whether the unsmoothed values are drawn faint behind (they are, unless told otherwise).
    pub fn show_raw(mut self, show: bool) -> Self {
        self.show_raw = show;
        self
    }

    /// Fits y to the 5th to 95th percentile of what is in view.
    pub fn ignore_outliers(mut self, ignore: bool) -> Self {
        self.ignore_outliers = ignore;
        self
    }

    /// The line to draw thicker and on top: what is hovered elsewhere.
    pub fn highlight(mut self, id: Option<u64>) -> Self {
        self.highlight = id;
        self
    }

    /// Height of plot and axes in points.
    pub fn height(mut self, height: f32) -> Self {
        self.height = height;
        self
    }

    /// Draws no title above: it stands in a heading of the panel's own.
    pub fn without_title(mut self) -> Self {
        self.is_headed = false;
        self
    }

    /// How many charts like it are drawn at the same time: they share the time of a frame.
    pub fn among(mut self, charts: usize) -> Self {
        self.among = charts.max(1);
        self
    }

    /// How far bands are shown beyond the lines, in spans of all lines together; what lies further is cut off. Where the lines are one
    /// level, and without this, all of them is.
    pub fn bands_within(mut self, spans: f64) -> Self {
        self.bands_within = Some(spans);
        self
    }

    /// The x that is shown in any case, unless it is zoomed: so that charts below each other have the same.
    pub fn spanning(mut self, spans: Option<(f64, f64)>) -> Self {
        self.spans = spans;
        self
    }

    /// Shows a legend under the plot.
    pub fn legend(mut self, legend: bool) -> Self {
        self.legend = legend;
        self
    }

    /// What to say when there is nothing to draw: what would fill the chart.
    pub fn empty_text(mut self, text: &'a str) -> Self {
        self.empty = text;
        self
    }

    pub(super) fn is_smoothed(&self) -> bool {
        self.lines.iter().any(|line| line.smoothing(self.smoothing) > 0.0)
    }

    pub(super) fn draws_raw(&self, line: &ChartLine<'_>) -> bool {
        line.smoothing(self.smoothing) > 0.0 && self.show_raw
    }

    /// Brings the caches up to date.
    pub(super) fn update(&self, state: &mut ChartState) {
        for cache in state.lines.values_mut() {
            cache.seen = false;
        }
        for line in self.lines {
            let smoothing = line.smoothing(self.smoothing);
            let settings = Settings { smoothing, x: self.x.scale, y: self.y.scale, misfit: Misfit::Drop };
            let key = (line.id, line.series.version().generation);
            let cache = state.lines.entry(key).or_insert_with(|| LineCache::new(settings));
            cache.update(line, settings, self.draws_raw(line));
        }
        state.lines.retain(|_, cache| cache.seen);
    }

    fn caches<'s>(&'s self, state: &'s ChartState) -> impl Iterator<Item = &'s LineCache> {
        self.lines.iter().filter_map(|line| state.lines.get(&(line.id, line.series.version().generation)))
    }

    /// The x axis; of points that all have one count it has the tick of that.
    pub(super) fn x_axis_of(&self, state: &ChartState) -> Axis {
        let ranges = self.caches(state).filter_map(|cache| cache.main.x_range());
        let only = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).filter(|(lo, hi)| lo == hi);
        match only {
            Some((at, _)) if self.x.quantity == Quantity::Count => {
                self.x.clone().ticked_at(vec![self.x.scale.inverse(at)])
            }
            _ => self.x.clone(),
        }
    }

    /// The bounds to show, in axis positions: zoomed where the user zoomed, else what holds the data.
    pub(super) fn bounds(&self, state: &mut ChartState, shared: &SharedX) -> ((f64, f64), (f64, f64)) {
        let zoom = |range: Option<(f64, f64)>, scale: Scale| {
            range
                .map(|(lo, hi)| (scale.forward(lo), scale.forward(hi)))
                .filter(|&(lo, hi)| (hi - lo).is_finite() && lo < hi)
        };
        if state.y_since != shared.resets(self.link) {
            state.y = None;
        }
        let zoomed_x = zoom(self.link.map_or(state.x, |link| shared.range(link)), self.x.scale);
        let x = zoomed_x.unwrap_or_else(|| {
            let spans = self.spans.map(|(lo, hi)| (self.x.scale.forward(lo), self.x.scale.forward(hi)));
            let spans = spans.filter(|(lo, hi)| lo.is_finite() && hi.is_finite());
            let own = self.caches(state).filter_map(|cache| cache.main.x_range());
            let all = own.chain(spans).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            widened(all, 0.015, &self.x)
        });
        let y = zoom(state.y, self.y.scale).unwrap_or_else(|| {
            let without_outliers = if self.ignore_outliers { self.inner_range(state, x) } else { None };
            let within =
                |x| self.caches(state).filter_map(|cache| cache.y_range(x)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            let everywhere = || within((f64::NEG_INFINITY, f64::INFINITY));
            let lines = self.bands_within.and_then(|_| {
                let all = self.caches(state).filter_map(|cache| cache.lines_range(x));
                all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
            });
            let in_view = || within(x).map(|range| self.cut_bands(range, lines));
            widened(without_outliers.or_else(in_view).or_else(everywhere), 0.05, &self.y)
        });
        (x, y)
    }

    /// The range of everything, less what bands have further from the lines than is shown.
    fn cut_bands(&self, range: (f64, f64), lines: Option<(f64, f64)>) -> (f64, f64) {
        match (self.bands_within, lines) {
            (Some(spans), Some((low, high))) if high > low => {
                let most = spans * (high - low);
                (range.0.max(low - most), range.1.min(high + most))
            }
            _ => range,
        }
    }

    /// The 5th and 95th percentile of the values in view (unsmoothed ones where they are drawn), in axis positions.
    fn inner_range(&self, state: &mut ChartState, x: (f64, f64)) -> Option<(f64, f64)> {
        let mut hash = DefaultHasher::new();
        (x.0.to_bits(), x.1.to_bits(), self.show_raw).hash(&mut hash);
        for cache in self.caches(state) {
            cache.main.version().hash(&mut hash);
        }
        let key = hash.finish();
        if let Some((known, range)) = state.outliers
            && known == key
        {
            return range;
        }
        let mut values = Vec::new();
        for cache in self.caches(state) {
            let pyramid = &cache.raw.as_ref().unwrap_or(&cache.main).pyramid;
            let visible = pyramid.visible(x);
            let stride = visible.len().div_ceil(OUTLIER_SAMPLE).max(1);
            let shown = pyramid.y().get(visible).unwrap_or_default();
            values.extend(shown.iter().step_by(stride).copied().filter(|y| y.is_finite()));
        }
        let range = percentiles(&mut values, 0.05, 0.95);
        state.outliers = Some((key, range));
        range
    }

    /// Draws the chart into `ui`.
    pub fn show(self, ui: &mut Ui, state: &mut ChartState, shared: &mut SharedX) -> ChartResponse {
        ui.push_id(self.salt, |ui| self.show_in(ui, state, shared)).inner
    }

    fn show_in(&self, ui: &mut Ui, state: &mut ChartState, shared: &mut SharedX) -> ChartResponse {
        self.update(state);
        let (x, y) = self.bounds(state, shared);
        if self.is_headed && !self.title.is_empty() {
            let title = ui.label(RichText::new(self.title).color(theme::palette(ui.visuals()).strong));
            if !self.about.is_empty() {
                title.on_hover_text(self.about);
            }
        }
        let id = ui.scope_id().with("plot");
        let pass = ui.ctx().cumulative_pass_nr();
        let pointer_x = shared.pointer.and_then(|(kind, value, at, from)| {
            let fresh = Some(kind) == self.link && from != id && at + 1 >= pass;
            fresh.then(|| (self.x.scale.forward(value), theme::palette(ui.visuals()).weak.gamma_multiply(0.6)))
        });
        let (response, transform) = self.plot_ui(ui, state, shared, id, (x, y), pointer_x);

        let dropped = self.caches(state).map(|cache| cache.main.dropped()).sum();
        let is_empty = !self.caches(state).any(|cache| !cache.main.pyramid.is_empty());
        self.overlay(ui, &response, dropped, is_empty);
        let was_zoomed = state.is_zoomed() || self.link.is_some_and(|link| shared.range(link).is_some());
        self.navigate(ui, state, shared, &response, &transform);
        self.zoomed_ui(ui, state, shared, response.rect);

        let mut hovered = None;
        if let Some(pointer) = response.hover_pos().filter(|_| state.drag.is_none() && !is_empty) {
            let near = hover::near(self.lines, state, &transform, pointer);
            hovered = hover::touched(self.lines, &near);
            let painter = ui.painter().with_clip_rect(*transform.frame());
            for near in near.iter().take(usize::from(hovered.is_some())) {
                if let Some(line) = self.lines.get(near.line) {
                    let at = transform.position_from_point(&near.point);
                    painter.circle(at, 4.0, line.colour, Stroke::new(1.5, ui.visuals().extreme_bg_color));
                }
            }
            let at = (&*state, &transform, pointer);
            hover::tooltip(&response, (self.lines, &near), at, (&self.x, &self.y), self.smoothing);
            if let Some(link) = self.link {
                let value = self.x.scale.inverse(transform.value_from_position(pointer).x);
                shared.pointer = Some((link, value, pass, id));
            }
        }
        let clicked = clicked_line(ui, state, &response, hovered, was_zoomed);
        let mut shown = ChartResponse {
            response,
            hovered,
            clicked,
            is_in_plot: clicked.is_some(),
            dropped,
            x_range: (self.x.scale.inverse(x.0), self.x.scale.inverse(x.1)),
            y_range: (self.y.scale.inverse(y.0), self.y.scale.inverse(y.1)),
        };
        if self.legend {
            let entries: Vec<LegendEntry<'_>> = self.lines.iter().map(LegendEntry::from).collect();
            let (hovered, clicked) = legend_ui(ui, &entries, self.highlight);
            shown.is_in_plot &= clicked.is_none();
            (shown.hovered, shown.clicked) = (hovered.or(shown.hovered), clicked.or(shown.clicked));
        }
        self.describe(ui, &shown, is_empty);
        if shown.hovered.is_some() && shown.hovered != self.highlight {
            ui.ctx().request_repaint();
        }
        shown
    }

    fn plot_ui(
        &self,
        ui: &mut Ui,
        state: &mut ChartState,
        shared: &mut SharedX,
        id: egui::Id,
        (x, y): ((f64, f64), (f64, f64)),
        pointer_x: Option<(f64, Color32)>,
    ) -> (Response, PlotTransform) {
        let palette = theme::palette(ui.visuals());
        let size = if state.size == Vec2::ZERO { Vec2::new(ui.available_width(), self.height) } else { state.size };
        let is_empty = !self.caches(state).any(|cache| !cache.main.pyramid.is_empty());
        let x_axis = self.x_axis_of(state);
        let marks = |axis: &Axis, range: (f64, f64), length: f32, spacing: f32| {
            // An empty chart has no numbers to show.
            let target = (length / spacing).clamp(2.0, 10.0) as usize;
            if is_empty { Marks::default() } else { Marks::new(axis, range, target) }
        };
        let x_marks = marks(&x_axis, x, size.x, 100.0);
        let y_marks = marks(&self.y, y, size.y, 42.0);
        let small = TextStyle::Small.resolve(ui.style());
        let hints = |hints: AxisHints<'a>, title: String, marks: &Marks| {
            let marks = marks.clone();
            let hints = hints
                .tick_label_font(small.clone())
                .tick_label_color(palette.weak)
                .formatter(move |mark, _| marks.label(mark.value));
            if title.is_empty() { hints } else { hints.label(RichText::new(title).small().color(palette.weak)) }
        };
        let x_hints = hints(AxisHints::new_x(), self.x.title(), &x_marks);
        // The title above already says what y is; beside the axis goes the unit only.
        let y_label = if self.y.label == self.title { Axis::new(self.y.unit.clone()) } else { self.y.clone() };
        let label =
            if y_label.title().is_empty() { 0.0 } else { AXIS_LABEL * ui.fonts_mut(|fonts| fonts.row_height(&small)) };
        let needed = (y_marks.widest(ui.painter(), &small) + TICK_MARGINS + label).max(LEAST_GUTTER).ceil();
        let gutter = shared.gutter(needed, ui.ctx().cumulative_pass_nr());
        // It stands upright beside the plot, which may be low.
        let title = beginning(ui, &y_label.title(), &small, size.y);
        let y_hints = hints(AxisHints::new_y(), title, &y_marks).min_thickness(gutter);
        let lines = Lines {
            base: PlotItemBase::new(self.title.to_owned()),
            given: self.lines,
            state: RefCell::new(state),
            highlight: self.highlight,
            x_scale: self.x.scale,
            pointer_x,
            among: self.among,
        };
        let plot = Plot::new("plot")
            .id(id)
            .height(self.height)
            .allow_axis_zoom_drag(false)
            .allow_boxed_zoom(false)
            .allow_double_click_reset(false)
            .allow_drag(false)
            .allow_scroll(false)
            .allow_zoom(false)
            .show_x(false)
            .show_y(false)
            .grid_color(palette.grid)
            .grid_fade(0.0)
            .x_grid_spacer(move |_| x_marks.grid())
            .y_grid_spacer(move |_| y_marks.grid())
            .custom_x_axes(vec![x_hints])
            .custom_y_axes(vec![y_hints])
            .sense(Sense::click_and_drag());
        let width = (ui.available_width() - RIGHT_MARGIN).max(80.0);
        let scope = ui.scope(|ui| {
            // The plot takes the whole width it is offered.
            ui.set_max_width(width);
            plot.show(ui, move |plot_ui| {
                plot_ui.set_plot_bounds(PlotBounds::from_min_max([x.0, y.0], [x.1, y.1]));
                plot_ui.add(lines);
            })
        });
        let shown = scope.inner;
        // How much room its axes need is known now.
        if is_new(ui, id) {
            ui.ctx().request_repaint();
        }
        (shown.response.on_hover_cursor(CursorIcon::Crosshair), shown.transform)
    }

    /// Says in the chart that it shows a part, and shows all again at a click.
    fn zoomed_ui(&self, ui: &mut Ui, state: &mut ChartState, shared: &mut SharedX, plot: egui::Rect) {
        let shares = self.link.filter(|link| shared.range(*link).is_some());
        if !state.is_zoomed() && shares.is_none() {
            return;
        }
        // Over a small chart only the word that is clicked.
        let (words, width) = if plot.width() < SMALL_PLOT { ("Reset", 40.0) } else { ("Zoomed. Reset", 96.0) };
        let size = Vec2::new(width, 18.0);
        let rect = egui::Rect::from_min_size(plot.right_top() + Vec2::new(-size.x - 6.0, 6.0), size);
        let mut inner = ui.new_child(egui::UiBuilder::new().max_rect(rect));
        let button = egui::Button::new(RichText::new(words).small()).min_size(size).wrap_mode(TextWrapMode::Extend);
        let button = inner.add(button).on_hover_text(if self.link.is_some() {
            "Shows the whole range again, along x in all charts here; a double click on the chart does the same"
        } else {
            "Shows the whole range again; a double click on the chart does the same"
        });
        let name = if self.title.is_empty() { self.y.title() } else { self.title.to_owned() };
        if button.accessible_name(format!("Reset the zoom of {name}")).clicked() {
            state.reset();
            if let Some(link) = shares {
                shared.set_range(link, None);
            }
        }
    }

    /// Texts over the plot: what would fill it, what is not shown.
    fn overlay(&self, ui: &Ui, response: &Response, dropped: usize, is_empty: bool) {
        let palette = theme::palette(ui.visuals());
        let painter = ui.painter().with_clip_rect(response.rect);
        let font = TextStyle::Small.resolve(ui.style());
        if is_empty {
            let font = TextStyle::Body.resolve(ui.style());
            painter.text(response.rect.center(), Align2::CENTER_CENTER, self.empty, font, palette.weak);
        }
        if dropped > 0 {
            let at = response.rect.left_bottom() + Vec2::new(8.0, -6.0);
            painter.text(at, Align2::LEFT_BOTTOM, dropped_note(dropped), font.clone(), palette.warning);
        }
        if response.has_focus() {
            painter.rect_stroke(response.rect, 2.0, Stroke::new(1.5, palette.accent), StrokeKind::Inside);
        }
    }

    /// Name and description for screen readers.
    fn describe(&self, ui: &Ui, shown: &ChartResponse, is_empty: bool) {
        let name = if self.title.is_empty() { self.y.title() } else { self.title.to_owned() };
        shown.response.widget_info(|| WidgetInfo::labeled(Role::Figure, ui.is_enabled(), format!("Chart: {name}")));
        ui.ctx().accesskit_node_builder(shown.response.id, |node| {
            if is_empty {
                node.set_description(self.empty);
                return;
            }
            let (x, y) = (&self.x, &self.y);
            let range = |axis: &Axis, (lo, hi): (f64, f64)| {
                format!("{} {} to {}", axis.title(), axis.quantity.value(lo), axis.quantity.value(hi))
            };
            let lines = counted(self.lines.len(), "line");
            let mut text = format!("{lines}. {}. {}.", range(x, shown.x_range), range(y, shown.y_range));
            if shown.dropped > 0 {
                text = format!("{text} {}", dropped_note(shown.dropped));
            }
            if !self.about.is_empty() {
                text = format!("{text} {}.", self.about);
            }
            node.set_description(text);
        });
    }
}

/// What is said about values without a place on a logarithmic axis.
pub(super) fn dropped_note(dropped: usize) -> String {
    match dropped {
        1 => "1 value at or below zero is not shown on the log axis.".to_owned(),
        n => format!("{} values at or below zero are not shown on the log axis.", crate::format::count(n as u64)),
    }
}

/// The line that a click chooses; `was_zoomed`: a double click shows everything again, and chooses nothing.
fn clicked_line(
    ui: &Ui,
    state: &mut ChartState,
    response: &Response,
    hovered: Option<u64>,
    was_zoomed: bool,
) -> Option<u64> {
    if response.double_clicked() && was_zoomed {
        state.click = None;
        return None;
    }
    let now = ui.input(|i| i.time);
    let delay = ui.ctx().options(|options| options.input_options.max_double_click_delay);
    if response.clicked() {
        if !was_zoomed {
            return hovered;
        }
        state.click = hovered.map(|line| (line, now));
    }
    let (line, at) = state.click?;
    let left = delay - (now - at);
    if left > 0.0 {
        ui.ctx().request_repaint_after(Duration::from_secs_f64(left));
        return None;
    }
    state.click = None;
    Some(line)
}

/// Values that lie closer together, as a share of themselves, differ by rounding alone.
const ROUNDING: f64 = 1e-9;

/// A range in axis positions with some air on both sides; a made-up one around a single value, which leaves neither zero nor
/// the whole of a fraction behind, or around nothing.
fn widened(range: Option<(f64, f64)>, share: f64, axis: &Axis) -> (f64, f64) {
    // A spread of rounding errors is none.
    let is_one = |lo: f64, hi: f64| axis.quantity != Quantity::UnixTime && hi - lo < ROUNDING * lo.abs().max(hi.abs());
    match (range, axis.scale) {
        (Some((lo, hi)), Scale::Linear) if lo < hi && is_one(lo, hi) => {
            let middle = 0.5 * (lo + hi);
            widened(Some((middle, middle)), share, axis)
        }
        (Some((lo, hi)), _) if lo < hi && (hi - lo).is_finite() => {
            let air = (hi - lo) * share;
            (lo - air, hi + air)
        }
        (Some((at, _)), Scale::Log) if at.is_finite() && at.abs() < 1e300 => (at - 0.5, at + 0.5),
        (Some((at, _)), Scale::Linear) if at.abs() < 1e300 => {
            let air = match axis.quantity {
                Quantity::UnixTime => 60.0,
                Quantity::Count => (at.abs() * 0.1).max(0.5),
                Quantity::Fraction => (at.abs() * 0.1).max(0.05),
                _ if at.abs() < 1e-300 => 0.5,
                _ => at.abs() * 0.1,
            };
            let edge = air * 0.05;
            let least = if at >= 0.0 { -edge } else { f64::NEG_INFINITY };
            let most = if axis.quantity == Quantity::Fraction && at <= 1.0 { 1.0 + edge } else { f64::INFINITY };
            ((at - air).max(least), (at + air).min(most))
        }
        _ => (0.0, 1.0),
    }
}

/// The `low` and `high` quantiles of `values` (nearest rank), reordering them. None when they coincide.
fn percentiles(values: &mut [f64], low: f64, high: f64) -> Option<(f64, f64)> {
    let last = values.len().checked_sub(1)?;
    let mut at = |share: f64| {
        let rank = (last as f64 * share).round() as usize;
        *values.select_nth_unstable_by(rank, f64::total_cmp).1
    };
    let range = (at(low), at(high));
    (range.0 < range.1).then_some(range)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
