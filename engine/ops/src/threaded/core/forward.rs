use rayon::prelude::*;

use super::super::{
    buffer::{Buffer, Pooled},
    heads::{CoreHead, HeadScores, OwnScores},
};
use super::shape::{CoreInput, CoreShape, KeptMaps};
use crate::kernels::{Matrix, MatrixMut, Real, add_assign, part, part_mut, product, softmax_row};

impl CoreShape<'_> {
    /// `mixed = softmax(scale q kᵀ) v` head by head, and what the backward pass needs: the maps themselves if
    /// `keep_maps`. Where there will be no backward pass, ask for rows: they cost nothing.
    pub fn forward<T: Pooled>(&self, x: &CoreInput<'_, T>, mixed: MatrixMut<'_, T>, keep_maps: bool) -> KeptMaps<T> {
        self.check(x);
        let (t, computed) = (self.tokens, self.heads.computed());
        let mut rows = Buffer::<T>::take(self.batch * computed * t * 2);
        let mut maps = Buffer::<T>::take(if keep_maps { self.map_elements() } else { 0 });
        if self.batch * self.heads.count() * t * self.keys > 0 {
            let mut kept_maps = maps.chunks_mut(t * self.keys);
            let mut kept_rows = rows.chunks_mut(2 * t);
            // No map where maps are not kept.
            let mut next = |head: &CoreHead| match head.scores {
                HeadScores::Own(_) => (kept_maps.next().unwrap_or_default(), kept_rows.next().unwrap_or_default()),
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
        let (n, example) = (self.keys, index / self.heads.count());
        let v = x.block(self, head.value, example);
        match head.scores {
            HeadScores::Own(OwnScores { query, key, bias, .. }) => {
                let (q, k) = (x.block(self, query, example), x.block(self, key, example));
                let bias = bias.map(|bias| x.column(self, bias, example));
                let mut scratch = Buffer::<T>::take(self.tile() * n);
                for (first, count, seen) in self.tiles() {
                    let tile = part_mut(&mut scratch, 0, count * seen);
                    let (q, k, v) = (q.row_block(first, count), k.row_block(0, seen), v.row_block(0, seen));
                    product(MatrixMut::new(tile, count, seen), q, k.transposed(), false);
                    self.for_rows(tile, first, seen, |query, visible, scores| {
                        if let Some(bias) = &bias {
                            add_assign(scores, bias);
                        }
                        let row = softmax_row(scores, T::of(self.scale), visible, self.keys(example));
                        part_mut(known, query * 2, 2).copy_from_slice(&row);
                    });
                    for (map, scores) in maps.chunks_exact_mut(n).skip(first).zip(tile.chunks_exact(seen.max(1))) {
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
                let map = x.lent_map(self, lender, place, example);
                let mut scratch = self.dropout.map(|_| Buffer::<T>::take(self.tile() * n));
                for (first, count, seen) in self.tiles() {
                    let tile = self.lent_tile(map, index, scratch.as_deref_mut(), [first, count, seen]);
                    product(mixed.lend_rows(first, count), tile, v.row_block(0, seen), false);
                }
            }
        }
    }

    /// A tile of a lent map as values are mixed with: after dropout, for which there is `scratch`.
    pub(super) fn lent_tile<'a, T: Real>(
        &self,
        map: &'a [T],
        index: usize,
        scratch: Option<&'a mut [T]>,
        [first, count, seen]: [usize; 3],
    ) -> Matrix<'a, T> {
        let n = self.keys;
        let rows = map.split_at(first * n).1;
        let (Some(mask), Some(scratch)) = (&self.dropout, scratch) else {
            return Matrix::new(rows, count, seen, n, 1);
        };
        let tile = part_mut(scratch, 0, count * seen);
        for (tile, map) in tile.chunks_exact_mut(seen).zip(rows.chunks(n)) {
            tile.copy_from_slice(part(map, 0, seen));
        }
        self.drop_out(mask, tile, index, first, seen);
        Matrix::row_major(tile, count, seen)
    }
}
