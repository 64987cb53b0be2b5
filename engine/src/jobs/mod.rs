//! Background jobs: one file each, which says how a job is listed, done and ended (`Job`).
//!
//! A job is the payload of its command. The scheduler and the engine thread see jobs as `QueuedJob`s and know none by name.

mod analyse;
mod checkpoints;
mod context;
mod control;
mod convert;
mod coverage;
mod error;
mod evaluate;
mod export;
mod fetch;
mod fill;
mod forward;
mod generate;
mod health;
mod hooks;
pub(crate) mod initial;
mod inspect;
mod job;
mod kept_best;
mod kept_checkpoints;
mod measure;
mod mistakes;
mod monitor;
mod pace;
mod predict;
mod predict_spans;
mod push;
mod queued_job;
mod refusal;
mod resume;
pub(crate) mod subject;
mod text_model;
mod train;
mod train_run;
mod transfer_speed;
mod translate;
mod unready;
mod verify;

pub use checkpoints::choose_checkpoint;
pub(crate) use context::{JobContext, STACK_BYTES};
pub(crate) use control::JobControl;
pub(crate) use export::export;
pub use forward::{ForwardSpec, ForwardTimes, forward_times};
pub(crate) use job::{Lane, Place, StoreList};
pub(crate) use monitor::{INTERVAL as MONITOR_INTERVAL, Monitor};
pub(crate) use push::contents as push_contents;
pub(crate) use queued_job::QueuedJob;
pub use refusal::Refusal;
pub(crate) use train_run::TrainRun;

use crate::protocol::{JobCommand, for_each_job};

macro_rules! job_of {
    ($($job:ident),*) => {
        /// The job that a command asks for.
        pub(crate) fn job_of(command: JobCommand) -> Box<dyn QueuedJob> {
            match command {
                $(JobCommand::$job(job) => Box::new(job),)*
            }
        }
    };
}

for_each_job!(job_of);

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::examples;
