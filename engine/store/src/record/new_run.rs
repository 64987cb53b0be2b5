use serde::{Deserialize, Serialize};

use super::Parent;

/// A run as it is put in the queue: the config, and what makes it reproducible.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewRun {
    /// A name for people; need not be unique.
    pub name: String,
    /// The config as TOML, every field written out.
    pub config_toml: String,
    /// The same config as JSON, for filtering and differences.
    pub config: serde_json::Value,
    /// The seed that everything random in the run comes from.
    pub seed: u64,
    /// The device as the config names it: "cpu", "cuda:0".
    pub device: String,
    /// Threads to compute with.
    pub threads: u32,
    /// Trained parameters, where they are known already.
    pub parameters: Option<u64>,
    /// Optimiser steps that the run will do, where they are known already.
    pub steps_total: Option<u64>,
    /// Hash of the data, where it is known already.
    pub data_hash: Option<String>,
    /// For a fork: what it started from.
    pub parent: Option<Parent>,
    /// Labels.
    pub tags: Vec<String>,
    /// A remark in the user's words.
    pub note: String,
}

/// The computer that a run ran on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Logical processors.
    pub cores: u32,
    /// Operating system and its version.
    pub os: String,
}

impl Machine {
    /// This computer.
    pub fn current() -> Self {
        let processor = sysinfo::System::new().ok().and_then(|mut system| {
            system.refresh_cpu_list(sysinfo::CpuRefreshKind::nothing());
            system.cpus().first().map(|cpu| cpu.brand().trim().to_owned())
        });
        let cpu = processor.unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        let os = sysinfo::System::long_os_version().unwrap_or_else(|_| std::env::consts::OS.to_owned());
        Self { cpu, cores, os }
    }
}
