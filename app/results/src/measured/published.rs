use headroom_engine::speed::{GenerationMeasurement, PointResult, SideResult, SweepSpec};

/// Where the published ratios come from, and how they were measured.
pub const PUBLISHED_SETTING: &str = "Published: EL-Attention (Yan et al., ICML 2021), on a V100 GPU with 16 GB. \
     Section 4.1.2 and figure 4: one attention function of 16 heads and width 1,024. Table 3: BART large, half precision, \
     4 beams. Its key/value cache holds a copy of the source for every beam; here there is one for all beams of a source.";

/// A ratio that a paper publishes beside the same of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedRatio {
    /// What over what.
    pub what: String,
    /// What the paper says.
    pub published: &'static str,
    /// Where it says so.
    pub place: &'static str,
    /// What was measured here; none where one of the two has no number yet.
    pub measured: Option<f64>,
    /// Whether other programs used the machine while times of the two were measured.
    pub is_disturbed: bool,
}

/// Beams of the paper where these are no axis.
const BEAMS: usize = 4;
/// Tokens of a source of the paper where the axis is over beams.
const SOURCE: usize = 1024;

/// Ratios of the caches that the EL-attention paper publishes, for an axis over lengths, beams or batches; none for others. A
/// published ratio stands beside a point of its own source and beams alone.
pub fn published_ratios(spec: &SweepSpec, points: &[PointResult]) -> Vec<PublishedRatio> {
    let ([axis], Some(generation)) = (spec.axes.as_slice(), &spec.generation) else { return Vec::new() };
    let has = |value: &str| axis.values.iter().any(|own| own == value);
    let found = |value: &str, side: &str| side_at(points, value, side)?.outcome.generation();
    let attention = |value: &str, over: &str, under: &str| {
        ratio(found(value, over)?.attention_secs(), found(value, under)?.attention_secs())
    };
    let is_disturbed = |value: &str| point_at(points, value).is_some_and(|point| point.disturbed_by().is_some());
    // What is the most, or the fastest, is found among all points.
    let is_any_disturbed = points.iter().any(|point| point.disturbed_by().is_some());
    let at = |value: &str, unit: &str, published: &'static str| {
        has(value).then(|| PublishedRatio {
            what: format!(
                "attention, key/value cache over hidden states, {value} {unit}{}",
                if value == "1" { "" } else { "s" }
            ),
            published,
            place: "section 4.1.2",
            measured: attention(value, "key_value", "hidden"),
            is_disturbed: is_disturbed(value),
        })
    };
    // The most is that of the largest point.
    let most = |value: &str, published: &'static str| {
        has(value).then(|| PublishedRatio {
            what: "attention, no cache over hidden states, at most".to_owned(),
            published,
            place: "section 4.1.2",
            measured: axis.values.iter().filter_map(|value| attention(value, "none", "hidden")).reduce(f64::max),
            is_disturbed: is_any_disturbed,
        })
    };
    match axis.field.as_str() {
        "source" if generation.beams == BEAMS => {
            let [short, long] = [at("64", "source token", "1.4 at 64"), at("1024", "source token", "5 at 1,024")];
            [short, long, most("1024", "up to 36")].into_iter().flatten().collect()
        }
        "beams" if generation.source == SOURCE => {
            let [one, eight] = [at("1", "beam", "2 with 1"), at("8", "beam", "5 with 8")];
            [one, eight, most("8", "up to 36")].into_iter().flatten().collect()
        }
        "batch" if generation.beams == BEAMS => {
            // A larger batch brings no speed without a cache: there the baseline is the same at 32 and 64.
            let plain = axis.values.iter().filter_map(|value| found(value, "none"));
            let baseline = plain.map(GenerationMeasurement::samples_per_sec).reduce(f64::max);
            let best = |side: &str| fastest(points, side);
            let over = |side: &str, published: &'static str| PublishedRatio {
                what: format!("samples/s at the largest batch, {} over no cache at its fastest", named(side)),
                published,
                place: "table 3",
                measured: best(side).zip(baseline).and_then(|(best, baseline)| ratio(best, baseline)),
                is_disturbed: is_any_disturbed,
            };
            let batch = |side: &str| largest(points, side).map(|batch| batch as f64);
            vec![
                over("key_value", "3.0 (32 against 32)"),
                over("hidden", "15.1 (320 against 32)"),
                PublishedRatio {
                    what: "largest batch, hidden states over key/value cache".to_owned(),
                    published: "10 (320 against 32)",
                    place: "table 3",
                    measured: batch("hidden").zip(batch("key_value")).and_then(|(one, other)| ratio(one, other)),
                    // Memory, and no time.
                    is_disturbed: false,
                },
            ]
        }
        _ => Vec::new(),
    }
}

