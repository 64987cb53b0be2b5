use std::borrow::Cow;

/// What makes a spreadsheet take a cell for a formula, in ASCII and in full width.
const FORMULA_STARTS: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// One CSV cell after RFC 4180: in quotes where it holds a comma, a quote, a line break, a tab or outer spaces. A cell that
/// a spreadsheet would run as a formula gets a single quote before it; numbers are left as they are.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(FORMULA_STARTS) && text != "-" && !is_number(text);
    let has_outer_space = text.starts_with(' ') || text.ends_with(' ');
    let needs_quotes = has_outer_space || text.contains([',', '"', '\n', '\r', '\t']);
    let mark = if is_formula { "'" } else { "" };
    if needs_quotes {
        Cow::Owned(format!("\"{mark}{}\"", text.replace('"', "\"\"")))
    } else if is_formula {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether it is a number as tables show them: `-1.5`, `+inf`, `-1,234`, `+12.5 %`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_suffix('%').map_or(text, str::trim_end).replace(',', "");
    digits.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_as_rfc_4180_wants() {
        for (text, cell) in [
            ("plain", "plain"),
            ("a, \"b\"", "\"a, \"\"b\"\"\""),
            (" a", "\" a\""),
            ("two\nlines", "\"two\nlines\""),
            ("", ""),
        ] {
            assert_eq!(csv_cell(text), cell);
        }
    }

    #[test]
    fn no_spreadsheet_runs_a_name_and_numbers_stay_numbers() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("+cmd", "'+cmd"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
            ("=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\""),
            ("\u{ff1d}1", "'\u{ff1d}1"),
        ] {
            assert_eq!(csv_cell(text), cell);
        }
        for number in ["-1.5", "+1.5", "-inf", "+inf", "-NaN", "-1e-300", "-", "+12.5 %", "-0"] {
            assert_eq!(csv_cell(number), number);
        }
        assert_eq!(csv_cell("-1,234"), "\"-1,234\"");
    }
}
