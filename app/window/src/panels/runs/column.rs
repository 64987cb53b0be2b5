//! The columns of the table of runs.

use std::{cmp::Ordering, collections::BTreeSet, fmt};

use headroom_engine::store::{Direction, RunSummary, series_names};
use serde::{Deserialize, Serialize};

use super::RunFields;
use crate::{
    compare::{metric_value, plain, series_title, short_key, short_title},
    export::Cell,
    format,
};

/// Which value of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// At the highest step.
    Last,
    /// The best one.
    Best,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// The name.
    Name,
    /// The state.
    State,
    /// Steps done.
    Steps,
    /// A series.
    Metric(String, Which),
    /// Time spent in training.
    Duration,
    /// When it was queued.
    Created,
    /// Trained parameters.
    Parameters,
    /// The device.
    Device,
    /// The seed.
    Seed,
    /// Tokens trained on.
    Tokens,
    /// Labels.
    Tags,
    /// The remark.
    Note,
    /// The id.
    Id,
    /// A key of the config, in full: `model.layers`.
    Config(String),
}

impl Column {
    /// The columns that are shown at first.
    pub fn usual() -> Vec<Self> {
        vec![
            Self::Name,
            Self::State,
            Self::Steps,
            Self::Seed,
            Self::Metric(series_names::TRAIN_LOSS.to_owned(), Which::Last),
            Self::Metric(series_names::VALIDATION_LOSS.to_owned(), Which::Best),
            Self::Duration,
            Self::Parameters,
            Self::Device,
            Self::Created,
            Self::Tags,
        ]
    }

    /// Every column that these runs can fill, in the order of the table.
    pub fn all(runs: &[RunSummary]) -> Vec<Self> {
        let series: BTreeSet<&String> = runs.iter().flat_map(|run| run.metrics.keys()).collect();
        let mut all = vec![Self::Name, Self::State, Self::Steps, Self::Seed];
        for series in series {
            all.push(Self::Metric(series.clone(), Which::Last));
            if Direction::of(series) != Direction::None {
                all.push(Self::Metric(series.clone(), Which::Best));
            }
        }
        all.extend([
            Self::Duration,
            Self::Parameters,
            Self::Device,
            Self::Created,
            Self::Tags,
            Self::Tokens,
            Self::Note,
            Self::Id,
        ]);
        all
    }

