use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::ConfigError;

/// A field of the config and the values that it takes, one point each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Dotted path of the field, such as `data.sequence_length`.
    pub field: String,
    /// The values as in the TOML file; a bare word counts as text.
    pub values: Vec<String>,
}

/// One field with one value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// Dotted path of the field.
    pub field: String,
    /// The value as in the TOML file.
    pub value: String,
}

impl Setting {
    /// The setting as an override of a config.
    pub fn to_override(&self) -> String {
        format!("{}={}", self.field, self.value)
    }
}

/// A variant of a config: a name and what it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// What it is called in tables and charts.
    pub name: String,
    /// Overrides such as `model.heads=8`.
    pub overrides: Vec<String>,
}

/// Why something cannot be swept or raced.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SpecError {
    /// An axis is not `field=value,value`.
    #[error("Cannot use the axis `{given}`: {why}. Write it as `data.sequence_length=128,256,512`.")]
    Axis {
        /// What was given.
        given: String,
        /// What is wrong with it.
        why: String,
    },
    /// A side is not `NAME:field=value,field=value`.
    #[error(
        "Cannot use `{given}`: {why}. Write a name and what it changes, as in `narrow:model.width=128,model.heads=2`."
    )]
    Side {
        /// What was given.
        given: String,
        /// What is wrong with it.
        why: String,
    },
    /// An axis or a side names a field or a value that no config has.
    #[error("{place}: {error}")]
    Config {
        /// The axis or side.
        place: String,
        /// What is wrong with it.
        error: ConfigError,
    },
    /// Something else about the sweep.
    #[error("{0}")]
    Other(String),
}

impl Axis {
    /// The field and the values that were typed, whatever is wrong with them: none without `=`, an empty one where nothing stands
    /// between two commas.
    pub fn as_typed(text: &str) -> Self {
        let (field, values) = match text.split_once('=') {
            None => (text, Vec::new()),
            Some((field, values)) => {
                let values = values.trim();
                let inner = values.strip_prefix('[').and_then(|values| values.strip_suffix(']')).unwrap_or(values);
                (field, split(inner))
            }
        };
        Self { field: field.trim().to_owned(), values }
    }

    /// Values that are there more than once, each told once.
    pub(super) fn doubled(&self) -> Vec<&str> {
        let mut doubled: Vec<&str> = Vec::new();
        for (place, value) in self.values.iter().enumerate() {
            let is_again = self.values.iter().take(place).any(|before| is_same(before, value));
            if is_again && !value.is_empty() && !doubled.contains(&value.as_str()) {
                doubled.push(value);
            }
        }
        doubled
    }
}

/// Whether two values are the same, also as numbers: 0.002 is 2e-3.
fn is_same(one: &str, other: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    one == other || number(one).zip(number(other)).is_some_and(|(one, other)| one == other)
}

impl FromStr for Axis {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let wrong = |why: &str| Err(SpecError::Axis { given: text.to_owned(), why: why.to_owned() });
        let axis = Self::as_typed(text);
        if axis.values.is_empty() {
            return wrong("it has no `=`");
        }
        if axis.field.is_empty() {
            return wrong("it names no field");
        }
        if axis.values.iter().any(String::is_empty) {
            return wrong("one of its values is empty");
        }
        if let Some(value) = axis.doubled().first() {
            return wrong(&format!("{value} is there twice"));
        }
        Ok(axis)
    }
}

impl std::fmt::Display for Axis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.field, self.values.join(","))
    }
}

impl FromStr for Side {
    type Err = SpecError;

    /// A name alone changes nothing: the base itself.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let wrong = |why: &str| SpecError::Side { given: text.to_owned(), why: why.to_owned() };
        let (name, overrides) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim().to_owned();
        if name.is_empty() {
            return Err(wrong("it has no name"));
        }
        if name.contains('=') {
            return Err(wrong("it has no name before its fields"));
        }
        let overrides = if overrides.trim().is_empty() { Vec::new() } else { split(overrides) };
        if let Some(bad) = overrides.iter().find(|given| !given.contains('=')) {
            return Err(wrong(&format!("`{bad}` has no `=`")));
        }
        Ok(Self { name, overrides })
    }
}

/// Cuts at commas that stand in no brackets, braces or quotes.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let (mut depth, mut quote) = (0_usize, None);
    for c in text.chars() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            ('{' | '[', None) => depth += 1,
            ('}' | ']', None) => depth = depth.saturating_sub(1),
            (',', None) if depth == 0 => {
                parts.push(std::mem::take(&mut part).trim().to_owned());
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    parts.push(part.trim().to_owned());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_and_sides_read_as_they_are_typed() {
        let axis: Axis = "data.sequence_length=128, 256,512".parse().unwrap();
        assert_eq!(
            (axis.field.as_str(), axis.values.as_slice()),
            ("data.sequence_length", &["128", "256", "512"].map(str::to_owned)[..])
        );
        assert_eq!("train.batch=[1,2]".parse::<Axis>().unwrap().values, ["1", "2"]);
        let axis: Axis =
            r#"train.schedule={ kind = "cosine", warmup_steps = 2 },{ kind = "constant" }"#.parse().unwrap();
        assert_eq!(axis.values.len(), 2);
        let side: Side = "narrow:model.width=64,model.heads=2".parse().unwrap();
        assert_eq!((side.name.as_str(), side.overrides.len()), ("narrow", 2));
        assert_eq!("base".parse::<Side>().unwrap().overrides, Vec::<String>::new());
    }

    #[test]
    fn what_is_no_axis_or_side_is_refused_with_an_example() {
        for bad in ["model.width", "=1,2", "model.width=", "model.width=1,,2", "model.width=8,8"] {
            let error = bad.parse::<Axis>().unwrap_err().to_string();
            assert!(error.contains(bad) && error.contains("data.sequence_length=128,256,512"), "{error}");
        }
        for bad in [":model.width=8", "model.width=8", "a:model.width"] {
            let error = bad.parse::<Side>().unwrap_err().to_string();
            assert!(error.contains(bad) && error.contains("narrow:"), "{error}");
        }
    }
}
