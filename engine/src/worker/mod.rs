//! The engine and its doors: takes [`Command`]s, owns the device and the run queue, sends [`Event`]s.
//!
//! Three threads work behind the doors: the scheduler (queue, store, answers; never computes), the engine thread (one job at
//! a time: train, evaluate, measure) and the monitor (the load of the machine and its GPUs once a second). Checks, exports and
//! transfers from and to a hub get threads of their own. May be used from the window and the command line; everything that crosses these doors is plain data.

mod analyse_job;
mod check;
mod checkpoints;
mod command;
#[cfg(unix)]
mod control;
mod convert_job;
mod coverage;
mod device;
mod disk_space;
mod engine;
mod engine_thread;
mod evaluate_job;
mod event;
mod export;
mod fill_job;
mod filling;
mod forward;
mod generate_job;
mod gpu;
mod health;
mod hooks;
mod hub_job;
mod initial;
mod job;
mod job_context;
mod job_control;
mod job_error;
mod kept_best;
mod kept_checkpoints;
mod measure_job;
mod mistakes;
mod models;
mod monitor;
mod outbox;
mod pace;
mod predict_job;
mod predict_spans;
mod prove_job;
mod request;
mod resume;
mod scheduler;
mod subject;
mod text_model;
mod train_job;
mod translate_job;
mod viewer;
#[cfg(test)]
mod wire_tests;

pub use check::model_facts;
pub use checkpoints::choose_checkpoint;
pub use command::{Approximation, Command, GenerateSource, MapText, Rebuild, RunEdit, Subspace, Target, Which};
#[cfg(unix)]
pub use control::{ControlClient, ControlError, remove_stale_sockets};
pub use device::{DeviceInfo, cores, devices, free_bytes};
pub use engine::{Engine, EngineError, EngineOptions};
pub use event::{
    AnswerSpan, EvaluationCounts, Event, FoundAnswer, NoisyEvaluation, PrecisionProof, TokenCost, WrittenText,
};
pub use filling::{FilledWord, Filling, WordGuess};
pub use forward::{ForwardSpec, ForwardTimes, forward_times};
pub use gpu::GpuReading;
pub use job::JobLabel;
pub use mistakes::{AnswerPlaces, Mistake};
pub use models::ModelCost;
pub use request::{Notice, Request, Ticket, from_line, to_line};
