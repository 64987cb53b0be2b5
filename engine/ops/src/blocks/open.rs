use candle_core::{Result, Tensor, bail};

use crate::element::{Element, Reading, is_fused};
use crate::gradients::{Gradient, GradientGuard};
use crate::kernels::DropoutMask;
use crate::threaded::{self, AffineSlots, AffineWeights, NormAt, NormSlots, NormWeights, Pooled, Slot};
use crate::{Affine, DropoutStream, Gradients, Norm};

/// Whether operations of whole sub-layers can take this tensor.
pub fn has_blocks(x: &Tensor) -> bool {
    is_fused(x)
}

/// Dropout inside of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockDropout {
    /// Probability that an element becomes zero, in [0, 1].
    pub probability: f64,
    /// Which mask.
    pub stream: DropoutStream,
}

impl BlockDropout {
    pub(super) fn mask(&self) -> Result<DropoutMask> {
        self.check()?;
        Ok(self.stream.mask(self.probability))
    }
}

/// What stands around a sub-layer `f`: `x + dropout(f(norm(x)))`, or `norm(x + dropout(f(x)))`.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The norm.
    pub norm: Norm,
    /// Where it stands.
    pub at: NormAt,
    /// Dropout of the output of `f`.
    pub dropout: Option<BlockDropout>,
}

/// The tensors of a block, whose values and gradients are handed out in one order: weight and bias of a map, gain and
/// bias of a norm.
pub(super) fn affine_tensors(affine: &Affine) -> impl Iterator<Item = &Tensor> {
    [Some(&affine.weight), affine.bias.as_ref()].into_iter().flatten()
}

/// Gain and bias of a norm.
pub(super) fn norm_tensors(norm: &Norm) -> impl Iterator<Item = &Tensor> {
    [&norm.gain, &norm.bias].into_iter()
}

/// The values of the tensors of a block, open for reading.
pub(super) struct Opened<'a>(Vec<Reading<'a>>);

impl<'a> Opened<'a> {
    pub fn of(tensors: impl IntoIterator<Item = &'a Tensor>) -> Self {
        Self(tensors.into_iter().map(Reading::of).collect())
    }

    pub fn values<T: Element>(&self) -> Result<InOrder<&[T]>> {
        Ok(InOrder(self.0.iter().map(Reading::slice).collect::<Result<Vec<_>>>()?.into_iter()))
    }
}

/// The gradients of the tensors of a block, locked.
pub(super) struct Locked<'a>(Vec<Option<GradientGuard<'a>>>);

impl<'a> Locked<'a> {
    pub fn of<'t>(gradients: &'a Gradients, tensors: impl IntoIterator<Item = &'t Tensor>) -> Self {
        Self(tensors.into_iter().map(|tensor| gradients.guard(tensor)).collect())
    }

    /// Where to write; nothing for a tensor that is not trained.
    pub fn slots<T: Gradient>(&mut self) -> InOrder<Option<Slot<'_, T>>> {
        let slots = self.0.iter_mut().map(|guard| guard.as_mut().and_then(GradientGuard::slot));
        InOrder(slots.collect::<Vec<_>>().into_iter())
    }
}

/// What belongs to the tensors of a block, taken in their order.
pub(super) struct InOrder<V>(std::vec::IntoIter<V>);

impl<V> InOrder<V> {
    /// What belongs to the next tensor.
    ///
    /// # Errors
    /// If there is none left.
    pub fn take(&mut self) -> Result<V> {
        match self.0.next() {
            Some(next) => Ok(next),
            None => bail!("A block was opened without all of its tensors."),
        }
    }
}

impl<'a, T> InOrder<&'a [T]> {
    pub fn affine(&mut self, affine: &Affine) -> Result<AffineWeights<'a, T>> {
        Ok(AffineWeights {
            weight: self.take()?,
            bias: affine.bias.as_ref().map(|_| self.take()).transpose()?,
            outputs: affine.sizes()?.1,
            orientation: affine.orientation,
        })
    }

    pub fn norm(&mut self, norm: &Norm) -> Result<NormWeights<'a, T>> {
        Ok(NormWeights { gain: self.take()?, bias: self.take()?, epsilon: norm.epsilon })
    }

    pub fn frame(&mut self, frame: &Frame) -> Result<threaded::Frame<'a, T>> {
        let dropout = frame.dropout.as_ref().map(BlockDropout::mask).transpose()?;
        Ok(threaded::Frame { norm: self.norm(&frame.norm)?, at: frame.at, dropout })
    }
}

impl<'a, T> InOrder<Option<Slot<'a, T>>> {
    pub fn affine(&mut self, affine: &Affine) -> Result<AffineSlots<'a, T>> {
        let weight = self.take()?;
        Ok(AffineSlots { weight, bias: if affine.bias.is_some() { self.take()? } else { None } })
    }

    pub fn norm(&mut self) -> Result<NormSlots<'a, T>> {
        Ok(NormSlots { gain: self.take()?, bias: self.take()? })
    }
}

/// Refuses a map that does not go from `inputs` to `outputs`.
pub(super) fn check_affine(what: &str, affine: &Affine, inputs: usize, outputs: usize) -> Result<()> {
    let (found_inputs, found_outputs) = affine.sizes()?;
    let bias = affine.bias.as_ref();
    if (found_inputs, found_outputs) != (inputs, outputs) || bias.is_some_and(|bias| bias.dims() != [outputs]) {
        bail!(
            "The {what} of a block should map {inputs} numbers to {outputs}; it maps {found_inputs} to \
             {found_outputs} with a bias of shape {:?}.",
            bias.map(Tensor::shape)
        )
    }
    Ok(())
}

/// Refuses a norm of another width.
pub(super) fn check_norm(norm: &Norm, width: usize) -> Result<()> {
    if norm.gain.dims() != [width] || norm.bias.dims() != [width] {
        bail!("The norm of a block of width {width} has a gain of shape {:?}.", norm.gain.shape())
    }
    Ok(())
}

/// The state of a forward pass that only one backward pass may take.
pub(super) fn taken<S>(state: &std::sync::Mutex<Option<S>>) -> Result<S> {
    let state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    match state {
        Some(state) => Ok(state),
        None => bail!("A block can go backward once, after a forward pass that kept its state."),
    }
}

/// Numbers with working memory and gradients.
pub(super) trait Number: Gradient + Pooled {}

impl<T: Gradient + Pooled> Number for T {}
