use std::collections::BTreeMap;

use candle_core::{CpuStorage, DType, Device, Storage, Tensor, Var};
use half::{bf16, f16};
use proptest::prelude::*;

use super::*;
use crate::kernels::AdamWScalars;
use crate::tracked::{self, Computed};
use crate::{
    AdamW, AdamWConfig, Affine, BlockDropout, DropoutStream, Gelu, Gradients, IGNORED_LABEL, MaskSpec, Orientation,
    Parameter, composed, emulating,
    random::{Purpose, Stream},
    testing::{assert_close, numbers, value_and_gradients, values, variable},
};

/// Element types with how close they come to double precision: some roundings of the largest number.
const DTYPES: [(DType, f64); 4] = [(DType::F32, 3e-5), (DType::F64, 1e-11), (DType::F16, 1e-2), (DType::BF16, 8e-2)];

const STREAM: DropoutStream = DropoutStream { seed: 3 | 5 << 32, step: 5, site: 7 };

/// Holds kernels against a reference in double precision, in value and in the gradient of every input.
fn held(
    shapes: &[&[usize]],
    ours: impl Fn(&[Tensor]) -> candle_core::Result<Tensor>,
    reference: impl Fn(&[Tensor]) -> candle_core::Result<Tensor>,
) {
    for (dtype, tolerance) in DTYPES {
        let inputs: Vec<Var> = (1..).zip(shapes).map(|(index, shape)| variable(index, shape, dtype)).collect();
        let double = |var: &Var| Var::from_tensor(&var.as_detached_tensor().to_dtype(DType::F64).unwrap()).unwrap();
        let exact: Vec<Var> = inputs.iter().map(double).collect();
        let (value, gradients) = emulating(|| value_and_gradients(&inputs, &ours));
        let (exact_value, exact_gradients) = value_and_gradients(&exact, &reference);
        let what = |name: &str| format!("{name} of {shapes:?} in {dtype:?}");
        let close = |ours: &Tensor, exact: &Tensor, what: &str| {
            let largest = values(exact).into_iter().fold(1.0_f64, |largest, x| largest.max(x.abs()));
            assert_close(&ours.to_dtype(DType::F64).unwrap(), exact, tolerance * largest, what);
        };
        close(&value, &exact_value, &what("the value"));
        for (index, (ours, exact)) in gradients.iter().zip(&exact_gradients).enumerate() {
            assert_eq!(ours.dtype(), dtype);
            close(ours, exact, &what(&format!("gradient {index}")));
        }
    }
}

fn keys(b: usize, s: usize) -> Tensor {
    let mut stream = Stream::new(9, Purpose::Test, (b * s) as u64);
    // The last batch entry sees nothing at all.
    let keys = (0..b * s).map(|i| u8::from(i < (b - 1) * s && stream.below(3) > 0)).collect::<Vec<_>>();
    Tensor::from_vec(keys, (b, s), &Device::Cpu).unwrap()
}

#[test]
fn numbers_of_16_bits_come_back_and_are_rounded_to_the_nearest() {
    fn through<T: candle_core::WithDType>(xs: &[T], base: Option<&[T]>) -> Vec<T> {
        let tensor = |xs: &[T]| Tensor::from_slice(xs, xs.len(), &Device::Cpu).unwrap();
        let x = tensor(xs);
        let y = emulating(|| match base {
            Some(base) => residual(&tensor(base), &x, None).unwrap(),
            None => dropout::launched(None, &x, None).unwrap().into_tensor(),
        });
        y.to_vec1().unwrap()
    }
    let all = 0..=u16::MAX;
    let halves: Vec<f16> = all.clone().map(f16::from_bits).filter(|x| !x.is_nan()).collect();
    assert_eq!(through(&halves, None), halves);
    let brains: Vec<bf16> = all.map(bf16::from_bits).filter(|x| !x.is_nan()).collect();
    assert_eq!(through(&brains, None), brains);
    assert!(through(&[f16::NAN], None)[0].is_nan() && through(&[bf16::NAN], None)[0].is_nan());
    // Sums are computed in 32 bits and rounded once.
    let mut stream = Stream::new(1, Purpose::Test, 2);
    let mut bits = || (0..20_000).map(|_| stream.next_u32() as u16).collect::<Vec<_>>();
    let (a, b) = (bits(), bits());
    let halves = |bits: &[u16]| bits.iter().map(|&x| f16::from_bits(x & 0xbfff)).collect::<Vec<_>>();
    let sums = through(&halves(&a), Some(&halves(&b)));
    for ((a, b), sum) in halves(&a).iter().zip(halves(&b)).zip(sums) {
        assert_eq!(sum, f16::from_f32(a.to_f32() + b.to_f32()), "{a} + {b}");
    }
    let brains = |bits: &[u16]| bits.iter().map(|&x| bf16::from_bits(x & 0xbfff)).collect::<Vec<_>>();
    let sums = through(&brains(&a), Some(&brains(&b)));
    for ((a, b), sum) in brains(&a).iter().zip(brains(&b)).zip(sums) {
        assert_eq!(sum, bf16::from_f32(a.to_f32() + b.to_f32()), "{a} + {b}");
    }
}

