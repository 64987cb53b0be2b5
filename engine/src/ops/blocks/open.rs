use candle_core::{Result, Tensor, bail};

use crate::ops::element::{Element, Reading, is_fused};
use crate::ops::gradients::{Gradient, GradientGuard};
use crate::ops::kernels::DropoutMask;
use crate::ops::threaded::{self, AffineSlots, AffineWeights, NormAt, NormSlots, NormWeights, Pooled};
use crate::ops::{Affine, DropoutStream, Gradients, Norm};

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
        let Self { probability, stream } = self;
        if !(0.0..=1.0).contains(probability) {
            bail!("A dropout probability of {probability} is not between 0 and 1.")
        }
        if !stream.is_in_range() {
            bail!("Dropout has no mask of its own for step {} at site {}.", stream.step, stream.site)
        }
        Ok(stream.mask(*probability))
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

/// A map whose parameters are open for reading.
pub(super) struct OpenAffine<'a> {
    weight: Reading<'a>,
    bias: Option<Reading<'a>>,
    affine: &'a Affine,
}

impl<'a> OpenAffine<'a> {
    pub fn of(affine: &'a Affine) -> Self {
        Self { weight: Reading::of(&affine.weight), bias: affine.bias.as_ref().map(Reading::of), affine }
    }

    pub fn weights<T: Element>(&self) -> Result<AffineWeights<'_, T>> {
        Ok(AffineWeights {
            weight: self.weight.slice()?,
            bias: self.bias.as_ref().map(Reading::slice).transpose()?,
            outputs: self.affine.sizes()?.1,
            orientation: self.affine.orientation,
        })
    }
}

/// A norm whose parameters are open for reading.
pub(super) struct OpenNorm<'a> {
    gain: Reading<'a>,
    bias: Reading<'a>,
    epsilon: f64,
}

impl<'a> OpenNorm<'a> {
    pub fn of(norm: &'a Norm) -> Self {
        Self { gain: Reading::of(&norm.gain), bias: Reading::of(&norm.bias), epsilon: norm.epsilon }
    }

    pub fn weights<T: Element>(&self) -> Result<NormWeights<'_, T>> {
        Ok(NormWeights { gain: self.gain.slice()?, bias: self.bias.slice()?, epsilon: self.epsilon })
    }
}

/// A frame whose norm is open for reading.
pub(super) struct OpenFrame<'a> {
    norm: OpenNorm<'a>,
    at: NormAt,
    dropout: Option<DropoutMask>,
}

impl<'a> OpenFrame<'a> {
    pub fn of(frame: &'a Frame) -> Result<Self> {
        let dropout = frame.dropout.as_ref().map(BlockDropout::mask).transpose()?;
        Ok(Self { norm: OpenNorm::of(&frame.norm), at: frame.at, dropout })
    }

    pub fn frame<T: Element>(&self) -> Result<threaded::Frame<'_, T>> {
        Ok(threaded::Frame { norm: self.norm.weights()?, at: self.at, dropout: self.dropout })
    }
}

/// The locked gradients of a map.
pub(super) struct AffineGuards<'a> {
    weight: Option<GradientGuard<'a>>,
    bias: Option<GradientGuard<'a>>,
}

impl<'a> AffineGuards<'a> {
    pub fn of(gradients: &'a Gradients, affine: &Affine) -> Self {
        Self {
            weight: gradients.guard(&affine.weight),
            bias: affine.bias.as_ref().and_then(|bias| gradients.guard(bias)),
        }
    }

    pub fn slots<T: Gradient>(&mut self) -> AffineSlots<'_, T> {
        AffineSlots {
            weight: self.weight.as_mut().and_then(GradientGuard::slot),
            bias: self.bias.as_mut().and_then(GradientGuard::slot),
        }
    }
}

/// The locked gradients of a norm.
pub(super) struct NormGuards<'a> {
    gain: Option<GradientGuard<'a>>,
    bias: Option<GradientGuard<'a>>,
}

impl<'a> NormGuards<'a> {
    pub fn of(gradients: &'a Gradients, norm: &Norm) -> Self {
        Self { gain: gradients.guard(&norm.gain), bias: gradients.guard(&norm.bias) }
    }

    pub fn slots<T: Gradient>(&mut self) -> NormSlots<'_, T> {
        NormSlots {
            gain: self.gain.as_mut().and_then(GradientGuard::slot),
            bias: self.bias.as_mut().and_then(GradientGuard::slot),
        }
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
