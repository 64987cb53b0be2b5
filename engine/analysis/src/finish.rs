//! From sums to spectra.

use rayon::prelude::*;

use super::{
    AnalysisError, ScoreShape, ScoreSpectra, Spectrum, SpectrumMethod, SpectrumSpec,
    eigen::{Dense, eigenvalues, positive},
    moments::{as_pattern, row_products, running, subtract_row_means},
    nystroem::{Nystroem, TESTS},
    packing::Packing,
    samples::{Part, Samples},
    solve::{Solved, Source, Vectors, Wanted, Way, solve},
    sums::Sums,
};
use crate::ops::{Real, part};

/// How long work is followed, and cut short.
pub(super) struct Watch<'a> {
    /// Asked between its parts.
    pub(super) should_stop: &'a dyn Fn() -> bool,
    /// Told the share of it that is done, 0..=1.
    pub(super) tell: &'a dyn Fn(f64),
}

/// The share of the work that the eigenvalues of the network take, before those of layers and heads.
const OF_NETWORK: f64 = 0.5;

impl Watch<'_> {
    fn network_is_done(&self) {
        (self.tell)(OF_NETWORK);
    }

    fn layer_is_done(&self, layer: usize, layers: usize) {
        (self.tell)(OF_NETWORK + (0.95 - OF_NETWORK) * (layer + 1) as f64 / layers.max(1) as f64);
    }
}

/// All that was summed up.
pub(super) struct Finished<'a, T> {
    pub(super) watch: &'a Watch<'a>,
    pub(super) shape: ScoreShape,
    pub(super) spec: SpectrumSpec,
    pub(super) packing: Packing,
    /// Samples and energy of each head, layer by layer.
    pub(super) heads: Vec<(u64, f64)>,
    pub(super) sums: Sums<T>,
    pub(super) queries: Option<Vec<Vec<f64>>>,
    pub(super) row_mean_energy: f64,
    pub(super) examples: u64,
}

/// The ways that were taken, to be told as one.
#[derive(Default)]
struct Ways(Vec<Way>);

impl Ways {
    fn method(&self) -> SpectrumMethod {
        let directions = |way: &Way| if let Way::Iteration { directions } = way { Some(*directions) } else { None };
        if let Some(directions) = self.0.iter().filter_map(directions).max() {
            SpectrumMethod::Iterated { directions }
        } else if self.0.iter().all(|way| *way == Way::Gram) {
            SpectrumMethod::Gram
        } else {
            SpectrumMethod::Exact
        }
    }
}

/// The spectra of all examples.
pub(super) fn finish<T: Real>(found: Finished<'_, T>) -> Result<ScoreSpectra, AnalysisError> {
    let Finished { watch, shape, spec, packing, heads, sums, queries, row_mean_energy, examples } = found;
    let n = shape.tokens;
    let layers = shape.computing.len();
    let all = total(&heads);
    if all.0 == 0 {
        return Err(AnalysisError::NoExamples);
    }
    let of_layer = |layer: usize| total(part(&heads, layer * shape.heads, shape.heads));
    let blank = |(samples, energy): (u64, f64)| Spectrum {
        dimension: n * n,
        samples,
        trace: if samples > 0 { energy / samples as f64 } else { 0.0 },
        visible: shape.is_causal.then(|| packing.size()),
        ..Spectrum::default()
    };
    let queries = queries.map(|queries| {
        let spectrum = |(query, sum): (usize, &Vec<f64>)| {
            let visible = packing.visible(query);
            let values: Vec<f64> = sum.iter().map(|value| value / all.0 as f64).collect();
            let trace = (0..visible).map(|place| values[place * visible + place]).sum();
            let values = positive(eigenvalues(&values, visible)?);
            Ok(Spectrum { dimension: visible, samples: all.0, trace, values, ..Spectrum::default() })
        };
        queries.par_iter().enumerate().map(spectrum).collect::<Result<Vec<_>, AnalysisError>>()
    });
    let mut spectra = ScoreSpectra {
        tokens: n,
        examples,
        method: SpectrumMethod::Exact,
        network: blank(all),
        layers: (0..layers).map(|layer| blank(of_layer(layer))).collect(),
        heads: if spec.heads { heads.iter().copied().map(blank).collect() } else { Vec::new() },
        queries: queries.transpose()?.unwrap_or_default(),
        row_mean_subtracted: spec
            .row_mean_subtracted
            .then(|| Spectrum { trace: (all.1 - row_mean_energy) / all.0 as f64, ..blank(all) }),
        row_mean_energy: if all.1 > 0.0 { row_mean_energy / all.1 } else { 0.0 },
        patterns: Vec::new(),
        overlaps: Vec::new(),
    };
    match sums {
        Sums::Samples { layers } => from_samples(&mut spectra, layers, &shape, &spec, packing, watch)?,
        Sums::Outer { groups, row_mean_subtracted } => {
            from_outer(&mut spectra, groups, row_mean_subtracted, &shape, &spec, packing, watch)?;
        }
        Sums::Sketch { omega, rank, groups, row_mean_subtracted } => {
            spectra.method = SpectrumMethod::Sketch { rank };
            let columns = rank + TESTS;
            let values = omega.iter().map(|value| value.as_f64()).collect();
            let omega = Dense { rows: packing.size(), columns, values };
            from_sketch(&mut spectra, &omega, &groups, row_mean_subtracted, &shape, &spec, packing)?;
        }
    }
    Ok(spectra)
}

