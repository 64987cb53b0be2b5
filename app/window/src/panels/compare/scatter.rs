//! Quality against cost: a point for each run or group, with its interval over seeds, and their Pareto front.

use std::collections::{BTreeMap, BTreeSet};

use egui::{ComboBox, RichText, Ui};
use headroom_engine::store::{Direction, RunSummary};

use super::{
    axes::{ConfigAxes, axis_of, result_axes},
    lines::Bundle,
    view::View,
};
use crate::{
    compare::{Band, Summary, first_names, is_finished, is_rate, judged_by_most, pareto_front, why_not_judged},
    export::Figure,
    panels::runs::FlatConfigs,
    plot::{Axis, Series},
    theme::{self, Dash, LineStyle},
    widgets::{self, Chart, ChartLine, ChartState, ParallelAxis, ParallelScale, SharedX, together_ui},
};

/// The most height of the list of costs, in points: every key in which configs differ is among them.
const LIST: f32 = 420.0;

/// The id of the front among the lines of the chart.
const FRONT: u64 = u64::MAX;
/// Width of a line whose only point is drawn as a dot that can be met.
const DOT: f32 = 3.6;
/// What the dot of the baseline is wider by.
const PINNED: f32 = 1.4;
/// What a dot is wider by for each one that is drawn over it: it stands around them as a ring. Beyond so many rings they are no
/// longer told apart.
const RIM: f32 = 1.6;
const RIMS: usize = 4;
/// Points that are nearer than this, as a share of the chart's width and height, hide each other: some 5 points of the screen.
const NEAR: (f64, f64) = (0.005, 0.012);
/// Width of the front where it is a single point: its dot is larger than that of any run, and stands around it as a ring.
const RING: f32 = 6.6;

/// What the intervals of points are.
const WHISKERS: &str = "Whiskers: 95 % interval of the mean over seeds.";
/// What the name of a point ends in that does not count, since its runs did not train to their end.
const UNFINISHED: &str = " (not finished)";

/// Whether a point can stand on the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It can.
    Counted,
    /// Its runs did not train to their end.
    Unfinished,
    /// Measured on other text than the front is of, or something else is learnt.
    Apart,
}

/// The point of a bundle.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    number: u64,
    name: String,
    x: f64,
    y: f64,
    /// 95 % interval of the mean over seeds.
    interval: Option<(f64, f64)>,
    /// Different seeds of its runs.
    seeds: usize,
    is_baseline: bool,
    standing: Standing,
    style: LineStyle,
}

/// A point as the chart takes it.
struct Drawn {
    series: Series,
    interval: Option<(Series, Series)>,
    /// Where it stands, as a share of the whole chart.
    place: (f64, f64),
    width: f32,
}

/// The view; its points are made anew only when they changed.
#[derive(Default)]
pub(super) struct ScatterView {
    points: Vec<Point>,
    drawn: Vec<Drawn>,
    /// Whether x and y are logarithmic.
    logs: (bool, bool),
    /// The point that was clicked last.
    chosen: Option<u64>,
    /// Which values the front was found by.
    direction: Option<Direction>,
    front: Series,
    on_front: Vec<u64>,
    keys: ConfigAxes,
    state: ChartState,
}

/// What happened to the scatter.
#[derive(Default)]
pub(super) struct ScatterResponse {
    /// The line under the pointer.
    pub hovered: Option<u64>,
    /// The line that was clicked.
    pub clicked: Option<u64>,
}

/// What the scatter is made of.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub bundles: &'a [Bundle],
    pub metric: &'a str,
    pub configs: &'a FlatConfigs,
    pub baseline: Option<u64>,
}

