//! `[task]`: what a model learns of texts with labels or answers, where it does not learn language. A task describes itself in its own
//! file ([`description`]); [`TaskConfig`] lists them. Its loss and metrics stand in `objective`.

mod classification;
mod description;
mod image_classification;
mod regression;
mod span;
mod task_config;
mod translation;

pub use classification::ClassificationTask;
pub use description::{TaskInfo, TaskOutput, TextScoring};
pub use image_classification::ImageClassificationTask;
pub use regression::RegressionTask;
pub use span::SpanTask;
pub use task_config::TaskConfig;
pub use translation::TranslationTask;
