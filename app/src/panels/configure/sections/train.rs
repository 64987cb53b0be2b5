use egui::Ui;
use headroom_engine::{
    config::{
        Constant, Cosine, DEFAULT_STEPS, InverseSquareRoot, Linear, MapMemoryChoice, Objective, RunConfig, Schedule,
        StabilityChoice, TrainConfig, Unwatched, Watched, counted,
    },
    objective::judging_metrics,
};

use super::{
    super::{
        field::Words,
        form::{Form, note_ui},
    },
    parts::parts_ui,
    stopping::stopping_ui,
};

const LENGTH: Words = Words::new("train.length", "Length in", "Whether the run's length is given in steps or epochs.");
const STEPS: Words = Words::new("train.steps", "Steps", "Optimiser steps of the whole run.").unit("steps");
const EPOCHS: Words = Words::new("train.epochs", "Epochs", "Passes over the training text.").unit("epochs");
const BATCH: Words =
    Words::new("train.batch", "Batch", "Examples in one forward pass; memory grows with it.").unit("examples");
const ACCUMULATION: Words = Words::new(
    "train.accumulation",
    "Accumulation",
    "Forward passes of one step: the step of a batch as many times larger, in the memory of one.",
)
.unit("passes");
const RATE: Words =
    Words::new("train.learning_rate", "Learning rate", "The peak, after warm-up. 1e-4 to 3e-3 are usual.");
const SCHEDULE: Words = Words::new("train.schedule", "Schedule", "How the learning rate changes over the run.");
const WARMUP: Words =
    Words::new("train.schedule.warmup_steps", "Warm-up", "Steps in which the rate rises from 0 to its peak.")
        .unit("steps");
const FINAL: Words = Words::new(
    "train.schedule.final_fraction",
    "Final rate",
    "Share of the peak rate that is left at the end, 0 to 1.",
)
.unit("of the peak");
const BETA1: Words = Words::new("train.beta1", "AdamW β₁", "Decay of the running mean of gradients. 0.9 is usual.");
const BETA2: Words =
    Words::new("train.beta2", "AdamW β₂", "Decay of the running mean of squared gradients. 0.95 to 0.999 are usual.");
const EPSILON: Words =
    Words::new("train.epsilon", "AdamW ε", "Keeps the step finite where gradients are tiny. 1e-8 is usual.");
const DECAY: Words = Words::new(
    "train.weight_decay",
    "Weight decay",
    "Pulls weights towards zero, apart from the gradient; biases and norms are left alone.",
);
const CLIP: Words = Words::new(
    "train.clip_norm",
    "Gradient clipping",
    "Gradients whose global norm is larger are scaled down to it; 0 = never.",
)
.unit("0 = never");
const MASK: Words = Words::new(
    "train.mask_fraction",
    "Masked share",
    "Share of tokens that the encoder has to predict: 80 % of them masked, 10 % replaced, 10 % kept.",
)
.unit("0 to 1");
const SMOOTHING: Words = Words::new(
    "train.label_smoothing",
    "Label smoothing",
    "Share of the probability that a label spreads over the whole vocabulary. 0.1 is usual for translation; losses on \
     held-out text are of labels as they are.",
)
.unit("0 to 1");
const EVALUATE_EVERY: Words =
    Words::new("train.evaluate_every", "Evaluate every", "Steps between evaluations on the held-out text.")
        .unit("steps");
const EVALUATE_EXAMPLES: Words = Words::new(
    "train.evaluate_examples",
    "Evaluate on",
    "Validation examples in one evaluation, the same ones for any batch; 0 = all of them.",
)
.unit("examples");
const CHECKPOINT_EVERY: Words = Words::new(
    "train.checkpoint_every",
    "Checkpoint every",
    "Steps between checkpoints; 0 = only the best and the last. A state to resume from is written every 5 minutes in any case.",
)
.unit("steps");
const KEEP: Words =
    Words::new("train.keep_checkpoints", "Checkpoints kept", "How many are kept beside the best one; older ones go.");

const MAPS: Words = Words::new(
    "train.map_memory",
    "Recompute maps",
    "Activation checkpointing of attention maps. Never: they are kept for backward, fast, memory grows with the square of \
     the sequence length. Always: backward computes them again, little memory. The results are the same, bit for bit.",
);

const STABILITY: Words = Words::new(
    "train.stability",
    "Divergence check",
    "Warns of a training loss that rises and stays up; a run whose loss has diverged ends as diverged, at its end or \
     at once. A loss that is not finite always ends the run.",
);

pub(super) const WORDS: [Words; 22] = [
    LENGTH,
    STEPS,
    EPOCHS,
    BATCH,
    ACCUMULATION,
    RATE,
    SCHEDULE,
    WARMUP,
    FINAL,
    BETA1,
    BETA2,
    EPSILON,
    DECAY,
    CLIP,
    MASK,
    SMOOTHING,
    EVALUATE_EVERY,
    EVALUATE_EXAMPLES,
    CHECKPOINT_EVERY,
    KEEP,
    MAPS,
    STABILITY,
];

