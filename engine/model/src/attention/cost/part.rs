use serde::{Deserialize, Serialize};

/// A part of a model that costs are split by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Token, position and token type tables.
    Embedding,
    /// From the residual stream to queries, keys and values.
    Projections,
    /// Scoring every pair, and the softmax.
    Scores,
    /// Mixing values by the maps.
    Mix,
    /// From the mixed heads back to the residual stream.
    Output,
    /// The two layers of the feed-forward block and its GELU.
    FeedForward,
    /// Layer norms, the one of an encoder's head excluded.
    Norm,
    /// From the last hidden states to the vocabulary, with the loss; its matrix is the embedding's.
    Head,
}

impl Part {
    /// Every part, in the order in which a forward pass meets them.
    pub const ALL: [Self; 8] = [
        Self::Embedding,
        Self::Projections,
        Self::Scores,
        Self::Mix,
        Self::Output,
        Self::FeedForward,
        Self::Norm,
        Self::Head,
    ];

    /// The name that people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedding => "Embedding",
            Self::Projections => "Projections",
            Self::Scores => "Scores",
            Self::Mix => "Mix",
            Self::Output => "Output",
            Self::FeedForward => "Feed-forward",
            Self::Norm => "Norm",
            Self::Head => "Head",
        }
    }
}

/// What one part costs in one forward pass and its backward pass. Numbers too large for 64 bits stay at the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartCost {
    /// The part.
    pub part: Part,
    /// Trainable numbers.
    pub parameters: u64,
    /// Multiply-accumulates of matrix products, forward.
    pub macs: u64,
    /// Two for each multiply-accumulate.
    pub forward_flops: u64,
    /// Twice the forward ones; 0 when the workload is no training.
    pub backward_flops: u64,
    /// Bytes kept from forward until backward; 0 when the workload is no training.
    pub activation_bytes: u64,
}

impl PartCost {
    pub(super) fn new(part: Part, parameters: u64, macs: u64, activation_bytes: u64, backward: bool) -> Self {
        let forward_flops = macs.saturating_mul(2);
        Self {
            part,
            parameters,
            macs,
            forward_flops,
            backward_flops: if backward { forward_flops.saturating_mul(2) } else { 0 },
            activation_bytes: if backward { activation_bytes } else { 0 },
        }
    }

    /// Adds what another part costs.
    pub(super) fn add(&mut self, other: &Self) {
        self.parameters = self.parameters.saturating_add(other.parameters);
        self.macs = self.macs.saturating_add(other.macs);
        self.forward_flops = self.forward_flops.saturating_add(other.forward_flops);
        self.backward_flops = self.backward_flops.saturating_add(other.backward_flops);
        self.activation_bytes = self.activation_bytes.saturating_add(other.activation_bytes);
    }
}
