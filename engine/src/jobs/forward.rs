//! How long a model directory takes to read.

use std::{path::Path, time::Instant};

use candle_core::{DType, Device};
use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use crate::{
    attention::{Cost, Workload},
    checkpoint::load_model_dir,
    config::Precision,
    model::{ForwardOptions, Model, ModelInput},
    ops::random::{Purpose, Stream},
};

/// How it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardSpec {
    /// Examples.
    pub batch: usize,
    /// Tokens of each.
    pub tokens: usize,
    /// Passes that are not counted.
    pub warmup: usize,
    /// Passes that are.
    pub runs: usize,
}

/// Times of forward passes up to the last hidden states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForwardTimes {
    /// Each pass.
    pub seconds: Vec<f64>,
    /// FLOPs of one, those of a head left out.
    pub flops: u64,
    /// Trained numbers of the model.
    pub parameters: u64,
}

/// Reads a batch of random tokens again and again, without a head and without a graph. Fewer runs where `should_stop` says so.
///
/// # Errors
/// In words: why the model cannot be read, or not with so many tokens.
pub fn forward_times(dir: &Path, spec: &ForwardSpec, should_stop: &dyn Fn() -> bool) -> Result<ForwardTimes, Refusal> {
    let device = Device::Cpu;
    let loaded = load_model_dir(dir, DType::F32, &device)?;
    let (plan, ForwardSpec { batch, tokens, warmup, runs }) = (&loaded.plan, *spec);
    let (vocabulary, longest) = (plan.vocabulary(), plan.stack.longest());
    if vocabulary == 0 || plan.encoder.is_some() {
        return Err("Only models of one stack that read tokens are measured so far.".into());
    }
    if batch == 0 || !(1..=longest).contains(&tokens) {
        return Err(Refusal::Unmeasured { longest });
    }
    let mut stream = Stream::new(1, Purpose::Test, 0);
    let ids: Vec<u32> = (0..batch * tokens).map(|_| stream.below(vocabulary as u64) as u32).collect();
    let model = Model::frozen(plan, &loaded.parameters)?;
    let input = ModelInput::new(&ids, None, batch, tokens, &device)?;
    let options = ForwardOptions::default();
    let mut seconds = Vec::with_capacity(runs);
    for pass in 0..warmup + runs {
        if should_stop() {
            break;
        }
        let begun = Instant::now();
        let read = model.attend(&input, &options)?;
        drop(read);
        if pass >= warmup {
            seconds.push(begun.elapsed().as_secs_f64());
        }
    }
    let cost = Cost::of(plan, &Workload { predicted: 0, ..Workload::inference(batch, tokens, Precision::F32) });
    Ok(ForwardTimes { seconds, flops: cost.forward_flops, parameters: loaded.parameters.count() })
}
