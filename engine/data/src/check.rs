use std::path::Path;

use super::file::text_bytes_at;
use super::progress::Silent;
use super::source::reader;
use super::tokenizer::given;
use super::{Batcher, Corpus, DataError, Reading};
use crate::config::{DataConfig, Modality, Problem, Tokenizer, TrainedTokenizer, counted};
use crate::objective::Objective;

/// What is wrong with the text and the tokenizer that a config names, as far as the beginnings of the files tell; each at its field. Paths are absolute. Quick, but reads disks: not for a thread that must not wait.
pub fn data_problems(config: &DataConfig, objective: &Objective, reading: &Reading) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut note = |field: &str, path: &Path, outcome: &dyn Fn() -> Result<(), DataError>| {
        // An empty path is found without the disk.
        if !path.as_os_str().is_empty()
            && let Err(error) = outcome()
        {
            // Fields that describe the training data are right where only the held-out ones do not fit them.
            let is_held_out = field.starts_with("data.validation_") && error.field() != Some("data.validation_labels");
            let own = error.field().filter(|_| !is_held_out).unwrap_or(field);
            let problem = Problem::new(own, sentence(&error));
            if !found.contains(&problem) {
                found.push(problem);
            }
        }
    };
    reader(&config.source).probe((objective, reading), &mut note);
    if let Tokenizer::File(file) = &config.tokenizer
        && !config.source.has_own_tokens()
    {
        note("data.tokenizer.path", &file.path, &|| given(&file.path, objective).map(drop));
    }
    found
}

/// Text of so many bytes is read whole when it is checked: a fraction of a second.
const READ_WHOLE: u64 = 1 << 20;

/// What is wrong with a text that is short enough to be made into batches of `batch` examples at once, as the run would:
/// too little for the vocabulary, an example, or a batch. Nothing for longer ones. To be asked where [`data_problems`] finds
/// nothing: what both would find is told here once more. Paths are absolute.
pub fn short_text_problems(
    config: &DataConfig,
    (objective, reading): (&Objective, &Reading),
    batch: usize,
) -> Vec<Problem> {
    // Other data are never too short by themselves, or quick to be told, or judged whole or by their beginnings already.
    let is_text = matches!(config.source.facts().modality, Modality::Text | Modality::Pairs | Modality::Rows);
    let files = config.source.files();
    let bytes: Option<u64> = files.iter().map(|path| text_bytes_at(path)).sum();
    let is_short = is_text && !files.is_empty() && bytes.is_some_and(|bytes| bytes <= READ_WHOLE);
    if !is_short || matches!(config.tokenizer, Tokenizer::Initial(_)) {
        return Vec::new();
    }
    // A vocabulary that is being typed is not worth being kept.
    let Ok(nowhere) = tempfile::tempdir() else { return Vec::new() };
    let load = || {
        let rules = (objective, reading);
        let corpus = Corpus::load_for(None, config, rules, Path::new(""), nowhere.path(), &Silent)?;
        Batcher::new(&corpus, objective, batch, config.sequence_length, 0)
    };
    load().err().map(|error| short_text_problem(config, &error)).into_iter().collect()
}

fn short_text_problem(config: &DataConfig, error: &DataError) -> Problem {
    let has_own = config.source.has_own_split();
    match error {
        DataError::TooShort { part: "validation", tokens, needed } => Problem::new(
            if has_own { "data.validation_path" } else { "data.validation_fraction" },
            format!(
                "the held-out text is too short: it has {} and one example needs {needed}; {}",
                counted(*tokens as u64, "token"),
                if has_own {
                    "name a longer text"
                } else {
                    "hold out a larger share, name a held-out text, or give more text, in several documents"
                }
            ),
        ),
        DataError::VocabularyTooLarge { reached, .. } => Problem::new(
            "data.tokenizer.vocabulary",
            if *reached >= TrainedTokenizer::LEAST {
                format!(
                    "the training text yields only {reached} different tokens; take {reached} or less, or give more text"
                )
            } else {
                format!(
                    "the training text yields only {reached} different tokens, fewer than the least vocabulary, {}; give \
                     more text, or take bytes for tokens",
                    TrainedTokenizer::LEAST
                )
            },
        ),
        DataError::TooShort { part, tokens, needed } => Problem::new(
            "data.sequence_length",
            format!(
                "the {part} text is too short: it has {} and one example needs {needed}; give more text or lower it",
                counted(*tokens as u64, "token")
            ),
        ),
        DataError::TooFewExamples { windows, batch, sequence } => Problem::new(
            "train.batch",
            format!(
                "the training text fills {} of {sequence} tokens and one batch needs {batch}; take {windows} or less, lower the \
                 sequence length, or give more text",
                counted(*windows as u64, "example")
            ),
        ),
        other => Problem::new(other.field().unwrap_or("data.path"), sentence(other)),
    }
}

