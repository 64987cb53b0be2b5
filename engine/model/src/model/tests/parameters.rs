use candle_core::DType;

use super::*;
use crate::{
    attention::{Cost, Draft, HeadPlan, InputPlan, Workload},
    config::Precision,
    model::{ModelError, Specification, renamed_since, seed_names},
    ops::Parameter,
};

#[test]
fn the_cost_model_counts_what_is_there() {
    for mut plan in plans() {
        for (layers, feed_forward, vocabulary) in [(1, 7, 30), (2, 11, 19), (4, 60, 101)] {
            (plan.stack.layers, plan.stack.feed_forward) = (layers, feed_forward);
            plan.input = InputPlan::Tokens { vocabulary, types: plan.token_types() };
            plan.stack.head_plan =
                HeadPlan::from_drafts(&vec![vec![Draft::Compute; plan.stack.heads]; layers]).unwrap();
            let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
            let cost = Cost::of(&plan, &Workload::inference(1, 3, Precision::F32));
            assert_eq!(cost.parameters, parameters.count(), "{:?} {:?}", plan.stack.name, plan.stack.norm);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_weights_whatever_the_depth() {
    let shallow = plan(ModelKind::Encoder, NormPlacement::Post);
    let mut deep = shallow.clone();
    deep.stack.layers = 3;
    deep.stack.head_plan = HeadPlan::from_drafts(&vec![vec![Draft::Compute; deep.stack.heads]; 3]).unwrap();
    let init = |plan: &ModelPlan, seed| ParameterSet::init(plan, seed, DType::F32, &Device::Cpu).unwrap();
    let (a, b, c) = (init(&shallow, 1), init(&deep, 1), init(&shallow, 2));
    for (name, variable) in a.iter() {
        assert_eq!(largest_difference(variable, b.get(name).unwrap()), 0.0, "{name}");
    }
    let name = "input.tokens.weight";
    assert!(largest_difference(a.get(name).unwrap(), c.get(name).unwrap()) > 1e-3);
    let (query, key) = ("encoder.0.self.query.weight", "encoder.0.self.key.weight");
    assert!(largest_difference(a.get(query).unwrap(), a.get(key).unwrap()) > 1e-3);
}

#[test]
fn initial_weights_follow_their_distributions() {
    for plan in plans() {
        let mut plan = plan;
        (plan.stack.width, plan.stack.head_size, plan.stack.feed_forward) = (60, 20, 120);
        plan.input = InputPlan::Tokens { vocabulary: 300, types: plan.token_types() };
        let parameters = ParameterSet::init(&plan, 3, DType::F64, &Device::Cpu).unwrap();
        for specification in specifications(&plan) {
            let values = numbers(parameters.get(&specification.name).unwrap());
            match specification.initial {
                crate::model::Initial::Zeros => assert!(values.iter().all(|x| *x == 0.0)),
                crate::model::Initial::Ones => assert!(values.iter().all(|x| *x == 1.0)),
                crate::model::Initial::Normal { deviation } => {
                    let n = values.len() as f64;
                    let measured = (values.iter().map(|x| x * x).sum::<f64>() / n).sqrt();
                    // A deviation measured on n numbers scatters by 1 / sqrt(2 n); five times that.
                    let scatter = 5.0 / (2.0 * n).sqrt();
                    assert!((measured / deviation - 1.0).abs() < scatter, "{}: {measured}", specification.name);
                    let onto_stream = [".self.output.weight", ".feed_forward.out.weight"];
                    let onto_stream = onto_stream.iter().any(|end| specification.name.ends_with(end));
                    let residual = plan.stack.is_causal && onto_stream;
                    assert_eq!(deviation, if residual { 0.02 / 2.0 } else { 0.02 }, "{}", specification.name);
                }
            }
        }
    }
}

#[test]
fn biases_and_norms_do_not_decay() {
    for plan in plans() {
        let parameters = ParameterSet::init(&plan, 3, DType::F32, &Device::Cpu).unwrap().optimiser_parameters();
        let seed_name = |parameter: &Parameter| seed_names(&plan).theirs(&parameter.name).unwrap();
        assert!(parameters.windows(2).all(|pair| seed_name(&pair[0]) < seed_name(&pair[1])));
        for parameter in parameters {
            assert_eq!(parameter.decay, parameter.var.rank() == 2, "{}", parameter.name);
        }
    }
}

#[test]
fn weights_that_do_not_fit_are_refused_by_name() {
    let plan = plan(ModelKind::Decoder, NormPlacement::Pre);
    let good = wide(&plan, DType::F32).tensors();
    let mut missing = good.clone();
    missing.remove("decoder.positions.weight");
    let error = ParameterSet::from_tensors(&plan, missing.clone()).unwrap_err();
    assert_eq!(error, ModelError::Missing { name: "decoder.positions.weight".to_owned() });
    let mut extra = good.clone();
    extra.insert("score.weight".to_owned(), good["decoder.positions.weight"].clone());
    assert!(ParameterSet::from_tensors(&plan, extra).unwrap_err().to_string().contains("score.weight"));
    let mut shape = good.clone();
    shape.insert("decoder.positions.weight".to_owned(), good["input.tokens.weight"].clone());
    let error = ParameterSet::from_tensors(&plan, shape.clone()).unwrap_err().to_string();
    assert!(error.contains("[19, 15]") && error.contains("[9, 15]"), "{error}");
    let set = ParameterSet::from_tensors(&plan, good.clone()).unwrap();
    assert!(set.assign(&missing).is_err() && set.assign(&shape).is_err());
    for (name, tensor) in &good {
        assert_eq!(largest_difference(tensor, set.get(name).unwrap()), 0.0, "{name} changed in a refused assignment");
    }
}

#[test]
fn a_snapshot_outlives_updates() {
    let plan = plan(ModelKind::Decoder, NormPlacement::Pre);
    let parameters = wide(&plan, DType::F32);
    let snapshot = parameters.snapshot().unwrap();
    let fresh = ParameterSet::init(&plan, 9, DType::F32, &Device::Cpu).unwrap();
    parameters.assign(&fresh.tensors()).unwrap();
    let name = "input.tokens.weight";
    assert!(largest_difference(&snapshot[name], parameters.get(name).unwrap()) > 1e-3);
    parameters.assign(&snapshot).unwrap();
    assert_eq!(largest_difference(&snapshot[name], parameters.get(name).unwrap()), 0.0);
}

/// The sums of the first numbers of some weights, as they were before parameters had names of ours: what a seed gives
/// never changes.
#[test]
fn initial_weights_are_drawn_by_their_old_names() {
    for (plan, ours, theirs) in [
        (
            plan(ModelKind::Encoder, NormPlacement::Post),
            "encoder.1.self.query.weight",
            "bert.encoder.layer.1.attention.self.query.weight",
        ),
        (
            plan(ModelKind::Decoder, NormPlacement::Pre),
            "decoder.1.self.query_key_value.weight",
            "transformer.h.1.attn.c_attn.weight",
        ),
    ] {
        assert_eq!(seed_names(&plan).theirs(ours).as_deref(), Some(theirs));
        // FNV-1a of the old name.
        let index = theirs
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut stream = Stream::new(3, Purpose::Init, index);
        let parameters = ParameterSet::init(&plan, 3, DType::F64, &Device::Cpu).unwrap();
        let drawn: Vec<f64> = (0..5).map(|_| 0.02 * stream.normal()).collect();
        assert_eq!(numbers(parameters.get(ours).unwrap())[..5], drawn);
    }
}

/// Every parameter of every family has a name in files of its own.
#[test]
fn every_parameter_has_a_seed_name_that_leads_back() {
    for plan in plans().into_iter().chain(family_plans()) {
        for Specification { name, .. } in specifications(&plan) {
            let theirs = seed_names(&plan).theirs(&name).unwrap_or_else(|| panic!("no name for {name}"));
            assert_eq!(seed_names(&plan).ours(&theirs).as_deref(), Some(name.as_str()));
            assert_eq!(renamed_since(&theirs).as_deref(), Some(name.as_str()));
        }
    }
}
