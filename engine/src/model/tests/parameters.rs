use candle_core::DType;

use super::*;
use crate::{
    attention::{Cost, Draft, HeadPlan, Workload},
    config::Precision,
    model::ModelError,
};

#[test]
fn the_cost_model_counts_what_is_there() {
    for mut plan in plans() {
        for (layers, feed_forward, vocabulary) in [(1, 7, 30), (2, 11, 19), (4, 60, 101)] {
            (plan.layers, plan.feed_forward, plan.vocabulary) = (layers, feed_forward, vocabulary);
            plan.head_plan = HeadPlan::from_drafts(&vec![vec![Draft::Compute; plan.heads]; layers]).unwrap();
            let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
            let cost = Cost::of(&plan, &Workload::inference(1, 3, Precision::F32));
            assert_eq!(cost.parameters, parameters.count(), "{:?} {:?}", plan.architecture, plan.norm);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_weights_whatever_the_depth() {
    let shallow = plan(Architecture::Encoder, NormPlacement::Post);
    let mut deep = shallow.clone();
    deep.layers = 3;
    deep.head_plan = HeadPlan::from_drafts(&vec![vec![Draft::Compute; deep.heads]; 3]).unwrap();
    let init = |plan: &ModelPlan, seed| ParameterSet::init(plan, seed, DType::F32, &Device::Cpu).unwrap();
    let (a, b, c) = (init(&shallow, 1), init(&deep, 1), init(&shallow, 2));
    for (name, variable) in a.iter() {
        assert_eq!(largest_difference(variable, b.get(name).unwrap()), 0.0, "{name}");
    }
    let name = "bert.embeddings.word_embeddings.weight";
    assert!(largest_difference(a.get(name).unwrap(), c.get(name).unwrap()) > 1e-3);
    let (query, key) =
        ("bert.encoder.layer.0.attention.self.query.weight", "bert.encoder.layer.0.attention.self.key.weight");
    assert!(largest_difference(a.get(query).unwrap(), a.get(key).unwrap()) > 1e-3);
}

#[test]
fn initial_weights_follow_their_distributions() {
    for plan in plans() {
        let mut plan = plan;
        (plan.width, plan.head_size, plan.feed_forward, plan.vocabulary) = (60, 20, 120, 300);
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
                    let residual = specification.name.ends_with("c_proj.weight");
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
        assert!(parameters.windows(2).all(|pair| pair[0].name < pair[1].name));
        for parameter in parameters {
            assert_eq!(parameter.decay, parameter.var.rank() == 2, "{}", parameter.name);
        }
    }
}

#[test]
fn weights_that_do_not_fit_are_refused_by_name() {
    let plan = plan(Architecture::Decoder, NormPlacement::Pre);
    let good = wide(&plan, DType::F32).tensors();
    let mut missing = good.clone();
    missing.remove("transformer.wpe.weight");
    let error = ParameterSet::from_tensors(&plan, missing.clone()).unwrap_err();
    assert_eq!(error, ModelError::Missing { name: "transformer.wpe.weight".to_owned() });
    let mut extra = good.clone();
    extra.insert("score.weight".to_owned(), good["transformer.wpe.weight"].clone());
    assert!(ParameterSet::from_tensors(&plan, extra).unwrap_err().to_string().contains("score.weight"));
    let mut shape = good.clone();
    shape.insert("transformer.wpe.weight".to_owned(), good["transformer.wte.weight"].clone());
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
    let plan = plan(Architecture::Decoder, NormPlacement::Pre);
    let parameters = wide(&plan, DType::F32);
    let snapshot = parameters.snapshot().unwrap();
    let fresh = ParameterSet::init(&plan, 9, DType::F32, &Device::Cpu).unwrap();
    parameters.assign(&fresh.tensors()).unwrap();
    let name = "transformer.wte.weight";
    assert!(largest_difference(&snapshot[name], parameters.get(name).unwrap()) > 1e-3);
    parameters.assign(&snapshot).unwrap();
    assert_eq!(largest_difference(&snapshot[name], parameters.get(name).unwrap()), 0.0);
}
