//! Bringing the curves of several runs to the same x, so that they can be averaged.

use headroom_engine::config::counted;

use super::Summary;

/// Grid points when curves with different x are interpolated.
const GRID: usize = 1000;
/// With no more x values than this in all, curves are interpolated at every x that occurs.
const EVERY_X: usize = 4 * GRID;

/// How curves were brought to the same x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// All curves have their points at the same x wherever they reach.
    Exact,
    /// Only the x that all curves share were used; the rest was left out.
    Shared,
    /// Values between points were interpolated linearly, at this many x.
    Interpolated(usize),
}

impl Alignment {
    /// The alignment in words, for people. `x` names the axis, such as "step".
    pub fn describe(self, x: &str) -> String {
        match self {
            Self::Exact => format!("Runs have their points at the same {x}; nothing was interpolated."),
            Self::Shared => format!("Only the {x} values that all runs of a group share are used."),
            Self::Interpolated(points) => {
                let points = counted(points, "point");
                format!("Values were interpolated linearly in {x}, at {points}; nothing was extrapolated.")
            }
        }
    }
}

/// A group's statistics along x.
#[derive(Clone, Debug, PartialEq)]
pub struct Aligned {
    /// Ascending, finite.
    pub x: Vec<f64>,
    /// At each x, what the curves that reach it come to.
    pub summary: Vec<Summary>,
    /// How it was done.
    pub alignment: Alignment,
}

/// Brings curves to the same x and summarises them. Each curve is `(x, y)` with x finite and ascending; of several
/// points at one x the last counts. No value is made up outside a curve's own range, so n falls where a curve ends.
///
/// Points that all curves share are taken as they are. Where curves differ, the shared points serve if they are at
/// least half of the shortest curve's points in the range that all curves reach; else values are interpolated linearly.
pub fn align(curves: &[(&[f64], &[f64])]) -> Aligned {
    let curves: Vec<Curve> = curves.iter().map(|(x, y)| Curve::new(x, y)).filter(|curve| !curve.x.is_empty()).collect();
    let union = union(&curves);
    if union.iter().all(|&x| curves.iter().all(|curve| !curve.reaches(x) || curve.at(x).is_some())) {
        return summarise(&union, &curves, Alignment::Exact, Curve::at);
    }
    let shared: Vec<f64> =
        union.iter().copied().filter(|&x| curves.iter().all(|curve| curve.at(x).is_some())).collect();
    let from = curves.iter().filter_map(|curve| curve.x.first()).copied().fold(f64::NEG_INFINITY, f64::max);
    let to = curves.iter().filter_map(|curve| curve.x.last()).copied().fold(f64::INFINITY, f64::min);
    let fewest =
        curves.iter().map(|curve| curve.x.iter().filter(|&&x| from <= x && x <= to).count()).min().unwrap_or_default();
    if shared.len() >= 2 && 2 * shared.len() >= fewest {
        return summarise(&shared, &curves, Alignment::Shared, Curve::at);
    }
    let grid = if union.len() <= EVERY_X { union } else { even_grid(&union) };
    summarise(&grid, &curves, Alignment::Interpolated(grid.len()), Curve::interpolate)
}

/// One curve with distinct x.
struct Curve {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Curve {
    fn new(x: &[f64], y: &[f64]) -> Self {
        let mut curve = Self { x: Vec::with_capacity(x.len()), y: Vec::with_capacity(x.len()) };
        for (&x, &y) in x.iter().zip(y) {
            if curve.x.last() == Some(&x) {
                curve.y.pop();
            } else {
                curve.x.push(x);
            }
            curve.y.push(y);
        }
        curve
    }

    fn reaches(&self, x: f64) -> bool {
        matches!((self.x.first(), self.x.last()), (Some(&first), Some(&last)) if first <= x && x <= last)
    }

    /// The value of the point at exactly `x`.
    fn at(&self, x: f64) -> Option<f64> {
        let index = self.x.binary_search_by(|probe| probe.total_cmp(&x)).ok()?;
        self.y.get(index).copied()
    }

