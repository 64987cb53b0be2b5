//! Attention between projections: every head scores, weighs and mixes without a copy of its columns.
//!
//! In two forms: one keeps the maps for the backward pass, the other keeps two numbers a row and computes them again
//! (Dao et al., `FlashAttention`, 2022, without its tiling over keys: a row of scores fits into the cache here). Both
//! give the same bits.

use rayon::prelude::*;

use super::buffer::{Buffer, Pooled};
use super::rows::Slab;
use crate::ops::kernels::{
    DropoutMask, Matrix, MatrixMut, Real, product, softmax_gradient_in_place, softmax_row, softmax_row_again,
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
    /// Heads.
    pub heads: usize,
    /// Columns of a head in queries, keys and values.
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

/// What the backward pass needs of the maps.
#[derive(Debug)]
pub enum KeptMaps<T: Pooled> {
    /// Themselves, from before dropout. `[batch, heads, tokens, tokens]`
    Whole(Buffer<T>),
    /// Shift and factor of every row. `[batch, heads, tokens, 2]`
    Rows(Buffer<T>),
}

/// Queries, keys and values `[batch * tokens, heads * head_size]`, heads side by side.
#[derive(Clone, Copy, Debug)]
pub struct Projected<'a, T> {
    /// Queries.
    pub q: Slab<'a, T>,
    /// Keys.
    pub k: Slab<'a, T>,
    /// Values.
    pub v: Slab<'a, T>,
}

