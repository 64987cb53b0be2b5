//! Axes for what the configs of the compared runs differ in, and for what came of them.

use std::{collections::BTreeMap, sync::Arc};

use headroom_engine::store::{Direction, RunSummary, series_names};
use serde_json::Value;

use super::{lines::Bundle, view::View};
use crate::{
    compare::LOSS_UNIT,
    compare::{common_keys, plain, series_axis, series_title, short_key},
    panels::runs::FlatConfigs,
    plot::{Axis, Quantity, Scale},
    widgets::{ParallelAxis, ParallelScale},
};

/// Values that spread over more than this get a logarithmic axis.
const WIDE: f64 = 20.0;

/// An axis for each config key whose value differs.
pub(super) fn config_axes(bundles: &[Bundle], configs: &FlatConfigs, group: Option<&str>) -> Vec<ParallelAxis> {
    let flat: Vec<Vec<&Arc<BTreeMap<String, Value>>>> =
        bundles.iter().map(|bundle| bundle.runs.iter().filter_map(|run| configs.get(&run.id)).collect()).collect();
    let all: Vec<&BTreeMap<String, Value>> = flat.iter().flatten().map(AsRef::as_ref).collect();
    // The value that all runs of a bundle share.
    let shared = |key: &str, own: &Vec<&Arc<BTreeMap<String, Value>>>| {
        let (first, rest) = own.split_first()?;
        let value = first.get(key)?;
        rest.iter().all(|config| config.get(key) == Some(value)).then(|| value.clone())
    };
    let mut axes: Vec<ParallelAxis> = Vec::new();
    for key in common_keys(&all) {
        let values: Vec<Option<Value>> = flat.iter().map(|own| shared(&key, own)).collect();
        let differs = values.windows(2).any(|pair| pair.first() != pair.last());
        if differs && group != Some(&key) {
            axes.push(config_axis(&key, &values));
        }
    }
    axes
}

/// The axes of configs, found anew only where other runs are shown or put together: configs never change.
#[derive(Default)]
pub(super) struct ConfigAxes {
    of: Vec<Vec<(u64, bool)>>,
    group: Option<String>,
    axes: Vec<ParallelAxis>,
}

impl ConfigAxes {
    /// As [`config_axes`].
    pub fn of(&mut self, bundles: &[Bundle], configs: &FlatConfigs, group: Option<&str>) -> &[ParallelAxis] {
        let known = |run: &RunSummary| (run.number, configs.get(&run.id).is_some());
        let of: Vec<Vec<(u64, bool)>> = bundles.iter().map(|bundle| bundle.runs.iter().map(known).collect()).collect();
        if of != self.of || group != self.group.as_deref() {
            self.axes = config_axes(bundles, configs, group);
            (self.of, self.group) = (of, group.map(str::to_owned));
        }
        &self.axes
    }
}

fn config_axis(key: &str, values: &[Option<Value>]) -> ParallelAxis {
    let label = short_key(key).to_owned();
    let key = key.to_owned();
    if values.iter().flatten().all(Value::is_number) {
        let values: Vec<Option<f64>> = values.iter().map(|value| value.as_ref().and_then(Value::as_f64)).collect();
        let scale = scale_of(&values);
        let is_whole = values.iter().flatten().all(|value| value.fract() == 0.0);
        let quantity = if is_whole { Quantity::Count } else { Quantity::Number };
        let axis = Axis::new(&label).scale(scale).quantity(quantity);
        return ParallelAxis { key, label, scale: ParallelScale::Number(axis), values };
    }
    let mut names: Vec<String> = values.iter().flatten().map(plain).collect();
    names.sort();
    names.dedup();
    let place = |value: &Value| names.iter().position(|name| *name == plain(value)).map(|index| index as f64);
    let values = values.iter().map(|value| value.as_ref().and_then(place)).collect();
    ParallelAxis { key, label, scale: ParallelScale::Category(names), values }
}

/// Logarithmic for positive values that spread widely.
fn scale_of(values: &[Option<f64>]) -> Scale {
    let low = values.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    Scale::log_if(low > 0.0 && high / low > WIDE)
}

