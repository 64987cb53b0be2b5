use headroom_engine::analysis::reconstruction::RebuiltMap;

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
