use super::{Direction, Metric, Quantity, Sums};

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
    }
}

/// The loss on held-out text, which every objective has.
pub(super) const VALIDATION_LOSS: Metric = Metric {
    unit: "nats/token",
    phrase: "validation loss {}",
    direction: Direction::Lower,
    of_sums: Some(Sums::mean_loss),
    ..logged(
        "validation/loss",
        "Validation loss",
        "mean of -ln p(right token) over the labelled tokens of the held-out text",
    )
};

/// What a run logs whatever its objective is. Those of evaluations stand with the objectives.
pub const RECORDED: &[Metric] = &[
    Metric {
        unit: "nats/token",
        direction: Direction::Lower,
        ..logged("train/loss", "Training loss", "mean of -ln p(right token) over the labelled tokens of the step")
    },
    logged("train/learning_rate", "Learning rate", "of the step, from the schedule"),
    logged("train/grad_norm", "Gradient norm", "square root of the sum of all squared gradients, before clipping"),
    Metric {
        unit: "tokens/s",
        quantity: Quantity::Rate,
        direction: Direction::Higher,
        ..logged("train/tokens_per_sec", "Training speed", "tokens of the step / its time")
    },
    Metric {
        direction: Direction::Lower,
        ..logged(
            "coverage/score_error",
            "Error of restored scores",
            "mean squared error of the scores that follow from some pairs / mean square of all scores",
        )
    },
    logged(
        "probe/adjacent_similarity",
        "Similarity of neighbouring layers",
        "mean similarity of the most similar heads of neighbouring layers on the probe batch, 0 to 1",
    ),
    logged(
        "probe/far_similarity",
        "Similarity of layers further apart",
        "mean similarity of the most similar heads of layers that are no neighbours on the probe batch, 0 to 1",
    ),
    Metric {
        quantity: Quantity::Share,
        ..logged(
            "probe/energy_in_1_percent",
            "Energy in 1 % of eigenvalues",
            "sum of the largest 1 % of eigenvalues / sum of all, of the network's scores on the probe batch",
        )
    },
    Metric {
        unit: "% of one core",
        quantity: Quantity::Percent,
        ..logged("system/cpu_percent", "Processor use", "of the program, 100 % a core")
    },
    Metric { quantity: Quantity::Bytes, ..logged("system/memory_bytes", "Memory", "held by the program") },
    Metric {
        quantity: Quantity::Bytes,
        ..logged("system/peak_memory_bytes", "Peak memory", "the most that the program held while the run trained")
    },
    Metric {
        quantity: Quantity::Bytes,
        ..logged(
            "system/gpu_memory_bytes",
            "GPU memory",
            "in use on the run's GPU: by all programs on an NVIDIA GPU, by this one on an Apple GPU",
        )
    },
    Metric {
        unit: "%",
        quantity: Quantity::Percent,
        ..logged("system/gpu_percent", "GPU use", "share of the last moments in which the run's GPU computed")
    },
];
