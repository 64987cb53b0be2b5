use rayon::prelude::*;

use super::{
    AnalysisError, ScoreSpectra, Spectrum, SpectrumMethod, SpectrumSpec,
    eigen::{Dense, Eigen, eigen, eigenvalues, positive},
    moments::{
        add_outer, add_sketch, add_wide, as_pattern, column_products, gram, patterns, running, sub_spectrum,
        subtract_row_means,
    },
    nystroem::Nystroem,
};
use crate::ops::{
    Matrix, MatrixMut, Real, parallel_product,
    random::{Purpose, Stream},
};

/// Dimensions up to which the covariance itself is kept unless more is asked for: 32 tokens.
const EXACT_DIMENSIONS: usize = 1024;

/// Samples up to which their products with each other are used.
const GRAM_SAMPLES: usize = 1024;

/// Directions of a sketch beyond those that are kept: they make the others accurate.
const OVERSAMPLING: usize = 32;

/// What scores are to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreShape {
    /// Heads that score in each layer, from 0.
    pub computing: Vec<Vec<usize>>,
    /// Heads H of a layer.
    pub heads: usize,
    /// Sequence length n.
    pub tokens: usize,
    /// Pairs of a query and a later key are never used, so that they count as zero.
    pub is_causal: bool,
    /// Examples that will come, about.
    pub examples: usize,
}

/// Scores of some examples, before mask and softmax, scaled.
#[derive(Clone, Copy, Debug)]
pub struct ScoreBatch<'a, T> {
    /// A layer each, `[b, c, n, n]` contiguous; empty where no head scores.
    pub layers: &'a [&'a [T]],
    /// Examples b.
    pub examples: usize,
}

/// Second moments of scores, summed up example by example. Vectors are maps row by row: pair (i, j) is `i n + j`.
#[derive(Clone, Debug)]
pub struct SpectraSum<T> {
    shape: ScoreShape,
    spec: SpectrumSpec,
    /// Samples and energy (squared lengths) of each head, layer by layer.
    heads: Vec<(u64, f64)>,
    sums: Sums<T>,
    /// `Q^i` not yet divided. `[n, n, n]`
    queries: Option<Vec<f64>>,
    /// Energy in the means of rows.
    row_mean_energy: f64,
    examples: u64,
}

/// What eigenvalues are found from, by group: a head each where heads are asked for, else a layer.
#[derive(Clone, Debug)]
enum Sums<T> {
    /// Sums of outer products, `[n², n²]`; the last for rows without their mean.
    Exact { groups: Vec<Vec<f64>>, row_mean_subtracted: Vec<f64> },
    /// The samples themselves, with their groups.
    Gram { samples: Vec<T>, groups: Vec<usize> },
    /// Products with random directions. `omega` `[n², r]`, sums `[n², r]`.
    Sketch { omega: Vec<T>, rank: usize, groups: Vec<Vec<f64>>, row_mean_subtracted: Vec<f64> },
}

