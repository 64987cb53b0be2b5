//! What a filter compares with.

use super::Operator;

/// Something that can be filtered.
pub trait Record {
    /// The value of a field by the name that the user wrote; none when the record has no such field.
    fn value(&self, field: &str) -> Option<Value>;

    /// Whether one of the record's words (name, tags ...) holds `word`, which is in lower case.
    fn has_word(&self, word: &str) -> bool;
}

/// A field's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Words.
    Text(String),
    /// Several words, such as tags: `=` and `~` hold if they hold for one of them, `!=` if for none `=` holds.
    List(Vec<String>),
}

impl Value {
    /// A number as filters write it: `2`, `1e-3`, `10k`, `1.2M`, `3G`, `1T`, with commas between thousands or not.
    pub fn parse_number(text: &str) -> Option<f64> {
        let (digits, factor) = match text.chars().next_back()? {
            'k' | 'K' => (text.get(..text.len() - 1)?, 1e3),
            'M' => (text.get(..text.len() - 1)?, 1e6),
            'G' => (text.get(..text.len() - 1)?, 1e9),
            'T' => (text.get(..text.len() - 1)?, 1e12),
            _ => (text, 1.0),
        };
        if !digits.starts_with(|letter: char| letter.is_ascii_digit() || "+-.".contains(letter)) {
            return None; // No "inf" and no "nan": these are words.
        }
        digits.replace(',', "").parse::<f64>().ok().map(|number| number * factor)
    }

    pub(super) fn compares(&self, operator: Operator, text: &str, number: Option<f64>) -> bool {
        match self {
            Self::Number(value) => compare_number(*value, operator, text, number),
            Self::Text(value) => compare_text(value, operator, text, number),
            Self::List(values) if operator == Operator::Unequal => values.iter().all(|value| !same_text(value, text)),
            Self::List(values) => values.iter().any(|value| compare_text(value, operator, text, number)),
        }
    }
}

/// Whether the word is in what the record is called where others have its name: the name, a comma and the seed.
pub(super) fn is_called(record: &impl Record, word: &str) -> bool {
    let (Some(Value::Text(name)), Some(Value::Number(seed))) = (record.value("name"), record.value("seed")) else {
        return false;
    };
    format!("{name}, seed {seed}").to_lowercase().contains(word)
}

fn compare_number(value: f64, operator: Operator, text: &str, number: Option<f64>) -> bool {
    let Some(number) = number.or_else(|| Value::parse_number(text)) else {
        // A word such as NaN.
        return match operator {
            Operator::Equal => same_text(&value.to_string(), text),
            Operator::Unequal => !same_text(&value.to_string(), text),
            Operator::Contains => value.to_string().contains(text),
            _ => false,
        };
    };
    let equal = (value - number).abs() <= 1e-9 * value.abs().max(number.abs());
    match operator {
        Operator::Less => value < number && !equal,
        Operator::AtMost => value <= number || equal,
        Operator::More => value > number && !equal,
        Operator::AtLeast => value >= number || equal,
        Operator::Equal => equal,
        Operator::Unequal => !equal,
        Operator::Contains => value.to_string().contains(text),
    }
}

fn compare_text(value: &str, operator: Operator, text: &str, number: Option<f64>) -> bool {
    match operator {
        Operator::Equal => same_text(value, text),
        Operator::Unequal => !same_text(value, text),
        Operator::Contains => value.to_lowercase().contains(&text.to_lowercase()),
        _ => Value::parse_number(value).is_some_and(|value| compare_number(value, operator, text, number)),
    }
}

