//! Results that candle's backward pass knows how to differentiate, on every device.

use std::sync::{Mutex, PoisonError};

use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Result, Shape, Storage, Tensor, WithDType as _,
    bail,
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
struct Made<B> {
    result: Mutex<Option<Computed>>,
    backward: B,
}

impl<B> Made<B> {
    fn new(result: impl Into<Computed>, backward: B) -> Self {
        Self { result: Mutex::new(Some(result.into())), backward }
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
    x.apply_op1(Made::new(result, backward))
}

/// `result` as a tensor that is a function of two others.
///
/// # Errors
/// If they lie on different devices.
pub fn tracked2<B: Backward<2>>([x, y]: [&Tensor; 2], result: impl Into<Computed>, backward: B) -> Result<Tensor> {
    x.apply_op2(y, Made::new(result, backward))
}

/// `result` as a tensor that is a function of three others.
///
/// # Errors
/// If they lie on different devices.
pub fn tracked3<B: Backward<3>>([x, y, z]: [&Tensor; 3], result: impl Into<Computed>, backward: B) -> Result<Tensor> {
    x.apply_op3(y, z, Made::new(result, backward))
}

impl<B: Backward<1>> CustomOp1 for Made<B> {
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
        let [dx] = self.backward.backward([x], result, &gradient.contiguous()?)?;
        Ok(dx)
    }
}

impl<B: Backward<2>> CustomOp2 for Made<B> {
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
        let [dx, dy] = self.backward.backward([x, y], result, &gradient.contiguous()?)?;
        Ok((dx, dy))
    }
}

impl<B: Backward<3>> CustomOp3 for Made<B> {
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
        let [dx, dy, dz] = self.backward.backward([x, y, z], result, &gradient.contiguous()?)?;
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
        let made = || Made::new(Computed::values(vec![0.0_f32; 6], (2, 3)), Seen);
        let one = CustomOp1::bwd(&made(), &x, &x, &wide).unwrap();
        let (two, second) = CustomOp2::bwd(&made(), &x, &x, &x, &wide).unwrap();
        let (three, ..) = CustomOp3::bwd(&made(), &x, &x, &x, &x, &wide).unwrap();
        for gradient in [one, two, second, three] {
            assert_eq!(gradient.unwrap().to_vec2::<f32>().unwrap(), [[1.0; 3], [2.0; 3]]);
        }
    }

    #[test]
    fn a_result_is_taken_once() {
        let made = Made::new(Computed::values(vec![1.0_f64], ()), Seen);
        assert!(made.cpu().is_ok());
        assert!(made.cpu().unwrap_err().to_string().contains("taken twice"));
    }
}
