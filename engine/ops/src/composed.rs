//! The same operations composed of candle's differentiable ones, for devices and element types without fused ones.
//!
//! Shapes were checked by the callers. The tests hold the fused operations against these.

use candle_core::{D, DType, Result, Tensor};

use super::options::{Gelu, IGNORED_LABEL, MaskSpec};
use super::pair_sets::PairSets;
use super::random::DropoutStream;
use super::threaded;

/// See [`super::linear()`].
pub fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, is_transposed: bool) -> Result<Tensor> {
    let weight = if is_transposed { weight.contiguous()?.t()? } else { weight.contiguous()? };
    let (inputs, outputs) = weight.dims2()?;
    let mut shape = x.dims().to_vec();
    shape.pop();
    let rows: usize = shape.iter().product();
    shape.push(outputs);
    let y = x.contiguous()?.reshape((rows, inputs))?.matmul(&weight)?.reshape(shape)?;
    match bias {
        Some(bias) => y.broadcast_add(bias),
        None => Ok(y),
    }
}

/// See [`super::layer_norm()`].
pub fn layer_norm(x: &Tensor, gain: &Tensor, bias: &Tensor, epsilon: f64) -> Result<Tensor> {
    // Half precision has too few digits for a variance.
    let dtype = if matches!(x.dtype(), DType::F16 | DType::BF16) { DType::F32 } else { x.dtype() };
    let wide = x.to_dtype(dtype)?;
    let centred = wide.broadcast_sub(&wide.mean_keepdim(D::Minus1)?)?;
    let variance = centred.sqr()?.mean_keepdim(D::Minus1)?;
    let normalised = centred.broadcast_div(&(variance + epsilon)?.sqrt()?)?;
    normalised.to_dtype(x.dtype())?.broadcast_mul(gain)?.broadcast_add(bias)
}

/// See [`super::gelu()`].
pub fn gelu(x: &Tensor, kind: Gelu) -> Result<Tensor> {
    // candle's own backward passes of both forms have their constants cut to six digits.
    let gate = match kind {
        Gelu::Exact => (x * std::f64::consts::FRAC_1_SQRT_2)?.erf()?,
        Gelu::Tanh => {
            let slope = (2.0 / std::f64::consts::PI).sqrt();
            (x.sqr()?.affine(0.044_715 * slope, slope)? * x)?.tanh()?
        }
    };
    x * gate.affine(0.5, 0.5)?
}

/// See [`super::masked_softmax`].
pub fn masked_softmax(scores: &Tensor, scale: f64, mask: &MaskSpec) -> Result<Tensor> {
    let (b, _, t, s) = scores.dims4()?;
    let (device, dtype) = (scores.device(), scores.dtype());
    let mut visible = Tensor::ones((b, 1, t, s), DType::U8, device)?;
    if let Some(keys) = &mask.keys {
        visible = keys.reshape((b, 1, 1, s))?.ne(0_u8)?.broadcast_as((b, 1, t, s))?.contiguous()?;
    }
    if mask.causal {
        let seen = (0..t).flat_map(|i| (0..s).map(move |j| u8::from(j + t <= i + s))).collect::<Vec<_>>();
        visible = visible.broadcast_mul(&Tensor::from_vec(seen, (1, 1, t, s), device)?)?;
    }
    let visible = visible.broadcast_as(scores.shape())?.contiguous()?;
    let floor = if dtype == DType::F16 { -6e4_f32 } else { -1e38 };
    let floor = Tensor::full(floor, scores.shape(), device)?.to_dtype(dtype)?;
    let scaled = visible.where_cond(&(scores * scale)?, &floor)?;
    // The shift cancels, so its gradient is zero.
    let shifted = scaled.broadcast_sub(&scaled.max_keepdim(D::Minus1)?.detach())?;
    let weights = (shifted.exp()? * visible.to_dtype(dtype)?)?;
    let total = weights.sum_keepdim(D::Minus1)?;
    let empty = total.detach().eq(0.0)?.to_dtype(dtype)?;
    weights.broadcast_div(&(total + empty)?)
}

/// See [`super::attention_scores`].
pub fn attention_scores(q: &Tensor, k: &Tensor) -> Result<Tensor> {
    q.contiguous()?.matmul(&k.contiguous()?.t()?)
}

/// See [`super::attention_mix`].
pub fn attention_mix(probs: &Tensor, v: &Tensor) -> Result<Tensor> {
    probs.contiguous()?.matmul(&v.contiguous()?)
}

/// See [`super::dropout()`]. The mask is computed on the CPU and kept until the backward pass.
pub fn dropout(x: &Tensor, probability: f64, stream: &DropoutStream) -> Result<Tensor> {
    let ones = vec![1.0_f32; x.elem_count()];
    let mask = threaded::dropout(&ones, &stream.mask(probability));
    x * Tensor::from_vec(mask, x.shape(), x.device())?.to_dtype(x.dtype())?
}

