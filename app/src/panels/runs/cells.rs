use egui::{Button, Key, Label, Pos2, RichText, TextEdit, Ui};
use headroom_engine::store::{RunId, RunSummary};

use super::{
    Column, RunFields,
    tags::{TagWish, tags_ui},
};
use crate::{
    common::{paint_eye, pin_ui, state_sign_ui, state_text},
    format::Names,
    theme::{self, LineStyle},
    widgets::{self, swatch_ui},
};

/// What was done in cells; carried out after the table is drawn.
#[derive(Default)]
pub(super) struct Cells {
    pub eye: Option<RunId>,
    pub menu: Option<(RunId, Pos2)>,
    pub renamed: Option<(RunId, String)>,
    pub rename_cancelled: bool,
    pub tag: Option<TagWish>,
}

impl Cells {
    pub fn eye_ui(&mut self, ui: &mut Ui, run: &RunSummary, name: &str, shown: Option<LineStyle>) {
        let visible = shown.is_some();
        let palette = theme::palette(ui.visuals());
        let button =
            ui.add(Button::selectable(visible, "").frame_when_inactive(false).min_size(egui::vec2(26.0, 20.0)));
        let colour = if visible { palette.text } else { palette.weak.gamma_multiply(0.5) };
        paint_eye(ui.painter(), button.rect, visible, colour);
        let name = format!("Show {name} in charts");
        button.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, visible, &name));
        if button.clicked() {
            self.eye = Some(run.id.clone());
        }
        // What is not shown has no colour: others may have it meanwhile.
        if let Some(style) = shown {
            swatch_ui(ui, style);
        }
    }

    pub fn menu_button_ui(&mut self, ui: &mut Ui, run: &RunSummary, name: &str) {
        let button = ui.add(Button::new("…").frame_when_inactive(false)).accessible_name(format!("Actions for {name}"));
        if button.clicked() {
            self.menu = Some((run.id.clone(), button.rect.left_bottom()));
        }
    }

    pub fn tags_ui(&mut self, ui: &mut Ui, run: &RunSummary, name: &str) {
        self.tag = self.tag.take().or(tags_ui(ui, &run.tags, name));
    }

    pub fn name_ui(
        &mut self,
        ui: &mut Ui,
        run: &RunSummary,
        (name, names): (&str, &Names),
        renaming: &mut Option<(RunId, String, bool)>,
        is_focused: bool,
        is_baseline: bool,
    ) {
        if let Some((id, text, fresh)) = renaming
            && *id == run.id
        {
            let typed = ui.add(TextEdit::singleline(text).desired_width(f32::INFINITY)).accessible_name("New name");
            if std::mem::take(fresh) {
                typed.request_focus();
            } else if typed.lost_focus() {
                if ui.input(|i| i.key_pressed(Key::Escape)) {
                    self.rename_cancelled = true;
                } else {
                    self.renamed = Some((run.id.clone(), text.trim().to_owned()));
                }
            }
            return;
        }
        let palette = theme::palette(ui.visuals());
        if is_baseline {
            pin_ui(ui, palette.accent);
        }
        widgets::name_ui(ui, name, names, |text| {
            let text = if is_focused { text.strong().color(palette.strong) } else { text };
            if run.archived { text.italics() } else { text }
        });
    }
}

/// Draws the state of a run.
pub(super) fn state_cell_ui(ui: &mut Ui, run: &RunSummary) {
    let palette = theme::palette(ui.visuals());
    let colour = state_text::colour_of(run, palette);
    state_sign_ui(ui, run.state, colour);
    let text = RichText::new(state_text::words(run)).color(colour);
    let label = ui.add(Label::new(text).selectable(false).truncate());
    label.on_hover_text(format!("{} {}", state_text::why(run), state_text::what_to_do(run)).trim_end());
}

/// Draws a cell without a control.
pub(super) fn cell_ui(ui: &mut Ui, column: &Column, run: &RunFields<'_>) {
    let cell = column.cell(run);
    let label = ui.add(Label::new(&cell.shown).selectable(false).truncate());
    if let Some(exact) =
        cell.exact.filter(|_| matches!(column, Column::Metric(..) | Column::Parameters | Column::Tokens))
    {
        label.on_hover_text(exact.to_string());
    }
}
