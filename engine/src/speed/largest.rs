use serde::{Deserialize, Serialize};

use super::{StepSpeed, pool};
use crate::{
    attention::{Cost, ModelPlan, Workload},
    config::RunConfig,
    model::open_device,
    train::{TrainError, free_memory},
};

/// Examples that are looked at, at most.
const MOST: usize = 1 << 20;

/// The most examples of a forward pass that fit into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargestBatch {
    /// Examples; 0 = not even one fits.
    pub batch: usize,
    /// Estimated need at that batch in bytes; at one example where none fits.
    pub needed_bytes: u64,
    /// What was free.
    pub free_bytes: u64,
    /// Whether a step was really taken with it.
    pub is_confirmed: bool,
}

/// Finds the largest batch by the memory estimate, doubling and then halving the gap, and takes one step with it. At most
/// `limit_bytes` are used, or what is free.
///
/// # Errors
/// If the config cannot be built, the device is not there or does not tell its memory, or the step fails.
pub fn largest_batch(
    config: &RunConfig,
    vocabulary: usize,
    limit_bytes: Option<u64>,
) -> Result<LargestBatch, TrainError> {
    let device = open_device(config.device)?;
    let free_bytes = match (free_memory(&device), limit_bytes) {
        (Some(free), Some(limit)) => free.min(limit),
        (Some(bytes), None) | (None, Some(bytes)) => bytes,
        (None, None) => {
            return Err(TrainError::State("the device does not tell how much memory is free".to_owned()));
        }
    };
    let needed = |batch: usize| {
        let mut config = config.clone();
        config.train.batch = batch;
        let plan = ModelPlan::resolve(&config, vocabulary).map_err(TrainError::Config)?;
        Ok::<u64, TrainError>(Cost::of(&plan, &Workload::training(&config)).memory_bytes)
    };
    let batch = search(|batch| Ok(needed(batch)? <= free_bytes))?;
    let mut found = LargestBatch { batch, needed_bytes: needed(batch.max(1))?, free_bytes, is_confirmed: false };
    if batch > 0 {
        let mut config = config.clone();
        config.train.batch = batch;
        pool::in_pool(config.threads_used(), || StepSpeed::new(config, vocabulary)?.step())??;
        found.is_confirmed = true;
    }
    Ok(found)
}

/// The largest number for which `fits` holds, which holds for all below it.
fn search(fits: impl Fn(usize) -> Result<bool, TrainError>) -> Result<usize, TrainError> {
    if !fits(1)? {
        return Ok(0);
    }
    let mut below = 1;
    while below < MOST && fits(below * 2)? {
        below *= 2;
    }
    let mut above = below * 2;
    while above - below > 1 {
        let middle = usize::midpoint(below, above);
        if fits(middle)? {
            below = middle;
        } else {
            above = middle;
        }
    }
    Ok(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_finds_the_last_that_fits() {
        for limit in [0_usize, 1, 2, 3, 7, 64, 1000] {
            assert_eq!(search(|batch| Ok(batch <= limit)).unwrap(), limit);
        }
    }

    #[test]
    fn a_model_past_all_memory_has_no_batch() {
        let mut config = RunConfig::default();
        (config.model.width, config.model.layers, config.model.feed_forward) = (65_536, 256, 262_144);
        let found = largest_batch(&config, 50, None).unwrap();
        assert_eq!((found.batch, found.is_confirmed), (0, false));
        assert!(found.needed_bytes > found.free_bytes);
    }

    #[test]
    fn one_more_example_than_the_largest_batch_would_not_fit() {
        let mut config = RunConfig::default();
        (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (1, 2, 16, 24);
        (config.data.sequence_length, config.threads) = (8, 1);
        let found = largest_batch(&config, 50, Some(3 << 20)).unwrap();
        assert!(found.batch > 1 && found.is_confirmed && found.needed_bytes <= 3 << 20, "{found:?}");
        config.train.batch = found.batch + 1;
        let plan = ModelPlan::resolve(&config, 50).unwrap();
        assert!(Cost::of(&plan, &Workload::training(&config)).memory_bytes > 3 << 20, "{found:?}");
    }
}
