use std::ops::Range;

/// What is wrong with a filter, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// What is wrong and what to write instead, as a sentence.
    pub message: String,
    /// The bytes of the text that are meant; empty at the end of the text.
    pub at: Range<usize>,
}

impl FilterError {
    /// An error at these bytes.
    pub fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), at }
    }

    /// The first letter that is meant, counted from 1, for people.
    pub fn column(&self, text: &str) -> usize {
        text.char_indices().take_while(|(byte, _)| *byte < self.at.start).count() + 1
    }

    /// The message with its place: `At letter 6: ...`.
    pub fn describe(&self, text: &str) -> String {
        format!("At letter {}: {}", self.column(text), self.message)
    }
}
