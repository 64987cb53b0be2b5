//! Designs other than BERT's and GPT-2's: gradients, costs, what a position sees, and what an analysis sees.

use super::*;
use crate::{
    attention::{
        BART, BERT, Cost, CrossPlan, EmbeddingDesign, GPT2, HeadTable, InputPlan, LinearBiases, NormKind, OutputPlan,
        Positions, Preset, StackDesign, VocabularyHead, Workload, supported_design,
    },
    config::{Cache, Coverage, Grouped, ModelConfig, PartialCoverage, Precision},
    ops::{Activation, Gelu, Orientation, Rotation},
};

/// Four heads of six numbers in a stream of ten.
const WIDTH: usize = 10;
const HEAD_SIZE: usize = 6;

fn stack(preset: &Preset, name: StackName, compatibility: Compatibility, reuse: Reuse) -> StackPlan {
    let sizes = ModelConfig { layers: 3, heads: 4, width: 4 * HEAD_SIZE, feed_forward: 7, ..ModelConfig::default() };
    let answers = AttentionConfig { reuse, compatibility, ..AttentionConfig::default() };
    let stack = preset.stack(name, &sizes, &answers, POSITIONS).unwrap();
    StackPlan { width: WIDTH, ..stack }
}

fn model(preset: &Preset, encoder: Option<StackPlan>, stack: StackPlan) -> ModelPlan {
    ModelPlan {
        naming: preset.naming,
        input: InputPlan::Tokens { vocabulary: VOCABULARY, types: preset.token_types },
        encoder: encoder.map(Box::new),
        stack,
        head: OutputPlan::Vocabulary(preset.vocabulary_head),
        cache: Cache::default(),
    }
}

/// An encoder and a decoder of the same preset.
fn with_encoder(preset: &Preset) -> ModelPlan {
    let plain = || (Compatibility::default(), Reuse::default());
    let of =
        |name: StackName, (compatibility, reuse): (Compatibility, Reuse)| stack(preset, name, compatibility, reuse);
    let mut decoder = of(StackName::Decoder, plain());
    let (head_plan, compatibility) = (decoder.head_plan.clone(), decoder.compatibility.clone());
    decoder.cross = Some(CrossPlan { head_plan, compatibility });
    model(preset, Some(of(StackName::Encoder, plain())), decoder)
}

fn llama(biases: LinearBiases, table: HeadTable, compatibility: Compatibility, reuse: Reuse) -> ModelPlan {
    let design = StackDesign {
        positions: Positions::Rotary(Rotation::of(50.0)),
        norm: NormKind::Rms,
        is_gated: true,
        biases,
        ..StackDesign::default()
    };
    let preset = Preset {
        design,
        activation: Activation::Silu,
        matrices: Orientation::OutputsFirst,
        joins_projections: false,
        vocabulary_head: VocabularyHead { transforms: false, has_bias: false, table, activation: None },
        ..GPT2
    };
    model(&preset, None, stack(&preset, StackName::Decoder, compatibility, reuse))
}

fn t5(activation: Activation, is_gated: bool, table: HeadTable) -> ModelPlan {
    let design = StackDesign {
        positions: Positions::Relative { buckets: 8, farthest: 9 },
        norm: NormKind::Rms,
        is_gated,
        biases: LinearBiases::None,
        scales_scores: false,
        ..StackDesign::default()
    };
    let vocabulary_head = VocabularyHead { transforms: false, has_bias: false, table, activation: None };
    with_encoder(&Preset { design, activation, norm: NormPlacement::Pre, vocabulary_head, ..BART })
}

fn albert() -> ModelPlan {
    let embedding = EmbeddingDesign { width: Some(5), ..EmbeddingDesign::default() };
    let design = StackDesign { embedding, shares_layers: true, ..StackDesign::default() };
    let preset = Preset { design, activation: Activation::Gelu(Gelu::Tanh), ..BERT };
    model(&preset, None, stack(&preset, StackName::Encoder, Compatibility::default(), Reuse::default()))
}

fn marian() -> ModelPlan {
    let embedding = EmbeddingDesign { width: None, is_scaled: true, lacks_norm: true };
    let design = StackDesign { positions: Positions::Sinusoidal, embedding, ..StackDesign::default() };
    with_encoder(&Preset { design, activation: Activation::Silu, first_position: 0, ..BART })
}

