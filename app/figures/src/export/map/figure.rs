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
    /// Where several maps lie beside and below each other, how they do.
    pub blocks: Option<MapBlocks>,
    /// Small print under the figure.
    pub notes: Vec<String>,
    /// Key to text, written into the file: config, program version.
    pub metadata: BTreeMap<String, String>,
}

/// Maps of one size beside and below each other, a row or column without values between two of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapBlocks {
    /// Rows and columns of each.
    pub side: usize,
    /// What the rows of maps are called.
    pub rows: Vec<String>,
    /// What the columns of maps are called.
    pub columns: Vec<String>,
}

impl MapBlocks {
    /// Rows or columns of so many maps.
    fn length(&self, count: usize) -> usize {
        (count * (self.side + 1)).saturating_sub(1)
    }

    /// Whether a row or column lies between two maps.
    pub(super) fn is_between(&self, at: usize) -> bool {
        at % (self.side + 1) == self.side
    }
}

impl MapFigure {
    /// A figure of many maps of one size, each with its own values: `map` gives that of a row and a column of maps, none where
    /// there is none. `titles` say what rows and columns are.
    pub fn of_blocks<'a>(
        title: impl Into<String>,
        blocks: MapBlocks,
        titles: (&str, &str),
        map: impl Fn(usize, usize) -> Option<&'a HeatData>,
        tone: Tone,
    ) -> Self {
        let step = blocks.side + 1;
        let (rows, columns) = (blocks.length(blocks.rows.len()), blocks.length(blocks.columns.len()));
        let cell = |at: usize| {
            let (row, column) = (at / columns, at % columns);
            if blocks.is_between(row) || blocks.is_between(column) {
                return f32::NAN;
            }
            map(row / step, column / step).map_or(f32::NAN, |map| map.at(row % step, column % step))
        };
        let data = HeatData::new(rows, columns, (0..rows * columns).map(cell).collect());
        let names = |names: &[String], count: usize| -> Vec<String> {
            (0..count).map(|at| format!("{} {}", names.get(at / step).map_or("", String::as_str), at % step)).collect()
        };
        let row_axis = HeatAxis::names(titles.0, names(&blocks.rows, rows));
        let column_axis = HeatAxis::names(titles.1, names(&blocks.columns, columns));
        Self { blocks: Some(blocks), ..Self::new(title, data, (row_axis, column_axis), tone) }
    }

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
            blocks: None,
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
