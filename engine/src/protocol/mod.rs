//! Messages between the engine and those who use it: [`Command`]s in, [`Event`]s out, one payload struct each.
//!
//! Plain data that imports no job: shared by jobs, the wire, the window's state and the command line. On the wire a [`Request`] or
//! a [`Notice`] is one JSON object a line.

mod advice;
mod analyse;
mod checks;
mod convert;
mod evaluate;
mod fetch;
mod filling;
mod generate;
mod inspect;
mod job;
mod maps;
mod measure;
mod messages;
mod models;
mod outbox;
mod predict;
mod prediction;
mod push;
mod queue;
mod reports;
mod request;
mod runs;
mod snapshots;
mod target;
mod ticket;
mod training;
mod translate;
mod verify;
mod wire;
#[cfg(test)]
mod wire_tests;

pub use analyse::Subspace;
pub use convert::ModelCost;
pub use evaluate::{AnswerPlaces, Approximation, EvaluationCounts, Mistake, NoisyEvaluation};
pub use filling::{FilledWord, Filling, WordGuess};
pub use generate::{GenerateSource, TokenCost, WrittenText};
pub use job::Progress;
pub use maps::{MapText, Rebuild};
pub(crate) use messages::for_each_job;
pub use messages::{Command, Event, JobCommand, JobRequest, Retention, commands, events};
pub(crate) use outbox::Outbox;
pub use predict::{AnswerSpan, FoundAnswer, Prediction};
pub use queue::{JobLabel, JobRef, WorkKind};
pub use request::{Notice, Request};
pub use runs::RunEdit;
pub use target::{Target, Which};
pub use ticket::Ticket;
pub use verify::PrecisionProof;
pub use wire::{PROTOCOL, WireError, from_line, to_line};
