//! The list of stored benchmarks.

use egui::{Grid, RichText, Ui};
use headroom_engine::store::{BenchmarkId, BenchmarkSummary};

use crate::{format, theme};

/// What was clicked.
pub enum Clicked {
    /// Open it.
    Open(BenchmarkId),
    /// Compare what is open with it.
    Compare(BenchmarkId),
    /// Delete it.
    Delete(BenchmarkId),
}

/// Draws the list.
pub fn list_ui(ui: &mut Ui, all: &[BenchmarkSummary], open: Option<&BenchmarkId>) -> Option<Clicked> {
    let palette = theme::palette(ui.visuals());
    let mut clicked = None;
    Grid::new("benchmarks").striped(true).spacing([14.0, 4.0]).show(ui, |ui| {
        for title in ["Benchmark", "When (UTC)", "Points", "Device", "Program", "Machine", ""] {
            ui.label(RichText::new(title).small().color(palette.weak));
        }
        ui.end_row();
        for known in all {
            let is_open = open == Some(&known.id);
            let button = ui.add(egui::Button::selectable(is_open, &known.name));
            if button.on_hover_text(format!("Opens it. Id {}", known.id)).clicked() {
                clicked = Some(Clicked::Open(known.id.clone()));
            }
            ui.label(format::date_time(known.created_ms as f64 / 1e3));
            ui.label(if known.is_complete() {
                format::count(known.points)
            } else {
                format!("{} of {}", known.points, known.points_total)
            });
            ui.label(known.device_words());
            ui.label(known.program());
            ui.label(&known.machine.cpu);
            ui.horizontal(|ui| {
                if !is_open && open.is_some() {
                    let compare = ui.small_button("Compare").on_hover_text("Ratios of what both have measured");
                    if compare.accessible_name(format!("Compare with {}", known.name)).clicked() {
                        clicked = Some(Clicked::Compare(known.id.clone()));
                    }
                }
                let delete = ui.small_button("Delete").on_hover_text("Ctrl+Z brings it back");
                if delete.accessible_name(format!("Delete {}", known.name)).clicked() {
                    clicked = Some(Clicked::Delete(known.id.clone()));
                }
            });
            ui.end_row();
        }
    });
    clicked
}
