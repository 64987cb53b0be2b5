//! What a model that does not use every score is made of, from the scores of one that does.

use candle_core::DType;
use serde::Serialize;

use super::TrainError;
use crate::{
    analysis::reconstruction::RowCovariances,
    attention::ModelPlan,
    config::Coverage,
    data::{Batcher, memory},
    model::{CoverageState, ForwardOptions, Model},
    objective::Batch,
    ops::PairSets,
};

/// What was chosen, and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// For the model.
    pub state: CoverageState,
    /// For people.
    pub report: CoverageReport,
}

/// How well the chosen pairs, or directions, stand for all scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoverageReport {
    /// Pairs of each row, or directions, k.
    pub k: usize,
    /// Mean squared error of the scores as a share of their mean square, 0..=1, on the text that they were chosen from.
    pub score_error: f64,
    /// Maps of scores that they were chosen from: examples times heads that compute.
    pub samples: u64,
}

/// Second moments of the scores of every query of a model that computes all of them, averaged over its layers, its heads
/// and the first `examples` examples of `batches`, of which there are as many. `None` when `should_stop` cut it short.
///
/// # Errors
/// If they do not fit into memory, with the numbers, or a score is not finite.
pub fn row_covariances(
    model: &Model,
    batches: impl Iterator<Item = Batch>,
    examples: usize,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<RowCovariances>, TrainError> {
    let plan = model.plan();
    let mut batches = batches.peekable();
    let tokens = batches.peek().map_or(0, |first| first.sequence);
    require_memory(tokens)?;
    let mut covariances = RowCovariances::new(tokens, plan.stack.is_causal);
    let options = ForwardOptions { keep_hidden: true, ..ForwardOptions::default() };
    let mut left = examples;
    for batch in batches {
        if left == 0 {
            break;
        }
        if should_stop() {
            return Ok(None);
        }
        let batch = batch.first(left);
        let hidden = model.attend(&batch.input(model)?, &options)?.hidden;
        for (layer, hidden) in hidden.iter().enumerate().take(plan.stack.layers) {
            if let Some(scores) = model.scores(layer, hidden)? {
                let mut scores = scores.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
                if let Some(keys) = &batch.key_mask {
                    clear_padding(&mut scores, keys, [batch.batch, batch.sequence]);
                }
                covariances.add(&scores);
            }
        }
        left -= batch.batch.min(left);
    }
    if covariances.is_finite() {
        return Ok(Some(covariances));
    }
    Err(TrainError::Scores)
}

/// Pairs with padding on either side count as zero, as those that a causal model does not see. `scores` `[b, h, n, n]`, `keys`
/// `[b, n]`
fn clear_padding(scores: &mut [f64], keys: &[u8], [batch, n]: [usize; 2]) {
    let example = scores.len().checked_div(batch).unwrap_or(0);
    for (scores, keys) in scores.chunks_mut(example.max(1)).zip(keys.chunks(n.max(1))) {
        for (query, row) in scores.chunks_mut(n.max(1)).enumerate() {
            let is_token = |place: usize| keys.get(place).is_some_and(|key| *key != 0);
            let sees = is_token(query % n.max(1));
            for (key, score) in row.iter_mut().enumerate() {
                if !sees || !is_token(key) {
                    *score = 0.0;
                }
            }
        }
    }
}

/// The examples of training, in its order, without an end; all of one length.
pub fn training_batches(batcher: &Batcher) -> impl Iterator<Item = Batch> + '_ {
    (0..).map(|micro_step| batcher.whole_batch(micro_step)).filter(|batch| batch.batch > 0)
}

/// Refuses covariances that do not fit into memory.
pub(super) fn require_memory(tokens: usize) -> Result<(), TrainError> {
    let needed = RowCovariances::bytes(tokens);
    match memory::free_bytes() {
        Some(free) if needed > free => Err(TrainError::Covariances { tokens, needed, free }),
        _ => Ok(()),
    }
}

