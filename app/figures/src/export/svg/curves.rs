use std::fmt::Write as _;

use super::frame::Frame;
use super::text::{NOTE, text};
use crate::export::FigureSeries;
use crate::theme::hex;
use crate::{
    format,
    plot::{Pyramid, Scale},
};

/// Curves are drawn with at most this many columns of two points.
const MOST_COLUMNS: usize = 2_000;
/// Points closer than this have no dots of their own.
const DOT_SPACING: f64 = 14.0;

/// Points in view, thinned by the same rule as on screen, in axis order.
fn thinned(f: &Frame, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (scale, lo, hi) = f.x;
    let pyramid = Pyramid::new(points.iter().map(|&(x, y)| (scale.forward(x), y)));
    let mut keep = Vec::new();
    let columns = ((f.right - f.left) * 2.0).clamp(1.0, MOST_COLUMNS as f64) as usize;
    pyramid.query((lo, hi), columns, &mut keep);
    let at = |i: u32| Some((*pyramid.x().get(i as usize)?, *pyramid.y().get(i as usize)?));
    keep.into_iter().filter_map(at).map(|(x, y)| (scale.inverse(x), y)).collect()
}

/// Writes a curve: a path, broken where it is not finite, and dots for points that stand alone. The main curve of a
/// series has its dashes, and dots where its points are as far apart as those with dots on screen.
pub(super) fn write_curve(
    out: &mut String,
    f: &Frame,
    points: &[(f64, f64)],
    series: &FigureSeries,
    width: f32,
    opacity: f32,
    is_main: bool,
) {
    let points: Vec<(f64, f64)> =
        thinned(f, points).into_iter().filter(|&(_, y)| f.y.0 == Scale::Linear || !y.is_finite() || y > 0.0).collect();
    let mut path = String::with_capacity(points.len() * 14);
    let mut dots = String::new();
    let radius = width.max(1.0) * 1.4;
    for run in points.split(|&(_, y)| !y.is_finite()) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        if run.len() > 1 {
            for (i, &(x, y)) in run.iter().enumerate() {
                let _ = write!(path, "{}{:.2} {:.2}", if i == 0 { 'M' } else { 'L' }, f.x(x), f.y(y));
            }
        }
        let is_sparse = is_main && (f.x(last.0) - f.x(first.0)) / run.len() as f64 > DOT_SPACING;
        if run.len() == 1 || is_sparse {
            for &(x, y) in run {
                let _ = write!(dots, r#"<circle cx="{:.2}" cy="{:.2}" r="{radius:.1}"/>"#, f.x(x), f.y(y));
            }
        }
    }
    let colour = hex(series.colour);
    if !path.is_empty() {
        let dash = match series.dash.pattern() {
            pattern if pattern.is_empty() || !is_main => String::new(),
            pattern => {
                let lengths: Vec<String> = pattern.iter().map(ToString::to_string).collect();
                format!(r#" stroke-dasharray="{}""#, lengths.join(" "))
            }
        };
        let _ = writeln!(
            out,
            r#"<path d="{path}" stroke="{colour}" stroke-width="{width:.2}" stroke-opacity="{opacity}"{dash}/>"#
        );
    }
    if !dots.is_empty() {
        let _ = writeln!(out, r#"<g fill="{colour}" fill-opacity="{opacity}">{dots}</g>"#);
    }
}

/// Writes the band of a curve.
pub(super) fn write_band(out: &mut String, f: &Frame, series: &FigureSeries) {
    let usable = |&(x, lo, hi): &(f64, f64, f64)| {
        f.x.0.forward(x).is_finite() && lo.is_finite() && hi.is_finite() && f.y.0.forward(hi).is_finite()
    };
    let step = (series.band.len() / MOST_COLUMNS).max(1);
    let mut path = String::new();
    for run in series.band.split(|point| !usable(point)) {
        // Blocks of `step` points become one, as wide as the widest of them, so that no excursion is lost.
        let blocks: Vec<(f64, f64, f64)> = run
            .chunks(step)
            .filter_map(|block| {
                let (x, ..) = *block.get(block.len() / 2)?;
                let low = block.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
                Some((x, low, block.iter().map(|p| p.2).fold(f64::NEG_INFINITY, f64::max)))
            })
            .collect();
        let low_edge = |low: f64| if f.y.0.forward(low).is_finite() { f.y(low) } else { f.bottom + 10.0 };
        if let ([(x, low, high)], 1) = (blocks.as_slice(), series.points.len()) {
            // Of a point that stands alone: a line with a stroke across each end.
            let (x, low, high) = (f.x(*x), low_edge(*low), f.y(*high));
            let (left, right) = (x - 4.0, x + 4.0);
            let _ = writeln!(
                out,
                r#"<path d="M{x:.2} {low:.2}V{high:.2}M{left:.2} {low:.2}H{right:.2}M{left:.2} {high:.2}H{right:.2}" stroke="{}" stroke-width="1.4" stroke-opacity="0.8"/>"#,
                hex(series.colour)
            );
            continue;
        }
        if blocks.len() < 2 {
            continue;
        }
        for (i, &(x, _, hi)) in blocks.iter().enumerate() {
            let _ = write!(path, "{}{:.2} {:.2}", if i == 0 { 'M' } else { 'L' }, f.x(x), f.y(hi));
        }
        for &(x, lo, _) in blocks.iter().rev() {
            let _ = write!(path, "L{:.2} {:.2}", f.x(x), low_edge(lo));
        }
        path.push('Z');
    }
    if !path.is_empty() {
        let _ = writeln!(out, r#"<path d="{path}" fill="{}" fill-opacity="0.16"/>"#, hex(series.colour));
    }
}

/// Crosses where values are not finite, ticks where the caller marked an x.
pub(super) fn write_marks(out: &mut String, f: &Frame, series: &FigureSeries) {
    let colour = hex(series.colour);
    let in_view = |x: f64| (f.left..=f.right).contains(&f.x(x));
    let mut last = f64::NEG_INFINITY;
    for &(x, y) in series.points.iter().filter(|p| !p.1.is_finite() && in_view(p.0)) {
        let at = f.x(x);
        if at - last < 6.0 {
            continue;
        }
        last = at;
        let edge = if y == f64::NEG_INFINITY { f.bottom - 7.0 } else { f.top + 7.0 };
        let _ = writeln!(
            out,
            r#"<path d="M{:.2} {:.2}l7 7m0 -7l-7 7" stroke="{colour}" stroke-width="1.6"><title>{} at {}</title></path>"#,
            at - 3.5,
            edge - 3.5,
            y,
            format::number(x)
        );
    }
    for (x, label) in series.marks.iter().filter(|(x, _)| in_view(*x)) {
        let at = f.x(*x);
        let _ = writeln!(
            out,
            r#"<path d="M{at:.2} {:.1}V{:.1}" stroke="{colour}" stroke-width="1" stroke-opacity="0.7" stroke-dasharray="2 3"/>"#,
            f.top, f.bottom
        );
        let (x, anchor) = if at > f64::midpoint(f.left, f.right) { (at - 4.0, "end") } else { (at + 4.0, "start") };
        text(out, x, f.bottom - 6.0, NOTE, anchor, series.colour, label);
    }
}
