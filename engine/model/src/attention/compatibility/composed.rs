use candle_core::{DType, Device, Result, Tensor, bail};

use super::{
    LayerCoverage, LayerHeads, Lenders,
    projected::{self, pair, project},
    scored::{Scored, Scores},
    segment::{Segment, Stretch},
};
use crate::{
    attention::Dropout,
    ops::{
        Affine, BlockDropout, HeadMap, HeadProjections, MapMemory, MaskSpec, PieceWeights, RelativeBias, Rotation,
        attention_core, attention_mix, has_attention_core, has_joint_core, joined, joint_core, masked_softmax,
        merge_heads, narrowed,
        profile::{Work, span},
        rotate, rotate_from,
    },
};

/// The name of the operations between projections and output in profiles, as in the fused stack.
const ATTEND: &str = "attention: scores, softmax, mix";

/// Attention of one layer, composed of small differentiable operations, for every way to score and every reuse.
///
/// `A = softmax(raw / sqrt(d_k))` over the visible keys for heads that compute; heads that borrow have the `A` of
/// another layer. The mixed values `A V` of all attending heads, side by side, go through the output map.
#[derive(Clone, Debug)]
pub struct HeadAttention {
    /// Queries, keys and values.
    pub projections: HeadProjections,
    /// From the mixed heads back to the stream. `[h d_k, d]`
    pub output: Affine,
    /// Where the maps come from.
    pub heads: LayerHeads,
    /// Which pairs are scored.
    pub coverage: LayerCoverage,
    /// What else scores depend on.
    pub pairs: PairScoring,
}

/// What scores depend on beside queries and keys.
#[derive(Clone, Debug)]
pub struct PairScoring {
    /// Whether they are divided by the root of the head size.
    pub is_scaled: bool,
    /// Positions of the two tokens.
    pub positions: PairPositions,
}

impl Default for PairScoring {
    fn default() -> Self {
        Self { is_scaled: true, positions: PairPositions::None }
    }
}

/// Where what is attended to stands, row by row: the first positions of queries and of each segment. One position is that of all
/// rows.
#[derive(Clone, Copy, Debug)]
pub struct PairPlaces<'a> {
    /// Of the queries.
    pub queries: &'a [usize],
    /// Of each segment.
    pub segments: &'a [Vec<usize>],
}

impl PairPlaces<'_> {
    fn first(&self, segment: usize) -> &[usize] {
        self.segments.get(segment).map_or(&[0], Vec::as_slice)
    }
}

/// How scores depend on positions.
#[derive(Clone, Debug)]
pub enum PairPositions {
    /// Not at all.
    None,
    /// Queries and keys are turned by theirs.
    Rotary(Rotation),
    /// A bias for the distance.
    Relative(RelativeBias),
}

/// What an attention layer gives.
#[derive(Clone, Debug)]
pub struct AttentionOutput {
    /// What is added to the residual stream, before dropout. `[b, n, d]`
    pub output: Tensor,
    /// The map of every attending head before dropout, its own or borrowed; rows sum to 1, or are all zero where
    /// nothing is visible. `[b, h, n, m]`
    pub maps: Tensor,
}

impl HeadAttention {
    /// Attends from every position of `x` to every visible one: of `x` itself, or of `memory` (cross-attention).
    /// `site` is the dropout site of the maps; `lenders` are the layers before, and get this one.
    ///
    /// # Shapes
    /// `x` `[b, n, d]`, `memory` `[b, m, d]`.
    ///
    /// # Errors
    /// If a borrowed map is not there or sees other keys, or the shapes do not fit.
    pub fn forward(
        &self,
        x: &Tensor,
        memory: Option<&Tensor>,
        mask: &MaskSpec,
        dropout: &Dropout,
        site: u32,
        lenders: &mut Lenders,
    ) -> Result<AttentionOutput> {
        let scale = self.scale();
        self.forward_scaled(x, memory, mask, dropout, (site, scale), lenders)
    }

