use std::collections::BTreeMap;
use std::fmt::Write as _;

use egui::Color32;
use headroom_config::text::csv_cell;

use super::document::{TITLE, open, write_metadata};
use super::ruler::Ruler;
use super::text::{NOTE, TICK, escape, text};
use crate::export::Drawing;
use crate::theme::{self, hex};

/// Width and height in points.
const SIZE: (f64, f64) = (960.0, 460.0);
/// Room at both sides for the names of the outer axes.
const BESIDE: f64 = 70.0;
/// Colours of the axis that colours the lines.
const RAMP_STEPS: usize = 24;

/// Parallel coordinates, independent of the format that they are written in. Places are shares of an axis' height from
/// the bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelFigure {
    /// Above the axes.
    pub title: String,
    /// Small print below.
    pub notes: Vec<String>,
    /// The axes, from the left.
    pub axes: Vec<ParallelFigureAxis>,
    /// The axis whose places colour the lines.
    pub colour_by: Option<usize>,
    /// The lines.
    pub lines: Vec<ParallelFigureLine>,
    /// Key to text, written into the file.
    pub metadata: BTreeMap<String, String>,
}

/// One axis of [`ParallelFigure`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelFigureAxis {
    /// The name above it.
    pub label: String,
    /// The whole name, for the table.
    pub key: String,
    /// Places with what stands there.
    pub ticks: Vec<(f32, String)>,
    /// The brush: only lines between these places pass.
    pub brush: Option<(f32, f32)>,
}

/// One line of [`ParallelFigure`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelFigureLine {
    /// Its name.
    pub name: String,
    /// Where it crosses each axis.
    pub places: Vec<f32>,
    /// Its value on each axis in full; empty where it has none.
    pub values: Vec<String>,
    /// Its colour.
    pub colour: Color32,
    /// Whether it passes all brushes.
    pub passes: bool,
}

impl ParallelFigure {
    /// The figure as picture and table.
    pub fn draw(self) -> Drawing {
        Drawing { svg: self.svg(), csv: self.csv(), title: self.title, metadata: self.metadata }
    }

    /// A row for each line that passes.
    fn csv(&self) -> String {
        let row = |cells: Vec<&str>| cells.into_iter().map(csv_cell).collect::<Vec<_>>().join(",") + "\n";
        let mut out = row(std::iter::once("run").chain(self.axes.iter().map(|axis| axis.key.as_str())).collect());
        for line in self.lines.iter().filter(|line| line.passes) {
            let cells = std::iter::once(line.name.as_str()).chain(line.values.iter().map(String::as_str));
            out += &row(cells.collect());
        }
        out
    }

