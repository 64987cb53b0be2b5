//! Tensors in other clothes: of another element type, of another shape, a part of one, times a number.

use candle_core::{DType, Result, Shape, Tensor};

use super::{
    buffer::{Buffer, address},
    device::run,
    dropout::launched,
    launch::Launch,
};
use crate::ops::tracked::{Backward, tracked1, tracked2};

/// `x` in another element type.
///
/// # Errors
/// If the device fails.
pub fn cast(x: &Tensor, dtype: DType) -> Result<Tensor> {
    let x = x.contiguous()?;
    tracked1(&x, Buffer::cast(&x, dtype)?, Cast)
}

struct Cast;

impl Backward<1> for Cast {
    const NAME: &'static str = "cast";

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        Ok([Some(dy.to_dtype(x.dtype())?)])
    }
}

/// `x` as another shape of as many numbers: a copy.
///
/// # Errors
/// If the device fails.
pub fn reshaped(x: &Tensor, shape: impl Into<Shape>) -> Result<Tensor> {
    let x = x.contiguous()?;
    tracked1(&x, launched(None, &x.detach().reshape(shape)?, None)?, Reshaped)
}

struct Reshaped;

impl Backward<1> for Reshaped {
    const NAME: &'static str = "reshaped";

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        Ok([Some(dy.reshape(x.shape())?)])
    }
}

/// `count` entries of dimension `dim`, from `first` on: a copy.
///
/// # Errors
/// If the device fails.
pub fn part(x: &Tensor, dim: usize, first: usize, count: usize) -> Result<Tensor> {
    let x = x.contiguous()?;
    let part = Part { dim, first, count };
    let mut dims = x.dims().to_vec();
    if let Some(of_part) = dims.get_mut(dim) {
        *of_part = count;
    }
    tracked1(&x, part.launched("take_part", &x, (dims, x.dim(dim)?))?, part)
}

struct Part {
    dim: usize,
    first: usize,
    count: usize,
}

impl Part {
    /// `x` as a tensor of `dims`, where the whole has `whole` entries.
    fn launched(&self, kernel: &str, x: &Tensor, (dims, whole): (Vec<usize>, usize)) -> Result<Buffer> {
        let y = Buffer::new(x.device(), dims, x.dtype())?;
        self.write(kernel, x, &y, (y.elem_count(), whole))?;
        Ok(y)
    }

    /// The kernel over so many elements.
    fn write(&self, kernel: &str, x: &Tensor, y: &Buffer, (elements, whole): (usize, usize)) -> Result<()> {
        let inner: usize = x.dims().iter().skip(self.dim + 1).product();
        let launch = Launch::elements(kernel, x.dtype(), elements)?
            .with(address(x)?)
            .with(y.address()?)
            .size(whole)
            .size(self.first)
            .size(self.count)
            .size(inner)
            .size(elements);
        run(x.device(), &launch)
    }
}

/// Two tensors one after the other in dimension `dim`; the others are alike.
///
/// # Errors
/// If the device fails.
pub fn joined([x, y]: [&Tensor; 2], dim: usize) -> Result<Tensor> {
    let (x, y) = (x.contiguous()?, y.contiguous()?);
    let counts = [x.dim(dim)?, y.dim(dim)?];
    let whole = counts[0] + counts[1];
    let mut dims = x.dims().to_vec();
    if let Some(of_whole) = dims.get_mut(dim) {
        *of_whole = whole;
    }
    let parts = [Part { dim, first: 0, count: counts[0] }, Part { dim, first: counts[0], count: counts[1] }];
    let all = Buffer::new(x.device(), dims, x.dtype())?;
    for (part, of) in parts.iter().zip([&x, &y]) {
        part.write("put_part", of, &all, (of.elem_count(), whole))?;
    }
    tracked2([&x, &y], all, Joined(parts))
}

struct Joined([Part; 2]);

impl Backward<2> for Joined {
    const NAME: &'static str = "joined";

    fn backward(&self, inputs: [&Tensor; 2], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let mut gradients = [None, None];
        for ((part, of), gradient) in self.0.iter().zip(inputs).zip(&mut gradients) {
            if of.track_op() {
                let found = part.launched("take_part", dy, (of.dims().to_vec(), dy.dim(part.dim)?))?;
                *gradient = Some(found.into_tensor());
            }
        }
        Ok(gradients)
    }
}

impl Backward<1> for Part {
    const NAME: &'static str = "part";

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let whole = (x.dims().to_vec(), x.dim(self.dim)?);
        Ok([Some(self.launched("place_part", dy, whole)?.into_tensor())])
    }
}

/// One number of 32 or 64 bits, times another.
///
/// # Errors
/// If the device fails, or there are more numbers.
pub fn scaled(x: &Tensor, factor: f64) -> Result<Tensor> {
    tracked1(x, times(x, factor)?, Scaled(factor))
}

fn times(x: &Tensor, factor: f64) -> Result<Buffer> {
    let y = Buffer::new(x.device(), (), x.dtype())?;
    let launch = Launch::grid("mean", x.dtype(), [1, 1])?.with(address(x)?).with(y.address()?).size(1).real(factor);
    run(x.device(), &launch)?;
    Ok(y)
}

struct Scaled(f64);

impl Backward<1> for Scaled {
    const NAME: &'static str = "scaled";

    fn backward(&self, [_]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        Ok([Some(times(dy, self.0)?.into_tensor())])
    }
}
