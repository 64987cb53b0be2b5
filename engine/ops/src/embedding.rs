//! Looking up rows of a table.

use candle_core::{DType, Result, Tensor, bail};

use super::composed;
use super::element::{Reading, by_dtype, is_fused, tensor};
use super::tracked::{Backward, Computed, tracked1};
use super::{gpu, threaded};

/// The rows of `table` at `ids`. The gradient of a row is the sum over the places of its id, always in the same order.
///
/// # Shapes
/// `table` `[v, d]`, `ids` of any shape and type `u32`; result `[ids.., d]`.
///
/// # Errors
/// If an id is not below `v`, or `ids` has another type.
pub fn embedding(table: &Tensor, ids: &Tensor) -> Result<Tensor> {
    let (rows, width) = table.dims2()?;
    if ids.dtype() != DType::U32 {
        bail!("The ids of an embedding must be of type U32, not {:?}.", ids.dtype())
    }
    let values = ids.flatten_all()?.to_vec1::<u32>()?;
    if let Some((place, id)) = values.iter().enumerate().find(|&(_, &id)| id as usize >= rows) {
        bail!("Id {id} at place {place} is outside of the table, which has {rows} rows.")
    }
    let mut shape = ids.dims().to_vec();
    shape.push(width);
    if gpu::has_kernels(table) && !values.is_empty() {
        return gpu::embedding(table, values, shape);
    }
    if !is_fused(table) {
        return composed::embedding(table, ids, &shape);
    }
    let table = table.contiguous()?;
    let taken = by_dtype!(table.dtype(), T => {
        Computed::values(threaded::embedding::<T>(Reading::of(&table).slice()?, &values, width), shape)
    });
    tracked1(&table, taken, Embedding { ids: values, rows, width })
}

struct Embedding {
    ids: Vec<u32>,
    rows: usize,
    width: usize,
}

impl Backward<1> for Embedding {
    const NAME: &'static str = "embedding";

    fn backward(&self, [table]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        by_dtype!(table.dtype(), T => {
            let dy_values = Reading::of(dy);
            let dtable = threaded::embedding_backward::<T>(dy_values.slice()?, &self.ids, self.rows, self.width);
            Ok([Some(tensor(dtable, table.shape())?)])
        })
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};
    use proptest::prelude::*;

    use super::super::random::{Purpose, Stream};
    use super::super::testing::{
        DTYPES, assert_differences, assert_matches, assert_same_for_any_threads, values, variable,
    };
    use super::*;

    fn ids(shape: &[usize], rows: usize) -> Tensor {
        let mut stream = Stream::new(2, Purpose::Test, 1);
        let ids: Vec<u32> = (0..shape.iter().product()).map(|_| stream.below(rows as u64) as u32).collect();
        Tensor::from_vec(ids, shape, &Device::Cpu).unwrap()
    }

    fn check(shape: &[usize], rows: usize, width: usize) {
        let ids = ids(shape, rows);
        let mut result = shape.to_vec();
        result.push(width);
        for (dtype, tolerance) in DTYPES {
            assert_matches(
                &[variable(1, &[rows, width], dtype)],
                tolerance,
                |v| embedding(&v[0], &ids),
                |v| composed::embedding(&v[0], &ids, &result),
            );
        }
    }

    #[test]
    fn matches_the_reference() {
        check(&[2, 7], 11, 5);
        check(&[9], 1, 3);
        check(&[4, 100], 3000, 17);
    }

    #[test]
    fn rows_that_come_twice_add_up_and_unused_ones_are_zero() {
        let table = Var::new(&[[1_f32, 2.0], [3.0, 4.0], [5.0, 6.0]], &Device::Cpu).unwrap();
        let y = embedding(&table, &Tensor::new(&[[2_u32, 0], [2, 2]], &Device::Cpu).unwrap()).unwrap();
        assert_eq!(y.dims(), [2, 2, 2]);
        assert_eq!(values(&y), [5.0, 6.0, 1.0, 2.0, 5.0, 6.0, 5.0, 6.0]);
        let gradients = y.sum_all().unwrap().backward().unwrap();
        assert_eq!(values(gradients.get(&table).unwrap()), [1.0, 1.0, 0.0, 0.0, 3.0, 3.0]);
    }

    #[test]
    fn matches_finite_differences() {
        let ids = ids(&[2, 3], 4);
        assert_differences(&[variable(1, &[4, 3], DType::F64)], |v| embedding(&v[0], &ids));
    }

    #[test]
    fn takes_strided_tables_and_ids() {
        let v = [variable(1, &[5, 12], DType::F32)];
        let ids = ids(&[4, 6], 12).t().unwrap();
        assert_matches(
            &v,
            1e-5,
            |v| embedding(&v[0].t()?, &ids),
            |v| composed::embedding(&v[0].t()?.contiguous()?, &ids, &[6, 4, 5]),
        );
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let ids = ids(&[4000], 900);
        assert_same_for_any_threads(&[variable(1, &[900, 40], DType::F32)], |v| embedding(&v[0], &ids));
    }

    #[test]
    fn an_id_outside_of_the_table_is_refused_with_its_place() {
        let table = variable(1, &[4, 2], DType::F32);
        let error = embedding(&table, &Tensor::new(&[0_u32, 4], &Device::Cpu).unwrap()).unwrap_err().to_string();
        assert!(error.contains("Id 4 at place 1"), "{error}");
        assert!(embedding(&table, &Tensor::new(&[0_i64], &Device::Cpu).unwrap()).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn matches_the_reference_for_any_shape(n in 1_usize..50, rows in 1_usize..20, width in 1_usize..40) {
            check(&[n], rows, width);
        }
    }
}