fn designs() -> Vec<ModelPlan> {
    let grouped = || Compatibility::Grouped(Grouped { kv_heads: 2 });
    vec![
        llama(LinearBiases::None, HeadTable::Own, grouped(), Reuse::default()),
        llama(LinearBiases::Projections, HeadTable::Tied, Compatibility::default(), Reuse::default()),
        llama(LinearBiases::All, HeadTable::Tied, grouped(), Reuse::examples(3, 4).pop().unwrap()),
        t5(Activation::Relu, false, HeadTable::TiedScaled),
        t5(Activation::Gelu(Gelu::Tanh), true, HeadTable::Own),
        albert(),
        marian(),
    ]
}

fn given(plan: &ModelPlan, [b, t]: [usize; 2]) -> ModelInput {
    let of_model = input(&tokens(b, t), b, t);
    if plan.encoder.is_none() { of_model } else { of_model.with_encoder(input(&tokens(b, 4), b, 4)) }
}

/// The part of a loss's gradient that is zero whatever the weights: a key bias under the softmax, where keys are not turned.
fn is_ignored(plan: &ModelPlan, name: &str) -> bool {
    name.ends_with(".key.bias") && !matches!(plan.stack.design.positions, Positions::Rotary(_))
}

#[test]
fn every_variable_has_a_gradient_that_agrees_with_differences() {
    let (b, t) = (2, 5);
    for mut plan in designs() {
        for stack in plan.encoder.as_deref_mut().into_iter().chain([&mut plan.stack]) {
            // A generous epsilon, so that differences are taken where the function is smooth.
            (stack.norm_epsilon, stack.dropout) = (1e-3, 0.2);
        }
        let parameters = wide(&plan, DType::F64);
        let (input, labels) = (given(&plan, [b, t]), labels(b, t));
        let options = ForwardOptions { dropout: Some((3, 4)), ..ForwardOptions::default() };
        let model = Model::trainable(&plan, &parameters).unwrap();
        model.backward(&model.loss(&input, &labels, &options).unwrap()).unwrap();
        let store = model.gradients().unwrap();
        let frozen = frozen(&plan, &parameters);
        let loss = || frozen.loss(&input, &labels, &options).unwrap().loss.to_scalar::<f64>().unwrap();
        for (name, variable) in parameters.iter() {
            let gradient = numbers(&store.get(name).unwrap_or_else(|| panic!("no gradient for {name} of {plan:?}")));
            let largest = gradient.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
            assert!(
                largest > 1e-12 || is_ignored(&plan, name),
                "the gradient is zero for {name} of {:?}",
                plan.stack.design
            );
            let values = numbers(variable);
            for i in (0..values.len()).rev().step_by(values.len().div_ceil(6)) {
                let moved = |by: f64| {
                    let mut values = values.clone();
                    values[i] += by;
                    variable.set(&Tensor::from_vec(values, variable.shape(), &Device::Cpu).unwrap()).unwrap();
                    loss()
                };
                let step = 1e-5;
                let difference = (moved(step) - moved(-step)) / (2.0 * step);
                moved(0.0);
                // As in `gradients.rs`.
                assert!(
                    (difference - gradient[i]).abs() < 1e-8 + 1e-6 * difference.abs(),
                    "{name}[{i}] of {:?}: {} by backward, {difference} by difference",
                    plan.stack.design,
                    gradient[i],
                );
            }
        }
    }
}

#[test]
fn costs_count_the_parameters_that_there_are() {
    for plan in designs() {
        let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
        let cost = Cost::of(&plan, &Workload::inference(1, 5, Precision::F32));
        assert_eq!(cost.parameters, parameters.count(), "{:?}", plan.stack.design);
    }
}

#[test]
fn a_position_of_a_decoder_sees_nothing_after_itself() {
    let t = 6;
    for plan in designs().into_iter().filter(|plan| plan.stack.is_causal) {
        let model = frozen(&plan, &wide(&plan, DType::F64));
        let logits = |ids: &[u32]| {
            let InputData::Tokens { types, .. } = given(&plan, [1, t]).data else { panic!("no text") };
            assert!(types.is_none());
            let mut read = given(&plan, [1, t]);
            read.data = InputData::Tokens { ids: Tensor::from_slice(ids, (1, t), &Device::Cpu).unwrap(), types };
            model.forward(&read, &ForwardOptions::default()).unwrap().logits
        };
        let ids = tokens(1, t);
        let before = logits(&ids);
        for place in 1..t {
            let mut others = ids.clone();
            others[place] = (others[place] + 1) % VOCABULARY as u32;
            let after = logits(&others);
            let first = |logits: &Tensor| logits.narrow(1, 0, place).unwrap();
            assert!(largest_difference(&first(&before), &first(&after)) == 0.0, "{:?}", plan.stack.design);
            let own = |logits: &Tensor| logits.narrow(1, place, 1).unwrap();
            assert!(largest_difference(&own(&before), &own(&after)) > 1e-6);
        }
    }
}

