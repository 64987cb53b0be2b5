//! Heads that give up their own queries and keys for the map of a head of an earlier layer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    ConvertError,
    description::{
        Control, ControlRange, ConversionField, ConversionInfo, ConversionOption, Convert, Converted, FieldValue,
        ModelSizes, Run, each_attention,
    },
    products::{Singular, norm_squared, share},
    weights::{Place, Scoring, Tensors, Weights, places},
};
use crate::{
    analysis::Dense,
    attention::{Cell, HeadAt, HeadPlan, ModelPlan},
};

/// Heads that give up their own map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToBorrow {
    /// The least similarity (1 less the total-variation distance) of a borrowed map to the head's own, 0..=1.
    pub similarity: f64,
    /// True if a lender gets the best single map for itself and its borrowers: the mean of their products `W_Q W_Kᵀ`, cut to
    /// the size of a head.
    pub merges: bool,
}

impl Default for ToBorrow {
    fn default() -> Self {
        Self { similarity: 0.9, merges: false }
    }
}

const INFO: ConversionInfo = ConversionInfo {
    flag: "borrow",
    usage: "--borrow SIMILARITY",
    help: "Heads give up their own map for one of an earlier layer that is at least that similar (1 less the total-variation \
           distance, 0 to 1), as in `--borrow 0.9`",
    label: "Borrowed maps",
    word: "borrowed",
    note: "Heads give up their own map for one of an earlier layer that is like it on the text, and lose their queries and keys.",
};

impl Convert for ToBorrow {
    fn info(&self) -> &'static ConversionInfo {
        &INFO
    }

    fn label(&self) -> String {
        let merged =
            if self.merges { ", queries and keys of lenders merged with those of their borrowers" } else { "" };
        format!("maps borrowed where they are at least {} alike{merged}", self.similarity)
    }

    fn suffix(&self) -> String {
        format!("-borrow{}", self.similarity)
    }

    // The same examples give the same lenders.
    fn options(&self, examples: u64) -> String {
        format!("--borrow {} --examples {examples}", self.similarity)
    }

    fn fields(&mut self, _: &ModelSizes) -> Vec<ConversionField<'_>> {
        let similarity = ConversionField {
            option: Some(ConversionOption::new(INFO.flag, "SIMILARITY", INFO.help)),
            control: Some(Control {
                label: "Similarity",
                help: "Of a borrowed map to the head's own, at least: 1 less the total-variation distance",
                range: ControlRange::Whole,
            }),
            value: FieldValue::Number(&mut self.similarity),
        };
        let help = "With `--borrow`: a lender gets the best single map for itself and its borrowers, the mean of their products \
                    `W_Q W_Kᵀ` cut to the size of a head";
        let merges = ConversionField {
            option: Some(ConversionOption::new("merge", "", help)),
            control: Some(Control {
                label: "Merge projections",
                help: "A lender gets the best single map for itself and its borrowers: the mean of their W_Q W_K^T, cut to the size \
                       of a head",
                range: ControlRange::Whole,
            }),
            value: FieldValue::Switch(&mut self.merges),
        };
        vec![similarity, merges]
    }

    fn needs_text(&self) -> bool {
        true
    }

    /// Who borrows is not known before the model has read a text.
    fn plan(&self, plan: &ModelPlan) -> Result<Option<ModelPlan>, ConvertError> {
        let similarity = self.similarity;
        if !(0.0..=1.0).contains(&similarity) {
            let why = format!(
                "A similarity of {similarity} is out of range: it is at least 0 and at most 1, where maps are the same."
            );
            return Err(ConvertError::Number { option: INFO.flag, why });
        }
        if plan.encoder.is_some() {
            let why = "Heads of an encoder-decoder cannot be made to borrow yet: its maps are not compared. Name a model of one \
                       stack.";
            return Err(ConvertError::Refused { why });
        }
        Ok(None)
    }

    fn run(&self, mut run: Run<'_>) -> Result<Converted, ConvertError> {
        let lenders = run.text()?.lenders(self.similarity)?;
        let heads = &lenders.heads;
        let mut after = run.plan.clone();
        after.stack.head_plan = heads.clone();
        let merged =
            if self.merges { merged(&places(run.plan), heads, &run.parameters.tensors())? } else { Merged::new() };
        let converted = each_attention(&mut run, after, &mut |weights, _, tensors, _| {
            Ok((attention(weights, heads, &merged, tensors)?, 0))
        })?;
        Ok(Converted { found: Some(lenders.summary), reuse: Some(lenders.reuse), ..converted })
    }
}

/// Queries, with their bias as a last row, and keys of one head: `[d + 1, d_k]` and `[d, d_k]`.
type HeadFactors = [Dense; 2];

/// What lenders become, by head.
type Merged = BTreeMap<HeadAt, HeadFactors>;

