use rayon::prelude::*;

use super::{
    Reconstruction, RowCovariances, Scope, ScopeReconstruction, curve::ErrorSum, flops::RelativeFlops,
    vector::VectorErrors, whole_sum::WholeSum,
};
use crate::{
    AnalysisError, ReconstructionSpec, ScoreBatch, ScoreShape,
    attention::{HeadAt, ModelPlan},
    config::{counted, grouped},
};

/// Bytes of what restores maps that an analysis keeps; what does not fit is left out and said.
const KEPT_BYTES: usize = 48 << 20;

/// Queries that are worked on together before it is asked again whether to stop.
const AT_ONCE: usize = 16;

/// Second moments of scores as examples come: of those that pairs are chosen from, and of those that errors are measured on.
#[derive(Clone, Debug)]
pub struct ReconstructionSum {
    shape: ScoreShape,
    groups: Vec<Group>,
    whole: Option<WholeSum>,
    has_layers: bool,
    examples: [u64; 2],
    notes: Vec<String>,
}

/// Scores that are put together.
#[derive(Clone, Debug)]
struct Group {
    scope: Scope,
    fitted: RowCovariances,
    held_out: RowCovariances,
}

impl Group {
    fn new(scope: Scope, shape: &ScoreShape) -> Self {
        let nothing = RowCovariances::new(shape.tokens, shape.is_causal);
        Self { scope, fitted: nothing.clone(), held_out: nothing }
    }
}

impl ReconstructionSum {
    /// Nothing yet. `free` is the memory that may be used.
    ///
    /// # Errors
    /// If the sums of the network alone do not fit, with the numbers; if a head is asked for that does not score.
    pub fn new(shape: ScoreShape, spec: &ReconstructionSpec, free: Option<u64>) -> Result<Self, AnalysisError> {
        let n = shape.tokens;
        if shape.computing.iter().all(Vec::is_empty) {
            return Err(AnalysisError::Impossible(
                "No head of the model computes scores, so that none can be restored.".to_owned(),
            ));
        }
        if let Some(HeadAt { layer, head, .. }) = spec.head
            && (layer >= shape.computing.len() || head >= shape.heads)
        {
            return Err(AnalysisError::Impossible(format!(
                "There is no head {head} of layer {layer}: the model has layers 0 to {} and heads 0 to {}.",
                shape.computing.len().saturating_sub(1),
                shape.heads.saturating_sub(1)
            )));
        }
        if let Some(HeadAt { layer, head, .. }) = spec.head
            && !shape.computing.get(layer).is_some_and(|heads| heads.contains(&head))
        {
            return Err(AnalysisError::Impossible(format!(
                "Head {head} of layer {layer} computes no scores of its own, so that none of them can be restored; both \
                 count from 0. Name one that does."
            )));
        }
        let mut notes = Vec::new();
        // Both halves of the examples, and what one query's work takes on each thread.
        let one = RowCovariances::bytes(n).saturating_mul(2);
        let working = (n as u64).saturating_pow(2).saturating_mul(8 * 8 * rayon::current_num_threads() as u64);
        let scoring = shape.computing.iter().filter(|heads| !heads.is_empty()).count() as u64;
        let alone = one.saturating_mul(1 + u64::from(spec.head.is_some())).saturating_add(working);
        if let Some(free) = free.filter(|free| alone > *free) {
            return Err(AnalysisError::Memory {
                what: "second moments of rows of scores",
                needed: alone,
                free,
                advice: "Analyse shorter examples: they take the cube of the tokens.",
            });
        }
        let with_layers = alone.saturating_add(one.saturating_mul(scoring));
        let mut has_layers = spec.layers && scoring > 0;
        if let Some(free) = free.filter(|free| has_layers && with_layers > *free) {
            has_layers = false;
            notes.push(format!(
                "Reconstruction of each layer for itself would need {} MiB, and {} MiB are free: only the network is \
                 analysed.",
                with_layers >> 20,
                free >> 20
            ));
        }
        let mut scopes = Vec::new();
        if has_layers {
            let layers = shape.computing.iter().enumerate().filter(|(_, heads)| !heads.is_empty());
            scopes.extend(layers.map(|(layer, _)| Scope::Layer { layer }));
        } else {
            scopes.push(Scope::Network);
        }
        scopes.extend(spec.head.map(|at| Scope::Head { at }));
        let left = free.map(|free| free.saturating_sub(if has_layers { with_layers } else { alone }));
        let whole =
            if spec.whole { WholeSum::new(n, shape.is_causal, left).map_err(|why| notes.push(why)).ok() } else { None };
        let groups = scopes.into_iter().map(|scope| Group::new(scope, &shape)).collect();
        Ok(Self { shape, groups, whole, has_layers, examples: [0; 2], notes })
    }