fn check_softmax([b, h, t, s]: [usize; 4]) {
    for (causal, keys) in [(false, None), (true, None), (false, Some(keys(b, s))), (true, Some(keys(b, s)))] {
        let mask = MaskSpec { causal, keys };
        held(
            &[&[b, h, t, s]],
            |v| crate::masked_softmax(&v[0], 0.7, &mask),
            |v| composed::masked_softmax(&v[0], 0.7, &mask),
        );
    }
}

#[test]
fn softmax_matches_the_reference() {
    for shape in [[2, 3, 7, 7], [2, 1, 4, 9], [2, 1, 9, 4], [1, 1, 1, 1], [1, 2, 3, 130], [2, 1, 2, 1303]] {
        check_softmax(shape);
    }
}

#[test]
fn extreme_scores_stay_finite_and_a_nan_shows() {
    let x = Var::new(&[[[[1e30_f32, -1e30, 3e38, 0.0], [-3e38, -3e38, -3e38, -3e38]]]], &Device::Cpu).unwrap();
    emulating(|| {
        let y = crate::masked_softmax(&x, 1.0, &MaskSpec::default()).unwrap();
        assert_eq!(values(&y)[..4], [0.0, 0.0, 1.0, 0.0]);
        let gradients = y.sqr().unwrap().sum_all().unwrap().backward().unwrap();
        assert!(values(gradients.get(&x).unwrap()).iter().all(|g| g.is_finite()));
        let nan = Tensor::new(&[[[[f32::NAN, 0.0]]]], &Device::Cpu).unwrap();
        let y = crate::masked_softmax(&nan, 1.0, &MaskSpec::default()).unwrap();
        assert!(values(&y).iter().any(|y| y.is_nan()), "a NaN must not be hidden");
    });
}

#[test]
fn dropout_drops_what_the_processor_drops() {
    for count in [1, 2, 5, 4096, 70_001] {
        let x = numbers(1, &[count], DType::F32);
        for probability in [0.1, 0.5, 1.0] {
            let plain = crate::dropout(&x, probability, &STREAM).unwrap();
            let kernel = emulating(|| crate::dropout(&x, probability, &STREAM).unwrap());
            assert_eq!(values(&plain), values(&kernel));
        }
    }
    held(&[&[3, 7, 11]], |v| crate::dropout(&v[0], 0.4, &STREAM), |v| crate::dropout(&v[0], 0.4, &STREAM));
    for drop in [None, Some(BlockDropout { probability: 0.3, stream: STREAM })] {
        let ours = |v: &[Tensor]| crate::residual(&v[0].transpose(0, 1)?, &v[1], drop.as_ref());
        held(&[&[7, 3, 11], &[3, 7, 11]], ours, ours);
    }
}

fn check_layer_norm(rows: usize, d: usize) {
    held(
        &[&[rows, d], &[d], &[d]],
        |v| crate::layer_norm(&v[0], &v[1], &v[2], 1e-1),
        |v| composed::layer_norm(&v[0], &v[1], &v[2], 1e-1),
    );
}

#[test]
fn layer_norm_matches_the_reference() {
    // The longer ones are read several fours at a time.
    for (rows, d) in [(5, 7), (1, 1), (3, 33), (300, 6), (4, 1030), (37, 264), (18, 1024), (70, 8)] {
        check_layer_norm(rows, d);
    }
    // A large mean costs no digits.
    let x = ((numbers(1, &[3, 40], DType::F32) * 16.0).unwrap().round().unwrap() + 4096.0).unwrap();
    let (ones, zeros) = (x.ones_like().unwrap().get(0).unwrap(), x.zeros_like().unwrap().get(0).unwrap());
    let norm = |x: &Tensor| emulating(|| crate::layer_norm(x, &ones, &zeros, 1e-5).unwrap());
    assert_close(&norm(&x), &norm(&(&x - 4096.0).unwrap()), 1e-5, "a shifted row");
}

