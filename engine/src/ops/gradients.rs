//! Gradients by parameter name.

use std::collections::BTreeMap;

use candle_core::backprop::GradStore;
use candle_core::{CpuStorage, DType, InplaceOp1, InplaceOp2, Layout, Result, Tensor, bail};

use super::element::{InPlace, Reading, by_dtype, is_fused, slice, slice_mut};
use super::{Parameter, threaded};

/// What is added to the norm before dividing by it, as `PyTorch` does.
const CLIP_EPSILON: f64 = 1e-6;

/// The gradients of a set of parameters, in the order of their names.
///
/// Sums and scalings happen in place: the tensors belong to this set alone, which is why it cannot be cloned.
#[derive(Debug)]
pub struct Gradients(BTreeMap<String, Tensor>);

impl Gradients {
    /// Takes the gradients of the parameters out of what candle's backward pass left; the rest is freed.
    ///
    /// # Errors
    /// If a parameter has no gradient, with its name.
    pub fn collect(mut store: GradStore, parameters: &[Parameter]) -> Result<Self> {
        let mut gradients = BTreeMap::new();
        for parameter in parameters {
            let Some(gradient) = store.remove(&parameter.var) else {
                bail!(
                    "The parameter \"{}\" got no gradient: the loss does not depend on it, or an operation on the way \
                     cuts gradients.",
                    parameter.name
                )
            };
            if gradients.insert(parameter.name.clone(), gradient.detach().contiguous()?).is_some() {
                bail!("Two parameters have the name \"{}\".", parameter.name)
            }
        }
        Ok(Self(gradients))
    }

    /// The gradient of a parameter.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.0.get(name)
    }

    /// Names and gradients in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.0.iter().map(|(name, gradient)| (name.as_str(), gradient))
    }

    /// How many parameters there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no parameter.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the gradients of another batch, which must be of the same parameters.
    ///
    /// # Errors
    /// If the names or the shapes differ; nothing was added then.
    pub fn accumulate(&mut self, other: &Self) -> Result<()> {
        if !self.0.keys().eq(other.0.keys()) {
            bail!("Gradients of different parameters cannot be added.")
        }
        for ((name, sum), gradient) in self.0.iter().zip(other.0.values()) {
            if sum.shape() != gradient.shape() || sum.dtype() != gradient.dtype() {
                bail!("Gradients of \"{name}\" of different shapes or element types cannot be added.")
            }
        }
        for (sum, gradient) in self.0.values_mut().zip(other.0.values()) {
            if is_fused(sum) {
                sum.inplace_op2(gradient, &AddAssign)?;
            } else {
                *sum = (&*sum + gradient)?;
            }
        }
        Ok(())
    }

    /// Multiplies every gradient by a factor.
    ///
    /// # Errors
    /// If the device fails.
    pub fn scale(&mut self, factor: f64) -> Result<()> {
        for gradient in self.0.values_mut() {
            if is_fused(gradient) {
                gradient.inplace_op1(&Scale { factor })?;
            } else {
                *gradient = (&*gradient * factor)?;
            }
        }
        Ok(())
    }

    /// The Euclidean norm over all gradients together, added up in double precision in a fixed order.
    ///
    /// # Errors
    /// If the device fails.
    pub fn global_norm(&self) -> Result<f64> {
        let mut total = 0.0;
        for gradient in self.0.values() {
            total += sum_of_squares(gradient)?;
        }
        Ok(total.sqrt())
    }

    /// Scales all gradients so that their global norm is at most `max_norm`; gives the norm before. A norm that is not
    /// finite changes nothing.
    ///
    /// # Errors
    /// If the device fails.
    pub fn clip(&mut self, max_norm: f64) -> Result<f64> {
        let norm = self.global_norm()?;
        let factor = max_norm / (norm + CLIP_EPSILON);
        if norm.is_finite() && factor < 1.0 {
            self.scale(factor)?;
        }
        Ok(norm)
    }

    /// The name of the first parameter, by name, whose gradient holds a NaN or an infinity.
    ///
    /// # Errors
    /// If the device fails.
    pub fn first_non_finite(&self) -> Result<Option<String>> {
        for (name, gradient) in &self.0 {
            let is_finite = if is_fused(gradient) {
                by_dtype!(gradient.dtype(), T => threaded::all_finite::<T>(Reading::of(gradient).slice()?))
            } else {
                sum_of_squares(&(gradient * 0.0)?)? == 0.0
            };
            if !is_finite {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }
}

fn sum_of_squares(gradient: &Tensor) -> Result<f64> {
    if is_fused(gradient) {
        return by_dtype!(gradient.dtype(), T => {
            Ok(threaded::sum_of_squares::<T>(Reading::of(gradient).slice()?))
        });
    }
    match gradient.dtype() {
        DType::F64 => gradient.sqr()?.sum_all()?.to_scalar(),
        // Not every device has double precision.
        _ => Ok(f64::from(gradient.to_dtype(DType::F32)?.sqr()?.sum_all()?.to_scalar::<f32>()?)),
    }
}

struct Scale {
    factor: f64,
}

impl InplaceOp1 for Scale {
    fn name(&self) -> &'static str {
        "scale gradients"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        by_dtype!(candle_core::backend::BackendStorage::dtype(storage), T => {
            threaded::scale(slice_mut::<T>(storage, layout)?, self.factor);
            Ok(())
        })
    }
}

