//! Micro-batches of one optimiser step: how the mean loss of each enters the loss of the step.

/// The shares of micro-batches in the loss of a step.
///
/// The loss of a step is a mean over all of its labels. A micro-batch gives the mean over its own `n[i]` labels, so that its share is
/// `n[i] / sum(n)`: a mean of means would let a label in a micro-batch of few labels count for more.
#[derive(Debug, PartialEq)]
pub(super) struct Shares {
    /// Factors of the mean losses, applied before each backward pass.
    pub each: Vec<f64>,
    /// Divisor of the sum over them.
    pub divisor: f64,
}

impl Shares {
    /// Shares by labels, or by their weights; they add up to 1. Without any label the first micro-batch stands for the step, whose
    /// loss is then 0 as that of a batch without labels.
    pub fn of(weights: &[f64]) -> Self {
        let sum: f64 = weights.iter().sum();
        let share = |(place, weight): (usize, &f64)| if sum > 0.0 { weight / sum } else { f64::from(place == 0) };
        Self { each: weights.iter().enumerate().map(share).collect(), divisor: 1.0 }
    }

    /// The mean of the means of `count` micro-batches: that of one batch by itself, and the rule of
    /// [`Numerics::FIRST`](super::Numerics::FIRST).
    pub fn equal(count: u64) -> Self {
        Self { each: vec![1.0; count as usize], divisor: count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use crate::objective::LearnedTask;
    use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

    use candle_core::{DType, Device};

    use super::*;
    use crate::{
        attention::ModelPlan,
        config::{ModelKind, Precision, RunConfig, from_toml},
        data::{Batcher, Corpus, Silent},
        objective::{Batch, Objective},
        train::{Numerics, Start, Stepper, Trainer, dtype_of},
    };

    const EFFECTIVE_BATCH: usize = 16;
    /// Three steps of a few thousand sums of single precision in another order: some hundred times 6e-8.
    const ROUNDING: f64 = 2e-5;

    /// Every objective by a config whose micro-batches have unequal numbers of labels, or rows of unequal lengths.
    fn configs(folder: &Path) -> Vec<(&'static str, RunConfig)> {
        write_tables(folder);
        let path = |name: &str| folder.join(name).display().to_string();
        let table = |task: &str| {
            format!(
                "[data]\nkind = \"table\"\npath = {:?}\ntext = [\"a\", \"b\"]\nlabel = \"{}\"\nsequence_length = 24\n\
                 tokenizer = {{ kind = \"bytes\" }}\n[task]\n{task}\n",
                path("rows.tsv"),
                if task.contains("regression") { "number" } else { "class" },
            )
        };
        let grammar =
            "[data]\nkind = \"grammar\"\nwords = 3000\nsequence_length = 24\ntokenizer = { kind = \"bytes\" }\n";
        let pairs =
            "[data]\nkind = \"number_words\"\npairs = 1000\nsequence_length = 48\ntokenizer = { kind = \"bytes\" }\n";
        let questions = format!(
            "[data]\nkind = \"squad\"\npath = {:?}\nsequence_length = 40\ntokenizer = {{ kind = \"bytes\" }}\n\
             [task]\nkind = \"span\"\ndoc_stride = 4\n",
            path("questions.json"),
        );
        let images = "[data]\nkind = \"pathfinder\"\nexamples = 120\nvalidation_examples = 10\n\
                      [task]\nkind = \"image_classification\"\n";
        let weights = "kind = \"classification\"\nclass_weights = { no = 0.2, yes = 5.0 }";
        [
            ("next token", "decoder", grammar.to_owned(), ""),
            ("masked tokens", "encoder", grammar.to_owned(), ""),
            ("translation", "encoder_decoder", pairs.to_owned(), ""),
            ("translation, smoothed labels", "encoder_decoder", pairs.to_owned(), "label_smoothing = 0.1\n"),
            ("classification", "encoder", table("kind = \"classification\""), ""),
            ("classification, weighted classes", "encoder", table(weights), ""),
            ("regression", "encoder", table("kind = \"regression\""), ""),
            ("spans", "encoder", questions, ""),
            ("images", "encoder", images.to_owned(), ""),
        ]
        .into_iter()
        .map(|(name, kind, data, train)| {
            let patch = if name == "images" { "patch = 8\n" } else { "" };
            let toml = format!(
                "format = 1\nthreads = 1\n{data}[model]\nkind = \"{kind}\"\nlayers = 2\nheads = 2\nwidth = 16\n\
                 feed_forward = 24\n{patch}dropout = 0.0\n[train]\n{train}steps = 20\nlearning_rate = 3e-3\nbatch = 2\n[probe]\n\
                 every = 0\n"
            );
            let config = from_toml(&toml);
            (name, config.unwrap_or_else(|error| panic!("{name}: {error}")))
        })
        .collect()
    }

    /// A table whose rows have lengths, classes and numbers that vary, and questions about paragraphs.
    fn write_tables(folder: &Path) {
        let words = |row: usize| vec!["w"; 1 + (row * 7) % 9].join(" ");
        let mut rows = String::from("a\tb\tclass\tnumber\n");
        let mut questions = Vec::new();
        for row in 0..150 {
            let class = if row % 5 == 0 { "yes" } else { "no" };
            writeln!(rows, "{row} {}\t{}\t{class}\t{}", words(row), words(row + 3), (row * 13) % 17).unwrap();
            let before = words(row);
            let context = format!("{before} answer{row} {}", words(row + 1));
            questions.push(serde_json::json!({ "context": context, "qas": [{
                "id": row.to_string(), "question": format!("which {row}"),
                "answers": [{ "text": format!("answer{row}"), "answer_start": before.len() + 1 }],
            }] }));
        }
        fs::write(folder.join("rows.tsv"), rows).unwrap();
        let text = serde_json::json!({ "version": "1.1", "data": [{ "title": "t", "paragraphs": questions }] });
        fs::write(folder.join("questions.json"), text.to_string()).unwrap();
    }

    fn corpus(config: &RunConfig, folder: &Path) -> Corpus {
        let corpus = Corpus::load(&config.data, &config.objective(), folder, folder, &Silent).unwrap();
        corpus.weighted(config.task.as_ref()).unwrap()
    }

    /// Losses of the first steps, and the weights after them.
    struct Trained {
        losses: Vec<f64>,
        norms: Vec<f64>,
        weights: BTreeMap<String, Vec<f64>>,
    }

    fn trained(config: &RunConfig, numerics: Numerics, [batch, accumulation]: [usize; 2], folder: &Path) -> Trained {
        let mut config = config.clone();
        (config.train.batch, config.train.accumulation) = (batch, accumulation);
        let config = config.with_image_tokens();
        let corpus = corpus(&config, folder);
        let plan = ModelPlan::resolve(&config, corpus.tokenizer.vocabulary_size()).unwrap();
        let plan = match corpus.answers() {
            Some(own) => plan.with_outputs(own.labels.outputs()),
            None => plan,
        };
        let mut trainer = Trainer::new(config, numerics, plan, corpus, &Device::Cpu, Start::Fresh).unwrap();
        let reports: Vec<_> = (0..3).map(|_| trainer.step().unwrap().unwrap()).collect();
        let numbers = |tensor: &candle_core::Tensor| {
            tensor.flatten_all().unwrap().to_dtype(DType::F64).unwrap().to_vec1::<f64>().unwrap()
        };
        let weights = trainer.parameters().iter();
        Trained {
            losses: reports.iter().map(|report| report.loss).collect(),
            norms: reports.iter().map(|report| report.grad_norm).collect(),
            weights: weights.map(|(name, variable)| (name.to_owned(), numbers(variable.as_tensor()))).collect(),
        }
    }

    /// The largest difference of the losses, of the gradient norms relative to them, and of the weights.
    fn differences(a: &Trained, b: &Trained) -> [f64; 3] {
        let largest = |pairs: &mut dyn Iterator<Item = f64>| pairs.fold(0.0_f64, f64::max);
        let losses = &mut a.losses.iter().zip(&b.losses).map(|(a, b)| (a - b).abs());
        let norms = &mut a.norms.iter().zip(&b.norms).map(|(a, b)| (a - b).abs() / a.max(1e-9));
        let weights = a.weights.iter().zip(&b.weights);
        let weights = &mut weights.flat_map(|((_, a), (_, b))| a.iter().zip(b).map(|(a, b)| (a - b).abs()));
        [largest(losses), largest(norms), largest(weights)]
    }

    #[test]
    fn accumulated_steps_learn_what_one_batch_teaches_for_every_objective() {
        let folder = tempfile::TempDir::new().unwrap();
        println!("| objective | micro-batches | loss | gradient norm | weights | loss by numerics 1 |");
        let mut moved = Vec::new();
        for (name, config) in configs(folder.path()) {
            let of = |numerics, shape| trained(&config, numerics, shape, folder.path());
            let whole = of(Numerics::CURRENT, [EFFECTIVE_BATCH, 1]);
            for batch in [2, 5, 8] {
                // 5 does not divide the batch: the last micro-batch of a step has one row.
                let accumulation = EFFECTIVE_BATCH.div_ceil(batch);
                let whole = if batch == 5 { &of(Numerics::CURRENT, [20, 1]) } else { &whole };
                let [loss, norm, weights] = differences(whole, &of(Numerics::CURRENT, [batch, accumulation]));
                let [before, ..] = differences(whole, &of(Numerics::FIRST, [batch, accumulation]));
                println!(
                    "| {name} | {accumulation} of {batch} | {loss:.1e} | {norm:.1e} | {weights:.1e} | {before:.1e} |"
                );
                assert!(loss < ROUNDING && norm < 1e-3, "{name}: {accumulation} of {batch}: {loss} {norm}");
                if before > 1e-3 {
                    moved.push(name);
                }
            }
        }
        for name in ["masked tokens", "translation", "classification, weighted classes"] {
            assert!(moved.contains(&name), "{name} does not tell a mean of means from a mean");
        }
    }

    #[test]
    fn a_step_draws_the_examples_of_one_batch_whatever_it_is_cut_into() {
        let folder = tempfile::TempDir::new().unwrap();
        for (name, config) in configs(folder.path()) {
            let config = config.with_image_tokens();
            let corpus = corpus(&config, folder.path());
            let batcher = |batch: usize, accumulation: usize| {
                let sequence = config.data.sequence_length;
                Batcher::new(&corpus, &config.objective(), batch, sequence, 3).unwrap().with_accumulation(accumulation)
            };
            let (whole, cut) = (batcher(EFFECTIVE_BATCH, 1), batcher(3, 6));
            let same = batcher(8, 2);
            assert_eq!(whole.steps_per_epoch(), same.steps_per_epoch());
            // More than an epoch.
            for step in 0..whole.steps_per_epoch() + 3 {
                let rows = |batcher: &Batcher, count: u64| -> Vec<Vec<u32>> {
                    (step * count..(step + 1) * count).flat_map(|micro| rows_of(&batcher.train_batch(micro))).collect()
                };
                assert_eq!(rows(&whole, 1), rows(&same, 2), "{name} step {step}");
                let parts = (step * 6..(step + 1) * 6).map(|micro| cut.train_batch(micro).batch).collect::<Vec<_>>();
                assert!(parts.iter().all(|rows| *rows <= 3) && parts.iter().sum::<usize>() > 0, "{name}: {parts:?}");
            }
        }
    }

    /// The tokens of each row without its padding, or which image it is.
    fn rows_of(batch: &Batch) -> Vec<Vec<u32>> {
        if let Some(pixels) = &batch.pixels {
            return pixels.images.iter().map(|image| vec![*image as u32]).collect();
        }
        let row = |row: usize| {
            let first = row * batch.sequence;
            batch.input_ids[first..first + batch.tokens_of(row)].to_vec()
        };
        (0..batch.batch).map(row).collect()
    }

    #[test]
    fn shares_follow_labels_and_one_batch_is_left_as_it_is() {
        assert_eq!(Shares::of(&[3.0, 0.0, 1.0]), Shares { each: vec![0.75, 0.0, 0.25], divisor: 1.0 });
        assert_eq!(Shares::of(&[0.0, 0.0]), Shares { each: vec![1.0, 0.0], divisor: 1.0 });
        assert_eq!(Shares::of(&[7.0]), Shares::equal(1));
    }

    /// The loss scale of half precision stays that of one batch, and a step of the old rule stays the mean of means bit for bit.
    #[test]
    fn half_precision_and_the_earlier_rule_hold() {
        let mut config = RunConfig::default();
        (config.model.kind, config.model.layers, config.model.width, config.model.heads) =
            (ModelKind::Encoder, 1, 8, 1);
        (config.model.feed_forward, config.model.dropout) = (8, 0.0);
        let plan = ModelPlan::resolve(&config, 40).unwrap();
        // Few labels in the first micro-batch, many in the second.
        let batch = |number: u64| {
            let mut stream = crate::ops::random::Stream::new(number, crate::ops::random::Purpose::Test, 0);
            let mut batch = Objective::NEXT_TOKEN.random_batch(40, [2, 12], &mut stream);
            let labelled = if number.is_multiple_of(2) { 1 } else { 24 };
            batch.labels.iter_mut().skip(labelled).for_each(|label| *label = crate::objective::IGNORED);
            batch
        };
        let step = |precision: Precision, numerics: Numerics| {
            let parameters = crate::model::ParameterSet::init(&plan, 1, dtype_of(precision), &Device::Cpu).unwrap();
            let run = RunConfig { precision, ..config.clone() };
            let stepper = Stepper::new(&plan, &parameters, &run, &Device::Cpu).unwrap();
            stepper.with_numerics(numerics).step(0, 2, 1e-3, batch).unwrap().unwrap()
        };
        let single = step(Precision::F32, Numerics::CURRENT);
        let half = step(Precision::F16, Numerics::CURRENT);
        assert!((half.loss - single.loss).abs() < 2e-3 && (half.grad_norm - single.grad_norm).abs() < 5e-3);
        let old = step(Precision::F32, Numerics::FIRST);
        assert!((old.loss - single.loss).abs() > 1e-5, "{} {}", old.loss, single.loss);
        let each = [0, 1].map(|number| {
            let parameters = crate::model::ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
            let mut stepper = Stepper::new(&plan, &parameters, &config, &Device::Cpu).unwrap();
            stepper.step(0, 1, 1e-3, |_| batch(number)).unwrap().unwrap().loss
        });
        assert_eq!(old.loss, f64::midpoint(each[0], each[1]));
    }
}
