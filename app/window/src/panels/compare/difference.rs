//! The running difference to the baseline: a chart of its own, growing with the runs.

use std::{collections::HashMap, time::Instant};

use headroom_engine::store::{Direction, RunId, RunSummary};

use super::{
    lines::{Bundle, Line, Made, RENEW_EVERY, Summarised, coarser, summarise},
    view::View,
};
use crate::{
    compare::{Alignment, Band, NotJudged, align, curve_x, is_rate, why_not_judged},
    plot::{Series, Version, XAxis},
    state::State,
};

/// One run's curve with the seed by which it finds its partner.
struct Seeded {
    seed: u64,
    series: Series,
}

/// The difference of one line and what it was computed from.
struct Kept {
    from: Vec<Version>,
    x: XAxis,
    band: Band,
    at: Instant,
    what: Difference,
    seen: bool,
}

#[derive(Clone)]
struct Difference {
    series: Series,
    edges: Option<(Series, Series)>,
    n: usize,
    alignment: Option<Alignment>,
}

/// Makes the lines of the difference and remembers them until points come.
#[derive(Default)]
pub struct DifferenceMaker {
    kept: HashMap<(Vec<u64>, Vec<u64>, String), Kept>,
}

impl DifferenceMaker {
    /// Each line less the baseline, and the baseline as the line of zeros; none without one. Of groups the runs that the table
    /// counts. Where several of them have a partner of the same seed in the baseline's group, differences are those of the pairs,
    /// and the band is the one over pairs: what both owe to the seed falls away.
    pub fn make(
        &mut self,
        bundles: &[Bundle],
        metric: &str,
        view: &View,
        baseline: Option<&RunId>,
        state: &mut State,
    ) -> Option<Made> {
        let base = bundles.iter().find(|bundle| baseline.is_some_and(|run| bundle.has(run)))?;
        self.kept.values_mut().for_each(|kept| kept.seen = false);
        let mut made = Made::default();
        let counted = base.counted(metric);
        let partners = curves(&counted, metric, view.x, state, &mut made);
        for bundle in bundles {
            let is_baseline = bundle.number == base.number;
            let runs = bundle.counted(metric);
            let own = if is_baseline { Vec::new() } else { curves(&runs, metric, view.x, state, &mut made) };
            if partners.is_empty() || (own.is_empty() && !is_baseline) || learns_something_else(base, bundle, metric) {
                continue;
            }
            let numbers = |runs: &[&RunSummary]| runs.iter().map(|run| run.number).collect::<Vec<_>>();
            let key = (numbers(&runs), numbers(&counted), metric.to_owned());
            let (what, is_stale) = self.kept(key, &own, &partners, view);
            made.stale |= is_stale;
            if let Some(alignment) = what.alignment {
                made.alignment = Some(made.alignment.map_or(alignment, |so_far| coarser(so_far, alignment)));
            }
            let name = if what.n > 1 { format!("{} (n = {})", bundle.name, what.n) } else { bundle.name.clone() };
            made.lines.push(Line::new(bundle, name, what.series, what.edges));
        }
        self.kept.retain(|_, kept| kept.seen);
        Some(made)
    }

    fn kept(
        &mut self,
        key: (Vec<u64>, Vec<u64>, String),
        own: &[Seeded],
        partners: &[Seeded],
        view: &View,
    ) -> (Difference, bool) {
        let from: Vec<Version> = own.iter().chain(partners).map(|curve| curve.series.version()).collect();
        let new = |from: Vec<Version>| Kept {
            from,
            x: view.x,
            band: view.band,
            at: Instant::now(),
            what: difference(own, partners, view),
            seen: true,
        };
        let kept = self.kept.entry(key).or_insert_with(|| new(from.clone()));
        let is_same_view = (kept.x, kept.band) == (view.x, view.band);
        let can_wait = kept.from.len() == from.len() && kept.at.elapsed() < RENEW_EVERY;
        if !is_same_view || (kept.from != from && !can_wait) {
            *kept = new(from.clone());
        }
        kept.seen = true;
        (kept.what.clone(), kept.from != from)
    }
}

