//! The lines of a benchmark: a chosen quantity over the first axis, a line for each side and value of the second.

use std::sync::Arc;

use headroom_engine::speed::{PointResult, SweepSpec};

use super::Quantity;
use crate::plot::{Axis, Quantity as Kind, Series};

/// The lines, kept until what they show changes.
#[derive(Default)]
pub struct Lines {
    key: Option<(String, usize, Quantity)>,
    /// Name and points of each.
    pub lines: Vec<(String, Series)>,
}

impl Lines {
    /// Brings the lines up to date.
    pub fn update(&mut self, id: &str, spec: &SweepSpec, points: &[PointResult], quantity: Quantity) {
        let key = Some((id.to_owned(), points.len(), quantity));
        if self.key != key {
            self.key = key;
            self.lines = lines(spec, points, quantity);
        }
    }
}

/// The x axis: the swept field, or the place in its list where its values are no numbers.
pub fn x_axis(spec: &SweepSpec) -> Axis {
    let Some(axis) = spec.axes.first() else { return Axis::default() };
    let numbers: Option<Vec<f64>> = axis.values.iter().map(|value| value.parse().ok()).collect();
    match numbers {
        Some(values) if values.iter().all(|value: &f64| value.fract() == 0.0) => {
            Axis::new(&axis.field).quantity(Kind::Count)
        }
        Some(_) => Axis::new(&axis.field),
        None => Axis::new(format!("{} (1 = {})", axis.field, axis.values.join(", 2 = "))).quantity(Kind::Count),
    }
}

fn x_of(spec: &SweepSpec, value: &str) -> Option<f64> {
    let axis = spec.axes.first()?;
    if axis.values.iter().all(|value| value.parse::<f64>().is_ok()) {
        value.parse().ok()
    } else {
        axis.values.iter().position(|known| known == value).map(|place| (place + 1) as f64)
    }
}

pub(super) fn lines(spec: &SweepSpec, points: &[PointResult], quantity: Quantity) -> Vec<(String, Series)> {
    let seconds: Vec<Option<&String>> = match spec.axes.get(1) {
        Some(axis) => axis.values.iter().map(Some).collect(),
        None => vec![None],
    };
    let mut lines = Vec::new();
    for side in spec.side_names() {
        for &second in &seconds {
            let mut found: Vec<(f64, f64)> = points
                .iter()
                .filter(|point| point.settings.get(1).map(|setting| &setting.value) == second)
                .filter_map(|point| {
                    let x = x_of(spec, &point.settings.first()?.value)?;
                    let found = point.sides.iter().find(|known| known.side == side)?;
                    Some((x, quantity.of(found)?))
                })
                .collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (x, y): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
            let name = match (second, spec.axes.get(1)) {
                (Some(value), Some(axis)) => format!("{side}, {}={value}", axis.field),
                _ => side.clone(),
            };
            lines.push((name, Series::from_xy(Arc::new(x), Arc::new(y))));
        }
    }
    lines
}
