//! The lines of the chart: a run each, or a group each.

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use headroom_engine::{
    config::counted,
    store::{RunId, RunState, RunSummary, series_names},
};

use super::view::View;
use crate::{
    compare::{Aligned, Alignment, Band, align, curve_x, is_finished, name_of_seeds},
    panels::runs::FlatConfigs,
    plot::{Series, Version, XAxis},
    state::{Selection, State},
    theme::LineStyle,
    widgets::{self, ChartLine},
};

/// While runs train, a group's mean is computed anew at most so often.
pub const RENEW_EVERY: Duration = Duration::from_millis(500);

/// Runs that are drawn as one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The stable number of the first one: gives the colour and stands for the line.
    pub number: u64,
    /// The name in legend and table.
    pub name: String,
    /// The runs. Of a run that was repeated with its seed and came to the same values only the first: the others tell nothing
    /// more.
    pub runs: Vec<RunSummary>,
    /// The repeats that were left out.
    pub repeats: Vec<RunId>,
    /// Runs beside others that ended before their first step: what they came to says nothing of the group.
    pub idle: Vec<RunId>,
    /// How its line is drawn.
    pub style: LineStyle,
}

impl Bundle {
    /// Whether the run is one of them.
    pub fn has(&self, run: &RunId) -> bool {
        self.ids().any(|own| own == run)
    }

    /// The runs that count where a series is told in one number: those that have it, and of these the ones that trained to their
    /// end, if any did, or else the ones that ended. A seed that has only begun, or was stopped early, says nothing beside
    /// one that is done.
    pub fn counted(&self, series: &str) -> Vec<&RunSummary> {
        let has: Vec<&RunSummary> = self.runs.iter().filter(|run| run.metrics.contains_key(series)).collect();
        let those =
            |counts: fn(RunState) -> bool| has.iter().copied().filter(|run| counts(run.state)).collect::<Vec<_>>();
        let best = [those(is_finished), those(RunState::is_ended)].into_iter().find(|runs| !runs.is_empty());
        best.unwrap_or(has)
    }

    /// Whether some of its runs count for a series and others do not.
    pub fn counts_in_part(&self, series: &str) -> bool {
        (1..self.runs.len()).contains(&self.counted(series).len())
    }

    /// How many of its runs diverged, those that do not count too.
    pub fn diverged(&self) -> usize {
        self.runs.iter().filter(|run| run.state == RunState::Diverged).count()
    }

    /// What is said of its runs that do not count; empty where all do.
    pub fn left_out(&self) -> String {
        let mut said = Vec::new();
        match self.repeats.len() {
            0 => {}
            n if self.runs.len() == 1 => {
                said.push(format!("The oldest of {} runs of this seed, which came to the same losses.", n + 1));
            }
            n => said.push(format!("{} came to the losses of an older one: not counted.", counted(n, "run"))),
        }
        if !self.idle.is_empty() {
            said.push(format!("{} ended before the first step: not counted.", counted(self.idle.len(), "run")));
        }
        let short = self.runs.iter().filter(|run| run.state.is_ended() && !is_finished(run.state)).count();
        if short > 0 && self.runs.iter().any(|run| is_finished(run.state)) {
            said.push(format!("{} ended before the last step: not counted.", counted(short, "run")));
        }
        said.join("\n")
    }

    /// Every run of it, those that do not count too.
    fn ids(&self) -> impl Iterator<Item = &RunId> {
        self.runs.iter().map(|run| &run.id).chain(&self.repeats).chain(&self.idle)
    }
}