#[test]
fn gelu_matches_the_reference() {
    for kind in [Gelu::Exact, Gelu::Tanh] {
        held(&[&[3, 1001]], |v| crate::gelu(&v[0], kind), |v| composed::gelu(&v[0], kind));
        // Whole blocks of numbers, and others.
        for (d, f) in [(5, 3), (4, 300), (3, 296)] {
            let ours = |v: &[Tensor]| {
                let orientation = Orientation::InputsFirst;
                let map = Affine { weight: v[1].clone(), bias: Some(v[2].clone()), orientation };
                crate::gelu_of_linear(&v[0], &map, kind)
            };
            held(&[&[2, 7, d], &[d, f], &[f]], ours, |v| {
                composed::gelu(&composed::linear(&v[0], &v[1], Some(&v[2]), false)?, kind)
            });
        }
        let x = Var::new(&[1e4_f32, -1e4, 1e19, -1e19, 50.0, -50.0], &Device::Cpu).unwrap();
        let (y, slope) = emulating(|| {
            let y = crate::gelu(&x, kind).unwrap();
            let slope = y.sum_all().unwrap().backward().unwrap().get(&x).unwrap().clone();
            (values(&y), values(&slope))
        });
        let sizes: Vec<f64> = y.iter().map(|y| y.abs()).collect();
        assert_eq!(sizes, [1e4, 0.0, f64::from(1e19_f32), 0.0, 50.0, 0.0]);
        assert_eq!(slope, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
        let nan = Tensor::new(&[f32::NAN], &Device::Cpu).unwrap();
        assert!(emulating(|| values(&crate::gelu(&nan, kind).unwrap()))[0].is_nan(), "a NaN must not be hidden");
    }
}

#[test]
fn linear_matches_the_reference() {
    // More rows than a chunk of the bias's gradient.
    for (leading, i, o) in [(&[2, 7][..], 5, 3), (&[1], 1, 1), (&[600], 4, 37), (&[150], 3, 40)] {
        let mut x = leading.to_vec();
        x.push(i);
        held(
            &[&x, &[i, o], &[o]],
            |v| crate::linear(&v[0], &v[1], Some(&v[2])),
            |v| composed::linear(&v[0], &v[1], Some(&v[2]), false),
        );
        held(
            &[&x, &[o, i]],
            |v| crate::linear_transposed(&v[0], &v[1], None),
            |v| composed::linear(&v[0], &v[1], None, true),
        );
    }
    // Strided inputs, a broadcast gradient.
    held(
        &[&[5, 9, 2], &[10, 4]],
        |v| crate::linear(&v[0].transpose(0, 2)?, &v[1].narrow(0, 3, 5)?, None)?.sum(2),
        |v| composed::linear(&v[0].transpose(0, 2)?, &v[1].narrow(0, 3, 5)?, None, false)?.sum(2),
    );
}

fn check_cross_entropy(n: usize, v: usize) {
    let mut stream = Stream::new(4, Purpose::Test, n as u64);
    let label = |stream: &mut Stream| stream.below(v as u64) as i64;
    let labels: Vec<i64> =
        (0..n).map(|_| if stream.below(3) == 0 { IGNORED_LABEL } else { label(&mut stream) }).collect();
    let tensor = Tensor::from_slice(&labels, n, &Device::Cpu).unwrap();
    let weigh = |loss: Tensor| loss.to_dtype(DType::F64)? * 3.0;
    held(
        &[&[n, v]],
        |x| weigh(crate::cross_entropy(&x[0], &tensor)?),
        |x| weigh(composed::cross_entropy(&x[0], &labels)?),
    );
}

#[test]
fn the_loss_of_a_head_matches_the_reference() {
    // Vocabularies of whole eights and of others.
    for (n, d, v) in [(7, 4, 16), (5, 3, 13), (1, 2, 1)] {
        let labels: Vec<i64> = (0..n as i64).map(|i| if i == 2 { IGNORED_LABEL } else { (i * 5) % v as i64 }).collect();
        let tensor = Tensor::from_slice(&labels, n, &Device::Cpu).unwrap();
        let weigh = |loss: Tensor| loss.to_dtype(DType::F64)? * 3.0;
        let reference = |x: &[Tensor]| composed::linear(&x[0], &x[1], x.get(2), true);
        for shapes in [&[&[n, d][..], &[v, d], &[v]][..], &[&[n, d], &[v, d]]] {
            held(
                shapes,
                |x| weigh(crate::vocabulary_loss(&x[0], &x[1], x.get(2), &tensor)?),
                |x| weigh(composed::cross_entropy(&reference(x)?, &labels)?),
            );
        }
    }
    let x = variable(1, &[2, 3], DType::F32);
    let labels = Tensor::new(&[0_i64, 9], &Device::Cpu).unwrap();
    let refused = emulating(|| crate::vocabulary_loss(&x, &variable(2, &[5, 3], DType::F32), None, &labels));
    assert!(refused.unwrap_err().to_string().contains("outside of the vocabulary"));
}

#[test]
fn cross_entropy_matches_the_reference() {
    for (n, v) in [(14, 5), (3, 1), (37, 1003), (3, 9001), (2, 9000)] {
        check_cross_entropy(n, v);
    }
    let x = Var::new(&[[1e4_f32, -1e4, 0.0], [-1e4, -1e4, -1e4]], &Device::Cpu).unwrap();
    emulating(|| {
        let loss = crate::cross_entropy(&x, &Tensor::new(&[1_i64, 0], &Device::Cpu).unwrap()).unwrap();
        assert!((values(&loss)[0] - 0.5 * (2e4 + 3.0_f64.ln())).abs() < 1e-3);
        assert!(values(loss.backward().unwrap().get(&x).unwrap()).iter().all(|g| g.is_finite()));
        let none = crate::cross_entropy(&x, &Tensor::new(&[IGNORED_LABEL; 2], &Device::Cpu).unwrap()).unwrap();
        assert_eq!(values(&none), [0.0]);
        assert_eq!(values(none.backward().unwrap().get(&x).unwrap()), [0.0; 6]);
    });
}

#[test]
fn the_losses_of_rows_are_those_of_the_processor() {
    for dtype in [DType::F32, DType::F64] {
        let x = variable(3, &[5, 1003], dtype);
        let labels = Tensor::new(&[1002_i64, IGNORED_LABEL, 0, 7, 7], &Device::Cpu).unwrap();
        let ours = crate::cross_entropy_by_row(&x, &labels).unwrap();
        let found = emulating(|| crate::cross_entropy_by_row(&x, &labels)).unwrap();
        let mean = emulating(|| crate::cross_entropy(&x, &labels)).unwrap();
        assert_eq!(values(&mean), [found.mean], "the same bits");
        for (a, b) in ours.rows.iter().zip(&found.rows) {
            assert!((a - b).abs() < 1e-5, "{dtype:?}: {a} and {b}");
        }
    }
}

#[test]
fn embedding_matches_the_reference() {
    for (shape, rows, width) in [(&[2, 7][..], 11, 5), (&[9], 1, 3), (&[40, 3], 300, 170), (&[700], 2, 40)] {
        let mut stream = Stream::new(2, Purpose::Test, 1);
        let ids: Vec<u32> = (0..shape.iter().product()).map(|_| stream.below(rows as u64) as u32).collect();
        let ids = Tensor::from_vec(ids, shape, &Device::Cpu).unwrap();
        let mut result = shape.to_vec();
        result.push(width);
        held(&[&[rows, width]], |v| crate::embedding(&v[0], &ids), |v| composed::embedding(&v[0], &ids, &result));
    }
}

/// Everything that changes the core: causal or not, padding or not, dropout or not.
fn check_core([b, h, t, s, d]: [usize; 5], memory: CoreMemory) {
    check_core_of([b, h, t, s, d], d + 1, memory);
}

/// With heads of values of another size.
fn check_core_of([b, h, t, s, d]: [usize; 5], of_values: usize, memory: CoreMemory) {
    let drop = BlockDropout { probability: 0.3, stream: STREAM };
    for (causal, keys) in [(false, None), (true, None), (true, Some(keys(b, s)))] {
        for drop in [None, Some(&drop)] {
            let mask = MaskSpec { causal, keys: keys.clone() };
            let dropout = drop.map(|drop| drop.stream.mask(drop.probability));
            held(
                &[&[b, h, t, d], &[b, h, s, d], &[b, h, s, of_values]],
                |v| attention_core([&v[0], &v[1], &v[2]], CoreMask { scale: 0.4, mask: mask.clone(), dropout }, memory),
                // The reference composes softmax, dropout and products.
                |v| crate::attention_core([&v[0], &v[1], &v[2]], 0.4, &mask, drop, crate::MapMemory::Keep),
            );
        }
    }
}

#[test]
fn the_attention_core_matches_the_reference_however_it_is_cut() {
    for memory in [1, 3, 64].map(|queries| CoreMemory::Recompute(Some(queries))).into_iter().chain([CoreMemory::Keep]) {
        check_core([2, 2, 7, 7, 3], memory);
    }
    check_core([1, 3, 5, 9, 2], CoreMemory::Recompute(Some(2)));
    check_core([2, 1, 9, 5, 2], CoreMemory::Recompute(Some(4)));
    check_core([1, 1, 70, 70, 4], CoreMemory::Recompute(None));
}

#[test]
fn the_attention_core_in_tiles_matches_the_reference() {
    // Whole tiles and parts of some, more keys than queries and fewer, rows that see nothing.
    for [b, h, t, s, d] in
        [[2, 2, 7, 7, 32], [1, 1, 130, 130, 32], [1, 2, 5, 70, 64], [1, 1, 70, 5, 32], [1, 1, 65, 66, 128]]
    {
        for dtype in [DType::F16, DType::BF16, DType::F32] {
            let tensors = [&[b, h, t, d], &[b, h, s, d], &[b, h, s, d]].map(|shape| numbers(1, shape, dtype));
            assert!(flash::is_for(tensors.each_ref()).unwrap());
        }
        check_core_of([b, h, t, s, d], d, CoreMemory::Keep);
    }
    let other = |dtype, size| flash::is_for([&numbers(1, &[1, 1, 2, size], dtype); 3]).unwrap();
    assert!(!other(DType::F64, 32) && !other(DType::BF16, 48));
}

/// Largest differences, over the largest number of each, of value and gradients in single precision to those in double.
fn single_in_tiles([b, h, t, s, d]: [usize; 5], products: flash::TileProducts) -> Vec<f64> {
    let shapes = [&[b, h, t, d], &[b, h, s, d], &[b, h, s, d]];
    let of = |dtype| (1..).zip(shapes).map(|(index, shape)| variable(index, shape, dtype)).collect::<Vec<_>>();
    let mask = MaskSpec { causal: true, keys: None };
    let run = |inputs: &[Var], is_reference: bool| {
        value_and_gradients(inputs, |v: &[Tensor]| {
            let [q, k, v] = [&v[0], &v[1], &v[2]];
            if is_reference {
                return crate::attention_core([q, k, v], 0.4, &mask, None, crate::MapMemory::Keep);
            }
            flash::core_of([q, k, v], CoreMask { scale: 0.4, mask: mask.clone(), dropout: None }, products)
        })
    };
    let single = of(DType::F32);
    let double = single.iter().map(|var| Var::from_tensor(&var.to_dtype(DType::F64).unwrap()).unwrap());
    let (value, gradients) = run(&double.collect::<Vec<_>>(), true);
    let (found, found_gradients) = emulating(|| run(&single, false));
    let apart = |(exact, found): (&Tensor, &Tensor)| {
        let (exact, found) = (values(exact), values(&found.to_dtype(DType::F64).unwrap()));
        let largest = exact.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        exact.iter().zip(&found).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs())) / largest
    };
    let all = std::iter::once((&value, &found)).chain(gradients.iter().zip(&found_gradients));
    all.map(apart).collect()
}

