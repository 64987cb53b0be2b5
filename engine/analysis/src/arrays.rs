//! The arrays inside an analysis by name: to keep them as numbers and not as text, and to write each to a file.

use serde::{Deserialize, Serialize};

use super::{
    Analysis, ScoreSpectra, Spectrum,
    reconstruction::{ErrorCurve, Reconstruction},
};

/// An analysis in two parts: numbers, and everything else as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedAnalysis {
    /// The analysis with empty arrays, and how long each one is.
    pub facts: String,
    /// All arrays, one after the other.
    pub values: Vec<f32>,
}

/// An array of an analysis with its name, such as `similarity-total_variation`.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArray {
    /// What it is; fit for a file name.
    pub name: String,
    /// Its shape, outermost first.
    pub shape: Vec<usize>,
    /// Its numbers, row by row.
    pub values: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct Facts {
    analysis: Analysis,
    lengths: Vec<usize>,
}

impl Analysis {
    /// In two parts, numbers rounded to single precision.
    ///
    /// # Errors
    /// If the facts cannot be written as JSON.
    pub fn pack(&self) -> Result<PackedAnalysis, serde_json::Error> {
        let mut analysis = self.clone();
        let (mut lengths, mut values) = (Vec::new(), Vec::new());
        for array in analysis.arrays_mut() {
            match array {
                ArrayMut::Wide(array) => {
                    lengths.push(array.len());
                    values.extend(array.drain(..).map(|value| value as f32));
                }
                ArrayMut::Narrow(array) => {
                    lengths.push(array.len());
                    values.append(array);
                }
            }
        }
        Ok(PackedAnalysis { facts: serde_json::to_string(&Facts { analysis, lengths })?, values })
    }

    /// Puts the two parts together again.
    ///
    /// # Errors
    /// If they do not belong together, in words.
    pub fn unpack(facts: &str, values: &[f32]) -> Result<Self, String> {
        let Facts { mut analysis, lengths } =
            serde_json::from_str(facts).map_err(|error| format!("its description cannot be read: {error}"))?;
        let mut arrays = analysis.arrays_mut();
        // Lengths may be anybody's: their sum may be beyond all numbers.
        let total = lengths.iter().try_fold(0_usize, |total, length| total.checked_add(*length));
        if arrays.len() != lengths.len() || total != Some(values.len()) {
            return Err(format!("{} numbers do not fit its description", values.len()));
        }
        let mut rest = values;
        for (array, length) in arrays.iter_mut().zip(lengths) {
            let (own, others) = rest.split_at(length);
            rest = others;
            match array {
                ArrayMut::Wide(array) => array.extend(own.iter().map(|value| f64::from(*value))),
                ArrayMut::Narrow(array) => array.extend_from_slice(own),
            }
        }
        if let Some(similarity) = analysis.similarity.iter().find(|similarity| !similarity.is_whole()) {
            let (layers, heads, numbers) = (similarity.layers, similarity.heads, similarity.mean.len());
            return Err(format!("{numbers} similarities do not fit {layers} layers of {heads} heads"));
        }
        analysis.spectra = analysis.spectra.map(ScoreSpectra::with_bounds);
        Ok(analysis)
    }

