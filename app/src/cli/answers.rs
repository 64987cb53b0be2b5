//! Questions about paragraphs that `headroom predict` reads, and their answers.

use std::path::Path;

use headroom_engine::{
    config::counted,
    data::{is_squad_name, questions_at, questions_of},
    objective::Questions,
    protocol::{FoundAnswer, events},
};
use serde_json::{Map, Value, json};

use super::{
    args::PredictArgs,
    error::{CliError, CliResult},
    generate, plain, print,
};

/// What was read to be answered about.
pub(super) enum Asked {
    /// Lines of texts.
    Lines(String),
    /// The questions of a `SQuAD` file.
    Questions(Questions),
}

impl Asked {
    /// Reads a file, or standard input; by its name, or by what it begins with, it is one of questions.
    pub(super) fn read(path: &Path) -> CliResult<Self> {
        let told = |error: &dyn std::fmt::Display| CliError::at("--input", error.to_string());
        if is_squad_name(path) {
            return Ok(Self::Questions(questions_at(path).map_err(|error| told(&error))?));
        }
        let text = generate::read(path)?;
        if text.trim_start().starts_with('{') && text.contains("\"paragraphs\"") {
            return Ok(Self::Questions(questions_of(&text, path).map_err(|error| told(&error))?));
        }
        Ok(Self::Lines(text))
    }

    /// The texts of each row.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        match self {
            Self::Lines(text) => text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect(),
            Self::Questions(questions) => {
                let paragraph = |number| questions.paragraph(number).map(|own| own.text.clone()).unwrap_or_default();
                let each = questions.all.iter().enumerate();
                each.map(|(number, question)| vec![question.text.clone(), paragraph(number)]).collect()
            }
        }
    }

    fn id(&self, row: usize) -> Option<&str> {
        match self {
            Self::Lines(_) => None,
            Self::Questions(questions) => questions.all.get(row).map(|question| question.id.as_str()),
        }
    }

    fn may_lack_answers(&self) -> bool {
        matches!(self, Self::Questions(questions) if questions.may_lack_answers)
    }
}

/// Prints the answers.
pub(super) fn tell_answers(found: &events::AnswersFound, asked: &Asked, args: &PredictArgs) -> CliResult {
    let events::AnswersFound { may_lack_answers, no_answer_threshold, answers, cut_questions, .. } = found;
    let may_lack_answers = *may_lack_answers || asked.may_lack_answers() || args.no_answer_threshold.is_some();
    let threshold = args.no_answer_threshold.unwrap_or(*no_answer_threshold);
    for (row, found) in answers.iter().enumerate() {
        let is_silent = |score: f64| may_lack_answers && found.no_answer_score - score > threshold;
        let is_given = found.answer.as_ref().is_some_and(|answer| !is_silent(answer.score));
        if args.json {
            tell_json(asked.id(row), found, is_given)?;
        } else {
            tell(asked.id(row), found, is_given)?;
        }
    }
    if *cut_questions > 0 {
        print::aside(format!(
            "{} longer than half of what the model reads: cut off.",
            counted(*cut_questions as u64, "question")
        ));
    }
    Ok(())
}

fn tell_json(id: Option<&str>, found: &FoundAnswer, is_given: bool) -> CliResult {
    let given = found.answer.as_ref().filter(|_| is_given);
    let mut fields = Map::new();
    if let Some(id) = id {
        fields.insert("id".to_owned(), json!(id));
    }
    fields.insert("answer".to_owned(), json!(given.map(|answer| &answer.text)));
    fields.insert("start".to_owned(), json!(given.map(|answer| answer.start)));
    fields.insert("end".to_owned(), json!(given.map(|answer| answer.end)));
    fields.insert("score".to_owned(), json!(found.answer.as_ref().map(|answer| answer.score)));
    fields.insert("no_answer_score".to_owned(), json!(found.no_answer_score));
    print::json_line(&Value::Object(fields))
}

/// The question's id where it has one, the answer, and where it begins and ends, with tabs between.
fn tell(id: Option<&str>, found: &FoundAnswer, is_given: bool) -> CliResult {
    let before = id.map(|id| format!("{id}\t")).unwrap_or_default();
    match found.answer.as_ref().filter(|_| is_given) {
        Some(answer) => print::line(format!(
            "{before}{}\t{}\t{}\tscore {}",
            answer.text.replace(['\t', '\n', '\r'], " "),
            answer.start,
            answer.end,
            plain::number(answer.score)
        )),
        None => print::line(format!("{before}[no answer]\t\t\tscore {}", plain::number(found.no_answer_score))),
    }
}
