//! The data model of a curve: points sorted by x, shared, cheap to append to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT_GENERATION: AtomicU64 = AtomicU64::new(1);

/// Identifies the contents of a [`Series`]: equal versions mean equal points. While `generation` stays the same, the
/// first `len` points of any later version are the points of this one, so that what was derived can be extended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version {
    /// Changes whenever earlier points changed.
    pub generation: u64,
    /// Number of points.
    pub len: usize,
}

/// Points of one curve, sorted by x (finite); y may be anything: a non-finite y is a gap with a mark.
///
/// Cloning shares the points; appending to a series whose points are shared copies them once.
#[derive(Clone, Debug)]
pub struct Series {
    x: Arc<Vec<f64>>,
    y: Arc<Vec<f64>>,
    generation: u64,
}

impl Default for Series {
    fn default() -> Self {
        Self { x: Arc::default(), y: Arc::default(), generation: NEXT_GENERATION.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Series {
    /// An empty series.
    pub fn new() -> Self {
        Self::default()
    }

    /// A series over given columns. Points with a non-finite x are left out, a surplus in the longer column is cut, and
    /// the points are sorted by x when they are not yet (stable: equal x keep their order).
    pub fn from_xy(x: Arc<Vec<f64>>, y: Arc<Vec<f64>>) -> Self {
        let clean = x.len() == y.len()
            && x.iter().all(|x| x.is_finite())
            && x.iter().zip(x.iter().skip(1)).all(|(a, b)| a <= b);
        if clean {
            return Self { x, y, ..Self::default() };
        }
        x.iter().copied().zip(y.iter().copied()).collect()
    }

    /// Appends a point. A point that lies before the last one is put in its place, which changes the generation.
    /// Returns false, and takes nothing, when `x` is not finite.
    pub fn push(&mut self, x: f64, y: f64) -> bool {
        if !x.is_finite() {
            return false;
        }
        let (xs, ys) = (Arc::make_mut(&mut self.x), Arc::make_mut(&mut self.y));
        if xs.last().is_none_or(|&last| last <= x) {
            xs.push(x);
            ys.push(y);
        } else {
            let at = xs.partition_point(|&other| other <= x);
            xs.insert(at, x);
            ys.insert(at, y);
            self.renew();
        }
        true
    }

    /// Removes all points with x at or after `x`: what a resumed run does with the tail of its previous attempt.
    pub fn truncate_from(&mut self, x: f64) {
        let keep = self.x.partition_point(|&other| other < x);
        if keep < self.x.len() {
            Arc::make_mut(&mut self.x).truncate(keep);
            Arc::make_mut(&mut self.y).truncate(keep);
            self.renew();
        }
    }

    /// Removes all points.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The x values, ascending.
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// The y values.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// The points in order.
    pub fn points(&self) -> impl DoubleEndedIterator<Item = (f64, f64)> + ExactSizeIterator + '_ {
        self.x.iter().copied().zip(self.y.iter().copied())
    }

    /// The last point.
    pub fn last(&self) -> Option<(f64, f64)> {
        self.points().next_back()
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// True without points.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// What the contents are, for caches.
    pub fn version(&self) -> Version {
        Version { generation: self.generation, len: self.len() }
    }

    fn renew(&mut self) {
        self.generation = NEXT_GENERATION.fetch_add(1, Ordering::Relaxed);
    }
}

impl FromIterator<(f64, f64)> for Series {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(points: I) -> Self {
        let mut points: Vec<(f64, f64)> = points.into_iter().filter(|(x, _)| x.is_finite()).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (x, y) = points.into_iter().unzip();
        Self { x: Arc::new(x), y: Arc::new(y), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appending_keeps_the_generation_and_shares_nothing_by_accident() {
        let mut a: Series = [(1.0, 1.0), (2.0, 2.0)].into_iter().collect();
        let before = a.version();
        let b = a.clone();
        assert!(a.push(3.0, 3.0));
        assert_eq!(a.version(), Version { len: 3, ..before });
        assert_eq!(b.version(), before);
        assert_eq!(b.len(), 2);
    }

    #[test]
    fn out_of_order_points_are_sorted_in_and_change_the_generation() {
        let mut a: Series = [(1.0, 1.0), (3.0, 3.0)].into_iter().collect();
        let before = a.version();
        assert!(a.push(2.0, f64::NAN));
        assert_ne!(a.version().generation, before.generation);
        assert_eq!(a.x(), [1.0, 2.0, 3.0]);
        assert!(!a.push(f64::NAN, 0.0));
        a.truncate_from(2.0);
        assert_eq!(a.points().collect::<Vec<_>>(), [(1.0, 1.0)]);
    }

    #[test]
    fn columns_are_taken_as_they_are_when_clean_and_repaired_when_not() {
        let x = Arc::new(vec![1.0, 2.0]);
        let shared = Series::from_xy(Arc::clone(&x), Arc::new(vec![5.0, 6.0]));
        assert!(std::ptr::eq(shared.x(), x.as_slice()));
        let repaired = Series::from_xy(Arc::new(vec![2.0, f64::INFINITY, 1.0]), Arc::new(vec![1.0, 2.0, 3.0, 4.0]));
        assert_eq!(repaired.points().collect::<Vec<_>>(), [(1.0, 3.0), (2.0, 1.0)]);
    }
}