impl<T: Real> SpectraSum<T> {
    /// Nothing yet. The method is chosen by size: see [`SpectrumMethod`]. `free` is the memory that may be used.
    ///
    /// # Errors
    /// If more memory is needed than is free.
    pub fn new(shape: ScoreShape, spec: SpectrumSpec, free: Option<u64>) -> Result<Self, AnalysisError> {
        let n = shape.tokens;
        let dimension = n * n;
        let samples = shape.examples * shape.computing.iter().map(Vec::len).sum::<usize>();
        let groups = if spec.heads { shape.computing.len() * shape.heads } else { shape.computing.len() };
        let extra = usize::from(spec.row_mean_subtracted);
        let method = if samples <= GRAM_SAMPLES && samples < dimension {
            SpectrumMethod::Gram
        } else if dimension <= EXACT_DIMENSIONS || spec.exact {
            SpectrumMethod::Exact
        } else {
            SpectrumMethod::Sketch { rank: (spec.components + OVERSAMPLING).min(dimension) }
        };
        let wide = size_of::<f64>() as u64;
        let narrow = size_of::<T>() as u64;
        let cells = |rows: usize, columns: usize| rows as u64 * columns as u64;
        let needed = match method {
            SpectrumMethod::Gram => cells(samples, dimension) * narrow + 4 * cells(samples, samples) * wide,
            // Beside the sums: the covariance, its eigenvectors and what finding them takes.
            SpectrumMethod::Exact => cells(dimension, dimension) * wide * (groups + extra + 4) as u64,
            SpectrumMethod::Sketch { rank } => {
                cells(dimension, rank) * (wide * (2 * groups + extra + 3) as u64 + 2 * narrow)
            }
        } + if spec.queries { cells(dimension, n) * wide } else { 0 };
        if let Some(free) = free.filter(|free| needed > *free) {
            return Err(AnalysisError::Memory {
                what: "spectra of scores",
                needed,
                free,
                advice: "Look at shorter examples, keep fewer components, or leave out heads and queries.",
            });
        }
        let sums = match method {
            SpectrumMethod::Gram => Sums::Gram { samples: Vec::new(), groups: Vec::new() },
            SpectrumMethod::Exact => Sums::Exact {
                groups: vec![vec![0.0; dimension * dimension]; groups],
                row_mean_subtracted: vec![0.0; extra * dimension * dimension],
            },
            SpectrumMethod::Sketch { rank } => {
                let rows = (0..dimension as u64).into_par_iter().flat_map_iter(|row| {
                    // Always the same directions: two looks at the same scores give the same numbers.
                    let mut stream = Stream::new(0, Purpose::Sketch, row);
                    (0..rank).map(move |_| T::of(stream.normal()))
                });
                Sums::Sketch {
                    omega: rows.collect(),
                    rank,
                    groups: vec![vec![0.0; dimension * rank]; groups],
                    row_mean_subtracted: vec![0.0; extra * dimension * rank],
                }
            }
        };
        Ok(Self {
            heads: vec![(0, 0.0); shape.computing.len() * shape.heads],
            queries: spec.queries.then(|| vec![0.0; dimension * n]),
            shape,
            spec,
            sums,
            row_mean_energy: 0.0,
            examples: 0,
        })
    }

    /// Adds examples.
    ///
    /// # Errors
    /// If the scores are not as many as they should be, or a number is not finite.
    pub fn add(&mut self, batch: &ScoreBatch<'_, T>) -> Result<(), AnalysisError> {
        let n = self.shape.tokens;
        let dimension = n * n;
        let fits = |(values, heads): (&&[T], &Vec<usize>)| values.len() == batch.examples * heads.len() * dimension;
        if batch.layers.len() != self.shape.computing.len() || !batch.layers.iter().zip(&self.shape.computing).all(fits)
        {
            return Err(AnalysisError::OtherSizes { what: "scores" });
        }
        let computing = self.shape.computing.clone();
        for (layer, (values, heads)) in batch.layers.iter().zip(&computing).enumerate() {
            if !heads.is_empty() {
                self.add_layer(layer, heads, values)?;
            }
        }
        self.examples += batch.examples as u64;
        Ok(())
    }

