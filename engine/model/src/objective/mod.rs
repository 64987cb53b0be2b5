//! What a model learns: of each objective its batches, its loss and its metrics.
//!
//! [`Objective`] is an enum of plain data; what each of its kinds does, it says in one file as a [`Task`]:
//! `masked_tokens`, `next_token`, `translation`, `classification`, `regression`, `span`. A [`Metric`] is a descriptor: everything that stores, tables, charts and exports of a
//! number need to know. Those of evaluations belong to the objectives, and to the built-in grammar (`agreement`); `recorded` has the others
//! that a run logs.
//!
//! Uses `config`, `ops`, `attention` and `model`.

pub mod agreement;
mod batch;
mod classification;
mod examples;
mod labels;
mod masked_tokens;
mod metric;
mod next_token;
mod questions;
mod recorded;
mod registry;
mod regression;
pub mod series_names;
mod span;
mod specials;
mod squad_score;
mod stopping;
mod sums;
mod task;
pub mod text_scores;
mod translation;

pub use crate::config::Objective;
pub use batch::{Batch, IGNORED, Pixels, Sources};
pub use examples::ExampleSums;
pub use labels::{Answers, ConfusionMatrix, Labels};
pub use metric::{Direction, ExampleMetric, Measured, Measurements, Metric, Quantity};
pub use questions::{AnswerText, Found, Guess, Guesses, Paragraph, Question, Questions, Spans, Window};
pub use recorded::RECORDED;
pub use span::guesses;
pub use specials::Specials;
pub use stopping::{judging_metric, judging_metrics};
pub use sums::Sums;
pub use task::{Example, Framing, Labeller, LearnedTask, Showing, Task, Vocabulary};