    /// What is left out, in words.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Adds examples with their numbers in the text. Those of odd numbers are held out.
    ///
    /// # Errors
    /// If the scores are not as many as they should be, or a number is not finite.
    pub fn add(&mut self, batch: &ScoreBatch<'_, f32>, numbers: &[u64]) -> Result<(), AnalysisError> {
        batch.check(&self.shape)?;
        AnalysisError::unless_equal("numbers of examples", numbers.len(), batch.examples)?;
        let n = self.shape.tokens;
        let size = n * n;
        let is_causal = self.shape.is_causal;
        for (layer, (values, heads)) in batch.layers.iter().zip(&self.shape.computing).enumerate() {
            if heads.is_empty() {
                continue;
            }
            let is_finite = |map: &[f32]| {
                let rows = map.chunks_exact(n).enumerate();
                let mut seen = rows.flat_map(|(query, row)| row.iter().take(if is_causal { query + 1 } else { n }));
                seen.all(|score| score.is_finite())
            };
            if let Some(sample) = values.chunks_exact(size).position(|map| !is_finite(map)) {
                return Err(AnalysisError::NotFinite { what: "scores", layer, head: heads[sample % heads.len()] });
            }
            for is_held_out in [false, true] {
                let of = |chosen: Option<usize>| -> Vec<f64> {
                    let maps = values.chunks_exact(size).enumerate().filter(|(sample, _)| {
                        let is_in = (numbers[sample / heads.len()] % 2 == 1) == is_held_out;
                        is_in && chosen.is_none_or(|head| heads[sample % heads.len()] == head)
                    });
                    maps.flat_map(|(_, map)| map.iter().copied().map(f64::from)).collect()
                };
                let all = of(None);
                for group in &mut self.groups {
                    let sums = if is_held_out { &mut group.held_out } else { &mut group.fitted };
                    match group.scope {
                        Scope::Network => sums.add(&all),
                        Scope::Layer { layer: own } if own == layer => sums.add(&all),
                        Scope::Head { at } if at.layer == layer => sums.add(&of(Some(at.head))),
                        Scope::Layer { .. } | Scope::Head { .. } => {}
                    }
                }
                if let Some(whole) = &mut self.whole {
                    whole.add(&all, is_held_out);
                }
            }
        }
        for number in numbers {
            self.examples[usize::from(number % 2 == 1)] += 1;
        }
        Ok(())
    }

    /// What was found, with what is to be known of it. `tell` is told the share that is done, 0..=1.
    ///
    /// # Errors
    /// If there was no example, an eigenvalue decomposition failed, or `should_stop` said so.
    pub fn finish(
        mut self,
        plan: &ModelPlan,
        tell: &dyn Fn(f64),
        should_stop: &dyn Fn() -> bool,
    ) -> Result<(Reconstruction, Vec<String>), AnalysisError> {
        let n = self.shape.tokens;
        if self.examples[0] == 0 {
            return Err(AnalysisError::NoExamples);
        }
        let has_held_out = self.examples[1] > 0;
        let flops = RelativeFlops::of(plan, n);
        let mut groups = std::mem::take(&mut self.groups);
        if self.has_layers {
            let mut network = Group::new(Scope::Network, &self.shape);
            for group in groups.iter().filter(|group| matches!(group.scope, Scope::Layer { .. })) {
                network.fitted.absorb(&group.fitted);
                network.held_out.absorb(&group.held_out);
            }
            groups.insert(0, network);
        }
        // What restores one head or the network comes before that of layers.
        let mut room = KEPT_BYTES;
        let kept: Vec<bool> = groups
            .iter()
            .map(|group| {
                let visible = (0..n).map(|query| group.fitted.visible(query));
                let bytes: usize = visible.map(|visible| visible * (visible + 1) / 2 * size_of::<f32>()).sum();
                let fits = bytes <= room;
                room -= if fits { bytes } else { 0 };
                fits
            })
            .collect();
        let parts = (groups.len() + usize::from(self.whole.is_some())) as f64;
        let mut found = Reconstruction {
            tokens: n,
            is_causal: self.shape.is_causal,
            examples: self.examples[0],
            held_out_examples: self.examples[1],
            score_flops: flops.scores.clone(),
            forward_flops: flops.forward.clone(),
            ..Reconstruction::default()
        };
        for (place, (group, keeps)) in groups.into_iter().zip(&kept).enumerate() {
            let told = |share: f64| tell((place as f64 + share) / parts);
            found.scopes.push(by_rows(group, has_held_out, *keeps, &told, should_stop)?);
        }
        if let Some(whole) = self.whole.take() {
            let flops = flops.whole(n, whole.pairs());
            found.whole = Some(whole.finish(flops, should_stop)?);
        }
        let notes = self.told(&found);
        Ok((found, notes))
    }

