use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor, Var};

use super::{
    CoverageState, Initial, ModelError,
    name_table::seed_names,
    names,
    specification::{StateKind, state_specifications, trained_restores},
    specifications,
};
use crate::{
    attention::ModelPlan,
    ops::{
        PairSets, Parameter,
        random::{Purpose, Stream},
    },
};

/// The weights of a model by name, in the order of their names.
#[derive(Clone, Debug)]
pub struct ParameterSet {
    variables: BTreeMap<String, Trained>,
    /// What is not trained: the pairs that are scored, and maps that stay as they are.
    state: BTreeMap<String, Tensor>,
}

/// One parameter.
#[derive(Clone, Debug)]
struct Trained {
    variable: Var,
    /// Whether weight decay applies.
    decay: bool,
    /// The share of the learning rate with which it moves; 0: it stays.
    rate: f64,
    /// See [`seed_name`].
    seed_name: String,
}

/// Shape of every tensor of a plan by its name: parameters, and what is not trained.
pub fn tensor_shapes(plan: &ModelPlan) -> BTreeMap<String, Vec<usize>> {
    let state = state_specifications(&plan.stack).into_iter().map(|state| (state.name, state.shape));
    state.chain(specifications(plan).into_iter().map(|one| (one.name, one.shape))).collect()
}

/// Refuses tensors that are not those of a plan, by their names and shapes alone.
///
/// # Errors
/// If one is missing, has another shape, or belongs to no parameter.
pub fn check_shapes(plan: &ModelPlan, found: &BTreeMap<&str, &[usize]>) -> Result<(), ModelError> {
    let wanted = tensor_shapes(plan);
    let state: Vec<String> = state_specifications(&plan.stack).into_iter().map(|state| state.name).collect();
    let parameters = specifications(plan).into_iter().map(|specification| specification.name);
    for name in state.into_iter().chain(parameters) {
        let Some(shape) = found.get(name.as_str()) else { return Err(ModelError::Missing { name }) };
        if let Some(expected) = wanted.get(&name).filter(|expected| expected != shape) {
            return Err(ModelError::Shape { name, expected: expected.clone(), found: shape.to_vec() });
        }
    }
    let names: Vec<String> =
        found.keys().filter(|name| !wanted.contains_key(**name)).map(|name| (*name).to_owned()).collect();
    if names.is_empty() { Ok(()) } else { Err(ModelError::Unexpected { names }) }
}

impl ParameterSet {
    /// Fresh weights; see [`specifications`] for their distribution.
    ///
    /// Every parameter draws from a stream of its own, chosen by its seed name ([`seed_names`]): the same seed gives the
    /// same weights, and a parameter that two plans share starts the same in both. Drawn in 64 bits, then rounded.
    pub fn init(plan: &ModelPlan, seed: u64, dtype: DType, device: &Device) -> Result<Self, ModelError> {
        Self::init_around(plan, seed, dtype, device, &BTreeMap::new()).map(|(set, _)| set)
    }