impl ScatterView {
    /// Draws it.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        given: &Given<'_>,
        view: &mut View,
        height: f32,
        highlight: Option<u64>,
    ) -> ScatterResponse {
        let palette = theme::palette(ui.visuals());
        let (costs, words) = costs(given, view, &mut self.keys);
        let Some(chosen) = costs.iter().find(|cost| cost.key == view.cost).or(costs.first()) else {
            ui.label(
                "No run here has a cost to hold against: parameters, FLOPs and step time come with its first steps.",
            );
            return ScatterResponse::default();
        };
        self.update(given, chosen, view);
        ui.horizontal_wrapped(|ui| {
            together_ui(ui, "cost", |ui| {
                ui.label("Against");
                let combo = ComboBox::from_id_salt("cost").height(LIST).selected_text(&chosen.label);
                let combo = combo.show_ui(ui, |ui| {
                    for cost in &costs {
                        ui.selectable_value(&mut view.cost, cost.key.clone(), &cost.label);
                    }
                });
                combo.response.accessible_name("Against").on_hover_text(about_costs(words));
            });
            ui.label(RichText::new(self.about()).color(palette.weak));
        });
        let (x, y) = axes(chosen, given.metric, view);
        self.state.turn_to(&format!("{} {}", chosen.key, given.metric));
        let lines = lines(&self.points, &self.drawn, &self.front);
        let shown = chart(&lines, x, y, view).height(height).highlight(highlight).show(
            ui,
            &mut self.state,
            &mut SharedX::default(),
        );
        if let Some(words) = self.best_in_both() {
            ui.label(RichText::new(words).color(palette.strong));
        }
        for words in self.not_counted() {
            ui.label(RichText::new(words).color(palette.weak));
        }
        if let Some(words) = self.left_out(given.bundles) {
            ui.label(RichText::new(words).color(palette.weak));
        }
        let of_run = |id: Option<u64>| id.filter(|id| *id != FRONT);
        // An entry of the legend names one of them; a dot may hide others.
        let is_on_dot = shown.is_in_plot;
        let clicked = of_run(shown.clicked).map(|number| if is_on_dot { self.next_at(number) } else { number });
        self.chosen = clicked.or(self.chosen);
        ScatterResponse { hovered: of_run(shown.hovered), clicked }
    }

    /// The point that a click on this one means: of several at one place the one after that which was clicked last.
    fn next_at(&self, number: u64) -> u64 {
        let place_of = |number: u64| self.points.iter().position(|point| point.number == number);
        let Some(at) = place_of(number).and_then(|at| self.drawn.get(at)) else { return number };
        let all = self.points.iter().zip(&self.drawn);
        let here: Vec<u64> =
            all.filter(|(_, drawn)| is_near(drawn.place, at.place)).map(|(point, _)| point.number).collect();
        let last = self.chosen.and_then(|chosen| here.iter().position(|own| *own == chosen));
        last.and_then(|last| here.get((last + 1) % here.len())).copied().unwrap_or(number)
    }

    /// What is shown, as it is exported.
    pub fn figure(&mut self, given: &Given<'_>, view: &View, metadata: BTreeMap<String, String>) -> Option<Figure> {
        let (costs, _) = costs(given, view, &mut self.keys);
        let chosen = costs.iter().find(|cost| cost.key == view.cost).or(costs.first())?;
        self.update(given, chosen, view);
        let (x, y) = axes(chosen, given.metric, view);
        let lines = lines(&self.points, &self.drawn, &self.front);
        let mut figure = chart(&lines, x, y, view).figure(&mut self.state, &SharedX::default(), metadata);
        if self.has_intervals() {
            figure.notes.push(WHISKERS.to_owned());
        }
        figure.notes.extend(self.best_in_both());
        figure.notes.extend(self.not_counted());
        Some(figure)
    }

    fn has_intervals(&self) -> bool {
        self.points.iter().any(|point| point.interval.is_some())
    }

    /// Note that the points of the front were not tested against each other, where some have one seed: then none is called better.
    fn untested(&self) -> Option<&'static str> {
        let single = counted(&self.points).filter(|point| point.seeds < 2).count();
        match single {
            0 => None,
            all if all == counted(&self.points).count() => Some("1 seed each: not tested"),
            _ => Some("points of 1 seed are not tested"),
        }
    }

    /// What is drawn: nothing is said of whiskers or of a front that are not there.
    fn about(&self) -> String {
        let of_means = "Line: the front of the means; where whiskers overlap another seed may change it.";
        let is_none_counted = !self.points.is_empty() && counted(&self.points).next().is_none();
        let front = match (self.front.is_empty(), self.has_intervals()) {
            (true, _) if is_none_counted => "No front: none of these runs counts.",
            (true, _) => "No front: of these values none is better than another.",
            _ if let Some(untested) = self.untested() => {
                &format!("Line: the front of what was measured; {untested}. Another seed may change it.")
            }
            (false, true) => of_means,
            (false, false) => "Line: the front of the means; another seed may change it.",
        };
        if self.has_intervals() { format!("{WHISKERS} {front}") } else { front.to_owned() }
    }

    /// Names those that have no point.
    fn left_out(&self, bundles: &[Bundle]) -> Option<String> {
        let has_point = |bundle: &Bundle| self.points.iter().any(|point| point.number == bundle.number);
        let names: Vec<&str> =
            bundles.iter().filter(|bundle| !has_point(bundle)).map(|bundle| bundle.name.as_str()).collect();
        (!names.is_empty()).then(|| format!("Left out, without a value or a cost: {}.", first_names(&names)))
    }

    /// Names those that are drawn and stand on no front, a sentence for each reason.
    fn not_counted(&self) -> Vec<String> {
        let told = |(standing, why): (Standing, &str)| {
            let those = self.points.iter().filter(|point| point.standing == standing);
            let names: Vec<&str> = those.map(|point| point.name.trim_end_matches(UNFINISHED)).collect();
            (!names.is_empty()).then(|| format!("Not counted, {why}: {}.", first_names(&names)))
        };
        let reasons = [
            (Standing::Unfinished, "since they did not train to their end"),
            (Standing::Apart, "since they were measured on other text than the front is of, or learn something else"),
        ];
        reasons.into_iter().filter_map(told).collect()
    }

    /// What is to be said where the front is a single point, through which no line goes.
    fn best_in_both(&self) -> Option<String> {
        let front = self.front.points().next().filter(|_| is_single(&self.points, &self.front))?;
        let mut best = counted(&self.points).filter(|point| (point.x, point.y) == front);
        let (first, others) = (best.next()?, best.count());
        let whose = if others == 0 { format!("\"{}\"", first.name) } else { format!("{} runs", others + 1) };
        let untested = self.untested().map(|untested| format!("; {untested}")).unwrap_or_default();
        Some(format!("The front is the one point of {whose}, in a ring{untested}."))
    }

    /// The numbers of the bundles on the front.
    #[cfg(test)]
    pub fn on_front(&self) -> &[u64] {
        &self.on_front
    }

    fn update(&mut self, given: &Given<'_>, cost: &ParallelAxis, view: &View) {
        let (points, direction) = (points(given, cost), Direction::of(given.metric));
        let logs = (view.log_x, view.log_y);
        if points == self.points && Some(direction) == self.direction && logs == self.logs {
            return;
        }
        (self.direction, self.logs) = (Some(direction), logs);
        let shares = shares(&points, logs);
        let width = |at: usize, (point, place): (&Point, &(f64, f64))| {
            // As many rings as there are dots over it.
            let rims = shares.iter().skip(at + 1).filter(|over| is_near(**over, *place)).count().min(RIMS);
            let usual = if point.is_baseline { DOT + PINNED } else { DOT };
            usual + RIM * rims as f32
        };
        let one = |x: f64, y: f64| -> Series { std::iter::once((x, y)).collect() };
        self.drawn = points
            .iter()
            .zip(&shares)
            .enumerate()
            .map(|(at, (point, place))| Drawn {
                series: one(point.x, point.y),
                interval: point.interval.map(|(low, high)| (one(point.x, low), one(point.x, high))),
                place: *place,
                width: width(at, (point, place)),
            })
            .collect();
        // What does not count is nowhere.
        let place = |point: &Point| match point.standing {
            Standing::Counted => (point.x, point.y),
            Standing::Unfinished | Standing::Apart => (f64::NAN, f64::NAN),
        };
        let places: Vec<(f64, f64)> = points.iter().map(place).collect();
        let front = pareto_front(&places, direction);
        self.on_front = front.iter().map(|&at| points[at].number).collect();
        self.front = staircase(&front.into_iter().map(|at| places[at]).collect::<Vec<_>>()).into_iter().collect();
        self.points = points;
    }
}

