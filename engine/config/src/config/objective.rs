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
    /// See `task.doc_stride`.
    pub doc_stride: usize,
    /// See `task.max_answer`.
    pub max_answer: usize,
    /// See `task.no_answer_threshold`.
    pub no_answer_threshold: f64,
}

impl Default for Span {
    fn default() -> Self {
        Self { doc_stride: 128, max_answer: 30, no_answer_threshold: 0.0 }
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

    /// Objective of a model that writes texts from others: to predict each token, with as much smoothing of its labels (0..1).
    pub const fn of_pairs(label_smoothing: f64) -> Self {
        Self::Translation(Translation { label_smoothing })
    }

    /// What a language model learns: a causal one predicts the next token, another one the `mask_fraction` (0..1) of the
    /// tokens that is hidden from it.
    pub fn of_language_model(is_causal: bool, mask_fraction: f64) -> Self {
        if is_causal {
            Self::NextToken(NextToken {})
        } else {
            Self::MaskedTokens(MaskedTokens { share: mask_fraction })
        }
    }

    const fn info(&self) -> &'static ObjectiveInfo {
        const ANSWER: ObjectiveInfo = ObjectiveInfo {
            answers_examples: true,
            learns_numbers: false,
            // A token of each of two texts, with the special ones around and between them.
            shortest_example: 5,
            special_tokens: SpecialTokens::BERT,
            needs: NeededTokens::Frame,
        };
        match self {
            Self::MaskedTokens(_) => &ObjectiveInfo {
                answers_examples: false,
                // Two tokens of text between the special ones.
                shortest_example: 4,
                needs: NeededTokens::Mask,
                ..ANSWER
            },
            Self::NextToken(_) => &ObjectiveInfo {
                answers_examples: false,
                shortest_example: 2,
                special_tokens: SpecialTokens::GPT2,
                needs: NeededTokens::Mask,
                ..ANSWER
            },
            Self::Translation(_) => &ObjectiveInfo {
                answers_examples: false,
                // Of a text to translate one, and the one that ends it.
                shortest_example: 2,
                special_tokens: SpecialTokens::BART,
                needs: NeededTokens::End,
                ..ANSWER
            },
            Self::Regression(_) => &ObjectiveInfo { learns_numbers: true, ..ANSWER },
            Self::Classification(_) | Self::Span(_) => &ANSWER,
        }
    }

    /// True if what is learnt is an answer about each example, which stands beside its texts.
    pub fn answers_examples(&self) -> bool {
        self.info().answers_examples
    }

    /// True if these answers are numbers.
    pub fn learns_numbers(&self) -> bool {
        self.info().learns_numbers
    }

    /// Share of the tokens that are hidden; none where none are.
    pub fn hidden_share(&self) -> Option<f64> {
        if let Self::MaskedTokens(MaskedTokens { share }) = self { Some(*share) } else { None }
    }

    /// Windows and answers of questions about paragraphs; none where no spans are learnt.
    pub fn spans(&self) -> Option<&Span> {
        if let Self::Span(span) = self { Some(span) } else { None }
    }

    /// About how many positions of `batch` examples of `sequence` tokens have a label and are carried to the head, rounded
    /// up.
    pub fn labelled(&self, [batch, sequence]: [usize; 2]) -> usize {
        let tokens = batch.saturating_mul(sequence);
        match self.hidden_share() {
            Some(share) => (tokens as f64 * share).ceil() as usize,
            None if self.answers_examples() => batch,
            None => tokens,
        }
    }

    /// The fewest tokens of an example that teach something.
    pub fn shortest_example(&self) -> usize {
        self.info().shortest_example
    }

    /// The special tokens of a vocabulary that is made for it.
    pub fn special_tokens(&self) -> SpecialTokens {
        self.info().special_tokens
    }

    /// The special tokens without which a vocabulary does not serve it.
    pub fn needs(&self) -> NeededTokens {
        self.info().needs
    }
}

/// Properties of an objective.
struct ObjectiveInfo {
    answers_examples: bool,
    learns_numbers: bool,
    shortest_example: usize,
    special_tokens: SpecialTokens,
    needs: NeededTokens,
}

/// Special tokens that a vocabulary must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeededTokens {
    /// One that stands for a hidden token.
    Mask,
    /// One that ends a text.
    End,
    /// Those that begin an example and end a text.
    Frame,
}
