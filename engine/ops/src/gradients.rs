//! Gradients by parameter, kept from step to step.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candle_core::backprop::GradStore;
use candle_core::{DType, Device, Result, Shape, Tensor, TensorId, bail};

use super::element::{Element, Reading, by_dtype, is_fused};
use super::flows::Flows;
use super::kernels::Paired;
use super::profile::{Work, span};
use super::threaded::{Pooled, Slot};
use super::{Parameter, gpu, threaded};

/// What is added to the norm before dividing by it, as `PyTorch` does.
const CLIP_EPSILON: f64 = 1e-6;

/// The gradients of a set of parameters, in the order in which these were given.
///
/// A backward pass adds to them: the operations of whole sub-layers write straight into the memory here, and what
/// candle's own backward pass leaves is added by [`Gradients::absorb`]. [`Gradients::reset`] empties the set without
/// giving the memory back. A clone is another handle on the same set.
#[derive(Clone, Debug)]
pub struct Gradients(Arc<Set>);

#[derive(Debug)]
struct Set {
    entries: Vec<Entry>,
    by_id: HashMap<TensorId, usize>,
    by_name: HashMap<String, usize>,
    /// Copies of parameters in graphs, with the numbers of their entries.
    stand_ins: Mutex<HashMap<TensorId, (Tensor, usize)>>,
    /// What every gradient is still to be multiplied with, as bits.
    factor: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    name: String,
    parameter: Tensor,
    shape: Shape,
    dtype: DType,
    cell: Mutex<Cell>,
}

/// A gradient, and whether it holds anything yet.
#[derive(Debug)]
struct Cell {
    values: Values,
    filled: bool,
}

/// The memory of a gradient; empty before it is needed.
#[derive(Debug)]
pub(super) enum Values {
    /// On the CPU in single precision.
    Single(Vec<f32>),
    /// On the CPU in double precision.
    Double(Vec<f64>),
    /// On another device, or in half precision.
    Elsewhere(Option<Tensor>),
}

/// A number whose gradients lie where the threaded layer can write them.
pub(super) trait Gradient: Element + Pooled {
    /// The numbers of a gradient of this type, of which there are to be so many.
    fn numbers(values: &mut Values, count: usize) -> Option<&mut [Self]>;
}

impl Gradient for f32 {
    fn numbers(values: &mut Values, count: usize) -> Option<&mut [Self]> {
        let Values::Single(values) = values else { return None };
        values.resize(count, 0.0);
        Some(values)
    }
}

impl Gradient for f64 {
    fn numbers(values: &mut Values, count: usize) -> Option<&mut [Self]> {
        let Values::Double(values) = values else { return None };
        values.resize(count, 0.0);
        Some(values)
    }
}

impl Gradient for Paired {
    fn numbers(values: &mut Values, count: usize) -> Option<&mut [Self]> {
        f32::numbers(values, count).map(Self::of_slice_mut)
    }
}

/// One gradient, locked for an operation that adds to it.
pub(super) struct GradientGuard<'a> {
    cell: MutexGuard<'a, Cell>,
    length: usize,
}

impl GradientGuard<'_> {
    /// Where to write; nothing if the gradient is of another type.
    pub fn slot<T: Gradient>(&mut self) -> Option<Slot<'_, T>> {
        let Cell { values, filled } = &mut *self.cell;
        Some(Slot { data: T::numbers(values, self.length)?, filled })
    }
}

impl Set {
    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.get(*self.by_name.get(name)?)
    }
}

impl Gradients {
    /// An empty set for these parameters.
    ///
    /// # Errors
    /// If two parameters share a name.
    pub fn new(parameters: &[Parameter]) -> Result<Self> {
        let entries: Vec<Entry> = parameters
            .iter()
            .map(|Parameter { name, var, .. }| {
                let values = match (is_fused(var), var.dtype()) {
                    (true, DType::F64) => Values::Double(Vec::new()),
                    (true, _) => Values::Single(Vec::new()),
                    (false, _) => Values::Elsewhere(None),
                };
                Entry {
                    name: name.clone(),
                    parameter: var.as_tensor().clone(),
                    shape: var.shape().clone(),
                    dtype: var.dtype(),
                    cell: Mutex::new(Cell { values, filled: false }),
                }
            })
            .collect();
        let mut by_name = HashMap::new();
        for (index, Entry { name, .. }) in entries.iter().enumerate() {
            if by_name.insert(name.clone(), index).is_some() {
                bail!("Two parameters have the name \"{name}\".")
            }
        }
        let by_id = entries.iter().enumerate().map(|(index, entry)| (entry.parameter.id(), index)).collect();
        let stand_ins = Mutex::default();
        Ok(Self(Arc::new(Set { entries, by_id, by_name, stand_ins, factor: AtomicU64::new(1.0_f64.to_bits()) })))
    }

