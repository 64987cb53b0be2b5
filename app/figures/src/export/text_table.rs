//! Tables as text: aligned for a terminal, or as Markdown, CSV and LaTeX.

use std::borrow::Cow;

use headroom_config::text::{csv_cell, escaped_line, is_deceptive};

use crate::format::MINUS;

/// One cell.
#[derive(Clone, Debug, Default, PartialEq)]
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

impl<T: Into<String>> From<T> for Cell {
    fn from(shown: T) -> Self {
        Self::text(shown)
    }
}

/// A header and rows; of a table of facts rows alone. Rows may be shorter than the header.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextTable {
    /// Column titles.
    pub header: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<Cell>>,
}

impl TextTable {
    /// A table with these headings and no rows.
    pub fn new(headings: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { header: headings.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// The same with these rows.
    pub fn with_rows<R: IntoIterator<Item = impl Into<Cell>>>(mut self, rows: impl IntoIterator<Item = R>) -> Self {
        rows.into_iter().for_each(|row| self.row(row));
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Columns as wide as their widest cell, numbers to the right, a newline after every row. Line breaks in a cell are spelled
    /// out, so that no name can begin a row of its own.
    pub fn to_plain(&self) -> String {
        let lines: Vec<Vec<Cow<'_, str>>> =
            self.lines().map(|row| row.into_iter().map(escaped_line).collect()).collect();
        let columns = lines.iter().map(Vec::len).max().unwrap_or_default();
        let cell =
            |row: &'_ [Cow<'_, str>], column: usize| row.get(column).map_or_else(String::new, ToString::to_string);
        let width = |column| lines.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or_default();
        let layout: Vec<(usize, bool)> = (0..columns).map(|column| (width(column), self.is_numeric(column))).collect();
        let mut text = String::new();
        for row in &lines {
            let mut line = String::new();
            for (column, (width, is_numeric)) in layout.iter().enumerate() {
                let value = cell(row, column);
                let gap = " ".repeat(width.saturating_sub(value.chars().count()));
                let (before, after) = if *is_numeric { (gap.as_str(), "") } else { ("", gap.as_str()) };
                line.extend([before, &value, after, "  "]);
            }
            text.extend([line.trim_end(), "\n"]);
        }
        text
    }

    /// GitHub's Markdown. Columns of numbers are set to the right.
    pub fn to_markdown(&self) -> String {
        let alignment = |column| if self.is_numeric(column) { "---:" } else { ":---" };
        let rule: Vec<&str> = (0..self.header.len()).map(alignment).collect();
        let mut lines = self.lines().map(|row| row.into_iter().map(markdown_cell).collect::<Vec<_>>().join(" | "));
        let heading = lines.next().unwrap_or_default();
        let mut out = String::new();
        for line in [heading, rule.join(" | ")].into_iter().chain(lines) {
            out.extend(["| ", &line, " |\n"]);
        }
        out
    }

    /// RFC 4180 with `\n` line ends; numbers at full precision with a point, non-finite ones as `NaN`, `inf`, `-inf`.
    pub fn to_csv(&self) -> String {
        let heading = self.header.iter().map(|title| csv_cell(title)).collect::<Vec<_>>().join(",");
        let written = |cell: &Cell| match cell.exact {
            Some(exact) => exact.to_string(),
            None => csv_cell(&cell.shown).into_owned(),
        };
        let rows = self.rows.iter().map(|row| self.padded(row).map(written).collect::<Vec<_>>().join(","));
        std::iter::once(heading).chain(rows).map(|line| line + "\n").collect()
    }

    /// The same with every cell on one line: line breaks in it are spelled out.
    pub fn to_csv_lines(&self) -> String {
        let mut table = self.clone();
        for text in table.header.iter_mut().chain(table.rows.iter_mut().flatten().map(|cell| &mut cell.shown)) {
            *text = escaped_line(text).into_owned();
        }
        table.to_csv()
    }

    /// A `tabular` with the rules of the `booktabs` package. Columns of numbers are set to the right.
    pub fn to_latex(&self) -> String {
        let alignment = |column| if self.is_numeric(column) { 'r' } else { 'l' };
        let columns: String = (0..self.header.len()).map(alignment).collect();
        let line = |row: Vec<&str>| row.into_iter().map(latex_cell).collect::<Vec<_>>().join(" & ") + " \\\\\n";
        let mut lines = self.lines().map(line);
        let heading = lines.next().unwrap_or_default();
        let mut out = format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n{heading}\\midrule\n");
        out.extend(lines);
        out + "\\bottomrule\n\\end{tabular}\n"
    }

    /// Lines as they are shown, the header first where there is one.
    fn lines(&self) -> impl Iterator<Item = Vec<&str>> {
        let header = (!self.header.is_empty()).then(|| self.header.iter().map(String::as_str).collect());
        let rows = self.rows.iter().map(|row| self.padded(row).map(|cell| cell.shown.as_str()).collect());
        header.into_iter().chain(rows)
    }

    /// The row's cells, filled up with empty ones to the width of the header.
    fn padded<'a>(&self, row: &'a [Cell]) -> impl Iterator<Item = &'a Cell> {
        static EMPTY: Cell = Cell { shown: String::new(), exact: None };
        row.iter().chain(std::iter::repeat_n(&EMPTY, self.header.len().saturating_sub(row.len())))
    }

