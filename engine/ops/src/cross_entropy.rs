//! The loss of language modelling.

use candle_core::{D, DType, Result, Tensor, bail};

use super::composed;
use super::element::{Reading, by_dtype, is_fused, tensor};
use super::tracked::{Backward, Computed, tracked1};
use super::{IGNORED_LABEL, gpu, kernels::Real as _, linear_transposed, threaded};

/// The mean of `-log softmax(logits)[label]` in nats over the rows whose label is not [`IGNORED_LABEL`]; zero if none
/// counts. Of the forward pass only one number a row is kept.
///
/// # Shapes
/// `logits` `[n, v]`, `labels` `[n]` of type `i64`; result a scalar.
///
/// # Errors
/// If a label is neither [`IGNORED_LABEL`] nor in `0..v`, or the shapes or types do not fit.
pub fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let (rows, width) = logits.dims2()?;
    let labels = checked(labels, rows, width)?;
    if gpu::has_kernels(logits) {
        return gpu::cross_entropy(logits, &labels);
    }
    if !is_fused(logits) {
        return composed::cross_entropy(logits, &labels);
    }
    let logits = logits.contiguous()?;
    let (loss, log_sum_exp) = by_dtype!(logits.dtype(), T => {
        let found = threaded::cross_entropy::<T>(Reading::of(&logits).slice()?, &labels, width);
        (Computed::values(vec![T::of(found.loss)], ()), found.log_sum_exp)
    });
    tracked1(&logits, loss, CrossEntropy { labels, width, log_sum_exp })
}

/// Losses of rows of logits, in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLosses {
    /// The mean over the rows that count, as [`cross_entropy`] has it, bit for bit.
    pub mean: f64,
    /// Loss of each row; zero for those that do not count.
    pub rows: Vec<f64>,
}

/// [`cross_entropy`] without a graph, with the loss of each row, from one pass over the logits.
///
/// # Shapes
/// As [`cross_entropy`].
///
/// # Errors
/// As [`cross_entropy`].
pub fn cross_entropy_by_row(logits: &Tensor, labels: &Tensor) -> Result<RowLosses> {
    let (rows, width) = logits.dims2()?;
    let (labels, logits) = (checked(labels, rows, width)?, logits.detach());
    if is_fused(&logits) && !gpu::has_kernels(&logits) {
        let logits = logits.contiguous()?;
        return by_dtype!(logits.dtype(), T => {
            let reading = Reading::of(&logits);
            let values: &[T] = reading.slice()?;
            let found = threaded::cross_entropy::<T>(values, &labels, width);
            let rows = values.chunks(width.max(1)).zip(&labels).zip(&found.log_sum_exp);
            let loss = |((row, &label), &log_sum): ((&[T], &i64), &f64)| match usize::try_from(label) {
                Ok(label) => log_sum - row[label].as_f64(),
                Err(_) => 0.0,
            };
            Ok(RowLosses { mean: T::of(found.loss).as_f64(), rows: rows.map(loss).collect() })
        });
    }
    let (mean, rows) = if gpu::has_kernels(&logits) {
        gpu::cross_entropy_by_row(&logits, &labels)?
    } else {
        composed::cross_entropy_by_row(&logits, &labels)?
    };
    let rows = rows.to_dtype(DType::F64)?.to_vec1::<f64>()?;
    Ok(RowLosses { mean: mean.to_dtype(DType::F64)?.to_scalar::<f64>()?, rows })
}

/// [`cross_entropy`] of `hidden tableᵀ + bias`, as one operation on NVIDIA GPUs.
///
/// # Shapes
/// `hidden` `[n, d]`, `table` `[v, d]`, `bias` `[v]`, `labels` `[n]` of type `i64`; result a scalar.
///
/// # Errors
/// As [`cross_entropy`].
pub fn vocabulary_loss(hidden: &Tensor, table: &Tensor, bias: Option<&Tensor>, labels: &Tensor) -> Result<Tensor> {
    let (rows, inputs) = hidden.dims2()?;
    let (width, of_table) = table.dims2()?;
    let is_alike = |other: &Tensor| other.dtype() == hidden.dtype();
    let fits =
        inputs == of_table && is_alike(table) && bias.is_none_or(|bias| bias.dims() == [width] && is_alike(bias));
    if gpu::has_kernels(hidden) && fits {
        return gpu::vocabulary_loss(hidden, table, bias, &checked(labels, rows, width)?);
    }
    cross_entropy(&linear_transposed(hidden, table, bias)?, labels)
}

