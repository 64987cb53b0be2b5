use candle_core::{DType, Tensor};

use super::{
    decoder::{Begun, Decoder},
    source::{Read, Sources, numbers},
};
use crate::{
    attention::compatibility::{HeadAttention, Lenders, PairPlaces, Segment, stream_reaches},
    config::{Cache, NormPlacement},
    model::{Model, ModelError, layer::Layer, norm::StreamNorm},
    ops::{MaskSpec, Reaches, profile},
};

/// Composed of small operations, on any device and in any precision: the slow reference of the one that is a single operation a
/// step, and what runs where that one does not.
pub(super) struct ComposedDecoder {
    model: Model,
    layers: Vec<KeptOfLayer>,
    sources: Sources,
    /// The source of each row.
    rows: Vec<usize>,
    written: usize,
}

/// What is kept of a layer.
struct KeptOfLayer {
    /// Of the prompt, for self-attention.
    prompt: Option<Shared>,
    /// Of written tokens, for self-attention. `[rows, t, _]`
    written: Vec<Tensor>,
    /// Of what the encoder read, for cross-attention.
    source: Option<Shared>,
}

/// What all rows of a source attend to.
enum Shared {
    /// `[b, n, _]`
    Kept(Vec<Tensor>),
    /// The stream, with what heads read of it. `[b, n, d]`
    Stream(Tensor, Box<Reaches>),
}

impl Shared {
    fn of(attention: &HeadAttention, stream: &Tensor, cache: &Cache) -> Result<Self, ModelError> {
        Ok(match cache {
            Cache::Hidden(_) => {
                let reaches = stream_reaches(&attention.projections, stream.dim(2)?)?;
                Self::Stream(stream.detach(), Box::new(reaches))
            }
            Cache::None(_) | Cache::KeyValue(_) => Self::Kept(attention.kept(stream)?),
        })
    }

    fn tensors(&self) -> Vec<&Tensor> {
        match self {
            Self::Kept(kept) => kept.iter().collect(),
            Self::Stream(stream, _) => vec![stream],
        }
    }

    /// The same for rows of these sources.
    fn of_rows(&self, sources: &Tensor) -> Result<Self, ModelError> {
        Ok(match self {
            Self::Kept(kept) => {
                Self::Kept(kept.iter().map(|kept| kept.index_select(sources, 0)).collect::<Result<_, _>>()?)
            }
            Self::Stream(stream, reaches) => Self::Stream(stream.index_select(sources, 0)?, reaches.clone()),
        })
    }

    fn segment(&self) -> Segment<'_> {
        match self {
            Self::Kept(kept) => Segment::Kept(kept),
            Self::Stream(stream, reaches) => Segment::Stream(stream, reaches),
        }
    }
}

impl ComposedDecoder {
    pub fn begin(model: &Model, cache: &Cache, sources: Sources) -> Result<Begun, ModelError> {
        let (mut layers, mut first) = (Vec::new(), None);
        match &sources.read {
            Read::Prompts { input, .. } => {
                let (hidden, logits) = sources.prefill(model, input)?;
                for (layer, x) in model.layers().iter().zip(&hidden) {
                    let prompt = match &layer.attention {
                        Some((attention, norm)) => {
                            Some(Shared::of(attention, &before_attention(layer, norm, x)?, cache)?)
                        }
                        None => None,
                    };
                    layers.push(KeptOfLayer { prompt, written: Vec::new(), source: None });
                }
                first = Some(logits);
            }
            Read::Encoded { states, .. } => {
                for layer in model.layers() {
                    let source = match &layer.cross {
                        Some((attention, _)) => Some(Shared::of(attention, states, cache)?),
                        None => None,
                    };
                    layers.push(KeptOfLayer { prompt: None, written: Vec::new(), source });
                }
            }
        }
        let rows = (0..sources.count()).collect();
        let mut decoder = Self { model: model.clone(), layers, sources, rows, written: 0 };
        let logits = match (&decoder.sources.read, first) {
            (Read::Encoded { start, .. }, _) => decoder.step(&vec![*start; decoder.sources.count()])?,
            (Read::Prompts { .. }, logits) => logits.unwrap_or_default(),
        };
        Ok(Begun { decoder: Box::new(decoder), logits })
    }

    /// The position of a row's next token.
    fn position(&self, source: usize) -> usize {
        let of_prompt = match self.sources.read {
            Read::Prompts { .. } => self.sources.lengths[source],
            Read::Encoded { .. } => 0,
        };
        of_prompt + self.written
    }

    /// What rows see: of the prompt, where that is there, and of all that they wrote, this token included.
    fn own_mask(&self, of_rows: &Tensor) -> Result<MaskSpec, ModelError> {
        let keys = match (&self.sources.mask, &self.sources.read) {
            (Some(mask), Read::Prompts { .. }) => {
                let written = Tensor::ones((self.rows.len(), self.written + 1), DType::U8, mask.device())?;
                Some(Tensor::cat(&[&mask.index_select(of_rows, 0)?, &written], 1)?)
            }
            _ => None,
        };
        Ok(MaskSpec { causal: false, keys })
    }
}

