//! The table below the chart: the same runs and groups, in numbers, against the baseline.

use headroom_engine::store::{Direction, RunId, RunState, RunSummary};

use super::{
    courses::Courses,
    lines::{Bundle, Made},
};
use crate::{
    compare::{
        Band, Comparison, NotJudged, RATE, Reading, Summary, Verdict, common_step, is_rate, judged_direction,
        metric_spread, metric_value, series_title, short_title, why_not_judged,
    },
    export::{Cell, TextTable},
    format,
};

/// One column of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A series at its highest step.
    Last(String),
    /// The best value of a series.
    Best(String),
    /// A series at the chosen x; the index of its chart.
    At(String, usize),
    /// Trained parameters.
    Parameters,
    /// Time in training.
    Duration,
    /// Optimiser steps done.
    Steps,
}

impl Measure {
    /// The columns for these series, one or two.
    pub fn all(series: &[&str]) -> Vec<Self> {
        let mut all = Vec::new();
        for (chart, name) in series.iter().enumerate() {
            all.push(Self::Last((*name).to_owned()));
            if Direction::of(name) != Direction::None {
                all.push(Self::Best((*name).to_owned()));
            }
            all.push(Self::At((*name).to_owned(), chart));
        }
        all.extend([Self::Parameters, Self::Duration, Self::Steps]);
        all
    }

    /// What tells it from the others, wherever they are read.
    pub fn id(&self) -> String {
        self.title("")
    }

    /// The header; `at` is the chosen x in words.
    pub fn title(&self, at: &str) -> String {
        match self {
            Self::Last(series) => format!("{}, last", series_title(series)),
            Self::Best(series) => format!("{}, best", series_title(series)),
            Self::At(series, _) => format!("{}, {at}", series_title(series)),
            Self::Parameters => "Parameters".to_owned(),
            Self::Duration => "Duration".to_owned(),
            Self::Steps => "Steps".to_owned(),
        }
    }

    /// A header that is shorter than the title.
    pub fn short(&self, at: &str) -> String {
        short_title(&self.title(at)).replace(", at ", " at ").replace(", after ", " after ")
    }

    /// The width of its column in points, and how soon it gives way where there is no room.
    pub fn room(&self, is_grouped: bool, is_compared: bool) -> (f32, u8) {
        let series = match (is_grouped, is_compared) {
            (true, true) => 226.0,
            (true, false) => 140.0,
            (false, true) => 154.0,
            (false, false) => 110.0,
        };
        let other = match (is_grouped, is_compared) {
            (true, true) => 160.0,
            (true, false) => 122.0,
            (false, true) => 104.0,
            (false, false) => 86.0,
        };
        match self {
            Self::Best(_) => (series, 1),
            Self::Last(_) => (series, 2),
            Self::At(_, 0) => (series, 3),
            Self::At(..) => (series, 4),
            Self::Parameters => (other, 5),
            Self::Duration => (other, 6),
            Self::Steps => (other, 7),
        }
    }

    fn of(&self, run: &RunSummary) -> Option<f64> {
        match self {
            Self::Last(series) => run.metrics.get(series).map(|summary| summary.last),
            Self::Best(series) => run.metrics.get(series).and_then(|summary| summary.best),
            Self::At(..) => None,
            Self::Parameters => run.parameters.map(|n| n as f64),
            Self::Duration => Some(run.train_secs),
            Self::Steps => Some(run.steps_done as f64),
        }
    }

    /// A value of it as people read it.
    pub fn value(&self, value: f64) -> String {
        match self {
            Self::Last(series) | Self::Best(series) | Self::At(series, _) => metric_value(series, value),
            Self::Parameters => format::si(value, ""),
            Self::Duration => format::duration(value),
            Self::Steps => format::count(value.round() as u64),
        }
    }

    /// The series that it is of; none for what is counted.
    fn series(&self) -> Option<&str> {
        match self {
            Self::Last(series) | Self::Best(series) | Self::At(series, _) => Some(series),
            Self::Parameters | Self::Duration | Self::Steps => None,
        }
    }

