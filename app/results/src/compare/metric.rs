//! How the series of runs are called and written.

use headroom_engine::{
    config::{TaskConfig, TaskInfo},
    objective::{Metric, Quantity},
};

use crate::{
    format,
    plot::{Axis, Quantity as AxisQuantity},
};

/// A series' name for people.
pub fn series_title(series: &str) -> String {
    Metric::find(series).map_or(series, |metric| metric.title).to_owned()
}

/// A series' unit, empty where its values carry it or there is none.
pub fn series_unit(series: &str) -> &'static str {
    Metric::find(series).map_or("", |metric| metric.unit)
}

/// What a series is, for tooltips: its formula where it is known, and its name for scripts.
pub fn series_hint(series: &str) -> String {
    Metric::find(series).map_or_else(|| series.to_owned(), |metric| format!("{}\n{series}", metric.formula))
}

/// A value of a series as people read it.
pub fn metric_value(series: &str, value: f64) -> String {
    match Quantity::of(series) {
        Quantity::Share => format::share(value),
        Quantity::Bytes if value.is_finite() && value >= 0.0 => format::bytes(value as u64),
        Quantity::Rate => format::rate(value, ""),
        Quantity::Percent => format!("{} %", format::significant(value, 3)),
        Quantity::Bytes | Quantity::Number => format::number(value),
    }
}

/// The mean of values of a series and how far they spread, as people read them.
pub fn metric_spread(series: &str, mean: f64, spread: f64) -> String {
    match Quantity::of(series) {
        Quantity::Number => format::mean_and_spread(mean, spread),
        _ => format!("{} ± {}", metric_value(series, mean), metric_value(series, spread)),
    }
}

/// The y axis of a chart of this series.
pub fn series_axis(series: &str) -> Axis {
    let quantity = match Quantity::of(series) {
        Quantity::Share => AxisQuantity::Fraction,
        Quantity::Bytes => AxisQuantity::Bytes,
        Quantity::Number | Quantity::Percent | Quantity::Rate => AxisQuantity::Number,
    };
    Axis::new(series_title(series)).unit(series_unit(series)).quantity(quantity)
}

/// What losses are counted in where nothing else is said.
pub const LOSS_UNIT: &str = "nats/token";

/// What the losses of several runs are counted in, by the kinds of their tasks; of one that several share, else what all have in
/// common.
pub fn common_loss_unit<'a>(tasks: impl Iterator<Item = Option<&'a str>>) -> Option<&'static str> {
    let mut units: Vec<&'static str> = tasks.map(unit_of_task).collect();
    units.sort_unstable();
    units.dedup();
    match units.as_slice() {
        [] => None,
        [one] => Some(one),
        several if several.iter().all(|unit| unit.starts_with("nats/")) => Some("nats"),
        _ => Some("of several units"),
    }
}

/// What a run's losses are counted in, by its config.
pub fn loss_unit(config: &serde_json::Value) -> &'static str {
    unit_of_task(task_of(config))
}

fn unit_of_task(task: Option<&str>) -> &'static str {
    task.and_then(TaskConfig::info_of).map_or(LOSS_UNIT, |task| task.loss_unit)
}

/// The kind of a run's task; none where it learns language, or to translate.
pub fn task_of(config: &serde_json::Value) -> Option<&str> {
    config.get("task")?.get("kind")?.as_str()
}

/// Names and properties of a run's task.
pub fn task_info(config: &serde_json::Value) -> Option<&'static TaskInfo> {
    TaskConfig::info_of(task_of(config)?)
}

/// A title with the longest words cut, for the head of a narrow column.
pub fn short_title(title: &str) -> String {
    title.replace("Validation", "Val.").replace("Training", "Train")
}

#[cfg(test)]
mod tests {
    use headroom_engine::objective::LearnedTask;
    use headroom_engine::store::series_names;

    use super::*;

    #[test]
    fn losses_of_other_tasks_share_what_they_can() {
        let unit = |tasks: &[Option<&str>]| common_loss_unit(tasks.iter().copied());
        assert_eq!(unit(&[]), None);
        assert_eq!(unit(&[None, None]), Some(LOSS_UNIT));
        assert_eq!(unit(&[Some("span"), Some("classification")]), Some("nats/example"));
        assert_eq!(unit(&[None, Some("classification")]), Some("nats"));
        assert_eq!(unit(&[Some("regression"), Some("classification")]), Some("of several units"));
    }

    #[test]
    fn losses_are_counted_in_what_the_task_says() {
        use headroom_engine::config::{RunConfig, TaskConfig};

        let unit = |task: Option<TaskConfig>| {
            let config = RunConfig { task: task.clone(), ..RunConfig::default() };
            let own = loss_unit(&serde_json::to_value(&config).unwrap());
            assert_eq!(own.replace('/', " per "), config.objective().task().loss_unit(), "{task:?}");
            own
        };
        let units: Vec<&str> =
            [None].into_iter().chain(TaskConfig::examples().into_iter().map(Some)).map(unit).collect();
        let example = "nats/example";
        assert_eq!(units, ["nats/token", example, "squared error/example", example, example, "nats/token"]);
    }

    #[test]
    fn values_carry_the_unit_that_fits_the_series() {
        for metric in Metric::of_objectives().filter(|metric| metric.quantity == Quantity::Share) {
            assert_eq!(metric_value(metric.series, 0.41), "41.0 %");
        }
        assert_eq!(metric_value(series_names::PROBE_ENERGY_IN_1_PERCENT, 0.616), "61.6 %");
        assert_eq!(metric_value(series_names::SYSTEM_GPU_PERCENT, 41.0), "41.0 %");
        assert_eq!(metric_value(series_names::SYSTEM_MEMORY_BYTES, 1024.0), "1.0 KiB");
        assert_eq!(metric_value(series_names::VALIDATION_LOSS, f64::NAN), "NaN");
        assert_eq!(series_axis(series_names::TRAIN_LOSS).title(), "Training loss (nats/token)");
        assert_eq!(series_title("probe/similarity"), "probe/similarity");
        assert_eq!(series_hint("probe/similarity"), "probe/similarity");
        assert!(series_hint(series_names::TRAIN_LOSS).ends_with("\ntrain/loss"));
    }
}
