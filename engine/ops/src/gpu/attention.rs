//! The attention core, from queries, keys and values to mixed values, as one operation.

use candle_core::{D, Result, Tensor, bail};

use super::{
    buffer::{Buffer, address},
    device::{passes, run, timed},
    dropout::launched,
    flash::{self, CoreMask},
    launch::{Launch, wide},
    softmax::{Rows, probabilities, score_gradient},
};
use crate::tracked::{Backward, tracked3};
use crate::{MaskSpec, kernels::DropoutMask, profile::Work};

/// Elements of the scores that are there at once where maps are computed again.
const ELEMENTS_AT_ONCE: usize = 1 << 26;
/// Queries of a chunk come in multiples of this.
const CHUNK: usize = 64;

/// What is kept of the maps for the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreMemory {
    /// The maps.
    Keep,
    /// Nothing: they are computed again, for so many queries at a time; none = as many as fit into 64 Mi scores. Scores
    /// are never there as a whole, and keys that no query of a chunk may see are left out.
    Recompute(Option<usize>),
}

/// `dropout(softmax(scale q kᵀ)) v` of every head over the visible keys.
///
/// # Shapes
/// `q` `[b, h, t, d]`, `k` `[b, h, s, d]`, `v` `[b, h, s, d']`; result `[b, h, t, d']`.
///
/// # Errors
/// If the device fails.
pub fn attention_core([q, k, v]: [&Tensor; 3], with: CoreMask, memory: CoreMemory) -> Result<Tensor> {
    let (q, k, v) = (q.contiguous()?, k.contiguous()?, v.contiguous()?);
    let ((b, h, t, _), s) = (q.dims4()?, k.dim(2)?);
    let mask = MaskSpec { keys: with.mask.keys.as_ref().map(Tensor::contiguous).transpose()?, ..with.mask };
    let with = CoreMask { mask, ..with };
    if flash::is_for([&q, &k, &v])? {
        return flash::attention_core([&q, &k, &v], with);
    }
    let queries = match memory {
        CoreMemory::Keep => t,
        CoreMemory::Recompute(Some(queries)) => queries.clamp(1, t),
        CoreMemory::Recompute(None) => (ELEMENTS_AT_ONCE / (b * h * s) / CHUNK * CHUNK).clamp(CHUNK.min(t), t),
    };
    let mut core = Core { with, queries, rows: Rows::all(h, t, s), maps: None };
    let mut parts = Vec::new();
    for rows in core.chunks() {
        let scores = scores(&q, &k, rows)?;
        let dropped = match memory {
            CoreMemory::Keep => {
                let maps = core.probabilities(&scores, rows, None)?;
                let dropped = match &core.with.dropout {
                    Some(mask) => launched(None, &maps, Some(mask))?.into_tensor(),
                    None => maps.clone(),
                };
                core.maps = Some(maps);
                dropped
            }
            CoreMemory::Recompute(_) => core.probabilities(&scores, rows, core.with.dropout.as_ref())?,
        };
        let values = v.detach().narrow(2, 0, rows.keys)?;
        let sizes = [b * h, rows.queries, rows.keys, v.dim(D::Minus1)?];
        let work = Work::product_of(q.dtype().size_in_bytes(), [sizes[1], sizes[2], sizes[3]]).times(b * h);
        let shape = (b, h, rows.queries, sizes[3]);
        parts.push(timed(&q, "attention: mix", work, || Buffer::product(&dropped, &values, sizes, shape))?);
    }
    let result = match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            let parts: Vec<Tensor> = parts.into_iter().chain(last).map(Buffer::into_tensor).collect();
            // A copy into one piece of memory.
            launched(None, &Tensor::cat(&parts, 2)?.contiguous()?, None)?
        }
    };
    tracked3([&q, &k, &v], result, core)
}

/// `[b, h, queries, keys]`
fn scores(q: &Tensor, k: &Tensor, rows: Rows) -> Result<Tensor> {
    let (b, h, _, d) = q.dims4()?;
    let q = q.detach().narrow(2, rows.first_query, rows.queries)?;
    let k = k.detach().narrow(2, 0, rows.keys)?.t()?;
    let sizes = [b * h, rows.queries, d, rows.keys];
    let work = Work::product_of(q.dtype().size_in_bytes(), [rows.queries, d, rows.keys]).times(b * h);
    let shape = (b, h, rows.queries, rows.keys);
    timed(&q, "attention: scores", work, || Ok(Buffer::product(&q, &k, sizes, shape)?.into_tensor()))
}

/// A product of the backward pass.
fn multiplied(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let ((b, h, rows, inner), columns) = (x.dims4()?, y.dim(D::Minus1)?);
    let work = Work::product_of(x.dtype().size_in_bytes(), [rows, inner, columns]).times(b * h);
    timed(x, "attention: products, gradient", work, || x.matmul(y))
}

