//! Decimation: which points of a long curve must be drawn so that nothing that can be seen is lost.

use std::ops::Range;

/// Points a block of the lowest level spans.
const BASE: usize = 16;

const NONE: u32 = u32::MAX;

/// Where the smallest and the largest finite y of a block are; `NONE` when all its points are non-finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extremes {
    min: u32,
    max: u32,
}

impl Extremes {
    const EMPTY: Self = Self { min: NONE, max: NONE };

    fn merge(self, other: Self, y: &[f64]) -> Self {
        let at = |index: u32| y.get(index as usize).copied();
        let pick = |a: u32, b: u32, better: fn(f64, f64) -> bool| match (at(a), at(b)) {
            (Some(x), Some(y)) => {
                if better(y, x) {
                    b
                } else {
                    a
                }
            }
            (None, Some(_)) => b,
            _ => a,
        };
        Self { min: pick(self.min, other.min, |b, a| b < a), max: pick(self.max, other.max, |b, a| b > a) }
    }

    #[expect(clippy::needless_bitwise_bool, reason = "a lazy operator is a branch, and noise is not predictable")]
    fn of(y: &[f64], range: Range<usize>) -> Self {
        let start = range.start;
        let mut found = Self::EMPTY;
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (offset, &value) in y.get(range).unwrap_or_default().iter().enumerate() {
            // Written so that it becomes conditional moves.
            let index = (start + offset) as u32;
            let lower = (value < low) & (value != f64::NEG_INFINITY);
            low = if lower { value } else { low };
            found.min = if lower { index } else { found.min };
            let higher = (value > high) & (value != f64::INFINITY);
            high = if higher { value } else { high };
            found.max = if higher { index } else { found.max };
        }
        found
    }
}

/// A min/max pyramid over a growing curve of up to 2^32 - 1 points, x ascending.
///
/// [`Pyramid::query`] answers in O(columns log n) which points to draw: of every pixel column the lowest and the highest
/// point, besides the first and the last in view, their neighbours outside the view (so that the line runs to the edge)
/// and every non-finite point. A spike of one point is therefore drawn at every zoom. Appending costs amortised O(1).
#[derive(Clone, Debug, Default)]
pub struct Pyramid {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Level k holds complete blocks of `BASE * 2^k` points.
    levels: Vec<Vec<Extremes>>,
    non_finite: Vec<u32>,
}

