//! Memory that a kernel writes.

#[cfg(any(test, feature = "testing"))]
use candle_core::CpuStorage;
use candle_core::{
    DType, Device, Layout, Result, Shape, Storage, Tensor,
    backend::{BackendDevice, BackendStorage},
    bail,
    op::BackpropOp,
};

use super::cuda;
use crate::tracked::Computed;

/// Memory for a result, not filled yet.
#[derive(Debug)]
pub struct Buffer {
    storage: Storage,
    shape: Shape,
}

impl Buffer {
    /// Memory whose contents are undefined: whatever takes it writes all of it.
    ///
    /// # Errors
    /// If there is not enough of it.
    pub fn new(device: &Device, shape: impl Into<Shape>, dtype: DType) -> Result<Self> {
        let shape = shape.into();
        let storage = match device {
            Device::Cuda(device) => {
                // SAFETY: numbers of any bits are numbers, and every kernel writes all of its results.
                #[expect(unsafe_code, reason = "filling what is overwritten would cost a pass")]
                let storage = unsafe { device.alloc_uninit(&shape, dtype) }?;
                Storage::Cuda(storage)
            }
            #[cfg(any(test, feature = "testing"))]
            Device::Cpu => Storage::Cpu(unfilled(shape.elem_count(), dtype)?),
            other => bail!("There are no kernels for the device {:?}.", other.location()),
        };
        Ok(Self { storage, shape })
    }

    /// The product of the last two dimensions for every entry of `batch`, `[batch, m, k]` with `[batch, k, n]`, as the
    /// vendor's library computes it; `shape` is what the result is called.
    ///
    /// # Errors
    /// If an operand is strided in a way that the library does not read.
    pub fn product(x: &Tensor, y: &Tensor, sizes: [usize; 4], shape: impl Into<Shape>) -> Result<Self> {
        let [batch, m, k, n] = sizes;
        let ((x, x_layout), (y, y_layout)) = (x.storage_and_layout(), y.storage_and_layout());
        let sizes = (batch, m, n, k);
        let storage = match (&*x, &*y) {
            (Storage::Cuda(x), Storage::Cuda(y)) => Storage::Cuda(x.matmul(y, sizes, x_layout, y_layout)?),
            (Storage::Cpu(x), Storage::Cpu(y)) => Storage::Cpu(x.matmul(y, sizes, x_layout, y_layout)?),
            _ => bail!("The operands of a product lie on different devices."),
        };
        Ok(Self { storage, shape: shape.into() })
    }

    /// One product, with a bias `[n]` added to every row, where the vendor's library does both at once.
    ///
    /// # Errors
    /// As [`Buffer::product`].
    pub fn fused_product_with_bias(
        x: &Tensor,
        y: &Tensor,
        sizes: [usize; 4],
        shape: impl Into<Shape>,
        bias: &Tensor,
    ) -> Result<Option<Self>> {
        let ((storage, layout), (other, other_layout)) = (x.storage_and_layout(), y.storage_and_layout());
        let (of_bias, bias_layout) = bias.storage_and_layout();
        if let (Storage::Cuda(x), Storage::Cuda(y), Storage::Cuda(bias)) = (&*storage, &*other, &*of_bias)
            && let [1, rows, inner, columns] = sizes
        {
            let operands = [(x, layout), (y, other_layout), (bias, bias_layout)];
            if let Some(product) = cuda::product_with_bias(operands, [rows, inner, columns])? {
                return Ok(Some(Self { storage: Storage::Cuda(product), shape: shape.into() }));
            }
        }
        Ok(None)
    }

    /// Where it lies.
    ///
    /// # Errors
    /// If the device has no kernels.
    pub fn address(&self) -> Result<u64> {
        address_in(&self.storage, &Layout::contiguous(&self.shape))
    }

    /// How many numbers it has.
    pub fn elem_count(&self) -> usize {
        self.shape.elem_count()
    }

    /// Where its memory is.
    pub fn device(&self) -> Device {
        self.storage.device()
    }

    /// A tensor without a graph.
    pub fn into_tensor(self) -> Tensor {
        Tensor::from_storage(self.storage, self.shape, BackpropOp::none(), false)
    }
}

impl From<Buffer> for Computed {
    fn from(buffer: Buffer) -> Self {
        Self(buffer.storage, buffer.shape)
    }
}

/// Where the first element of a tensor lies.
///
/// # Errors
/// If it is strided, or its device has no kernels.
pub fn address(tensor: &Tensor) -> Result<u64> {
    let (storage, layout) = tensor.storage_and_layout();
    address_in(&storage, layout)
}

fn address_in(storage: &Storage, layout: &Layout) -> Result<u64> {
    let Some((first, _)) = layout.contiguous_offsets() else {
        bail!("A kernel was given a strided tensor of shape {:?}.", layout.shape())
    };
    match storage {
        Storage::Cuda(storage) => Ok(cuda::address(storage)? + (first * storage.dtype().size_in_bytes()) as u64),
        #[cfg(any(test, feature = "testing"))]
        Storage::Cpu(storage) => Ok(host_address(storage)? + (first * storage.dtype().size_in_bytes()) as u64),
        _ => bail!("A kernel was given a tensor that is not on its device."),
    }
}

/// Numbers that are none: what a kernel forgets to write is found.
#[cfg(any(test, feature = "testing"))]
fn unfilled(count: usize, dtype: DType) -> Result<CpuStorage> {
    Ok(match dtype {
        DType::F32 => CpuStorage::F32(vec![f32::NAN; count]),
        DType::F64 => CpuStorage::F64(vec![f64::NAN; count]),
        DType::F16 => CpuStorage::F16(vec![half::f16::NAN; count]),
        DType::BF16 => CpuStorage::BF16(vec![half::bf16::NAN; count]),
        other => bail!("Kernels write no elements of type {other:?}."),
    })
}

#[cfg(any(test, feature = "testing"))]
fn host_address(storage: &CpuStorage) -> Result<u64> {
    Ok(match storage {
        CpuStorage::U8(data) => data.as_ptr() as u64,
        CpuStorage::U32(data) => data.as_ptr() as u64,
        CpuStorage::I64(data) => data.as_ptr() as u64,
        CpuStorage::F32(data) => data.as_ptr() as u64,
        CpuStorage::F64(data) => data.as_ptr() as u64,
        CpuStorage::F16(data) => data.as_ptr() as u64,
        CpuStorage::BF16(data) => data.as_ptr() as u64,
        _ => bail!("Kernels read no such elements."),
    })
}
