use candle_core::{Result, Tensor, bail};

use super::{
    attention::{Attended, StepAttention, StepAttentionParts, StepMaps},
    map::{StepMap, StepNorm},
    store::{Past, Run, SharedRows, WrittenRows},
};
use crate::ops::{
    Affine, Gelu, Norm, NormAt,
    element::Reading,
    kernels::{self, add_assign},
    profile,
    threaded::Buffer,
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
    /// Puts weights in place.
    ///
    /// # Errors
    /// If they are not in single precision on the processor, or do not fit together.
    pub fn new(parts: &StepStackParts) -> Result<Self> {
        let attention = |parts: &Option<StepAttentionParts>| parts.as_ref().map(StepAttention::new).transpose();
        let norm = |norm: &Option<Norm>| norm.as_ref().map(StepNorm::new).transpose();
        let layer = |layer: &StepLayerParts| {
            Ok(StepLayer {
                attention: attention(&layer.attention)?,
                cross: attention(&layer.cross)?,
                inner: StepMap::new(&layer.feed_forward[0])?,
                outer: StepMap::new(&layer.feed_forward[1])?,
                activation: layer.activation,
                norm: StepNorm::new(&layer.norm)?,
            })
        };
        let head = Affine {
            weight: parts.words.clone(),
            bias: parts.head_bias.clone(),
            orientation: crate::ops::Orientation::OutputsFirst,
        };
        Ok(Self {
            width: parts.words.dim(1)?,
            words: parts.words.detach().contiguous()?,
            positions: parts.positions.detach().contiguous()?,
            head: StepMap::new(&head)?,
            embedding_norm: norm(&parts.embedding_norm)?,
            final_norm: norm(&parts.final_norm)?,
            norm_at: parts.norm_at,
            layers: parts.layers.iter().map(layer).collect::<Result<_>>()?,
        })
    }

    /// Room for what every layer keeps of `tokens` written tokens.
    pub fn written_rows(&self, tokens: usize) -> Vec<Option<WrittenRows>> {
        let room = |layer: &StepLayer| {
            layer.attention.as_ref().map(|attention| WrittenRows::with_room(tokens, attention.kept_width()))
        };
        self.layers.iter().map(room).collect()
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

    /// The last layer for the last position of every prompt, whose stream before that layer is `x`, and the logits of what
    /// follows: all that is left to do where the layers before have read the prompts.
    ///
    /// # Shapes
    /// `x` `[sources, d]`; result `[sources, v]`.
    ///
    /// # Errors
    /// If it borrows maps, or the cache is another model's.
    pub fn finish(&self, mut x: Vec<f32>, past: &Past, cache: &mut [LayerCache]) -> Result<Vec<f32>> {
        let (Some(layer), Some(cache)) = (self.layers.last(), cache.last_mut()) else { return self.logits(x) };
        if x.len() != past.rows() * self.width {
            bail!("The last layer was given {} numbers for {} prompts.", x.len(), past.rows())
        }
        self.layer(layer, &mut x, (past, &past.runs()), cache, None, &mut Lent::default())?;
        self.logits(x)
    }

    /// Whether the last layer uses maps that others compute.
    pub fn last_layer_borrows(&self) -> bool {
        let attention = self.layers.last().and_then(|layer| layer.attention.as_ref());
        attention.is_some_and(StepAttention::borrows)
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
            match layer.activation {
                Gelu::Exact => kernels::gelu_exact(&inner, &mut active),
                Gelu::Tanh => kernels::gelu_tanh(&inner, &mut active),
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