/// All samples of a layer.
fn whole<T>(values: &[T], width: usize) -> Part<'_, T> {
    Part { values, first: 0, apart: 1, count: values.len() / width }
}

/// Puts what was found into a spectrum.
fn take(spectrum: &mut Spectrum, solved: Solved, ways: &mut Ways) -> Vectors {
    spectrum.values = solved.values;
    spectrum.bounds = solved.bounds;
    ways.0.push(solved.way);
    solved.vectors
}

fn from_samples<T: Real>(
    spectra: &mut ScoreSpectra,
    mut layers: Vec<Vec<T>>,
    shape: &ScoreShape,
    spec: &SpectrumSpec,
    packing: Packing,
    watch: &Watch<'_>,
) -> Result<(), AnalysisError> {
    let wanted = Wanted { components: spec.components, exact: spec.exact, should_stop: watch.should_stop };
    let width = packing.size();
    let mut ways = Ways::default();
    let network = Samples::new(layers.iter().map(|layer| whole(layer, width)).collect(), width);
    let solved = solve(&Source::Samples(network.clone()), &wanted, true)?;
    let vectors = take(&mut spectra.network, solved, &mut ways);
    watch.network_is_done();
    let mut first = 0;
    for ((layer, values), heads) in layers.iter().enumerate().zip(&shape.computing) {
        let all = whole(values, width);
        if all.count == 0 {
            spectra.overlaps.push(Vec::new());
            continue;
        }
        let spectrum = &mut spectra.layers[layer];
        let own = Samples::new(vec![all], width);
        let energies = match &vectors {
            Vectors::Directions(directions) => own.energies(directions),
            // The projection of sample s on eigenvector k is sqrt(N λ_k) w_k[s].
            Vectors::Weights(weights) => {
                let scale = network.count() as f64 / all.count as f64;
                let mut sums = vec![0.0; weights.columns];
                for row in weights.values.chunks_exact(weights.columns.max(1)).skip(first).take(all.count) {
                    sums.iter_mut().zip(row).for_each(|(sum, w)| *sum += w * w);
                }
                sums.iter().zip(&spectra.network.values).map(|(sum, value)| sum * value * scale).collect()
            }
            Vectors::None => Vec::new(),
        };
        first += all.count;
        spectra.overlaps.push(running(&energies, spectrum.trace));
        let solved = solve(&Source::Samples(own), &wanted, false)?;
        take(spectrum, solved, &mut ways);
        if spec.heads {
            for (place, head) in heads.iter().enumerate() {
                let apart = heads.len();
                let own = Part { first: place, apart, count: all.count / apart, ..all };
                let own = Samples::new(vec![own], width);
                let solved = solve(&Source::Samples(own), &wanted, false)?;
                take(&mut spectra.heads[layer * shape.heads + head], solved, &mut ways);
            }
        }
        watch.layer_is_done(layer, shape.computing.len());
    }
    let known = spectra.network.values.len();
    spectra.patterns = match &vectors {
        Vectors::Directions(directions) => patterns(directions, spec.patterns, packing),
        Vectors::Weights(weights) => {
            let chosen = weights.columns(0, spec.patterns.min(known));
            patterns(&network.combined(&chosen), spec.patterns, packing)
        }
        Vectors::None => Vec::new(),
    };
    if let Some(spectrum) = &mut spectra.row_mean_subtracted {
        for layer in &mut layers {
            subtract_row_means(layer, packing);
        }
        let rest = Samples::new(layers.iter().map(|layer| whole(layer, width)).collect(), width);
        let solved = solve(&Source::Samples(rest), &wanted, false)?;
        take(spectrum, solved, &mut ways);
    }
    spectra.method = ways.method();
    Ok(())
}

