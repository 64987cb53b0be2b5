//! Attention between projections: every head scores, weighs and mixes without a copy of its columns.
//!
//! In two forms: one keeps the maps for the backward pass, the other keeps two numbers a row and computes them again
//! (Dao et al., `FlashAttention`, 2022, without its tiling over keys: a row of scores fits into the cache here). Both
//! give the same bits. A head that borrows its map has neither: it reads the map that its lender kept, and adds to the
//! gradient of that.

use rayon::prelude::*;

use super::buffer::{Buffer, Pooled};
use super::heads::{Columns, CoreHead, CoreHeads, HeadGroup, HeadScores, Side};
use super::lent::{LentGradient, LentMaps};
use super::rows::Slab;
use crate::ops::kernels::{
    DropoutMask, Matrix, MatrixMut, Real, add_assign, product, softmax_gradient_in_place, softmax_row,
    softmax_row_again,
};

/// Queries that are worked on together: their scores stay in the cache, and hidden keys of all of them are left out.
const MOST_QUERIES: usize = 128;
/// The same where a query sees only what stands before it and a sequence is short.
const MOST_CAUSAL_QUERIES: usize = 64;
/// Scores that fit into the cache of one core.
const MOST_SCORES: usize = 128 * 1024;

/// Sizes, mask and scale of a self-attention.
#[derive(Clone, Copy, Debug)]
pub struct CoreShape<'a> {
    /// Examples.
    pub batch: usize,
    /// Positions of an example: queries and keys alike.
    pub tokens: usize,
    /// The heads that attend.
    pub heads: &'a CoreHeads,
    /// Columns of a head's values.
    pub head_size: usize,
    /// What scores are multiplied with.
    pub scale: f64,
    /// Whether key `j` is hidden from query `i` where `j > i`.
    pub causal: bool,
    /// `[batch, tokens]`: zero where a key is hidden from every query.
    pub visible_keys: Option<&'a [u8]>,
    /// What is dropped from the maps, as elements of `[batch, heads, tokens, tokens]`.
    pub dropout: Option<DropoutMask>,
}

/// What the backward pass needs of the maps that heads computed.
#[derive(Debug)]
pub enum KeptMaps<T: Pooled> {
    /// Themselves, from before dropout. `[batch, computed, tokens, tokens]`
    Whole(Buffer<T>),
    /// Shift and factor of every row. `[batch, computed, tokens, 2]`
    Rows(Buffer<T>),
}

impl<T: Pooled> KeptMaps<T> {
    /// The maps, if they were kept, of so many heads that compute.
    pub fn whole(&self, computed: usize) -> Option<LentMaps<'_, T>> {
        match self {
            Self::Whole(maps) => Some(LentMaps { maps, computed }),
            Self::Rows(_) => None,
        }
    }
}

/// What heads read.
#[derive(Clone, Debug)]
pub struct CoreInput<'a, T> {
    /// What the projections gave.
    pub projected: Slab<'a, T>,
    /// What was made of it.
    pub derived: Slab<'a, T>,
    /// The maps of each layer that lends.
    pub lent: Vec<LentMaps<'a, T>>,
}

/// Where heads write gradients.
#[derive(Debug)]
pub struct CoreGradients<'a, T: Pooled> {
    /// Of what the projections gave, in columns that heads read.
    pub projected: MatrixMut<'a, T>,
    /// Of what was made of it.
    pub derived: MatrixMut<'a, T>,
    /// Of the maps of each layer that lends.
    pub lent: Vec<&'a mut LentGradient<T>>,
    /// Of the maps that this layer lends: what the borrowers added.
    pub own: Option<&'a LentGradient<T>>,
}

/// The heads of one example whose gradients meet, with the places these go to.
struct Task<'g, 'a, T> {
    example: usize,
    group: &'g HeadGroup,
    blocks: Vec<Place<MatrixMut<'a, T>>>,
    lent: Vec<Place<&'a mut [T]>>,
}

