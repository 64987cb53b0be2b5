//! How fast a model trains and how much memory that takes, measured and never guessed.
//!
//! [`StepSpeed`] times whole training steps of a config on random tokens, so that no corpus is needed and nothing but
//! the step is measured. [`compare`] takes several in turn, step by step, so that a machine that drifts cannot favour
//! one of them. May be used from the worker; uses train and what is below it.

mod limits;
mod memory;
mod pool;
mod step;

pub use limits::{MachineLimits, machine_limits};
pub use memory::{peak_memory_bytes, reset_peak_memory};
pub use pool::in_pool;
pub use step::{StepSpeed, StepTime, compare};
