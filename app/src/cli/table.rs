use headroom_engine::text::escaped_line;

use super::plain;

/// A plain table: columns as wide as their widest cell, numbers to the right. A cell is one line: line breaks in it are
/// spelled out, so that no name can begin a row of its own.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub fn new(headings: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut table = Self::default();
        table.row(headings);
        table
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let line = |cell: String| escaped_line(&cell).into_owned();
        self.rows.push(cells.into_iter().map(Into::into).map(line).collect());
    }

    /// The table as text, a newline after every row.
    pub fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
        let width = |column| self.rows.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        // A column of numbers: nothing but numbers and dashes under its heading.
        let is_numeric = |column: usize| {
            self.rows.len() > 1
                && self.rows.iter().skip(1).all(|row| {
                    let text = cell(row, column);
                    text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit() || ['+', '-'].contains(&c))
                })
        };
        let numeric: Vec<bool> = (0..columns).map(is_numeric).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (&width, &right)) in widths.iter().zip(&numeric).enumerate() {
                let value = cell(row, column);
                let gap = " ".repeat(width.saturating_sub(value.chars().count()));
                let (before, after) = if right { (gap.as_str(), "") } else { ("", gap.as_str()) };
                line.extend([before, &value, after, "  "]);
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// A number or a dash.
pub fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), plain::number)
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn no_cell_begins_a_row_of_its_own() {
        let mut table = Table::new(["a\nb"]);
        table.row(["x\ny\u{1b}[2J"]);
        assert_eq!(table.text(), "a\\nb\nx\\ny\\u{1b}[2J\n");
    }

    #[test]
    fn columns_line_up_and_numbers_stand_right() {
        let mut table = Table::new(["name", "loss"]);
        table.row(["a", "10.5"]);
        table.row(["longer", "2.25"]);
        assert_eq!(table.text(), "name    loss\na       10.5\nlonger  2.25\n");
    }
}
