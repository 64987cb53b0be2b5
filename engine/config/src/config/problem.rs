use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    field_spec::Fields,
    nearest::nearest,
    range::{Outside, Range},
};

/// One thing that is wrong with a config, at one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Told", from = "Told")]
pub struct Problem {
    /// Dotted path of the field as in the TOML file, such as `model.heads`.
    pub field: String,
    /// The fault, with its values.
    pub kind: ProblemKind,
}

/// Kind of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The section lacks a field that it cannot do without.
    Missing {
        /// Name of the field in its section.
        name: &'static str,
    },
    /// A number outside of what the field takes.
    OutOfRange {
        /// The number.
        given: String,
        /// Where it lies.
        outside: Outside,
        /// The numbers that the field takes.
        range: Range,
        /// Reason for the range, behind it.
        why: String,
    },
    /// Something else, such as fields that do not fit each other.
    Other(Sentence),
    /// The section has no field of this name.
    UnknownField {
        /// The name.
        name: String,
        /// Names of the fields that it has.
        known: Vec<&'static str>,
    },
    /// The field takes names, and this is none of them.
    UnknownName {
        /// The name.
        given: String,
        /// The names that it takes.
        known: Vec<&'static str>,
    },
    /// A value of another type.
    WrongType {
        /// The value.
        given: String,
        /// The type, with its article.
        expected: &'static str,
        /// The numbers that the field takes.
        range: Option<Range>,
    },
}

/// A sentence about fields. Its text may name fields as `{model.kind}` and values of fields as `{model.kind=encoder}`, and each `{}` stands
/// for a value that is taken as it is, in `{model.kind=}` for the name of one of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    text: &'static str,
    values: Vec<String>,
}

impl Sentence {
    /// A sentence with its values.
    pub fn new(text: &'static str, values: impl IntoIterator<Item = String>) -> Self {
        Self { text, values: values.into_iter().collect() }
    }

    /// The sentence in the words of a file or a form.
    pub fn told(&self, wording: &Wording<'_>) -> String {
        let mut told = String::with_capacity(self.text.len() + 32);
        let mut values = self.values.iter();
        let mut rest = self.text;
        while let Some((before, after)) = rest.split_once('{') {
            told += before;
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || "._=".contains(letter);
            match after.split_once('}').filter(|(name, _)| name.chars().all(is_part)) {
                None => {
                    told.push('{');
                    rest = after;
                }
                Some((name, after)) => {
                    match name.split_once('=') {
                        _ if name.is_empty() => told += values.next().map_or("", String::as_str),
                        Some((field, "")) => told += &wording.value(field, values.next().map_or("", String::as_str)),
                        Some((field, value)) => told += &wording.value(field, value),
                        None => told += &wording.field(name),
                    }
                    rest = after;
                }
            }
        }
        told + rest
    }
}

impl From<&'static str> for Sentence {
    fn from(text: &'static str) -> Self {
        Self { text, values: Vec::new() }
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Self {
        Self { text: "{}", values: vec![text] }
    }
}

impl<S: Into<Sentence>> From<S> for ProblemKind {
    fn from(sentence: S) -> Self {
        Self::Other(sentence.into())
    }
}

/// Names of fields and of their values where a problem is told.
#[derive(Clone, Copy, Debug)]
pub enum Wording<'a> {
    /// As a file has them.
    File,
    /// As a form labels them.
    Form(&'a Fields),
}

impl Wording<'_> {
    fn field(self, path: &str) -> String {
        match self {
            Self::Form(fields) => {
                fields.get(path).map_or_else(|| path.to_owned(), |field| format!("\u{201C}{}\u{201D}", field.label))
            }
            Self::File => path.to_owned(),
        }
    }

    fn value(self, path: &str, name: &str) -> String {
        let label = match self {
            Self::Form(fields) => fields.get(path).and_then(|field| field.choice(name)),
            Self::File => None,
        };
        label.map_or_else(|| format!("\"{name}\""), |label| format!("\u{201C}{label}\u{201D}"))
    }
}

impl Problem {
    /// A problem at `field`.
    pub fn new(field: impl Into<String>, kind: impl Into<ProblemKind>) -> Self {
        Self { field: field.into(), kind: kind.into() }
    }

