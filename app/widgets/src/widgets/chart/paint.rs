//! All lines of a chart as one item of an `egui_plot` plot.

use std::cell::{Cell, RefCell};
use std::ops::RangeInclusive;
use std::time::Duration;

use egui::{Align2, Color32, Shape, Stroke, TextStyle, Ui, Vec2, pos2, vec2};
use egui_plot::{PlotBounds, PlotGeometry, PlotItem, PlotItemBase, PlotTransform};

use super::drawn::RENEWED_COLUMNS;
use super::line::ChartLine;
use super::scene::{MANY_LINES, Scene};
use super::state::ChartState;
use crate::plot::Scale;

/// How long the view must rest before many lines are drawn in full.
const REFINE_AFTER: Duration = Duration::from_millis(100);

/// Draws bands, then unsmoothed lines, then lines, then the highlighted line, from the caches of the chart.
pub(super) struct Lines<'a> {
    pub base: PlotItemBase,
    pub given: &'a [ChartLine<'a>],
    pub state: RefCell<&'a mut ChartState>,
    pub highlight: Option<u64>,
    pub x_scale: Scale,
    /// An x position to mark, from the chart that the pointer is over.
    pub pointer_x: Option<(f64, Color32)>,
    /// Charts that are drawn in a frame.
    pub among: usize,
}

impl PlotItem for Lines<'_> {
    fn shapes(&self, ui: &Ui, transform: &PlotTransform, shapes: &mut Vec<Shape>) {
        let Ok(mut state) = self.state.try_borrow_mut() else { return };
        let state = &mut **state;
        state.size = transform.frame().size();
        let (min, max) = (transform.bounds().min(), transform.bounds().max());
        let view = [min[0], min[1], max[0], max[1]].map(f64::to_bits);
        let is_moved = state.view.replace(view) != Some(view);
        // Of all charts of the frame.
        let all_lines = self.given.len() * self.among;
        let is_rough = is_moved && all_lines > MANY_LINES && is_navigating(ui);
        if is_rough {
            ui.ctx().request_repaint_after(REFINE_AFTER);
        }
        let (renewable, is_unfinished) = (Cell::new((RENEWED_COLUMNS / self.among).max(1)), Cell::new(false));
        let scene = Scene {
            transform,
            pixels_per_point: ui.ctx().pixels_per_point(),
            lines: all_lines,
            is_rough,
            renewable: &renewable,
            is_unfinished: &is_unfinished,
        };
        let rebuilt = &mut state.rebuilt;
        let caches = &mut state.lines;
        if let Some((x, colour)) = self.pointer_x {
            let at = transform.position_from_point_x(x);
            let frame = transform.frame();
            shapes
                .push(Shape::line_segment([pos2(at, frame.top()), pos2(at, frame.bottom())], Stroke::new(1.0, colour)));
        }
        for line in self.given {
            let key = (line.id, line.series.version().generation);
            shapes.extend(caches.get_mut(&key).and_then(|cache| cache.band_shape(scene, line, rebuilt)));
        }
        for line in self.given {
            let key = (line.id, line.series.version().generation);
            shapes.extend(caches.get_mut(&key).and_then(|cache| cache.raw_shape(scene, line, rebuilt)));
        }
        for highlighted in [false, true] {
            for line in self.given.iter().filter(|line| (self.highlight == Some(line.id)) == highlighted) {
                let key = (line.id, line.series.version().generation);
                shapes
                    .extend(caches.get_mut(&key).and_then(|cache| cache.main_shape(scene, line, highlighted, rebuilt)));
                self.marks(ui, transform, line, shapes);
            }
        }
        if is_unfinished.get() {
            ui.ctx().request_repaint();
        }
    }

    fn initialize(&mut self, _x_range: RangeInclusive<f64>) {}

    fn color(&self) -> Color32 {
        Color32::TRANSPARENT
    }

    fn geometry(&self) -> PlotGeometry<'_> {
        PlotGeometry::None
    }

    fn bounds(&self) -> PlotBounds {
        PlotBounds::NOTHING
    }

    fn base(&self) -> &PlotItemBase {
        &self.base
    }

    fn base_mut(&mut self) -> &mut PlotItemBase {
        &mut self.base
    }
}

/// Whether the user moves the view now: a view that moves because a run grows is drawn in full.
fn is_navigating(ui: &Ui) -> bool {
    ui.input(|input| input.pointer.any_down() || input.smooth_scroll_delta() != Vec2::ZERO || input.zoom_delta() != 1.0)
}

impl Lines<'_> {
    /// The vertical marks of a line, each with its text at the bottom.
    fn marks(&self, ui: &Ui, transform: &PlotTransform, line: &ChartLine<'_>, shapes: &mut Vec<Shape>) {
        let frame = transform.frame();
        for (x, label) in line.marks {
            let at = transform.position_from_point_x(self.x_scale.forward(*x));
            if !frame.x_range().contains(at) {
                continue;
            }
            let stroke = Stroke::new(1.0, line.colour.gamma_multiply(0.7));
            shapes.extend(Shape::dashed_line(&[pos2(at, frame.top()), pos2(at, frame.bottom())], stroke, 2.0, 3.0));
            let (align, shift) = if at > frame.center().x {
                (Align2::RIGHT_BOTTOM, vec2(-4.0, -4.0))
            } else {
                (Align2::LEFT_BOTTOM, vec2(4.0, -4.0))
            };
            let font = TextStyle::Small.resolve(ui.style());
            shapes.push(ui.fonts_mut(|fonts| {
                Shape::text(fonts, pos2(at, frame.bottom()) + shift, align, label, font, line.colour)
            }));
        }
    }
}
