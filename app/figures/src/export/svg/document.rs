use std::{collections::BTreeMap, fmt::Write as _};

use super::axes::{plain_label, write_axes};
use super::curves::{write_band, write_curve, write_marks};
use super::frame::{Frame, range};
use super::legend::{legend_rows, write_legend};
use super::ruler::Ruler;
use super::text::{LABEL, NOTE, TICK, escape, text};
use crate::export::Figure;
use crate::theme::{self, hex};

/// The families that text asks for; PNG has the first one built in.
pub(super) const FONT: &str = "Ubuntu, 'Helvetica Neue', Helvetica, Arial, sans-serif";
/// Size of the title.
pub(super) const TITLE: f64 = 17.0;
const SUBTITLE: f64 = 12.5;

/// Writes the figure as a complete SVG document.
pub fn to_svg(figure: &Figure) -> String {
    let mut ruler = Ruler::new();
    let (width, height) = (figure.size.0.max(160.0), figure.size.1.max(120.0));
    let (x_scale, y_scale) = (figure.x.axis.scale, figure.y.axis.scale);
    let x_range = range(x_scale, figure.x.range);
    let y_range = range(y_scale, figure.y.range);

    // From the top down and from the bottom up; what is left is the plot.
    let mut top = 16.0;
    let title_y = top + TITLE * 0.8;
    if !figure.title.is_empty() {
        top += TITLE + 7.0;
    }
    let subtitle_y = top + SUBTITLE * 0.8;
    if !figure.subtitle.is_empty() {
        top += SUBTITLE + 7.0;
    }
    top += 8.0;
    let right = width - 22.0;
    let mut bottom = height - 12.0;
    let notes_top = bottom - figure.notes.len() as f64 * (NOTE + 4.0);
    if !figure.notes.is_empty() {
        bottom = notes_top - 6.0;
    }
    let entries = legend_rows(figure, &mut ruler, right - 20.0);
    let legend_top = bottom - entries.len() as f64 * (TICK + 7.0);
    if !entries.is_empty() {
        bottom = legend_top - 8.0;
    }
    let x_title_y = bottom - LABEL * 0.25;
    bottom -= LABEL + 8.0 + TICK + 8.0;
    bottom = bottom.max(top + 40.0);

    let y_ticks =
        figure.y.axis.ticks(y_scale.inverse(y_range.0), y_scale.inverse(y_range.1), ((bottom - top) / 48.0) as usize);
    let widest = y_ticks.iter().map(|tick| ruler.width(&plain_label(tick), TICK)).fold(0.0, f64::max);
    let left = 16.0 + LABEL + 10.0 + widest + 9.0;
    let frame =
        Frame { left, top, right, bottom, x: (x_scale, x_range.0, x_range.1), y: (y_scale, y_range.0, y_range.1) };
    let x_ticks =
        figure.x.axis.ticks(x_scale.inverse(x_range.0), x_scale.inverse(x_range.1), ((right - left) / 95.0) as usize);

    let p = &theme::PAPER;
    let mut out = String::with_capacity(1 << 16);
    open(&mut out, (width, height), &figure.title);
    write_metadata(&mut out, &figure.metadata);
    let _ = writeln!(
        out,
        r#"<clipPath id="plot"><rect x="{left:.1}" y="{top:.1}" width="{:.1}" height="{:.1}"/></clipPath>"#,
        right - left,
        bottom - top
    );
    let _ = writeln!(out, r#"<rect width="{width}" height="{height}" fill="{}"/>"#, hex(p.background));

    if !figure.title.is_empty() {
        text(&mut out, left, title_y, TITLE, "start", p.strong, &ruler.fit(&figure.title, TITLE, right - left));
    }
    if !figure.subtitle.is_empty() {
        text(
            &mut out,
            left,
            subtitle_y,
            SUBTITLE,
            "start",
            p.weak,
            &ruler.fit(&figure.subtitle, SUBTITLE, right - left),
        );
    }
    write_axes(&mut out, &frame, &x_ticks, &y_ticks, &mut ruler);
    text(&mut out, f64::midpoint(left, right), x_title_y, LABEL, "middle", p.text, &figure.x.axis.title());
    let (label_x, label_y) = (16.0 + LABEL * 0.8, f64::midpoint(top, bottom));
    let _ = writeln!(
        out,
        r#"<text transform="translate({label_x:.1} {label_y:.1}) rotate(-90)" font-size="{LABEL}" text-anchor="middle" fill="{}">{}</text>"#,
        hex(p.text),
        escape(&ruler.fit(&figure.y.axis.title(), LABEL, bottom - top + 40.0))
    );

    let _ = writeln!(out, r#"<g clip-path="url(#plot)" fill="none" stroke-linejoin="round" stroke-linecap="butt">"#);
    for series in &figure.series {
        write_band(&mut out, &frame, series);
    }
    for series in &figure.series {
        if !series.raw.is_empty() {
            write_curve(&mut out, &frame, &series.raw, series, series.width * 0.7, 0.28, false);
        }
    }
    for series in &figure.series {
        write_curve(&mut out, &frame, &series.points, series, series.width, 1.0, true);
    }
    let _ = writeln!(out, "</g>");
    for series in &figure.series {
        write_marks(&mut out, &frame, series);
    }

    write_legend(&mut out, &entries, left, legend_top);
    for (i, note) in figure.notes.iter().enumerate() {
        let y = notes_top + (i as f64 + 0.8) * (NOTE + 4.0);
        text(&mut out, left, y, NOTE, "start", p.weak, &ruler.fit(note, NOTE, right - left));
    }
    out.push_str("</svg>\n");
    out
}

/// Begins a document of this size.
pub(in crate::export) fn open(out: &mut String, (width, height): (f64, f64), title: &str) {
    let _ = writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="{FONT}" role="img">"#
    );
    if !title.is_empty() {
        let _ = writeln!(out, "<title>{}</title>", escape(title));
    }
}

/// Writes what a figure says of its origin.
pub(in crate::export) fn write_metadata(out: &mut String, metadata: &BTreeMap<String, String>) {
    let _ = writeln!(out, r#"<metadata><figure xmlns="urn:headroom:figure:1">"#);
    for (key, value) in metadata {
        let _ = writeln!(out, r#"<entry key="{}">{}</entry>"#, escape(key), escape(value));
    }
    let _ = writeln!(out, "</figure></metadata>");
}
