//! How many source files know a way to score by name.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::super::family;
use crate::config::Compatibility;

/// What a new way to score may touch: its own file, the two that list it here, and its fields and texts in the config.
const PROMISED: usize = 4;

/// Files beyond these, each for something that one way to score alone has.
const MORE: [(&str, usize); 3] = [
    // A race has it as a variant unless told otherwise.
    ("symmetric", 1),
    // Its mixing matrices are shown, and advised of; trained models are converted to it.
    ("collaborative", 7),
    // Trained models are converted to it.
    ("grouped", 2),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "tests" && name != "benches" {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && !name.contains("tests")
            && name != "tensor_names.rs"
        {
            found.push(path);
        }
    }
}

/// Whether a text has this word.
fn names(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

#[test]
fn a_way_to_score_is_known_by_name_in_few_places() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    sources(&root.join("engine"), &mut files);
    sources(&root.join("app"), &mut files);
    let texts: Vec<(&PathBuf, String)> = files
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let shipped = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
            let code = text[..shipped].lines().filter(|line| !line.trim_start().starts_with("//"));
            (path, code.collect::<Vec<_>>().join("\n"))
        })
        .collect();
    assert!(texts.len() > 300);
    let mut known = Vec::new();
    for compatibility in Compatibility::examples(4, 16) {
        let kind = compatibility.kind();
        // What most of the program is about has its name everywhere.
        if kind == "standard" || known.contains(&kind) {
            continue;
        }
        known.push(kind);
        let type_name: String = kind.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        let words =
            [format!("::{type_name}"), format!("for {type_name}"), format!("\"{kind}\""), format!("mod {kind}")];
        let found: Vec<String> = texts
            .iter()
            .filter(|(_, text)| words.iter().any(|word| names(text, word)))
            .map(|(path, _)| path.strip_prefix(&root).unwrap().display().to_string())
            .collect();
        let more = MORE.iter().find(|(of, _)| *of == kind).map_or(0, |(_, more)| *more);
        assert!(found.len() <= PROMISED + more, "{kind} is named in {found:#?}");
        // What says that nothing was missed.
        assert!(found.len() >= 3, "{kind} is named in {found:#?} alone");
        assert!(!family(&compatibility).form(&super::LayerHeads::plain(4, 4), false).pieces.is_empty());
    }
}
