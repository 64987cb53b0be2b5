//! The linear layer: the vendor's product, which adds the bias in 16 bits; otherwise it is added where the product lies.

use candle_core::{Result, Tensor};

use super::{
    buffer::Buffer,
    columns::{add_bias, column_sums},
    device::timed,
};
use crate::tracked::{Backward, tracked2, tracked3};
use crate::{Orientation, profile::Work};

/// See [`crate::linear()`]; shapes were checked by the caller.
///
/// # Errors
/// If the device fails.
pub fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, orientation: Orientation) -> Result<Tensor> {
    let (x, weight) = (x.contiguous()?, weight.contiguous()?);
    let (first, second) = weight.dims2()?;
    let (inputs, outputs, matrix) = match orientation {
        Orientation::InputsFirst => (first, second, weight.clone()),
        Orientation::OutputsFirst => (second, first, weight.t()?),
    };
    let rows = x.elem_count() / inputs;
    let mut shape = x.dims().to_vec();
    shape.pop();
    shape.push(outputs);
    let flat = x.detach().reshape((rows, inputs))?;
    let work = Work::product_of(x.dtype().size_in_bytes(), [rows, inputs, outputs]);
    let sizes = [1, rows, inputs, outputs];
    let bias = bias.map(Tensor::contiguous).transpose()?;
    let y = timed(&flat, "linear map", work, || match &bias {
        Some(bias) => product_with_bias(&flat, &matrix, sizes, shape, bias),
        None => Buffer::product(&flat, &matrix, sizes, shape),
    })?;
    let backward = Linear { sizes: [rows, inputs, outputs], orientation };
    match &bias {
        Some(bias) => tracked3([&x, &weight, bias], y, backward),
        None => tracked2([&x, &weight], y, backward),
    }
}

/// One product, with a bias `[n]` added to every row.
fn product_with_bias(x: &Tensor, y: &Tensor, sizes: [usize; 4], shape: Vec<usize>, bias: &Tensor) -> Result<Buffer> {
    if let Some(product) = Buffer::fused_product_with_bias(x, y, sizes, shape.as_slice(), bias)? {
        return Ok(product);
    }
    let product = Buffer::product(x, y, sizes, shape)?;
    add_bias(&product, product.elem_count(), bias)?;
    Ok(product)
}

struct Linear {
    /// Rows, inputs, outputs.
    sizes: [usize; 3],
    orientation: Orientation,
}

impl Linear {
    fn gradients(&self, x: &Tensor, weight: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let [rows, inputs, outputs] = self.sizes;
        let dy = dy.reshape((rows, outputs))?;
        let matrix = match self.orientation {
            Orientation::InputsFirst => weight.detach().t()?,
            Orientation::OutputsFirst => weight.detach(),
        };
        let work = Work::product_of(x.dtype().size_in_bytes(), self.sizes);
        let dx = || timed(&dy, "linear map, gradient of input", work, || dy.matmul(&matrix)?.reshape(x.shape()));
        let flat = x.detach().reshape((rows, inputs))?;
        let dw = || {
            timed(&dy, "linear map, gradient of weights", work, || match self.orientation {
                Orientation::InputsFirst => flat.t()?.matmul(&dy),
                Orientation::OutputsFirst => dy.t()?.matmul(&flat),
            })
        };
        Ok([x.track_op().then(dx).transpose()?, weight.track_op().then(dw).transpose()?])
    }
}

impl Backward<2> for Linear {
    const NAME: &'static str = "linear";

    fn backward(&self, [x, weight]: [&Tensor; 2], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 2]> {
        self.gradients(x, weight, dy)
    }
}

impl Backward<3> for Linear {
    const NAME: &'static str = "linear with bias";

    fn backward(&self, [x, weight, bias]: [&Tensor; 3], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let [dx, dw] = self.gradients(x, weight, dy)?;
        let db = if bias.track_op() { Some(column_sums(dy, None)?.0) } else { None };
        Ok([dx, dw, db])
    }
}
