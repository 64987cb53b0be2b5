use rayon::prelude::*;

use super::super::{
    buffer::{Buffer, Pooled},
    heads::{Columns, HeadGroup, HeadScores, OwnScores, Side},
    lent::LentGradient,
    rows::Slab,
};
use super::shape::{CoreInput, CoreShape, KeptMaps};
use crate::kernels::{
    Matrix, MatrixMut, add_assign, part, part_mut, product, softmax_gradient_in_place, softmax_row_again,
};

/// Where heads write gradients.
#[derive(Debug)]
pub struct CoreGradients<'a, T: Pooled> {
    /// Of what the projections gave, in columns that heads read.
    pub projected: MatrixMut<'a, T>,
    /// Of what was made of it.
    pub derived: MatrixMut<'a, T>,
    /// Of both of another sequence that is attended to; none in self-attention.
    pub memory: Option<[MatrixMut<'a, T>; 2]>,
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

impl<'a, T> Task<'_, 'a, T> {
    /// The place of a block of columns, and whether to add to it. It counts as filled from now on.
    fn block(&mut self, columns: Columns) -> (MatrixMut<'_, T>, bool) {
        let place = self.group.blocks.iter().zip(&mut self.blocks).find(|(block, _)| **block == columns);
        let Some((_, place)) = place else { unreachable!("a head reads blocks of its group, not {columns:?}") };
        (place.to.lend(), std::mem::replace(&mut place.filled, true))
    }

    /// The place of a map that a head borrows.
    fn lent(&mut self, lender: usize, place: usize) -> &mut Place<&'a mut [T]> {
        let found = self.group.lent.iter().zip(&mut self.lent).find(|(lent, _)| **lent == (lender, place));
        let Some((_, found)) = found else { unreachable!("a head borrows maps of its group, not {place} of {lender}") };
        found
    }
}