/// See [`super::embedding()`]; `shape` is that of the result.
pub fn embedding(table: &Tensor, ids: &Tensor, shape: &[usize]) -> Result<Tensor> {
    table.index_select(&ids.flatten_all()?.contiguous()?, 0)?.reshape(shape)
}

/// See [`super::cross_entropy()`].
pub fn cross_entropy(logits: &Tensor, labels: &[i64]) -> Result<Tensor> {
    Ok(cross_entropy_by_row(logits, labels)?.0)
}

/// The same with the losses of the rows, zero for those that do not count.
pub fn cross_entropy_by_row(logits: &Tensor, labels: &[i64]) -> Result<(Tensor, Tensor)> {
    let device = logits.device();
    // Half precision has too few digits for a sum over a vocabulary.
    let dtype = if matches!(logits.dtype(), DType::F16 | DType::BF16) { DType::F32 } else { logits.dtype() };
    let wide = logits.to_dtype(dtype)?;
    let count = labels.iter().filter(|&&label| label != IGNORED_LABEL).count();
    let counts: Vec<f32> = labels.iter().map(|&label| if label == IGNORED_LABEL { 0.0 } else { 1.0 }).collect();
    let places: Vec<u32> = labels.iter().map(|&label| u32::try_from(label).unwrap_or(0)).collect();
    let counts = Tensor::from_vec(counts, labels.len(), device)?.to_dtype(dtype)?;
    let places = Tensor::from_vec(places, (labels.len(), 1), device)?;
    let shifted = wide.broadcast_sub(&wide.max_keepdim(D::Minus1)?.detach())?;
    let log_sum_exp = shifted.exp()?.sum(D::Minus1)?.log()?;
    let chosen = shifted.gather(&places, 1)?.squeeze(1)?;
    let rows = ((log_sum_exp - chosen)? * counts)?;
    let mean = (rows.sum_all()? / count.max(1) as f64)?;
    Ok((mean, rows))
}

/// See [`super::partial_scores`].
pub fn partial_scores(q: &Tensor, k: &Tensor, restore: &Tensor, pairs: &PairSets) -> Result<Tensor> {
    let (b, h, t, _) = q.dims4()?;
    let (device, most) = (q.device(), pairs.k());
    let others = pairs.rows().iter().take(t).map(|row| row.restored.len()).max().unwrap_or(0);
    // Every query gets as many slots as the largest needs. Those without use read key 0 and a row of zeros, and nothing
    // reads them.
    let none = pairs.restored() as u32;
    let (mut keys, mut rows, mut slots) = (Vec::new(), Vec::new(), Vec::new());
    for row in pairs.rows().iter().take(t) {
        keys.extend(row.chosen.iter().copied().chain(std::iter::repeat_n(0, most - row.chosen.len())));
        rows.extend(
            (0..others).map(|place| if place < row.restored.len() { (row.first + place) as u32 } else { none }),
        );
        let mut slot_of = vec![(most + others) as u32; t];
        let places = (0..).zip(&row.chosen).chain((most as u32..).zip(&row.restored));
        for (slot, &key) in places {
            slot_of[key as usize] = slot;
        }
        slots.extend(slot_of);
    }
    let keys = Tensor::from_vec(keys, t * most, device)?;
    // A product of all pairs costs a device less than k rows of keys for every query, which would have to be copied.
    let keys = keys.reshape((1, 1, t, most))?.broadcast_as((b, h, t, most))?.contiguous()?;
    let exact = attention_scores(q, k)?.gather(&keys, 3)?; // [b, h, t, k]
    let exact = exact.permute((2, 0, 1, 3))?.reshape((t, b * h, most))?.contiguous()?;
    // The last slot is for keys that are not seen.
    let unseen = Tensor::zeros((t, b * h, 1), q.dtype(), device)?;
    let all = if others > 0 {
        let zeros = Tensor::zeros((1, most), restore.dtype(), device)?;
        let rows = Tensor::from_vec(rows, t * others, device)?;
        let weights = Tensor::cat(&[restore, &zeros], 0)?.index_select(&rows, 0)?.reshape((t, others, most))?;
        let rest = exact.matmul(&weights.transpose(1, 2)?.contiguous()?)?; // [t, b h, others]
        Tensor::cat(&[&exact, &rest, &unseen], 2)?
    } else if restore.track_op() {
        // Nothing is restored: the gradient of the map is zero, and it is one all the same.
        // (A product with the number zero would be cut out of candle's graph, one with a tensor is not.)
        let sum = restore.sum_all()?;
        let nothing = (&sum * sum.zeros_like()?)?;
        Tensor::cat(&[&exact, &unseen.broadcast_add(&nothing)?], 2)?
    } else {
        Tensor::cat(&[&exact, &unseen], 2)?
    };
    let slots = Tensor::from_vec(slots, (t, 1, t), device)?.broadcast_as((t, b * h, t))?.contiguous()?;
    all.gather(&slots, 2)?.reshape((t, b, h, t))?.permute((1, 2, 0, 3))?.contiguous()
}
