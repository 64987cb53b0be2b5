use super::TrainError;
use crate::{
    model::Model,
    objective::{Batch, ExampleSums, LearnedTask, Measurements, Objective, Sums},
};

/// What an evaluation counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Mean loss, nats per labelled token; every labelled token counts the same.
    pub loss: f64,
    /// The objective's other metrics.
    pub metrics: Measurements,
    /// Labelled tokens.
    pub tokens: u64,
    /// How often each class was predicted where each is right, where examples are classified.
    pub class_counts: Option<Vec<Vec<u64>>>,
    /// Questions, and how many of them have an answer, where questions are answered.
    pub questions: Option<[u64; 2]>,
    /// Loss and labels of the single rows, in the order of the batches.
    pub examples: ExampleSums,
}

/// Measures a model with frozen weights on batches of its objective; `None` when `should_stop` cut it short.
pub fn evaluate(
    model: &Model,
    objective: &Objective,
    batches: impl Iterator<Item = Batch>,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<Found>, TrainError> {
    let task = objective.task();
    let mut sums = Sums::default();
    for batch in batches {
        if should_stop() {
            return Ok(None);
        }
        sums.add(&task.evaluate(model, &batch)?);
    }
    let others = task.metrics_of(&sums).split_first().map_or(&[][..], |(_, others)| others);
    Ok(Some(Found {
        loss: sums.mean_loss(),
        metrics: Measurements::of(others, &sums),
        tokens: sums.labelled,
        class_counts: task.class_counts(&sums),
        questions: sums.guesses.counts(),
        examples: sums.examples,
    }))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use candle_core::{DType, Device};
    use serde_json::json;

    use super::*;
    use crate::{
        attention::ModelPlan,
        config::{RunConfig, from_toml},
        data::{Corpus, EvaluatedSet, HeldOut, Silent},
        model::ParameterSet,
    };

    /// Writes a table of texts of several lengths, with a class and a number for each.
    fn write_table(folder: &Path) {
        let row = |row: usize| format!("{}\t{}\t{}.5\n", "word ".repeat(1 + row % 5), ["yes", "no"][row % 2], row % 4);
        let rows: String = (0..90).map(row).collect();
        fs::write(folder.join("table.tsv"), format!("text\tclass\tnumber\n{rows}")).unwrap();
    }

    /// Writes questions about paragraphs, the longer of which take several windows.
    fn write_questions(folder: &Path) {
        for (name, count) in [("train.json", 12), ("dev.json", 23)] {
            let paragraph = |number: usize| {
                let before = "some words ".repeat(1 + number % 6);
                let answer = json!({ "text": "here", "answer_start": before.len() });
                let asked = json!({ "id": format!("q{number}"), "question": "where?", "answers": [answer] });
                json!({ "context": format!("{before}here and there"), "qas": [asked] })
            };
            let paragraphs: Vec<_> = (0..count).map(paragraph).collect();
            let file = json!({ "version": "1.1", "data": [{ "title": "t", "paragraphs": paragraphs }] });
            fs::write(folder.join(name), file.to_string()).unwrap();
        }
    }

    const ENCODER: &str = "kind = \"encoder\"";

    const TABLE: &str = "kind = \"table\"\npath = \"table.tsv\"\ntext = \"text\"\nvalidation_fraction = 0.4";

    /// A config for every kind of examples, and at least one for every objective.
    fn configs(folder: &Path) -> Vec<RunConfig> {
        write_table(folder);
        write_questions(folder);
        let of = |data: &str, task: &str, model: &str| {
            let bytes = if data.contains("pathfinder") { "" } else { "tokenizer = { kind = \"bytes\" }" };
            let text = format!(
                "format = 1\n[data]\n{data}\n{bytes}\n{task}\n[model]\n{model}\nlayers = 1\nheads = 2\n\
                 width = 16\nfeed_forward = 16\n"
            );
            from_toml(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
        };
        let grammar = "kind = \"grammar\"\nwords = 3000\nsequence_length = 24\nvalidation_fraction = 0.2";
        let classes = format!("{TABLE}\nlabel = \"class\"\nsequence_length = 20");
        let numbers = format!("{TABLE}\nlabel = \"number\"\nsequence_length = 20");
        let questions = "kind = \"squad\"\npath = \"train.json\"\nvalidation_path = \"dev.json\"\nsequence_length = 40";
        let images = "kind = \"pathfinder\"\nexamples = 100\nvalidation_examples = 21";
        vec![
            of(grammar, "", ENCODER),
            of(grammar, "", "kind = \"decoder\""),
            of(
                "kind = \"number_words\"\npairs = 1000\nsequence_length = 90\nvalidation_fraction = 0.2",
                "",
                "kind = \"encoder_decoder\"",
            ),
            of(&classes, "[task]\nkind = \"classification\"", ENCODER),
            of(images, "[task]\nkind = \"image_classification\"", "kind = \"encoder\"\npatch = 8"),
            of(&numbers, "[task]\nkind = \"regression\"", ENCODER),
            of(questions, "[task]\nkind = \"span\"\ndoc_stride = 12\nmax_answer = 4", ENCODER),
        ]
    }

    struct Case {
        objective: Objective,
        corpus: Corpus,
        model: Model,
        sequence: usize,
    }

    impl Case {
        /// A model that has learnt nothing.
        fn new(config: &RunConfig, folder: &Path) -> Self {
            let objective = config.objective();
            let corpus = Corpus::load(&config.data, &objective, folder, &folder.join("cache"), &Silent).unwrap();
            let plan = ModelPlan::resolve(config, corpus.tokenizer.vocabulary_size()).unwrap();
            let outputs = corpus.labels().map(crate::objective::Labels::outputs);
            let plan = outputs.map_or_else(|| plan.clone(), |outputs| plan.clone().with_outputs(outputs));
            let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
            let model = Model::frozen(&plan, &parameters).unwrap();
            Self { objective, corpus, model, sequence: config.data.sequence_length }
        }

        /// An evaluation by batches of `batch` on at most `limit` examples (0 = all).
        fn evaluate(&self, batch: usize, limit: usize) -> (EvaluatedSet, Found, ExampleSums) {
            let held_out = HeldOut::new(&self.corpus, &self.objective, batch, self.sequence).unwrap();
            let mut numbers = Vec::new();
            let batches = held_out.numbered_batches(limit).map(|(rows, batch)| {
                numbers.extend(rows.into_iter().map(|row| held_out.example_of(row)));
                batch
            });
            let found = evaluate(&self.model, &self.objective, batches, &|| false).unwrap().unwrap();
            let examples = found.examples.by_number(&numbers);
            (held_out.evaluated_set(&self.corpus, &self.objective, limit), found, examples)
        }
    }

    fn all_cases() -> (tempfile::TempDir, Vec<Case>) {
        let folder = tempfile::tempdir().unwrap();
        let cases: Vec<Case> = configs(folder.path()).iter().map(|config| Case::new(config, folder.path())).collect();
        for objective in Objective::EXAMPLES {
            let is_it = |case: &Case| std::mem::discriminant(&case.objective) == std::mem::discriminant(&objective);
            assert!(cases.iter().any(is_it), "no case of {objective:?}");
        }
        (folder, cases)
    }

    #[test]
    fn outcomes_of_examples_add_up_to_the_evaluation_for_every_objective() {
        for case in all_cases().1 {
            let objective = case.objective;
            let (set, found, examples) = case.evaluate(4, 0);
            assert_eq!((examples.loss.len(), set.examples), (set.of, set.of), "{objective:?}");
            let (loss, labels) = (examples.loss.iter().sum::<f64>(), examples.labels.iter().sum::<u32>());
            assert_eq!(u64::from(labels), found.tokens, "{objective:?}");
            let mean = loss / f64::from(labels);
            assert!((mean - found.loss).abs() < 1e-6 * found.loss, "{objective:?}: {mean} and {}", found.loss);
            // The share of right labels, where it is one of the metrics.
            let accuracy = found.metrics.iter().find(|one| one.metric.series.ends_with("accuracy"));
            assert_eq!(accuracy.is_some(), examples.correct.is_some(), "{objective:?}");
            if let (Some(accuracy), Some(correct)) = (accuracy, &examples.correct) {
                let share = f64::from(correct.iter().sum::<u32>()) / f64::from(labels);
                assert!((share - accuracy.value).abs() < 1e-12, "{objective:?}: {share} and {}", accuracy.value);
            }
        }
    }

    /// An evaluation counted training batches: batch 16 saw 256 examples and batch 2 saw 32.
    #[test]
    fn the_evaluated_examples_do_not_depend_on_the_batch() {
        for case in all_cases().1 {
            let objective = case.objective;
            for limit in [0, 1, 10] {
                let (set, found, examples) = case.evaluate(1, limit);
                assert!(limit == 0 || (1..=limit).contains(&set.examples), "{objective:?}: {set:?}");
                assert_eq!(set.examples, examples.loss.len(), "{objective:?}");
                for batch in [2, 3, 16] {
                    let (other_set, other, others) = case.evaluate(batch, limit);
                    assert_eq!((&other_set, other.tokens), (&set, found.tokens), "{objective:?}, batch {batch}");
                    assert_eq!((&others.labels, &others.correct), (&examples.labels, &examples.correct));
                    for (a, b) in examples.loss.iter().zip(&others.loss) {
                        // Padding to another length changes the order of sums.
                        assert!((a - b).abs() <= 1e-5 * a.abs().max(1.0), "{objective:?}, batch {batch}: {a} and {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_hash_tells_evaluated_sets_apart() {
        for case in all_cases().1 {
            let (objective, few) = (case.objective, case.evaluate(4, 5).0);
            let hashes = [few.hash.clone(), case.evaluate(4, 10).0.hash, case.evaluate(4, 0).0.hash];
            assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2], "{objective:?}: {hashes:?}");
            // A row with an answer stays one however much of it is read; windows of a question are others.
            if !matches!(objective, Objective::Span(_)) {
                let longer = HeldOut::new(&case.corpus, &objective, 4, case.sequence + 8).unwrap();
                let hash = longer.evaluated_set(&case.corpus, &objective, 5).hash;
                assert_eq!(hash == few.hash, case.corpus.answers().is_some(), "{objective:?}");
            }
            let mut other = case;
            if let Objective::MaskedTokens(masked) = &mut other.objective {
                masked.share *= 2.0;
                assert_ne!(other.evaluate(4, 5).0.hash, few.hash, "other tokens are hidden");
                other.objective = objective;
            }
            other.corpus.held_out_hash.push('x');
            assert_ne!(other.evaluate(4, 5).0.hash, few.hash, "{objective:?}");
        }
    }
}
