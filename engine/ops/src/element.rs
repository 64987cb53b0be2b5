//! Between candle's storages and the slices that the threaded layer works on.

use candle_core::{CpuStorage, DType, Device, Layout, Result, Shape, Storage, StorageRef, Tensor, WithDType, bail};

use super::kernels::{Paired, Real};

/// A number that the kernels know, and candle as what it stores of it.
pub trait Element: Real {
    /// What candle stores.
    type Stored: WithDType;

    /// What candle stored.
    fn of_stored(numbers: &[Self::Stored]) -> &[Self];

    /// What candle is to store.
    fn into_stored(numbers: Vec<Self>) -> Vec<Self::Stored>;
}

macro_rules! stored_as_it_is {
    ($number:ty) => {
        impl Element for $number {
            type Stored = Self;

            fn of_stored(numbers: &[Self]) -> &[Self] {
                numbers
            }

            fn into_stored(numbers: Vec<Self>) -> Vec<Self> {
                numbers
            }
        }
    };
}

stored_as_it_is!(f32);
stored_as_it_is!(f64);

impl Element for Paired {
    type Stored = f32;

    fn of_stored(numbers: &[f32]) -> &[Self] {
        Self::of_slice(numbers)
    }

    fn into_stored(numbers: Vec<Self>) -> Vec<f32> {
        Self::into_singles(numbers)
    }
}

/// What matrix products inside of operations on the processor are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Products {
    /// Numbers of the tensors' own precision.
    #[default]
    Own,
    /// Of tensors in `f32`: pairs of factors that are rounded to bf16, summed in `f32`, where the processor multiplies them
    /// ([`headroom_products::multiplies_pairs`]); elsewhere as they are.
    Pairs,
}

/// Whether the fused operations can take this tensor; otherwise it goes through `composed`.
pub fn is_fused(tensor: &Tensor) -> bool {
    #[cfg(any(test, feature = "testing"))]
    if super::emulation::is_on() {
        return false;
    }
    tensor.device().is_cpu() && matches!(tensor.dtype(), DType::F32 | DType::F64)
}

/// Refuses operands that do not share their element type.
pub fn check_dtype(operation: &str, name: &str, tensor: &Tensor, expected: DType) -> Result<()> {
    if tensor.dtype() != expected {
        bail!("The {name} of {operation} has element type {:?}, the input has {expected:?}.", tensor.dtype())
    }
    Ok(())
}

/// The elements of a contiguous tensor inside an operation in place.
pub fn slice_mut<'a, T: InPlace>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [T]> {
    let range = layout.contiguous_offsets().map(|(start, end)| start..end);
    match range.and_then(|range| T::vector(storage).and_then(|data| data.get_mut(range))) {
        Some(elements) => Ok(elements),
        None => bail!("An operation in place was given a strided tensor or one of another element type."),
    }
}

/// A number whose storage can be written.
pub trait InPlace: Element {
    /// The vector of a storage of this type.
    fn vector(storage: &mut CpuStorage) -> Option<&mut Vec<Self>>;
}

impl InPlace for f32 {
    fn vector(storage: &mut CpuStorage) -> Option<&mut Vec<Self>> {
        if let CpuStorage::F32(data) = storage { Some(data) } else { None }
    }
}

impl InPlace for f64 {
    fn vector(storage: &mut CpuStorage) -> Option<&mut Vec<Self>> {
        if let CpuStorage::F64(data) = storage { Some(data) } else { None }
    }
}

/// A tensor opened for reading.
pub struct Reading<'a> {
    storage: StorageRef<'a>,
    layout: &'a Layout,
}

impl<'a> Reading<'a> {
    /// Opens a tensor that lies on the CPU.
    pub fn of(tensor: &'a Tensor) -> Self {
        let (storage, layout) = tensor.storage_and_layout();
        Self { storage, layout }
    }

    /// All elements of the storage, and how the tensor lies in it.
    fn storage<T: Element>(&self) -> Result<(&[T], &Layout)> {
        match &*self.storage {
            Storage::Cpu(storage) => Ok((T::of_stored(T::Stored::cpu_storage_as_slice(storage)?), self.layout)),
            _ => bail!("A fused operation was given a tensor that is not on the CPU."),
        }
    }

    /// The elements, if the tensor is contiguous.
    pub fn slice<T: Element>(&self) -> Result<&[T]> {
        let (storage, layout) = self.storage()?;
        match layout.contiguous_offsets().and_then(|(start, end)| storage.get(start..end)) {
            Some(elements) => Ok(elements),
            None => bail!("A fused operation was given a strided tensor of shape {:?}.", layout.shape()),
        }
    }

    /// The elements from the first one on, where sizes and strides of four dimensions lead.
    pub fn strided<T: Element>(&self) -> Result<(&[T], [usize; 4], [usize; 4])> {
        let (storage, layout) = self.storage()?;
        match (storage.get(layout.start_offset()..), <[usize; 4]>::try_from(layout.dims()), layout.stride().try_into())
        {
            (Some(elements), Ok(dims), Ok(strides)) => Ok((elements, dims, strides)),
            _ => bail!("A fused operation over heads was given a tensor of shape {:?}.", layout.shape()),
        }
    }
}

/// A tensor on the CPU that takes over the values.
pub fn tensor<T: Element>(values: Vec<T>, shape: impl Into<Shape>) -> Result<Tensor> {
    Tensor::from_vec(T::into_stored(values), shape.into(), &Device::Cpu)
}

/// Calls a generic expression with `$t` standing for the element type of `$dtype`.
macro_rules! by_dtype {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            candle_core::DType::F32 => {
                type $t = f32;
                $body
            }
            candle_core::DType::F64 => {
                type $t = f64;
                $body
            }
            other => candle_core::bail!("A fused operation was given a tensor of element type {other:?}."),
        }
    };
}

/// The same for operations whose products may be of pairs.
macro_rules! by_numbers {
    ($dtype:expr, $products:expr, $t:ident => $body:expr) => {
        match ($dtype, $products) {
            (candle_core::DType::F32, $crate::element::Products::Pairs) => {
                type $t = $crate::kernels::Paired;
                $body
            }
            (dtype, _) => $crate::element::by_dtype!(dtype, $t => $body),
        }
    };
}

pub(super) use {by_dtype, by_numbers};
