use std::cell::Cell;

use candle_core::Device;

use super::{
    LargestBatch, MemoryAnswer, MemoryProbe, MemoryRequest, Outcome,
    probe::{Asked, measure_memory},
};
use crate::{
    attention::{Cost, ModelPlan, Workload},
    config::RunConfig,
    model::open_device_of,
    train::{TrainError, free_memory},
};

/// The largest batch that a config may have.
const MOST: usize = 1 << 16;

/// A process holds this much before it builds anything; a limit below could never be kept.
const LEAST_LIMIT: u64 = 256 << 20;

/// How often a batch that turned out too large is made smaller.
const ATTEMPTS: usize = 6;

/// Finds the largest batch by the memory estimate, doubling and then halving the gap, and takes one step with it; where
/// that takes more after all, with an eighth less. The estimate takes at most `limit_bytes`, and at most
/// [`LargestBatch::SHARE_PERCENT`] percent of what is free at the start; on a processor, the step is taken in a process of its
/// own that ends when it holds more than [`LargestBatch::MOST_PERCENT`].
///
/// # Errors
/// If the config cannot be built, the device is not there or does not tell its memory, or the step fails.
pub fn largest_batch(
    config: &RunConfig,
    vocabulary: usize,
    limit_bytes: Option<u64>,
    probe: &MemoryProbe,
    is_stopped: &dyn Fn() -> bool,
) -> Result<LargestBatch, TrainError> {
    let device = open_device_of(config)?;
    let Usable { machine_free_bytes, free_bytes, most_bytes } = usable_memory(&device, limit_bytes)?;
    let needed = |batch: usize| {
        let mut config = config.clone();
        config.train.batch = batch;
        let plan = ModelPlan::resolve(&config, vocabulary).map_err(TrainError::Config)?;
        Ok::<u64, TrainError>(Cost::of(&plan, &Workload::training(&config)).memory_bytes)
    };
    let batch = search(|batch| Ok(needed(batch)? <= free_bytes))?;
    let peak_memory_bytes = Cell::new(None);
    let limit_of_process = limit_bytes.filter(|_| device.is_cpu());
    let step = |batch: usize| {
        let mut config = config.clone();
        config.train.batch = batch;
        // On a GPU it is the device's memory that counts, which the estimate and the device itself watch.
        let limit_bytes = device.is_cpu().then_some(most_bytes);
        let request = MemoryRequest { config, vocabulary, steps: 1, limit_bytes, generation: None };
        match probe.ask(&request, is_stopped) {
            Asked::Answered(MemoryAnswer::Found(found)) => {
                peak_memory_bytes.set(found.peak_memory_bytes);
                within(limit_of_process, found.peak_memory_bytes)
            }
            Asked::Answered(MemoryAnswer::Not { outcome: Outcome::OutOfMemory { needed_bytes, .. } }) => {
                Err(TrainError::OutOfMemory { needed: needed_bytes })
            }
            Asked::Answered(MemoryAnswer::Not {
                outcome: Outcome::Invalid { reason } | Outcome::Failed { reason },
            }) => Err(TrainError::State(reason)),
            Asked::Answered(MemoryAnswer::Not { outcome: Outcome::Measured(_) | Outcome::Generated(_) }) => {
                Err(TrainError::State("the process that measures memory answered another question".to_owned()))
            }
            Asked::Stopped => Err(TrainError::State("the search was stopped".to_owned())),
            Asked::Unavailable => measure_memory(&request).map(drop),
        }
    };
    let (batch, is_confirmed) = confirm(batch, step, |batch, held| smaller(batch, held, limit_of_process, needed))?;
    let peak_memory_bytes = peak_memory_bytes.get().filter(|_| is_confirmed);
    let needed_bytes = needed(batch.max(1))?;
    let run_secs = None;
    Ok(LargestBatch { batch, needed_bytes, free_bytes, machine_free_bytes, peak_memory_bytes, is_confirmed, run_secs })
}

/// What a search for the largest batch may use.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "units stand in names")]
pub(super) struct Usable {
    /// What is free on the device; none where it does not tell.
    pub machine_free_bytes: Option<u64>,
    /// What the estimate of a batch may take.
    pub free_bytes: u64,
    /// At which the process that tries a batch is ended.
    pub most_bytes: u64,
}

/// The share of a device's free memory that a search may use, at most `limit_bytes`.
///
/// # Errors
/// If the device does not tell its memory and there is no limit.
pub(super) fn usable_memory(device: &Device, limit_bytes: Option<u64>) -> Result<Usable, TrainError> {
    let machine_free_bytes = free_memory(device);
    let free = machine_free_bytes.map(|free| free / 100 * LargestBatch::SHARE_PERCENT);
    let free_bytes = match (free, limit_bytes) {
        (Some(free), Some(limit)) => free.min(limit),
        (Some(bytes), None) | (None, Some(bytes)) => bytes,
        (None, None) => {
            return Err(TrainError::State("the device does not tell how much memory is free".to_owned()));
        }
    };
    let most_bytes = (free_bytes / LargestBatch::SHARE_PERCENT * LargestBatch::MOST_PERCENT).max(LEAST_LIMIT);
    Ok(Usable { machine_free_bytes, free_bytes, most_bytes })
}

/// Holds a limit that somebody named against what a process really held: it is one of the whole process, whatever the estimate of
/// the model says.
///
/// # Errors
/// If the process held more.
pub(super) fn within(limit_bytes: Option<u64>, peak_memory_bytes: Option<u64>) -> Result<(), TrainError> {
    match (peak_memory_bytes, limit_bytes) {
        (Some(peak), Some(limit)) if peak > limit => Err(TrainError::OutOfMemory { needed: peak }),
        _ => Ok(()),
    }
}

