use serde::{Deserialize, Serialize};

use super::{Measurement, Setting, SweepResult};

/// The same side of the same point in two sweeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointRatio {
    /// The values of the axes.
    pub settings: Vec<Setting>,
    /// The side.
    pub side: String,
    /// Median step of the first, in seconds.
    pub first_secs: f64,
    /// Median step of the second, in seconds.
    pub second_secs: f64,
    /// Second over first; below 1 = the second is faster.
    pub ratio: f64,
    /// Memory of the second over that of the first; none where one of them is not known.
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
            let found = side.outcome.measurement().zip(other.side(&side.side).and_then(super::Outcome::measurement));
            if let Some((one, two)) = found {
                let (first_secs, second_secs) = (one.step_secs.median, two.step_secs.median);
                ratios.push(PointRatio {
                    settings: point.settings.clone(),
                    side: side.side.clone(),
                    first_secs,
                    second_secs,
                    ratio: second_secs / first_secs,
                    memory_ratio: memory_ratio(one, two),
                });
            }
        }
    }
    ratios
}

fn memory_ratio(one: &Measurement, two: &Measurement) -> Option<f64> {
    let (one, two) = (one.model_memory_bytes()?, two.model_memory_bytes()?);
    (one > 0).then(|| two as f64 / one as f64)
}
