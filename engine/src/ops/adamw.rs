//! The optimiser.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use candle_core::{CpuStorage, DType, Device, InplaceOp2, Layout, Result, Tensor, bail};

use super::element::{InPlace, is_fused, slice, slice_mut};
use super::kernels::AdamWScalars;
use super::{Gradients, Parameter, threaded};

/// The name of the step count in [`AdamW::state`].
const STEP: &str = "optimizer.step";
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
            slots.push(Slot { parameter, moments });
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
        let mut gradients = Vec::with_capacity(self.slots.len());
        for Slot { parameter, .. } in &self.slots {
            let Some(gradient) = grads.get(&parameter.name) else {
                bail!("The optimiser was given no gradient of \"{}\".", parameter.name)
            };
            if gradient.shape() != parameter.var.shape() || gradient.dtype() != parameter.var.dtype() {
                bail!(
                    "The gradient of \"{}\" has shape {:?} and type {:?}, the parameter {:?} and {:?}.",
                    parameter.name,
                    gradient.shape(),
                    gradient.dtype(),
                    parameter.var.shape(),
                    parameter.var.dtype()
                )
            }
            gradients.push(gradient.contiguous()?);
        }
        self.step += 1;
        let AdamWConfig { beta1, beta2, epsilon, weight_decay } = self.config;
        let steps = self.step as f64;
        for (Slot { parameter, moments }, gradient) in self.slots.iter_mut().zip(&gradients) {
            let scalars = AdamWScalars {
                beta1,
                one_minus_beta1: 1.0 - beta1,
                beta2,
                one_minus_beta2: 1.0 - beta2,
                inverse_sqrt_correction2: 1.0 / (1.0 - beta2.powf(steps)).sqrt(),
                epsilon,
                step_size: learning_rate / (1.0 - beta1.powf(steps)),
                shrink: if parameter.decay { 1.0 - learning_rate * weight_decay } else { 1.0 },
            };
            moments.update(parameter, gradient, scalars)?;
        }
        Ok(())
    }

    /// A copy of the moments and of the step count, to be saved: `NAME.exp_avg`, `NAME.exp_avg_sq` and
    /// `optimizer.step`.
    ///
    /// # Errors
    /// If the device fails.
    pub fn state(&self) -> Result<BTreeMap<String, Tensor>> {
        let mut state = BTreeMap::new();
        state.insert(STEP.to_owned(), Tensor::from_vec(vec![self.step as i64], 1, &Device::Cpu)?);
        for Slot { parameter, moments } in &self.slots {
            let (first, second) = moments.tensors(&parameter.var)?;
            state.insert(format!("{}.{FIRST}", parameter.name), first);
            state.insert(format!("{}.{SECOND}", parameter.name), second);
        }
        Ok(state)
    }

    /// Continues from a saved [`AdamW::state`].
    ///
    /// # Errors
    /// If a moment is missing, has another shape, or belongs to no parameter; nothing has changed then.
    pub fn load_state(&mut self, state: &BTreeMap<String, Tensor>) -> Result<()> {
        let find = |name: &str| match state.get(name) {
            Some(tensor) => Ok(tensor),
            None => bail!("The saved optimiser state has no \"{name}\"."),
        };
        let step = match find(STEP)?.to_dtype(DType::I64)?.flatten_all()?.to_vec1::<i64>()?.as_slice() {
            &[step] if step >= 0 => step as u64,
            other => bail!("The saved optimiser state has a step count of {other:?}."),
        };
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
            loaded.push(Moments::of(&parameter.var, first, second)?);
            known.extend(names);
        }
        if let Some(name) = state.keys().find(|name| !known.contains(*name)) {
            bail!("The saved optimiser state has \"{name}\", which belongs to no parameter of this model.")
        }
        for (slot, moments) in self.slots.iter_mut().zip(loaded) {
            slot.moments = moments;
        }
        self.step = step;
        Ok(())
    }
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
            Self::Tensors(m, v) => (m.copy()?, v.copy()?),
        })
    }

    fn update(&mut self, parameter: &Parameter, gradient: &Tensor, s: AdamWScalars<f64>) -> Result<()> {
        let var = &parameter.var;
        match self {
            Self::Single(m, v) => var.inplace_op2(gradient, &Update { moments: Mutex::new((m, v)), scalars: s }),
            Self::Double(m, v) => var.inplace_op2(gradient, &Update { moments: Mutex::new((m, v)), scalars: s }),
            Self::Tensors(m, v) => {
                let g = gradient.to_dtype(DType::F32)?;
                *m = ((&*m * s.beta1)? + (&g * s.one_minus_beta1)?)?;
                *v = ((&*v * s.beta2)? + (g.sqr()? * s.one_minus_beta2)?)?;
                let denominator = ((v.sqrt()? * s.inverse_sqrt_correction2)? + s.epsilon)?;
                let moved = (m.broadcast_div(&denominator)? * s.step_size)?;
                let values = var.as_detached_tensor().to_dtype(DType::F32)?;
                var.set(&((values * s.shrink)? - moved)?.to_dtype(var.dtype())?)
            }
        }
    }
}