#[test]
fn three_products_of_tf32_are_as_good_as_single_precision_and_one_is_as_good_as_tf32() {
    for sizes in [[1, 2, 70, 70, 32], [1, 1, 33, 65, 64], [1, 1, 20, 20, 128]] {
        let exact = single_in_tiles(sizes, flash::TileProducts::Exact);
        assert!(exact.iter().all(|&apart| apart < 3e-6), "{sizes:?}: {exact:?}");
        let rounded = single_in_tiles(sizes, flash::TileProducts::Rounded);
        assert!(rounded.iter().all(|&apart| apart < 5e-3), "{sizes:?}: {rounded:?}");
        assert!(rounded.iter().any(|&apart| apart > 3e-5), "{sizes:?}: {rounded:?}");
    }
}

#[test]
fn heads_side_by_side_attend_as_those_apart() {
    for [b, h, t, d] in [[2, 2, 7, 32], [1, 3, 130, 32], [1, 2, 70, 64], [1, 1, 65, 128]] {
        let drop = BlockDropout { probability: 0.3, stream: STREAM };
        for (causal, keys) in [(false, None), (true, None), (true, Some(keys(b, t)))] {
            for drop in [None, Some(&drop)] {
                let mask = MaskSpec { causal, keys: keys.clone() };
                let split = |v: &[Tensor]| {
                    let parts = v[0].reshape((b, t, 3, h, d))?.permute((2, 0, 3, 1, 4))?;
                    let [q, k, v] = [0, 1, 2].map(|part| parts.get(part)?.contiguous());
                    let mixed = crate::attention_core([&q?, &k?, &v?], 0.4, &mask, drop, crate::MapMemory::Keep)?;
                    mixed.transpose(1, 2)?.reshape((b, t, h * d))
                };
                let ours = |v: &[Tensor]| match v[0].dtype() {
                    DType::F16 | DType::BF16 | DType::F32 => crate::joint_core(&v[0], h, 0.4, &mask, drop),
                    _ => split(v),
                };
                held(&[&[b, t, 3 * h * d]], ours, split);
            }
        }
    }
    emulating(|| {
        let of = |dtype, width| numbers(1, &[1, 4, width], dtype);
        let refused = |x: &Tensor| crate::joint_core(x, 1, 1.0, &MaskSpec::default(), None).unwrap_err().to_string();
        assert!(refused(&of(DType::F64, 96)).contains("1 heads"), "{}", refused(&of(DType::F64, 96)));
        assert!(refused(&of(DType::BF16, 90)).contains("90"));
    });
}

