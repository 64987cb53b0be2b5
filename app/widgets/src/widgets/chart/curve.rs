//! A series made ready for drawing: smoothed at full resolution, moved to axis positions, stacked into a pyramid.

use crate::plot::Smoother;
use crate::plot::{Pyramid, Scale, Series};

/// What happens to values that have no place on a logarithmic y axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Misfit {
    /// Left out and counted: lines.
    Drop,
    /// Moved far below everything: edges of bands, where both edges must keep the same points.
    Sink,
}

/// Far below any logarithm of a double.
pub(super) const SUNK: f64 = -1e4;

/// Everything but the points that a curve depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settings {
    pub smoothing: f64,
    pub x: Scale,
    pub y: Scale,
    pub misfit: Misfit,
}

/// A derived curve that grows with its series.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    generation: u64,
    settings: Settings,
    done: usize,
    smoother: Smoother,
    dropped: usize,
    /// In axis positions.
    pub pyramid: Pyramid,
}

impl Curve {
    pub fn new(settings: Settings) -> Self {
        Self {
            generation: 0,
            settings,
            done: 0,
            smoother: Smoother::new(settings.smoothing),
            dropped: 0,
            pyramid: Pyramid::default(),
        }
    }

    /// Brings the curve up to date. Costs nothing when nothing changed, only the new points when the series grew.
    pub fn update(&mut self, series: &Series, settings: Settings) {
        let version = series.version();
        if self.generation != version.generation || self.settings != settings || self.done > version.len {
            *self = Self { generation: version.generation, ..Self::new(settings) };
        }
        let (xs, ys) = (series.x().get(self.done..), series.y().get(self.done..));
        for (&x, &y) in xs.unwrap_or_default().iter().zip(ys.unwrap_or_default()) {
            let smoothed = self.smoother.next(y);
            let at = settings.x.forward(x);
            let mut value = smoothed;
            if smoothed.is_finite() && settings.y == Scale::Log {
                value = settings.y.forward(smoothed);
                if value.is_nan() && settings.misfit == Misfit::Sink {
                    value = SUNK;
                }
            }
            if at.is_finite() && (!value.is_nan() || !smoothed.is_finite()) {
                self.pyramid.push(at, value);
            } else {
                self.dropped += 1;
            }
        }
        self.done = version.len;
    }

    /// How many points have no place on a logarithmic axis.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Changes when the drawn points may have changed.
    pub fn version(&self) -> (u64, usize, u64, Scale, Scale) {
        (self.generation, self.done, self.settings.smoothing.to_bits(), self.settings.x, self.settings.y)
    }

    /// First and last x position.
    pub fn x_range(&self) -> Option<(f64, f64)> {
        Some((*self.pyramid.x().first()?, *self.pyramid.x().last()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::smooth;

    const LINEAR: Settings = Settings { smoothing: 0.6, x: Scale::Linear, y: Scale::Linear, misfit: Misfit::Drop };

    #[test]
    fn growing_equals_building_at_once() {
        let mut series = Series::new();
        let mut curve = Curve::new(LINEAR);
        for i in 0..500 {
            series.push(f64::from(i), if i % 50 == 7 { f64::NAN } else { f64::from(i * 37 % 11) });
            curve.update(&series, LINEAR);
        }
        let expected = smooth(series.y(), 0.6);
        assert!(curve.pyramid.y().iter().zip(&expected).all(|(a, b)| a == b || (a.is_nan() && b.is_nan())));
        assert_eq!(curve.pyramid.len(), 500);
        series.truncate_from(100.0);
        curve.update(&series, LINEAR);
        assert_eq!(curve.pyramid.len(), 100);
    }

    #[test]
    fn values_without_a_place_are_dropped_and_counted_gaps_stay() {
        let series: Series = [(0.0, 1.0), (1.0, 0.0), (2.0, -3.0), (3.0, f64::NAN), (4.0, 100.0)].into_iter().collect();
        let log = Settings { smoothing: 0.0, y: Scale::Log, ..LINEAR };
        let mut curve = Curve::new(log);
        curve.update(&series, log);
        assert_eq!((curve.dropped(), curve.pyramid.x()), (2, [0.0, 3.0, 4.0].as_slice()));
        assert_eq!(curve.pyramid.y()[2], 2.0);
        assert_eq!(curve.pyramid.non_finite(), [1]);
        let both = Settings { x: Scale::Log, misfit: Misfit::Sink, ..log };
        curve.update(&series, both);
        assert_eq!((curve.dropped(), curve.pyramid.len()), (1, 4), "x = 0 has no place");
        assert_eq!(curve.pyramid.y()[0], SUNK);
    }
}
