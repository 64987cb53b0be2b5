use headroom_config::text::csv_cell;

use super::MapFigure;

/// The figure as CSV (RFC 4180, `\n` line ends): a header with the names of the columns, then a line for each row that
/// begins with its name. Numbers are written in full, so that reading them gives the same bits; a cell without a value is
/// empty.
pub fn map_to_csv(figure: &MapFigure) -> String {
    let corner = match (figure.row_axis.title.as_str(), figure.column_axis.title.as_str()) {
        ("", "") => String::new(),
        (rows, columns) => format!("{rows} \\ {columns}"),
    };
    let mut out = csv_cell(&corner).into_owned();
    let is_between = |at: &usize| figure.blocks.as_ref().is_some_and(|blocks| blocks.is_between(*at));
    let (rows, columns) = (figure.rows.clone(), figure.columns.clone());
    for column in columns.clone().filter(|at| !is_between(at)) {
        out.push(',');
        out.push_str(&csv_cell(&figure.column_axis.name(column)));
    }
    out.push('\n');
    for row in rows.filter(|at| !is_between(at)) {
        out.push_str(&csv_cell(&figure.row_axis.name(row)));
        for column in columns.clone().filter(|at| !is_between(at)) {
            out.push(',');
            let value = figure.data.at(row, column);
            if !value.is_nan() {
                out.push_str(&value.to_string());
            }
        }
        out.push('\n');
    }
    out
}
