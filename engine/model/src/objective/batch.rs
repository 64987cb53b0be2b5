use super::Answers;
use crate::config::ImageShape;
use crate::model::{Model, ModelError, ModelInput};

/// The label of positions that count for nothing: padding and what is not predicted.
pub const IGNORED: i64 = crate::ops::IGNORED_LABEL;

/// The texts that an encoder reads, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// `[batch, sequence]`
    pub ids: Vec<u32>,
    /// 1 = a token, 0 = padding behind the tokens of its row; `None` when no row has padding. `[batch, sequence]`
    pub key_mask: Option<Vec<u8>>,
    /// Tokens in a row.
    pub sequence: usize,
}

impl Sources {
    /// The texts without padding.
    pub fn rows(&self) -> Vec<Vec<u32>> {
        let is_token = |place: usize| self.key_mask.as_ref().is_none_or(|mask| mask[place] != 0);
        let row = |(row, ids): (usize, &[u32])| {
            let first = row * self.sequence;
            (first..).zip(ids).filter(|(place, _)| is_token(*place)).map(|(_, id)| *id).collect()
        };
        self.ids.chunks(self.sequence.max(1)).enumerate().map(row).collect()
    }
}

/// The images that a model reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Pixels {
    /// Numbers as the model reads them, normalised. `[batch, channels, size, size]`
    pub values: Vec<f32>,
    /// Of every image.
    pub shape: ImageShape,
    /// Which image of its part each is, from 0. `[batch]`
    pub images: Vec<usize>,
}

/// Examples for one forward pass, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// What the model reads; empty where it reads images. `[batch, sequence]`
    pub input_ids: Vec<u32>,
    /// What it should predict at each position, or [`IGNORED`]. `[batch, sequence]`
    pub labels: Vec<i64>,
    /// 1 = a token, 0 = padding, which stands behind the tokens of its row; `None` when no row has padding.
    /// `[batch, sequence]`
    pub key_mask: Option<Vec<u8>>,
    /// To which of its texts a token belongs, 0 or 1; `None` when all examples have one text. `[batch, sequence]`
    pub token_types: Option<Vec<u32>>,
    /// Rows.
    pub batch: usize,
    /// Tokens in a row, or positions of an image.
    pub sequence: usize,
    /// What the encoder reads before a decoder reads `input_ids`, where there is one.
    pub sources: Option<Sources>,
    /// What is right of each example as a whole, where the objective asks for that; then no position has a label.
    pub answers: Option<Answers>,
    /// The images that are read in place of tokens; `input_ids` and `labels` are empty then.
    pub pixels: Option<Pixels>,
}

impl Batch {
    /// Tokens that the model reads, padding left out.
    pub fn tokens(&self) -> usize {
        if self.pixels.is_some() {
            return self.batch * self.sequence;
        }
        let count = |mask: &Option<Vec<u8>>, all: usize| {
            mask.as_ref().map_or(all, |keys| keys.iter().filter(|key| **key != 0).count())
        };
        let sources = self.sources.as_ref().map_or(0, |sources| count(&sources.key_mask, sources.ids.len()));
        count(&self.key_mask, self.input_ids.len()) + sources
    }

    /// Positions, or examples, that have a label: the weight of this batch's mean loss.
    pub fn targets(&self) -> usize {
        if let Some(answers) = &self.answers {
            return answers.len();
        }
        self.labels.iter().filter(|label| **label != IGNORED).count()
    }

    /// As a model reads it, on the model's device. A causal model is not told of padding: it stands behind all tokens,
    /// where causality hides it.
    ///
    /// # Errors
    /// If ids and mask are not `batch * sequence` many.
    pub fn input(&self, model: &Model) -> Result<ModelInput, ModelError> {
        if let Some(Pixels { values, shape, .. }) = &self.pixels {
            return ModelInput::images(values, [self.batch, shape.channels, shape.size], model.device());
        }
        let keys = self.key_mask.as_deref().filter(|_| !model.plan().stack.is_causal);
        let input = ModelInput::new(&self.input_ids, keys, self.batch, self.sequence, model.device())?;
        let input = match &self.token_types {
            Some(types) if model.plan().token_types() > 1 => input.with_token_types(types)?,
            _ => input,
        };
        let Some(Sources { ids, key_mask, sequence }) = &self.sources else { return Ok(input) };
        Ok(input.with_encoder(ModelInput::new(ids, key_mask.as_deref(), self.batch, *sequence, model.device())?))
    }

    /// Tokens of a row in front of its padding.
    pub fn tokens_of(&self, row: usize) -> usize {
        match self.key_mask.as_ref().and_then(|keys| keys.chunks(self.sequence.max(1)).nth(row)) {
            Some(keys) => keys.iter().position(|key| *key == 0).unwrap_or(self.sequence),
            None => self.sequence,
        }
    }

    /// Its first rows, `rows` at most.
    #[must_use]
    pub fn first(mut self, rows: usize) -> Self {
        if rows < self.batch {
            self.batch = rows;
            self.input_ids.truncate(rows * self.sequence);
            self.labels.truncate(rows * self.sequence);
            if let Some(keys) = &mut self.key_mask {
                keys.truncate(rows * self.sequence);
            }
            if let Some(types) = &mut self.token_types {
                types.truncate(rows * self.sequence);
            }
            if let Some(answers) = &mut self.answers {
                answers.truncate(rows);
            }
            if let Some(Pixels { values, shape, images }) = &mut self.pixels {
                values.truncate(rows * shape.numbers());
                images.truncate(rows);
            }
            if let Some(Sources { ids, key_mask, sequence }) = &mut self.sources {
                ids.truncate(rows * *sequence);
                if let Some(keys) = key_mask {
                    keys.truncate(rows * *sequence);
                }
            }
        }
        self
    }
}
