//! Work of a known size, to measure what the machine can do.

use candle_core::{DType, Device, Result, Tensor};
use rayon::prelude::*;

use super::element::Products;
use super::kernels::{Matrix, MatrixMut, Paired, Real, product};

/// Side of the matrices that each thread multiplies: three of them fit into its cache.
const SIDE: usize = 384;
/// Products of one call of the probe, for each thread.
const PRODUCTS: usize = 200;
/// Elements that are copied: far more than caches hold.
const COPIED: usize = 32 << 20;

/// A function that multiplies matrices of `f32` on every thread of the current pool and gives the floating-point operations.
pub fn product_rate_probe(products: Products) -> Box<dyn Fn() -> u64> {
    match products {
        Products::Own => Box::new(probe_of::<f32>()),
        Products::Pairs => Box::new(probe_of::<Paired>()),
    }
}

fn probe_of<T: Real>() -> impl Fn() -> u64 {
    let threads = rayon::current_num_threads();
    let (a, b) = (vec![T::of(0.5); SIDE * SIDE], vec![T::of(0.25); SIDE * SIDE]);
    move || {
        (0..threads).into_par_iter().with_max_len(1).for_each(|_| {
            let mut out = vec![T::ZERO; SIDE * SIDE];
            for _ in 0..PRODUCTS {
                let (a, b) = (Matrix::row_major(&a, SIDE, SIDE), Matrix::row_major(&b, SIDE, SIDE));
                product(MatrixMut::new(&mut out, SIDE, SIDE), a, b, true);
            }
        });
        (threads * PRODUCTS * 2 * SIDE * SIDE * SIDE) as u64
    }
}

/// A function that copies memory on every thread of the current pool and gives the bytes read and written.
pub fn copy_rate_probe() -> impl Fn() -> u64 {
    let from = vec![1.0_f32; COPIED];
    let to = std::sync::Mutex::new(vec![0.0_f32; COPIED]);
    move || {
        let mut to = to.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        to.par_chunks_mut(1 << 20).zip(from.par_chunks(1 << 20)).for_each(|(to, from)| to.copy_from_slice(from));
        (2 * COPIED * size_of::<f32>()) as u64
    }
}

/// The same with the products and the memory of a device: matrices of `side` numbers a side, of type `dtype`.
///
/// # Errors
/// If memory does not suffice.
pub fn device_product_probe(device: &Device, dtype: DType, side: usize) -> Result<impl Fn() -> Result<u64>> {
    const PRODUCTS: usize = 8;
    // Not all alike: a GPU multiplies constants faster than numbers.
    let numbers: Vec<f32> =
        (0..side * side).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 7 & 0xffff) as f32 / 65_536.0 - 0.5).collect();
    let x = Tensor::from_vec(numbers, (side, side), device)?.to_dtype(dtype)?;
    let y = x.t()?.contiguous()?;
    Ok(move || {
        for _ in 0..PRODUCTS {
            x.matmul(&y)?;
        }
        x.device().synchronize()?;
        Ok((PRODUCTS * 2 * side * side * side) as u64)
    })
}

/// A function that copies `count` single-precision numbers on a device and gives the bytes read and written.
///
/// # Errors
/// If memory does not suffice.
pub fn device_copy_probe(device: &Device, count: usize) -> Result<impl Fn() -> Result<u64>> {
    const COPIES: usize = 4;
    let from = Tensor::ones(count, DType::F32, device)?;
    Ok(move || {
        for _ in 0..COPIES {
            from.copy()?;
        }
        from.device().synchronize()?;
        Ok((COPIES * 2 * count * size_of::<f32>()) as u64)
    })
}