/// Evaluations from which on a run has a within-run spread.
const FEWEST_WITH_SPREAD: u64 = 4;

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// The loop.
pub fn train_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig) {
    let hides_tokens = matches!(config.objective(), Objective::MaskedTokens(_));
    let translates = matches!(config.objective(), Objective::Translation(_));
    let metrics = judging_metrics(config);
    let train = &mut config.train;
    length_ui(ui, form, train);
    form.size(ui, BATCH, &mut train.batch, 4);
    form.size(ui, ACCUMULATION, &mut train.accumulation, 1);
    form.decimal(ui, RATE, &mut train.learning_rate);
    schedule_ui(ui, form, &mut train.schedule);
    if let Some(steps) = train.steps.filter(|steps| train.schedule.warmup_steps() >= *steps) {
        let words = format!("The run ends after {}, before the rate has reached its peak.", counted(steps, "step"));
        note_ui(ui, &words);
    }
    form.decimal(ui, BETA1, &mut train.beta1);
    form.decimal(ui, BETA2, &mut train.beta2);
    form.decimal(ui, EPSILON, &mut train.epsilon);
    form.decimal(ui, DECAY, &mut train.weight_decay);
    form.decimal(ui, CLIP, &mut train.clip_norm);
    parts_ui(ui, form, config);
    let mut evaluated = config.evaluation_size();
    let train = &mut config.train;
    if hides_tokens {
        form.decimal(ui, MASK, &mut train.mask_fraction);
    }
    // Nothing else may smooth labels: what a config file says of it all the same is shown, so that it can be changed.
    if translates || train.label_smoothing != 0.0 {
        form.decimal(ui, SMOOTHING, &mut train.label_smoothing);
    }
    form.whole(ui, EVALUATE_EVERY, &mut train.evaluate_every, 10);
    let evaluations = train.steps.zip((train.evaluate_every > 0).then_some(train.evaluate_every));
    if let Some(count) =
        evaluations.map(|(steps, every)| steps.div_ceil(every)).filter(|count| *count < FEWEST_WITH_SPREAD)
    {
        let words = format!("The run is evaluated {}: too few for a within-run spread.", times(count));
        note_ui(ui, &words);
    }
    if form.size(ui, EVALUATE_EXAMPLES, &mut evaluated, 64) {
        train.evaluate_on(evaluated);
    }
    stopping_ui(ui, form, &mut train.stop_early, &metrics);
    form.whole(ui, CHECKPOINT_EVERY, &mut train.checkpoint_every, 50);
    form.size(ui, KEEP, &mut train.keep_checkpoints, 1);
    let maps = MapMemoryChoice::ALL.map(|choice| {
        let words = match choice {
            MapMemoryChoice::Auto => "Beyond 512 tokens",
            MapMemoryChoice::Keep => "Never",
            MapMemoryChoice::Recompute => "Always",
        };
        (choice, words)
    });
    form.choice(ui, MAPS, &mut train.map_memory, &maps);
    stability_ui(ui, form, &mut train.stability);
}

fn stability_ui(ui: &mut Ui, form: &mut Form<'_>, stability: &mut StabilityChoice) {
    let choices = [
        (StabilityChoice::Watch(Watched { stop: false }), "Warn"),
        (StabilityChoice::Watch(Watched { stop: true }), "Warn, and stop when diverged"),
        (StabilityChoice::Off(Unwatched {}), "Off"),
    ];
    form.choice(ui, STABILITY, stability, &choices);
}

fn length_ui(ui: &mut Ui, form: &mut Form<'_>, train: &mut TrainConfig) {
    let mut by_epochs = train.epochs.is_some() && train.steps.is_none();
    if form.choice(ui, LENGTH, &mut by_epochs, &[(false, "Steps"), (true, "Epochs")]) {
        (train.steps, train.epochs) =
            if by_epochs { (None, Some(1.0)) } else { (Some(train.steps.unwrap_or(DEFAULT_STEPS)), None) };
        form.unreadable.forget(STEPS.path);
        form.unreadable.forget(EPOCHS.path);
    }
    if let (true, Some(epochs)) = (by_epochs, &mut train.epochs) {
        form.decimal(ui, EPOCHS, epochs);
    } else {
        let mut steps = train.steps.unwrap_or(DEFAULT_STEPS);
        if form.whole(ui, STEPS, &mut steps, 100) {
            // A file may name both, which is an error: an edit decides.
            (train.steps, train.epochs) = (Some(steps), None);
        }
    }
}

fn schedule_ui(ui: &mut Ui, form: &mut Form<'_>, schedule: &mut Schedule) {
    let words = |kind: &str| match kind {
        "constant" => "Constant",
        "linear" => "Straight line down",
        "cosine" => "Half a cosine down",
        _ => "Inverse square root",
    };
    let kinds: Vec<(&str, &str)> = Schedule::examples().iter().map(|s| (s.kind(), words(s.kind()))).collect();
    let mut kind = schedule.kind();
    if form.choice(ui, SCHEDULE, &mut kind, &kinds) {
        let warmup_steps = schedule.warmup_steps();
        let final_fraction = match schedule {
            Schedule::Linear(Linear { final_fraction, .. }) | Schedule::Cosine(Cosine { final_fraction, .. }) => {
                *final_fraction
            }
            Schedule::Constant(_) | Schedule::InverseSquareRoot(_) => Cosine::default().final_fraction,
        };
        *schedule = match kind {
            "constant" => Schedule::Constant(Constant { warmup_steps }),
            "linear" => Schedule::Linear(Linear { warmup_steps, final_fraction }),
            "cosine" => Schedule::Cosine(Cosine { warmup_steps, final_fraction }),
            _ => Schedule::InverseSquareRoot(InverseSquareRoot { warmup_steps }),
        };
        form.unreadable.forget(SCHEDULE.path);
    }
    form.whole(ui, WARMUP, schedule.warmup_steps_mut(), 10);
    if let Schedule::Linear(Linear { final_fraction, .. }) | Schedule::Cosine(Cosine { final_fraction, .. }) = schedule
    {
        form.decimal(ui, FINAL, final_fraction);
    }
}
