//! The optimiser and the norm of the gradients, over all parameters at once.

use candle_core::{DType, Device, Result, Tensor, Var, bail};

use super::{
    buffer::{Buffer, address},
    device::{run, timed},
    launch::Launch,
};
use crate::{kernels::AdamWScalars, profile::Work};

/// Elements of a block, as in `kernels/optimiser.cu`.
const ELEMENTS_A_BLOCK: usize = 4096;

/// One parameter that is to be moved, in single precision; its gradient may be of 16 bits.
#[derive(Debug)]
pub struct Update {
    /// Written.
    pub parameter: Tensor,
    /// Read.
    pub gradient: Tensor,
    /// Written.
    pub first_moment: Tensor,
    /// Written.
    pub second_moment: Tensor,
    /// What moves it: its decay and what depends on its age are its own, the rest is that of all.
    pub scalars: AdamWScalars<f64>,
}

/// Fields of an entry of the list.
const FIELDS: usize = 10;

/// The list that the kernels read, and how many blocks it takes.
#[derive(Default)]
struct List {
    numbers: Vec<i64>,
    length: usize,
    blocks: usize,
}

impl List {
    /// `format` is of the second address, see [`format_of`]; `factors`: decay, length of the step and correction of the
    /// second moment.
    fn push(&mut self, addresses: [u64; 4], (count, format): (usize, u64), factors: [f64; 3]) {
        let [shrink, step_size, correction] = factors.map(f64::to_bits);
        let rest = [count as u64, self.blocks as u64, format, shrink, step_size, correction];
        self.numbers.extend(addresses.into_iter().chain(rest).map(u64::cast_signed));
        self.length += 1;
        self.blocks += count.div_ceil(ELEMENTS_A_BLOCK);
    }

    /// On the device.
    fn placed(self, device: &Device) -> Result<Tensor> {
        Tensor::from_vec(self.numbers, (self.length, FIELDS), device)
    }
}

/// How kernels call an element type of a gradient, as in `kernels/optimiser.cu`.
fn format_of(dtype: DType) -> Result<u64> {
    Ok(match dtype {
        DType::F32 => 0,
        DType::F16 => 1,
        DType::BF16 => 2,
        other => bail!("There is no optimiser on a GPU for gradients of type {other:?}."),
    })
}

/// Casts of many tensors from single precision to another type, as one launch.
#[derive(Debug)]
pub struct CastList {
    list: Tensor,
    length: usize,
    blocks: usize,
    dtype: DType,
}

impl CastList {
    /// Of each first tensor to where the second lies, all of which live as long as this. All of one type, on one device.
    ///
    /// # Errors
    /// If the device fails, or there is nothing to cast.
    pub fn new(pairs: &[(Tensor, Var)]) -> Result<Self> {
        let Some((first, copy)) = pairs.first() else { bail!("There is nothing to cast.") };
        let mut list = List::default();
        for (from, to) in pairs {
            list.push([address(to)?, address(from)?, 0, 0], (from.elem_count(), 0), [0.0; 3]);
        }
        let (length, blocks) = (list.length, list.blocks);
        Ok(Self { list: list.placed(first.device())?, length, blocks, dtype: copy.dtype() })
    }

    /// Casts all of them as they are now.
    ///
    /// # Errors
    /// If the device fails.
    pub fn run(&self) -> Result<()> {
        let launch =
            Launch::grid("cast_all", self.dtype, [self.blocks, 1])?.with(address(&self.list)?).size(self.length);
        let work = Work::moving(self.blocks * ELEMENTS_A_BLOCK, 4 + self.dtype.size_in_bytes());
        timed(&self.list, "copies of weights", work, || run(self.list.device(), &launch))
    }
}

/// One step of `AdamW` on all parameters, all on one device.
///
/// # Errors
/// If the device fails.
pub fn update_all(updates: &[Update]) -> Result<()> {
    let mut list = List::default();
    for Update { parameter, gradient, first_moment, second_moment, scalars } in updates {
        let addresses = [address(parameter)?, address(gradient)?, address(first_moment)?, address(second_moment)?];
        let factors = [scalars.shrink, scalars.step_size, scalars.inverse_sqrt_correction2];
        list.push(addresses, (parameter.elem_count(), format_of(gradient.dtype())?), factors);
    }
    let Some(first) = updates.first() else { return Ok(()) };
    let scalars = first.scalars;
    let device = first.parameter.device();
    let (blocks, length) = (list.blocks, list.length);
    let list = list.placed(device)?;
    let launch = Launch::grid("adamw", DType::F32, [blocks, 1])?
        .with(address(&list)?)
        .size(length)
        .real(scalars.gradient_scale)
        .real(scalars.beta1)
        .real(scalars.one_minus_beta1)
        .real(scalars.beta2)
        .real(scalars.one_minus_beta2)
        .real(scalars.epsilon);
    let elements: usize = updates.iter().map(|update| update.parameter.elem_count()).sum();
    timed(&first.parameter, "optimiser", Work::pass::<f32>(7 * elements), || run(device, &launch))
}

/// The sum of the squares of all elements of tensors of one device and one element type. Waits for the device.
///
/// # Errors
/// If the device fails.
pub fn squares_of(gradients: &[Tensor]) -> Result<f64> {
    let mut list = List::default();
    for gradient in gradients {
        list.push([0, address(gradient)?, 0, 0], (gradient.elem_count(), 0), [0.0; 3]);
    }
    let Some(first) = gradients.first() else { return Ok(0.0) };
    let device: &Device = first.device();
    let (blocks, length) = (list.blocks, list.length);
    let list = list.placed(device)?;
    let sums = Buffer::new(device, blocks, DType::F64)?;
    let launch =
        Launch::grid("squares", first.dtype(), [blocks, 1])?.with(address(&list)?).size(length).with(sums.address()?);
    run(device, &launch)?;
    let total = Buffer::new(device, (), DType::F64)?;
    let launch =
        Launch::grid("mean", DType::F64, [1, 1])?.with(sums.address()?).with(total.address()?).size(blocks).real(1.0);
    run(device, &launch)?;
    total.into_tensor().to_scalar()
}
