//! Scores of some pairs, and the others of the same row as a linear map of them.

use rayon::prelude::*;

use crate::ops::kernels::{Matrix, MatrixMut, Real, add_gathered, gathered_products, product, scatter_added};
use crate::ops::pair_sets::{PairSets, RowPairs};

/// Vectors of every head of every example, read where they lie. `[batch, heads, tokens, size]`
#[derive(Clone, Copy, Debug)]
pub struct HeadRows<'a, T> {
    data: &'a [T],
    dims: [usize; 4],
    /// Of batch, head and position; the numbers of a vector lie side by side.
    strides: [usize; 3],
}

impl<'a, T: Real> HeadRows<'a, T> {
    /// A view of `data`, which starts at the first element.
    pub fn new(data: &'a [T], dims: [usize; 4], strides: [usize; 3]) -> Self {
        Self { data, dims, strides }
    }

    /// Batch times heads.
    fn maps(&self) -> usize {
        self.dims[0] * self.dims[1]
    }

    /// The vectors of head `map % heads` of example `map / heads`, from the first on.
    fn of(&self, map: usize) -> &'a [T] {
        let heads = self.dims[1].max(1);
        self.data.get((map / heads) * self.strides[0] + (map % heads) * self.strides[1]..).unwrap_or(&[])
    }

    fn row(&self, map: usize, position: usize) -> &'a [T] {
        let first = position * self.strides[2];
        self.of(map).get(first..first + self.dims[3]).unwrap_or(&[])
    }
}

/// Gradients of queries, keys `[batch, heads, tokens, size]` and R `[restored, k]`.
#[derive(Debug)]
pub struct PartialGradients<T> {
    pub queries: Vec<T>,
    pub keys: Vec<T>,
    pub restore: Option<Vec<T>>,
}

/// The rows of R of one query.
fn rows_of<'a, T>(restore: &'a [T], row: &RowPairs, k: usize) -> &'a [T] {
    restore.get(row.first * k..(row.first + row.restored.len()) * k).unwrap_or(&[])
}

/// The rows of all maps, query by query.
fn by_query<T>(maps: &mut [T], tokens: usize) -> Vec<Vec<&mut [T]>> {
    let mut queries: Vec<Vec<&mut [T]>> = (0..tokens).map(|_| Vec::new()).collect();
    for map in maps.chunks_exact_mut((tokens * tokens).max(1)) {
        for (query, row) in queries.iter_mut().zip(map.chunks_exact_mut(tokens)) {
            query.push(row);
        }
    }
    queries
}

/// `q · k` at the computed pairs, `R` times these at the restored ones, zero elsewhere. `[batch, heads, n, n]`
///
/// All heads and examples of a query go through one product with its rows of R, so that these are read once.
pub fn partial_scores<T: Real>(q: HeadRows<'_, T>, k: HeadRows<'_, T>, restore: &[T], pairs: &PairSets) -> Vec<T> {
    let (maps, tokens) = (q.maps(), q.dims[2]);
    let mut scores = vec![T::ZERO; maps * tokens * tokens];
    let tasks = by_query(&mut scores, tokens).into_par_iter().zip(pairs.rows()).enumerate();
    tasks.for_each(|(query, (mut rows, pairs_of_row))| {
        let (chosen, restored) = (&pairs_of_row.chosen, &pairs_of_row.restored);
        let count = chosen.len();
        let mut exact = vec![T::ZERO; maps * count];
        for (map, exact) in exact.chunks_exact_mut(count.max(1)).enumerate() {
            gathered_products(q.row(map, query), k.of(map), k.strides[2], chosen, exact);
        }
        let mut rest = vec![T::ZERO; maps * restored.len()];
        if !restored.is_empty() {
            let weights = Matrix::row_major(rows_of(restore, pairs_of_row, count), restored.len(), count);
            let out = MatrixMut::new(&mut rest, maps, restored.len());
            product(out, Matrix::row_major(&exact, maps, count), weights.transposed(), false);
        }
        for (map, row) in rows.iter_mut().enumerate() {
            scatter(row, chosen, exact.get(map * count..(map + 1) * count));
            scatter(row, restored, rest.get(map * restored.len()..(map + 1) * restored.len()));
        }
    });
    scores
}

