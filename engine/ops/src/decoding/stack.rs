use candle_core::{Result, Tensor, bail};
use rayon::prelude::*;

use super::{
    attention::{Attended, StepAttention, StepAttentionParts, StepMaps},
    map::{StepMap, StepNorm, WORTH_THREADS_PASS},
    store::{Group, Past, Run, SharedRows, WrittenRows},
};
use crate::{
    Affine, Gelu, LayerReading, Norm, NormAt,
    element::Reading,
    kernels::{self, add_assign},
    profile,
    threaded::{Buffer, Slab},
};

/// A layer of a stack as steps of decoding go through it.
#[derive(Clone, Debug)]
pub struct StepLayerParts {
    /// Self-attention; none in a layer without.
    pub attention: Option<StepAttentionParts>,
    /// Attention to what an encoder read; none where there is none.
    pub cross: Option<StepAttentionParts>,
    /// The two maps of the feed-forward block.
    pub feed_forward: [Affine; 2],
    /// What stands between them.
    pub activation: Gelu,
    /// The norm of the block.
    pub norm: Norm,
}

/// All of a decoder but what it keeps.
#[derive(Clone, Debug)]
pub struct StepStackParts {
    /// The token table, which is the matrix of the head too. `[v, d]`
    pub words: Tensor,
    /// The table of positions, from that of the first position on. `[positions, d]`
    pub positions: Tensor,
    /// Over the vocabulary. `[v]`
    pub head_bias: Option<Tensor>,
    /// The norm after the embeddings.
    pub embedding_norm: Option<Norm>,
    /// The norm after the last layer.
    pub final_norm: Option<Norm>,
    /// Where the norms of sub-layers stand.
    pub norm_at: NormAt,
    /// The layers.
    pub layers: Vec<StepLayerParts>,
}

/// A decoder that goes through its layers one token of each row at a time, in single precision on the processor: no graph, no
/// copies of what is kept, weights and caches read once for all rows.
#[derive(Clone, Debug)]
pub struct StepStack {
    words: Tensor,
    positions: Tensor,
    head: StepMap,
    embedding_norm: Option<StepNorm>,
    final_norm: Option<StepNorm>,
    norm_at: NormAt,
    layers: Vec<StepLayer>,
    width: usize,
}

#[derive(Clone, Debug)]
struct StepLayer {
    attention: Option<StepAttention>,
    cross: Option<StepAttention>,
    inner: StepMap,
    outer: StepMap,
    activation: Gelu,
    norm: StepNorm,
}

/// The maps of the layers before that are lent to later ones.
#[derive(Default)]
struct Lent {
    own: Vec<Option<StepMaps>>,
    cross: Vec<Option<StepMaps>>,
}

/// What a decoder keeps of a layer.
#[derive(Clone, Debug, Default)]
pub struct LayerCache {
    /// Of the prompt, for self-attention.
    pub prompt: Option<SharedRows>,
    /// Of the tokens that were written, for self-attention.
    pub written: Option<WrittenRows>,
    /// Of what the encoder read, for cross-attention.
    pub source: Option<SharedRows>,
}

impl StepStack {
    /// Puts weights in place for steps of as many rows: of several of them once more, in a form in which these are several times
    /// as fast.
    ///
    /// # Errors
    /// If they are not in single precision on the processor, or do not fit together.
    pub fn new(parts: &StepStackParts, rows: usize) -> Result<Self> {
        let attention = |parts: &Option<StepAttentionParts>| {
            parts.as_ref().map(|parts| StepAttention::new(parts, rows)).transpose()
        };
        let map = |map: &Affine| StepMap::new(map)?.for_rows(rows);
        let norm = |norm: &Option<Norm>| norm.as_ref().map(StepNorm::new).transpose();
        let layer = |layer: &StepLayerParts| {
            Ok(StepLayer {
                attention: attention(&layer.attention)?,
                cross: attention(&layer.cross)?,
                inner: map(&layer.feed_forward[0])?,
                outer: map(&layer.feed_forward[1])?,
                activation: layer.activation,
                norm: StepNorm::new(&layer.norm)?,
            })
        };
        let head = Affine {
            weight: parts.words.clone(),
            bias: parts.head_bias.clone(),
            orientation: crate::Orientation::OutputsFirst,
        };
        Ok(Self {
            width: parts.words.dim(1)?,
            words: parts.words.detach().contiguous()?,
            positions: parts.positions.detach().contiguous()?,
            head: map(&head)?,
            embedding_norm: norm(&parts.embedding_norm)?,
            final_norm: norm(&parts.final_norm)?,
            norm_at: parts.norm_at,
            layers: parts.layers.par_iter().map(layer).collect::<Result<_>>()?,
        })
    }

