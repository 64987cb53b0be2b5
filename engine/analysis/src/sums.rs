//! Sums over scores, and the shape of what was summed.

/// The shape of the scores to be analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreShape {
    /// Heads that score in each layer, from 0.
    pub computing: Vec<Vec<usize>>,
    /// Heads H of a layer.
    pub heads: usize,
    /// Sequence length n.
    pub tokens: usize,
    /// Pairs of a query and a later key are never used, so that they count as zero.
    pub is_causal: bool,
    /// Examples that will come, about.
    pub examples: usize,
}

/// What eigenvalues are found from; m are the entries of a packed map.
#[derive(Clone, Debug)]
pub(super) enum Sums<T> {
    /// The samples themselves, layer by layer. `[b c, m]`
    Samples { layers: Vec<Vec<T>> },
    /// Sums of outer products by group, a head each where heads are asked for, else a layer, `[m, m]`; the last for rows
    /// without their mean.
    Outer { groups: Vec<Vec<f64>>, row_mean_subtracted: Vec<f64> },
    /// Products with random directions. `omega` `[m, r]`, sums by group `[m, r]`.
    Sketch { omega: Vec<T>, rank: usize, groups: Vec<Vec<f64>>, row_mean_subtracted: Vec<f64> },
}
