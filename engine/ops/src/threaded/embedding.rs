//! Rows of a table by their index, and the sum of gradients back into it.

use rayon::prelude::*;

use super::rows_per_chunk;
use crate::kernels::{Real, add_assign, part, part_mut};

/// The rows `ids` of a table with `width` columns.
///
/// # Panics
/// If an id is not below the number of rows.
pub fn embedding<T: Real>(table: &[T], ids: &[u32], width: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; ids.len() * width];
    if width == 0 {
        return out;
    }
    out.par_chunks_mut(width).zip(ids).with_min_len(rows_per_chunk(width)).for_each(|(out, &id)| {
        out.copy_from_slice(part(table, id as usize * width, width));
    });
    out
}

/// The gradient of the table, `rows` by `width`: each row is the sum over the places of its id, first to last.
pub fn embedding_backward<T: Real>(gradient: &[T], ids: &[u32], rows: usize, width: usize) -> Vec<T> {
    let mut table = vec![T::ZERO; rows * width];
    scatter_add(&mut table, gradient, ids, width);
    table
}

/// Adds every row of `gradient` to the row of `table` that its id names, first to last.
///
/// # Panics
/// If the shapes do not fit, or an id is not below the number of rows.
pub fn scatter_add<T: Real>(table: &mut [T], gradient: &[T], ids: &[u32], width: usize) {
    assert_eq!(gradient.len(), ids.len() * width, "gradient of {} embedded ids of width {width}", ids.len());
    if width == 0 {
        return;
    }
    let rows = table.len() / width;
    assert_eq!(table.len(), rows * width, "embedding table: rows of {width}");
    let mut places: Vec<(u32, u32)> = ids.iter().enumerate().map(|(place, &id)| (id, place as u32)).collect();
    places.sort_unstable();
    assert!(places.last().is_none_or(|&(id, _)| (id as usize) < rows), "ids of an embedding table: below {rows}");
    let block = rows_per_chunk(width);
    table.par_chunks_mut(block * width).enumerate().for_each(|(task, table)| {
        let first = task * block;
        let start = places.partition_point(|&(id, _)| (id as usize) < first);
        let end = places.partition_point(|&(id, _)| (id as usize) < first + block);
        for &(id, place) in part(&places, start, end - start) {
            let row = part_mut(table, (id as usize - first) * width, width);
            add_assign(row, part(gradient, place as usize * width, width));
        }
    });
}