    /// Whether it holds numbers, set to the right.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Steps | Self::Metric(..) | Self::Duration | Self::Parameters | Self::Seed | Self::Tokens)
    }

    /// Its usual width in points; the name column takes what is left over.
    pub fn width(&self) -> f32 {
        match self {
            Self::Name => 150.0,
            Self::Note => 200.0,
            Self::Created => 120.0,
            Self::Metric(..) => 108.0,
            Self::State => 102.0,
            Self::Id => 110.0,
            Self::Tags => 96.0,
            Self::Steps => 64.0,
            Self::Seed => 46.0,
            Self::Duration => 72.0,
            Self::Device => 58.0,
            Self::Parameters | Self::Tokens => 84.0,
            Self::Config(_) => 92.0,
        }
    }

    /// How soon it gives way where there is no room for all: the higher the sooner, never at 0. Tags are worth their
    /// room once there are some; seeds stand in the names, where these would be the same.
    pub fn rank(&self, has_tags: bool) -> u8 {
        match self {
            Self::Name | Self::State => 0,
            Self::Metric(_, Which::Best) | Self::Config(_) => 1,
            Self::Steps => 2,
            Self::Tags if has_tags => 3,
            Self::Metric(_, Which::Last) => 4,
            Self::Duration => 5,
            Self::Seed => 6,
            Self::Parameters => 7,
            Self::Created => 8,
            Self::Tags | Self::Device | Self::Note | Self::Tokens | Self::Id => 9,
        }
    }

    /// The head of the column.
    pub fn heading(&self) -> String {
        match self {
            Self::Config(key) => short_key(key).to_owned(),
            other => short_title(&other.to_string()),
        }
    }

    /// The run's cell: what is shown, and the number behind it. Empty where the run has no value.
    pub fn cell(&self, fields: &RunFields<'_>) -> Cell {
        let run = fields.summary;
        let count = |n: u64| Cell::number(n as f64, format::count(n));
        match self {
            Self::Name => Cell::text(run.name.clone()),
            Self::State => Cell::text(run.state_words()),
            Self::Steps => count(run.steps_done),
            Self::Metric(..) => self.number(fields).map_or_else(
                || Cell::text(""),
                |value| Cell::number(value, metric_value(self.series().unwrap_or_default(), value)),
            ),
            Self::Duration => Cell::number(run.train_secs, format::duration(run.train_secs)),
            Self::Created => Cell::text(created(run)),
            Self::Parameters => {
                run.parameters.map_or_else(|| Cell::text(""), |n| Cell::number(n as f64, format::si(n as f64, "")))
            }
            Self::Device => Cell::text(run.device.clone()),
            Self::Seed => Cell::number(run.seed as f64, run.seed.to_string()),
            Self::Tokens => Cell::number(run.tokens as f64, format::si(run.tokens as f64, "")),
            Self::Tags => Cell::text(run.tags.join(", ")),
            Self::Note => Cell::text(run.note.replace(['\n', '\r'], " ")),
            Self::Id => Cell::text(run.id.to_string()),
            Self::Config(key) => match fields.config.and_then(|config| config.get(key)) {
                None => Cell::text(""),
                Some(value) => match value.as_f64() {
                    Some(number) => Cell::number(number, plain(value)),
                    None => Cell::text(plain(value)),
                },
            },
        }
    }

    /// The order of two runs by this column, ascending; runs without a value come last either way.
    pub fn compare(&self, left: &RunFields<'_>, right: &RunFields<'_>, descending: bool) -> Ordering {
        let turn = |order: Ordering| if descending { order.reverse() } else { order };
        let (a, b) = (left.summary, right.summary);
        match self {
            Self::Name => turn(a.name.to_lowercase().cmp(&b.name.to_lowercase())),
            Self::State => turn(a.state.cmp(&b.state)),
            Self::Created => turn(a.created_ms.cmp(&b.created_ms)),
            Self::Device => turn(a.device.cmp(&b.device)),
            Self::Id => turn(a.id.cmp(&b.id)),
            Self::Tags => a.tags.is_empty().cmp(&b.tags.is_empty()).then_with(|| turn(a.tags.cmp(&b.tags))),
            Self::Note => a.note.is_empty().cmp(&b.note.is_empty()).then_with(|| turn(a.note.cmp(&b.note))),
            Self::Config(key) if self.number(left).is_none() || self.number(right).is_none() => {
                let text = |fields: &RunFields<'_>| fields.config.and_then(|config| config.get(key)).map(plain);
                let (x, y) = (text(left), text(right));
                x.is_none().cmp(&y.is_none()).then_with(|| turn(x.cmp(&y)))
            }
            _ => match (self.number(left), self.number(right)) {
                (Some(x), Some(y)) => match (x.is_nan(), y.is_nan()) {
                    (false, false) => turn(x.total_cmp(&y)),
                    (x_nan, y_nan) => x_nan.cmp(&y_nan),
                },
                (x, y) => x.is_none().cmp(&y.is_none()),
            },
        }
    }

    fn series(&self) -> Option<&str> {
        match self {
            Self::Metric(series, _) => Some(series),
            _ => None,
        }
    }

    /// The number behind the run's cell.
    pub fn number(&self, fields: &RunFields<'_>) -> Option<f64> {
        let run = fields.summary;
        match self {
            Self::Config(key) => fields.config?.get(key)?.as_f64(),
            Self::Steps => Some(run.steps_done as f64),
            Self::Duration => Some(run.train_secs),
            Self::Parameters => run.parameters.map(|n| n as f64),
            Self::Seed => Some(run.seed as f64),
            Self::Tokens => Some(run.tokens as f64),
            Self::Metric(series, which) => run.metrics.get(series).and_then(|summary| match which {
                Which::Last => Some(summary.last),
                Which::Best => summary.best,
            }),
            _ => None,
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metric(series, Which::Last) => write!(f, "{}, last", series_title(series)),
            Self::Metric(series, Which::Best) => write!(f, "{}, best", series_title(series)),
            Self::Name => f.write_str("Name"),
            Self::State => f.write_str("State"),
            Self::Steps => f.write_str("Steps"),
            Self::Duration => f.write_str("Duration"),
            Self::Created => f.write_str("Created"),
            Self::Parameters => f.write_str("Parameters"),
            Self::Device => f.write_str("Device"),
            Self::Seed => f.write_str("Seed"),
            Self::Tokens => f.write_str("Tokens"),
            Self::Tags => f.write_str("Tags"),
            Self::Note => f.write_str("Note"),
            Self::Id => f.write_str("Id"),
            Self::Config(key) => f.write_str(key),
        }
    }
}

