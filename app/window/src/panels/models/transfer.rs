//! What is alike in bringing a model from a hub and taking one there: the frame, and how far a transfer is.

use egui::{Frame, Margin, ProgressBar, RichText, Spinner, Ui};

use headroom_engine::hub::Transfer;

use crate::{format, theme};

/// Width of a bar.
const BAR: f32 = 420.0;

/// The frame, under a heading.
pub fn framed_ui(ui: &mut Ui, heading: &str, add: impl FnOnce(&mut Ui)) {
    let palette = theme::palette(ui.visuals());
    Frame::new().fill(palette.surface).corner_radius(4).inner_margin(Margin::same(10)).show(ui, |ui| {
        ui.set_min_width(ui.available_width());
        ui.label(RichText::new(heading).color(palette.strong));
        add(ui);
    });
}

/// How far a transfer is; `before`: what is done while nothing of it is known.
pub fn progress_ui(ui: &mut Ui, progress: Option<&Transfer>, before: &str) {
    let palette = theme::palette(ui.visuals());
    let Some(at) = progress else {
        ui.horizontal(|ui| {
            ui.add(Spinner::new().size(14.0));
            ui.label(RichText::new(before).color(palette.weak));
        });
        return;
    };
    let text = format!("{} of {}", format::bytes(at.bytes), format::bytes(at.total_bytes));
    ui.scope(|ui| {
        // The track has the colour of a text field, which in the light theme is the frame's own.
        if !palette.dark {
            ui.visuals_mut().extreme_bg_color = palette.grid;
        }
        ui.add(ProgressBar::new(at.share() as f32).desired_width(BAR).text(text));
    });
    let mut words = vec![at.file.clone(), format!("file {} of {}", at.number + 1, at.count)];
    if at.bytes_per_sec > 0.0 {
        words.push(format!("{}/s", format::bytes(at.bytes_per_sec as u64)));
    }
    words.extend(at.left_secs().map(|left| format!("time left {}", format::duration(left))));
    ui.label(RichText::new(words.join(", ")).small().color(palette.weak));
}

/// The part of an address that says who is asked.
pub fn host(endpoint: &str) -> &str {
    endpoint.split_once("://").map_or(endpoint, |(_, host)| host)
}