struct Core {
    with: CoreMask,
    /// Queries at a time.
    queries: usize,
    /// All of them.
    rows: Rows,
    /// The maps before dropout, where they are kept. `[b, h, t, s]`
    maps: Option<Tensor>,
}

impl Core {
    /// Some queries at a time, with the keys that they may see.
    fn chunks(&self) -> Vec<Rows> {
        let Rows { all_queries, all_keys, .. } = self.rows;
        let firsts = (0..all_queries).step_by(self.queries);
        let chunk = |first_query: usize| {
            let queries = self.queries.min(all_queries - first_query);
            let seen = (first_query + queries + all_keys).saturating_sub(all_queries).clamp(1, all_keys);
            let keys = if self.with.mask.causal && self.queries < all_queries { seen } else { all_keys };
            Rows { queries, keys, first_query, ..self.rows }
        };
        firsts.map(chunk).collect()
    }

    fn probabilities(&self, scores: &Tensor, rows: Rows, dropout: Option<&DropoutMask>) -> Result<Tensor> {
        let mask = (self.with.mask.causal, self.with.mask.keys.as_ref());
        Ok(probabilities(scores, self.with.scale, mask, rows, dropout)?.into_tensor())
    }

    /// The maps before and after dropout.
    fn maps(&self, q: &Tensor, k: &Tensor, rows: Rows) -> Result<(Tensor, Tensor)> {
        let dropout = self.with.dropout.as_ref();
        if let Some(maps) = &self.maps {
            let dropped = match dropout {
                Some(_) => launched(None, maps, dropout)?.into_tensor(),
                None => maps.clone(),
            };
            return Ok((maps.clone(), dropped));
        }
        let scores = scores(q, k, rows)?;
        let maps = self.probabilities(&scores, rows, None)?;
        let dropped = match dropout {
            Some(_) => self.probabilities(&scores, rows, dropout)?,
            None => maps.clone(),
        };
        Ok((maps, dropped))
    }
}

/// The sum of parts of one gradient, each of the first keys; the first part is of all of them. Parts of 16 bits are added
/// up in 32.
struct Sum {
    total: Option<Buffer>,
    keys: usize,
}

impl Sum {
    fn add(&mut self, part: &Tensor) -> Result<()> {
        let (b, h, keys, width) = part.dims4()?;
        let is_first = self.total.is_none();
        let total = match self.total.take() {
            Some(total) => total,
            None if keys == self.keys => Buffer::new(part.device(), (b, h, keys, width), wide(part.dtype()))?,
            None => bail!("The first part of a gradient must be of all keys."),
        };
        let launch = Launch::elements("add_keys", part.dtype(), part.elem_count())?
            .with(address(part)?)
            .with(total.address()?)
            .size(keys * width)
            .size(self.keys * width)
            .size(part.elem_count())
            .with(u64::from(is_first));
        timed(part, "attention: sums over chunks", passes(part, 3), || run(part.device(), &launch))?;
        self.total = Some(total);
        Ok(())
    }

    fn finish(self, like: &Tensor) -> Result<Option<Tensor>> {
        self.total.map(|total| total.into_tensor().to_dtype(like.dtype())).transpose()
    }
}

impl Backward<3> for Core {
    const NAME: &'static str = "attention core";

    fn backward(&self, [q, k, v]: [&Tensor; 3], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let (all_q, all_k, all_v) = (q.detach(), k.detach(), v.detach());
        let mut dq = Vec::new();
        let sum = || Sum { total: None, keys: self.rows.all_keys };
        let (mut dk, mut dv) = (sum(), sum());
        // The last queries see all keys.
        for rows in self.chunks().into_iter().rev() {
            let (maps, dropped) = self.maps(q, k, rows)?;
            let dy = dy.narrow(2, rows.first_query, rows.queries)?;
            if v.track_op() {
                dv.add(&multiplied(&dropped.transpose(2, 3)?, &dy)?)?;
            }
            drop(dropped);
            let gradient = multiplied(&dy, &all_v.narrow(2, 0, rows.keys)?.t()?)?;
            let gradient = score_gradient(&maps, &gradient, self.with.scale, rows, self.with.dropout.as_ref())?;
            let gradient = gradient.into_tensor();
            if q.track_op() {
                dq.push(multiplied(&gradient, &all_k.narrow(2, 0, rows.keys)?)?);
            }
            if k.track_op() {
                let q = all_q.narrow(2, rows.first_query, rows.queries)?;
                dk.add(&multiplied(&gradient.transpose(2, 3)?, &q)?)?;
            }
        }
        dq.reverse();
        let dq = if dq.is_empty() { None } else { Some(Tensor::cat(&dq, 2)?.contiguous()?) };
        Ok([dq, dk.finish(k)?, dv.finish(v)?])
    }
}
