use serde::{Deserialize, Serialize};

use super::description::{Describe, TaskInfo, TaskOutput};
use crate::config::{Objective, Span};

/// The answer to a question is a piece of a paragraph (Devlin et al. 2019, sections 4.2 and 4.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpanTask {
    /// A paragraph that does not fit beside its question is read in windows, each of which begins so many tokens after the one
    /// before it, 1..; less where a window holds fewer of the paragraph's tokens.
    pub doc_stride: usize,
    /// Tokens of the longest answer that is given, 1..
    pub max_answer: usize,
    /// An answer is given where the score of there being none exceeds that of the best answer by this at most. It counts where
    /// questions may have no answer.
    pub no_answer_threshold: f64,
}

impl Default for SpanTask {
    fn default() -> Self {
        let Span { doc_stride, max_answer, no_answer_threshold } = Span::default();
        Self { doc_stride, max_answer, no_answer_threshold }
    }
}

impl Describe for SpanTask {
    fn info(&self) -> &'static TaskInfo {
        &TaskInfo {
            kind: "span",
            data: "questions about paragraphs",
            output: TaskOutput::Span,
            reads_images: false,
            loss_unit: "nats/example",
            note: "Learns to answer about a text as a whole; sees both sides.",
        }
    }

    fn objective(&self) -> Option<Objective> {
        let Self { doc_stride, max_answer, no_answer_threshold } = *self;
        Some(Objective::Span(Span { doc_stride, max_answer, no_answer_threshold }))
    }
}
