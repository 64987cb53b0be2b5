use serde::{Deserialize, Serialize};

use super::{DimensionAdvice, Prediction, heads::remaining};
use crate::{
    analysis::{Analysis, Measure, Similarity},
    config::{counted, grouped},
};

/// Where a run stands on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stands {
    /// It has not begun.
    #[default]
    Waits,
    /// It trains now, or is held.
    Trains,
    /// It ended before its last step.
    EndedEarly,
    /// It did all its steps.
    Finished,
}

/// What is known of a run that trained, as far as it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trained<'a> {
    /// Where it stands.
    pub stands: Stands,
    /// Optimiser steps done.
    pub steps_done: u64,
    /// Optimiser steps that it will do, where known.
    pub steps_total: Option<u64>,
    /// Whether it was trained for this comparison, right before the other.
    pub is_beside: bool,
    /// Device and threads that it computed with, where known.
    pub computed_on: Option<(&'a str, u32)>,
    /// Counted parameters.
    pub parameters: Option<u64>,
    /// FLOPs of an optimiser step of the model as it was built.
    pub flops_per_step: Option<u64>,
    /// Seconds of a step, a mean over the training as far as it has come.
    pub step_secs: Option<f64>,
    /// The most memory that the program held meanwhile, bytes: also what had nothing to do with the run.
    pub peak_memory_bytes: Option<f64>,
    /// The lowest held-out loss, nats per predicted token, and its step.
    pub best_validation_loss: Option<(f64, u64)>,
    /// Share of the scores' energy that was lost when pairs were chosen.
    pub score_error: Option<f64>,
    /// The newest analysis of its attention.
    pub analysis: Option<&'a Analysis>,
}

impl<'a> Trained<'a> {
    /// The newest analysis of a model that has learnt something: before the first step there is nothing to compare.
    fn looked_at(&self) -> Option<&'a Analysis> {
        self.analysis.filter(|found| found.step != Some(0))
    }

    fn has_finished(&self) -> bool {
        self.stands == Stands::Finished
    }
}

/// What a number of an outcome is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A whole number.
    Count,
    /// Floating point operations.
    Flops,
    /// Bytes.
    Bytes,
    /// A share of the same of the model that the advice came from; 1 = as much.
    Ratio,
    /// A difference in bytes.
    ByteDifference,
    /// Similarity of maps, 0..=1.
    Similarity,
    /// A share, 0..=1.
    Share,
    /// Nats per predicted token.
    Loss,
    /// A difference of losses.
    LossDifference,
}

/// One line of what was predicted and what came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutcomeRow {
    /// What it is, in words.
    pub what: String,
    /// What its numbers are.
    pub unit: Unit,
    /// That of the model that the advice came from.
    pub present: Option<f64>,
    /// What was predicted.
    pub predicted: Option<f64>,
    /// What came out.
    pub came_out: Option<f64>,
    /// The step that this is of, where it is that of one step.
    #[serde(default)]
    pub at_step: Option<u64>,
    /// What is missing and why, or what is to be known.
    pub note: String,
}

/// What was predicted beside what came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Line by line.
    pub rows: Vec<OutcomeRow>,
}

impl Outcome {
    /// Compares. `before`: the model that the advice came from, or the same trained again beside; `after`: the advised one.
    pub fn new(prediction: &Prediction, before: &Trained<'_>, after: &Trained<'_>) -> Self {
        let mut rows = costs(prediction, before, after);
        rows.extend(measured(prediction, before, after));
        rows.extend(losses(before, after));
        Self { rows }
    }
}

/// Why something is not there.
fn waiting(run: &Trained<'_>, why: &str) -> String {
    match run.stands {
        Stands::Waits => "the run waits for its turn".to_owned(),
        Stands::Trains => trains_now(run),
        Stands::EndedEarly => "the run did not train to its end".to_owned(),
        Stands::Finished => why.to_owned(),
    }
}

