//! Normalisation by the root of the mean square.

use candle_core::{D, DType, Result, Tensor, bail};

/// `y = x / sqrt(mean(x²) + epsilon) * gain` over the last dimension (Zhang and Sennrich, 2019): neither mean nor bias. Composed
/// of candle's differentiable operations; numbers of 16 bits are squared in 32.
///
/// # Shapes
/// `x` `[.., d]`, `gain` `[d]`; result as `x`.
///
/// # Errors
/// If the shapes or the element types do not fit.
pub fn rms_norm(x: &Tensor, gain: &Tensor, epsilon: f64) -> Result<Tensor> {
    let width = x.dims().last().copied().unwrap_or(0);
    if gain.dims() != [width] {
        bail!("RMS norm over an input of shape {:?} was given a gain of shape {:?}.", x.shape(), gain.shape())
    }
    let dtype = x.dtype();
    let wide = if matches!(dtype, DType::F16 | DType::BF16) { x.to_dtype(DType::F32)? } else { x.clone() };
    let root = (wide.sqr()?.mean_keepdim(D::Minus1)? + epsilon)?.sqrt()?;
    wide.broadcast_div(&root)?.to_dtype(dtype)?.broadcast_mul(gain)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_differences, values, variable};
    use super::*;

    #[test]
    fn rows_have_a_mean_square_of_one() {
        let x = variable(1, &[3, 7], DType::F64);
        let gain = Tensor::ones(7, DType::F64, x.device()).unwrap();
        for row in values(&rms_norm(&x, &gain, 0.0).unwrap()).chunks(7) {
            assert!((row.iter().map(|x| x * x).sum::<f64>() / 7.0 - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let given = [variable(1, &[3, 5], DType::F64), variable(2, &[5], DType::F64)];
        assert_differences(&given, |v| rms_norm(&v[0], &v[1], 1e-3));
    }
}