impl Pyramid {
    /// A pyramid over points sorted by x.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut pyramid = Self::default();
        for (x, y) in points {
            pyramid.push(x, y);
        }
        pyramid
    }

    /// Appends a point; x must be finite and not below the last x (a point that breaks this is left out).
    pub fn push(&mut self, x: f64, y: f64) {
        if !x.is_finite() || self.x.last().is_some_and(|&last| x < last) || self.x.len() >= NONE as usize {
            return;
        }
        if !y.is_finite() {
            self.non_finite.push(self.x.len() as u32);
        }
        self.x.push(x);
        self.y.push(y);
        if !self.x.len().is_multiple_of(BASE) {
            return;
        }
        let mut block = Extremes::of(&self.y, self.x.len() - BASE..self.x.len());
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let Some(blocks) = self.levels.get_mut(level) else { return };
            blocks.push(block);
            if !blocks.len().is_multiple_of(2) {
                return;
            }
            if let [.., a, b] = blocks.as_slice() {
                block = a.merge(*b, &self.y);
            }
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// True without points.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// The x values.
    pub fn x(&self) -> &[f64] {
        &self.x
    }

    /// The y values.
    pub fn y(&self) -> &[f64] {
        &self.y
    }

    /// Indices of the non-finite points, ascending.
    pub fn non_finite(&self) -> &[u32] {
        &self.non_finite
    }

    /// The indices of the points with x in `lo..=hi`.
    pub fn visible(&self, (lo, hi): (f64, f64)) -> Range<usize> {
        let start = self.x.partition_point(|&x| x < lo);
        let end = self.x.partition_point(|&x| x <= hi);
        start..end.max(start)
    }

    /// Smallest and largest finite y among the points `range`, in O(log n). None when there is none.
    pub fn y_range(&self, range: Range<usize>) -> Option<(f64, f64)> {
        let found = self.extremes(range);
        Some((*self.y.get(found.min as usize)?, *self.y.get(found.max as usize)?))
    }

    /// Smallest and largest y of what the line shows for x in `lo..=hi`: its points there, and where it crosses the two edges
    /// between a point inside and one outside, or between two outside. None when no part of it is there.
    pub fn y_range_within(&self, (lo, hi): (f64, f64)) -> Option<(f64, f64)> {
        let visible = self.visible((lo, hi));
        let crossing = |after: usize, x: f64| {
            let before = after.checked_sub(1)?;
            let (x0, x1) = (*self.x.get(before)?, *self.x.get(after)?);
            let (y0, y1) = (*self.y.get(before)?, *self.y.get(after)?);
            let y = y0 + (y1 - y0) * (x - x0) / (x1 - x0);
            y.is_finite().then_some((y, y))
        };
        [self.y_range(visible.clone()), crossing(visible.start, lo), crossing(visible.end, hi)]
            .into_iter()
            .flatten()
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    fn extremes(&self, range: Range<usize>) -> Extremes {
        let (mut at, end) = (range.start, range.end.min(self.x.len()));
        if end.saturating_sub(at) <= 2 * BASE {
            return Extremes::of(&self.y, at..end.max(at));
        }
        let mut found = Extremes::EMPTY;
        while at < end {
            // The largest complete block that starts here and ends in time.
            let mut best = None;
            let mut size = BASE;
            for blocks in &self.levels {
                if !at.is_multiple_of(size) || at + size > end {
                    break;
                }
                match blocks.get(at / size) {
                    Some(&block) => best = Some((block, size)),
                    None => break,
                }
                size *= 2;
            }
            let (block, size) = best.unwrap_or_else(|| {
                let stop = (at / BASE * BASE + BASE).min(end);
                (Extremes::of(&self.y, at..stop), stop - at)
            });
            found = found.merge(block, &self.y);
            at += size;
        }
        found
    }

    /// The indices of the points to draw when `x_range` (in the units of x) is shown on `columns` pixel columns, in
    /// ascending order and without repeats, written to `out`. Empty for an empty or non-finite range.
    pub fn query(&self, x_range: (f64, f64), columns: usize, out: &mut Vec<u32>) {
        out.clear();
        let (lo, hi) = x_range;
        if !(lo.is_finite() && hi.is_finite() && lo <= hi) || self.x.is_empty() || columns == 0 {
            return;
        }
        let visible = self.visible(x_range);
        if let Some(before) = visible.start.checked_sub(1) {
            out.push(before as u32);
        }
        if visible.len() <= 2 * columns {
            out.extend(visible.clone().map(|i| i as u32));
        } else {
            let mut gaps = {
                let from = self.non_finite.partition_point(|&i| (i as usize) < visible.start);
                self.non_finite.get(from..).unwrap_or_default().iter().copied().peekable()
            };
            let mut at = visible.start;
            let step = (hi - lo) / columns as f64;
            for column in 1..=columns {
                if at >= visible.end {
                    break;
                }
                let end = if column == columns {
                    visible.end
                } else {
                    let edge = lo + step * column as f64;
                    self.seek(at, visible.end, visible.len() / columns, edge)
                };
                self.push_column(at..end, &visible, &mut gaps, out);
                at = end;
            }
        }
        if visible.end < self.x.len() {
            out.push(visible.end as u32);
        }
    }

    /// The first index in `at..end` with x not below `edge`, looked for around `at + guess`: constant time where points
    /// are spread evenly, logarithmic at worst.
    fn seek(&self, at: usize, end: usize, guess: usize, edge: f64) -> usize {
        let below = |i: usize| self.x.get(i).is_some_and(|&x| x < edge);
        let (mut low, mut high) = (at, end);
        let start = (at + guess).min(end);
        let mut step = 1;
        if start > at && !below(start - 1) {
            high = start - 1;
            while high > at && !below(high.saturating_sub(step).max(at)) {
                high = high.saturating_sub(step).max(at);
                step *= 2;
            }
            low = high.saturating_sub(step).max(at);
        } else {
            low = low.max(start);
            while low + step < end && below(low + step) {
                low += step;
                step *= 2;
            }
            high = high.min(low + step);
        }
        low + self.x.get(low..high).unwrap_or_default().partition_point(|&x| x < edge)
    }

    fn push_column(
        &self,
        column: Range<usize>,
        visible: &Range<usize>,
        gaps: &mut std::iter::Peekable<impl Iterator<Item = u32>>,
        out: &mut Vec<u32>,
    ) {
        if column.is_empty() {
            return;
        }
        let start = out.len();
        let found = self.extremes(column.clone());
        out.extend([found.min, found.max].into_iter().filter(|&i| i != NONE));
        if column.start == visible.start {
            out.push(column.start as u32);
        }
        if column.end == visible.end {
            out.push(column.end as u32 - 1);
        }
        while let Some(gap) = gaps.next_if(|&i| (i as usize) < column.end) {
            out.push(gap);
        }
        if let Some(added) = out.get_mut(start..) {
            added.sort_unstable();
        }
        // Only the points just added can repeat: columns do not overlap.
        let mut keep = start;
        for i in start..out.len() {
            if i == start || out.get(i) != out.get(keep - 1) {
                out.swap(i, keep);
                keep += 1;
            }
        }
        out.truncate(keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small deterministic generator for test data (xorshift).
    struct Dice(u64);

    impl Dice {
        fn next(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }

        fn below(&mut self, n: usize) -> usize {
            (self.next() * n as f64) as usize
        }

        fn curve(&mut self, n: usize, gaps: bool) -> Vec<(f64, f64)> {
            let mut x = self.next() * 10.0;
            (0..n)
                .map(|_| {
                    x += if self.next() < 0.2 { 0.0 } else { self.next() };
                    let y = if gaps && self.next() < 0.03 {
                        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][self.below(3)]
                    } else {
                        self.next() * 20.0 - 10.0
                    };
                    (x, y)
                })
                .collect()
        }
    }

    /// Decimation by looking at every point.
    fn naive(points: &[(f64, f64)], (lo, hi): (f64, f64), columns: usize) -> Vec<u32> {
        let inside: Vec<usize> = (0..points.len()).filter(|&i| (lo..=hi).contains(&points[i].0)).collect();
        let mut keep: Vec<usize> = Vec::new();
        if inside.len() <= 2 * columns {
            keep.extend(&inside);
        } else {
            let mut buckets = vec![Vec::new(); columns];
            for &i in &inside {
                let column =
                    (1..columns).find(|&c| points[i].0 < lo + (hi - lo) / columns as f64 * c as f64).unwrap_or(columns);
                buckets[column - 1].push(i);
            }
            for bucket in buckets {
                let finite = || bucket.iter().copied().filter(|&i| points[i].1.is_finite());
                let best = |sign: f64| {
                    finite().fold(None, |best: Option<usize>, i| match best {
                        Some(b) if sign * points[i].1 >= sign * points[b].1 => Some(b),
                        _ => Some(i),
                    })
                };
                keep.extend(best(1.0));
                keep.extend(best(-1.0));
                keep.extend(bucket.iter().filter(|&&i| !points[i].1.is_finite()));
            }
            keep.extend(inside.first());
            keep.extend(inside.last());
        }
        keep.extend(points.iter().rposition(|p| p.0 < lo));
        keep.extend(points.iter().position(|p| p.0 > hi));
        keep.sort_unstable();
        keep.dedup();
        keep.into_iter().map(|i| i as u32).collect()
    }

    #[test]
    fn equals_the_naive_decimation() {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
        for round in 0..300 {
            let n = 1 + dice.below(700);
            let points = dice.curve(n, round % 2 == 0);
            let pyramid = Pyramid::new(points.iter().copied());
            let (first, last) = (points[0].0, points[n - 1].0);
            let a = first + (last - first) * (dice.next() * 1.2 - 0.1);
            let b = first + (last - first) * (dice.next() * 1.2 - 0.1);
            let range = if round % 3 == 0 { (first, last) } else { (a.min(b), a.max(b)) };
            let columns = 1 + dice.below(60);
            let mut found = vec![7; 3];
            pyramid.query(range, columns, &mut found);
            assert_eq!(
                found,
                naive(&points, range, columns),
                "round {round}, {n} points, {columns} columns, {range:?}"
            );
        }
    }

    #[test]
    fn a_spike_of_one_point_is_kept_at_every_zoom() {
        let n: u32 = 10_000;
        for spike in [0, 1, 17, 4_999, 9_998, 9_999] {
            for height in [100.0, -100.0] {
                let points = (0..n).map(|i| (f64::from(i), if i == spike { height } else { f64::from(i).sin() }));
                let pyramid = Pyramid::new(points);
                let mut out = Vec::new();
                let mut width = f64::from(n);
                while width >= 1.0 {
                    let range = (f64::from(spike) - width / 2.0, f64::from(spike) + width / 2.0);
                    for columns in [1, 2, 100, 1_000] {
                        pyramid.query(range, columns, &mut out);
                        assert!(out.contains(&spike), "spike at {spike}, width {width}, {columns} columns");
                    }
                    width /= 3.0;
                }
            }
        }
    }

    #[test]
    fn keeps_first_last_and_gaps_in_order_within_bounds() {
        let mut dice = Dice(42);
        for _ in 0..50 {
            let points = dice.curve(5_000, true);
            let pyramid = Pyramid::new(points.iter().copied());
            let mut out = Vec::new();
            let columns = 1 + dice.below(300);
            pyramid.query((points[0].0, points[4_999].0), columns, &mut out);
            assert_eq!(out.first(), Some(&0));
            assert_eq!(out.last(), Some(&4_999));
            assert!(out.windows(2).all(|w| w[0] < w[1]), "indices ascend, so x does");
            let gaps = points.iter().filter(|p| !p.1.is_finite()).count();
            assert_eq!(out.iter().filter(|&&i| !points[i as usize].1.is_finite()).count(), gaps);
            assert!(out.len() <= 2 * columns + gaps + 2);
        }
    }

    #[test]
    fn appending_gives_the_same_as_building_at_once() {
        let mut dice = Dice(7);
        let points = dice.curve(3_000, true);
        let mut grown = Pyramid::default();
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for (i, &(x, y)) in points.iter().enumerate() {
            grown.push(x, y);
            if i % 251 == 0 {
                let range = (points[0].0, x);
                grown.query(range, 20, &mut a);
                Pyramid::new(points[..=i].iter().copied()).query(range, 20, &mut b);
                assert_eq!(a, b);
            }
        }
        assert_eq!(grown.levels, Pyramid::new(points).levels);
    }

    #[test]
    fn y_range_equals_a_scan() {
        let mut dice = Dice(99);
        let points = dice.curve(1_000, true);
        let pyramid = Pyramid::new(points.iter().copied());
        for _ in 0..300 {
            let (a, b) = (dice.below(1_001), dice.below(1_001));
            let range = a.min(b)..a.max(b);
            let finite = || points[range.clone()].iter().map(|p| p.1).filter(|y| y.is_finite());
            let scanned = (finite().count() > 0)
                .then(|| (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max)));
            assert_eq!(pyramid.y_range(range.clone()), scanned, "{range:?}");
        }
    }

    #[test]
    fn degenerate_queries_are_empty_or_whole() {
        let mut out = vec![1];
        Pyramid::default().query((0.0, 1.0), 10, &mut out);
        assert!(out.is_empty());
        let pyramid = Pyramid::new([(1.0, f64::NAN), (1.0, 2.0), (1.0, 3.0)]);
        pyramid.query((1.0, 1.0), 1, &mut out);
        assert_eq!(out, [0, 1, 2]);
        pyramid.query((f64::NAN, 1.0), 1, &mut out);
        assert!(out.is_empty());
        pyramid.query((2.0, 1.0), 1, &mut out);
        assert!(out.is_empty());
        pyramid.query((5.0, 6.0), 3, &mut out);
        assert_eq!(out, [2], "the neighbour outside the view, so that the line can run to the edge");
    }
}
