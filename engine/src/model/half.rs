//! Half precision: weights in 32 bits, everything that is computed from them in 16 (Micikevicius et al., "Mixed
//! precision training", 2018), or only what is multiplied.

use std::collections::BTreeMap;

use candle_core::{DType, Tensor};

use super::{Model, ModelError, ParameterSet, dtype};
use crate::{
    attention::ModelPlan,
    config::Precision,
    ops::{self, Gradients, Products},
};

/// What a model computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Computing {
    /// The type of everything between weights and loss.
    pub dtype: DType,
    /// What matrix products of single operations are made of.
    pub products: Products,
}

impl Computing {
    /// What a model of these weights computes in for a precision. On the processor `bf16` is of 32 bits with products of pairs:
    /// nothing is gained there by keeping numbers in 16 bits, and they would be rounded after every operation.
    pub fn of(precision: Precision, parameters: &ParameterSet) -> Self {
        let has_pairs = || parameters.iter().next().is_some_and(|(_, weight)| ops::has_blocks(weight));
        if precision == Precision::Bf16 && has_pairs() {
            return Self { dtype: DType::F32, products: Products::Pairs };
        }
        dtype(precision).into()
    }
}

impl From<DType> for Computing {
    fn from(dtype: DType) -> Self {
        Self { dtype, products: Products::Own }
    }
}

impl Model {
    /// A trainable model that computes so, with copies of the weights as they are now where they are of another type; their
    /// gradients go to `gradients`, in the format of the weights. An update does not reach copies: build another model after
    /// each.
    pub fn trainable_in(
        plan: &ModelPlan,
        parameters: &ParameterSet,
        computing: impl Into<Computing>,
        gradients: &Gradients,
    ) -> Result<Self, ModelError> {
        let Computing { dtype, products } = computing.into();
        let cast = |(name, variable): (&str, &candle_core::Var)| -> Result<(String, Tensor), ModelError> {
            Ok((name.to_owned(), ops::cast(variable.as_tensor(), dtype)?))
        };
        let mut tensors = parameters.iter().map(cast).collect::<Result<BTreeMap<_, _>, _>>()?;
        for (name, tensor) in parameters.state() {
            tensors.insert(name.clone(), narrowed(tensor, dtype)?);
        }
        Ok(Self::build(plan, tensors)?.with_gradients(gradients.clone()).with_products(products))
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
