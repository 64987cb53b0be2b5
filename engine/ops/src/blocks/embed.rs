use std::sync::{Mutex, PoisonError};

use candle_core::{Result, Tensor, bail};

use super::open::{BlockDropout, Locked, Number, Opened, check_norm, has_blocks, norm_tensors, taken};
use crate::element::{Reading, by_dtype};
use crate::profile::{Work, span};
use crate::threaded::{Embed, EmbedState};
use crate::tracked::{Backward, Computed, tracked1};
use crate::{Gradients, Norm};

/// Tables whose rows are added up: words, positions, token types.
#[derive(Clone, Debug)]
pub struct EmbedParts {
    /// Tables `[rows, d]`, each with the rows that are taken of it, one for every position of every example. At least
    /// one.
    pub tables: Vec<(Tensor, Vec<u32>)>,
    /// What comes after the sum.
    pub norm: Option<Norm>,
    /// Dropout after that.
    pub dropout: Option<BlockDropout>,
}

/// The stream that a model starts with.
///
/// Gradients of parameters go to `gradients`; without it, nothing is kept for a backward pass.
///
/// # Shapes
/// Result `[b, t, d]`, where every table has `b t` ids.
///
/// # Errors
/// If an id is past its table, or the shapes do not fit.
pub fn embed(parts: EmbedParts, [b, t]: [usize; 2], gradients: Option<&Gradients>) -> Result<Tensor> {
    let Some((first, _)) = parts.tables.first() else { bail!("An embedding needs a table.") };
    let first = first.clone();
    let (_, width) = first.dims2()?;
    for (table, ids) in &parts.tables {
        let (rows, columns) = table.dims2()?;
        if columns != width || ids.len() != b * t || !has_blocks(table) || table.dtype() != first.dtype() {
            bail!(
                "A table of shape {:?} with {} ids does not fit {b} examples of {t} positions of width {width}.",
                table.shape(),
                ids.len()
            )
        }
        if let Some(id) = ids.iter().find(|&&id| id as usize >= rows) {
            bail!("The id {id} is past a table of {rows} rows.")
        }
    }
    if let Some(norm) = &parts.norm {
        check_norm(norm, width)?;
    }
    by_dtype!(first.dtype(), T => {
        let op = EmbedOp::<T> { parts, width, gradients: gradients.cloned(), state: Mutex::new(None) };
        let work = Work::pass::<T>(2 * b * t * width);
        let (y, state) = span("embedding", work, || op.with_embed(|embed| Ok(embed.forward())))?;
        if gradients.is_some() {
            *op.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
        }
        // The table is a variable: that is what makes the result part of the graph. Its gradient goes to the set.
        tracked1(&first.contiguous()?, Computed::values(y, (b, t, width)), op)
    })
}

struct EmbedOp<T: Number> {
    parts: EmbedParts,
    width: usize,
    gradients: Option<Gradients>,
    state: Mutex<Option<EmbedState<T>>>,
}

impl<T: Number> EmbedOp<T> {
    /// In the order in which values and gradients are handed out.
    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.parts.tables.iter().map(|(table, _)| table).chain(self.parts.norm.iter().flat_map(norm_tensors))
    }

    fn with_embed<R>(&self, f: impl FnOnce(&Embed<'_, T>) -> Result<R>) -> Result<R> {
        let opened = Opened::of(self.tensors());
        let mut next = opened.values()?;
        let tables = self.parts.tables.iter().map(|(_, ids)| Ok((next.take()?, ids.as_slice())));
        f(&Embed {
            tables: tables.collect::<Result<_>>()?,
            width: self.width,
            norm: self.parts.norm.as_ref().map(|norm| next.norm(norm)).transpose()?,
            dropout: self.parts.dropout.as_ref().map(BlockDropout::mask).transpose()?,
        })
    }
}

impl<T: Number> Backward<1> for EmbedOp<T> {
    const NAME: &'static str = "embedding block";

    fn backward(&self, _: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let Some(gradients) = &self.gradients else {
            bail!("An embedding without a set of gradients cannot go backward.")
        };
        let state = taken(&self.state)?;
        let dy_values = Reading::of(dy);
        let mut locked = Locked::of(gradients, self.tensors());
        let mut next = locked.slots::<T>();
        let mut slots = self.parts.tables.iter().map(|_| next.take()).collect::<Result<Vec<_>>>()?;
        let mut norm_slots = self.parts.norm.as_ref().map(|_| next.norm()).transpose()?;
        let work = Work::pass::<T>(2 * dy.elem_count());
        span("embedding, gradient", work, || {
            self.with_embed(|embed| {
                embed.backward(state, dy_values.slice()?, &mut slots, norm_slots.as_mut());
                Ok(())
            })
        })?;
        Ok([None])
    }
}
