use rayon::prelude::*;

use super::{AnalysisError, Measure, Similarity};
use crate::ops::{Matrix, MatrixMut, Real, add_js_divergences, add_l1_distances, parallel_product, part};

/// Similarity of the maps of every two heads, summed up example by example.
///
/// The sum does not depend on the number of threads: each example has its own, and they are added in order.
#[derive(Clone, Debug)]
pub struct SimilaritySum {
    measure: Measure,
    layers: usize,
    heads: usize,
    /// Whether each head has a map, layer by layer.
    is_present: Vec<bool>,
    /// `[L H, L H]`, above the diagonal.
    sum: Vec<f64>,
    examples: u64,
}

/// The maps of some examples.
#[derive(Clone, Copy, Debug)]
pub struct MapBatch<'a, T> {
    /// A layer each, `[b, H, n, m]` contiguous; empty where the layer has no maps.
    pub layers: &'a [&'a [T]],
    /// Examples b, queries n, keys m.
    pub sizes: [usize; 3],
    /// 1 = a real token, 0 = padding, whose row counts for nothing; all real where there is none. `[b, n]`
    pub queries: Option<&'a [u8]>,
}

impl SimilaritySum {
    /// Nothing yet. `is_present` says of each head, layer by layer, whether it has a map.
    ///
    /// # Panics
    /// If it does not say so of every head.
    pub fn new(measure: Measure, layers: usize, heads: usize, is_present: Vec<bool>) -> Self {
        let count = layers * heads;
        assert_eq!(is_present.len(), count, "`is_present` is not of {layers} layers of {heads} heads");
        Self { measure, layers, heads, is_present, sum: vec![0.0; count * count], examples: 0 }
    }

    /// Adds examples. One without a real token counts for nothing.
    ///
    /// # Errors
    /// If the maps are not as many or as large as they should be, or a number is not finite.
    pub fn add<T: Real>(&mut self, maps: &MapBatch<'_, T>) -> Result<(), AnalysisError> {
        let [b, n, m] = maps.sizes;
        let map = n * m;
        AnalysisError::unless_equal("layers of attention maps", maps.layers.len(), self.layers)?;
        for (layer, values) in maps.layers.iter().enumerate() {
            let is_present = part(&self.is_present, layer * self.heads, self.heads).contains(&true);
            if is_present || !values.is_empty() {
                let what = format!("numbers in the attention maps of layer {layer}");
                AnalysisError::unless_equal(what, values.len(), b * self.heads * map)?;
            }
        }
        if let Some(mask) = maps.queries {
            AnalysisError::unless_equal("places in the masks of padding", mask.len(), b * n)?;
        }
        let found: Vec<Option<Vec<f64>>> =
            (0..b).into_par_iter().map(|example| self.of_example(maps, example)).collect::<Result<_, _>>()?;
        for example in found.into_iter().flatten() {
            self.examples += 1;
            for (sum, value) in self.sum.iter_mut().zip(example) {
                *sum += value;
            }
        }
        Ok(())
    }