/// Whether the metric of two bundles is counted in different units: their difference would be of nothing.
fn learns_something_else(base: &Bundle, other: &Bundle, metric: &str) -> bool {
    let (Some(base), Some(other)) = (base.runs.first(), other.runs.first()) else { return false };
    Direction::of(metric) != Direction::None
        && !is_rate(metric)
        && why_not_judged(base, other) == Some(NotJudged::Objective)
}

/// The curves of these runs that are loaded and have points.
fn curves(runs: &[&RunSummary], metric: &str, x: XAxis, state: &mut State, made: &mut Made) -> Vec<Seeded> {
    let mut found = Vec::with_capacity(runs.len());
    for run in runs {
        let Some(x) = curve_x(run, x) else { continue };
        match state.series.curve(&run.id, metric, x) {
            None => made.loading += 1,
            Some(curve) if curve.is_empty() => {}
            Some(curve) => found.push(Seeded { seed: run.seed, series: curve.clone() }),
        }
    }
    found
}

/// `own` less `partners`; zeros where `own` is nothing: the baseline itself.
fn difference(own: &[Seeded], partners: &[Seeded], view: &View) -> Difference {
    let columns: Vec<(&[f64], &[f64])> = partners.iter().map(|curve| (curve.series.x(), curve.series.y())).collect();
    let mean = align(&columns);
    let means: Vec<f64> = mean.summary.iter().map(|summary| summary.mean).collect();
    if own.is_empty() {
        let series = mean.x.iter().map(|&x| (x, 0.0)).collect();
        return Difference { series, edges: None, n: partners.len(), alignment: None };
    }
    // By the rule of the table: several pairs, or everything against the mean.
    let partner = |curve: &Seeded| partners.iter().find(|partner| partner.seed == curve.seed);
    let is_paired = own.iter().filter(|curve| partner(curve).is_some()).count() > 1;
    let less = |curve: &Seeded| {
        if is_paired {
            partner(curve).map(|partner| minus(&curve.series, partner.series.x(), partner.series.y()))
        } else {
            Some(minus(&curve.series, &mean.x, &means))
        }
    };
    // As far as all of them reach: of fewer runs it would be another difference.
    let ends = own.iter().chain(partners).filter_map(|curve| curve.series.x().last().copied());
    let end = ends.fold(f64::INFINITY, f64::min);
    let reached = |series: Series| -> Series { series.points().filter(|&(x, _)| x <= end).collect() };
    let mut differences: Vec<Series> =
        own.iter().filter_map(less).map(reached).filter(|series| !series.is_empty()).collect();
    let n = differences.len();
    // With one seed of a side nothing is known of its noise.
    let has_interval = [own, partners]
        .iter()
        .all(|side| side.iter().any(|curve| side.first().is_some_and(|first| first.seed != curve.seed)));
    match differences.pop() {
        Some(series) if n == 1 => Difference { series, edges: None, n, alignment: None },
        None => Difference { series: Series::new(), edges: None, n, alignment: None },
        Some(last) => {
            differences.push(last);
            let Summarised { mean, edges, alignment, .. } = summarise(&differences, view.band_of_difference());
            Difference { series: mean, edges: edges.filter(|_| has_interval), n, alignment: Some(alignment) }
        }
    }
}

/// A curve less another one, at the x of the first and as far as the second reaches; between the points of the second its
/// values are interpolated linearly.
fn minus(own: &Series, x: &[f64], y: &[f64]) -> Series {
    let value = |at: f64| {
        let after = x.partition_point(|&other| other < at);
        let (x1, y1) = (*x.get(after)?, *y.get(after)?);
        if x1 == at {
            return Some(y1);
        }
        let before = after.checked_sub(1)?;
        let (x0, y0) = (*x.get(before)?, *y.get(before)?);
        Some(y0 + (y1 - y0) * (at - x0) / (x1 - x0))
    };
    own.points().filter_map(|(at, own)| Some((at, own - value(at)?))).collect()
}

#[cfg(test)]
mod tests {
    use headroom_engine::objective::LearnedTask;
    use headroom_engine::{
        objective::Objective,
        store::{RunState, SeriesData, series_names},
    };

