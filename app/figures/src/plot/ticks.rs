//! Where ticks go and what they say: 1-2-5 steps, decades, clock and calendar steps.

use super::quantity::Quantity;
use crate::format;

/// One tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The data value.
    pub value: f64,
    /// The text; empty for an unlabelled (minor) tick.
    pub label: String,
    /// Major ticks carry grid lines in full strength.
    pub major: bool,
}

/// The most ticks any function here returns: a guard against absurd ranges.
const MOST: f64 = 200.0;

fn usable(lo: f64, hi: f64) -> bool {
    lo.is_finite() && hi.is_finite() && lo < hi && (hi - lo).is_finite()
}

/// The step of the form 1, 2 or 5 times a power of ten that cuts a span into about `target` parts, never more than
/// half as many again.
pub fn nice_step(span: f64, target: usize) -> f64 {
    let raw = span / target.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let factor = match raw / power {
        f if f <= 1.000_001 => 1.0,
        f if f <= 2.000_001 => 2.0,
        f if f <= 5.000_001 => 5.0,
        _ => 10.0,
    };
    factor * power
}

fn multiples(lo: f64, hi: f64, step: f64) -> Vec<f64> {
    if !(usable(lo, hi) && step.is_finite() && step > 0.0) || (hi - lo) / step > MOST {
        return Vec::new();
    }
    let slack = 1e-9;
    let first = (lo / step - slack).ceil() as i64;
    let last = (hi / step + slack).floor() as i64;
    // Multiply, do not add up, so that 0.3 is 0.3 and zero is zero.
    (first..=last)
        .map(|i| if step < 1.0 { i as f64 / (1.0 / step).round().max(1.0) } else { i as f64 * step })
        .collect()
}

/// Ticks on a linear axis at multiples of a 1-2-5 step.
pub fn linear(lo: f64, hi: f64, target: usize, quantity: Quantity) -> Vec<Tick> {
    if !usable(lo, hi) {
        return Vec::new();
    }
    let largest = lo.abs().max(hi.abs());
    // Ticks of bytes are round in the unit that they are written in.
    let unit = if quantity == Quantity::Bytes { byte_unit(largest).0 } else { 1.0 };
    let (lo, hi) = (lo / unit, hi / unit);
    let mut step = nice_step(hi - lo, target);
    if quantity == Quantity::Count {
        step = step.max(1.0);
    }
    let values = if step < 1.0 && (1.0 / step).fract().abs() > 1e-6 {
        // Steps that are not one over a whole number do not occur below one, but rounding may say so.
        let first = (lo / step - 1e-9).ceil();
        (0..MOST as usize).map(|i| (first + i as f64) * step).take_while(|v| *v <= hi + 1e-9 * step).collect()
    } else {
        multiples(lo, hi, step)
    };
    let write = writer(largest, step * unit, quantity);
    let tick = |value: f64| Tick { value, label: write(value), major: true };
    values.into_iter().map(|value| tick(value * unit)).collect()
}

