use serde::{Deserialize, Serialize};

use super::RunId;
use crate::train::Health;

/// Why a run failed, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What happened.
    pub why: String,
    /// What the user can do about it.
    pub what_to_do: String,
}

/// Where a run diverged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// The step whose loss or gradient was not finite, or from which on a finite loss did not come back.
    pub step: u64,
    /// The first layer, or head, or tensor that held a non-finite value; none where the loss stayed finite.
    pub at: Option<String>,
}

/// The run and step that a forked run started from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The run whose checkpoint was taken.
    pub run: RunId,
    /// The step of that checkpoint.
    pub step: u64,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Optimiser steps done.
    pub steps_done: u64,
    /// Tokens trained on.
    pub tokens: u64,
    /// Seconds of training, over all attempts, pauses left out.
    pub train_secs: f64,
}

/// What goes with a change of state; what is none stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StateDetails {
    /// For a failed run: why, and what to do.
    pub failure: Option<Failure>,
    /// For a diverged run: where.
    pub diverged: Option<Divergence>,
    /// How far the run came.
    pub progress: Option<Progress>,
}

/// What is known of a run only once it starts; what is none stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Trained parameters of the model.
    pub parameters: Option<u64>,
    /// Hash of the data that it trains on.
    pub data_hash: Option<String>,
    /// Hash of the held-out text and the tokenizer; of rows with labels or numbers, of these.
    pub held_out_hash: Option<String>,
    /// Hash of the validation examples of one evaluation and of all that decides what a loss on them is.
    #[serde(default)]
    pub evaluated_hash: Option<String>,
    /// Number of these examples.
    #[serde(default)]
    pub evaluated_examples: Option<u64>,
    /// Examples of the validation set.
    #[serde(default)]
    pub validation_examples: Option<u64>,
    /// Optimiser steps that it will do.
    pub steps_total: Option<u64>,
    /// The device it really runs on.
    pub device: Option<String>,
    /// Threads that it computes with.
    pub threads: Option<u32>,
    /// FLOPs of one optimiser step by the cost model.
    pub flops_per_step: Option<u64>,
    /// Tokens of training text.
    pub train_tokens: Option<u64>,
    /// How its loss behaves.
    #[serde(default)]
    pub health: Option<Health>,
}
