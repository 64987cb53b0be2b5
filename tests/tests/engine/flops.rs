//! The cost model against what a training step really did: every matrix product of every part counted while it ran,
//! and every trainable number.

use std::process::Command;

use headroom_engine::{
    attention::ModelPlan,
    config::{
        Compatibility, Coverage, ImageClassificationTask, ModelKind, NormPlacement, NumberWordsSource, OtherAnswers,
        PathfinderSource, Reuse, RunConfig, Source, TaskConfig,
    },
    speed::StepSpeed,
};

/// Tokens in the vocabulary.
const VOCABULARY: usize = 37;

fn config(kind: ModelKind, sequence: usize) -> RunConfig {
    let mut config = RunConfig::default();
    (config.model.kind, config.model.layers, config.model.heads) = (kind, 4, 4);
    (config.model.width, config.model.feed_forward) = (24, 40);
    (config.data.sequence_length, config.train.batch, config.train.accumulation) = (sequence, 3, 2);
    // A whole number of tokens is predicted.
    config.train.mask_fraction = 0.5;
    config
}

/// Counts a step of a model of the config while it runs, and compares with the cost model.
fn check(config: &RunConfig) {
    let what = || format!("{:?} {:?}", config.model, config.attention);
    let mut model = StepSpeed::new(config.clone(), VOCABULARY).unwrap_or_else(|error| panic!("{error}: {}", what()));
    assert_eq!(model.parameters(), model.cost().parameters, "{}", what());
    let (_, operations) = model.profiled_step().unwrap();
    let flops: u64 = operations.iter().map(|operation| operation.flops).sum();
    assert_eq!(flops, model.cost().flops_per_step, "{}", what());
}

/// Choices that are the same in every run of the test: a linear congruential generator.
struct Choices(u64);

impl Choices {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn of<T>(&mut self, mut all: Vec<T>) -> T {
        all.swap_remove(self.below(all.len()))
    }

    /// A config that can be built: of an encoder, a decoder, both with cross-attention, or a model of images.
    fn config(&mut self) -> RunConfig {
        let (heads, layers) = (self.of(vec![2, 4, 6]), 2 + self.below(3));
        let width = heads * self.of(vec![4, 6, 8]);
        let kind = self.of(ModelKind::ALL.to_vec());
        let mut config = config(kind, 2 * (3 + self.below(6)));
        (config.model.layers, config.model.heads, config.model.width) = (layers, heads, width);
        config.model.feed_forward = 8 + self.below(60);
        config.model.norm = self.of(NormPlacement::ALL.to_vec());
        (config.train.batch, config.train.accumulation) = (1 + self.below(4), 1 + self.below(2));
        let compatibility = |choices: &mut Self| choices.of(Compatibility::examples(heads, width));
        let reuse = |choices: &mut Self, layers: usize| choices.of(Reuse::examples(layers, heads));
        config.attention.compatibility = compatibility(self);
        config.attention.reuse = reuse(self, layers);
        match kind {
            ModelKind::EncoderDecoder => {
                config.data.source = Source::NumberWords(NumberWordsSource::default());
                let encoder_layers = 2 + self.below(2);
                config.model.encoder_layers = Some(encoder_layers);
                let other = |choices: &mut Self, layers: usize| OtherAnswers {
                    compatibility: Some(compatibility(choices)),
                    reuse: Some(reuse(choices, layers)),
                };
                config.attention.encoder = Some(other(self, encoder_layers));
                config.attention.cross = Some(other(self, layers));
            }
            ModelKind::Encoder if self.below(3) == 0 => {
                config.data.source = Source::Pathfinder(PathfinderSource::default());
                config.model.patch = Some(8);
                config.task = Some(TaskConfig::ImageClassification(ImageClassificationTask::default()));
                config = config.with_image_tokens();
            }
            ModelKind::Encoder | ModelKind::Decoder => {
                config.attention.coverage = self.of(Coverage::examples(config.data.sequence_length));
            }
        }
        config
    }
}

/// The count sees all operations of a process: it gets one of its own.
#[test]
fn products_and_parameters_of_every_combination_are_those_that_the_cost_model_counts() {
    let own = ["--exact", "flops::count_every_combination", "--ignored"];
    let output = Command::new(std::env::current_exe().unwrap()).args(own).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "run by products_and_parameters_of_every_combination_are_those_that_the_cost_model_counts"]
fn count_every_combination() {
    let mut checked = 0;
    for kind in ModelKind::LANGUAGE_MODELS {
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
                    check(&config);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked >= 2 * 2 * 10 * 8, "{checked}");
    let (mut choices, mut with_cross, mut of_images) = (Choices(46), 0, 0);
    let mut left = 100;
    while left > 0 {
        let config = choices.config();
        // Some answers cannot stand together; the reasons have tests of their own.
        if ModelPlan::resolve(&config, VOCABULARY).is_err() {
            continue;
        }
        check(&config);
        left -= 1;
        with_cross += usize::from(config.model.encoder_depth().is_some());
        of_images += usize::from(config.data.source.has_images());
    }
    assert!(with_cross >= 10 && of_images >= 5, "{with_cross} with cross-attention, {of_images} of images");
}
