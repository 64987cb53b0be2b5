//! The list of conversions.

use serde::{Deserialize, Serialize};

use super::{
    ConvertError,
    borrow::ToBorrow,
    collaborative_attention::ToCollaborative,
    coverage::ToCoverage,
    description::{ConversionField, ConversionInfo, Convert, Converted, ModelSizes, Run},
    grouped::ToGrouped,
    without_key_biases::WithoutKeyBiases,
};
use crate::{
    attention::ModelPlan,
    config::{Coverage, EigenCoverage, Pairwise, PartialCoverage, SharedWeight, Symmetric},
};

/// Target of a conversion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Conversion {
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

impl Conversion {
    /// Every conversion with its usual numbers, in the order of menus and options; a number that depends on the model is 0. Conversions
    /// that leave out pairs are one for each way to do so.
    pub fn examples() -> Vec<Self> {
        let coverage = |coverage| Self::Coverage(ToCoverage { coverage, ..ToCoverage::default() });
        vec![
            Self::Collaborative(ToCollaborative { d_k: 0, ..ToCollaborative::default() }),
            Self::Borrow(ToBorrow::default()),
            Self::Symmetric(Symmetric {}),
            Self::Pairwise(Pairwise {}),
            Self::SharedWeight(SharedWeight {}),
            Self::Grouped(ToGrouped::default()),
            coverage(Coverage::Partial(PartialCoverage { k: 16, ..PartialCoverage::default() })),
            coverage(Coverage::Eigen(EigenCoverage { k: 16 })),
            Self::WithoutKeyBiases(WithoutKeyBiases {}),
        ]
    }

    fn described(&self) -> &dyn Convert {
        match self {
            Self::Collaborative(to) => to,
            Self::Borrow(to) => to,
            Self::Symmetric(to) => to,
            Self::Pairwise(to) => to,
            Self::SharedWeight(to) => to,
            Self::Grouped(to) => to,
            Self::Coverage(to) => to,
            Self::WithoutKeyBiases(to) => to,
        }
    }

    fn described_mut(&mut self) -> &mut dyn Convert {
        match self {
            Self::Collaborative(to) => to,
            Self::Borrow(to) => to,
            Self::Symmetric(to) => to,
            Self::Pairwise(to) => to,
            Self::SharedWeight(to) => to,
            Self::Grouped(to) => to,
            Self::Coverage(to) => to,
            Self::WithoutKeyBiases(to) => to,
        }
    }

    /// Its names and explanations.
    pub fn info(&self) -> &'static ConversionInfo {
        self.described().info()
    }

    /// Name with its numbers: `collaborative, d_k 256, 1 random start, seed 1`.
    pub fn label(&self) -> String {
        self.described().label()
    }

    /// End of the name of a directory that is made by it, with its number: `-dk64`.
    pub fn suffix(&self) -> String {
        self.described().suffix()
    }

    /// Options of `headroom convert` that ask for it. A conversion that compares maps reads `examples` of the text.
    pub fn options(&self, examples: u64) -> String {
        self.described().options(examples)
    }

    /// Numbers and switches that can be chosen for a model of these sizes.
    pub fn fields(&mut self, sizes: &ModelSizes) -> Vec<ConversionField<'_>> {
        self.described_mut().fields(sizes)
    }

    /// Puts numbers in place that no model of these sizes can have, or that were not chosen yet.
    pub fn adapt(&mut self, sizes: &ModelSizes) {
        self.described_mut().adapt(sizes);
    }

    /// True if it depends on what the model does with a text.
    pub fn needs_text(&self) -> bool {
        self.described().needs_text()
    }

    /// Refuses what a model cannot become, before its weights are read.
    ///
    /// # Errors
    /// What stands in the way, and what to do.
    pub fn check(&self, plan: &ModelPlan) -> Result<(), ConvertError> {
        self.described().check(plan)
    }

    /// Plan of the converted model; none where that depends on a text.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError> {
        self.described().plan(plan)
    }

    pub(super) fn starts_from_standard(&self) -> bool {
        self.described().starts_from_standard()
    }

    pub(super) fn run(&self, run: Run<'_>) -> Result<Converted, ConvertError> {
        self.described().run(run)
    }
}
