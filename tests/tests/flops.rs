//! The cost model against what a training step really did: every matrix product of every part counted while it ran,
//! and every trainable number. One test, alone in its process: the count sees all operations of the process.

use headroom_engine::{
    config::{Architecture, Compatibility, Coverage, Reuse, RunConfig},
    speed::StepSpeed,
};

/// Tokens in the vocabulary.
const VOCABULARY: usize = 37;

fn config(kind: Architecture, sequence: usize) -> RunConfig {
    let mut config = RunConfig::default();
    (config.model.kind, config.model.layers, config.model.heads) = (kind, 4, 4);
    (config.model.width, config.model.feed_forward) = (24, 40);
    (config.data.sequence_length, config.train.batch, config.train.accumulation) = (sequence, 3, 2);
    // A whole number of tokens is predicted.
    config.train.mask_fraction = 0.5;
    config
}

#[test]
fn products_and_parameters_of_every_combination_are_those_that_the_cost_model_counts() {
    let mut checked = 0;
    for kind in Architecture::LANGUAGE_MODELS {
        for compatibility in Compatibility::examples(4, 24) {
            for (number, reuse) in Reuse::examples(4, 4).into_iter().enumerate() {
                let mut config = config(kind, 10);
                config.attention.compatibility = compatibility.clone();
                config.attention.reuse = reuse;
                // Every pair in one pass, some in another.
                let coverages = Coverage::examples(10);
                let some = coverages.get(1 + number % (coverages.len() - 1)).cloned();
                for coverage in [Coverage::default()].into_iter().chain(some) {
                    config.attention.coverage = coverage;
                    let mut model = StepSpeed::new(config.clone(), VOCABULARY).unwrap();
                    let what = format!("{:?} {kind:?}", config.attention);
                    assert_eq!(model.parameters(), model.cost().parameters, "{what}");
                    let (_, operations) = model.profiled_step().unwrap();
                    let flops: u64 = operations.iter().map(|operation| operation.flops).sum();
                    assert_eq!(flops, model.cost().flops_per_step, "{what}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked >= 2 * 2 * 10 * 8, "{checked}");
}
