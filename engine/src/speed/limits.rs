use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::ops::{copy_rate_probe, product_rate_probe};

/// What the machine can do at most, measured: the roof under which every operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineLimits {
    /// Floating-point operations a second of large matrix products, all threads together.
    pub product_flops_per_sec: f64,
    /// Bytes a second, read and written, of copies too large for the caches.
    pub copy_bytes_per_sec: f64,
    /// Threads that computed.
    pub threads: usize,
}

/// How often each limit is measured; the best counts, since only disturbances make a run slower.
const REPEATS: usize = 5;

/// Measures the limits with the threads of the current pool: about a second.
pub fn machine_limits() -> MachineLimits {
    let best = |probe: &dyn Fn() -> u64| {
        (0..REPEATS)
            .map(|_| {
                let start = Instant::now();
                let work = probe();
                work as f64 / start.elapsed().as_secs_f64()
            })
            .fold(0.0, f64::max)
    };
    let product = product_rate_probe();
    let copy = copy_rate_probe();
    MachineLimits {
        product_flops_per_sec: best(&product),
        copy_bytes_per_sec: best(&copy),
        threads: rayon::current_num_threads(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rates() {
        let limits = machine_limits();
        assert!(limits.product_flops_per_sec > 1e8, "{limits:?}");
        assert!(limits.copy_bytes_per_sec > 1e8, "{limits:?}");
        assert_eq!(limits.threads, rayon::current_num_threads());
    }
}