    /// What a run comes to, with its noise; of what was last or best until a step.
    fn reading(&self, run: &RunSummary, courses: &Courses, at: Option<f64>, until: Option<u64>) -> Option<Reading> {
        match self {
            Self::Last(series) => courses.over_steps(run, series).last(until),
            Self::Best(series) => courses.over_steps(run, series).best(until),
            Self::At(series, _) => courses.over_x(run, series).at(at?),
            Self::Parameters | Self::Duration | Self::Steps => None,
        }
    }

    /// A difference as people read it, without what it is of the baseline.
    pub fn difference(&self, difference: f64) -> String {
        match self.series() {
            Some(series) if series.ends_with("accuracy") => format!("{} points", format::delta(difference * 100.0)),
            Some(series) if series.ends_with("_bytes") && difference.is_finite() => {
                let sign = if difference < 0.0 { format::MINUS } else { '+' };
                format!("{sign}{}", format::bytes(difference.abs() as u64))
            }
            _ => format::delta(difference),
        }
    }

    /// A difference in a cell: of what has no unit that people read, as a share of the baseline.
    fn delta(&self, comparison: &Comparison) -> String {
        let Comparison { delta, at_step, .. } = comparison;
        let is_own_unit = self.series().is_some_and(|series| !series.ends_with("_bytes"));
        let words = match delta.relative {
            _ if delta.verdict == Verdict::Same => "=".to_owned(),
            Some(relative) if !is_own_unit => format::delta_percent(relative),
            Some(relative) if delta.absolute != 0.0 => {
                format!("{} ({})", self.difference(delta.absolute), format::delta_percent(relative))
            }
            _ => self.difference(delta.absolute),
        };
        match at_step {
            Some(step) => [&words, " at ", &format::count(*step)].concat(),
            None => words,
        }
    }

    /// The comparison of a row with the baseline's, each a bundle with its value: of what varies by the rule of evidence, where some run
    /// still trains at the last step that all reached.
    fn against(
        &self,
        own: (&Bundle, Option<f64>),
        base: (&Bundle, Option<f64>),
        courses: &Courses,
        at: Option<f64>,
        not_judged: Option<NotJudged>,
    ) -> Option<Comparison> {
        let write = |value| self.value(value);
        let Some(series) = self.series() else {
            return Comparison::exact(own.1?, base.1?, Direction::None, write);
        };
        // A difference of what cannot be held against each other would be read all the same.
        if not_judged.is_some() && Direction::of(series) != Direction::None && !is_rate(series) {
            return None;
        }
        let until = match self {
            Self::At(..) => None,
            _ => common_step(own.0.counted(series).into_iter().chain(base.0.counted(series)), series),
        };
        let readings = |bundle: &Bundle| -> Vec<Reading> {
            let counted = bundle.counted(series).into_iter();
            counted.filter_map(|run| self.reading(run, courses, at, until)).collect()
        };
        let direction = judged_direction(series, not_judged);
        Comparison::measured(&readings(own.0), &readings(base.0), direction, until, write)
    }
}

/// One value of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// The value, or the mean of the group.
    pub value: Option<f64>,
    /// As people read it, with the band's half width for a group.
    pub shown: String,
    /// The delta against the baseline as people read it; empty without one.
    pub delta: String,
    /// The comparison with the baseline.
    pub against: Option<Comparison>,
    /// How many runs the value is the mean of, where that was counted.
    pub n: Option<usize>,
}

impl Entry {
    /// What is said where the value is not of all runs of its row.
    pub fn counted_in_part(&self, of: usize) -> Option<String> {
        let n = self.n.filter(|n| *n < of)?;
        Some(format!("The mean of {n} of {of} runs: the others have no value here, or do not count."))
    }

    /// What stands behind ± in the value; none where there is none.
    pub fn spread_words(&self, band: Band) -> Option<String> {
        let kind = band.name().to_lowercase();
        let words = || format!("±: {kind} over the runs, as Band says. The ± of a difference is its 95 % interval.");
        self.shown.contains('±').then(words)
    }

