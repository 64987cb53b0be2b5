use super::{Direction, ExampleMetric, Metric, Quantity, Sums, series_names};

/// A metric that is logged as it comes.
const fn logged(series: &'static str, title: &'static str, formula: &'static str) -> Metric {
    Metric {
        series,
        title,
        phrase: "{}",
        unit: "",
        quantity: Quantity::Number,
        direction: Direction::None,
        formula,
        of_sums: None,
        of_examples: None,
    }
}

/// The loss on held-out text, which every objective has.
pub(super) const VALIDATION_LOSS: Metric = Metric {
    unit: "nats/token",
    phrase: "validation loss {}",
    direction: Direction::Lower,
    of_sums: Some(Sums::mean_loss),
    of_examples: Some(ExampleMetric::Loss),
    ..logged(
        series_names::VALIDATION_LOSS,
        "Validation loss",
        "mean of -ln p(right token) over the labelled tokens of the held-out text",
    )
};

/// What a run logs whatever its objective is. Those of evaluations stand with the objectives.
pub const RECORDED: &[Metric] = &[
    Metric {
        unit: "nats/token",
        direction: Direction::Lower,
        ..logged(
            series_names::TRAIN_LOSS,
            "Training loss",
            "mean of -ln p(right token) over the labelled tokens of the step",
        )
    },
    logged(series_names::TRAIN_LEARNING_RATE, "Learning rate", "of the step, from the schedule"),
    logged(
        series_names::TRAIN_GRAD_NORM,
        "Gradient norm",
        "square root of the sum of all squared gradients, before clipping",
    ),
    Metric {
        unit: "tokens/s",
        quantity: Quantity::Rate,
        direction: Direction::Higher,
        ..logged(series_names::TRAIN_TOKENS_PER_SEC, "Training speed", "tokens of the step / its time")
    },
    Metric {
        direction: Direction::Lower,
        ..logged(
            series_names::COVERAGE_SCORE_ERROR,
            "Error of restored scores",
            "mean squared error of the scores that follow from some pairs / mean square of all scores",
        )
    },
    logged(
        series_names::PROBE_ADJACENT_SIMILARITY,
        "Similarity of neighbouring layers",
        "mean similarity of the most similar heads of neighbouring layers on the probe batch, 0 to 1; without \
         borrowed maps, which equal their lender's by construction",
    ),
    logged(
        series_names::PROBE_FAR_SIMILARITY,
        "Similarity of layers further apart",
        "mean similarity of the most similar heads of layers that are no neighbours on the probe batch, 0 to 1; \
         without borrowed maps, which equal their lender's by construction",
    ),
    Metric {
        quantity: Quantity::Share,
        ..logged(
            series_names::PROBE_ENERGY_IN_1_PERCENT,
            "Energy in 1 % of eigenvalues",
            "sum of the largest 1 % of eigenvalues / sum of all, of the network's scores on the examples of the \
             probe batch: fewer examples than dimensions make it larger",
        )
    },
    Metric {
        quantity: Quantity::Share,
        ..logged(
            series_names::DATA_PADDING_SHARE,
            "Padding",
            "positions of the training batches of an epoch that hold no token / all of them",
        )
    },
    Metric {
        unit: "% of one core",
        quantity: Quantity::Percent,
        ..logged(series_names::SYSTEM_CPU_PERCENT, "Processor use", "of the program, 100 % a core")
    },
    Metric { quantity: Quantity::Bytes, ..logged(series_names::SYSTEM_MEMORY_BYTES, "Memory", "held by the program") },
    Metric {
        quantity: Quantity::Bytes,
        ..logged(
            series_names::SYSTEM_PEAK_MEMORY_BYTES,
            "Peak memory",
            "the most that the program held while the run trained",
        )
    },
    Metric {
        quantity: Quantity::Bytes,
        ..logged(
            series_names::SYSTEM_GPU_MEMORY_BYTES,
            "GPU memory",
            "in use on the run's GPU: by all programs on an NVIDIA GPU, by this one on an Apple GPU",
        )
    },
    Metric {
        unit: "%",
        quantity: Quantity::Percent,
        ..logged(
            series_names::SYSTEM_GPU_PERCENT,
            "GPU use",
            "share of the last moments in which the run's GPU computed",
        )
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_say_that_borrowed_maps_are_left_out() {
        for series in [series_names::PROBE_ADJACENT_SIMILARITY, series_names::PROBE_FAR_SIMILARITY] {
            let formula = Metric::find(series).map(|metric| metric.formula);
            assert!(formula.is_some_and(|formula| formula.contains("by construction")), "{series}: {formula:?}");
        }
    }
}
