use serde::{Deserialize, Serialize};

use super::{DimensionAdvice, Prediction, heads::remaining};
use crate::analysis::{Analysis, Measure, Similarity};

/// What is known of a run that trained, as far as it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trained<'a> {
    /// Whether it has done all its steps.
    pub has_finished: bool,
    /// Counted parameters.
    pub parameters: Option<u64>,
    /// FLOPs of an optimiser step of the model as it was built.
    pub flops_per_step: Option<u64>,
    /// Seconds of a step, a mean over the training.
    pub step_secs: Option<f64>,
    /// The most memory that the program held meanwhile, bytes.
    pub peak_memory_bytes: Option<f64>,
    /// The lowest held-out loss, nats per predicted token.
    pub best_validation_loss: Option<f64>,
    /// Share of the scores' energy that was lost when pairs were chosen.
    pub score_error: Option<f64>,
    /// The newest analysis of its attention.
    pub analysis: Option<&'a Analysis>,
}

/// What a number of an outcome is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A whole number.
    Count,
    /// Floating point operations.
    Flops,
    /// A share of the same of the model that the advice came from; 1 = as much.
    Ratio,
    /// A difference in bytes.
    ByteDifference,
    /// How alike maps are, 0..=1.
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
        let (old, new) = (before.best_validation_loss, after.best_validation_loss);
        let row = |what: &str, unit, present, came_out: Option<f64>, note: &str| OutcomeRow {
            what: what.to_owned(),
            unit,
            present,
            predicted: None,
            came_out,
            note: if came_out.is_none() { waiting(after, "the run was not evaluated") } else { note.to_owned() },
        };
        rows.push(row("Best validation loss", Unit::Loss, old, new, "no loss is predicted"));
        let difference = old.zip(new).map(|(old, new)| new - old);
        rows.push(row("Its difference", Unit::LossDifference, None, difference, "below 0: better than before"));
        Self { rows }
    }
}

/// Why something is not there.
fn waiting(run: &Trained<'_>, why: &str) -> String {
    if run.has_finished { why.to_owned() } else { "the run did not train to its end".to_owned() }
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
    // The time of a run that has not ended is that of its first steps.
    let step = ratio(after.step_secs, before.step_secs);
    let memory = after.peak_memory_bytes.zip(before.peak_memory_bytes).map(|(new, old)| new - old);
    vec![
        OutcomeRow {
            what: "Parameters".to_owned(),
            unit: Unit::Count,
            present: before.parameters.map(number).or(Some(number(present.parameters))),
            predicted: Some(number(proposed.parameters)),
            came_out: parameters,
            note: note(parameters, "they were not counted", ""),
        },
        OutcomeRow {
            what: "FLOPs of a step".to_owned(),
            unit: Unit::Flops,
            present: Some(number(present.flops_per_step)),
            predicted: Some(number(proposed.flops_per_step)),
            came_out: flops,
            note: note(flops, "they were not counted", "counted again on the model that was built"),
        },
        OutcomeRow {
            what: "Time of a step".to_owned(),
            unit: Unit::Ratio,
            present: Some(1.0),
            predicted: ratio(Some(number(proposed.flops_per_step)), Some(number(present.flops_per_step))),
            came_out: step,
            note: note(
                step,
                "one of the two was not timed",
                "predicted: the ratio of FLOPs; other work on the machine counts",
            ),
        },
        OutcomeRow {
            what: "Peak memory".to_owned(),
            unit: Unit::ByteDifference,
            present: None,
            predicted: Some(number(proposed.memory_bytes) - number(present.memory_bytes)),
            came_out: memory,
            note: note(memory, "one of the two has no reading", "measured: of the whole program"),
        },
    ]
}

fn measured(prediction: &Prediction, before: &Trained<'_>, after: &Trained<'_>) -> Vec<OutcomeRow> {
    let mut rows = Vec::new();
    let not_looked = || waiting(after, "the attention of the trained model was not looked at");
    if let Some(heads) = &prediction.heads {
        let fits = |found: &&Similarity| (found.layers, found.heads) == (heads.plan.layers(), heads.plan.heads());
        let new = after.analysis.and_then(|found| found.similarity(Measure::TotalVariation)).filter(fits);
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
            what: "Borrowed maps, likeness to the lender's".to_owned(),
            unit: Unit::Similarity,
            present: heads.mean_similarity,
            predicted: Some(1.0).filter(|_| heads.mean_similarity.is_some()),
            came_out: borrowed,
            note: if borrowed.is_some() { "1 by construction: it is the same map".to_owned() } else { not_looked() },
        });
        rows.push(OutcomeRow {
            what: "Heads that compute, likeness to the nearest".to_owned(),
            unit: Unit::Similarity,
            present: None,
            predicted: heads.remaining_similarity,
            came_out,
            note: if came_out.is_some() {
                "predicted: of the same heads in the model that it came from".to_owned()
            } else if heads.remaining_similarity.is_none() {
                "heads compute in one layer only".to_owned()
            } else {
                not_looked()
            },
        });
    }
    if let Some(dimensions) = &prediction.dimensions {
        let needed = |run: &Trained<'_>| {
            let captured = run.analysis?.captured.as_ref()?;
            DimensionAdvice::new(captured, dimensions.share, dimensions.present).map(|found| found.d_k as f64)
        };
        let came_out = needed(after);
        rows.push(OutcomeRow {
            what: format!("Dimensions that hold {:.0} % of keys and queries", 100.0 * dimensions.share),
            unit: Unit::Count,
            present: needed(before),
            predicted: Some(dimensions.d_k as f64),
            came_out,
            note: if came_out.is_some() { format!("it has {} to share", dimensions.d_k) } else { not_looked() },
        });
    }
    if let Some(pairs) = &prediction.pairs {
        rows.push(OutcomeRow {
            what: format!("Error of scores that follow from {} pairs", pairs.k),
            unit: Unit::Share,
            present: None,
            predicted: Some(pairs.error),
            came_out: after.score_error,
            note: match after.score_error {
                Some(_) => "on training text, as pairs were chosen".to_owned(),
                None => waiting(after, "it was not kept"),
            },
        });
    }
    rows
}
