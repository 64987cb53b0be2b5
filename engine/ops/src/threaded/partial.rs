//! Scores of some pairs, and the others of the same row as a linear map of them.

use rayon::prelude::*;

use super::product::check_strides;
use crate::kernels::{
    Matrix, MatrixMut, Real, add_gathered, gathered_products, part, part_mut, product, scatter_added,
};
use crate::pair_sets::{PairSets, RowPairs};

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
    ///
    /// # Panics
    /// If the last element lies outside of `data`.
    pub fn new(data: &'a [T], dims: [usize; 4], strides: [usize; 3]) -> Self {
        let [batch, head, position] = strides;
        check_strides("vectors of heads", data.len(), dims, [batch, head, position, 1]);
        Self { data, dims, strides }
    }

    /// Batch times heads.
    fn maps(&self) -> usize {
        self.dims[0] * self.dims[1]
    }

    /// The vectors of head `map % heads` of example `map / heads`, from the first on.
    fn of(&self, map: usize) -> &'a [T] {
        let heads = self.dims[1].max(1);
        self.data.split_at((map / heads) * self.strides[0] + (map % heads) * self.strides[1]).1
    }

    fn row(&self, map: usize, position: usize) -> &'a [T] {
        part(self.of(map), position * self.strides[2], self.dims[3])
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
    part(restore, row.first * k, row.restored.len() * k)
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

/// Fails unless keys, R and pairs are those of the queries.
fn check<T>(q: HeadRows<'_, T>, k: HeadRows<'_, T>, restore: &[T], pairs: &PairSets) {
    assert_eq!(k.dims, q.dims, "keys of partial scores of queries {:?}", q.dims);
    let (tokens, of_pairs) = (q.dims[2], pairs.tokens());
    assert!(
        tokens == of_pairs || (tokens < of_pairs && pairs.is_causal()),
        "pairs of partial scores: chosen for {of_pairs} tokens, not for {tokens}"
    );
    let weights = pairs.restored() * pairs.k();
    assert_eq!(restore.len(), weights, "R of partial scores: {} x {}", pairs.restored(), pairs.k());
}

/// `q · k` at the computed pairs, `R` times these at the restored ones, zero elsewhere. `[batch, heads, n, n]`
///
/// All heads and examples of a query go through one product with its rows of R, so that these are read once.
///
/// # Panics
/// If the shapes do not fit.
pub fn partial_scores<T: Real>(q: HeadRows<'_, T>, k: HeadRows<'_, T>, restore: &[T], pairs: &PairSets) -> Vec<T> {
    check(q, k, restore, pairs);
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
            scatter(row, chosen, part(&exact, map * count, count));
            scatter(row, restored, part(&rest, map * restored.len(), restored.len()));
        }
    });
    scores
}

/// Writes values to keys that a query sees, all of which lie inside of its row.
fn scatter<T: Real>(row: &mut [T], keys: &[u32], values: &[T]) {
    for (&key, &value) in keys.iter().zip(values) {
        row[key as usize] = value;
    }
}

/// Reads them.
fn gather<T: Real>(row: &[T], keys: &[u32], values: &mut [T]) {
    for (&key, value) in keys.iter().zip(values) {
        *value = row[key as usize];
    }
}

/// The gradients from that of the scores. `scores` are those of the forward pass, `is_trained` asks for R's.
///
/// # Panics
/// If the shapes do not fit.
pub fn partial_scores_backward<T: Real>(
    q: HeadRows<'_, T>,
    k: HeadRows<'_, T>,
    restore: &[T],
    pairs: &PairSets,
    [scores, dscores]: [&[T]; 2],
    is_trained: bool,
) -> PartialGradients<T> {
    check(q, k, restore, pairs);
    let (maps, tokens, size) = (q.maps(), q.dims[2], q.dims[3]);
    for (name, scores) in [("partial scores", scores), ("gradient of partial scores", dscores)] {
        assert_eq!(scores.len(), maps * tokens * tokens, "{name}: {maps} maps of {tokens} x {tokens}");
    }
    let most = pairs.k();
    // Gradients of the computed scores, `[query, map, k]`, and of R.
    let mut dexact = vec![T::ZERO; tokens * maps * most];
    let mut drestore = vec![T::ZERO; if is_trained { restore.len() } else { 0 }];
    let mut parts = Vec::with_capacity(tokens);
    let mut left = drestore.as_mut_slice();
    for row in pairs.rows().iter().take(tokens) {
        let own = if is_trained { row.restored.len() * row.chosen.len() } else { 0 };
        let (of_query, rest) = left.split_at_mut(own);
        parts.push(of_query);
        left = rest;
    }
    let tasks = dexact.par_chunks_mut((maps * most).max(1)).zip(parts).zip(pairs.rows()).enumerate();
    tasks.for_each(|(query, ((dexact, drestore), pairs_of_row))| {
        let (chosen, restored) = (&pairs_of_row.chosen, &pairs_of_row.restored);
        let (count, others) = (chosen.len(), restored.len());
        let row_of = |map: usize| (map * tokens + query) * tokens;
        let mut drest = vec![T::ZERO; maps * others];
        for map in 0..maps {
            let drow = part(dscores, row_of(map), tokens);
            gather(drow, chosen, part_mut(dexact, map * most, count));
            gather(drow, restored, part_mut(&mut drest, map * others, others));
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
                gather(part(scores, row_of(map), tokens), chosen, exact);
            }
            let out = MatrixMut::new(drestore, others, count);
            product(out, drest.transposed(), Matrix::row_major(&exact, maps, count), false);
        }
    });
    let mut queries = vec![T::ZERO; maps * tokens * size];
    let mut keys = vec![T::ZERO; maps * tokens * size];
    let of_map = (tokens * size).max(1);
    let tasks = queries.par_chunks_mut(of_map).zip(keys.par_chunks_mut(of_map)).enumerate();
    tasks.for_each(|(map, (dq, dk))| {
        for (query, (dq, row)) in dq.chunks_exact_mut(size.max(1)).zip(pairs.rows()).enumerate() {
            let weights = part(&dexact, (query * maps + map) * most, row.chosen.len());
            add_gathered(dq, k.of(map), k.strides[2], &row.chosen, weights);
            scatter_added(dk, q.row(map, query), &row.chosen, weights);
        }
    });
    PartialGradients { queries, keys, restore: is_trained.then_some(drestore) }
}
