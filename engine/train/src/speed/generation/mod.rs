//! How fast a model generates, with each cache: whole texts from random sources, and where the time of attention goes.
//!
//! A [`GenerationSpec`] stands in a [`SweepSpec`](super::SweepSpec) in place of sides: they are its caches, whose texts are generated
//! in turns, with the same weights. [`GenerationSpeed`] is the model, a [`GenerationTask`] what one side does at one point, a
//! [`GenerationMeasurement`] what came of it.

mod groups;
mod measurement;
mod spec;
mod speed;

pub use groups::{AttentionGroup, GroupTime};
pub use measurement::{GenerationMeasurement, GenerationTime};
pub use spec::{GenerationSpec, GenerationTask};
pub use speed::GenerationSpeed;
pub(super) use speed::Profiled;
