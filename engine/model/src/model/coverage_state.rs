use crate::{attention::StackPlan, config::Coverage, ops::PairSets};

use super::{ModelError, specification::restore_shape};

/// What was found out about the scores of a model that computes all of them, for one that does not.
#[derive(Clone, Debug, PartialEq)]
pub enum CoverageState {
    /// For partial coverage.
    Partial {
        /// The keys that each query scores.
        pairs: PairSets,
        /// The best map from these to the others, a row a restored pair, query by query. `[restored pairs, k]`
        restore: Vec<f64>,
    },
    /// For projection on eigenvectors: the directions of each query, one a row. `[n, k, n]`
    Eigen {
        /// Them.
        basis: Vec<f64>,
    },
}

impl CoverageState {
    /// Refuses what was found for another plan.
    ///
    /// # Errors
    /// With what does not fit.
    pub(super) fn check(&self, plan: &StackPlan) -> Result<(), ModelError> {
        let n = plan.longest();
        let fits = match (self, &plan.coverage) {
            (Self::Partial { pairs, restore }, Coverage::Partial(partial)) => {
                let numbers = restore_shape(plan).map(|[rows, k]| rows * k);
                (pairs.tokens(), pairs.k(), pairs.is_causal()) == (n, partial.k, plan.is_causal)
                    && Some(restore.len()) == numbers
            }
            (Self::Eigen { basis }, Coverage::Eigen(eigen)) => basis.len() == n * n * eigen.k,
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(ModelError::Unsupported(format!("pairs or directions that were not found for sequences of {n} tokens")))
    }
}