/// The points that can stand on the front.
fn counted(points: &[Point]) -> impl Iterator<Item = &Point> {
    points.iter().filter(|point| point.standing == Standing::Counted)
}

/// A run whose text is that of the front: of the baseline, or else of most runs that trained to their end. None where values are
/// judged whatever the text.
fn front_of<'a>(given: &Given<'a>) -> Option<&'a RunSummary> {
    if is_rate(given.metric) || Direction::of(given.metric) == Direction::None {
        return None;
    }
    let pinned = given.bundles.iter().find(|bundle| given.baseline == Some(bundle.number));
    let pinned = pinned.and_then(|bundle| bundle.runs.first()).filter(|run| run.held_out_hash.is_some());
    let told = given.bundles.iter().flat_map(|bundle| bundle.counted(given.metric));
    pinned.or_else(|| judged_by_most(&told.filter(|run| is_finished(run.state)).collect::<Vec<_>>()))
}

/// What runs cost, and all numbers that their configs differ in; and in how many keys they differ whose values are words.
fn costs(given: &Given<'_>, view: &View, kept: &mut ConfigAxes) -> (Vec<ParallelAxis>, usize) {
    let results = result_axes(given.bundles, &[]);
    let keys = kept.of(given.bundles, given.configs, view.group.as_deref());
    let is_number = |axis: &&ParallelAxis| matches!(axis.scale, ParallelScale::Number(_));
    let numbers: Vec<ParallelAxis> = keys.iter().filter(is_number).cloned().collect();
    let words = keys.len() - numbers.len();
    let step = results.iter().find(|axis| axis.key == STEPS_PER_SEC).map(step_time);
    let others = results.into_iter().filter(|axis| axis.key != STEPS_PER_SEC);
    (others.chain(step).chain(numbers).collect(), words)
}