    /// Room for what every layer keeps of sources of `lengths` positions, and of `tokens` written tokens.
    pub fn room(&self, lengths: &[usize], tokens: usize) -> Vec<LayerCache> {
        let has_encoder = self.layers.iter().any(|layer| layer.cross.is_some());
        // The stream that an encoder gives is the same for all layers.
        let mut keeps_stream = false;
        let room = |layer: &StepLayer| {
            let shared = |attention: &StepAttention| attention.shared().room(lengths);
            let prompt = layer.attention.as_ref().filter(|_| !has_encoder).map(shared);
            let source = layer.cross.as_ref().filter(|_| !keeps_stream).map(shared);
            keeps_stream |= layer.cross.as_ref().is_some_and(|attention| attention.shared().is_stream());
            let written = layer.attention.as_ref();
            let written = written.map(|attention| WrittenRows::with_room(tokens, attention.kept_width()));
            LayerCache { prompt, written, source }
        };
        self.layers.iter().map(room).collect()
    }

    /// Keeps what cross-attention needs of what an encoder made of some sources.
    ///
    /// # Shapes
    /// `states` `[sources * longest, d]`
    ///
    /// # Errors
    /// If the cache is another model's, or has no such sources.
    pub fn keep_source(&self, states: &[f32], group: Group, cache: &mut [LayerCache]) -> Result<()> {
        for (layer, cache) in self.layers.iter().zip(cache) {
            if let (Some(attention), Some(kept)) = (&layer.cross, &mut cache.source) {
                profile::in_cross(|| attention.shared().keep(Slab::dense(states, self.width), group, kept))?;
            }
        }
        Ok(())
    }

    /// After the last source: what is the same for all layers is lent to those that have no room of their own.
    pub fn share_source(&self, cache: &mut [LayerCache]) {
        let mut last: Option<SharedRows> = None;
        for (layer, cache) in self.layers.iter().zip(cache) {
            if layer.cross.is_some() && cache.source.is_none() {
                cache.source.clone_from(&last);
            }
            last = cache.source.clone().or(last);
        }
    }

    /// Keeps what a layer's attention to a prompt needs of what the layer has read of it.
    ///
    /// # Errors
    /// If the cache is another model's, or has no such sources.
    pub fn keep_prompt(
        &self,
        layer: usize,
        read: LayerReading<'_, f32>,
        group: Group,
        cache: &mut [LayerCache],
    ) -> Result<()> {
        match (self.layers.get(layer).and_then(|layer| layer.attention.as_ref()), cache.get_mut(layer)) {
            (Some(attention), Some(LayerCache { prompt: Some(kept), .. })) => {
                attention.shared().keep_read(read, group, kept)
            }
            _ => bail!("There is no room for what layer {layer} keeps of a prompt."),
        }
    }

    /// The same for the layers after [`Self::reading_layers`]: `x` is the stream before.
    ///
    /// # Shapes
    /// `x` `[sources * longest, d]`
    ///
    /// # Errors
    /// If the cache is another model's, or has no such sources.
    pub fn keep_last_prompt(&self, x: &[f32], group: Group, cache: &mut [LayerCache]) -> Result<()> {
        for (layer, cache) in self.layers.iter().zip(cache).skip(self.reading_layers()) {
            let (Some(attention), Some(kept)) = (&layer.attention, &mut cache.prompt) else { continue };
            match self.norm_at {
                NormAt::First => {
                    let mut normed = Buffer::<f32>::take(x.len());
                    attention.norm.apply(x, &mut normed);
                    attention.shared().keep(Slab::dense(&normed, self.width), group, kept)?;
                }
                NormAt::Last => attention.shared().keep(Slab::dense(x, self.width), group, kept)?,
            }
        }
        Ok(())
    }

    /// Reads one more token of every row of `past`, each at a position counted from 0, and gives the logits of what follows.
    ///
    /// # Shapes
    /// `tokens`, `positions` `[rows]`; result `[rows, v]`.
    ///
    /// # Errors
    /// If a token or a position does not exist, or the cache is another model's.
    pub fn step(
        &self,
        tokens: &[u32],
        positions: &[usize],
        past: &mut Past,
        cache: &mut [LayerCache],
    ) -> Result<Vec<f32>> {
        let rows = past.rows();
        if tokens.len() != rows || positions.len() != rows || cache.len() != self.layers.len() {
            bail!("A step of {rows} rows was given {} tokens and {} positions.", tokens.len(), positions.len())
        }
        let mut x = self.embed(tokens, positions)?;
        if let Some(norm) = &self.embedding_norm {
            let before = x.clone();
            norm.apply(&before, &mut x);
        }
        let place = past.grow();
        let runs = past.runs();
        let mut lent = Lent::default();
        for (layer, cache) in self.layers.iter().zip(cache) {
            self.layer(layer, &mut x, (past, &runs), cache, Some(place), &mut lent)?;
        }
        self.logits(x)
    }

    /// How many layers have to read prompts as a whole: all but the last one, of which the last position is enough unless it uses
    /// maps that others compute.
    pub fn reading_layers(&self) -> usize {
        let borrows = |layer: &StepLayer| layer.attention.as_ref().is_some_and(StepAttention::borrows);
        self.layers.len() - usize::from(self.layers.last().is_some_and(|layer| !borrows(layer)))
    }