    use super::super::{
        courses::Courses,
        lines::{bundles, tests},
        rows::{Measure, rows},
    };
    use super::*;
    use crate::compare::names_apart;

    const METRIC: &str = series_names::VALIDATION_LOSS;

    #[test]
    fn runs_that_learn_something_else_have_no_difference() {
        let mut state = tests::state();
        let measured = state.runs[0].metrics[METRIC].clone();
        for (run, objective) in [(0, Objective::EXAMPLES[0]), (3, Objective::EXAMPLES[1])] {
            let metrics = objective.task().metrics().iter();
            let metrics = metrics.map(|metric| (metric.series.to_owned(), measured.clone()));
            state.runs[run].metrics.extend(metrics);
        }
        let configs = tests::configs(&mut state);
        let alone = bundles(&state.runs, &names_apart(&state.runs), None, &configs, None);
        assert!(!learns_something_else(&alone[0], &alone[1], METRIC));
        assert!(learns_something_else(&alone[0], &alone[3], METRIC), "their losses are of different things");
        assert!(!learns_something_else(&alone[0], &alone[3], series_names::TRAIN_TOKENS_PER_SEC), "a rate is a rate");
    }

    /// Two groups of two seeds: 0 and 1 of "base" against 2 and 3, which become seeds 0 and 1 of "other".
    fn two_groups() -> State {
        let mut state = tests::state();
        for run in state.runs.iter_mut().filter(|run| run.number >= 2) {
            (run.seed, run.name) = (run.number - 2, "other".to_owned());
            if let Some(record) = state.records.get_mut(&run.id) {
                record.config["seed"] = run.seed.into();
                record.config["model"]["layers"] = 8.into();
            }
        }
        state
    }

    #[test]
    fn beside_a_seed_that_is_done_one_that_trains_has_no_part_as_in_the_table() {
        let mut state = two_groups();
        for run in &mut state.runs {
            run.metrics.get_mut(METRIC).unwrap().last = 1.0 + run.number as f64;
        }
        state.runs[3].state = RunState::Running;
        let configs = tests::configs(&mut state);
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let baseline = state.runs[0].id.clone();
        let made = DifferenceMaker::default().make(&grouped, METRIC, &View::default(), Some(&baseline), &mut state);
        let other = &made.unwrap().lines[1];
        // 4 and 3 less the means 2.5 and 1.5 of both seeds, not less the 2 and 1 of the same one.
        assert_eq!(other.series.points().collect::<Vec<_>>(), [(50.0, 1.5), (100.0, 1.5)]);
        assert_eq!(other.name, "other");
        let last = [Measure::Last(METRIC.to_owned())];
        let table = rows(&grouped, &last, &[], None, Band::None, Some(&baseline), &Courses::default());
        assert_eq!(table[1].entries[0].against.unwrap().delta.absolute, 1.5);
    }

    #[test]
    fn a_difference_of_groups_ends_where_one_of_their_runs_does() {
        let mut state = two_groups();
        for run in [2, 3] {
            state.runs[run].state = RunState::Running;
        }
        for run in [0, 1, 2] {
            let more = SeriesData {
                steps: vec![150],
                values: vec![0.5],
                wall_ms: vec![1500],
                tokens: vec![15_000],
                ..SeriesData::default()
            };
            state.series.take(state.runs[run].id.clone(), METRIC.to_owned(), false, more);
        }
        let configs = tests::configs(&mut state);
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let baseline = state.runs[0].id.clone();
        let made = DifferenceMaker::default().make(&grouped, METRIC, &View::default(), Some(&baseline), &mut state);
        let other = &made.unwrap().lines[1];
        let points: Vec<_> = other.series.points().collect();
        assert_eq!(points, [(50.0, 2.0), (100.0, 2.0)], "at 150 one pair would be left");
    }

