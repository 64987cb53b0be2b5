//! Models that do not score every pair.

use serde::{Deserialize, Serialize};

use super::{
    ConvertError,
    description::{
        Control, ControlRange, ConversionField, ConversionInfo, ConversionOption, Convert, Converted, FieldValue,
        ModelSizes, PairsLeftOut, Run,
    },
};
use crate::{
    attention::ModelPlan,
    config::{AttentionConfig, Coverage, EigenCoverage, PartialCoverage, attention_words},
};

/// Which pairs are scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToCoverage {
    /// The answer; what it says about training has no meaning here.
    pub coverage: Coverage,
    /// Examples from whose scores pairs or directions are chosen.
    pub examples: usize,
}

impl ToCoverage {
    /// Each way to leave out pairs, with 16 that are scored.
    pub(super) fn each_way(self) -> [Self; 2] {
        let k = 16;
        [Coverage::Partial(PartialCoverage { k, ..PartialCoverage::default() }), Coverage::Eigen(EigenCoverage { k })]
            .map(|coverage| Self { coverage, ..self.clone() })
    }
}

impl Default for ToCoverage {
    fn default() -> Self {
        Self { coverage: Coverage::default(), examples: 256 }
    }
}

const PARTIAL: ConversionInfo = ConversionInfo {
    flag: "coverage",
    usage: "--coverage KIND:k=N",
    help: "Not every pair is scored: `partial:k=16` (the others follow from these) or `eigen:k=16` (each row projected on its top \
           eigenvectors), in all layers but the last",
    label: "Some pairs scored",
    word: "partial",
    note: "Of each row k pairs are scored; the others follow from them by a linear map found on the text.",
};

const EIGEN: ConversionInfo = ConversionInfo {
    label: "Scores on eigenvectors",
    word: "eigen",
    note: "Each row of scores is projected on its k top eigenvectors, found on the text.",
    ..PARTIAL
};

impl Convert for ToCoverage {
    fn info(&self) -> &'static ConversionInfo {
        if matches!(self.coverage, Coverage::Eigen(_)) { &EIGEN } else { &PARTIAL }
    }

    fn label(&self) -> String {
        attention_words(&AttentionConfig { coverage: self.coverage.clone(), ..AttentionConfig::default() })
    }

    fn suffix(&self) -> String {
        format!("-k{}", self.coverage.k().unwrap_or_default())
    }

    fn options(&self, _: u64) -> String {
        let k = self.coverage.k().unwrap_or_default();
        format!("--coverage {}:k={k} --choose-from {}", self.info().word, self.examples)
    }

    fn fields(&mut self, sizes: &ModelSizes) -> Vec<ConversionField<'_>> {
        let option = |name, value_name, help| Some(ConversionOption::new(name, value_name, help));
        let examples = ConversionField {
            option: option("choose-from", "COUNT", "Examples from whose scores `--coverage` chooses"),
            control: None,
            value: FieldValue::Count(&mut self.examples, 1..=1_000_000),
        };
        let range = ControlRange::Drag(1..=sizes.positions.saturating_sub(1).max(1));
        let k = Control { label: "k", help: "Pairs of a row, or eigenvectors", range };
        let coverage = ConversionField {
            option: option(PARTIAL.flag, "KIND:k=N", PARTIAL.help),
            control: Some(k),
            value: FieldValue::Coverage(&mut self.coverage),
        };
        vec![coverage, examples]
    }

    fn needs_text(&self) -> bool {
        true
    }

    /// Leaving pairs out asks nothing of how they are scored.
    fn starts_from_standard(&self) -> bool {
        false
    }

    fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError> {
        let after = plan.with_coverage(self.coverage.of_model());
        let leaves_out = (0..after.stack.layers).any(|layer| after.stack.approximates(layer));
        if leaves_out || self.coverage.is_full() {
            return Ok(Some(after));
        }
        let why = "No head before the last layer of this model computes a map, so that there is nothing to leave out. It can stay \
                   as it is.";
        Err(ConvertError::Refused { why })
    }

    fn run(&self, run: Run<'_>) -> Result<Converted, ConvertError> {
        let PairsLeftOut { plan, parameters, score_error } = run.text()?.leave_out(&self.coverage, self.examples)?;
        let found = Some(format!("error of scores {:.2} %", 100.0 * score_error));
        let coverage = Some(self.coverage.clone());
        Ok(Converted { plan, parameters, attentions: Vec::new(), found, reuse: None, coverage })
    }
}
