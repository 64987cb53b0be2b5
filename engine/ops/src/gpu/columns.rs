//! Sums over the rows of a matrix: gradients of biases and gains.

use candle_core::{DType, Result, Shape, Tensor};

use super::{
    buffer::{Buffer, address},
    device::{passes, run, timed},
    launch::{Launch, wide},
};

use crate::profile::Work;

/// Columns and rows of a block, as in `kernels/columns.cu`.
pub(super) const COLUMNS_A_BLOCK: usize = 32;
const COLUMNS_A_CHUNK: usize = 128;
const ROWS_A_CHUNK: usize = 64;
/// Threads of a block.
const THREADS: usize = 256;

/// A normalised input, for the gradient of a gain.
#[derive(Clone, Copy, Debug)]
pub struct Normalised<'a> {
    /// Before the norm. `[.., width]`
    pub x: &'a Tensor,
    /// `[rows]`
    pub mean: &'a Tensor,
    /// `[rows]`
    pub inverse_deviation: &'a Tensor,
}

/// The sum of the rows of `dy`, and of the rows of `dy` times what was normalised. `[.., width]` to `[width]`
///
/// # Errors
/// If the device fails.
pub fn column_sums(dy: &Tensor, normalised: Option<Normalised<'_>>) -> Result<(Tensor, Option<Tensor>)> {
    let work = passes(dy, 1 + usize::from(normalised.is_some()));
    timed(dy, "gradients of biases and gains", work, || launched(dy, normalised))
}

fn launched(dy: &Tensor, normalised: Option<Normalised<'_>>) -> Result<(Tensor, Option<Tensor>)> {
    let (device, dtype) = (dy.device(), dy.dtype());
    let width = dy.dims().last().copied().unwrap_or(1);
    let rows = dy.elem_count() / width.max(1);
    let chunks = rows.div_ceil(ROWS_A_CHUNK);
    let sums = Buffer::new(device, (chunks, width), wide(dtype))?;
    let products = normalised.map(|_| Buffer::new(device, (chunks, width), wide(dtype))).transpose()?;
    let [x, mean, inverse_deviation] = match normalised {
        Some(Normalised { x, mean, inverse_deviation }) => [address(x)?, address(mean)?, address(inverse_deviation)?],
        None => [0; 3],
    };
    let launch = Launch::grid("column_chunks", dtype, [chunks, width.div_ceil(COLUMNS_A_CHUNK)])?
        .with(address(dy)?)
        .with(x)
        .with(mean)
        .with(inverse_deviation)
        .with(sums.address()?)
        .with(products.as_ref().map_or(Ok(0), Buffer::address)?)
        .size(rows)
        .size(width);
    run(device, &launch)?;
    let total = |parts: &Buffer| totals(parts, chunks, 1, (width, dtype), width);
    Ok((total(&sums)?, products.as_ref().map(total).transpose()?))
}

/// Sums of groups of `count` chunks each, one group after the other, each in the order of its chunks. `chunks`
/// `[groups * count, width]` in what is computed in; result `[groups, width]` of type `dtype`.
///
/// # Errors
/// If the device fails.
pub(super) fn totals(
    chunks: &Buffer,
    count: usize,
    groups: usize,
    (shape, dtype): (impl Into<Shape>, DType),
    width: usize,
) -> Result<Tensor> {
    let totals = Buffer::new(&chunks.device(), shape, dtype)?;
    let launch = Launch::grid("column_totals", dtype, [groups, width.div_ceil(COLUMNS_A_BLOCK)])?
        .with(chunks.address()?)
        .with(totals.address()?)
        .size(count)
        .size(width);
    run(&chunks.device(), &launch)?;
    Ok(totals.into_tensor())
}

/// Sums of few chunks for each of many rows, in their order: those of row r begin at `starts[r]` and end at the next start. `chunks`
/// `[.., width]` in what is computed in, `starts` `[rows + 1]`; result `[rows, width]` of type `dtype`.
///
/// # Errors
/// If the device fails.
pub(super) fn row_totals(chunks: &Buffer, starts: &Tensor, [rows, width]: [usize; 2], dtype: DType) -> Result<Tensor> {
    let totals = Buffer::new(&chunks.device(), (rows, width), dtype)?;
    let launch = Launch::grid("row_totals", dtype, [(rows * width.div_ceil(4)).div_ceil(THREADS), 1])?
        .with(chunks.address()?)
        .with(address(starts)?)
        .with(totals.address()?)
        .size(rows)
        .size(width);
    run(&chunks.device(), &launch)?;
    Ok(totals.into_tensor())
}

/// Adds a bias to every row in place.
///
/// # Errors
/// If the device fails.
pub fn add_bias(rows: &Buffer, count: usize, bias: &Tensor) -> Result<()> {
    let launch = Launch::elements("add_bias", bias.dtype(), count)?
        .with(rows.address()?)
        .with(address(bias)?)
        .size(count)
        .size(bias.elem_count());
    let work = Work::moving(2 * count, bias.dtype().size_in_bytes());
    timed(bias, "biases", work, || run(bias.device(), &launch))
}
