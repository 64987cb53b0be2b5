//! Tensors in other clothes: of another shape, a part of one, several as one, times a number.

use candle_core::{Result, Shape, Tensor};

use super::{
    buffer::{Buffer, address},
    device::run,
    dropout::launched,
    launch::Launch,
};
use crate::tracked::{Backward, tracked1, tracked2, tracked3};

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
    dims[dim] = count;
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
        let elements = y.elem_count();
        let inner: usize = x.dims().iter().skip(self.dim + 1).product();
        let launch = Launch::elements(kernel, x.dtype(), elements)?
            .with(address(x)?)
            .with(y.address()?)
            .size(whole)
            .size(self.first)
            .size(self.count)
            .size(inner)
            .size(elements);
        run(x.device(), &launch)?;
        Ok(y)
    }
}

/// Two tensors one after the other in dimension `dim`; the others are alike.
///
/// # Errors
/// If the device fails.
pub fn joined([x, y]: [&Tensor; 2], dim: usize) -> Result<Tensor> {
    let (x, y) = (x.contiguous()?, y.contiguous()?);
    tracked2([&x, &y], Joined(dim).together([&x, &y])?, Joined(dim))
}

/// As [`joined`], of three tensors.
///
/// # Errors
/// If the device fails.
pub fn joined3([x, y, z]: [&Tensor; 3], dim: usize) -> Result<Tensor> {
    let (x, y, z) = (x.contiguous()?, y.contiguous()?, z.contiguous()?);
    tracked3([&x, &y, &z], Joined(dim).together([&x, &y, &z])?, Joined(dim))
}

/// Parts one after the other in a dimension.
struct Joined(usize);

impl Joined {
    /// At most this many.
    const MOST: usize = 3;

    fn together<const N: usize>(&self, parts: [&Tensor; N]) -> Result<Buffer> {
        let whole = parts.iter().map(|part| part.dim(self.0)).sum::<Result<usize>>()?;
        let mut dims = parts[0].dims().to_vec();
        dims[self.0] = whole;
        let all = Buffer::new(parts[0].device(), dims, parts[0].dtype())?;
        let mut addresses = [0; Self::MOST];
        for (address_of, part) in addresses.iter_mut().zip(parts) {
            *address_of = address(part)?;
        }
        self.launched("join_parts", (addresses, all.address()?), parts)?;
        Ok(all)
    }

    /// One launch over the whole; parts without an address are passed over.
    fn launched<const N: usize>(
        &self,
        kernel: &str,
        (addresses, whole): ([u64; Self::MOST], u64),
        parts: [&Tensor; N],
    ) -> Result<()> {
        let inner: usize = parts[0].dims().iter().skip(self.0 + 1).product();
        let count = parts.iter().map(|part| part.elem_count()).sum();
        let mut launch = Launch::elements(kernel, parts[0].dtype(), count)?;
        for address in addresses {
            launch = launch.with(address);
        }
        let mut end = 0;
        launch = launch.with(whole);
        for number in 0..Self::MOST {
            end += parts.get(number).map_or(Ok(0), |part| part.dim(self.0))?;
            launch = launch.size(end);
        }
        run(parts[0].device(), &launch.size(inner).size(count))
    }

    fn apart<const N: usize>(&self, parts: [&Tensor; N], dy: &Tensor) -> Result<[Option<Tensor>; N]> {
        let mut gradients = [const { None }; N];
        let mut addresses = [0; Self::MOST];
        for ((gradient, address_of), part) in gradients.iter_mut().zip(&mut addresses).zip(parts) {
            if part.track_op() {
                let buffer = Buffer::new(dy.device(), part.dims(), dy.dtype())?;
                *address_of = buffer.address()?;
                *gradient = Some(buffer);
            }
        }
        self.launched("separate_parts", (addresses, address(dy)?), parts)?;
        Ok(gradients.map(|gradient| gradient.map(Buffer::into_tensor)))
    }
}

impl Backward<2> for Joined {
    const NAME: &'static str = "joined";

    fn backward(&self, inputs: [&Tensor; 2], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 2]> {
        self.apart(inputs, dy)
    }
}

impl Backward<3> for Joined {
    const NAME: &'static str = "three joined";

    fn backward(&self, inputs: [&Tensor; 3], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 3]> {
        self.apart(inputs, dy)
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