#[test]
fn heads_come_apart_and_together() {
    // Heads of eight bytes and of others.
    for [b, t, h, d] in [[2, 5, 3, 4], [1, 3, 2, 5], [2, 1, 1, 1], [1, 40, 2, 32]] {
        held(
            &[&[b, t, h * d]],
            |v| crate::split_heads(&v[0], h),
            |v| v[0].reshape((b, t, h, d))?.transpose(1, 2)?.contiguous(),
        );
        held(&[&[b, h, t, d]], |v| crate::merge_heads(&v[0]), |v| v[0].transpose(1, 2)?.reshape((b, t, h * d)));
    }
}

#[test]
fn parts_of_tensors_match_the_reference() {
    for (dim, first, count) in [(0, 0, 3), (0, 2, 2), (1, 1, 4), (1, 5, 1), (2, 0, 2), (2, 2, 1)] {
        held(
            &[&[4, 6, 3]],
            |v| crate::narrowed(&v[0], dim, first, count),
            |v| v[0].narrow(dim, first, count)?.contiguous(),
        );
    }
}

#[test]
fn tensors_one_after_the_other_match_the_reference() {
    for dim in 0..3 {
        let mut shapes = [[4, 6, 3]; 3];
        (shapes[1][dim], shapes[2][dim]) = (1, 5);
        let shapes: Vec<&[usize]> = shapes.iter().map(<[usize; 3]>::as_slice).collect();
        held(&shapes, |v| crate::joined(v, dim), |v| Tensor::cat(v, dim));
    }
}

