use std::fmt::Write as _;

use base64::prelude::{BASE64_STANDARD, Engine as _};

use super::{MapBlocks, MapFigure, pixels::map_pixels};
use crate::{
    export::svg::{LABEL, NOTE, Ruler, TICK, escape, open, text, write_metadata},
    theme::{self, hex},
};

const TITLE: f64 = 17.0;
const SUBTITLE: f64 = 12.5;
/// The sides of the map at most.
const WIDEST: f64 = 620.0;
const HIGHEST: f64 = 560.0;
/// The largest cell.
const LARGEST: f64 = 46.0;
/// Between the map and its colour bar.
const BAR_GAP: f64 = 18.0;
const BAR: f64 = 14.0;
/// The most cells that are drawn as shapes, which every editor can take apart; beyond that the map is a picture.
const MOST_SHAPES: usize = 20_000;

/// Where the map stands in the document, in points: left, top, width, height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// The figure as SVG: real text, the cells as shapes or, where there are very many, as a picture in it.
pub fn map_to_svg(figure: &MapFigure) -> String {
    document(figure, true).0
}

/// The document with or without what the cells look like, and where they are.
pub(super) fn document(figure: &MapFigure, has_cells: bool) -> (String, Place) {
    let mut ruler = Ruler::new();
    let p = &theme::PAPER;
    let (rows, columns) = (figure.rows.len().max(1) as f64, figure.columns.len().max(1) as f64);
    let mut cell = (LARGEST.min(WIDEST / columns), LARGEST.min(HIGHEST / rows));
    if !figure.is_stretched {
        cell = (cell.0.min(cell.1), cell.0.min(cell.1));
    }
    let (width, height) = (cell.0 * columns, cell.1 * rows);
    let name_width = |ruler: &mut Ruler, axis: &crate::plot::HeatAxis, range: &std::ops::Range<usize>| {
        range.clone().take(4096).map(|index| ruler.width(&axis.short(index), TICK)).fold(0.0, f64::max)
    };
    let widest =
        |ruler: &mut Ruler, names: &[String]| names.iter().map(|name| ruler.width(name, TICK)).fold(0.0, f64::max);
    let (row_names, column_names) = match &figure.blocks {
        Some(blocks) => (widest(&mut ruler, &blocks.rows), 0.0),
        None => (
            name_width(&mut ruler, &figure.row_axis, &figure.rows),
            name_width(&mut ruler, &figure.column_axis, &figure.columns),
        ),
    };
    // Maps beside each other are named, not their rows.
    let own = |every: Option<usize>| every.filter(|_| figure.blocks.is_none());
    let row_every = own(figure.row_axis.every(cell.1 as f32, TICK as f32));
    let level_every = figure.column_axis.every(cell.0 as f32, column_names as f32 + 6.0);
    let is_level = level_every.is_some_and(|every| every == 1 || column_names < 30.0);
    let column_every = own(if is_level { level_every } else { figure.column_axis.every(cell.0 as f32, TICK as f32) });

    let mut top = 16.0;
    let title_y = top + TITLE * 0.8;
    top += if figure.title.is_empty() { 0.0 } else { TITLE + 7.0 };
    let subtitle_y = top + SUBTITLE * 0.8;
    top += if figure.subtitle.is_empty() { 0.0 } else { SUBTITLE + 7.0 };
    let column_title_y = top + 6.0 + LABEL * 0.8;
    top += if figure.column_axis.title.is_empty() { 6.0 } else { LABEL + 14.0 };
    top += match column_every {
        None if figure.blocks.is_some() => TICK + 6.0,
        None => 0.0,
        Some(_) if is_level => TICK + 6.0,
        Some(_) => column_names + 6.0,
    };
    let row_title = if figure.row_axis.title.is_empty() { 0.0 } else { LABEL + 8.0 };
    let left = 16.0 + row_title + if row_every.is_some() || figure.blocks.is_some() { row_names + 7.0 } else { 0.0 };
    let ticks = figure.tone.ticks((height / 40.0).clamp(2.0, 8.0) as usize);
    let tick_width = ticks.iter().map(|(_, label)| ruler.width(label, TICK)).fold(0.0, f64::max);
    let value_room = if figure.value.is_empty() { 0.0 } else { LABEL + 10.0 };
    let bar_left = left + width + BAR_GAP;
    let right = bar_left + BAR + 8.0 + tick_width + value_room + 16.0;
    let title_width = ruler.width(&figure.title, TITLE).max(ruler.width(&figure.subtitle, SUBTITLE));
    let note_width = figure.notes.iter().map(|note| ruler.width(note, NOTE)).fold(0.0, f64::max);
    let whole = (right.max(left + title_width.max(note_width).min(WIDEST) + 16.0), {
        let notes = figure.notes.len() as f64 * (NOTE + 4.0);
        top + height.max(60.0) + if notes > 0.0 { notes + 12.0 } else { 0.0 } + 16.0
    });
    let place = Place { left, top, width, height };

    let mut out = String::with_capacity(1 << 16);
    open(&mut out, whole, &figure.title);
    write_metadata(&mut out, &figure.metadata);
    let _ = writeln!(
        out,
        r#"<defs><linearGradient id="tone" x1="0" y1="1" x2="0" y2="0">{}</linearGradient><pattern id="nothing" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="{}"/><path d="M0 0V6" stroke="{}"/></pattern></defs>"#,
        stops(figure),
        hex(p.background),
        hex(theme::BACKDROP)
    );
    let _ = writeln!(out, r#"<rect width="{:.1}" height="{:.1}" fill="{}"/>"#, whole.0, whole.1, hex(p.background));
    let room = whole.0 - left - 16.0;
    if !figure.title.is_empty() {
        text(&mut out, left, title_y, TITLE, "start", p.strong, &ruler.fit(&figure.title, TITLE, room));
    }
    if !figure.subtitle.is_empty() {
        text(&mut out, left, subtitle_y, SUBTITLE, "start", p.weak, &ruler.fit(&figure.subtitle, SUBTITLE, room));
    }
    if figure.data.extent().has_gaps {
        let _ = writeln!(
            out,
            r#"<rect x="{left:.2}" y="{top:.2}" width="{width:.2}" height="{height:.2}" fill="url(#nothing)"/>"#
        );
    }
    if let Some(blocks) = &figure.blocks {
        write_blocks(&mut out, blocks, place, cell);
    }
    if has_cells {
        write_cells(&mut out, figure, place);
    }
    let _ = writeln!(
        out,
        r#"<rect x="{left:.2}" y="{top:.2}" width="{width:.2}" height="{height:.2}" fill="none" stroke="{}"/>"#,
        hex(p.line)
    );
    for row in figure.rows.clone().filter(|row| row_every.is_some_and(|every| row.is_multiple_of(every))) {
        let y = top + (row - figure.rows.start) as f64 * cell.1 + cell.1 / 2.0 + TICK * 0.35;
        text(&mut out, left - 7.0, y, TICK, "end", p.weak, &figure.row_axis.short(row));
    }
    for column in figure.columns.clone().filter(|at| column_every.is_some_and(|every| at.is_multiple_of(every))) {
        let x = left + (column - figure.columns.start) as f64 * cell.0 + cell.0 / 2.0;
        let name = figure.column_axis.short(column);
        if is_level {
            text(&mut out, x, top - 6.0, TICK, "middle", p.weak, &name);
        } else {
            upright(&mut out, (x + TICK * 0.35, top - 6.0), TICK, "start", &name);
        }
    }
    if !figure.column_axis.title.is_empty() {
        text(&mut out, left + width / 2.0, column_title_y, LABEL, "middle", p.text, &figure.column_axis.title);
    }
    if !figure.row_axis.title.is_empty() {
        upright(&mut out, (16.0 + LABEL * 0.8, top + height / 2.0), LABEL, "middle", &figure.row_axis.title);
    }
    let bar_height = height.max(60.0);
    let _ = writeln!(
        out,
        r#"<rect x="{bar_left:.2}" y="{top:.2}" width="{BAR}" height="{bar_height:.2}" fill="url(#tone)" stroke="{}"/>"#,
        hex(p.line)
    );
    for (at, label) in ticks {
        let y = top + bar_height * (1.0 - f64::from(at));
        let _ = writeln!(out, r#"<path d="M{:.2} {y:.2}h4" stroke="{}"/>"#, bar_left + BAR, hex(p.line));
        text(&mut out, bar_left + BAR + 7.0, y + TICK * 0.35, TICK, "start", p.weak, &label);
    }
    if !figure.value.is_empty() {
        let x = bar_left + BAR + 8.0 + tick_width + LABEL + 4.0;
        upright(&mut out, (x, top + bar_height / 2.0), LABEL, "middle", &figure.value);
    }
    for (line, note) in figure.notes.iter().enumerate() {
        let y = top + height.max(60.0) + 12.0 + (line as f64 + 0.8) * (NOTE + 4.0);
        text(&mut out, left, y, NOTE, "start", p.weak, &ruler.fit(note, NOTE, room));
    }
    out.push_str("</svg>\n");
    (out, place)
}

/// The ground between maps, and their names.
fn write_blocks(out: &mut String, blocks: &MapBlocks, place: Place, cell: (f64, f64)) {
    let Place { left, top, width, height } = place;
    let (step, ground) = ((blocks.side + 1) as f64, hex(theme::PAPER.background));
    let middle = |at: usize, cell: f64| (at as f64 * step + blocks.side as f64 / 2.0) * cell;
    for (at, name) in blocks.rows.iter().enumerate() {
        let y = top + middle(at, cell.1) + TICK * 0.35;
        text(out, left - 7.0, y, TICK, "end", theme::PAPER.weak, name);
        if at > 0 {
            let y = top + (at as f64 * step - 1.0) * cell.1;
            let _ = writeln!(
                out,
                r#"<rect x="{left:.2}" y="{y:.2}" width="{width:.2}" height="{:.2}" fill="{ground}"/>"#,
                cell.1
            );
        }
    }
    for (at, name) in blocks.columns.iter().enumerate() {
        text(out, left + middle(at, cell.0), top - 6.0, TICK, "middle", theme::PAPER.weak, name);
        if at > 0 {
            let x = left + (at as f64 * step - 1.0) * cell.0;
            let _ = writeln!(
                out,
                r#"<rect x="{x:.2}" y="{top:.2}" width="{:.2}" height="{height:.2}" fill="{ground}"/>"#,
                cell.0
            );
        }
    }
}

/// A line of text that is read from below.
fn upright(out: &mut String, (x, y): (f64, f64), size: f64, anchor: &str, content: &str) {
    let _ = writeln!(
        out,
        r#"<text transform="translate({x:.1} {y:.1}) rotate(-90)" font-size="{size}" text-anchor="{anchor}" fill="{}">{}</text>"#,
        hex(theme::PAPER.text),
        escape(content)
    );
}

/// The colours of the bar.
fn stops(figure: &MapFigure) -> String {
    let stop = |step: u8| {
        let share = f32::from(step) / 20.0;
        format!(r#"<stop offset="{share:.2}" stop-color="{}"/>"#, hex(figure.tone.colours.colour(share)))
    };
    (0..=20).map(stop).collect()
}

fn write_cells(out: &mut String, figure: &MapFigure, place: Place) {
    let (rows, columns) = (figure.rows.len(), figure.columns.len());
    if rows * columns > MOST_SHAPES {
        if let Some(png) = map_pixels(figure).and_then(|pixels| pixels.encode_png().ok()) {
            let Place { left, top, width, height } = place;
            let _ = writeln!(
                out,
                r#"<image x="{left:.2}" y="{top:.2}" width="{width:.2}" height="{height:.2}" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{}"/>"#,
                BASE64_STANDARD.encode(&png)
            );
        }
        return;
    }
    // A hair larger than the cell, so that no line of the ground shows between two of them.
    let (step_x, step_y) = (place.width / columns.max(1) as f64, place.height / rows.max(1) as f64);
    let _ = writeln!(out, r#"<g shape-rendering="crispEdges">"#);
    for (line, row) in figure.rows.clone().enumerate() {
        let colour = |column| figure.tone.colour(figure.data.at(row, column));
        let y = place.top + line as f64 * step_y;
        let mut column = figure.columns.start;
        while column < figure.columns.end {
            // Neighbours of one colour are one shape.
            let found = colour(column);
            let end = (column..figure.columns.end).find(|&next| colour(next) != found).unwrap_or(figure.columns.end);
            if let Some(found) = found {
                let x = place.left + (column - figure.columns.start) as f64 * step_x;
                let width = (end - column) as f64 * step_x;
                let _ = writeln!(
                    out,
                    r#"<rect x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{step_y:.2}" fill="{}"/>"#,
                    hex(found)
                );
            }
            column = end;
        }
    }
    let _ = writeln!(out, "</g>");
}