/// When the run was queued, to the minute, UTC.
pub fn created(run: &RunSummary) -> String {
    let mut text = format::date_time(run.created_ms as f64 / 1000.0);
    text.truncate(16);
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{compare::flatten, examples};

    #[test]
    fn runs_without_a_value_come_last_in_both_directions() {
        let column = Column::Metric(series_names::VALIDATION_LOSS.to_owned(), Which::Best);
        let mut runs: Vec<_> = (0..4).map(|i| examples::summary(i, "run")).collect();
        for (run, best) in runs.iter_mut().zip([Some(2.0), None, Some(1.0), Some(f64::NAN)]) {
            run.metrics.get_mut(series_names::VALIDATION_LOSS).unwrap().best = best;
        }
        let numbers = |descending| {
            let mut sorted = runs.clone();
            sorted.sort_by(|a, b| column.compare(&RunFields::alone(a), &RunFields::alone(b), descending));
            sorted.iter().map(|run| run.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(false), [2, 0, 3, 1]);
        assert_eq!(numbers(true), [0, 2, 3, 1]);
    }

    #[test]
    fn every_column_has_a_title_of_its_own_and_a_cell() {
        let runs = [examples::summary(1, "a")];
        let all = Column::all(&runs);
        let titles: BTreeSet<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(titles.len(), all.len());
        for column in Column::usual() {
            assert!(all.contains(&column), "{column}");
            assert_eq!(column.cell(&RunFields::alone(&runs[0])).exact.is_some(), column.is_number(), "{column}");
        }
    }

    #[test]
    fn a_key_of_the_config_is_a_column_and_sorts_as_numbers_where_it_holds_them() {
        let configs = [json!({"layers": 12}), json!({"layers": 4}), json!({}), json!({"layers": "all"})];
        let flat: Vec<_> = configs.iter().map(|config| flatten(&json!({ "model": config }))).collect();
        let summary = examples::summary(1, "a");
        let fields: Vec<RunFields<'_>> =
            flat.iter().map(|config| RunFields { summary: &summary, config: Some(config) }).collect();
        let column = Column::Config("model.layers".to_owned());
        assert_eq!((column.to_string().as_str(), column.heading().as_str()), ("model.layers", "layers"));
        let shown: Vec<String> = fields.iter().map(|fields| column.cell(fields).shown).collect();
        assert_eq!(shown, ["12", "4", "", "all"]);
        assert_eq!(column.compare(&fields[0], &fields[1], false), Ordering::Greater);
        assert_eq!(column.compare(&fields[0], &fields[1], true), Ordering::Less);
        for descending in [false, true] {
            assert_eq!(column.compare(&fields[0], &fields[2], descending), Ordering::Less, "what has none comes last");
        }
    }
}
