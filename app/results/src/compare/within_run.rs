//! Within-run spread: how far the last evaluations of a run lie from a straight line.
//!
//! It tells how unsteady one run is. It is not the noise between seeds: with one run each, four comparisons in five of equal
//! configs leave it. So it is shown and no verdict rests on it.

/// Points at the end of a curve that are looked at, at most.
const MOST_POINTS: usize = 8;
/// Fewest points that have a spread: a line goes through two of them.
const FEWEST_POINTS: usize = 4;

/// Spread of the last evaluations of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WithinRunSpread {
    /// Standard deviation around a straight line.
    pub sd: f64,
}

impl WithinRunSpread {
    /// Spread of the last eight points of a curve, or of its second half where it has fewer than sixteen; none with fewer than four
    /// points, or where one is not finite. What a loss falls by at first has no part in it.
    pub fn of(x: &[f64], y: &[f64]) -> Option<Self> {
        let n = x.len().min(y.len());
        let from = n.saturating_sub((n / 2).clamp(FEWEST_POINTS, MOST_POINTS));
        let points: Vec<(f64, f64)> = x.iter().copied().zip(y.iter().copied()).skip(from).take(n - from).collect();
        if points.len() < FEWEST_POINTS || points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
            return None;
        }
        let count = points.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(&|point| point.0), mean(&|point| point.1));
        let across: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let along: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = if across > 0.0 { along / across } else { 0.0 };
        let squares: f64 = points.iter().map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
        Some(Self { sd: (squares / (points.len() - 2) as f64).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_what_is_left_of_a_straight_line() {
        let x: Vec<f64> = (0..20).map(f64::from).collect();
        let line: Vec<f64> = x.iter().map(|x| 5.0 - 0.1 * x).collect();
        assert!(WithinRunSpread::of(&x, &line).unwrap().sd < 1e-12, "a straight course has no spread");
        let zigzag: Vec<f64> = x.iter().map(|x| 5.0 - 0.1 * x + if x % 2.0 == 0.0 { 0.01 } else { -0.01 }).collect();
        let spread = WithinRunSpread::of(&x, &zigzag).unwrap();
        assert!((0.009..0.012).contains(&spread.sd), "{spread:?}");
        // What a loss falls by at first is no spread.
        let falling: Vec<f64> = (0..8).map(|place| 4.0 + 2.0 * 0.5_f64.powi(place)).collect();
        let spread = WithinRunSpread::of(&x[..8], &falling);
        assert!(spread.unwrap().sd < 0.02, "{spread:?}");
        assert_eq!(WithinRunSpread::of(&x[..3], &line[..3]), None);
        assert_eq!(WithinRunSpread::of(&x[..4], &[1.0, f64::NAN, 1.0, 1.0]), None);
    }
}