fn named(side: &str) -> &'static str {
    if side == "hidden" { "hidden states" } else { "key/value cache" }
}

fn ratio(over: f64, under: f64) -> Option<f64> {
    (under > 0.0).then(|| over / under).filter(|ratio| ratio.is_finite())
}

fn point_at<'a>(points: &'a [PointResult], value: &str) -> Option<&'a PointResult> {
    points.iter().find(|point| point.settings.first().is_some_and(|setting| setting.value == value))
}

fn side_at<'a>(points: &'a [PointResult], value: &str, side: &str) -> Option<&'a SideResult> {
    point_at(points, value)?.sides.iter().find(|found| found.side == side)
}

/// Texts a second at the largest batch that was run.
fn fastest(points: &[PointResult], side: &str) -> Option<f64> {
    let sides = || points.iter().flat_map(|point| &point.sides).filter(|found| found.side == side);
    let measured = sides().filter_map(|found| found.outcome.generation());
    let at_points = measured.map(|found| (found.texts, found.samples_per_sec()));
    let at_largest = sides().filter_map(|found| {
        let largest = found.largest_batch?;
        Some((largest.batch as u64, largest.batch as f64 / largest.run_secs?))
    });
    at_points.chain(at_largest).max_by_key(|(batch, _)| *batch).map(|(_, rate)| rate)
}

/// The largest batch that fits.
fn largest(points: &[PointResult], side: &str) -> Option<usize> {
    let sides = points.iter().flat_map(|point| &point.sides).filter(|found| found.side == side);
    sides.filter_map(|found| found.largest_batch).map(|largest| largest.batch).max()
}

#[cfg(test)]
mod tests {
    use headroom_engine::speed::{GenerationPreset, GenerationSpec};

    use super::*;

    #[test]
    fn a_published_value_stands_beside_a_point_of_its_own_alone() {
        let told = |spec: &SweepSpec| -> Vec<&'static str> {
            published_ratios(spec, &[]).into_iter().map(|ratio| ratio.published).collect()
        };
        assert_eq!(told(&GenerationPreset::Length.spec()), ["1.4 at 64", "5 at 1,024", "up to 36"]);
        assert_eq!(told(&GenerationPreset::Beams.spec()), ["2 with 1", "5 with 8", "up to 36"]);
        assert_eq!(told(&GenerationPreset::Batch.spec()).len(), 3);
        let with = |axis: &str, change: fn(&mut GenerationSpec)| {
            let mut generation = GenerationSpec::default();
            change(&mut generation);
            let axes = vec![axis.parse().unwrap()];
            SweepSpec { axes, generation: Some(generation), ..SweepSpec::default() }
        };
        assert!(told(&with("source=8,16,32", |_| ())).is_empty());
        assert_eq!(told(&with("source=32,64", |_| ())), ["1.4 at 64"]);
        assert!(told(&with("source=64,1024", |spec| spec.beams = 1)).is_empty());
        assert!(told(&with("beams=1,8", |spec| spec.source = 64)).is_empty());
        assert!(told(&with("batch=1,32", |spec| spec.beams = 1)).is_empty());
    }
}