/// Scores and maps that an analysis makes of hidden states are those of the forward pass.
#[test]
fn an_analysis_sees_the_maps_of_the_forward_pass() {
    for plan in designs().into_iter().filter(|plan| plan.encoder.is_none()) {
        let model = frozen(&plan, &wide(&plan, DType::F64));
        let options = ForwardOptions { keep_maps: true, keep_hidden: true, ..ForwardOptions::default() };
        let found = model.forward(&given(&plan, [2, 6]), &options).unwrap();
        assert_eq!(found.hidden.len(), 4);
        let mut compared = 0;
        for (layer, hidden) in found.hidden.iter().take(3).enumerate() {
            let Some(own) = model.own_maps(layer, hidden).unwrap() else { continue };
            if own.dim(1).unwrap() == plan.stack.heads {
                assert!(largest_difference(&own, &found.maps[layer]) < 1e-12, "{:?}", plan.stack.design);
                compared += 1;
            }
        }
        assert!(compared > 0);
    }
}

#[test]
fn what_a_design_cannot_be_combined_with_is_refused() {
    let refused = |stack: &StackPlan, field: &str| {
        let problems = supported_design(stack);
        assert!(problems.iter().any(|problem| problem.field == field), "{problems:?}");
    };
    for plan in designs() {
        for stack in plan.stacks() {
            assert_eq!(supported_design(stack), vec![]);
        }
    }
    let coverage = Coverage::Partial(PartialCoverage { k: 2, ..PartialCoverage::default() });
    let t5 = t5(Activation::Relu, false, HeadTable::Tied);
    refused(&StackPlan { coverage: coverage.clone(), ..t5.stack.clone() }, "attention.coverage.kind");
    refused(&StackPlan { coverage, ..albert().stack }, "attention.reuse.kind");
    let mut llama = llama(LinearBiases::None, HeadTable::Own, Compatibility::default(), Reuse::default()).stack;
    refused(&StackPlan { head_size: 5, ..llama.clone() }, "model.heads");
    for compatibility in Compatibility::examples(4, 24) {
        let turns =
            matches!(compatibility, Compatibility::Standard(_) | Compatibility::Grouped(_) | Compatibility::TiedKv(_));
        llama.compatibility = compatibility;
        assert_eq!(supported_design(&llama).is_empty(), turns, "{:?}", llama.compatibility);
    }
}

/// Keys and values that are kept change no logit; hidden states cannot stand for keys where scores depend on positions.
#[test]
fn what_is_kept_between_tokens_changes_nothing() {
    use crate::{
        config::{HiddenCache, KeyValueCache, NoCache},
        model::Room,
    };
    let room = Room { rows: 2, tokens: 4 };
    for plan in designs().into_iter().filter(|plan| plan.stack.is_causal) {
        let model = frozen(&plan, &wide(&plan, DType::F32));
        let sources = [tokens(1, 3), tokens(1, 5)];
        let start = plan.encoder.is_some().then_some(1);
        let mut begun = [Cache::None(NoCache {}), Cache::KeyValue(KeyValueCache {})]
            .map(|cache| model.begin(&cache, &sources, start, room).unwrap_or_else(|error| panic!("{error}")));
        let same = |[a, b]: [&[f32]; 2]| {
            let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(far < 1e-4 && a.len() == b.len(), "{far} of {:?}", plan.stack.design);
        };
        same([&begun[0].logits, &begun[1].logits]);
        for step in 0..3 {
            let [a, b] = begun.each_mut().map(|begun| begun.decoder.step(&[step, 7]).unwrap());
            same([&a, &b]);
            if step == 1 {
                for begun in &mut begun {
                    begun.decoder.select(&[1, 0]).unwrap();
                }
            }
        }
        let hidden = model.begin(&Cache::Hidden(HiddenCache {}), &sources, start, room);
        if plan.stack.design.positions == Positions::Sinusoidal {
            same([&begun[0].logits, &hidden.unwrap_or_else(|error| panic!("{error}")).logits]);
        } else {
            let why = hidden.err().unwrap().to_string();
            assert!(why.contains("hidden states cannot stand for keys"), "{why}");
        }
    }
}
