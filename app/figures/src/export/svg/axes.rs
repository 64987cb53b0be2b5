use std::fmt::Write as _;

use super::frame::Frame;
use super::ruler::Ruler;
use super::text::{TICK, escape};
use crate::theme::{self, hex};
use crate::{format, plot::Tick};

/// Writes the grid, the axes and their labels.
pub(super) fn write_axes(out: &mut String, f: &Frame, x_ticks: &[Tick], y_ticks: &[Tick], ruler: &mut Ruler) {
    let p = &theme::PAPER;
    let _ = writeln!(out, r#"<g stroke="{}" stroke-width="1">"#, hex(p.grid));
    for tick in x_ticks.iter().filter(|t| t.major) {
        let x = f.x(tick.value);
        let _ = writeln!(out, r#"<path d="M{x:.2} {:.1}V{:.1}"/>"#, f.top, f.bottom);
    }
    for tick in y_ticks.iter().filter(|t| t.major) {
        let y = f.y(tick.value);
        let _ = writeln!(out, r#"<path d="M{:.1} {y:.2}H{:.1}"/>"#, f.left, f.right);
    }
    let _ = writeln!(out, "</g>");
    let _ = writeln!(out, r#"<g stroke="{}" stroke-width="1" fill="none">"#, hex(p.line));
    let _ = writeln!(out, r#"<path d="M{:.1} {:.1}V{:.1}H{:.1}"/>"#, f.left, f.top, f.bottom, f.right);
    for tick in x_ticks {
        let _ =
            writeln!(out, r#"<path d="M{:.2} {:.1}v{}"/>"#, f.x(tick.value), f.bottom, if tick.major { 5 } else { 3 });
    }
    for tick in y_ticks {
        let _ =
            writeln!(out, r#"<path d="M{:.1} {:.2}h-{}"/>"#, f.left, f.y(tick.value), if tick.major { 5 } else { 3 });
    }
    let _ = writeln!(out, "</g>");
    let mut free_from = f64::NEG_INFINITY;
    for tick in x_ticks.iter().filter(|t| !t.label.is_empty()) {
        let half = ruler.width(&plain_label(tick), TICK) / 2.0;
        let x = f.x(tick.value).min(f.right + 20.0 - half);
        if x - half >= free_from {
            tick_text(out, x, f.bottom + 8.0 + TICK * 0.8, "middle", tick);
            free_from = x + half + 8.0;
        }
    }
    for tick in y_ticks.iter().filter(|t| !t.label.is_empty()) {
        tick_text(out, f.left - 9.0, f.y(tick.value) + TICK * 0.35, "end", tick);
    }
}

/// The label as it will be set: powers of ten have a raised exponent.
pub(super) fn plain_label(tick: &Tick) -> String {
    match power_of_ten(&tick.label) {
        Some((mantissa, exponent)) => format!("{mantissa}{exponent}"),
        None => tick.label.clone(),
    }
}

/// `2e−7` as ("2·10", "−7"), `1e5` as ("10", "5").
fn power_of_ten(label: &str) -> Option<(String, &str)> {
    let (mantissa, exponent) = label.split_once('e')?;
    let number = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_digit() || c == '.' || c == format::MINUS);
    if !number(mantissa) || !number(exponent) {
        return None;
    }
    Some((if mantissa == "1" { "10".to_owned() } else { format!("{mantissa}·10") }, exponent))
}

fn tick_text(out: &mut String, x: f64, y: f64, anchor: &str, tick: &Tick) {
    let colour = hex(theme::PAPER.weak);
    let inner = match power_of_ten(&tick.label) {
        Some((mantissa, exponent)) => {
            format!(r#"{mantissa}<tspan dy="-{:.1}" font-size="{:.1}">{exponent}</tspan>"#, TICK * 0.35, TICK * 0.75)
        }
        None => escape(&tick.label),
    };
    let _ = writeln!(
        out,
        r#"<text x="{x:.1}" y="{y:.1}" font-size="{TICK}" text-anchor="{anchor}" fill="{colour}">{inner}</text>"#
    );
}
