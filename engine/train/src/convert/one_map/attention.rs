//! One attention of a model.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::{
    OneMap,
    fit::{Fit, Values, fit},
    product::Product,
};
use crate::{
    analysis::{Dense, Eigen, eigen},
    convert::{
        ConvertError,
        products::{norm_squared, share},
        weights::{Scoring, Tensors, Weights, tensor},
    },
    ops::part,
};

/// What one head that attends becomes.
struct Head {
    /// Its map. `[d, d_k]`
    map: Dense,
    bias: Vec<f64>,
    /// How its scores come from it; none where another head's map is borrowed.
    scores: Option<Scores>,
    /// Its rows of the output, where they change. `[d_k, d]`
    output: Option<Dense>,
}

/// How scores come from the map.
struct Scores {
    /// `N` `[d_k, d_k]`
    inner: Dense,
    sweeps: usize,
    lost: f64,
    all: f64,
}

/// Gives the heads of one attention one map for queries and keys; none where no head computes and nothing changes.
pub(super) fn attention(
    weights: &Weights<'_>,
    to: OneMap,
    tensors: &mut Tensors,
    tell: &mut dyn FnMut(usize, f64) -> ControlFlow<()>,
) -> Result<Option<(f64, usize)>, ConvertError> {
    let scoring = weights.scoring(tensors)?;
    let heads = match to {
        OneMap::Symmetric | OneMap::Pairwise => {
            let Some(scoring) = &scoring else {
                weights.remove(tensors, "query");
                weights.remove(tensors, "key");
                return Ok(None);
            };
            (0..scoring.maps.heads())
                .into_par_iter()
                .map(|number| of_scores(scoring, (number, weights.heads.head_size), to))
                .collect::<Result<Vec<Head>, ConvertError>>()?
        }
        OneMap::SharedWeight => with_values(weights, scoring.as_ref(), tensors)?,
    };
    let (mut lost, mut all, mut sweeps) = (0.0, 0.0, 0);
    for scores in heads.iter().filter_map(|head| head.scores.as_ref()) {
        (lost, all, sweeps) = (lost + scores.lost, all + scores.all, sweeps.max(scores.sweeps));
    }
    let relative_error = share(lost, all);
    if tell(sweeps, relative_error).is_break() {
        return Err(ConvertError::Stopped);
    }
    weights.remove(tensors, "query");
    weights.remove(tensors, "key");
    match to {
        OneMap::Symmetric => put_maps(weights, tensors, "query", &heads)?,
        OneMap::Pairwise => {
            put_maps(weights, tensors, "query", &heads)?;
            let size = weights.heads.head_size;
            let inner = heads.iter().filter_map(|head| head.scores.as_ref()).flat_map(|scores| &scores.inner.values);
            let shape = [heads.len(), size, size];
            let inner = tensor(inner.copied().collect(), &shape, weights.dtype(tensors))?;
            tensors.insert(weights.named("pairwise.weight"), inner);
        }
        OneMap::SharedWeight => put_shared(weights, tensors, &heads)?,
    }
    Ok(scoring.is_some().then_some((relative_error, sweeps)))
}

/// A head that computes, by its products alone.
fn of_scores(scoring: &Scoring, (number, size): (usize, usize), to: OneMap) -> Result<Head, ConvertError> {
    let [query, key] = [&scoring.maps.query, &scoring.maps.key].map(|all| all.columns(number * size, size));
    let product = Product::new([&query, &key], part(&scoring.query_bias, number * size, size), &[])?;
    let mut found = fit(&product, to, size, None)?;
    if to == OneMap::Pairwise {
        // Columns as long as those of queries and keys were, whatever came into the matrix between them.
        let length = |map: &Dense| map.values.iter().map(|value| value * value).sum::<f64>() / size as f64;
        scale(&mut found, (length(&query) * length(&key)).sqrt().sqrt());
    }
    let map = product.basis.times(&found.factor);
    let scores = scores_of([&query, &key], &map, &found);
    Ok(Head { map, bias: found.bias.values, scores: Some(scores), output: None })
}

/// The error of the bare products, with the rest of what is known of them.
fn scores_of([query, key]: [&Dense; 2], map: &Dense, found: &Fit) -> Scores {
    // T - T~ as one product of factors side by side.
    let minus = vec![-1.0; map.columns];
    let left = Dense::side_by_side(&[query.clone(), map.times(&found.inner).scale_columns(&minus)]);
    let right = Dense::side_by_side(&[key.clone(), map.clone()]);
    let (lost, all) = (norm_squared(&left, &right).max(0.0), norm_squared(query, key));
    Scores { inner: found.inner.clone(), sweeps: found.sweeps, lost, all }
}

/// Makes the factor longer and the matrix between two of them smaller by as much.
fn scale(found: &mut Fit, by: f64) {
    if by > 0.0 && by.is_finite() {
        let longer = found.factor.values.iter_mut().chain(&mut found.bias.values);
        longer.for_each(|value| *value *= by);
        found.inner.values.iter_mut().for_each(|value| *value /= by * by);
    }
}

