//! Distances between every two of some rows.

use super::Real;
use super::dispatch::vectorised;
use super::lanes;

vectorised! {
    /// For every two of the rows, `sum |x - y|` added to `out` above the diagonal.
    ///
    /// # Shapes
    /// `rows` `[count, columns]` contiguous, `out` `[count, count]`.
    pub fn add_l1_distances<T>(rows: &[T], columns: usize, out: &mut [f64]) {
        for_pairs(rows, columns, out, #[inline(always)] |xs, ys| {
            lanes::sum2(xs, ys, |x, y| {
                let difference = x - y;
                if difference < T::ZERO { -difference } else { difference }
            })
        });
    }
}

vectorised! {
    /// For every two of the rows, which are distributions, their Jensen-Shannon divergence in bits added to `out` above
    /// the diagonal: `sum (x log2(x / m) + y log2(y / m)) / 2` with `m = (x + y) / 2`; a zero adds nothing.
    ///
    /// # Shapes
    /// `rows` `[count, columns]` contiguous, `out` `[count, count]`.
    pub fn add_js_divergences<T>(rows: &[T], columns: usize, out: &mut [f64]) {
        let half = T::of(0.5);
        for_pairs(rows, columns, out, #[inline(always)] |xs, ys| {
            lanes::sum2(xs, ys, |x, y| {
                half * (x.times_log2() + y.times_log2()) - ((x + y) * half).times_log2()
            })
        });
    }
}

#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn for_pairs<T: Real>(rows: &[T], columns: usize, out: &mut [f64], distance: impl Fn(&[T], &[T]) -> T) {
    if columns == 0 {
        return;
    }
    let count = rows.len() / columns;
    for (a, (row, out)) in rows.chunks_exact(columns).zip(out.chunks_exact_mut(count.max(1))).enumerate() {
        for (other, out) in rows.chunks_exact(columns).zip(out).skip(a + 1) {
            *out += distance(row, other).as_f64();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_their_definitions_and_only_above_the_diagonal() {
        let rows: [[f64; 3]; 3] = [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let flat: Vec<f64> = rows.iter().flatten().copied().collect();
        let (mut l1, mut js) = (vec![1.0; 9], vec![0.0; 9]);
        add_l1_distances(&flat, 3, &mut l1);
        add_js_divergences(&flat, 3, &mut js);
        let entropy = |p: &[f64]| -p.iter().filter(|p| **p > 0.0).map(|p| p * p.log2()).sum::<f64>();
        for a in 0..3 {
            for b in 0..3 {
                let pairs = || rows[a].iter().zip(&rows[b]);
                let distance: f64 = pairs().map(|(x, y)| (x - y).abs()).sum();
                let middle: Vec<f64> = pairs().map(|(x, y)| f64::midpoint(*x, *y)).collect();
                let divergence = entropy(&middle) - f64::midpoint(entropy(&rows[a]), entropy(&rows[b]));
                let (distance, divergence) = if a < b { (distance, divergence) } else { (0.0, 0.0) };
                assert!((l1[a * 3 + b] - 1.0 - distance).abs() < 1e-15, "{a} {b}");
                assert!((js[a * 3 + b] - divergence).abs() < 1e-15, "{a} {b}");
            }
        }
        // Distributions that share nothing are one bit apart.
        assert_eq!(js[5], 1.0);
        let single: Vec<f32> = flat.iter().map(|x| *x as f32).collect();
        let mut found = vec![0.0; 9];
        add_js_divergences(&single, 3, &mut found);
        assert!(found.iter().zip(&js).all(|(found, exact)| (found - exact).abs() < 1e-6), "{found:?} {js:?}");
    }
}