fn scatter<T: Real>(row: &mut [T], places: &[u32], values: Option<&[T]>) {
    for (&place, &value) in places.iter().zip(values.unwrap_or(&[])) {
        if let Some(score) = row.get_mut(place as usize) {
            *score = value;
        }
    }
}

fn gather<T: Real>(row: &[T], places: &[u32], values: &mut [T]) {
    for (&place, value) in places.iter().zip(values) {
        *value = row.get(place as usize).copied().unwrap_or(T::ZERO);
    }
}

/// The gradients from that of the scores. `scores` are those of the forward pass, `is_trained` asks for R's.
pub fn partial_scores_backward<T: Real>(
    q: HeadRows<'_, T>,
    k: HeadRows<'_, T>,
    restore: &[T],
    pairs: &PairSets,
    [scores, dscores]: [&[T]; 2],
    is_trained: bool,
) -> PartialGradients<T> {
    let (maps, tokens, size) = (q.maps(), q.dims[2], q.dims[3]);
    let most = pairs.k();
    // Gradients of the computed scores, `[query, map, k]`, and of R.
    let mut dexact = vec![T::ZERO; tokens * maps * most];
    let mut drestore = vec![T::ZERO; if is_trained { restore.len() } else { 0 }];
    let mut parts = Vec::with_capacity(tokens);
    let mut left = drestore.as_mut_slice();
    for row in pairs.rows().iter().take(tokens) {
        let own = if is_trained { row.restored.len() * row.chosen.len() } else { 0 };
        let (part, rest) = left.split_at_mut(own.min(left.len()));
        parts.push(part);
        left = rest;
    }
    let tasks = dexact.par_chunks_mut((maps * most).max(1)).zip(parts).zip(pairs.rows()).enumerate();
    tasks.for_each(|(query, ((dexact, drestore), pairs_of_row))| {
        let (chosen, restored) = (&pairs_of_row.chosen, &pairs_of_row.restored);
        let (count, others) = (chosen.len(), restored.len());
        let of = |all: &[T], map: usize| {
            let first = (map * tokens + query) * tokens;
            first..(first + tokens).min(all.len())
        };
        let mut drest = vec![T::ZERO; maps * others];
        for map in 0..maps {
            let drow = dscores.get(of(dscores, map)).unwrap_or(&[]);
            gather(drow, chosen, dexact.get_mut(map * most..map * most + count).unwrap_or(&mut []));
            gather(drow, restored, drest.get_mut(map * others..(map + 1) * others).unwrap_or(&mut []));
        }
        if others == 0 {
            return;
        }
        let drest = Matrix::row_major(&drest, maps, others);
        let weights = Matrix::row_major(rows_of(restore, pairs_of_row, count), others, count);
        product(MatrixMut::strided(dexact, maps, count, most), drest, weights, true);
        if is_trained {
            let mut exact = vec![T::ZERO; maps * count];
            for (map, exact) in exact.chunks_exact_mut(count.max(1)).enumerate() {
                gather(scores.get(of(scores, map)).unwrap_or(&[]), chosen, exact);
            }
            let out = MatrixMut::new(drestore, others, count);
            product(out, drest.transposed(), Matrix::row_major(&exact, maps, count), false);
        }
    });
    let mut queries = vec![T::ZERO; maps * tokens * size];
    let mut keys = vec![T::ZERO; maps * tokens * size];
    let part = (tokens * size).max(1);
    let tasks = queries.par_chunks_mut(part).zip(keys.par_chunks_mut(part)).enumerate();
    tasks.for_each(|(map, (dq, dk))| {
        for (query, (dq, row)) in dq.chunks_exact_mut(size.max(1)).zip(pairs.rows()).enumerate() {
            let weights = (query * maps + map) * most;
            let weights = dexact.get(weights..weights + row.chosen.len()).unwrap_or(&[]);
            add_gathered(dq, k.of(map), k.strides[2], &row.chosen, weights);
            scatter_added(dk, q.row(map, query), &row.chosen, weights);
        }
    });
    PartialGradients { queries, keys, restore: is_trained.then_some(drestore) }
}