    /// What to think of the delta.
    pub fn verdict(&self) -> Verdict {
        self.against.map(|against| against.delta.verdict).unwrap_or_default()
    }

    /// What the delta rests on, for people.
    pub fn about(&self, measure: &Measure, not_judged: Option<NotJudged>) -> Option<String> {
        let Comparison { delta, at_step, .. } = self.against?;
        let mut words = delta.words(|difference| measure.difference(difference));
        if let Some(step) = at_step {
            let step = format::count(step);
            let after = ", the last that all of them reached: what comes after it has nothing to be held against. The value \
                         is of that step, too; the baseline's own row has its newest.";
            words = [&words, "\nAt step ", &step, after].concat();
        }
        if let Some(why) = not_judged {
            words = [&words, "\n", &why.reason()].concat();
        }
        if measure.series().is_some_and(is_rate) {
            words = [&words, "\n", RATE].concat();
        }
        Some(words)
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// As [`Bundle::number`].
    pub number: u64,
    /// The name; it says so where runs diverged.
    pub name: String,
    /// Whether a run diverged that its values are of.
    pub is_diverged: bool,
    /// How many runs have a value: the fewest of any metric that has some.
    pub n: usize,
    /// How many runs there are.
    pub of: usize,
    /// What is said of runs that do not count; empty where all do.
    pub left_out: String,
    /// Whether it is, or holds, the baseline.
    pub is_baseline: bool,
    /// Why it is neither better nor worse than the baseline.
    pub not_judged: Option<NotJudged>,
    /// A value for each measure.
    pub entries: Vec<Entry>,
}

/// Makes the rows. `charts` are what the chart of each series shows, `at` the x to compare at, `courses` the curves by which
/// differences are judged, and those of groups of which not all runs count.
pub fn rows(
    bundles: &[Bundle],
    measures: &[Measure],
    charts: &[Made],
    at: Option<f64>,
    band: Band,
    baseline: Option<&RunId>,
    courses: &Courses,
) -> Vec<Row> {
    let mut rows: Vec<Row> = bundles
        .iter()
        .map(|bundle| (bundle, told(bundle, measures)))
        .map(|(bundle, told)| Row {
            number: bundle.number,
            name: name_of(bundle),
            is_diverged: told.iter().any(|run| run.state == RunState::Diverged),
            n: n_of(bundle, measures),
            of: bundle.runs.len(),
            left_out: bundle.left_out(),
            is_baseline: baseline.is_some_and(|run| bundle.has(run)),
            not_judged: None,
            entries: measures
                .iter()
                .map(|measure| entry(bundle, measure, measures, charts, at, band, courses))
                .collect(),
        })
        .collect();
    let base: Option<Vec<Option<f64>>> =
        rows.iter().find(|row| row.is_baseline).map(|row| row.entries.iter().map(|entry| entry.value).collect());
    let Some(base) = base else { return rows };
    let Some(pinned) = bundles.iter().find(|bundle| baseline.is_some_and(|run| bundle.has(run))) else { return rows };
    for (row, bundle) in rows.iter_mut().zip(bundles).filter(|(row, _)| !row.is_baseline) {
        // Groups may mix: one run that stands apart is enough.
        row.not_judged = pinned.runs.iter().find_map(|a| bundle.runs.iter().find_map(|b| why_not_judged(a, b)));
        for ((entry, measure), base) in row.entries.iter_mut().zip(measures).zip(&base) {
            let found = measure.against((bundle, entry.value), (pinned, *base), courses, at, row.not_judged);
            let Some(comparison) = found else { continue };
            if comparison.at_step.is_some() {
                // Beside a difference stands the value that it is of.
                *entry = mean(&comparison.own, measure, band);
            }
            entry.delta = measure.delta(&comparison);
            entry.against = Some(comparison);
        }
    }
    rows
}

/// The name of a bundle, with what is worse of it than any number tells.
fn name_of(bundle: &Bundle) -> String {
    match bundle.diverged() {
        0 => bundle.name.clone(),
        all if all == bundle.runs.len() => format!("{} (diverged)", bundle.name),
        some => format!("{} ({some} diverged)", bundle.name),
    }
}

fn shown_of(summary: &Summary, measure: &Measure, band: Band) -> String {
    with_spread(summary.mean, (summary.half_width(band), summary.edges(band)), measure, band)
}

/// A mean with half the width and the edges of its band.
fn with_spread(mean: f64, (half, edges): (Option<f64>, Option<(f64, f64)>), measure: &Measure, band: Band) -> String {
    match (band, half, edges) {
        (Band::MinMax, _, Some((low, high))) if low < high => {
            format!("{} ({} to {})", measure.value(mean), measure.value(low), measure.value(high))
        }
        (_, Some(half), _) if half > 0.0 => match measure.series() {
            Some(series) => metric_spread(series, mean, half),
            None => format!("{} ± {}", measure.value(mean), measure.value(half)),
        },
        _ => measure.value(mean),
    }
}

/// Runs that the row's values are of: while a race trains, those of a group that have come to a value, if any did.
fn told<'a>(bundle: &'a Bundle, measures: &[Measure]) -> Vec<&'a RunSummary> {
    let counted = measures.iter().filter_map(Measure::series).map(|series| bundle.counted(series));
    let fewest = counted.filter(|runs| !runs.is_empty()).min_by_key(Vec::len);
    fewest.unwrap_or_else(|| bundle.runs.iter().collect())
}

