//! How the series of runs are called and written.

use headroom_engine::store::series_names;

use crate::widgets::{Axis, Quantity, format};

/// A series' name for people.
pub fn series_title(series: &str) -> String {
    match series {
        series_names::TRAIN_LOSS => "Training loss".to_owned(),
        series_names::TRAIN_LEARNING_RATE => "Learning rate".to_owned(),
        series_names::TRAIN_GRAD_NORM => "Gradient norm".to_owned(),
        series_names::TRAIN_TOKENS_PER_SEC => "Training speed".to_owned(),
        series_names::VALIDATION_LOSS => "Validation loss".to_owned(),
        series_names::VALIDATION_PERPLEXITY => "Perplexity".to_owned(),
        series_names::VALIDATION_MASKED_ACCURACY => "Masked accuracy".to_owned(),
        series_names::COVERAGE_SCORE_ERROR => "Error of restored scores".to_owned(),
        series_names::PROBE_ADJACENT_SIMILARITY => "Likeness of neighbouring layers".to_owned(),
        series_names::PROBE_FAR_SIMILARITY => "Likeness of layers apart".to_owned(),
        series_names::PROBE_ENERGY_IN_1_PERCENT => "Energy in 1 % of eigenvalues".to_owned(),
        series_names::SYSTEM_CPU_PERCENT => "Processor use".to_owned(),
        series_names::SYSTEM_MEMORY_BYTES => "Memory".to_owned(),
        series_names::SYSTEM_PEAK_MEMORY_BYTES => "Peak memory".to_owned(),
        series_names::SYSTEM_GPU_MEMORY_BYTES => "GPU memory".to_owned(),
        series_names::SYSTEM_GPU_PERCENT => "GPU use".to_owned(),
        other => other.to_owned(),
    }
}

/// A series' unit, empty where its values carry it or there is none.
pub fn series_unit(series: &str) -> &'static str {
    match series {
        series_names::TRAIN_LOSS | series_names::VALIDATION_LOSS => "nats/token",
        series_names::TRAIN_TOKENS_PER_SEC => "tokens/s",
        series_names::SYSTEM_CPU_PERCENT => "% of one core",
        series_names::SYSTEM_GPU_PERCENT => "%",
        _ => "",
    }
}

/// A value of a series as people read it.
pub fn metric_value(series: &str, value: f64) -> String {
    if is_share(series) {
        format::percent(value)
    } else if series.ends_with("_bytes") && value.is_finite() && value >= 0.0 {
        format::bytes(value as u64)
    } else if series.ends_with("tokens_per_sec") {
        format::rate(value, "")
    } else if series.ends_with("_percent") {
        format!("{} %", format::significant(value, 3))
    } else {
        format::number(value)
    }
}

/// Whether its values are shares, 0 to 1.
fn is_share(series: &str) -> bool {
    series.ends_with("accuracy") || series == series_names::PROBE_ENERGY_IN_1_PERCENT
}

/// The y axis of a chart of this series.
pub fn series_axis(series: &str) -> Axis {
    let quantity = if is_share(series) {
        Quantity::Fraction
    } else if series.ends_with("_bytes") {
        Quantity::Bytes
    } else {
        Quantity::Number
    };
    Axis::new(series_title(series)).unit(series_unit(series)).quantity(quantity)
}

/// A title with the longest words cut, for the head of a narrow column.
pub fn short_title(title: &str) -> String {
    title.replace("Validation", "Val.").replace("Training", "Train")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_carry_the_unit_that_fits_the_series() {
        assert_eq!(metric_value(series_names::VALIDATION_MASKED_ACCURACY, 0.41), "41 %");
        assert_eq!(metric_value(series_names::PROBE_ENERGY_IN_1_PERCENT, 0.616), "62 %");
        assert_eq!(metric_value(series_names::SYSTEM_GPU_PERCENT, 41.0), "41.0 %");
        assert_eq!(metric_value(series_names::SYSTEM_MEMORY_BYTES, 1024.0), "1.0 KiB");
        assert_eq!(metric_value(series_names::VALIDATION_LOSS, f64::NAN), "NaN");
        assert_eq!(series_axis(series_names::TRAIN_LOSS).title(), "Training loss (nats/token)");
        assert_eq!(series_title("probe/similarity"), "probe/similarity");
    }
}
