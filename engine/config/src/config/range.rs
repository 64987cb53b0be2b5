//! Ranges of numbers, and the words for them.

use std::fmt;

use super::grouped;

/// One end of a range of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// The end belongs to the range.
    At(f64),
    /// The end does not belong to it.
    Beyond(f64),
}

use End::{At, Beyond};

/// Numbers that a field takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Whole numbers, both ends included.
    Whole(u64, u64),
    /// Numbers between two ends.
    Real(End, End),
}

// No end of a range is NaN.
impl Eq for Range {}

/// The way in which a number lies outside of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Below it.
    TooSmall,
    /// Above it.
    TooLarge,
    /// Nowhere: not a number.
    NoNumber,
}

impl Range {
    /// Whole numbers of any size that a file can hold.
    pub const COUNT: Self = Self::Whole(0, i64::MAX as u64);

    /// Judgement of a whole number; none where it lies inside.
    pub fn judge_whole(self, value: i128) -> Option<Outside> {
        match self {
            Self::Whole(least, _) if value < i128::from(least) => Some(Outside::TooSmall),
            Self::Whole(_, most) if value > i128::from(most) => Some(Outside::TooLarge),
            Self::Whole(..) => None,
            Self::Real(..) => self.judge(value as f64),
        }
    }

    /// Judgement of a number; none where it lies inside.
    pub fn judge(self, value: f64) -> Option<Outside> {
        let (least, most) = match self {
            Self::Whole(least, most) => (At(least as f64), At(most as f64)),
            Self::Real(least, most) => (least, most),
        };
        let is_low = match least {
            At(least) => value < least,
            Beyond(least) => value <= least,
        };
        let is_high = match most {
            At(most) => value > most,
            Beyond(most) => value >= most,
        };
        match (is_low, is_high) {
            (true, _) => Some(Outside::TooSmall),
            (_, true) => Some(Outside::TooLarge),
            _ => value.is_nan().then_some(Outside::NoNumber),
        }
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooSmall => "is too small",
            Self::TooLarge => "is too large",
            Self::NoNumber => "is no number",
        })
    }
}

impl fmt::Display for Range {
    /// As behind "it must be".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::COUNT => write!(f, "0 or more"),
            Self::Whole(least, most) => write!(f, "from {} to {}", grouped(least), grouped(most)),
            Self::Real(At(least), At(most)) => write!(f, "from {} to {}", limit(least), limit(most)),
            Self::Real(Beyond(least), At(most)) => write!(f, "more than {} and at most {}", limit(least), limit(most)),
            Self::Real(At(least), Beyond(most)) => write!(f, "at least {} and less than {}", limit(least), limit(most)),
            Self::Real(Beyond(least), Beyond(most)) => {
                write!(f, "more than {} and less than {}", limit(least), limit(most))
            }
        }
    }
}

/// A limit, with commas where it is a large count.
fn limit(limit: f64) -> String {
    let text = limit.to_string();
    text.parse::<u64>().map_or(text, grouped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_in_plain_words() {
        for (range, words) in [
            (Range::Real(Beyond(0.0), At(100.0)), "more than 0 and at most 100"),
            (Range::Real(At(0.0), Beyond(1.0)), "at least 0 and less than 1"),
            (Range::Real(At(-1e6), At(1e9)), "from -1000000 to 1,000,000,000"),
            (Range::Whole(1, 65_536), "from 1 to 65,536"),
            (Range::COUNT, "0 or more"),
        ] {
            assert_eq!(range.to_string(), words);
        }
    }

    #[test]
    fn ends_belong_to_a_range_or_do_not() {
        let real = Range::Real(Beyond(0.0), At(1.0));
        let judged = [0.0, 0.5, 1.0, 1.5, f64::NAN, f64::INFINITY].map(|value| real.judge(value));
        let (low, high) = (Some(Outside::TooSmall), Some(Outside::TooLarge));
        assert_eq!(judged, [low, None, None, high, Some(Outside::NoNumber), high]);
        let whole = Range::Whole(1, u64::MAX);
        assert_eq!([-1, 0, 1, i128::MAX].map(|value| whole.judge_whole(value)), [low, low, None, high]);
    }
}