    /// What is added to the residual stream, by the attention core; none where that is no single operation, or where maps
    /// are borrowed, lent or not those of all pairs. Maps are nowhere to be seen then.
    ///
    /// # Shapes
    /// `x` `[b, n, d]`, `other` `[b, m, d]`, none = the same; result as `x`.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn forward_in_core(
        &self,
        x: &Tensor,
        other: Option<&Tensor>,
        mask: &MaskSpec,
        drop: Option<&BlockDropout>,
        memory: MapMemory,
        lenders: &mut Lenders,
    ) -> Result<Option<Tensor>> {
        let heads = &self.heads;
        let is_own = heads.computed() > 0 && heads.computed() == heads.attending() && heads.lends_until.is_none();
        let has_bias = matches!(self.pairs.positions, PairPositions::Relative(_));
        if !is_own || has_bias || !matches!(self.coverage, LayerCoverage::Full) || !has_attention_core(x) {
            return Ok(None);
        }
        if other.is_none_or(|other| other.id() == x.id())
            && let Some(mixed) = self.jointly(x, mask, drop)?
        {
            lenders.push(None, mask, None);
            return Ok(Some(self.output_of(&mixed)?));
        }
        let Scored { raw, values } = self.scored(x, other.unwrap_or(x))?;
        let Some([q, k]) = raw.map(Scores::factors).transpose()?.flatten() else { return Ok(None) };
        let scale = self.scale();
        let mixed = merge_heads(&attention_core([&q, &k, &values], scale, mask, drop, memory)?)?; // [b, n, h d_k]
        lenders.push(None, mask, None);
        Ok(Some(self.output_of(&mixed)?))
    }

    /// The mixed heads, by one map and one kernel, where queries, keys and values are outputs of maps and nothing else happens
    /// to them. `[b, n, d]` to `[b, n, h d_k]`
    fn jointly(&self, x: &Tensor, mask: &MaskSpec, drop: Option<&BlockDropout>) -> Result<Option<Tensor>> {
        let size = self.heads.head_size;
        let is_plain = matches!(self.pairs.positions, PairPositions::None);
        let Some(maps) = self.projections.form().plain_maps(size).filter(|_| is_plain) else { return Ok(None) };
        if !has_joint_core(x, size) {
            return Ok(None);
        }
        let qkv = span("attention: queries, keys and values", Work::default(), || {
            let maps = maps.into_iter().map(|map| self.projections.map(map)).collect::<Result<Vec<_>>>()?;
            let joint = Affine::joined(&maps)?;
            joint.map(|joint| joint.forward(x)).transpose()
        })?;
        qkv.map(|qkv| joint_core(&qkv, self.heads.computed(), self.scale(), mask, drop)).transpose()
    }

    /// [`Self::forward`] with scores multiplied by another scale.
    pub(super) fn forward_scaled(
        &self,
        x: &Tensor,
        memory: Option<&Tensor>,
        mask: &MaskSpec,
        dropout: &Dropout,
        (site, scale): (u32, f64),
        lenders: &mut Lenders,
    ) -> Result<AttentionOutput> {
        let scored = self.scored(x, memory.unwrap_or(x))?;
        self.mix(scored, x, mask, dropout, (site, scale), lenders)
    }

    /// What is kept of a sequence that is attended to, one position after the other: those of later positions are put
    /// behind it. As many numbers a token as [`ScoringForm::numbers_per_token`](crate::ops::ScoringForm) says.
    ///
    /// # Shapes
    /// `y` `[b, m, d]`; results `[b, m, _]`.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn kept(&self, y: &Tensor) -> Result<Vec<Tensor>> {
        projected::kept(&self.projections, y)
    }

    /// [`Self::forward`] where what was kept of the sequence that is attended to is all there is of it, and `x` are some
    /// more queries. The mask counts these from the first key on.
    ///
    /// # Errors
    /// As [`Self::forward`]; if `kept` is not what [`Self::kept`] gives.
    pub fn forward_kept(
        &self,
        x: &Tensor,
        kept: &[Tensor],
        mask: &MaskSpec,
        lenders: &mut Lenders,
    ) -> Result<AttentionOutput> {
        self.require_no_pair_positions()?;
        let scale = self.scale();
        let queries = projected::queries(&self.projections, x)?;
        let scored = pair(queries, projected::recalled(&self.projections, kept)?, &self.coverage)?;
        self.mix(scored, x, mask, &Dropout { probability: 0.0, draw: None }, (0, scale), lenders)
    }

    /// [`Self::forward_kept`] over several stretches of positions, one after the other, under one softmax. The mask counts
    /// keys over all of them. The slow reference of decoding with a cache.
    ///
    /// # Errors
    /// As [`Self::forward_kept`]; where not every pair is scored.
    pub fn forward_segments(
        &self,
        x: &Tensor,
        segments: &[Segment<'_>],
        mask: &MaskSpec,
        lenders: &mut Lenders,
    ) -> Result<AttentionOutput> {
        self.require_no_pair_positions()?;
        self.forward_segments_at(x, segments, PairPlaces { queries: &[0], segments: &[] }, mask, lenders)
    }

    /// The same where scores depend on positions, which `places` says.
    ///
    /// # Errors
    /// As [`Self::forward_segments`]; where places are not those of the rows and segments, or a segment is the stream.
    pub fn forward_segments_at(
        &self,
        x: &Tensor,
        segments: &[Segment<'_>],
        places: PairPlaces<'_>,
        mask: &MaskSpec,
        lenders: &mut Lenders,
    ) -> Result<AttentionOutput> {
        if !matches!(self.coverage, LayerCoverage::Full) {
            bail!("A layer that leaves pairs out cannot attend to what was kept.")
        }
        let scale = self.scale();
        let mut queries = projected::queries(&self.projections, x)?; // [b, c, n, w]
        if let PairPositions::Rotary(rotation) = &self.pairs.positions {
            queries = queries.map(|q| rotate_from(&q, rotation, places.queries)).transpose()?;
        }
        let (maps, mixed) = span(ATTEND, Work::default(), || {
            let opened =
                segments.iter().enumerate().map(|(number, segment)| self.opened(*segment, places.first(number)));
            let stretches = opened.collect::<Result<Vec<_>>>()?;
            let raw = match &queries {
                Some(q) => {
                    let raw = stretches.iter().map(|stretch| stretch.scores(q)).collect::<Result<Vec<_>>>()?;
                    let lengths = stretches.iter().map(Stretch::positions).collect::<Result<Vec<_>>>()?;
                    Some(self.biased_at(Tensor::cat(&raw, 3)?, places, &lengths)?) // [b, c, n, m]
                }
                None => None,
            };
            let own = raw.map(|raw| masked_softmax(&raw, scale, mask)).transpose()?;
            let maps = self.gather(own.as_ref(), lenders, mask)?; // [b, h, n, m]
            lenders.push(own.as_ref(), mask, self.heads.lends_until);
            let (mut mixed, mut first) = (None::<Tensor>, 0);
            for stretch in &stretches {
                let count = stretch.positions()?;
                let part = stretch.mix(&maps.narrow(3, first, count)?.contiguous()?)?;
                mixed = Some(match mixed {
                    Some(mixed) => (mixed + part)?,
                    None => part,
                });
                first += count;
            }
            let Some(mixed) = mixed else { bail!("An attention layer has nothing to attend to.") };
            if first != maps.dim(3)? {
                bail!("Maps of {} keys cannot be borrowed for {first} keys.", maps.dim(3)?)
            }
            Ok((maps, mixed))
        })?;
        Ok(AttentionOutput { output: self.output_of(&merge_heads(&mixed)?)?, maps })
    }

    /// A segment whose keys are turned by their positions, where they are.
    fn opened<'a>(&self, segment: Segment<'a>, firsts: &[usize]) -> Result<Stretch<'a>> {
        let mut stretch = segment.open(&self.projections)?;
        if let PairPositions::Rotary(rotation) = &self.pairs.positions {
            let Stretch::Projected(memory) = &mut stretch else {
                bail!("Keys that are turned by their positions cannot be made of the stream by the query.")
            };
            memory.keys = memory.keys.take().map(|k| rotate_from(&k, rotation, firsts)).transpose()?;
        }
        Ok(stretch)
    }

    /// What is added to the residual stream, from the mixed heads. `[b, n, h d_k]` to `[b, n, d]`
    fn output_of(&self, mixed: &Tensor) -> Result<Tensor> {
        span("attention: output", Work::default(), || self.output.forward(mixed))
    }

    fn scored(&self, x: &Tensor, y: &Tensor) -> Result<Scored> {
        let (mut queries, mut memory) = project(&self.projections, x, y)?;
        if let PairPositions::Rotary(rotation) = &self.pairs.positions {
            queries = queries.map(|q| rotate(&q, rotation)).transpose()?;
            memory.keys = memory.keys.map(|k| rotate(&k, rotation)).transpose()?;
        }
        pair(queries, memory, &self.coverage)
    }

    /// What scores are multiplied with before the softmax.
    fn scale(&self) -> f64 {
        if self.pairs.is_scaled { 1.0 / (self.heads.head_size as f64).sqrt() } else { 1.0 }
    }

    /// What is added to scores before they are multiplied: the bias of each pair. `[b, c, n, m]`
    fn biased(&self, raw: Tensor) -> Result<Tensor> {
        let PairPositions::Relative(relative) = &self.pairs.positions else { return Ok(raw) };
        let (_, _, n, m) = raw.dims4()?;
        self.plus(raw, relative.of([n, m])?)
    }

    /// The same of segments of these lengths.
    fn biased_at(&self, raw: Tensor, places: PairPlaces<'_>, lengths: &[usize]) -> Result<Tensor> {
        let PairPositions::Relative(relative) = &self.pairs.positions else { return Ok(raw) };
        let (b, _, n, m) = raw.dims4()?;
        let at = |firsts: &[usize], row: usize| firsts.get(row).or(firsts.first()).copied().unwrap_or(0);
        let of_row = |row: usize| {
            let keys = lengths.iter().enumerate().flat_map(|(number, length)| {
                let first = at(places.first(number), row);
                first..first + length
            });
            (at(places.queries, row), keys.collect::<Vec<_>>())
        };
        let rows: Vec<(usize, Vec<usize>)> = (0..b).map(of_row).collect();
        self.plus(raw, relative.at([n, m], &rows)?)
    }

    /// Scores with the biases of all heads added to those of the heads that compute.
    fn plus(&self, raw: Tensor, bias: Tensor) -> Result<Tensor> {
        let computed = raw.dim(1)?;
        let mut bias = (bias / self.scale())?; // [1, H, n, m]
        if computed != bias.dim(1)? {
            let heads: Vec<u32> = self.heads.computing().map(|place| self.heads.attending[place] as u32).collect();
            bias = bias.index_select(&Tensor::from_vec(heads, computed, raw.device())?, 1)?;
        }
        raw.broadcast_add(&bias)
    }

    /// Refuses what is kept between tokens where scores depend on positions.
    fn require_no_pair_positions(&self) -> Result<()> {
        match self.pairs.positions {
            PairPositions::None => Ok(()),
            PairPositions::Rotary(_) | PairPositions::Relative(_) => {
                bail!("A layer whose scores depend on positions cannot attend to what was kept.")
            }
        }
    }

    fn mix(
        &self,
        Scored { raw, values }: Scored,
        x: &Tensor,
        mask: &MaskSpec,
        dropout: &Dropout,
        (site, scale): (u32, f64),
        lenders: &mut Lenders,
    ) -> Result<AttentionOutput> {
        let (maps, mixed) = span(ATTEND, Work::default(), || {
            let raw = raw.map(|raw| self.biased(self.coverage.used(raw.whole()?)?)).transpose()?;
            let own = raw.map(|raw| masked_softmax(&raw, scale, mask)).transpose()?; // [b, c, n, m]
            let maps = self.gather(own.as_ref(), lenders, mask)?; // [b, h, n, m]
            lenders.push(own.as_ref(), mask, self.heads.lends_until);
            let ((b, _, n, m), (values_b, _, values_m, _)) = (maps.dims4()?, values.dims4()?);
            if (b, n, m) != (values_b, x.dim(1)?, values_m) {
                bail!("Maps of {n} queries and {m} keys cannot be borrowed for {values_m} keys or other queries.")
            }
            let mixed = merge_heads(&attention_mix(&dropout.apply(&maps, site)?, &values)?)?; // [b, n, h d_k]
            Ok((maps, mixed))
        })?;
        Ok(AttentionOutput { output: self.output_of(&mixed)?, maps })
    }

    /// Scores of the heads that compute, before mask and softmax, divided by the root of the head size; none where no
    /// head computes. `x` `[b, n, d]` to `[b, c, n, n]`
    pub fn scores(&self, x: &Tensor) -> Result<Option<Tensor>> {
        let raw = self.scored(x, x)?.raw;
        raw.map(|raw| self.biased(self.coverage.used(raw.whole()?)?)? * self.scale()).transpose()
    }

    /// Scores between two sequences of every pair, neither scaled nor masked; none when no head computes.
    /// `[b, c, n, m]`
    #[cfg(test)]
    pub(super) fn raw_scores(&self, x: &Tensor, y: &Tensor) -> Result<Option<Tensor>> {
        self.scored(x, y)?.raw.map(Scores::whole).transpose()
    }

    /// The maps from the stream to the query and to the key of every head that computes, whose product `W_Q W_Kᵀ` makes
    /// its scores; without biases, in double precision. `[d, r]` each
    ///
    /// # Errors
    /// If the weights cannot be read from their device.
    pub fn head_weights(&self) -> Result<Vec<[Tensor; 2]>> {
        let plain = |tensor: &Tensor| tensor.detach().to_device(&Device::Cpu)?.to_dtype(DType::F64);
        let projections = self.projections.try_map(|(_, weights)| {
            Ok(match weights {
                PieceWeights::Map(map) => {
                    PieceWeights::Map(Affine { weight: plain(&map.weight)?, bias: None, ..map.clone() })
                }
                PieceWeights::Tensor(tensor) => PieceWeights::Tensor(plain(tensor)?),
            })
        })?;
        // Rows of the identity are projected to the rows of the maps.
        let x = Tensor::eye(self.heads.width(), DType::F64, &Device::Cpu)?.unsqueeze(0)?;
        let (queries, memory) = project(&projections, &x, &x)?;
        let Some((queries, keys)) = queries.zip(memory.keys) else { return Ok(Vec::new()) };
        let of_head = |all: &Tensor, head: usize| all.get(0)?.get(head);
        (0..self.heads.computed()).map(|head| Ok([of_head(&queries, head)?, of_head(&keys, head)?])).collect()
    }

    /// The maps of all attending heads side by side: runs of neighbours from one layer are taken at once.
    fn gather(&self, own: Option<&Tensor>, lenders: &Lenders, mask: &MaskSpec) -> Result<Tensor> {
        let mut computed = 0..;
        let sources = self.heads.maps.iter().map(|map| match *map {
            HeadMap::Computed => (None, computed.next().unwrap_or_default()),
            HeadMap::Borrowed { layer, computed } => (Some(layer), computed),
        });
        let mut runs: Vec<(Option<usize>, usize, usize)> = Vec::new();
        for (layer, index) in sources {
            match runs.last_mut() {
                Some((of, first, count)) if *of == layer && *first + *count == index => *count += 1,
                _ => runs.push((layer, index, 1)),
            }
        }
        let take = |&(layer, first, count): &(Option<usize>, usize, usize)| {
            let maps = match (layer, own) {
                (Some(layer), _) => lenders.borrow(layer, mask)?,
                (None, Some(own)) => own,
                (None, None) => bail!("A head that computes has no scores."),
            };
            narrowed(maps, 1, first, count)
        };
        let parts = runs.iter().map(take).collect::<Result<Vec<_>>>()?;
        match parts.as_slice() {
            [] => bail!("A layer without heads has no attention."),
            [all] => Ok(all.clone()),
            parts => joined(parts, 1),
        }
    }

    /// The maps of every head of the layer, zeros for those that do not exist. `[b, h, n, m]` to `[b, H, n, m]`
    ///
    /// # Errors
    /// If the maps are not those of this layer.
    pub fn all_heads(&self, maps: &Tensor) -> Result<Tensor> {
        if self.heads.attending() == self.heads.heads {
            return Ok(maps.clone());
        }
        let nothing = maps.narrow(1, 0, 1)?.zeros_like()?;
        let map = |head: usize| match self.heads.attending.iter().position(|&attending| attending == head) {
            Some(place) => maps.narrow(1, place, 1),
            None => Ok(nothing.clone()),
        };
        Tensor::cat(&(0..self.heads.heads).map(map).collect::<Result<Vec<_>>>()?, 1)
    }
}
