use crate::ops::{Real, part};

/// Which entries of a map of n x n count: all of them, or, where a query never sees later keys, `n (n + 1) / 2`. Left out
/// are zeros alone, so that a covariance has the same eigenvalues but for zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packing {
    /// Sequence length n.
    pub(super) tokens: usize,
    /// Whether queries see no later keys.
    pub(super) is_causal: bool,
}

impl Packing {
    /// Entries that count.
    pub(super) fn size(self) -> usize {
        let n = self.tokens;
        if self.is_causal { n * (n + 1) / 2 } else { n * n }
    }

    /// Keys that a query sees.
    pub(super) fn visible(self, query: usize) -> usize {
        if self.is_causal { query + 1 } else { self.tokens }
    }

    /// Where the row of a query begins.
    pub(super) fn start(self, query: usize) -> usize {
        if self.is_causal { query * (query + 1) / 2 } else { query * self.tokens }
    }

    /// Maps `[b, n, n]` as vectors `[b, size]`.
    ///
    /// # Panics
    /// If they are no whole number of maps.
    pub(super) fn pack<T: Real>(self, maps: &[T]) -> Vec<T> {
        let n = self.tokens;
        assert!(maps.len().is_multiple_of((n * n).max(1)), "{} numbers are no maps of {n} by {n}", maps.len());
        if !self.is_causal {
            return maps.to_vec();
        }
        let rows = maps.chunks_exact(n).enumerate().map(|(row, values)| (row % n, values));
        rows.flat_map(|(query, row)| row.iter().take(query + 1).copied()).collect()
    }

    /// A vector as a map, row by row, with zeros where nothing counts.
    ///
    /// # Panics
    /// If the vector is shorter.
    pub(super) fn unpack(self, packed: &[f64]) -> Vec<f64> {
        let n = self.tokens;
        let mut map = vec![0.0; n * n];
        for (row, own) in map.chunks_exact_mut(n).zip(self.rows(packed)) {
            row.split_at_mut(own.len()).0.copy_from_slice(own);
        }
        map
    }

    /// The rows of a packed map.
    ///
    /// # Panics
    /// If the vector is shorter.
    pub(super) fn rows<T>(self, packed: &[T]) -> impl Iterator<Item = &[T]> {
        (0..self.tokens).map(move |query| part(packed, self.start(query), self.visible(query)))
    }
}
