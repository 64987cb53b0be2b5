use serde::{Deserialize, Serialize};

/// One thing that is wrong with a config, at one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Dotted path of the field as in the TOML file, such as `model.heads`.
    pub field: String,
    /// What is wrong and which values are allowed, as a sentence.
    pub message: String,
}

impl Problem {
    /// A problem at `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }

    /// The same problem of an answer about attention in a table of its own, such as `[attention.cross]`.
    #[must_use]
    pub fn within(self, table: &str) -> Self {
        let rest = self.field.strip_prefix("attention.").unwrap_or(&self.field);
        Self { field: format!("attention.{table}.{rest}"), message: self.message }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}
