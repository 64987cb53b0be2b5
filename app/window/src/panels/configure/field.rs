use headroom_engine::config::{Fields, Problem, Wording};
use serde::Serialize;

/// Description of a field of the config by its path, and where sections of several kinds have it, by the kind: `field!("bpe",
/// "data.tokenizer.vocabulary")`.
macro_rules! field {
    ($path:literal) => {
        const { headroom_engine::config::field($path) }
    };
    ($kind:literal, $path:literal) => {
        const { headroom_engine::config::field_of($kind, $path) }
    };
}
pub(super) use field;

/// A problem as the form tells it: the label of its field, and a sentence.
pub fn told(problem: &Problem, fields: &Fields) -> String {
    let label =
        fields.values().find(|field| field.is_at(&problem.field)).map_or(problem.field.as_str(), |field| field.label);
    format!("{label}: {}", in_sentence(problem, fields))
}

/// The same where the field is plain.
pub fn in_sentence(problem: &Problem, fields: &Fields) -> String {
    sentence(&problem.told(&Wording::Form(fields)))
}

/// A value as a file writes it where it stands for a choice: its name, `true` or `false`, or nothing.
pub fn name_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(serde_json::Value::Bool(flag)) => flag.to_string(),
        _ => String::new(),
    }
}

/// A problem's message as a sentence for people: a capital, a full stop.
pub fn sentence(message: &str) -> String {
    let mut letters = message.trim().chars();
    let mut sentence = match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect::<String>(),
        None => return String::new(),
    };
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::{RunConfig, Sentence, fields_of};

    use super::*;

    #[test]
    fn a_problem_is_told_under_the_labels_of_fields_and_values() {
        let fields = fields_of(&RunConfig::default());
        let problem = Problem::new("model.dropout", "no such share");
        assert_eq!(told(&problem, &fields), "Dropout: No such share.");
        let unknown =
            Problem::new("model.head", Sentence::from("no such field; choose {data.kind} = {data.kind=table}"));
        let choice = "\u{201C}Source\u{201D} = \u{201C}A table with labels\u{201D}";
        assert_eq!(told(&unknown, &fields), format!("model.head: No such field; choose {choice}."));
        let kind = Problem::new("attention.reuse", "it cannot be");
        assert_eq!(told(&kind, &fields), "Which heads score: It cannot be.");
    }

    #[test]
    fn messages_become_sentences() {
        assert_eq!(sentence("a run needs a name"), "A run needs a name.");
        assert_eq!(sentence("../x is not there."), "../x is not there.");
        assert_eq!(sentence(""), "");
    }
}
