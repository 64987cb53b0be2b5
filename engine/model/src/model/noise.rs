//! Noise on what a model reads, to see how well it stands that.

use candle_core::{DType, Device, Tensor};

use super::{InputData, ModelError, ModelInput};
use crate::ops::random::{Purpose, Stream};

/// Noise on the embeddings of every token: a direction of a standard Gaussian, scaled to one length. It is a function of the seed, of the
/// tokens of the row and of the position, so that it does not matter how rows are put into batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmbeddingNoise {
    /// Its Euclidean length, 0..
    pub length: f64,
    /// The same seed gives the same directions.
    pub seed: u64,
}

impl EmbeddingNoise {
    /// The embeddings of an input with noise on each token. `[b, t, d]`
    ///
    /// # Errors
    /// If the input is no text.
    pub(super) fn added_to(&self, x: &Tensor, input: &ModelInput) -> Result<Tensor, ModelError> {
        let InputData::Tokens { ids, .. } = &input.data else {
            return Err(ModelError::Unsupported("noise on an image".to_owned()));
        };
        let (b, t, d) = x.dims3()?;
        let ids = ids.to_vec2::<u32>()?;
        let keys = input.key_mask.as_ref().map(Tensor::to_vec2::<u8>).transpose()?;
        let is_token = |row: usize, place: usize| keys.as_ref().is_none_or(|keys| keys[row][place] != 0);
        let mut values = Vec::with_capacity(b * t * d);
        for (row, ids) in ids.iter().enumerate() {
            let own = ids.iter().enumerate().filter(|(place, _)| is_token(row, *place)).map(|(_, id)| *id);
            let mut stream = Stream::new(self.seed, Purpose::EmbeddingNoise, hash(own));
            for _ in 0..t {
                let direction: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
                let norm = direction.iter().map(|part| part * part).sum::<f64>().sqrt();
                values.extend(direction.iter().map(|part| self.length * part / norm));
            }
        }
        let noise = Tensor::from_vec(values, (b, t, d), &Device::Cpu)?.to_dtype(x.dtype())?.to_device(x.device())?;
        Ok((x + noise)?)
    }
}

/// The sum of the Euclidean lengths of the embeddings `[b, t, d]` of tokens, and how many these are; padding is left out.
pub(super) fn lengths(x: &Tensor, key_mask: Option<&Tensor>) -> Result<(f64, u64), ModelError> {
    let norms = x.detach().to_dtype(DType::F64)?.sqr()?.sum(2)?.sqrt()?; // [b, t]
    let keys = match key_mask {
        Some(keys) => keys.to_dtype(DType::F64)?,
        None => norms.ones_like()?,
    };
    let tokens = keys.sum_all()?.to_scalar::<f64>()?;
    Ok(((norms * keys)?.sum_all()?.to_scalar::<f64>()?, tokens as u64))
}

/// The 64-bit FNV-1a hash of the ids of a row.
fn hash(ids: impl Iterator<Item = u32>) -> u64 {
    let bytes = ids.flat_map(u32::to_le_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attention::ModelPlan,
        config::{ModelKind, RunConfig},
        model::{ForwardOptions, Model, ParameterSet},
    };

    fn model() -> Model {
        let mut config = RunConfig::default();
        (config.model.kind, config.model.layers, config.model.width, config.model.heads) =
            (ModelKind::Encoder, 2, 12, 3);
        (config.model.feed_forward, config.data.sequence_length) = (16, 9);
        let plan = ModelPlan::resolve(&config, 30).unwrap();
        let parameters = ParameterSet::init(&plan, 1, DType::F64, &Device::Cpu).unwrap();
        Model::frozen(&plan, &parameters).unwrap()
    }

    const IDS: [u32; 14] = [1, 5, 9, 3, 0, 0, 0, 2, 8, 8, 4, 6, 7, 11];
    const KEYS: [u8; 14] = [1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1];

    /// The embeddings that the layers read, and the logits.
    fn read(model: &Model, input: &ModelInput) -> (Tensor, Vec<f64>) {
        let options = ForwardOptions { keep_hidden: true, ..ForwardOptions::default() };
        let found = model.forward(input, &options).unwrap();
        (found.hidden[0].clone(), found.logits.flatten_all().unwrap().to_vec1().unwrap())
    }

    #[test]
    fn noise_has_its_length_on_every_token_and_none_changes_nothing() {
        let model = model();
        let input = ModelInput::new(&IDS, Some(&KEYS), 2, 7, &Device::Cpu).unwrap();
        let (clean, logits) = read(&model, &input);
        let noisy = |length, seed| read(&model.clone().with_noise(Some(EmbeddingNoise { length, seed })), &input);
        assert_eq!(noisy(0.0, 1).1, logits);
        let (x, other) = noisy(0.25, 1);
        assert_ne!(other, logits);
        let lengths = (x - &clean).unwrap().sqr().unwrap().sum(2).unwrap().sqrt().unwrap();
        for length in lengths.flatten_all().unwrap().to_vec1::<f64>().unwrap() {
            assert!((length - 0.25).abs() < 1e-12, "{length}");
        }
        assert_eq!(noisy(0.25, 1).1, other, "the same seed, the same noise");
        assert_ne!(noisy(0.25, 2).1, other);
        // Against the mean length one by one.
        let (sum, tokens) = model.embedding_lengths(&input).unwrap();
        let slow: f64 = clean
            .to_vec3::<f64>()
            .unwrap()
            .iter()
            .flatten()
            .zip(KEYS)
            .filter(|(_, key)| *key == 1)
            .map(|(token, _)| token.iter().map(|part| part * part).sum::<f64>().sqrt())
            .sum();
        assert!((sum - slow).abs() < 1e-9 && tokens == 11);
    }

    #[test]
    fn noise_does_not_depend_on_the_batch() {
        let model = model().with_noise(Some(EmbeddingNoise { length: 0.5, seed: 3 }));
        let together = read(&model, &ModelInput::new(&IDS, Some(&KEYS), 2, 7, &Device::Cpu).unwrap()).1;
        let alone = read(&model, &ModelInput::new(&IDS[..4], None, 1, 4, &Device::Cpu).unwrap()).1;
        for (one, other) in alone.iter().zip(&together) {
            assert!((one - other).abs() < 1e-12, "{one} {other}");
        }
    }
}
