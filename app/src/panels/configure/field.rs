use std::collections::BTreeMap;

use headroom_engine::config::Problem;

/// Labels of fields by path.
pub type Labels = BTreeMap<&'static str, &'static str>;

/// The words of one field of the form.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Path in the config file, such as `model.heads`; problems are found by it.
    pub path: &'static str,
    /// Its label, which is its accessible name too; unique in the form.
    pub label: &'static str,
    /// The unit behind it.
    pub unit: &'static str,
    /// What it does, for the tooltip.
    pub help: &'static str,
    /// What it means where nothing stands in it.
    pub empty: &'static str,
}

impl Words {
    /// A field with label and help.
    pub const fn new(path: &'static str, label: &'static str, help: &'static str) -> Self {
        Self { path, label, unit: "", help, empty: "" }
    }

    /// With a unit.
    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// With what an empty field means.
    pub const fn empty(self, empty: &'static str) -> Self {
        Self { empty, ..self }
    }
}

/// Values of fields as a message writes them, and as the form's lists do.
const CHOICES: [(&str, &str); 12] = [
    ("\"classification\"", "\u{201C}A class\u{201D}"),
    ("\"regression\"", "\u{201C}A number\u{201D}"),
    ("\"file\"", "\u{201C}Your own files\u{201D}"),
    ("\"number_words\"", "\u{201C}Number words, to translate\u{201D}"),
    ("\"pairs\"", "\u{201C}Your own pairs, to translate\u{201D}"),
    ("\"table\"", "\u{201C}A table with labels\u{201D}"),
    ("\"squad\"", "\u{201C}Questions about paragraphs\u{201D}"),
    ("\"images\"", "\u{201C}Images with classes\u{201D}"),
    ("\"pathfinder\"", "\u{201C}Pathfinder images\u{201D}"),
    ("\"encoder\"", "\u{201C}Encoder, as BERT\u{201D}"),
    ("\"encoder_decoder\"", "\u{201C}Encoder and decoder, as BART\u{201D}"),
    ("\"initial\"", "\u{201C}That of the model to begin with\u{201D}"),
];

/// A problem as the form tells it: the label of its field, and a sentence.
pub fn told(problem: &Problem, labels: &Labels) -> String {
    let label = labels.get(problem.field.as_str()).copied().unwrap_or(&problem.field);
    format!("{label}: {}", in_sentence(problem, labels))
}

/// The same where the field is plain.
pub fn in_sentence(problem: &Problem, labels: &Labels) -> String {
    sentence(&in_labels(&problem.message, labels))
}

/// A message in which fields and their values stand as the form calls them, and not as in the file.
pub fn in_labels(message: &str, labels: &Labels) -> String {
    let is_path = |letter: char| letter.is_alphanumeric() || "._".contains(letter);
    let message = CHOICES.iter().fold(message.to_owned(), |message, (written, shown)| message.replace(written, shown));
    let message = message.as_str();
    let mut told = String::with_capacity(message.len() + 16);
    let mut rest = message;
    while let Some(start) = rest.find(is_path) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|letter| !is_path(letter)).unwrap_or(from.len()));
        told += before;
        // A full stop may follow.
        let path = word.trim_end_matches('.');
        // `name` and `seed` are words, too.
        match labels.get(path).filter(|_| path.contains('.')) {
            Some(label) => told.extend(["\u{201C}", label, "\u{201D}", word.get(path.len()..).unwrap_or_default()]),
            None => told += word,
        }
        rest = after;
    }
    told + rest
}

/// A problem's message as a sentence for people: ranges in words, a capital, a full stop.
pub fn sentence(message: &str) -> String {
    let text = message.replace("..=", " to ");
    // `0..1` is a range, `a.b...` is not.
    let chars: Vec<char> = text.chars().collect();
    let mut words = String::with_capacity(text.len() + 8);
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let is_digit = |i: Option<usize>| i.and_then(|i| chars.get(i)).is_some_and(char::is_ascii_digit);
        let is_range =
            c == '.' && chars.get(at + 1) == Some(&'.') && is_digit(at.checked_sub(1)) && is_digit(Some(at + 2));
        if is_range {
            words.push_str(" to ");
            at += 2;
        } else {
            words.push(c);
            at += 1;
        }
    }
    let mut letters = words.trim().chars();
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
    use super::*;

    #[test]
    fn values_stand_as_the_lists_call_them() {
        let labels = BTreeMap::from([("task.kind", "Answer")]);
        let message = "learn them with task.kind = \"regression\"";
        assert_eq!(in_labels(message, &labels), "learn them with \u{201C}Answer\u{201D} = \u{201C}A number\u{201D}");
    }

    #[test]
    fn a_problem_is_told_under_the_label_of_its_field() {
        let labels = BTreeMap::from([("model.dropout", "Dropout"), ("data.kind", "Source")]);
        let problem = Problem::new("model.dropout", "1.5 is outside 0..1 (1 excluded)");
        assert_eq!(told(&problem, &labels), "Dropout: 1.5 is outside 0 to 1 (1 excluded).");
        let unknown = Problem::new("model.head", "no such field; choose data.kind = \"table\"");
        let choice = "\u{201C}Source\u{201D} = \u{201C}A table with labels\u{201D}";
        assert_eq!(told(&unknown, &labels), format!("model.head: No such field; choose {choice}."));
    }

    #[test]
    fn fields_are_told_under_their_labels() {
        let labels = BTreeMap::from([("data.text", "Text column"), ("task.kind", "Answer"), ("name", "Name")]);
        for (message, told) in [
            (
                "set data.text to a name, or task.kind",
                "set \u{201C}Text column\u{201D} to a name, or \u{201C}Answer\u{201D}",
            ),
            ("correct data.text.", "correct \u{201C}Text column\u{201D}."),
            ("no file of that name", "no file of that name"),
            ("data.text_seed and /a/data.text.tsv stay", "data.text_seed and /a/data.text.tsv stay"),
        ] {
            assert_eq!(in_labels(message, &labels), told);
        }
    }

    #[test]
    fn ranges_become_words() {
        assert_eq!(sentence("0 is outside 1..=256"), "0 is outside 1 to 256.");
        assert_eq!(sentence("1.5 is outside 0..1 (1 excluded)"), "1.5 is outside 0 to 1 (1 excluded).");
        assert_eq!(sentence("a run needs a name"), "A run needs a name.");
        assert_eq!(sentence("../x is not there."), "../x is not there.");
        assert_eq!(sentence(""), "");
    }
}