#[test]
fn products_of_heads_match_the_reference() {
    held(
        &[&[2, 3, 7, 5], &[2, 3, 9, 5]],
        |v| crate::attention_scores(&v[0], &v[1]),
        |v| composed::attention_scores(&v[0], &v[1]),
    );
    held(
        &[&[2, 3, 7, 9], &[2, 3, 9, 5]],
        |v| crate::attention_mix(&v[0], &v[1]),
        |v| composed::attention_mix(&v[0], &v[1]),
    );
}

/// A small network in which one tensor is used twice, one table twice, and one number not at all.
fn network(parameters: &[Parameter]) -> candle_core::Result<Tensor> {
    let of = |index: usize| parameters[index].var.as_tensor();
    let ids = Tensor::new(&[[0_u32, 4, 2], [4, 4, 1]], &Device::Cpu)?;
    let x = crate::embedding(of(0), &ids)?;
    let n = crate::layer_norm(&x, of(1), of(2), 1e-5)?;
    let inner = crate::gelu(&crate::linear(&n, of(3), Some(of(4)))?, Gelu::Tanh)?;
    let x = crate::residual(&x, &inner, None)?;
    let logits = crate::linear_transposed(&crate::reshaped(&x, (6, 8))?, of(0), None)?;
    crate::scaled(
        &crate::cross_entropy(&logits, &Tensor::new(&[1_i64, 0, IGNORED_LABEL, 3, 3, 2], &Device::Cpu)?)?,
        3.0,
    )
}

