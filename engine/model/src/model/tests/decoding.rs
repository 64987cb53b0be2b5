//! Decoding with a cache against computing everything again: every way to score, every schedule, with and without an encoder.

use super::*;
use crate::{
    attention::{BART, CrossPlan, Decoding, HeadTable, InputPlan, Naming, OutputPlan, VocabularyHead, cache_bytes},
    config::{Cache, HiddenCache, KeyValueCache, ModelConfig, NoCache},
    model::{Begun, Room},
};

const NOTHING: Cache = Cache::None(NoCache {});
const KEPT: [Cache; 2] = [Cache::KeyValue(KeyValueCache {}), Cache::Hidden(HiddenCache {})];

/// An encoder and a decoder of three layers of four heads of three numbers, with the same answers everywhere.
fn with_encoder(norm: NormPlacement, compatibility: Compatibility, reuse: Reuse) -> ModelPlan {
    let sizes = ModelConfig { layers: 3, heads: 4, width: 12, feed_forward: 7, norm, ..ModelConfig::default() };
    let answers = AttentionConfig { reuse, compatibility, ..AttentionConfig::default() };
    let preset = crate::attention::Preset { norm, ..BART };
    let stack = |name| preset.stack(name, &sizes, &answers, POSITIONS).unwrap();
    let (encoder, mut decoder) = (stack(StackName::Encoder), stack(StackName::Decoder));
    let (head_plan, compatibility) = (decoder.head_plan.clone(), decoder.compatibility.clone());
    decoder.cross = Some(CrossPlan { head_plan, compatibility });
    ModelPlan {
        naming: Naming::Bart,
        input: InputPlan::Tokens { vocabulary: VOCABULARY, types: 0 },
        encoder: Some(Box::new(encoder)),
        stack: decoder,
        head: OutputPlan::Vocabulary(VocabularyHead {
            transforms: false,
            has_bias: true,
            table: HeadTable::Tied,
            activation: None,
        }),
        cache: Cache::default(),
    }
}

/// Every way to score with every schedule: decoders, and decoders after an encoder.
fn decoders() -> Vec<ModelPlan> {
    let mut plans: Vec<ModelPlan> = family_plans().into_iter().filter(|plan| plan.stack.is_causal).collect();
    for (number, compatibility) in Compatibility::examples(4, 12).into_iter().enumerate() {
        for reuse in Reuse::examples(3, 4) {
            plans.push(with_encoder(NormPlacement::ALL[number % 2], compatibility.clone(), reuse));
        }
    }
    plans
}

fn named(plan: &ModelPlan, cache: &Cache) -> String {
    let kind = plan.architecture();
    format!("{kind}, {:?}, {:?}, {}", plan.stack.compatibility, plan.stack.head_plan, cache.word())
}

/// Rows that change places, go on twice and are left out; sources of three lengths unless `even`. The logits of every step.
fn walk(model: &Model, cache: &Cache, even: bool) -> (Vec<Vec<f32>>, u64) {
    let sources: Vec<Vec<u32>> =
        if even { vec![vec![3, 4, 5], vec![7, 2, 9]] } else { vec![vec![3, 4, 5], vec![7], vec![9, 8, 1, 2]] };
    // Where there is room for more of both, weights are copied into panels.
    let room = Room { rows: if even { 4 } else { 8 }, tokens: if even { 4 } else { 5 } };
    let Begun { mut decoder, logits } = model.begin(cache, &sources, Some(2), room).unwrap();
    assert_eq!(decoder.rows(), sources.len());
    let mut all = vec![logits];
    let steps: [(&[usize], &[u32]); 4] = if even {
        [
            (&[0, 0, 1, 1], &[5, 6, 7, 8]),
            (&[1, 0, 3, 2], &[1, 2, 3, 4]),
            (&[0, 0, 2, 3], &[9, 9, 1, 0]),
            (&[1, 0, 2, 3], &[4; 4]),
        ]
    } else {
        [(&[0, 0, 1, 2], &[5, 6, 7, 8]), (&[1, 0, 2, 3], &[1, 2, 3, 4]), (&[1, 1, 3], &[9, 9, 1]), (&[2, 0], &[4, 3])]
    };
    for (parents, tokens) in steps {
        decoder.select(parents).unwrap();
        all.push(decoder.step(tokens).unwrap());
    }
    (all, decoder.cache_bytes())
}

/// The largest difference over the largest number.
fn difference(a: &[Vec<f32>], b: &[Vec<f32>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!(a.is_finite() && b.is_finite());
            worst = worst.max(f64::from((a - b).abs()));
            largest = largest.max(f64::from(a.abs()));
        }
    }
    worst / largest
}

/// A token that is generated with a cache has the logits that computing everything again gives it: as a single operation a
/// step, and composed of small ones.
#[test]
fn what_is_kept_changes_no_logit() {
    for plan in decoders() {
        let parameters = wide(&plan, DType::F32);
        let (steps, composed) = (frozen(&plan, &parameters), frozen(&plan, &parameters).composed());
        let (expected, _) = walk(&steps, &NOTHING, false);
        for cache in KEPT {
            let what = named(&plan, &cache);
            for (model, kind) in [(&steps, "steps"), (&composed, "composed")] {
                let difference = difference(&expected, &walk(model, &cache, false).0);
                // Sums of some tens of rounded numbers.
                assert!(difference < 1e-4, "{what}, {kind}: {difference:e}");
            }
        }
    }
}

