use std::collections::BTreeMap;

use candle_core::{Result, Tensor, bail};

use super::{
    LayerCoverage,
    scored::{Scored, Scores},
};
use crate::ops::{
    Columns, Derived, HeadProjections, ScoringForm, Source, attention_mix, joined, narrowed,
    profile::{Work, span},
    split_heads,
};

/// What the heads of a layer read of a sequence that is attended to.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// Keys of the heads that compute; none when no head does. `[b, c, m, d]`
    pub keys: Option<Tensor>,
    /// What is added to the scores of each key. `[b, c, m]`
    pub content: Option<Tensor>,
    /// Values of the heads that attend. `[b, h, m, d_k]`
    pub values: Tensor,
}

/// Queries of the heads that compute, of `x`, and what all heads read of `y`. What both need is made once where they are
/// the same sequence.
///
/// # Shapes
/// `x` `[b, n, d]`, `y` `[b, m, d]`; queries `[b, c, n, d]`.
pub(super) fn project(projections: &HeadProjections, x: &Tensor, y: &Tensor) -> Result<(Option<Tensor>, Memory)> {
    let mut of_y = Matrices::new(projections, Some(y));
    let queries = span("attention: queries", Work::default(), || {
        if x.id() == y.id() { of_y.queries() } else { Matrices::new(projections, Some(x)).queries() }
    })?;
    Ok((queries, span("attention: keys and values", Work::default(), || of_y.memory())?))
}

/// Queries of the heads that compute, `[b, n, d]` to `[b, c, n, d_k]`; none when no head does.
pub(super) fn queries(projections: &HeadProjections, x: &Tensor) -> Result<Option<Tensor>> {
    span("attention: queries", Work::default(), || Matrices::new(projections, Some(x)).queries())
}

/// What is kept of a sequence that is attended to: the columns of [`ScoringForm::memory`], joined where they are
/// neighbours. `[b, m, d]` to some `[b, m, _]`
pub(super) fn kept(projections: &HeadProjections, y: &Tensor) -> Result<Vec<Tensor>> {
    let mut of_y = Matrices::new(projections, Some(y));
    span("attention: keys and values", Work::default(), || {
        kept_parts(projections.form()).into_iter().map(|part| of_y.outputs(part)).collect()
    })
}

/// Scores of queries and keys, at the pairs that `coverage` asks for, with the values.
pub(super) fn pair(queries: Option<Tensor>, memory: Memory, coverage: &LayerCoverage) -> Result<Scored> {
    let Memory { keys, content, values } = memory;
    let raw = match (queries, keys) {
        (Some(q), Some(k)) => {
            let scores = Scores::Products { q, k, content };
            // Restored scores come from whole ones: the content is a column more.
            match if coverage.is_partial() { scores.clone().factors()? } else { None } {
                Some([q, k]) => Some(coverage.products(&q, &k)?),
                None => Some(scores),
            }
        }
        (None, None) => None,
        _ => bail!("An attention layer has queries without keys, or keys without queries."),
    };
    Ok(Scored { raw, values })
}

/// What heads read, from what [`kept`] gave of the sequence.
pub(super) fn recalled(projections: &HeadProjections, kept: &[Tensor]) -> Result<Memory> {
    let parts = kept_parts(projections.form());
    if parts.len() != kept.len() {
        bail!("An attention layer keeps {} tensors of what it attends to; it was given {}.", parts.len(), kept.len())
    }
    let outputs = parts.into_iter().zip(kept.iter().cloned()).collect();
    span("attention: keys and values", Work::default(), || {
        Matrices { outputs, ..Matrices::new(projections, None) }.memory()
    })
}

/// The parts of maps of which others than the one who asks read something.
pub(super) fn kept_parts(form: &ScoringForm) -> Vec<Columns> {
    let memory = form.memory();
    form.parts().into_iter().filter(|part| memory.iter().any(|columns| part.overlaps(*columns))).collect()
}

/// The matrices of one sequence, each made once.
struct Matrices<'a> {
    projections: &'a HeadProjections,
    /// `[b, n, d]`; none where only what was kept of it is there.
    sequence: Option<&'a Tensor>,
    parts: Vec<Columns>,
    /// Parts of the outputs of maps. `[b, n, _]`
    outputs: BTreeMap<Columns, Tensor>,
    /// These and what is made of them, in blocks of so many columns. `[b, blocks, n, size]`
    blocks: BTreeMap<(Columns, usize), Tensor>,
}

impl<'a> Matrices<'a> {
    fn new(projections: &'a HeadProjections, sequence: Option<&'a Tensor>) -> Self {
        let (outputs, blocks) = (BTreeMap::new(), BTreeMap::new());
        Self { projections, sequence, parts: projections.form().parts(), outputs, blocks }
    }

    fn queries(&mut self) -> Result<Option<Tensor>> {
        let columns: Vec<Columns> = self.projections.form().scores().map(|scores| scores.query).collect();
        self.of_heads(&columns)
    }