#[test]
fn gradients_are_handed_on_without_zeros_as_candle_adds_them_up() {
    let shapes: [&[usize]; 5] = [&[5, 8], &[8], &[8], &[8, 8], &[8]];
    for dtype in [DType::F32, DType::F64] {
        let parameters: Vec<Parameter> = (0..)
            .zip(shapes)
            .map(|(i, shape)| Parameter {
                name: format!("p{i}"),
                var: variable(i, shape, dtype),
                decay: false,
                rate: 1.0,
            })
            .collect();
        let (ours, candles, alike) = emulating(|| {
            let (ours, candles) = (Gradients::new(&parameters).unwrap(), Gradients::new(&parameters).unwrap());
            let loss = network(&parameters).unwrap();
            assert!(crate::Flows::of(&loss).is_some());
            // Two passes add up.
            for _ in 0..2 {
                ours.add_of(&loss).unwrap();
                candles.absorb(loss.backward().unwrap()).unwrap();
            }
            // An operation of candle's in between: its own backward pass does it all.
            let with_other = Gradients::new(&parameters).unwrap();
            let loss = network(&parameters).unwrap().affine(2.0, 0.0).unwrap();
            assert!(crate::Flows::of(&loss).is_none());
            with_other.add_of(&loss).unwrap();
            (ours, candles, with_other)
        });
        ours.require_all().unwrap();
        for (((name, ours), (_, candles)), (_, other)) in ours.iter().zip(candles.iter()).zip(alike.iter()) {
            let largest = values(&candles).into_iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
            assert!(largest > 1e-3, "{name}");
            let wide = |tensor: &Tensor| tensor.to_dtype(DType::F64).unwrap();
            let tolerance = largest * if dtype == DType::F64 { 1e-12 } else { 1e-5 };
            assert_close(&wide(&ours), &wide(&candles), tolerance, name);
            assert_close(&wide(&other), &wide(&candles), tolerance, name);
        }
    }
}

#[test]
fn what_led_to_a_tensor_is_forgotten_with_it() {
    let x = variable(1, &[4], DType::F32);
    emulating(|| {
        let drop = BlockDropout { probability: 0.5, stream: STREAM };
        let y = crate::residual(&x, &x, Some(&drop)).unwrap();
        assert!(crate::Flows::of(&y).is_some());
        let id = y.id();
        assert!(tracked::is_known(id));
        drop_all([y]);
        assert!(!tracked::is_known(id));
        // Without a variable there is nothing to be known.
        let plain = numbers(1, &[4], DType::F32);
        assert!(!tracked::is_known(crate::residual(&plain, &plain, None).unwrap().id()));
    });
}

/// Lets tensors go.
fn drop_all<const N: usize>(_: [Tensor; N]) {}

/// Three steps on the GPU and on the processor, clipped, from the same weights.
#[test]
fn the_optimiser_moves_all_parameters_as_the_processor_does() {
    let sizes = [1, 5000, 4096, 8193, 31];
    let run = || {
        let parameters: Vec<Parameter> = (0..)
            .zip(sizes)
            .map(|(i, size)| Parameter {
                name: format!("p{i}"),
                var: variable(i, &[size], DType::F32),
                decay: i % 2 == 0,
                rate: 1.0,
            })
            .collect();
        let mut optimiser =
            AdamW::new(parameters.clone(), AdamWConfig { weight_decay: 0.1, ..Default::default() }).unwrap();
        let mut norms = Vec::new();
        let gradients = |step: u64| {
            let loss = parameters.iter().enumerate().map(|(i, parameter)| {
                let target = numbers(50 + step, &[sizes[i]], DType::F32);
                (parameter.var.as_tensor() - target).unwrap().sqr().unwrap().sum_all().unwrap()
            });
            let loss = loss.reduce(|a, b| (a + b).unwrap()).unwrap();
            Gradients::collect(loss.backward().unwrap(), &parameters).unwrap()
        };
        for step in 0..3 {
            let gradients = gradients(step);
            norms.push(gradients.clip(1.0).unwrap());
            optimiser.step(&gradients, 1e-2).unwrap();
        }
        let mut state = optimiser.state().unwrap();
        // One of them joined in the last step.
        state.insert("p1.step".to_owned(), Tensor::new(&[1_i64], &Device::Cpu).unwrap());
        // A copy: moments are moved in place.
        let kept =
            state.iter().map(|(name, tensor)| (name.clone(), tensor.copy().unwrap())).collect::<BTreeMap<_, _>>();
        let mut again = AdamW::new(parameters.clone(), AdamWConfig::default()).unwrap();
        again.load_state(&state).unwrap();
        assert_eq!(again.step_count(), 3);
        again.step(&gradients(3), 1e-2).unwrap();
        let weights = parameters.iter().map(|parameter| parameter.var.as_detached_tensor()).collect::<Vec<_>>();
        (norms, weights, kept)
    };
    let (norms, weights, state) = run();
    let (gpu_norms, gpu_weights, gpu_state) = emulating(run);
    for (norm, gpu) in norms.iter().zip(&gpu_norms) {
        assert!((gpu / norm - 1.0).abs() < 1e-6, "{gpu} instead of {norm}");
    }
    for (ours, processor) in gpu_weights.iter().zip(&weights) {
        assert_close(ours, processor, 1e-6, "a parameter");
    }
    assert!(state.keys().eq(gpu_state.keys()));
    for (name, moment) in &state {
        let gpu = gpu_state.get(name).unwrap().to_dtype(DType::F64).unwrap();
        assert_close(&gpu, &moment.to_dtype(DType::F64).unwrap(), 1e-6, name);
    }
}

