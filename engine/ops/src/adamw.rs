//! The optimiser.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use candle_core::{CpuStorage, DType, Device, InplaceOp1, Layout, Result, Tensor, bail};

use super::element::{InPlace, is_fused, slice_mut};
use super::gradients::Values;
use super::kernels::AdamWScalars;
use super::profile::{Work, span};
use super::{Gradients, Parameter, gpu, threaded};

/// The name of the step count in [`AdamW::state`].
const STEP: &str = "optimizer.step";
/// What is appended to a parameter's name for the steps that it was moved in, where it joined later than others.
const AGE: &str = "step";
/// What is appended to a parameter's name for its first moment, `PyTorch`'s word for it.
const FIRST: &str = "exp_avg";
/// What is appended to a parameter's name for its second moment.
const SECOND: &str = "exp_avg_sq";

/// What stays the same over a run; the learning rate is given at each step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamWConfig {
    /// How much of the first moment is kept each step, in [0, 1).
    pub beta1: f64,
    /// How much of the second moment is kept each step, in [0, 1).
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// The part of a decaying parameter that is lost each step, times the learning rate.
    pub weight_decay: f64,
}

impl Default for AdamWConfig {
    /// `PyTorch`'s defaults.
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.01 }
    }
}

/// `AdamW` with decoupled weight decay (Loshchilov and Hutter, 2019), bias-corrected as in `PyTorch`:
///
/// `p -= lr λ p` where the parameter decays, then
/// `p -= lr / (1 - β₁ᵗ) m / (sqrt(v / (1 - β₂ᵗ)) + ε)`.
///
/// with lr times the rate of the parameter for lr; t counts the steps of each parameter by itself: one that joins later starts with t = 1, as in `PyTorch`.
#[derive(Debug)]
pub struct AdamW {
    config: AdamWConfig,
    step: u64,
    /// Sorted by name.
    slots: Vec<Slot>,
}

/// A parameter and its moments.
#[derive(Debug)]
struct Slot {
    parameter: Parameter,
    moments: Moments,
    /// Steps in which it was moved.
    age: u64,
}

/// First and second moments, where the update can write them.
#[derive(Debug)]
enum Moments {
    Single(Vec<f32>, Vec<f32>),
    Double(Vec<f64>, Vec<f64>),
    /// On another device, or of a parameter in half precision: in `f32`.
    Tensors(Tensor, Tensor),
}

impl AdamW {
    /// An optimiser whose moments are zero.
    ///
    /// # Errors
    /// If two parameters share a name, or one is not contiguous.
    pub fn new(params: Vec<Parameter>, config: AdamWConfig) -> Result<Self> {
        let mut slots = Vec::with_capacity(params.len());
        for parameter in params {
            if !parameter.var.is_contiguous() {
                bail!("The parameter \"{}\" is a strided view and cannot be trained in place.", parameter.name)
            }
            let moments = Moments::zeros(&parameter.var)?;
            slots.push(Slot { parameter, moments, age: 0 });
        }
        slots.sort_by(|a, b| a.parameter.name.cmp(&b.parameter.name));
        if let Some([first, _]) = slots.array_windows().find(|[a, b]| a.parameter.name == b.parameter.name) {
            bail!("Two parameters have the name \"{}\".", first.parameter.name)
        }
        Ok(Self { config, step: 0, slots })
    }

    /// How many steps were taken.
    pub fn step_count(&self) -> u64 {
        self.step
    }

