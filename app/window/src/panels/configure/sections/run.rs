use egui::Ui;
use headroom_engine::{
    config::{DeviceChoice, Precision, RunConfig},
    machine::DeviceInfo,
};

use super::super::{
    field::field,
    form::{Form, note_ui},
};
use crate::format::with_capital;

/// Name, seed, device.
pub fn run_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig, devices: &[DeviceInfo]) {
    form.text(ui, field!("name"), &mut config.name);
    form.whole(ui, field!("seed"), &mut config.seed);
    let mut known: Vec<(DeviceChoice, &str)> = devices
        .iter()
        .filter(|device| device.available)
        .filter_map(|device| Some((device.id.parse().ok()?, device.id.as_str())))
        .collect();
    let chosen = config.device.to_string();
    if !known.iter().any(|(choice, _)| *choice == config.device) {
        known.push((config.device, &chosen));
    }
    form.choice(ui, field!("device"), &mut config.device, &known);
    if let Some(device) = devices.iter().find(|device| device.id == config.device.to_string()) {
        note_ui(ui, &device.name);
    }
    for device in devices.iter().filter(|device| !device.available) {
        if let Some(note) = &device.note {
            note_ui(ui, &format!("{}: {note}", device.name));
        }
    }
    if config.device == DeviceChoice::Cpu {
        form.size(ui, field!("threads"), &mut config.threads);
        if let Some(note) = config.threads_note() {
            note_ui(ui, &note);
        }
    }
    form.named(ui, field!("precision"), &mut config.precision, &Precision::ALL);
    if config.precision.is_paired_on(config.device)
        && let Some(note) = devices.iter().find(|device| device.id == "cpu").and_then(|device| device.note.as_deref())
    {
        note_ui(ui, &format!("{}.", with_capital(note)));
    }
}
