//! The analysis of a model: batches stream through it, and all sums are filled at once.

use candle_core::{DType, Device, Tensor};

use super::{
    Analysis, AnalysisError, AnalysisSpec, CapturedVariance, MapBatch, ProjectionSum, ScoreBatch, ScoreShape,
    Similarity, SimilaritySum, SpectraSum, Topic, finish::Watch, reconstruction::ReconstructionSum,
};
use crate::{
    attention::{Cell, HeadPlan, ModelPlan},
    config::{counted, grouped},
    model::{ForwardOptions, Model},
    objective::Batch,
};

/// Bytes of maps and scores of one batch, about: they need not be in memory for all examples at once.
const BATCH_BYTES: usize = 64 << 20;

/// The most examples of a batch.
const MOST_EXAMPLES: usize = 64;

/// Why the attention of some models is not analysed.
pub const NOT_YET: &str = "Only models of one stack can be analysed so far: an encoder-decoder has three attentions, and examples of \
                           several lengths.";

/// Examples of one forward pass, so that their maps stay small.
pub fn examples_at_once(plan: &ModelPlan, tokens: usize) -> usize {
    let bytes = plan.stack.layers * plan.stack.heads * tokens * tokens * size_of::<f32>();
    (BATCH_BYTES / bytes.max(1)).clamp(1, MOST_EXAMPLES)
}

/// A space of maps, to project on.
#[derive(Clone, Debug, PartialEq)]
pub struct Basis {
    /// Whose it is, in words.
    pub name: String,
    /// Directions of length 1, maps of n x n.
    pub directions: Vec<Vec<f32>>,
}

/// What an analysis is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// The model reads the examples.
    Reading,
    /// Eigenvalues of the scores are found, once all are there.
    Spectra,
    /// Scores are restored from some pairs, once all are there.
    Reconstruction,
    /// Singular values of weights are found.
    Weights,
}

impl Doing {
    /// In words, before the name of a model.
    pub fn words(self) -> &'static str {
        match self {
            Self::Reading => "Reading the text with",
            Self::Spectra => "Finding the spectra of",
            Self::Reconstruction => "Restoring the scores of",
            Self::Weights => "Looking at the weights of",
        }
    }
}

/// What an analysis needs to know beside model and text.
pub struct AnalysisContext<'a> {
    /// What is to be found out.
    pub spec: &'a AnalysisSpec,
    /// Examples that will come.
    pub examples: usize,
    /// Tokens of each.
    pub tokens: usize,
    /// Spaces to project on.
    pub bases: &'a [Basis],
    /// Memory that may be used.
    pub free: Option<u64>,
    /// Told what is being done, and the share of everything that is, 0..=1.
    pub tell: &'a dyn Fn(Doing, f64),
    /// Asked between batches.
    pub should_stop: &'a dyn Fn() -> bool,
}

