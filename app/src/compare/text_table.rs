//! A table that leaves the window as text.

use std::fmt::Write as _;

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
    /// GitHub's Markdown. Columns whose every filled cell is a number are set to the right.
    pub fn to_markdown(&self) -> String {
        let clean = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " ");
        let mut out = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = String>| {
            out.push('|');
            for cell in cells {
                let _ = write!(out, " {cell} |");
            }
            out.push('\n');
        };
        line(&mut self.header.iter().map(|title| clean(title)));
        line(&mut self.numeric().into_iter().map(|numeric| if numeric { "---:" } else { "---" }.to_owned()));
        for row in &self.rows {
            line(&mut self.padded(row).map(|cell| clean(&cell.shown)));
        }
        out
    }

    /// RFC 4180 with `\n` line ends; numbers at full precision with a point, non-finite ones as `NaN`, `inf`, `-inf`.
    pub fn to_csv(&self) -> String {
        let quote = |text: &str| {
            if text.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_owned()
            }
        };
        let mut out = String::new();
        let mut line = |cells: Vec<String>| {
            out.push_str(&cells.join(","));
            out.push('\n');
        };
        line(self.header.iter().map(|title| quote(title)).collect());
        for row in &self.rows {
            line(
                self.padded(row)
                    .map(|cell| cell.exact.map_or_else(|| quote(&cell.shown), |exact| exact.to_string()))
                    .collect(),
            );
        }
        out
    }

    /// A `tabular` with the rules of the `booktabs` package.
    pub fn to_latex(&self) -> String {
        let columns: String = self.numeric().into_iter().map(|numeric| if numeric { 'r' } else { 'l' }).collect();
        let mut out = format!("% Needs \\usepackage{{booktabs}}.\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n");
        let titles: Vec<String> = self.header.iter().map(|title| latex(title)).collect();
        let _ = writeln!(out, "{} \\\\\n\\midrule", titles.join(" & "));
        for row in &self.rows {
            let cells: Vec<String> = self.padded(row).map(|cell| latex(&cell.shown)).collect();
            let _ = writeln!(out, "{} \\\\", cells.join(" & "));
        }
        out.push_str("\\bottomrule\n\\end{tabular}\n");
        out
    }

    /// Which columns hold numbers only.
    fn numeric(&self) -> Vec<bool> {
        (0..self.header.len())
            .map(|column| {
                let mut filled =
                    self.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.shown.is_empty()).peekable();
                filled.peek().is_some() && filled.all(|cell| cell.exact.is_some())
            })
            .collect()
    }

    /// The row's cells, filled up with empty ones to the width of the header.
    fn padded<'a>(&self, row: &'a [Cell]) -> impl Iterator<Item = &'a Cell> {
        static EMPTY: Cell = Cell { shown: String::new(), exact: None };
        row.iter().chain(std::iter::repeat(&EMPTY)).take(self.header.len())
    }
}

/// Text with LaTeX's own characters escaped, and the typographic ones that the window uses written in LaTeX.
fn latex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(letter);
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '\u{2212}' => out.push_str("$-$"),
            '±' => out.push_str("$\\pm$"),
            '∞' => out.push_str("$\\infty$"),
            'µ' => out.push_str("$\\mu$"),
            '\n' | '\r' => out.push(' '),
            other => out.push(other),
        }
    }
    out
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
    fn markdown_escapes_bars_and_aligns_numbers() {
        let text = table().to_markdown();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "| Run | Loss, nats |");
        assert_eq!(lines[1], "| --- | ---: |");
        assert_eq!(lines[2], "| a\\|b & \"c\" | 1.235 |");
        assert_eq!(lines[4], "| short |  |");
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
    fn latex_is_escaped() {
        let text = table().to_latex();
        assert!(text.contains("\\begin{tabular}{lr}"));
        assert!(text.contains("Run & Loss, nats \\\\\n\\midrule\n"), "{text}");
        assert!(text.contains("50 \\%\\_x & $-$0.5000 \\\\"));
        assert!(text.contains("a|b \\& \"c\" & 1.235"));
    }
}