impl CoreShape<'_> {
    /// Elements of all maps.
    pub fn map_elements(&self) -> usize {
        self.batch * self.heads * self.tokens * self.tokens
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

    /// The part of a matrix that belongs to head `index % heads` of example `index / heads`.
    fn head<'a, T: Real>(&self, all: Slab<'a, T>, index: usize) -> Matrix<'a, T> {
        let (example, head) = (index / self.heads, index % self.heads);
        all.matrix().row_block(example * self.tokens, self.tokens).column_block(head * self.head_size, self.head_size)
    }

    fn keys(&self, index: usize) -> Option<&[u8]> {
        let example = index / self.heads;
        self.visible_keys.and_then(|keys| keys.get(example * self.tokens..(example + 1) * self.tokens))
    }

    /// The parts of an output, head by head, example by example.
    fn heads<'a, T>(&self, all: MatrixMut<'a, T>) -> Vec<MatrixMut<'a, T>> {
        let mut parts = Vec::with_capacity(self.batch * self.heads);
        let mut examples = all;
        for _ in 0..self.batch {
            let mut columns;
            (columns, examples) = examples.split_rows(self.tokens);
            for _ in 0..self.heads {
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

    /// The element of the maps at which a query's row starts.
    fn start(&self, index: usize, query: usize) -> usize {
        (index * self.tokens + query) * self.tokens
    }

    /// Drops elements of a tile of maps, `width` keys a row.
    fn drop_out<T: Real>(&self, mask: &DropoutMask, tile: &mut [T], index: usize, first: usize, width: usize) {
        for (query, row) in (first..).zip(tile.chunks_exact_mut(width.max(1))) {
            mask.apply(row, self.start(index, query));
        }
    }

    /// `mixed = softmax(scale q kᵀ) v` head by head, and what the backward pass needs: the maps themselves if
    /// `keep_maps`. Where there will be no backward pass, ask for rows: they cost nothing.
    pub fn forward<T: Pooled>(&self, x: Projected<'_, T>, mixed: MatrixMut<'_, T>, keep_maps: bool) -> KeptMaps<T> {
        let t = self.tokens;
        if self.batch * self.heads * t == 0 {
            return KeptMaps::Rows(Buffer::take(0));
        }
        let mut rows = Buffer::<T>::take(self.batch * self.heads * t * 2);
        let mut maps = Buffer::<T>::take(if keep_maps { self.map_elements() } else { 0 });
        let mut map_parts: Vec<&mut [T]> = maps.chunks_mut(t * t).collect();
        map_parts.resize_with(self.batch * self.heads, Default::default);
        self.heads(mixed)
            .into_par_iter()
            .zip(map_parts)
            .zip(rows.par_chunks_mut(t * 2))
            .enumerate()
            .with_max_len(1)
            .for_each(|(index, ((mut mixed, maps), known))| {
                let (q, k, v) = (self.head(x.q, index), self.head(x.k, index), self.head(x.v, index));
                let keys = self.keys(index);
                let mut scratch = Buffer::<T>::take(self.tile() * t);
                for (first, count, seen) in self.tiles() {
                    let Some(tile) = scratch.get_mut(..count * seen) else { continue };
                    let (q, k, v) = (q.row_block(first, count), k.row_block(0, seen), v.row_block(0, seen));
                    product(MatrixMut::new(tile, count, seen), q, k.transposed(), false);
                    self.for_rows(tile, first, seen, |query, visible, scores| {
                        let row = softmax_row(scores, T::of(self.scale), visible, keys);
                        if let Some(known) = known.get_mut(query * 2..query * 2 + 2) {
                            known.copy_from_slice(&row);
                        }
                    });
                    if keep_maps {
                        let rows = maps.chunks_exact_mut(t).skip(first).zip(tile.chunks_exact(seen.max(1)));
                        for (map, scores) in rows {
                            let (visible, hidden) = map.split_at_mut(seen);
                            visible.copy_from_slice(scores);
                            hidden.fill(T::ZERO);
                        }
                    }
                    if let Some(mask) = &self.dropout {
                        self.drop_out(mask, tile, index, first, seen);
                    }
                    let tile = Matrix::row_major(tile, count, seen);
                    product(mixed.lend_rows(first, count), tile, v, false);
                }
            });
        if keep_maps { KeptMaps::Whole(maps) } else { KeptMaps::Rows(rows) }
    }

    /// The gradients of queries, keys and values from that of the mixed values.
    pub fn backward<T: Pooled>(
        &self,
        x: Projected<'_, T>,
        kept: &KeptMaps<T>,
        dmixed: Slab<'_, T>,
        [dq, dk, dv]: [MatrixMut<'_, T>; 3],
    ) {
        let t = self.tokens;
        if self.batch * self.heads * t == 0 {
            return;
        }
        let outputs = self.heads(dq).into_par_iter().zip(self.heads(dk)).zip(self.heads(dv));
        outputs.enumerate().with_max_len(1).for_each(|(index, ((mut dq, mut dk), mut dv))| {
            let (q, k, v) = (self.head(x.q, index), self.head(x.k, index), self.head(x.v, index));
            let dmixed = self.head(dmixed, index);
            let keys = self.keys(index);
            let mut scratch = [0; 3].map(|_| Buffer::<T>::take(self.tile() * t));
            let [map_scratch, gradient_scratch, dropped_scratch] = &mut scratch;
            // The last tile sees all keys: it writes, the others add to what they see.
            for (number, (first, count, seen)) in self.tiles().rev().enumerate() {
                let accumulate = number > 0;
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
                        let maps = maps.get(self.start(index, first)..).unwrap_or(&[]);
                        for (map, kept) in map.chunks_exact_mut(seen).zip(maps.chunks(t)) {
                            map.copy_from_slice(kept.get(..seen).unwrap_or(&[]));
                        }
                    }
                    KeptMaps::Rows(rows) => {
                        product(MatrixMut::new(map, count, seen), q, k.transposed(), false);
                        self.for_rows(map, first, seen, |query, visible, scores| {
                            let row = (index * t + query) * 2;
                            if let Some(&[shift, factor]) = rows.get(row..row + 2) {
                                softmax_row_again(scores, T::of(self.scale), visible, keys, [shift, factor]);
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
                product(dv.lend_rows(0, seen), mixing.transposed(), dmixed, accumulate);
                product(MatrixMut::new(gradient, count, seen), dmixed, v.transposed(), false);
                if let Some(mask) = &self.dropout {
                    self.drop_out(mask, gradient, index, first, seen);
                }
                for (gradient, map) in gradient.chunks_exact_mut(seen).zip(map.chunks_exact(seen)) {
                    softmax_gradient_in_place(map, gradient, T::of(self.scale));
                }
                let gradient = Matrix::row_major(gradient, count, seen);
                product(dq.lend_rows(first, count), gradient, k, false);
                product(dk.lend_rows(0, seen), gradient.transposed(), q, accumulate);
            }
        });
    }
}
