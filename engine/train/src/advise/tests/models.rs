//! Models from elsewhere, which are converted.

use proptest::prelude::*;

use super::*;
use crate::{
    attention::{EmbeddingDesign, LinearBiases, NormKind, Positions, StackDesign},
    config::{
        Collaborative, Compatibility, Coverage, Grouped, ModelKind, NumberWordsSource, PartialCoverage, Precision,
        Source, presets,
    },
    convert::{Conversion, check},
    ops::Rotation,
};

/// Tokens of an example of the analysis; models have more positions.
const TOKENS: usize = 12;

fn plan() -> ModelPlan {
    ModelPlan::resolve(&config(4, 2), 300).unwrap()
}

fn model_analysis(plan: &ModelPlan, similarity: f64) -> Analysis {
    let (layers, heads) = (plan.stack.layers, plan.stack.heads);
    let captured = Some(captured(layers, heads * plan.stack.head_size));
    Analysis { tokens: TOKENS, captured, ..analysis(planted(layers, heads, similarity, &[])) }
}

fn errors() -> Vec<f64> {
    (0..=TOKENS).map(|k| 1.0 - k as f64 / TOKENS as f64).collect()
}

fn of_model(plan: &ModelPlan, similarity: f64) -> Adviser {
    Adviser::of_model(plan, &model_analysis(plan, similarity), Some(&errors())).unwrap()
}

const ALL: Wishes = Wishes { similarity: Some(0.7), energy: Some(0.5), error: Some(0.3) };

/// Rotary positions, grouped heads, gates, no biases.
fn like_llama() -> ModelPlan {
    let mut plan = plan();
    plan.stack.design = StackDesign {
        positions: Positions::Rotary(Rotation::of(10_000.0)),
        norm: NormKind::Rms,
        is_gated: true,
        biases: LinearBiases::None,
        ..StackDesign::default()
    };
    plan.stack.compatibility = Compatibility::Grouped(Grouped { kv_heads: 1 });
    plan
}

#[test]
fn a_model_is_advised_as_the_run_that_it_came_from() {
    let mut checked = 0;
    for preset in presets() {
        let mut config = preset.config().unwrap();
        // Where a preset leaves pairs to another run, any name will do.
        if let Coverage::Partial(partial) = &mut config.attention.coverage {
            partial.from = partial.from.take().map(|_| "a run".to_owned());
        }
        let Ok(plan) = ModelPlan::resolve(&config, 300) else { continue };
        if !plan.is_analysable() || plan.stack.layers * plan.stack.heads > 100 {
            continue;
        }
        let tokens = config.data.sequence_length;
        let found = Analysis { tokens, ..model_analysis(&plan, 0.6) };
        let errors: Vec<f64> = (0..=tokens).map(|k| 1.0 - k as f64 / tokens as f64).collect();
        let of_run = Adviser::new(&config, "run", &ModelFacts::default(), &found, Some(&errors)).unwrap();
        let of_model = Adviser::of_model(&plan, &found, Some(&errors)).unwrap();
        assert_eq!(of_run.model(), &ModelFacts::default().plan(&config).unwrap());
        for threshold in [0.1, 0.5, 0.6, 0.61, 0.95] {
            let [run, model] = [&of_run, &of_model].map(|adviser| adviser.heads(threshold).unwrap());
            assert_eq!((&run.plan, &run.heads, run.replaced), (&model.plan, &model.heads, model.replaced));
            assert_eq!(of_run.dimensions(threshold), of_model.dimensions(threshold), "{}", preset.name);
            match (of_run.pairs(threshold), of_model.pairs(threshold)) {
                (Err(run), Err(model)) => assert_eq!(run.replace("run", "model"), model),
                (run, model) => assert_eq!(run, model),
            }
        }
        let training = Costs::of_plan(of_run.model(), &Workload::training(&config));
        assert_eq!(&training, of_run.present(), "{}", preset.name);
        checked += 1;
    }
    assert!(checked > 15, "only {checked} presets were looked at");
}