struct AddAssign;

impl AddAssign {
    fn run<T: InPlace>(s1: &mut CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<()> {
        threaded::add_assign(slice_mut::<T>(s1, l1)?, slice(s2, l2)?);
        Ok(())
    }
}

impl InplaceOp2 for AddAssign {
    fn name(&self) -> &'static str {
        "accumulate gradients"
    }

    fn cpu_fwd(&self, s1: &mut CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<()> {
        by_dtype!(candle_core::backend::BackendStorage::dtype(s1), T => Self::run::<T>(s1, l1, s2, l2))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;

    fn parameter(name: &str, values: &[f32]) -> Parameter {
        let var = Var::new(values, &Device::Cpu).unwrap();
        Parameter { name: name.into(), var, decay: true }
    }

    /// Gradients equal to the factors.
    fn gradients(parameters: &[Parameter], factors: &[&[f32]]) -> Gradients {
        let mut loss = Tensor::zeros((), DType::F32, &Device::Cpu).unwrap();
        for (parameter, factors) in parameters.iter().zip(factors) {
            let factors = Tensor::new(*factors, &Device::Cpu).unwrap();
            loss = (loss + (parameter.var.as_tensor() * factors).unwrap().sum_all().unwrap()).unwrap();
        }
        Gradients::collect(loss.backward().unwrap(), parameters).unwrap()
    }

    fn values(gradients: &Gradients, name: &str) -> Vec<f32> {
        gradients.get(name).unwrap().to_vec1().unwrap()
    }

    #[test]
    fn norm_clip_scale_and_sum() {
        let parameters = [parameter("b", &[1.0, 2.0]), parameter("a", &[5.0])];
        let mut g = gradients(&parameters, &[&[3.0, 4.0], &[12.0]]);
        assert_eq!(g.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(g.global_norm().unwrap(), 13.0);
        assert_eq!(g.clip(20.0).unwrap(), 13.0);
        assert_eq!(values(&g, "a"), [12.0]);
        g.accumulate(&gradients(&parameters, &[&[1.0, -4.0], &[0.0]])).unwrap();
        assert_eq!(values(&g, "b"), [4.0, 0.0]);
        g.scale(0.5).unwrap();
        assert_eq!(values(&g, "a"), [6.0]);
        let before = g.clip(1.0).unwrap();
        assert_eq!(before, 40.0_f64.sqrt());
        assert!((g.global_norm().unwrap() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_parameter_without_gradient_is_named() {
        let parameters = [parameter("used", &[1.0]), parameter("forgotten", &[1.0])];
        let store = parameters[0].var.as_tensor().sqr().unwrap().sum_all().unwrap().backward().unwrap();
        let error = Gradients::collect(store, &parameters).unwrap_err().to_string();
        assert!(error.contains("\"forgotten\""), "{error}");
    }

    #[test]
    fn sets_of_different_parameters_are_not_added() {
        let (a, b) = ([parameter("a", &[1.0])], [parameter("b", &[1.0])]);
        let mut g = gradients(&a, &[&[1.0]]);
        g.accumulate(&gradients(&b, &[&[1.0]])).unwrap_err();
        assert_eq!(values(&g, "a"), [1.0]);
    }

    #[test]
    fn the_first_non_finite_gradient_is_named() {
        let parameters = [parameter("c", &[1.0]), parameter("b", &[1.0, 1.0]), parameter("a", &[1.0])];
        let find = |factors: &[&[f32]]| gradients(&parameters, factors).first_non_finite().unwrap();
        assert_eq!(find(&[&[1.0], &[1.0, -3e38], &[0.0]]), None);
        assert_eq!(find(&[&[f32::NAN], &[1.0, f32::NEG_INFINITY], &[0.0]]).as_deref(), Some("b"));
        assert_eq!(find(&[&[f32::NAN], &[1.0, 2.0], &[0.0]]).as_deref(), Some("c"));
        let mut diverged = gradients(&parameters, &[&[f32::NAN], &[1.0, 2.0], &[0.0]]);
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
