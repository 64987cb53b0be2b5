use super::{ModelKind, RunConfig, SpanTask, TaskConfig};

/// What a model learns. The module `objective` gives each its batches, its loss and its metrics; here stands what costs
/// and validation depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// To fill in hidden tokens.
    MaskedTokens(MaskedTokens),
    /// To predict the token that follows.
    NextToken(NextToken),
    /// To write the translation of a text.
    Translation(Translation),
    /// To tell to which class the texts of an example belong.
    Classification(Classification),
    /// To tell a number of the texts of an example.
    Regression(Regression),
    /// To find the answer to a question in a paragraph.
    Span(Span),
}

/// Masked-language modelling (BERT).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaskedTokens {
    /// Share of the tokens that are hidden, 0..1.
    pub share: f64,
}

/// Causal language modelling (GPT-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextToken {}

/// Translation, each token from the text and the right tokens before it (Sutskever et al. 2014).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Translation {
    /// Share of the probability that the label spreads over the whole vocabulary in training, 0..1 (Szegedy et al. 2016).
    pub label_smoothing: f64,
}

/// Classification of one or two texts (Devlin et al. 2019, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {}

/// Regression on one or two texts, as GLUE asks for it of STS-B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regression {}

/// Extractive question answering (Devlin et al. 2019, sections 4.2 and 4.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// See [`SpanTask::doc_stride`].
    pub doc_stride: usize,
    /// See [`SpanTask::max_answer`].
    pub max_answer: usize,
    /// See [`SpanTask::no_answer_threshold`].
    pub no_answer_threshold: f64,
}

impl From<&SpanTask> for Span {
    fn from(task: &SpanTask) -> Self {
        let SpanTask { doc_stride, max_answer, no_answer_threshold } = *task;
        Self { doc_stride, max_answer, no_answer_threshold }
    }
}

/// The special tokens that a trained or byte-level vocabulary begins with, from id 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialTokens {
    /// As the vocabulary spells them.
    pub names: &'static [&'static str],
    /// Tells trained tokenizers apart in the cache; never changed, so that those of earlier versions are found.
    pub cache_key: &'static str,
}

impl SpecialTokens {
    /// The five of BERT.
    pub const BERT: Self = Self { names: &["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], cache_key: "Encoder" };

    /// The one of GPT-2.
    pub const GPT2: Self = Self { names: &["<|endoftext|>"], cache_key: "Decoder" };

    /// Those of BART, where it has them.
    pub const BART: Self = Self { names: &["<s>", "<pad>", "</s>", "<unk>"], cache_key: "EncoderDecoder" };
}

impl Objective {
    /// As BERT learns: 15 % of the tokens are hidden.
    pub const MASKED_TOKENS: Self = Self::MaskedTokens(MaskedTokens { share: 0.15 });

    /// As GPT-2 learns.
    pub const NEXT_TOKEN: Self = Self::NextToken(NextToken {});

    /// As the first transformer learnt: with 0.1 of label smoothing.
    pub const TRANSLATION: Self = Self::Translation(Translation { label_smoothing: 0.1 });

    /// Texts belong to classes.
    pub const CLASSIFICATION: Self = Self::Classification(Classification {});

    /// Texts have a number.
    pub const REGRESSION: Self = Self::Regression(Regression {});

    /// Answers stand in paragraphs; with the numbers of a config that says none.
    pub const SPAN: Self = Self::Span(Span { doc_stride: 128, max_answer: 30, no_answer_threshold: 0.0 });

    /// One of each kind, for conformance tests.
    pub const EXAMPLES: [Self; 6] =
        [Self::MASKED_TOKENS, Self::NEXT_TOKEN, Self::TRANSLATION, Self::CLASSIFICATION, Self::REGRESSION, Self::SPAN];

    /// Those of models of one stack that learn from plain text.
    pub const LANGUAGE_MODELS: [Self; 2] = [Self::MASKED_TOKENS, Self::NEXT_TOKEN];

    /// What a language model learns: a causal one predicts the next token, another one the `mask_fraction` (0..1) of the
    /// tokens that is hidden from it.
    pub fn of_language_model(is_causal: bool, mask_fraction: f64) -> Self {
        if is_causal {
            Self::NextToken(NextToken {})
        } else {
            Self::MaskedTokens(MaskedTokens { share: mask_fraction })
        }
    }

    /// Whether what is learnt is an answer about each example, which stands beside its texts.
    pub fn answers_examples(&self) -> bool {
        match self {
            Self::Classification(_) | Self::Regression(_) | Self::Span(_) => true,
            Self::MaskedTokens(_) | Self::NextToken(_) | Self::Translation(_) => false,
        }
    }

    /// About how many positions of `batch` examples of `sequence` tokens have a label and are carried to the head, rounded
    /// up.
    pub fn labelled(&self, [batch, sequence]: [usize; 2]) -> usize {
        let tokens = batch.saturating_mul(sequence);
        match self {
            Self::MaskedTokens(MaskedTokens { share }) => (tokens as f64 * share).ceil() as usize,
            Self::NextToken(_) | Self::Translation(_) => tokens,
            Self::Classification(_) | Self::Regression(_) | Self::Span(_) => batch,
        }
    }

    /// The fewest tokens of an example that teach something.
    pub fn shortest_example(&self) -> usize {
        match self {
            // Two tokens of text between the special ones.
            Self::MaskedTokens(_) => 4,
            // Of a text to translate one, and the one that ends it.
            Self::NextToken(_) | Self::Translation(_) => 2,
            // A token of each of two texts, with the special ones around and between them.
            Self::Classification(_) | Self::Regression(_) | Self::Span(_) => 5,
        }
    }

    /// The special tokens of a vocabulary that is made for it.
    pub fn special_tokens(&self) -> SpecialTokens {
        match self {
            Self::MaskedTokens(_) | Self::Classification(_) | Self::Regression(_) | Self::Span(_) => {
                SpecialTokens::BERT
            }
            Self::NextToken(_) => SpecialTokens::GPT2,
            Self::Translation(_) => SpecialTokens::BART,
        }
    }
}

impl RunConfig {
    /// What the model learns.
    pub fn objective(&self) -> Objective {
        match &self.task {
            Some(TaskConfig::Classification(_) | TaskConfig::ImageClassification(_)) => {
                return Objective::CLASSIFICATION;
            }
            Some(TaskConfig::Regression(_)) => return Objective::REGRESSION,
            Some(TaskConfig::Span(task)) => return Objective::Span(task.into()),
            Some(TaskConfig::Translation(_)) | None => {}
        }
        match self.model.kind {
            ModelKind::Encoder => Objective::of_language_model(false, self.train.mask_fraction),
            ModelKind::Decoder => Objective::of_language_model(true, self.train.mask_fraction),
            ModelKind::EncoderDecoder => {
                Objective::Translation(Translation { label_smoothing: self.train.label_smoothing })
            }
        }
    }
}