    /// True when every cell of the column that is neither empty nor a dash starts like a number, and there is one.
    fn is_numeric(&self, column: usize) -> bool {
        let mut found = false;
        for cell in self.rows.iter().filter_map(|row| row.get(column)) {
            let text = cell.shown.trim_start_matches([MINUS, '-', '+', '±']);
            match text.chars().next() {
                None => {}
                Some(c) if c.is_ascii_digit() || c == '∞' || text == "NaN" => found = true,
                Some(_) => return false,
            }
        }
        found
    }
}

fn markdown_cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '~' | '$' | '&' => out.extend(['\\', c]),
            c if is_deceptive(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn latex_cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '±' => out.push_str("$\\pm$"),
            '∞' => out.push_str("$\\infty$"),
            'µ' => out.push_str("$\\mu$"),
            MINUS => out.push_str("$-$"),
            c if is_deceptive(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let rows = [["a|b_c", "−0.5", "x & y, 100 %"], ["say \"hi\"\nthere", "1,234", ""]];
        TextTable::new(["Run", "Loss", "Note"]).with_rows(rows)
    }

    #[test]
    fn csv_quotes_what_needs_it_and_keeps_full_precision() {
        let mut table = table();
        table.row([Cell::text("short"), Cell::number(1.234_567_890_123, "1.235")]);
        let expected =
            "Run,Loss,Note\na|b_c,−0.5,\"x & y, 100 %\"\n\"say \"\"hi\"\"\nthere\",\"1,234\",\nshort,1.234567890123,\n";
        assert_eq!(table.to_csv(), expected);
        assert!(table.to_csv_lines().contains("\n\"say \"\"hi\"\"\\nthere\","), "{}", table.to_csv_lines());
    }

    #[test]
    fn markdown_escapes_and_aligns_numbers_right() {
        assert_eq!(
            table().to_markdown(),
            "| Run | Loss | Note |\n| :--- | ---: | :--- |\n| a\\|b\\_c | −0.5 | x \\& y, 100 % |\n| say \"hi\" there | 1,234 |  |\n"
        );
    }

    #[test]
    fn latex_escapes_every_special_character() {
        assert_eq!(
            table().to_latex(),
            "\\begin{tabular}{lrl}\n\\toprule\nRun & Loss & Note \\\\\n\\midrule\na\\textbar{}b\\_c & $-$0.5 & x \\& y, 100 \\% \\\\\nsay \"hi\" there & 1,234 &  \\\\\n\\bottomrule\n\\end{tabular}\n"
        );
        assert_eq!(
            latex_cell("\\{}$#~^<>"),
            "\\textbackslash{}\\{\\}\\$\\#\\textasciitilde{}\\textasciicircum{}\\textless{}\\textgreater{}"
        );
    }

    #[test]
    fn no_cell_begins_a_row_of_its_own_on_a_terminal() {
        let table = TextTable::new(["a\nb"]).with_rows([["x\ny\u{1b}[2J"]]);
        assert_eq!(table.to_plain(), "a\\nb\nx\\ny\\u{1b}[2J\n");
    }

    #[test]
    fn columns_line_up_and_numbers_stand_right() {
        let facts = TextTable::default().with_rows([["state", "done"], ["id", "x"]]);
        assert_eq!(facts.to_plain(), "state  done\nid     x\n");
        let table = TextTable::new(["name", "loss"]).with_rows([["a", "10.5"], ["longer", "2.25"]]);
        assert_eq!(table.to_plain(), "name    loss\na       10.5\nlonger  2.25\n");
    }
}