/// Where a gradient goes, and whether something is in it.
struct Place<P> {
    to: P,
    filled: bool,
}

impl<T> Task<'_, '_, T> {
    /// The place of a block of columns, and whether to add to it. It counts as filled from now on.
    fn block(&mut self, columns: Columns) -> Option<(MatrixMut<'_, T>, bool)> {
        let index = self.group.blocks.iter().position(|block| *block == columns)?;
        let place = self.blocks.get_mut(index)?;
        Some((place.to.lend(), std::mem::replace(&mut place.filled, true)))
    }
}

impl<T: Real> CoreInput<'_, T> {
    fn block(&self, shape: &CoreShape<'_>, columns: Columns, example: usize) -> Matrix<'_, T> {
        let side = match columns.side {
            Side::Projected => self.projected,
            Side::Derived => self.derived,
        };
        side.matrix().row_block(example * shape.tokens, shape.tokens).column_block(columns.first, columns.count)
    }

    /// A block of one column, gathered.
    fn column(&self, shape: &CoreShape<'_>, columns: Columns, example: usize) -> Vec<T> {
        let side = match columns.side {
            Side::Projected => self.projected,
            Side::Derived => self.derived,
        };
        let rows = example * shape.tokens..(example + 1) * shape.tokens;
        rows.filter_map(|row| side.row(row).get(columns.first)).copied().collect()
    }
}

