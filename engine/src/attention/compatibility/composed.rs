use candle_core::{Result, Tensor, bail};

use super::{
    LayerCoverage, LayerHeads, Lenders,
    family::score,
    scored::{Scored, Scores},
};
use crate::{
    attention::Dropout,
    ops::{
        Affine, BlockDropout, HeadMap, HeadProjections, MapMemory, MaskSpec, attention_core, attention_mix,
        has_attention_core, masked_softmax, merge_heads,
    },
};

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
        let scale = 1.0 / (self.heads.head_size as f64).sqrt();
        self.forward_scaled(x, memory, mask, dropout, (site, scale), lenders)
    }

    /// What is added to the residual stream, by the attention core; none where that is no single operation, or where maps
    /// are borrowed, lent or not those of all pairs. Maps are nowhere to be seen then.
    ///
    /// # Shapes
    /// `x` `[b, n, d]`; result the same.
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn forward_in_core(
        &self,
        x: &Tensor,
        mask: &MaskSpec,
        drop: Option<&BlockDropout>,
        memory: MapMemory,
        lenders: &mut Lenders,
    ) -> Result<Option<Tensor>> {
        let heads = &self.heads;
        let is_own = heads.computed() > 0 && heads.computed() == heads.attending() && heads.lends_until.is_none();
        if !is_own || !matches!(self.coverage, LayerCoverage::Full) || !has_attention_core(x) {
            return Ok(None);
        }
        let Scored { raw, values } = score(&self.projections, heads, &self.coverage, x, x)?;
        let Some([q, k]) = raw.map(Scores::factors).transpose()?.flatten() else { return Ok(None) };
        let scale = 1.0 / (heads.head_size as f64).sqrt();
        let mixed = merge_heads(&attention_core([&q, &k, &values], scale, mask, drop, memory)?)?; // [b, n, h d_k]
        lenders.push(None, mask, None);
        Ok(Some(self.output.forward(&mixed)?))
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
        let y = memory.unwrap_or(x);
        let Scored { raw, values } = score(&self.projections, &self.heads, &self.coverage, x, y)?;
        let raw = raw.map(|raw| self.coverage.used(raw.whole()?)).transpose()?;
        let own = raw.map(|raw| masked_softmax(&raw, scale, mask)).transpose()?; // [b, c, n, m]
        let maps = self.gather(own.as_ref(), lenders, mask)?; // [b, h, n, m]
        lenders.push(own.as_ref(), mask, self.heads.lends_until);
        let ((b, _, n, m), (values_b, _, values_m, _)) = (maps.dims4()?, values.dims4()?);
        if (b, n, m) != (values_b, x.dim(1)?, values_m) {
            bail!("Maps of {n} queries and {m} keys cannot be borrowed for {values_m} keys or other queries.")
        }
        let mixed = merge_heads(&attention_mix(&dropout.apply(&maps, site)?, &values)?)?; // [b, n, h d_k]
        Ok(AttentionOutput { output: self.output.forward(&mixed)?, maps })
    }

    /// Scores of the heads that compute, before mask and softmax, divided by the root of the head size; none where no
    /// head computes. `x` `[b, n, d]` to `[b, c, n, n]`
    pub fn scores(&self, x: &Tensor) -> Result<Option<Tensor>> {
        let scale = 1.0 / (self.heads.head_size as f64).sqrt();
        let raw = score(&self.projections, &self.heads, &self.coverage, x, x)?.raw;
        raw.map(|raw| self.coverage.used(raw.whole()?)? * scale).transpose()
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
            maps.narrow(1, first, count)
        };
        let parts = runs.iter().map(take).collect::<Result<Vec<_>>>()?;
        match parts.as_slice() {
            [] => bail!("A layer without heads has no attention."),
            [all] => Ok(all.clone()),
            parts => Tensor::cat(parts, 1),
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