    /// The parameters, sorted by name.
    pub fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.slots.iter().map(|slot| &slot.parameter)
    }

    /// Moves every parameter in place.
    ///
    /// # Errors
    /// If a gradient is missing or does not fit its parameter; nothing has changed then.
    pub fn step(&mut self, grads: &Gradients, learning_rate: f64) -> Result<()> {
        for Slot { parameter, .. } in &self.slots {
            grads.read(parameter, |_| Ok(()))?;
        }
        self.step += 1;
        let AdamWConfig { beta1, beta2, epsilon, weight_decay } = self.config;
        let scalars = |age: u64, Parameter { decay: decays, rate, .. }: &Parameter| {
            let learning_rate = learning_rate * rate;
            AdamWScalars {
                gradient_scale: grads.factor(),
                beta1,
                one_minus_beta1: 1.0 - beta1,
                beta2,
                one_minus_beta2: 1.0 - beta2,
                inverse_sqrt_correction2: 1.0 / (1.0 - beta2.powf(age as f64)).sqrt(),
                epsilon,
                step_size: learning_rate / (1.0 - beta1.powf(age as f64)),
                shrink: if *decays { 1.0 - learning_rate * weight_decay } else { 1.0 },
            }
        };
        let mut together = Vec::new();
        for Slot { parameter, moments, age } in &mut self.slots {
            *age += 1;
            let scalars = scalars(*age, parameter);
            grads.read(parameter, |gradient| match (&mut *moments, gradient) {
                (Moments::Tensors(m, v), Values::Elsewhere(Some(gradient)))
                    if gpu::has_kernels(&parameter.var) && parameter.var.dtype() == DType::F32 =>
                {
                    together.push(gpu::Update {
                        parameter: parameter.var.as_detached_tensor(),
                        gradient: gradient.contiguous()?,
                        first_moment: m.clone(),
                        second_moment: v.clone(),
                        scalars,
                    });
                    Ok(())
                }
                (moments, gradient) => moments.update(parameter, gradient, scalars),
            })?;
        }
        gpu::update_all(&together)
    }

    /// A copy of the moments and of the step count on the CPU, to be saved: `NAME.exp_avg`, `NAME.exp_avg_sq`,
    /// `optimizer.step`, and `NAME.step` of parameters that joined later.
    ///
    /// # Errors
    /// If the device fails.
    pub fn state(&self) -> Result<BTreeMap<String, Tensor>> {
        let mut state = BTreeMap::new();
        state.insert(STEP.to_owned(), count(self.step)?);
        for Slot { parameter, moments, age } in &self.slots {
            let (first, second) = moments.tensors(&parameter.var)?;
            if *age != self.step {
                state.insert(format!("{}.{AGE}", parameter.name), count(*age)?);
            }
            state.insert(format!("{}.{FIRST}", parameter.name), first);
            state.insert(format!("{}.{SECOND}", parameter.name), second);
        }
        Ok(state)
    }

    /// The state of an optimiser that goes on from another one: `own`, which has taken no step, with all that `before` holds.
    /// What `before` knows nothing of joins now and is as old as it is there: no step.
    ///
    /// # Errors
    /// If a number cannot be made a tensor.
    pub fn joined(own: BTreeMap<String, Tensor>, before: BTreeMap<String, Tensor>) -> Result<BTreeMap<String, Tensor>> {
        let mut state = own;
        let new: Vec<String> = state.keys().filter(|name| !before.contains_key(*name)).cloned().collect();
        for name in new.iter().filter_map(|name| name.strip_suffix(FIRST)) {
            state.insert(format!("{name}{AGE}"), count(0)?);
        }
        state.extend(before);
        Ok(state)
    }

    /// Continues from a saved [`AdamW::state`]. A parameter without an age of its own is as old as the run, as in states
    /// of earlier versions.
    ///
    /// # Errors
    /// If a moment is missing, has another shape, or belongs to no parameter; nothing has changed then.
    pub fn load_state(&mut self, state: &BTreeMap<String, Tensor>) -> Result<()> {
        let find = |name: &str| match state.get(name) {
            Some(tensor) => Ok(tensor),
            None => bail!("The saved optimiser state has no \"{name}\"."),
        };
        let counted = |tensor: &Tensor| match tensor.to_dtype(DType::I64)?.flatten_all()?.to_vec1::<i64>()?.as_slice() {
            &[step] if step >= 0 => Ok(step as u64),
            other => bail!("The saved optimiser state has a step count of {other:?}."),
        };
        let step = counted(find(STEP)?)?;
        let mut known = BTreeSet::from([STEP.to_owned()]);
        let mut loaded = Vec::with_capacity(self.slots.len());
        for Slot { parameter, .. } in &self.slots {
            let names = [FIRST, SECOND].map(|moment| format!("{}.{moment}", parameter.name));
            let [first, second] = [find(&names[0])?, find(&names[1])?];
            for (name, moment) in names.iter().zip([first, second]) {
                if moment.shape() != parameter.var.shape() {
                    bail!(
                        "The saved \"{name}\" has shape {:?}, its parameter {:?}.",
                        moment.shape(),
                        parameter.var.shape()
                    )
                }
            }
            let own = format!("{}.{AGE}", parameter.name);
            let age = state.get(&own).map_or(Ok(step), counted)?;
            if age > step {
                bail!("The saved \"{own}\" is {age}, more than the {step} steps that were taken.")
            }
            loaded.push((Moments::of(&parameter.var, first, second)?, age));
            known.extend(names);
            known.insert(own);
        }
        if let Some(name) = state.keys().find(|name| !known.contains(*name)) {
            bail!("The saved optimiser state has \"{name}\", which belongs to no parameter of this model.")
        }
        for (slot, (moments, age)) in self.slots.iter_mut().zip(loaded) {
            (slot.moments, slot.age) = (moments, age);
        }
        self.step = step;
        Ok(())
    }
}

