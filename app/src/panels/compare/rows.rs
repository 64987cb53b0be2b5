//! The table below the chart: the same runs and groups, in numbers, against the baseline.

use headroom_engine::store::{Direction, RunId, RunSummary};

use super::lines::{Bundle, Made};
use crate::{
    compare::{
        Band, Cell, Delta, NotJudged, Summary, TextTable, Verdict, direction_between, metric_value, series_title,
        short_title, why_not_judged,
    },
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

    /// Which values are the good ones between runs that are `not_judged` for a reason, or are.
    pub fn direction(&self, not_judged: Option<NotJudged>) -> Direction {
        match self {
            Self::Last(series) | Self::Best(series) | Self::At(series, _) => direction_between(series, not_judged),
            Self::Parameters | Self::Duration | Self::Steps => Direction::None,
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

    fn delta(&self, delta: &Delta) -> String {
        let absolute = match self {
            Self::Last(series) | Self::Best(series) | Self::At(series, _) if series.ends_with("accuracy") => {
                format!("{} points", format::delta(delta.absolute * 100.0))
            }
            Self::Last(series) | Self::Best(series) | Self::At(series, _) if !series.ends_with("_bytes") => {
                format::delta(delta.absolute)
            }
            _ => return delta.relative.map_or_else(|| format::delta(delta.absolute), format::delta_percent),
        };
        match delta.relative {
            Some(relative) if delta.absolute != 0.0 => format!("{absolute} ({})", format::delta_percent(relative)),
            _ => absolute,
        }
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
    /// The delta itself.
    pub against: Option<Delta>,
}

impl Entry {
    /// What to think of the delta.
    pub fn verdict(&self) -> Verdict {
        self.against.map(|delta| delta.verdict).unwrap_or_default()
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// As [`Bundle::number`].
    pub number: u64,
    /// The name.
    pub name: String,
    /// How many runs.
    pub n: usize,
    /// Whether it is, or holds, the baseline.
    pub is_baseline: bool,
    /// Why it is neither better nor worse than the baseline.
    pub not_judged: Option<NotJudged>,
    /// A value for each measure.
    pub entries: Vec<Entry>,
}

/// Makes the rows. `charts` are what the chart of each series shows, `at` the x to compare at.
pub fn rows(
    bundles: &[Bundle],
    measures: &[Measure],
    charts: &[Made],
    at: Option<f64>,
    band: Band,
    baseline: Option<&RunId>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = bundles
        .iter()
        .map(|bundle| Row {
            number: bundle.number,
            name: bundle.name.clone(),
            n: bundle.runs.len(),
            is_baseline: baseline.is_some_and(|run| bundle.has(run)),
            not_judged: None,
            entries: measures.iter().map(|measure| entry(bundle, measure, charts, at, band)).collect(),
        })
        .collect();
    let base: Option<Vec<Option<f64>>> =
        rows.iter().find(|row| row.is_baseline).map(|row| row.entries.iter().map(|entry| entry.value).collect());
    let Some(base) = base else { return rows };
    let pinned = bundles.iter().find(|bundle| baseline.is_some_and(|run| bundle.has(run)));
    let pinned = pinned.map_or(&[][..], |bundle| &bundle.runs);
    for (row, bundle) in rows.iter_mut().zip(bundles).filter(|(row, _)| !row.is_baseline) {
        // Groups may mix: one run that stands apart is enough.
        row.not_judged = pinned.iter().find_map(|a| bundle.runs.iter().find_map(|b| why_not_judged(a, b)));
        for ((entry, measure), base) in row.entries.iter_mut().zip(measures).zip(&base) {
            let (Some(value), Some(base)) = (entry.value, *base) else { continue };
            entry.against = Delta::of(value, base, measure.direction(row.not_judged));
            entry.delta = entry.against.map(|delta| measure.delta(&delta)).unwrap_or_default();
        }
    }
    rows
}

fn entry(bundle: &Bundle, measure: &Measure, charts: &[Made], at: Option<f64>, band: Band) -> Entry {
    if let Measure::At(_, chart) = measure {
        let line = charts.get(*chart).and_then(|made| made.lines.iter().find(|line| line.number == bundle.number));
        let value = line.zip(at).and_then(|(line, x)| line.at(x));
        return Entry { value, shown: value.map(|value| measure.value(value)).unwrap_or_default(), ..Entry::default() };
    }
    let values: Vec<f64> = bundle.runs.iter().filter_map(|run| measure.of(run)).collect();
    let Some(summary) = Summary::of(&values) else { return Entry::default() };
    let mean = measure.value(summary.mean);
    let shown = match (band, summary.half_width(band), summary.edges(band)) {
        (Band::MinMax, _, Some((low, high))) if low < high => {
            format!("{mean} ({} to {})", measure.value(low), measure.value(high))
        }
        (_, Some(half), _) if half > 0.0 => format!("{mean} ± {}", measure.value(half)),
        _ => mean,
    };
    Entry { value: Some(summary.mean), shown, ..Entry::default() }
}

/// The table as text, deltas in columns of their own.
pub fn text_table(rows: &[Row], measures: &[Measure], at: &str) -> TextTable {
    let grouped = rows.iter().any(|row| row.n > 1);
    let compared = rows.iter().any(|row| row.is_baseline);
    let mut header = vec!["Run".to_owned()];
    if grouped {
        header.push("n".to_owned());
    }
    for measure in measures {
        header.push(measure.title(at));
        if compared {
            header.push(format!("Δ {}", measure.title(at)));
        }
    }
    let cells = |row: &Row| {
        let name = if row.is_baseline { format!("{} (baseline)", row.name) } else { row.name.clone() };
        let mut cells = vec![Cell::text(name)];
        if grouped {
            cells.push(Cell::number(row.n as f64, row.n.to_string()));
        }
        for entry in &row.entries {
            cells.push(Cell { shown: entry.shown.clone(), exact: entry.value });
            if compared {
                cells.push(Cell { shown: entry.delta.clone(), exact: entry.against.map(|delta| delta.absolute) });
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
    use crate::compare::names_apart;

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
            let bundles = bundles(&state.runs, &names_apart(&state.runs), group, &configs);
            let made = LineMaker::default().make(&bundles, series_names::VALIDATION_LOSS, &View::default(), state);
            (bundles, made)
        };
        let measures = Measure::all(&[series_names::VALIDATION_LOSS]);
        assert_eq!(measures.len(), 6);

        let (alone, made) = made_of(None, &mut state);
        let table = rows(&alone, &measures, &[made], Some(100.0), Band::None, Some(&baseline));
        assert!(table[0].is_baseline && table[0].entries[1].delta.is_empty());
        assert_eq!(table[3].entries[1].shown, "1.500");
        assert_eq!(table[3].entries[1].delta, "+0.5000 (+50 %)");
        assert_eq!(table[3].entries[1].verdict(), Verdict::Worse);
        assert_eq!(table[3].entries[2].value, Some(4.0), "at step 100");
        assert_eq!(table[3].entries[3].delta, "+100 %");
        assert_eq!(table[3].entries[3].verdict(), Verdict::Neutral, "parameters have no direction");

        let (grouped, made) = made_of(Some("seed"), &mut state);
        let table = rows(&grouped, &measures, &[made], Some(100.0), Band::StandardDeviation, Some(&baseline));
        assert_eq!(table.len(), 2);
        assert_eq!((table[0].n, table[0].entries[1].shown.as_str()), (3, "2.000 ± 1.000"));
        assert_eq!(table[1].entries[1].verdict(), Verdict::Better, "1.5 against a mean of 2");
        let csv = text_table(&table, &measures, "at step 100").to_csv();
        assert!(csv.starts_with("Run,n,\"Validation loss, last\",\"Δ Validation loss, last\""), "{csv}");
        assert!(csv.contains("\nother,1,"), "{csv}");
    }

    #[test]
    fn runs_measured_on_other_text_are_not_judged() {
        let mut state = tests::state();
        state.runs[1].held_out_hash = Some("other text".to_owned());
        state.runs[1].metrics.get_mut(series_names::VALIDATION_LOSS).unwrap().last = 0.5;
        let bundle =
            bundles(&state.runs, &names_apart(&state.runs), None, &crate::panels::runs::FlatConfigs::default());
        let measures = [Measure::Last(series_names::VALIDATION_LOSS.to_owned())];
        let table = rows(&bundle, &measures, &[], None, Band::None, Some(&state.runs[0].id));
        assert_eq!((table[1].not_judged, table[2].not_judged), (Some(NotJudged::Text), None));
        assert_eq!(table[1].entries[0].verdict(), Verdict::Neutral);
        assert!(!table[1].entries[0].delta.is_empty(), "the difference itself is shown");
    }

    #[test]
    fn a_run_without_a_value_has_an_empty_cell() {
        let mut state = tests::state();
        state.runs[1].metrics.clear();
        let bundle =
            bundles(&state.runs, &names_apart(&state.runs), None, &crate::panels::runs::FlatConfigs::default());
        let measures = [Measure::Last(series_names::VALIDATION_LOSS.to_owned())];
        let table = rows(&bundle, &measures, &[], None, Band::None, Some(&state.runs[0].id));
        assert_eq!(table[1].entries[0], Entry::default());
    }
}