    #[test]
    fn seeds_are_paired_and_the_band_is_over_pairs() {
        let mut state = two_groups();
        let configs = tests::configs(&mut state);
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let baseline = state.runs[0].id.clone();
        let mut maker = DifferenceMaker::default();
        let view = View::default();
        let made = maker.make(&grouped, METRIC, &view, Some(&baseline), &mut state).unwrap();
        assert!(made.lines[0].number == grouped[0].number && made.lines[0].series.y() == [0.0, 0.0]);
        let other = &made.lines[1];
        assert_eq!(other.series.points().collect::<Vec<_>>(), [(50.0, 2.0), (100.0, 2.0)]);
        assert_eq!(other.name, "other (n = 2)");
        let chart_line = other.chart_line();
        let band = chart_line.band.unwrap();
        assert_eq!((band.low.y(), band.high.y()), (&[2.0, 2.0][..], &[2.0, 2.0][..]), "each pair differs by exactly 2");
        let version = other.series.version();
        let again = maker.make(&grouped, METRIC, &view, Some(&baseline), &mut state).unwrap();
        assert_eq!(again.lines[1].series.version(), version, "an idle chart builds nothing");
        assert!(maker.make(&grouped, METRIC, &view, None, &mut state).is_none());
    }

    #[test]
    fn the_band_is_the_interval_that_verdicts_rest_on() {
        let curve = |seed: u64, y: f64| Seeded { seed, series: [(1.0, y)].into_iter().collect() };
        let (own, partners) = ([1.0, 2.0, 3.0], [0.0; 3]);
        let all = |ys: [f64; 3]| -> Vec<Seeded> { (0..).zip(ys).map(|(seed, y)| curve(seed, y)).collect() };
        let found = |band: Band| difference(&all(own), &all(partners), &View { band, ..View::default() });
        // The mean is 2 and the standard deviation 1: t(0.975, 2) / √3 = 2.484.
        let (low, high) = found(Band::StandardDeviation).edges.unwrap();
        assert!(
            (low.y()[0] + 0.484).abs() < 1e-3 && (high.y()[0] - 4.484).abs() < 1e-3,
            "{:?} {:?}",
            low.y(),
            high.y()
        );
        assert!(found(Band::None).edges.is_none());
    }

    #[test]
    fn one_run_is_against_the_mean_of_several_whatever_its_seed() {
        let mut state = tests::state();
        // The seed of one of the three.
        state.runs[3].seed = 0;
        let id = state.runs[3].id.clone();
        state.records.get_mut(&id).unwrap().config["seed"] = 0.into();
        let configs = tests::configs(&mut state);
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let baseline = state.runs[0].id.clone();
        let made = DifferenceMaker::default().make(&grouped, METRIC, &View::default(), Some(&baseline), &mut state);
        let other = &made.unwrap().lines[1];
        // 5 and 4 less the means 3 and 2, as in the table.
        assert_eq!(other.series.points().collect::<Vec<_>>(), [(50.0, 2.0), (100.0, 2.0)]);
    }

    #[test]
    fn it_reaches_as_far_as_both_do_and_grows_with_them() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let alone = bundles(&state.runs, &names_apart(&state.runs), None, &configs, None);
        let baseline = state.runs[0].id.clone();
        let more = |value: f64| SeriesData {
            steps: vec![150],
            values: vec![value],
            wall_ms: vec![1500],
            tokens: vec![15_000],
            ..SeriesData::default()
        };
        state.series.take(state.runs[1].id.clone(), METRIC.to_owned(), false, more(3.0));
        let points = |state: &mut State| {
            let made = DifferenceMaker::default().make(&alone, METRIC, &View::default(), Some(&baseline), state);
            made.unwrap().lines[1].series.points().collect::<Vec<_>>()
        };
        assert_eq!(points(&mut state), [(50.0, 1.0), (100.0, 1.0)], "the baseline is not there yet");
        state.series.take(baseline.clone(), METRIC.to_owned(), false, more(0.5));
        assert_eq!(points(&mut state), [(50.0, 1.0), (100.0, 1.0), (150.0, 2.5)]);
    }

    #[test]
    fn between_the_baselines_points_it_is_interpolated() {
        let own: Series = [(0.0, 5.0), (5.0, 5.0), (10.0, 5.0), (20.0, 5.0)].into_iter().collect();
        let less: Vec<_> = minus(&own, &[0.0, 10.0], &[0.0, 10.0]).points().collect();
        assert_eq!(less, [(0.0, 5.0), (5.0, 0.0), (10.0, -5.0)]);
    }
}
