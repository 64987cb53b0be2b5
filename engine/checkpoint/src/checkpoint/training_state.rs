use std::collections::BTreeMap;

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

/// What it takes, beside the weights, to continue a run exactly where it was.
#[derive(Clone, Debug)]
pub struct TrainingState {
    /// Optimiser steps done.
    pub step: u64,
    /// Tokens read.
    pub tokens: u64,
    /// The best evaluation so far.
    pub best: Option<BestMetric>,
    /// The optimiser's moments by name, as [`AdamW::state`](crate::ops::AdamW::state) gives them, after our names of parameters.
    pub optimiser: BTreeMap<String, Tensor>,
    /// What the loop needs beside: integers and strings, since other numbers in JSON may change in their last digit.
    pub progress: serde_json::Value,
}

/// The best value of the metric that checkpoints are judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestMetric {
    /// The metric.
    pub name: String,
    /// Its best value; kept to the last digit.
    #[serde(with = "exact")]
    pub value: f64,
    /// The step at which it was reached.
    pub step: u64,
}

/// The line of metadata in the file.
#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub step: u64,
    pub tokens: u64,
    pub best: Option<BestMetric>,
    pub progress: serde_json::Value,
}

/// A number as text: exact, and able to be infinite or NaN.
mod exact {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.to_string())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