#[test]
fn what_can_be_had_is_a_course_of_conversions_with_what_each_comes_to() {
    let before = plan();
    let adviser = of_model(&before, 0.8);
    let advice = adviser.advise(ALL);
    let kinds: Vec<&str> = advice.steps().iter().map(|step| step.conversion.info().flag).collect();
    assert_eq!(kinds, ["borrow", "collaborative", "coverage"]);
    assert!(advice.changes() && advice.why_not().is_none() && advice.left_out().is_empty());
    assert_eq!((advice.config(), advice.to_keep()), (None, None), "nothing is trained");
    let Conversion::Borrow(borrow) = &advice.steps()[0].conversion else { panic!("{advice:?}") };
    assert_eq!((borrow.similarity, borrow.merges), (0.7, false));
    let (heads, dimensions) = (adviser.heads(0.7).unwrap(), adviser.dimensions(0.5).unwrap());
    let pairs = adviser.pairs(0.3).unwrap();
    // What each conversion makes of the plan, put together by hand.
    let mut after = before.clone();
    after.stack.head_plan = heads.plan;
    let mut costs = |change: &dyn Fn(&mut ModelPlan)| {
        change(&mut after);
        let cost = Cost::of(&after, &Workload::inference(1, TOKENS, Precision::F32));
        (cost.parameters, cost.forward_flops, cost.memory_bytes)
    };
    let expected = [
        costs(&|_| ()),
        costs(&|plan| {
            plan.stack.compatibility = Compatibility::Collaborative(Collaborative { d_k: dimensions.d_k });
        }),
        costs(&|plan| {
            plan.stack.positions = TOKENS;
            plan.stack.coverage = Coverage::Partial(PartialCoverage { k: pairs.k, ..PartialCoverage::default() });
        }),
    ];
    let told = |costs: &Costs| (costs.parameters, costs.forward_flops_per_example, costs.memory_bytes);
    let found: Vec<_> = advice.steps().iter().map(|step| told(&step.costs)).collect();
    assert_eq!(found, expected);
    let prediction = advice.prediction.as_ref().unwrap();
    assert_eq!((&prediction.present, told(&prediction.proposed)), (adviser.present(), expected[2]));
    assert!(prediction.proposed.parameters < prediction.present.parameters);
    assert_eq!(prediction.words(), "6 heads borrow, d_k 2, 9 pairs per row");
    // What is not wished for stays.
    let nothing = adviser.advise(Wishes::default());
    assert_eq!((nothing.steps().len(), nothing.why_not().as_deref()), (0, Some("Nothing is to change.")));
    let none = adviser.advise(Wishes { similarity: Some(0.9), ..Wishes::default() });
    assert!(none.why_not().unwrap().starts_with("No head could borrow"));
    let some = adviser.advise(Wishes { similarity: Some(0.9), energy: Some(0.5), error: None });
    assert_eq!((some.steps().len(), some.why_not()), (1, None));
    assert_eq!(some.left_out(), ["No head could borrow at this similarity."]);
}

#[test]
fn what_a_conversion_refuses_is_said_and_not_advised() {
    let design = |change: &dyn Fn(&mut ModelPlan)| {
        let mut plan = plan();
        change(&mut plan);
        plan
    };
    let partial = Coverage::Partial(PartialCoverage { k: 3, ..PartialCoverage::default() });
    let collaborative = Compatibility::Collaborative(Collaborative { d_k: 4 });
    for (plan, words, possible) in [
        (like_llama(), "turned by their positions", vec![]),
        (design(&|plan| plan.stack.design.shares_layers = true), "all layers have the same maps", vec![]),
        (
            design(&|plan| plan.stack.design.positions = Positions::Relative { buckets: 8, farthest: 32 }),
            "bias for the distance",
            vec![],
        ),
        (plan().with_coverage(partial), "does not score every pair", vec![]),
        (design(&|plan| plan.stack.compatibility = collaborative.clone()), "is \"collaborative\"", vec!["coverage"]),
    ] {
        let adviser = of_model(&plan, 0.8);
        let advice = adviser.advise(ALL);
        let kinds: Vec<&str> = advice.steps().iter().map(|step| step.conversion.info().flag).collect();
        assert_eq!(kinds, possible, "{words}");
        let told = if possible.is_empty() { advice.why_not().unwrap() } else { advice.left_out().join(" ") };
        assert_eq!(told.matches(words).count(), 1, "said once: {told}");
        assert!(matches!(&advice.heads, Some(Err(why)) if why.contains(words)), "{advice:?}");
        // What was measured is there all the same.
        assert!(adviser.heads(0.7).unwrap().replaced > 0 && adviser.dimensions(0.5).is_ok());
        assert_eq!(
            advice.prediction.unwrap().present.parameters,
            Cost::of(&plan, &Workload::inference(1, TOKENS, Precision::F32)).parameters
        );
    }
    // One layer: nobody to borrow from, and no layer that could leave pairs out.
    let single = ModelPlan::resolve(&config(1, 2), 300).unwrap();
    let advice = of_model(&single, 0.8).advise(Wishes { energy: None, ..ALL });
    assert!(advice.why_not().unwrap().contains("nothing to leave out"), "{advice:?}");
    // As many dimensions as there are.
    let mut found = model_analysis(&plan(), 0.8);
    found.captured = Some(captured(16, 16));
    found.captured.as_mut().unwrap().layers.drain(..12);
    let adviser = Adviser::of_model(&plan(), &found, None).unwrap();
    let advice = adviser.advise(Wishes { energy: Some(1.0), ..Wishes::default() });
    assert!(advice.why_not().unwrap().contains("needs 16 of its 16 dimensions"), "{advice:?}");
}

