use thiserror::Error;

use crate::{
    analysis::AnalysisError,
    checkpoint::CheckpointError,
    config::{ConfigError, counted, grouped},
    convert::ConvertError,
    data::{DataError, FieldNames},
    generate::GenerateError,
    model::ModelError,
    store::StoreError,
    train::TrainError,
};

/// Reason why a model, a text or a checkpoint cannot be used by a job.
#[derive(Debug, Error)]
pub enum Refusal {
    /// The analysis.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// The model directory.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The config of a run.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The conversion.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// The text, the images or the tokenizer.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The generation.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The training.
    #[error(transparent)]
    Train(#[from] TrainError),

    /// A reason without operands.
    #[error("{0}")]
    Plain(&'static str),
    /// The checkpoint lost its files.
    #[error("The checkpoint of step {step} is not used: {problem}.")]
    BadCheckpoint {
        /// The step.
        step: u64,
        /// The problem.
        problem: String,
    },
    /// Another token begins the texts of the model.
    #[error(
        "Its translations begin with the token {own}, and those that training makes begin with {trained}, so that it would have to \
         unlearn how texts begin. Begin with a model like BART"
    )]
    BeginsOtherwise {
        /// The token of the model.
        own: String,
        /// The token of training.
        trained: String,
    },
    /// A head without scores.
    #[error("{0} has no scores: it is off.")]
    HeadOff(String),
    /// Images of another size than the model reads.
    #[error("The model reads images of {size} x {size} pixels. {error}")]
    ImageSize {
        /// Pixels of a side.
        size: usize,
        /// The reason.
        error: Box<DataError>,
    },
    /// Nothing of that name is there.
    #[error("{why}; {what_to_do}")]
    Nowhere {
        /// The reason.
        why: String,
        /// Advice.
        what_to_do: String,
    },
    /// There are fewer images.
    #[error("There is no held-out image {number}: there are {}.", grouped(*count))]
    NoImage {
        /// Number of the image, from 1.
        number: usize,
        /// The number of images.
        count: usize,
    },
    /// The run has other checkpoints.
    #[error("The run has no checkpoint of {which}. It has those of step {steps}.")]
    NoCheckpoint {
        /// The checkpoint that was asked for.
        which: String,
        /// The steps.
        steps: String,
    },
    /// The model predicts no tokens.
    #[error(
        "It ends in {ends_in} and predicts no tokens, so that it has no loss on a text. `headroom analyse` shows its attention."
    )]
    NoLoss {
        /// The output.
        ends_in: &'static str,
    },
    /// Special tokens leave no room.
    #[error("Examples of {tokens} tokens leave no room for text{around}. Ask for at least {least} tokens.")]
    NoRoom {
        /// Tokens of an example.
        tokens: usize,
        /// Place of the special tokens.
        around: &'static str,
        /// The fewest tokens.
        least: usize,
    },
    /// A map cannot be restored.
    #[error("{0}")]
    Rebuild(String),
    /// The store is not there.
    #[error("there is no store with the run {0}")]
    NoStore(String),
    /// No example is long enough.
    #[error(
        "The text ({text}) has no whole example of {}. Give a longer text, or ask for shorter examples.",
        counted(*tokens as u64, "token")
    )]
    NoWholeExample {
        /// The text.
        text: String,
        /// Tokens of an example.
        tokens: usize,
    },
    /// The pairs of another run cannot be taken.
    #[error("Pairs cannot be taken from the run \"{from}\" (attention.coverage.from). {why}")]
    Pairs {
        /// The run.
        from: String,
        /// The reason.
        why: Box<Refusal>,
    },
    /// The model reads shorter examples.
    #[error(
        "It reads at most {}, so that examples of {} cannot be read. Ask for at most that many.",
        counted(*longest, "token"), counted(*tokens, "token")
    )]
    TooLong {
        /// Tokens that the model reads.
        longest: usize,
        /// Tokens of an example.
        tokens: usize,
    },
    /// The text is longer than the model reads.
    #[error("The text has {}, the model reads at most {}. Shorten it.", counted(*tokens, "token"), grouped(*most))]
    TextTooLong {
        /// Tokens of the text.
        tokens: usize,
        /// Tokens that the model reads.
        most: usize,
    },
    /// The text has no example.
    #[error(
        "The text ({text}) is too short: it has {}, and one example needs {needed}. Give a longer text, or ask for shorter examples.",
        counted(*tokens as u64, "token")
    )]
    TextTooShort {
        /// The text.
        text: String,
        /// Its tokens.
        tokens: usize,
        /// Tokens of an example.
        needed: usize,
    },
    /// The model reads fewer tokens than the examples of the run have.
    #[error("It reads up to {longest} tokens, this run {tokens}; name a run of that length.")]
    TooShort {
        /// Tokens that the model reads.
        longest: usize,
        /// Tokens of an example.
        tokens: usize,
    },
    /// The model cannot be measured with as many tokens.
    #[error("It reads from 1 to {}, in batches of at least 1.", counted(*longest as u64, "token"))]
    Unmeasured {
        /// Tokens that the model reads.
        longest: usize,
    },
}

impl Refusal {
    /// The refusal with the fields of data under other names, such as options of a command.
    #[must_use]
    pub(crate) fn named(self, names: FieldNames) -> Self {
        match self {
            Self::Data(error) => Self::Data(error.named(names)),
            other => other,
        }
    }
}

impl From<&'static str> for Refusal {
    fn from(why: &'static str) -> Self {
        Self::Plain(why)
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.to_string()
    }
}
