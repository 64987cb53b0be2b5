//! Which of several models nobody else beats in quality and cost at once.

use headroom_engine::store::Direction;

/// The points that no other one dominates, by their places in `points`, the cheapest first: each has a better value than all that
/// cost less. A point is `(cost, value)`; less cost is better, and `direction` says which values are. Points with a number that
/// is not finite are left out; of equal ones the first stays. None where values have no direction.
pub fn pareto_front(points: &[(f64, f64)], direction: Direction) -> Vec<usize> {
    let sign = match direction {
        Direction::Lower => 1.0,
        Direction::Higher => -1.0,
        Direction::None => return Vec::new(),
    };
    let mut order: Vec<usize> =
        (0..points.len()).filter(|&at| points[at].0.is_finite() && points[at].1.is_finite()).collect();
    order.sort_by(|&a, &b| {
        let ((cost_a, value_a), (cost_b, value_b)) = (points[a], points[b]);
        cost_a.total_cmp(&cost_b).then((sign * value_a).total_cmp(&(sign * value_b)))
    });
    let mut best = f64::INFINITY;
    order.retain(|&at| {
        let value = sign * points[at].1;
        let is_new = value < best;
        best = best.min(value);
        is_new
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_on_the_front_is_beaten_and_everybody_else_is() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from((state >> 40) as u32 % 50)
        };
        for direction in [Direction::Lower, Direction::Higher] {
            for _ in 0..50 {
                let points: Vec<(f64, f64)> = (0..12).map(|_| (draw(), draw())).collect();
                let front = pareto_front(&points, direction);
                let is_better = |a: f64, b: f64| if direction == Direction::Lower { a < b } else { a > b };
                let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && !is_better(b.1, a.1) && a != b;
                for (at, &point) in points.iter().enumerate() {
                    let is_beaten = points.iter().any(|&other| beats(other, point));
                    let is_double = front.iter().any(|&other| points[other] == point);
                    assert_eq!(!is_beaten, front.contains(&at) || is_double, "{point:?} in {points:?}");
                }
                assert!(front.windows(2).all(|pair| points[pair[0]].0 < points[pair[1]].0));
            }
        }
    }

    #[test]
    fn what_is_no_number_or_has_no_direction_has_no_front() {
        assert_eq!(pareto_front(&[(f64::NAN, 1.0), (2.0, 1.0), (1.0, f64::INFINITY)], Direction::Lower), [1]);
        assert!(pareto_front(&[(1.0, 1.0)], Direction::None).is_empty());
        assert!(pareto_front(&[], Direction::Lower).is_empty());
    }
}
