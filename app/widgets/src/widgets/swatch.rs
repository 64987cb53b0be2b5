//! The sample of a run's line: colour and dash as the chart draws them.

use egui::{Response, Sense, Shape, Stroke, Ui, Vec2, pos2};

use crate::theme::LineStyle;

/// How much thicker than the line its sample is, in points.
const THICKER: f32 = 0.9;

/// Draws a short piece of the line. Purely visual: the name beside it says what it stands for.
pub fn swatch_ui(ui: &mut Ui, style: LineStyle) -> Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::new(24.0, 14.0), Sense::CLICK | Sense::HOVER);
    if ui.is_rect_visible(rect) {
        let ends = [pos2(rect.left(), rect.center().y), pos2(rect.right(), rect.center().y)];
        let stroke = Stroke::new(style.width + THICKER, style.colour);
        match style.dash.pattern() {
            [] => {
                ui.painter().line_segment(ends, stroke);
            }
            pattern => {
                let on: Vec<f32> = pattern.iter().step_by(2).copied().collect();
                let off: Vec<f32> = pattern.iter().skip(1).step_by(2).copied().collect();
                ui.painter().extend(Shape::dashed_line_with_offset(&ends, stroke, &on, &off, 0.0));
            }
        }
    }
    response
}
