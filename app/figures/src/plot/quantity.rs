//! Kinds of numbers on axes.

use crate::format;

/// What kind of number an axis carries: decides where ticks go and how values are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Any measured value.
    #[default]
    Number,
    /// A whole count: steps, tokens.
    Count,
    /// A duration in seconds.
    Seconds,
    /// A measured time in seconds, of which every digit tells: of a step, of a token.
    ShortTime,
    /// Seconds since 1970, UTC.
    UnixTime,
    /// Floating point operations.
    Flops,
    /// A fraction, written as percent.
    Fraction,
    /// Bytes.
    Bytes,
}

impl Quantity {
    /// A single value in full, as in a tooltip.
    pub fn value(self, x: f64) -> String {
        match self {
            Self::Number => format::number(x),
            Self::Count if x.fract() == 0.0 && x.abs() < 9e18 => format::integer(x as i64),
            Self::Count => format::significant(x, 5),
            Self::Seconds => format::duration(x),
            Self::ShortTime if x.abs() < 1.0 => format!("{} ms", format::significant(x * 1e3, 4)),
            Self::ShortTime => format!("{} s", format::significant(x, 4)),
            Self::UnixTime => format::date_time(x),
            Self::Flops => format::flops(x),
            Self::Fraction => format::percent(x),
            Self::Bytes => {
                if x >= 0.0 {
                    format::bytes(x as u64)
                } else {
                    format!("{}{}", format::MINUS, format::bytes(-x as u64))
                }
            }
        }
    }
}
