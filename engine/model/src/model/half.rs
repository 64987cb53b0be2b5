//! Half precision: weights in 32 bits, everything that is computed from them in 16 (Micikevicius et al., "Mixed
//! precision training", 2018), or only what is multiplied.

use std::collections::BTreeMap;

use candle_core::{DType, Tensor, Var};

use super::{Model, ModelError, ParameterSet, dtype};
use crate::{
    attention::ModelPlan,
    config::Precision,
    ops::{self, Copies, Gradients, Products},
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

/// A trainable model on copies of weights, which an update does not reach before they are made anew.
#[derive(Debug)]
pub struct CopiedModel {
    model: Model,
    copies: Copies,
}

impl CopiedModel {
    /// The model of these weights as they are now. Gradients of copies go to `gradients`, as those of the weights; parts that stay as
    /// they are have none.
    ///
    /// # Errors
    /// If there is not enough memory, or the weights are not those of the plan.
    pub fn new(
        plan: &ModelPlan,
        parameters: &ParameterSet,
        computing: impl Into<Computing>,
        gradients: &Gradients,
    ) -> Result<Self, ModelError> {
        let Computing { dtype, products } = computing.into();
        let is_copied = |name: &str, variable: &Var| variable.dtype() != dtype && !parameters.is_frozen(name);
        let (copied, kept): (Vec<_>, Vec<_>) =
            parameters.iter().partition(|(name, variable)| is_copied(name, variable));
        let copies = Copies::new(copied.iter().map(|(_, variable)| variable.as_detached_tensor()), dtype)?;
        let mut tensors = BTreeMap::new();
        for (name, variable) in kept {
            let is_frozen = parameters.is_frozen(name);
            let tensor = if is_frozen { variable.as_detached_tensor() } else { variable.as_tensor().clone() };
            tensors.insert(name.to_owned(), narrowed(&tensor, dtype)?);
        }
        for ((name, _), copy) in copied.iter().zip(copies.iter()) {
            tensors.insert((*name).to_owned(), copy.as_tensor().clone());
        }
        for (name, tensor) in parameters.state() {
            tensors.insert(name.clone(), narrowed(tensor, dtype)?);
        }
        gradients.stand_in(copied.iter().zip(copies.iter()).map(|((name, _), copy)| (*name, copy.as_tensor())))?;
        let model = Model::build(plan, tensors)?.with_gradients(gradients.clone()).with_products(products);
        Ok(Self { model, copies })
    }

    /// The model, of the weights as they are now.
    ///
    /// # Errors
    /// If the device fails.
    pub fn refreshed(&self) -> Result<&Model, ModelError> {
        self.copies.refresh()?;
        Ok(&self.model)
    }
}

impl Model {
    /// The model of a [`CopiedModel`] for one step.
    ///
    /// # Errors
    /// As [`CopiedModel::new`].
    pub fn trainable_in(
        plan: &ModelPlan,
        parameters: &ParameterSet,
        computing: impl Into<Computing>,
        gradients: &Gradients,
    ) -> Result<Self, ModelError> {
        Ok(CopiedModel::new(plan, parameters, computing, gradients)?.model)
    }

    /// A model without a graph that computes in a precision, as evaluations during training do.
    ///
    /// # Errors
    /// If there is not enough memory, or the weights are not those of the plan.
    pub fn frozen_at(plan: &ModelPlan, parameters: &ParameterSet, precision: Precision) -> Result<Self, ModelError> {
        let Computing { dtype, products } = Computing::of(precision, parameters);
        let is_own = parameters.iter().next().is_none_or(|(_, weight)| weight.dtype() == dtype);
        if is_own {
            Ok(Self::frozen(plan, parameters)?.with_products(products))
        } else {
            Self::frozen_in(plan, parameters, dtype)
        }
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
