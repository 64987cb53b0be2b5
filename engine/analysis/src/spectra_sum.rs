use rayon::prelude::*;

use super::{
    AnalysisError, ScoreShape, ScoreSpectra, SpectrumSpec,
    finish::{Finished, Watch, finish},
    krylov::most_directions,
    moments::{add_outer, add_sketch, subtract_row_means},
    nystroem::TESTS,
    packing::Packing,
    solve::is_dense,
    sums::Sums,
};
use crate::ops::{
    Matrix, MatrixMut, Real, parallel_product,
    random::{Purpose, Stream},
};

/// Directions of a sketch beside those that are kept: as many again, and these.
const OVERSAMPLING: usize = 32;

/// Operations that eigenvalues may take unless they are asked for whatever it costs: some minutes of two cores.
const MOST_WORK: f64 = 2e13;

/// Scores of some examples, before mask and softmax, scaled.
#[derive(Clone, Copy, Debug)]
pub struct ScoreBatch<'a, T> {
    /// A layer each, `[b, c, n, n]` contiguous; empty where no head scores.
    pub layers: &'a [&'a [T]],
    /// Examples b.
    pub examples: usize,
}

impl<T> ScoreBatch<'_, T> {
    /// Refuses scores that are not as many as the shape says.
    pub(super) fn check(&self, shape: &ScoreShape) -> Result<(), AnalysisError> {
        AnalysisError::unless_equal("layers of scores", self.layers.len(), shape.computing.len())?;
        for (layer, (values, heads)) in self.layers.iter().zip(&shape.computing).enumerate() {
            let expected = self.examples * heads.len() * shape.tokens * shape.tokens;
            AnalysisError::unless_equal(format!("scores of layer {layer}"), values.len(), expected)?;
        }
        Ok(())
    }
}

/// Second moments of scores, summed up example by example. Vectors are maps row by row, without the later keys of a causal
/// model: see `Packing`.
#[derive(Clone, Debug)]
pub struct SpectraSum<T> {
    shape: ScoreShape,
    spec: SpectrumSpec,
    packing: Packing,
    /// Samples and energy (squared lengths) of each head, layer by layer.
    heads: Vec<(u64, f64)>,
    sums: Sums<T>,
    /// `Q^i` not yet divided, over the keys that query i sees.
    queries: Option<Vec<Vec<f64>>>,
    /// Energy in the means of rows.
    row_mean_energy: f64,
    examples: u64,
}

/// What is kept while examples come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Samples,
    Outer,
    Sketch { rank: usize },
}

/// Memory and operations of one way.
#[derive(Clone, Copy, Debug)]
struct Cost {
    bytes: u64,
    work: f64,
}

/// What every way costs, before anything is known of the scores.
struct Costs<'a> {
    shape: &'a ScoreShape,
    spec: &'a SpectrumSpec,
    /// Entries m of a packed map.
    width: usize,
    samples: usize,
    groups: usize,
    /// Bytes of a score.
    narrow: u64,
}

