//! Numbers for terminals and pipes: as in the window, in ASCII alone, so that scripts can read them.

use headroom_engine::objective::{Metric, Quantity};

use crate::format;

/// A measured value with four significant digits: `6.914`, `1.230e-7`.
pub fn number(x: f64) -> String {
    ascii(&format::number(x))
}

/// A difference with its sign: `+0.01300`, `-0.5000`, `0`.
pub fn delta(x: f64) -> String {
    if x == 0.0 { "0".to_owned() } else { ascii(&format::delta(x)) }
}

/// A share: `12 %`, `6.3 %`, `0 %`.
pub fn share(fraction: f64) -> String {
    ascii(&format::percent(fraction))
}

/// A relative difference with its sign: `+12 %`, `0 %`.
pub fn percent(fraction: f64) -> String {
    ascii(&format::delta_percent(fraction))
}

/// A value of a metric: `6.914`, or `41.2 %` with so many decimals where it is a share.
pub fn metric(metric: &Metric, value: f64, decimals: usize) -> String {
    match metric.quantity {
        Quantity::Share => format!("{:.decimals$} %", 100.0 * value),
        Quantity::Number | Quantity::Percent | Quantity::Bytes | Quantity::Rate => number(value),
    }
}

/// A count: `1,234,567`.
pub fn count(n: u64) -> String {
    ascii(&format::count(n))
}

/// A duration: `0.42 s`, `2:10`, `12 us`.
pub fn duration(secs: f64) -> String {
    ascii(&format::duration(secs))
}

/// Bytes with binary prefixes: `1.5 MiB`.
pub fn bytes(n: u64) -> String {
    ascii(&format::bytes(n))
}

/// Floating point operations: `3.40 GFLOP`.
pub fn flops(x: f64) -> String {
    ascii(&format::flops(x))
}

/// A number of the window in ASCII.
pub fn ascii(number: &str) -> String {
    number.replace(format::MINUS, "-").replace('\u{221e}', "inf").replace('\u{b5}', "u").replace('\u{b1}', "")
}

/// A number or a dash.
pub fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ascii() {
        assert_eq!(number(-1.23e-7), "-1.230e-7");
        assert_eq!(number(f64::NEG_INFINITY), "-inf");
        assert_eq!((delta(-0.5), delta(0.0), delta(0.5)), ("-0.5000".into(), "0".into(), "+0.5000".into()));
        assert_eq!((share(0.063), percent(0.063), share(0.0)), ("6.3 %".into(), "+6.3 %".into(), "0 %".into()));
        assert_eq!((duration(12e-6), duration(f64::INFINITY)), ("12 us".into(), "inf".into()));
        for x in [0.0, -0.0, 1e-9, -1e-9, 5e-6, -5e-4, 0.5, -3.0, 12_345.6, -1e12, f64::NAN, f64::INFINITY] {
            for text in [number(x), delta(x), duration(x), flops(x), bytes(x as u64), count(x as u64)] {
                assert!(text.is_ascii(), "{text}");
            }
        }
    }
}
