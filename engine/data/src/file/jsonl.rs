use std::cell::Cell;
use std::path::Path;

use serde::de::DeserializeSeed as _;
use serde_json::{Map, Value};

use super::read::require_lines;
use crate::DataError;
use crate::config::nearest;
use crate::text::{Bounded, shortened};

/// The texts in `field` of every line. A list of texts is joined by blanks; null is no text; blank lines are passed
/// over.
pub(super) fn documents(text: &str, field: &str, path: &Path, push: &mut impl FnMut(&str)) -> Result<(), DataError> {
    require_lines(text, path)?;
    for (line, content) in (1..).zip(text.split('\n')) {
        if content.trim().is_empty() {
            continue;
        }
        let broken = |why: String| DataError::BrokenJson { path: path.to_owned(), line, why };
        let object = object(content).map_err(broken)?;
        let not_text = |found| DataError::NotText { path: path.to_owned(), line, field: field.to_owned(), found };
        match object.get(field) {
            Some(Value::String(document)) => push(document),
            Some(Value::Null) => {}
            Some(Value::Array(parts)) => {
                let parts: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
                push(&parts.ok_or_else(|| not_text("a list of other things than texts"))?.join(" "));
            }
            Some(other) => return Err(not_text(kind(other))),
            None => {
                return Err(DataError::MissingField {
                    path: path.to_owned(),
                    line,
                    field: field.to_owned(),
                    nearest: nearest(field, object.keys().map(String::as_str)).map(str::to_owned),
                    found: object.keys().cloned().collect(),
                });
            }
        }
    }
    Ok(())
}

/// Bytes of memory that the object of a line may take, beside four for each of its own.
const OBJECT_BYTES: usize = 64 << 20;

/// The object in a line.
///
/// # Errors
/// In words: what stands there instead.
pub(super) fn object(content: &str) -> Result<Map<String, Value>, String> {
    let budget = Cell::new(content.len().saturating_mul(4).saturating_add(OBJECT_BYTES));
    let mut json = serde_json::Deserializer::from_str(content);
    let read = Bounded(&budget).deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    match read.map_err(|error| reason(&error))? {
        Value::Object(object) => Ok(object),
        other => Err(format!("it is {}", kind(&other))),
    }
}

/// The parser's words without its line number, which counts within the line; with the column.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let words = text.split(" at line ").next().unwrap_or(&text);
    format!("{} at character {}", shortened(words, 200), error.column())
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a few megabytes took ninety times as much.
    #[test]
    fn the_object_of_a_line_is_bounded() {
        let nested = |count: usize| format!("{{\"a\":[{}0]}}", "{\"\":0},".repeat(count));
        assert_eq!(object(&nested(1000)).unwrap().len(), 1);
        let error = object(&nested(200_000)).unwrap_err();
        assert!(error.contains("larger than any"), "{error}");
        assert!(object(&format!("{{\"text\":\"{}\"}}", "x".repeat(1 << 20))).is_ok());
    }
}
