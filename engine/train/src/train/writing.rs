//! How a model writes texts beside its training.

use std::ops::ControlFlow;

use crate::{
    config::{Cache, Coverage, KeyValueCache, NoCache},
    data::TextTokenizer,
    generate::{Marks, Progress},
    model::Model,
};

/// Tokens between two questions whether to stop.
const STOP_EVERY: usize = 16;

/// What a model keeps between tokens, where that may be anything: a model that leaves out pairs can keep nothing.
pub(super) fn fastest_cache(model: &Model) -> Cache {
    match &model.plan().stack.coverage {
        Coverage::Full(_) => Cache::KeyValue(KeyValueCache {}),
        Coverage::Partial(_) | Coverage::Eigen(_) => Cache::None(NoCache {}),
    }
}

/// A translation begins with the token that ends it, as it is trained.
pub(super) fn translation_marks(tokenizer: &TextTokenizer) -> Marks {
    let specials = tokenizer.specials();
    let end = specials.end_of_text.unwrap_or(specials.pad);
    Marks { start: Some(end), end: vec![end], ..Marks::default() }
}

/// Whether texts are written on, asked every few tokens.
pub(super) fn goes_on(progress: &Progress<'_>, should_stop: &dyn Fn() -> bool) -> ControlFlow<()> {
    if progress.step.is_multiple_of(STOP_EVERY) && should_stop() {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// Text without line breaks, and with nothing in it that a terminal would obey.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(char::is_control, "·")
}
