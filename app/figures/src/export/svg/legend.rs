use std::fmt::Write as _;

use super::ruler::Ruler;
use super::text::{TICK, text};
use crate::export::{Figure, FigureSeries};
use crate::format::Names;
use crate::theme::{self, hex};

/// Legend entries beyond this many are counted only.
const MOST_ENTRIES: usize = 40;

/// A name in the legend.
pub(super) struct Entry<'a> {
    series: Option<&'a FigureSeries>,
    name: String,
    x: f64,
}

/// Lays out the legend in rows no wider than `limit`.
pub(super) fn legend_rows<'a>(figure: &'a Figure, ruler: &mut Ruler, limit: f64) -> Vec<Vec<Entry<'a>>> {
    let named: Vec<&FigureSeries> = figure.series.iter().filter(|s| !s.name.is_empty()).collect();
    if !figure.legend || named.is_empty() {
        return Vec::new();
    }
    let mut rows: Vec<Vec<Entry<'a>>> = vec![Vec::new()];
    let mut x = 0.0;
    let names: Names = named.iter().map(|series| series.name.as_str()).collect();
    let more = named.len().saturating_sub(MOST_ENTRIES);
    let entries = named.iter().take(MOST_ENTRIES).map(|series| (Some(*series), series.name.clone()));
    for (series, name) in entries.chain((more > 0).then(|| (None, format!("and {more} more")))) {
        let name = ruler.fit_name(&name, &names, TICK, limit * 0.6);
        let width = 30.0 + ruler.width(&name, TICK) + 22.0;
        if x > 0.0 && x + width - 22.0 > limit * 0.92 {
            rows.push(Vec::new());
            x = 0.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push(Entry { series, name, x });
        }
        x += width;
    }
    rows
}

/// Writes the legend.
pub(super) fn write_legend(out: &mut String, rows: &[Vec<Entry<'_>>], left: f64, top: f64) {
    for (i, row) in rows.iter().enumerate() {
        let y = top + i as f64 * (TICK + 7.0) + TICK * 0.5;
        for entry in row {
            let x = left + entry.x;
            let mut text_x = x;
            if let Some(series) = entry.series {
                let lengths: Vec<String> = series.dash.pattern().iter().map(ToString::to_string).collect();
                let dash = if lengths.is_empty() {
                    String::new()
                } else {
                    format!(r#" stroke-dasharray="{}""#, lengths.join(" "))
                };
                if !series.band.is_empty() {
                    let _ = writeln!(
                        out,
                        r#"<rect x="{x:.1}" y="{:.1}" width="24" height="10" fill="{}" fill-opacity="0.16"/>"#,
                        y - 5.0,
                        hex(series.colour)
                    );
                }
                let _ = writeln!(
                    out,
                    r#"<path d="M{x:.1} {y:.1}h24" stroke="{}" stroke-width="{:.2}"{dash}/>"#,
                    hex(series.colour),
                    series.width.max(1.6)
                );
                text_x += 30.0;
            }
            text(out, text_x, y + TICK * 0.35, TICK, "start", theme::PAPER.text, &entry.name);
        }
    }
}