/// How many runs have a value: the fewest of any metric that has some. Where nothing is asked of metrics, all of them.
fn n_of(bundle: &Bundle, measures: &[Measure]) -> usize {
    let series: Vec<&str> = measures.iter().filter_map(Measure::series).collect();
    let counted = series.iter().map(|series| bundle.counted(series).len());
    let fewest = counted.filter(|n| *n > 0).min();
    fewest.unwrap_or(if series.is_empty() { bundle.runs.len() } else { 0 })
}

/// The mean of some runs, as the table has it.
fn mean(summary: &Summary, measure: &Measure, band: Band) -> Entry {
    let shown = shown_of(summary, measure, band);
    Entry { value: Some(summary.mean), shown, n: Some(summary.n), ..Entry::default() }
}

fn entry(
    bundle: &Bundle,
    measure: &Measure,
    measures: &[Measure],
    charts: &[Made],
    at: Option<f64>,
    band: Band,
    courses: &Courses,
) -> Entry {
    if let Measure::At(series, chart) = measure {
        if bundle.counts_in_part(series) {
            // The line of the chart has the others in it, too.
            let counted = bundle.counted(series).into_iter();
            let readings = counted.filter_map(|run| courses.over_x(run, series).at(at?));
            let values: Vec<f64> = readings.map(|reading| reading.value).collect();
            return Summary::of(&values).map(|summary| mean(&summary, measure, band)).unwrap_or_default();
        }
        let line = charts.get(*chart).and_then(|made| made.lines.iter().find(|line| line.number == bundle.number));
        let found = line.zip(at).and_then(|(line, x)| Some((line.at(x)?, line.edges_at(x))));
        let Some((value, edges)) = found else { return Entry::default() };
        let half = edges.map(|(low, high)| (high - low) / 2.0);
        let shown = with_spread(value, (half, edges), measure, band);
        return Entry { value: Some(value), shown, ..Entry::default() };
    }
    // Times and steps are of the runs that the metrics are of.
    let runs = measure.series().map_or_else(|| told(bundle, measures), |series| bundle.counted(series));
    let values: Vec<f64> = runs.into_iter().filter_map(|run| measure.of(run)).collect();
    Summary::of(&values).map(|summary| mean(&summary, measure, band)).unwrap_or_default()
}

