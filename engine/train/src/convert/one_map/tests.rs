//! Products that one map can have are found as they are; others as near as can be.

use std::ops::ControlFlow;

use candle_core::{DType, Device, Tensor};

use super::{
    OneMap,
    fit::{Fit, Values, fit},
    product::Product,
};
use crate::{
    analysis::{Dense, eigen},
    attention::ModelPlan,
    config::{Biases, ModelKind, NormPlacement, Pairwise, Reuse, SharedWeight, Symmetric},
    convert::{
        Conversion, Converted, convert,
        products::share,
        tests::{changed, close, logits, plan, wide},
    },
    model::ParameterSet,
    ops::{
        Orientation,
        random::{Purpose, Stream},
    },
};

const ALL: [OneMap; 3] = [OneMap::Symmetric, OneMap::Pairwise, OneMap::SharedWeight];

fn random(index: u64, rows: usize, columns: usize) -> Dense {
    let mut stream = Stream::new(23, Purpose::Test, index);
    Dense { rows, columns, values: (0..rows * columns).map(|_| stream.normal()).collect() }
}

fn conversion(to: OneMap) -> Conversion {
    match to {
        OneMap::Symmetric => Conversion::Symmetric(Symmetric {}),
        OneMap::Pairwise => Conversion::Pairwise(Pairwise {}),
        OneMap::SharedWeight => Conversion::SharedWeight(SharedWeight {}),
    }
}