/// For every head that others are to borrow from anew: the mean of the products `[W_Q; b_Q] W_Kᵀ` of all heads that have its
/// map then, cut to the size of a head.
///
/// # Errors
/// If weights cannot be read or singular values cannot be computed.
fn merged(places: &[Place<'_>], heads: &HeadPlan, tensors: &Tensors) -> Result<Merged, ConvertError> {
    let mut own = BTreeMap::new();
    for place in places {
        let weights = Weights::of(place);
        let mut tensors = tensors.clone();
        weights.split(&mut tensors)?;
        let Some(Scoring { maps, query_bias }) = weights.scoring(&tensors)? else { continue };
        let size = weights.heads.head_size;
        for (number, place_of) in weights.heads.computing().enumerate() {
            let mut query = maps.query.columns(number * size, size);
            query.values.extend(query_bias.iter().skip(number * size).take(size));
            query.rows += 1;
            let head = weights.heads.attending[place_of];
            own.insert(HeadAt::new(place.layer, head), [query, maps.key.columns(number * size, size)]);
        }
    }
    let mut merged = Merged::new();
    for (lender, cell) in heads.iter() {
        let users = heads.users(lender);
        let all: Vec<&HeadFactors> = users
            .iter()
            .chain([&lender])
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .filter_map(|at| own.get(at))
            .collect();
        if cell != Cell::Compute || all.len() < 2 {
            continue;
        }
        let mean =
            vec![1.0 / all.len() as f64; all.len() * all.iter().map(|[query, _]| query.columns).max().unwrap_or(0)];
        let side = |which: usize| {
            let each: Vec<Dense> = all.iter().filter_map(|factors| factors.get(which)).cloned().collect();
            Dense::side_by_side(&each)
        };
        let size = all.first().map_or(0, |[query, _]| query.columns);
        merged.insert(lender, Singular::of(&side(0).scale_columns(&mean), &side(1))?.best(size));
    }
    Ok(merged)
}

/// Takes away queries and keys of the heads of one attention that borrow now, and gives lenders what `merged` says. The error
/// of the products of heads that go on computing; none where no head does.
fn attention(
    weights: &Weights<'_>,
    plan: &HeadPlan,
    merged: &Merged,
    tensors: &mut Tensors,
) -> Result<Option<f64>, ConvertError> {
    let (heads, layer, size) = (&weights.heads, weights.place.layer, weights.heads.head_size);
    let Some(Scoring { maps, query_bias }) = weights.scoring(tensors)? else { return Ok(None) };
    let width = heads.width();
    let (mut kept, mut all, mut lost) = (Vec::new(), 0.0, 0.0);
    let (mut query, mut key) = (maps.query.clone(), maps.key.clone());
    let (mut bias, mut changes) = (query_bias.clone(), Vec::new());
    for (number, place) in heads.computing().enumerate() {
        let at = HeadAt::new(layer, heads.attending[place]);
        if plan.cell(at) != Some(Cell::Compute) {
            continue;
        }
        kept.extend(number * size..(number + 1) * size);
        let own = [&maps.query, &maps.key].map(|all| all.columns(number * size, size));
        all += norm_squared(&own[0], &own[1]);
        let Some([new_query, new_key]) = merged.get(&at) else { continue };
        changes.push(number);
        let new_bias = new_query.values.iter().skip(width * size);
        for (slot, value) in bias.iter_mut().skip(number * size).zip(new_bias) {
            *slot = *value;
        }
        let bare =
            Dense { rows: width, columns: size, values: new_query.values.iter().take(width * size).copied().collect() };
        // T - T~ as one product of factors side by side.
        let minus = vec![-1.0; size];
        let (left, right) = (
            Dense::side_by_side(&[own[0].clone(), bare.clone().scale_columns(&minus)]),
            Dense::side_by_side(&[own[1].clone(), new_key.clone()]),
        );
        lost += norm_squared(&left, &right);
        replace(&mut query, number * size, &bare);
        replace(&mut key, number * size, new_key);
    }
    if !changes.is_empty() {
        let columns = maps.query.columns;
        weights.put(tensors, "query", &query.values, columns)?;
        weights.put(tensors, "key", &key.values, columns)?;
        weights.put_bias(tensors, "query", bias)?;
        // It adds the same to all scores of a row, and belonged to the keys of before.
        if let Some(old) = weights.bias(tensors, "key")? {
            let of_changed = |column: &usize| changes.contains(&(column / size.max(1)));
            let new = old.iter().enumerate().map(|(column, value)| if of_changed(&column) { 0.0 } else { *value });
            weights.put_bias(tensors, "key", new.collect())?;
        }
    }
    if kept.len() < maps.query.columns {
        weights.keep(tensors, "query", &kept)?;
        weights.keep(tensors, "key", &kept)?;
    }
    Ok((!kept.is_empty()).then(|| share(lost, all)))
}

/// Puts columns in place of others.
fn replace(all: &mut Dense, first: usize, columns: &Dense) {
    let rows = all.values.chunks_exact_mut(all.columns.max(1)).zip(columns.values.chunks_exact(columns.columns.max(1)));
    for (row, new) in rows {
        for (slot, value) in row.iter_mut().skip(first).zip(new) {
            *slot = *value;
        }
    }
}
