//! Dropout and what it is added to, in one pass.

use candle_core::{Result, Tensor};

use super::{
    buffer::{Buffer, address},
    device::{passes, run, timed},
    launch::Launch,
};
use crate::kernels::{DropoutMask, keep_threshold};
use crate::tracked::{Backward, tracked1, tracked2};

impl Launch {
    /// With the seven fields that say which elements are dropped; none = nothing is.
    pub(super) fn dropout(self, mask: Option<&DropoutMask>) -> Self {
        let Some(mask) = mask else { return self.with(0).with(0).with(0).with(0).with(0).with(0).real(1.0) };
        let DropoutMask { key, counter, probability } = *mask;
        let keep_scale = if probability < 1.0 { 1.0 / (1.0 - probability) } else { 0.0 };
        let words = [key[0], key[1], counter[1], counter[2], counter[3]];
        let launch = words.into_iter().fold(self, |launch, word| launch.with(u64::from(word)));
        launch.with(keep_threshold(probability)).real(keep_scale)
    }
}

/// See [`crate::dropout()`].
///
/// # Errors
/// If the device fails.
pub fn dropout(x: &Tensor, mask: DropoutMask) -> Result<Tensor> {
    let x = x.contiguous()?;
    let y = launched(None, &x, Some(&mask))?;
    tracked1(&x, y, Dropped(Some(mask)))
}

/// `base + dropout(x)`, without dropout where there is no mask.
///
/// # Errors
/// If the device fails.
pub fn residual(base: &Tensor, x: &Tensor, mask: Option<DropoutMask>) -> Result<Tensor> {
    let (base, x) = (base.contiguous()?, x.contiguous()?);
    let y = launched(Some(&base), &x, mask.as_ref())?;
    tracked2([&base, &x], y, Dropped(mask))
}

/// The sum of two tensors of one shape and type, without a graph.
///
/// # Errors
/// If the device fails.
pub fn sum(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let (x, y) = (x.contiguous()?, y.contiguous()?);
    Ok(launched(Some(&x), &y, None)?.into_tensor())
}

/// The masked tensor, for the attention core.
pub(super) fn launched(base: Option<&Tensor>, x: &Tensor, mask: Option<&DropoutMask>) -> Result<Buffer> {
    let y = Buffer::new(x.device(), x.shape(), x.dtype())?;
    let launch = Launch::eights("dropout", x.dtype(), x.elem_count())?
        .with(base.map_or(Ok(0), address)?)
        .with(address(x)?)
        .with(y.address()?)
        .size(x.elem_count())
        .dropout(mask);
    timed(x, "dropout and residual", passes(x, 2 + usize::from(base.is_some())), || run(x.device(), &launch))?;
    Ok(y)
}

struct Dropped(Option<DropoutMask>);

impl Dropped {
    fn gradient(&self, dy: &Tensor) -> Result<Tensor> {
        match &self.0 {
            Some(mask) => Ok(launched(None, dy, Some(mask))?.into_tensor()),
            None => Ok(dy.clone()),
        }
    }
}

impl Backward<1> for Dropped {
    const NAME: &'static str = "dropout";

    fn backward(&self, _: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        Ok([Some(self.gradient(dy)?)])
    }
}

impl Backward<2> for Dropped {
    const NAME: &'static str = "dropout and residual";

    fn backward(&self, [base, x]: [&Tensor; 2], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let dx = if x.track_op() { Some(self.gradient(dy)?) } else { None };
        Ok([base.track_op().then(|| dy.clone()), dx])
    }
}
