use serde::{Deserialize, Serialize};

use crate::{machine::GpuReading, store::RunId, text::floats};

/// A run or a request could not be carried out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// The run, if one was meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What failed and why.
    pub why: String,
    /// What to do about it.
    pub what_to_do: String,
}

/// A request that cannot be carried out as it was made: what it names is not there or does not fit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refused {
    /// What cannot be, why, and what to do.
    pub why: String,
}

/// Something to know that stops nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Warning {
    /// The run, if one is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What happened and what to do.
    pub message: String,
}

/// What the machine is doing: once a second while a job is done, else only when it changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct System {
    /// Use of all cores by this program, 100 = one core.
    #[serde(with = "floats")]
    pub cpu_percent: f64,
    /// Resident memory of this program.
    pub memory_bytes: u64,
    /// Memory that is free on the machine.
    pub free_bytes: u64,
    /// Room on the disk that holds the store; none where it cannot be found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_free_bytes: Option<u64>,
    /// What the GPUs do; none where there is none, or the program was built without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuReading>,
}
