use std::cell::Cell;

use super::{
    GenerationTask, LargestBatch, MemoryAnswer, MemoryProbe, MemoryRequest, Outcome,
    largest::{confirm, search, smaller, usable_memory, within},
    probe::{Asked, measure_memory},
};
use crate::{attention::ModelPlan, config::RunConfig, model::open_device_of, train::TrainError};

/// Finds the most sources at the same time by the memory estimate, as [`largest_batch`](super::largest_batch) does for
/// training, and generates once with them, in a process of its own that ends when it holds too much or takes too long.
///
/// # Errors
/// If the config cannot be built, or the device is not there or does not tell its memory.
pub(super) fn largest_generation(
    config: &RunConfig,
    task: &GenerationTask,
    vocabulary: usize,
    limit_bytes: Option<u64>,
    probe: &MemoryProbe,
    is_stopped: &dyn Fn() -> bool,
) -> Result<LargestBatch, TrainError> {
    let device = open_device_of(config)?;
    let plan = ModelPlan::resolve(config, vocabulary).map_err(TrainError::Config)?;
    let memory = usable_memory(&device, limit_bytes)?;
    let of_batch = |batch: usize| GenerationTask { batch, ..task.clone() };
    let needed = |batch: usize| of_batch(batch).memory_bytes(&plan, config);
    let batch = search(|batch| Ok(needed(batch) <= memory.free_bytes))?;
    let (peak, secs, is_untold) = (Cell::new(None), Cell::new(None), Cell::new(false));
    let limit_of_process = limit_bytes.filter(|_| device.is_cpu());
    let step = |batch: usize| {
        if is_untold.get() {
            return Ok(());
        }
        let request = MemoryRequest {
            config: config.clone(),
            vocabulary,
            steps: 1,
            limit_bytes: device.is_cpu().then_some(memory.most_bytes),
            generation: Some(of_batch(batch)),
        };
        let found = match probe.ask(&request, is_stopped) {
            Asked::Answered(MemoryAnswer::Found(found)) => Some(found),
            Asked::Answered(MemoryAnswer::Not { outcome: Outcome::OutOfMemory { needed_bytes, .. } }) => {
                return Err(TrainError::OutOfMemory { needed: needed_bytes });
            }
            // It took too long, or was stopped: the batch is what the estimate says.
            Asked::Answered(MemoryAnswer::Not { .. }) | Asked::Stopped => None,
            Asked::Unavailable => Some(measure_memory(&request)?),
        };
        match found {
            Some(found) => {
                peak.set(found.peak_memory_bytes);
                secs.set(found.run_secs);
                within(limit_of_process, found.peak_memory_bytes)?;
            }
            None => is_untold.set(true),
        }
        Ok(())
    };
    let (batch, is_confirmed) =
        confirm(batch, step, |batch, held| smaller(batch, held, limit_of_process, |batch| Ok(needed(batch))))?;
    let is_confirmed = is_confirmed && !is_untold.get();
    Ok(LargestBatch {
        batch,
        needed_bytes: needed(batch.max(1)),
        free_bytes: memory.free_bytes,
        machine_free_bytes: memory.machine_free_bytes,
        peak_memory_bytes: peak.get().filter(|_| is_confirmed),
        is_confirmed,
        run_secs: secs.get().filter(|_| is_confirmed),
    })
}
