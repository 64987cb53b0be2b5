//! A figure as SVG: real text, one path per curve, the config in the metadata.

use std::fmt::Write as _;

use egui::epaint::text::{FontDefinitions, Fonts, TextOptions};
use egui::{Color32, FontId};

use super::{Figure, FigureSeries};
use crate::theme::{self, hex};
use crate::widgets::{Pyramid, Scale, Tick, format};

/// The families that text asks for; PNG has the first one built in.
const FONT: &str = "Ubuntu, 'Helvetica Neue', Helvetica, Arial, sans-serif";
const TITLE: f64 = 17.0;
const SUBTITLE: f64 = 12.5;
const LABEL: f64 = 13.0;
const TICK: f64 = 12.0;
const NOTE: f64 = 11.0;
/// Legend entries beyond this many are counted only.
const MOST_ENTRIES: usize = 40;
/// Curves are drawn with at most this many columns of two points.
const MOST_COLUMNS: usize = 2_000;

/// Widths of text as the built-in font sets it.
struct Ruler(Fonts);

impl Ruler {
    fn new() -> Self {
        Self(Fonts::new(TextOptions::default(), FontDefinitions::default()))
    }

    fn width(&mut self, text: &str, size: f64) -> f64 {
        let font = FontId::proportional(size as f32);
        let mut view = self.0.with_pixels_per_point(1.0);
        text.chars().map(|c| f64::from(view.glyph_width(&font, c))).sum()
    }

    /// `text`, cut with an ellipsis when it is wider than `limit`.
    fn fit(&mut self, text: &str, size: f64, limit: f64) -> String {
        if self.width(text, size) <= limit {
            return text.to_owned();
        }
        let mut kept = text.to_owned();
        while kept.pop().is_some() {
            let candidate = format!("{}…", kept.trim_end());
            if self.width(&candidate, size) <= limit {
                return candidate;
            }
        }
        "…".to_owned()
    }
}

/// The plot area and the way from data to it.
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    x: (Scale, f64, f64),
    y: (Scale, f64, f64),
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        let (scale, lo, hi) = self.x;
        self.left + (scale.forward(value) - lo) / (hi - lo) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        let (scale, lo, hi) = self.y;
        // Far outside is as good as infinitely far, and every viewer can read it.
        let at = self.bottom - (scale.forward(value) - lo) / (hi - lo) * (self.bottom - self.top);
        at.clamp(self.top - 10_000.0, self.bottom + 10_000.0)
    }
}

/// A range that can be drawn on, in axis units, made up when the given one cannot.
fn range(scale: Scale, (lo, hi): (f64, f64)) -> (f64, f64) {
    let (lo, hi) = (scale.forward(lo), scale.forward(hi));
    if lo.is_finite() && hi.is_finite() && lo < hi {
        (lo, hi)
    } else if lo.is_finite() && lo == hi {
        (lo - 0.5, lo + 0.5)
    } else {
        (0.0, 1.0)
    }
}

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
    let _ = writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="{FONT}" role="img">"#
    );
    if !figure.title.is_empty() {
        let _ = writeln!(out, "<title>{}</title>", escape(&figure.title));
    }
    write_metadata(&mut out, figure);
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

