use egui::Ui;
use headroom_engine::{
    config::{DeviceChoice, Precision, RunConfig},
    machine::DeviceInfo,
};

use super::super::{
    field::Words,
    form::{Form, note_ui},
};
use crate::format::with_capital;

const NAME: Words = Words::new("name", "Name", "Name of the run. It need not be unique.");
const SEED: Words = Words::new(
    "seed",
    "Seed",
    "Everything random in the run comes from it: initial weights, order of the text, dropout, masking. Same config and \
     same seed give the same curve.",
);
const DEVICE: Words = Words::new("device", "Device", "Device that the run computes on.");
const THREADS: Words =
    Words::new("threads", "Threads", "Threads that compute on the processor; 0 = one for each core.").unit("0 = all");
const PRECISION: Words = Words::new(
    "precision",
    "Precision",
    "The number format of weights, activations and gradients. 64 bits run at half the speed: for checking numerics.",
);

pub(super) const WORDS: [Words; 5] = [NAME, SEED, DEVICE, THREADS, PRECISION];

/// Name, seed, device.
pub fn run_ui(ui: &mut Ui, form: &mut Form<'_>, config: &mut RunConfig, devices: &[DeviceInfo]) {
    form.text(ui, NAME, &mut config.name);
    form.whole(ui, SEED, &mut config.seed, 1);
    let mut known: Vec<(DeviceChoice, &str)> = devices
        .iter()
        .filter(|device| device.available)
        .filter_map(|device| Some((device.id.parse().ok()?, device.id.as_str())))
        .collect();
    let chosen = config.device.to_string();
    if !known.iter().any(|(choice, _)| *choice == config.device) {
        known.push((config.device, &chosen));
    }
    form.choice(ui, DEVICE, &mut config.device, &known);
    if let Some(device) = devices.iter().find(|device| device.id == config.device.to_string()) {
        note_ui(ui, &device.name);
    }
    for device in devices.iter().filter(|device| !device.available) {
        if let Some(note) = &device.note {
            note_ui(ui, &format!("{}: {note}", device.name));
        }
    }
    if config.device == DeviceChoice::Cpu {
        form.size(ui, THREADS, &mut config.threads, 1);
        if let Some(note) = config.threads_note() {
            note_ui(ui, &note);
        }
    }
    let precisions = Precision::ALL.map(|precision| {
        let label = match precision {
            Precision::F32 => "32-bit floats",
            Precision::Tf32 => "32-bit floats, products in TF32",
            Precision::F64 => "64-bit floats",
            Precision::F16 => "16-bit floats, loss scaled",
            Precision::Bf16 => "16-bit brain floats",
        };
        (precision, label)
    });
    form.choice(ui, PRECISION, &mut config.precision, &precisions);
    if config.precision.is_paired_on(config.device)
        && let Some(note) = devices.iter().find(|device| device.id == "cpu").and_then(|device| device.note.as_deref())
    {
        note_ui(ui, &format!("{}.", with_capital(note)));
    }
}
