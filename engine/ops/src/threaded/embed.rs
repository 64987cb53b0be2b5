//! The sum of rows of several tables, normalised and dropped out: what a model starts with.

use super::affine::{NormSlots, Slot};
use super::buffer::{Buffer, Pooled};
use super::embedding::scatter_add;
use super::rows::{NormWeights, Slab, for_each_row};
use crate::kernels::{self, DropoutMask, part};

/// Tables with the rows that are taken of each, one for every position.
#[derive(Clone, Debug)]
pub struct Embed<'a, T> {
    /// Tables of `width` columns, and ids below their rows. At least one; all with the same number of ids.
    pub tables: Vec<(&'a [T], &'a [u32])>,
    /// Columns.
    pub width: usize,
    /// What comes after the sum.
    pub norm: Option<NormWeights<'a, T>>,
    /// What is dropped last.
    pub dropout: Option<DropoutMask>,
}

/// What the backward pass needs.
#[derive(Debug)]
pub struct EmbedState<T: Pooled> {
    sum: Option<Buffer<T>>,
}

impl<T: Pooled> Embed<'_, T> {
    fn positions(&self) -> usize {
        self.tables.first().map_or(0, |(_, ids)| ids.len())
    }

    fn write_sum(&self, position: usize, row: &mut [T]) {
        for (index, (table, ids)) in self.tables.iter().enumerate() {
            let from = part(table, ids[position] as usize * self.width, self.width);
            if index == 0 {
                row.copy_from_slice(from);
            } else {
                kernels::add_assign(row, from);
            }
        }
    }

    /// Fails unless every position has a row in each table.
    fn check(&self) {
        for (number, (table, ids)) in self.tables.iter().enumerate() {
            assert_eq!(ids.len(), self.positions(), "ids of embedding table {number}");
            let rows = table.len() / self.width.max(1);
            assert!(ids.iter().all(|id| (*id as usize) < rows), "ids of embedding table {number}: below {rows}");
        }
        if let Some(norm) = &self.norm {
            norm.check("the embeddings", self.width);
        }
    }

    /// The rows, and what the backward pass needs.
    pub fn forward(&self) -> (Vec<T>, EmbedState<T>) {
        self.check();
        let width = self.width;
        let mut y = vec![T::ZERO; self.positions() * width];
        let sum = self.norm.map(|norm| {
            let mut sum = Buffer::take(y.len());
            for_each_row(&mut sum, width, width, |position, row| self.write_sum(position, row));
            norm.write_normalised(Slab::dense(&sum, width), &mut y);
            sum
        });
        for_each_row(&mut y, width, width, |position, row| {
            if sum.is_none() {
                self.write_sum(position, row);
            }
            if let Some(mask) = &self.dropout {
                mask.apply(row, position * width);
            }
        });
        (y, EmbedState { sum })
    }

    /// Adds the gradients of the tables and of the norm.
    pub fn backward(
        &self,
        state: EmbedState<T>,
        dy: &[T],
        tables: &mut [Option<Slot<'_, T>>],
        norm: Option<&mut NormSlots<'_, T>>,
    ) {
        let width = self.width;
        assert_eq!(dy.len(), self.positions() * width, "gradient of the embedded positions");
        assert_eq!(tables.len(), self.tables.len(), "gradients of embedding tables");
        let dy = Slab::dense(dy, width);
        let mut dropped = Buffer::take(self.positions() * width);
        for_each_row(&mut dropped, width, width, |position, row| {
            row.copy_from_slice(dy.row(position));
            if let Some(mask) = &self.dropout {
                mask.apply(row, position * width);
            }
        });
        if let (Some(weights), Some(sum)) = (self.norm, &state.sum) {
            let mut dsum = Buffer::take(dropped.len());
            let gradients = weights.backward(Slab::dense(sum, width), Slab::dense(&dropped, width), None, &mut dsum);
            if let Some(norm) = norm {
                norm.add(&gradients);
            }
            dropped = dsum;
        }
        for (slot, (_, ids)) in tables.iter_mut().zip(&self.tables) {
            if let Some(slot) = slot {
                if !*slot.filled {
                    super::fill(slot.data, T::ZERO);
                    *slot.filled = true;
                }
                scatter_add(slot.data, &dropped, ids, width);
            }
        }
    }
}
