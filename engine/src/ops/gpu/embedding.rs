//! Looking up rows of a table.

use candle_core::{Result, Shape, Tensor};

use super::{
    buffer::{Buffer, address},
    device::{passes, run, timed},
    launch::Launch,
    tracked::{Backward, tracked1},
};
use crate::ops::profile::Work;

/// See [`crate::ops::embedding()`]; ids were checked by the caller, `shape` is that of the result.
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

impl Embedding {
    /// The places of all ids in the order of the ids, and where those of each of `rows` ids start.
    fn sorted(&self, rows: usize) -> (Vec<u32>, Vec<u32>) {
        let mut starts = vec![0_u32; rows + 1];
        for &id in &self.ids {
            if let Some(count) = starts.get_mut(id as usize + 1) {
                *count += 1;
            }
        }
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        let mut places: Vec<u32> = (0..self.ids.len() as u32).collect();
        // Stable: the places of an id stay in their order.
        places.sort_by_key(|&place| self.ids.get(place as usize));
        (starts, places)
    }
}

impl Backward<1> for Embedding {
    const NAME: &'static str = "embedding";

    fn backward(&self, [table]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let (rows, width) = table.dims2()?;
        let device = table.device();
        let (starts, places) = self.sorted(rows);
        let starts = Tensor::from_vec(starts, rows + 1, device)?;
        let places = Tensor::from_vec(places, self.ids.len(), device)?;
        let dtable = Buffer::new(device, table.shape(), table.dtype())?;
        let launch = Launch::rows("embedding_gradient", table.dtype(), rows, width)?
            .with(address(dy)?)
            .with(address(&starts)?)
            .with(address(&places)?)
            .with(dtable.address()?)
            .size(width);
        let work = passes(dy, 1) + passes(table, 1);
        timed(dy, "embeddings, gradient", work, || run(device, &launch))?;
        Ok([Some(dtable.into_tensor())])
    }
}
