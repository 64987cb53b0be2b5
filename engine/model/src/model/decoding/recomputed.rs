use super::{
    decoder::{Begun, Decoder},
    source::{Read, Sources, numbers},
};
use crate::model::{Model, ModelError, ModelInput};

/// Keeps nothing of its own work: every step computes the whole text again. An encoder's states are kept, since without them
/// there would be no source.
pub(super) struct RecomputedDecoder {
    model: Model,
    sources: Sources,
    rows: Vec<(usize, Vec<u32>)>,
}

impl RecomputedDecoder {
    pub fn begin(model: &Model, sources: Sources) -> Result<Begun, ModelError> {
        let rows = match &sources.read {
            Read::Prompts { texts, .. } => texts.iter().cloned().enumerate().collect(),
            Read::Encoded { start, .. } => (0..sources.count()).map(|source| (source, vec![*start])).collect(),
        };
        let decoder = Self { model: model.clone(), sources, rows };
        let logits = decoder.logits()?;
        Ok(Begun { decoder: Box::new(decoder), logits })
    }

    fn logits(&self) -> Result<Vec<f32>, ModelError> {
        let (count, longest) = (self.rows.len(), self.rows.iter().map(|(_, text)| text.len()).max().unwrap_or(0));
        let padded = |(_, text): &(usize, Vec<u32>)| {
            let mut ids = text.clone();
            ids.resize(longest, 0);
            ids
        };
        let ids: Vec<u32> = self.rows.iter().flat_map(padded).collect();
        let is_even = self.rows.iter().all(|(_, text)| text.len() == longest);
        let keys: Option<Vec<u8>> = (!is_even)
            .then(|| self.rows.iter().flat_map(|(_, text)| (0..longest).map(|at| u8::from(at < text.len()))).collect());
        let last: Vec<u32> =
            self.rows.iter().enumerate().map(|(row, (_, text))| (row * longest + text.len() - 1) as u32).collect();
        let input = ModelInput::new(&ids, keys.as_deref(), count, longest, self.model.device())?;
        let Read::Encoded { states, .. } = &self.sources.read else {
            return numbers(&self.model.logits_at(&input, &last)?);
        };
        let of_rows: Vec<u32> = self.rows.iter().map(|(source, _)| *source as u32).collect();
        let of_rows = candle_core::Tensor::from_vec(of_rows, count, self.model.device())?;
        let mut mask = self.sources.mask();
        mask.keys = mask.keys.map(|keys| keys.index_select(&of_rows, 0)).transpose()?;
        let states = states.index_select(&of_rows, 0)?;
        numbers(&self.model.logits_after(&input, (&states, mask), &last)?)
    }
}

impl Decoder for RecomputedDecoder {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn step(&mut self, tokens: &[u32]) -> Result<Vec<f32>, ModelError> {
        if tokens.len() != self.rows.len() {
            let (found, batch) = (tokens.len(), self.rows.len());
            return Err(ModelError::InputSize { what: "step", found, batch, sequence: 1 });
        }
        for ((_, text), token) in self.rows.iter_mut().zip(tokens) {
            text.push(*token);
        }
        self.logits()
    }

    fn select(&mut self, parents: &[usize]) -> Result<(), ModelError> {
        self.rows = parents.iter().map(|parent| self.rows[*parent].clone()).collect();
        Ok(())
    }

    fn cache_bytes(&self) -> u64 {
        match &self.sources.read {
            Read::Prompts { .. } => 0,
            Read::Encoded { states, .. } => (states.elem_count() * states.dtype().size_in_bytes()) as u64,
        }
    }

    fn filled_bytes(&self) -> u64 {
        match &self.sources.read {
            Read::Prompts { .. } => 0,
            Read::Encoded { states, .. } => (self.sources.numbers_of(states) * states.dtype().size_in_bytes()) as u64,
        }
    }
}