/// The largest unit of bytes that is not more than this, and its name.
fn byte_unit(bytes: f64) -> (f64, &'static str) {
    let units = [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let units = units.map(|(scale, unit)| (scale as f64, unit));
    units.into_iter().find(|(scale, _)| bytes >= *scale).unwrap_or((1.0, "B"))
}

/// Writes all ticks of one axis alike: the same decimals, the same prefix.
fn writer(largest: f64, step: f64, quantity: Quantity) -> Box<dyn Fn(f64) -> String> {
    let decimals = |step: f64| usize::try_from(-(step.log10() + 1e-9).floor() as i32).unwrap_or(0).min(12);
    match quantity {
        Quantity::Fraction => {
            let places = decimals(step * 100.0);
            Box::new(move |v| format!("{} %", format::fixed(v * 100.0, places)))
        }
        Quantity::Bytes => {
            let (scale, unit) = byte_unit(largest);
            let places = decimals(step / scale);
            Box::new(move |v| format!("{} {unit}", format::fixed(v / scale, places)))
        }
        Quantity::ShortTime => {
            let (scale, unit) = if largest < 1.0 { (1e-3, "ms") } else { (1.0, "s") };
            let places = decimals(step / scale);
            Box::new(move |v| format!("{} {unit}", format::fixed(v / scale, places)))
        }
        _ if largest < 1e-3 => {
            let exponent = (largest.log10() + 1e-9).floor();
            let scale = 10f64.powf(exponent);
            let places = decimals(step / scale);
            Box::new(move |v| {
                if v == 0.0 {
                    return "0".to_owned();
                }
                format!("{}e{}{}", format::fixed(v / scale, places), format::MINUS, exponent.abs())
            })
        }
        _ if largest < 1e5 && quantity != Quantity::Flops => {
            let places = decimals(step);
            Box::new(move |v| format::fixed(v, places))
        }
        _ => {
            let (scale, prefix) = [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
                .into_iter()
                .find(|(scale, _)| largest >= *scale)
                .unwrap_or((1.0, ""));
            let places = decimals(step / scale);
            let unit = if quantity == Quantity::Flops { "FLOP" } else { "" };
            let gap = if prefix.is_empty() && unit.is_empty() { "" } else { " " };
            Box::new(move |v| {
                if largest >= 1e21 {
                    return format::significant(v, 3);
                }
                if v == 0.0 {
                    "0".to_owned()
                } else {
                    format!("{}{gap}{prefix}{unit}", format::fixed(v / scale, places))
                }
            })
        }
    }
}

/// Ticks on a logarithmic axis between the positive values `lo` and `hi`: labelled decades (every second, third, ...
/// when there are many), unlabelled 2..9 between when there are few. Below one and a half decades, or with fewer than three
/// powers of ten, 1-2-5 values are labelled, below 0.8 decades all digits, and below a third of a decade plain linear ticks serve.
/// Those of counts are whole.
pub fn log(lo: f64, hi: f64, target: usize, quantity: Quantity) -> Vec<Tick> {
    if !usable(lo, hi) || lo <= 0.0 {
        return Vec::new();
    }
    let (from, to) = (lo.log10(), hi.log10());
    let decades = to - from;
    if decades < 0.35 {
        return linear(lo, hi, target, quantity);
    }
    let stride = (decades / target.max(1) as f64).ceil().max(1.0) as i32;
    // With fewer than three powers of ten in the range they alone would not tell the scale.
    let powers = (to + 1e-9).floor() - (from - 1e-9).ceil() + 1.0;
    let few = decades <= 1.5 || powers < 3.0;
    let all = decades <= 0.8;
    let mut ticks = Vec::new();
    for exponent in (from - 1e-9).floor() as i32..=(to + 1e-9).ceil() as i32 {
        if stride > 1 {
            if exponent.rem_euclid(stride) == 0 {
                let (value, label) = (base(exponent, quantity), power_label(exponent, quantity));
                ticks.push(Tick { value, label, major: true });
            }
            continue;
        }
        for digit in 1..=9 {
            let value = f64::from(digit) * base(exponent, quantity);
            let label = match digit {
                1 => power_label(exponent, quantity),
                _ if all => digit_label(digit, exponent, quantity),
                2 | 5 if few => digit_label(digit, exponent, quantity),
                _ => String::new(),
            };
            ticks.push(Tick { value, major: !label.is_empty(), label });
        }
    }
    // There is no half of a count.
    let is_possible = |value: f64| quantity != Quantity::Count || value.fract() == 0.0;
    ticks.retain(|tick| tick.value >= lo * (1.0 - 1e-9) && tick.value <= hi * (1.0 + 1e-9) && is_possible(tick.value));
    ticks
}

fn power(exponent: i32) -> f64 {
    // From text, so that 1e-3 is exactly the number people mean.
    format!("1e{exponent}").parse().unwrap_or_else(|_| 10f64.powi(exponent))
}

/// What the digits at an exponent count: a power of ten, of bytes in their units.
fn base(exponent: i32, quantity: Quantity) -> f64 {
    if quantity != Quantity::Bytes || exponent < 3 {
        return power(exponent);
    }
    power(exponent % 3) * 1024_f64.powi(exponent / 3)
}

fn power_label(exponent: i32, quantity: Quantity) -> String {
    digit_label(1, exponent, quantity)
}

fn digit_label(digit: i32, exponent: i32, quantity: Quantity) -> String {
    let value = f64::from(digit) * base(exponent, quantity);
    match quantity {
        Quantity::Bytes if exponent >= 3 => return format::bytes(value as u64).replace(".0 ", " "),
        Quantity::Seconds | Quantity::Bytes => return quantity.value(value),
        Quantity::ShortTime if exponent >= 0 => return format!("{} s", format::fixed(value, 0)),
        Quantity::ShortTime => {
            let places = usize::try_from(-3 - exponent).unwrap_or(0);
            return format!("{} ms", format::fixed(value * 1e3, places));
        }
        Quantity::Fraction if exponent >= -4 => {
            return format!("{} %", format::fixed(value * 100.0, usize::try_from(-2 - exponent).unwrap_or(0)));
        }
        _ => {}
    }
    if (-3..=4).contains(&exponent) {
        return format::fixed(value, usize::try_from(-exponent).unwrap_or(0));
    }
    if exponent < 0 { format!("{digit}e{}{}", format::MINUS, -exponent) } else { format!("{digit}e{exponent}") }
}

const CLOCK_STEPS: [f64; 24] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1800.0,
    3600.0,
    7200.0,
    10_800.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    432_000.0,
    864_000.0,
    1_728_000.0,
    4_320_000.0,
    8_640_000.0,
];

fn clock_step(span: f64, target: usize) -> f64 {
    let raw = span / target.max(1) as f64;
    CLOCK_STEPS
        .into_iter()
        .find(|step| *step >= raw * 0.999_999)
        .unwrap_or_else(|| nice_step(span / 86_400.0, target) * 86_400.0)
}

/// Ticks on an axis of durations in seconds: at whole seconds, minutes, hours and days.
pub fn seconds(lo: f64, hi: f64, target: usize) -> Vec<Tick> {
    if !usable(lo, hi) {
        return Vec::new();
    }
    if hi - lo < target.max(1) as f64 {
        let mut ticks = linear(lo, hi, target, Quantity::Number);
        for tick in &mut ticks {
            tick.label.push_str(" s");
        }
        return ticks;
    }
    let step = clock_step(hi - lo, target);
    let label = |value: f64| {
        let sign = if value < 0.0 { format::MINUS.to_string() } else { String::new() };
        let whole = value.abs().round() as u64;
        let text = match step {
            _ if whole == 0 => "0".to_owned(),
            s if s < 60.0 && hi < 60.0 => format!("{whole} s"),
            s if s < 60.0 && whole >= 3600 => format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60),
            s if s < 60.0 => format!("{}:{:02}", whole / 60, whole % 60),
            s if s < 3600.0 && hi < 3600.0 => format!("{} min", whole / 60),
            s if s < 3600.0 => format!("{} h {:02}", whole / 3600, whole / 60 % 60),
            s if s < 86_400.0 => format!("{} h", whole / 3600),
            _ => format!("{} d", whole / 86_400),
        };
        format!("{sign}{text}")
    };
    multiples(lo, hi, step).into_iter().map(|value| Tick { value, label: label(value), major: true }).collect()
}