/// Puts runs into bundles: alone under the name of theirs in `names`, or grouped once all configs are known. What holds the
/// baseline is called as that is.
pub fn bundles(
    runs: &[RunSummary],
    names: &[String],
    group: Option<&str>,
    configs: &FlatConfigs,
    baseline: Option<&RunId>,
) -> Vec<Bundle> {
    let Some((key, groups)) = group.and_then(|key| Some((key, configs.grouped(runs, key)?))) else {
        let alone = runs.iter().zip(names);
        let bundle = |(run, name): (&RunSummary, &String)| Bundle {
            number: run.number,
            name: name.clone(),
            runs: vec![run.clone()],
            repeats: Vec::new(),
            idle: Vec::new(),
            style: LineStyle::BASELINE,
        };
        return alone.map(bundle).collect();
    };
    let all = runs;
    let mut made: Vec<Bundle> = groups
        .iter()
        .filter_map(|group| {
            let mut runs: Vec<RunSummary> = group.runs.iter().filter_map(|&place| all.get(place)).cloned().collect();
            let idle = group.idle.iter().filter_map(|&place| all.get(place)).map(|run| run.id.clone()).collect();
            let repeats = take_repeats(&mut runs);
            let first = runs.first()?;
            let place_of = |run: &RunId| group.all().find(|&place| all.get(place).is_some_and(|own| own.id == *run));
            let pinned = baseline.and_then(place_of);
            let name = if runs.len() == 1 && (group.label.is_empty() || key == "seed") {
                // That of the run whose figures are shown, unless it repeats what is pinned.
                let own = pinned.or_else(|| place_of(&first.id)).and_then(|index| names.get(index));
                own.unwrap_or(&first.name).clone()
            } else if group.label.is_empty() || key == "seed" {
                let pinned = pinned.and_then(|index| all.get(index));
                name_of_seeds(pinned.unwrap_or_else(|| commonest_named(&runs, first)))
            } else {
                group.label.clone()
            };
            Some(Bundle { number: first.number, name, runs, repeats, idle, style: LineStyle::BASELINE })
        })
        .collect();
    // Names that do not tell groups apart give way to what does.
    let given: Vec<String> = made.iter().map(|bundle| bundle.name.clone()).collect();
    for (index, (bundle, group)) in made.iter_mut().zip(&groups).enumerate() {
        let repeats = given.iter().enumerate().any(|(other, name)| other != index && *name == bundle.name);
        if repeats && !group.label.is_empty() && bundle.name != group.label {
            bundle.name = format!("{}, {}", bundle.name, group.label);
        }
    }
    made
}

/// A run that is called as most of them are; of names of as many, the oldest run.
fn commonest_named<'a>(runs: &'a [RunSummary], first: &'a RunSummary) -> &'a RunSummary {
    let count = |name: &str| runs.iter().filter(|run| run.name == name).count();
    // Of equal ones the last is found.
    runs.iter().rev().max_by_key(|run| count(&run.name)).unwrap_or(first)
}

/// Takes out runs that repeat an earlier one: the same seed, as many steps, and the same losses to the last bit.
fn take_repeats(runs: &mut Vec<RunSummary>) -> Vec<RunId> {
    let print = |run: &RunSummary| {
        let loss =
            |series: &str| run.metrics.get(series).map(|loss| (loss.last.to_bits(), loss.best.map(f64::to_bits)));
        // Without a loss nothing says that they are the same.
        let losses = [loss(series_names::TRAIN_LOSS)?, loss(series_names::VALIDATION_LOSS)?];
        Some((run.seed, run.steps_done, losses))
    };
    let mut known = BTreeSet::new();
    let mut repeats = Vec::new();
    runs.retain(|run| {
        let is_new = print(run).is_none_or(|print| known.insert(print));
        if !is_new {
            repeats.push(run.id.clone());
        }
        is_new
    });
    repeats
}

/// Gives bundles the styles that they are drawn in. The runs of a group look as it does in every panel, and whatever holds the
/// baseline looks as the baseline does.
pub fn style_bundles(bundles: &mut [Bundle], is_grouped: bool, selection: &mut Selection) {
    selection.draw_groups(bundles.iter().filter(|_| is_grouped).map(|bundle| bundle.ids().collect()));
    for bundle in bundles {
        let style = bundle.ids().next().map(|run| selection.style_of(run));
        bundle.style = style.unwrap_or(LineStyle::BASELINE);
    }
}

/// One line, ready to be drawn.
pub struct Line {
    /// As [`Bundle::number`].
    pub number: u64,
    /// As [`Bundle::name`], with n where it is a group.
    pub name: String,
    /// The run's points, or the group's mean.
    pub series: Series,
    /// The band's lower and upper edge.
    band: Option<(Series, Series)>,
    /// How it is drawn.
    pub style: LineStyle,
    marks: Vec<(f64, String)>,
}