    /// Lets variables stand in for parameters, by name: their gradients are those of the parameters. Whatever stood in
    /// for any parameter before is forgotten.
    ///
    /// # Errors
    /// If there is no parameter of a name, or its shape is another one.
    pub fn stand_in<'a>(&self, copies: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<()> {
        let mut found = HashMap::new();
        for (name, copy) in copies {
            match self.0.by_name.get(name).and_then(|&index| Some((index, self.0.entries.get(index)?))) {
                Some((index, entry)) if entry.shape == *copy.shape() => found.insert(copy.id(), (copy.clone(), index)),
                _ => bail!("A copy of shape {:?} cannot stand in for the parameter \"{name}\".", copy.shape()),
            };
        }
        *self.stand_ins() = found;
        Ok(())
    }

    fn stand_ins(&self) -> MutexGuard<'_, HashMap<TensorId, (Tensor, usize)>> {
        self.0.stand_ins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The gradients that one backward pass of candle left.
    ///
    /// # Errors
    /// If a parameter has no gradient, with its name, or two share one.
    pub fn collect(store: GradStore, parameters: &[Parameter]) -> Result<Self> {
        let gradients = Self::new(parameters)?;
        gradients.absorb(store)?;
        gradients.require_all()?;
        Ok(gradients)
    }

    /// Empties the set, keeping its memory.
    pub fn reset(&self) {
        for entry in &self.0.entries {
            let mut cell = entry.cell();
            cell.filled = false;
            if let Values::Elsewhere(tensor) = &mut cell.values {
                *tensor = None;
            }
        }
        self.set_factor(1.0);
    }

    /// Carries a loss back and adds what comes of it for the parameters.
    ///
    /// # Errors
    /// If the set was scaled since it was reset, or the device fails.
    pub fn add_of(&self, loss: &Tensor) -> Result<()> {
        let Some(flows) = Flows::of(loss) else { return self.absorb(loss.backward()?) };
        self.require_unscaled()?;
        let stand_ins = self.stand_ins();
        flows.run(loss, |parameter, gradient| {
            let id = parameter.id();
            let index = self.0.by_id.get(&id).or_else(|| stand_ins.get(&id).map(|(_, index)| index));
            match index.and_then(|&index| self.0.entries.get(index)) {
                Some(entry) => entry.add(&gradient.contiguous()?),
                None => Ok(()),
            }
        })
    }

    /// Adds what candle's backward pass left for the parameters; the rest is freed.
    ///
    /// # Errors
    /// If the set was scaled since it was reset, or the device fails.
    pub fn absorb(&self, mut store: GradStore) -> Result<()> {
        self.require_unscaled()?;
        for entry in &self.0.entries {
            if let Some(gradient) = store.remove(&entry.parameter) {
                entry.add(&gradient.detach().contiguous()?)?;
            }
        }
        for (copy, index) in self.stand_ins().values() {
            if let (Some(gradient), Some(entry)) = (store.remove(copy), self.0.entries.get(*index)) {
                entry.add(&gradient.detach().contiguous()?)?;
            }
        }
        Ok(())
    }

    /// Refuses a set in which a parameter has no gradient.
    ///
    /// # Errors
    /// With the name of the first such parameter.
    pub fn require_all(&self) -> Result<()> {
        match self.0.entries.iter().find(|entry| !entry.cell().filled) {
            Some(entry) => bail!(
                "The parameter \"{}\" got no gradient: the loss does not depend on it, or an operation on the way \
                 cuts gradients.",
                entry.name
            ),
            None => Ok(()),
        }
    }

    /// A copy of the gradient of a parameter; nothing if there is none.
    pub fn get(&self, name: &str) -> Option<Tensor> {
        self.0.entry(name)?.copy(self.factor())
    }

    /// Names and copies of the gradients in the order of the parameters; those that are not there are left out.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Tensor)> {
        self.0.entries.iter().filter_map(|entry| Some((entry.name.as_str(), entry.copy(self.factor())?)))
    }

    /// How many parameters there are.
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Whether there is no parameter.
    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// Multiplies every gradient by a factor, when it is next read: no pass over them.
    pub fn scale(&self, factor: f64) {
        self.set_factor(self.factor() * factor);
    }

    /// The Euclidean norm over all gradients together, added up in double precision in a fixed order.
    ///
    /// # Errors
    /// If the device fails.
    pub fn global_norm(&self) -> Result<f64> {
        let elements = self.0.entries.iter().map(|entry| entry.shape.elem_count()).sum();
        span("gradient norm", Work::pass::<f32>(elements), || self.norm())
    }

    fn norm(&self) -> Result<f64> {
        let mut total = 0.0;
        // Those on a GPU are read back together.
        let mut together = Vec::new();
        for entry in &self.0.entries {
            let cell = entry.cell();
            if !cell.filled {
                continue;
            }
            total += match &cell.values {
                Values::Elsewhere(Some(tensor)) if gpu::has_kernels(tensor) => {
                    together.push(tensor.contiguous()?);
                    0.0
                }
                Values::Single(values) => threaded::sum_of_squares(values),
                Values::Double(values) => threaded::sum_of_squares(values),
                Values::Elsewhere(Some(tensor)) => sum_of_squares(tensor)?,
                Values::Elsewhere(None) => 0.0,
            };
        }
        for tensors in together.chunk_by(|a, b| a.dtype() == b.dtype()) {
            total += gpu::squares_of(tensors)?;
        }
        Ok(total.sqrt() * self.factor().abs())
    }

    /// Scales all gradients so that their global norm is at most `max_norm`; gives the norm before. A norm that is not
    /// finite changes nothing.
    ///
    /// # Errors
    /// If the device fails.
    pub fn clip(&self, max_norm: f64) -> Result<f64> {
        let norm = self.global_norm()?;
        let factor = max_norm / (norm + CLIP_EPSILON);
        if norm.is_finite() && factor < 1.0 {
            self.scale(factor);
        }
        Ok(norm)
    }

    /// The name of the first parameter whose gradient holds a NaN or an infinity.
    ///
    /// # Errors
    /// If the device fails.
    pub fn first_non_finite(&self) -> Result<Option<String>> {
        for entry in &self.0.entries {
            let cell = entry.cell();
            let is_finite = !cell.filled
                || match &cell.values {
                    Values::Single(values) => threaded::all_finite(values),
                    Values::Double(values) => threaded::all_finite(values),
                    Values::Elsewhere(Some(tensor)) => sum_of_squares(&(tensor * 0.0)?)? == 0.0,
                    Values::Elsewhere(None) => true,
                };
            if !is_finite {
                return Ok(Some(entry.name.clone()));
            }
        }
        Ok(None)
    }

    /// What every gradient is still to be multiplied with.
    pub(super) fn factor(&self) -> f64 {
        f64::from_bits(self.0.factor.load(Ordering::Relaxed))
    }

    /// Locks the gradient of a parameter to add to it; nothing if `parameter` is not in this set.
    pub(super) fn guard(&self, parameter: &Tensor) -> Option<GradientGuard<'_>> {
        let entry = self.0.entries.get(*self.0.by_id.get(&parameter.id())?)?;
        Some(GradientGuard { cell: entry.cell(), length: entry.shape.elem_count() })
    }

    /// Calls `f` with the gradient of a parameter where it lies, not yet multiplied by [`Gradients::factor`].
    ///
    /// # Errors
    /// If there is no such gradient, or it does not fit the parameter.
    pub(super) fn read<R>(&self, parameter: &Parameter, f: impl FnOnce(&Values) -> Result<R>) -> Result<R> {
        let Parameter { name, var, .. } = parameter;
        let Some(entry) = self.0.entry(name) else { bail!("The optimiser was given no gradient of \"{name}\".") };
        if entry.shape != *var.shape() || entry.dtype != var.dtype() {
            bail!(
                "The gradient of \"{name}\" has shape {:?} and type {:?}, the parameter {:?} and {:?}.",
                entry.shape,
                entry.dtype,
                var.shape(),
                var.dtype()
            )
        }
        let cell = entry.cell();
        if !cell.filled {
            bail!("The optimiser was given no gradient of \"{name}\".")
        }
        f(&cell.values)
    }

    fn set_factor(&self, factor: f64) {
        self.0.factor.store(factor.to_bits(), Ordering::Relaxed);
    }

    fn require_unscaled(&self) -> Result<()> {
        if self.factor().to_bits() == 1.0_f64.to_bits() {
            return Ok(());
        }
        bail!("Gradients that were scaled cannot be added to: scale them after the last backward pass.")
    }
}

