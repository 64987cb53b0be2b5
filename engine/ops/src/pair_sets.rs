use candle_core::{DType, Device, Result, Tensor, bail};

/// Which pairs of a map are computed: for each query some of the keys that it sees; the others that it sees are
/// restored from these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairSets {
    k: usize,
    causal: bool,
    rows: Vec<RowPairs>,
}

/// The keys of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowPairs {
    /// Computed keys, in the order of the columns of R.
    pub chosen: Vec<u32>,
    /// Restored keys, ascending: a row of R each.
    pub restored: Vec<u32>,
    /// Its first row in R, which has the rows of all queries one after the other.
    pub first: usize,
}

impl PairSets {
    /// Sets for as many queries as there are lists of keys. A query computes `k` keys, or all that it sees: the keys up
    /// to its own position if `causal`, otherwise all.
    ///
    /// # Errors
    /// If a list has another length, a key twice, or one that the query does not see.
    pub fn new(chosen: Vec<Vec<u32>>, k: usize, causal: bool) -> Result<Self> {
        let tokens = chosen.len();
        let mut first = 0;
        let mut rows = Vec::with_capacity(tokens);
        for (query, chosen) in chosen.into_iter().enumerate() {
            let visible = if causal { query + 1 } else { tokens };
            let mut is_restored = vec![true; visible];
            for &key in &chosen {
                match is_restored.get_mut(key as usize) {
                    Some(place) if *place => *place = false,
                    Some(_) => bail!("Query {query} computes key {key} twice."),
                    None => bail!("Query {query} computes key {key}, which it does not see."),
                }
            }
            if chosen.len() != k.min(visible) {
                bail!("Query {query} computes {} keys instead of {}.", chosen.len(), k.min(visible))
            }
            let restored: Vec<u32> = (0..).zip(is_restored).filter(|(_, restored)| *restored).map(|(j, _)| j).collect();
            first += restored.len();
            rows.push(RowPairs { first: first - restored.len(), chosen, restored });
        }
        Ok(Self { k, causal, rows })
    }

    /// Keys that are spread evenly over what a query sees, its own among them.
    pub fn even(tokens: usize, k: usize, causal: bool) -> Result<Self> {
        let row = |query: usize| {
            let visible = if causal { query + 1 } else { tokens };
            let count = k.min(visible);
            (0..count).map(|place| ((query + place * visible / count) % visible) as u32).collect()
        };
        Self::new((0..tokens).map(row).collect(), k, causal)
    }

    /// From a tensor as [`PairSets::tensor`] gives it.
    ///
    /// # Errors
    /// If it describes no sets.
    pub fn from_tensor(pairs: &Tensor, causal: bool) -> Result<Self> {
        let (tokens, k) = pairs.dims2()?;
        let rows = pairs.to_dtype(DType::U32)?.to_device(&Device::Cpu)?.to_vec2::<u32>()?;
        let chosen = rows.into_iter().enumerate().map(|(query, mut row)| {
            row.truncate(k.min(if causal { query + 1 } else { tokens }));
            row
        });
        Self::new(chosen.collect(), k, causal)
    }

    /// The computed keys; places that a query has no use for hold the number of queries. `u32` `[n, k]`
    pub fn tensor(&self, device: &Device) -> Result<Tensor> {
        let (tokens, none) = (self.tokens(), self.tokens() as u32);
        let row = |row: &RowPairs| {
            let mut keys = row.chosen.clone();
            keys.resize(self.k, none);
            keys
        };
        Tensor::from_vec(self.rows.iter().flat_map(row).collect::<Vec<u32>>(), (tokens, self.k), device)
    }

    /// Queries, and keys, n.
    pub fn tokens(&self) -> usize {
        self.rows.len()
    }

    /// Keys that a query computes, k.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Whether a query sees the keys up to its own position alone.
    pub fn is_causal(&self) -> bool {
        self.causal
    }

    /// The keys of each query.
    pub fn rows(&self) -> &[RowPairs] {
        &self.rows
    }

    /// Pairs that are restored: rows of R, each of k numbers.
    pub fn restored(&self) -> usize {
        restored_pairs(self.tokens(), self.k, self.causal)
    }
}

/// Pairs of a map of `tokens` positions that are restored where each query computes `k`: `n (n - k)`; where it sees the
/// keys up to its own position alone, `(n - k) (n - k + 1) / 2`.
pub fn restored_pairs(tokens: usize, k: usize, causal: bool) -> usize {
    let left = tokens.saturating_sub(k);
    if causal { left.saturating_mul(left + 1) / 2 } else { tokens.saturating_mul(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_checked_written_and_read() {
        for (tokens, k, causal) in [(5, 2, false), (5, 2, true), (5, 4, true), (2, 1, false), (7, 3, true)] {
            let pairs = PairSets::even(tokens, k, causal).unwrap();
            assert_eq!((pairs.tokens(), pairs.k(), pairs.is_causal()), (tokens, k, causal));
            assert_eq!(pairs.rows().iter().map(|row| row.restored.len()).sum::<usize>(), pairs.restored());
            for (query, row) in pairs.rows().iter().enumerate() {
                assert!(row.chosen.contains(&(query as u32)) && row.chosen.len() <= k);
                assert_eq!(row.chosen.len() + row.restored.len(), if causal { query + 1 } else { tokens });
            }
            let tensor = pairs.tensor(&Device::Cpu).unwrap();
            assert_eq!(tensor.dims(), [tokens, k]);
            assert_eq!(PairSets::from_tensor(&tensor, causal).unwrap(), pairs);
        }
        let error = |chosen: &[&[u32]], causal| {
            let chosen = chosen.iter().map(|row| row.to_vec()).collect();
            PairSets::new(chosen, 2, causal).unwrap_err().to_string()
        };
        assert!(error(&[&[0, 0], &[0, 1]], false).contains("key 0 twice"));
        assert!(error(&[&[0, 2], &[0, 1]], false).contains("key 2, which it does not see"));
        assert!(error(&[&[1], &[0, 1]], true).contains("key 1, which it does not see"));
        assert!(error(&[&[0], &[0, 1], &[1]], true).contains("1 keys instead of 2"));
    }
}