impl Line {
    /// A line without marks.
    pub fn new(bundle: &Bundle, name: String, series: Series, band: Option<(Series, Series)>) -> Self {
        Self { number: bundle.number, name, series, band, style: bundle.style, marks: Vec::new() }
    }

    /// As the chart takes it.
    pub fn chart_line(&self) -> ChartLine<'_> {
        let band = self.band.as_ref().map(|(low, high)| widgets::Band { low, high });
        let line = ChartLine::styled(self.number, &self.name, &self.series, self.style);
        ChartLine { band, marks: &self.marks, ..line }
    }

    /// Whether it is a mean with a band around it.
    pub fn has_band(&self) -> bool {
        self.band.is_some()
    }

    /// The first x and the last.
    pub fn span(&self) -> Option<(f64, f64)> {
        Some((*self.series.x().first()?, *self.series.x().last()?))
    }

    /// The value at `x`: of the last point at or before it, none outside the line.
    pub fn at(&self, x: f64) -> Option<f64> {
        self.series.y().get(self.index(x)?).copied()
    }

    /// The edges of the band there, where it has some.
    pub fn edges_at(&self, x: f64) -> Option<(f64, f64)> {
        let ((low, high), index) = (self.band.as_ref()?, self.index(x)?);
        let edges = (*low.y().get(index)?, *high.y().get(index)?);
        (edges.0.is_finite() && edges.1.is_finite()).then_some(edges)
    }

    /// The place of the last point at or before `x`.
    fn index(&self, x: f64) -> Option<usize> {
        let xs = self.series.x();
        let beyond = xs.last().is_none_or(|&last| last < x);
        let index = xs.partition_point(|&own| own <= x).checked_sub(1)?;
        (!beyond).then_some(index)
    }
}

/// What was made of a metric.
#[derive(Default)]
pub struct Made {
    /// The lines.
    pub lines: Vec<Line>,
    /// Curves that are not loaded yet.
    pub loading: usize,
    /// Runs without an x of the chosen kind.
    pub without_x: usize,
    /// Runs that have no such series.
    pub without_metric: usize,
    /// How groups were aligned: the least exact way that was used.
    pub alignment: Option<Alignment>,
    /// Whether a group's mean is older than its points; it is renewed in a moment.
    pub stale: bool,
}

/// A group's statistics and what they were computed from.
struct Kept {
    from: Vec<Version>,
    x: XAxis,
    band: Band,
    at: Instant,
    what: Summarised,
    is_stale: bool,
    seen: bool,
}

/// Mean and band of several curves.
pub(super) struct Summarised {
    pub mean: Series,
    pub edges: Option<(Series, Series)>,
    /// Fewest and most curves at one x.
    pub n: (usize, usize),
    pub alignment: Alignment,
}

impl Kept {
    fn new(curves: &[Series], from: Vec<Version>, view: &View) -> Self {
        let what = summarise(curves, view.band);
        Self { from, x: view.x, band: view.band, at: Instant::now(), what, is_stale: false, seen: true }
    }
}

/// Makes lines and remembers the statistics of groups.
#[derive(Default)]
pub struct LineMaker {
    kept: HashMap<(Vec<u64>, String), Kept>,
}

impl LineMaker {
    /// A new frame: what is not asked for in it is forgotten at its end.
    pub fn begin(&mut self) {
        for kept in self.kept.values_mut() {
            kept.seen = false;
        }
    }

    /// Forgets what was not asked for since [`LineMaker::begin`].
    pub fn end(&mut self) {
        self.kept.retain(|_, kept| kept.seen);
    }

