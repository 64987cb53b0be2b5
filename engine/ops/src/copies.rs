//! Copies of parameters in another element type, which stand in for them in the graph of a model.

use candle_core::{DType, Result, Tensor, Var};

use super::gpu::{self, CastList};

/// Copies that are made anew, where they lie, before every step.
#[derive(Debug)]
pub struct Copies {
    pairs: Vec<(Tensor, Var)>,
    /// All of them for one launch; none where kernels are not launched.
    list: Option<CastList>,
}

impl Copies {
    /// Room for copies of `originals` in `dtype`, with what they hold now.
    ///
    /// # Errors
    /// If there is not enough memory, or the device fails.
    pub fn new(originals: impl IntoIterator<Item = Tensor>, dtype: DType) -> Result<Self> {
        let pair = |original: Tensor| {
            let copy = Var::zeros(original.shape(), dtype, original.device())?;
            Ok((original, copy))
        };
        let pairs = originals.into_iter().map(pair).collect::<Result<Vec<_>>>()?;
        let is_listed = |(original, copy): &(Tensor, Var)| {
            original.dtype() == DType::F32 && gpu::has_kernels(original) && gpu::has_kernels(copy)
        };
        let list = if !pairs.is_empty() && pairs.iter().all(is_listed) { Some(CastList::new(&pairs)?) } else { None };
        let copies = Self { pairs, list };
        copies.refresh()?;
        Ok(copies)
    }

    /// The copies, in the order of their originals.
    pub fn iter(&self) -> impl Iterator<Item = &Var> {
        self.pairs.iter().map(|(_, copy)| copy)
    }

    /// Copies what the originals hold now.
    ///
    /// # Errors
    /// If the device fails.
    pub fn refresh(&self) -> Result<()> {
        match &self.list {
            Some(list) => list.run(),
            None => self.pairs.iter().try_for_each(|(original, copy)| copy.set(&original.to_dtype(copy.dtype())?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::emulating;

    #[test]
    fn copies_hold_what_their_originals_hold_at_each_refresh() {
        for sizes in [vec![1], vec![5000, 1, 4096], vec![31, 8193]] {
            for dtype in [DType::F16, DType::BF16] {
                let values = |of: usize, size: usize| (0..size).map(move |i| ((i * 7 + of) as f32 * 0.37).sin());
                let originals: Vec<Var> = (0..)
                    .zip(&sizes)
                    .map(|(of, &size)| Var::from_vec(values(of, size).collect(), size, &Device::Cpu).unwrap())
                    .collect();
                let of = || originals.iter().map(Var::as_detached_tensor);
                let check = |copies: &Copies| {
                    for (original, copy) in originals.iter().zip(copies.iter()) {
                        let expected = original.to_dtype(dtype).unwrap().to_dtype(DType::F32).unwrap();
                        let found = copy.to_dtype(DType::F32).unwrap();
                        assert_eq!(found.to_vec1::<f32>().unwrap(), expected.to_vec1::<f32>().unwrap());
                    }
                };
                let change = |by: f64| {
                    for original in &originals {
                        original.set(&original.affine(by, 0.01).unwrap()).unwrap();
                    }
                };
                let plain = Copies::new(of(), dtype).unwrap();
                assert!(plain.list.is_none());
                let listed = emulating(|| Copies::new(of(), dtype).unwrap());
                assert!(listed.list.is_some());
                for by in [-0.5, 3.0] {
                    check(&plain);
                    check(&listed);
                    change(by);
                    plain.refresh().unwrap();
                    emulating(|| listed.refresh()).unwrap();
                }
            }
        }
    }
}
