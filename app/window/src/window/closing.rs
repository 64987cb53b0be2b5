//! Closing the window while a run trains: asks, lets the run write its checkpoint, then goes.

use std::time::{Duration, Instant};

use egui::{Context, Frame, Id, Margin, RichText, ViewportCommand};
use headroom_engine::{config::counted, protocol::Command};

use super::headroom_window::{Closing, HeadroomWindow};
use crate::{common::dialog_ui, format, theme};

/// Time that a run in progress gets to write its checkpoint when the window closes.
const PATIENCE: Duration = Duration::from_secs(20);
/// Interval at which the wait for the checkpoint is checked where no event wakes the window.
const CHECK_EVERY: Duration = Duration::from_millis(200);

impl HeadroomWindow {
    /// Holds a request to close while a run trains, and grants it once the run has its checkpoint.
    pub(super) fn watch_closing(&mut self, ctx: &Context) {
        if ctx.input(|input| input.viewport().close_requested()) {
            let is_training = self.state.current.is_some() && !self.state.engine_ended;
            match self.closing {
                Closing::No if is_training => self.closing = Closing::Asked,
                Closing::No | Closing::Granted => return,
                Closing::Asked | Closing::Stopping { .. } => {}
            }
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
            ctx.request_repaint();
        }
        match self.closing {
            // It ended by itself while the question stood.
            Closing::Asked if self.state.current.is_none() => self.closing = Closing::No,
            Closing::Stopping { deadline } => {
                if self.state.engine_ended || Instant::now() >= deadline {
                    self.grant(ctx);
                } else {
                    ctx.request_repaint_after(CHECK_EVERY);
                }
            }
            _ => {}
        }
    }

    /// The question, or what is being waited for, over everything else.
    pub(super) fn closing_ui(&mut self, ctx: &Context) {
        let is_stopping = match self.closing {
            Closing::Asked => false,
            Closing::Stopping { .. } => true,
            Closing::No | Closing::Granted => return,
        };
        let (mut stop, mut stay, mut go) = (false, false, false);
        let waiting = self.state.waiting.len() as u64;
        let current = self.state.current.as_ref();
        let name = current.map(|current| self.state.run_name(&current.run)).unwrap_or_default();
        let frame = Frame::window(&ctx.global_style()).inner_margin(Margin::same(16));
        let modal = dialog_ui(ctx, Id::unique("closing"), frame, 440.0, |ui| {
            if is_stopping {
                ui.heading("Closing");
                ui.horizontal_wrapped(|ui| {
                    ui.add(egui::Spinner::new());
                    ui.label(format!("\"{name}\" stops after the step in progress and writes its checkpoint…"));
                });
                ui.add_space(8.0);
                let at_once = ui.button("Close without waiting");
                go = at_once.on_hover_text("The run can then be resumed from its last checkpoint").clicked();
                return;
            }
            ui.heading(format!("\"{name}\" is training"));
            if let Some(current) = current {
                let done = if current.preparing.is_some() || current.step == 0 {
                    "No step is done yet.".to_owned()
                } else {
                    format!("{} of {} are done.", format::count(current.step), counted(current.steps, "step"))
                };
                ui.label(format!(
                    "{done} Closing the window stops the run after the step in progress and writes a checkpoint. The \
                     next time the window opens, it offers to resume the run from there; the curve continues exactly."
                ));
            }
            if waiting > 0 {
                let text = if waiting == 1 {
                    "The waiting run does not begin, and can be resumed later.".to_owned()
                } else {
                    format!("The {} waiting runs do not begin, and can be resumed later.", format::count(waiting))
                };
                ui.label(RichText::new(text).color(theme::palette(ui.visuals()).warning));
            }
            ui.add_space(8.0);
            ui.horizontal(|ui| {
                let stopping = ui.button("Stop and close");
                let staying = ui.button("Keep training").on_hover_text("The window stays open (Esc)");
                // Enter answers what was asked for, which loses nothing; Tab goes to the other.
                if !stopping.has_focus() && !staying.has_focus() {
                    stopping.request_focus();
                }
                (stop, stay) = (stopping.clicked(), staying.clicked());
            });
        });
        if stop {
            self.stop_and_close();
            ctx.request_repaint();
        } else if go {
            self.grant(ctx);
        } else if stay || (!is_stopping && modal.should_close()) {
            self.closing = Closing::No;
        }
    }

    fn stop_and_close(&mut self) {
        self.note_closed_on();
        if let Some(current) = &mut self.state.current {
            current.is_stopping = true;
        }
        if let Some(link) = &self.link {
            link.send(&mut self.state, Command::Shutdown);
        }
        self.closing = Closing::Stopping { deadline: Instant::now() + PATIENCE };
    }

    fn grant(&mut self, ctx: &Context) {
        self.closing = Closing::Granted;
        ctx.send_viewport_cmd(ViewportCommand::Close);
        ctx.request_repaint();
    }

    /// Writes the settings and ends the engine; a run in progress is stopped with a checkpoint.
    pub fn close(&mut self) {
        self.note_closed_on();
        self.remember();
        if let Some(path) = &self.settings_path
            && self.settings != self.settings_saved
        {
            // Nobody is left to hear of a failure.
            let _ = self.settings.save(path);
        }
        let patience = if self.closing == Closing::Granted { Duration::ZERO } else { PATIENCE };
        if let Some(link) = self.link.take() {
            link.shutdown(patience);
        }
    }

    /// Remembers which run the closing stops, for the next start.
    fn note_closed_on(&mut self) {
        if let Some(current) = self.state.current.as_ref().filter(|current| !current.is_stopping) {
            self.settings.closed_on.insert(current.run.clone());
        }
    }
}
