//! What a cache keeps, counted from the plan.

use serde::{Deserialize, Serialize};

use crate::{
    attention::{HeadPlan, ModelPlan, StackPlan},
    config::{Cache, Compatibility},
    ops::Source,
};

/// What is generated at the same time, as far as its cache depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decoding {
    /// Tokens of all sources together: prompts, or what an encoder reads.
    pub source_tokens: usize,
    /// Rows that are written: sources times beams.
    pub rows: usize,
    /// Beams of a source, that is rows that attend to the same.
    pub beams: usize,
    /// Tokens that there is room for in each row.
    pub written: usize,
    /// Bytes of a number.
    pub bytes: usize,
}

/// Bytes of a cache. Numbers too large for 64 bits stay at the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheBytes {
    /// Of the sources, each once.
    pub source: u64,
    /// The same with a copy for each beam, as published comparisons count a cache that is repeated and put in order with
    /// the beams. Hidden states are never repeated.
    pub source_repeated: u64,
    /// Of the tokens that are written.
    pub written: u64,
}

impl CacheBytes {
    /// What is kept in all.
    pub fn total(&self) -> u64 {
        self.source.saturating_add(self.written)
    }
}

/// What `cache` keeps while a model of this plan generates. Numbers of a position follow from the scoring forms of the layers.
///
/// - `key_value`: of every position the columns of [`ScoringForm::memory`](crate::ops::ScoringForm::memory), layer by layer;
/// - `hidden`: of a source the stream, d numbers of a position: one copy for the cross-attention of all layers, one for each layer
///   that attends to a prompt; of written tokens the same as `key_value`;
/// - `none`: nothing but the last states of an encoder, without which there would be no source.
pub fn cache_bytes(plan: &ModelPlan, cache: &Cache, decoding: &Decoding) -> CacheBytes {
    let stack = &plan.stack;
    let own = numbers(stack, &stack.head_plan, &stack.compatibility);
    let cross = stack.cross.as_ref().map(|cross| numbers(stack, &cross.head_plan, &cross.compatibility));
    let bytes = |numbers: usize, positions: usize| {
        (numbers as u64).saturating_mul(positions as u64).saturating_mul(decoding.bytes as u64)
    };
    let width = stack.width;
    let attending = own.iter().filter(|numbers| **numbers > 0).count();
    let of_source = match (cache, &cross) {
        (Cache::None(_), None) => 0,
        (Cache::None(_) | Cache::Hidden(_), Some(_)) => width,
        (Cache::KeyValue(_), None) => own.iter().sum(),
        (Cache::KeyValue(_), Some(cross)) => cross.iter().sum(),
        (Cache::Hidden(_), None) => attending * width,
    };
    let source = bytes(of_source, decoding.source_tokens);
    CacheBytes {
        source,
        source_repeated: match cache {
            Cache::KeyValue(_) => source.saturating_mul(decoding.beams as u64),
            Cache::None(_) | Cache::Hidden(_) => source,
        },
        written: match cache {
            Cache::None(_) => 0,
            Cache::KeyValue(_) | Cache::Hidden(_) => {
                bytes(own.iter().sum(), decoding.rows.saturating_mul(decoding.written))
            }
        },
    }
}

/// What is kept of a position, layer by layer; 0 where no head attends.
fn numbers(stack: &StackPlan, head_plan: &HeadPlan, compatibility: &Compatibility) -> Vec<usize> {
    let of_layer = |layer: usize| {
        let heads = stack.heads_alone(head_plan, layer);
        if heads.attending() == 0 {
            return 0;
        }
        stack.form(compatibility, &heads, stack.joins_projections).numbers_per_token()
    };
    (0..stack.layers).map(of_layer).collect()
}