/// What can be chosen as a cost, and what is left out.
fn about_costs(words: usize) -> String {
    let left_out = match words {
        0 => String::new(),
        1 => " One key whose values are words is left out.".to_owned(),
        words => format!(" {words} keys whose values are words are left out."),
    };
    format!("What runs cost, and every number that their configs differ in.{left_out}")
}

/// The keys of all costs.
pub(super) fn cost_keys(given: &Given<'_>, view: &View) -> Vec<String> {
    costs(given, view, &mut ConfigAxes::default()).0.into_iter().map(|cost| cost.key).collect()
}

/// The key of the axis of steps a second.
const STEPS_PER_SEC: &str = "steps per second";

/// Steps a second, turned around: less is better, as of every cost.
fn step_time(rates: &ParallelAxis) -> ParallelAxis {
    let values = rates.values.iter().map(|rate| rate.filter(|rate| *rate > 0.0).map(|rate| 1000.0 / rate)).collect();
    let label = "Step time".to_owned();
    ParallelAxis {
        key: "step time".to_owned(),
        scale: ParallelScale::Number(Axis::new(&label).unit("ms")),
        label,
        values,
    }
}

fn points(given: &Given<'_>, cost: &ParallelAxis) -> Vec<Point> {
    let best = Direction::of(given.metric) != Direction::None;
    let value = |run: &RunSummary| {
        let metric = run.metrics.get(given.metric)?;
        if best { metric.best } else { Some(metric.last) }
    };
    let base = front_of(given);
    let point = |(bundle, x): (&Bundle, &Option<f64>)| {
        let told = bundle.counted(given.metric);
        let standing = match base {
            _ if told.iter().any(|run| !is_finished(run.state)) => Standing::Unfinished,
            Some(base) if told.iter().any(|run| why_not_judged(base, run).is_some()) => Standing::Apart,
            _ => Standing::Counted,
        };
        let seeds = told.iter().map(|run| run.seed).collect::<BTreeSet<u64>>().len();
        let values: Vec<f64> = told.into_iter().filter_map(value).filter(|value| value.is_finite()).collect();
        let summary = Summary::of(&values)?;
        let mut name = match (summary.n, bundle.runs.len()) {
            (_, 1) => bundle.name.clone(),
            (n, all) if n < all => format!("{} (n = {n} of {all})", bundle.name),
            (n, _) => format!("{} (n = {n})", bundle.name),
        };
        if standing == Standing::Unfinished {
            name += UNFINISHED;
        }
        Some(Point {
            number: bundle.number,
            name,
            x: (*x).filter(|x| x.is_finite())?,
            y: summary.mean,
            interval: summary.edges(Band::Confidence95),
            seeds,
            is_baseline: given.baseline == Some(bundle.number),
            standing,
            style: bundle.style,
        })
    };
    given.bundles.iter().zip(&cost.values).filter_map(point).collect()
}

/// The front as steps: up to the cost of the next point the value stays.
fn staircase(front: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut steps = Vec::with_capacity(2 * front.len());
    for (place, &(x, y)) in front.iter().enumerate() {
        if let Some((_, before)) = place.checked_sub(1).and_then(|place| front.get(place)) {
            steps.push((x, *before));
        }
        steps.push((x, y));
    }
    steps
}