/// Of 16 bits, aligned or not, they are read as what they are in 32.
#[test]
fn gradients_of_16_bits_move_parameters_and_count_in_the_norm() {
    for dtype in [DType::F16, DType::BF16] {
        for (size, first) in [(1, 0), (31, 0), (4096, 0), (9001, 0), (5000, 3), (4100, 8)] {
            let whole = numbers(3, &[size + first], dtype);
            let narrow = whole.narrow(0, first, size).unwrap();
            let single = narrow.to_dtype(DType::F32).unwrap();
            let moved = |gradient: &Tensor| {
                let [parameter, first_moment, second_moment] =
                    [4, 5, 6].map(|number| numbers(number, &[size], DType::F32).abs().unwrap());
                let scalars = AdamWScalars {
                    gradient_scale: 0.5,
                    beta1: 0.9,
                    one_minus_beta1: 0.1,
                    beta2: 0.99,
                    one_minus_beta2: 0.01,
                    inverse_sqrt_correction2: 1.5,
                    epsilon: 1e-8,
                    step_size: 1e-2,
                    shrink: 0.99,
                };
                let update = Update {
                    parameter: parameter.clone(),
                    gradient: gradient.clone(),
                    first_moment: first_moment.clone(),
                    second_moment: second_moment.clone(),
                    scalars,
                };
                emulating(|| update_all(&[update])).unwrap();
                [parameter, first_moment, second_moment].map(|tensor| values(&tensor))
            };
            assert_eq!(moved(&narrow), moved(&single), "{size} from {first} on");
            let norms = [&narrow, &single].map(|gradient| emulating(|| squares_of(std::slice::from_ref(gradient))));
            let [of_narrow, of_single] = norms.map(Result::unwrap);
            assert!((of_narrow / of_single - 1.0).abs() < 1e-12, "{of_narrow} instead of {of_single}");
        }
    }
}

#[test]
fn the_norm_of_a_gradient_that_is_none_is_none() {
    let parameter = Parameter { name: "w".to_owned(), var: variable(1, &[9], DType::F32), decay: false, rate: 1.0 };
    emulating(|| {
        let loss = (parameter.var.as_tensor() * f64::NAN).unwrap().sum_all().unwrap();
        let gradients = Gradients::collect(loss.backward().unwrap(), std::slice::from_ref(&parameter)).unwrap();
        assert!(gradients.global_norm().unwrap().is_nan());
        assert_eq!(gradients.first_non_finite().unwrap().as_deref(), Some("w"));
    });
}

#[test]
fn results_are_written_whole_and_buffers_are_not_filled_before() {
    let buffer = buffer::Buffer::new(&Device::Cpu, (2, 3), DType::F32).unwrap();
    let Computed(storage, shape) = buffer.into();
    assert_eq!(shape.dims(), [2, 3]);
    assert!(matches!(storage, Storage::Cpu(CpuStorage::F32(data)) if data.iter().all(|x| x.is_nan())));
}

#[test]
fn a_kernel_that_is_not_there_is_named() {
    let launch = launch::Launch::rows("nothing", DType::F32, 1, 1).unwrap();
    assert!(device::run(&Device::Cpu, &launch).unwrap_err().to_string().contains("nothing_f32"));
    assert!(launch::Launch::rows("softmax", DType::U32, 1, 1).is_err());
    assert!(launch::Launch::rows("softmax", DType::F32, 1 << 40, 1).unwrap_err().to_string().contains("batch"));
}

#[test]
fn only_this_thread_is_emulated_and_only_for_so_long() {
    let x = numbers(1, &[2], DType::F32);
    assert!(!has_kernels(&x));
    emulating(|| {
        assert!(has_kernels(&x));
        assert!(!std::thread::scope(|scope| scope.spawn(|| has_kernels(&x)).join().unwrap()));
        assert!(!has_kernels(&numbers(1, &[0], DType::F32)), "kernels are not launched for nothing");
    });
    assert!(!has_kernels(&x));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_shape_matches(b in 1_usize..3, h in 1_usize..3, t in 1_usize..9, s in 1_usize..50, d in 1_usize..40) {
        check_softmax([b, h, t, s]);
        check_layer_norm(b * t, d);
        check_cross_entropy(t, s);
        check_core([b, h, t, s, d], CoreMemory::Recompute(Some(h + 1)));
    }
}
