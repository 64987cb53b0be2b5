//! A table that is copied as text.

use headroom_engine::text::csv_cell;

use crate::export::{rows_to_latex, rows_to_markdown};

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What people read, as on the screen.
    pub shown: String,
    /// The number behind it, for machines; CSV carries it at full precision.
    pub exact: Option<f64>,
}

impl Cell {
    /// Words.
    pub fn text(shown: impl Into<String>) -> Self {
        Self { shown: shown.into(), exact: None }
    }

    /// A number and how it is shown.
    pub fn number(exact: f64, shown: impl Into<String>) -> Self {
        Self { shown: shown.into(), exact: Some(exact) }
    }
}

/// A header and rows, to be copied as Markdown, CSV or LaTeX. Rows may be shorter than the header.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextTable {
    /// Column titles.
    pub header: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<Cell>>,
}

impl TextTable {
    /// GitHub's Markdown. Columns of numbers are set to the right.
    pub fn to_markdown(&self) -> String {
        rows_to_markdown(&self.titles(), &self.shown())
    }

    /// RFC 4180 with `\n` line ends; numbers at full precision with a point, non-finite ones as `NaN`, `inf`, `-inf`.
    pub fn to_csv(&self) -> String {
        let mut out = String::new();
        let mut line = |cells: Vec<String>| {
            out.push_str(&cells.join(","));
            out.push('\n');
        };
        line(self.header.iter().map(|title| csv_cell(title).into_owned()).collect());
        for row in &self.rows {
            line(
                self.padded(row)
                    .map(|cell| {
                        cell.exact.map_or_else(|| csv_cell(&cell.shown).into_owned(), |exact| exact.to_string())
                    })
                    .collect(),
            );
        }
        out
    }

    /// A `tabular` with the rules of the `booktabs` package.
    pub fn to_latex(&self) -> String {
        rows_to_latex(&self.titles(), &self.shown())
    }

    fn titles(&self) -> Vec<&str> {
        self.header.iter().map(String::as_str).collect()
    }

    fn shown(&self) -> Vec<Vec<&str>> {
        self.rows.iter().map(|row| row.iter().map(|cell| cell.shown.as_str()).collect()).collect()
    }

    /// The row's cells, filled up with empty ones to the width of the header.
    fn padded<'a>(&self, row: &'a [Cell]) -> impl Iterator<Item = &'a Cell> {
        static EMPTY: Cell = Cell { shown: String::new(), exact: None };
        row.iter().chain(std::iter::repeat(&EMPTY)).take(self.header.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        TextTable {
            header: vec!["Run".to_owned(), "Loss, nats".to_owned()],
            rows: vec![
                vec![Cell::text("a|b & \"c\""), Cell::number(1.234_567_890_123, "1.235")],
                vec![Cell::text("50 %_x"), Cell::number(-0.5, "\u{2212}0.5000")],
                vec![Cell::text("short")],
            ],
        }
    }

    #[test]
    fn csv_quotes_and_keeps_full_precision() {
        let text = table().to_csv();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "Run,\"Loss, nats\"");
        assert_eq!(lines[1], "\"a|b & \"\"c\"\"\",1.234567890123");
        assert_eq!(lines[2], "50 %_x,-0.5");
        assert_eq!(lines[3], "short,");
    }

    #[test]
    fn markdown_and_latex_show_what_the_screen_shows() {
        assert!(table().to_markdown().contains("| 1.235 |"));
        assert!(table().to_latex().contains("& 1.235 \\\\"));
    }
}
