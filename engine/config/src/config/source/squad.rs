//! `data.kind = "squad"`: questions about paragraphs that hold their answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Modality, PathField, SourceFacts, SourceSettings};
use crate::config::Problem;

/// Questions about paragraphs in the format of `SQuAD` v1.1 or v2.0 (Rajpurkar et al. 2016, 2018): `.json`, also gzipped. A
/// question of v2.0 may have no answer in its paragraph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SquadSource {
    /// The file. A relative path is taken from the folder of the config file.
    pub path: PathBuf,
    /// Held-out questions; without it a share of the paragraphs of `path` is held out, each with its questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_path: Option<PathBuf>,
    /// Refuses a file in which an answer stands elsewhere than it says, instead of leaving the question out.
    #[serde(skip_serializing_if = "is_false")]
    pub strict: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl SquadSource {
    /// Facts about data of this kind.
    pub(super) const FACTS: SourceFacts = SourceFacts {
        kind: "squad",
        label: "Questions about paragraphs",
        modality: Modality::Spans,
        run_names: ["question answering"; 2],
        tasks: &["span"],
        without_task: Some("questions about paragraphs are for a task; set {task.kind} to {task.kind=span}"),
        ..SourceFacts::USUAL
    };
}

impl SourceSettings for SquadSource {
    fn facts(&self) -> &'static SourceFacts {
        &Self::FACTS
    }

    fn path_fields(&mut self) -> Vec<PathField<'_>> {
        vec![
            PathField::required("data.path", &mut self.path),
            PathField::optional("data.validation_path", &mut self.validation_path),
        ]
    }

    fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if self.path.as_os_str().is_empty() {
            found.push(Problem::new("data.path", "name a SQuAD file: a .json, with or without .gz"));
        }
        if self.validation_path.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            found.push(Problem::new("data.validation_path", "name a SQuAD file, or leave the field out"));
        }
        found
    }

    fn texts(&self) -> Option<usize> {
        Some(2)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Objective, from_toml, to_toml};

    const SPAN: &str = "format = 1\nmodel.kind = \"encoder\"\n[data]\nkind = \"squad\"\npath = \"train.json\"\n[task]\nkind = \"span\"\n";

    #[test]
    fn questions_are_for_spans_and_spans_for_questions() {
        let config = from_toml(SPAN).unwrap();
        assert_eq!(config.validate(), vec![]);
        assert_eq!(from_toml(&to_toml(&config)).unwrap(), config);
        assert_eq!(config.objective(), Objective::SPAN);
        let refused = |from: &str, to: &str| -> Vec<String> {
            let text = SPAN.replace(from, to);
            assert_ne!(text, SPAN);
            from_toml(&text).unwrap().validate().into_iter().map(|problem| problem.field).collect()
        };
        assert_eq!(refused("[task]\nkind = \"span\"\n", ""), ["task.kind"]);
        assert_eq!(refused("kind = \"span\"", "kind = \"classification\""), ["data.kind"]);
        assert_eq!(refused("kind = \"squad\"", "kind = \"table\""), ["data.kind"]);
        assert_eq!(refused("\"train.json\"", "\"\""), ["data.path"]);
        assert_eq!(refused("\"encoder\"", "\"decoder\""), ["model.kind"]);
        for (more, field) in [
            ("doc_stride = 0\n", "task.doc_stride"),
            ("max_answer = 0\n", "task.max_answer"),
            ("no_answer_threshold = inf\n", "task.no_answer_threshold"),
        ] {
            let found = from_toml(&format!("{SPAN}{more}")).unwrap().validate();
            assert_eq!(found.iter().map(|problem| problem.field.as_str()).collect::<Vec<_>>(), [field]);
        }
    }
}
