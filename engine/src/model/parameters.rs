use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor, Var};

use super::{Initial, ModelError, Specification, diagnosis::is_finite, specifications};
use crate::{
    attention::ModelPlan,
    ops::{
        Parameter,
        random::{Purpose, Stream},
    },
};

/// The weights of a model by name, in the order of their names.
#[derive(Clone, Debug)]
pub struct ParameterSet {
    variables: BTreeMap<String, Var>,
    /// Whether weight decay applies, by name.
    decay: BTreeMap<String, bool>,
}

impl ParameterSet {
    /// Fresh weights; see [`specifications`] for their distribution.
    ///
    /// Every parameter draws from a stream of its own, chosen by its name: the same seed gives the same weights,
    /// and a parameter that two plans share starts the same in both. Drawn in 64 bits, then rounded.
    pub fn init(plan: &ModelPlan, seed: u64, dtype: DType, device: &Device) -> Result<Self, ModelError> {
        let draw = |specification: &Specification| -> Result<Tensor, ModelError> {
            let shape = specification.shape.as_slice();
            Ok(match specification.initial {
                Initial::Ones => Tensor::ones(shape, dtype, device)?,
                Initial::Zeros => Tensor::zeros(shape, dtype, device)?,
                Initial::Normal { deviation } => {
                    let mut stream = Stream::new(seed, Purpose::Init, stream_index(&specification.name));
                    let count = shape.iter().product();
                    if dtype == DType::F32 {
                        let values: Vec<f32> = (0..count).map(|_| (deviation * stream.normal()) as f32).collect();
                        Tensor::from_vec(values, shape, device)?
                    } else {
                        let values: Vec<f64> = (0..count).map(|_| deviation * stream.normal()).collect();
                        Tensor::from_vec(values, shape, device)?.to_dtype(dtype)?
                    }
                }
            })
        };
        let mut set = Self { variables: BTreeMap::new(), decay: BTreeMap::new() };
        for specification in specifications(plan) {
            let variable = Var::from_tensor(&draw(&specification)?)?;
            set.insert(specification, variable);
        }
        Ok(set)
    }

    /// Weights that came from elsewhere; they are copied.
    ///
    /// # Errors
    /// If a parameter of the plan is missing, has another shape, or a tensor belongs to no parameter.
    pub fn from_tensors(plan: &ModelPlan, mut tensors: BTreeMap<String, Tensor>) -> Result<Self, ModelError> {
        let mut set = Self { variables: BTreeMap::new(), decay: BTreeMap::new() };
        for specification in specifications(plan) {
            let Some(tensor) = tensors.remove(&specification.name) else {
                return Err(ModelError::Missing { name: specification.name });
            };
            if tensor.dims() != specification.shape {
                return Err(ModelError::Shape {
                    name: specification.name,
                    expected: specification.shape,
                    found: tensor.dims().to_vec(),
                });
            }
            let variable = Var::from_tensor(&tensor.detach())?;
            set.insert(specification, variable);
        }
        if tensors.is_empty() { Ok(set) } else { Err(ModelError::Unexpected { names: tensors.into_keys().collect() }) }
    }

    fn insert(&mut self, specification: Specification, variable: Var) {
        self.decay.insert(specification.name.clone(), specification.decay);
        self.variables.insert(specification.name, variable);
    }

    /// The weights without a graph. They share memory with the variables: later updates show.
    pub fn tensors(&self) -> BTreeMap<String, Tensor> {
        self.variables.iter().map(|(name, variable)| (name.clone(), variable.as_detached_tensor())).collect()
    }

    /// A copy of the weights that later updates do not touch.
    pub fn snapshot(&self) -> Result<BTreeMap<String, Tensor>, ModelError> {
        let copy = |(name, variable): (&String, &Var)| Ok((name.clone(), variable.as_detached_tensor().copy()?));
        self.variables.iter().map(copy).collect()
    }

    /// Overwrites the weights in place, so that models built on them see the new ones.
    ///
    /// # Errors
    /// If a name or a shape differs; nothing is changed then.
    pub fn assign(&self, tensors: &BTreeMap<String, Tensor>) -> Result<(), ModelError> {
        let unexpected: Vec<String> =
            tensors.keys().filter(|name| !self.variables.contains_key(*name)).cloned().collect();
        if !unexpected.is_empty() {
            return Err(ModelError::Unexpected { names: unexpected });
        }
        for (name, variable) in &self.variables {
            let tensor = tensors.get(name).ok_or_else(|| ModelError::Missing { name: name.clone() })?;
            if tensor.dims() != variable.dims() {
                let (expected, found) = (variable.dims().to_vec(), tensor.dims().to_vec());
                return Err(ModelError::Shape { name: name.clone(), expected, found });
            }
        }
        for (name, variable) in &self.variables {
            if let Some(tensor) = tensors.get(name) {
                let tensor = tensor.detach().to_device(variable.device())?.to_dtype(variable.dtype())?;
                variable.set(&tensor)?;
            }
        }
        Ok(())
    }

    /// A variable by name.
    pub fn get(&self, name: &str) -> Option<&Var> {
        self.variables.get(name)
    }

    /// Every variable, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Var)> {
        self.variables.iter().map(|(name, variable)| (name.as_str(), variable))
    }

    /// The variables as the optimiser wants them, in the order of their names. Matrices and embedding tables decay,
    /// biases and norms do not.
    pub fn optimiser_parameters(&self) -> Vec<Parameter> {
        self.variables
            .iter()
            .map(|(name, variable)| Parameter {
                name: name.clone(),
                var: variable.clone(),
                decay: self.decay.get(name).copied().unwrap_or(false),
            })
            .collect()
    }

    /// Trainable numbers.
    pub fn count(&self) -> u64 {
        self.variables.values().map(|variable| variable.elem_count() as u64).sum()
    }

    /// The first parameter, by name, that holds a NaN or an infinity.
    pub fn first_non_finite(&self) -> Result<Option<String>, ModelError> {
        for (name, variable) in &self.variables {
            if !is_finite(variable)? {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }
}

/// The random stream of a parameter: the 64-bit FNV-1a hash of its name.
fn stream_index(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
