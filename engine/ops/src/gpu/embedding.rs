//! Looking up rows of a table.

use candle_core::{Result, Shape, Tensor};

use super::{
    buffer::{Buffer, address},
    columns::{COLUMNS_A_BLOCK, row_totals},
    device::{passes, run, timed},
    launch::{Launch, wide},
};
use crate::profile::Work;
use crate::tracked::{Backward, tracked1};

/// See [`crate::embedding()`]; ids were checked by the caller, `shape` is that of the result.
///
/// # Errors
/// If the device fails.
pub fn embedding(table: &Tensor, ids: Vec<u32>, shape: impl Into<Shape>) -> Result<Tensor> {
    let table = table.contiguous()?;
    let (_, width) = table.dims2()?;
    let device = table.device();
    let places = Tensor::from_slice(&ids, ids.len(), device)?;
    let y = Buffer::new(device, shape, table.dtype())?;
    let launch = Launch::rows("embedding", table.dtype(), ids.len(), width)?
        .with(address(&table)?)
        .with(address(&places)?)
        .with(y.address()?)
        .size(width);
    let work = Work::moving(2 * ids.len() * width, table.dtype().size_in_bytes());
    timed(&table, "embeddings", work, || run(device, &launch))?;
    tracked1(&table, y, Embedding { ids })
}

struct Embedding {
    ids: Vec<u32>,
}

/// Places of one row that are summed by one block.
const PLACES_A_PIECE: usize = 256;

/// The places of all rows of a table, cut into pieces.
struct Pieces {
    /// Every place once, row by row.
    places: Vec<u32>,
    /// Where the pieces start among the places, and the end of the last.
    starts: Vec<u32>,
    /// Where the rows start among the pieces, and the end of the last.
    rows: Vec<u32>,
}

impl Pieces {
    fn new(ids: &[u32], rows: usize) -> Self {
        let mut ends = vec![0_u32; rows + 1];
        for &id in ids {
            ends[id as usize + 1] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        let (mut starts, mut rows_of) = (Vec::new(), Vec::with_capacity(rows + 1));
        for &[first, end] in ends.array_windows() {
            rows_of.push(starts.len() as u32);
            starts.extend((first..end).step_by(PLACES_A_PIECE));
        }
        rows_of.push(starts.len() as u32);
        starts.push(ids.len() as u32);
        // The places of an id stay in their order.
        let (mut next, mut places) = (ends, vec![0; ids.len()]);
        for (place, &id) in (0..).zip(ids) {
            let to = &mut next[id as usize];
            places[*to as usize] = place;
            *to += 1;
        }
        Self { places, starts, rows: rows_of }
    }
}

impl Backward<1> for Embedding {
    const NAME: &'static str = "embedding";

    fn backward(&self, [table]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let (rows, width) = table.dims2()?;
        let (device, dtype) = (table.device(), table.dtype());
        let Pieces { places, starts, rows: rows_of } = Pieces::new(&self.ids, rows);
        let pieces = starts.len() - 1;
        let places = Tensor::from_vec(places, self.ids.len(), device)?;
        let starts = Tensor::from_vec(starts, pieces + 1, device)?;
        let rows_of = Tensor::from_vec(rows_of, rows + 1, device)?;
        let sums = Buffer::new(device, (pieces, width), wide(dtype))?;
        let launch = Launch::grid("embedding_pieces", dtype, [pieces, width.div_ceil(COLUMNS_A_BLOCK)])?
            .with(address(dy)?)
            .with(address(&places)?)
            .with(address(&starts)?)
            .with(sums.address()?)
            .size(width);
        let work = passes(dy, 1) + passes(table, 1);
        let dtable = timed(dy, "embeddings, gradient", work, || {
            run(device, &launch)?;
            row_totals(&sums, &rows_of, [rows, width], dtype)
        })?;
        Ok([Some(dtable)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_rows_are_cut_and_absent_ones_have_no_piece() {
        let mut ids = vec![2; 600];
        (ids[0], ids[5]) = (0, 3);
        let Pieces { places, starts, rows } = Pieces::new(&ids, 5);
        assert_eq!(rows, [0, 1, 1, 4, 5, 5]);
        assert_eq!(starts, [0, 1, 257, 513, 599, 600]);
        assert_eq!((places[0], places[599]), (0, 5));
        assert_eq!(places[1..6], [1, 2, 3, 4, 6]);
        let mut sorted = places;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..600));
    }
}
