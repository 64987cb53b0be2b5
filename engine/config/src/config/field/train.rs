use super::super::field_spec::{FieldSpec, Takes};

/// Fields of the loop.
pub(super) const FIELDS: &[FieldSpec] = &[
    FieldSpec::new("train.length", "Length in", "Whether the run's length is given in steps or epochs.")
        .takes(Takes::Form),
    FieldSpec::new("train.steps", "Steps", "Optimiser steps of the whole run.")
        .unit("steps")
        .whole(1, 1_000_000_000)
        .step(100),
    FieldSpec::new("train.epochs", "Epochs", "Passes over the training text.").unit("epochs").above_zero(100_000.0),
    FieldSpec::new("train.batch", "Batch", "Examples in one forward pass; memory grows with it.")
        .unit("examples")
        .whole(1, 65_536)
        .step(4),
    FieldSpec::new(
        "train.accumulation",
        "Accumulation",
        "Forward passes of one step: the step of a batch as many times larger, in the memory of one.",
    )
    .unit("passes")
    .whole(1, 65_536),
    FieldSpec::new("train.learning_rate", "Learning rate", "The peak, after warm-up. 1e-4 to 3e-3 are usual.")
        .above_zero(100.0),
    FieldSpec::new("train.schedule.kind", "Schedule", "How the learning rate changes over the run.").names(&[
        ("constant", "Constant"),
        ("linear", "Straight line down"),
        ("cosine", "Half a cosine down"),
        ("inverse_square_root", "Inverse square root"),
    ]),
    FieldSpec::new("train.schedule.warmup_steps", "Warm-up", "Steps in which the rate rises from 0 to its peak.")
        .unit("steps")
        .count()
        .step(10),
    FieldSpec::new(
        "train.schedule.final_fraction",
        "Final rate",
        "Share of the peak rate that is left at the end, 0 to 1.",
    )
    .unit("of the peak")
    .ends(0.0, 1.0)
    .of(&["linear", "cosine"]),
    FieldSpec::new("train.beta1", "AdamW β₁", "Decay of the running mean of gradients. 0.9 is usual.").share(),
    FieldSpec::new(
        "train.beta2",
        "AdamW β₂",
        "Decay of the running mean of squared gradients. 0.95 to 0.999 are usual.",
    )
    .share(),
    FieldSpec::new("train.epsilon", "AdamW ε", "Keeps the step finite where gradients are tiny. 1e-8 is usual.")
        .above_zero(1.0),
    FieldSpec::new(
        "train.weight_decay",
        "Weight decay",
        "Pulls weights towards zero, apart from the gradient; biases and norms are left alone.",
    )
    .ends(0.0, 100.0),
    FieldSpec::new(
        "train.clip_norm",
        "Gradient clipping",
        "Gradients whose global norm is larger are scaled down to it; 0 = never.",
    )
    .unit("0 = never")
    .ends(0.0, 1e9),
    FieldSpec::new(
        "train.layer_decay",
        "Rate of lower layers",
        "By what the learning rate of a layer is multiplied for every layer above it: the head learns at the full \
         rate, the last layer at this share of it, the one below at its square, and so on to the embeddings. 1: all \
         learn at the same rate.",
    )
    .unit("of the layer above")
    .above_zero(1.0),
    FieldSpec::new(
        "train.freeze",
        "Frozen parts",
        "Parts that stay as they are, with commas between them: embeddings, head, layers.3 or layers.0-5, layers \
         counted from 0. They take no memory for gradients.",
    )
    .empty("none: all learn")
    .takes(Takes::Parts),
    FieldSpec::new(
        "train.mask_fraction",
        "Masked share",
        "Share of tokens that the encoder has to predict: 80 % of them masked, 10 % replaced, 10 % kept.",
    )
    .unit("0 to 1")
    .ends(0.01, 0.9),
    FieldSpec::new(
        "train.label_smoothing",
        "Label smoothing",
        "Share of the probability that a label spreads over the whole vocabulary. 0.1 is usual for translation; \
         losses on held-out text are of labels as they are.",
    )
    .unit("0 to 1")
    .share(),
    FieldSpec::new("train.evaluate_every", "Evaluate every", "Steps between evaluations on the held-out text.")
        .unit("steps")
        .whole(0, 1_000_000_000)
        .step(10),
    FieldSpec::new(
        "train.evaluate_examples",
        "Evaluate on",
        "Validation examples in one evaluation, the same ones for any batch; 0 = all of them.",
    )
    .unit("examples")
    .count()
    .step(64),
    FieldSpec::new(
        "train.evaluate_batches",
        "Evaluate on batches",
        "Validation examples in one evaluation, in training batches; 0 = all of them. Older configs have it.",
    )
    .unit("batches")
    .count(),
    FieldSpec::new(
        "train.stop_early.metric",
        "Stop early",
        "Ends the run before its last step once evaluations find no better value of this metric; the checkpoint \
         with the best value is the best one. Never: the run does all its steps, and the best checkpoint is that of \
         the lowest validation loss.",
    ),
    FieldSpec::new(
        "train.stop_early.patience",
        "Patience",
        "Evaluations in a row without a better value after which the run ends.",
    )
    .unit("evaluations")
    .whole(1, 1_000_000),
    FieldSpec::new(
        "train.checkpoint_every",
        "Checkpoint every",
        "Steps between checkpoints; 0 = only the best and the last. A state to resume from is written every 5 \
         minutes in any case.",
    )
    .unit("steps")
    .count()
    .step(50),
    FieldSpec::new(
        "train.keep_checkpoints",
        "Checkpoints kept",
        "How many are kept beside the best one; older ones go.",
    )
    .whole(1, 1000),
    FieldSpec::new(
        "train.map_memory",
        "Recompute maps",
        "Activation checkpointing of attention maps. Never: they are kept for backward, fast, memory grows with the \
         square of the sequence length. Always: backward computes them again, little memory. The results are the \
         same, bit for bit.",
    )
    .names(&[("auto", "Beyond 512 tokens"), ("keep", "Never"), ("recompute", "Always")]),
    FieldSpec::new(
        "train.stability.kind",
        "Divergence check",
        "Warns of a training loss that rises and stays up; a run whose loss has diverged ends as diverged, at its \
         end or at once. A loss that is not finite always ends the run.",
    )
    .names(&[("watch", "Warn"), ("off", "Off")]),
    FieldSpec::new("train.stability.stop", "Stop when diverged", "Ends a run at once when it has diverged.")
        .flag(&[])
        .of(&["watch"]),
];
