//! Collaborative attention from standard attention.

use serde::{Deserialize, Serialize};

use super::{
    ConvertError, Factors, Search, decompose,
    description::{
        Control, ControlRange, ConversionField, ConversionInfo, ConversionOption, Convert, FieldValue, ModelSizes, Tell,
    },
    weights::{Scoring, Tensors, Weights, tensor, with_compatibility},
};
use crate::{
    attention::ModelPlan,
    config::{Collaborative, Compatibility},
};

/// How standard attention becomes collaborative attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToCollaborative {
    /// Shared width D of queries and keys of all heads together, from 1 to the heads' number times their size, where nothing
    /// is lost.
    pub d_k: usize,
    /// Random beginnings of the search beside the one from singular vectors; the best is kept.
    pub random_starts: usize,
    /// What they are drawn from.
    pub seed: u64,
    /// The most sweeps from each beginning.
    pub sweeps: usize,
    /// A search ends where ten sweeps make the error less by a smaller share than this.
    pub tolerance: f64,
}

impl Default for ToCollaborative {
    fn default() -> Self {
        Self { d_k: 64, random_starts: 1, seed: 1, sweeps: 1000, tolerance: 1e-4 }
    }
}

const INFO: ConversionInfo = ConversionInfo {
    flag: "collaborative",
    usage: "--collaborative --d-k N",
    help: "Standard attention becomes collaborative: queries and keys that all heads share, and a mixing row for each head",
    label: "Collaborative heads",
    word: "collaborative",
    note: "W_Q W_K^T of all heads follow from queries and keys that they share, mixed by a row of each head. At the whole width \
           nothing is lost.",
};

const WIDTH: ConversionOption = ConversionOption {
    name: "d-k",
    value_name: "N,..",
    help: "The shared width of `--collaborative`; at the number of heads times their size nothing is lost. Several make a model \
           each, in folders of their own inside of `--to`: `d_k-16`, `d_k-32`",
    required: Some(
        "--collaborative wants the shared width too: --d-k N. At the number of heads times their size nothing is lost.",
    ),
    several: Some("d_k-"),
};

impl Convert for ToCollaborative {
    fn info(&self) -> &'static ConversionInfo {
        &INFO
    }

    fn label(&self) -> String {
        let starts = if self.random_starts == 1 { "start" } else { "starts" };
        format!("collaborative, d_k {}, {} random {starts}, seed {}", self.d_k, self.random_starts, self.seed)
    }

    fn suffix(&self) -> String {
        format!("-dk{}", self.d_k)
    }

    fn options(&self, _: u64) -> String {
        format!("--collaborative --d-k {}", self.d_k)
    }

    fn fields(&mut self, sizes: &ModelSizes) -> Vec<ConversionField<'_>> {
        let help = "Beginnings of the search beside the one from singular vectors; the best is kept";
        let starts = Control { label: "Random starts", help, range: ControlRange::Drag(0..=100) };
        let help = "The shared width of queries and keys of all heads";
        let width = Control { label: "d_k", help, range: ControlRange::Slider(1..=sizes.width.max(1)) };
        let field = |option, control, value| ConversionField { option: Some(option), control, value };
        let any = 0..=usize::MAX;
        vec![
            field(WIDTH, Some(width), FieldValue::Count(&mut self.d_k, any)),
            field(
                ConversionOption::new(
                    "restarts",
                    "COUNT",
                    "Random beginnings of the search beside the one from singular vectors; the best of all is kept",
                ),
                Some(starts),
                FieldValue::Count(&mut self.random_starts, 0..=1000),
            ),
            field(
                ConversionOption::new("seed", "SEED", "What random beginnings are drawn from"),
                None,
                FieldValue::Seed(&mut self.seed),
            ),
            field(
                ConversionOption::new("sweeps", "COUNT", "The most sweeps from each beginning"),
                None,
                FieldValue::Count(&mut self.sweeps, 1..=1_000_000),
            ),
            field(
                ConversionOption::new(
                    "tolerance",
                    "SHARE",
                    "A search ends where ten sweeps make the error less by a smaller share than this",
                ),
                None,
                FieldValue::Share(&mut self.tolerance),
            ),
        ]
    }

    /// Half of the whole where nothing was chosen.
    fn adapt(&mut self, sizes: &ModelSizes) {
        let chosen = if self.d_k == 0 { sizes.width / 2 } else { self.d_k };
        self.d_k = chosen.clamp(1, sizes.width.max(1));
    }

    fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError> {
        let d_k = self.d_k;
        for stack in plan.stacks() {
            let (heads, most) = (stack.heads, stack.heads * stack.head_size);
            if !(1..=most).contains(&d_k) {
                let why = format!(
                    "A shared width of {d_k} is out of range: it is at least 1 and at most {most}, the columns of all {heads} \
                     heads together, at which nothing is lost. Choose one of 1 to {most}."
                );
                return Err(ConvertError::Number { option: WIDTH.name, why });
            }
        }
        Ok(Some(with_compatibility(plan, &Compatibility::Collaborative(Collaborative { d_k }))))
    }

    /// Query biases become content biases, key biases go.
    fn attention(
        &self,
        weights: &Weights<'_>,
        number: usize,
        tensors: &mut Tensors,
        tell: &mut Tell<'_>,
    ) -> Result<(Option<f64>, usize), ConvertError> {
        let scoring = weights.scoring(tensors)?;
        weights.remove(tensors, "query");
        weights.remove(tensors, "key");
        let Some(Scoring { maps, query_bias }) = scoring else { return Ok((Some(0.0), 0)) };
        let Self { d_k, random_starts, seed, sweeps, tolerance } = *self;
        let search = Search { d_k, random_starts, seed, index: number as u64, sweeps, tolerance };
        let found = decompose(&maps, &search, tell)?;
        let Factors { query, key, mixing } = &found.factors;
        weights.put(tensors, "query", &query.values, d_k)?;
        weights.put(tensors, "key", &key.values, d_k)?;
        weights.put(tensors, "content", &maps.content_biases(&query_bias), maps.heads())?;
        let mixing = tensor(mixing.values.clone(), &[maps.heads(), d_k], weights.dtype(tensors))?;
        tensors.insert(weights.named("mixing.weight"), mixing);
        Ok((Some(found.relative_error), found.sweeps))
    }
}
