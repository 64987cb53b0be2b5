use super::Column;
use crate::widgets;

/// Ids of the columns that are no data.
pub(super) const EYE: &str = "eye";
pub(super) const MENU: &str = "menu";

/// The columns as the table takes them.
pub(super) fn table_columns<'a>(
    columns: &'a [(String, Column)],
    headings: &'a [String],
    has_tags: bool,
) -> Vec<widgets::Column<'a>> {
    let eye = widgets::Column::text(EYE, "Shown", 66.0)
        .help("Whether charts show the run (Space), and the colour it has there")
        .always()
        .unsorted();
    let menu = widgets::Column::text(MENU, "", 34.0).help("What can be done with the run").always().unsorted();
    let mut all = vec![eye];
    for ((title, column), heading) in columns.iter().zip(headings) {
        let width = column.width();
        let shown = if column.is_number() {
            widgets::Column::number(title, title, width)
        } else {
            widgets::Column::text(title, title, width)
        };
        let shown = shown.short(heading).rank(column.rank(has_tags));
        if *column == Column::Name {
            all.extend([shown.always().grows(), menu.clone()]);
        } else {
            all.push(shown);
        }
    }
    all
}
