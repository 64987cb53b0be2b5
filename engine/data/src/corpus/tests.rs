mod pinned;

use std::path::Path;

use tempfile::TempDir;

use super::Corpus;
use crate::config::{
    ByteTokenizer, DataConfig, FileSource, FileTokenizer, GrammarSource, RandomSource, Source, SquadSource,
    TableSource, Tokenizer, TrainedTokenizer,
};
use crate::objective::Objective;
use crate::{DataError, HeldOut, Progress, Silent, Stage};

const MASKED_TOKENS: Objective = Objective::MASKED_TOKENS;
const NEXT_TOKEN: Objective = Objective::NEXT_TOKEN;

fn grammar(words: usize) -> DataConfig {
    DataConfig {
        source: Source::Grammar(GrammarSource { words, text_seed: 1 }),
        sequence_length: 32,
        validation_fraction: 0.1,
        tokenizer: Tokenizer::Bpe(TrainedTokenizer { vocabulary: 500 }),
        shuffled: false,
    }
}

fn load(config: &DataConfig, objective: Objective, folder: &Path) -> Result<Corpus, DataError> {
    Corpus::load(config, &objective, folder, &folder.join("cache"), &Silent)
}

#[test]
fn documents_end_with_a_separator_and_decode_to_the_text() {
    let folder = TempDir::new().unwrap();
    let corpus = load(&grammar(10_000), NEXT_TOKEN, folder.path()).unwrap();
    let end = corpus.tokenizer.specials().end_of_text.unwrap();
    let tokens = corpus.dataset.tokens().unwrap();
    assert_eq!(tokens.train.ends.len(), corpus.statistics.train.documents);
    assert_eq!(tokens.train.ids.iter().filter(|id| **id == end).count(), tokens.train.ends.len());
    assert!(tokens.train.ends.iter().all(|at| tokens.train.ids[at - 1] == end));
    let text = corpus.tokenizer.decode(&tokens.train.ids[..tokens.train.ends[0]]).unwrap();
    assert!(text.ends_with(['.', '?']), "{text}");
    assert_eq!(corpus.statistics.train.tokens, tokens.train.ids.len());
}

#[test]
fn the_hash_names_the_text_and_the_tokenizer() {
    let folder = TempDir::new().unwrap();
    let hash = |config: &DataConfig, objective| load(config, objective, folder.path()).unwrap().data_hash;
    let config = grammar(10_000);
    let first = hash(&config, NEXT_TOKEN);
    assert_eq!(first.len(), 64);
    assert_eq!(first, hash(&config, NEXT_TOKEN));
    assert_eq!(first, hash(&DataConfig { sequence_length: 16, ..config.clone() }, NEXT_TOKEN));
    let mut others = vec![first];
    for other in [
        grammar(11_000),
        DataConfig { validation_fraction: 0.2, ..config.clone() },
        DataConfig { tokenizer: Tokenizer::Bytes(ByteTokenizer {}), ..config.clone() },
        DataConfig { source: Source::Random(RandomSource { words: 10_000, text_seed: 1 }), ..config.clone() },
    ] {
        others.push(hash(&other, NEXT_TOKEN));
    }
    others.push(hash(&config, MASKED_TOKENS));
    let different: std::collections::HashSet<&String> = others.iter().collect();
    assert_eq!(different.len(), others.len());
}

#[test]
fn the_held_out_hash_names_what_a_loss_is_measured_on() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one two three\n\n".repeat(50)).unwrap();
    std::fs::write(folder.path().join("b.txt"), "three two one\n\n".repeat(50)).unwrap();
    let hash = |train: &str, validation: &str, tokenizer: &Tokenizer| {
        let file = FileSource { path: train.into(), validation_path: Some(validation.into()), ..FileSource::default() };
        let tokenizer = tokenizer.clone();
        let config = DataConfig { source: Source::File(file), tokenizer, sequence_length: 8, ..DataConfig::default() };
        load(&config, NEXT_TOKEN, folder.path()).unwrap().held_out_hash
    };
    let bytes = Tokenizer::Bytes(ByteTokenizer {});
    let first = hash("a.txt", "b.txt", &bytes);
    assert_eq!(first, hash("b.txt", "b.txt", &bytes), "the training text does not matter");
    assert_ne!(first, hash("a.txt", "a.txt", &bytes));
    let json = load(&grammar(10_000), NEXT_TOKEN, folder.path()).unwrap().tokenizer.to_json().to_owned();
    std::fs::write(folder.path().join("tokenizer.json"), json).unwrap();
    let given = Tokenizer::File(FileTokenizer { path: "tokenizer.json".into() });
    assert_ne!(first, hash("a.txt", "b.txt", &given), "another tokenizer");
}

