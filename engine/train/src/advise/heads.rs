use serde::{Deserialize, Serialize};

use super::Borrowing;
use crate::{
    attention::{Cell, Draft, HeadAt, HeadPlan},
    config::{
        AllEndReuse, AlternateReuse, AttentionConfig, FirstReuse, FullReuse, NoReuse, PartialReuse, Problem, Reuse,
        SkipReuse,
    },
};

/// Which heads are to borrow, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadAdvice {
    /// The least similarity of a borrowed map to the head's own.
    pub threshold: f64,
    /// The table as a config writes it: a schedule of a name where one is the same.
    pub reuse: Reuse,
    /// The table.
    pub plan: HeadPlan,
    /// Every head, layer by layer.
    pub heads: Vec<HeadVerdict>,
    /// Heads that have another map than before: those that are to borrow, and those that borrowed from them.
    pub replaced: usize,
    /// Heads that have a map.
    pub maps: usize,
    /// The mean similarity of the maps of those heads to what they get; none where none is replaced.
    pub mean_similarity: Option<f64>,
    /// The least.
    pub least_similarity: Option<f64>,
    /// Similarity of heads that go on computing to the most similar such head of an earlier layer, a mean; none where there is one
    /// layer of them.
    pub remaining_similarity: Option<f64>,
}

/// What is advised for one head.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadVerdict {
    /// The head.
    pub at: HeadAt,
    /// What it is to do.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What one head is to do, and why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "does", rename_all = "snake_case")]
pub enum Verdict {
    /// It is to use another head's map.
    Borrows {
        /// The head that computes it.
        lender: HeadAt,
        /// Similarity of the maps.
        similarity: f64,
    },
    /// It goes on computing.
    Computes {
        /// The head of an earlier layer whose map is nearest to its own; none in the first layer.
        nearest: Option<HeadAt>,
        /// Similarity of the two.
        similarity: Option<f64>,
    },
    /// It borrows already.
    BorrowedBefore {
        /// The head whose map it gets.
        lender: HeadAt,
    },
    /// It has no map.
    NoMap,
}

impl HeadAdvice {
    /// The table at a threshold.
    ///
    /// # Errors
    /// If the table cannot be, which would be a fault of the adviser.
    pub fn new(borrowing: &Borrowing, threshold: f64, given: &Reuse) -> Result<Self, Vec<Problem>> {
        let before = borrowing.plan();
        let lent = borrowing.at(threshold);
        let old: Vec<Vec<Draft>> = before.clone().into();
        let mut new = lent.iter().copied();
        let drafts: Vec<Vec<Draft>> = old
            .into_iter()
            .map(|row| {
                let mut row = row;
                for draft in &mut row {
                    if let Some(Some(lent)) = new.next() {
                        *draft = Draft::Borrow { from: lent.lender };
                    }
                }
                row
            })
            .collect();
        let plan = HeadPlan::from_drafts(&drafts)?;
        let verdict = |((at, cell), lent): ((HeadAt, Cell), &Option<super::Lent>)| {
            let verdict = match (cell, lent) {
                (Cell::Compute, Some(lent)) => Verdict::Borrows { lender: lent.lender, similarity: lent.similarity },
                (Cell::Compute, None) => {
                    let nearest = borrowing.nearest(at);
                    Verdict::Computes {
                        nearest: nearest.map(|nearest| nearest.lender),
                        similarity: nearest.map(|nearest| nearest.similarity),
                    }
                }
                (Cell::Borrow { origin, .. }, _) => {
                    Verdict::BorrowedBefore { lender: plan.origin(at).unwrap_or(origin) }
                }
                (Cell::Skip, _) => Verdict::NoMap,
            };
            HeadVerdict { at, verdict }
        };
        let heads = before.iter().zip(&lent).map(verdict).collect();
        let changed = before.iter().filter_map(|(at, _)| {
            let (was, is) = (before.origin(at)?, plan.origin(at)?);
            (was != is).then(|| borrowing.between(is, at))
        });
        let changed: Vec<f64> = changed.collect();
        let (replaced, known) = (changed.len(), !changed.is_empty());
        let reuse = if replaced == 0 { given.clone() } else { named_reuse(&plan) };
        Ok(Self {
            threshold,
            reuse,
            maps: before.iter().filter(|(_, cell)| !matches!(cell, Cell::Skip)).count(),
            replaced,
            mean_similarity: known.then(|| changed.iter().sum::<f64>() / replaced as f64),
            least_similarity: known.then(|| changed.iter().copied().fold(f64::INFINITY, f64::min)),
            remaining_similarity: remaining(&plan, |a, b| borrowing.between(a, b)),
            plan,
            heads,
        })
    }

    /// Heads that are to borrow.
    pub fn borrowers(&self) -> usize {
        self.heads.iter().filter(|head| matches!(head.verdict, Verdict::Borrows { .. })).count()
    }
}

/// The mean similarity of heads that compute to the most similar such head of an earlier layer.
pub(super) fn remaining(plan: &HeadPlan, between: impl Fn(HeadAt, HeadAt) -> f64) -> Option<f64> {
    let computing = || plan.iter().filter(|(_, cell)| *cell == Cell::Compute).map(|(at, _)| at);
    let nearest = computing().filter_map(|at| {
        let earlier = computing().filter(|other| other.layer < at.layer);
        let similar = earlier.map(|other| between(other, at)).filter(|value| !value.is_nan());
        similar.fold(None, |best: Option<f64>, value| Some(best.map_or(value, |best| best.max(value))))
    });
    let nearest: Vec<f64> = nearest.collect();
    (!nearest.is_empty()).then(|| nearest.iter().sum::<f64>() / nearest.len() as f64)
}

/// The schedule of a name that gives every head the same map, else the table itself.
fn named_reuse(plan: &HeadPlan) -> Reuse {
    let (layers, heads) = (plan.layers(), plan.heads());
    let borrowing = (0..layers).filter(|layer| plan.borrowed(*layer) > 0).count();
    let most = (0..layers).map(|layer| plan.borrowed(layer)).max().unwrap_or(0);
    let skipped = (0..layers).filter(|layer| plan.skips_layer(*layer)).count();
    let candidates = [
        Reuse::None(NoReuse {}),
        Reuse::Full(FullReuse { layers: borrowing }),
        Reuse::Partial(PartialReuse { heads: most }),
        Reuse::First(FirstReuse { layers: borrowing, heads: most }),
        Reuse::Alternate(AlternateReuse { layers: None, heads: (most < heads).then_some(most) }),
        Reuse::Alternate(AlternateReuse { layers: Some(borrowing), heads: (most < heads).then_some(most) }),
        Reuse::AllEnd(AllEndReuse { layers: borrowing, heads: (most < heads).then_some(most) }),
        Reuse::Skip(SkipReuse { layers: skipped }),
    ];
    let is_same = |candidate: &Reuse| {
        let config = AttentionConfig { reuse: candidate.clone(), ..AttentionConfig::default() };
        let derived = HeadPlan::derive(&config, layers, heads);
        // Whose map a head uses counts, not over whom it comes.
        derived.is_ok_and(|derived| plan.iter().all(|(at, _)| derived.origin(at) == plan.origin(at)))
    };
    candidates.into_iter().find(is_same).unwrap_or_else(|| Reuse::Custom(plan.to_custom()))
}
