use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::job::{Progress, share_of};
use crate::{
    objective::Measurements,
    store::{RunId, RunState},
    text::floats,
};

/// Text is read, tokenised or a tokenizer trained before the first step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Preparing {
    /// The run.
    pub run: RunId,
    /// What is done, as words.
    pub stage: String,
    /// Share done, 0..=1.
    #[serde(with = "floats")]
    pub fraction: f64,
}

/// The first step follows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Started {
    /// The run.
    pub run: RunId,
    /// Its name.
    pub name: String,
    /// Trainable numbers.
    pub parameters: u64,
    /// Steps done before (0 for a fresh run).
    pub first_step: u64,
    /// Steps in all.
    pub steps: u64,
    /// The device in words.
    pub device: String,
    /// Threads used on the CPU.
    pub threads: usize,
    /// Tokens of vocabulary.
    pub vocabulary: usize,
    /// Tokens of training text.
    pub train_tokens: u64,
    /// Tokens of held-out text.
    pub validation_tokens: u64,
    /// FLOPs of one optimiser step by the cost model.
    pub flops_per_step: u64,
    /// What `attention.match_parameters` did, as a sentence without its full stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter_match: Option<String>,
}

/// A step is done. At most some 30 a second: steps in between are in the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The run.
    pub run: RunId,
    /// Steps done, from 1.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Mean training loss of the step in nats per token.
    #[serde(with = "floats")]
    pub loss: f64,
    /// Learning rate of the step.
    #[serde(with = "floats")]
    pub learning_rate: f64,
    /// Global gradient norm before clipping.
    #[serde(with = "floats")]
    pub grad_norm: f64,
    /// Training speed.
    #[serde(with = "floats")]
    pub tokens_per_sec: f64,
    /// Tokens trained on.
    pub tokens: u64,
    /// Time left.
    #[serde(with = "floats")]
    pub eta_secs: f64,
}

/// The held-out text was evaluated.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Evaluated {
    /// The run.
    pub run: RunId,
    /// Steps done.
    pub step: u64,
    /// Mean loss in nats per token.
    #[serde(with = "floats")]
    pub loss: f64,
    /// The other metrics of its objective, each a field.
    #[serde(flatten)]
    pub metrics: Measurements,
    /// Whether it is the lowest loss so far.
    pub best: bool,
}

/// How the loss of a run behaves became another matter, or the run shows no progress; `kind` is `sound` when that is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Health {
    /// The run.
    pub run: RunId,
    /// Steps done.
    pub step: u64,
    /// What holds now.
    #[serde(flatten)]
    pub health: crate::train::Health,
    /// What was found and what to do, as sentences; empty where all is well.
    pub message: String,
}

/// The model showed what it can do: a continuation (decoder) or filled-in words (encoder).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// The run.
    pub run: RunId,
    /// Steps done.
    pub step: u64,
    /// The text.
    pub text: String,
}

/// The weights of a run begin with those of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BegunWith {
    /// The run.
    pub run: RunId,
    /// The model, in words: its directory, or the name of its run and the step.
    pub model: String,
    /// SHA-256 of its weights, where they are one file.
    pub weights_sha256: Option<String>,
    /// Tensors that were taken.
    pub taken: usize,
    /// Tensors that start fresh, since the model has none, by their names in files.
    pub fresh: Vec<String>,
    /// Tensors of the model that the run has no use for, by their names in files.
    pub left_out: Vec<String>,
}

/// The pairs of each row that are scored were chosen: from the next step on the others follow from them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PairsChosen {
    /// The run.
    pub run: RunId,
    /// Steps done.
    pub step: u64,
    /// Pairs of each row.
    pub k: usize,
    /// Mean squared error of the scores as a share of their mean square, 0..=1.
    #[serde(with = "floats")]
    pub score_error: f64,
    /// Maps of scores that were read.
    pub samples: u64,
}

/// A checkpoint was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checkpointed {
    /// The run.
    pub run: RunId,
    /// Steps done.
    pub step: u64,
    /// The model directory.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Whether it is the best so far.
    pub best: bool,
}

/// The current run is paused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Paused {
    /// The run.
    pub run: RunId,
    /// Steps done.
    pub step: u64,
}

/// The paused run goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Resumed {
    /// The run.
    pub run: RunId,
    /// Steps done.
    pub step: u64,
}

/// A run ended; always its last event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finished {
    /// The run.
    pub run: RunId,
    /// Its name.
    pub name: String,
    /// The state that was written down.
    pub state: RunState,
    /// Steps done.
    pub step: u64,
    /// Last training loss.
    #[serde(default, with = "floats", skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Best validation loss.
    #[serde(default, with = "floats", skip_serializing_if = "Option::is_none")]
    pub best_validation_loss: Option<f64>,
    /// Its step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_step: Option<u64>,
    /// Time spent in training steps.
    #[serde(with = "floats")]
    pub train_secs: f64,
    /// Why it ended early, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Where its record is and what to do, in words, if it could not be written to the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwritten: Option<String>,
}

/// The attention of a run was analysed while it trains; the store has what was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// The run.
    pub run: RunId,
    /// Its step.
    pub step: u64,
    /// Time that the analysis took.
    #[serde(with = "floats")]
    pub secs: f64,
}

impl Health {
    /// The health of a run with its sentences.
    pub fn new(run: &RunId, step: u64, health: crate::train::Health) -> Self {
        let message = format!("{} {}", health.why(), health.what_to_do()).trim().to_owned();
        Self { run: run.clone(), step, health, message }
    }
}

impl Progress for Preparing {
    fn stage(&self) -> String {
        self.stage.clone()
    }

    fn share(&self) -> Option<f64> {
        Some(self.fraction)
    }
}

impl Progress for Step {
    fn stage(&self) -> String {
        format!("step {} of {}", self.step, self.steps)
    }

    fn share(&self) -> Option<f64> {
        Some(share_of(self.step, self.steps))
    }
}
