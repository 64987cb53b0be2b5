//! Half precision: weights in 32 bits, everything that is computed from them in 16. (Micikevicius et al., "Mixed
//! precision training", 2018)

use std::collections::BTreeMap;

use candle_core::{DType, Tensor};

use super::{Model, ModelError, ParameterSet};
use crate::{attention::ModelPlan, ops::Gradients};

impl Model {
    /// A trainable model that computes in `dtype` with copies of the weights as they are now; their gradients go to
    /// `gradients`, in the format of the weights. An update does not reach it: build another one after each.
    pub fn trainable_in(
        plan: &ModelPlan,
        parameters: &ParameterSet,
        dtype: DType,
        gradients: &Gradients,
    ) -> Result<Self, ModelError> {
        let cast = |(name, variable): (&str, &candle_core::Var)| -> Result<(String, Tensor), ModelError> {
            Ok((name.to_owned(), variable.as_tensor().to_dtype(dtype)?))
        };
        let mut tensors = parameters.iter().map(cast).collect::<Result<BTreeMap<_, _>, _>>()?;
        for (name, tensor) in parameters.state() {
            tensors.insert(name.clone(), narrowed(tensor, dtype)?);
        }
        Ok(Self::build(plan, tensors)?.with_gradients(gradients.clone()))
    }

    /// The same without a graph, for evaluation.
    pub fn frozen_in(plan: &ModelPlan, parameters: &ParameterSet, dtype: DType) -> Result<Self, ModelError> {
        let cast = |(name, tensor): (String, Tensor)| Ok::<_, ModelError>((name, narrowed(&tensor, dtype)?));
        Self::build(plan, parameters.tensors().into_iter().map(cast).collect::<Result<_, _>>()?)
    }
}

/// Real numbers in `dtype`; whole ones, such as the keys of pairs, as they are.
fn narrowed(tensor: &Tensor, dtype: DType) -> Result<Tensor, ModelError> {
    Ok(if tensor.dtype().is_int() { tensor.clone() } else { tensor.to_dtype(dtype)? })
}
