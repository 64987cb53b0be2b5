use serde::{Deserialize, Serialize};

use super::{ForwardOptions, Model, ModelError, ModelInput, ModelOutput, parameters::is_finite};

/// Where numbers first stopped being finite in a forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum NonFinite {
    /// In the sum of the embedding tables, before any layer.
    Embeddings,
    /// In a layer.
    Layer {
        /// The layer, from 0.
        layer: usize,
        /// The first head whose map has such a number; none when it arose after the maps.
        head: Option<usize>,
    },
    /// In the logits alone.
    Logits,
}

impl std::fmt::Display for NonFinite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Embeddings => f.write_str("the embeddings"),
            Self::Layer { layer, head: Some(head) } => write!(f, "layer {layer} head {head}"),
            Self::Layer { layer, head: None } => write!(f, "layer {layer} after its attention maps"),
            Self::Logits => f.write_str("the logits"),
        }
    }
}

impl ModelOutput {
    /// The first place with a NaN or an infinity; none when all is finite. Needs the maps and the hidden states.
    pub fn first_non_finite(&self) -> Result<Option<NonFinite>, ModelError> {
        let Some((embeddings, layers)) = self.hidden.split_first() else {
            return Ok(if is_finite(&self.logits)? { None } else { Some(NonFinite::Logits) });
        };
        if !is_finite(embeddings)? {
            return Ok(Some(NonFinite::Embeddings));
        }
        for (layer, hidden) in layers.iter().enumerate() {
            if let Some(maps) = self.maps.get(layer) {
                for head in 0..maps.dim(1)? {
                    if !is_finite(&maps.narrow(1, head, 1)?)? {
                        return Ok(Some(NonFinite::Layer { layer, head: Some(head) }));
                    }
                }
            }
            if !is_finite(hidden)? {
                return Ok(Some(NonFinite::Layer { layer, head: None }));
            }
        }
        Ok(if is_finite(&self.logits)? { None } else { Some(NonFinite::Logits) })
    }
}

impl Model {
    /// Runs `input` once more, keeping everything, and says where numbers first stop being finite. `dropout` as in
    /// the pass that is to be explained.
    pub fn first_non_finite(
        &self,
        input: &ModelInput,
        dropout: Option<(u64, u64)>,
    ) -> Result<Option<NonFinite>, ModelError> {
        self.forward(
            input,
            &ForwardOptions { dropout, keep_maps: true, keep_hidden: true, ..ForwardOptions::default() },
        )?
        .first_non_finite()
    }
}