#[test]
fn models_and_analyses_that_say_nothing_are_refused_in_words() {
    let found = model_analysis(&plan(), 0.8);
    let mut pairs = config(4, 2);
    (pairs.model.kind, pairs.data.source) =
        (ModelKind::EncoderDecoder, Source::NumberWords(NumberWordsSource::default()));
    let translates = ModelPlan::resolve(&pairs, 300).unwrap();
    assert!(Adviser::of_model(&translates, &found, None).unwrap_err().contains("encoder-decoder"));
    for tokens in [0, 17] {
        let found = Analysis { tokens, ..found.clone() };
        let why = Adviser::of_model(&plan(), &found, None).unwrap_err();
        assert!(why.contains("reads at most 16 tokens") && why.contains("Analyse it again"), "{why}");
    }
    let other = Adviser::of_model(&ModelPlan::resolve(&config(3, 2), 300).unwrap(), &found, None).unwrap();
    assert!(other.borrowing().unwrap_err().contains("4 layers of 2 heads, the model has 3 of 2"));
    let blind = Adviser::of_model(&plan(), &Analysis { tokens: TOKENS, ..Analysis::default() }, None).unwrap();
    let why = blind.advise(ALL).why_not().unwrap();
    for words in ["did not compare", "did not include the weights", "Analyse reconstruction first"] {
        assert!(why.contains(words), "{why}");
    }
    // Heads are made to borrow by total variation alone.
    let mut by_cosine = found;
    by_cosine.similarity[0].measure = Measure::Cosine;
    let adviser = Adviser::of_model(&plan(), &by_cosine, None).unwrap();
    assert!(adviser.borrowing().unwrap_err().contains("by total variation"));
}

proptest! {
    /// Of a model of any kind, whatever is wished for is a conversion that is not refused at its place, or left out with
    /// the reason.
    #[test]
    fn every_advised_conversion_is_one_that_can_be_had(
        similarity in proptest::option::of(0.0_f64..1.0),
        energy in proptest::option::of(0.01_f64..1.0),
        error in proptest::option::of(0.0_f64..1.0),
        planted in 0.0_f64..1.0,
        schedule in 0_usize..8,
        family in 0_usize..9,
        design in 0_usize..6,
        leaves_out in proptest::bool::weighted(0.2),
    ) {
        let mut config = config(4, 2);
        let all = Reuse::examples(4, 2);
        config.attention.reuse = all[schedule % all.len()].clone();
        let all = Compatibility::examples(2, 16);
        config.attention.compatibility = all[family % all.len()].clone();
        let mut before = ModelPlan::resolve(&config, 300).unwrap();
        match design {
            0 => before.stack.design.positions = Positions::Rotary(Rotation::of(100.0)),
            1 => before.stack.design.shares_layers = true,
            2 => before.stack.design.embedding = EmbeddingDesign { width: Some(8), ..EmbeddingDesign::default() },
            _ => {}
        }
        if leaves_out {
            before = before.with_coverage(Coverage::Partial(PartialCoverage { k: 2, ..PartialCoverage::default() }));
        }
        let adviser = of_model(&before, planted);
        let wishes = Wishes { similarity, energy, error };
        let advice = adviser.advise(wishes);
        let mut at = before.clone();
        for step in advice.steps() {
            prop_assert!(check(&at, &step.conversion).is_ok(), "{:?}", step.conversion);
            match &step.conversion {
                Conversion::Borrow(to) => at.stack.head_plan = adviser.heads(to.similarity).unwrap().plan,
                Conversion::Collaborative(to) => {
                    at.stack.compatibility = Compatibility::Collaborative(Collaborative { d_k: to.d_k });
                }
                other => prop_assert!(matches!(other, Conversion::Coverage(_)), "{other:?}"),
            }
        }
        let wished = [similarity, energy, error].iter().flatten().count();
        let missing = [advice.heads.as_ref().map(Result::is_err), advice.dimensions.as_ref().map(Result::is_err), advice.pairs.as_ref().map(Result::is_err)];
        let missing = missing.iter().filter(|is_missing| **is_missing == Some(true)).count();
        let unchanged = matches!(&advice.heads, Some(Ok(heads)) if heads.replaced == 0);
        prop_assert_eq!(advice.steps().len() + missing + usize::from(unchanged), wished);
        prop_assert_eq!(advice.why_not().is_none(), !advice.steps().is_empty());
        prop_assert!(advice.prediction.is_ok());
    }
}