    /// A number outside of the range of its field.
    pub(super) fn outside(field: &str, given: &impl fmt::Display, outside: Outside, range: Range) -> Self {
        let why = String::new();
        Self {
            field: field.to_owned(),
            kind: ProblemKind::OutOfRange { given: given.to_string(), outside, range, why },
        }
    }

    /// The problem of a whole number that lies outside of a range, for this reason; none where it lies inside.
    pub(super) fn of_whole(field: &str, value: usize, range: (usize, usize), why: impl Into<String>) -> Option<Self> {
        let range = Range::Whole(range.0 as u64, range.1 as u64);
        let outside = range.judge_whole(value as i128)?;
        let kind = ProblemKind::OutOfRange { given: value.to_string(), outside, range, why: why.into() };
        Some(Self { field: field.to_owned(), kind })
    }

    /// The same problem of an answer about attention in a table of its own, such as `[attention.cross]`.
    #[must_use]
    pub fn within(self, table: &str) -> Self {
        let rest = self.field.strip_prefix("attention.").unwrap_or(&self.field);
        Self { field: format!("attention.{table}.{rest}"), ..self }
    }

    /// Returns true if there is no field of that name.
    pub(super) fn is_of_unknown_field(&self) -> bool {
        matches!(self.kind, ProblemKind::UnknownField { .. })
    }

    /// Returns true if a number lies outside of what its field takes.
    pub(super) fn is_out_of_range(&self) -> bool {
        matches!(self.kind, ProblemKind::OutOfRange { .. })
    }

    /// The fault and what is allowed, as a file has it.
    pub fn message(&self) -> String {
        self.told(&Wording::File)
    }

    /// The same in the words of a file, a form or a command.
    pub fn told(&self, wording: &Wording<'_>) -> String {
        let code = if matches!(wording, Wording::Form(_)) { "" } else { "`" };
        match &self.kind {
            ProblemKind::Missing { name } => format!("{code}{name}{code} is missing"),
            ProblemKind::OutOfRange { given, outside, range, why } => {
                format!("{given} {outside}; it must be {range}{why}")
            }
            ProblemKind::Other(sentence) => sentence.told(wording),
            ProblemKind::UnknownField { name, known } => {
                let known = match known.as_slice() {
                    [] => " No field is known here.".to_owned(),
                    names => alternatives(name, names, code),
                };
                format!("there is no field {code}{}{code}.{known}", self.field)
            }
            ProblemKind::UnknownName { given, known } => {
                format!("\"{given}\" is not known here.{}", alternatives(given, known, code))
            }
            ProblemKind::WrongType { given, expected, range } => {
                let range = range.map_or_else(String::new, |range| format!("; it must be {range}"));
                format!("{given} is not {expected}{range}")
            }
        }
    }
}

/// The nearest of some names, and all of them.
fn alternatives(given: &str, known: &[&str], code: &str) -> String {
    let near = nearest(given, known.iter().copied()).map(|near| format!(" Did you mean {code}{near}{code}?"));
    format!("{} Known here: {}.", near.unwrap_or_default(), known.join(", "))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message())
    }
}

/// A problem as scripts read it.
#[derive(Serialize, Deserialize)]
struct Told {
    field: String,
    message: String,
}

impl From<Problem> for Told {
    fn from(problem: Problem) -> Self {
        let message = problem.message();
        Self { field: problem.field, message }
    }
}

impl From<Told> for Problem {
    fn from(told: Told) -> Self {
        Self::new(told.field, told.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RunConfig, fields_of};

    #[test]
    fn a_problem_is_told_in_the_words_of_the_place() {
        let fields = fields_of(&RunConfig::default());
        let sentence = Sentence::new("set {model.kind} to {model.kind=encoder} or {} { }", ["{data.kind}".to_owned()]);
        let problem = Problem::new("data.kind", sentence);
        assert_eq!(problem.message(), "set model.kind to \"encoder\" or {data.kind} { }");
        let form = problem.told(&Wording::Form(&fields));
        assert_eq!(form, "set \u{201C}Architecture\u{201D} to \u{201C}Encoder, as BERT\u{201D} or {data.kind} { }");
        let json = serde_json::to_string(&problem).unwrap();
        let read: Problem = serde_json::from_str(&json).unwrap();
        assert_eq!((read.message(), json.contains("\"message\"")), (problem.message(), true));
    }
}