/// A loss per example is the same whatever the tokens, a loss per token is not.
#[test]
fn held_out_rows_with_their_labels_have_one_hash_whatever_the_tokenizer() {
    let folder = TempDir::new().unwrap();
    let table = |label: fn(usize) -> bool| {
        let rows = (0..80).map(|row| format!("{row} the cat, it's heavy-handed\t{}\n", label(row)));
        std::iter::once("text\tlabel\n".to_owned()).chain(rows).collect::<String>()
    };
    let even = |row: usize| row.is_multiple_of(2);
    for (name, rows) in [("a.tsv", table(even)), ("b.tsv", table(|row| row < 40))] {
        std::fs::write(folder.path().join(name), rows).unwrap();
    }
    let asked = serde_json::json!({ "id": "1", "question": "Who?", "is_impossible": false,
        "answers": [{ "text": "Ann", "answer_start": 8 }] });
    let squad = |before: &str| {
        let context = format!("{before}Ann naps{}.", " in the old garden".repeat(9));
        let paragraph = serde_json::json!({ "context": context, "qas": [asked] });
        serde_json::json!({ "version": "v2.0", "data": [{ "title": "t", "paragraphs": [paragraph] }] }).to_string()
    };
    std::fs::write(folder.path().join("a.json"), squad("Here is ")).unwrap();
    std::fs::write(folder.path().join("b.json"), squad("There's ")).unwrap();
    let hashes = |held_out: &str, tokenizer: Tokenizer, is_shuffled: bool| {
        let validation_path = Some(held_out.into());
        let (source, objective) = if held_out.contains("tsv") {
            let table = TableSource { path: "a.tsv".into(), validation_path, ..TableSource::default() };
            (Source::Table(table), Objective::CLASSIFICATION)
        } else {
            let path = "a.json".into();
            (Source::Squad(SquadSource { path, validation_path, ..SquadSource::default() }), Objective::SPAN)
        };
        let config =
            DataConfig { source, tokenizer, sequence_length: 64, shuffled: is_shuffled, ..DataConfig::default() };
        let corpus = load(&config, objective, folder.path()).unwrap();
        (corpus.data_hash, corpus.held_out_hash)
    };
    let bytes = || Tokenizer::Bytes(ByteTokenizer {});
    let trained = || Tokenizer::Bpe(TrainedTokenizer { vocabulary: 265 });
    for [held_out, other] in [["a.tsv", "b.tsv"], ["a.json", "b.json"]] {
        let (one, same) = (hashes(held_out, bytes(), false), hashes(held_out, trained(), false));
        // The answer to a question is found among tokens.
        assert_eq!(one.1 == same.1, held_out == "a.tsv", "{held_out}");
        assert_ne!(one.0, same.0, "what is learnt from are other tokens: {held_out}");
        assert_ne!(one.1, hashes(other, bytes(), false).1, "other labels or texts: {other}");
    }
    assert_ne!(hashes("a.tsv", bytes(), true).1, hashes("a.tsv", trained(), true).1, "tokens are what is shuffled");
}

#[test]
fn trained_tokenizers_are_cached_and_a_corrupt_entry_is_trained_again() {
    let folder = TempDir::new().unwrap();
    let config = grammar(5000);
    let entries = || -> Vec<std::path::PathBuf> {
        std::fs::read_dir(folder.path().join("cache")).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let first = load(&config, NEXT_TOKEN, folder.path()).unwrap();
    let [entry] = &entries()[..] else { panic!("{:?}", entries()) };
    let good = std::fs::read_to_string(entry).unwrap();
    assert_eq!(load(&config, NEXT_TOKEN, folder.path()).unwrap().tokenizer.to_json(), first.tokenizer.to_json());
    for bad in [&good[..good.len() / 2], "", &good.replacen("the", "eht", 1)] {
        std::fs::write(entry, bad).unwrap();
        assert_eq!(load(&config, NEXT_TOKEN, folder.path()).unwrap().data_hash, first.data_hash);
        assert_eq!(std::fs::read_to_string(entry).unwrap(), good);
    }
    // Another text, size or kind is another entry.
    load(&grammar(6000), NEXT_TOKEN, folder.path()).unwrap();
    load(&config, MASKED_TOKENS, folder.path()).unwrap();
    assert_eq!(entries().len(), 3);
}

#[test]
fn a_cache_that_cannot_be_written_is_a_warning() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("cache"), "a file, not a folder").unwrap();
    let corpus = load(&grammar(50_000), NEXT_TOKEN, folder.path()).unwrap();
    assert!(corpus.warnings[0].contains("could not be kept"), "{:?}", corpus.warnings);
}

fn files(folder: &Path, validation: Option<&str>) -> DataConfig {
    DataConfig {
        source: Source::File(FileSource {
            path: "train.txt".into(),
            validation_path: validation.map(Into::into),
            field: None,
            column: None,
        }),
        tokenizer: Tokenizer::Bytes(ByteTokenizer {}),
        ..grammar(folder.as_os_str().len())
    }
}

