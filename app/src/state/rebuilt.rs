use std::sync::Arc;

use headroom_engine::{analysis::reconstruction::RebuiltMap, worker::Rebuild};

use crate::plot::HeatData;

/// A map beside itself put together from some of its pairs.
#[derive(Clone, Debug, Default)]
pub struct ShownRebuilt {
    /// Pairs of each query.
    pub k: usize,
    /// The scores before the softmax, rebuilt, and the second minus the first.
    pub scores: [HeatData; 3],
    /// The same of probabilities.
    pub maps: [HeatData; 3],
    /// Squared error of the scores as a share of their squares.
    pub score_error: f64,
    /// Total variation between the probabilities of a query, mean over queries.
    pub map_distance: f64,
    /// The largest of them.
    pub largest_distance: f64,
}

impl From<RebuiltMap> for ShownRebuilt {
    fn from(found: RebuiltMap) -> Self {
        let n = found.tokens;
        let three = |truth: Vec<f32>, rebuilt: Vec<f32>| {
            let difference = rebuilt.iter().zip(&truth).map(|(rebuilt, truth)| rebuilt - truth).collect();
            [truth, rebuilt, difference].map(|values| HeatData::new(n, n, values))
        };
        Self {
            k: found.k,
            scores: three(found.scores, found.rebuilt_scores),
            maps: three(found.map, found.rebuilt_map),
            score_error: found.score_error,
            map_distance: found.map_distance,
            largest_distance: found.largest_distance,
        }
    }
}

/// What came last, with what it answers.
pub(super) type Answer = (Rebuild, Result<Arc<ShownRebuilt>, String>);

/// Maps of a view that are rebuilt: one question at a time, so that a slider that moves fast asks for where it is and not
/// for every place that it was at.
#[derive(Default)]
pub(super) struct Rebuilding {
    asked: Option<Rebuild>,
    answer: Option<Answer>,
}

impl Rebuilding {
    /// What came last of the same map, whatever its k, and what is to be asked now.
    pub(super) fn want(&mut self, wanted: &Rebuild) -> (Option<Result<Arc<ShownRebuilt>, String>>, Option<Rebuild>) {
        let of = |rebuild: &Rebuild| Rebuild { k: wanted.k, ..rebuild.clone() };
        let answer = self.answer.as_ref().filter(|(rebuild, _)| of(rebuild) == *wanted);
        let is_there = answer.is_some_and(|(rebuild, _)| rebuild == wanted);
        let question = (!is_there && self.asked.is_none()).then(|| wanted.clone());
        if question.is_some() {
            self.asked.clone_from(&question);
        }
        (answer.map(|(_, found)| found.clone()), question)
    }

    pub(super) fn take(&mut self, rebuild: Rebuild, found: Result<RebuiltMap, String>) {
        self.asked = None;
        self.answer = Some((rebuild, found.map(|found| Arc::new(found.into()))));
    }

    /// Asks again for what could not be had.
    pub(super) fn again(&mut self) {
        self.answer = None;
    }
}
