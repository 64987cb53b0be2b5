use proptest::prelude::*;

use super::*;
use crate::{
    attention::{Cost, ModelPlan, Workload},
    config::{Baseline, Compatibility, Coverage, ModelKind, PartialReuse},
};

fn adviser(config: &RunConfig, similarity: f64) -> Adviser {
    let found = analysis(planted(config.model.layers, config.model.heads, similarity, &[]));
    let errors: Vec<f64> = (0..=16).map(|k| 1.0 - f64::from(k) / 16.0).collect();
    Adviser::new(config, "the run", &ModelFacts::default(), &found, Some(&errors)).unwrap()
}

#[test]
fn the_dimension_is_the_least_that_every_layer_is_content_with() {
    let captured = captured(4, 32);
    for share in [0.2, 0.5, 0.76, 0.95, 1.0] {
        let advice = DimensionAdvice::new(&captured, share, 32).unwrap();
        let kept = |k: usize| captured.layers.iter().map(|layer| layer.all_products[k - 1]).fold(1.0, f64::min);
        assert!(kept(advice.d_k) >= share && (advice.d_k == 1 || kept(advice.d_k - 1) < share), "{advice:?}");
        assert!((advice.kept - kept(advice.d_k)).abs() < 1e-12);
        assert_eq!(advice.layers[advice.layer], Some(advice.d_k));
        assert!(advice.is_fewer() && advice.queries >= advice.keys);
    }
    let all = DimensionAdvice::new(&captured, 1.0, 4).unwrap();
    assert_eq!((all.d_k, all.layer, all.is_fewer()), (4, 3, false));
    let mut some = captured.clone();
    some.layers[3] = LayerEnergies::default();
    assert_eq!(DimensionAdvice::new(&some, 1.0, 32).unwrap().layers, [Some(1), Some(2), Some(3), None]);
    assert_eq!(DimensionAdvice::new(&CapturedVariance::default(), 0.9, 32), None);
}

#[test]
fn pairs_are_the_fewest_within_the_limit() {
    let errors = [1.0, 0.4, 0.2, 0.05, 0.01, 0.0];
    for (limit, k) in [(1.0, 1), (0.4, 1), (0.39, 2), (0.05, 3), (0.02, 4)] {
        let advice = PairAdvice::new(&errors, limit, 5).unwrap();
        assert_eq!((advice.k, advice.error), (k, errors[k]));
        assert!(k == 1 || errors[k - 1] > limit);
    }
    assert_eq!(PairAdvice::new(&errors, 0.001, 5), None, "all pairs are no saving");
    assert_eq!(PairAdvice::new(&[], 0.5, 5), None);
}

#[test]
fn the_prediction_is_what_the_cost_model_says_of_both_configs() {
    let config = config(4, 2);
    let adviser = adviser(&config, 0.8);
    let wishes = Wishes { similarity: Some(0.7), energy: Some(0.5), error: Some(0.3) };
    let advice = adviser.advise(wishes);
    let (prediction, proposed) = (advice.prediction.as_ref().unwrap(), advice.config().unwrap());
    for (config, costs) in [(&config, prediction.present), (proposed, prediction.proposed)] {
        let vocabulary = crate::attention::estimated_vocabulary(config);
        let cost = Cost::of(&ModelPlan::resolve(config, vocabulary).unwrap(), &Workload::training(config));
        assert_eq!((costs.parameters, costs.flops_per_step), (cost.parameters, cost.flops_per_step));
        assert_eq!((costs.activation_bytes, costs.memory_bytes), (cost.activation_bytes, cost.memory_bytes));
        assert_eq!(costs.forward_flops_per_example, cost.forward_flops / config.train.batch as u64);
    }
    assert!(prediction.proposed.parameters < prediction.present.parameters);
    assert_eq!(proposed.attention.compatibility.kind(), "collaborative");
    let Coverage::Partial(partial) = &proposed.attention.coverage else { panic!("{advice:?}") };
    assert_eq!((partial.k, partial.from.as_deref()), (12, Some("the run")));
    assert!(advice.changes() && advice.why_not().is_none() && advice.to_keep() == Some(prediction));
    // What is not wished for stays.
    let nothing = adviser.advise(Wishes::default());
    assert_eq!((nothing.config(), nothing.changes()), (Some(&config), false));
    assert_eq!(nothing.why_not().as_deref(), Some("Nothing is to change."));
    let none = adviser.advise(Wishes { similarity: Some(0.9), ..Wishes::default() });
    assert!(none.why_not().unwrap().starts_with("No head could borrow"));
}

