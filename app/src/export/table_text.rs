//! Tables as text, for the clipboard: Markdown, CSV, LaTeX. Pure functions of a header and rows of cells.

use std::borrow::Cow;
use std::fmt::Write as _;

use headroom_engine::text::{csv_cell, is_deceptive};

use crate::format::MINUS;

/// CSV with a header row and `\n` line ends. Rows shorter than the header are filled with empty cells.
pub fn rows_to_csv<S: AsRef<str>, R: AsRef<[S]>>(header: &[S], rows: &[R]) -> String {
    let mut out = String::new();
    for row in std::iter::once(header).chain(rows.iter().map(AsRef::as_ref)) {
        let cells: Vec<Cow<'_, str>> = cells(row, header.len()).map(csv_cell).collect();
        out.push_str(&cells.join(","));
        out.push('\n');
    }
    out
}

/// A Markdown table (GitHub's dialect). Columns whose cells are all numbers are aligned right.
pub fn rows_to_markdown<S: AsRef<str>, R: AsRef<[S]>>(header: &[S], rows: &[R]) -> String {
    let escape = |text: &str| {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '|' | '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '~' | '$' | '&' => out.extend(['\\', c]),
                c if is_deceptive(c) => out.push(' '),
                c => out.push(c),
            }
        }
        out
    };
    let line = |row: &[S]| format!("| {} |\n", cells(row, header.len()).map(escape).collect::<Vec<_>>().join(" | "));
    let rule: Vec<&str> =
        (0..header.len()).map(|column| if is_numeric(rows, column) { "---:" } else { ":---" }).collect();
    let mut out = line(header);
    let _ = writeln!(out, "| {} |", rule.join(" | "));
    for row in rows {
        out.push_str(&line(row.as_ref()));
    }
    out
}

/// A LaTeX `tabular` with `booktabs` rules. Columns whose cells are all numbers are aligned right.
pub fn rows_to_latex<S: AsRef<str>, R: AsRef<[S]>>(header: &[S], rows: &[R]) -> String {
    let line =
        |row: &[S]| format!("{} \\\\\n", cells(row, header.len()).map(latex_cell).collect::<Vec<_>>().join(" & "));
    let columns: String = (0..header.len()).map(|column| if is_numeric(rows, column) { 'r' } else { 'l' }).collect();
    let mut out = format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\\midrule\n", line(header));
    for row in rows {
        out.push_str(&line(row.as_ref()));
    }
    out.push_str("\\bottomrule\n\\end{tabular}\n");
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

fn cells<S: AsRef<str>>(row: &[S], columns: usize) -> impl Iterator<Item = &str> {
    row.iter().map(AsRef::as_ref).chain(std::iter::repeat("")).take(columns)
}

/// True when every non-empty cell of the column starts like a number, and there is one.
fn is_numeric<S: AsRef<str>, R: AsRef<[S]>>(rows: &[R], column: usize) -> bool {
    let mut found = false;
    for row in rows {
        let Some(cell) = row.as_ref().get(column) else { continue };
        let text = cell.as_ref().trim_start_matches([MINUS, '-', '+', '±']);
        match text.chars().next() {
            None => {}
            Some(c) if c.is_ascii_digit() || c == '∞' || text == "NaN" => found = true,
            Some(_) => return false,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [&str; 3] = ["Run", "Loss", "Note"];
    const ROWS: [[&str; 3]; 2] = [["a|b_c", "−0.5", "x & y, 100 %"], ["say \"hi\"\nthere", "1,234", ""]];

    #[test]
    fn csv_quotes_what_needs_it() {
        assert_eq!(
            rows_to_csv(&HEADER, &ROWS),
            "Run,Loss,Note\na|b_c,−0.5,\"x & y, 100 %\"\n\"say \"\"hi\"\"\nthere\",\"1,234\",\n"
        );
    }

    #[test]
    fn markdown_escapes_and_aligns_numbers_right() {
        assert_eq!(
            rows_to_markdown(&HEADER, &ROWS),
            "| Run | Loss | Note |\n| :--- | ---: | :--- |\n| a\\|b\\_c | −0.5 | x \\& y, 100 % |\n| say \"hi\" there | 1,234 |  |\n"
        );
    }

    #[test]
    fn latex_escapes_every_special_character() {
        assert_eq!(
            rows_to_latex(&HEADER, &ROWS),
            "\\begin{tabular}{lrl}\n\\toprule\nRun & Loss & Note \\\\\n\\midrule\na\\textbar{}b\\_c & $-$0.5 & x \\& y, 100 \\% \\\\\nsay \"hi\" there & 1,234 &  \\\\\n\\bottomrule\n\\end{tabular}\n"
        );
        assert_eq!(
            latex_cell("\\{}$#~^<>"),
            "\\textbackslash{}\\{\\}\\$\\#\\textasciitilde{}\\textasciicircum{}\\textless{}\\textgreater{}"
        );
    }

    #[test]
    fn short_rows_are_filled() {
        assert_eq!(rows_to_csv(&["a", "b"], &[vec!["1"]]), "a,b\n1,\n");
    }
}