/// A count as a tensor of one number.
fn count(count: u64) -> Result<Tensor> {
    Tensor::from_vec(vec![count as i64], 1, &Device::Cpu)
}

impl Moments {
    fn zeros(var: &Tensor) -> Result<Self> {
        let count = var.elem_count();
        Ok(match (is_fused(var), var.dtype()) {
            (true, DType::F64) => Self::Double(vec![0.0; count], vec![0.0; count]),
            (true, _) => Self::Single(vec![0.0; count], vec![0.0; count]),
            (false, _) => {
                let zeros = || Tensor::zeros(var.shape(), DType::F32, var.device());
                Self::Tensors(zeros()?, zeros()?)
            }
        })
    }

    /// From saved tensors.
    fn of(var: &Tensor, first: &Tensor, second: &Tensor) -> Result<Self> {
        let host = |moment: &Tensor, dtype| moment.to_device(&Device::Cpu)?.to_dtype(dtype)?.flatten_all();
        Ok(match (is_fused(var), var.dtype()) {
            (true, DType::F64) => {
                Self::Double(host(first, DType::F64)?.to_vec1()?, host(second, DType::F64)?.to_vec1()?)
            }
            (true, _) => Self::Single(host(first, DType::F32)?.to_vec1()?, host(second, DType::F32)?.to_vec1()?),
            (false, _) => {
                let place = |moment: &Tensor| moment.to_device(var.device())?.to_dtype(DType::F32)?.contiguous();
                Self::Tensors(place(first)?, place(second)?)
            }
        })
    }

    /// As tensors of the parameter's shape.
    fn tensors(&self, var: &Tensor) -> Result<(Tensor, Tensor)> {
        let (shape, device) = (var.shape(), &Device::Cpu);
        Ok(match self {
            Self::Single(m, v) => (Tensor::from_slice(m, shape, device)?, Tensor::from_slice(v, shape, device)?),
            Self::Double(m, v) => (Tensor::from_slice(m, shape, device)?, Tensor::from_slice(v, shape, device)?),
            // An update may write them where they lie.
            Self::Tensors(m, v) => (m.to_device(device)?.copy()?, v.to_device(device)?.copy()?),
        })
    }

    fn update(&mut self, parameter: &Parameter, gradient: &Values, s: AdamWScalars<f64>) -> Result<()> {
        let var = &parameter.var;
        match (self, gradient) {
            (Self::Single(m, v), Values::Single(gradient)) => {
                var.inplace_op1(&Update { gradient, moments: Mutex::new((m, v)), scalars: s })
            }
            (Self::Double(m, v), Values::Double(gradient)) => {
                var.inplace_op1(&Update { gradient, moments: Mutex::new((m, v)), scalars: s })
            }
            (Self::Tensors(m, v), Values::Elsewhere(Some(gradient))) => {
                let g = (gradient.to_dtype(DType::F32)? * s.gradient_scale)?;
                *m = ((&*m * s.beta1)? + (&g * s.one_minus_beta1)?)?;
                *v = ((&*v * s.beta2)? + (g.sqr()? * s.one_minus_beta2)?)?;
                let denominator = ((v.sqrt()? * s.inverse_sqrt_correction2)? + s.epsilon)?;
                let moved = (m.broadcast_div(&denominator)? * s.step_size)?;
                let values = var.as_detached_tensor().to_dtype(DType::F32)?;
                var.set(&((values * s.shrink)? - moved)?.to_dtype(var.dtype())?)
            }
            _ => bail!("The gradient of \"{}\" lies elsewhere than its moments.", parameter.name),
        }
    }
}

/// One update in place. The lock is taken once; it is there because an operation is only lent.
struct Update<'a, T> {
    gradient: &'a [T],
    moments: Mutex<(&'a mut Vec<T>, &'a mut Vec<T>)>,
    scalars: AdamWScalars<f64>,
}

impl<T: InPlace> InplaceOp1 for Update<'_, T> {
    fn name(&self) -> &'static str {
        "adamw"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let Ok(mut moments) = self.moments.lock() else { bail!("An earlier update of this parameter panicked.") };
        let (m, v) = &mut *moments;
        let values = slice_mut::<T>(storage, layout)?;
        span("optimiser", Work::pass::<T>(7 * values.len()), || {
            threaded::adamw(values, self.gradient, m, v, &self.scalars);
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
