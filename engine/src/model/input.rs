use candle_core::{Device, Tensor};

use super::ModelError;
use crate::config::MapMemoryChoice;

/// What a model reads: token ids row by row.
#[derive(Clone, Debug)]
pub struct ModelInput {
    /// Token ids. `u32` `[b, t]`
    pub input_ids: Tensor,
    /// Segments (BERT's sentence A and B); all 0 when absent. Decoders ignore them. `u32` `[b, t]`
    pub token_type_ids: Option<Tensor>,
    /// 1 = a token, 0 = padding that no position attends to; all tokens when absent. `u8` `[b, t]`
    pub key_mask: Option<Tensor>,
}

impl ModelInput {
    /// Plain numbers as an input of `batch` rows of `sequence` tokens.
    ///
    /// # Errors
    /// If the ids or the mask are not `batch * sequence` many.
    pub fn new(
        input_ids: &[u32],
        key_mask: Option<&[u8]>,
        batch: usize,
        sequence: usize,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let check = |what, found| {
            if found == batch * sequence { Ok(()) } else { Err(ModelError::InputSize { what, found, batch, sequence }) }
        };
        check("input", input_ids.len())?;
        let shape = (batch, sequence);
        let key_mask = match key_mask {
            Some(mask) => {
                check("key mask", mask.len())?;
                Some(Tensor::from_slice(mask, shape, device)?)
            }
            None => None,
        };
        Ok(Self { input_ids: Tensor::from_slice(input_ids, shape, device)?, token_type_ids: None, key_mask })
    }

    /// The same input with segments, row by row.
    ///
    /// # Errors
    /// If there are not as many as ids.
    pub fn with_token_types(self, token_types: &[u32]) -> Result<Self, ModelError> {
        let (batch, sequence) = self.input_ids.dims2()?;
        if token_types.len() != batch * sequence {
            let found = token_types.len();
            return Err(ModelError::InputSize { what: "list of token types", found, batch, sequence });
        }
        let token_types = Tensor::from_slice(token_types, (batch, sequence), self.input_ids.device())?;
        Ok(Self { token_type_ids: Some(token_types), ..self })
    }
}

/// How a forward pass is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardOptions {
    /// Seed and step of the dropout masks, where the step counts forward passes; none = no dropout.
    pub dropout: Option<(u64, u64)>,
    /// Whether the attention maps are given back.
    pub keep_maps: bool,
    /// Whether the hidden states are given back.
    pub keep_hidden: bool,
    /// What the backward pass has of the attention maps.
    pub map_memory: MapMemoryChoice,
}
