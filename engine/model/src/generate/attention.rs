use candle_core::{DType, Tensor};
use serde::{Deserialize, Serialize};

use super::GenerateError;
use crate::model::{ForwardOptions, Model, ModelError, ModelInput};

/// Maps that are computed at most, in bytes: those of all heads of all layers.
const MOST_BYTES: usize = 1 << 28;

/// How much each generated token attended to each token of its source while it was chosen: for a decoder alone to its
/// prompt, else to what the encoder read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceAttention {
    /// Layers L of the decoder.
    pub layers: usize,
    /// Generated tokens t.
    pub tokens: usize,
    /// Tokens of the source n.
    pub source: usize,
    /// `[L, t, n]`: the mean of the probabilities of all heads that attend, 0..=1; NaN in a layer where none does. What is
    /// missing from 1 in a row went to tokens that were generated before.
    #[serde(with = "crate::text::floats")]
    pub values: Vec<f32>,
}

/// Reads a source and the text that was generated from it once more, and gives what the generated tokens attended to; none
/// where the maps of all heads would take more than 256 MiB. `start` is what a decoder after an encoder begins with.
///
/// # Errors
/// If the model cannot read them.
pub fn attention_on_source(
    model: &Model,
    source: &[u32],
    generated: &[u32],
    start: Option<u32>,
) -> Result<Option<SourceAttention>, GenerateError> {
    let plan = model.plan();
    let (tokens, columns, layers) = (generated.len(), source.len(), plan.stack.layers);
    // The last token was chosen, but never read.
    let before_last = generated.split_last().map_or(generated, |(_, before)| before);
    let has_encoder = plan.encoder.is_some();
    let mut text = if has_encoder { start.into_iter().collect() } else { source.to_vec() };
    text.extend(before_last);
    let keys = if has_encoder { columns } else { text.len() };
    let bytes = [plan.stack.heads, text.len(), keys, size_of::<f32>()];
    let bytes = bytes.into_iter().fold(layers, usize::saturating_mul);
    if tokens == 0 || columns == 0 || bytes > MOST_BYTES {
        return Ok(None);
    }
    let mut input = ModelInput::new(&text, None, 1, text.len(), model.device())?;
    if has_encoder {
        input = input.with_encoder(ModelInput::new(source, None, 1, columns, model.device())?);
    }
    let options = ForwardOptions { keep_maps: true, ..ForwardOptions::default() };
    let output = model.forward(&input, &options)?;
    let maps = if has_encoder { &output.cross_maps } else { &output.maps };
    // The first token is chosen after the whole prompt, or after the token that a decoder begins with.
    let first = text.len() - tokens;
    let mut values = vec![f32::NAN; layers * tokens * columns];
    for (map, of_layer) in maps.iter().zip(values.chunks_mut(tokens * columns)) {
        let (numbers, [heads, queries, keys]) = numbers(map)?;
        for (token, row) in of_layer.chunks_mut(columns).enumerate() {
            let of_heads = (0..heads).filter_map(|head| {
                let start = (head * queries + first + token) * keys;
                let probabilities = &numbers[start..start + keys];
                // A head that is off has no map.
                (probabilities.iter().sum::<f32>() > 0.5).then_some(probabilities)
            });
            let mut count = 0;
            let mut sums = vec![0.0; columns];
            for probabilities in of_heads {
                count += 1;
                for (sum, probability) in sums.iter_mut().zip(probabilities) {
                    *sum += probability;
                }
            }
            if count > 0 {
                for (value, sum) in row.iter_mut().zip(sums) {
                    *value = sum / count as f32;
                }
            }
        }
    }
    Ok(Some(SourceAttention { layers, tokens, source: columns, values }))
}

/// The maps of one text. `[1, h, t, n]` to `[h, t, n]`
fn numbers(map: &Tensor) -> Result<(Vec<f32>, [usize; 3]), ModelError> {
    let (_, heads, queries, keys) = map.dims4()?;
    let numbers = map.detach().to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
    Ok((numbers, [heads, queries, keys]))
}
