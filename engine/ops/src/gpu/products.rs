//! Products of heads one by one, for layers whose maps others borrow.

use candle_core::{D, Result, Tensor};

use super::{buffer::Buffer, device::timed};
use crate::{
    profile::Work,
    tracked::{Backward, tracked2},
};

/// See [`crate::attention_scores`]; shapes were checked by the caller.
///
/// # Errors
/// If the device fails.
pub fn attention_scores(q: &Tensor, k: &Tensor) -> Result<Tensor> {
    let (q, k) = (q.contiguous()?, k.contiguous()?);
    let scores = product("attention: scores", &q.detach(), &k.detach().t()?)?;
    tracked2([&q, &k], scores, Scores)
}

/// See [`crate::attention_mix`]; shapes were checked by the caller.
///
/// # Errors
/// If the device fails.
pub fn attention_mix(probs: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (probs, v) = (probs.contiguous()?, v.contiguous()?);
    let mixed = product("attention: mix", &probs.detach(), &v.detach())?;
    tracked2([&probs, &v], mixed, Mix)
}

/// `[b, h, m, k]` with `[b, h, k, n]`.
fn product(name: &'static str, x: &Tensor, y: &Tensor) -> Result<Buffer> {
    let ((b, h, rows, inner), columns) = (x.dims4()?, y.dim(D::Minus1)?);
    let work = Work::product_of(x.dtype().size_in_bytes(), [rows, inner, columns]).times(b * h);
    timed(x, name, work, || Buffer::product(x, y, [b * h, rows, inner, columns], (b, h, rows, columns)))
}

struct Scores;

impl Backward<2> for Scores {
    const NAME: &'static str = "attention scores";

    fn backward(&self, [q, k]: [&Tensor; 2], _: &Tensor, gradient: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let name = "attention: scores, gradient";
        let dq = || product(name, gradient, &k.detach()).map(Buffer::into_tensor);
        let dk = || product(name, &gradient.transpose(2, 3)?, &q.detach()).map(Buffer::into_tensor);
        Ok([q.track_op().then(dq).transpose()?, k.track_op().then(dk).transpose()?])
    }
}

struct Mix;

impl Backward<2> for Mix {
    const NAME: &'static str = "attention mix";

    fn backward(&self, [probs, v]: [&Tensor; 2], _: &Tensor, gradient: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let name = "attention: mix, gradient";
        let dprobs = || product(name, gradient, &v.detach().t()?).map(Buffer::into_tensor);
        let dv = || product(name, &probs.detach().transpose(2, 3)?, gradient).map(Buffer::into_tensor);
        Ok([probs.track_op().then(dprobs).transpose()?, v.track_op().then(dv).transpose()?])
    }
}
