//! Heads apart and together: one copy each way.

use candle_core::{DType, Result, Shape, Tensor};

use super::{
    buffer::{Buffer, address},
    device::{passes, run, timed},
    launch::Launch,
};
use crate::tracked::{Backward, tracked1};

/// `[b, t, h*d]` as `[b, h, t, d]`, copied into place.
///
/// # Errors
/// If the device fails.
pub fn split_heads(x: &Tensor, heads: usize) -> Result<Tensor> {
    let x = x.contiguous()?;
    let (b, t, width) = x.dims3()?;
    let swapped = Swapped { batch: b, outer: t, inner: heads, size: width / heads };
    tracked1(&x, swapped.copied(&x, (b, heads, t, width / heads))?, swapped)
}

/// `[b, h, t, d]` as `[b, t, h*d]`, copied into place.
///
/// # Errors
/// If the device fails.
pub fn merge_heads(x: &Tensor) -> Result<Tensor> {
    let x = x.contiguous()?;
    let (b, h, t, d) = x.dims4()?;
    let swapped = Swapped { batch: b, outer: h, inner: t, size: d };
    tracked1(&x, swapped.copied(&x, (b, t, h * d))?, swapped)
}

/// The two middle ones of four dimensions change places.
struct Swapped {
    batch: usize,
    outer: usize,
    inner: usize,
    size: usize,
}

impl Swapped {
    /// `x` `[batch, outer, inner, size]` as `[batch, inner, outer, size]`, called `shape`.
    fn copied(&self, x: &Tensor, shape: impl Into<Shape>) -> Result<Buffer> {
        let Self { batch, outer, inner, size } = *self;
        let y = Buffer::new(x.device(), shape, x.dtype())?;
        // Numbers are moved as they are: eight bytes at a time where a head has whole ones.
        let bytes = size * x.dtype().size_in_bytes();
        let (dtype, size) = if bytes.is_multiple_of(8) && address(x)?.is_multiple_of(8) {
            (DType::F64, bytes / 8)
        } else {
            (x.dtype(), size)
        };
        let count = batch * outer * inner * size;
        let launch = Launch::elements("swap_middle", dtype, count)?
            .with(address(x)?)
            .with(y.address()?)
            .size(outer)
            .size(inner)
            .size(size)
            .size(count);
        timed(x, "attention: heads", passes(x, 2), || run(x.device(), &launch))?;
        Ok(y)
    }
}

impl Backward<1> for Swapped {
    const NAME: &'static str = "heads";

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let Self { batch, outer, inner, size } = *self;
        let back = Self { batch, outer: inner, inner: outer, size };
        Ok([Some(back.copied(dy, x.shape())?.into_tensor())])
    }
}
