//! Where a search for factors begins.

use super::{Factors, HeadMaps};
use crate::{
    analysis::{AnalysisError, Dense},
    convert::products::Singular,
    ops::{
        part,
        random::{Purpose, Stream},
    },
};

/// The largest singular values of all heads with their vectors, each for its own head alone: the best factors in which no
/// two heads share anything.
///
/// # Errors
/// If eigenvalues cannot be computed.
pub(super) fn from_singular_vectors(maps: &HeadMaps, d_k: usize) -> Result<Factors, AnalysisError> {
    let size = maps.size;
    let mut found: Vec<(f64, usize, usize)> = Vec::new();
    let mut vectors: Vec<[Dense; 2]> = Vec::new();
    for head in 0..maps.heads() {
        let [a, b] = [&maps.query, &maps.key].map(|all| all.columns(head * size, size));
        let Singular { values, left, right } = Singular::of(&a, &b)?;
        found.extend(values.into_iter().enumerate().map(|(place, value)| (value, head, place)));
        vectors.push([left, right]);
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let width = maps.width();
    let mut factors = Factors {
        mixing: Dense::zeros(maps.heads(), d_k),
        query: Dense::zeros(width, d_k),
        key: Dense::zeros(width, d_k),
    };
    for (column, (value, head, place)) in found.into_iter().take(d_k).enumerate() {
        put(&mut factors.mixing, column, |row| if row == head { 1.0 } else { 0.0 });
        if let Some([left, right]) = vectors.get(head) {
            let root = value.sqrt();
            put(&mut factors.query, column, |row| root * element(left, row, place));
            put(&mut factors.key, column, |row| root * element(right, row, place));
        }
    }
    Ok(factors)
}

/// Random sums of the columns of all heads, and random mixing rows.
pub(super) fn at_random(maps: &HeadMaps, d_k: usize, seed: u64, index: u64) -> Factors {
    let mut stream = Stream::new(seed, Purpose::Factors, index);
    let mut normal = |rows: usize| {
        let values = (0..rows * d_k).map(|_| stream.normal()).collect();
        Dense { rows, columns: d_k, values }
    };
    let columns = maps.exact_width();
    let (mixing, of_queries, of_keys) = (normal(maps.heads()), normal(columns), normal(columns));
    Factors { mixing, query: maps.query.times(&of_queries), key: maps.key.times(&of_keys) }
}

fn put(matrix: &mut Dense, column: usize, value: impl Fn(usize) -> f64) {
    let columns = matrix.columns;
    for (row, slot) in matrix.values.iter_mut().skip(column).step_by(columns.max(1)).enumerate() {
        *slot = value(row);
    }
}

fn element(matrix: &Dense, row: usize, column: usize) -> f64 {
    part(&matrix.values, row * matrix.columns + column, 1).iter().sum()
}