    /// The weights of a plan of which `known` are known, such as those of a model that training begins with; they are copied.
    /// Every other parameter is drawn as in [`Self::init`]; their names come second. Tensors that the plan has no use for,
    /// by name and shape, are left where they are.
    pub fn init_around(
        plan: &ModelPlan,
        seed: u64,
        dtype: DType,
        device: &Device,
        known: &BTreeMap<String, Tensor>,
    ) -> Result<(Self, Vec<String>), ModelError> {
        let take = |name: &str, shape: &[usize]| known.get(name).filter(|tensor| tensor.dims() == shape);
        let mut fresh = Vec::new();
        let draw = |name: &str, shape: &[usize], initial: Initial| -> Result<Tensor, ModelError> {
            Ok(match initial {
                Initial::Ones => Tensor::ones(shape, dtype, device)?,
                Initial::Zeros => Tensor::zeros(shape, dtype, device)?,
                Initial::Normal { deviation } => {
                    let mut stream = Stream::new(seed, Purpose::Init, stream_index(&seed_name(plan, name)));
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
        let mut set = Self::empty();
        for specification in specifications(plan) {
            let tensor = if let Some(tensor) = take(&specification.name, &specification.shape) {
                tensor.detach().to_device(device)?.to_dtype(dtype)?
            } else {
                fresh.push(specification.name.clone());
                draw(&specification.name, &specification.shape, specification.initial)?
            };
            set.insert(plan, specification.name, specification.decay, Var::from_tensor(&tensor)?);
        }
        for state in state_specifications(&plan.stack) {
            if let Some(tensor) = take(&state.name, &state.shape) {
                set.state.insert(state.name, tensor.detach().to_device(device)?);
                continue;
            }
            let tensor = match (state.kind, state.shape.as_slice()) {
                (StateKind::Pairs, &[n, k]) => PairSets::even(n, k, plan.stack.is_causal)?.tensor(device)?,
                (StateKind::Restore(initial), shape) => draw(&state.name, shape, initial)?,
                (StateKind::Pairs | StateKind::Basis, shape) => Tensor::zeros(shape, dtype, device)?,
            };
            set.state.insert(state.name, tensor);
        }
        Ok((set, fresh))
    }

    fn empty() -> Self {
        Self { variables: BTreeMap::new(), state: BTreeMap::new() }
    }

    /// The same weights for a model that does not score every pair, with what was found for it. The weights share their
    /// memory with these; maps that are trained are new variables.
    ///
    /// # Errors
    /// If it was found for another plan.
    pub fn covering(&self, plan: &ModelPlan, found: &CoverageState) -> Result<Self, ModelError> {
        found.check(&plan.stack)?;
        let any = self.variables.values().next().map(|trained| &trained.variable);
        let device = any.map_or(Device::Cpu, |variable| variable.device().clone());
        let dtype = any.map_or(DType::F32, |variable| variable.dtype());
        let wide = |values: &[f64], shape: &[usize]| {
            Tensor::from_slice(values, shape, &Device::Cpu)?.to_dtype(dtype)?.to_device(&device)
        };
        let mut set = Self { state: BTreeMap::new(), ..self.clone() };
        let trained = trained_restores(&plan.stack);
        if let CoverageState::Partial { restore, .. } = found {
            for (name, shape) in trained {
                set.insert(plan, name, false, Var::from_tensor(&wide(restore, &shape)?)?);
            }
        }
        for state in state_specifications(&plan.stack) {
            let tensor = match (state.kind, found) {
                (StateKind::Pairs, CoverageState::Partial { pairs, .. }) => pairs.tensor(&device)?,
                (StateKind::Restore(_), CoverageState::Partial { restore, .. }) => wide(restore, &state.shape)?,
                (_, CoverageState::Eigen { basis }) => wide(basis, &state.shape)?,
                (StateKind::Basis, _) => return Err(ModelError::Missing { name: names::basis(&plan.stack) }),
            };
            set.state.insert(state.name, tensor);
        }
        Ok(set)
    }

    /// The same weights for sequences of up to `positions` tokens: as many rows of the table of positions, behind those before the
    /// first position.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn with_positions(&self, plan: &ModelPlan, positions: usize) -> Result<Self, ModelError> {
        let mut set = self.clone();
        let name = format!("{}.weight", names::positions(&plan.stack));
        let rows = plan.stack.first_position + positions;
        let Some(table) = self.get(&name).filter(|table| table.dims().first() != Some(&rows)) else {
            return Ok(set);
        };
        let table = table.as_detached_tensor().narrow(0, 0, rows)?;
        set.insert(plan, name, true, Var::from_tensor(&table.copy()?)?);
        Ok(set)
    }

    /// Whether there are pairs or directions: the model does not use every score.
    pub fn has_coverage(&self) -> bool {
        !self.state.is_empty()
    }

    /// Weights that came from elsewhere; they are copied.
    ///
    /// # Errors
    /// If a parameter of the plan is missing, has another shape, or a tensor belongs to no parameter.
    pub fn from_tensors(plan: &ModelPlan, mut tensors: BTreeMap<String, Tensor>) -> Result<Self, ModelError> {
        check_shapes(plan, &tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.dims())).collect())?;
        let mut set = Self::empty();
        for state in state_specifications(&plan.stack) {
            let Some(tensor) = tensors.remove(&state.name) else {
                return Err(ModelError::Missing { name: state.name });
            };
            if state.kind == StateKind::Pairs {
                PairSets::from_tensor(&tensor, plan.stack.is_causal)?;
            }
            set.state.insert(state.name, tensor.detach());
        }
        for specification in specifications(plan) {
            let Some(tensor) = tensors.remove(&specification.name) else {
                return Err(ModelError::Missing { name: specification.name });
            };
            let variable = Var::from_tensor(&tensor.detach())?;
            set.insert(plan, specification.name, specification.decay, variable);
        }
        Ok(set)
    }

    fn insert(&mut self, plan: &ModelPlan, name: String, decay: bool, variable: Var) {
        let seed_name = seed_name(plan, &name);
        self.variables.insert(name, Trained { variable, decay, rate: 1.0, seed_name });
    }

    /// The weights without a graph, and what is not trained. They share memory with the variables: later updates show.
    pub fn tensors(&self) -> BTreeMap<String, Tensor> {
        let weights = self.iter().map(|(name, variable)| (name.to_owned(), variable.as_detached_tensor()));
        weights.chain(self.state.clone()).collect()
    }

    /// What is not trained, by name.
    pub fn state(&self) -> &BTreeMap<String, Tensor> {
        &self.state
    }

    /// A copy of the weights that later updates do not touch.
    pub fn snapshot(&self) -> Result<BTreeMap<String, Tensor>, ModelError> {
        let copy = |(name, variable): (&str, &Var)| {
            Ok::<_, ModelError>((name.to_owned(), variable.as_detached_tensor().copy()?))
        };
        let mut copies = self.iter().map(copy).collect::<Result<BTreeMap<_, _>, _>>()?;
        copies.extend(self.state.clone());
        Ok(copies)
    }

    /// Overwrites the weights in place, so that models built on them see the new ones: in another format those that are trained,
    /// once their copies are made anew; what is frozen is cast when such a model is built. What is not trained stays.
    ///
    /// # Errors
    /// If a name or a shape differs; nothing is changed then.
    pub fn assign(&self, tensors: &BTreeMap<String, Tensor>) -> Result<(), ModelError> {
        let unexpected: Vec<String> = tensors
            .keys()
            .filter(|&name| !self.variables.contains_key(name) && !self.state.contains_key(name))
            .cloned()
            .collect();
        if !unexpected.is_empty() {
            return Err(ModelError::Unexpected { names: unexpected });
        }
        for (name, variable) in self.iter() {
            let tensor = tensors.get(name).ok_or_else(|| ModelError::Missing { name: name.to_owned() })?;
            if tensor.dims() != variable.dims() {
                let (expected, found) = (variable.dims().to_vec(), tensor.dims().to_vec());
                return Err(ModelError::Shape { name: name.to_owned(), expected, found });
            }
        }
        for (name, variable) in self.iter() {
            if let Some(tensor) = tensors.get(name) {
                let tensor = tensor.detach().to_device(variable.device())?.to_dtype(variable.dtype())?;
                variable.set(&tensor)?;
            }
        }
        Ok(())
    }

    /// The same variables of which each moves with a share of the learning rate, by name; with 0 it stays as it is.
    #[must_use]
    pub fn with_rates(mut self, rate: impl Fn(&str) -> f64) -> Self {
        for (name, trained) in &mut self.variables {
            trained.rate = rate(name);
        }
        self
    }

    /// Whether a variable stays as it is.
    pub fn is_frozen(&self, name: &str) -> bool {
        self.variables.get(name).is_some_and(|trained| trained.rate == 0.0)
    }

    /// A variable by name.
    pub fn get(&self, name: &str) -> Option<&Var> {
        self.variables.get(name).map(|trained| &trained.variable)
    }

    /// Every variable, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Var)> {
        self.variables.iter().map(|(name, trained)| (name.as_str(), &trained.variable))
    }