fn axes(cost: &ParallelAxis, metric: &str, view: &View) -> (Axis, Axis) {
    let x = match &cost.scale {
        ParallelScale::Number(axis) => axis.clone(),
        ParallelScale::Category(_) => Axis::new(&cost.label),
    };
    let y = axis_of(metric, view);
    let best = if Direction::of(metric) == Direction::None { "last" } else { "best" };
    (x, Axis { label: format!("{}, {best}", y.label), ..y })
}

/// Where points stand, as shares of the chart that shows them all.
fn shares(points: &[Point], (log_x, log_y): (bool, bool)) -> Vec<(f64, f64)> {
    let of = |values: Vec<f64>, is_log: bool| -> Vec<f64> {
        let values: Vec<f64> = values.into_iter().map(|value| if is_log { value.ln() } else { value }).collect();
        let known = || values.iter().copied().filter(|value| value.is_finite());
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        let share = |value: f64| if high > low { (value - low) / (high - low) } else { 0.0 };
        values.iter().map(|value| share(*value)).collect()
    };
    let x = of(points.iter().map(|point| point.x).collect(), log_x);
    x.into_iter().zip(of(points.iter().map(|point| point.y).collect(), log_y)).collect()
}

/// Whether two points, by their shares of the chart, hide each other.
fn is_near(a: (f64, f64), b: (f64, f64)) -> bool {
    (a.0 - b.0).abs() <= NEAR.0 && (a.1 - b.1).abs() <= NEAR.1
}

/// Whether one point beats all others in both.
fn is_single(points: &[Point], front: &Series) -> bool {
    counted(points).count() > 1 && front.len() == 1
}

fn lines<'a>(points: &'a [Point], drawn: &'a [Drawn], front: &'a Series) -> Vec<ChartLine<'a>> {
    let line = |(point, drawn): (&'a Point, &'a Drawn)| {
        let band = drawn.interval.as_ref().map(|(low, high)| widgets::Band { low, high });
        // A dot has no dashes.
        let style = LineStyle { dash: Dash::Solid, width: drawn.width, ..point.style };
        ChartLine { band, ..ChartLine::styled(point.number, &point.name, &drawn.series, style) }
    };
    let widest = drawn.iter().map(|drawn| drawn.width).fold(RING - RIM, f32::max);
    let (dash, width) = if is_single(points, front) { (Dash::Solid, widest + RIM) } else { (Dash::Dashed, 1.2) };
    // The corners of its steps are no points.
    let front = (!front.is_empty()).then(|| ChartLine {
        colour: theme::BACKDROP,
        dash,
        width,
        dots: false,
        ..ChartLine::new(FRONT, "Front", front)
    });
    front.into_iter().chain(points.iter().zip(drawn).map(line)).collect()
}