/// Labels of so many rows of a vocabulary of `width`.
fn checked(labels: &Tensor, rows: usize, width: usize) -> Result<Vec<i64>> {
    if labels.dims() != [rows] || labels.dtype() != DType::I64 {
        bail!(
            "The labels of logits of shape [{rows}, {width}] must be of shape [{rows}] and type I64, not {:?} and {:?}.",
            labels.shape(),
            labels.dtype()
        )
    }
    let labels = labels.to_vec1::<i64>()?;
    let is_legal = |label: i64| label == IGNORED_LABEL || usize::try_from(label).is_ok_and(|label| label < width);
    if let Some((row, label)) = labels.iter().enumerate().find(|&(_, &label)| !is_legal(label)) {
        bail!("Label {label} of row {row} is outside of the vocabulary, which has {width} entries.")
    }
    Ok(labels)
}

/// `sum(w[i] * -log softmax(logits)[i][label[i]]) / sum(w)` in nats: of few classes, so that it is composed of small operations
/// everywhere.
///
/// # Shapes
/// `logits` `[n, classes]`, `labels` and `weights` `[n]`; result a scalar.
///
/// # Errors
/// If a label is no class, there are not as many labels and weights as rows, or no weight is above 0.
pub fn weighted_cross_entropy(logits: &Tensor, labels: &[u32], weights: &[f32]) -> Result<Tensor> {
    let (rows, classes) = logits.dims2()?;
    if labels.len() != rows || weights.len() != rows {
        bail!("{} labels and {} weights do not fit logits of {rows} rows.", labels.len(), weights.len())
    }
    if let Some(label) = labels.iter().find(|label| **label as usize >= classes) {
        bail!("Label {label} is none of {classes} classes.")
    }
    let sum: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    if sum <= 0.0 || !sum.is_finite() {
        bail!("The weights of a batch add up to {sum}.")
    }
    let wide = at_least_f32(logits)?;
    let device = wide.device();
    let places = Tensor::from_slice(labels, (rows, 1), device)?;
    let weights = Tensor::from_slice(weights, rows, device)?.to_dtype(wide.dtype())?;
    let shifted = wide.broadcast_sub(&wide.max_keepdim(D::Minus1)?.detach())?;
    let log_sum_exp = shifted.exp()?.sum(D::Minus1)?.log()?;
    let chosen = shifted.gather(&places, 1)?.squeeze(1)?;
    ((log_sum_exp - chosen)? * weights)?.sum_all()? / sum
}

/// Numbers in 32 bits or more: half precision has too few digits for a loss.
pub fn at_least_f32(x: &Tensor) -> Result<Tensor> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.to_dtype(DType::F32),
        _ => Ok(x.clone()),
    }
}

struct CrossEntropy {
    labels: Vec<i64>,
    width: usize,
    log_sum_exp: Vec<f64>,
}

impl Backward<1> for CrossEntropy {
    const NAME: &'static str = "cross-entropy";

    fn backward(&self, [logits]: [&Tensor; 1], _: &Tensor, gradient: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let Self { labels, width, log_sum_exp } = self;
        let gradient = gradient.to_dtype(DType::F64)?.to_scalar::<f64>()?;
        by_dtype!(logits.dtype(), T => {
            let values = Reading::of(logits);
            let dx = threaded::cross_entropy_backward::<T>(values.slice()?, labels, log_sum_exp, *width, gradient);
            Ok([Some(tensor(dx, logits.shape())?)])
        })
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};
    use proptest::prelude::*;

    use super::super::random::{Purpose, Stream};
    use super::super::testing::{
        DTYPES, assert_close, assert_differences, assert_matches, assert_same_for_any_threads, values, variable,
    };
    use super::*;

    /// About a third of the labels is ignored.
    fn labels(n: usize, v: usize) -> Tensor {
        let mut stream = Stream::new(4, Purpose::Test, n as u64);
        let labels: Vec<i64> =
            (0..n).map(|_| if stream.below(3) == 0 { IGNORED_LABEL } else { stream.below(v as u64) as i64 }).collect();
        Tensor::from_vec(labels, n, &Device::Cpu).unwrap()
    }