    fn svg(&self) -> String {
        let mut ruler = Ruler::new();
        let p = &theme::PAPER;
        // As wide as the names need: nothing in a figure of a paper is cut.
        let (least, height) = SIZE;
        let of_label = |ruler: &mut Ruler, label: &str| ruler.width(label, TICK);
        let mut needed = 0.0_f64;
        for axis in &self.axes {
            needed = axis.ticks.iter().map(|(_, label)| of_label(&mut ruler, label) + 18.0).fold(needed, f64::max);
            needed = needed.max(of_label(&mut ruler, &axis.label) + 8.0);
        }
        let gaps = self.axes.len().saturating_sub(1).max(1) as f64;
        let beside = needed.max(BESIDE);
        let width = least.max(gaps * needed + 2.0 * beside);
        let (left, right) = (beside, width - beside);
        let top = 16.0 + TITLE + 34.0;
        let notes_top = height - 12.0 - self.notes.len() as f64 * (NOTE + 4.0);
        let bottom = notes_top - 12.0;
        let gap = (right - left) / gaps;
        let x = |axis: usize| left + gap * axis as f64;
        let y = |place: f32| bottom - f64::from(place) * (bottom - top);
        let mut out = String::with_capacity(1 << 14);
        open(&mut out, (width, height), &self.title);
        write_metadata(&mut out, &self.metadata);
        let _ = writeln!(out, r#"<rect width="{width}" height="{height}" fill="{}"/>"#, hex(p.background));
        let title = ruler.fit(&self.title, TITLE, width - 40.0);
        text(&mut out, 20.0, 16.0 + TITLE * 0.8, TITLE, "start", p.strong, &title);
        let _ = writeln!(out, r#"<g fill="none" stroke-linejoin="round">"#);
        // What passes lies on top.
        for passes in [false, true] {
            for line in self.lines.iter().filter(|line| line.passes == passes) {
                let points: Vec<String> = line
                    .places
                    .iter()
                    .enumerate()
                    .map(|(axis, place)| format!("{:.1},{:.1}", x(axis), y(*place)))
                    .collect();
                let (colour, strength) = if passes { (line.colour, 0.95) } else { (p.weak, 0.2) };
                let _ = writeln!(
                    out,
                    r#"<polyline points="{}" stroke="{}" stroke-width="1.8" stroke-opacity="{strength}"><title>{}</title></polyline>"#,
                    points.join(" "),
                    hex(colour),
                    escape(&line.name)
                );
            }
        }
        let _ = writeln!(out, "</g>");
        for (index, axis) in self.axes.iter().enumerate() {
            let x = x(index);
            text(&mut out, x, top - 12.0, TICK, "middle", p.strong, &axis.label);
            if self.colour_by == Some(index) {
                for step in 0..RAMP_STEPS {
                    let share = |step: usize| step as f32 / RAMP_STEPS as f32;
                    let (from, to) = (y(share(step + 1)), y(share(step)));
                    let _ = writeln!(
                        out,
                        r#"<rect x="{:.1}" y="{from:.2}" width="5" height="{:.2}" fill="{}"/>"#,
                        x - 2.5,
                        to - from + 0.3,
                        hex(theme::ramp(share(step) + 0.5 / RAMP_STEPS as f32))
                    );
                }
            } else {
                let _ = writeln!(out, r#"<path d="M{x:.1} {top:.1}V{bottom:.1}" stroke="{}"/>"#, hex(p.weak));
            }
            if let Some((low, high)) = axis.brush {
                let (from, to) = (y(high.min(1.0)), y(low.max(0.0)));
                let _ = writeln!(
                    out,
                    r#"<rect x="{:.1}" y="{from:.1}" width="16" height="{:.1}" fill="{colour}" fill-opacity="0.2" stroke="{colour}"/>"#,
                    x - 8.0,
                    to - from,
                    colour = hex(p.accent)
                );
            }
            let mut last: Option<f64> = None;
            for (place, label) in &axis.ticks {
                let at = y(*place);
                if last.is_some_and(|last| (last - at).abs() < TICK + 2.0) {
                    continue;
                }
                last = Some(at);
                let _ = writeln!(out, r#"<path d="M{:.1} {at:.1}h6" stroke="{}"/>"#, x - 3.0, hex(p.weak));
                // On a ground of its own: lines cross here.
                let _ = writeln!(
                    out,
                    r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" fill="{}" fill-opacity="0.75"/>"#,
                    x + 5.0,
                    at - TICK * 0.6,
                    ruler.width(label, TICK) + 4.0,
                    TICK * 1.2,
                    hex(p.background)
                );
                text(&mut out, x + 7.0, at + TICK * 0.35, TICK, "start", p.text, label);
            }
        }
        for (index, note) in self.notes.iter().enumerate() {
            let y = notes_top + (index as f64 + 0.8) * (NOTE + 4.0);
            text(&mut out, 20.0, y, NOTE, "start", p.weak, &ruler.fit(note, NOTE, width - 40.0));
        }
        out.push_str("</svg>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::drawing_to_png;

    fn figure() -> ParallelFigure {
        let axis = |label: &str, brush| ParallelFigureAxis {
            label: label.to_owned(),
            key: format!("model.{label}"),
            ticks: vec![(0.0, "2".to_owned()), (1.0, "4 <heads>".to_owned())],
            brush,
        };
        let line = |name: &str, share: f32, passes| ParallelFigureLine {
            name: name.to_owned(),
            places: vec![share, 1.0 - share],
            values: vec![format!("{share}"), "0.123456789".to_owned()],
            colour: theme::ramp(share),
            passes,
        };
        ParallelFigure {
            title: "Config & results".to_owned(),
            notes: vec!["1 of 2 lines pass the brushes.".to_owned()],
            axes: vec![axis("heads", Some((0.5, 1.0))), axis("layers", None)],
            colour_by: Some(1),
            lines: vec![line("a, \"b\"", 1.0, true), line("c", 0.0, false)],
            metadata: BTreeMap::from([("runs".to_owned(), "a <b>".to_owned())]),
        }
    }

    #[test]
    fn the_table_holds_what_passes_in_full() {
        let drawing = figure().draw();
        assert_eq!(drawing.csv, "run,model.heads,model.layers\n\"a, \"\"b\"\"\",1,0.123456789\n");
    }

    #[test]
    fn long_names_stand_in_whole_and_the_picture_grows_for_them() {
        let long = "a tokenizer of 32,000 pieces that was trained on every second page of an encyclopedia";
        let room = 3.0 * Ruler::new().width(long, TICK);
        assert!(room > SIZE.0, "the name would fit: {room}");
        let mut of_tick = figure();
        of_tick.axes[1].ticks[1].1 = long.to_owned();
        let mut of_axis = figure();
        of_axis.axes[0].label = long.to_owned();
        for figure in [of_tick, of_axis] {
            let drawing = figure.draw();
            assert!(drawing.svg.contains(&format!(">{long}</text>")), "{}", drawing.svg);
            let png = drawing_to_png(&drawing, 1.0).unwrap();
            let pixels = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
            assert!(f64::from(pixels.width()) >= room, "{} points for {room}", pixels.width());
        }
    }

    #[test]
    fn the_picture_is_sound_and_shows_axes_lines_and_brush() {
        let drawing = figure().draw();
        for part in ["Config &amp; results", "4 &lt;heads&gt;", "a &lt;b&gt;", "1 of 2 lines pass"] {
            assert!(drawing.svg.contains(part), "{part} is missing in\n{}", drawing.svg);
        }
        assert_eq!(drawing.svg.matches("<polyline").count(), 2);
        let png = drawing_to_png(&drawing, 1.0).unwrap();
        let pixels = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (960, 460));
        let colour = theme::ramp(1.0);
        let close = |a: u8, b: u8| a.abs_diff(b) < 14;
        let found = pixels
            .pixels()
            .iter()
            .filter(|p| close(p.red(), colour.r()) && close(p.green(), colour.g()) && close(p.blue(), colour.b()));
        assert!(found.count() > 300, "the line that passes is missing");
        let nothing = ParallelFigure::default().draw();
        assert!(drawing_to_png(&nothing, 1.0).is_ok() && nothing.csv == "run\n");
    }
}