    /// Adds the scores of one layer. `[b, c, n, n]`
    fn add_layer(&mut self, layer: usize, heads: &[usize], values: &[T]) -> Result<(), AnalysisError> {
        let (n, is_causal) = (self.shape.tokens, self.shape.is_causal);
        let dimension = n * n;
        // Rows, energies and, where asked for, the same rows without their means.
        let mut samples = values.to_vec();
        let measured: Vec<(f64, f64)> = samples
            .par_chunks_mut(dimension)
            .map(|map| {
                let (mut energy, mut of_means) = (0.0, 0.0);
                for (query, row) in map.chunks_exact_mut(n).enumerate() {
                    let visible = if is_causal { query + 1 } else { n };
                    let (seen, hidden) = row.split_at_mut(visible);
                    hidden.fill(T::ZERO);
                    energy += seen.iter().map(|value| value.as_f64().powi(2)).sum::<f64>();
                    let sum: f64 = seen.iter().map(|value| value.as_f64()).sum();
                    of_means += sum * sum / visible as f64;
                }
                (energy, of_means)
            })
            .collect();
        let head_of = |sample: usize| heads.get(sample % heads.len()).copied().unwrap_or_default();
        if let Some(sample) = measured.iter().position(|(energy, _)| !energy.is_finite()) {
            return Err(AnalysisError::NotFinite { what: "scores", layer, head: head_of(sample) });
        }
        for (sample, (energy, of_means)) in measured.iter().enumerate() {
            let head = head_of(sample);
            if let Some(counted) = self.heads.get_mut(layer * self.shape.heads + head) {
                counted.0 += 1;
                counted.1 += energy;
            }
            self.row_mean_energy += of_means;
        }
        if let Some(queries) = &mut self.queries {
            let count = samples.len() / dimension;
            queries.par_chunks_mut(dimension).enumerate().for_each(|(query, sum)| {
                let first = samples.get(query * n..).unwrap_or(&[]);
                let rows = Matrix::new(first, count, n, dimension, 1);
                let mut product = vec![T::ZERO; dimension];
                parallel_product(MatrixMut::new(&mut product, n, n), rows.transposed(), rows, false);
                add_wide(sum, &product);
            });
        }
        // Groups: all heads of the layer together, or each alone (its samples are `c` apart).
        let by_head = self.spec.heads;
        let count = samples.len() / dimension;
        let parts: Vec<(usize, usize, usize, usize)> = if by_head {
            let (c, all) = (heads.len(), self.shape.heads);
            heads.iter().enumerate().map(|(place, head)| (layer * all + head, place, count / c, c)).collect()
        } else {
            vec![(layer, 0, count, 1)]
        };
        let part = |first: usize, rows: usize, apart: usize, samples: &[T]| -> Vec<f64> {
            let chosen = samples.chunks_exact(dimension).skip(first).step_by(apart).take(rows);
            chosen.flat_map(|sample| sample.iter().map(|value| value.as_f64())).collect()
        };
        match &mut self.sums {
            Sums::Gram { samples: kept, groups } => {
                groups.extend((0..count).map(|sample| {
                    let head = heads.get(sample % heads.len()).copied().unwrap_or_default();
                    layer * self.shape.heads + head
                }));
                kept.extend_from_slice(&samples);
            }
            Sums::Exact { groups, row_mean_subtracted } => {
                for &(group, first, rows, apart) in &parts {
                    let wide = part(first, rows, apart, &samples);
                    if let Some(sum) = groups.get_mut(group) {
                        add_outer(sum, &wide, dimension);
                    }
                }
                if !row_mean_subtracted.is_empty() {
                    subtract_row_means(&mut samples, n, is_causal);
                    add_outer(row_mean_subtracted, &part(0, count, 1, &samples), dimension);
                }
            }
            Sums::Sketch { omega, rank, groups, row_mean_subtracted } => {
                for &(group, first, rows, apart) in &parts {
                    if let Some(sum) = groups.get_mut(group) {
                        let chosen = samples.get(first * dimension..).unwrap_or(&[]);
                        let chosen = Matrix::new(chosen, rows, dimension, apart * dimension, 1);
                        add_sketch(sum, chosen, rows, omega, *rank);
                    }
                }
                if !row_mean_subtracted.is_empty() {
                    subtract_row_means(&mut samples, n, is_causal);
                    let all = Matrix::row_major(&samples, count, dimension);
                    add_sketch(row_mean_subtracted, all, count, omega, *rank);
                }
            }
        }
        Ok(())
    }

