use serde::{Deserialize, Serialize};

/// The widest model.
pub(super) const WIDEST: usize = 65_536;

/// `[model]`: the transformer around the attention layers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The kind of model, which fixes the objective too.
    pub kind: ModelKind,
    /// Number of layers L, 1..=256; of an encoder-decoder, those of its decoder.
    pub layers: usize,
    /// Layers of the encoder of an encoder-decoder, 1..=256; when absent, as many as `layers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder_layers: Option<usize>,
    /// Attention heads H of each layer; divides `width`.
    pub heads: usize,
    /// Width d of the residual stream.
    pub width: usize,
    /// Inner width of the feed-forward block.
    pub feed_forward: usize,
    /// Dropout probability after embeddings, on attention maps and on each sub-layer's output, 0..1 (1 excluded).
    pub dropout: f64,
    /// Layer norm before each sub-layer or after its residual sum.
    pub norm: NormPlacement,
    /// Learned positions; when absent, as many as `data.sequence_length`, or as many as the model has that training begins
    /// with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<usize>,
    /// Pixels of a side of the squares in which a model reads images; divides that of the images. Of models of images alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<usize>,
    /// The model whose weights training begins with: a run by name or id (its best checkpoint), a model directory, or a
    /// model of a hub that was fetched. A relative path is taken from the folder of the config file. When absent, weights are
    /// drawn. The model's sizes and answers about attention must be those of the config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            kind: ModelKind::Decoder,
            layers: 4,
            encoder_layers: None,
            heads: 4,
            width: 128,
            feed_forward: 512,
            dropout: 0.0,
            norm: NormPlacement::Pre,
            positions: None,
            patch: None,
            initial: None,
        }
    }
}

impl ModelConfig {
    /// Size of a head, `d_k = width / heads` (0 when there is no head).
    pub fn head_size(&self) -> usize {
        self.width.checked_div(self.heads).unwrap_or(0)
    }

    /// Layers of the encoder that the decoder attends to; none where there is one stack alone.
    pub fn encoder_depth(&self) -> Option<usize> {
        self.kind.has_encoder().then(|| self.encoder_layers.unwrap_or(self.layers))
    }
}

/// What the transformer looks like and what it learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// BERT-style encoder, masked-language modelling.
    Encoder,
    /// GPT-2-style decoder, causal language modelling.
    #[default]
    Decoder,
    /// BART-style encoder and decoder, translation.
    EncoderDecoder,
}

impl ModelKind {
    /// Every kind, for menus and conformance tests.
    pub const ALL: [Self; 3] = [Self::Encoder, Self::Decoder, Self::EncoderDecoder];

    /// Those of one stack that learn from plain text.
    pub const LANGUAGE_MODELS: [Self; 2] = [Self::Encoder, Self::Decoder];

    /// Its names and properties.
    pub const fn info(self) -> &'static ModelKindInfo {
        match self {
            Self::Encoder => &ModelKindInfo {
                name: "encoder",
                note: "Learns to predict masked tokens; sees both sides.",
                is_causal: false,
                generates: false,
            },
            Self::Decoder => &ModelKindInfo {
                name: "decoder",
                note: "Learns to predict the next token; sees the ones before it.",
                is_causal: true,
                generates: true,
            },
            Self::EncoderDecoder => &ModelKindInfo {
                name: "encoder_decoder",
                note: "Learns to translate: reads a text, then writes another one that attends to it. Trained on pairs of texts.",
                is_causal: false,
                generates: true,
            },
        }
    }

    /// Its word in configs.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The kind with this word in configs.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// True if it sees only the tokens before, in all that it reads.
    pub const fn is_causal(self) -> bool {
        self.info().is_causal
    }

    /// True if it writes texts.
    pub const fn generates(self) -> bool {
        self.info().generates
    }

    /// True if it writes texts from others that an encoder reads.
    pub const fn has_encoder(self) -> bool {
        self.generates() && !self.is_causal()
    }

    /// The kind with these properties.
    pub fn of(has_encoder: bool, is_causal: bool) -> Self {
        match (has_encoder, is_causal) {
            (true, _) => Self::EncoderDecoder,
            (false, true) => Self::Decoder,
            (false, false) => Self::Encoder,
        }
    }
}

/// Names and properties of a kind of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelKindInfo {
    /// Word in configs.
    pub name: &'static str,
    /// Explanation of what it learns without a task.
    pub note: &'static str,
    is_causal: bool,
    generates: bool,
}

/// Where layer norm stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormPlacement {
    /// `x + f(norm(x))`, with a final norm (GPT-2).
    #[default]
    Pre,
    /// `norm(x + f(x))`, with a norm after the embeddings (BERT).
    Post,
}

impl NormPlacement {
    /// Both placements, for menus and conformance tests.
    pub const ALL: [Self; 2] = [Self::Pre, Self::Post];
}