    /// The variables as the optimiser wants them, in the order of their seed names ([`seed_names`]): the norm of all
    /// gradients is summed in it. Matrices and embedding tables decay, biases and norms do not. Those that stay as they are left out.
    pub fn optimiser_parameters(&self) -> Vec<Parameter> {
        let mut sorted: Vec<(&String, &Trained)> =
            self.variables.iter().filter(|(_, trained)| trained.rate != 0.0).collect();
        sorted.sort_by(|(_, a), (_, b)| a.seed_name.cmp(&b.seed_name));
        let parameter = |(name, trained): (&String, &Trained)| Parameter {
            name: name.clone(),
            var: trained.variable.clone(),
            decay: trained.decay,
            rate: trained.rate,
        };
        sorted.into_iter().map(parameter).collect()
    }

    /// Trainable numbers.
    pub fn count(&self) -> u64 {
        self.iter().map(|(_, variable)| variable.elem_count() as u64).sum()
    }

    /// The first parameter, by name, that holds a NaN or an infinity.
    pub fn first_non_finite(&self) -> Result<Option<String>, ModelError> {
        for (name, variable) in self.iter() {
            if !is_finite(variable)? {
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    }
}

/// The name that a parameter is drawn and ordered by: see [`seed_names`]. Our own where that table has none.
fn seed_name(plan: &ModelPlan, name: &str) -> String {
    seed_names(plan).theirs(name).unwrap_or_else(|| name.to_owned())
}

/// The random stream of a parameter: the 64-bit FNV-1a hash of its seed name.
fn stream_index(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// True when every number of the tensor is finite.
pub(super) fn is_finite(tensor: &Tensor) -> Result<bool, ModelError> {
    let flat = tensor.detach().flatten_all()?;
    Ok(match flat.dtype() {
        DType::F64 => flat.to_vec1::<f64>()?.iter().all(|x| x.is_finite()),
        _ => flat.to_dtype(DType::F32)?.to_vec1::<f32>()?.iter().all(|x| x.is_finite()),
    })
}
