//! Where times cannot be trusted, in the same words in the window, in figures and on the command line.

use headroom_engine::speed::{MachineLimits, Outcome, PointResult, Setting, SweepResult};

use crate::format;

/// How the time of one side stands to that of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is shorter, and the quartiles do not overlap.
    Faster,
    /// It is longer, and the quartiles do not overlap.
    Slower,
    /// The quartiles overlap.
    Unclear,
    /// Other programs used the machine meanwhile.
    Disturbed,
}

impl Standing {
    /// One word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Unclear => "unclear",
            Self::Disturbed => "disturbed",
        }
    }

    /// What it rests on.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Faster => "Faster: their quartiles do not overlap",
            Self::Slower => "Slower: their quartiles do not overlap",
            Self::Unclear => "Their quartiles overlap: neither is called faster",
            Self::Disturbed => "Other programs used the machine meanwhile: neither is called faster",
        }
    }
}

/// What is to be said of a point that was measured while other programs used the machine.
pub fn disturbed_words(point: &PointResult) -> Option<String> {
    let cores = format::fixed(point.disturbed_by()?, 1);
    Some(format!(
        "other programs used {cores} cores meanwhile, so these times may be too long. Measure again when they rest."
    ))
}

/// The same of all points of a figure, in a line.
pub fn disturbed_note(points: &[PointResult]) -> Option<String> {
    let disturbed: Vec<String> =
        points.iter().filter(|point| point.disturbed_by().is_some()).map(PointResult::label).collect();
    // A note is one line.
    let places = if disturbed.len() > FEW {
        format!("{} of {} points", disturbed.len(), points.len())
    } else {
        disturbed.join("; ")
    };
    (!disturbed.is_empty()).then(|| format!("Other programs used the machine, so times may be too long: {places}"))
}

/// Whether other programs used the machine while one of these sweeps measured the point of these settings, whatever the
/// order of their axes.
pub fn is_disturbed(settings: &[Setting], sweeps: &[&SweepResult]) -> bool {
    let sorted = |settings: &[Setting]| {
        let mut settings = settings.to_vec();
        settings.sort();
        settings
    };
    let wanted = sorted(settings);
    let mut disturbed = sweeps.iter().flat_map(|sweep| &sweep.points).filter(|point| point.disturbed_by().is_some());
    disturbed.any(|point| sorted(&point.settings) == wanted)
}

/// What is wrong where a product is faster than the machine can multiply.
pub const PAST_PRODUCTS: &str = "An operation is faster than the compute limit, which cannot be: the machine did something else \
                                 while the limit was measured. Measure again when it rests.";

/// So many points are named in a note.
const FEW: usize = 3;

/// How far products may pass their limit by chance.
const CHANCE: f64 = 1.05;

/// Whether a product of so many FLOPs was faster than the limit of products, by more than chance.
pub fn passes_products(limits: &MachineLimits, flops: f64, seconds: f64) -> bool {
    seconds > 0.0 && flops / seconds > CHANCE * limits.product_flops_per_sec
}

/// Fields that the limits depend on: what has others than the limits were measured with is not held against them.
const OF_LIMITS: [&str; 3] = ["device", "precision", "threads"];

/// FLOPs and seconds of what a training step of a side did. Those of generated texts are not among what limits are measured again for.
fn products(outcome: &Outcome) -> Vec<(f64, f64)> {
    match outcome {
        Outcome::Measured(found) => {
            found.operations.iter().map(|operation| (operation.flops as f64, operation.seconds)).collect()
        }
        Outcome::Generated(_) | Outcome::OutOfMemory { .. } | Outcome::Invalid { .. } | Outcome::Failed { .. } => {
            Vec::new()
        }
    }
}

/// The sides, each with its point, that have a product which was faster than the limit of products.
pub fn past_products(results: &SweepResult) -> Vec<String> {
    let Some(limits) = &results.limits else { return Vec::new() };
    let mut past = Vec::new();
    let has_others = |point: &PointResult| point.settings.iter().any(|set| OF_LIMITS.contains(&set.field.as_str()));
    for point in results.points.iter().filter(|point| !has_others(point)) {
        for side in &point.sides {
            if products(&side.outcome).into_iter().any(|(flops, seconds)| passes_products(limits, flops, seconds)) {
                past.push(format!("{}, {}", point.label(), side.side));
            }
        }
    }
    past
}

