//! Files and folders that are dropped on the window: models, which the Models panel shows.

use egui::Context;

use super::headroom_window::HeadroomWindow;
use crate::context::PanelId;

impl HeadroomWindow {
    /// Opens the model that was dropped.
    pub(super) fn take_dropped(&mut self, ctx: &Context) {
        let paths: Vec<_> =
            ctx.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        let mut paths = paths.into_iter();
        let Some(first) = paths.next() else { return };
        if paths.next().is_some() {
            // Files of one model are often taken together, and all of them lead to its folder.
            let text = format!("Several files were dropped; the first is shown: {}", first.display());
            self.state.messages.push_info(text);
        }
        self.state.models.open(first);
        self.open(PanelId::MODELS);
    }
}
