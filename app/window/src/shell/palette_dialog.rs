use egui::{Align, Button, Context, Frame, Id, Key, Layout, Modifiers, RichText, ScrollArea, TextEdit, Ui};

use crate::{
    common::dialog_ui,
    context::PanelInfo,
    shell::palette::{Entry, PaletteAction, entries, matching},
    state::State,
    theme,
    widgets::moved_by_arrows,
};

/// Entries that are drawn.
const SHOWN: usize = 60;

/// The palette while it is open.
#[derive(Default)]
pub struct PaletteDialog {
    query: String,
    chosen: usize,
    entries: Vec<Entry>,
}

/// Height of an entry and the gap below it, in points.
const LINE_HEIGHT: f32 = 26.0;
const LINE_GAP: f32 = 1.0;

/// What came of a frame of the palette.
pub enum Outcome {
    /// It stays open.
    Open,
    /// It was closed.
    Closed,
    /// Something was chosen, and it closes.
    Chosen(PaletteAction),
}

impl PaletteDialog {
    /// A palette over what can be done now.
    pub fn new(state: &State, panels: &[PanelInfo]) -> Self {
        Self { entries: entries(state, panels), ..Self::default() }
    }

    /// Draws it over the window.
    pub fn ui(&mut self, ctx: &Context) -> Outcome {
        let enter = ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter));
        let found: Vec<Entry> = matching(&self.entries, &self.query).into_iter().take(SHOWN).cloned().collect();
        let moved = moved_by_arrows(ctx, Some(self.chosen), found.len());
        self.chosen = moved.unwrap_or(self.chosen).min(found.len().saturating_sub(1));
        let mut chosen = enter.then(|| found.get(self.chosen)).flatten().map(|entry| entry.does.clone());
        let frame = Frame::popup(&ctx.global_style());
        let modal = dialog_ui(ctx, Id::unique("palette"), frame, 560.0, |ui| {
            let field = TextEdit::singleline(&mut self.query)
                .hint_text("An action, a preset or a run")
                .desired_width(f32::INFINITY)
                .id(Id::unique("palette query"));
            let field = ui.add(field).accessible_name("Find an action");
            field.request_focus();
            if field.changed() {
                self.chosen = 0;
            }
            ui.add_space(4.0);
            let most = (ctx.content_rect().height() - 200.0).clamp(120.0, 420.0);
            // Its height is known beforehand, so that the first frame has it already.
            let height = (found.len().max(1) as f32 * (LINE_HEIGHT + LINE_GAP)).min(most);
            ScrollArea::vertical().max_height(height).min_scrolled_height(height).show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = LINE_GAP;
                for (index, entry) in found.iter().enumerate() {
                    let is_chosen = index == self.chosen;
                    let response = line_ui(ui, index, entry, is_chosen);
                    if is_chosen && moved.is_some() {
                        response.scroll_to_me(None);
                    }
                    if response.clicked() {
                        chosen = Some(entry.does.clone());
                    }
                }
                if found.is_empty() {
                    ui.colored_label(theme::palette(ui.visuals()).weak, "Nothing matches.");
                }
            });
        });
        match chosen {
            Some(does) => Outcome::Chosen(does),
            None if modal.should_close() => Outcome::Closed,
            None => Outcome::Open,
        }
    }
}

fn line_ui(ui: &mut Ui, index: usize, entry: &Entry, is_chosen: bool) -> egui::Response {
    let palette = theme::palette(ui.visuals());
    let size = egui::vec2(ui.available_width(), LINE_HEIGHT);
    ui.push_id(index, |ui| {
        ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center).with_main_justify(true), |ui| {
            let button = Button::selectable(is_chosen, entry.label.as_str())
                .right_text(RichText::new(&entry.detail).small().color(palette.weak))
                .truncate();
            ui.add(button).accessible_name(entry.label.clone())
        })
        .inner
    })
    .inner
}