fn from_outer(
    spectra: &mut ScoreSpectra,
    groups: Vec<Vec<f64>>,
    row_mean_subtracted: Vec<f64>,
    shape: &ScoreShape,
    spec: &SpectrumSpec,
    packing: Packing,
    watch: &Watch<'_>,
) -> Result<(), AnalysisError> {
    let wanted = Wanted { components: spec.components, exact: spec.exact, should_stop: watch.should_stop };
    let width = packing.size();
    let sum_of =
        |groups: &[Vec<f64>], samples: u64| Source::<f64>::Covariance(mean_of(groups, samples, [width, width]));
    let group_size = if spec.heads { shape.heads } else { 1 };
    let mut ways = Ways::default();
    let solved = solve(&sum_of(&groups, spectra.network.samples), &wanted, true)?;
    let directions = match take(&mut spectra.network, solved, &mut ways) {
        Vectors::Directions(directions) => directions,
        Vectors::None | Vectors::Weights(_) => Dense::zeros(0, width),
    };
    watch.network_is_done();
    for (layer, spectrum) in spectra.layers.iter_mut().enumerate() {
        if spectrum.samples == 0 {
            spectra.overlaps.push(Vec::new());
            continue;
        }
        let own = part(&groups, layer * group_size, group_size);
        let covariance = sum_of(own, spectrum.samples);
        if let Source::Covariance(matrix) = &covariance {
            let energies = row_products(&directions, &directions.times(matrix));
            spectra.overlaps.push(running(&energies, spectrum.trace));
        }
        take(spectrum, solve(&covariance, &wanted, false)?, &mut ways);
        watch.layer_is_done(layer, shape.computing.len());
    }
    for (spectrum, group) in spectra.heads.iter_mut().zip(&groups) {
        if spectrum.samples > 0 {
            let covariance = sum_of(std::slice::from_ref(group), spectrum.samples);
            take(spectrum, solve(&covariance, &wanted, false)?, &mut ways);
        }
    }
    spectra.patterns = patterns(&directions, spec.patterns, packing);
    if let Some(spectrum) = &mut spectra.row_mean_subtracted {
        drop(groups);
        let covariance = sum_of(&[row_mean_subtracted], spectrum.samples);
        take(spectrum, solve(&covariance, &wanted, false)?, &mut ways);
    }
    spectra.method = ways.method();
    Ok(())
}

fn from_sketch(
    spectra: &mut ScoreSpectra,
    omega: &Dense,
    groups: &[Vec<f64>],
    row_mean_subtracted: Vec<f64>,
    shape: &ScoreShape,
    spec: &SpectrumSpec,
    packing: Packing,
) -> Result<(), AnalysisError> {
    let keep = spec.components;
    let sum_of =
        |groups: &[Vec<f64>], samples: u64| Nystroem::of(omega, &mean_of(groups, samples, [omega.rows, omega.columns]));
    let fill = |spectrum: &mut Spectrum, found: &Nystroem| {
        let (values, bounds) = found.values(keep, spectrum.trace);
        spectrum.values = values;
        spectrum.bounds = Some(bounds);
    };
    let group_size = if spec.heads { shape.heads } else { 1 };
    let network = sum_of(groups, spectra.network.samples)?;
    fill(&mut spectra.network, &network);
    let directions = network.vectors(spectra.network.values.len());
    for (layer, spectrum) in spectra.layers.iter_mut().enumerate() {
        if spectrum.samples == 0 {
            spectra.overlaps.push(Vec::new());
            continue;
        }
        let own = part(groups, layer * group_size, group_size);
        let found = sum_of(own, spectrum.samples)?;
        fill(spectrum, &found);
        let projected = directions.times(&found.factor); // [k, r]
        spectra.overlaps.push(running(&row_products(&projected, &projected), spectrum.trace));
    }
    for (spectrum, group) in spectra.heads.iter_mut().zip(groups) {
        if spectrum.samples > 0 {
            let found = sum_of(std::slice::from_ref(group), spectrum.samples)?;
            fill(spectrum, &found);
        }
    }
    spectra.patterns = patterns(&directions, spec.patterns, packing);
    if let Some(spectrum) = &mut spectra.row_mean_subtracted {
        let found = sum_of(&[row_mean_subtracted], spectrum.samples)?;
        fill(spectrum, &found);
    }
    Ok(())
}

/// Sums of some groups together, divided by the samples. `[rows, columns]`
///
/// # Panics
/// If a sum has another size.
fn mean_of(groups: &[Vec<f64>], samples: u64, [rows, columns]: [usize; 2]) -> Dense {
    let mut mean = Dense::zeros(rows, columns);
    for group in groups {
        assert_eq!(group.len(), mean.values.len(), "sums of a group of scores: {rows} x {columns}");
        for (sum, value) in mean.values.iter_mut().zip(group) {
            *sum += value / samples.max(1) as f64;
        }
    }
    mean
}

/// The first directions as maps.
fn patterns(directions: &Dense, count: usize, packing: Packing) -> Vec<Vec<f32>> {
    let rows = directions.values.chunks_exact(directions.columns.max(1)).take(count);
    rows.map(|row| as_pattern(&packing.unpack(row))).collect()
}

fn total(heads: &[(u64, f64)]) -> (u64, f64) {
    heads.iter().fold((0, 0.0), |(samples, energy), head| (samples + head.0, energy + head.1))
}
