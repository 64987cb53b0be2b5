//! What the adviser says, as rows of words: the saving, and what was predicted beside what was measured.

use headroom_engine::{
    advise::{Costs, Outcome, OutcomeRow, Prediction, Stands, Trained, Unit},
    analysis::{Analysis, reconstruction::Scope},
    config::{RunConfig, attention_words, counted},
    store::{RunState, RunSummary, series_names},
};

use super::reliable_words;
use crate::format;

/// What a model costs and what the advised one would: what, now, then, the difference as a share.
pub fn saving_rows(prediction: &Prediction) -> Vec<[String; 4]> {
    let (old, new) = (&prediction.present, &prediction.proposed);
    let flops = |count: u64| format::flops(count as f64);
    let row = saving_row;
    vec![
        row("Parameters", &format::count, old.parameters, new.parameters),
        row("FLOPs of an example, forward", &flops, old.forward_flops_per_example, new.forward_flops_per_example),
        row("FLOPs of a step", &flops, old.flops_per_step, new.flops_per_step),
        row("Activations of a step", &format::bytes, old.activation_bytes, new.activation_bytes),
        row("Weights, gradients, moments", &format::bytes, old.model_bytes, new.model_bytes),
        row("Working memory", &format::bytes, working(old), working(new)),
        row("Memory in all", &format::bytes, old.memory_bytes, new.memory_bytes),
    ]
}

/// What is neither the model's nor its activations: gradients on their way back, rows of scores, what is packed.
fn working(costs: &Costs) -> u64 {
    costs.memory_bytes.saturating_sub(costs.model_bytes).saturating_sub(costs.activation_bytes)
}

/// What a model costs and what it would after conversions, in reading one example of `tokens` tokens: what, now, then, the
/// difference as a share.
pub fn conversion_rows(prediction: &Prediction, tokens: usize) -> Vec<[String; 4]> {
    let (old, new) = (&prediction.present, &prediction.proposed);
    let flops = |count: u64| format::flops(count as f64);
    vec![
        saving_row("Parameters", &format::count, old.parameters, new.parameters),
        saving_row(
            &format!("FLOPs of {}", counted(tokens as u64, "token")),
            &flops,
            old.forward_flops_per_example,
            new.forward_flops_per_example,
        ),
        saving_row("Weights", &format::bytes, old.model_bytes, new.model_bytes),
        saving_row("Activations at their largest", &format::bytes, old.activation_bytes, new.activation_bytes),
        saving_row("Working memory", &format::bytes, working(old), working(new)),
        saving_row("Memory in all", &format::bytes, old.memory_bytes, new.memory_bytes),
    ]
}

fn saving_row(what: &str, write: &dyn Fn(u64) -> String, old: u64, new: u64) -> [String; 4] {
    let share = if old == 0 { 0.0 } else { new as f64 / old as f64 - 1.0 };
    [what.to_owned(), write(old), write(new), format::delta_percent(share)]
}

