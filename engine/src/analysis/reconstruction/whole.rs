use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{EigenProjection, Greedy, greedy};

/// Errors of restoring a whole map from some of its scores (Eigen analysis, figure 9, "whole matrix").
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WholeReconstruction {
    /// Positions n.
    pub tokens: usize,
    /// Pairs in the order in which they are best computed, as `query * n + key`, with the error after each.
    pub greedy: Greedy,
    /// Mean squared error of projecting on the top 1, 2, ... eigenvectors, summed over all pairs.
    pub eigen_errors: Vec<f64>,
}

/// Why the whole map is not analysed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WholeTooLarge {
    /// Too little memory.
    #[error(
        "The covariance of whole maps of {tokens} tokens needs {} GiB, {} GiB are free. Analyse rows instead, or \
         sequences of at most {longest} tokens",
        .needed_bytes.div_ceil(1 << 30), .free_bytes >> 30
    )]
    Memory {
        /// Positions n.
        tokens: usize,
        /// What it takes.
        needed_bytes: u64,
        /// What there is.
        free_bytes: u64,
        /// The longest sequence that fits.
        longest: usize,
    },
    /// Not the covariance of maps of so many tokens.
    #[error("A covariance of {found} numbers is not that of maps of {tokens} by {tokens} scores")]
    Shape {
        /// Positions n.
        tokens: usize,
        /// Numbers given.
        found: usize,
    },
    /// A score is not finite.
    #[error("Scores that are not finite have no covariance; use an earlier checkpoint")]
    NotFinite,
}

/// Bytes that it takes to choose pairs of whole maps of `tokens` positions: two matrices of n² by n² numbers, the
/// residual covariance and the eigenvectors' working copy.
pub fn whole_bytes(tokens: usize) -> u64 {
    (tokens as u64).saturating_pow(4).saturating_mul(16)
}

impl WholeReconstruction {
    /// Chooses up to `most` pairs of the whole map, whose covariance is `c`.
    ///
    /// # Shapes
    /// `c` `[n², n²]`, row by row.
    ///
    /// # Errors
    /// If it would take more than `free_bytes`, with the numbers; if `c` has another size or is not finite.
    pub fn new(mut c: Vec<f64>, tokens: usize, most: usize, free_bytes: u64) -> Result<Self, WholeTooLarge> {
        Self::check(tokens, free_bytes)?;
        let size = tokens * tokens;
        if c.len() != size * size {
            return Err(WholeTooLarge::Shape { tokens, found: c.len() });
        }
        let eigen_errors = EigenProjection::new(&c, size, 0).ok_or(WholeTooLarge::NotFinite)?.errors();
        Ok(Self { tokens, greedy: greedy(&mut c, size, most), eigen_errors })
    }

    /// Refuses what does not fit into memory, before anything is computed.
    ///
    /// # Errors
    /// With what it would take, what there is, and what would fit.
    pub fn check(tokens: usize, free_bytes: u64) -> Result<(), WholeTooLarge> {
        let needed_bytes = whole_bytes(tokens);
        if needed_bytes <= free_bytes {
            return Ok(());
        }
        let longest = (1..tokens).take_while(|n| whole_bytes(*n) <= free_bytes).last().unwrap_or(0);
        Err(WholeTooLarge::Memory { tokens, needed_bytes, free_bytes, longest })
    }

    /// Mean squared error after 0, 1, ... computed pairs, as a share of the variance of all scores.
    pub fn errors(&self) -> Vec<f64> {
        let trace = self.trace();
        let share = |error: &f64| if trace > 0.0 { error / trace } else { 0.0 };
        self.greedy.residual.iter().map(share).collect()
    }

    /// The variance of all scores, in squared scores.
    pub fn trace(&self) -> f64 {
        self.greedy.residual.first().copied().unwrap_or(0.0)
    }
}
