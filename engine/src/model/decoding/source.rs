use candle_core::{DType, Tensor};

use crate::{
    model::{ForwardOptions, Model, ModelError, ModelInput},
    ops::MaskSpec,
};

/// What a decoder begins with.
pub(super) struct Sources {
    /// Tokens of each source.
    pub lengths: Vec<usize>,
    /// Tokens of the longest.
    pub longest: usize,
    /// Which tokens there are; none where all sources are equally long. `[b, n]`
    pub mask: Option<Tensor>,
    pub read: Read,
}

/// What was read.
pub(super) enum Read {
    /// Prompts: the text that the decoder goes on with.
    Prompts { texts: Vec<Vec<u32>>, input: ModelInput },
    /// The last states of an encoder, and the token that the decoder begins with. `[b, n, d]`
    Encoded { states: Tensor, start: u32 },
}

impl Sources {
    pub fn read(model: &Model, sources: &[Vec<u32>], start: Option<u32>) -> Result<Self, ModelError> {
        let plan = model.plan();
        let reading = plan.encoder.as_deref().unwrap_or(&plan.stack);
        if sources.is_empty() || sources.iter().any(Vec::is_empty) {
            return Err(ModelError::Unsupported("text that goes on from nothing".to_owned()));
        }
        let lengths: Vec<usize> = sources.iter().map(Vec::len).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if longest > reading.longest() {
            return Err(ModelError::TooLong { sequence: longest, positions: reading.longest() });
        }
        let vocabulary = plan.vocabulary();
        if let Some(token) = sources.iter().flatten().chain(&start).find(|token| **token as usize >= vocabulary) {
            return Err(ModelError::UnknownToken { token: *token, vocabulary });
        }
        // Shorter sources are filled up at the end: positions count from the first token, and nobody sees what follows.
        let padded = |source: &Vec<u32>| {
            let mut ids = source.clone();
            ids.resize(longest, 0);
            ids
        };
        let ids: Vec<u32> = sources.iter().flat_map(padded).collect();
        let is_even = lengths.iter().all(|length| *length == longest);
        let keys: Option<Vec<u8>> = (!is_even)
            .then(|| lengths.iter().flat_map(|length| (0..longest).map(move |at| u8::from(at < *length))).collect());
        let input = ModelInput::new(&ids, keys.as_deref(), sources.len(), longest, model.device())?;
        let mask = input.key_mask.clone();
        let read = if plan.encoder.is_some() {
            let Some(start) = start else {
                return Err(ModelError::Unsupported("a decoder that has no token to begin with".to_owned()));
            };
            Read::Encoded { states: model.encode_source(&input)?, start }
        } else {
            Read::Prompts { texts: sources.to_vec(), input }
        };
        Ok(Self { lengths, longest, mask, read })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.lengths.len()
    }

    /// Which states of an encoder a decoder sees.
    pub fn mask(&self) -> MaskSpec {
        MaskSpec { causal: false, keys: self.mask.clone() }
    }

    /// The stream before each layer while prompts are read, and logits of what follows each.
    pub fn prefill(&self, model: &Model, input: &ModelInput) -> Result<(Vec<Tensor>, Vec<f32>), ModelError> {
        let options = ForwardOptions { keep_hidden: true, ..ForwardOptions::default() };
        let (last, hidden) = model.states(input, &options)?;
        let logits = model.logits(&self.last_rows(&last)?)?;
        Ok((hidden, numbers(&logits)?))
    }

    /// The last position of each source. `[b, n, d]` to `[b, d]`
    pub fn last_rows(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let last_rows: Vec<u32> =
            self.lengths.iter().enumerate().map(|(row, length)| (row * self.longest + length - 1) as u32).collect();
        let (b, n, d) = x.dims3()?;
        let rows = Tensor::from_slice(&last_rows, last_rows.len(), x.device())?;
        Ok(x.reshape((b * n, d))?.index_select(&rows, 0)?)
    }
}

/// The numbers of a tensor in single precision.
pub(super) fn numbers(tensor: &Tensor) -> Result<Vec<f32>, ModelError> {
    Ok(tensor.detach().to_dtype(DType::F32)?.flatten_all()?.to_vec1()?)
}
