//! Grouped-query attention by the mean of the heads of each group.
//!
//! Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head checkpoints", 2023, section 2.1.

use super::{
    ConvertError,
    products::{norm_squared, share},
    weights::{Tensors, Weights},
};
use crate::analysis::Dense;

/// Groups the keys and values of one attention; the error of its products, none where no head computes.
pub(super) fn attention(
    weights: &Weights<'_>,
    kv_heads: usize,
    tensors: &mut Tensors,
) -> Result<Option<f64>, ConvertError> {
    let (heads, size) = (&weights.heads, weights.heads.head_size);
    let group = |place: usize| heads.attending.get(place).map_or(0, |head| head * kv_heads / heads.heads.max(1));
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
    let Some(before) = before else { return Ok(None) };
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
    Ok(Some(share(lost, all)))
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