    fn check(n: usize, v: usize) {
        let labels = labels(n, v);
        let list = labels.to_vec1::<i64>().unwrap();
        for (dtype, tolerance) in DTYPES {
            assert_matches(
                &[variable(1, &[n, v], dtype)],
                tolerance,
                |x| cross_entropy(&x[0], &labels),
                |x| composed::cross_entropy(&x[0], &list),
            );
        }
    }

    #[test]
    fn weights_count_examples_as_often_as_they_say() {
        let x = variable(1, &[4, 3], DType::F64);
        let labels = [2, 0, 1, 2];
        let of = |weights: &[f32]| weighted_cross_entropy(x.as_tensor(), &labels, weights).unwrap();
        let value = |loss: Tensor| loss.to_scalar::<f64>().unwrap();
        let plain = cross_entropy(x.as_tensor(), &Tensor::new(&[2_i64, 0, 1, 2], &Device::Cpu).unwrap()).unwrap();
        assert!((value(of(&[3.0; 4])) - value(plain)).abs() < 1e-12);
        // An example of weight 2 is one that is there twice.
        let twice = Tensor::cat(&[x.as_tensor(), &x.as_tensor().narrow(0, 1, 1).unwrap()], 0).unwrap();
        let labels_twice = Tensor::new(&[2_i64, 0, 1, 2, 0], &Device::Cpu).unwrap();
        let expected = cross_entropy(&twice, &labels_twice).unwrap();
        assert!((value(of(&[1.0, 2.0, 1.0, 1.0])) - value(expected)).abs() < 1e-12);
        assert_differences(std::slice::from_ref(&x), |v| weighted_cross_entropy(&v[0], &labels, &[0.5, 2.0, 1.0, 3.0]));
        for (labels, weights) in [([0, 0, 0, 3], [1.0; 4]), ([0; 4], [0.0; 4])] {
            assert!(weighted_cross_entropy(x.as_tensor(), &labels, &weights).is_err());
        }
        assert!(weighted_cross_entropy(x.as_tensor(), &[0; 3], &[1.0; 4]).is_err());
    }

    #[test]
    fn matches_the_reference() {
        check(14, 5);
        check(3, 1);
        check(37, 1003);
    }

    #[test]
    fn matches_candle_nn_where_nothing_is_ignored() {
        let x = variable(1, &[5, 37], DType::F64);
        let labels = Tensor::new(&[0_i64, 36, 5, 5, 17], &Device::Cpu).unwrap();
        let reference = candle_nn::loss::cross_entropy(&x, &labels).unwrap();
        assert_close(&cross_entropy(&x, &labels).unwrap(), &reference, 1e-13, "the loss");
    }

    #[test]
    fn the_losses_of_rows_are_those_of_the_mean() {
        for dtype in [DType::F64, DType::F32, DType::F16] {
            let x = variable(1, &[7, 37], DType::F64).to_dtype(dtype).unwrap();
            let labels = Tensor::new(&[3_i64, IGNORED_LABEL, 36, 0, IGNORED_LABEL, 5, 5], &Device::Cpu).unwrap();
            let found = cross_entropy_by_row(&x, &labels).unwrap();
            let mean = cross_entropy(&x, &labels).unwrap().to_dtype(DType::F64).unwrap().to_scalar::<f64>().unwrap();
            assert_eq!(found.mean.to_bits(), mean.to_bits(), "{dtype:?}");
            assert!((found.rows.iter().sum::<f64>() / 5.0 - mean).abs() < 1e-6 * mean, "{dtype:?}: {found:?}");
            for (row, loss) in found.rows.iter().enumerate() {
                let own = cross_entropy(&x.narrow(0, row, 1).unwrap(), &labels.narrow(0, row, 1).unwrap()).unwrap();
                assert!((values(&own)[0] - loss).abs() < 1e-6, "{dtype:?}, row {row}: {loss}");
            }
            assert_eq!((found.rows[1], found.rows[4]), (0.0, 0.0));
        }
    }

