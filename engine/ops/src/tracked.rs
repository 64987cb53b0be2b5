//! Results that candle's backward pass knows how to differentiate, and [`Flows`](super::flows::Flows), on every device.
//!
//! Candle begins every gradient as a tensor of zeros and adds to it: three times the memory traffic for each tensor of a graph, and
//! on a GPU two launches, more than the gradients themselves take. [`Flows`](super::flows::Flows) hands gradients on as they
//! are, and adds only where a tensor was used twice. It knows nothing but operations of ours; a graph with any other goes through
//! candle's.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Result, Shape, Storage, Tensor, TensorId,
    WithDType as _, bail,
};

use super::element::Element;

/// The result of an operation, without a graph.
pub struct Computed(pub Storage, pub Shape);

impl Computed {
    /// Numbers on the CPU.
    pub fn values<T: Element>(values: Vec<T>, shape: impl Into<Shape>) -> Self {
        Self(Storage::Cpu(T::Stored::to_cpu_storage_owned(T::into_stored(values))), shape.into())
    }
}

/// How gradients flow back through an operation of `N` tensors.
pub trait Backward<const N: usize>: Send + Sync + 'static {
    /// What the operation is called.
    const NAME: &'static str;

    /// The gradients of the inputs, given that of the result, which is contiguous; none for inputs that need none
    /// ([`Tensor::track_op`]).
    ///
    /// # Errors
    /// If the device fails.
    fn backward(&self, inputs: [&Tensor; N], result: &Tensor, gradient: &Tensor) -> Result<[Option<Tensor>; N]>;
}

/// An operation whose result was computed before: candle takes it where it would compute it.
struct Made<const N: usize, B> {
    result: Mutex<Option<Computed>>,
    joint: Arc<Joint<N, B>>,
}

/// What a result was computed from, and how gradients flow back to that.
struct Joint<const N: usize, B> {
    inputs: [Tensor; N],
    backward: B,
    /// The result's, once it is known.
    id: OnceLock<TensorId>,
}

/// Any of them.
pub trait Flow: Send + Sync {
    fn inputs(&self) -> &[Tensor];

    /// The gradients of the inputs, in their order.
    fn flow(&self, result: &Tensor, gradient: &Tensor) -> Result<Vec<Option<Tensor>>>;
}

impl<const N: usize, B: Backward<N>> Flow for Joint<N, B> {
    fn inputs(&self) -> &[Tensor] {
        &self.inputs
    }

    fn flow(&self, result: &Tensor, gradient: &Tensor) -> Result<Vec<Option<Tensor>>> {
        Ok(self.backward.backward(self.inputs.each_ref(), result, gradient)?.into())
    }
}

impl<const N: usize, B> Drop for Joint<N, B> {
    fn drop(&mut self) {
        if let Some(id) = self.id.get() {
            joints().remove(id);
        }
    }
}

/// The joints of results that are there, by the result: candle's graph holds them, and shows them to nobody.
pub fn joints() -> MutexGuard<'static, HashMap<TensorId, Weak<dyn Flow>>> {
    static JOINTS: LazyLock<Mutex<HashMap<TensorId, Weak<dyn Flow>>>> = LazyLock::new(Mutex::default);
    JOINTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether it is known how gradients flow on from this result.
#[cfg(test)]
pub fn is_known(id: TensorId) -> bool {
    joints().contains_key(&id)
}

impl<const N: usize, B: Backward<N>> Made<N, B> {
    fn new(inputs: [&Tensor; N], result: impl Into<Computed>, backward: B) -> Self {
        let joint = Joint { inputs: inputs.map(Tensor::clone), backward, id: OnceLock::new() };
        Self { result: Mutex::new(Some(result.into())), joint: Arc::new(joint) }
    }

    /// The result of `apply`, found by [`Flows`](super::flows::Flows).
    fn joined(self, apply: impl FnOnce(Self) -> Result<Tensor>) -> Result<Tensor> {
        let joint = Arc::clone(&self.joint);
        let result = apply(self)?;
        if result.track_op() {
            let id = *joint.id.get_or_init(|| result.id());
            let joint: Arc<dyn Flow> = joint;
            joints().insert(id, Arc::downgrade(&joint));
        }
        Ok(result)
    }

    fn take(&self) -> Result<Computed> {
        match self.result.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(result) => Ok(result),
            None => bail!("The result of an operation was taken twice."),
        }
    }

    fn cpu(&self) -> Result<(CpuStorage, Shape)> {
        match self.take()? {
            Computed(Storage::Cpu(storage), shape) => Ok((storage, shape)),
            _ => bail!("The result of an operation lies elsewhere than its inputs."),
        }
    }

    fn cuda(&self) -> Result<(CudaStorage, Shape)> {
        match self.take()? {
            Computed(Storage::Cuda(storage), shape) => Ok((storage, shape)),
            _ => bail!("The result of an operation lies elsewhere than its inputs."),
        }
    }
}

