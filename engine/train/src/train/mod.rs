//! Training: one loop that takes hooks for what happens and asks them before each step whether to go on.
//!
//! [`Trainer`] owns model, optimiser and batches and does single steps; [`train`] is the loop around it. Everything
//! random is a pure function of seed and step, so that a run continued from its state gives the same curve bit for bit.
//! May be used from the worker; uses config, ops, attention, model, data and generate.

mod accumulation;
mod agreement;
mod boundary;
mod coverage;
mod error;
mod evaluate;
mod hooks;
mod live_analyses;
mod loss_scale;
mod memory;
mod numerics;
mod probe;
mod report;
mod run;
mod spans;
mod stability;
mod stepper;
mod trainer;
mod translation;
mod writing;

pub use agreement::AgreementMeasure;
pub use coverage::{Chosen, CoverageReport, choose, row_covariances, training_batches};
pub use error::TrainError;
pub use evaluate::{Found, evaluate};
pub use hooks::{Control, Hooks, Moment};
pub use live_analyses::LIVE_ANALYSIS_SHARE;
pub use memory::{MemoryCheck, free_memory, unclaimed_memory};
pub use numerics::Numerics;
pub use report::{Divergence, EvaluationReport, Outcome, StepReport};
pub use run::{STATE_INTERVAL, train};
pub use stability::{Activity, Health, Stability, Window};
pub use stepper::{Stepped, Stepper, dtype_of};
pub use trainer::{Progress, Resume, Start, Trainer};
pub use translation::TranslationMeasure;