    /// The map of head `head` of layer `layer` of an example. `[n, m]`
    fn map<'a, T: Real>(&self, maps: &MapBatch<'a, T>, example: usize, head: usize) -> &'a [T] {
        let [_, n, m] = maps.sizes;
        let (layer, head) = (head / self.heads, head % self.heads);
        let start = (example * self.heads + head) * n * m;
        part(maps.layers[layer], start, n * m)
    }

    /// Similarities of one example above the diagonal; none without a real token.
    fn of_example<T: Real>(&self, maps: &MapBatch<'_, T>, example: usize) -> Result<Option<Vec<f64>>, AnalysisError> {
        let [_, n, m] = maps.sizes;
        let is_real = |query: &usize| maps.queries.is_none_or(|mask| mask[example * n + query] != 0);
        let queries: Vec<usize> = (0..n).filter(is_real).collect();
        if queries.is_empty() || m == 0 {
            return Ok(None);
        }
        let heads: Vec<usize> = (0..self.layers * self.heads).filter(|head| self.is_present[*head]).collect();
        let count = heads.len();
        let all: Vec<&[T]> = heads.iter().map(|head| self.map(maps, example, *head)).collect();
        for (map, head) in all.iter().zip(&heads) {
            if map.iter().any(|value| !value.as_f64().is_finite()) {
                let (layer, head) = (head / self.heads, head % self.heads);
                return Err(AnalysisError::NotFinite { what: "attention maps", layer, head });
            }
        }
        let row = |map: &[T], query: usize, out: &mut Vec<T>| {
            out.extend_from_slice(part(map, query * m, m));
        };
        let mut between = vec![0.0; count * count];
        let real = queries.len() as f64;
        match self.measure {
            Measure::TotalVariation | Measure::JensenShannon => {
                let mut rows = Vec::with_capacity(count * m);
                for &query in &queries {
                    rows.clear();
                    for map in &all {
                        row(map, query, &mut rows);
                    }
                    match self.measure {
                        Measure::TotalVariation => add_l1_distances(&rows, m, &mut between),
                        _ => add_js_divergences(&rows, m, &mut between),
                    }
                }
                let scale = if self.measure == Measure::TotalVariation { 0.5 } else { 1.0 };
                for value in &mut between {
                    *value = (1.0 - scale * *value / real).clamp(0.0, 1.0);
                }
            }
            Measure::Cosine => {
                let mut rows = Vec::with_capacity(count * m);
                let mut products = vec![T::ZERO; count * count];
                for &query in &queries {
                    rows.clear();
                    for map in &all {
                        row(map, query, &mut rows);
                    }
                    for row in rows.chunks_exact_mut(m) {
                        normalise(row);
                    }
                    let rows = Matrix::row_major(&rows, count, m);
                    parallel_product(MatrixMut::new(&mut products, count, count), rows, rows.transposed(), false);
                    for (sum, value) in between.iter_mut().zip(&products) {
                        *sum += value.as_f64();
                    }
                }
                for value in &mut between {
                    *value = (*value / real).clamp(0.0, 1.0);
                }
            }
            Measure::LinearCka => {
                let r = queries.len();
                // In double precision from the first subtraction on: of maps that are nearly uniform, what is left once the
                // means are gone is a small part of the numbers.
                let mut kernels: Vec<f64> = Vec::with_capacity(count * r * r);
                for map in &all {
                    let mut rows: Vec<f64> = Vec::with_capacity(r * m);
                    for &query in &queries {
                        rows.extend(part(map, query * m, m).iter().map(|value| value.as_f64()));
                    }
                    centre_columns(&mut rows, m);
                    let centred = Matrix::row_major(&rows, r, m);
                    let mut kernel = vec![0.0; r * r];
                    parallel_product(MatrixMut::new(&mut kernel, r, r), centred, centred.transposed(), false);
                    normalise(&mut kernel);
                    kernels.extend_from_slice(&kernel);
                }
                let kernels = Matrix::row_major(&kernels, count, r * r);
                parallel_product(MatrixMut::new(&mut between, count, count), kernels, kernels.transposed(), false);
                for value in &mut between {
                    *value = value.clamp(0.0, 1.0);
                }
            }
        }
        let total = self.layers * self.heads;
        let mut placed = vec![0.0; total * total];
        for (a, &to) in heads.iter().enumerate() {
            for (b, &other) in heads.iter().enumerate().skip(a + 1) {
                placed[to * total + other] = between[a * count + b];
            }
        }
        Ok(Some(placed))
    }

    /// The mean over all examples.
    ///
    /// # Errors
    /// If there was no example.
    pub fn finish(&self) -> Result<Similarity, AnalysisError> {
        if self.examples == 0 {
            return Err(AnalysisError::NoExamples);
        }
        let count = self.layers * self.heads;
        let mut mean = vec![f64::NAN; count * count];
        for a in (0..count).filter(|head| self.is_present[*head]) {
            for b in (0..count).filter(|head| self.is_present[*head]) {
                let sum = self.sum[a.min(b) * count + a.max(b)];
                mean[a * count + b] = if a == b { 1.0 } else { sum / self.examples as f64 };
            }
        }
        let Self { measure, layers, heads, examples, .. } = *self;
        Ok(Similarity { measure, layers, heads, examples, mean, origins: Vec::new() })
    }
}

/// Divides by the Euclidean length, unless it is zero.
fn normalise<T: Real>(values: &mut [T]) {
    let length = values.iter().map(|value| value.as_f64().powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        let factor = T::of(1.0 / length);
        for value in values {
            *value *= factor;
        }
    }
}

/// Subtracts from every column its mean, and once more what rounding left of it. `[rows, columns]`
fn centre_columns(values: &mut [f64], columns: usize) {
    let rows = (values.len() / columns) as f64;
    for _ in 0..2 {
        let mut means = vec![0.0; columns];
        for row in values.chunks_exact(columns) {
            means.iter_mut().zip(row).for_each(|(mean, value)| *mean += value);
        }
        for row in values.chunks_exact_mut(columns) {
            row.iter_mut().zip(&means).for_each(|(value, sum)| *value -= sum / rows);
        }
    }
}