/// The share of the numbers that an attention projects of a position, over all layers of a stack, from which keys and values are
/// made; the rest is for queries. 0 where nothing is projected.
pub fn projected_share_kept(stack: &StackPlan, head_plan: &HeadPlan, compatibility: &Compatibility) -> f64 {
    let (mut kept, mut projected) = (0, 0);
    for layer in 0..stack.layers {
        let heads = stack.heads_alone(head_plan, layer);
        if heads.attending() > 0 {
            let form = stack.form(compatibility, &heads, stack.joins_projections);
            let maps = form.parts().into_iter().filter(|part| matches!(part.of, Source::Map(_)));
            projected += maps.map(|part| part.count).sum::<usize>();
            kept += form.numbers_per_token();
        }
    }
    if projected == 0 { 0.0 } else { (kept as f64 / projected as f64).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attention::{
            BART, CrossPlan, GPT2, HeadTable, InputPlan, Naming, OutputPlan, Preset, StackName, VocabularyHead,
        },
        config::{AttentionConfig, HiddenCache, KeyValueCache, ModelConfig, NoCache},
    };

    fn golden() -> serde_json::Value {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/params_flops.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn stack(preset: &Preset, name: StackName, layers: usize, width: usize) -> StackPlan {
        let model = ModelConfig { layers, heads: 16, width, feed_forward: 4 * width, ..ModelConfig::default() };
        preset.stack(name, &model, &AttentionConfig::default(), 1024).unwrap()
    }

    fn plan(encoder: Option<StackPlan>, stack: StackPlan) -> ModelPlan {
        ModelPlan {
            naming: Naming::Bart,
            input: InputPlan::Tokens { vocabulary: 100, types: 0 },
            encoder: encoder.map(Box::new),
            stack,
            head: OutputPlan::Vocabulary(VocabularyHead {
                transforms: false,
                has_bias: true,
                table: HeadTable::Tied,
                activation: None,
            }),
            cache: Cache::default(),
        }
    }

    /// Table 4 of the EL-attention paper: BART-large with 12 decoder layers and 4 beams in half precision.
    #[test]
    fn cross_attention_keeps_96_times_less_as_published() {
        let golden = golden();
        let rows = golden["el_cache"].as_array().unwrap();
        assert_eq!(rows.len(), 6);
        for row in rows {
            let size = |name: &str| row[name].as_u64().unwrap() as usize;
            let (layers, d) = (size("layers"), size("d"));
            let mut decoder = stack(&BART, StackName::Decoder, layers, d);
            let (head_plan, compatibility) = (decoder.head_plan.clone(), decoder.compatibility.clone());
            decoder.cross = Some(CrossPlan { head_plan, compatibility });
            let plan = plan(Some(stack(&BART, StackName::Encoder, layers, d)), decoder);
            let decoding = Decoding {
                source_tokens: size("batch") * size("n"),
                rows: size("batch") * size("beams"),
                beams: size("beams"),
                written: 0,
                bytes: size("bytes_per"),
            };
            let kept = |cache: Cache| cache_bytes(&plan, &cache, &decoding);
            let (usual, hidden) = (kept(Cache::KeyValue(KeyValueCache {})), kept(Cache::Hidden(HiddenCache {})));
            assert_eq!(Some(usual.source_repeated), row["mha_bytes"].as_u64());
            assert_eq!(Some(hidden.source), row["el_bytes"].as_u64());
            assert_eq!(usual.source_repeated, 96 * hidden.source);
            // Beams that share one copy leave a factor of 2 L.
            assert_eq!(usual.source, 24 * hidden.source);
            assert_eq!(kept(Cache::None(NoCache {})).total(), hidden.source);
        }
    }

    /// Section 3.2 of the paper: the prompt of a decoder, and what it writes.
    #[test]
    fn a_prompt_keeps_half_as_much() {
        for row in golden()["el_decoder_only_cache_elements"].as_array().unwrap() {
            let size = |name: &str| row[name].as_u64().unwrap() as usize;
            let (batch, beams) = (size("batch"), size("beams"));
            let plan = plan(None, stack(&GPT2, StackName::Decoder, size("layers"), size("d")));
            let decoding = Decoding {
                source_tokens: batch * size("n_prefix"),
                rows: batch * beams,
                beams,
                written: size("n_gen"),
                bytes: 1,
            };
            let usual = cache_bytes(&plan, &Cache::KeyValue(KeyValueCache {}), &decoding);
            assert_eq!(Some(usual.source_repeated + usual.written), row["mha"].as_u64());
            let hidden = cache_bytes(&plan, &Cache::Hidden(HiddenCache {}), &decoding);
            assert_eq!(Some(hidden.total()), row["el"].as_u64());
            assert_eq!(cache_bytes(&plan, &Cache::None(NoCache {}), &decoding).total(), 0);
        }
    }
}
