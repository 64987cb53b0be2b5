//! What is drawn: found once for an analysis, and again only for other thresholds.

use std::sync::Arc;

use headroom_engine::{
    advise::{Advice, Adviser, DimensionAdvice, HeadAdvice, PairAdvice},
    analysis::Analysis,
    attention::{Cell, HeadPlan, ModelFacts, ModelPlan},
    config::RunConfig,
    store::RunSummary,
};

use super::memory::Memory;
use crate::{
    findings,
    panels::redundancy::spot,
    plot::Series,
    widgets::{HeadCell, HeadGrid},
};

/// Points of a curve that are drawn.
const MOST_POINTS: usize = 400;

/// Of what advice is given.
#[derive(Clone, Copy)]
pub enum Advised<'a> {
    /// A run, trained by this config: another config is advised. With the plan of its model, once a checkpoint was read.
    Run(&'a RunSummary, &'a RunConfig, Option<&'a ModelPlan>),
    /// The model of a directory: conversions are advised.
    Model(&'a ModelPlan),
}

/// What follows from an analysis alone.
pub struct OfAnalysis {
    /// Answers for any thresholds.
    pub adviser: Adviser,
    /// Heads that could borrow, over similarity.
    pub borrowers: Series,
    /// Energy over dimensions, a layer each, with its name.
    pub energies: Vec<(String, Series)>,
    /// Error over pairs.
    pub errors: Series,
}

/// What follows from the thresholds too.
pub struct OfThresholds {
    /// The plan for what is switched on.
    pub advice: Advice,
    /// Heads at the slider's place, switched on or not.
    pub heads: Result<HeadAdvice, String>,
    /// The table of heads at the slider's place.
    pub grid: HeadGrid,
    /// Dimensions at the slider's place.
    pub dimensions: Result<DimensionAdvice, String>,
    /// Pairs at the slider's place.
    pub pairs: Result<PairAdvice, String>,
}

/// Everything that is kept.
#[derive(Default)]
pub struct Derived {
    /// The analysis, and whether the plan of the run's model was known.
    of: Option<(Arc<Analysis>, bool)>,
    analysis: Option<Result<OfAnalysis, String>>,
    memory: Option<Memory>,
    thresholds: Option<OfThresholds>,
}

impl Derived {
    /// Brings everything up to date.
    ///
    /// # Errors
    /// Why there is no advice.
    pub fn update(
        &mut self,
        advised: Advised<'_>,
        analysis: &Arc<Analysis>,
        memory: &Memory,
    ) -> Result<(&OfAnalysis, &OfThresholds), String> {
        let has_plan = !matches!(advised, Advised::Run(_, _, None));
        let is_same = |(known, had_plan): &(Arc<Analysis>, bool)| Arc::ptr_eq(known, analysis) && *had_plan == has_plan;
        if !self.of.as_ref().is_some_and(is_same) {
            self.of = Some((Arc::clone(analysis), has_plan));
            self.analysis = Some(OfAnalysis::new(advised, analysis));
            self.thresholds = None;
        }
        let known = match &self.analysis {
            Some(Ok(known)) => known,
            Some(Err(why)) => return Err(why.clone()),
            None => return Err(String::new()),
        };
        // What is trained beside changes nothing of the plan.
        let plain = Memory { again: false, ..*memory };
        if self.memory != Some(plain) || self.thresholds.is_none() {
            self.memory = Some(plain);
            self.thresholds = Some(OfThresholds::new(&known.adviser, &plain));
        }
        self.thresholds.as_ref().map(|thresholds| (known, thresholds)).ok_or_else(String::new)
    }
}

impl OfAnalysis {
    fn new(advised: Advised<'_>, analysis: &Analysis) -> Result<Self, String> {
        let adviser = match advised {
            Advised::Run(run, config, plan) => {
                let errors = findings::score_errors(analysis, config);
                let facts = plan.map_or_else(
                    || ModelFacts::of_parameters(config, run.parameters),
                    |plan| ModelFacts::of_run(config, plan),
                );
                Adviser::new(config, run.id.as_str(), &facts, analysis, errors)
                    .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?
            }
            Advised::Model(plan) => Adviser::of_model(plan, analysis, findings::held_out_errors(analysis))?,
        };
        let energies = adviser.captured().map_or_else(
            |_| Vec::new(),
            |captured| {
                let layers = captured.layers.iter().enumerate().filter(|(_, layer)| !layer.all_products.is_empty());
                layers.map(|(place, layer)| (format!("L{place}"), curve(&layer.all_products, 1))).collect()
            },
        );
        Ok(Self {
            borrowers: adviser.borrowing().map_or_else(|_| Series::new(), |found| staircase(&found.steps())),
            energies,
            errors: adviser.errors().map_or_else(|_| Series::new(), |errors| curve(errors, 0)),
            adviser,
        })
    }
}

impl OfThresholds {
    fn new(adviser: &Adviser, memory: &Memory) -> Self {
        let heads = adviser.heads(memory.similarity);
        let plan = heads.as_ref().map_or_else(|_| adviser.plan(), |heads| &heads.plan);
        Self {
            advice: adviser.advise(memory.wishes()),
            grid: grid(plan),
            heads,
            dimensions: adviser.dimensions(memory.energy),
            pairs: adviser.pairs(memory.error),
        }
    }
}

/// The values over `first`, `first + 1`, ...; of long curves every so many.
fn curve(values: &[f64], first: usize) -> Series {
    let every = values.len().div_ceil(MOST_POINTS).max(1);
    let last = values.len().saturating_sub(1);
    let shown = values.iter().enumerate().filter(|(place, _)| place % every == 0 || *place == last);
    shown.map(|(place, value)| ((place + first) as f64, *value)).collect()
}

/// How many could borrow at each similarity, from those at which one more could, falling.
fn staircase(steps: &[f64]) -> Series {
    let mut points = vec![(0.0, steps.len() as f64)];
    for (place, similarity) in steps.iter().enumerate().rev() {
        points.push((*similarity, place as f64 + 1.0));
        points.push((*similarity, place as f64));
    }
    points.push((1.0, steps.iter().filter(|similarity| **similarity >= 1.0).count() as f64));
    points.into_iter().collect()
}

fn grid(plan: &HeadPlan) -> HeadGrid {
    let cell = |cell: Cell| match cell {
        Cell::Compute => HeadCell::Computes,
        Cell::Borrow { from, origin } => HeadCell::Borrows { from: spot(from), origin: spot(origin) },
        Cell::Skip => HeadCell::Skips,
    };
    HeadGrid::new(plan.heads(), plan.iter().map(|(_, found)| cell(found)).collect()).by_lender()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_staircase_falls_where_one_less_could_borrow() {
        let points: Vec<(f64, f64)> = staircase(&[0.75, 0.5]).points().collect();
        assert_eq!(points, [(0.0, 2.0), (0.5, 2.0), (0.5, 1.0), (0.75, 1.0), (0.75, 0.0), (1.0, 0.0)]);
        assert_eq!(staircase(&[]).points().collect::<Vec<_>>(), [(0.0, 0.0), (1.0, 0.0)]);
        assert_eq!(curve(&[0.5; 2000], 1).last(), Some((2000.0, 0.5)));
    }
}
