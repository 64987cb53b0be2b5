use faer::MatRef;

use super::{
    AnalysisError, Bounds,
    eigen::{Dense, Eigen, eigen, positive},
};
use crate::ops::{
    Matrix, MatrixMut, parallel_product, part,
    random::{Purpose, Stream},
};

/// Directions that a block of the iteration has.
const BLOCK: usize = 64;

/// What eigenvalues may be short of at most, as a share of themselves, when the iteration ends.
pub(super) const TOLERANCE: f64 = 1e-3;

/// Eigenvalues below this share of the largest need not be known to the tolerance: rounding is as large.
const FLOOR: f64 = 1e-10;

/// Steps by which the largest eigenvalue outside of the space is looked for.
const OUTSIDE_STEPS: usize = 24;

/// The most directions that are kept for `count` eigenvalues.
pub(super) fn most_directions(count: usize, dimension: usize) -> usize {
    (8 * count + 4 * BLOCK).min(dimension)
}

/// Leading eigenvalues and eigenvectors of a symmetric matrix that has no negative ones.
pub(super) struct Leading {
    /// Descending, never above the true ones.
    pub(super) values: Vec<f64>,
    /// Their eigenvectors, a row each. `[k, m]`
    pub(super) vectors: Dense,
    /// What the eigenvalues are at most, where that is further away than the tolerance.
    pub(super) bounds: Option<Bounds>,
    /// Directions of the space in which they were found.
    pub(super) directions: usize,
}

/// The `count` leading eigenvalues of C by block Lanczos iteration: the space of `Q, Q C, Q C², ...` for random Q, all of
/// it orthonormal and kept, grows until every eigenvalue is known to [`TOLERANCE`]. `apply` multiplies rows by C.
///
/// Eigenvalues within a space are never above the true ones (Cauchy). For what they are at most, C is written in blocks of
/// the first j vectors found and all that is orthogonal to them, with residuals E between: `λ_i <= θ_i + |E|² / (θ_i - μ)`
/// where μ, the largest eigenvalue of the second block, is below `θ_i`, and `λ_i <= max(θ_i, μ) + |E|` in any case. What of
/// μ lies outside of the whole space is found by Lanczos iteration from a random vector there, so that the bound holds but
/// with a vanishing probability.
pub(super) fn leading(
    apply: &dyn Fn(&Dense) -> Dense,
    dimension: usize,
    count: usize,
    should_stop: &dyn Fn() -> bool,
) -> Result<Leading, AnalysisError> {
    let most = most_directions(count, dimension);
    let count = count.min(dimension);
    let mut random = Random { dimension, drawn: 0 };
    let mut basis = Dense { rows: 0, columns: dimension, values: Vec::new() };
    // Lower half of the matrix within the space, row by row.
    let mut inner: Vec<Vec<f64>> = Vec::new();
    let mut next = orthonormal(random.rows(BLOCK.min(dimension)), &basis);
    let mut check_at = (2 * count + 2 * BLOCK).min(most);
    loop {
        if should_stop() {
            return Err(AnalysisError::Stopped);
        }
        let first = basis.rows;
        basis.values.extend_from_slice(&next.values);
        basis.rows += next.rows;
        let mut rest = apply(&next);
        let mut within = rest.times_transposed(&basis); // [b, directions]
        subtract(&mut rest, &within, &basis);
        let again = rest.times_transposed(&basis);
        subtract(&mut rest, &again, &basis);
        within.values.iter_mut().zip(&again.values).for_each(|(sum, value)| *sum += value);
        inner.extend(within.values.chunks_exact(basis.rows).map(<[f64]>::to_vec));
        let room = dimension - basis.rows;
        next = orthonormal(first_rows(&rest, room), &basis);
        if basis.rows >= check_at || next.rows == 0 {
            let size = basis.rows;
            let matrix: Vec<f64> = inner
                .iter()
                .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, size - row.len())))
                .collect();
            let Eigen { values, vectors } = eigen(&matrix, size)?;
            // Rows of the last block times what couples it to all that follows: the residuals.
            let last = Matrix::row_major(&vectors.values, size, size).row_block(first, size - first);
            let coupling = rest.times_transposed(&next); // [b, b]
            let residuals = Dense::product(coupling.view().transposed(), last, coupling.columns); // [b, directions]
            let residuals = column_lengths(&residuals, size);
            let strength = largest_singular(&coupling)?;
            let least = values.get(count - 1).copied().unwrap_or(0.0).max(0.0);
            let floor = FLOOR * values.first().copied().unwrap_or(0.0).max(0.0);
            let own = residuals.iter().take(count).map(|length| length * length).sum::<f64>().sqrt();
            let is_last = size >= most || next.rows == 0;
            let mut hidden = false;
            if is_last || own <= 0.3 * least + floor {
                let outside = if next.rows == 0 { 0.0 } else { largest_outside(apply, &basis, &mut random)? };
                let upper = upper_bounds(&values, &residuals, strength, outside, count);
                let is_known =
                    upper.iter().zip(&values).all(|(upper, value)| upper - value <= TOLERANCE * value + floor);
                if is_known || is_last {
                    let kept = positive(values.into_iter().take(count).collect());
                    let upper = upper.into_iter().take(kept.len()).collect();
                    let chosen = vectors.columns(0, kept.len());
                    let vectors = chosen.transposed_times(&basis);
                    let bounds = (!is_known).then(|| Bounds::of_each(upper));
                    return Ok(Leading { values: kept, vectors, bounds, directions: size });
                }
                hidden = outside > least * (1.0 + TOLERANCE);
            }
            check_at = (check_at + check_at / 4).min(most);
            if hidden {
                // An eigenvalue that occurs more often than a block has directions: others must find its space.
                let mut rows = rest.clone();
                let fresh = random.rows(BLOCK);
                rows.values.extend_from_slice(&fresh.values);
                rows.rows += fresh.rows;
                next = orthonormal(first_rows(&rows, room), &basis);
            }
        }
    }
}

