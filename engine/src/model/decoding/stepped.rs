use candle_core::Tensor;

use super::{
    Begun, Decoder, Room,
    source::{Read, Sources, numbers},
};
use crate::{
    attention::compatibility::{HeadAttention, QueryReaches, kept_reaches, stream_reaches},
    config::{Cache, NormPlacement},
    model::{Model, ModelError},
    ops::{
        LayerCache, Norm, Past, SharedRows, StepAttentionParts, StepLayerParts, StepStack, StepStackParts, WrittenRows,
        profile::{self, Work},
    },
};

/// A single operation a step, in single precision on the processor.
pub(super) struct SteppedDecoder {
    stack: StepStack,
    past: Past,
    cache: Vec<LayerCache>,
    /// The position of the first written token of each source.
    first_positions: Vec<usize>,
}

impl SteppedDecoder {
    pub fn begin(model: &Model, cache: &Cache, sources: Sources, room: Room) -> Result<Begun, ModelError> {
        let step = parts(model, cache)?;
        let stack = StepStack::new(&step)?;
        let of_attention = |attention: &HeadAttention, parts: &Option<StepAttentionParts>, x: &Tensor| {
            let Some(reaches) = parts.as_ref().and_then(|parts| parts.shared.as_ref()) else {
                return Err(ModelError::Unsupported("attention to what nothing is kept of".to_owned()));
            };
            profile::span("attention: keys and values", Work::default(), || {
                let parts = match cache {
                    Cache::Hidden(_) => vec![x.clone()],
                    Cache::None(_) | Cache::KeyValue(_) => attention.kept(x)?,
                };
                Ok(SharedRows::new(&parts, &sources.lengths, reaches)?)
            })
        };
        // An encoder's decoder reads one token more: the one that it begins with.
        let more = usize::from(matches!(sources.read, Read::Encoded { .. }));
        let written = stack.written_rows(room.rows.max(sources.count()) * (room.tokens + more));
        let mut layers: Vec<LayerCache> =
            written.into_iter().map(|written| LayerCache { written, ..LayerCache::default() }).collect();
        let mut past = Past::of_sources(sources.count());
        let (logits, first_positions) = match &sources.read {
            Read::Prompts { input, .. } => {
                // Borrowed maps are those of all positions.
                let (hidden, logits) = if stack.last_layer_borrows() {
                    let (hidden, logits) = sources.prefill(model, input)?;
                    (hidden, Some(logits))
                } else {
                    (model.streams(input)?, None)
                };
                for (((layer, parts), x), kept) in model.layers().iter().zip(&step.layers).zip(&hidden).zip(&mut layers)
                {
                    if let Some((attention, norm)) = &layer.attention {
                        let x = match layer.placement {
                            NormPlacement::Pre => norm.forward(x)?,
                            NormPlacement::Post => x.clone(),
                        };
                        kept.prompt = Some(of_attention(attention, &parts.attention, &x)?);
                    }
                }
                let logits = match (logits, hidden.get(step.layers.len().saturating_sub(1))) {
                    (Some(logits), _) => logits,
                    (None, Some(last)) => stack.finish(numbers(&sources.last_rows(last)?)?, &past, &mut layers)?,
                    (None, None) => return Err(ModelError::Unsupported("a decoder without layers".to_owned())),
                };
                (logits, sources.lengths.clone())
            }
            Read::Encoded { states, start } => {
                let mut of_all: Option<SharedRows> = None;
                for ((layer, parts), kept) in model.layers().iter().zip(&step.layers).zip(&mut layers) {
                    if let Some((attention, _)) = &layer.cross {
                        let rows = match (cache, &of_all) {
                            (Cache::Hidden(_), Some(rows)) => rows.clone(),
                            _ => profile::in_cross(|| of_attention(attention, &parts.cross, states))?,
                        };
                        of_all = Some(rows.clone());
                        kept.source = Some(rows);
                    }
                }
                let count = sources.count();
                let logits = stack.step(&vec![*start; count], &vec![0; count], &mut past, &mut layers)?;
                (logits, vec![0; count])
            }
        };
        Ok(Begun { decoder: Box::new(Self { stack, past, cache: layers, first_positions }), logits })
    }
}