impl Costs<'_> {
    /// Bytes and operations for the eigenvalues of one covariance of that rank.
    fn solving(&self, rank: usize, apply: f64, form: f64) -> Cost {
        let wide = size_of::<f64>() as u64;
        let SpectrumSpec { components, exact, .. } = *self.spec;
        if is_dense(rank, components, exact) {
            // The matrix, its eigenvectors and what finding them takes.
            return Cost { bytes: 4 * wide * (rank * rank) as u64, work: form + 20.0 * (rank as f64).powi(3) };
        }
        let directions = most_directions(components, rank);
        let usual = 5.0 * components as f64;
        let bytes = wide * (directions * (self.width + 3 * directions) + 4 * components * self.width) as u64;
        Cost { bytes, work: apply * usual + 20.0 * usual.powi(3) }
    }

    fn queries(&self) -> u64 {
        let n = self.shape.tokens;
        if self.spec.queries { (n * n * n * size_of::<f64>()) as u64 } else { 0 }
    }

    /// The samples are kept.
    fn samples(&self) -> Cost {
        let (count, width) = (self.samples as f64, self.width as f64);
        let rank = self.samples.min(self.width);
        let layers = self.shape.computing.iter().filter(|heads| !heads.is_empty()).count().max(1);
        let own = self.samples / layers;
        let of = |samples: usize| {
            let samples = samples as f64;
            let rank = samples.min(width) as usize;
            self.solving(rank, 4.0 * samples * width, 2.0 * samples * width * rank as f64)
        };
        let all = of(self.samples);
        let times = 1.0 + f64::from(u8::from(self.spec.row_mean_subtracted));
        // Projections of all samples on the eigenvectors, which the products of samples already hold.
        let known = if !is_dense(rank, self.spec.components, self.spec.exact) {
            self.spec.components
        } else if self.samples < self.width {
            0
        } else {
            rank
        };
        let mut work = times * all.work + layers as f64 * of(own).work + 2.0 * count * width * known as f64;
        if self.spec.heads {
            work += self.groups as f64 * of(self.samples / self.groups.max(1)).work;
        }
        Cost { bytes: (self.samples * self.width) as u64 * self.narrow + all.bytes + self.queries(), work }
    }

    /// Covariances are kept.
    fn outer(&self) -> Cost {
        let wide = size_of::<f64>() as u64;
        let extra = usize::from(self.spec.row_mean_subtracted);
        let square = (self.width * self.width) as u64;
        let one = self.solving(self.width, 2.0 * square as f64, 0.0);
        let solved = (self.groups + 1 + extra) as f64;
        Cost {
            bytes: wide * square * (self.groups + extra + 1) as u64 + one.bytes + self.queries(),
            work: 2.0 * self.samples as f64 * square as f64 * (1 + extra) as f64 + solved * one.work,
        }
    }

    fn sketch(&self, rank: usize) -> u64 {
        let wide = size_of::<f64>() as u64;
        let extra = usize::from(self.spec.row_mean_subtracted);
        let cells = (self.width * (rank + TESTS)) as u64;
        cells * (wide * (2 * self.groups + extra + 3) as u64 + 2 * self.narrow) + self.queries()
    }

    /// The way that takes least memory among those that give right numbers and are worth their time; else a sketch.
    fn choose(&self, free: Option<u64>) -> Result<Kept, AnalysisError> {
        let fits = |bytes: u64| free.is_none_or(|free| bytes <= free);
        let ways = [(Kept::Samples, self.samples()), (Kept::Outer, self.outer())];
        let right = ways.iter().filter(|(_, cost)| fits(cost.bytes) && (self.spec.exact || cost.work <= MOST_WORK));
        if let Some((kept, _)) = right.min_by_key(|(_, cost)| cost.bytes) {
            return Ok(*kept);
        }
        let rank = (2 * self.spec.components + OVERSAMPLING).min(self.width);
        let sketch = self.sketch(rank);
        if !self.spec.exact && fits(sketch) {
            return Ok(Kept::Sketch { rank });
        }
        let least = ways.iter().map(|(_, cost)| cost.bytes).min().unwrap_or(0);
        Err(AnalysisError::Memory {
            what: "spectra of scores",
            needed: if self.spec.exact { least } else { least.min(sketch) },
            free: free.unwrap_or(0),
            advice: "Analyse shorter or fewer examples, keep fewer components, or leave out heads and queries.",
        })
    }
}

impl<T: Real> SpectraSum<T> {
    /// Nothing yet. Samples or covariances are kept, whichever takes less memory, or a sketch where neither fits or
    /// eigenvalues would take many minutes: see [`super::SpectrumMethod`]. `free` is the memory that may be used.
    ///
    /// # Errors
    /// If more memory is needed than is free.
    pub fn new(shape: ScoreShape, spec: SpectrumSpec, free: Option<u64>) -> Result<Self, AnalysisError> {
        let costs = Costs {
            shape: &shape,
            spec: &spec,
            width: Packing { tokens: shape.tokens, is_causal: shape.is_causal }.size(),
            samples: shape.examples * shape.computing.iter().map(Vec::len).sum::<usize>(),
            groups: groups(&shape, &spec),
            narrow: size_of::<T>() as u64,
        };
        let kept = costs.choose(free)?;
        Ok(Self::keeping(kept, shape, spec))
    }

    /// Nothing yet, of what is to be kept.
    pub(super) fn keeping(kept: Kept, shape: ScoreShape, spec: SpectrumSpec) -> Self {
        let packing = Packing { tokens: shape.tokens, is_causal: shape.is_causal };
        let width = packing.size();
        let groups = groups(&shape, &spec);
        let extra = usize::from(spec.row_mean_subtracted);
        let sums = match kept {
            Kept::Samples => Sums::Samples { layers: vec![Vec::new(); shape.computing.len()] },
            Kept::Outer => Sums::Outer {
                groups: vec![vec![0.0; width * width]; groups],
                row_mean_subtracted: vec![0.0; extra * width * width],
            },
            Kept::Sketch { rank } => {
                let columns = rank + TESTS;
                let rows = (0..width as u64).into_par_iter().flat_map_iter(|row| {
                    // Always the same directions: two analyses of the same scores give the same numbers.
                    let mut stream = Stream::new(0, Purpose::Sketch, row);
                    (0..columns).map(move |_| T::of(stream.normal()))
                });
                Sums::Sketch {
                    omega: rows.collect(),
                    rank,
                    groups: vec![vec![0.0; width * columns]; groups],
                    row_mean_subtracted: vec![0.0; extra * width * columns],
                }
            }
        };
        Self {
            heads: vec![(0, 0.0); shape.computing.len() * shape.heads],
            queries: spec
                .queries
                .then(|| (0..shape.tokens).map(|query| vec![0.0; packing.visible(query).pow(2)]).collect()),
            shape,
            spec,
            packing,
            sums,
            row_mean_energy: 0.0,
            examples: 0,
        }
    }

