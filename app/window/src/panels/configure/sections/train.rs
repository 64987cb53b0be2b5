use egui::Ui;
use headroom_engine::{
    config::{
        Constant, Cosine, DEFAULT_STEPS, InverseSquareRoot, Linear, MapMemoryChoice, NeededTokens, RunConfig, Schedule,
        StabilityChoice, TrainConfig, Unwatched, Watched, counted,
    },
    objective::judging_metrics,
};

use super::{
    super::{
        field::field,
        form::{Form, note_ui},
    },
    parts::parts_ui,
    stopping::stopping_ui,
};

/// Evaluations from which on a run has a within-run spread.
const FEWEST_WITH_SPREAD: u64 = 4;

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// The loop.
pub fn train_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig) {
    let hides_tokens = config.objective().hidden_share().is_some();
    let translates = config.objective().needs() == NeededTokens::End;
    let metrics = judging_metrics(config);
    let train = &mut config.train;
    length_ui(ui, form, train);
    form.size(ui, field!("train.batch"), &mut train.batch);
    form.size(ui, field!("train.accumulation"), &mut train.accumulation);
    form.decimal(ui, field!("train.learning_rate"), &mut train.learning_rate);
    schedule_ui(ui, form, &mut train.schedule);
    if let Some(steps) = train.steps.filter(|steps| train.schedule.warmup_steps() >= *steps) {
        let words = format!("The run ends after {}, before the rate has reached its peak.", counted(steps, "step"));
        note_ui(ui, &words);
    }
    form.decimal(ui, field!("train.beta1"), &mut train.beta1);
    form.decimal(ui, field!("train.beta2"), &mut train.beta2);
    form.decimal(ui, field!("train.epsilon"), &mut train.epsilon);
    form.decimal(ui, field!("train.weight_decay"), &mut train.weight_decay);
    form.decimal(ui, field!("train.clip_norm"), &mut train.clip_norm);
    parts_ui(ui, form, config);
    let mut evaluated = config.evaluation_size();
    let train = &mut config.train;
    if hides_tokens {
        form.decimal(ui, field!("train.mask_fraction"), &mut train.mask_fraction);
    }
    // Nothing else may smooth labels: what a config file says of it all the same is shown, so that it can be changed.
    if translates || train.label_smoothing != 0.0 {
        form.decimal(ui, field!("train.label_smoothing"), &mut train.label_smoothing);
    }
    form.whole(ui, field!("train.evaluate_every"), &mut train.evaluate_every);
    let evaluations = train.steps.zip((train.evaluate_every > 0).then_some(train.evaluate_every));
    if let Some(count) =
        evaluations.map(|(steps, every)| steps.div_ceil(every)).filter(|count| *count < FEWEST_WITH_SPREAD)
    {
        let words = format!("The run is evaluated {}: too few for a within-run spread.", times(count));
        note_ui(ui, &words);
    }
    if form.size(ui, field!("train.evaluate_examples"), &mut evaluated) {
        train.evaluate_on(evaluated);
    }
    stopping_ui(ui, form, &mut train.stop_early, &metrics);
    form.whole(ui, field!("train.checkpoint_every"), &mut train.checkpoint_every);
    form.size(ui, field!("train.keep_checkpoints"), &mut train.keep_checkpoints);
    form.named(ui, field!("train.map_memory"), &mut train.map_memory, &MapMemoryChoice::ALL);
    stability_ui(ui, form, &mut train.stability);
}

fn stability_ui(ui: &mut Ui, form: &mut Form<'_>, stability: &mut StabilityChoice) {
    let choices = [
        (StabilityChoice::Watch(Watched { stop: false }), "Warn"),
        (StabilityChoice::Watch(Watched { stop: true }), "Warn, and stop when diverged"),
        (StabilityChoice::Off(Unwatched {}), "Off"),
    ];
    form.choice(ui, field!("train.stability.kind"), stability, &choices);
}

fn length_ui(ui: &mut Ui, form: &mut Form<'_>, train: &mut TrainConfig) {
    let mut by_epochs = train.epochs.is_some() && train.steps.is_none();
    if form.choice(ui, field!("train.length"), &mut by_epochs, &[(false, "Steps"), (true, "Epochs")]) {
        (train.steps, train.epochs) =
            if by_epochs { (None, Some(1.0)) } else { (Some(train.steps.unwrap_or(DEFAULT_STEPS)), None) };
        form.unreadable.forget(field!("train.steps").path);
        form.unreadable.forget(field!("train.epochs").path);
    }
    if let (true, Some(epochs)) = (by_epochs, &mut train.epochs) {
        form.decimal(ui, field!("train.epochs"), epochs);
    } else {
        let mut steps = train.steps.unwrap_or(DEFAULT_STEPS);
        if form.whole(ui, field!("train.steps"), &mut steps) {
            // A file may name both, which is an error: an edit decides.
            (train.steps, train.epochs) = (Some(steps), None);
        }
    }
}

fn schedule_ui(ui: &mut Ui, form: &mut Form<'_>, schedule: &mut Schedule) {
    let kinds: Vec<&str> = Schedule::examples().iter().map(Schedule::kind).collect();
    let mut kind = schedule.kind();
    if form.named(ui, field!("train.schedule.kind"), &mut kind, &kinds) {
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
        form.unreadable.forget("train.schedule.");
    }
    form.whole(ui, field!("train.schedule.warmup_steps"), schedule.warmup_steps_mut());
    if let Schedule::Linear(Linear { final_fraction, .. }) | Schedule::Cosine(Cosine { final_fraction, .. }) = schedule
    {
        form.decimal(ui, field!("train.schedule.final_fraction"), final_fraction);
    }
}
