//! What belongs to the platform: the display, the size of the window, the loop that draws it.

use std::path::PathBuf;

use egui::{Context, RawInput, Ui};

use super::{Program, clicks::Clicks};

/// The window as the platform sees it.
struct App {
    program: Program,
    clicks: Clicks,
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &Context, _: &mut eframe::Frame) {
        self.program.logic(ctx);
    }

    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        self.program.ui(ui);
    }

    fn on_exit(&mut self) {
        self.program.close();
    }

    fn raw_input_hook(&mut self, ctx: &Context, input: &mut RawInput) {
        if self.clicks.part(&mut input.events) {
            ctx.request_repaint();
        }
    }
}

/// Opens the window on a store and stays until it is closed.
///
/// # Errors
/// One line that says why there is no window and names the headless command.
pub fn run_window(store: PathBuf) -> anyhow::Result<()> {
    if cfg!(target_os = "linux") && !has_display(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        anyhow::bail!("There is no display to open a window on. Train without one: headroom train CONFIG.toml");
    }
    let ctx = Context::default();
    let program = Program::open(&ctx, store.clone());
    let options = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("Headroom")
            .with_app_id("headroom")
            .with_inner_size([1280.0, 820.0])
            .with_min_inner_size([760.0, 480.0]),
        persistence_path: Some(store.with_file_name("window.ron")),
        // Ours looks for fonts beside the window.
        system_font_fallback: false,
        ..Default::default()
    };
    let app = App { program, clicks: Clicks::default() };
    eframe::run_native_ext("Headroom", options, Some(ctx), Box::new(|_| Ok(Box::new(app)))).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().next().unwrap_or_default();
        anyhow::anyhow!("The window cannot be opened ({reason}). Train without one: headroom train CONFIG.toml")
    })
}

/// Whether a Linux session says where its display is.
fn has_display(is_set: impl Fn(&str) -> bool) -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"].into_iter().any(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_is_found_in_either_variable() {
        assert!(!has_display(|_| false));
        assert!(has_display(|name| name == "DISPLAY"));
        assert!(has_display(|name| name == "WAYLAND_DISPLAY"));
    }
}