    /// The lines of a metric.
    pub fn make(&mut self, bundles: &[Bundle], metric: &str, view: &View, state: &mut State) -> Made {
        let mut made = Made::default();
        for bundle in bundles {
            let loading_before = made.loading;
            let mut curves: Vec<Series> = Vec::with_capacity(bundle.runs.len());
            for run in &bundle.runs {
                let Some(x) = curve_x(run, view.x) else {
                    made.without_x += 1;
                    continue;
                };
                match state.series.curve(&run.id, metric, x) {
                    None => made.loading += 1,
                    Some(curve) if curve.is_empty() => made.without_metric += 1,
                    Some(curve) => curves.push(curve.clone()),
                }
            }
            let (name, number, style) = (bundle.name.clone(), bundle.number, bundle.style);
            if bundle.runs.len() == 1 {
                if let (Some(series), Some(run)) = (curves.pop(), bundle.runs.first()) {
                    let x = curve_x(run, view.x);
                    let marks = x.map_or_else(Vec::new, |x| state.series.resumed_marks(&run.id, metric, x));
                    made.lines.push(Line { number, name, series, band: None, style, marks });
                }
            } else if !curves.is_empty() {
                let key = (bundle.runs.iter().map(|run| run.number).collect(), metric.to_owned());
                let kept = self.kept(key, &curves, view);
                made.stale |= kept.is_stale;
                made.alignment =
                    Some(made.alignment.map_or(kept.what.alignment, |so_far| coarser(so_far, kept.what.alignment)));
                let (fewest, most) = kept.what.n;
                let n = if fewest == most { most.to_string() } else { format!("{fewest}–{most}") };
                // Those that are on their way are no runs without points.
                let all = bundle.runs.len() - (made.loading - loading_before);
                let n = if most < all { format!("{n} of {all}") } else { n };
                made.lines.push(Line {
                    number,
                    name: format!("{name} (n = {n})"),
                    series: kept.what.mean.clone(),
                    band: kept.what.edges.clone(),
                    style,
                    marks: Vec::new(),
                });
            }
        }
        made
    }

    fn kept(&mut self, key: (Vec<u64>, String), curves: &[Series], view: &View) -> &Kept {
        let from: Vec<Version> = curves.iter().map(Series::version).collect();
        let fresh = |kept: &Kept| {
            (kept.x, kept.band) == (view.x, view.band)
                && (kept.from == from || (kept.from.len() == from.len() && kept.at.elapsed() < RENEW_EVERY))
        };
        let kept = self.kept.entry(key).or_insert_with(|| Kept::new(curves, from.clone(), view));
        kept.is_stale = kept.from != from;
        if !fresh(kept) {
            *kept = Kept::new(curves, from, view);
        }
        kept.seen = true;
        kept
    }
}

/// Brings curves to the same x and summarises them.
pub(super) fn summarise(curves: &[Series], band: Band) -> Summarised {
    let columns: Vec<(&[f64], &[f64])> = curves.iter().map(|curve| (curve.x(), curve.y())).collect();
    let Aligned { x, summary, alignment } = align(&columns);
    let of = |value: &dyn Fn(usize) -> f64| -> Series {
        x.iter().copied().enumerate().map(|(i, x)| (x, value(i))).collect()
    };
    let mean = of(&|i| summary.get(i).map_or(f64::NAN, |s| s.mean));
    let edge = |i: usize| summary.get(i).and_then(|s| s.edges(band)).unwrap_or((f64::NAN, f64::NAN));
    let has_band = band != Band::None && summary.iter().any(|s| s.edges(band).is_some());
    let edges = has_band.then(|| (of(&|i| edge(i).0), of(&|i| edge(i).1)));
    let counts = || summary.iter().map(|s| s.n);
    let n = (counts().min().unwrap_or_default(), counts().max().unwrap_or_default());
    Summarised { mean, edges, n, alignment }
}

