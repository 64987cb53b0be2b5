use std::path::Path;

use serde_json::Value;

use crate::config::nearest;
use crate::data::DataError;

/// The texts in `field` of every line. A list of texts is joined by blanks; null is no text; blank lines are passed
/// over.
pub(super) fn documents(text: &str, field: &str, path: &Path, push: &mut impl FnMut(&str)) -> Result<(), DataError> {
    for (line, content) in (1..).zip(text.split('\n')) {
        if content.trim().is_empty() {
            continue;
        }
        let broken = |why: String| DataError::BrokenJson { path: path.to_owned(), line, why };
        let object = match serde_json::from_str(content).map_err(|error| broken(reason(&error)))? {
            Value::Object(object) => object,
            other => return Err(broken(format!("it is {}", kind(&other)))),
        };
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

/// The parser's words without its line number, which counts within the line; with the column.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let words = text.split(" at line ").next().unwrap_or(&text);
    format!("{words} at character {}", error.column())
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
