use egui::{Button, Key, Label, Pos2, Rect, RichText, Shape, TextEdit, Ui, vec2};
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
        let button = ui.add(Button::selectable(visible, "").frame_when_inactive(false).min_size(vec2(26.0, 20.0)));
        let colour = if visible { palette.text } else { palette.weak.gamma_multiply(0.5) };
        paint_eye(ui.painter(), button.rect, visible, colour);
        let name = format!("Show {name} in charts");
        button.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, visible, &name));
        if button.clicked() {
            self.eye = Some(run.id.clone());
        }
        // What is not shown has no colour: others may have it meanwhile.
        if let Some(style) = shown {
            row_swatch_ui(ui, style);
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

/// Room around the sample of a line, to its ends and to its sides, in points.
const AROUND: [f32; 2] = [2.0, 2.5];

/// Draws the sample of a run's line into a row of a table. It has a ground of its own: selected rows are blue, as some lines are, and
/// those under the pointer grey.
pub fn row_swatch_ui(ui: &mut Ui, style: LineStyle) {
    let ground = ui.painter().add(Shape::Noop);
    let rect = swatch_ui(ui, style).rect;
    let [ends, sides] = AROUND;
    let bar = Rect::from_center_size(rect.center(), vec2(rect.width() + 2.0 * ends, style.width + 1.0 + 2.0 * sides));
    ui.painter().set(ground, Shape::rect_filled(bar, 2.0, theme::palette(ui.visuals()).background));
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

#[cfg(test)]
mod tests {
    use egui::{Context, RawInput, Theme};

    use super::*;

    #[test]
    fn the_line_of_a_selected_run_stands_on_a_ground_of_its_own_in_both_themes() {
        for (theme, palette) in [(Theme::Dark, &theme::DARK), (Theme::Light, &theme::LIGHT)] {
            let ctx = Context::default();
            theme::install(&ctx);
            ctx.set_theme(theme);
            let style = LineStyle::of_place(0);
            let mut output = ctx.run_ui(RawInput::default(), |ui| {
                ui.painter().rect_filled(ui.max_rect(), 0.0, palette.selection);
                row_swatch_ui(ui, style);
            });
            output.textures_delta.clear();
            // From below.
            let painted = output.shapes.iter().filter_map(|clipped| match &clipped.shape {
                Shape::Rect(rect) => Some((rect.fill, rect.rect)),
                Shape::LineSegment { points, stroke } => Some((stroke.color, Rect::from_two_pos(points[0], points[1]))),
                _ => None,
            });
            let painted: Vec<_> = painted.collect();
            let [.., ground, line] = painted[..] else { panic!("nothing is painted") };
            assert_eq!((ground.0, line.0), (palette.background, style.colour));
            assert!(ground.1.contains_rect(line.1) && ground.1.height() > 5.0, "{ground:?} {line:?}");
        }
    }
}
