use std::ops::Range;

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

/// Sources as they were given, checked.
pub(super) struct Texts {
    pub texts: Vec<Vec<u32>>,
    /// The token that a decoder begins with, if there is an encoder that reads the texts.
    pub start: Option<u32>,
}

impl Texts {
    pub fn check(model: &Model, texts: &[Vec<u32>], start: Option<u32>) -> Result<Self, ModelError> {
        let plan = model.plan();
        let reading = plan.encoder.as_deref().unwrap_or(&plan.stack);
        if texts.is_empty() || texts.iter().any(Vec::is_empty) {
            return Err(ModelError::Unsupported("text that goes on from nothing".to_owned()));
        }
        let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
        if longest > reading.longest() {
            return Err(ModelError::TooLong { sequence: longest, positions: reading.longest() });
        }
        let vocabulary = plan.vocabulary();
        // Of a model that reads prompts, how other texts begin is no matter.
        let start = start.filter(|_| plan.encoder.is_some());
        if let Some(token) = texts.iter().flatten().chain(&start).find(|token| **token as usize >= vocabulary) {
            return Err(ModelError::UnknownToken { token: *token, vocabulary });
        }
        if plan.encoder.is_some() && start.is_none() {
            return Err(ModelError::Unsupported("a decoder that has no token to begin with".to_owned()));
        }
        Ok(Self { texts: texts.to_vec(), start })
    }

    /// Tokens of each.
    pub fn lengths(&self) -> Vec<usize> {
        self.texts.iter().map(Vec::len).collect()
    }

    /// Neighbours that are read together, as many as have about `tokens` tokens.
    pub fn groups(&self, tokens: usize) -> Vec<Range<usize>> {
        let mut groups = Vec::new();
        let (mut first, mut longest) = (0, 0);
        for (at, text) in self.texts.iter().enumerate() {
            longest = longest.max(text.len());
            if at > first && longest * (at + 1 - first) > tokens {
                groups.push(first..at);
                (first, longest) = (at, text.len());
            }
        }
        groups.push(first..self.texts.len());
        groups
    }

    /// Some of them for a model. Shorter ones are filled up at the end: positions count from the first token, and nobody sees
    /// what follows. Gives the positions of each too.
    pub fn input(&self, model: &Model, range: Range<usize>) -> Result<(ModelInput, usize), ModelError> {
        let texts = &self.texts[range];
        let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
        let padded = |text: &Vec<u32>| {
            let mut ids = text.clone();
            ids.resize(longest, 0);
            ids
        };
        let ids: Vec<u32> = texts.iter().flat_map(padded).collect();
        let is_even = texts.iter().all(|text| text.len() == longest);
        let keys: Option<Vec<u8>> = (!is_even)
            .then(|| texts.iter().flat_map(|text| (0..longest).map(|at| u8::from(at < text.len()))).collect());
        Ok((ModelInput::new(&ids, keys.as_deref(), texts.len(), longest, model.device())?, longest))
    }
}

impl Sources {
    pub fn read(model: &Model, texts: Texts) -> Result<Self, ModelError> {
        let lengths = texts.lengths();
        let (input, longest) = texts.input(model, 0..lengths.len())?;
        let mask = input.key_mask.clone();
        let read = match texts.start {
            Some(start) => Read::Encoded { states: model.encode_source(&input)?, start },
            None => Read::Prompts { texts: texts.texts, input },
        };
        Ok(Self { lengths, longest, mask, read })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.lengths.len()
    }

    /// How many numbers of a tensor over all positions are of tokens: shorter sources are filled up at the end.
    pub fn numbers_of(&self, shared: &Tensor) -> usize {
        let tokens: usize = self.lengths.iter().sum();
        (shared.elem_count() * tokens).checked_div(self.count() * self.longest).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_neighbours_with_about_as_many_tokens() {
        let groups = |lengths: &[usize], tokens: usize| -> Vec<(usize, usize)> {
            let texts = Texts { texts: lengths.iter().map(|length| vec![1; *length]).collect(), start: None };
            assert_eq!(texts.lengths(), lengths);
            texts.groups(tokens).into_iter().map(|group| (group.start, group.end)).collect()
        };
        assert_eq!(groups(&[3, 1, 4], 6), [(0, 2), (2, 3)]);
        // Padding counts: two texts are as long as the longer one.
        assert_eq!(groups(&[1, 5, 1, 1], 6), [(0, 1), (1, 2), (2, 4)]);
        assert_eq!(groups(&[2; 7], 6), [(0, 3), (3, 6), (6, 7)]);
        // One that is longer is read alone.
        assert_eq!(groups(&[9, 9], 6), [(0, 1), (1, 2)]);
        assert_eq!(groups(&[9], 100), [(0, 1)]);
    }
}