/// Ticks on an axis of Unix times (UTC): at whole seconds, minutes, hours and days.
pub fn dates(lo: f64, hi: f64, target: usize) -> Vec<Tick> {
    if !usable(lo, hi) {
        return Vec::new();
    }
    let step = clock_step(hi - lo, target);
    let label = |value: f64| {
        let (year, month, day, hour, minute, second) = format::civil(value);
        if step >= 86_400.0 || (hour, minute, second) == (0, 0, 0) {
            format!("{year:04}-{month:02}-{day:02}")
        } else if step >= 60.0 {
            format!("{hour:02}:{minute:02}")
        } else {
            format!("{hour:02}:{minute:02}:{second:02}")
        }
    };
    multiples(lo, hi, step).into_iter().map(|value| Tick { value, label: label(value), major: true }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|t| t.label.as_str()).filter(|l| !l.is_empty()).collect()
    }

    #[test]
    fn linear_ticks_are_nice() {
        let ticks = linear(0.0, 1.0, 5, Quantity::Number);
        assert_eq!(labels(&ticks), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(ticks[3].value, 0.6);
        assert_eq!(labels(&linear(-3.1, 3.1, 6, Quantity::Number)), ["−2", "0", "2"]);
        assert_eq!(labels(&linear(0.0, 3.0, 10, Quantity::Count)), ["0", "1", "2", "3"]);
        assert_eq!(labels(&linear(0.0, 1000.0, 5, Quantity::Count)), ["0", "200", "400", "600", "800", "1,000"]);
        assert_eq!(labels(&linear(0.0, 3e6, 3, Quantity::Count)), ["0", "1 M", "2 M", "3 M"]);
        assert_eq!(labels(&linear(0.0, 3e-4, 3, Quantity::Number)), ["0", "1e−4", "2e−4", "3e−4"]);
        assert_eq!(labels(&linear(0.0, 4e12, 4, Quantity::Flops)), ["0", "1 TFLOP", "2 TFLOP", "3 TFLOP", "4 TFLOP"]);
        assert_eq!(labels(&linear(0.0, 0.5, 5, Quantity::Fraction)), ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %"]);
    }

    #[test]
    fn ticks_of_bytes_are_round_in_their_unit() {
        let (kib, mib, gib) = (1024.0, 1024.0 * 1024.0, 1024.0 * 1024.0 * 1024.0);
        let ticks = linear(137.0 * mib, 156.0 * mib, 4, Quantity::Bytes);
        assert_eq!(labels(&ticks), ["140 MiB", "145 MiB", "150 MiB", "155 MiB"]);
        assert_eq!(ticks[0].value, 140.0 * mib);
        let of = |lo: f64, hi: f64| labels(&linear(lo, hi, 4, Quantity::Bytes)).join(", ");
        assert_eq!(of(0.0, 2.1 * gib), "0 GiB, 1 GiB, 2 GiB");
        assert_eq!(of(0.0, 1.5 * gib), "0.0 GiB, 0.5 GiB, 1.0 GiB, 1.5 GiB");
        assert_eq!(of(0.0, 800.0 * kib), "0 KiB, 200 KiB, 400 KiB, 600 KiB, 800 KiB");
        assert_eq!(of(0.0, 900.0), "0 B, 500 B");
        let log = log(10.0 * kib, 3.0 * gib, 6, Quantity::Bytes);
        assert_eq!(labels(&log), ["10 KiB", "100 KiB", "1 MiB", "10 MiB", "100 MiB", "1 GiB"]);
        assert!(log.windows(2).all(|pair| pair[0].value < pair[1].value));
    }

    #[test]
    fn short_times_are_in_milliseconds_below_a_second() {
        let of = |lo: f64, hi: f64| labels(&linear(lo, hi, 3, Quantity::ShortTime)).join(", ");
        assert_eq!(of(0.0, 0.016), "0 ms, 10 ms");
        assert_eq!(of(0.0, 0.000_9), "0.0 ms, 0.5 ms");
        assert_eq!(of(0.0, 2.5), "0 s, 1 s, 2 s");
        let log = log(1e-4, 10.0, 6, Quantity::ShortTime);
        assert_eq!(labels(&log), ["0.1 ms", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
    }

    #[test]
    fn labels_never_repeat_and_stay_within_the_range() {
        for (lo, hi) in
            [(6.9134, 6.9135), (1e6, 1e6 + 3.0), (-1e-9, 2e-9), (0.0, 1e-300), (3.0, 1e300), (99_990.0, 100_010.0)]
        {
            for target in [1, 2, 5, 12] {
                let ticks = linear(lo, hi, target, Quantity::Number);
                assert!(ticks.len() <= target * 3 + 1, "{lo} {hi} {target}: {}", ticks.len());
                let texts = labels(&ticks);
                let mut unique = texts.clone();
                unique.dedup();
                assert_eq!(texts, unique, "{lo} {hi}");
                let slack = (hi - lo) * 1e-6;
                assert!(ticks.iter().all(|t| t.value >= lo - slack && t.value <= hi + slack));
            }
        }
    }

    #[test]
    fn log_ticks_are_decades() {
        assert_eq!(labels(&log(0.01, 100.0, 6, Quantity::Number)), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(labels(&log(1e-7, 1e-5, 6, Quantity::Number)), ["1e−7", "1e−6", "1e−5"]);
        assert_eq!(labels(&log(1.0, 10.0, 6, Quantity::Number)), ["1", "2", "5", "10"]);
        assert_eq!(
            labels(&log(1e-12, 1e12, 6, Quantity::Number)),
            ["1e−12", "1e−8", "1e−4", "1", "10,000", "1e8", "1e12"]
        );
        let minor = log(1.0, 1000.0, 6, Quantity::Number);
        assert_eq!(minor.iter().filter(|t| !t.major).count(), 24);
        assert_eq!(labels(&log(6.9, 7.1, 5, Quantity::Number)), ["6.90", "6.95", "7.00", "7.05", "7.10"]);
        assert_eq!(labels(&log(2.5, 7.0, 5, Quantity::Number)), ["3", "4", "5", "6", "7"]);
        assert!(log(0.0, 1.0, 5, Quantity::Number).is_empty());
        assert!(log(-1.0, 1.0, 5, Quantity::Number).is_empty());
    }

    #[test]
    fn clock_ticks() {
        assert_eq!(labels(&seconds(0.0, 130.0, 5)), ["0", "0:30", "1:00", "1:30", "2:00"]);
        assert_eq!(labels(&seconds(0.0, 3000.0, 5)), ["0", "10 min", "20 min", "30 min", "40 min", "50 min"]);
        assert_eq!(labels(&seconds(0.0, 7200.0, 4)), ["0", "0 h 30", "1 h 00", "1 h 30", "2 h 00"]);
        assert_eq!(labels(&seconds(0.0, 1.0, 4)), ["0.0 s", "0.5 s", "1.0 s"]);
        assert_eq!(labels(&dates(1_741_529_000.0, 1_741_529_300.0, 5)), ["14:04", "14:05", "14:06", "14:07", "14:08"]);
        assert_eq!(labels(&dates(1_741_392_000.0, 1_741_564_800.0, 3)), ["2025-03-08", "2025-03-09", "2025-03-10"]);
    }

    #[test]
    fn absurd_ranges_give_no_ticks_and_no_panic() {
        for (lo, hi) in [(f64::NAN, 1.0), (1.0, 1.0), (2.0, 1.0), (f64::NEG_INFINITY, f64::INFINITY), (-1e308, 1e308)] {
            for f in [seconds, dates] {
                assert!(f(lo, hi, 5).len() <= MOST as usize);
            }
            assert!(linear(lo, hi, 5, Quantity::Number).is_empty() || hi == 1e308);
        }
    }
}
