use serde::{Deserialize, Serialize};

/// Median and quartiles of some measured values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// A quarter of the values lies below.
    pub lower: f64,
    /// The value in the middle.
    pub median: f64,
    /// A quarter of the values lies above.
    pub upper: f64,
}

impl Spread {
    /// Of values in any order, by linear interpolation between neighbours; none of nothing.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |share: f64| {
            let place = share * last as f64;
            let below = sorted.get(place.floor() as usize).copied().unwrap_or(f64::NAN);
            let above = sorted.get(place.ceil() as usize).copied().unwrap_or(f64::NAN);
            below + (above - below) * place.fract()
        };
        Some(Self { lower: at(0.25), median: at(0.5), upper: at(0.75) })
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn quartiles_of_known_values() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0]), Some(Spread { lower: 3.0, median: 3.0, upper: 3.0 }));
        assert_eq!(Spread::of([5.0, 1.0, 4.0, 2.0, 3.0]), Some(Spread { lower: 2.0, median: 3.0, upper: 4.0 }));
        assert_eq!(Spread::of([1.0, 2.0]).unwrap().median, 1.5);
    }
}
