//! The row of choices that all charts of a panel share.

use egui::{ComboBox, Key, Ui};

use super::{slider_ui, together_ui};
use crate::{
    keys,
    plot::{MAX_SMOOTHING, XAxis},
};

/// Below this width of the row, in points, the slider is shorter.
const NARROW: f32 = 640.0;

/// The choices, borrowed from what the panel remembers.
pub struct ChartOptions<'a> {
    /// What x counts.
    pub x: &'a mut XAxis,
    /// What it may count.
    pub axes: &'a [XAxis],
    /// Logarithmic x, where that is offered.
    pub log_x: Option<&'a mut bool>,
    /// Logarithmic y.
    pub log_y: &'a mut bool,
    /// Weight of the past, 0..=0.999.
    pub smoothing: &'a mut f64,
    /// Fits y to the 5th to 95th percentile.
    pub ignore_outliers: &'a mut bool,
    /// Whether a chart is zoomed.
    pub is_zoomed: bool,
}

impl ChartOptions<'_> {
    /// Draws them into a row. Returns whether the zoom is to be reset.
    pub fn ui(self, ui: &mut Ui) -> bool {
        if keys::plain(ui.ctx(), Key::Y) {
            *self.log_y = !*self.log_y;
        }
        together_ui(ui, "x axis", |ui| {
            ui.label("X axis");
            let combo = ComboBox::from_id_salt("x axis").selected_text(self.x.label()).show_ui(ui, |ui| {
                for &x in self.axes {
                    ui.selectable_value(self.x, x, x.label());
                }
            });
            combo.response.accessible_name("X axis");
        });
        if let Some(log_x) = self.log_x {
            ui.checkbox(log_x, "Log x").on_hover_text("Logarithmic x");
        }
        ui.checkbox(self.log_y, "Log y").on_hover_text("Logarithmic y (y)");
        let is_narrow = ui.max_rect().width() < NARROW;
        together_ui(ui, "smoothing", |ui| {
            ui.label("Smoothing");
            if is_narrow {
                ui.spacing_mut().slider_width = 80.0;
            }
            let slider = slider_ui(ui, self.smoothing, 0.0..=MAX_SMOOTHING, |slider| slider.fixed_decimals(2));
            slider.accessible_name("Smoothing").on_hover_text(
                "Debiased moving average: last = s·last + (1 − s)·y; shown: last / (1 − sⁿ). \
                 Curves of fewer than 30 points are drawn as they are.",
            );
        });
        ui.checkbox(self.ignore_outliers, "Ignore outliers")
            .on_hover_text("Fits y to the 5th to 95th percentile of what is in view");
        self.is_zoomed && ui.button("Reset zoom").on_hover_text("A double click on a chart does the same").clicked()
    }
}