    fn told(mut self, found: &Reconstruction) -> Vec<String> {
        let n = found.tokens;
        if found.held_out_examples == 0 {
            self.notes.push(
                "There was only one example, so that nothing is held out: the errors of reconstruction are those of what \
                 pairs were chosen from. Ask for more examples."
                    .to_owned(),
            );
        }
        let few: Vec<&ScopeReconstruction> = found.scopes.iter().filter(|scope| scope.reliable_pairs(n) < n).collect();
        if let Some(fewest) = few.iter().min_by_key(|scope| scope.samples) {
            let rank = if fewest.is_rank_deficient(n) {
                "fewer than there are scores, so that their second moments have not full rank and errors on the same maps \
                 reach 0 early"
            } else {
                "few for so many scores"
            };
            self.notes.push(format!(
                "Rows of {n} scores were chosen from {}{}: {rank}. Errors on other text are marked where more than {} are \
                 computed: there they say more of the few maps than of the model. Ask for more examples.",
                counted(fewest.samples, "map"),
                if few.len() < found.scopes.len() { " in some parts" } else { "" },
                counted(fewest.reliable_pairs(n) as u64, "pair")
            ));
        }
        if let Some(whole) = found.whole.as_ref().filter(|whole| whole.samples < whole.pairs as u64) {
            self.notes.push(format!(
                "Whole maps of {} pairs were chosen from {}: their second moments have not full rank, so that only the \
                 held-out errors say what holds of other text, and there are none from {} on. Ask for more examples.",
                grouped(whole.pairs as u64),
                counted(whole.samples, "map"),
                counted(whole.samples, "pair")
            ));
        }
        let left_out = found.scopes.iter().filter(|scope| !scope.has_factors).count();
        if left_out > 0 {
            self.notes.push(format!(
                "What restores maps is kept up to {} MiB: left out for {left_out} of {} parts, whose maps cannot be rebuilt.",
                KEPT_BYTES >> 20,
                found.scopes.len()
            ));
        }
        if found.score_flops.is_empty() {
            self.notes.push(
                "All layers but the last would leave pairs out; here no other layer computes scores, so that there are no \
                 FLOPs to compare."
                    .to_owned(),
            );
        }
        self.notes
    }
}

/// Every query's own pairs.
fn by_rows(
    group: Group,
    has_held_out: bool,
    keeps_factors: bool,
    tell: &dyn Fn(f64),
    should_stop: &dyn Fn() -> bool,
) -> Result<ScopeReconstruction, AnalysisError> {
    let Group { scope, fitted, held_out } = group;
    let n = fitted.tokens();
    let [mut greedy, mut eigen, mut random] = [(); 3].map(|()| ErrorSum::new(n, has_held_out));
    let mut ranks = vec![-1.0_f32; n * n];
    let mut factors = Vec::new();
    let queries: Vec<usize> = (0..n).collect();
    for queries in queries.chunks(AT_ONCE) {
        if should_stop() {
            return Err(AnalysisError::Stopped);
        }
        let one = |&query: &usize| {
            let visible = fitted.visible(query);
            let own = fitted.visible_row(query);
            let other = has_held_out.then(|| held_out.visible_row(query));
            VectorErrors::new(&own, other.as_deref(), visible, query as u64, keeps_factors)
        };
        let found: Option<Vec<VectorErrors>> = queries.par_iter().map(one).collect();
        for (query, errors) in queries.iter().zip(found.ok_or(AnalysisError::Eigenvalues)?) {
            greedy.add(&errors.greedy);
            eigen.add(&errors.eigen);
            random.add(&errors.random);
            for (rank, key) in errors.order.iter().enumerate() {
                ranks[query * n + key] = rank as f32;
            }
            factors.extend(errors.lower);
        }
        tell((queries.last().copied().unwrap_or(0) + 1) as f64 / n as f64);
    }
    let [trace, held_out_trace] = greedy.traces();
    Ok(ScopeReconstruction {
        scope,
        samples: fitted.samples(),
        held_out_samples: held_out.samples(),
        trace,
        held_out_trace,
        greedy: greedy.shares(fitted.samples()),
        eigen: eigen.shares(fitted.samples()),
        random: random.shares(fitted.samples()),
        ranks,
        has_factors: keeps_factors,
        factors,
    })
}
