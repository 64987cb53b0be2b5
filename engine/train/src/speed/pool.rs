use rayon::ThreadPool;

use crate::train::TrainError;

/// Stack of the threads that compute: dropping a graph of many operations recurses.
const STACK_BYTES: usize = 256 << 20;

/// Runs `f` on a pool of so many threads, which all its operations then use.
///
/// # Errors
/// If the threads cannot be started.
pub fn in_pool<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> Result<R, TrainError> {
    Ok(start(threads)?.install(f))
}

/// A pool of so many threads.
pub(super) fn start(threads: usize) -> Result<ThreadPool, TrainError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .stack_size(STACK_BYTES)
        .thread_name(|index| format!("headroom-speed-{index}"))
        .build()
        .map_err(|error| TrainError::State(format!("{threads} threads could not be started ({error})")))
}