/// Random directions, always the same: two analyses of the same scores give the same numbers.
struct Random {
    dimension: usize,
    drawn: u64,
}

impl Random {
    fn rows(&mut self, rows: usize) -> Dense {
        let mut values = Vec::with_capacity(rows * self.dimension);
        for _ in 0..rows {
            let mut stream = Stream::new(1, Purpose::Sketch, self.drawn);
            self.drawn += 1;
            values.extend((0..self.dimension).map(|_| stream.normal()));
        }
        Dense { rows, columns: self.dimension, values }
    }
}

fn first_rows(rows: &Dense, most: usize) -> Dense {
    let count = rows.rows.min(most);
    let values = part(&rows.values, 0, count * rows.columns).to_vec();
    Dense { rows: count, columns: rows.columns, values }
}

/// `rows -= weights basis`
fn subtract(rows: &mut Dense, weights: &Dense, basis: &Dense) {
    let negative = Dense { values: weights.values.iter().map(|value| -value).collect(), ..*weights };
    let out = MatrixMut::new(&mut rows.values, rows.rows, rows.columns);
    parallel_product(out, negative.view(), basis.view(), true);
}

/// Orthonormal rows that span those given, orthogonal to the basis.
fn orthonormal(rows: Dense, basis: &Dense) -> Dense {
    if rows.rows == 0 {
        return rows;
    }
    let mut rows = thin_q(&rows);
    // Twice is enough (Parlett).
    for _ in 0..2 {
        if basis.rows > 0 {
            let within = rows.times_transposed(basis);
            subtract(&mut rows, &within, basis);
        }
        rows = thin_q(&rows);
    }
    rows
}

fn thin_q(rows: &Dense) -> Dense {
    let view = MatRef::from_row_major_slice(&rows.values, rows.rows, rows.columns).transpose();
    let q = view.qr().compute_thin_Q(); // [m, b]
    let values = (0..rows.rows).flat_map(|row| q.col(row).iter().copied().collect::<Vec<f64>>()).collect();
    Dense { rows: rows.rows, columns: rows.columns, values }
}