/// `result` as a tensor that is a function of one other.
///
/// # Errors
/// If they lie on different devices.
pub fn tracked1<B: Backward<1>>(x: &Tensor, result: impl Into<Computed>, backward: B) -> Result<Tensor> {
    Made::new([x], result, backward).joined(|made| x.apply_op1(made))
}

/// `result` as a tensor that is a function of two others.
///
/// # Errors
/// If they lie on different devices.
pub fn tracked2<B: Backward<2>>([x, y]: [&Tensor; 2], result: impl Into<Computed>, backward: B) -> Result<Tensor> {
    Made::new([x, y], result, backward).joined(|made| x.apply_op2(y, made))
}

/// `result` as a tensor that is a function of three others.
///
/// # Errors
/// If they lie on different devices.
pub fn tracked3<B: Backward<3>>([x, y, z]: [&Tensor; 3], result: impl Into<Computed>, backward: B) -> Result<Tensor> {
    Made::new([x, y, z], result, backward).joined(|made| x.apply_op3(y, z, made))
}

impl<B: Backward<1>> CustomOp1 for Made<1, B> {
    fn name(&self) -> &'static str {
        B::NAME
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        self.cpu()
    }

    fn cuda_fwd(&self, _: &CudaStorage, _: &Layout) -> Result<(CudaStorage, Shape)> {
        self.cuda()
    }

    fn bwd(&self, x: &Tensor, result: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let [dx] = self.joint.backward.backward([x], result, &gradient.contiguous()?)?;
        Ok(dx)
    }
}

impl<B: Backward<2>> CustomOp2 for Made<2, B> {
    fn name(&self) -> &'static str {
        B::NAME
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        self.cpu()
    }

    fn cuda_fwd(&self, _: &CudaStorage, _: &Layout, _: &CudaStorage, _: &Layout) -> Result<(CudaStorage, Shape)> {
        self.cuda()
    }

    fn bwd(
        &self,
        x: &Tensor,
        y: &Tensor,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let [dx, dy] = self.joint.backward.backward([x, y], result, &gradient.contiguous()?)?;
        Ok((dx, dy))
    }
}

impl<B: Backward<3>> CustomOp3 for Made<3, B> {
    fn name(&self) -> &'static str {
        B::NAME
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.cpu()
    }

    fn cuda_fwd(
        &self,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        self.cuda()
    }

    fn bwd(
        &self,
        x: &Tensor,
        y: &Tensor,
        z: &Tensor,
        result: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let [dx, dy, dz] = self.joint.backward.backward([x, y, z], result, &gradient.contiguous()?)?;
        Ok((dx, dy, dz))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;

    /// Gives the gradient back as it came.
    struct Seen;

    impl<const N: usize> Backward<N> for Seen {
        const NAME: &'static str = "seen";

        fn backward(&self, _: [&Tensor; N], _: &Tensor, gradient: &Tensor) -> Result<[Option<Tensor>; N]> {
            assert!(gradient.is_contiguous());
            Ok([(); N].map(|()| Some(gradient.clone())))
        }
    }

    #[test]
    fn a_broadcast_gradient_comes_as_a_full_one() {
        let x = Tensor::zeros((2, 3), DType::F32, &Device::Cpu).unwrap();
        let wide = Tensor::new(&[[1.0_f32], [2.0]], &Device::Cpu).unwrap().broadcast_as((2, 3)).unwrap();
        let zeros = || Computed::values(vec![0.0_f32; 6], (2, 3));
        let one = CustomOp1::bwd(&Made::new([&x], zeros(), Seen), &x, &x, &wide).unwrap();
        let (two, second) = CustomOp2::bwd(&Made::new([&x; 2], zeros(), Seen), &x, &x, &x, &wide).unwrap();
        let (three, ..) = CustomOp3::bwd(&Made::new([&x; 3], zeros(), Seen), &x, &x, &x, &x, &wide).unwrap();
        for gradient in [one, two, second, three] {
            assert_eq!(gradient.unwrap().to_vec2::<f32>().unwrap(), [[1.0; 3], [2.0; 3]]);
        }
    }

    #[test]
    fn a_result_is_taken_once() {
        let x = Tensor::zeros((), DType::F64, &Device::Cpu).unwrap();
        let made = Made::new([&x], Computed::values(vec![1.0_f64], ()), Seen);
        assert!(made.cpu().is_ok());
        assert!(made.cpu().unwrap_err().to_string().contains("taken twice"));
    }
}
