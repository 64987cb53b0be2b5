//! Dropout that stores no mask.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

use super::composed;
use super::element::{Element, Reading, by_dtype, is_fused, output, slice, tensor};
use super::random::DropoutStream;
use super::threaded;

/// Inverted dropout: each element becomes zero with the given probability and is divided by `1 - probability`
/// otherwise, so that its mean stays (Srivastava et al., 2014).
///
/// The mask is a function of the stream and of the position alone; the backward pass computes it again. With
/// probability zero this is the input itself.
///
/// # Errors
/// If the probability is not in [0, 1].
pub fn dropout(x: &Tensor, probability: f64, stream: &DropoutStream) -> Result<Tensor> {
    if !(0.0..=1.0).contains(&probability) {
        bail!("A dropout probability of {probability} is not between 0 and 1.")
    }
    if probability == 0.0 {
        return Ok(x.clone());
    }
    if !is_fused(x) {
        return composed::dropout(x, probability, stream);
    }
    x.contiguous()?.apply_op1(Dropout { probability, stream: *stream })
}

struct Dropout {
    probability: f64,
    stream: DropoutStream,
}

impl Dropout {
    fn masked<T: Element>(&self, x: &[T]) -> Vec<T> {
        threaded::dropout(x, self.probability, self.stream.key(), self.stream.counter())
    }
}

impl CustomOp1 for Dropout {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok(match storage {
            CpuStorage::F64(_) => output(self.masked::<f64>(slice(storage, layout)?), layout.shape()),
            _ => output(self.masked::<f32>(slice(storage, layout)?), layout.shape()),
        })
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, dy: &Tensor) -> Result<Option<Tensor>> {
        let dy = dy.contiguous()?;
        by_dtype!(x.dtype(), T => {
            let dx = self.masked(Reading::of(&dy).slice::<T>()?);
            Ok(Some(tensor(dx, x.shape())?))
        })
    }
}
