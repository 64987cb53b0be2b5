use std::sync::Arc;

use headroom_engine::{
    analysis::{Analysis, Measure, Similarity},
    attention::{Cell, HeadAt, HeadPlan},
    config::RunConfig,
    store::{RunId, RunRecord},
};

use crate::{
    export::MapFigure,
    findings::similarity_map,
    state::MarkedHeads,
    widgets::{HeadCell, HeadGrid, HeadMarks, HeadSpot},
};

/// What is drawn of a similarity, made anew only when that changes.
#[derive(Default)]
pub struct Derived {
    of: Option<(Arc<Analysis>, Measure)>,
    /// Layers x layers: the similarity of the two most similar heads.
    pub matrix: MapFigure,
    /// The means of neighbouring layers, and of those further apart.
    pub near_and_far: (f64, f64),
    threshold: Option<f64>,
    /// Heads by the group that they are in.
    pub grid: HeadGrid,
    /// Groups of similar heads, the largest first.
    pub groups: Vec<Vec<HeadAt>>,
    /// How many heads borrow by the plan of a run.
    borrowers: Option<(RunId, usize)>,
}

impl Derived {
    /// How many heads of a run borrow their maps by its plan: found once.
    pub fn borrowers(&mut self, record: &RunRecord) -> usize {
        let run = &record.summary.id;
        if let Some((known, count)) = &self.borrowers
            && known == run
        {
            return *count;
        }
        let plan = record
            .run_config()
            .ok()
            .and_then(|config| HeadPlan::derive(&config.attention, config.model.layers, config.model.heads).ok());
        let count = plan.map_or(0, |plan| plan.iter().filter(|(_, cell)| matches!(cell, Cell::Borrow { .. })).count());
        self.borrowers = Some((run.clone(), count));
        count
    }

    /// Brings everything up to date; whether it is of another analysis or measure than before.
    pub fn update(&mut self, analysis: &Arc<Analysis>, similarity: &Similarity, threshold: f64) -> bool {
        let is_same = self
            .of
            .as_ref()
            .is_some_and(|(known, measure)| Arc::ptr_eq(known, analysis) && *measure == similarity.measure);
        if !is_same {
            self.of = Some((Arc::clone(analysis), similarity.measure));
            self.matrix = similarity_map(similarity);
            self.near_and_far = similarity.near_and_far();
            self.threshold = None;
        }
        if self.threshold != Some(threshold) {
            self.threshold = Some(threshold);
            self.groups = similarity.clusters(threshold);
            self.grid = grid(similarity, &self.groups);
        }
        !is_same
    }

    /// The groups as Configure marks them.
    pub fn marked(
        &self,
        name: &str,
        config: Option<RunConfig>,
        similarity: &Similarity,
        threshold: f64,
    ) -> MarkedHeads {
        let groups = self.groups.iter().map(|group| group.iter().copied().map(spot).collect()).collect();
        MarkedHeads {
            run: name.to_owned(),
            layers: similarity.layers,
            heads: similarity.heads,
            threshold,
            marks: HeadMarks { groups, words: format!("similar in \"{name}\"") },
            config: config.map(Box::new),
        }
    }
}

fn grid(similarity: &Similarity, groups: &[Vec<HeadAt>]) -> HeadGrid {
    let mut cells = Vec::with_capacity(similarity.layers * similarity.heads);
    for layer in 0..similarity.layers {
        for head in 0..similarity.heads {
            let at = HeadAt::new(layer, head);
            let group = groups.iter().position(|group| group.contains(&at));
            cells.push(match group {
                Some(group) => HeadCell::Alike { group },
                None if similarity.between(at, at).is_nan() => HeadCell::Skips,
                None => HeadCell::Alone,
            });
        }
    }
    HeadGrid::new(similarity.heads, cells)
}

/// A head as the head map counts it.
pub fn spot(at: HeadAt) -> HeadSpot {
    HeadSpot::new(at.layer, at.head)
}

/// A head as an analysis counts it.
pub fn head_at(spot: HeadSpot) -> HeadAt {
    HeadAt::new(spot.layer, spot.head)
}
