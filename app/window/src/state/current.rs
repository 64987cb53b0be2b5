use headroom_engine::{machine::GpuReading, store::RunId, train::Health};

use crate::format;

/// The run that computes now.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentRun {
    /// The run.
    pub run: RunId,
    /// Its name.
    pub name: String,
    /// Steps done.
    pub step: u64,
    /// Steps in all; 0 until it is known.
    pub steps: u64,
    /// Paused by the user.
    pub is_paused: bool,
    /// The user asked for its end, and it has not come yet.
    pub is_stopping: bool,
    /// What is prepared, before the first step, with the share done.
    pub preparing: Option<(String, f64)>,
    /// Last training loss, nats per token.
    pub loss: Option<f64>,
    /// Last validation loss, nats per token.
    pub validation_loss: Option<f64>,
    /// Training speed.
    pub tokens_per_sec: Option<f64>,
    /// Time left.
    pub eta_secs: Option<f64>,
    /// How its loss behaves, once something was told of it.
    pub health: Option<Health>,
}

impl CurrentRun {
    /// A run of which nothing is known but its name.
    pub fn named(run: RunId, name: impl Into<String>) -> Self {
        Self {
            run,
            name: name.into(),
            step: 0,
            steps: 0,
            is_paused: false,
            is_stopping: false,
            preparing: None,
            loss: None,
            validation_loss: None,
            tokens_per_sec: None,
            eta_secs: None,
            health: None,
        }
    }

    /// Share done, 0..=1: of the preparation before the first step, of the steps after.
    pub fn fraction(&self) -> f64 {
        match &self.preparing {
            Some((_, fraction)) => fraction.clamp(0.0, 1.0),
            None if self.steps == 0 => 0.0,
            None => (self.step as f64 / self.steps as f64).clamp(0.0, 1.0),
        }
    }
}

/// What is known of a run once its first step is about to follow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartFacts {
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
    /// Tokens of training text: one epoch.
    pub train_tokens: u64,
    /// Tokens of held-out text.
    pub validation_tokens: u64,
    /// FLOPs of one optimiser step by the cost model.
    pub flops_per_step: u64,
}

/// The machine's load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemLoad {
    /// Use of all cores by this program, 100 = one core.
    pub cpu_percent: f64,
    /// Resident memory of this program.
    pub memory_bytes: u64,
    /// Memory that is free on the machine.
    pub free_bytes: u64,
    /// Room on the disk that holds the store, where it is known.
    pub disk_free_bytes: Option<u64>,
    /// What the GPUs do.
    pub gpus: Vec<GpuReading>,
}

/// With less memory than this the system begins to end programs.
const LITTLE_MEMORY: u64 = 512 << 20;
/// With less room than this the next checkpoints may not find place.
const LITTLE_DISK: u64 = 1 << 30;

impl SystemLoad {
    /// What runs out on the machine, its name and a sentence with what to do; nothing where all is well.
    pub fn shortages(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        if let Some(free) = self.disk_free_bytes.filter(|free| *free < LITTLE_DISK) {
            let words = format!(
                "Only {} are free on the disk of the store: the next checkpoint may fail. Remove what is not needed; \"Purge \
                 deleted runs\" (Ctrl+K) lists what takes room.",
                format::bytes(free)
            );
            found.push(("disk", words));
        }
        if self.free_bytes < LITTLE_MEMORY {
            let words = format!(
                "Only {} of memory are free on this machine: the system may end the program. Close others, or train with a \
                 smaller batch.",
                format::bytes(self.free_bytes)
            );
            found.push(("memory", words));
        }
        found
    }
}
