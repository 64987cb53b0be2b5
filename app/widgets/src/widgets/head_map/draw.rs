//! The strokes and letters of a head map.

use egui::{
    Align2, Color32, FontId, Painter, Pos2, Rect, Response, Sense, Shape, Stroke, StrokeKind, Ui, Vec2, pos2, vec2,
};

use super::{Arrow, HeadCell, HeadSpot, group_letters};
use crate::theme::{self, Palette};

/// Roundness of cells.
const CORNER: f32 = 3.0;
/// Width of a letter, to know what fits.
const LETTER: f32 = 6.6;
/// Width of the triangle before the name of a lender, with its gap.
const MARK: f32 = 8.0;

/// A lender as it stands in a cell.
fn name_of(from: HeadSpot) -> String {
    format!("{}.{}", from.layer, from.head)
}

/// The letters that a cell holds: those of the config file.
fn letters(cell: HeadCell) -> String {
    match cell {
        HeadCell::Computes => "c".to_owned(),
        HeadCell::Borrows { from, .. } => name_of(from),
        HeadCell::Alike { group } => group_letters(group),
        HeadCell::Skips | HeadCell::Alone => String::new(),
        HeadCell::Wrong => "!".to_owned(),
    }
}

/// Points before the letters of a cell: what is borrowed has its triangle before the name of its lender, for the name alone looks like
/// a number.
fn mark(cell: HeadCell) -> f32 {
    if matches!(cell, HeadCell::Borrows { .. }) { MARK } else { 0.0 }
}

/// Whether a cell so wide has room for its letters.
pub(super) fn fits(cell: HeadCell, width: f32) -> bool {
    letters(cell).len() as f32 * LETTER + mark(cell) <= width - 2.0
}

/// One cell: its colour says what the head does, and so does its letter or shape.
pub(super) fn paint_cell(
    painter: &Painter,
    palette: &Palette,
    rect: Rect,
    cell: HeadCell,
    family: Option<usize>,
    has_room: bool,
) {
    let centre = rect.center();
    let fill = match cell {
        HeadCell::Computes | HeadCell::Borrows { .. } if family.is_some() => {
            // The first colour of runs is that of heads that compute.
            theme::run_colour(family.unwrap_or(0) as u64 + 1)
        }
        HeadCell::Computes => palette.computes,
        HeadCell::Borrows { .. } => palette.borrows,
        HeadCell::Alike { group } => theme::run_colour(group as u64),
        HeadCell::Skips | HeadCell::Alone | HeadCell::Wrong => palette.well,
    };
    painter.rect_filled(rect, CORNER, fill);
    let letters = letters(cell);
    let fits = has_room && fits(cell, rect.width());
    let font = FontId::proportional(12.0_f32.min(rect.height() - 2.0));
    match cell {
        HeadCell::Computes | HeadCell::Alike { .. } if fits => {
            painter.text(centre, Align2::CENTER_CENTER, letters, font, theme::ink(fill));
        }
        HeadCell::Borrows { .. } if fits => {
            let ink = theme::ink(fill);
            let name = painter.text(centre + vec2(MARK / 2.0, 0.0), Align2::CENTER_CENTER, letters, font, ink);
            triangle(painter, pos2(name.left() - MARK / 2.0, centre.y), 3.0, ink);
        }
        HeadCell::Computes | HeadCell::Alike { .. } => {}
        HeadCell::Alone => {
            painter.rect_stroke(rect, CORNER, Stroke::new(1.0, palette.line), StrokeKind::Inside);
        }
        HeadCell::Borrows { .. } => {
            triangle(painter, centre, (rect.height().min(rect.width()) * 0.28).max(2.5), theme::ink(fill));
        }
        HeadCell::Skips => {
            painter.rect_stroke(rect, CORNER, Stroke::new(1.0, palette.line), StrokeKind::Inside);
            let half = (rect.width() * 0.2).min(5.0);
            let ends = [pos2(centre.x - half, centre.y), pos2(centre.x + half, centre.y)];
            painter.line_segment(ends, Stroke::new(1.5, palette.weak));
        }
        HeadCell::Wrong => {
            painter.rect_stroke(rect, CORNER, Stroke::new(1.5, palette.error), StrokeKind::Inside);
            painter.text(centre, Align2::CENTER_CENTER, letters, font, palette.error);
        }
    }
}