/// Everything that speaks against the times of a benchmark, a sentence each.
pub fn warnings(results: &SweepResult) -> Vec<String> {
    let disturbed = |point: &PointResult| Some(format!("{}: {}", point.label(), disturbed_words(point)?));
    let mut warnings: Vec<String> = results.points.iter().filter_map(disturbed).collect();
    let past = past_products(results);
    if !past.is_empty() {
        warnings.push(format!("{PAST_PRODUCTS} It is in {}.", past.join("; ")));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use headroom_engine::{
        ops::profile::OperationTime,
        speed::{Measurement, MemorySource, SideResult, Spread},
    };

    use super::*;

    /// A point of one side whose only operation multiplies at so many FLOP/s.
    fn point(settings: &[(&str, &str)], others_cores: f64, rate: u64) -> PointResult {
        let found = Measurement {
            step_joules: None,
            times: Vec::new(),
            step_secs: Spread { lower: 1.0, median: 1.0, upper: 1.0 },
            forward_secs: 0.4,
            backward_secs: 0.5,
            optimiser_secs: 0.1,
            tokens: 64,
            parameters: 10,
            predicted_flops: rate,
            predicted_memory_bytes: 1 << 20,
            peak_memory_bytes: None,
            program_memory_bytes: None,
            memory_source: MemorySource::OwnProcess,
            device_memory_bytes: None,
            operations: vec![OperationTime {
                name: "feed-forward".to_owned(),
                calls: 1,
                seconds: 1.0,
                flops: rate,
                bytes: 1,
            }],
        };
        let setting =
            |(field, value): &(&str, &str)| Setting { field: (*field).to_owned(), value: (*value).to_owned() };
        PointResult {
            settings: settings.iter().map(setting).collect(),
            sides: vec![SideResult {
                side: "base".to_owned(),
                outcome: Outcome::Measured(Box::new(found)),
                largest_batch: None,
            }],
            in_turns: true,
            others_cores: Some(others_cores),
        }
    }

    fn sweep(points: Vec<PointResult>) -> SweepResult {
        let limits = MachineLimits { product_flops_per_sec: 1000.0, copy_bytes_per_sec: 1.0, threads: 1 };
        SweepResult { limits: Some(limits), points, is_complete: true }
    }

    #[test]
    fn a_point_is_disturbed_in_whichever_sweep_others_used_the_machine() {
        let quiet = sweep(vec![point(&[("a", "1"), ("b", "2")], 0.1, 10)]);
        let busy = sweep(vec![point(&[("b", "2"), ("a", "1")], 1.2, 10), point(&[("a", "2"), ("b", "2")], 0.0, 10)]);
        let settings = quiet.points[0].settings.clone();
        assert!(!is_disturbed(&settings, &[&quiet, &quiet]));
        assert!(is_disturbed(&settings, &[&quiet, &busy]) && is_disturbed(&settings, &[&busy, &quiet]));
        assert!(!is_disturbed(&busy.points[1].settings, &[&quiet, &busy]), "another point");
        assert_eq!(disturbed_note(&quiet.points), None);
        let note = disturbed_note(&busy.points).unwrap();
        assert!(note.ends_with("too long: b=2, a=1"), "{note}");
        let many: Vec<PointResult> = (0..5).map(|at| point(&[("a", &at.to_string())], 1.2, 10)).collect();
        assert!(disturbed_note(&many).unwrap().ends_with("too long: 5 of 5 points"));
    }

    #[test]
    fn a_product_above_the_roof_is_a_warning_and_chance_is_none() {
        let found = sweep(vec![point(&[("a", "1")], 0.0, 1_040), point(&[("a", "2")], 0.0, 1_060)]);
        assert_eq!(past_products(&found), ["a=2, base"]);
        let told = warnings(&found);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with(PAST_PRODUCTS) && told[0].ends_with("It is in a=2, base."), "{told:?}");
        assert!(past_products(&SweepResult { limits: None, ..found }).is_empty(), "nothing is known of the roof");
        let threads = sweep(vec![point(&[("threads", "1")], 0.0, 5_000)]);
        assert!(past_products(&threads).is_empty(), "the roof is that of other threads");
        let busy = sweep(vec![point(&[("a", "1")], 1.2, 10)]);
        let told = warnings(&busy);
        assert!(told.len() == 1 && told[0].starts_with("a=1: other programs used 1.2 cores meanwhile"), "{told:?}");
    }
}
