use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// Columns up to which an array or an object stays on one line.
const WIDTH: usize = 110;

/// A JSON value that keeps the order of its keys and tells integers from floats.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The value of a key of an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        fields.iter().find_map(|(name, value)| (name == key).then_some(value))
    }

    /// The text of a string.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Name of the type, as a difference names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Integer(_) => "integer",
            Self::Float(_) => "float",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Indented text in which short arrays and objects stay on one line, and floats have six digits.
    pub fn pretty(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0);
        text.push('\n');
        text
    }

    fn write(&self, text: &mut String, depth: usize) {
        let line = self.to_string();
        if line.len() + 2 * depth <= WIDTH {
            text.push_str(&line);
            return;
        }
        let parts: Vec<(String, &Self)> = match self {
            Self::List(items) => items.iter().map(|item| (String::new(), item)).collect(),
            Self::Object(fields) => fields.iter().map(|(key, value)| (format!("{}: ", quoted(key)), value)).collect(),
            _ => return text.push_str(&line),
        };
        let (open, close) = if matches!(self, Self::List(_)) { ('[', ']') } else { ('{', '}') };
        let is_flat = |value: &Self| !matches!(value, Self::List(_) | Self::Object(_));
        let fills_lines = matches!(self, Self::List(_)) && parts.iter().all(|(_, value)| is_flat(value));
        text.push(open);
        let mut left = 0;
        for (place, (key, value)) in parts.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            let length = value.to_string().len() + 2;
            if fills_lines && length <= left {
                text.push(' ');
                left -= length;
            } else {
                text.push('\n');
                text.push_str(&"  ".repeat(depth + 1));
                left = WIDTH.saturating_sub(2 * depth + length);
            }
            text.push_str(key);
            value.write(text, depth + 1);
        }
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
        text.push(close);
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = |place: usize| if place == 0 { "" } else { ", " };
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{}", serde_json::Value::from(rounded(*value))),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::List(items) => {
                f.write_str("[")?;
                for (place, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", separator(place))?;
                }
                f.write_str("]")
            }
            Self::Object(fields) => {
                f.write_str("{")?;
                for (place, (key, value)) in fields.iter().enumerate() {
                    write!(f, "{}{}: {value}", separator(place), quoted(key))?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Six digits of a number: more would only differ from one processor to the next.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut fields = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            fields.push(entry);
        }
        Ok(Json::Object(fields))
    }
}
