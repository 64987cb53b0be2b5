use candle_core::{Device, Tensor};

use super::ModelError;
use crate::config::MapMemoryChoice;

/// What a model reads.
#[derive(Clone, Debug)]
pub struct ModelInput {
    /// What its first stack reads, or, of a model with an encoder, its decoder.
    pub data: InputData,
    /// 1 = a token, 0 = padding that no position attends to; all tokens when absent. `u8` `[b, t]`
    pub key_mask: Option<Tensor>,
    /// What the encoder before a decoder reads.
    pub encoder: Option<Box<ModelInput>>,
}

/// The data of an input.
#[derive(Clone, Debug)]
pub enum InputData {
    /// Token ids row by row.
    Tokens {
        /// `u32` `[b, t]`
        ids: Tensor,
        /// Segments (BERT's sentence A and B); all 0 when absent. Models without token types ignore them. `u32` `[b, t]`
        types: Option<Tensor>,
    },
    /// Images, normalised. `[b, channels, height, width]`
    Pixels(Tensor),
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
        let data = InputData::Tokens { ids: Tensor::from_slice(input_ids, shape, device)?, types: None };
        Ok(Self { data, key_mask, encoder: None })
    }

    /// Images, image by image, channel by channel, row by row.
    ///
    /// # Errors
    /// If there are not `batch * channels * side * side` numbers.
    pub fn images(pixels: &[f32], [batch, channels, side]: [usize; 3], device: &Device) -> Result<Self, ModelError> {
        let data = InputData::Pixels(Tensor::from_slice(pixels, (batch, channels, side, side), device)?);
        Ok(Self { data, key_mask: None, encoder: None })
    }

    /// The same input with segments, row by row.
    ///
    /// # Errors
    /// If there are not as many as ids, or it is no text.
    pub fn with_token_types(self, token_types: &[u32]) -> Result<Self, ModelError> {
        let InputData::Tokens { ids, .. } = self.data else {
            return Err(ModelError::Unsupported("token types of an image".to_owned()));
        };
        let (batch, sequence) = ids.dims2()?;
        if token_types.len() != batch * sequence {
            let found = token_types.len();
            return Err(ModelError::InputSize { what: "list of token types", found, batch, sequence });
        }
        let types = Some(Tensor::from_slice(token_types, (batch, sequence), ids.device())?);
        Ok(Self { data: InputData::Tokens { ids, types }, ..self })
    }

    /// The same input for a decoder that attends to what an encoder makes of `encoder`.
    #[must_use]
    pub fn with_encoder(self, encoder: Self) -> Self {
        Self { encoder: Some(Box::new(encoder)), ..self }
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
