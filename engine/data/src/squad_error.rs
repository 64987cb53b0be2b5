use std::{fmt, path::PathBuf};

use super::error_wording::list;

/// Where in a file of questions something stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SquadPlace {
    /// The article, by its title or its number from 1.
    pub article: String,
    /// The paragraph of the article, from 1; 0 where it is no paragraph's.
    pub paragraph: usize,
    /// The question, by its id or its number from 1; empty where it is no question's.
    pub question: String,
}

impl fmt::Display for SquadPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "article {}", self.article)?;
        if self.paragraph > 0 {
            write!(f, ", paragraph {}", self.paragraph)?;
        }
        if !self.question.is_empty() {
            write!(f, ", question {}", self.question)?;
        }
        Ok(())
    }
}

/// Why questions about paragraphs cannot be learnt from or answered. Every message says what failed, why, what to do, and the
/// path last.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SquadError {
    /// A file whose ending names another format.
    #[error("Questions about paragraphs are read from a .json, with or without .gz; rename or convert it: {}", path.display())]
    NoJson {
        /// The file.
        path: PathBuf,
    },

    /// A file that is no JSON, or in which a field is something else than it must be.
    #[error("Line {line}, character {column} is not as in a SQuAD file ({why}). Correct it, or name another file: {}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The character of the line, from 1.
        column: usize,
        /// The parser's reason.
        why: String,
    },

    /// JSON that is something else.
    #[error(
        "It is no SQuAD file: it has no list `data` of articles with `paragraphs`. It has {}. Name another file: {}",
        list(found), path.display()
    )]
    NoSquad {
        /// The file.
        path: PathBuf,
        /// The fields that it has.
        found: Vec<String>,
    },

    /// Something that every article, paragraph, question or answer has.
    #[error("There is no `{field}`, or nothing in it, in {place}. Write it, or take that part out: {}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Box<SquadPlace>,
        /// The field that is not there, or empty.
        field: String,
    },

    /// An answer that does not stand where it says.
    #[error(
        "In {place} the answer `{text}` ({field}.text) does not stand at character {start} ({field}.answer_start) of its paragraph: \
         there stands {found} Offsets count characters from 0. Correct it, or take the question out: {}",
        path.display()
    )]
    AnswerElsewhere {
        /// The file.
        path: PathBuf,
        /// Which question.
        place: Box<SquadPlace>,
        /// The answer, such as `answers[0]`.
        field: String,
        /// Its text.
        text: String,
        /// Where it is said to begin.
        start: i64,
        /// Text at the offset, with the place or the unit of the offset that would fit: sentences, the first of them begun.
        found: String,
    },

    /// A question that has no answer and does not say so.
    #[error(
        "There is no answer (answers) in {place}, and it is not marked as one that has none (is_impossible). Give its answer, \
         mark it, or take it out: {}",
        path.display()
    )]
    NoAnswer {
        /// The file.
        path: PathBuf,
        /// Which question.
        place: Box<SquadPlace>,
    },

    /// A question that has an answer and says that it has none.
    #[error(
        "There are answers in {place}, which is marked as one that has none (is_impossible). Take out the answers or the mark: {}",
        path.display()
    )]
    ImpossibleAnswer {
        /// The file.
        path: PathBuf,
        /// Which question.
        place: Box<SquadPlace>,
    },

    /// Questions whose answers nobody tells.
    #[error(
        "No question has an answer (answers), as where those of a test are kept secret. Such a file is for `headroom predict` alone; \
         name one with answers: {}",
        path.display()
    )]
    Unanswered {
        /// The file.
        path: PathBuf,
    },

    /// Tokens that do not say where they stand.
    #[error(
        "The tokenizer cuts a paragraph into {tokens} tokens and tells the places of {places}, so that answers cannot be found \
         in it. Take another tokenizer (data.tokenizer)"
    )]
    NoPlaces {
        /// Tokens.
        tokens: usize,
        /// Places.
        places: usize,
    },
}

impl SquadError {
    /// The field of the config to correct, where it is not the one that names the path.
    pub(super) fn field(&self) -> Option<&'static str> {
        match self {
            Self::NoPlaces { .. } => Some("data.tokenizer"),
            Self::NoJson { .. }
            | Self::Broken { .. }
            | Self::NoSquad { .. }
            | Self::Missing { .. }
            | Self::AnswerElsewhere { .. }
            | Self::NoAnswer { .. }
            | Self::ImpossibleAnswer { .. }
            | Self::Unanswered { .. } => None,
        }
    }
}
