//! How fast a model trains and how much memory that takes, measured and never guessed.
//!
//! [`StepSpeed`] times whole training steps of a config on random tokens, so that no corpus is needed and nothing but
//! the step is measured. [`compare`] takes several in turn, step by step, so that a machine that drifts cannot favour
//! one of them. A [`SweepSpec`] says which fields of a config take which values, and which sides are compared at every
//! point; [`measure()`] carries it out, and what comes of it is a [`SweepResult`]. With a [`GenerationSpec`] texts are generated in
//! place of training steps, and the sides are caches. Memory is measured in processes of their own
//! ([`MemoryProbe`]), so that it does not depend on what was measured before. May be used from the store and the
//! worker; uses generate, train and what is below it.

mod check;
mod csv;
mod energy;
mod failure;
mod generation;
mod generation_points;
mod generation_preset;
mod largest;
mod largest_generation;
mod limits;
mod measure;
mod measurement;
mod memory;
mod others;
mod pool;
mod probe;
mod ratio;
mod spec;
mod step;
mod summary;

pub use crate::config::{Axis, Setting, Side, SpecError};
pub use check::{DeviceCheck, check_device};
pub use csv::sweep_csv;
pub use energy::CpuEnergy;
pub use generation::{
    AttentionGroup, GenerationMeasurement, GenerationSpec, GenerationSpeed, GenerationTask, GenerationTime, GroupTime,
};
pub use generation_preset::GenerationPreset;
pub use largest::largest_batch;
pub use limits::{MachineLimits, limits_of};
pub use measure::{SweepProgress, SweepWatch, measure, measure_with};
pub use measurement::{LargestBatch, Measurement, MemorySource, Outcome, PointResult, SideResult, SweepResult};
pub use memory::{peak_memory_bytes, reset_peak_memory, resident_memory_bytes};
pub use pool::in_pool;
pub use probe::{MEASURE_MEMORY, MemoryAnswer, MemoryFound, MemoryProbe, MemoryRequest, serve_memory};
pub use ratio::{PointRatio, point_ratios};
pub use spec::{Point, Subject, SweepSpec, TypedMistakes};
pub use step::{StepSpeed, StepTime, compare};
pub use summary::Spread;