impl CoreShape<'_> {
    /// Elements of all maps that heads compute.
    pub fn map_elements(&self) -> usize {
        self.batch * self.heads.computed() * self.tokens * self.tokens
    }

    fn tile(&self) -> usize {
        let most = if self.causal && self.tokens <= 256 { MOST_CAUSAL_QUERIES } else { MOST_QUERIES };
        most.min((MOST_SCORES / self.tokens.max(1)).max(16)).min(self.tokens.max(1))
    }

    /// First query, number of queries and number of keys that any of them sees, of each tile.
    fn tiles(&self) -> impl DoubleEndedIterator<Item = (usize, usize, usize)> {
        let (tile, tokens, causal) = (self.tile(), self.tokens, self.causal);
        (0..tokens.div_ceil(tile)).map(move |index| {
            let first = index * tile;
            let count = tile.min(tokens - first);
            (first, count, if causal { first + count } else { tokens })
        })
    }

    fn keys(&self, example: usize) -> Option<&[u8]> {
        self.visible_keys.and_then(|keys| keys.get(example * self.tokens..(example + 1) * self.tokens))
    }

    /// The parts of the mixed values, head by head, example by example.
    fn mixed_parts<'a, T>(&self, all: MatrixMut<'a, T>) -> Vec<MatrixMut<'a, T>> {
        let mut parts = Vec::with_capacity(self.batch * self.heads.count());
        let mut examples = all;
        for _ in 0..self.batch {
            let mut columns;
            (columns, examples) = examples.split_rows(self.tokens);
            for _ in 0..self.heads.count() {
                let part;
                (part, columns) = columns.split_columns(self.head_size);
                parts.push(part);
            }
        }
        parts
    }

    /// Applies `row` to every row of a tile of scores: its number, how many keys it sees, and its scores.
    fn for_rows<T>(&self, scores: &mut [T], first: usize, width: usize, mut row: impl FnMut(usize, usize, &mut [T])) {
        for (query, scores) in (first..).zip(scores.chunks_exact_mut(width.max(1))) {
            row(query, if self.causal { query + 1 } else { self.tokens }, scores);
        }
    }

    /// Drops elements of a tile of the map of head `index % heads` of example `index / heads`, `width` keys a row.
    fn drop_out<T: Real>(&self, mask: &DropoutMask, tile: &mut [T], index: usize, first: usize, width: usize) {
        for (query, row) in (first..).zip(tile.chunks_exact_mut(width.max(1))) {
            mask.apply(row, (index * self.tokens + query) * self.tokens);
        }
    }

    /// `mixed = softmax(scale q kᵀ) v` head by head, and what the backward pass needs: the maps themselves if
    /// `keep_maps`. Where there will be no backward pass, ask for rows: they cost nothing.
    pub fn forward<T: Pooled>(&self, x: &CoreInput<'_, T>, mixed: MatrixMut<'_, T>, keep_maps: bool) -> KeptMaps<T> {
        let (t, computed) = (self.tokens, self.heads.computed());
        let mut rows = Buffer::<T>::take(self.batch * computed * t * 2);
        let mut maps = Buffer::<T>::take(if keep_maps { self.map_elements() } else { 0 });
        if self.batch * self.heads.count() * t > 0 {
            let mut kept_maps = maps.chunks_mut(t * t);
            let mut kept_rows = rows.chunks_mut(2 * t);
            let mut next = |head: &CoreHead| match head.scores {
                HeadScores::Own { .. } => (kept_maps.next().unwrap_or_default(), kept_rows.next().unwrap_or_default()),
                HeadScores::Lent { .. } => Default::default(),
            };
            let examples = (0..self.batch).flat_map(|_| self.heads.all());
            // Places among the heads that compute rise with the heads, so that what is kept lies in this order.
            let tasks: Vec<_> =
                self.mixed_parts(mixed).into_iter().zip(examples.map(|head| (head, next(head)))).collect();
            tasks.into_par_iter().enumerate().with_max_len(1).for_each(|(index, (mixed, (head, kept)))| {
                self.head_forward(x, index, head, mixed, kept);
            });
        }
        if keep_maps { KeptMaps::Whole(maps) } else { KeptMaps::Rows(rows) }
    }

    /// One head of one example; `maps` is empty where the map is not kept.
    fn head_forward<T: Pooled>(
        &self,
        x: &CoreInput<'_, T>,
        index: usize,
        head: &CoreHead,
        mut mixed: MatrixMut<'_, T>,
        (maps, known): (&mut [T], &mut [T]),
    ) {
        let (t, example) = (self.tokens, index / self.heads.count());
        let v = x.block(self, head.value, example);
        match head.scores {
            HeadScores::Own { query, key, bias, .. } => {
                let (q, k) = (x.block(self, query, example), x.block(self, key, example));
                let bias = bias.map(|bias| x.column(self, bias, example));
                let mut scratch = Buffer::<T>::take(self.tile() * t);
                for (first, count, seen) in self.tiles() {
                    let Some(tile) = scratch.get_mut(..count * seen) else { continue };
                    let (q, k, v) = (q.row_block(first, count), k.row_block(0, seen), v.row_block(0, seen));
                    product(MatrixMut::new(tile, count, seen), q, k.transposed(), false);
                    self.for_rows(tile, first, seen, |query, visible, scores| {
                        if let Some(bias) = &bias {
                            add_assign(scores, bias);
                        }
                        let row = softmax_row(scores, T::of(self.scale), visible, self.keys(example));
                        if let Some(known) = known.get_mut(query * 2..query * 2 + 2) {
                            known.copy_from_slice(&row);
                        }
                    });
                    for (map, scores) in maps.chunks_exact_mut(t).skip(first).zip(tile.chunks_exact(seen.max(1))) {
                        let (visible, hidden) = map.split_at_mut(seen);
                        visible.copy_from_slice(scores);
                        hidden.fill(T::ZERO);
                    }
                    if let Some(mask) = &self.dropout {
                        self.drop_out(mask, tile, index, first, seen);
                    }
                    let tile = Matrix::row_major(tile, count, seen);
                    product(mixed.lend_rows(first, count), tile, v, false);
                }
            }
            HeadScores::Lent { lender, place } => {
                let map = x.lent.get(lender).map_or(&[] as &[T], |lent| lent.map(example, place, t * t));
                let mut scratch = self.dropout.map(|_| Buffer::<T>::take(self.tile() * t));
                for (first, count, seen) in self.tiles() {
                    let tile = self.lent_tile(map, index, scratch.as_deref_mut(), [first, count, seen]);
                    product(mixed.lend_rows(first, count), tile, v.row_block(0, seen), false);
                }
            }
        }
    }

    /// A tile of a lent map as values are mixed with: after dropout, for which there is `scratch`.
    fn lent_tile<'a, T: Real>(
        &self,
        map: &'a [T],
        index: usize,
        scratch: Option<&'a mut [T]>,
        [first, count, seen]: [usize; 3],
    ) -> Matrix<'a, T> {
        let t = self.tokens;
        let rows = map.get(first * t..).unwrap_or(&[]);
        let (Some(mask), Some(tile)) = (&self.dropout, scratch.and_then(|tile| tile.get_mut(..count * seen))) else {
            return Matrix::new(rows, count, seen, t, 1);
        };
        for (tile, map) in tile.chunks_exact_mut(seen).zip(rows.chunks(t)) {
            tile.copy_from_slice(map.get(..seen).unwrap_or(&[]));
        }
        self.drop_out(mask, tile, index, first, seen);
        Matrix::row_major(tile, count, seen)
    }

    /// The gradients of what heads read from that of the mixed values. Columns that no head reads are not written.
    pub fn backward<T: Pooled>(
        &self,
        x: &CoreInput<'_, T>,
        kept: &KeptMaps<T>,
        dmixed: Slab<'_, T>,
        gradients: CoreGradients<'_, T>,
    ) {
        if self.batch * self.heads.count() * self.tokens == 0 {
            return;
        }
        let CoreGradients { projected, derived, mut lent, own } = gradients;
        let tasks = self.tasks([projected, derived], &mut lent);
        tasks.into_par_iter().with_max_len(1).for_each(|mut task| {
            for &number in &task.group.heads {
                let Some(head) = self.heads.all().get(number) else { continue };
                let index = task.example * self.heads.count() + number;
                let dmixed = dmixed
                    .matrix()
                    .row_block(task.example * self.tokens, self.tokens)
                    .column_block(number * self.head_size, self.head_size);
                match head.scores {
                    HeadScores::Own { .. } => self.own_backward(x, head, index, kept, dmixed, own, &mut task),
                    HeadScores::Lent { .. } => self.lent_backward(x, head, index, dmixed, &mut task),
                }
            }
        });
        for head in self.heads.all() {
            if let HeadScores::Lent { lender, place } = head.scores
                && let Some(lent) = lent.get_mut(lender)
            {
                lent.fill(place);
            }
        }
    }

    /// Cuts the places that gradients go to into tasks.
    fn tasks<'g, 'a, T: Pooled>(
        &'g self,
        outputs: [MatrixMut<'a, T>; 2],
        lent: &'a mut [&mut LentGradient<T>],
    ) -> Vec<Task<'g, 'a, T>> {
        // By example and place in `blocks`.
        let mut blocks: Vec<Vec<Option<MatrixMut<'a, T>>>> = (0..self.batch).map(|_| Vec::new()).collect();
        for (side, mut examples) in Side::ALL.into_iter().zip(outputs) {
            for parts in &mut blocks {
                let mut columns;
                (columns, examples) = examples.split_rows(self.tokens);
                let mut at = 0;
                for block in self.heads.blocks().iter().filter(|block| block.side == side) {
                    let part;
                    (part, columns) = columns.split_columns(block.first - at).1.split_columns(block.count);
                    at = block.first + block.count;
                    parts.push(Some(part));
                }
            }
        }
        // By lender, place and example.
        let mut maps: Vec<(usize, usize, usize, Place<&'a mut [T]>)> = Vec::new();
        for (lender, gradient) in lent.iter_mut().enumerate() {
            let filled: Vec<usize> = (0..self.heads.count())
                .filter_map(|number| self.lent_place(number, lender))
                .filter(|&place| gradient.is_filled(place))
                .collect();
            for (place, example, to) in gradient.parts() {
                maps.push((lender, place, example, Place { to, filled: filled.contains(&place) }));
            }
        }
        let mut tasks = Vec::with_capacity(self.batch * self.heads.groups().len());
        for (example, parts) in blocks.iter_mut().enumerate() {
            for group in self.heads.groups() {
                let places = group.blocks.iter().filter_map(|columns| {
                    let index = self.heads.blocks().iter().position(|block| block == columns)?;
                    Some(Place { to: parts.get_mut(index)?.take()?, filled: false })
                });
                let blocks = places.collect();
                let mut lent = Vec::new();
                for (lender, place) in &group.lent {
                    let found = maps.iter().position(|map| (map.0, map.1, map.2) == (*lender, *place, example));
                    lent.extend(found.map(|index| maps.swap_remove(index).3));
                }
                tasks.push(Task { example, group, blocks, lent });
            }
        }
        tasks
    }

    /// The place of the map that a head borrows from a lender.
    fn lent_place(&self, number: usize, from: usize) -> Option<usize> {
        match self.heads.all().get(number)?.scores {
            HeadScores::Lent { lender, place } if lender == from => Some(place),
            _ => None,
        }
    }

    /// A head that computes its map.
    #[expect(clippy::too_many_arguments, reason = "one head of one example, cut out of all")]
    fn own_backward<T: Pooled>(
        &self,
        x: &CoreInput<'_, T>,
        head: &CoreHead,
        index: usize,
        kept: &KeptMaps<T>,
        dmixed: Matrix<'_, T>,
        borrowers: Option<&LentGradient<T>>,
        task: &mut Task<'_, '_, T>,
    ) {
        let HeadScores::Own { query, key, bias, place } = head.scores else { return };
        let (t, example) = (self.tokens, task.example);
        let (q, k) = (x.block(self, query, example), x.block(self, key, example));
        let v = x.block(self, head.value, example);
        let bias_values = bias.map(|bias| x.column(self, bias, example));
        let mut bias_sums = vec![T::ZERO; if bias.is_some() { t } else { 0 }];
        let borrowed = borrowers.and_then(|gradient| gradient.map(example, place));
        let kept_index = example * self.heads.computed() + place;
        let mut scratch = [0; 3].map(|_| Buffer::<T>::take(self.tile() * t));
        let [map_scratch, gradient_scratch, dropped_scratch] = &mut scratch;
        // The last tile sees all keys: it fills the gradients of keys and values, the others add to what they see.
        for (first, count, seen) in self.tiles().rev() {
            let (q, k, v) = (q.row_block(first, count), k.row_block(0, seen), v.row_block(0, seen));
            let dmixed = dmixed.row_block(first, count);
            let (Some(map), Some(gradient), Some(dropped)) = (
                map_scratch.get_mut(..count * seen),
                gradient_scratch.get_mut(..count * seen),
                dropped_scratch.get_mut(..count * seen),
            ) else {
                continue;
            };
            match kept {
                KeptMaps::Whole(maps) => {
                    let maps = maps.get((kept_index * t + first) * t..).unwrap_or(&[]);
                    for (map, kept) in map.chunks_exact_mut(seen).zip(maps.chunks(t)) {
                        map.copy_from_slice(kept.get(..seen).unwrap_or(&[]));
                    }
                }
                KeptMaps::Rows(rows) => {
                    product(MatrixMut::new(map, count, seen), q, k.transposed(), false);
                    self.for_rows(map, first, seen, |query, visible, scores| {
                        if let Some(bias) = &bias_values {
                            add_assign(scores, bias);
                        }
                        let row = (kept_index * t + query) * 2;
                        if let Some(&[shift, factor]) = rows.get(row..row + 2) {
                            softmax_row_again(scores, T::of(self.scale), visible, self.keys(example), [shift, factor]);
                        }
                    });
                }
            }
            let mixing = if let Some(mask) = &self.dropout {
                dropped.copy_from_slice(map);
                self.drop_out(mask, dropped, index, first, seen);
                Matrix::row_major(dropped, count, seen)
            } else {
                Matrix::row_major(map, count, seen)
            };
            if let Some((mut dv, filled)) = task.block(head.value) {
                product(dv.lend_rows(0, seen), mixing.transposed(), dmixed, filled);
            }
            product(MatrixMut::new(gradient, count, seen), dmixed, v.transposed(), false);
            if let Some(mask) = &self.dropout {
                self.drop_out(mask, gradient, index, first, seen);
            }
            if let Some(borrowed) = borrowed {
                for (gradient, borrowed) in gradient.chunks_exact_mut(seen).zip(borrowed.chunks(t).skip(first)) {
                    add_assign(gradient, borrowed);
                }
            }
            for (gradient, map) in gradient.chunks_exact_mut(seen).zip(map.chunks_exact(seen)) {
                softmax_gradient_in_place(map, gradient, T::of(self.scale));
                if bias.is_some() {
                    add_assign(&mut bias_sums, gradient);
                }
            }
            let gradient = Matrix::row_major(gradient, count, seen);
            if let Some((mut dk, filled)) = task.block(key) {
                product(dk.lend_rows(0, seen), gradient.transposed(), q, filled);
            }
            // Queries that are keys too are filled by now; others are written tile by tile.
            let is_filled = query == key;
            if let Some((mut dq, _)) = task.block(query) {
                product(dq.lend_rows(first, count), gradient, k, is_filled);
            }
        }
        if let Some((mut dbias, _)) = bias.and_then(|bias| task.block(bias)) {
            for (row, sum) in bias_sums.iter().enumerate() {
                dbias.lend_rows(row, 1).fill_rows(std::slice::from_ref(sum));
            }
        }
    }

    /// A head that borrows its map: the gradient of its values, and its part of that of the map.
    fn lent_backward<T: Pooled>(
        &self,
        x: &CoreInput<'_, T>,
        head: &CoreHead,
        index: usize,
        dmixed: Matrix<'_, T>,
        task: &mut Task<'_, '_, T>,
    ) {
        let HeadScores::Lent { lender, place } = head.scores else { return };
        let (t, example) = (self.tokens, task.example);
        let v = x.block(self, head.value, example);
        let map = x.lent.get(lender).map_or(&[] as &[T], |lent| lent.map(example, place, t * t));
        let mut scratch = self.dropout.map(|_| Buffer::<T>::take(self.tile() * t));
        let lent = task.group.lent.iter().position(|lent| *lent == (lender, place));
        for (first, count, seen) in self.tiles().rev() {
            let dmixed = dmixed.row_block(first, count);
            if let Some((mut dv, filled)) = task.block(head.value) {
                let tile = self.lent_tile(map, index, scratch.as_deref_mut(), [first, count, seen]);
                product(dv.lend_rows(0, seen), tile.transposed(), dmixed, filled);
            }
            let Some(dmap) = lent.and_then(|lent| task.lent.get_mut(lent)) else { continue };
            let Some(rows) = dmap.to.get_mut(first * t..(first + count) * t) else { continue };
            let v = v.row_block(0, seen).transposed();
            match (&self.dropout, scratch.as_deref_mut().and_then(|tile| tile.get_mut(..count * seen))) {
                (Some(mask), Some(tile)) => {
                    product(MatrixMut::new(tile, count, seen), dmixed, v, false);
                    self.drop_out(mask, tile, index, first, seen);
                    for (row, tile) in rows.chunks_exact_mut(t).zip(tile.chunks_exact(seen)) {
                        let Some(row) = row.get_mut(..seen) else { continue };
                        if dmap.filled { add_assign(row, tile) } else { row.copy_from_slice(tile) }
                    }
                }
                _ => product(MatrixMut::strided(rows, count, seen, t), dmixed, v, dmap.filled),
            }
        }
        if let Some(dmap) = lent.and_then(|lent| task.lent.get_mut(lent)) {
            dmap.filled = true;
        }
    }
}