/// A triangle that points to the layers before.
fn triangle(painter: &Painter, centre: Pos2, size: f32, ink: Color32) {
    let corners = [vec2(0.0, -size), vec2(size, size * 0.8), vec2(-size, size * 0.8)];
    painter.add(Shape::convex_polygon(corners.map(|corner| centre + corner).into(), ink, Stroke::NONE));
}

/// An outline around a cell.
pub(super) fn paint_outline(painter: &Painter, rect: Rect, stroke: Stroke) {
    painter.rect_stroke(rect.expand(1.0), CORNER + 1.0, stroke, StrokeKind::Middle);
}

/// How an arrow is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole,
    Dashed,
}

/// An arrow that can be seen on every cell.
pub(super) fn paint_arrow(painter: &Painter, palette: &Palette, arrow: &Arrow, line: Line, stroke: Stroke) {
    let halo = Stroke::new(stroke.width + 3.0, palette.surface);
    let ends = [arrow.start, arrow.foot];
    painter.line_segment(ends, halo);
    painter.add(Shape::convex_polygon(arrow.tip.into(), stroke.color, Stroke::new(1.5, palette.surface)));
    match line {
        Line::Whole => {
            painter.line_segment(ends, stroke);
        }
        Line::Dashed => {
            painter.extend(Shape::dashed_line(&ends, stroke, 4.0, 3.0));
        }
    }
}

/// Colours of groups that the legend shows.
const GROUPS: usize = 4;

/// What colours and shapes mean, each with how many heads it holds for. Kinds that no head is of are left out. `has_families`:
/// whether lenders are told apart by their colours. `lender`: one of those whose names stand in cells.
pub(super) fn legend_ui(ui: &mut Ui, counts: [usize; 5], groups: usize, has_families: bool, lender: Option<HeadSpot>) {
    let palette = theme::palette(ui.visuals());
    let at = HeadSpot::new(0, 0);
    let kinds = [
        (HeadCell::Computes, "computes", "compute", "The head scores its own map."),
        (
            HeadCell::Borrows { from: at, origin: at },
            "borrows",
            "borrow",
            "The head uses another head's map: it has no query and key of its own, but values and output.",
        ),
        (HeadCell::Skips, "off", "off", "The head does not exist: no map, no values, no output."),
        (
            HeadCell::Alike { group: 0 },
            "in a group",
            "in groups",
            "Heads with the same letter and colour are similar: every two of them at least to the chosen degree.",
        ),
        (HeadCell::Alone, "in no group", "in no group", "No other head is that similar."),
    ];
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(5.0, 2.0);
        ui.spacing_mut().interact_size.y = 16.0;
        for ((cell, one, many, about), count) in kinds.into_iter().zip(counts) {
            if count > 0 {
                let borrows = has_families && matches!(cell, HeadCell::Borrows { .. });
                sample_ui(ui, cell, borrows.then_some(0));
                if matches!(cell, HeadCell::Alike { .. }) {
                    for group in 1..groups.min(GROUPS) {
                        sample_ui(ui, HeadCell::Alike { group }, None);
                    }
                }
                let mut words = if count == 1 { format!("1 {one}") } else { format!("{count} {many}") };
                if borrows {
                    words += ", in the colour of the lender";
                } else if has_families && cell == HeadCell::Computes {
                    words += ", each lender in its colour";
                }
                if let (HeadCell::Borrows { .. }, Some(from)) = (cell, lender) {
                    words = format!("{words}; {} is {from}", name_of(from));
                }
                ui.label(egui::RichText::new(words).small().color(palette.weak)).on_hover_text(about);
                ui.add_space(8.0);
            }
        }
    });
}

fn sample_ui(ui: &mut Ui, cell: HeadCell, family: Option<usize>) -> Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::new(15.0, 13.0), Sense::HOVER);
    paint_cell(ui.painter(), theme::palette(ui.visuals()), rect, cell, family, false);
    response
}