/// What the measurements say of how much the model would change, a sentence a part.
pub fn measured_words(prediction: &Prediction) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(heads) = &prediction.heads {
        words.push(match (heads.mean_similarity, heads.least_similarity) {
            (Some(mean), Some(least)) => format!(
                "{} of {} {} replaced by other maps; their similarity is {} on average, {} at least.",
                format::count(heads.replaced as u64),
                counted(heads.maps, "map"),
                if heads.replaced == 1 { "is" } else { "are" },
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
            "{} {} {} of the energy of W_Q W_K^T, summed over heads, or more; layer {} needs them all. \
             Single heads may keep less, since heads can cancel in the sum: the weights of queries alone need {}, those of \
             keys {}.{fewer}",
            counted(dimensions.d_k, "shared dimension"),
            if dimensions.d_k == 1 { "keeps" } else { "keep" },
            format::percent(dimensions.kept),
            dimensions.layer,
            dimensions.queries,
            dimensions.keys
        ));
    }
    if let Some(pairs) = &prediction.pairs {
        words.push(format!(
            "{} of {} per row {} an error of {} of the scores' energy.",
            format::count(pairs.k as u64),
            counted(pairs.tokens, "pair"),
            if pairs.k == 1 { "leaves" } else { "leave" },
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
    held_out_errors(analysis).filter(|_| is_own_text(analysis, config))
}

/// The same of whatever text was analysed: that of a model directory.
pub fn held_out_errors(analysis: &Analysis) -> Option<&[f64]> {
    let found = analysis.reconstruction.as_ref().filter(|found| found.held_out_examples > 0)?;
    Some(found.scope(Scope::Network)?.greedy.honest())
}

/// An analysis in words: its step, on how many examples of which text.
pub fn analysis_words(analysis: &Analysis) -> String {
    let step = analysis.step.map(|step| format!("step {}, ", format::count(step))).unwrap_or_default();
    let data = if analysis.data.is_empty() { String::new() } else { format!(" of {}", analysis.data) };
    let examples = counted(analysis.examples, "example");
    format!("{step}{examples} of {}{data}", counted(analysis.tokens as u64, "token"))
}

/// What is to be said where an advice rests on more than one analysis: heads and dimensions on one, pairs on `of_errors`, and
/// where the checkpoint from which a run would take its pairs (of `best_step`) is another one than the analysed one.
pub fn sources_words(analysis: &Analysis, of_errors: Option<&Analysis>, best_step: Option<u64>) -> Vec<String> {
    let mut words = Vec::new();
    let Some(of_errors) = of_errors else { return words };
    let place = |found: &Analysis| (found.step, found.data.clone(), found.tokens);
    if place(analysis) != place(of_errors) {
        words.push(format!(
            "Two analyses are combined: heads and dimensions follow from {}, the error of pairs from {}.",
            analysis_words(analysis),
            analysis_words(of_errors)
        ));
    }
    let restored = of_errors.reconstruction.as_ref();
    words.extend(restored.and_then(|found| reliable_words(found, found.scope(Scope::Network)?)));
    if let (Some(step), Some(best)) = (of_errors.step, best_step.filter(|best| Some(*best) != of_errors.step)) {
        words.push(format!(
            "The error of pairs was measured at step {}; the advised run would take its pairs from the best \
             checkpoint, that \
             of step {}, whose error may be another one.",
            format::count(step),
            format::count(best)
        ));
    }
    words
}

/// Where a run stands, as a part of a sentence.
pub fn stands_words(run: &RunSummary) -> String {
    let of = run.steps_total.map(|steps| format!(" of {}", format::count(steps))).unwrap_or_default();
    let step = format::count(run.steps_done);
    match run.state {
        RunState::Queued => "is waiting in the queue".to_owned(),
        RunState::Running => format!("trains now: step {step}{of}"),
        RunState::Paused => format!("is paused at step {step}{of}"),
        RunState::Finished => "finished".to_owned(),
        ended => format!("{ended} at step {step}{of}"),
    }
}

/// What is known of a run; `is_beside` where it was trained again for a comparison.
pub fn trained<'a>(run: &'a RunSummary, is_beside: bool, analysis: Option<&'a Analysis>) -> Trained<'a> {
    let last = |series: &str| run.metrics.get(series).map(|metric| metric.last);
    let best = run.metrics.get(series_names::VALIDATION_LOSS);
    Trained {
        stands: match run.state {
            RunState::Queued => Stands::Waits,
            RunState::Running | RunState::Paused => Stands::Trains,
            RunState::Finished => Stands::Finished,
            _ => Stands::EndedEarly,
        },
        steps_done: run.steps_done,
        steps_total: run.steps_total,
        is_beside,
        computed_on: Some((run.device.as_str(), run.threads)),
        parameters: run.parameters,
        flops_per_step: run.flops_per_step,
        step_secs: (run.steps_done > 0 && run.train_secs > 0.0).then(|| run.train_secs / run.steps_done as f64),
        peak_memory_bytes: last(series_names::SYSTEM_PEAK_MEMORY_BYTES),
        best_validation_loss: best.and_then(|metric| metric.best.zip(metric.best_step)),
        score_error: last(series_names::COVERAGE_SCORE_ERROR),
        analysis,
    }
}

/// What was predicted beside what came out. The losses have no difference before both runs trained to their end: the best of half a
/// training says nothing against that of a whole one, whichever of the two is on its way.
pub fn outcome(prediction: &Prediction, before: &Trained<'_>, after: &Trained<'_>) -> Outcome {
    let mut outcome = Outcome::new(prediction, before, after);
    let why = match before.stands {
        Stands::Finished => return outcome,
        Stands::Waits => "the run that it is held against waits for its turn",
        Stands::Trains => "the run that it is held against trains now",
        Stands::EndedEarly => "the run that it is held against did not train to its end",
    };
    let is_difference = |row: &&mut OutcomeRow| row.unit == Unit::LossDifference && row.came_out.is_some();
    if let Some(row) = outcome.rows.iter_mut().find(is_difference) {
        (row.came_out, row.note) = (None, why.to_owned());
    }
    outcome
}

/// An outcome as rows: what, the model that it came from, predicted, measured, a note. `losses` is what to think of the
/// difference of the losses, in words. Losses that are written with the same digits have none.
pub fn outcome_rows(outcome: &Outcome, losses: Option<&str>) -> Vec<[String; 5]> {
    let is_alike = |row: &OutcomeRow| {
        let written = |value: Option<f64>| value.map(|value| number(row.unit, value));
        row.unit == Unit::Loss && row.came_out.is_some() && written(row.present) == written(row.came_out)
    };
    let is_same_loss = outcome.rows.iter().any(is_alike);
    let row = |row: &OutcomeRow| {
        let write = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| number(row.unit, value));
        let at = row.at_step.map(|step| format!(" (step {})", format::count(step))).unwrap_or_default();
        let came_out = match row.unit {
            Unit::LossDifference if is_same_loss && row.came_out.is_some() => "=".to_owned(),
            _ => write(row.came_out) + &at,
        };
        let judged = losses.filter(|_| row.unit == Unit::LossDifference && row.came_out.is_some());
        let note = judged.unwrap_or(&row.note).to_owned();
        [row.what.clone(), write(row.present), write(row.predicted), came_out, note]
    };
    outcome.rows.iter().map(row).collect()
}

fn number(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Count => format::count(value as u64),
        Unit::Flops => format::flops(value),
        Unit::Bytes => format::bytes(value as u64),
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

#[cfg(test)]
mod tests {
    use headroom_engine::advise::Wishes;

    use super::*;

    /// Of two runs that stand somewhere with these losses: what is told of their difference, and what to think of it.
    fn told(before: (Stands, f64), after: (Stands, f64)) -> (String, String) {
        let costs = Costs {
            parameters: 1,
            forward_flops_per_example: 1,
            flops_per_step: 1,
            activation_bytes: 1,
            model_bytes: 1,
            memory_bytes: 1,
        };
        let prediction = Prediction {
            wishes: Wishes::default(),
            present: costs,
            proposed: costs,
            heads: None,
            dimensions: None,
            pairs: None,
        };
        let of = |(stands, loss): (Stands, f64)| Trained {
            stands,
            best_validation_loss: Some((loss, 100)),
            ..Trained::default()
        };
        let found = outcome(&prediction, &of(before), &of(after));
        let rows = outcome_rows(&found, Some("judged"));
        let difference = rows.into_iter().find(|row| row.first().is_some_and(|what| what == "Its difference"));
        let [_, _, _, came_out, note] = difference.unwrap_or_default();
        (came_out, note)
    }

    #[test]
    fn losses_are_held_against_each_other_once_both_runs_are_done() {
        let done = Stands::Finished;
        let words = |came_out: &str, note: &str| (came_out.to_owned(), note.to_owned());
        assert_eq!(told((done, 2.0), (done, 1.5)), words("\u{2212}0.5000", "judged"));
        let trains = "the run that it is held against trains now";
        assert_eq!(told((Stands::Trains, 2.0), (done, 1.5)), words("-", trains));
        assert!(told((Stands::EndedEarly, 2.0), (done, 1.5)).1.ends_with("did not train to its end"));
        assert_eq!(told((done, 2.0), (Stands::Trains, 1.5)).0, "-");
    }

    #[test]
    fn losses_that_are_written_alike_have_no_difference() {
        let done = Stands::Finished;
        assert_eq!(told((done, 2.0), (done, 2.000_001)).0, "=");
        assert_eq!(told((done, 2.0), (done, 2.001)).0, "+0.001000");
    }

    #[test]
    fn looks_that_are_put_together_are_told_apart() {
        let look = |step: u64, data: &str| Analysis {
            step: Some(step),
            data: data.to_owned(),
            examples: 1,
            tokens: 32,
            ..Analysis::default()
        };
        let (own, later, other) = (look(400, "text"), look(600, "text"), look(400, "another text"));
        assert!(sources_words(&own, None, Some(600)).is_empty(), "nothing rests on pairs");
        assert!(sources_words(&own, Some(&own), Some(400)).is_empty());
        let words = sources_words(&own, Some(&later), Some(600)).join(" ");
        assert!(
            words.contains("from step 400, 1 example of 32 tokens of text, the error of pairs from step 600"),
            "{words}"
        );
        assert!(!words.contains("best checkpoint"), "{words}");
        let words = sources_words(&own, Some(&other), Some(1200)).join(" ");
        assert!(words.contains("of another text") && words.contains("that of step 1,200"), "{words}");
    }
}
