//! The settings while the window is open.

use std::time::{Duration, Instant};

use egui::Context;

use super::headroom_window::HeadroomWindow;
use crate::{file_dialogs::Answer, messages::Level};

/// Settings are written when they have not changed for so long.
const SETTLED: Duration = Duration::from_secs(2);
/// The key of the settings' write errand.
const SETTINGS_KEY: &str = "window.settings";

impl HeadroomWindow {
    /// Copies into the settings what lives elsewhere while the window is open.
    pub(super) fn remember(&mut self) {
        if self.state.runs_loaded {
            let selection = &self.state.selection;
            if !selection.visible.iter().eq(self.settings.visible.iter()) {
                self.settings.visible = selection.visible.iter().cloned().collect();
            }
            if selection.held_tag() != self.settings.shown_tag.as_deref() {
                self.settings.shown_tag = selection.held_tag().map(str::to_owned);
            }
            if *selection.styles.places() != self.settings.styles {
                self.settings.styles.clone_from(selection.styles.places());
            }
            if selection.baseline != self.settings.baseline {
                self.settings.baseline.clone_from(&selection.baseline);
            }
        }
    }

    /// Writes the settings, apart from the window's thread, when they have settled.
    pub(super) fn keep_settings(&mut self, ctx: &Context) {
        self.remember();
        if let Some(Answer::Failed(why)) = self.dialogs.take(SETTINGS_KEY) {
            // Said once; the next change tries again.
            self.state.messages.push(
                Level::Warning,
                why,
                "The window will not remember its panels and selection.",
                None,
            );
        }
        let Some(path) = &self.settings_path else { return };
        if self.settings == self.settings_saved {
            self.settings_changed = None;
            return;
        }
        let since = *self.settings_changed.get_or_insert_with(Instant::now);
        if since.elapsed() < SETTLED {
            ctx.request_repaint_after(SETTLED.saturating_sub(since.elapsed()));
            return;
        }
        let settings = self.settings.clone();
        self.settings_saved.clone_from(&settings);
        self.settings_changed = None;
        self.dialogs.write(SETTINGS_KEY, path.clone(), move || {
            serde_json::to_vec_pretty(&settings).map_err(|error| error.to_string())
        });
    }
}
