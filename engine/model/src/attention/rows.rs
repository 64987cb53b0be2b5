//! A table of heads as text, a line a layer: `c` = computes, `1.3` = borrows from layer 1 head 3, `-` = is not there.

use super::{Draft, HeadAt};
use crate::config::Problem;

/// Field that problems of the text are reported at.
pub(super) const FIELD: &str = "attention.reuse.rows";

/// Reads the rows of a table for `layers` layers of `heads` heads. Whether its lenders are legal is not judged here.
///
/// # Errors
/// Every cell that cannot be read, and every size that does not fit, at once.
pub(super) fn parse(rows: &[String], layers: usize, heads: usize) -> Result<Vec<Vec<Draft>>, Vec<Problem>> {
    let mut problems = Vec::new();
    if rows.len() != layers {
        problems.push(Problem::new(
            FIELD,
            format!("the table has {} rows, the model {layers} layers; write a row for each layer", rows.len()),
        ));
    }
    let mut drafts = Vec::with_capacity(rows.len());
    for (layer, row) in rows.iter().enumerate() {
        let cells: Vec<&str> = row.split_whitespace().collect();
        if cells.len() != heads {
            problems.push(Problem::new(
                FIELD,
                format!("the row of layer {layer} has {} heads, the model {heads}", cells.len()),
            ));
        }
        let mut drafted = Vec::with_capacity(cells.len());
        for (head, cell) in cells.into_iter().enumerate() {
            match draft(cell) {
                Some(draft) => drafted.push(draft),
                None => problems.push(Problem::new(
                    FIELD,
                    format!(
                        "\"{cell}\" at layer {layer} head {head} is not known; write c (computes), 0.1 (borrows from \
                         layer 0 head 1) or - (does not exist)"
                    ),
                )),
            }
        }
        drafts.push(drafted);
    }
    if problems.is_empty() { Ok(drafts) } else { Err(problems) }
}

fn draft(cell: &str) -> Option<Draft> {
    match cell {
        "c" => Some(Draft::Compute),
        "-" => Some(Draft::Skip),
        _ => {
            let (layer, head) = cell.split_once('.')?;
            Some(Draft::Borrow { from: HeadAt::new(layer.parse().ok()?, head.parse().ok()?) })
        }
    }
}

/// The text of a row; [`parse`] reads it.
pub(super) fn text(row: impl IntoIterator<Item = Draft>) -> String {
    let cell = |draft| match draft {
        Draft::Compute => "c".to_owned(),
        Draft::Skip => "-".to_owned(),
        Draft::Borrow { from } => format!("{}.{}", from.layer, from.head),
    };
    row.into_iter().map(cell).collect::<Vec<_>>().join(" ")
}