/// One update in place. The lock is taken once; it is there because an operation is only lent.
struct Update<'a, T> {
    moments: Mutex<(&'a mut Vec<T>, &'a mut Vec<T>)>,
    scalars: AdamWScalars<f64>,
}

impl<T: InPlace> InplaceOp2 for Update<'_, T> {
    fn name(&self) -> &'static str {
        "adamw"
    }

    fn cpu_fwd(&self, s1: &mut CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<()> {
        let Ok(mut moments) = self.moments.lock() else { bail!("An earlier update of this parameter panicked.") };
        let (m, v) = &mut *moments;
        threaded::adamw(slice_mut::<T>(s1, l1)?, slice::<T>(s2, l2)?, m, v, &self.scalars);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Var;

    use super::super::testing::{numbers, values, variable};
    use super::*;

    const CONFIG: AdamWConfig = AdamWConfig { beta1: 0.8, beta2: 0.95, epsilon: 1e-6, weight_decay: 0.1 };

    fn parameters(dtype: DType) -> Vec<Parameter> {
        vec![
            Parameter { name: "w".into(), var: variable(1, &[3, 7], dtype), decay: true },
            Parameter { name: "b".into(), var: variable(2, &[20_000], dtype), decay: false },
        ]
    }

    /// Gradients of a step: those of the sum of each parameter times fixed numbers.
    fn gradients(parameters: &[Parameter], step: u64) -> Gradients {
        let mut loss = None;
        for (index, parameter) in parameters.iter().enumerate() {
            let factors = numbers(100 + 10 * step + index as u64, parameter.var.dims(), parameter.var.dtype());
            let part = (parameter.var.as_tensor() * factors).unwrap().sum_all().unwrap();
            loss = Some(loss.map_or(part.clone(), |loss: Tensor| (loss + part).unwrap()));
        }
        Gradients::collect(loss.unwrap().backward().unwrap(), parameters).unwrap()
    }

    /// `PyTorch`'s documentation of `AdamW`, one number at a time.
    fn reference(start: f64, gradients: &[f64], rates: &[f64], decay: f64) -> f64 {
        let (mut p, mut m, mut v) = (start, 0.0, 0.0);
        for (t, (&g, &rate)) in gradients.iter().zip(rates).enumerate() {
            let t = t as i32 + 1;
            p -= rate * decay * p;
            m = CONFIG.beta1 * m + (1.0 - CONFIG.beta1) * g;
            v = CONFIG.beta2 * v + (1.0 - CONFIG.beta2) * g * g;
            let m_hat = m / (1.0 - CONFIG.beta1.powi(t));
            let v_hat = v / (1.0 - CONFIG.beta2.powi(t));
            p -= rate * m_hat / (v_hat.sqrt() + CONFIG.epsilon);
        }
        p
    }

    #[test]
    fn matches_a_scalar_reference_over_several_steps() {
        let rates = [0.1, 0.05, 0.2, 0.0, 0.01];
        for (dtype, tolerance) in [(DType::F32, 2e-6), (DType::F64, 1e-13)] {
            let parameters = parameters(dtype);
            let starts: Vec<Vec<f64>> = parameters.iter().map(|p| values(&p.var)).collect();
            let mut optimiser = AdamW::new(parameters.clone(), CONFIG).unwrap();
            let mut history = Vec::new();
            for (step, &rate) in rates.iter().enumerate() {
                let gradients = gradients(&parameters, step as u64);
                history.push(gradients.clone());
                optimiser.step(&gradients, rate).unwrap();
            }
            assert_eq!(optimiser.step_count(), 5);
            for (parameter, start) in parameters.iter().zip(starts) {
                let history: Vec<_> = history.iter().map(|g| values(g.get(&parameter.name).unwrap())).collect();
                let decay = if parameter.decay { CONFIG.weight_decay } else { 0.0 };
                for (place, (&start, ours)) in start.iter().zip(values(&parameter.var)).enumerate() {
                    let gradients: Vec<f64> = history.iter().map(|g| g[place]).collect();
                    let expected = reference(start, &gradients, &rates, decay);
                    let is_close = (ours - expected).abs() <= tolerance * expected.abs().max(1.0);
                    assert!(is_close, "{} at {place}: {ours} instead of {expected}", parameter.name);
                }
            }
        }
    }

    #[test]
    fn a_saved_state_continues_bit_for_bit() {
        for dtype in [DType::F32, DType::F64, DType::BF16] {
            let parameters = parameters(dtype);
            let mut optimiser = AdamW::new(parameters.clone(), CONFIG).unwrap();
            for step in 0..3 {
                optimiser.step(&gradients(&parameters, step), 0.1).unwrap();
            }
            let copies: Vec<Parameter> = parameters
                .iter()
                .rev()
                .map(|p| Parameter { var: Var::from_tensor(&p.var.copy().unwrap().detach()).unwrap(), ..p.clone() })
                .collect();
            let state = optimiser.state().unwrap();
            let names: Vec<&str> = state.keys().map(String::as_str).collect();
            assert_eq!(names, ["b.exp_avg", "b.exp_avg_sq", "optimizer.step", "w.exp_avg", "w.exp_avg_sq"]);
            let mut resumed = AdamW::new(copies.clone(), CONFIG).unwrap();
            resumed.load_state(&state).unwrap();
            for step in 3..6 {
                let gradients = gradients(&parameters, step);
                optimiser.step(&gradients, 0.1).unwrap();
                resumed.step(&gradients, 0.1).unwrap();
            }
            for (one, other) in parameters.iter().zip(copies.iter().rev()) {
                assert_eq!(values(&one.var), values(&other.var), "{}", one.name);
            }
            // The state was a copy: later steps have not changed it.
            let mut again = AdamW::new(copies, CONFIG).unwrap();
            again.load_state(&state).unwrap();
            assert_eq!(again.step_count(), 3);
        }
    }

    #[test]
    fn half_precision_follows_single_precision() {
        let single = parameters(DType::F32);
        let half: Vec<Parameter> = single
            .iter()
            .map(|p| Parameter { var: Var::from_tensor(&p.var.to_dtype(DType::BF16).unwrap()).unwrap(), ..p.clone() })
            .collect();
        for parameters in [&single, &half] {
            AdamW::new(parameters.clone(), CONFIG).unwrap().step(&gradients(parameters, 0), 0.5).unwrap();
        }
        for (single, half) in single.iter().zip(&half) {
            for (x, y) in values(&single.var).into_iter().zip(values(&half.var)) {
                // Eight bits of mantissa, rounded twice; a gradient near zero may move either way no further than 1.
                assert!((x - y).abs() <= 0.03 * x.abs().max(1.0), "{y} instead of {x}");
            }
        }
    }

    #[test]
    fn a_failed_step_or_load_changes_nothing() {
        let parameters = parameters(DType::F32);
        let before: Vec<_> = parameters.iter().map(|p| values(&p.var)).collect();
        let mut optimiser = AdamW::new(parameters.clone(), CONFIG).unwrap();
        let error = optimiser.step(&gradients(&parameters[..1], 0), 0.1).unwrap_err().to_string();
        assert!(error.contains("\"b\""), "{error}");
        assert_eq!(before, parameters.iter().map(|p| values(&p.var)).collect::<Vec<_>>());
        assert_eq!(optimiser.step_count(), 0);

        let state = optimiser.state().unwrap();
        let load = |optimiser: &mut AdamW, change: &dyn Fn(&mut BTreeMap<String, Tensor>)| {
            let mut state = state.clone();
            change(&mut state);
            optimiser.load_state(&state).unwrap_err().to_string()
        };
        let missing = load(&mut optimiser, &|state| drop(state.remove("w.exp_avg_sq")));
        assert!(missing.contains("w.exp_avg_sq"), "{missing}");
        let shape =
            load(&mut optimiser, &|state| drop(state.insert("w.exp_avg".into(), numbers(1, &[7, 3], DType::F32))));
        assert!(shape.contains("[7, 3]"), "{shape}");
        let stray = load(&mut optimiser, &|state| drop(state.insert("x.exp_avg".into(), numbers(1, &[1], DType::F32))));
        assert!(stray.contains("x.exp_avg"), "{stray}");
    }

    #[test]
    fn two_parameters_cannot_share_a_name() {
        let mut parameters = parameters(DType::F32);
        parameters[1].name = "w".into();
        assert!(AdamW::new(parameters, CONFIG).unwrap_err().to_string().contains("\"w\""));
    }
}