    fn arrays_mut(&mut self) -> Vec<ArrayMut<'_>> {
        let mut arrays: Vec<ArrayMut<'_>> = Vec::new();
        arrays.extend(self.similarity.iter_mut().map(|similarity| ArrayMut::Wide(&mut similarity.mean)));
        if let Some(spectra) = &mut self.spectra {
            let ScoreSpectra { network, layers, heads, queries, row_mean_subtracted, patterns, overlaps, .. } = spectra;
            let all = std::iter::once(network).chain(layers).chain(heads).chain(queries).chain(row_mean_subtracted);
            for Spectrum { values, bounds, .. } in all {
                arrays.push(ArrayMut::Wide(values));
                let bounds = bounds.iter_mut().flat_map(|bounds| [&mut bounds.upper, &mut bounds.sums]);
                arrays.extend(bounds.map(ArrayMut::Wide));
            }
            arrays.extend(patterns.iter_mut().map(ArrayMut::Narrow));
            arrays.extend(overlaps.iter_mut().map(ArrayMut::Wide));
        }
        for layer in self.captured.iter_mut().flat_map(|captured| &mut captured.layers) {
            let heads = layer.query.iter_mut().chain(&mut layer.key).chain(&mut layer.product);
            let all = [&mut layer.all_queries, &mut layer.all_keys, &mut layer.all_products];
            arrays.extend(heads.chain(all).map(ArrayMut::Wide));
        }
        for projection in &mut self.projections {
            arrays.push(ArrayMut::Wide(&mut projection.network));
            arrays.extend(projection.layers.iter_mut().map(ArrayMut::Wide));
        }
        if let Some(Reconstruction { scopes, whole, score_flops, forward_flops, .. }) = &mut self.reconstruction {
            arrays.extend([score_flops, forward_flops].map(ArrayMut::Wide));
            for scope in scopes {
                let curves = [&mut scope.greedy, &mut scope.eigen, &mut scope.random];
                arrays.extend(curves.into_iter().flat_map(curve_mut));
                arrays.extend([&mut scope.ranks, &mut scope.factors].map(ArrayMut::Narrow));
            }
            if let Some(whole) = whole {
                let curves = [&mut whole.greedy, &mut whole.eigen, &mut whole.random];
                arrays.extend(curves.into_iter().flat_map(curve_mut));
                arrays.extend([ArrayMut::Wide(&mut whole.flops), ArrayMut::Narrow(&mut whole.ranks)]);
            }
        }
        arrays
    }

    /// Every array by name, for files.
    pub fn arrays(&self) -> Vec<NamedArray> {
        let mut arrays = Vec::new();
        let mut push = |name: String, shape: Vec<usize>, values: Vec<f64>| {
            arrays.push(NamedArray { name, shape, values });
        };
        for similarity in &self.similarity {
            let (l, h) = (similarity.layers, similarity.heads);
            push(format!("similarity-{}", similarity.measure), vec![l, h, l, h], similarity.mean.clone());
            let name = format!("similarity-{}-layers", similarity.measure);
            push(name, vec![l, l], similarity.layer_matrix());
        }
        if let Some(spectra) = &self.spectra {
            let mut table = |name: &str, spectra: &[&Spectrum]| {
                let curves: Vec<&[f64]> = spectra.iter().map(|spectrum| spectrum.values.as_slice()).collect();
                let (shape, values) = rows(&curves, 0.0);
                push(format!("eigenvalues-{name}"), shape, values);
                if spectra.iter().any(|spectrum| spectrum.bounds.is_some()) {
                    // Where eigenvalues are known, they are what they are at most.
                    let upper = |spectrum: &&Spectrum| match &spectrum.bounds {
                        Some(bounds) => bounds.upper.clone(),
                        None => spectrum.values.clone(),
                    };
                    let upper: Vec<Vec<f64>> = spectra.iter().map(upper).collect();
                    let (shape, values) = rows(&upper.iter().map(Vec::as_slice).collect::<Vec<_>>(), f64::NAN);
                    push(format!("eigenvalues-{name}-at-most"), shape, values);
                }
                push(
                    format!("traces-{name}"),
                    vec![spectra.len()],
                    spectra.iter().map(|spectrum| spectrum.trace).collect(),
                );
            };
            table("network", &[&spectra.network]);
            for (name, group) in [("layers", &spectra.layers), ("heads", &spectra.heads), ("queries", &spectra.queries)]
            {
                if !group.is_empty() {
                    table(name, &group.iter().collect::<Vec<_>>());
                }
            }
            if let Some(spectrum) = &spectra.row_mean_subtracted {
                table("row-mean-subtracted", &[spectrum]);
            }
            if !spectra.patterns.is_empty() {
                let shape = vec![spectra.patterns.len(), spectra.tokens, spectra.tokens];
                push("patterns".to_owned(), shape, spectra.patterns.concat().into_iter().map(f64::from).collect());
            }
            let overlaps: Vec<&[f64]> = spectra.overlaps.iter().map(Vec::as_slice).collect();
            let (shape, values) = rows(&overlaps, f64::NAN);
            push("overlaps-layers-on-network".to_owned(), shape, values);
        }
        for (number, layer) in self.captured.iter().flat_map(|captured| &captured.layers).enumerate() {
            for (name, curves) in [("query", &layer.query), ("key", &layer.key), ("product", &layer.product)] {
                let curves: Vec<&[f64]> = curves.iter().map(Vec::as_slice).collect();
                let (shape, values) = rows(&curves, 1.0);
                push(format!("captured-{name}-heads-layer-{number}"), shape, values);
            }
            for (name, curve) in
                [("query", &layer.all_queries), ("key", &layer.all_keys), ("product", &layer.all_products)]
            {
                push(format!("captured-{name}-layer-{number}"), vec![curve.len()], curve.clone());
            }
        }
        for (number, projection) in self.projections.iter().enumerate() {
            let curves: Vec<&[f64]> =
                std::iter::once(&projection.network).chain(&projection.layers).map(Vec::as_slice).collect();
            let (shape, values) = rows(&curves, f64::NAN);
            push(format!("subspace-{number}"), shape, values);
        }
        if let Some(found) = &self.reconstruction {
            let n = found.tokens;
            let mut table = |name: String, curves: [&ErrorCurve; 3], ranks: &[f32]| {
                let curves: Vec<&[f64]> =
                    curves.into_iter().flat_map(|curve| [&curve.fitted, &curve.held_out]).map(Vec::as_slice).collect();
                let (shape, values) = rows(&curves, f64::NAN);
                push(format!("reconstruction-{name}-errors"), shape, values);
                let values = ranks.iter().map(|rank| f64::from(*rank)).collect();
                push(format!("reconstruction-{name}-order"), vec![n, n], values);
            };
            for scope in &found.scopes {
                table(scope.scope.slug(), [&scope.greedy, &scope.eigen, &scope.random], &scope.ranks);
            }
            if let Some(whole) = &found.whole {
                table("whole".to_owned(), [&whole.greedy, &whole.eigen, &whole.random], &whole.ranks);
            }
            let (shape, values) = rows(&[&found.score_flops, &found.forward_flops], f64::NAN);
            push("reconstruction-flops".to_owned(), shape, values);
        }
        arrays
    }
}

fn curve_mut(curve: &mut ErrorCurve) -> [ArrayMut<'_>; 2] {
    [ArrayMut::Wide(&mut curve.fitted), ArrayMut::Wide(&mut curve.held_out)]
}

enum ArrayMut<'a> {
    Wide(&'a mut Vec<f64>),
    Narrow(&'a mut Vec<f32>),
}

/// Curves under each other, short ones filled up.
fn rows(curves: &[&[f64]], fill: f64) -> (Vec<usize>, Vec<f64>) {
    let width = curves.iter().map(|curve| curve.len()).max().unwrap_or(0);
    let filled = curves
        .iter()
        .flat_map(|curve| curve.iter().copied().chain(std::iter::repeat_n(fill, width.saturating_sub(curve.len()))));
    (vec![curves.len(), width], filled.collect())
}