impl Entry {
    fn cell(&self) -> MutexGuard<'_, Cell> {
        self.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a gradient of the parameter's type, or of a copy in 16 bits. On another device a single one of these stays as
    /// it is; sums are of the parameter's type.
    fn add(&self, gradient: &Tensor) -> Result<()> {
        let of_copy = self.dtype == DType::F32 && matches!(gradient.dtype(), DType::F16 | DType::BF16);
        if gradient.shape() != &self.shape || (gradient.dtype() != self.dtype && !of_copy) {
            bail!("A gradient of \"{}\" of another shape or element type cannot be added.", self.name)
        }
        let mut cell = self.cell();
        if let Cell { values: Values::Elsewhere(sum), filled } = &mut *cell {
            *sum = Some(match sum.take() {
                Some(sum) => (sum.to_dtype(self.dtype)? + gradient.to_dtype(self.dtype)?)?,
                None => gradient.clone(),
            });
            *filled = true;
            return Ok(());
        }
        let gradient = &gradient.to_dtype(self.dtype)?;
        let mut guard = GradientGuard { cell, length: self.shape.elem_count() };
        by_dtype!(self.dtype, T => {
            if let Some(mut slot) = guard.slot::<T>() {
                slot.add(Reading::of(gradient).slice()?);
            }
        });
        Ok(())
    }