fn trains_now(run: &Trained<'_>) -> String {
    let of = run.steps_total.map(|steps| format!(" of {}", grouped(steps))).unwrap_or_default();
    format!("the run trains now: step {}{of}", grouped(run.steps_done))
}

/// What is to be known of a number that is there, said with where the run stands.
fn so_far(run: &Trained<'_>, note: &str) -> String {
    if run.has_finished() { note.to_owned() } else { format!("{}; {note}", waiting(run, "")) }
}

fn losses(before: &Trained<'_>, after: &Trained<'_>) -> [OutcomeRow; 2] {
    let (old, new) = (before.best_validation_loss, after.best_validation_loss.filter(|(_, step)| *step > 0));
    // The best of half a training says nothing against the best of a whole one.
    let difference = old.zip(new).map(|((old, _), (new, _))| new - old).filter(|_| after.has_finished());
    let note = |came_out: bool, note: &str| {
        if came_out { so_far(after, note) } else { waiting(after, "the run was not evaluated") }
    };
    [
        OutcomeRow {
            what: "Best validation loss".to_owned(),
            unit: Unit::Loss,
            present: old.map(|(loss, _)| loss),
            predicted: None,
            came_out: new.map(|(loss, _)| loss),
            at_step: new.map(|(_, step)| step),
            note: note(new.is_some(), "no loss is predicted"),
        },
        OutcomeRow {
            what: "Its difference".to_owned(),
            unit: Unit::LossDifference,
            present: None,
            predicted: None,
            came_out: difference,
            at_step: None,
            note: note(difference.is_some(), "below 0: a lower loss than before"),
        },
    ]
}

fn costs(prediction: &Prediction, before: &Trained<'_>, after: &Trained<'_>) -> Vec<OutcomeRow> {
    let Prediction { present, proposed, .. } = prediction;
    let number = |count: u64| count as f64;
    let note = |came_out: Option<f64>, why: &str, note: &str| {
        if came_out.is_some() { note.to_owned() } else { waiting(after, why) }
    };
    let parameters = after.parameters.map(number);
    let flops = after.flops_per_step.map(number);
    let ratio =
        |new: Option<f64>, old: Option<f64>| new.zip(old).filter(|(_, old)| *old > 0.0).map(|(new, old)| new / old);
    let is_same_hardware = before.computed_on == after.computed_on;
    let step = ratio(after.step_secs, before.step_secs).filter(|_| is_same_hardware);
    let timed = if before.is_beside {
        "predicted by FLOPs; timed one right after the other, with what else ran"
    } else {
        "predicted by FLOPs; timed at different times, with what else ran: train it again beside it"
    };
    let untimed = if is_same_hardware {
        "one of the two was not timed"
    } else {
        "the two computed on other devices or with other threads"
    };
    vec![
        OutcomeRow {
            what: "Parameters".to_owned(),
            unit: Unit::Count,
            present: before.parameters.map(number).or(Some(number(present.parameters))),
            predicted: Some(number(proposed.parameters)),
            came_out: parameters,
            at_step: None,
            note: note(parameters, "they were not counted", ""),
        },
        OutcomeRow {
            what: "FLOPs of a step".to_owned(),
            unit: Unit::Flops,
            present: Some(number(present.flops_per_step)),
            predicted: Some(number(proposed.flops_per_step)),
            came_out: flops,
            at_step: None,
            note: note(flops, "they were not counted", "counted again on the model that was built"),
        },
        OutcomeRow {
            what: "Time of a step".to_owned(),
            unit: Unit::Ratio,
            present: Some(1.0),
            predicted: ratio(Some(number(proposed.flops_per_step)), Some(number(present.flops_per_step))),
            came_out: step,
            at_step: None,
            note: if step.is_some() { so_far(after, timed) } else { waiting(after, untimed) },
        },
        OutcomeRow {
            what: "Memory of the model".to_owned(),
            unit: Unit::ByteDifference,
            present: None,
            predicted: Some(number(proposed.memory_bytes) - number(present.memory_bytes)),
            came_out: None,
            at_step: None,
            note: "by estimate; what the program holds does not tell it from other work".to_owned(),
        },
        OutcomeRow {
            what: "Peak memory of the program".to_owned(),
            unit: Unit::Bytes,
            present: before.peak_memory_bytes,
            predicted: None,
            came_out: after.peak_memory_bytes,
            at_step: None,
            note: note(
                after.peak_memory_bytes,
                "it has no reading",
                "window, text and what earlier work left are in both: the difference is not the model's",
            ),
        },
    ]
}