impl CoreShape<'_> {
    /// The gradients of what heads read from that of the mixed values. Columns that no head reads are not written.
    pub fn backward<T: Pooled>(
        &self,
        x: &CoreInput<'_, T>,
        kept: &KeptMaps<T>,
        dmixed: Slab<'_, T>,
        gradients: CoreGradients<'_, T>,
    ) {
        if self.batch * self.heads.count() * self.tokens * self.keys == 0 {
            return;
        }
        self.check(x);
        match kept {
            KeptMaps::Whole(maps) => assert_eq!(maps.len(), self.map_elements(), "kept attention maps"),
            KeptMaps::Rows(rows) => {
                let expected = 2 * self.batch * self.heads.computed() * self.tokens;
                assert_eq!(rows.len(), expected, "kept rows of attention maps");
            }
        }
        let CoreGradients { projected, derived, memory, mut lent, own } = gradients;
        let expected = (self.batch * self.tokens, self.heads.count() * self.head_size);
        assert_eq!((dmixed.rows(), dmixed.width()), expected, "gradient of the mixed values of attention");
        assert_eq!(memory.is_some(), x.memory.is_some(), "gradients of what attention is paid to");
        let outputs = Side::ASKING.into_iter().zip([projected, derived]);
        let outputs: Vec<_> = outputs.chain(Side::MEMORY.into_iter().zip(memory.into_iter().flatten())).collect();
        for (side, output) in &outputs {
            let (found, of) = ((output.rows(), output.columns()), x.side(*side));
            assert_eq!(found, (of.rows(), of.width()), "gradient of the {side:?} columns of attention");
        }
        assert_eq!(lent.len(), x.lent.len(), "gradients of lent attention maps");
        let tasks = self.tasks(outputs, &mut lent);
        tasks.into_par_iter().with_max_len(1).for_each(|mut task| {
            for &number in &task.group.heads {
                let head = &self.heads.all()[number];
                let index = task.example * self.heads.count() + number;
                let dmixed = dmixed
                    .matrix()
                    .row_block(task.example * self.tokens, self.tokens)
                    .column_block(number * self.head_size, self.head_size);
                match head.scores {
                    HeadScores::Own(scores) => {
                        self.own_backward(x, (scores, head.value), index, kept, dmixed, own, &mut task);
                    }
                    HeadScores::Lent { lender, place } => {
                        self.lent_backward(x, (lender, place, head.value), index, dmixed, &mut task);
                    }
                }
            }
        });
        for head in self.heads.all() {
            if let HeadScores::Lent { lender, place } = head.scores {
                lent[lender].fill(place);
            }
        }
    }

    /// Cuts the places that gradients go to into tasks.
    fn tasks<'g, 'a, T: Pooled>(
        &'g self,
        outputs: Vec<(Side, MatrixMut<'a, T>)>,
        lent: &'a mut [&mut LentGradient<T>],
    ) -> Vec<Task<'g, 'a, T>> {
        // By example and place in `blocks`.
        let mut blocks: Vec<Vec<Option<MatrixMut<'a, T>>>> = (0..self.batch).map(|_| Vec::new()).collect();
        for (side, mut examples) in outputs {
            for parts in &mut blocks {
                let mut columns;
                (columns, examples) = examples.split_rows(self.rows(side));
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
                let blocks: Vec<_> = places.collect();
                assert_eq!(blocks.len(), group.blocks.len(), "gradients of the columns that heads share");
                let mut lent = Vec::new();
                for (lender, place) in &group.lent {
                    let found = maps.iter().position(|map| (map.0, map.1, map.2) == (*lender, *place, example));
                    lent.extend(found.map(|index| maps.swap_remove(index).3));
                }
                assert_eq!(lent.len(), group.lent.len(), "gradients of the maps that heads borrow");
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
        (OwnScores { query, key, bias, place }, value): (OwnScores, Columns),
        index: usize,
        kept: &KeptMaps<T>,
        dmixed: Matrix<'_, T>,
        borrowers: Option<&LentGradient<T>>,
        task: &mut Task<'_, '_, T>,
    ) {
        let (t, n, example) = (self.tokens, self.keys, task.example);
        let (q, k) = (x.block(self, query, example), x.block(self, key, example));
        let v = x.block(self, value, example);
        let bias_values = bias.map(|bias| x.column(self, bias, example));
        let mut bias_sums = vec![T::ZERO; if bias.is_some() { n } else { 0 }];
        let borrowed = borrowers.and_then(|gradient| gradient.map(example, place));
        let kept_index = example * self.heads.computed() + place;
        let mut scratch = [0; 3].map(|_| Buffer::<T>::take(self.tile() * n));
        let [map_scratch, gradient_scratch, dropped_scratch] = &mut scratch;
        // The last tile sees all keys: it fills the gradients of keys and values, the others add to what they see.
        for (first, count, seen) in self.tiles().rev() {
            let (q, k, v) = (q.row_block(first, count), k.row_block(0, seen), v.row_block(0, seen));
            let dmixed = dmixed.row_block(first, count);
            let map = part_mut(map_scratch, 0, count * seen);
            let gradient = part_mut(gradient_scratch, 0, count * seen);
            let dropped = part_mut(dropped_scratch, 0, count * seen);
            match kept {
                KeptMaps::Whole(maps) => {
                    let maps = part(maps, (kept_index * t + first) * n, count * n);
                    for (map, kept) in map.chunks_exact_mut(seen).zip(maps.chunks_exact(n)) {
                        map.copy_from_slice(part(kept, 0, seen));
                    }
                }
                KeptMaps::Rows(rows) => {
                    product(MatrixMut::new(map, count, seen), q, k.transposed(), false);
                    self.for_rows(map, first, seen, |query, visible, scores| {
                        if let Some(bias) = &bias_values {
                            add_assign(scores, bias);
                        }
                        let row = (kept_index * t + query) * 2;
                        let known = [rows[row], rows[row + 1]];
                        softmax_row_again(scores, T::of(self.scale), visible, self.keys(example), known);
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
            let (mut dv, filled) = task.block(value);
            product(dv.lend_rows(0, seen), mixing.transposed(), dmixed, filled);
            product(MatrixMut::new(gradient, count, seen), dmixed, v.transposed(), false);
            if let Some(mask) = &self.dropout {
                self.drop_out(mask, gradient, index, first, seen);
            }
            if let Some(borrowed) = borrowed {
                for (gradient, borrowed) in gradient.chunks_exact_mut(seen).zip(borrowed.chunks(n).skip(first)) {
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
            let (mut dk, filled) = task.block(key);
            product(dk.lend_rows(0, seen), gradient.transposed(), q, filled);
            // Queries that are keys too are filled by now; others are written tile by tile.
            let is_filled = query == key;
            let (mut dq, _) = task.block(query);
            product(dq.lend_rows(first, count), gradient, k, is_filled);
        }
        if let Some(bias) = bias {
            let (mut dbias, _) = task.block(bias);
            for (row, sum) in bias_sums.iter().enumerate() {
                dbias.lend_rows(row, 1).fill_rows(std::slice::from_ref(sum));
            }
        }
    }

    /// A head that borrows its map: the gradient of its values, and its part of that of the map.
    fn lent_backward<T: Pooled>(
        &self,
        x: &CoreInput<'_, T>,
        (lender, place, value): (usize, usize, Columns),
        index: usize,
        dmixed: Matrix<'_, T>,
        task: &mut Task<'_, '_, T>,
    ) {
        let (n, example) = (self.keys, task.example);
        let v = x.block(self, value, example);
        let map = x.lent_map(self, lender, place, example);
        let mut scratch = self.dropout.map(|_| Buffer::<T>::take(self.tile() * n));
        for (first, count, seen) in self.tiles().rev() {
            let dmixed = dmixed.row_block(first, count);
            let tile = self.lent_tile(map, index, scratch.as_deref_mut(), [first, count, seen]);
            let (mut dv, filled) = task.block(value);
            product(dv.lend_rows(0, seen), tile.transposed(), dmixed, filled);
            let dmap = task.lent(lender, place);
            let rows = part_mut(dmap.to, first * n, count * n);
            let v = v.row_block(0, seen).transposed();
            match (&self.dropout, scratch.as_deref_mut()) {
                (Some(mask), Some(tile)) => {
                    let tile = part_mut(tile, 0, count * seen);
                    product(MatrixMut::new(tile, count, seen), dmixed, v, false);
                    self.drop_out(mask, tile, index, first, seen);
                    for (row, tile) in rows.chunks_exact_mut(n).zip(tile.chunks_exact(seen)) {
                        let row = part_mut(row, 0, seen);
                        if dmap.filled { add_assign(row, tile) } else { row.copy_from_slice(tile) }
                    }
                }
                _ => product(MatrixMut::strided(rows, count, seen, n), dmixed, v, dmap.filled),
            }
        }
        task.lent(lender, place).filled = true;
    }
}
