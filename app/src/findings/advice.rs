//! What the adviser says, as rows of words: the saving, and what was predicted beside what came out.

use headroom_engine::{
    advise::{Outcome, OutcomeRow, Prediction, Trained, Unit},
    analysis::{Analysis, reconstruction::Scope},
    config::{RunConfig, attention_words},
    store::{RunState, RunSummary, series_names},
};

use crate::widgets::format;

/// What a model costs and what the advised one would: what, now, then, the difference as a share.
pub fn saving_rows(prediction: &Prediction) -> Vec<[String; 4]> {
    let (old, new) = (&prediction.present, &prediction.proposed);
    let flops = |count: u64| format::flops(count as f64);
    let row = |what: &str, write: &dyn Fn(u64) -> String, old: u64, new: u64| {
        let share = if old == 0 { 0.0 } else { new as f64 / old as f64 - 1.0 };
        [what.to_owned(), write(old), write(new), format::delta_percent(share)]
    };
    vec![
        row("Parameters", &format::count, old.parameters, new.parameters),
        row("FLOPs of an example, forward", &flops, old.forward_flops_per_example, new.forward_flops_per_example),
        row("FLOPs of a step", &flops, old.flops_per_step, new.flops_per_step),
        row("Activations of a step", &format::bytes, old.activation_bytes, new.activation_bytes),
        row("Weights, gradients, moments", &format::bytes, old.model_bytes, new.model_bytes),
        row("Memory in all", &format::bytes, old.memory_bytes, new.memory_bytes),
    ]
}

/// What the measurements say of how much the model would change, a sentence a part.
pub fn measured_words(prediction: &Prediction) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(heads) = &prediction.heads {
        words.push(match (heads.mean_similarity, heads.least_similarity) {
            (Some(mean), Some(least)) => format!(
                "{} of {} maps are replaced by maps that are {} like them, {} at least.",
                heads.replaced,
                heads.maps,
                format::fixed(mean, 3),
                format::fixed(least, 3)
            ),
            _ => "No map is replaced.".to_owned(),
        });
    }
    if let Some(dimensions) = &prediction.dimensions {
        let fewer = if dimensions.is_fewer() {
            String::new()
        } else {
            format!(" It has {} now: this saves nothing.", dimensions.present)
        };
        words.push(format!(
            "{} shared dimensions keep {} of the energy of W_Q W_K^T, summed over heads, or more; layer {} needs them all. \
             Single heads may keep less, since heads can cancel in the sum: the weights of queries alone need {}, those of \
             keys {}.{fewer}",
            dimensions.d_k,
            format::percent(dimensions.kept),
            dimensions.layer,
            dimensions.queries,
            dimensions.keys
        ));
    }
    if let Some(pairs) = &prediction.pairs {
        words.push(format!(
            "{} of {} pairs of each row leave an error of {} of the scores' energy.",
            pairs.k,
            pairs.tokens,
            format::percent(pairs.error)
        ));
    }
    let (old, new) = (&prediction.present, &prediction.proposed);
    let changes = prediction.heads.as_ref().is_some_and(|heads| heads.replaced > 0)
        || prediction.dimensions.is_some()
        || prediction.pairs.is_some();
    if changes && new.flops_per_step >= old.flops_per_step {
        words.push("This costs no fewer FLOPs than the trained model: nothing is saved by it.".to_owned());
    } else if changes && new.memory_bytes > old.memory_bytes {
        words.push("It takes more memory than the trained model.".to_owned());
    }
    words
}

/// The config of an advised run, named after the one that it came from.
pub fn advised_config(source: &str, config: &RunConfig, prediction: &Prediction) -> RunConfig {
    let words = prediction.words();
    let words = if words.is_empty() { attention_words(&config.attention) } else { words };
    RunConfig { name: format!("{source}: {words}"), ..config.clone() }
}

/// Whether an analysis is of what a run was trained for: the text that it was evaluated on, in its order, as long examples.
pub fn is_own_text(analysis: &Analysis, config: &RunConfig) -> bool {
    analysis.is_own_text && analysis.tokens == config.data.sequence_length
}

/// The error of restored scores over pairs of each row, where an analysis of a run's own text has it, measured on examples
/// that nothing was chosen from. One choice of pairs for all layers, as training makes it; the last layer counts here, though
/// it would score all pairs.
pub fn score_errors<'a>(analysis: &'a Analysis, config: &RunConfig) -> Option<&'a [f64]> {
    let found = analysis.reconstruction.as_ref().filter(|found| found.held_out_examples > 0)?;
    let network = found.scope(Scope::Network).filter(|_| is_own_text(analysis, config))?;
    Some(network.greedy.honest())
}

/// What is known of a run.
pub fn trained<'a>(run: &RunSummary, analysis: Option<&'a Analysis>) -> Trained<'a> {
    let last = |series: &str| run.metrics.get(series).map(|metric| metric.last);
    Trained {
        has_finished: run.state == RunState::Finished,
        parameters: run.parameters,
        flops_per_step: run.flops_per_step,
        step_secs: (run.steps_done > 0 && run.train_secs > 0.0).then(|| run.train_secs / run.steps_done as f64),
        peak_memory_bytes: last(series_names::SYSTEM_PEAK_MEMORY_BYTES),
        best_validation_loss: run.metrics.get(series_names::VALIDATION_LOSS).and_then(|metric| metric.best),
        score_error: last(series_names::COVERAGE_SCORE_ERROR),
        analysis,
    }
}

/// An outcome as rows: what, the model that it came from, predicted, came out, what is to be known.
pub fn outcome_rows(outcome: &Outcome) -> Vec<[String; 5]> {
    let row = |row: &OutcomeRow| {
        let write = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| number(row.unit, value));
        [row.what.clone(), write(row.present), write(row.predicted), write(row.came_out), row.note.clone()]
    };
    outcome.rows.iter().map(row).collect()
}

fn number(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Count => format::count(value as u64),
        Unit::Flops => format::flops(value),
        Unit::Ratio | Unit::Share => format::percent(value),
        Unit::ByteDifference => {
            let sign = if value < 0.0 { format::MINUS } else { '+' };
            if value == 0.0 { "±0".to_owned() } else { format!("{sign}{}", format::bytes(value.abs() as u64)) }
        }
        Unit::Similarity => format::fixed(value, 3),
        Unit::Loss => format::number(value),
        Unit::LossDifference => format::delta(value),
    }
}