/// The message as it stands behind the name of a field.
fn sentence(error: &DataError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => first.to_lowercase().chain(letters).collect(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::config::{ByteTokenizer, FileSource, FileTokenizer, Source};

    /// Field and message of the problems of a file with these contents.
    fn problems(name: &str, contents: impl AsRef<[u8]>, column: Option<&str>) -> Vec<Problem> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, contents).unwrap();
        let file = FileSource { path, column: column.map(str::to_owned), ..FileSource::default() };
        data_problems(
            &DataConfig { source: Source::File(file), ..DataConfig::default() },
            &Objective::NEXT_TOKEN,
            &Reading::default(),
        )
    }

    fn field(name: &str, contents: impl AsRef<[u8]>, column: Option<&str>) -> String {
        problems(name, contents, column).pop().map(|problem| problem.field).unwrap_or_default()
    }

    /// More than is read.
    const LINES: usize = 20_000;

    #[test]
    fn a_long_file_is_judged_by_its_beginning() {
        assert_eq!(field("a.txt", "one\ntwo\n".repeat(LINES), None), "");
        // A character of two bytes lies across the end of what is read, in text without a line break.
        for shift in 0..2 {
            assert_eq!(field("a.txt", format!("{}{}", "x".repeat(shift), "\u{e4}".repeat(LINES * 4)), None), "");
        }
        assert_eq!(field("a.txt", [0xe4, b'\n'].repeat(LINES * 4), None), "data.path");
        assert_eq!(field("a.jsonl", "{\"text\": \"x\"}\n".repeat(LINES), None), "");
        assert_eq!(field("a.jsonl", "{\"body\": \"x\"}\n".repeat(LINES), None), "data.field");
        assert_eq!(field("a.jsonl", "no object\n".repeat(LINES), None), "data.path");
        // What is cut off within quotes is no fault.
        let table = format!("id,body\n1,\"{}\"\n", "a \"\"quoted\"\" line\n".repeat(LINES));
        assert_eq!(field("a.csv", &table, Some("body")), "");
        assert_eq!(field("a.csv", &table, Some("bodi")), "data.column");
        assert_eq!(field("a.csv", &table, None), "data.column");
        let table = "id\tbody\r\n".repeat(LINES);
        assert_eq!(
            (field("a.tsv", &table, Some("body")), field("a.tsv", &table, Some("3"))),
            (String::new(), "data.column".to_owned())
        );
    }

    #[test]
    fn a_short_file_is_judged_whole() {
        assert_eq!(field("a.txt", "\n \n", None), "data.path");
        assert_eq!(field("a.csv", "text\nfine\n\"never closed\nand so on\n", None), "data.path");
        assert_eq!(field("a.tsv", "text\nfine\n", None), "");
        assert_eq!(field("a.txt.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03abc", None), "data.path");
        let said = problems("a.pdf", "text", None).pop().unwrap().message();
        assert!(said.starts_with("the file's ending") && said.ends_with("a.pdf"), "{said}");
    }

    #[test]
    fn a_folder_with_more_than_one_would_look_through_is_left_to_the_run() {
        let folder = TempDir::new().unwrap();
        let problems = || {
            let file = FileSource { path: folder.path().to_owned(), ..FileSource::default() };
            let config = DataConfig { source: Source::File(file), ..DataConfig::default() };
            data_problems(&config, &Objective::NEXT_TOKEN, &Reading::default()).len()
        };
        std::fs::write(folder.path().join("a.pdf"), "").unwrap();
        assert_eq!(problems(), 1, "nothing usable");
        for index in 0..5001 {
            std::fs::write(folder.path().join(format!("{index}.bin")), "").unwrap();
        }
        assert_eq!(problems(), 0, "who knows");
    }

    #[test]
    fn a_short_text_is_made_into_batches_before_a_run_fails_at_it() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.txt");
        let problems = |lines: usize, change: &dyn Fn(&mut DataConfig), batch: usize| -> Vec<String> {
            std::fs::write(&path, "the cat sat on a mat and some dogs saw it\n\n".repeat(lines)).unwrap();
            let source = Source::File(FileSource { path: path.clone(), ..FileSource::default() });
            let mut config = DataConfig { source, sequence_length: 16, ..DataConfig::default() };
            config.tokenizer = Tokenizer::Bpe(TrainedTokenizer { vocabulary: 280 });
            change(&mut config);
            let found = short_text_problems(&config, (&Objective::NEXT_TOKEN, &Reading::default()), batch);
            found.into_iter().map(|problem| format!("{}: {}", problem.field, problem.message())).collect()
        };
        assert_eq!(problems(100, &|_| (), 8), [""; 0]);
        let large = |config: &mut DataConfig| config.tokenizer = Tokenizer::Bpe(TrainedTokenizer { vocabulary: 4096 });
        let said = problems(100, &large, 8);
        assert!(said[0].starts_with("data.tokenizer.vocabulary: the training text yields only 2"), "{said:?}");
        let said = problems(100, &|_| (), 5000);
        assert!(said[0].starts_with("train.batch: the training text fills"), "{said:?}");
        let said = problems(40, &|config| config.tokenizer = Tokenizer::Bytes(ByteTokenizer {}), 1);
        assert!(said.is_empty(), "{said:?}");
        let said = problems(1, &|config| config.tokenizer = Tokenizer::Bytes(ByteTokenizer {}), 1);
        assert!(
            said[0].starts_with("data.validation_fraction: the held-out text is too short: it has 0 tokens"),
            "{said:?}"
        );
        let long = |config: &mut DataConfig| {
            (config.tokenizer, config.sequence_length) = (Tokenizer::Bytes(ByteTokenizer {}), 4096);
        };
        let said = problems(40, &long, 1);
        assert!(said[0].starts_with("data.sequence_length: the training text is too short: it has"), "{said:?}");
        assert_eq!(problems(40_000, &large, 8), [""; 0], "left to the run");
    }

    #[test]
    fn every_file_that_is_named_is_checked() {
        let file = FileSource {
            path: "/nowhere/a.txt".into(),
            validation_path: Some("/nowhere/b.txt".into()),
            ..FileSource::default()
        };
        let tokenizer = Tokenizer::File(FileTokenizer { path: "/nowhere/tokenizer.json".into() });
        let config = DataConfig { source: Source::File(file), tokenizer, ..DataConfig::default() };
        let fields: Vec<String> = data_problems(&config, &Objective::NEXT_TOKEN, &Reading::default())
            .into_iter()
            .map(|problem| problem.field)
            .collect();
        assert_eq!(fields, ["data.path", "data.validation_path", "data.tokenizer.path"]);
    }
}
