//! What numbers a field takes, in words that everybody reads alike.

use std::fmt::Display;

use super::grouped;

/// One end of what a field takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum End<T> {
    /// This number is allowed.
    At(T),
    /// This one is not, only what is beyond it.
    Beyond(T),
}

use End::{At, Beyond};

/// What is wrong with a number that must lie between two ends; nothing where it does.
pub(super) fn outside<T: Copy + PartialOrd + Display>(value: T, least: End<T>, most: End<T>) -> Option<String> {
    let is_low = match least {
        At(least) => value < least,
        Beyond(least) => value <= least,
    };
    let is_high = match most {
        At(most) => value > most,
        Beyond(most) => value >= most,
    };
    let wrong = match (is_low, is_high) {
        (true, _) => "is too small",
        (_, true) => "is too large",
        _ if value.partial_cmp(&value).is_none() => "is no number",
        _ => return None,
    };
    Some(format!("{value} {wrong}; {}", must_be(least, most)))
}

/// What a number must be.
fn must_be<T: Display>(least: End<T>, most: End<T>) -> String {
    match (least, most) {
        (At(least), At(most)) => format!("it must be from {} to {}", limit(&least), limit(&most)),
        (Beyond(least), At(most)) => format!("it must be more than {} and at most {}", limit(&least), limit(&most)),
        (At(least), Beyond(most)) => format!("it must be at least {} and less than {}", limit(&least), limit(&most)),
        (Beyond(least), Beyond(most)) => {
            format!("it must be more than {} and less than {}", limit(&least), limit(&most))
        }
    }
}

/// A limit, with commas where it is a large count.
fn limit(limit: &impl Display) -> String {
    let text = limit.to_string();
    text.parse::<u64>().map_or(text, grouped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_in_plain_words() {
        let told = |value, least, most| outside(value, least, most).unwrap();
        assert_eq!(told(0.0, Beyond(0.0), At(100.0)), "0 is too small; it must be more than 0 and at most 100");
        assert_eq!(told(1.0, At(0.0), Beyond(1.0)), "1 is too large; it must be at least 0 and less than 1");
        assert_eq!(told(f64::NAN, At(0.0), At(1e9)), "NaN is no number; it must be from 0 to 1,000,000,000");
        assert_eq!(outside(0, At(1), At(65_536)).unwrap(), "0 is too small; it must be from 1 to 65,536");
        assert_eq!((outside(1, At(1), At(2)), outside(0.5, Beyond(0.0), Beyond(1.0))), (None, None));
    }
}
