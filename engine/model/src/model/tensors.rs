use std::collections::BTreeMap;

use candle_core::Tensor;

use super::{
    ModelError,
    layer::FeedForward,
    names::{AttentionNames, FeedForwardNames},
    norm::StreamNorm,
    specification::scoring_form,
};
use crate::{
    attention::{
        LinearBiases, NormKind, StackPlan,
        compatibility::{HeadAttention, LayerCoverage, LayerHeads, PairScoring},
    },
    config::Compatibility,
    ops::{Affine, HeadProjections, Norm, Orientation, PieceForm, PieceWeights},
};

/// The tensors that a model is built of, by our names.
pub(super) struct Tensors(pub BTreeMap<String, Tensor>);

impl Tensors {
    pub fn get(&self, name: &str) -> Result<Tensor, ModelError> {
        self.0.get(name).cloned().ok_or_else(|| ModelError::Missing { name: name.to_owned() })
    }

    pub fn weight(&self, module: &str) -> Result<Tensor, ModelError> {
        self.get(&format!("{module}.weight"))
    }

    pub fn map(&self, module: &str, has_bias: bool, orientation: Orientation) -> Result<Affine, ModelError> {
        let bias = if has_bias { Some(self.get(&format!("{module}.bias"))?) } else { None };
        Ok(Affine { weight: self.weight(module)?, bias, orientation })
    }

    /// A norm of a stack's stream.
    pub fn stream_norm(&self, stack: &StackPlan, module: &str) -> Result<StreamNorm, ModelError> {
        Ok(match stack.design.norm {
            NormKind::Layer => StreamNorm::Layer(self.norm(module, stack.norm_epsilon)?),
            NormKind::Rms => StreamNorm::Rms { gain: self.weight(module)?, epsilon: stack.norm_epsilon },
        })
    }

    pub fn norm(&self, module: &str, epsilon: f64) -> Result<Norm, ModelError> {
        Ok(Norm { gain: self.weight(module)?, bias: self.get(&format!("{module}.bias"))?, epsilon })
    }

    /// One attention of a layer with its norm; none where no head attends.
    pub fn attention(
        &self,
        stack: &StackPlan,
        names: &AttentionNames,
        heads: LayerHeads,
        compatibility: &Compatibility,
        coverage: LayerCoverage,
        pairs: PairScoring,
    ) -> Result<Option<(HeadAttention, StreamNorm)>, ModelError> {
        if heads.attending() == 0 {
            return Ok(None);
        }
        let form = scoring_form(stack, compatibility, &heads);
        let output = self.map(&names.output, !form.lacks_output_bias, stack.matrices)?;
        let weights = form.pieces.iter().map(|piece| {
            let module = names.module(piece.module);
            Ok(match piece.form {
                PieceForm::Map { bias, .. } => PieceWeights::Map(self.map(&module, bias, stack.matrices)?),
                PieceForm::Tensor { .. } => PieceWeights::Tensor(self.weight(&module)?),
            })
        });
        let weights = weights.collect::<Result<_, ModelError>>()?;
        let projections = HeadProjections::new(form, weights)?;
        let norm = self.stream_norm(stack, &names.norm)?;
        Ok(Some((HeadAttention { projections, output, heads, coverage, pairs }, norm)))
    }

    /// The feed-forward block of a layer.
    pub fn feed_forward(&self, stack: &StackPlan, names: &FeedForwardNames) -> Result<FeedForward, ModelError> {
        let biases = stack.design.biases == LinearBiases::All;
        let map = |module: &str| self.map(module, biases, stack.matrices);
        Ok(FeedForward {
            inner: map(&names.inner)?,
            gate: if stack.design.is_gated { Some(map(&names.gate)?) } else { None },
            outer: map(&names.outer)?,
            activation: stack.activation,
            norm: self.stream_norm(stack, &names.norm)?,
        })
    }
}