fn same_text(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use super::*;

    struct Run;

    impl Record for Run {
        fn value(&self, field: &str) -> Option<Value> {
            Some(match field {
                "loss" => Value::Number(1.5),
                "bad" => Value::Number(f64::NAN),
                "parameters" => Value::Number(1_240_000.0),
                "attention.reuse.kind" => Value::Text("first".to_owned()),
                "tag" => Value::List(vec!["Paper".to_owned(), "seeds 1-3".to_owned()]),
                "not" => Value::Number(1.0),
                _ => return None,
            })
        }

        fn has_word(&self, word: &str) -> bool {
            ["grammar decoder", "paper"].iter().any(|text| text.contains(word))
        }
    }

    fn matches(text: &str) -> bool {
        Filter::parse(text).unwrap_or_else(|error| panic!("{text}: {}", error.describe(text))).matches(&Run)
    }

    #[test]
    fn comparisons() {
        for text in [
            "",
            "  ",
            "loss<2",
            "loss <= 1.5",
            "loss>=1.5",
            "loss = 1.5",
            "loss != 2",
            "parameters>1M and parameters<1300k",
            "parameters = 1,240,000",
            "attention.reuse.kind=\"first\"",
            "attention.reuse.kind = FIRST",
            "attention.reuse.kind~irs",
            "tag=paper",
            "tag~seeds",
            "tag='seeds 1-3'",
            "tag != draft",
            "missing != 3",
            "bad = nan",
            "bad != 3",
            "not=1",
        ] {
            assert!(matches(text), "{text}");
        }
        for text in ["loss<1.5", "loss>1.5", "loss!=1.5", "tag!=paper", "missing=3", "missing<3", "bad<3", "bad>3"] {
            assert!(!matches(text), "{text}");
        }
    }

    #[test]
    fn words_and_joints() {
        for text in [
            "Decoder",
            "grammar decoder",
            "\"grammar decoder\"",
            "encoder or decoder",
            "not encoder",
            "NOT encoder AND decoder",
            "(encoder or decoder) loss<2",
            "loss<2 and attention.reuse.kind=\"first\"",
            "not (loss>2 or encoder)",
            "encoder and decoder or paper",
        ] {
            assert!(matches(text), "{text}");
        }
        for text in ["encoder", "grammar encoder", "not decoder", "encoder and (decoder or paper)"] {
            assert!(!matches(text), "{text}");
        }
    }

    struct Called(&'static str, f64);

    impl Record for Called {
        fn value(&self, field: &str) -> Option<Value> {
            match field {
                "name" => Some(Value::Text(self.0.to_owned())),
                "seed" => Some(Value::Number(self.1)),
                _ => None,
            }
        }

        fn has_word(&self, word: &str) -> bool {
            self.0.to_lowercase().contains(word)
        }
    }

    #[test]
    fn a_run_is_found_by_its_name_with_the_seed_that_tells_it_from_others() {
        let finds = |text: &str, name, seed| Filter::parse(text).unwrap().matches(&Called(name, seed));
        for text in [
            "long: Standard, seed 2",
            "standard, seed 2",
            "Seed 2",
            "seed 2 standard",
            "standard, seed 2 (2)",
            "standard (2)",
            "\"standard, seed 2\"",
            "(seed 2)",
            "skip or seed 2",
            "not seed 3",
        ] {
            assert!(finds(text, "long: standard", 2.0), "{text}");
        }
        for text in ["seed 2", "standard, seed 2", "\"standard, seed 2\"", "standard and (2)", "standard, wide"] {
            assert!(!finds(text, "long: standard", 3.0), "{text}");
        }
        assert!(finds("seed 2", "seeds of 2 kinds", 7.0), "words of a name are found as ever");
        assert!(finds("seed = 7", "kinds", 7.0) && !finds("seed", "kinds", 7.0));
        assert!(!finds("skip P, seed 2", "long: standard", 2.0));
    }

    #[test]
    fn errors_say_what_and_where() {
        for (text, column, message) in [
            ("loss<", 5, "Expected a value after \"<\""),
            ("loss<two", 6, "compares numbers"),
            ("<2", 1, "Expected a field before"),
            ("(loss<2", 1, "not closed"),
            ("loss<2)", 7, "never opened"),
            ("loss<2 and", 11, "missing"),
            ("or loss", 1, "before `or`"),
            ("a and and b", 7, "before `and`"),
            ("()", 2, "before \")\""),
            ("größe ! 3", 7, "!="),
            ("name=\"x", 6, "not closed"),
            ("tags:long", 1, "Write tags~long."),
            ("loss<2 not State:done", 12, "Write State~done."),
            ("name: long", 1, "Write name~word."),
            ("(seed:2)", 2, "Write seed=2."),
        ] {
            let error = Filter::parse(text).unwrap_err();
            assert_eq!(error.column(text), column, "{text}: {}", error.message);
            assert!(error.message.contains(message), "{text}: {}", error.message);
        }
        assert!(Filter::parse(&"(".repeat(100_000)).is_err());
        assert!(Filter::parse(&"not ".repeat(100_000)).is_err());
        assert!(Filter::parse(&"word ".repeat(100_000)).is_err());
    }

    #[test]
    fn a_colon_in_a_word_or_a_value_is_no_error() {
        for text in ["race:long", "\"state:done\"", "tag=race:long", "tag:long", "seed: two", "long: standard"] {
            let read = Filter::parse(text);
            assert!(read.is_ok(), "{text}: {read:?}");
        }
    }

    #[test]
    fn compared_fields_are_known_with_their_place() {
        let filter = Filter::parse("a (b<1 or not c.d=2) \"e\"").unwrap();
        assert_eq!(filter.fields(), [("b", 3..4), ("c.d", 14..17)]);
        assert!(Filter::parse(" ").unwrap().is_everything());
    }

    #[test]
    fn numbers_are_read_with_their_prefix_and_words_are_not() {
        assert_eq!(Value::parse_number("1.2M"), Some(1.2e6));
        assert_eq!(Value::parse_number("-3e-4"), Some(-3e-4));
        for word in ["", "k", "nan", "inf", "M", "two", "3x"] {
            assert_eq!(Value::parse_number(word), None, "{word}");
        }
    }
}
