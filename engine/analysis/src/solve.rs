//! Eigenvalues of a covariance by whatever costs least.

use super::{
    AnalysisError, Bounds,
    eigen::{Dense, Eigen, eigen, eigenvalues, positive},
    krylov::leading,
    samples::Samples,
};
use crate::ops::Real;

/// Sizes up to which all eigenvalues are found, however few are asked for.
const ALWAYS_DENSE: usize = 1024;

/// Sizes up to which all eigenvalues are found where a tenth of them is asked for.
const OFTEN_DENSE: usize = 2560;

/// Which eigenvalues are wanted.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// So many of the largest, where all would take long.
    pub(super) components: usize,
    /// All, however long they take.
    pub(super) exact: bool,
    /// Asked before every matrix, and while an iteration goes on.
    pub(super) should_stop: &'a dyn Fn() -> bool,
}

/// What eigenvalues are found from.
pub(super) enum Source<'a, T> {
    /// Samples that were kept.
    Samples(Samples<'a, T>),
    /// The covariance itself. `[m, m]`
    Covariance(Dense),
}

/// The way that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Covariance,
    Gram,
    Iteration { directions: usize },
}

/// Eigenvectors, in one of two shapes.
pub(super) enum Vectors {
    /// They were not asked for.
    None,
    /// A row each. `[k, m]`
    Directions(Dense),
    /// As sums of samples: a column each, of length 1. `[N, k]`
    Weights(Dense),
}

pub(super) struct Solved {
    pub(super) values: Vec<f64>,
    pub(super) bounds: Option<Bounds>,
    pub(super) vectors: Vectors,
    pub(super) way: Way,
}

/// Whether all eigenvalues of a covariance of rank `rank` are found, or `components` alone.
pub(super) fn is_dense(rank: usize, components: usize, exact: bool) -> bool {
    exact || rank <= ALWAYS_DENSE.max(OFTEN_DENSE.min(10 * components)) || rank <= 3 * components
}

/// Eigenvalues, and eigenvectors where wanted: all of them up to sizes where that takes seconds, or where `exact` asks
/// for it; else the `components` leading ones by iteration.
pub(super) fn solve<T: Real>(
    source: &Source<'_, T>,
    wanted: &Wanted<'_>,
    with_vectors: bool,
) -> Result<Solved, AnalysisError> {
    let Wanted { components, exact, should_stop } = *wanted;
    if should_stop() {
        return Err(AnalysisError::Stopped);
    }
    let solved = |values, vectors, way| Solved { values, bounds: None, vectors, way };
    let of_matrix = |matrix: &Dense, way: Way| {
        if !with_vectors {
            return Ok(solved(positive(eigenvalues(&matrix.values, matrix.rows)?), Vectors::None, way));
        }
        let Eigen { values, vectors } = eigen(&matrix.values, matrix.rows)?;
        let values = positive(values);
        let chosen = vectors.columns(0, values.len());
        let vectors = if way == Way::Gram { Vectors::Weights(chosen) } else { Vectors::Directions(chosen.turned()) };
        Ok(solved(values, vectors, way))
    };
    match source {
        Source::Samples(samples) => {
            let (count, width) = (samples.count(), samples.width);
            if !is_dense(count.min(width), components, exact) {
                return iterate(&|rows| samples.apply(rows), width, wanted);
            }
            if count >= width {
                return of_matrix(&samples.covariance(), Way::Covariance);
            }
            let mut gram = samples.gram();
            gram.values.iter_mut().for_each(|value| *value /= count.max(1) as f64);
            of_matrix(&gram, Way::Gram)
        }
        Source::Covariance(matrix) => {
            if is_dense(matrix.rows, components, exact) {
                return of_matrix(matrix, Way::Covariance);
            }
            iterate(&|rows| rows.times(matrix), matrix.rows, wanted)
        }
    }
}

fn iterate(apply: &dyn Fn(&Dense) -> Dense, width: usize, wanted: &Wanted<'_>) -> Result<Solved, AnalysisError> {
    let found = leading(apply, width, wanted.components, wanted.should_stop)?;
    let way = Way::Iteration { directions: found.directions };
    Ok(Solved { values: found.values, bounds: found.bounds, vectors: Vectors::Directions(found.vectors), way })
}
