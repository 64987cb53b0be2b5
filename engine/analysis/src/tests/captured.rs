use candle_core::{DType, Device};

use super::{Golden, assert_close, held};
use crate::{
    CapturedVariance, LayerEnergies,
    attention::ModelPlan,
    config::{AttentionConfig, Compatibility, FirstReuse, ModelConfig, Reuse, RunConfig},
    eigen::Dense,
    model::{Model, ParameterSet},
};

fn heads(golden: &Golden, name: &str) -> Vec<Dense> {
    let (shape, values) = golden.get(name);
    let (rows, columns) = (shape[1], shape[2]);
    values.chunks(rows * columns).map(|values| Dense { rows, columns, values: values.to_vec() }).collect()
}

#[test]
fn captured_variance_is_that_of_the_goldens() {
    for golden in Golden::all("captured") {
        let found = LayerEnergies::of(&heads(&golden, "Wq"), &heads(&golden, "Wk")).unwrap();
        let check = |found: &[Vec<f64>], name: &str| {
            let (shape, expected) = golden.get(name);
            let width = *shape.last().unwrap();
            let found: Vec<f64> =
                found.iter().flat_map(|curve| held(&curve[..width.min(curve.len())], width)).collect();
            assert_close(&found, &expected, 1e-10, &format!("{} {name}", golden.name));
        };
        check(&found.query, "captured_head_q");
        check(&found.key, "captured_head_k");
        check(&found.product, "captured_head_qk");
        check(&[found.all_queries], "captured_concat_q");
        check(&[found.all_keys], "captured_concat_k");
        check(&[found.all_products], "captured_concat_qk");
    }
}

#[test]
fn every_family_has_captured_variance_for_the_heads_that_score() {
    for compatibility in Compatibility::examples(4, 16) {
        let config = RunConfig {
            model: ModelConfig { layers: 2, heads: 4, width: 16, feed_forward: 16, ..ModelConfig::default() },
            attention: AttentionConfig {
                compatibility,
                reuse: Reuse::First(FirstReuse { layers: 1, heads: 2 }),
                ..AttentionConfig::default()
            },
            ..RunConfig::default()
        };
        let Ok(plan) = ModelPlan::resolve(&config, 50) else { continue };
        let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
        let found = CapturedVariance::of(&Model::frozen(&plan, &parameters).unwrap()).unwrap();
        assert_eq!(found.layers[0].heads, [0, 1, 2, 3]);
        assert_eq!(found.layers[1].heads, [0, 1]);
        for layer in &found.layers {
            let curves = [&layer.query, &layer.key, &layer.product].into_iter().flatten();
            let curves = curves.chain([&layer.all_queries, &layer.all_keys, &layer.all_products]);
            let mut count = 0;
            for curve in curves {
                assert!(curve.is_sorted() && (curve.last().unwrap() - 1.0).abs() < 1e-12, "{curve:?}");
                count += 1;
            }
            assert_eq!(count, 3 * layer.heads.len() + 3);
            assert!(LayerEnergies::dimensions_for(&layer.all_queries, 1.0).is_some());
            assert_eq!(LayerEnergies::dimensions_for(&[0.5, 0.75, 1.0, 1.0], 0.7), Some(2));
        }
    }
}