/// Every head that attends, where the one map holds its values too.
fn with_values(weights: &Weights<'_>, scoring: Option<&Scoring>, tensors: &Tensors) -> Result<Vec<Head>, ConvertError> {
    let (heads, size) = (&weights.heads, weights.heads.head_size);
    let empty = || Dense::zeros(heads.width(), heads.mixing_width());
    let values = weights.map(tensors, "value")?.unwrap_or_else(empty);
    let value_bias = weights.bias(tensors, "value")?.unwrap_or_else(|| vec![0.0; heads.mixing_width()]);
    let output = weights.map(tensors, "output")?.unwrap_or_else(|| empty().turned());
    let computing: Vec<usize> = heads.computing().collect();
    let of_head = |place: usize| {
        let (value, bias) = (values.columns(place * size, size), part(&value_bias, place * size, size));
        let computed = computing.iter().position(|at| *at == place);
        let (Some(number), Some(scoring)) = (computed, scoring) else {
            return Ok(Head { map: value, bias: bias.to_vec(), scores: None, output: None });
        };
        let rows = part(&output.values, place * size * output.columns, size * output.columns).to_vec();
        shared(scoring, number, &value, &Dense { rows: size, columns: output.columns, values: rows })
    };
    (0..heads.attending()).into_par_iter().map(of_head).collect()
}

/// A head that computes, with its values and its rows of the output.
fn shared(scoring: &Scoring, number: usize, value: &Dense, output: &Dense) -> Result<Head, ConvertError> {
    let size = value.columns;
    let [query, key] = [&scoring.maps.query, &scoring.maps.key].map(|all| all.columns(number * size, size));
    let bias = part(&scoring.query_bias, number * size, size);
    let product = Product::new([&query, &key], bias, std::slice::from_ref(value))?;
    let held = Values::new(&product.basis.transposed_times(value), output);
    let mut found = fit(&product, OneMap::SharedWeight, size, Some(&held))?;
    let length = value.values.iter().map(|value| value * value).sum::<f64>() / size as f64;
    scale(&mut found, length.sqrt());
    let map = product.basis.times(&found.factor);
    let scores = scores_of([&query, &key], &map, &found);
    let output = refitted(&map, value)?.times(output);
    Ok(Head { map, bias: found.bias.values, scores: Some(scores), output: Some(output) })
}

/// `C` with `map C` nearest to `value`: of the least length where the map has fewer directions than columns. `[d_k, d_k]`
fn refitted(map: &Dense, value: &Dense) -> Result<Dense, ConvertError> {
    let Eigen { values, vectors } = eigen(&map.transposed_times(map).values, map.columns)?;
    let weakest = 1e-12 * values.first().copied().unwrap_or_default();
    let inverse: Vec<f64> = values.iter().map(|value| if *value > weakest { 1.0 / value } else { 0.0 }).collect();
    let of_map = vectors.clone().scale_columns(&inverse).times_transposed(&vectors);
    Ok(of_map.times(&map.transposed_times(value)))
}

/// Puts the maps of heads there, side by side.
fn put_maps(weights: &Weights<'_>, tensors: &mut Tensors, module: &str, heads: &[Head]) -> Result<(), ConvertError> {
    let maps: Vec<Dense> = heads.iter().map(|head| head.map.clone()).collect();
    weights.put_map(tensors, module, &Dense::side_by_side(&maps))?;
    weights.put_bias(tensors, module, heads.iter().flat_map(|head| &head.bias).copied().collect())
}

/// Puts the shared matrix, its diagonals and the refitted output there.
fn put_shared(weights: &Weights<'_>, tensors: &mut Tensors, heads: &[Head]) -> Result<(), ConvertError> {
    let (dtype, size) = (weights.dtype(tensors), weights.heads.head_size);
    let value_bias = weights.bias(tensors, "value")?;
    let output = weights.map(tensors, "output")?;
    weights.remove(tensors, "value");
    put_maps(weights, tensors, "shared", heads)?;
    let diagonals = heads.iter().filter_map(|head| head.scores.as_ref()).map(|scores| diagonals(&scores.inner));
    let (of_query, of_key): (Vec<Vec<f64>>, Vec<Vec<f64>>) = diagonals.unzip();
    let ones = vec![1.0; heads.len() * size];
    for (module, values) in
        [("query_diagonal", of_query.concat()), ("key_diagonal", of_key.concat()), ("value_diagonal", ones)]
    {
        if values.is_empty() {
            continue;
        }
        let shape = [values.len()];
        tensors.insert(weights.named(&format!("{module}.weight")), tensor(values, &shape, dtype)?);
    }
    let Some(mut output) = output else { return Ok(()) };
    // Rows of attention sum to one: a bias of values is one of the output.
    let mut bias = weights.bias(tensors, "output")?.unwrap_or_else(|| vec![0.0; output.columns]);
    let mut add = |rows: &[f64], of: &[f64], sign: f64| {
        for (row, weight) in rows.chunks_exact(output.columns.max(1)).zip(of) {
            for (slot, value) in bias.iter_mut().zip(row) {
                *slot += sign * weight * value;
            }
        }
    };
    let mut rows = Vec::with_capacity(output.values.len());
    for (place, head) in heads.iter().enumerate() {
        let before = part(&output.values, place * size * output.columns, size * output.columns);
        let Some(after) = &head.output else {
            rows.extend_from_slice(before);
            continue;
        };
        if let Some(value_bias) = &value_bias {
            add(before, part(value_bias, place * size, size), 1.0);
        }
        add(&after.values, &head.bias, -1.0);
        rows.extend_from_slice(&after.values);
    }
    output.values = rows;
    weights.put_map(tensors, "output", &output)?;
    weights.put_bias(tensors, "output", bias)
}

/// Diagonals of queries and keys whose products these are. Where one is zero the other is not, so that training can still move it.
fn diagonals(inner: &Dense) -> (Vec<f64>, Vec<f64>) {
    let products: Vec<f64> = inner.values.iter().step_by(inner.columns + 1).copied().collect();
    let most = products.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let least = if most > 0.0 { 1e-6 * most } else { 1.0 };
    products
        .into_iter()
        .map(|product| (product.abs().max(least).sqrt(), product / product.abs().max(least).sqrt()))
        .unzip()
}
