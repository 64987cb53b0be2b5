//! The Gaussian error linear unit, with the bias before it.

use candle_core::{Result, Tensor};

use super::{
    buffer::{Buffer, address},
    columns::column_sums,
    device::{passes, run, timed},
    launch::Launch,
};
use crate::Gelu;
use crate::tracked::{Backward, tracked1, tracked2};

/// `gelu(x + bias)`, see [`crate::gelu()`].
///
/// # Shapes
/// `x` `[.., width]`, `bias` `[width]`.
///
/// # Errors
/// If the device fails.
pub fn gelu(x: &Tensor, bias: Option<&Tensor>, kind: Gelu) -> Result<Tensor> {
    let x = x.contiguous()?;
    match bias {
        Some(bias) => {
            let bias = bias.contiguous()?;
            let y = launched(&x, Some(&bias), None, kind)?;
            tracked2([&x, &bias], y, Unit(kind))
        }
        None => tracked1(&x, launched(&x, None, None, kind)?, Unit(kind)),
    }
}

/// The unit, or with `dy` the gradient of its input.
fn launched(x: &Tensor, bias: Option<&Tensor>, dy: Option<&Tensor>, kind: Gelu) -> Result<Buffer> {
    let count = x.elem_count();
    let y = Buffer::new(x.device(), x.shape(), x.dtype())?;
    let launch = Launch::eights("gelu", x.dtype(), count)?
        .with(address(x)?)
        .with(bias.map_or(Ok(0), address)?)
        .with(dy.map_or(Ok(0), address)?)
        .with(y.address()?)
        .size(count)
        .size(bias.map_or(1, Tensor::elem_count))
        .with(u64::from(kind == Gelu::Tanh));
    let name = if dy.is_some() { "GELU, gradient" } else { "GELU" };
    timed(x, name, passes(x, 2 + usize::from(dy.is_some())), || run(x.device(), &launch))?;
    Ok(y)
}

struct Unit(Gelu);

impl Backward<1> for Unit {
    const NAME: &'static str = "gelu";

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        Ok([Some(launched(x, None, Some(dy), self.0)?.into_tensor())])
    }
}

impl Backward<2> for Unit {
    const NAME: &'static str = "bias and gelu";

    fn backward(&self, [x, bias]: [&Tensor; 2], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let dx = launched(x, Some(bias), Some(dy), self.0)?.into_tensor();
        let db = if bias.track_op() { Some(column_sums(&dx, None)?.0) } else { None };
        Ok([Some(dx), db])
    }
}