/// A batch smaller than one with which a process held, or asked for, `held` bytes: by an eighth, or, where that was more than the limit of
/// the process, the largest one whose estimate leaves room for what the process held beside the estimate.
pub(super) fn smaller(
    batch: usize,
    held: u64,
    limit_bytes: Option<u64>,
    needed: impl Fn(usize) -> Result<u64, TrainError>,
) -> Result<usize, TrainError> {
    let Some(limit) = limit_bytes.filter(|limit| held > *limit) else { return Ok(batch - batch.div_ceil(8)) };
    let room = limit.saturating_sub(held.saturating_sub(needed(batch)?));
    Ok(search(|batch| Ok(needed(batch)? <= room))?.min(batch.saturating_sub(1)))
}

/// The batch with which a step can be taken, and whether one was: `batch`, or a smaller one.
///
/// `smaller` answers with a smaller batch than one with which so many bytes were held or asked for.
pub(super) fn confirm(
    mut batch: usize,
    step: impl Fn(usize) -> Result<(), TrainError>,
    smaller: impl Fn(usize, u64) -> Result<usize, TrainError>,
) -> Result<(usize, bool), TrainError> {
    for _ in 0..ATTEMPTS {
        if batch == 0 {
            break;
        }
        match step(batch) {
            Ok(()) => return Ok((batch, true)),
            Err(TrainError::Memory { .. }) => batch -= batch.div_ceil(8),
            Err(TrainError::OutOfMemory { needed }) => batch = smaller(batch, needed)?,
            Err(error) => return Err(error),
        }
    }
    Ok((batch, false))
}

/// The largest number for which `fits` holds, which holds for all below it.
pub(super) fn search(fits: impl Fn(usize) -> Result<bool, TrainError>) -> Result<usize, TrainError> {
    if !fits(1)? {
        return Ok(0);
    }
    let mut below = 1;
    while below < MOST && fits(below * 2)? {
        below *= 2;
    }
    let mut above = (below * 2).min(MOST + 1);
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
    use super::super::LargestBatch;
    use super::*;

    #[test]
    fn the_search_finds_the_last_that_fits() {
        for limit in [0_usize, 1, 2, 3, 7, 64, 1000, MOST - 1, MOST] {
            assert_eq!(search(|batch| Ok(batch <= limit)).unwrap(), limit);
        }
        let legal = |batch| if batch <= MOST { Ok(true) } else { Err(TrainError::State("too large".to_owned())) };
        assert_eq!(search(legal).unwrap(), MOST);
        let mut config = RunConfig::default();
        config.train.batch = MOST;
        assert!(config.validate().is_empty());
        config.train.batch = MOST + 1;
        assert!(!config.validate().is_empty(), "a larger one is legal now: look for it too");
    }

    #[test]
    fn a_batch_that_is_too_large_after_all_gets_smaller() {
        let step = |most: usize| {
            move |batch| if batch <= most { Ok(()) } else { Err(TrainError::OutOfMemory { needed: batch as u64 }) }
        };
        let eighth = |batch: usize, held: u64| smaller(batch, held, None, |_| Ok(0));
        assert_eq!(confirm(100, step(100), eighth).unwrap(), (100, true));
        assert_eq!(confirm(100, step(80), eighth).unwrap(), (76, true));
        assert_eq!(confirm(3, step(0), eighth).unwrap(), (0, false));
        assert!(!confirm(100, step(1), eighth).unwrap().1);
        assert!(confirm(3, |_| Err(TrainError::State("broken".to_owned())), eighth).is_err());
    }

    /// The process held 500 bytes beside the estimate of ten for each example: 50 examples are left of 1,000 bytes.
    #[test]
    fn what_a_process_holds_beside_the_estimate_is_left_to_it() {
        let needed = |batch: usize| Ok(batch as u64 * 10);
        assert_eq!(smaller(100, 1_500, Some(1_000), needed).unwrap(), 50);
        assert_eq!(smaller(100, 5_000, Some(1_000), needed).unwrap(), 0);
        assert_eq!(smaller(80, 900, Some(1_000), needed).unwrap(), 70, "refused within the limit: by an eighth");
    }

    #[test]
    fn a_model_past_all_memory_has_no_batch() {
        let mut config = RunConfig::default();
        (config.model.width, config.model.layers, config.model.feed_forward) = (65_536, 256, 262_144);
        let found = largest_batch(&config, 50, None, &MemoryProbe::default(), &|| false).unwrap();
        assert_eq!((found.batch, found.is_confirmed), (0, false));
        assert!(found.needed_bytes > found.free_bytes);
        // At most the share, of memory that changes while it is read twice.
        let free = found.machine_free_bytes.unwrap();
        assert_eq!(found.free_bytes, free / 100 * LargestBatch::SHARE_PERCENT);
    }

    #[test]
    fn one_more_example_than_the_largest_batch_would_not_fit() {
        let mut config = RunConfig::default();
        (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (1, 2, 16, 24);
        (config.data.sequence_length, config.threads) = (8, 1);
        let found = largest_batch(&config, 50, Some(3 << 20), &MemoryProbe::default(), &|| false).unwrap();
        assert!(found.batch > 1 && found.is_confirmed && found.needed_bytes <= 3 << 20, "{found:?}");
        config.train.batch = found.batch + 1;
        let plan = ModelPlan::resolve(&config, 50).unwrap();
        assert!(Cost::of(&plan, &Workload::training(&config)).memory_bytes > 3 << 20, "{found:?}");
    }
}
