//! Every way to score a pair with every schedule of borrowed maps.

use candle_core::DType;

use super::*;
use crate::{
    attention::{Cell, HeadAt},
    config::{Biases, FirstReuse, SkipReuse, Standard},
    model::{ForwardOptions, NonFinite},
    ops::{AdamW, AdamWConfig, Orientation},
};

#[test]
fn every_legal_pair_trains() {
    for plan in family_plans() {
        let what = format!("{:?} {:?} {:?}", plan.stack.name, plan.stack.compatibility, plan.stack.head_plan);
        let parameters = ParameterSet::init(&plan, 5, DType::F32, &Device::Cpu).unwrap();
        let model = Model::trainable(&plan, &parameters).unwrap();
        let mut optimiser = AdamW::new(parameters.optimiser_parameters(), AdamWConfig::default()).unwrap();
        let mut losses = Vec::new();
        for step in 0..3 {
            losses.push(pass_of_step(&model, step));
            let gradients = model.gradients().unwrap();
            assert_eq!(gradients.iter().count(), specifications(&plan).len(), "{what}");
            assert_eq!(gradients.first_non_finite().unwrap(), None, "{what}");
            optimiser.step(gradients, 1e-2).unwrap();
        }
        assert!(losses[2] < losses[0] && losses[2].is_finite(), "{what}: {losses:?}");
        assert_eq!(parameters.first_non_finite().unwrap(), None, "{what}");
    }
}

/// The outputs of a linear map in a plan's parameters, by the end of its name; 0 if it is not there.
fn outputs(plan: &ModelPlan, layer: usize, module: &str) -> usize {
    let end = format!(".{layer}.self.{module}.weight");
    let found = specifications(plan).into_iter().find(|specification| specification.name.ends_with(&end));
    let output = usize::from(plan.stack.matrices == Orientation::InputsFirst);
    found.map_or(0, |specification| specification.shape[output])
}

#[test]
fn only_heads_that_compute_have_queries_and_keys() {
    let standard = Compatibility::Standard(Standard { biases: Biases::WithoutKey });
    for reuse in Reuse::examples(3, 4) {
        for kind in ModelKind::LANGUAGE_MODELS {
            let plan = family_plan(kind, NormPlacement::Pre, standard.clone(), reuse.clone());
            for layer in 0..3 {
                let (computed, live) = (plan.stack.head_plan.computed(layer), plan.stack.head_plan.live(layer));
                let d_k = plan.stack.head_size;
                let found = ["query", "key", "value"].map(|module| outputs(&plan, layer, module));
                assert_eq!(found, [computed * d_k, computed * d_k, live * d_k], "layer {layer} of {reuse:?}");
                let names: Vec<String> = specifications(&plan).into_iter().map(|s| s.name).collect();
                let has_norm = names.iter().any(|n| n.contains(&format!(".{layer}.self.norm.")));
                assert_eq!(has_norm, live > 0, "the norm of layer {layer} of {reuse:?}");
            }
        }
    }
}

/// Layers in which all heads compute keep the one matrix of GPT-2, whatever the others do.
#[test]
fn plain_layers_keep_the_names_of_transformers() {
    let reuse = Reuse::First(FirstReuse { layers: 1, heads: 2 });
    let plan = family_plan(ModelKind::Decoder, NormPlacement::Pre, Compatibility::default(), reuse);
    assert_eq!([0, 1, 2].map(|layer| outputs(&plan, layer, "query_key_value")), [36, 0, 36]);
    assert_eq!([0, 1, 2].map(|layer| outputs(&plan, layer, "query")), [0, 6, 0]);
    assert_eq!(outputs(&plan, 1, "value"), 12);
}

#[test]
fn maps_of_all_heads_are_kept() {
    for plan in mixed_plans() {
        let model = frozen(&plan, &wide(&plan, DType::F32));
        let (b, t) = (2, 6);
        let options = ForwardOptions { keep_maps: true, ..ForwardOptions::default() };
        let maps = model.forward(&input(&tokens(b, t), b, t), &options).unwrap().maps;
        assert_eq!(maps.len(), plan.stack.layers);
        let map = |at: HeadAt| maps[at.layer].narrow(1, at.head, 1).unwrap();
        for (at, cell) in plan.stack.head_plan.iter() {
            assert_eq!(maps[at.layer].dims(), [b, plan.stack.heads, t, t]);
            match cell {
                Cell::Compute => {
                    let sums = numbers(&map(at).sum(3).unwrap());
                    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-5), "{at}");
                }
                Cell::Borrow { origin, .. } => assert_eq!(largest_difference(&map(at), &map(origin)), 0.0, "{at}"),
                Cell::Skip => assert!(numbers(&map(at)).iter().all(|x| *x == 0.0), "{at}"),
            }
        }
    }
    let skip = Reuse::Skip(SkipReuse { layers: 1 });
    let plan = family_plan(ModelKind::Decoder, NormPlacement::Pre, Compatibility::default(), skip);
    let options = ForwardOptions { keep_maps: true, ..ForwardOptions::default() };
    let maps = frozen(&plan, &wide(&plan, DType::F32)).forward(&input(&tokens(1, 3), 1, 3), &options).unwrap().maps;
    assert_eq!(maps[1].dims(), [1, 4, 3, 3]);
    assert!(numbers(&maps[1]).iter().all(|x| *x == 0.0));
}

/// A borrowed map is bad where it was computed.
#[test]
fn a_bad_map_is_found_where_it_was_computed() {
    let reuse = Reuse::First(FirstReuse { layers: 2, heads: 3 });
    let plan = family_plan(ModelKind::Encoder, NormPlacement::Post, Compatibility::default(), reuse);
    let parameters = wide(&plan, DType::F32);
    // Head 0 of layer 1 computes; layer 2 borrows it as head 1.
    let (_, variable) = parameters.iter().find(|(name, _)| name.ends_with("encoder.1.self.query.bias")).unwrap();
    let bad = vec![f32::NAN; variable.elem_count()];
    variable.set(&Tensor::from_vec(bad, variable.shape(), &Device::Cpu).unwrap()).unwrap();
    let found = frozen(&plan, &parameters).first_non_finite(&input(&[1, 2, 3], 1, 3), None).unwrap();
    assert_eq!(found, Some(NonFinite::Layer { layer: 1, head: Some(0) }));
}

/// A decoder whose maps are borrowed never looks ahead either; padding does not matter to an encoder.
#[test]
fn masks_hold_for_borrowed_maps() {
    for plan in mixed_plans() {
        let model = frozen(&plan, &wide(&plan, DType::F64));
        let (ids, length) = (tokens(1, POSITIONS), 5);
        let logits = |ids: &[u32], mask: Option<&[u8]>| {
            let input = ModelInput::new(ids, mask, 1, ids.len(), &Device::Cpu).unwrap();
            model.forward(&input, &ForwardOptions::default()).unwrap().logits.narrow(1, 0, length).unwrap()
        };
        let short = logits(&ids[..length], None);
        let mask: Vec<u8> = (0..POSITIONS).map(|i| u8::from(i < length)).collect();
        let difference = largest_difference(&short, &logits(&ids, Some(&mask)));
        assert!(difference < 1e-12, "{:?}: {difference}", plan.stack.compatibility);
        if plan.stack.is_causal {
            let mut other = ids.clone();
            other[length] = (other[length] + 1) % VOCABULARY as u32;
            assert_eq!(largest_difference(&logits(&ids, None), &logits(&other, None)), 0.0);
        }
    }
}