/// What an attention reads of the stream.
fn before_attention(layer: &Layer, norm: &StreamNorm, x: &Tensor) -> Result<Tensor, ModelError> {
    Ok(match layer.placement {
        NormPlacement::Pre => norm.forward(x)?,
        NormPlacement::Post => x.clone(),
    })
}

/// Norm first: `x + f(norm(x))`. Norm last: `norm(x + f(x))`.
fn sublayer(
    layer: &Layer,
    norm: &StreamNorm,
    x: &Tensor,
    f: impl FnOnce(&Tensor) -> Result<Tensor, ModelError>,
) -> Result<Tensor, ModelError> {
    Ok(match layer.placement {
        NormPlacement::Pre => (x + f(&norm.forward(x)?)?)?,
        NormPlacement::Post => norm.forward(&(x + f(x)?)?)?,
    })
}

impl Decoder for ComposedDecoder {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn step(&mut self, tokens: &[u32]) -> Result<Vec<f32>, ModelError> {
        let positions: Vec<usize> = self.rows.iter().map(|source| self.position(*source)).collect();
        let mut x = self.model.embed_at(tokens, &positions)?; // [rows, 1, d]
        let of_rows: Vec<u32> = self.rows.iter().map(|source| *source as u32).collect();
        let of_rows = Tensor::from_vec(of_rows, self.rows.len(), self.model.device())?;
        let own_mask = self.own_mask(&of_rows)?;
        let begun: Vec<usize> = positions.iter().map(|position| position - self.written).collect();
        let mut cross_mask = self.sources.mask();
        cross_mask.keys = cross_mask.keys.map(|keys| keys.index_select(&of_rows, 0)).transpose()?;
        let (mut lenders, mut cross_lenders) = (Lenders::default(), Lenders::default());
        for (layer, kept) in self.model.layers().iter().zip(&mut self.layers) {
            if let Some((attention, norm)) = &layer.attention {
                x = sublayer(layer, norm, &x, |x| {
                    let more = attention.kept(x)?;
                    kept.written = if kept.written.is_empty() {
                        more
                    } else {
                        let joined = kept.written.iter().zip(&more).map(|(kept, more)| Tensor::cat(&[kept, more], 1));
                        joined.collect::<Result<_, _>>()?
                    };
                    let prompt = kept.prompt.as_ref().map(|prompt| prompt.of_rows(&of_rows)).transpose()?;
                    let mut segments: Vec<Segment<'_>> = prompt.iter().map(Shared::segment).collect();
                    let mut firsts = vec![vec![0]; segments.len()];
                    firsts.push(begun.clone());
                    segments.push(Segment::Kept(&kept.written));
                    let places = PairPlaces { queries: &positions, segments: &firsts };
                    Ok(attention.forward_segments_at(x, &segments, places, &own_mask, &mut lenders)?.output)
                })?;
            } else {
                lenders.push(None, &own_mask, None);
            }
            match (&layer.cross, &kept.source) {
                (Some((attention, norm)), Some(source)) => {
                    x = sublayer(layer, norm, &x, |x| {
                        profile::in_cross(|| {
                            let source = source.of_rows(&of_rows)?;
                            let segments = [source.segment()];
                            Ok(attention.forward_segments(x, &segments, &cross_mask, &mut cross_lenders)?.output)
                        })
                    })?;
                }
                _ => cross_lenders.push(None, &cross_mask, None),
            }
            x = sublayer(layer, &layer.feed_forward.norm, &x, |x| Ok(layer.feed_forward.forward(x)?))?;
        }
        self.written += 1;
        if let Some(norm) = self.model.last_norm() {
            x = norm.forward(&x)?;
        }
        numbers(&self.model.logits(&x.squeeze(1)?)?)
    }

    fn select(&mut self, parents: &[usize]) -> Result<(), ModelError> {
        let places: Vec<u32> = parents.iter().map(|parent| *parent as u32).collect();
        let places = Tensor::from_vec(places, parents.len(), self.model.device())?;
        for layer in &mut self.layers {
            for written in &mut layer.written {
                *written = written.index_select(&places, 0)?;
            }
        }
        self.rows = parents.iter().map(|parent| self.rows[*parent]).collect();
        Ok(())
    }

    fn cache_bytes(&self) -> u64 {
        self.bytes(Tensor::elem_count)
    }

    fn filled_bytes(&self) -> u64 {
        self.bytes(|shared| self.sources.numbers_of(shared))
    }
}

impl ComposedDecoder {
    /// What rows have written, and as many numbers of what sources share as `of_shared` counts.
    fn bytes(&self, of_shared: impl Fn(&Tensor) -> usize) -> u64 {
        // The states of an encoder are one tensor for all layers.
        let mut counted = Vec::new();
        let mut bytes = 0;
        for layer in &self.layers {
            let shared = layer.prompt.iter().chain(&layer.source).flat_map(Shared::tensors);
            let shared = shared.map(|tensor| (tensor, of_shared(tensor)));
            for (tensor, numbers) in shared.chain(layer.written.iter().map(|tensor| (tensor, tensor.elem_count()))) {
                if !counted.contains(&tensor.id()) {
                    counted.push(tensor.id());
                    bytes += numbers * tensor.dtype().size_in_bytes();
                }
            }
        }
        bytes as u64
    }
}