/// In double precision the two ways differ by rounding alone, though logits are told in single precision.
#[test]
fn it_is_the_same_function_in_double_precision() {
    for plan in decoders().into_iter().step_by(3) {
        let model = frozen(&plan, &wide(&plan, DType::F64));
        let (expected, _) = walk(&model, &NOTHING, false);
        for cache in KEPT {
            let difference = difference(&expected, &walk(&model, &cache, false).0);
            assert!(difference < 1e-6, "{}: {difference:e}", named(&plan, &cache));
        }
    }
}

/// In 16 bits the order of operations shows: logits stay within some roundings, and most greedy tokens the same.
#[test]
fn half_precision_gives_nearly_the_same() {
    // One rounding of bf16 is 1 in 256, of f16 1 in 2048.
    for (dtype, tolerance) in [(DType::BF16, 0.15), (DType::F16, 0.02)] {
        let (mut same, mut all) = (0, 0);
        for plan in decoders().into_iter().step_by(5) {
            let parameters = wide(&plan, DType::F32);
            let model = Model::frozen_in(&plan, &parameters, dtype).unwrap();
            let (expected, _) = walk(&model, &NOTHING, false);
            for cache in KEPT {
                let (got, _) = walk(&model, &cache, false);
                let difference = difference(&expected, &got);
                assert!(difference < tolerance, "{} in {dtype:?}: {difference:e}", named(&plan, &cache));
                for (a, b) in expected
                    .iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .chunks(VOCABULARY)
                    .zip(got.iter().flatten().collect::<Vec<_>>().chunks(VOCABULARY))
                {
                    let best = |row: &[&f32]| (0..row.len()).max_by(|i, j| row[*i].total_cmp(row[*j]));
                    all += 1;
                    same += usize::from(best(a) == best(b));
                }
            }
        }
        assert!(same * 10 >= all * 9, "{same} of {all} tokens are the same in {dtype:?}");
    }
}

/// The cost model says what is allocated, for each way to decode.
#[test]
fn a_cache_takes_what_the_cost_model_says() {
    for plan in decoders() {
        let parameters = wide(&plan, DType::F32);
        let (steps, composed) = (frozen(&plan, &parameters), frozen(&plan, &parameters).composed());
        let half = Model::frozen_in(&plan, &parameters, DType::BF16).unwrap();
        let more = usize::from(plan.encoder.is_some());
        for cache in Cache::ALL {
            // Six tokens of source, four rows of four tokens.
            let expected = |written, bytes| {
                let decoding = Decoding { source_tokens: 6, rows: 4, beams: 2, written: written + more, bytes };
                cache_bytes(&plan, &cache, &decoding).total()
            };
            let what = named(&plan, &cache);
            assert_eq!(walk(&steps, &cache, true).1, expected(4, 4), "{what}");
            assert_eq!(walk(&composed, &cache, true).1, expected(4, 4), "{what}, composed");
            assert_eq!(walk(&half, &cache, true).1, expected(4, 2), "{what}, half");
        }
    }
}

/// What cannot be decoded is refused with its reason.
#[test]
fn what_has_no_meaning_is_refused() {
    let begin = |plan: &ModelPlan, cache: Cache, sources: &[Vec<u32>], start: Option<u32>| {
        let model = frozen(plan, &ParameterSet::init(plan, 1, DType::F32, &Device::Cpu).unwrap());
        model.begin(&cache, sources, start, Room { rows: 1, tokens: 1 }).err().map(|error| error.to_string())
    };
    let decoder = plan(ModelKind::Decoder, NormPlacement::Pre);
    let encoder = plan(ModelKind::Encoder, NormPlacement::Post);
    for cache in Cache::ALL {
        let told = |found: Option<String>, wanted: &str| {
            let found = found.unwrap_or_default();
            assert!(found.contains(wanted), "{found}");
        };
        told(begin(&encoder, cache.clone(), &[vec![1]], None), "a decoder without which text cannot be generated");
        told(begin(&decoder, cache.clone(), &[vec![]], None), "goes on from nothing");
        told(begin(&decoder, cache.clone(), &[vec![1; POSITIONS + 1]], None), "does not fit the 9 positions");
        told(begin(&decoder, cache.clone(), &[vec![VOCABULARY as u32]], None), "knows 19 tokens");
        let with_encoder = with_encoder(NormPlacement::Post, Compatibility::default(), Reuse::default());
        told(begin(&with_encoder, cache.clone(), &[vec![1]], None), "no token to begin with");
        assert_eq!(begin(&with_encoder, cache, &[vec![1]], Some(2)), None);
    }
    let partial = crate::config::PartialCoverage { k: 3, ..Default::default() };
    let partial = decoder.with_coverage(crate::config::Coverage::Partial(partial));
    let refused = begin(&partial, KEPT[0].clone(), &[vec![1]], None).unwrap();
    assert!(refused.contains("nothing can be kept between tokens"), "{refused}");
    assert_eq!(begin(&partial, NOTHING, &[vec![1]], None), None);
}
