use std::collections::BTreeMap;

/// A finished figure that is no chart of curves: its picture, and the numbers of exactly what it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// Its title; gives the file its name.
    pub title: String,
    /// The picture as a complete SVG document.
    pub svg: String,
    /// The numbers as CSV.
    pub csv: String,
    /// Key to text, written into the file.
    pub metadata: BTreeMap<String, String>,
}