#[test]
fn combinations_that_cannot_be_say_why() {
    // Every head but those of the last layer is switched off or borrows: there is no row of which pairs could be left out.
    let mut config = config(2, 2);
    config.attention.reuse = Reuse::Custom(CustomReuse { rows: vec!["- -".to_owned(), "c c".to_owned()] });
    let advice = adviser(&config, 0.5).advise(Wishes { error: Some(0.5), ..Wishes::default() });
    let problems = advice.prediction.as_ref().unwrap_err();
    assert_eq!(problems[0].field, "attention.coverage.kind");
    assert!(advice.why_not().unwrap().contains("no head before the last layer computes"));
    let found = Analysis::default();
    let blind = Adviser::new(&self::config(2, 2), "x", &ModelFacts::default(), &found, None).unwrap();
    for (wishes, words) in [
        (Wishes { similarity: Some(0.5), ..Wishes::default() }, "did not compare"),
        (Wishes { energy: Some(0.5), ..Wishes::default() }, "did not include the weights"),
        (Wishes { error: Some(0.5), ..Wishes::default() }, "reconstruction first"),
    ] {
        assert!(blind.advise(wishes).why_not().unwrap().contains(words));
    }
    let other =
        Adviser::new(&self::config(3, 2), "x", &ModelFacts::default(), &analysis(planted(2, 2, 0.5, &[])), None)
            .unwrap();
    assert!(other.borrowing().unwrap_err().contains("2 layers of 2 heads, the run has 3 of 2"));
}

#[test]
fn layers_that_were_added_to_match_parameters_stay() {
    let mut config = config(12, 4);
    config.attention.reuse = Reuse::Partial(PartialReuse { heads: 2 });
    config.attention.match_parameters = Some(Baseline::Standard);
    config.model.feed_forward = 64;
    let layers = ModelPlan::resolve(&config, 300).unwrap().stack.layers;
    assert!(layers > 12);
    let found = analysis(planted(layers, 4, 0.5, &[]));
    let adviser = Adviser::new(&config, "x", &ModelFacts::default(), &found, None).unwrap();
    let known = adviser.config().unwrap();
    assert_eq!((known.model.layers, known.attention.match_parameters), (layers, None));
    assert!(adviser.advise(Wishes { similarity: Some(0.4), ..Wishes::default() }).prediction.is_ok());
}

#[test]
fn the_vocabulary_follows_from_the_parameters() {
    for kind in [ModelKind::Encoder, ModelKind::Decoder] {
        let mut config = config(2, 2);
        config.model.kind = kind;
        let facts = ModelFacts { vocabulary: Some(1234), ..ModelFacts::default() };
        let parameters = facts.training_cost(&config).unwrap().parameters;
        assert_eq!(ModelFacts::of_parameters(&config, Some(parameters)), facts);
        assert_eq!(ModelFacts::of_parameters(&config, Some(parameters + 1)), ModelFacts::default());
        assert_eq!(ModelFacts::of_parameters(&config, None), ModelFacts::default());
    }
}

/// A table of four classes: the run's head has four outputs, and so has that of what is advised.
#[test]
fn what_is_advised_has_the_outputs_of_the_run() {
    let text = "format = 1\n[data]\nkind = \"table\"\npath = \"rows.tsv\"\ntext = \"text\"\nlabel = \"label\"\nsequence_length = 12\n\
                [task]\nkind = \"classification\"\n[model]\nkind = \"encoder\"\nlayers = 4\nheads = 2\nwidth = 8\n";
    let config = crate::config::from_toml(text).unwrap();
    let plan = ModelPlan::resolve(&config, 60).unwrap().with_outputs(4);
    let found = analysis(planted(4, 2, 0.9, &[]));
    let facts = ModelFacts::of_run(&config, &plan);
    let adviser = Adviser::new(&config, "x", &facts, &found, None).unwrap();
    let whole = Cost::of(&plan, &Workload::training(&config));
    assert_eq!(adviser.present().parameters, whole.parameters);
    let advice = adviser.advise(Wishes { similarity: Some(0.5), ..Wishes::default() });
    let Proposal::Train(proposed) = &advice.proposal else { panic!("{advice:?}") };
    let expected = Cost::of(&ModelPlan::resolve(proposed, 60).unwrap().with_outputs(4), &Workload::training(proposed));
    assert_eq!(advice.prediction.unwrap().proposed.parameters, expected.parameters);
}