/// The chosen metrics, then what the runs cost; means where runs are grouped.
pub(super) fn result_axes(bundles: &[Bundle], metrics: &[String]) -> Vec<ParallelAxis> {
    let axis = |key: &str, axis: Axis, of: &dyn Fn(&RunSummary) -> Option<f64>| {
        let mean = |bundle: &Bundle| {
            // Of a metric the runs that count, of what is none all of them.
            let counted = bundle.counted(key);
            let runs = if counted.is_empty() { bundle.runs.iter().collect() } else { counted };
            let found: Vec<f64> = runs.into_iter().filter_map(of).filter(|value| value.is_finite()).collect();
            (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
        };
        let values = bundles.iter().map(mean).collect();
        ParallelAxis { key: key.to_owned(), label: axis.label.clone(), scale: ParallelScale::Number(axis), values }
    };
    let metric = |name: &String| {
        let best = Direction::of(name) != Direction::None;
        let label = if best { format!("{}, best", series_title(name)) } else { series_title(name) };
        let of = |run: &RunSummary| {
            let summary = run.metrics.get(name)?;
            if best { summary.best } else { Some(summary.last) }
        };
        axis(name, Axis { label, ..series_axis(name) }, &of)
    };
    let peak = series_names::SYSTEM_PEAK_MEMORY_BYTES;
    let costs = [
        axis("parameters", Axis::new("Parameters").quantity(Quantity::Count), &|run| run.parameters.map(|n| n as f64)),
        axis("FLOPs per step", Axis::new("FLOPs per step").quantity(Quantity::Flops), &|run| {
            run.flops_per_step.map(|n| n as f64)
        }),
        axis("steps per second", Axis::new("Steps/s"), &|run| {
            (run.train_secs > 0.0 && run.steps_done > 0).then(|| run.steps_done as f64 / run.train_secs)
        }),
        axis(peak, Axis::new("Peak memory").quantity(Quantity::Bytes), &|run| Some(run.metrics.get(peak)?.last)),
    ];
    let is_known = |axis: &ParallelAxis| axis.values.iter().any(Option::is_some);
    metrics.iter().map(metric).chain(costs.into_iter().filter(is_known)).collect()
}

/// The y axis of a metric, of losses in the unit of the runs that are shown.
pub(super) fn axis_of(metric: &str, view: &View) -> Axis {
    let axis = series_axis(metric);
    match view.loss_unit {
        Some(unit) if axis.unit == LOSS_UNIT => axis.unit(unit),
        _ => axis,
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::{bundles, tests};
    use super::*;
    use crate::compare::names_apart;

    #[test]
    fn an_axis_for_what_differs_and_for_each_result() {
        let mut state = tests::state();
        let configs = tests::configs(&mut state);
        let names = names_apart(&state.runs);
        let alone = bundles(&state.runs, &names, None, &configs, None);
        let keys = config_axes(&alone, &configs, None);
        let labels: Vec<&str> = keys.iter().map(|axis| axis.label.as_str()).collect();
        assert_eq!(labels, ["seed", "layers"]);
        assert_eq!(keys[1].values, [4.0, 4.0, 4.0, 8.0].map(Some));
        let metrics = [series_names::VALIDATION_LOSS.to_owned()];
        let results = result_axes(&alone, &metrics);
        assert_eq!(results[0].label, "Validation loss, best");
        assert!(results.iter().any(|axis| axis.key == "parameters"));

        // What is kept follows what is shown.
        let mut kept = ConfigAxes::default();
        assert_eq!(kept.of(&alone, &FlatConfigs::default(), None), []);
        assert_eq!(kept.of(&alone, &configs, None), keys);
        assert_eq!(kept.of(&alone[..3], &configs, None).len(), 1, "without the one that is deeper");

        let grouped = bundles(&state.runs, &names, Some("seed"), &configs, None);
        assert_eq!(kept.of(&grouped, &configs, Some("seed")).len(), 1);
        let keys = config_axes(&grouped, &configs, Some("seed"));
        assert_eq!(keys.len(), 1, "seeds that were put together are no axis");
        assert_eq!(keys[0].values, [Some(4.0), Some(8.0)]);
    }

    #[test]
    fn words_are_categories_and_wide_numbers_logarithmic() {
        let words = config_axis("model.norm", &[Some("pre".into()), None, Some("post".into())]);
        assert_eq!(words.scale, ParallelScale::Category(vec!["post".to_owned(), "pre".to_owned()]));
        assert_eq!(words.values, [Some(1.0), None, Some(0.0)]);
        let rates = config_axis("train.learning_rate", &[Some(1e-4.into()), Some(1e-2.into())]);
        assert!(matches!(rates.scale, ParallelScale::Number(Axis { scale: Scale::Log, .. })));
    }
}