#[test]
fn files_are_found_from_the_config_and_overlap_is_noticed() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("train.txt", &"A line of some length.\n\nAnother one.\n\n".repeat(100));
    write("valid.txt", &"Something else entirely, and long enough.\n\n".repeat(100));
    write("overlap.txt", "Another one.\n\nSomething that is new and long enough.\n");
    let corpus = load(&files(folder.path(), Some("valid.txt")), NEXT_TOKEN, folder.path()).unwrap();
    assert_eq!((corpus.statistics.files, corpus.warnings.len()), (2, 0));
    assert_eq!(corpus.statistics.validation.documents, 100);
    let corpus = load(&files(folder.path(), Some("overlap.txt")), NEXT_TOKEN, folder.path()).unwrap();
    assert!(
        corpus.warnings.iter().any(|warning| warning.contains("1 of 2 validation documents")),
        "{:?}",
        corpus.warnings
    );
    assert!(corpus.warnings.iter().any(|warning| warning.contains("noisy")), "{:?}", corpus.warnings);
}

#[test]
fn text_that_is_too_short_is_refused_with_the_numbers() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("train.txt"), "Too short.").unwrap();
    let error = load(&files(folder.path(), None), NEXT_TOKEN, folder.path()).unwrap_err().to_string();
    assert!(error.contains("too short") && error.contains("needs 33"), "{error}");
}

#[test]
fn other_text_can_be_evaluated_with_the_same_tokenizer() {
    let folder = TempDir::new().unwrap();
    let corpus = load(&grammar(10_000), MASKED_TOKENS, folder.path()).unwrap();
    let source = Source::Random(RandomSource { words: 2000, text_seed: 7 });
    let other = Corpus::load_held_out(
        &source,
        corpus.tokenizer,
        &MASKED_TOKENS,
        (None, &super::super::Reading::default()),
        folder.path(),
        &Silent,
    )
    .unwrap();
    assert!(other.dataset.tokens().unwrap().train.ids.is_empty() && other.statistics.validation.tokens > 2000);
    let batches: Vec<_> = HeldOut::new(&other, &MASKED_TOKENS, 4, 32).unwrap().batches(0).collect();
    assert!(batches.iter().map(crate::objective::Batch::targets).sum::<usize>() > 200);
}

#[test]
fn stages_follow_one_another_and_a_stop_ends_each() {
    struct Until(Stage, std::sync::Mutex<Vec<Stage>>);
    impl Progress for Until {
        fn report(&self, stage: Stage, fraction: f32) {
            assert!((0.0..=1.0).contains(&fraction));
            let mut seen = self.1.lock().unwrap();
            if seen.last() != Some(&stage) {
                seen.push(stage);
            }
        }
        fn is_stopped(&self) -> bool {
            self.1.lock().unwrap().last() == Some(&self.0)
        }
    }
    let folder = TempDir::new().unwrap();
    let stages = [Stage::Generating, Stage::TrainingTokenizer, Stage::Encoding];
    for (count, stage) in (1..).zip(stages) {
        let progress = Until(stage, Vec::new().into());
        let result =
            Corpus::load(&grammar(30_000), &NEXT_TOKEN, folder.path(), &folder.path().join("cache"), &progress);
        assert!(matches!(result, Err(DataError::Stopped)), "{stage:?}");
        assert_eq!(progress.1.into_inner().unwrap(), stages[..count]);
    }
}

#[test]
fn shuffled_text_has_the_same_tokens_and_no_order() {
    let folder = tempfile::tempdir().unwrap();
    let config = DataConfig {
        source: Source::Grammar(GrammarSource { words: 3000, text_seed: 1 }),
        tokenizer: Tokenizer::Bytes(ByteTokenizer {}),
        sequence_length: 16,
        ..DataConfig::default()
    };
    let load = |config: &DataConfig| Corpus::load(config, &NEXT_TOKEN, folder.path(), folder.path(), &Silent).unwrap();
    let plain = load(&config);
    let shuffled = load(&DataConfig { shuffled: true, ..config.clone() });
    let again = load(&DataConfig { shuffled: true, ..config });
    let [plain_tokens, shuffled_tokens, again] = [&plain, &shuffled, &again].map(|own| own.dataset.tokens().unwrap());
    assert_eq!(shuffled_tokens.train.ids, again.train.ids);
    assert_ne!(shuffled.data_hash, plain.data_hash);
    assert_ne!(shuffled.held_out_hash, plain.held_out_hash);
    let end = plain.tokenizer.specials().end_of_text.unwrap();
    for (plain, shuffled) in
        [(&plain_tokens.train, &shuffled_tokens.train), (&plain_tokens.validation, &shuffled_tokens.validation)]
    {
        assert_eq!(plain.ends, shuffled.ends);
        let ends = |ids: &[u32]| ids.iter().map(|id| *id == end).collect::<Vec<_>>();
        assert_eq!(ends(&plain.ids), ends(&shuffled.ids), "documents end where they did");
        let sorted = |ids: &[u32]| {
            let mut ids = ids.to_vec();
            ids.sort_unstable();
            ids
        };
        assert_eq!(sorted(&plain.ids), sorted(&shuffled.ids));
        let same = plain.ids.iter().zip(shuffled.ids.iter()).filter(|(a, b)| a == b).count();
        assert!(same < plain.ids.len() / 4, "{same} of {} stayed", plain.ids.len());
    }
}