fn chart<'a>(lines: &'a [ChartLine<'a>], x: Axis, y: Axis, view: &View) -> Chart<'a> {
    Chart::new("scatter", "Quality against cost", lines)
        .x_axis(x)
        .y_axis(y)
        .log_x(view.log_x)
        .log_y(view.log_y)
        .smoothing(0.0)
        .legend(true)
        .empty_text("No run has both a value and a cost yet")
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::{RunState, series_names};

    use super::super::lines::{bundles, tests};
    use super::super::view::USUAL_COST;
    use super::*;
    use crate::compare::names_apart;

    #[test]
    fn groups_are_points_with_intervals_and_the_front_goes_through_those_that_nobody_beats() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        for (run, best) in state.runs.iter_mut().zip([1.0, 2.0, 3.0, 1.5]) {
            run.metrics.get_mut(series_names::VALIDATION_LOSS).unwrap().best = Some(best);
        }
        state.runs[3].parameters = Some(2_480_000);
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let view = View { group: Some("seed".to_owned()), ..View::default() };
        let given =
            Given { bundles: &grouped, metric: series_names::VALIDATION_LOSS, configs: &configs, baseline: Some(0) };
        let mut scatter = ScatterView::default();
        let figure = scatter.figure(&given, &view, BTreeMap::new()).unwrap();
        assert_eq!(scatter.on_front(), [0, 3], "the dearer one is better");
        assert!(scatter.about().starts_with(WHISKERS) && figure.notes.iter().any(|note| note == WHISKERS));
        assert!(scatter.about().contains("points of 1 seed are not tested"), "{}", scatter.about());
        let names: Vec<&str> = figure.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["Front", "base (n = 3)", "other"]);
        assert_eq!(figure.series[0].points, [(1_240_000.0, 2.0), (2_480_000.0, 2.0), (2_480_000.0, 1.5)]);
        let base = &figure.series[1];
        assert_eq!(base.points, [(1_240_000.0, 2.0)]);
        // t(0.975, 2) · 1 / √3 = 2.484.
        assert!((base.band[0].1 + 0.484).abs() < 1e-3 && (base.band[0].2 - 4.484).abs() < 1e-3, "{:?}", base.band);
        assert!(figure.series[2].band.is_empty(), "one run has no interval");
        let keys = cost_keys(&given, &view);
        for key in [USUAL_COST, "FLOPs per step", "step time", "model.layers"] {
            assert!(keys.iter().any(|known| known == key), "{key} in {keys:?}");
        }
    }

    #[test]
    fn a_run_that_is_best_in_both_is_ringed_and_named() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let metric = series_names::VALIDATION_LOSS;
        for (place, run) in state.runs.iter_mut().enumerate() {
            run.metrics.get_mut(metric).unwrap().best = Some(2.0 + place as f64);
            run.parameters = Some(1_000_000 * (place as u64 + 1));
        }
        let shown = |runs: &[RunSummary], baseline: Option<u64>| {
            let alone = bundles(runs, &names_apart(runs), None, &configs, None);
            let given = Given { bundles: &alone, metric, configs: &configs, baseline };
            ScatterView::default().figure(&given, &View::default(), BTreeMap::new()).unwrap()
        };
        let figure = shown(&state.runs, Some(0));
        assert_eq!(figure.series[0].points, [(1_000_000.0, 2.0)]);
        let told = "The front is the one point of \"base, seed 0\", in a ring; 1 seed each: not tested.";
        assert!(figure.notes.iter().any(|note| note == told), "{:?}", figure.notes);
        assert!(figure.series[0].width > figure.series[1].width, "around the dot of the baseline too");
        // Two that are the same are both best.
        let mut twice = state.runs.clone();
        twice[1].metrics.get_mut(metric).unwrap().best = Some(2.0);
        twice[1].parameters = Some(1_000_000);
        assert!(shown(&twice, None).notes.iter().any(|note| note.starts_with("The front is the one point of 2 runs")));
        // A front of several points is a line, and that of a run alone says nothing.
        let mut apart = state.runs.clone();
        apart[3].metrics.get_mut(metric).unwrap().best = Some(1.0);
        for figure in [shown(&apart, None), shown(&state.runs[..1], None)] {
            assert!(figure.series[0].width < DOT && !figure.notes.iter().any(|note| note.contains("the one point")));
        }
    }

    #[test]
    fn every_number_of_the_configs_can_be_chosen_however_many_keys_differ() {
        let mut state = tests::state();
        for (place, run) in state.runs.clone().iter().enumerate() {
            let record = state.records.get_mut(&run.id).unwrap();
            // Words that come before all others in the alphabet, and the number P of a schedule behind them.
            let words = (0..12).map(|key| (format!("k{key:02}"), serde_json::Value::from(format!("of run {place}"))));
            record.config["aaa"] = serde_json::Value::Object(words.collect());
            record.config["attention"]["reuse"] = serde_json::json!({ "kind": "full", "layers": place });
        }
        let configs = tests::configs(&mut state);
        let alone = bundles(&state.runs, &names_apart(&state.runs), None, &configs, None);
        let given = Given { bundles: &alone, metric: series_names::VALIDATION_LOSS, configs: &configs, baseline: None };
        let (costs, words) = costs(&given, &View::default(), &mut ConfigAxes::default());
        assert_eq!(words, 12);
        assert!(about_costs(words).ends_with("12 keys whose values are words are left out."));
        for key in ["attention.reuse.layers", "model.layers", "seed"] {
            assert!(costs.iter().any(|cost| cost.key == key), "{key}");
        }
        let view = View { cost: "attention.reuse.layers".to_owned(), ..View::default() };
        let figure = ScatterView::default().figure(&given, &view, BTreeMap::new()).unwrap();
        assert_eq!(figure.x.axis.label, "reuse.layers");
    }

    #[test]
    fn of_points_at_one_place_all_are_seen_and_clicks_choose_one_after_the_other() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let metric = series_names::VALIDATION_LOSS;
        // The first two and the last cost the same and come to nearly the same; the third stands apart.
        for (run, best) in state.runs.iter_mut().zip([2.0, 2.000_1, 3.0, 2.0]) {
            run.metrics.get_mut(metric).unwrap().best = Some(best);
            run.parameters = Some(1_000_000);
        }
        let alone = bundles(&state.runs, &names_apart(&state.runs), None, &configs, None);
        let given = Given { bundles: &alone, metric, configs: &configs, baseline: None };
        let mut scatter = ScatterView::default();
        let figure = scatter.figure(&given, &View::default(), BTreeMap::new()).unwrap();
        let runs = figure.series.iter().filter(|series| series.name != "Front");
        let widths: Vec<f32> = runs.map(|series| series.width).collect();
        assert_eq!(widths, [DOT + 2.0 * RIM, DOT + RIM, DOT, DOT], "those below stand around those above");
        // The pointer meets the first of them each time.
        let mut clicked = Vec::new();
        for _ in 0..4 {
            scatter.chosen = Some(scatter.next_at(0));
            clicked.extend(scatter.chosen);
        }
        assert_eq!(clicked, [0, 1, 3, 0]);
        assert_eq!(scatter.next_at(2), 2, "it stands alone");
    }

    #[test]
    fn points_that_a_logarithmic_axis_draws_apart_hide_nothing() {
        let point = |number: u64, x: f64| Point {
            number,
            name: String::new(),
            x,
            y: 1.0,
            interval: None,
            seeds: 1,
            is_baseline: false,
            standing: Standing::Counted,
            style: LineStyle::BASELINE,
        };
        let points = [point(0, 1e6), point(1, 2e6), point(2, 1e9)];
        let places = |is_log: bool| shares(&points, (is_log, false));
        assert!(is_near(places(false)[0], places(false)[1]) && !is_near(places(true)[0], places(true)[1]));
        assert!(!is_near(places(true)[0], places(true)[2]));
    }

    #[test]
    fn a_mean_says_of_how_many_runs_it_is() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let metric = series_names::VALIDATION_LOSS;
        state.runs[1].metrics.clear();
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let given = Given { bundles: &grouped, metric, configs: &configs, baseline: None };
        let view = View { group: Some("seed".to_owned()), ..View::default() };
        let figure = ScatterView::default().figure(&given, &view, BTreeMap::new()).unwrap();
        let names: Vec<&str> = figure.series.iter().map(|series| series.name.as_str()).collect();
        assert!(names.contains(&"base (n = 2 of 3)") && names.contains(&"other"), "{names:?}");
    }

    /// The runs, with best losses of 2, 3, 1 and 4 in this order, all at one cost: who is on the front, what is said, and
    /// how the points are called.
    fn on_front(
        state: &mut crate::state::State,
        metric: &str,
        baseline: Option<u64>,
    ) -> (Vec<u64>, Vec<String>, Vec<String>) {
        for (run, best) in state.runs.iter_mut().zip([2.0, 3.0, 1.0, 4.0]) {
            run.metrics.get_mut(series_names::VALIDATION_LOSS).unwrap().best = Some(best);
        }
        let configs = tests::configs(state);
        let alone = bundles(&state.runs, &names_apart(&state.runs), None, &configs, None);
        let given = Given { bundles: &alone, metric, configs: &configs, baseline };
        let mut scatter = ScatterView::default();
        let figure = scatter.figure(&given, &View::default(), BTreeMap::new()).unwrap();
        // Nothing is said of what is not drawn.
        assert_eq!(figure.series.iter().any(|series| series.name == "Front"), !scatter.on_front().is_empty());
        assert_eq!(scatter.about().starts_with("No front"), scatter.on_front().is_empty());
        assert!(!figure.notes.iter().any(|note| note == WHISKERS), "one run each: {:?}", figure.notes);
        let is_called_better = |words: &str| ["best", "beat", "better"].iter().any(|word| words.contains(word));
        let told = figure.notes.iter().map(String::as_str).chain([scatter.about().as_str()]).any(is_called_better);
        assert!(!told || scatter.on_front().is_empty(), "one seed each: {:?} {}", figure.notes, scatter.about());
        let names = figure.series.into_iter().map(|series| series.name).collect();
        (scatter.on_front().to_vec(), figure.notes, names)
    }

    #[test]
    fn a_run_on_other_text_is_left_out_of_the_front_of_the_others() {
        let mut state = tests::state();
        let metric = series_names::VALIDATION_LOSS;
        state.runs[2].held_out_hash = Some("other".to_owned());
        let (front, notes, _) = on_front(&mut state, metric, None);
        assert_eq!(front, [0], "the text of most; that of the third is another one");
        assert!(notes[0].starts_with("The front is the one point of \"base, seed 0\""), "{notes:?}");
        assert!(notes[1].starts_with("Not counted, since they were measured on other text"), "{notes:?}");
        assert!(notes[1].ends_with(": base, seed 2."), "{notes:?}");
        let (front, notes, _) = on_front(&mut state, metric, Some(2));
        assert_eq!(front, [2], "the text of the baseline");
        assert!(notes[0].ends_with(": base, seed 0, base, seed 1, other."), "{notes:?}");
        assert!(on_front(&mut state, "train/grad_norm", None).0.is_empty(), "of no direction");
    }

    #[test]
    fn a_run_that_did_not_finish_is_drawn_and_stands_on_no_front() {
        let mut state = tests::state();
        let metric = series_names::VALIDATION_LOSS;
        for early in [RunState::Running, RunState::Interrupted, RunState::Cancelled, RunState::Diverged] {
            state.runs[2].state = early;
            let (front, notes, names) = on_front(&mut state, metric, None);
            assert_eq!(front, [0], "{early}");
            assert!(notes[0].starts_with("The front is the one point of \"base, seed 0\""), "{notes:?}");
            assert!(names.contains(&"base, seed 2 (not finished)".to_owned()), "{names:?}");
            let told = "Not counted, since they did not train to their end: base, seed 2.";
            assert_eq!(notes[1], told, "{early}");
        }
        // Its text says nothing of the others'.
        state.runs[2].held_out_hash = Some("other".to_owned());
        assert!(on_front(&mut state, metric, Some(2)).0.is_empty(), "the baseline alone has its text");
        for run in &mut state.runs {
            run.state = RunState::Running;
        }
        assert!(on_front(&mut state, metric, None).0.is_empty());
    }

    #[test]
    fn runs_without_a_point_are_named() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let missing = |state: &crate::state::State| {
            let alone = bundles(&state.runs, &names_apart(&state.runs), None, &configs, None);
            let metric = series_names::VALIDATION_LOSS;
            let given = Given { bundles: &alone, metric, configs: &configs, baseline: None };
            let mut scatter = ScatterView::default();
            scatter.figure(&given, &View::default(), BTreeMap::new()).unwrap();
            scatter.left_out(&alone)
        };
        assert_eq!(missing(&state), None);
        state.runs[3].metrics.clear();
        assert_eq!(missing(&state).unwrap(), "Left out, without a value or a cost: other.");
        for run in &mut state.runs {
            run.metrics.clear();
        }
        let told = missing(&state).unwrap();
        assert!(told.ends_with("base, seed 0, base, seed 1, base, seed 2 and 1 more."), "{told}");
    }

    #[test]
    fn the_front_is_drawn_as_steps() {
        assert_eq!(staircase(&[(1.0, 5.0), (3.0, 2.0)]), [(1.0, 5.0), (3.0, 5.0), (3.0, 2.0)]);
        assert!(staircase(&[]).is_empty());
    }

    #[test]
    fn stored_runs_are_told_apart_by_colour_as_in_the_window() {
        let state = tests::state();
        let records: Vec<_> = state.runs.iter().filter_map(|run| state.records.get(&run.id).cloned()).collect();
        let view = View::default();
        let figure = super::super::figures::stored_scatter(&records, series_names::VALIDATION_LOSS, &view).unwrap();
        let colours: Vec<_> = figure.series.iter().map(|series| (series.name.as_str(), series.colour)).collect();
        let [_, (base, own), (other, its)] = colours.as_slice() else { panic!("{colours:?}") };
        assert_eq!((*base, *other), ("base (n = 3)", "other"));
        assert_ne!(own, its);
        let none = View { cost: "nothing".to_owned(), ..view };
        let known = super::super::figures::stored_scatter(&records, series_names::VALIDATION_LOSS, &none).unwrap_err();
        assert!(known.iter().any(|key| key == USUAL_COST), "{known:?}");
    }
}
