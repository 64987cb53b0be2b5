use serde::{Deserialize, Serialize};

use super::{Outcome, Setting, Spread, SweepResult};

/// The same side of the same point in two sweeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointRatio {
    /// The values of the axes.
    pub settings: Vec<Setting>,
    /// The side.
    pub side: String,
    /// Median step of the first, or median run where texts were generated, in seconds.
    pub first_secs: f64,
    /// The same of the second, in seconds.
    pub second_secs: f64,
    /// Quartiles of the first, in seconds.
    pub first_spread: Spread,
    /// The same of the second: where they overlap, neither is called faster.
    pub second_spread: Spread,
    /// Second over first; below 1 = the second is faster.
    pub ratio: f64,
    /// Memory of the second over that of the first, of what was kept where texts were generated; none where one of them is not known.
    pub memory_ratio: Option<f64>,
}

/// The points that two sweeps have both measured, whatever the order of their axes, and the ratio of their medians.
pub fn point_ratios(first: &SweepResult, second: &SweepResult) -> Vec<PointRatio> {
    let sorted = |settings: &[Setting]| {
        let mut settings = settings.to_vec();
        settings.sort();
        settings
    };
    let mut ratios = Vec::new();
    for point in &first.points {
        let key = sorted(&point.settings);
        let Some(other) = second.points.iter().find(|other| sorted(&other.settings) == key) else { continue };
        for side in &point.sides {
            let found = numbers(&side.outcome).zip(other.side(&side.side).and_then(numbers));
            if let Some(((first, one), (second, two))) = found {
                let (first_secs, second_secs) = (first.median, second.median);
                ratios.push(PointRatio {
                    settings: point.settings.clone(),
                    side: side.side.clone(),
                    first_secs,
                    second_secs,
                    first_spread: first,
                    second_spread: second,
                    ratio: second_secs / first_secs,
                    memory_ratio: one.zip(two).filter(|(one, _)| *one > 0).map(|(one, two)| two as f64 / one as f64),
                });
            }
        }
    }
    ratios
}

/// Seconds and bytes of memory, where measured.
fn numbers(outcome: &Outcome) -> Option<(Spread, Option<u64>)> {
    match outcome {
        Outcome::Measured(found) => Some((found.step_secs, found.model_memory_bytes())),
        Outcome::Generated(found) => Some((found.total_secs, Some(found.cache_bytes))),
        Outcome::OutOfMemory { .. } | Outcome::Invalid { .. } | Outcome::Failed { .. } => None,
    }
}