    /// Adds examples.
    ///
    /// # Errors
    /// If the scores are not as many as they should be, or a number is not finite.
    pub fn add(&mut self, batch: &ScoreBatch<'_, T>) -> Result<(), AnalysisError> {
        batch.check(&self.shape)?;
        if batch.examples == 0 {
            return Ok(());
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
        let packing = self.packing;
        let width = packing.size();
        let mut samples = packing.pack(values); // [b c, m]
        let measured: Vec<(f64, f64)> = samples.par_chunks(width).map(|map| energies(map, packing)).collect();
        let head_of = |sample: usize| heads[sample % heads.len()];
        if let Some(sample) = measured.iter().position(|(energy, _)| !energy.is_finite()) {
            return Err(AnalysisError::NotFinite { what: "scores", layer, head: head_of(sample) });
        }
        for (sample, (energy, of_means)) in measured.iter().enumerate() {
            let counted = &mut self.heads[layer * self.shape.heads + head_of(sample)];
            counted.0 += 1;
            counted.1 += energy;
            self.row_mean_energy += of_means;
        }
        let count = measured.len();
        if let Some(queries) = &mut self.queries {
            queries.par_iter_mut().enumerate().for_each(|(query, sum)| {
                let visible = packing.visible(query);
                let rows = Matrix::new(samples.split_at(packing.start(query)).1, count, visible, width, 1);
                let mut product = vec![T::ZERO; visible * visible];
                parallel_product(MatrixMut::new(&mut product, visible, visible), rows.transposed(), rows, false);
                for (sum, value) in sum.iter_mut().zip(&product) {
                    *sum += value.as_f64();
                }
            });
        }
        // Groups: all heads of the layer together, or each alone (its samples are `c` apart).
        let parts: Vec<(usize, usize, usize, usize)> = if self.spec.heads {
            let (c, all) = (heads.len(), self.shape.heads);
            heads.iter().enumerate().map(|(place, head)| (layer * all + head, place, count / c, c)).collect()
        } else {
            vec![(layer, 0, count, 1)]
        };
        let part = |first: usize, rows: usize, apart: usize, samples: &[T]| -> Vec<f64> {
            let chosen = samples.chunks_exact(width).skip(first).step_by(apart).take(rows);
            chosen.flat_map(|sample| sample.iter().map(|value| value.as_f64())).collect()
        };
        match &mut self.sums {
            Sums::Samples { layers } => {
                layers[layer].append(&mut samples);
            }
            Sums::Outer { groups, row_mean_subtracted } => {
                for &(group, first, rows, apart) in &parts {
                    let wide = part(first, rows, apart, &samples);
                    add_outer(&mut groups[group], &wide, width);
                }
                if !row_mean_subtracted.is_empty() {
                    subtract_row_means(&mut samples, packing);
                    add_outer(row_mean_subtracted, &part(0, count, 1, &samples), width);
                }
            }
            Sums::Sketch { omega, rank, groups, row_mean_subtracted } => {
                let columns = *rank + TESTS;
                for &(group, first, rows, apart) in &parts {
                    let chosen = Matrix::new(samples.split_at(first * width).1, rows, width, apart * width, 1);
                    add_sketch(&mut groups[group], chosen, rows, omega, columns);
                }
                if !row_mean_subtracted.is_empty() {
                    subtract_row_means(&mut samples, packing);
                    let all = Matrix::row_major(&samples, count, width);
                    add_sketch(row_mean_subtracted, all, count, omega, columns);
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
        self.finish_unless(&Watch { should_stop: &|| false, tell: &|_| () })
    }

    /// The same, which takes minutes at worst, unless `should_stop` says so.
    ///
    /// # Errors
    /// As [`Self::finish`], or if it was stopped.
    pub(super) fn finish_unless(self, watch: &Watch<'_>) -> Result<ScoreSpectra, AnalysisError> {
        finish(Finished {
            watch,
            shape: self.shape,
            spec: self.spec,
            packing: self.packing,
            heads: self.heads,
            sums: self.sums,
            queries: self.queries,
            row_mean_energy: self.row_mean_energy,
            examples: self.examples,
        })
    }
}

/// Parts of which sums are kept apart: heads where they are asked for, else layers.
fn groups(shape: &ScoreShape, spec: &SpectrumSpec) -> usize {
    shape.computing.len() * if spec.heads { shape.heads } else { 1 }
}

/// The squared length of a packed map, and that of the means of its rows.
fn energies<T: Real>(map: &[T], packing: Packing) -> (f64, f64) {
    let (mut energy, mut of_means) = (0.0, 0.0);
    for row in packing.rows(map) {
        energy += row.iter().map(|value| value.as_f64().powi(2)).sum::<f64>();
        let sum: f64 = row.iter().map(|value| value.as_f64()).sum();
        of_means += sum * sum / row.len() as f64;
    }
    (energy, of_means)
}