/// The table as text, deltas in columns of their own.
pub fn text_table(rows: &[Row], measures: &[Measure], at: &str) -> TextTable {
    let grouped = rows.iter().any(|row| row.of > 1);
    let compared = rows.iter().any(|row| row.is_baseline);
    let mut header = vec!["Run".to_owned()];
    if grouped {
        header.push("n".to_owned());
    }
    for measure in measures {
        header.push(measure.title(at));
        if compared {
            header.push(format!("Δ {}", measure.title(at)));
            if measure.series().is_some() {
                header.extend([format!("Δ ± {}", measure.title(at)), format!("Verdict, {}", measure.title(at))]);
            }
        }
    }
    let cells = |row: &Row| {
        let name = if row.is_baseline { format!("{} (baseline)", row.name) } else { row.name.clone() };
        let mut cells = vec![Cell::text(name)];
        if grouped {
            cells.push(Cell::number(row.n as f64, row.n.to_string()));
        }
        for (entry, measure) in row.entries.iter().zip(measures) {
            cells.push(Cell { shown: entry.shown.clone(), exact: entry.value });
            if compared {
                cells.push(Cell {
                    shown: entry.delta.clone(),
                    exact: entry.against.map(|against| against.delta.absolute),
                });
                if measure.series().is_some() {
                    let half = entry.against.and_then(|against| against.delta.half_width);
                    let shown = half.map(|half| measure.difference(half).trim_start_matches('+').to_owned());
                    cells.push(Cell { shown: shown.unwrap_or_default(), exact: half });
                    cells.push(Cell::text(entry.verdict().word().to_owned()));
                }
            }
        }
        cells
    };
    TextTable { header, rows: rows.iter().map(cells).collect() }
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::series_names;

    use super::super::{
        lines::{LineMaker, bundles, tests},
        view::View,
    };
    use super::*;
    use crate::compare::{Basis, names_apart};

    #[test]
    fn deltas_are_against_the_baseline_and_judged_only_with_a_direction() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        for (run, best) in state.runs.iter_mut().zip([1.0, 2.0, 3.0, 1.5]) {
            run.metrics.get_mut(series_names::VALIDATION_LOSS).unwrap().best = Some(best);
        }
        state.runs[3].parameters = Some(2_480_000);
        let baseline = state.runs[0].id.clone();
        state.selection.baseline = Some(baseline.clone());
        let made_of = |group: Option<&str>, state: &mut crate::state::State| {
            let bundles = bundles(&state.runs, &names_apart(&state.runs), group, &configs, None);
            let made = LineMaker::default().make(&bundles, series_names::VALIDATION_LOSS, &View::default(), state);
            let metrics = [series_names::VALIDATION_LOSS.to_owned()];
            let courses = Courses::of(&bundles, &metrics, crate::plot::XAxis::Step, state);
            (bundles, made, courses)
        };
        let measures = Measure::all(&[series_names::VALIDATION_LOSS]);
        assert_eq!(measures.len(), 6);

        let (alone, made, courses) = made_of(None, &mut state);
        let table = rows(&alone, &measures, &[made], Some(100.0), Band::None, Some(&baseline), &courses);
        assert!(table[0].is_baseline && table[0].entries[1].delta.is_empty());
        assert_eq!(table[3].entries[1].shown, "1.500");
        assert_eq!(table[3].entries[1].delta, "+0.5000 (+50 %)");
        assert_eq!(table[3].entries[1].verdict(), Verdict::NotTested, "one run each");
        assert_eq!(table[3].entries[2].value, Some(4.0), "at step 100");
        assert_eq!(table[3].entries[3].delta, "+100 %");
        assert_eq!(table[3].entries[3].verdict(), Verdict::Neutral, "parameters have no direction");

        let (grouped, made, courses) = made_of(Some("seed"), &mut state);
        let table = rows(&grouped, &measures, &[made], Some(100.0), Band::StandardDeviation, Some(&baseline), &courses);
        assert_eq!(table.len(), 2);
        assert_eq!((table[0].n, table[0].entries[1].shown.as_str()), (3, "2.0 ± 1.0"));
        assert_eq!(table[0].entries[2].shown, "2.0 ± 1.0", "at step 100, where the seeds stand at 1, 2 and 3");
        assert_eq!(table[1].entries[2].shown, "4.000", "one run has no spread");
        let best = table[1].entries[1].against.unwrap().delta;
        assert_eq!((best.basis, best.verdict), (Basis::Untested(3, 1), Verdict::NotTested), "1.5 against 1, 2 and 3");
        let about = table[1].entries[1].about(&measures[1], None).unwrap();
        assert!(about.starts_with("−0.5000, 1 seed against 3 seeds of the baseline: not tested."), "{about}");
        let csv = text_table(&table, &measures, "at step 100").to_csv();
        assert!(csv.starts_with("Run,n,\"Validation loss, last\",\"Δ Validation loss, last\""), "{csv}");
        assert!(csv.contains("\nother,1,") && csv.contains(",not tested"), "{csv}");
    }

    #[test]
    fn a_seed_that_has_only_begun_does_not_count_beside_those_that_are_done() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let grouped =
            |state: &crate::state::State| bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let names = |bundle: &Bundle| {
            bundle.counted(series_names::VALIDATION_LOSS).iter().map(|run| run.seed).collect::<Vec<_>>()
        };
        assert_eq!(names(&grouped(&state)[0]), [0, 1, 2]);
        state.runs[2].state = RunState::Running;
        assert_eq!(names(&grouped(&state)[0]), [0, 1], "the third still trains");
        let measures = Measure::all(&[series_names::VALIDATION_LOSS]);
        let row = |state: &crate::state::State| {
            rows(&grouped(state), &measures, &[], None, Band::StandardDeviation, None, &Courses::default())[0].clone()
        };
        assert_eq!((row(&state).n, row(&state).of), (2, 3));
        let told = "The mean of 2 of 3 runs: the others have no value here, or do not count.";
        assert_eq!(row(&state).entries[0].counted_in_part(3).as_deref(), Some(told));
        for run in &mut state.runs[..2] {
            run.metrics.clear();
        }
        assert_eq!(names(&grouped(&state)[0]), [2], "where none is done, those that have a value");
        state.runs[2].metrics.clear();
        let none = row(&state);
        assert_eq!((none.n, none.of, none.entries[0].value), (0, 3, None), "none has one");
        assert_eq!(none.entries[4].value, Some(60.0), "the time of all three");
    }

    #[test]
    fn a_group_is_told_by_the_seeds_that_trained_to_their_end() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        for (run, last) in state.runs.iter_mut().zip([4.7, 4.9, 6.3, 4.0]) {
            let loss = run.metrics.get_mut(series_names::VALIDATION_LOSS).unwrap();
            (loss.last, loss.best) = (last, Some(last));
        }
        (state.runs[2].state, state.runs[2].steps_done) = (RunState::Stopped, 53);
        let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
        let measures = Measure::all(&[series_names::VALIDATION_LOSS]);
        let metrics = [series_names::VALIDATION_LOSS.to_owned()];
        let courses = Courses::of(&grouped, &metrics, crate::plot::XAxis::Step, &mut state);
        let made = LineMaker::default().make(&grouped, &metrics[0], &View::default(), &mut state);
        let table = rows(&grouped, &measures, &[made], Some(50.0), Band::StandardDeviation, None, &courses);
        assert_eq!((table[0].n, table[0].left_out.as_str()), (2, "1 run ended before the last step: not counted."));
        let n: Vec<Option<usize>> = table[0].entries.iter().map(|entry| entry.n).collect();
        assert_eq!((table[0].of, n), (3, vec![Some(2); 6]));
        let value = |place: usize| table[0].entries[place].value.unwrap();
        assert!((value(0) - 4.8).abs() < 1e-9 && (value(1) - 4.8).abs() < 1e-9, "{} {}", value(0), value(1));
        assert_eq!(value(2), 2.5, "at step 50, where the seeds stand at 2, 3 and 4");
        assert_eq!(table[0].entries[5].shown, "100", "steps");
    }

    #[test]
    fn runs_that_diverged_are_named_as_such() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let measures = Measure::all(&[series_names::VALIDATION_LOSS]);
        let named = |state: &crate::state::State| -> Vec<(String, bool)> {
            let grouped = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
            let table = rows(&grouped, &measures, &[], None, Band::None, None, &Courses::default());
            table.into_iter().map(|row| (row.name, row.is_diverged)).collect()
        };
        let row = |name: &str, is_diverged: bool| (name.to_owned(), is_diverged);
        let diverged = RunState::Diverged;
        (state.runs[1].state, state.runs[3].state) = (diverged, diverged);
        assert_eq!(named(&state), [row("base (1 diverged)", false), row("other (diverged)", true)]);
        (state.runs[0].state, state.runs[2].state) = (diverged, RunState::Stopped);
        assert_eq!(named(&state)[0], row("base (2 diverged)", true), "none finished");
    }

    #[test]
    fn times_and_steps_are_of_the_runs_that_are_counted() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let measures = Measure::all(&[series_names::VALIDATION_LOSS]);
        let row = |state: &crate::state::State| {
            let bundles = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
            rows(&bundles, &measures, &[], None, Band::StandardDeviation, None, &Courses::default())[0].clone()
        };
        let shown = |row: &Row| (row.n, row.entries[4].shown.clone(), row.entries[5].shown.clone());
        // A run that was cancelled before its first step has no part in the means.
        let cancelled = &mut state.runs[1];
        (cancelled.state, cancelled.steps_done, cancelled.train_secs) = (RunState::Cancelled, 0, 0.0);
        cancelled.metrics.clear();
        assert_eq!(shown(&row(&state)), (2, "1:00".to_owned(), "100".to_owned()));
        // Nor has one that was stopped before its first evaluation.
        let stopped = &mut state.runs[2];
        (stopped.state, stopped.steps_done, stopped.train_secs) = (RunState::Stopped, 8, 4.0);
        stopped.metrics.clear();
        assert_eq!(shown(&row(&state)), (1, "1:00".to_owned(), "100".to_owned()));
    }

    #[test]
    fn beside_a_difference_at_a_step_stands_the_value_of_that_step() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let metrics = [series_names::VALIDATION_LOSS.to_owned()];
        let measures = [Measure::Last(metrics[0].clone()), Measure::Best(metrics[0].clone())];
        let pinned = state.runs[3].id.clone();
        // Last and best of the three seeds against a run that trains and has come to a step.
        let mut at = |step: u64| {
            state.runs[3].state = RunState::Running;
            state.runs[3].metrics.get_mut(&metrics[0]).unwrap().last_step = step;
            let bundles = bundles(&state.runs, &names_apart(&state.runs), Some("seed"), &configs, None);
            let courses = Courses::of(&bundles, &metrics, crate::plot::XAxis::Step, &mut state);
            let table =
                rows(&bundles, &measures, &[], None, Band::StandardDeviation, Some(&pinned), &courses).swap_remove(0);
            let [last, best] = table.entries.as_slice() else { panic!("{table:?}") };
            (last.clone(), best.clone())
        };
        // Seeds 0, 1 and 2 are at 2, 3, 4 after 50 steps and at 1, 2, 3 after 100; the other at 5 and at 4. Their newest values
        // are all 1.5, and the best ones 1.25.
        let (last, best) = at(50);
        assert_eq!(
            (last.against.unwrap().at_step, last.shown.as_str(), best.shown.as_str()),
            (Some(50), "3.0 ± 1.0", "3.0 ± 1.0")
        );
        assert_eq!((last.against.unwrap().delta.absolute, last.n), (-2.0, Some(3)));
        let spread = |band: Band| last.spread_words(band).unwrap();
        assert!(spread(Band::StandardDeviation).starts_with("±: standard deviation over the runs"));
        assert!(spread(Band::Confidence95).starts_with("±: 95 % interval over the runs"));
        assert_eq!(at(100).0.value, Some(2.0));
        let (early, _) = at(49);
        assert_eq!((early.value, early.delta.as_str()), (Some(1.5), ""), "nothing was measured by then");
        assert_eq!(early.spread_words(Band::StandardDeviation), None, "they came to the same");
    }

    #[test]
    fn runs_measured_on_other_text_are_not_judged() {
        let mut state = tests::state();
        state.runs[1].held_out_hash = Some("other text".to_owned());
        state.runs[1].metrics.get_mut(series_names::VALIDATION_LOSS).unwrap().last = 0.5;
        let bundle =
            bundles(&state.runs, &names_apart(&state.runs), None, &crate::panels::runs::FlatConfigs::default(), None);
        let measures = [Measure::Last(series_names::VALIDATION_LOSS.to_owned())];
        let table = rows(&bundle, &measures, &[], None, Band::None, Some(&state.runs[0].id), &Courses::default());
        assert_eq!((table[1].not_judged, table[2].not_judged), (Some(NotJudged::Text), None));
        assert_eq!(table[1].entries[0].verdict(), Verdict::Neutral);
        assert!(table[1].entries[0].delta.is_empty(), "it would be read as one");
        assert!(!table[2].entries[0].delta.is_empty());
    }

    #[test]
    fn a_run_without_a_value_has_an_empty_cell() {
        let mut state = tests::state();
        state.runs[1].metrics.clear();
        let bundle =
            bundles(&state.runs, &names_apart(&state.runs), None, &crate::panels::runs::FlatConfigs::default(), None);
        let measures = [Measure::Last(series_names::VALIDATION_LOSS.to_owned())];
        let table = rows(&bundle, &measures, &[], None, Band::None, Some(&state.runs[0].id), &Courses::default());
        assert_eq!(table[1].entries[0], Entry::default());
    }

    #[test]
    fn while_a_run_trains_it_is_judged_where_both_have_been() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let run = &mut state.runs[3];
        run.state = RunState::Running;
        let metric = run.metrics.get_mut(series_names::VALIDATION_LOSS).unwrap();
        (metric.last_step, metric.last, metric.best, metric.best_step) = (50, 5.0, Some(5.0), Some(50));
        let alone = bundles(&state.runs, &names_apart(&state.runs), None, &configs, None);
        let metrics = [series_names::VALIDATION_LOSS.to_owned()];
        let courses = Courses::of(&alone, &metrics, crate::plot::XAxis::Step, &mut state);
        let baseline = state.runs[0].id.clone();
        let measures = Measure::all(&[series_names::VALIDATION_LOSS]);
        let table = rows(&alone, &measures, &[], None, Band::None, Some(&baseline), &courses);
        // At step 50 the baseline stood at 2, not at its last 1.
        let last = &table[3].entries[0];
        assert_eq!((last.against.unwrap().at_step, last.against.unwrap().delta.absolute), (Some(50), 3.0));
        assert!(last.delta.ends_with(" at 50"), "{}", last.delta);
        assert!(last.about(&measures[0], None).unwrap().contains("At step 50, the last that all of them reached"));
        assert_eq!(table[2].entries[0].against.unwrap().at_step, None, "both have finished");
    }

    #[test]
    fn what_is_printed_alike_is_no_difference() {
        let mut state = tests::state();
        state.runs[0].metrics.get_mut(series_names::VALIDATION_LOSS).unwrap().last = 2.000_001;
        state.runs[1].metrics.get_mut(series_names::VALIDATION_LOSS).unwrap().last = 2.000_002;
        let bundle =
            bundles(&state.runs, &names_apart(&state.runs), None, &crate::panels::runs::FlatConfigs::default(), None);
        let measures = [Measure::Last(series_names::VALIDATION_LOSS.to_owned()), Measure::Parameters];
        let table = rows(&bundle, &measures, &[], None, Band::None, Some(&state.runs[0].id), &Courses::default());
        let shown: Vec<_> = table[1].entries.iter().map(|entry| (entry.delta.as_str(), entry.verdict())).collect();
        assert_eq!(shown, [("=", Verdict::Same), ("=", Verdict::Same)]);
    }
}