    /// The value at `x` on the straight line between the neighbouring points.
    fn interpolate(&self, x: f64) -> Option<f64> {
        if !self.reaches(x) {
            return None;
        }
        let after = self.x.partition_point(|&probe| probe < x);
        let (x1, y1) = (*self.x.get(after)?, *self.y.get(after)?);
        if x1 == x {
            return Some(y1);
        }
        let (x0, y0) = (*self.x.get(after.checked_sub(1)?)?, *self.y.get(after - 1)?);
        Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    }
}

fn union(curves: &[Curve]) -> Vec<f64> {
    let mut all: Vec<f64> = curves.iter().flat_map(|curve| curve.x.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

fn even_grid(union: &[f64]) -> Vec<f64> {
    let (Some(&first), Some(&last)) = (union.first(), union.last()) else { return Vec::new() };
    let mut grid: Vec<f64> = (0..GRID).map(|index| first + (last - first) * index as f64 / (GRID - 1) as f64).collect();
    if let Some(end) = grid.last_mut() {
        *end = last;
    }
    grid
}

fn summarise(
    grid: &[f64],
    curves: &[Curve],
    alignment: Alignment,
    value: impl Fn(&Curve, f64) -> Option<f64>,
) -> Aligned {
    let mut values = Vec::with_capacity(curves.len());
    let (x, summary) = grid
        .iter()
        .filter_map(|&x| {
            values.clear();
            values.extend(curves.iter().filter_map(|curve| value(curve, x)));
            Summary::of(&values).map(|summary| (x, summary))
        })
        .unzip();
    Aligned { x, summary, alignment }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(aligned: &Aligned) -> Vec<f64> {
        aligned.summary.iter().map(|summary| summary.mean).collect()
    }

    #[test]
    fn curves_on_the_same_steps_are_taken_as_they_are_and_n_falls_where_one_ends() {
        let aligned = align(&[(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), (&[1.0, 2.0], &[3.0, 4.0])]);
        assert_eq!(aligned.alignment, Alignment::Exact);
        assert_eq!(means(&aligned), [2.0, 3.0, 3.0]);
        assert_eq!(aligned.summary.iter().map(|s| s.n).collect::<Vec<_>>(), [2, 2, 1]);
    }

    #[test]
    fn the_shared_steps_serve_when_they_are_many() {
        let every_100: Vec<f64> = (0..11).map(|i| f64::from(i) * 100.0).collect();
        let every_50: Vec<f64> = (0..21).map(|i| f64::from(i) * 50.0).collect();
        let aligned = align(&[(&every_100, &every_100), (&every_50, &every_50)]);
        assert_eq!(aligned.alignment, Alignment::Shared);
        assert_eq!(aligned.x, every_100);
        assert_eq!(means(&aligned), every_100);
    }

    #[test]
    fn different_x_are_interpolated_and_never_extrapolated() {
        let aligned = align(&[(&[0.0, 2.0, 4.0], &[0.0, 2.0, 4.0]), (&[1.0, 3.0, 5.0], &[11.0, 13.0, 15.0])]);
        assert_eq!(aligned.alignment, Alignment::Interpolated(6));
        assert_eq!(aligned.x, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(means(&aligned), [0.0, 6.0, 7.0, 8.0, 9.0, 15.0]);
        assert_eq!(aligned.summary.iter().map(|s| s.n).collect::<Vec<_>>(), [1, 2, 2, 2, 2, 1]);
    }

    #[test]
    fn long_curves_are_interpolated_on_an_even_grid_that_keeps_both_ends() {
        let a: Vec<f64> = (0..5000).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|x| x + 0.5).collect();
        let aligned = align(&[(&a, &a), (&b, &b)]);
        assert_eq!(aligned.alignment, Alignment::Interpolated(1000));
        assert_eq!((aligned.x[0], aligned.x[999]), (0.0, 4999.5));
        for (x, summary) in aligned.x.iter().zip(&aligned.summary) {
            assert!((summary.mean - x).abs() < 1e-9, "a straight line stays one at {x}");
        }
    }

    #[test]
    fn a_non_finite_value_shows_in_the_mean() {
        let aligned = align(&[(&[1.0, 2.0], &[1.0, f64::NAN]), (&[1.0, 2.0], &[1.0, 2.0])]);
        assert_eq!(aligned.summary[0].mean, 1.0);
        assert!(aligned.summary[1].mean.is_nan());
    }

    #[test]
    fn nothing_comes_of_nothing_and_one_curve_stays_itself() {
        assert!(align(&[]).x.is_empty());
        let one = align(&[(&[1.0, 1.0, 2.0], &[5.0, 6.0, 7.0])]);
        assert_eq!((one.x.as_slice(), means(&one).as_slice()), (&[1.0, 2.0][..], &[6.0, 7.0][..]));
    }
}
