use std::{collections::BTreeMap, ops::Range};

use crate::plot::{HeatAxis, HeatData, Tone};

/// A heat map, ready to be written as SVG, PNG or CSV.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MapFigure {
    /// Above the map.
    pub title: String,
    /// Under the title, smaller. May be empty.
    pub subtitle: String,
    /// All values.
    pub data: HeatData,
    /// The rows that are shown.
    pub rows: Range<usize>,
    /// The columns that are shown.
    pub columns: Range<usize>,
    /// What rows are.
    pub row_axis: HeatAxis,
    /// What columns are.
    pub column_axis: HeatAxis,
    /// Which colour a value has.
    pub tone: Tone,
    /// What the values are.
    pub value: String,
    /// Whether cells need not be squares.
    pub is_stretched: bool,
    /// Small print under the figure.
    pub notes: Vec<String>,
    /// Key to text, written into the file: config, program version.
    pub metadata: BTreeMap<String, String>,
}

impl MapFigure {
    /// A figure of a whole map.
    pub fn new(title: impl Into<String>, data: HeatData, axes: (HeatAxis, HeatAxis), tone: Tone) -> Self {
        Self {
            title: title.into(),
            subtitle: String::new(),
            rows: 0..data.rows(),
            columns: 0..data.columns(),
            data,
            row_axis: axes.0,
            column_axis: axes.1,
            tone,
            value: String::new(),
            is_stretched: false,
            notes: Vec::new(),
            metadata: BTreeMap::new(),
        }
    }

    /// What the values are, beside the colour bar.
    #[must_use]
    pub fn value(self, value: &str) -> Self {
        Self { value: value.to_owned(), ..self }
    }

    /// What it is of: the line under the title, and what the file says of its origin.
    #[must_use]
    pub fn origin(self, subtitle: String, metadata: BTreeMap<String, String>) -> Self {
        Self { subtitle, metadata, ..self }
    }

    /// Only the part that is seen.
    #[must_use]
    pub fn seen(mut self, (rows, columns): (Range<usize>, Range<usize>)) -> Self {
        (self.rows, self.columns) = (rows, columns);
        self
    }
}