fn measured(prediction: &Prediction, before: &Trained<'_>, after: &Trained<'_>) -> Vec<OutcomeRow> {
    let mut rows = Vec::new();
    let not_analysed = || waiting(after, "the attention of the trained model was not analysed");
    let looked_at = after.looked_at();
    let at_step = looked_at.and_then(|found| found.step);
    if let Some(heads) = &prediction.heads {
        let fits = |found: &&Similarity| (found.layers, found.heads) == (heads.plan.layers(), heads.plan.heads());
        let new = looked_at.and_then(|found| found.similarity(Measure::TotalVariation)).filter(fits);
        let borrowed = new.and_then(|new| {
            let all = heads.heads.iter().filter_map(|head| match head.verdict {
                super::Verdict::Borrows { lender, .. } => Some(new.between(lender, head.at)),
                _ => None,
            });
            let all: Vec<f64> = all.collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        });
        let came_out = new.and_then(|new| remaining(&heads.plan, |a, b| new.between(a, b)));
        rows.push(OutcomeRow {
            what: "Borrowed maps, similarity to the lender's".to_owned(),
            unit: Unit::Similarity,
            present: heads.mean_similarity,
            predicted: Some(1.0).filter(|_| heads.mean_similarity.is_some()),
            came_out: borrowed,
            at_step: at_step.filter(|_| borrowed.is_some()),
            note: if borrowed.is_some() {
                so_far(after, "1 by construction: it is the same map")
            } else {
                not_analysed()
            },
        });
        rows.push(OutcomeRow {
            what: "Heads that compute, similarity to the nearest".to_owned(),
            unit: Unit::Similarity,
            present: None,
            predicted: heads.remaining_similarity,
            came_out,
            at_step: at_step.filter(|_| came_out.is_some()),
            note: if came_out.is_some() {
                so_far(after, "predicted: of the same heads in the model that it came from")
            } else if heads.remaining_similarity.is_none() {
                "heads compute in one layer only".to_owned()
            } else {
                not_analysed()
            },
        });
    }
    if let Some(dimensions) = &prediction.dimensions {
        let needed = |run: &Trained<'_>| {
            let captured = run.looked_at()?.captured.as_ref()?;
            DimensionAdvice::new(captured, dimensions.share, dimensions.present).map(|found| found.d_k as f64)
        };
        let came_out = needed(after);
        rows.push(OutcomeRow {
            what: format!("Dimensions that hold {:.0} % of keys and queries", 100.0 * dimensions.share),
            unit: Unit::Count,
            present: needed(before),
            predicted: Some(dimensions.d_k as f64),
            came_out,
            at_step: at_step.filter(|_| came_out.is_some()),
            note: if came_out.is_some() {
                so_far(after, &format!("it has {} to share", grouped(dimensions.d_k as u64)))
            } else {
                not_analysed()
            },
        });
    }
    if let Some(pairs) = &prediction.pairs {
        rows.push(OutcomeRow {
            what: format!("Error of scores that follow from {}", counted(pairs.k as u64, "pair")),
            unit: Unit::Share,
            present: None,
            predicted: Some(pairs.error),
            came_out: after.score_error,
            at_step: None,
            note: match after.score_error {
                Some(_) => "on training text, as pairs were chosen".to_owned(),
                None => waiting(after, "it was not kept"),
            },
        });
    }
    rows
}