/// The pairs and the map, or the directions, that a plan asks for.
///
/// # Errors
/// If the covariances are those of other sequences, or are not finite.
pub fn choose(plan: &ModelPlan, covariances: &RowCovariances) -> Result<Chosen, TrainError> {
    let n = covariances.tokens();
    let share = |error: f64| {
        let trace: f64 = (0..n).map(|query| covariances.trace(query)).sum();
        if trace > 0.0 { (error / trace).clamp(0.0, 1.0) } else { 0.0 }
    };
    let report = |k: usize, error: f64| CoverageReport { k, score_error: share(error), samples: covariances.samples() };
    match &plan.stack.coverage {
        Coverage::Full(_) => Err(TrainError::State("all of its scores are computed".to_owned())),
        Coverage::Partial(partial) => {
            let maps = covariances.maps(partial.k);
            let error = maps.iter().enumerate().map(|(query, map)| map.error(&covariances.row(query), n)).sum();
            let chosen = maps.iter().map(|map| map.chosen.iter().map(|&key| key as u32).collect()).collect();
            let pairs = PairSets::new(chosen, partial.k, plan.stack.is_causal)?;
            let restore = maps.into_iter().flat_map(|map| map.weights).collect();
            Ok(Chosen { state: CoverageState::Partial { pairs, restore }, report: report(partial.k, error) })
        }
        Coverage::Eigen(eigen) => {
            let basis = covariances.bases(eigen.k).ok_or(TrainError::Scores)?;
            let spaces = basis.chunks_exact((eigen.k * n).max(1));
            assert_eq!(spaces.len(), n, "a basis of {} numbers is not {n} times {} by {n}", basis.len(), eigen.k);
            let kept: f64 = spaces.enumerate().map(|(query, basis)| covariances.kept(query, basis)).sum();
            let all: f64 = (0..n).map(|query| covariances.trace(query)).sum();
            Ok(Chosen { state: CoverageState::Eigen { basis }, report: report(eigen.k, all - kept) })
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;
    use crate::{
        analysis::reconstruction::direct::RowReconstruction,
        config::{
            ByteTokenizer, DataConfig, EigenCoverage, GrammarSource, ModelKind, PartialCoverage, RunConfig, Source,
            Tokenizer,
        },
        data::{Corpus, Silent},
        model::ParameterSet,
    };

    const TOKENS: usize = 12;

    fn parts(kind: ModelKind) -> (Model, Batcher) {
        let mut config = RunConfig::default();
        let source = Source::Grammar(GrammarSource { words: 2000, text_seed: 1 });
        let tokenizer = Tokenizer::Bytes(ByteTokenizer {});
        config.data = DataConfig { source, tokenizer, sequence_length: TOKENS, ..DataConfig::default() };
        (config.model.kind, config.model.layers, config.model.heads) = (kind, 3, 2);
        (config.model.width, config.model.feed_forward) = (16, 16);
        let folder = tempfile::TempDir::new().unwrap();
        let corpus = Corpus::load(&config.data, &config.objective(), folder.path(), folder.path(), &Silent).unwrap();
        let plan = ModelPlan::resolve(&config, corpus.tokenizer.vocabulary_size()).unwrap();
        let parameters = ParameterSet::init(&plan, 1, DType::F32, &Device::Cpu).unwrap();
        (Model::frozen(&plan, &parameters).unwrap(), Batcher::new(&corpus, &config.objective(), 5, TOKENS, 1).unwrap())
    }

    #[test]
    fn errors_are_those_of_the_analysis_and_the_model_follows() {
        for kind in ModelKind::LANGUAGE_MODELS {
            let (model, batcher) = parts(kind);
            let found = |examples: usize| {
                row_covariances(&model, training_batches(&batcher), examples, &|| false).unwrap().unwrap()
            };
            let covariances = found(12);
            assert_eq!((covariances.tokens(), covariances.samples()), (TOKENS, 12 * 3 * 2));
            let curves = RowReconstruction::new(&covariances).unwrap();
            for k in [1, 4, 11] {
                let plan = |coverage: Coverage| model.plan().with_coverage(coverage);
                let partial = plan(Coverage::Partial(PartialCoverage { k, ..PartialCoverage::default() }));
                let chosen = choose(&partial, &covariances).unwrap();
                assert_eq!((chosen.report.k, chosen.report.samples), (k, 72));
                assert!((chosen.report.score_error - curves.errors()[k]).abs() < 1e-9);
                let CoverageState::Partial { pairs, restore } = &chosen.state else { unreachable!() };
                assert_eq!(restore.len() as u64, partial.stack.restore_numbers());
                for (row, choice) in pairs.rows().iter().zip(&curves.rows) {
                    let order: Vec<u32> = choice.greedy.order.iter().take(k).map(|key| *key as u32).collect();
                    assert_eq!(row.chosen[..order.len()], order);
                }
                let eigen = choose(&plan(Coverage::Eigen(EigenCoverage { k })), &covariances).unwrap();
                assert!((eigen.report.score_error - curves.eigen_errors()[k]).abs() < 1e-9);
            }
            assert!(choose(model.plan(), &covariances).is_err(), "nothing is left out");
            assert!(row_covariances(&model, training_batches(&batcher), 12, &|| true).unwrap().is_none());
            assert_eq!(found(5).samples(), 30);
        }
    }
}