/// The one that takes more liberty with the values.
pub(super) fn coarser(a: Alignment, b: Alignment) -> Alignment {
    match (a, b) {
        (Alignment::Interpolated(x), Alignment::Interpolated(y)) => Alignment::Interpolated(x.max(y)),
        (Alignment::Interpolated(x), _) | (_, Alignment::Interpolated(x)) => Alignment::Interpolated(x),
        (Alignment::Shared, _) | (_, Alignment::Shared) => Alignment::Shared,
        _ => Alignment::Exact,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use headroom_engine::{
        protocol::{Event, events},
        store::SeriesData,
    };

    use super::*;
    use crate::{compare::names_apart, examples};

    const METRIC: &str = series_names::VALIDATION_LOSS;

    /// Three seeds of one config and one run of another, with curves on the same steps.
    pub fn state() -> State {
        let mut state = State::default();
        state.runs_loaded = true;
        for number in 0..4_u64 {
            let mut run = examples::summary(number, if number < 3 { "base" } else { "other" });
            run.seed = number;
            let mut record = examples::record(number, &run.name);
            record.config["seed"] = number.into();
            record.config["model"]["layers"] = if number < 3 { 4.into() } else { 8.into() };
            record.summary = run.clone();
            state.records.insert(run.id.clone(), record);
            state.selection.visible.insert(run.id.clone());
            state.series.want(&run.id, METRIC);
            let data = SeriesData {
                steps: vec![50, 100],
                values: vec![2.0 + number as f64, 1.0 + number as f64],
                wall_ms: vec![500, 1000],
                tokens: vec![5000, 10_000],
                is_whole: true,
                ..SeriesData::default()
            };
            state.series.take(run.id.clone(), METRIC.to_owned(), true, data);
            state.runs.push(run);
        }
        // As they come from the engine: then they have names of their own.
        let runs = std::mem::take(&mut state.runs);
        state.apply(Event::Runs(events::Runs { runs }));
        state
    }

    pub fn configs(state: &mut State) -> FlatConfigs {
        let mut configs = FlatConfigs::default();
        let ids: Vec<RunId> = state.runs.iter().map(|run| run.id.clone()).collect();
        assert_eq!(configs.want(state, ids), 0);
        configs
    }

    #[test]
    fn seeds_become_one_line_with_mean_band_and_n() {
        let mut state = state();
        let configs = configs(&mut state);
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let names: Vec<_> = grouped.iter().map(|bundle| (bundle.name.as_str(), bundle.runs.len())).collect();
        assert_eq!(names, [("base", 3), ("other", 1)]);
        let mut maker = LineMaker::default();
        maker.begin();
        let made = maker.make(&grouped, METRIC, &View::default(), &mut state);
        assert_eq!((made.loading, made.without_metric, made.alignment), (0, 0, Some(Alignment::Exact)));
        let base = &made.lines[0];
        assert_eq!(base.name, "base (n = 3)");
        assert_eq!(base.series.points().collect::<Vec<_>>(), [(50.0, 3.0), (100.0, 2.0)]);
        let (low, high) = base.band.as_ref().unwrap();
        assert_eq!((low.y(), high.y()), (&[2.0, 1.0][..], &[4.0, 3.0][..]), "sd of 1, 2, 3 is 1");
        assert!(made.lines[1].band.is_none());
    }

    #[test]
    fn the_line_of_a_sweep_of_seeds_is_not_called_after_one_seed() {
        let mut state = state();
        let configs = configs(&mut state);
        for run in &mut state.runs {
            run.name = format!("base: seed {}", run.seed);
        }
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let names: Vec<_> = grouped.iter().map(|bundle| bundle.name.as_str()).collect();
        assert_eq!(names, ["base: seeds", "base: seed 3"], "one run alone has its own name");
    }

    #[test]
    fn a_run_that_was_repeated_with_its_seed_counts_once() {
        let mut state = state();
        for run in &mut state.runs {
            let loss = run.metrics.get_mut(METRIC).unwrap();
            loss.last += run.seed as f64;
        }
        let mut again = state.runs[1].clone();
        (again.id, again.number) = (examples::summary(9, "base").id, 9);
        let mut record = state.records.get(&state.runs[1].id).unwrap().clone();
        record.summary = again.clone();
        state.records.insert(again.id.clone(), record);
        state.runs.push(again.clone());
        let made = |state: &mut State| {
            let configs = configs(state);
            bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None).swap_remove(0)
        };
        let group = made(&mut state);
        assert_eq!((group.runs.len(), &group.repeats), (3, &vec![again.id.clone()]));
        assert!(group.has(&again.id), "it is one of them all the same");
        // Another value: something was not repeated, such as the number of threads.
        state.runs[4].metrics.get_mut(METRIC).unwrap().last += 1e-9;
        let group = made(&mut state);
        assert_eq!((group.runs.len(), group.repeats.len()), (4, 0));
    }

    #[test]
    fn of_two_runs_of_one_seed_that_came_to_the_same_the_older_one_is_named_and_counts() {
        let mut state = state();
        state.runs.retain(|run| matches!(run.number, 0 | 1));
        let (seed, config) = (state.runs[0].seed, state.records.get(&state.runs[0].id).unwrap().config.clone());
        let metrics = state.runs[0].metrics.clone();
        for run in &mut state.runs {
            (run.seed, run.metrics) = (seed, metrics.clone());
            state.records.get_mut(&run.id).unwrap().config = config.clone();
        }
        // As the engine lists them.
        state.runs.sort_by_key(|run| std::cmp::Reverse(run.number));
        let configs = configs(&mut state);
        let group = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None).swap_remove(0);
        assert_eq!((group.name.as_str(), group.number, group.runs.len()), ("base", 0, 1));
        assert_eq!(group.left_out(), "The oldest of 2 runs of this seed, which came to the same losses.");
    }

    #[test]
    fn a_run_that_ended_before_its_first_step_is_none_of_its_group() {
        let mut state = state();
        let configs = configs(&mut state);
        let group = |state: &State| {
            bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None).swap_remove(0)
        };
        assert_eq!((group(&state).idle.len(), group(&state).left_out()), (0, String::new()));
        let cancelled = state.runs[1].id.clone();
        (state.runs[1].state, state.runs[1].steps_done) = (RunState::Cancelled, 0);
        let found = group(&state);
        assert_eq!((found.runs.len(), &found.idle), (2, &vec![cancelled.clone()]));
        assert!(found.has(&cancelled), "its eye and its pin are those of the group all the same");
        assert_eq!(found.left_out(), "1 run ended before the first step: not counted.");
        // One that waits is on its way; where none did a step, all are what there is.
        state.runs[1].state = RunState::Queued;
        assert_eq!(group(&state).runs.len(), 3);
        for run in &mut state.runs {
            (run.state, run.steps_done) = (RunState::Cancelled, 0);
        }
        assert_eq!(group(&state).runs.len(), 3);
    }

    #[test]
    fn where_a_run_of_a_group_finished_those_that_were_cut_short_do_not_count() {
        let mut state = state();
        let configs = configs(&mut state);
        let group = |state: &State| {
            bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None).swap_remove(0)
        };
        let seeds = |group: &Bundle| group.counted(METRIC).iter().map(|run| run.seed).collect::<Vec<_>>();
        for cut in [RunState::Stopped, RunState::Interrupted, RunState::Diverged, RunState::Failed] {
            (state.runs[2].state, state.runs[2].steps_done) = (cut, 53);
            let found = group(&state);
            assert_eq!((seeds(&found), found.runs.len()), (vec![0, 1], 3), "{cut}: it is drawn all the same");
            assert_eq!(found.left_out(), "1 run ended before the last step: not counted.");
            assert_eq!(found.diverged(), usize::from(cut == RunState::Diverged));
        }
        for run in &mut state.runs[..2] {
            run.state = RunState::Stopped;
        }
        let found = group(&state);
        assert_eq!((seeds(&found), found.left_out()), (vec![0, 1, 2], String::new()), "none finished");
        // One that trains says less than what has ended in whatever way.
        state.runs[0].state = RunState::Running;
        assert_eq!(seeds(&group(&state)), [1, 2]);
    }

    #[test]
    fn what_holds_the_baseline_is_called_as_that_is() {
        let mut state = state();
        state.runs[2].name = "again".to_owned();
        let pinned = state.runs[2].id.clone();
        let configs = configs(&mut state);
        let names = |state: &State, baseline: Option<&RunId>| -> Vec<String> {
            let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, baseline);
            grouped.into_iter().map(|bundle| bundle.name).collect()
        };
        assert_eq!(names(&state, None), ["base", "other"], "as most of its runs are called");
        assert_eq!(names(&state, Some(&pinned)), ["again", "other"]);
        // Of a repeat that is pinned the older run is shown, under the name of the pinned one.
        let metrics = state.runs[0].metrics.clone();
        for run in [0, 2] {
            (state.runs[run].seed, state.runs[run].metrics) = (0, metrics.clone());
        }
        state.runs.remove(1);
        assert_eq!(names(&state, None), ["base", "other"]);
        assert_eq!(names(&state, Some(&pinned)), ["again", "other"]);
        // By another key the group is called by its value.
        let names = names_apart(&state.runs);
        let by_value = bundles(&state.runs, &names, Some("model.layers"), &configs, Some(&pinned));
        assert_eq!(by_value[0].name, "layers = 4");
    }

    #[test]
    fn an_unchanged_group_keeps_its_series_so_that_the_chart_builds_nothing() {
        let mut state = state();
        let configs = configs(&mut state);
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("model.layers"), &configs, None);
        let mut maker = LineMaker::default();
        let mut version = |view: &View| {
            maker.begin();
            let made = maker.make(&grouped, METRIC, view, &mut state);
            maker.end();
            (made.lines[0].name.clone(), made.lines[0].series.version())
        };
        let first = version(&View::default());
        assert_eq!(first.0, "layers = 4 (n = 3)");
        assert_eq!(version(&View::default()), first);
        assert_ne!(version(&View { band: Band::MinMax, ..View::default() }), first);
    }

    #[test]
    fn new_points_renew_a_mean_after_a_moment_and_it_says_that_it_is_stale() {
        let mut state = state();
        let configs = configs(&mut state);
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let mut maker = LineMaker::default();
        let mut make = |state: &mut State| maker.make(&grouped, METRIC, &View::default(), state);
        assert!(!make(&mut state).stale);
        let more = SeriesData {
            steps: vec![150],
            values: vec![0.5],
            wall_ms: vec![1500],
            tokens: vec![15_000],
            ..SeriesData::default()
        };
        state.series.take(state.runs[0].id.clone(), METRIC.to_owned(), false, more);
        let made = make(&mut state);
        assert!(made.stale);
        assert_eq!(made.lines[0].series.len(), 2);
        std::thread::sleep(RENEW_EVERY);
        let made = make(&mut state);
        assert!(!made.stale);
        assert_eq!((made.lines[0].series.len(), made.lines[0].name.as_str()), (3, "base (n = 1–3)"));
    }

    #[test]
    fn a_mean_says_of_how_many_of_its_runs_it_is() {
        let mut state = state();
        let mut another = state.runs[0].clone();
        (another.id, another.number, another.seed) = (examples::summary(9, "base").id, 9, 9);
        let mut record = state.records.get(&state.runs[0].id).unwrap().clone();
        record.config["seed"] = 9.into();
        record.summary = another.clone();
        state.records.insert(another.id.clone(), record);
        state.runs.push(another.clone());
        let configs = configs(&mut state);
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        assert_eq!(grouped[0].runs.len(), 4);
        let named = |state: &mut State| {
            let made = LineMaker::default().make(&grouped, METRIC, &View::default(), state);
            made.lines[0].name.clone()
        };
        state.series.want(&another.id, METRIC);
        assert_eq!(named(&mut state), "base (n = 3)", "one is on its way");
        state.series.take(another.id, METRIC.to_owned(), true, SeriesData::default());
        assert_eq!(named(&mut state), "base (n = 3 of 4)", "it has no points");
    }

    #[test]
    fn without_configs_every_run_is_alone_under_a_name_of_its_own() {
        let mut state = state();
        let alone = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &FlatConfigs::default(), None);
        let names = |bundles: &[Bundle]| bundles.iter().map(|bundle| bundle.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&alone), ["base, seed 0", "base, seed 1", "base, seed 2", "other"]);
        state.runs[1].seed = 0;
        let alone = bundles(&state.runs, &names_apart(&state.runs), None, &FlatConfigs::default(), None);
        assert_eq!(names(&alone), ["base, seed 0", "base, seed 0 (2)", "base, seed 2", "other"]);
    }

    #[test]
    fn a_value_is_that_of_the_last_point_before_and_none_beyond_the_end() {
        let series: Series = [(10.0, 1.0), (20.0, 2.0)].into_iter().collect();
        let bundle = Bundle {
            number: 0,
            name: String::new(),
            runs: Vec::new(),
            repeats: Vec::new(),
            idle: Vec::new(),
            style: LineStyle::of_place(0),
        };
        let line = Line::new(&bundle, String::new(), series, None);
        assert_eq!([5.0, 10.0, 15.0, 20.0, 21.0].map(|x| line.at(x)), [None, Some(1.0), Some(1.0), Some(2.0), None]);
    }
}
