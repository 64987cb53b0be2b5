//! Places of texts and labels in files.

/// Place in a file of what is to be read, as far as somebody says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextPlace {
    /// The field of objects that holds plain text.
    pub field: Option<String>,
    /// The column of a table that holds plain text: its name, or its number from 1.
    pub column: Option<String>,
    /// The columns of the texts of a table with labels: their names, or their numbers from 0.
    pub texts: Vec<String>,
    /// The column of its labels.
    pub label: Option<String>,
}
