use rayon::prelude::*;

use super::{
    decoder::{Begun, Decoder, READING_TOKENS, Room},
    source::{Texts, numbers},
};
use crate::{
    attention::compatibility::{HeadAttention, QueryReaches, kept_maps, kept_reaches, stream_reaches},
    config::{Cache, NoCache, NormPlacement},
    model::{Model, ModelError, norm::StreamNorm},
    ops::{
        Group, LayerCache, LayerReading, Past, SharedParts, SharedRows, StepAttentionParts, StepLayerParts, StepStack,
        StepStackParts, WrittenRows, part,
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

/// Fewer steps are not worth preparing for: weights are used as they lie.
const FEW_TOKENS: usize = if cfg!(test) { 5 } else { 16 };

impl SteppedDecoder {
    pub fn begin(model: &Model, cache: &Cache, sources: &Texts, room: Room) -> Result<Begun, ModelError> {
        let rows = if room.tokens < FEW_TOKENS { 1 } else { room.rows };
        let stack = StepStack::new(&parts(model, cache)?, rows)?;
        let lengths = sources.lengths();
        let count = lengths.len();
        // An encoder's decoder reads one token more: the one that it begins with.
        let more = usize::from(sources.start.is_some());
        let mut layers = stack.room(&lengths, room.rows.max(count) * (room.tokens + more));
        let mut past = Past::of_sources(count);
        let mut last_rows = Vec::new();
        for group in sources.groups(READING_TOKENS) {
            let (input, longest) = sources.input(model, group.clone())?;
            let place = Group { first: group.start, longest };
            if sources.start.is_some() {
                stack.keep_source(&numbers(&model.encode_source(&input)?)?, place, &mut layers)?;
            } else {
                let mut keep =
                    |layer: usize, read: LayerReading<'_, f32>| stack.keep_prompt(layer, read, place, &mut layers);
                let x = model.read_prompts(&input, stack.reading_layers(), &mut keep)?; // [group, longest, d]
                stack.keep_last_prompt(&x, place, &mut layers)?;
                let width = x.len() / (group.len() * longest).max(1);
                for (text, length) in lengths[group].iter().enumerate() {
                    last_rows.extend_from_slice(part(&x, (text * longest + length - 1) * width, width));
                }
            }
        }
        let (logits, first_positions) = match sources.start {
            Some(start) => {
                stack.share_source(&mut layers);
                (stack.step(&vec![start; count], &vec![0; count], &mut past, &mut layers)?, vec![0; count])
            }
            None => (stack.finish(last_rows, &past, &mut layers)?, lengths),
        };
        Ok(Begun { decoder: Box::new(Self { stack, past, cache: layers, first_positions }), logits })
    }
}

impl Decoder for SteppedDecoder {
    fn rows(&self) -> usize {
        self.past.rows()
    }

    fn step(&mut self, tokens: &[u32]) -> Result<Vec<f32>, ModelError> {
        let position = |row: usize| self.first_positions[self.past.source(row)] + self.past.written(row);
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
        self.bytes(|written| written.bytes_of(self.past.tokens_held()))
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
    let nothing = Cache::None(NoCache {});
    let layer = |layer: &crate::model::layer::Layer| {
        // A decoder after an encoder has no prompt.
        let of_own = if plan.cross.is_some() { &nothing } else { cache };
        let attention =
            layer.attention.as_ref().map(|own| attention_parts(own, of_own, plan.width, true)).transpose()?;
        let cross = layer.cross.as_ref().map(|cross| attention_parts(cross, cache, plan.width, false)).transpose()?;
        let Some(activation) = layer.feed_forward.activation.gelu() else {
            return Err(ModelError::Unsupported("a step with another activation than GELU".to_owned()));
        };
        Ok(StepLayerParts {
            attention,
            cross,
            feed_forward: [layer.feed_forward.inner.clone(), layer.feed_forward.outer.clone()],
            activation,
            norm: layer.feed_forward.norm.layer()?.clone(),
        })
    };
    let (words, head_bias) = model.table()?;
    Ok(StepStackParts {
        words: words.clone(),
        head_bias: head_bias.cloned(),
        positions: model.positions()?,
        embedding_norm: model.embedding_norm().map(|norm| norm.layer().cloned()).transpose()?,
        final_norm: model.last_norm().map(|norm| norm.layer().cloned()).transpose()?,
        norm_at: match plan.norm {
            NormPlacement::Pre => crate::ops::NormAt::First,
            NormPlacement::Post => crate::ops::NormAt::Last,
        },
        layers: model.layers().par_iter().map(layer).collect::<Result<_, ModelError>>()?,
    })
}

/// `is_own`: self-attention, which keeps something of every token that is written.
fn attention_parts(
    (attention, norm): &(HeadAttention, StreamNorm),
    cache: &Cache,
    width: usize,
    is_own: bool,
) -> Result<StepAttentionParts, ModelError> {
    let projections = &attention.projections;
    let asked = QueryReaches::of(projections, is_own)?;
    let of_kept = kept_reaches(projections)?;
    let shared = match cache {
        Cache::Hidden(_) => SharedParts { maps: None, reaches: stream_reaches(projections, width)? },
        Cache::None(_) | Cache::KeyValue(_) => {
            SharedParts { maps: Some(kept_maps(projections)?), reaches: of_kept.clone() }
        }
    };
    Ok(StepAttentionParts {
        maps: asked.maps,
        queries: asked.queries,
        kept: asked.kept,
        written: is_own.then_some(of_kept),
        shared,
        heads: attention.heads.maps.clone(),
        head_size: attention.heads.head_size,
        output: attention.output.clone(),
        norm: norm.layer()?.clone(),
        lends: attention.heads.lends_until.is_some(),
    })
}