    fn memory(&mut self) -> Result<Memory> {
        let form = self.projections.form();
        let keys: Vec<Columns> = form.scores().map(|scores| scores.key).collect();
        let content: Vec<Columns> = form.scores().filter_map(|scores| scores.content).collect();
        let values: Vec<Columns> = form.heads.iter().map(|head| head.value).collect();
        let keys = match keys.as_slice() {
            // Heads that mix the columns of one query read one key.
            [key, ..] if form.is_mixed() && keys.iter().all(|other| other == key) => {
                let k = self.outputs(self.part(*key)?)?.unsqueeze(1)?; // [b, 1, m, D]
                let (b, _, m, width) = k.dims4()?;
                Some(k.broadcast_as((b, keys.len(), m, width))?)
            }
            keys => self.of_heads(keys)?,
        };
        let content = self.of_heads(&content)?.map(|content| content.squeeze(3)).transpose()?;
        let Some(values) = self.of_heads(&values)? else { bail!("A layer without heads has no attention.") };
        Ok(Memory { keys, content, values })
    }

    /// What each head reads, one after the other. `[b, heads, n, size]`
    fn of_heads(&mut self, columns: &[Columns]) -> Result<Option<Tensor>> {
        let Some(&of_first) = columns.first() else { return Ok(None) };
        let (blocks, first) = self.blocks(of_first)?;
        chosen(&blocks, &columns.iter().map(|of| (of.first - first) / of.count).collect::<Vec<_>>()).map(Some)
    }

    /// The part of a map to which columns belong.
    fn part(&self, columns: Columns) -> Result<Columns> {
        match self.parts.iter().find(|part| part.overlaps(columns)) {
            Some(part) => Ok(*part),
            None => bail!("No head reads {columns:?} of an attention layer."),
        }
    }

    /// A part of the outputs of a map. `[b, n, _]`
    fn outputs(&mut self, part: Columns) -> Result<Tensor> {
        if let Some(known) = self.outputs.get(&part) {
            return Ok(known.clone());
        }
        let (Source::Map(map), Some(x)) = (part.of, self.sequence) else {
            bail!("{part:?} of an attention layer was not kept.")
        };
        let map = self.projections.map(map)?;
        // A part of the weights, not of the output: its gradient is put together over d rows, not b t.
        let outputs = if part.count == map.sizes()?.1 {
            map.forward(x)?
        } else {
            map.outputs(part.first, part.count)?.forward(x)?
        };
        self.outputs.insert(part, outputs.clone());
        Ok(outputs)
    }

    /// All outputs of a map.
    fn all_outputs(&mut self, map: usize) -> Result<Tensor> {
        let part =
            self.part(Columns { of: Source::Map(map), first: 0, count: self.projections.map(map)?.sizes()?.1 })?;
        self.outputs(part)
    }

    /// The blocks of columns among which these are, and where the first starts. `[b, blocks, n, size]`
    fn blocks(&mut self, columns: Columns) -> Result<(Tensor, usize)> {
        let size = columns.count;
        let whole = match columns.of {
            Source::Map(_) => self.part(columns)?,
            Source::Derived(_) => Columns { first: 0, count: 0, ..columns },
        };
        if let Some(known) = self.blocks.get(&(whole, size)) {
            return Ok((known.clone(), whole.first));
        }
        let blocks = match columns.of {
            Source::Map(_) => split_heads(&self.outputs(whole)?, whole.count / size)?,
            Source::Derived(number) => self.derived(number, size)?,
        };
        self.blocks.insert((whole, size), blocks.clone());
        Ok((blocks, whole.first))
    }

    /// A derived matrix in blocks. `[b, blocks, n, size]`
    fn derived(&mut self, number: usize, size: usize) -> Result<Tensor> {
        let projections = self.projections;
        let Some(derived) = projections.form().derived.get(number) else {
            bail!("An attention layer has no derived matrix {number}.")
        };
        match derived {
            Derived::Mapped { of, map } => {
                let map = projections.map(*map)?;
                split_heads(&map.forward(&self.all_outputs(*of)?)?, map.sizes()?.1 / size)
            }
            Derived::Multiplied { of, by } => {
                let (q, _) = self.blocks(Source::Map(*of).block(0, size))?;
                let u = projections.tensor(*by)?;
                let (blocks, rows, columns) = u.dims3()?;
                let u = u.unsqueeze(0)?.broadcast_as((q.dim(0)?, blocks, rows, columns))?;
                attention_mix(&q, &u)
            }
            Derived::Scaled { of, by, blocks } => {
                let first = blocks.first().copied().unwrap_or(0);
                let (all, start) = self.blocks(Source::Map(*of).block(first, size))?;
                let places: Vec<usize> = blocks.iter().map(|block| block - start / size).collect();
                let factors = projections.tensor(*by)?.reshape((1, blocks.len(), 1, size))?;
                chosen(&all, &places)?.broadcast_mul(&factors)
            }
            Derived::Mixed { of, by } => {
                let rows = projections.tensor(*by)?;
                let rows = rows.reshape((1, rows.elem_count() / size, 1, size))?;
                self.all_outputs(*of)?.unsqueeze(1)?.broadcast_mul(&rows)
            }
        }
    }
}

/// Some of the blocks of `x`, which may be named more than once. `[b, blocks, n, d]` to `[b, places, n, d]`
fn chosen(x: &Tensor, places: &[usize]) -> Result<Tensor> {
    if places.iter().copied().eq(0..x.dim(1)?) {
        return Ok(x.clone());
    }
    let blocks = places.iter().map(|&place| narrowed(x, 1, place, 1)).collect::<Result<Vec<_>>>()?;
    joined(&blocks, 1)
}