    /// The spectra of all examples.
    ///
    /// # Errors
    /// If there was no example, or eigenvalues cannot be found.
    pub fn finish(self) -> Result<ScoreSpectra, AnalysisError> {
        let n = self.shape.tokens;
        let dimension = n * n;
        let layers = self.shape.computing.len();
        let all = total(&self.heads);
        if all.0 == 0 {
            return Err(AnalysisError::NoExamples);
        }
        let of_layer = |layer: usize| {
            total(self.heads.get(layer * self.shape.heads..(layer + 1) * self.shape.heads).unwrap_or(&[]))
        };
        let blank = |(samples, energy): (u64, f64)| Spectrum {
            dimension,
            samples,
            trace: if samples > 0 { energy / samples as f64 } else { 0.0 },
            values: Vec::new(),
        };
        let queries = self.queries.as_ref().map(|queries| {
            let spectrum = |(query, sum): (usize, &[f64])| {
                let visible = if self.shape.is_causal { query + 1 } else { n };
                let values: Vec<f64> = sum.iter().map(|value| value / all.0 as f64).collect();
                let trace = (0..n).filter_map(|place| values.get(place * n + place)).sum();
                let values = positive(eigenvalues(&values, n)?);
                Ok(Spectrum { dimension: visible, samples: all.0, trace, values })
            };
            queries.par_chunks(dimension).enumerate().map(spectrum).collect::<Result<Vec<_>, AnalysisError>>()
        });
        let mut spectra = ScoreSpectra {
            tokens: n,
            examples: self.examples,
            method: SpectrumMethod::Exact,
            network: blank(all),
            layers: (0..layers).map(|layer| blank(of_layer(layer))).collect(),
            heads: if self.spec.heads { self.heads.iter().copied().map(blank).collect() } else { Vec::new() },
            queries: queries.transpose()?.unwrap_or_default(),
            row_mean_subtracted: None,
            row_mean_energy: if all.1 > 0.0 { self.row_mean_energy / all.1 } else { 0.0 },
            patterns: Vec::new(),
            overlaps: Vec::new(),
        };
        let subtracted =
            |values: Vec<f64>| Spectrum { trace: (all.1 - self.row_mean_energy) / all.0 as f64, values, ..blank(all) };
        let group_size = if self.spec.heads { self.shape.heads } else { 1 };
        match self.sums {
            Sums::Gram { samples, groups } => {
                spectra.method = SpectrumMethod::Gram;
                let count = groups.len();
                let gram = gram(&samples, count, dimension);
                let Eigen { values, vectors } = eigen(&gram.values, count)?;
                let values: Vec<f64> = values.iter().map(|value| value / all.0 as f64).collect();
                let values = positive(values);
                let all_layers: Vec<usize> = groups.iter().map(|group| group / self.shape.heads).collect();
                for (layer, spectrum) in spectra.layers.iter_mut().enumerate() {
                    spectrum.values = sub_spectrum(&gram, &all_layers, layer)?;
                }
                for (head, spectrum) in spectra.heads.iter_mut().enumerate() {
                    spectrum.values = sub_spectrum(&gram, &groups, head)?;
                }
                // The projection of sample s on eigenvector k is sqrt(N λ_k) w_k[s].
                spectra.overlaps = (0..layers)
                    .map(|layer| {
                        let (_, energy) = of_layer(layer);
                        let mut sum = 0.0;
                        let share = |(k, value): (usize, &f64)| {
                            let own = all_layers.iter().zip(vectors.values.chunks_exact(count.max(1)));
                            let own = own.filter(|(of, _)| **of == layer).filter_map(|(_, row)| row.get(k));
                            sum += own.map(|w| w * w).sum::<f64>() * value * all.0 as f64;
                            sum / energy
                        };
                        values.iter().enumerate().map(share).collect()
                    })
                    .collect();
                spectra.patterns = (0..self.spec.patterns.min(values.len()))
                    .map(|k| {
                        let mut pattern = vec![0.0; dimension];
                        for (sample, row) in samples.chunks_exact(dimension).zip(vectors.values.chunks_exact(count)) {
                            let weight = row.get(k).copied().unwrap_or_default();
                            for (sum, value) in pattern.iter_mut().zip(sample) {
                                *sum += weight * value.as_f64();
                            }
                        }
                        as_pattern(&pattern)
                    })
                    .collect();
                if self.spec.row_mean_subtracted {
                    let mut samples = samples;
                    subtract_row_means(&mut samples, n, self.shape.is_causal);
                    let gram = self::gram(&samples, count, dimension);
                    let found = eigenvalues(&gram.values, count)?;
                    let found = found.iter().map(|value| value / all.0 as f64).collect();
                    spectra.row_mean_subtracted = Some(subtracted(positive(found)));
                }
                spectra.network.values = values;
            }
            Sums::Exact { groups, row_mean_subtracted } => {
                let sum_of = |groups: &[Vec<f64>], samples: u64| {
                    let mut sum = vec![0.0; dimension * dimension];
                    for group in groups {
                        for (sum, value) in sum.iter_mut().zip(group) {
                            *sum += value;
                        }
                    }
                    for value in &mut sum {
                        *value /= samples.max(1) as f64;
                    }
                    sum
                };
                let Eigen { values, vectors } = eigen(&sum_of(&groups, all.0), dimension)?;
                spectra.network.values = positive(values);
                let known = spectra.network.values.len();
                let basis = vectors.columns(0, known);
                for (layer, spectrum) in spectra.layers.iter_mut().enumerate() {
                    let own = groups.get(layer * group_size..(layer + 1) * group_size).unwrap_or(&[]);
                    let covariance =
                        Dense { rows: dimension, columns: dimension, values: sum_of(own, spectrum.samples) };
                    if spectrum.samples == 0 {
                        spectra.overlaps.push(Vec::new());
                        continue;
                    }
                    let projected = covariance.times(&basis);
                    let energies = column_products(&basis, &projected);
                    spectra.overlaps.push(running(&energies, spectrum.trace));
                    spectrum.values = positive(eigenvalues(&covariance.values, dimension)?);
                }
                for (spectrum, group) in spectra.heads.iter_mut().zip(&groups) {
                    if spectrum.samples > 0 {
                        let covariance = sum_of(std::slice::from_ref(group), spectrum.samples);
                        spectrum.values = positive(eigenvalues(&covariance, dimension)?);
                    }
                }
                spectra.patterns = patterns(&basis, self.spec.patterns);
                if !row_mean_subtracted.is_empty() {
                    let covariance = sum_of(&[row_mean_subtracted], all.0);
                    spectra.row_mean_subtracted = Some(subtracted(positive(eigenvalues(&covariance, dimension)?)));
                }
            }
            Sums::Sketch { omega, rank, groups, row_mean_subtracted } => {
                spectra.method = SpectrumMethod::Sketch { rank };
                let omega = Dense {
                    rows: dimension,
                    columns: rank,
                    values: omega.iter().map(|value| value.as_f64()).collect(),
                };
                let keep = self.spec.components;
                let sum_of = |groups: &[Vec<f64>], samples: u64| {
                    let mut sum = Dense::zeros(dimension, rank);
                    for group in groups {
                        for (sum, value) in sum.values.iter_mut().zip(group) {
                            *sum += value / samples.max(1) as f64;
                        }
                    }
                    sum
                };
                let network = Nystroem::of(&omega, sum_of(&groups, all.0))?;
                spectra.network.values = network.values(keep);
                let basis = network.vectors(spectra.network.values.len());
                for (layer, spectrum) in spectra.layers.iter_mut().enumerate() {
                    if spectrum.samples == 0 {
                        spectra.overlaps.push(Vec::new());
                        continue;
                    }
                    let own = groups.get(layer * group_size..(layer + 1) * group_size).unwrap_or(&[]);
                    let found = Nystroem::of(&omega, sum_of(own, spectrum.samples))?;
                    spectrum.values = found.values(keep);
                    let projected = found.factor.transposed_times(&basis); // [r, k]
                    spectra.overlaps.push(running(&column_products(&projected, &projected), spectrum.trace));
                }
                for (spectrum, group) in spectra.heads.iter_mut().zip(&groups) {
                    if spectrum.samples > 0 {
                        let sum = sum_of(std::slice::from_ref(group), spectrum.samples);
                        spectrum.values = Nystroem::of(&omega, sum)?.values(keep);
                    }
                }
                spectra.patterns = patterns(&basis, self.spec.patterns);
                if !row_mean_subtracted.is_empty() {
                    let found = Nystroem::of(&omega, sum_of(&[row_mean_subtracted], all.0))?;
                    spectra.row_mean_subtracted = Some(subtracted(found.values(keep)));
                }
            }
        }
        Ok(spectra)
    }
}

fn total(heads: &[(u64, f64)]) -> (u64, f64) {
    heads.iter().fold((0, 0.0), |(samples, energy), head| (samples + head.0, energy + head.1))
}
