use std::{convert::Infallible, time::Instant};

use candle_core::{DType, Device};
use serde::{Deserialize, Serialize};

use super::pool;
use crate::{
    config::{DeviceChoice, RunConfig},
    model::{dtype, open_device_of},
    ops::{Products, copy_rate_probe, device_copy_probe, device_product_probe, product_rate_probe},
    train::TrainError,
};

/// What the machine can do at most, measured: the roof under which every operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineLimits {
    /// Floating-point operations a second of large matrix products, all threads together.
    pub product_flops_per_sec: f64,
    /// Bytes a second, read and written, of copies too large for the caches.
    pub copy_bytes_per_sec: f64,
    /// Threads that computed; zero on a GPU.
    pub threads: usize,
}

/// How often each limit is measured; the best counts, since only disturbances make a run slower.
const REPEATS: usize = 5;

/// Measures the limits with the threads of the current pool: about a second.
fn machine_limits(products: Products) -> MachineLimits {
    let (product, copy) = (product_rate_probe(products), copy_rate_probe());
    let Ok(product_flops_per_sec) = best(|| Ok::<_, Infallible>(product()));
    let Ok(copy_bytes_per_sec) = best(|| Ok::<_, Infallible>(copy()));
    MachineLimits { product_flops_per_sec, copy_bytes_per_sec, threads: rayon::current_num_threads() }
}

/// Side of the matrices that a GPU multiplies: enough to fill the largest.
const SIDE: usize = 4096;
/// Numbers that it copies: far more than its caches hold.
const COPIED: usize = 64 << 20;

/// Measures the limits of a GPU for products of numbers of type `dtype`; takes some 700 MiB of its memory.
///
/// # Errors
/// If that memory is not there, or the device fails.
fn device_limits(device: &Device, dtype: DType) -> candle_core::Result<MachineLimits> {
    limits_at(device, dtype, SIDE, COPIED)
}

/// The limits of what a config computes on: the processor with its threads, or its GPU in its precision.
///
/// # Errors
/// If the device is not there or its memory does not suffice, or the threads cannot be started.
pub fn limits_of(config: &RunConfig) -> Result<MachineLimits, TrainError> {
    if config.device == DeviceChoice::Cpu {
        let is_paired = config.precision.is_paired_on(config.device);
        let products = if is_paired { Products::Pairs } else { Products::Own };
        return pool::in_pool(config.threads_used(), || machine_limits(products));
    }
    Ok(device_limits(&open_device_of(config)?, dtype(config.precision))?)
}

fn limits_at(device: &Device, dtype: DType, side: usize, copied: usize) -> candle_core::Result<MachineLimits> {
    let product_flops_per_sec = best(device_product_probe(device, dtype, side)?)?;
    let copy_bytes_per_sec = best(device_copy_probe(device, copied)?)?;
    Ok(MachineLimits { product_flops_per_sec, copy_bytes_per_sec, threads: 0 })
}

/// The best rate of some runs of a probe, the first of which does not count: it may load what it needs.
fn best<E>(probe: impl Fn() -> Result<u64, E>) -> Result<f64, E> {
    probe()?;
    let mut best = 0.0_f64;
    for _ in 0..REPEATS {
        let start = Instant::now();
        let work = probe()?;
        best = best.max(work as f64 / start.elapsed().as_secs_f64());
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rates() {
        let limits = machine_limits(Products::Own);
        assert!(limits.product_flops_per_sec > 1e8, "{limits:?}");
        assert!(limits.copy_bytes_per_sec > 1e8, "{limits:?}");
        assert_eq!(limits.threads, rayon::current_num_threads());
    }

    #[test]
    fn a_device_is_measured_in_its_precision() {
        let limits = limits_at(&Device::Cpu, DType::F32, 64, 1000).unwrap();
        assert!(limits.product_flops_per_sec > 1e6 && limits.copy_bytes_per_sec > 1e6, "{limits:?}");
        assert_eq!(limits.threads, 0);
    }
}
