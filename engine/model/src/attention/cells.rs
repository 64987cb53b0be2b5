//! Heads of a model by their places, and what each of them does.

use serde::{Deserialize, Serialize};

/// A head of a layer of a stack; all count from 0. Written (serde) without what a model of one stack has but one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HeadAt {
    /// Stack, from 0 in the order of a forward pass: an encoder comes before its decoder.
    #[serde(default, skip_serializing_if = "is_first")]
    pub stack: usize,
    /// Layer, from 0 next to the embeddings.
    pub layer: usize,
    /// Which attention of the layer.
    #[serde(default, skip_serializing_if = "is_own")]
    pub attention: AttentionKind,
    /// Head within the layer, from 0.
    pub head: usize,
}

/// What the queries of an attention look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AttentionKind {
    /// Their own sequence.
    #[default]
    #[serde(rename = "self")]
    Own,
    /// The last states of the encoder.
    #[serde(rename = "cross")]
    Cross,
}

impl AttentionKind {
    /// Whether it is self-attention.
    pub fn is_own(self) -> bool {
        self == Self::Own
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_own(attention: &AttentionKind) -> bool {
    attention.is_own()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_first(stack: &usize) -> bool {
    *stack == 0
}

impl HeadAt {
    /// The head `head` of the self-attention of layer `layer` in the first stack, the only one of most models.
    pub const fn new(layer: usize, head: usize) -> Self {
        Self { stack: 0, layer, attention: AttentionKind::Own, head }
    }

    /// The same head of the attention `attention` of stack `stack`.
    #[must_use]
    pub const fn of(self, stack: usize, attention: AttentionKind) -> Self {
        Self { stack, attention, ..self }
    }
}

impl std::fmt::Display for HeadAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.stack > 0 {
            write!(f, "stack {} ", self.stack)?;
        }
        let cross = if self.attention.is_own() { "" } else { " cross-attention" };
        write!(f, "layer {}{cross} head {}", self.layer, self.head)
    }
}

/// What one head of one layer does, as somebody writes it down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Draft {
    /// Scores its own map.
    Compute,
    /// Uses the map that another head used.
    Borrow {
        /// The direct lender, in an earlier layer.
        from: HeadAt,
    },
    /// Attends to nothing: the head does not exist.
    Skip,
}

/// What one head of one layer does, resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// Scores its own map.
    Compute,
    /// Uses the map that another head used.
    Borrow {
        /// The direct lender.
        from: HeadAt,
        /// The head that computed the map, at the end of the chain of lenders.
        origin: HeadAt,
    },
    /// Attends to nothing: the head does not exist.
    Skip,
}