fn to(plan: &ModelPlan, parameters: &ParameterSet, to: OneMap) -> Converted {
    convert((plan, parameters), &conversion(to), None, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// A weight or a bias with a column for each output.
fn columns(plan: &ModelPlan, tensor: &Tensor) -> Tensor {
    match (tensor.rank(), plan.stack.matrices) {
        (1, _) => tensor.reshape((1, tensor.elem_count())).unwrap(),
        (_, Orientation::InputsFirst) => tensor.clone(),
        (_, Orientation::OutputsFirst) => tensor.t().unwrap().contiguous().unwrap(),
    }
}

/// The other way round.
fn back(plan: &ModelPlan, tensor: &Tensor, rank: usize) -> Tensor {
    match (rank, plan.stack.matrices) {
        (1, _) => tensor.flatten_all().unwrap(),
        (_, Orientation::InputsFirst) => tensor.clone(),
        (_, Orientation::OutputsFirst) => tensor.t().unwrap().contiguous().unwrap(),
    }
}

/// Weights of standard attention that compute what this family does: keys and values follow from the queries.
fn of_one_map(plan: &ModelPlan, to: OneMap, dtype: DType) -> ParameterSet {
    let before = wide(plan, DType::F64);
    let all = before.tensors();
    let made = changed(plan, &before, |name, tensor| {
        let (rank, own) = (tensor.rank(), columns(plan, &tensor));
        if name.contains("query_key_value") {
            let width = own.dims()[1] / 3;
            let [query, value] = [0, 2].map(|which| own.narrow(1, which * width, width).unwrap().contiguous().unwrap());
            return back(plan, &Tensor::cat(&follow(&query, &value, to, rank == 1), 1).unwrap(), rank);
        }
        let modules = [("query", 0), ("key", 1), ("value", 2)];
        let found = modules.into_iter().find(|(module, _)| name.contains(&format!(".{module}.")));
        let Some((module, which)) = found else { return tensor };
        let Some(query) = all.get(&name.replace(&format!(".{module}."), ".query.")) else { return tensor };
        back(plan, &follow(&columns(plan, query), &own, to, rank == 1)[which], rank)
    });
    let tensors = made.tensors().into_iter().map(|(name, one)| (name, one.to_dtype(dtype).unwrap()));
    ParameterSet::from_tensors(plan, tensors.collect()).unwrap()
}

/// Queries, keys and values of heads of three columns that are those of one map. Biases of values are their own all the same: what
/// they add to every token can stand in that of the output.
fn follow(query: &Tensor, value: &Tensor, to: OneMap, is_bias: bool) -> [Tensor; 3] {
    let columns = query.dims()[1];
    let diagonal = |first: f64| {
        let values: Vec<f64> = (0..columns).map(|column| (first + column as f64 * 0.37).sin() + 0.2).collect();
        query.broadcast_mul(&Tensor::from_vec(values, (1, columns), &Device::Cpu).unwrap()).unwrap()
    };
    match to {
        OneMap::Symmetric => [query.clone(), query.clone(), value.clone()],
        OneMap::Pairwise => {
            let heads: Vec<Tensor> = (0..columns / 3)
                .map(|head| {
                    let between = Tensor::from_vec(random(head as u64, 3, 3).values, (3, 3), &Device::Cpu).unwrap();
                    query.narrow(1, head * 3, 3).unwrap().contiguous().unwrap().matmul(&between).unwrap()
                })
                .collect();
            [query.clone(), Tensor::cat(&heads, 1).unwrap(), value.clone()]
        }
        OneMap::SharedWeight if is_bias => [query.clone(), diagonal(1.0), value.clone()],
        OneMap::SharedWeight => [query.clone(), diagonal(1.0), diagonal(4.0)],
    }
}

/// Every architecture, norm placement, schedule and choice of biases: what is of this family already computes what it did.
#[test]
fn products_of_one_map_are_found() {
    for (number, kind) in ModelKind::ALL.into_iter().enumerate() {
        let reuses = if kind == ModelKind::EncoderDecoder { vec![Reuse::default()] } else { Reuse::examples(3, 4) };
        let with_biases = reuses.into_iter().map(|reuse| (reuse, Biases::All));
        let without = [Biases::WithoutKey, Biases::None].map(|biases| (Reuse::default(), biases));
        let all: Vec<(Reuse, Biases)> = with_biases.chain(without).collect();
        for ((reuse, biases), one_map) in all.iter().flat_map(|one| ALL.map(|one_map| (one, one_map))) {
            let plan = plan(kind, NormPlacement::ALL[number % 2], *biases, reuse.clone());
            // Heads that borrow have values of their own and no queries that these could follow.
            if one_map == OneMap::SharedWeight && *reuse != Reuse::default() {
                let made = to(&plan, &wide(&plan, DType::F64), one_map);
                assert!(logits(&made.plan, &made.parameters).iter().all(|logit| logit.is_finite()));
                continue;
            }
            for (dtype, tolerance) in [(DType::F64, 1e-4), (DType::F32, 1e-3)] {
                let what = format!("{kind:?} {one_map:?} {reuse:?} {biases:?} {dtype:?}");
                let before = of_one_map(&plan, one_map, dtype);
                let after = to(&plan, &before, one_map);
                assert_eq!(after.plan.stack.compatibility.kind().replace('_', "-"), conversion(one_map).info().flag);
                for one in &after.attentions {
                    assert!(one.relative_error.unwrap_or(0.0) < 1e-3, "{what}: {one:?}");
                }
                close(&logits(&after.plan, &after.parameters), &logits(&plan, &before), tolerance, &what);
            }
        }
    }
}

/// The error that is told is that of the weights.
#[test]
fn the_error_that_is_told_is_that_of_the_weights() {
    let plan = plan(ModelKind::Encoder, NormPlacement::Post, Biases::All, Reuse::default());
    let before = wide(&plan, DType::F64);
    let flat = |set: &ParameterSet, name: &str| {
        let tensor = set.get(name).unwrap();
        let tensor = if tensor.rank() == 2 { tensor.t().unwrap() } else { tensor.as_detached_tensor() };
        let (rows, columns) = if tensor.rank() == 2 { tensor.dims2().unwrap() } else { (1, tensor.elem_count()) };
        Dense { rows, columns, values: tensor.flatten_all().unwrap().to_vec1().unwrap() }
    };
    let [query, key] = ["query", "key"].map(|of| flat(&before, &format!("encoder.1.self.{of}.weight")));
    for one_map in ALL {
        let after = to(&plan, &before, one_map);
        assert!(after.parameters.count() < before.count());
        let (mut lost, mut all) = (0.0, 0.0);
        for head in 0..4 {
            let was = query.columns(head * 3, 3).times_transposed(&key.columns(head * 3, 3));
            let map = |of: &str| flat(&after.parameters, &format!("encoder.1.self.{of}.weight"));
            let is = match one_map {
                OneMap::Symmetric => {
                    let own = map("query").columns(head * 3, 3);
                    own.times_transposed(&own)
                }
                OneMap::Pairwise => {
                    let own = map("query").columns(head * 3, 3);
                    let between = after.parameters.get("encoder.1.self.pairwise.weight").unwrap();
                    let values = between.get(head).unwrap().flatten_all().unwrap().to_vec1().unwrap();
                    own.times(&Dense { rows: 3, columns: 3, values }).times_transposed(&own)
                }
                OneMap::SharedWeight => {
                    let own = map("shared").columns(head * 3, 3);
                    let of = |name: &str| map(name).values[head * 3..head * 3 + 3].to_vec();
                    let queries = own.clone().scale_columns(&of("query_diagonal"));
                    queries.times_transposed(&own.scale_columns(&of("key_diagonal")))
                }
            };
            lost += was.values.iter().zip(&is.values).map(|(was, is)| (was - is).powi(2)).sum::<f64>();
            all += was.values.iter().map(|was| was * was).sum::<f64>();
        }
        let told = after.attentions[1].relative_error.unwrap();
        assert!((told - share(lost, all)).abs() < 1e-9 && (0.3..1.0).contains(&told), "{one_map:?}: {told}");
    }
}

/// Without biases the nearest symmetric product is known in closed form: all but the largest positive eigenvalues of the even
/// part, and the odd part, are lost.
#[test]
fn the_nearest_symmetric_product_is_that_of_the_eigenvalues() {
    let (query, key) = (random(1, 17, 4), random(2, 17, 4));
    let product = Product::new([&query, &key], &[0.0; 4], &[]).unwrap();
    let found = fit(&product, OneMap::Symmetric, 4, None).unwrap();
    let whole = query.times_transposed(&key);
    let half = |sign: f64| {
        let mut half = whole.clone();
        for (slot, value) in half.values.iter_mut().zip(whole.turned().values) {
            *slot = f64::midpoint(*slot, sign * value);
        }
        half
    };
    let odd: f64 = half(-1.0).values.iter().map(|value| value * value).sum();
    let values = eigen(&half(1.0).values, 17).unwrap().values;
    let left: f64 = values.iter().enumerate().filter(|(n, value)| *n >= 4 || **value <= 0.0).map(|(_, v)| v * v).sum();
    let (lost, expected) = (found.lost(&product), odd + left);
    assert!((lost - expected).abs() < 1e-9 * expected, "{lost} {expected}");
    // The bare map: no bias comes from none.
    assert!(found.bias.values.iter().all(|bias| bias.abs() < 1e-9));
}

fn lost_of(product: &Product, values: Option<&Values>, found: &Fit) -> f64 {
    let of_values = values.map_or(0.0, |values| values.share_lost(&found.factor).unwrap());
    found.lost(product) / product.norm_squared + of_values
}

/// Nothing near what is found loses less: with biases, and with values where there are some.
#[test]
fn what_is_found_is_a_minimum() {
    for (number, one_map) in ALL.into_iter().enumerate() {
        let number = number as u64 * 100;
        let [query, key, value] = [1, 2, 3].map(|n| random(number + n, 15, 3));
        let (bias, output) = (random(number + 4, 1, 3).values, random(number + 5, 3, 15));
        let product = Product::new([&query, &key], &bias, std::slice::from_ref(&value)).unwrap();
        let values =
            (one_map == OneMap::SharedWeight).then(|| Values::new(&product.basis.transposed_times(&value), &output));
        let found = fit(&product, one_map, 3, values.as_ref()).unwrap();
        let least = lost_of(&product, values.as_ref(), &found);
        assert!(found.sweeps > 1, "{one_map:?}: {} sweeps", found.sweeps);
        for direction in 0..200 {
            let mut near = found.clone();
            let moved = random(number + 1000 + direction, near.factor.rows + 1, 3).values;
            for (slot, by) in near.factor.values.iter_mut().chain(&mut near.bias.values).zip(&moved) {
                *slot += 0.02 * by;
            }
            let between = random(number + 3000 + direction, 3, 3).values;
            for (at, (slot, by)) in near.inner.values.iter_mut().zip(&between).enumerate() {
                match one_map {
                    OneMap::Symmetric => {}
                    OneMap::SharedWeight if at % 4 != 0 => {}
                    OneMap::Pairwise | OneMap::SharedWeight => *slot += 0.02 * by,
                }
            }
            let lost = lost_of(&product, values.as_ref(), &near);
            assert!(lost > least * (1.0 - 1e-4), "{one_map:?}: {lost} near {least}");
        }
    }
}

/// A matrix between two maps can be the identity, and a diagonal one is one of all.
#[test]
fn what_can_be_more_loses_no_more() {
    for head in 0..8 {
        let (query, key) = (random(700 + head, 20, 4), random(800 + head, 20, 4));
        let product = Product::new([&query, &key], &random(900 + head, 1, 4).values, &[]).unwrap();
        let lost = ALL.map(|one_map| {
            let found = fit(&product, one_map, 4, None).unwrap();
            lost_of(&product, None, &found)
        });
        let [symmetric, pairwise, diagonal] = lost;
        assert!(diagonal < symmetric * 1.0001 && pairwise < diagonal * 1.01, "{lost:?} of {}", product.norm_squared);
    }
}

/// Heads of nothing stay of nothing, and numbers that are none are refused.
#[test]
fn heads_of_zeros_and_of_no_numbers() {
    let plan = plan(ModelKind::Encoder, NormPlacement::Post, Biases::All, Reuse::default());
    for (value, is_refused) in [(0.0, false), (f64::NAN, true)] {
        let before = changed(&plan, &wide(&plan, DType::F64), |name, tensor| {
            let is_meant = ["query", "key", "value"].iter().any(|of| name.contains(&format!("encoder.1.self.{of}.")));
            if is_meant { (tensor.zeros_like().unwrap() + value).unwrap() } else { tensor }
        });
        for one_map in ALL {
            let made = convert((&plan, &before), &conversion(one_map), None, &mut |_| ControlFlow::Continue(()));
            assert_eq!(made.is_err(), is_refused, "{one_map:?}");
            let Ok(made) = made else { continue };
            assert_eq!(made.attentions[1].relative_error, Some(0.0));
            assert!(logits(&made.plan, &made.parameters).iter().all(|logit| logit.is_finite()), "{one_map:?}");
        }
    }
}