fn column_lengths(matrix: &Dense, columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for row in matrix.values.chunks_exact(columns.max(1)) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value * value;
        }
    }
    sums.iter().map(|sum| sum.sqrt()).collect()
}

fn largest_singular(matrix: &Dense) -> Result<f64, AnalysisError> {
    let squares = matrix.transposed_times(matrix);
    let Eigen { values, .. } = eigen(&squares.values, squares.rows)?;
    Ok(values.first().copied().unwrap_or(0.0).max(0.0).sqrt())
}

/// The largest eigenvalue of C among what is orthogonal to the basis, with what the iteration leaves open added.
fn largest_outside(apply: &dyn Fn(&Dense) -> Dense, basis: &Dense, random: &mut Random) -> Result<f64, AnalysisError> {
    let mut own = Dense { rows: 0, columns: basis.columns, values: Vec::new() };
    let mut next = orthonormal(random.rows(1), basis);
    let mut inner: Vec<Vec<f64>> = Vec::new();
    let mut left = 0.0;
    for _ in 0..OUTSIDE_STEPS.min(basis.columns - basis.rows) {
        own.values.extend_from_slice(&next.values);
        own.rows += 1;
        let mut rest = apply(&next);
        for _ in 0..2 {
            let within = rest.times_transposed(basis);
            subtract(&mut rest, &within, basis);
        }
        let mut row = vec![0.0; own.rows];
        for _ in 0..2 {
            let within = rest.times_transposed(&own);
            subtract(&mut rest, &within, &own);
            row.iter_mut().zip(&within.values).for_each(|(sum, value)| *sum += value);
        }
        inner.push(row);
        left = rest.values.iter().map(|value| value * value).sum::<f64>().sqrt();
        let before: f64 = inner.iter().filter_map(|row| row.last()).sum();
        if left <= 1e-12 * before.abs() || left == 0.0 {
            left = 0.0;
            break;
        }
        rest.values.iter_mut().for_each(|value| *value /= left);
        next = rest;
    }
    let size = inner.len();
    let matrix: Vec<f64> =
        inner.iter().flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, size - row.len()))).collect();
    let Eigen { values, vectors } = eigen(&matrix, size)?;
    let weight = vectors.values.get(size.saturating_sub(1) * size).copied().unwrap_or(0.0).abs();
    Ok(values.first().copied().unwrap_or(0.0).max(0.0) + left * weight)
}

/// What the first `count` eigenvalues are at most.
fn upper_bounds(values: &[f64], residuals: &[f64], strength: f64, outside: f64, count: usize) -> Vec<f64> {
    let running: Vec<f64> = residuals
        .iter()
        .scan(0.0, |sum, length| {
            *sum += length * length;
            Some(*sum)
        })
        .collect();
    let total = running.last().copied().unwrap_or(0.0);
    // For the first j vectors: the length of their residuals, and the largest eigenvalue of all the rest.
    let splits: Vec<(f64, f64)> = running
        .iter()
        .enumerate()
        .map(|(place, sum)| {
            let following = values.get(place + 1).copied().unwrap_or(0.0).max(0.0);
            let behind = (total - sum).max(0.0).sqrt().min(strength);
            let half = (following - outside) / 2.0;
            (sum.sqrt().min(strength), f64::midpoint(following, outside) + half.hypot(behind))
        })
        .collect();
    let bound = |(place, value): (usize, &f64)| {
        let of_split = |&(length, rest): &(f64, f64)| {
            let apart = value - rest;
            let near = value.max(rest) + length;
            if apart > 0.0 { near.min(value + length * length / apart) } else { near }
        };
        splits.iter().skip(place).map(of_split).fold(f64::INFINITY, f64::min)
    };
    values.iter().take(count).enumerate().map(bound).collect()
}
