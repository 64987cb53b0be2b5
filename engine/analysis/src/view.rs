//! The attention maps of one example: all of them small, and each large when it is asked for.

use candle_core::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};

use super::AnalysisError;
use crate::{
    attention::HeadAt,
    model::{ForwardOptions, Model, ModelInput},
    objective::Batch,
    ops::part_mut,
};

/// Pixels of a thumbnail's side, at most.
pub const THUMBNAIL: usize = 32;

/// The maps of every head of a model on one example, made small.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapThumbnails {
    /// Layers L.
    pub layers: usize,
    /// Heads H of a layer.
    pub heads: usize,
    /// Pixels of each side; tokens where these are fewer.
    pub side: usize,
    /// `[L, H, side, side]`: the largest probability under each pixel; NaN for heads without a map.
    #[serde(with = "crate::text::floats")]
    pub values: Vec<f32>,
}

/// What it takes to draw any map of one example again: the stream before every layer.
#[derive(Clone, Debug)]
pub struct MapView {
    model: Model,
    hidden: Vec<Tensor>,
    tokens: usize,
}

impl MapView {
    /// Reads one example. `token_types`: to which of two texts each token belongs; none where there is one.
    ///
    /// # Errors
    /// If it is longer than the model's positions, or empty.
    pub fn new(model: Model, ids: &[u32], token_types: Option<&[u32]>, device: &Device) -> Result<Self, AnalysisError> {
        if ids.is_empty() {
            return Err(AnalysisError::NoExamples);
        }
        let input = ModelInput::new(ids, None, 1, ids.len(), device)?;
        let input = match token_types.filter(|_| model.plan().token_types() > 1) {
            Some(types) => input.with_token_types(types)?,
            None => input,
        };
        Self::of(model, &input, ids.len())
    }

    /// Reads an image: the one of a batch of one.
    ///
    /// # Errors
    /// If the model reads no such images.
    pub fn of_image(model: Model, batch: &Batch) -> Result<Self, AnalysisError> {
        let input = batch.input(&model)?;
        Self::of(model, &input, batch.sequence)
    }

    fn of(model: Model, input: &ModelInput, tokens: usize) -> Result<Self, AnalysisError> {
        let options = ForwardOptions { keep_hidden: true, ..ForwardOptions::default() };
        let hidden = model.attend(input, &options)?.hidden;
        Ok(Self { model, hidden, tokens })
    }

    /// Tokens n of the example.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The map of a head, `[n, n]`, query by query; none where the head has none.
    ///
    /// # Errors
    /// If it cannot be computed.
    pub fn map(&self, head: HeadAt) -> Result<Option<Vec<f32>>, AnalysisError> {
        let Some(origin) = self.model.plan().origin(head) else { return Ok(None) };
        Ok(self.layer(origin.layer)?.and_then(|maps| maps.of(origin.head, self.tokens)))
    }

    /// The scores of a head before the softmax, scaled, `[n, n]`, query by query; none where the head has none. Those of a
    /// head that borrows are its lender's.
    ///
    /// # Errors
    /// If they cannot be computed.
    pub fn scores(&self, head: HeadAt) -> Result<Option<Vec<f32>>, AnalysisError> {
        let Some(origin) = self.model.plan().origin(head) else { return Ok(None) };
        let Some(hidden) = self.hidden.get(origin.layer) else { return Ok(None) };
        let Some(scores) = self.model.scores(origin.layer, hidden)? else { return Ok(None) };
        Ok(self.of_layer(origin.layer, &scores)?.of(origin.head, self.tokens))
    }

    /// All maps, made small.
    ///
    /// # Errors
    /// If they cannot be computed.
    pub fn thumbnails(&self) -> Result<MapThumbnails, AnalysisError> {
        let plan = self.model.plan();
        let (layers, heads) = (plan.stack.layers, plan.stack.heads);
        let side = self.tokens.min(THUMBNAIL);
        let mut values = vec![f32::NAN; layers * heads * side * side];
        for layer in 0..layers {
            let maps = self.layer(layer)?;
            // Those that borrow from this layer look the same.
            for reader in layer..layers {
                for head in 0..heads {
                    let origin = plan.stack.head_plan.origin(HeadAt::new(reader, head));
                    // Heads without a map are left as they are.
                    if let Some(origin) = origin.filter(|origin| origin.layer == layer) {
                        let map = maps.as_ref().and_then(|maps| maps.of(origin.head, self.tokens));
                        let map = map.ok_or_else(|| AnalysisError::OtherSizes {
                            what: format!("numbers in the maps of layer {layer}"),
                            found: 0,
                            expected: self.tokens * self.tokens,
                        })?;
                        let start = (reader * heads + head) * side * side;
                        shrink(&map, self.tokens, part_mut(&mut values, start, side * side), side);
                    }
                }
            }
        }
        Ok(MapThumbnails { layers, heads, side, values })
    }

    /// The maps that a layer computes.
    fn layer(&self, layer: usize) -> Result<Option<LayerMaps>, AnalysisError> {
        let Some(hidden) = self.hidden.get(layer) else { return Ok(None) };
        let Some(maps) = self.model.own_maps(layer, hidden)? else { return Ok(None) };
        self.of_layer(layer, &maps).map(Some)
    }

    fn of_layer(&self, layer: usize, maps: &Tensor) -> Result<LayerMaps, AnalysisError> {
        let row = self.model.plan().stack.head_plan.row(layer).iter().enumerate();
        let heads = row.filter(|(_, cell)| matches!(cell, crate::attention::Cell::Compute)).map(|(head, _)| head);
        let heads: Vec<usize> = heads.collect();
        let expected = heads.len() * self.tokens * self.tokens;
        AnalysisError::unless_equal(format!("numbers in the maps of layer {layer}"), maps.elem_count(), expected)?;
        let values = maps.to_dtype(DType::F32)?.to_device(&Device::Cpu)?.flatten_all()?.to_vec1()?;
        Ok(LayerMaps { heads, values })
    }
}

struct LayerMaps {
    heads: Vec<usize>,
    values: Vec<f32>,
}

impl LayerMaps {
    fn of(&self, head: usize, tokens: usize) -> Option<Vec<f32>> {
        let place = self.heads.iter().position(|own| *own == head)?;
        let size = tokens * tokens;
        Some(self.values.get(place * size..(place + 1) * size)?.to_vec())
    }
}

/// The largest value under each of `side * side` pixels.
fn shrink(map: &[f32], tokens: usize, out: &mut [f32], side: usize) {
    out.fill(0.0);
    for (query, row) in map.chunks_exact(tokens.max(1)).enumerate() {
        let y = query * side / tokens;
        for (key, value) in row.iter().enumerate() {
            let pixel = &mut out[y * side + key * side / tokens];
            *pixel = pixel.max(*value);
        }
    }
}
