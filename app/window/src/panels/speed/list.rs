//! The list of stored benchmarks.

use egui::{Grid, RichText, Ui};
use headroom_engine::store::{BenchmarkId, BenchmarkSummary};

use crate::{format, theme};

/// Widths of the panel, in points, from which the device, and the program and the machine, have room as columns; the name's hover text has
/// them always.
const DEVICE_FROM: f32 = 860.0;
const MACHINE_FROM: f32 = 1300.0;

/// What was clicked.
pub enum Clicked {
    /// Open it.
    Open(BenchmarkId),
    /// Compare what is open with it.
    Compare(BenchmarkId),
    /// Delete it.
    Delete(BenchmarkId),
}

/// Draws the list in a panel of this width in points.
pub fn list_ui(ui: &mut Ui, all: &[BenchmarkSummary], open: Option<&BenchmarkId>, width: f32) -> Option<Clicked> {
    let palette = theme::palette(ui.visuals());
    let mut clicked = None;
    let (has_device, has_machine) = (width >= DEVICE_FROM, width >= MACHINE_FROM);
    Grid::new("benchmarks").striped(true).spacing([14.0, 4.0]).show(ui, |ui| {
        let others: &[&str] = match (has_device, has_machine) {
            (_, true) => &["Device", "Program", "Machine"],
            (true, false) => &["Device"],
            (false, false) => &[],
        };
        for title in ["Benchmark", "", "When (UTC)", "Points"].iter().chain(others) {
            ui.label(RichText::new(*title).small().color(palette.weak));
        }
        ui.end_row();
        for known in all {
            let is_open = open == Some(&known.id);
            let button = ui.add(egui::Button::selectable(is_open, &known.name));
            let about = format!(
                "Opens it. {}, {}, {}. Id {}",
                known.device_words(),
                known.program(),
                known.machine.cpu,
                known.id
            );
            if button.on_hover_text(about).clicked() {
                clicked = Some(Clicked::Open(known.id.clone()));
            }
            actions_ui(ui, known, open, &mut clicked);
            ui.label(format::date_time(known.created_ms as f64 / 1e3));
            ui.label(if known.is_complete() {
                format::count(known.points)
            } else {
                format!("{} of {}", known.points, known.points_total)
            });
            if has_device {
                ui.label(known.device_words());
            }
            if has_machine {
                ui.label(known.program());
                ui.label(&known.machine.cpu);
            }
            ui.end_row();
        }
    });
    clicked
}

/// What can be done with a benchmark.
fn actions_ui(ui: &mut Ui, known: &BenchmarkSummary, open: Option<&BenchmarkId>, clicked: &mut Option<Clicked>) {
    ui.horizontal(|ui| {
        if open.is_some_and(|open| *open != known.id) {
            let compare = ui.small_button("Compare").on_hover_text("Ratios of what both have measured");
            if compare.accessible_name(format!("Compare with {}", known.name)).clicked() {
                *clicked = Some(Clicked::Compare(known.id.clone()));
            }
        }
        let delete = ui.small_button("Delete").on_hover_text("Ctrl+Z brings it back");
        if delete.accessible_name(format!("Delete {}", known.name)).clicked() {
            *clicked = Some(Clicked::Delete(known.id.clone()));
        }
    });
}
