//! Dropout that stores no mask.

use candle_core::{Result, Tensor, bail};

use super::blocks::BlockDropout;
use super::composed;
use super::element::{Reading, by_dtype, is_fused, tensor};
use super::kernels::DropoutMask;
use super::random::DropoutStream;
use super::tracked::{Backward, Computed, tracked1};
use super::{gpu, threaded};

/// Inverted dropout: each element becomes zero with the given probability and is divided by `1 - probability`
/// otherwise, so that its mean stays (Srivastava et al., 2014).
///
/// The mask is a function of the stream and of the position alone; the backward pass computes it again. With
/// probability zero this is the input itself.
///
/// # Errors
/// If the probability is not in [0, 1], or the stream's step or site is out of its range.
pub fn dropout(x: &Tensor, probability: f64, stream: &DropoutStream) -> Result<Tensor> {
    BlockDropout { probability, stream: *stream }.check()?;
    if probability == 0.0 {
        return Ok(x.clone());
    }
    if gpu::has_kernels(x) {
        return gpu::dropout(x, stream.mask(probability));
    }
    if !is_fused(x) {
        return composed::dropout(x, probability, stream);
    }
    let (x, mask) = (x.contiguous()?, stream.mask(probability));
    let y = by_dtype!(x.dtype(), T => {
        Computed::values(threaded::dropout::<T>(Reading::of(&x).slice()?, &mask), x.shape())
    });
    tracked1(&x, y, Dropout(mask))
}

/// `base + dropout(x)`, in one pass where there is an operation for it; none = no dropout.
///
/// # Errors
/// As [`dropout()`], or if the shapes differ.
pub fn residual(base: &Tensor, x: &Tensor, drop: Option<&BlockDropout>) -> Result<Tensor> {
    let drop = drop.filter(|drop| drop.probability > 0.0);
    if gpu::has_kernels(x) && base.shape() == x.shape() && base.dtype() == x.dtype() {
        if let Some(drop) = drop {
            drop.check()?;
        }
        return gpu::residual(base, x, drop.map(|drop| drop.stream.mask(drop.probability)));
    }
    match drop {
        Some(BlockDropout { probability, stream }) => base + dropout(x, *probability, stream)?,
        None => base + x,
    }
}

impl BlockDropout {
    /// Refuses a probability that is none, and a stream that has no mask of its own.
    pub(super) fn check(&self) -> Result<()> {
        let Self { probability, stream } = self;
        if !(0.0..=1.0).contains(probability) {
            bail!("A dropout probability of {probability} is not between 0 and 1.")
        }
        if !stream.is_in_range() {
            bail!("Dropout has no mask of its own for step {} at site {}.", stream.step, stream.site)
        }
        Ok(())
    }
}

struct Dropout(DropoutMask);

impl Backward<1> for Dropout {
    const NAME: &'static str = "dropout";

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        by_dtype!(x.dtype(), T => {
            let dx = threaded::dropout::<T>(Reading::of(dy).slice()?, &self.0);
            Ok([Some(tensor(dx, x.shape())?)])
        })
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, Var};

    use super::super::random::{Purpose, Stream};
    use super::super::testing::{assert_close, assert_same_for_any_threads, values, variable};
    use super::*;

    const STREAM: DropoutStream = DropoutStream { seed: 3, step: 5, site: 7 };

    fn ones(count: usize) -> Tensor {
        Tensor::ones(count, DType::F32, &Device::Cpu).unwrap()
    }

    #[test]
    fn keeps_the_right_share_at_the_right_scale() {
        for probability in [0.1, 0.5, 0.9] {
            let count = 200_000;
            let y = values(&dropout(&ones(count), probability, &STREAM).unwrap());
            let kept = y.iter().filter(|&&y| y != 0.0).count() as f64 / count as f64;
            // Five deviations of a share.
            let spread = 5.0 * (probability * (1.0 - probability) / count as f64).sqrt();
            assert!((kept - (1.0 - probability)).abs() < spread, "kept {kept} at {probability}");
            let scale = f64::from((1.0 / (1.0 - probability)) as f32);
            assert!(y.iter().all(|&y| y == 0.0 || y == scale));
        }
    }

    #[test]
    fn the_mask_is_the_stream_of_its_numbers() {
        // What the documentation promises: the same words that a stream of this purpose and index gives.
        let mut stream = Stream::new(STREAM.seed, Purpose::Dropout, u64::from(STREAM.site) << 40 | STREAM.step);
        let y = values(&dropout(&ones(40_000), 0.3, &STREAM).unwrap());
        let threshold = (0.3 * 4_294_967_296.0_f64).round() as u64;
        for (place, y) in y.into_iter().enumerate() {
            assert_eq!(y == 0.0, u64::from(stream.next_u32()) < threshold, "at place {place}");
        }
    }

    #[test]
    fn the_same_stream_gives_the_same_mask_and_no_other_does() {
        let mask = |stream: DropoutStream| values(&dropout(&ones(1000), 0.5, &stream).unwrap());
        let base = mask(STREAM);
        assert_eq!(base, mask(STREAM));
        for other in [
            DropoutStream { seed: 4, ..STREAM },
            DropoutStream { seed: 3 + (1 << 32), ..STREAM },
            DropoutStream { step: 6, ..STREAM },
            DropoutStream { site: 8, ..STREAM },
        ] {
            assert_ne!(base, mask(other));
        }
        // Single and double precision drop the same elements.
        let double = dropout(&ones(1000).to_dtype(DType::F64).unwrap(), 0.5, &STREAM).unwrap();
        assert_eq!(base, values(&double));
    }

    #[test]
    fn the_gradient_has_the_mask_of_the_forward_pass() {
        for dtype in [DType::F32, DType::F64] {
            let x = variable(1, &[3, 7, 11], dtype);
            let y = dropout(&x.transpose(0, 2).unwrap(), 0.4, &STREAM).unwrap();
            let mask = dropout(&y.ones_like().unwrap(), 0.4, &STREAM).unwrap();
            let gradients = y.sum_all().unwrap().backward().unwrap();
            let expected = mask.transpose(0, 2).unwrap();
            assert_close(gradients.get(&x).unwrap(), &expected, 0.0, "the gradient");
            let masked = (x.transpose(0, 2).unwrap() * mask).unwrap();
            assert_close(&y, &masked, 1e-15, "the value");
            let composed = composed::dropout(&x.transpose(0, 2).unwrap(), 0.4, &STREAM).unwrap();
            assert_close(&y, &composed, 1e-6, "the value");
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        let x = Var::new(&[1_f32, 2.0, 3.0], &Device::Cpu).unwrap();
        assert_eq!(values(&dropout(&x, 0.0, &STREAM).unwrap()), [1.0, 2.0, 3.0]);
        assert_eq!(values(&dropout(&x, 1.0, &STREAM).unwrap()), [0.0; 3]);
        for probability in [-0.1, 1.1, f64::NAN] {
            assert!(dropout(&x, probability, &STREAM).is_err());
        }
        let last = DropoutStream { step: (1 << 40) - 1, site: (1 << 24) - 1, ..STREAM };
        assert!(dropout(&x, 0.5, &last).is_ok());
        assert!(dropout(&x, 0.5, &DropoutStream { step: 1 << 40, ..STREAM }).is_err());
        assert!(dropout(&x, 0.5, &DropoutStream { site: 1 << 24, ..STREAM }).is_err());
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        assert_same_for_any_threads(&[variable(1, &[70_001], DType::F32)], |v| dropout(&v[0], 0.3, &STREAM));
    }
}
