//! Looking up rows of a table.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor, bail};

use super::composed;
use super::element::{Element, Reading, by_dtype, is_fused, output, slice, tensor};
use super::threaded;

/// The rows of `table` at `ids`. The gradient of a row is the sum over the places of its id, always in the same order.
///
/// # Shapes
/// `table` `[v, d]`, `ids` of any shape and type `u32`; result `[ids.., d]`.
///
/// # Errors
/// If an id is not below `v`, or `ids` has another type.
pub fn embedding(table: &Tensor, ids: &Tensor) -> Result<Tensor> {
    let (rows, width) = table.dims2()?;
    if ids.dtype() != DType::U32 {
        bail!("The ids of an embedding must be of type U32, not {:?}.", ids.dtype())
    }
    let values = ids.flatten_all()?.to_vec1::<u32>()?;
    if let Some((place, id)) = values.iter().enumerate().find(|&(_, &id)| id as usize >= rows) {
        bail!("Id {id} at place {place} is outside of the table, which has {rows} rows.")
    }
    let mut shape = ids.dims().to_vec();
    shape.push(width);
    if !is_fused(table) {
        return composed::embedding(table, ids, &shape);
    }
    table.contiguous()?.apply_op1(Embedding { ids: values.into(), rows, width, shape: shape.into() })
}

struct Embedding {
    ids: Arc<[u32]>,
    rows: usize,
    width: usize,
    shape: Shape,
}

impl Embedding {
    fn forward<T: Element>(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok(output(threaded::embedding::<T>(slice(storage, layout)?, &self.ids, self.width), self.shape.clone()))
    }
}

impl CustomOp1 for Embedding {
    fn name(&self) -> &'static str {
        "embedding"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        match storage {
            CpuStorage::F64(_) => self.forward::<f64>(storage, layout),
            _ => self.forward::<f32>(storage, layout),
        }
    }

    fn bwd(&self, table: &Tensor, _: &Tensor, dy: &Tensor) -> Result<Option<Tensor>> {
        let dy = dy.contiguous()?;
        by_dtype!(table.dtype(), T => {
            let dy_values = Reading::of(&dy);
            let dtable = threaded::embedding_backward::<T>(dy_values.slice()?, &self.ids, self.rows, self.width);
            Ok(Some(tensor(dtable, table.shape())?))
        })
    }
}
