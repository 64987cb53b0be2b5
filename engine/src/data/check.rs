use std::path::Path;

use super::DataError;
use super::answers::probe_table;
use super::file::{PairFiles, probe_files, probe_pair_file, probe_pairs};
use super::tokenizer::given;
use crate::config::{DataConfig, Problem, Source, Tokenizer};
use crate::objective::Objective;

/// What is wrong with the text and the tokenizer that a config names, as far as the beginnings of the files tell; each at its field. Paths are absolute. Quick, but reads disks: not for a thread that must not wait.
pub fn data_problems(config: &DataConfig, objective: &Objective) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut note = |field: &str, path: &Path, outcome: &dyn Fn() -> Result<(), DataError>| {
        // An empty path is found without the disk.
        if !path.as_os_str().is_empty()
            && let Err(error) = outcome()
        {
            let problem = Problem::new(error.field().unwrap_or(field), sentence(&error));
            if !found.contains(&problem) {
                found.push(problem);
            }
        }
    };
    if let Source::File(file) = &config.source {
        let probe = |path: &Path| probe_files(path, file.field.as_deref(), file.column.as_deref());
        note("data.path", &file.path, &|| probe(&file.path));
        if let Some(path) = &file.validation_path {
            note("data.validation_path", path, &|| probe(path));
        }
    }
    if let Source::Table(table) = &config.source {
        let is_readable = table.path.as_os_str().is_empty() || probe_table(table, objective, &table.path).is_ok();
        note("data.path", &table.path, &|| probe_table(table, objective, &table.path));
        if let Some(path) = table.validation_path.as_ref().filter(|_| is_readable) {
            note("data.validation_path", path, &|| probe_table(table, objective, path));
        }
    }
    if let Source::Pairs(pairs) = &config.source {
        let (train, validation) = PairFiles::of(pairs, Path::new(""));
        let names = if pairs.path.is_some() { ["data.path"; 2] } else { ["data.source", "data.target"] };
        let held_out_names = if pairs.validation_path.is_some() {
            ["data.validation_path"; 2]
        } else {
            ["data.validation_source", "data.validation_target"]
        };
        for (files, names) in [(train, names), (validation, held_out_names)] {
            for (path, name) in files.iter().flat_map(PairFiles::paths).zip(names) {
                note(name, path, &|| probe_pair_file(path));
            }
            if let Some(files) = &files {
                note(names[1], Path::new("."), &|| probe_pairs(files));
            }
        }
    }
    if let Tokenizer::File(file) = &config.tokenizer {
        note("data.tokenizer.path", &file.path, &|| given(&file.path, objective).map(drop));
    }
    found
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
    use crate::config::{FileSource, FileTokenizer};

    /// Field and message of the problems of a file with these contents.
    fn problems(name: &str, contents: impl AsRef<[u8]>, column: Option<&str>) -> Vec<Problem> {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, contents).unwrap();
        let file = FileSource { path, column: column.map(str::to_owned), ..FileSource::default() };
        data_problems(&DataConfig { source: Source::File(file), ..DataConfig::default() }, &Objective::NEXT_TOKEN)
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
        let said = problems("a.pdf", "text", None).pop().unwrap().message;
        assert!(said.starts_with("the file's ending") && said.ends_with("a.pdf"), "{said}");
    }

    #[test]
    fn a_folder_with_more_than_one_would_look_through_is_left_to_the_run() {
        let folder = TempDir::new().unwrap();
        let problems = || {
            let file = FileSource { path: folder.path().to_owned(), ..FileSource::default() };
            let config = DataConfig { source: Source::File(file), ..DataConfig::default() };
            data_problems(&config, &Objective::NEXT_TOKEN).len()
        };
        std::fs::write(folder.path().join("a.pdf"), "").unwrap();
        assert_eq!(problems(), 1, "nothing usable");
        for index in 0..5001 {
            std::fs::write(folder.path().join(format!("{index}.bin")), "").unwrap();
        }
        assert_eq!(problems(), 0, "who knows");
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
        let fields: Vec<String> =
            data_problems(&config, &Objective::NEXT_TOKEN).into_iter().map(|problem| problem.field).collect();
        assert_eq!(fields, ["data.path", "data.validation_path", "data.tokenizer.path"]);
    }
}
