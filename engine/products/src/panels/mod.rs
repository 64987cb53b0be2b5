//! Products through panels, for processors with 512-bit vectors.
//!
//! Both factors are cut along the inner dimension and copied into panels: of the left one [`ROWS`] rows, of the right one
//! [`COLUMNS`] columns, a 32-bit word for each place along the inner dimension. A word is one `f32`, or a pair of bf16 that stand
//! next to each other along the inner dimension. A tile of the output, [`ROWS`] by [`COLUMNS`], stays in registers while two
//! panels pass by. A panel of rows stays in the first two caches while all panels of columns of a block pass by it, from the second
//! cache or the third; what the next block of rows is made of is fetched meanwhile.
//!
//! Rows of single numbers are not copied where they can be read as they lie.

mod ahead;
mod pack;
mod room;
mod sizes;
mod steps;
mod tile;
mod word;

use crate::{Matrix, MatrixMut, Start};
use pack::Side;
use room::with_room;
use sizes::{COLUMNS, DEPTH, LANES, PANEL_OF_ROWS, ROWS};
use steps::{Pair, Single};
use tile::Strip;
use word::Word;

/// Rows of a block: as many as are read in whole lines where they lie beside each other.
const BLOCK_ROWS: usize = 96;
/// The most columns of a block, whose panels lie in the second cache and the third.
const BLOCK_COLUMNS: usize = 1_024;

/// `out = start + a b`. The shapes fit, nothing is empty, and the processor has 512-bit vectors.
pub fn singles(out: MatrixMut<'_, f32>, a: Matrix<'_, f32>, b: Matrix<'_, f32>, start: Start<'_, f32>) {
    blocked::<Single>(out, a, b, start);
}

/// The same of factors that are rounded to bf16; the processor multiplies pairs of them.
pub fn pairs(out: MatrixMut<'_, f32>, a: Matrix<'_, f32>, b: Matrix<'_, f32>, start: Start<'_, f32>) {
    blocked::<Pair>(out, a, b, start);
}

/// Equal parts of a length, each at most `most` and a multiple of `step`: the first of them. What is left over is the last.
fn even(length: usize, most: usize, step: usize) -> usize {
    length.div_ceil(length.div_ceil(most)).next_multiple_of(step)
}

fn blocked<W: Word>(mut out: MatrixMut<'_, f32>, a: Matrix<'_, f32>, b: Matrix<'_, f32>, start: Start<'_, f32>) {
    let (rows, columns, inner) = (a.rows, b.columns, a.columns);
    // Single numbers are words as they lie. Those of the right factor are copied nevertheless: every strip reads them again, and beside
    // each other they take fewer pages and lines.
    let as_it_is = if W::PLACES == 1 { Side::rows(a).as_it_is() } else { None };
    let depth = even(inner.div_ceil(W::PLACES), DEPTH, 1);
    let block_columns = even(columns, BLOCK_COLUMNS, COLUMNS);
    let block_rows = rows.next_multiple_of(ROWS).min(BLOCK_ROWS);
    let room_of_rows = if as_it_is.is_some() { 0 } else { block_rows / ROWS * PANEL_OF_ROWS };
    with_room([room_of_rows, block_columns * depth], |[of_rows, of_columns]| {
        for place in (0..inner).step_by(depth * W::PLACES) {
            let places = (inner - place).min(depth * W::PLACES);
            let words = places.div_ceil(W::PLACES);
            let (left, right) = (a.column_block(place, places), b.row_block(place, places));
            let start = if place > 0 { Start::There } else { start };
            for first_column in (0..columns).step_by(block_columns) {
                let beside = (columns - first_column).min(block_columns);
                W::pack_columns(of_columns, Side::columns(right.column_block(first_column, beside)));
                let start = start.columns(first_column, beside);
                for first_row in (0..rows).step_by(block_rows) {
                    let below = (rows - first_row).min(block_rows);
                    let block = Side::rows(left.row_block(first_row, below));
                    let lying = as_it_is.unwrap_or_else(|| W::pack_rows(of_rows, block));
                    let next = first_row + below;
                    let next = left.row_block(next, (rows - next).min(block_rows));
                    let tiles = below.div_ceil(ROWS) * beside.div_ceil(COLUMNS);
                    let mut ahead = Side::rows(next).ahead(tiles * words.div_ceil(LANES));
                    for (number, row) in (0..below).step_by(ROWS).enumerate() {
                        let of_strip = match as_it_is {
                            Some(_) => block.words(row),
                            None => of_rows.split_at(number * PANEL_OF_ROWS).1,
                        };
                        let out = out.lend_rows(first_row + row, (below - row).min(ROWS));
                        let out = out.split_columns(first_column).1.split_columns(beside).0;
                        let (columns, ahead) = (&*of_columns, &mut ahead);
                        W::strip(Strip { out, rows: of_strip, lying, columns, words, start, ahead });
                    }
                }
            }
        }
    });
}
