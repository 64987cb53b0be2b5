//! What the filter language can say about a run.

use std::collections::BTreeMap;

use headroom_engine::{
    config::nearest,
    store::{RunSummary, SeriesSummary},
};
use serde_json::Value as Json;

use crate::{
    compare::{
        filter::{Record, Value},
        plain,
    },
    format,
    state::FlatConfigs,
};

/// Fields of every run, as filters name them.
pub const RUN_FIELDS: [&str; 17] = [
    "archived",
    "created",
    "device",
    "duration",
    "id",
    "name",
    "note",
    "number",
    "parameters",
    "parent",
    "seed",
    "state",
    "steps",
    "steps_total",
    "tag",
    "threads",
    "tokens",
];

/// A run as filters see it: its own fields, its metrics, and its config once that is loaded.
///
/// A metric is named by its series (`validation/loss`) or the last part of that (`loss`: validation before training),
/// with `.last` or `.best`; the last value when neither is said. A config key is named in full (`model.layers`) or by
/// its last part where only one key has it (`layers`).
#[derive(Clone, Copy)]
pub struct RunFields<'a> {
    /// The run.
    pub summary: &'a RunSummary,
    /// Its flat config, once loaded.
    pub config: Option<&'a BTreeMap<String, Json>>,
}

impl<'a> RunFields<'a> {
    /// A run whose config is not looked at.
    pub fn alone(summary: &'a RunSummary) -> Self {
        Self { summary, config: None }
    }

    /// A run with its config, if that is loaded.
    pub fn of(summary: &'a RunSummary, configs: &'a FlatConfigs) -> Self {
        Self { summary, config: configs.get(&summary.id).map(AsRef::as_ref) }
    }
}

impl Record for RunFields<'_> {
    fn value(&self, field: &str) -> Option<Value> {
        let field = field.to_lowercase();
        self.own(&field).or_else(|| self.metric(&field)).or_else(|| self.configured(&field))
    }

    fn has_word(&self, word: &str) -> bool {
        let run = self.summary;
        let holds = |text: &str| text.to_lowercase().contains(word);
        holds(&run.name)
            || run.tags.iter().any(|tag| holds(tag))
            || holds(run.state.as_str())
            || holds(&run.note)
            || run.id.as_str() == word
    }
}

impl RunFields<'_> {
    fn own(&self, field: &str) -> Option<Value> {
        let run = self.summary;
        let number = |number: u64| Some(Value::Number(number as f64));
        match field {
            "archived" => Some(Value::Text(if run.archived { "yes" } else { "no" }.to_owned())),
            "created" => Some(Value::Text(format::date_time(run.created_ms as f64 / 1000.0))),
            "device" => Some(Value::Text(run.device.clone())),
            "duration" => Some(Value::Number(run.train_secs)),
            "id" => Some(Value::Text(run.id.to_string())),
            "name" => Some(Value::Text(run.name.clone())),
            "note" => Some(Value::Text(run.note.clone())),
            "number" => number(run.number),
            "parameters" => run.parameters.and_then(number),
            "parent" => run.parent.as_ref().map(|parent| Value::Text(parent.run.to_string())),
            "seed" => number(run.seed),
            "state" => Some(Value::Text(run.state.as_str().to_owned())),
            "steps" => number(run.steps_done),
            "steps_total" => run.steps_total.and_then(number),
            "tag" | "tags" => Some(Value::List(run.tags.clone())),
            "threads" => number(u64::from(run.threads)),
            "tokens" => number(run.tokens),
            _ => None,
        }
    }

    fn metric(&self, field: &str) -> Option<Value> {
        let (name, best) = match field.rsplit_once('.') {
            Some((name, "best")) => (name, true),
            Some((name, "last")) => (name, false),
            _ => (field, false),
        };
        let series = named_series(&self.summary.metrics, name)?;
        if best { series.best.map(Value::Number) } else { Some(Value::Number(series.last)) }
    }

    fn configured(&self, field: &str) -> Option<Value> {
        let config = self.config?;
        let found = config.get(field).or_else(|| {
            let mut same_end =
                config.iter().filter(|(key, _)| key.rsplit_once('.').is_some_and(|(_, last)| last == field));
            let (_, value) = same_end.next()?;
            same_end.next().is_none().then_some(value)
        })?;
        Some(found.as_f64().map_or_else(|| Value::Text(plain(found)), Value::Number))
    }
}

/// The series of that name, written with `/` or `.`, or the best match for its last part alone.
fn named_series<'a>(metrics: &'a BTreeMap<String, SeriesSummary>, name: &str) -> Option<&'a SeriesSummary> {
    metrics
        .get(name)
        .or_else(|| metrics.get(&name.replacen('.', "/", 1)))
        .or_else(|| metrics.get(&format!("validation/{name}")))
        .or_else(|| metrics.get(&format!("train/{name}")))
        .or_else(|| {
            metrics
                .iter()
                .find(|(series, _)| series.rsplit_once('/').is_some_and(|(_, last)| last == name))
                .map(|(_, series)| series)
        })
}

/// Whether a field of the filter can only be answered by configs.
pub fn needs_config(field: &str, runs: &[RunSummary]) -> bool {
    !runs.iter().any(|summary| RunFields { summary, config: None }.value(field).is_some())
        && !RUN_FIELDS.contains(&field.to_lowercase().as_str())
}

/// What is wrong with a field of a filter or a column, where no run has it, with the one that may be meant.
pub fn unknown_field(field: &str, runs: &[RunSummary], configs: &FlatConfigs) -> Option<String> {
    let has_it = |run: &RunSummary| RunFields::of(run, configs).value(field).is_some();
    if !needs_config(field, runs) || runs.iter().any(has_it) {
        return None;
    }
    let first = runs.first();
    let metrics = first.into_iter().flat_map(|run| run.metrics.keys().map(String::as_str));
    let config = first.and_then(|run| configs.get(&run.id));
    let keys = config.into_iter().flat_map(|config| config.keys().map(String::as_str));
    let known = RUN_FIELDS.into_iter().chain(metrics).chain(keys);
    let meant = nearest(field, known).map_or_else(String::new, |name| format!(" Did you mean `{name}`?"));
    Some(format!("No run has the field `{field}`.{meant}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        compare::{filter::Filter, flatten},
        examples,
    };

    #[test]
    fn a_run_is_found_by_its_fields_its_metrics_and_its_config() {
        let summary = examples::summary(1, "grammar decoder");
        let config = flatten(&json!({"model": {"layers": 4}, "attention": {"reuse": {"kind": "none"}}}));
        let run = RunFields { summary: &summary, config: Some(&config) };
        for text in [
            "decoder",
            "state=finished steps>=100",
            "loss<2 and attention.reuse.kind=\"none\"",
            "validation/loss=1.5",
            "validation.loss.best=1.25",
            "train/loss<2 loss.best<1.3",
            "layers=4 model.layers<=4",
            "tag=paper",
            "created~2025",
            "parameters>1M",
            "missing!=1",
        ] {
            assert!(Filter::parse(text).unwrap().matches(&run), "{text}");
        }
        for text in ["encoder", "kind=x", "loss>2", "seed=9", "tag=draft"] {
            assert!(!Filter::parse(text).unwrap().matches(&run), "{text}");
        }
    }

    #[test]
    fn only_unknown_fields_need_configs() {
        let runs = [examples::summary(1, "a")];
        assert!(!needs_config("loss", &runs));
        assert!(!needs_config("parent", &runs), "a field of runs, although none has it");
        assert!(needs_config("model.layers", &runs));
    }
}