fn write_metadata(out: &mut String, figure: &Figure) {
    let _ = writeln!(out, r#"<metadata><figure xmlns="urn:headroom:figure:1">"#);
    for (key, value) in &figure.metadata {
        let _ = writeln!(out, r#"<entry key="{}">{}</entry>"#, escape(key), escape(value));
    }
    let _ = writeln!(out, "</figure></metadata>");
}

fn write_axes(out: &mut String, f: &Frame, x_ticks: &[Tick], y_ticks: &[Tick], ruler: &mut Ruler) {
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
fn plain_label(tick: &Tick) -> String {
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

fn text(out: &mut String, x: f64, y: f64, size: f64, anchor: &str, colour: Color32, content: &str) {
    let (colour, content) = (hex(colour), escape(content));
    let _ = writeln!(
        out,
        r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{content}</text>"#
    );
}

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

fn write_curve(
    out: &mut String,
    f: &Frame,
    points: &[(f64, f64)],
    series: &FigureSeries,
    width: f32,
    opacity: f32,
    dashed: bool,
) {
    let points: Vec<(f64, f64)> =
        thinned(f, points).into_iter().filter(|&(_, y)| f.y.0 == Scale::Linear || !y.is_finite() || y > 0.0).collect();
    let mut path = String::with_capacity(points.len() * 14);
    let mut dots = String::new();
    for run in points.split(|&(_, y)| !y.is_finite()) {
        if let [(x, y)] = run {
            let _ =
                write!(dots, r#"<circle cx="{:.2}" cy="{:.2}" r="{:.1}"/>"#, f.x(*x), f.y(*y), width.max(1.0) * 1.4);
        } else {
            for (i, &(x, y)) in run.iter().enumerate() {
                let _ = write!(path, "{}{:.2} {:.2}", if i == 0 { 'M' } else { 'L' }, f.x(x), f.y(y));
            }
        }
    }
    let colour = hex(series.colour);
    if !path.is_empty() {
        let dash = match series.dash.pattern() {
            pattern if pattern.is_empty() || !dashed => String::new(),
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

fn write_band(out: &mut String, f: &Frame, series: &FigureSeries) {
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
        if blocks.len() < 2 {
            continue;
        }
        let low_edge = |low: f64| if f.y.0.forward(low).is_finite() { f.y(low) } else { f.bottom + 10.0 };
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
fn write_marks(out: &mut String, f: &Frame, series: &FigureSeries) {
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

struct Entry<'a> {
    series: Option<&'a FigureSeries>,
    name: String,
    x: f64,
}

/// Lays out the legend in rows no wider than `limit`.
fn legend_rows<'a>(figure: &'a Figure, ruler: &mut Ruler, limit: f64) -> Vec<Vec<Entry<'a>>> {
    let named: Vec<&FigureSeries> = figure.series.iter().filter(|s| !s.name.is_empty()).collect();
    if !figure.legend || named.is_empty() {
        return Vec::new();
    }
    let mut rows: Vec<Vec<Entry<'a>>> = vec![Vec::new()];
    let mut x = 0.0;
    let more = named.len().saturating_sub(MOST_ENTRIES);
    let entries = named.iter().take(MOST_ENTRIES).map(|series| (Some(*series), series.name.clone()));
    for (series, name) in entries.chain((more > 0).then(|| (None, format!("and {more} more")))) {
        let name = ruler.fit(&name, TICK, limit * 0.6);
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

fn write_legend(out: &mut String, rows: &[Vec<Entry<'_>>], left: f64, top: f64) {
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

/// Text for XML: entities escaped, characters that XML cannot hold replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(c),
            '\r' => out.push_str("&#13;"),
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use resvg::usvg::roxmltree::Document;

    use super::super::figure::examples::{log_losses, losses};
    use super::*;
    use crate::export::png::parse;

    fn texts(document: &Document<'_>) -> Vec<String> {
        let collect = |node: resvg::usvg::roxmltree::Node<'_, '_>| {
            node.descendants()
                .filter(resvg::usvg::roxmltree::Node::is_text)
                .filter_map(|n| n.text())
                .collect::<String>()
        };
        document.descendants().filter(|n| n.has_tag_name("text")).map(collect).collect()
    }

    #[test]
    fn it_parses_and_says_what_it_shows() {
        let figure = losses();
        let svg = to_svg(&figure);
        parse(&svg).unwrap();
        let document = Document::parse(&svg).unwrap();
        let texts = texts(&document);
        for expected in [
            "Validation loss",
            "WikiText-2, smoothing 0.6 & raw values faint",
            "Step",
            "Cross-entropy (nats/token)",
            "baseline",
            "first 2 layers reused (n = 3)",
            "alternate",
            "2,000",
            "Runs are aligned by step.",
            "resumed",
        ] {
            assert!(texts.iter().any(|t| t == expected), "{expected} is missing in {texts:?}");
        }
        let entry = document.descendants().find(|n| n.has_tag_name(("urn:headroom:figure:1", "entry"))).unwrap();
        assert_eq!(entry.attribute("key"), Some("config"));
        assert_eq!(entry.text(), Some("format = 1\nname = \"a <b> & c\""));
    }

    #[test]
    fn log_axes_have_raised_exponents() {
        let mut figure = log_losses();
        figure.x.range = (1e-8, 1e4);
        let svg = to_svg(&figure);
        parse(&svg).unwrap();
        assert!(texts(&Document::parse(&svg).unwrap()).iter().any(|t| t == "10−8"));
    }

    #[test]
    fn gaps_break_the_line_and_are_marked() {
        let mut figure = losses();
        figure.series.remove(0);
        figure.series.remove(0);
        figure.series[0].raw.clear();
        let svg = to_svg(&figure);
        let document = Document::parse(&svg).unwrap();
        let curve = document
            .descendants()
            .find(|n| n.attribute("stroke-dasharray").is_some() && n.attribute("d").is_some_and(|d| d.len() > 1000))
            .unwrap();
        assert_eq!(curve.attribute("d").unwrap().matches('M').count(), 2);
        assert!(svg.contains("<title>NaN at "));
    }

    #[test]
    fn hostile_input_still_gives_a_document() {
        let mut figure = losses();
        figure.title = "a \u{0} <script> \u{1b}[0m & \"quotes\" ]]>".to_owned();
        figure.x.range = (f64::NAN, f64::INFINITY);
        figure.y.range = (3.0, 3.0);
        figure.size = (0.0, 0.0);
        figure.series[0].points = vec![(0.0, 1e308), (1.0, -1e308), (f64::NAN, 1.0)];
        parse(&to_svg(&figure)).unwrap();
        parse(&to_svg(&Figure::default())).unwrap();
        let series = (0..200).map(|i| FigureSeries { name: format!("run {i}"), ..FigureSeries::default() }).collect();
        let many = Figure { series, ..Figure::default() };
        let svg = to_svg(&many);
        assert!(svg.contains("and 160 more"));
    }
}