    #[test]
    fn ignored_rows_do_not_count() {
        let x = variable(1, &[4, 6], DType::F64);
        let some = Tensor::new(&[IGNORED_LABEL, 2, IGNORED_LABEL, 5], &Device::Cpu).unwrap();
        let loss = cross_entropy(&x, &some).unwrap();
        let kept = Tensor::cat(&[x.narrow(0, 1, 1).unwrap(), x.narrow(0, 3, 1).unwrap()], 0).unwrap();
        let reference = cross_entropy(&kept, &Tensor::new(&[2_i64, 5], &Device::Cpu).unwrap()).unwrap();
        assert_close(&loss, &reference, 0.0, "the loss");
        let gradients = loss.backward().unwrap();
        let dx = gradients.get(&x).unwrap();
        assert!(values(&dx.get(0).unwrap()).iter().chain(&values(&dx.get(2).unwrap())).all(|&v| v == 0.0));
        assert!(values(&dx.get(1).unwrap()).iter().all(|&v| v != 0.0));
    }

    #[test]
    fn nothing_to_predict_is_no_loss() {
        for dtype in [DType::F32, DType::F64] {
            let x = variable(1, &[3, 4], dtype);
            let loss = cross_entropy(&x, &Tensor::new(&[IGNORED_LABEL; 3], &Device::Cpu).unwrap()).unwrap();
            assert_eq!(values(&loss), [0.0]);
            assert_eq!(values(loss.backward().unwrap().get(&x).unwrap()), [0.0; 12]);
        }
    }

    #[test]
    fn extreme_logits_stay_finite() {
        let x = Var::new(&[[1e4_f32, -1e4, 0.0], [-1e4, -1e4, -1e4]], &Device::Cpu).unwrap();
        let loss = cross_entropy(&x, &Tensor::new(&[1_i64, 0], &Device::Cpu).unwrap()).unwrap();
        let expected = 0.5 * (2e4 + 3.0_f64.ln());
        assert!((values(&loss)[0] - expected).abs() < 1e-3);
        let dx = values(loss.backward().unwrap().get(&x).unwrap());
        let sixth = 1.0 / 6.0;
        for (dx, known) in dx.into_iter().zip([0.5, -0.5, 0.0, sixth - 0.5, sixth, sixth]) {
            // The logarithm of the sum is rounded at 1e4.
            assert!((dx - known).abs() < 1e-3, "{dx} instead of {known}");
        }
        let nan = Tensor::new(&[[f32::NAN, 0.0]], &Device::Cpu).unwrap();
        let loss = cross_entropy(&nan, &Tensor::new(&[1_i64], &Device::Cpu).unwrap()).unwrap();
        assert!(values(&loss)[0].is_nan(), "a NaN must not be hidden");
    }

    #[test]
    fn matches_finite_differences() {
        let labels = labels(6, 5);
        assert_differences(&[variable(1, &[6, 5], DType::F64)], |v| cross_entropy(&v[0], &labels));
    }

    #[test]
    fn takes_strided_logits_and_a_scaled_loss() {
        let labels = labels(9, 5);
        let list = labels.to_vec1::<i64>().unwrap();
        let view = |v: &[Tensor]| v[0].t()?.narrow(1, 2, 5);
        for (dtype, tolerance) in DTYPES {
            assert_matches(
                &[variable(1, &[8, 9], dtype)],
                tolerance,
                |v| cross_entropy(&view(v)?, &labels)? * 0.25,
                |v| composed::cross_entropy(&view(v)?, &list)? * 0.25,
            );
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let labels = labels(301, 700);
        assert_same_for_any_threads(&[variable(1, &[301, 700], DType::F32)], |v| cross_entropy(&v[0], &labels));
    }

    #[test]
    fn a_label_outside_of_the_vocabulary_is_refused_with_its_row() {
        let x = variable(1, &[2, 3], DType::F32);
        for label in [3_i64, -1, -99] {
            let labels = Tensor::new(&[0, label], &Device::Cpu).unwrap();
            let error = cross_entropy(&x, &labels).unwrap_err().to_string();
            assert!(error.contains(&format!("Label {label} of row 1")), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn matches_the_reference_for_any_shape(n in 1_usize..40, v in 1_usize..80) {
            check(n, v);
        }
    }
}