    /// What is left to do after [`Self::reading_layers`] for the last position of every prompt, whose stream is `x`: the logits of
    /// what follows.
    ///
    /// # Shapes
    /// `x` `[sources, d]`; result `[sources, v]`.
    ///
    /// # Errors
    /// If the cache is another model's.
    pub fn finish(&self, mut x: Vec<f32>, past: &Past, cache: &mut [LayerCache]) -> Result<Vec<f32>> {
        if x.len() != past.rows() * self.width {
            bail!("The last layer was given {} numbers for {} prompts.", x.len(), past.rows())
        }
        for (layer, cache) in self.layers.iter().zip(cache).skip(self.reading_layers()) {
            self.layer(layer, &mut x, (past, &past.runs()), cache, None, &mut Lent::default())?;
        }
        self.logits(x)
    }

    /// One layer, for the rows of `x`. `place` is that of the first among what was written; none where nothing is kept.
    fn layer(
        &self,
        layer: &StepLayer,
        x: &mut [f32],
        (past, runs): (&Past, &[Run]),
        LayerCache { prompt, written, source }: &mut LayerCache,
        place: Option<u32>,
        lent: &mut Lent,
    ) -> Result<()> {
        let maps = match &layer.attention {
            Some(attention) => {
                let attended = Attended { runs, past, shared: prompt.as_ref() };
                let keeps = match (place, written.as_mut()) {
                    (Some(place), Some(written)) => Some((written, place)),
                    (Some(_), None) => bail!("A layer has no room for what it keeps."),
                    (None, _) => None,
                };
                self.sublayer(x, &attention.norm, |x, out| attention.apply(x, out, attended, keeps, &lent.own))?
            }
            None => None,
        };
        lent.own.push(maps);
        let maps = match &layer.cross {
            Some(attention) => {
                let Some(source) = source.as_ref() else { bail!("Cross-attention has nothing to attend to.") };
                let attended = Attended { runs, past, shared: Some(source) };
                self.sublayer(x, &attention.norm, |x, out| {
                    profile::in_cross(|| attention.apply(x, out, attended, None, &lent.cross))
                })?
            }
            None => None,
        };
        lent.cross.push(maps);
        let rows = past.rows();
        self.sublayer(x, &layer.norm, |x, out| {
            let f = layer.inner.outputs();
            let (mut inner, mut active) = (Buffer::<f32>::take(rows * f), Buffer::<f32>::take(rows * f));
            layer.inner.apply(x, rows, &mut inner, 0, f)?;
            let activation: fn(&[f32], &mut [f32]) = match layer.activation {
                Gelu::Exact => kernels::gelu_exact,
                Gelu::Tanh => kernels::gelu_tanh,
            };
            if inner.len() < WORTH_THREADS_PASS {
                activation(&inner, &mut active);
            } else {
                active.par_chunks_mut(f).zip(inner.par_chunks(f)).for_each(|(out, x)| activation(x, out));
            }
            layer.outer.apply(&active, rows, out, 0, self.width)?;
            Ok(None)
        })?;
        Ok(())
    }

    /// From the stream after all layers.
    fn logits(&self, mut x: Vec<f32>) -> Result<Vec<f32>> {
        if let Some(norm) = &self.final_norm {
            let before = x.clone();
            norm.apply(&before, &mut x);
        }
        let (rows, v) = (x.len() / self.width.max(1), self.head.outputs());
        let mut logits = vec![0.0; rows * v];
        self.head.apply(&x, rows, &mut logits, 0, v)?;
        Ok(logits)
    }

    fn embed(&self, tokens: &[u32], positions: &[usize]) -> Result<Vec<f32>> {
        let (words, places) = (Reading::of(&self.words), Reading::of(&self.positions));
        let (words, places) = (words.slice::<f32>()?, places.slice::<f32>()?);
        let mut x = Vec::with_capacity(tokens.len() * self.width);
        for (&token, &position) in tokens.iter().zip(positions) {
            let row =
                |table: &'_ [f32], row: usize| table.get(row * self.width..(row + 1) * self.width).map(<[f32]>::to_vec);
            let (Some(mut word), Some(place)) = (row(words, token as usize), row(places, position)) else {
                bail!("There is no token {token} or no position {position} in the tables of the model.")
            };
            add_assign(&mut word, &place);
            x.extend(word);
        }
        Ok(x)
    }

    /// Norm first: `x + f(norm(x))`. Norm last: `norm(x + f(x))`.
    fn sublayer(
        &self,
        x: &mut [f32],
        norm: &StepNorm,
        f: impl FnOnce(&[f32], &mut [f32]) -> Result<Option<StepMaps>>,
    ) -> Result<Option<StepMaps>> {
        let mut out = Buffer::<f32>::take(x.len());
        match self.norm_at {
            NormAt::First => {
                let mut normed = Buffer::<f32>::take(x.len());
                norm.apply(x, &mut normed);
                let maps = f(&normed, &mut out)?;
                add_assign(x, &out);
                Ok(maps)
            }
            NormAt::Last => {
                let maps = f(x, &mut out)?;
                add_assign(&mut out, x);
                norm.apply(&out, x);
                Ok(maps)
            }
        }
    }
}
