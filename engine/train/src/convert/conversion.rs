//! The list of conversions.

use headroom_config::described;
use serde::{Deserialize, Serialize};

use super::{
    borrow::ToBorrow, collaborative_attention::ToCollaborative, coverage::ToCoverage, description::Convert,
    grouped::ToGrouped, without_key_biases::WithoutKeyBiases,
};
use crate::config::{Pairwise, SharedWeight, Symmetric};

described! {
    /// Target of a conversion.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum Conversion: Convert {
        /// All heads share queries and keys. (Cordonnier et al., 2020, section 3.3)
        Collaborative(ToCollaborative),
        /// Heads borrow maps that are like their own. (Bhojanapalli et al., "Leveraging redundancy in attention with Reuse
        /// Transformers", 2021)
        Borrow(ToBorrow),
        /// Queries are keys too. (The family: Kowsher et al., "Does self-attention need separate weights in Transformers?", 2024,
        /// table 3)
        Symmetric(Symmetric),
        /// Queries are keys too, with a matrix between them. (The family: as before)
        Pairwise(Pairwise),
        /// Queries, keys and values have one matrix, told apart by diagonals. (The family: as before, equation 1)
        SharedWeight(SharedWeight),
        /// Several heads share keys and values. (Ainslie et al., "GQA", 2023, section 2.1)
        Grouped(ToGrouped),
        /// Not every pair is scored. (Bhojanapalli et al., "Eigen analysis of self-attention and its reconstruction from partial
        /// computation", 2021)
        Coverage(ToCoverage),
        /// Keys lose their biases, which add the same to all scores of a row: nothing is lost.
        WithoutKeyBiases(WithoutKeyBiases),
    }
}

impl Conversion {
    /// Every conversion with its usual numbers, in the order of menus and options; a number that depends on the model is 0. Conversions
    /// that leave out pairs are one for each way to do so.
    pub fn examples() -> Vec<Self> {
        let each = |conversion: Self| match conversion {
            Self::Collaborative(to) => vec![Self::Collaborative(ToCollaborative { d_k: 0, ..to })],
            Self::Coverage(to) => to.each_way().map(Self::Coverage).into(),
            conversion => vec![conversion],
        };
        Self::usual().into_iter().flat_map(each).collect()
    }
}