impl Decoder for SteppedDecoder {
    fn rows(&self) -> usize {
        self.past.rows()
    }

    fn step(&mut self, tokens: &[u32]) -> Result<Vec<f32>, ModelError> {
        let position =
            |row: usize| self.first_positions.get(self.past.source(row)).copied().unwrap_or(0) + self.past.written(row);
        let positions: Vec<usize> = (0..self.past.rows()).map(position).collect();
        Ok(self.stack.step(tokens, &positions, &mut self.past, &mut self.cache)?)
    }

    fn select(&mut self, parents: &[usize]) -> Result<(), ModelError> {
        self.past.select(parents);
        Ok(())
    }

    fn cache_bytes(&self) -> u64 {
        self.bytes(WrittenRows::bytes)
    }

    fn filled_bytes(&self) -> u64 {
        self.bytes(|written| written.bytes_of(self.past.places_taken()))
    }
}

impl SteppedDecoder {
    /// What sources share, once, and what `of_written` counts of what rows have written.
    fn bytes(&self, of_written: impl Fn(&WrittenRows) -> u64) -> u64 {
        let mut counted: Vec<&SharedRows> = Vec::new();
        let mut bytes = 0;
        for layer in &self.cache {
            bytes += layer.written.as_ref().map_or(0, &of_written);
            for shared in layer.prompt.iter().chain(&layer.source) {
                if !counted.iter().any(|other| other.is_same(shared)) {
                    counted.push(shared);
                    bytes += shared.bytes();
                }
            }
        }
        bytes
    }
}

/// All of a model's decoder but what it keeps.
fn parts(model: &Model, cache: &Cache) -> Result<StepStackParts, ModelError> {
    let plan = &model.plan().stack;
    let layer = |layer: &crate::model::layer::Layer| {
        let attention =
            layer.attention.as_ref().map(|own| attention_parts(own, cache, plan.width, true)).transpose()?;
        let cross = layer.cross.as_ref().map(|cross| attention_parts(cross, cache, plan.width, false)).transpose()?;
        Ok(StepLayerParts {
            attention,
            cross,
            feed_forward: [layer.feed_forward_in.clone(), layer.feed_forward_out.clone()],
            activation: layer.activation,
            norm: layer.feed_forward_norm.clone(),
        })
    };
    let (words, head_bias) = model.table()?;
    Ok(StepStackParts {
        words: words.clone(),
        head_bias: head_bias.cloned(),
        positions: model.positions()?,
        embedding_norm: model.embedding_norm().cloned(),
        final_norm: model.last_norm().cloned(),
        norm_at: match plan.norm {
            NormPlacement::Pre => crate::ops::NormAt::First,
            NormPlacement::Post => crate::ops::NormAt::Last,
        },
        layers: model.layers().iter().map(layer).collect::<Result<_, ModelError>>()?,
    })
}

/// `is_own`: self-attention, which keeps something of every token that is written.
fn attention_parts(
    (attention, norm): &(HeadAttention, Norm),
    cache: &Cache,
    width: usize,
    is_own: bool,
) -> Result<StepAttentionParts, ModelError> {
    let projections = &attention.projections;
    let asked = QueryReaches::of(projections, is_own)?;
    let of_kept = kept_reaches(projections)?;
    let shared = match cache {
        Cache::Hidden(_) => stream_reaches(projections, width)?,
        Cache::None(_) | Cache::KeyValue(_) => of_kept.clone(),
    };
    Ok(StepAttentionParts {
        maps: asked.maps,
        queries: asked.queries,
        kept: asked.kept,
        written: is_own.then_some(of_kept),
        shared: Some(shared),
        heads: attention.heads.maps.clone(),
        head_size: attention.heads.head_size,
        output: attention.output.clone(),
        norm: norm.clone(),
        lends: attention.heads.lends_until.is_some(),
    })
}