/// Analyses the attention of a model while it reads `batches`, without dropout.
///
/// # Errors
/// If nothing can be found out, or `should_stop` said so.
pub fn analyse(
    model: &Model,
    batches: &mut dyn Iterator<Item = Batch>,
    context: &AnalysisContext<'_>,
) -> Result<Analysis, AnalysisError> {
    let (plan, spec) = (model.plan(), context.spec);
    if !plan.is_analysable() {
        return Err(AnalysisError::Impossible(NOT_YET.to_owned()));
    }
    let (layers, heads) = (plan.stack.layers, plan.stack.heads);
    let mut analysis = Analysis { tokens: context.tokens, ..Analysis::default() };
    let present: Vec<bool> = plan.stack.head_plan.iter().map(|(_, cell)| !matches!(cell, Cell::Skip)).collect();
    let computes = |layer: usize| {
        let row = plan.stack.head_plan.row(layer).iter().enumerate();
        row.filter(|(_, cell)| matches!(cell, Cell::Compute)).map(|(head, _)| head).collect()
    };
    let shape = ScoreShape {
        computing: (0..layers).map(computes).collect(),
        heads,
        tokens: context.tokens,
        is_causal: plan.stack.is_causal,
        examples: context.examples,
    };
    let mut similarity: Vec<SimilaritySum> =
        spec.similarity.iter().map(|measure| SimilaritySum::new(*measure, layers, heads, present.clone())).collect();
    let spectrum = spec.spectrum.clone();
    let mut spectra =
        spectrum.map(|spectrum| SpectraSum::<f32>::new(shape.clone(), spectrum, context.free)).transpose()?;
    let mut projections: Vec<ProjectionSum<f32>> = context
        .bases
        .iter()
        .map(|basis| ProjectionSum::new(shape.clone(), &basis.directions))
        .collect::<Result<_, _>>()?;
    let mut reconstruction = spec
        .reconstruction
        .as_ref()
        .map(|spec| ReconstructionSum::new(shape.clone(), spec, context.free))
        .transpose()?;
    let needs_scores = spectra.is_some() || !projections.is_empty() || reconstruction.is_some();
    // Eigenvalues take their time once all scores are there, and so does restoring scores.
    let streaming = match (spectra.is_some(), reconstruction.is_some()) {
        (false, false) => 0.95,
        (true, false) => 0.7,
        (_, true) => 0.5,
    };
    let restoring = if reconstruction.is_some() { if spectra.is_some() { 0.6 } else { streaming } } else { 0.95 };
    let mut whole = 0;
    for batch in batches {
        if (context.should_stop)() {
            return Err(AnalysisError::Stopped);
        }
        if !needs_scores && similarity.is_empty() {
            break;
        }
        let input = batch.input(model)?;
        let options = ForwardOptions {
            keep_maps: !similarity.is_empty(),
            keep_hidden: needs_scores,
            ..ForwardOptions::default()
        };
        let attended = model.attend(&input, &options)?;
        if needs_scores {
            // Those before the first layer and after each.
            AnalysisError::unless_equal("hidden states", attended.hidden.len(), layers + 1)?;
        }
        analysis.examples += batch.batch as u64;
        if !similarity.is_empty() {
            let maps = attended.maps.iter().map(numbers).collect::<Result<Vec<_>, _>>()?;
            let maps: Vec<&[f32]> = maps.iter().map(Vec::as_slice).collect();
            let sizes = [batch.batch, batch.sequence, batch.sequence];
            let maps = MapBatch { layers: &maps, sizes, queries: batch.key_mask.as_deref() };
            for sum in &mut similarity {
                sum.add(&maps)?;
            }
        }
        if needs_scores {
            let rows: Vec<usize> = (0..batch.batch).filter(|row| batch.tokens_of(*row) == context.tokens).collect();
            let dimension = batch.sequence * batch.sequence;
            let mut scores: Vec<Vec<f32>> = Vec::with_capacity(layers);
            for (layer, computing) in shape.computing.iter().enumerate() {
                let hidden = &attended.hidden[layer];
                let Some(found) = model.scores(layer, hidden)? else {
                    scores.push(Vec::new());
                    continue;
                };
                let mut found = numbers(&found)?;
                if rows.len() < batch.batch {
                    let example = computing.len() * dimension;
                    found = rows.iter().flat_map(|row| &found[row * example..(row + 1) * example]).copied().collect();
                }
                scores.push(found);
            }
            if !rows.is_empty() {
                let scores: Vec<&[f32]> = scores.iter().map(Vec::as_slice).collect();
                let scores = ScoreBatch { layers: &scores, examples: rows.len() };
                if let Some(sum) = &mut spectra {
                    sum.add(&scores)?;
                }
                for sum in &mut projections {
                    sum.add(&scores)?;
                }
                if let Some(sum) = &mut reconstruction {
                    let first = analysis.examples - batch.batch as u64;
                    let numbers: Vec<u64> = rows.iter().map(|row| first + *row as u64).collect();
                    sum.add(&scores, &numbers)?;
                }
                whole += rows.len() as u64;
            }
        }
        (context.tell)(
            Doing::Reading,
            streaming * (analysis.examples as f64 / context.examples.max(1) as f64).min(1.0),
        );
    }
    let origins = origins(&plan.stack.head_plan, heads);
    let with_origins = |sum: &SimilaritySum| Ok(Similarity { origins: origins.clone(), ..sum.finish()? });
    analysis.similarity = similarity.iter().map(with_origins).collect::<Result<_, AnalysisError>>()?;
    if needs_scores && whole == 0 {
        return Err(AnalysisError::NoExamples);
    }
    if needs_scores && whole < analysis.examples {
        let note = format!(
            "{} of {} {} shorter than {}; what is said of scores leaves them out.",
            grouped(analysis.examples - whole),
            counted(analysis.examples, "example"),
            if analysis.examples - whole == 1 { "is" } else { "are" },
            counted(context.tokens, "token")
        );
        analysis.note(Topic::Analysis, [note]);
    }
    if let Some(spectra) = spectra {
        let tell = |share: f64| (context.tell)(Doing::Spectra, streaming + (restoring - streaming) * share);
        tell(0.0);
        let found = spectra.finish_unless(&Watch { should_stop: context.should_stop, tell: &tell })?;
        if found.network.is_rank_deficient() {
            let note = format!(
                "The covariance of whole maps has {} and only {}, so that its rank is at most that. \
                 Its leading eigenvalues and all shares of energy are those of the samples; more examples show more \
                 dimensions.",
                counted(found.network.visible.unwrap_or(found.network.dimension), "dimension"),
                counted(found.network.samples, "sample")
            );
            analysis.note(Topic::Spectra, [note]);
        }
        analysis.spectra = Some(found);
    }
    if let Some(sum) = reconstruction {
        let tell = |share: f64| (context.tell)(Doing::Reconstruction, restoring + (0.98 - restoring) * share);
        let (found, notes) = sum.finish(plan, &tell, context.should_stop)?;
        analysis.note(Topic::Reconstruction, notes);
        analysis.reconstruction = Some(found);
    }
    analysis.projections =
        projections.into_iter().zip(context.bases).map(|(sum, basis)| sum.finish(basis.name.clone())).collect();
    if spec.captured {
        (context.tell)(Doing::Weights, 0.98);
        analysis.captured = Some(CapturedVariance::of(model)?);
    }
    (context.tell)(Doing::Weights, 1.0);
    Ok(analysis)
}

/// The elements of a tensor, wherever and whatever they are.
/// For each head, layer by layer, the one whose map it has; itself where it has none.
fn origins(plan: &HeadPlan, heads: usize) -> Vec<usize> {
    let origin = |at| plan.origin(at).unwrap_or(at);
    plan.iter().map(|(at, _)| origin(at)).map(|origin| origin.layer * heads + origin.head).collect()
}

fn numbers(tensor: &Tensor) -> Result<Vec<f32>, AnalysisError> {
    let tensor = tensor.detach().to_dtype(DType::F32)?.to_device(&Device::Cpu)?;
    Ok(tensor.flatten_all()?.to_vec1()?)
}
