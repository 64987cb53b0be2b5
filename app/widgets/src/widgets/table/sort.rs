use std::cmp::Ordering;

/// By which column the rows are sorted.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sorting {
    /// Id of the column.
    pub column: String,
    /// Largest first.
    pub descending: bool,
}

/// What rows are sorted by. Missing and NaN come last, whatever the direction.
#[derive(Clone, Debug, PartialEq)]
pub enum SortKey {
    /// By value.
    Number(f64),
    /// By text, ignoring case.
    Text(String),
    /// No value.
    Missing,
}

impl SortKey {
    fn is_missing(&self) -> bool {
        matches!(self, Self::Missing) || matches!(self, Self::Number(x) if x.is_nan())
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.to_lowercase().cmp(&b.to_lowercase()).then_with(|| a.cmp(b)),
            (Self::Number(_), _) => Ordering::Less,
            (_, Self::Number(_)) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

/// Sorts rows by a key, keeping the order of equal ones.
pub fn sort_rows<T>(rows: &mut [T], descending: bool, key: impl Fn(&T) -> SortKey) {
    rows.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        match (a.is_missing(), b.is_missing()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ if descending => b.compare(&a),
            _ => a.compare(&b),
        }
    });
}