    fn copy(&self, factor: f64) -> Option<Tensor> {
        let cell = self.cell();
        if !cell.filled {
            return None;
        }
        let tensor = match &cell.values {
            Values::Single(values) => Tensor::from_slice(values, &self.shape, &Device::Cpu),
            Values::Double(values) => Tensor::from_slice(values, &self.shape, &Device::Cpu),
            Values::Elsewhere(tensor) => tensor.as_ref()?.to_dtype(self.dtype),
        };
        let tensor = tensor.ok()?;
        if factor == 1.0 { Some(tensor) } else { (tensor * factor).ok() }
    }
}

/// On a device without fused operations.
fn sum_of_squares(gradient: &Tensor) -> Result<f64> {
    match gradient.dtype() {
        DType::F64 => gradient.sqr()?.sum_all()?.to_scalar(),
        // Not every device has double precision.
        _ => Ok(f64::from(gradient.to_dtype(DType::F32)?.sqr()?.sum_all()?.to_scalar::<f32>()?)),
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Var;

    use super::*;

    fn parameter(name: &str, values: &[f32]) -> Parameter {
        let var = Var::new(values, &Device::Cpu).unwrap();
        Parameter { name: name.into(), var, decay: true, rate: 1.0 }
    }

    /// What candle leaves for gradients equal to the factors.
    fn store(parameters: &[Parameter], factors: &[&[f32]]) -> GradStore {
        let mut loss = Tensor::zeros((), DType::F32, &Device::Cpu).unwrap();
        for (parameter, factors) in parameters.iter().zip(factors) {
            let factors = Tensor::new(*factors, &Device::Cpu).unwrap();
            loss = (loss + (parameter.var.as_tensor() * factors).unwrap().sum_all().unwrap()).unwrap();
        }
        loss.backward().unwrap()
    }

    fn gradients(parameters: &[Parameter], factors: &[&[f32]]) -> Gradients {
        Gradients::collect(store(parameters, factors), parameters).unwrap()
    }

    fn values(gradients: &Gradients, name: &str) -> Vec<f32> {
        gradients.get(name).unwrap().to_vec1().unwrap()
    }

    #[test]
    fn norm_clip_scale_and_sum() {
        let parameters = [parameter("b", &[1.0, 2.0]), parameter("a", &[5.0])];
        let g = gradients(&parameters, &[&[3.0, 4.0], &[12.0]]);
        assert_eq!(g.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(g.global_norm().unwrap(), 13.0);
        assert_eq!(g.clip(20.0).unwrap(), 13.0);
        assert_eq!(values(&g, "a"), [12.0]);
        g.absorb(store(&parameters, &[&[1.0, -4.0], &[0.0]])).unwrap();
        assert_eq!(values(&g, "b"), [4.0, 0.0]);
        g.scale(0.5);
        assert_eq!(values(&g, "a"), [6.0]);
        assert_eq!(g.global_norm().unwrap(), 0.5 * 160.0_f64.sqrt());
        let before = g.clip(1.0).unwrap();
        assert_eq!(before, 40.0_f64.sqrt());
        assert!((g.global_norm().unwrap() - 1.0).abs() < 1e-6);
        let error = g.absorb(store(&parameters, &[&[1.0, 1.0], &[1.0]])).unwrap_err().to_string();
        assert!(error.contains("scaled"), "{error}");
        g.reset();
        assert!(g.get("a").is_none() && g.require_all().is_err());
        assert_eq!((g.global_norm().unwrap(), g.len()), (0.0, 2));
        g.absorb(store(&parameters, &[&[7.0, 8.0], &[9.0]])).unwrap();
        assert_eq!(values(&g, "b"), [7.0, 8.0]);
    }

    #[test]
    fn a_parameter_without_gradient_is_named() {
        let parameters = [parameter("used", &[1.0]), parameter("forgotten", &[1.0])];
        let store = parameters[0].var.as_tensor().sqr().unwrap().sum_all().unwrap().backward().unwrap();
        let error = Gradients::collect(store, &parameters).unwrap_err().to_string();
        assert!(error.contains("\"forgotten\""), "{error}");
        let twice = [parameter("w", &[1.0]), parameter("w", &[1.0])];
        assert!(Gradients::new(&twice).unwrap_err().to_string().contains("\"w\""));
    }

    #[test]
    fn the_first_non_finite_gradient_is_named() {
        let parameters = [parameter("c", &[1.0]), parameter("b", &[1.0, 1.0]), parameter("a", &[1.0])];
        let find = |factors: &[&[f32]]| gradients(&parameters, factors).first_non_finite().unwrap();
        assert_eq!(find(&[&[1.0], &[1.0, -3e38], &[0.0]]), None);
        assert_eq!(find(&[&[1.0], &[1.0, f32::NEG_INFINITY], &[f32::NAN]]).as_deref(), Some("b"));
        assert_eq!(find(&[&[1.0], &[1.0, 2.0], &[f32::NAN]]).as_deref(), Some("a"));
        assert_eq!(find(&[&[f32::NAN], &[1.0, f32::NAN], &[0.0]]).as_deref(), Some("c"));
        let diverged = gradients(&parameters, &[&[f32::NAN], &[1.0, 2.0], &[0.0]]);
        assert!(diverged.clip(1.0).unwrap().is_nan());
        assert_eq!(values(&diverged, "b"), [1.0, 2.0]);
    }

    #[test]
    fn long_gradients_are_summed_alike_for_any_number_of_threads() {
        let long: Vec<f32> = (0..100_003).map(|i| ((i * 37) % 1009) as f32 * 1e-3 - 0.5).collect();
        let parameters = [parameter("w", &long)];
        let g = gradients(&parameters, &[&long]);
        let exact = long.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        assert!((g.global_norm().unwrap() / exact - 1.0).abs() < 1e-12);
        let norm = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| g.global_norm().unwrap().to_bits())
        };
        assert_eq!(norm(1), norm(2));
        assert_eq!(norm(1), norm(3));
    }
}