/// A run that trains an initial model further keeps that model's attention.
#[test]
fn a_run_with_an_initial_model_is_converted_where_it_cannot_be_trained() {
    let plan = ModelPlan::resolve(&config(4, 2), 300).unwrap();
    let mut config = config(4, 2);
    config.model.initial = Some("m".to_owned());
    let facts = ModelFacts::of_run(&config, &plan);
    let errors: Vec<f64> = (0..=16).map(|k| 1.0 - f64::from(k) / 16.0).collect();
    let mut found = analysis(planted(4, 2, 0.8, &[]));
    // Where no checkpoint was read, the config itself says what its attention is.
    for facts in [&facts, &ModelFacts::default()] {
        let adviser = Adviser::new(&config, "the run", facts, &found, Some(&errors)).unwrap();
        let (similarity, energy, error) = (Some(0.7), Some(0.5), Some(0.3));
        // Which pairs are left out is the config's own, and what changes nothing is no conversion.
        for (wishes, words) in [
            (Wishes { error, ..Wishes::default() }, None),
            (Wishes::default(), Some("Nothing is to change.")),
            (Wishes { similarity: Some(0.9), ..Wishes::default() }, Some("No head could borrow at this similarity.")),
        ] {
            let advice = adviser.advise(wishes);
            assert_eq!((advice.why_converted, advice.why_not().as_deref()), (None, words));
            assert!(of_run(&config, &plan).plan(advice.config().unwrap()).is_ok(), "{advice:?}");
        }
        for (wishes, count) in [
            (Wishes { similarity, ..Wishes::default() }, 1),
            (Wishes { energy, error, ..Wishes::default() }, 2),
            (Wishes { similarity, energy, error }, 3),
        ] {
            let advice = adviser.advise(wishes);
            assert!(advice.why_converted.unwrap().contains("model.initial"));
            assert_eq!((advice.config(), advice.to_keep(), advice.why_not()), (None, None, None));
            assert_eq!((advice.steps().len(), advice.left_out().len()), (count, 0));
            let prediction = advice.prediction.as_ref().unwrap();
            assert_eq!(prediction.present.parameters, adviser.present().parameters);
            assert!(prediction.proposed.parameters <= prediction.present.parameters);
        }
    }
    // A conversion lets heads borrow by this measure alone.
    found.similarity[0].measure = Measure::Cosine;
    let adviser = Adviser::new(&config, "the run", &facts, &found, None).unwrap();
    assert!(adviser.borrowing().unwrap_err().contains("by total variation"));
    config.model.initial = None;
    assert!(Adviser::new(&config, "the run", &facts, &found, None).unwrap().borrowing().is_ok());
}

fn of_run(config: &RunConfig, plan: &ModelPlan) -> ModelFacts {
    ModelFacts::of_run(config, plan)
}

proptest! {
    /// Whatever is wished for, of a model of any kind, also of a run that trains an initial model further: what is proposed can be
    /// trained, or is converted, or says why not.
    #[test]
    fn every_proposed_config_is_sound(
        similarity in proptest::option::of(0.0_f64..1.0),
        energy in proptest::option::of(0.01_f64..1.0),
        error in proptest::option::of(0.0_f64..1.0),
        planted in 0.0_f64..1.0,
        kind in 0_usize..8,
        family in 0_usize..9,
        is_further in proptest::bool::ANY,
    ) {
        let mut config = config(4, 2);
        let all = Reuse::examples(4, 2);
        config.attention.reuse = all[kind % all.len()].clone();
        let all = Compatibility::examples(2, 16);
        config.attention.compatibility = all[family % all.len()].clone();
        let plan = ModelPlan::resolve(&config, 300).unwrap();
        config.model.initial = is_further.then(|| "m".to_owned());
        let advice = adviser(&config, planted).advise(Wishes { similarity, energy, error });
        prop_assert!(advice.why_converted.is_none() || is_further);
        if advice.prediction.is_ok() && let Some(proposed) = advice.config() {
            prop_assert_eq!(proposed.validate(), vec![]);
            let facts = ModelFacts { vocabulary: Some(300), ..of_run(&config, &plan) };
            prop_assert!(facts.plan(proposed).is_ok(), "{:?}", facts.plan(proposed));
        } else if advice.why_converted.is_some() {
            prop_assert!(advice.why_not().is_some() || !advice.steps().is_empty());
        } else {
            prop_assert!(advice.why_not().is_some());
        }
    }
}
