//! Grouped-query attention by the mean of the heads of each group.
//!
//! Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head checkpoints", 2023, section 2.1.

use serde::{Deserialize, Serialize};

use super::{
    ConvertError,
    description::{
        Control, ControlRange, ConversionField, ConversionInfo, ConversionOption, Convert, FieldValue, ModelSizes, Tell,
    },
    products::{norm_squared, share},
    weights::{Tensors, Weights, with_compatibility},
};
use crate::{
    analysis::Dense,
    attention::ModelPlan,
    config::{Compatibility, Grouped, counted},
};

/// Number of heads of keys and values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToGrouped {
    /// Heads of keys and values; divides the heads.
    pub kv_heads: usize,
}

impl Default for ToGrouped {
    fn default() -> Self {
        Self { kv_heads: 1 }
    }
}

const INFO: ConversionInfo = ConversionInfo {
    flag: "grouped",
    usage: "--grouped KV_HEADS",
    help: "Heads in groups share keys and values: this many of them, each the mean of its group",
    label: "Grouped keys and values",
    word: "grouped",
    note: "Heads in groups share keys and values, each the mean of its group's.",
};

impl Convert for ToGrouped {
    fn info(&self) -> &'static ConversionInfo {
        &INFO
    }

    fn label(&self) -> String {
        let heads = counted(self.kv_heads as u64, "head");
        format!("grouped, {heads} of keys and values, each the mean of its group")
    }

    fn suffix(&self) -> String {
        format!("-kv{}", self.kv_heads)
    }

    fn options(&self, _: u64) -> String {
        format!("--grouped {}", self.kv_heads)
    }

    fn fields(&mut self, sizes: &ModelSizes) -> Vec<ConversionField<'_>> {
        let label = "Heads of keys and values";
        let range = ControlRange::OneOf((1..=sizes.heads).filter(|count| sizes.heads.is_multiple_of(*count)).collect());
        vec![ConversionField {
            option: Some(ConversionOption::new(INFO.flag, "KV_HEADS", INFO.help)),
            control: Some(Control { label, help: "", range }),
            value: FieldValue::Count(&mut self.kv_heads, 0..=usize::MAX),
        }]
    }

    fn adapt(&mut self, sizes: &ModelSizes) {
        if self.kv_heads == 0 || !sizes.heads.is_multiple_of(self.kv_heads) {
            self.kv_heads = 1;
        }
    }

    fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError> {
        let kv_heads = self.kv_heads;
        for stack in plan.stacks() {
            let heads = stack.heads;
            if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
                let why = format!(
                    "{kv_heads} heads of keys and values do not divide {heads} heads into groups of the same size. Choose a \
                     divisor of {heads}."
                );
                return Err(ConvertError::Number { option: INFO.flag, why });
            }
        }
        Ok(Some(with_compatibility(plan, &Compatibility::Grouped(Grouped { kv_heads }))))
    }

    /// Puts the mean of each group in place of its keys and values.
    fn attention(
        &self,
        weights: &Weights<'_>,
        _: usize,
        tensors: &mut Tensors,
        _: &mut Tell<'_>,
    ) -> Result<(Option<f64>, usize), ConvertError> {
        let (heads, size) = (&weights.heads, weights.heads.head_size);
        let group = |place: usize| heads.attending[place] * self.kv_heads / heads.heads;
        let computing: Vec<usize> = heads.computing().map(group).collect();
        let attending: Vec<usize> = (0..heads.attending()).map(group).collect();
        let before = weights.scoring(tensors)?;
        for (module, groups) in [("key", &computing), ("value", &attending)] {
            let Some(map) = weights.map(tensors, module)? else { continue };
            let mean = means(&map, groups, size);
            let bias = weights.bias(tensors, module)?;
            weights.remove(tensors, module);
            if mean.columns > 0 {
                weights.put(tensors, module, &mean.values, mean.columns)?;
            }
            if let Some(values) = bias.filter(|_| mean.columns > 0) {
                let bias = Dense { rows: 1, columns: values.len(), values };
                weights.put_bias(tensors, module, means(&bias, groups, size).values)?;
            }
        }
        let Some(before) = before else { return Ok((None, 0)) };
        let (query, key) = (&before.maps.query, &before.maps.key);
        let mean = means(key, &computing, size);
        let (mut all, mut lost, mut place, mut last) = (0.0, 0.0, 0, None);
        for (head, group) in computing.iter().enumerate() {
            if last.is_some_and(|last| last != group) {
                place += 1;
            }
            last = Some(group);
            let [query, own] = [query, key].map(|all| all.columns(head * size, size));
            let mut away = mean.columns(place * size, size);
            for (away, own) in away.values.iter_mut().zip(&own.values) {
                *away -= own;
            }
            all += norm_squared(&query, &own);
            lost += norm_squared(&query, &away);
        }
        Ok((Some(share(lost, all)), 0))
    }
}

/// The mean of the heads of each group, side by side; heads of one group stand together.
fn means(map: &Dense, groups: &[usize], size: usize) -> Dense {
    let mut means = Vec::new();
    let mut first = 0;
    for members in groups.chunk_by(|a, b| a == b) {
        let mut mean = Dense::zeros(map.rows, size);
        for head in first..first + members.len() {
            for (mean, value) in mean.values.iter_mut().zip(&map.columns(head * size, size).values) {
                *mean += value / members.len() as f64;
            }
        }
        means.push(mean);
        first += members.len();
    }
    if means.is_empty() { Dense::zeros(map.rows, 0) } else { Dense::side_by_side(&means) }
}
