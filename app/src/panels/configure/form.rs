use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use egui::{Align, Color32, ComboBox, Id, Key, Label, Layout, Response, RichText, Stroke, TextEdit, Ui};
use headroom_engine::config::Problem;

use super::{
    field::{Field, sentence},
    number::Number,
};
use crate::{
    dialogs::{Ask, Dialogs, Pick, typed_path},
    theme,
};

/// Width of the labels.
const LABEL: f32 = 158.0;
/// Width of a number or choice.
const VALUE: f32 = 132.0;
/// Height of a row.
const ROW: f32 = 26.0;

/// What is typed but not (yet) the field's value.
#[derive(Clone, Debug, Default)]
struct Typed {
    text: String,
    error: Option<String>,
}

/// Text of fields that are being typed into, by path.
#[derive(Debug, Default)]
pub struct Entries(BTreeMap<&'static str, Typed>);

impl Entries {
    /// What was typed and is no value.
    pub fn problems(&self) -> impl Iterator<Item = Problem> + '_ {
        self.0.iter().filter_map(|(path, typed)| Some(Problem::new(*path, typed.error.clone()?)))
    }

    /// Forgets what was typed into fields whose path begins so: they are gone, or have new values.
    pub fn forget(&mut self, prefix: &str) {
        self.0.retain(|path, _| !path.starts_with(prefix));
    }
}

/// One frame of the form.
pub struct Form<'a> {
    /// Half-typed values.
    pub entries: &'a mut Entries,
    /// Everything that is wrong.
    pub problems: &'a [Problem],
    /// The field that shall have the keyboard.
    pub focus: &'a mut Option<String>,
    /// Relative paths start here.
    pub base_dir: &'a Path,
    /// For file dialogs.
    pub dialogs: &'a mut Dialogs,
    /// The field that changed in this frame.
    pub touched: Option<&'static str>,
}

impl Form<'_> {
    /// A row: label, what `add` draws, unit, and the field's problems under it.
    pub fn row(&mut self, ui: &mut Ui, field: Field, add: impl FnOnce(&mut Self, &mut Ui) -> Response) -> Response {
        let palette = theme::palette(ui.visuals());
        let problems: Vec<String> = self
            .problems
            .iter()
            .filter(|problem| problem.field == field.path)
            .map(|problem| sentence(&problem.message))
            .collect();
        let response = ui
            .horizontal(|ui| {
                label_ui(ui, field);
                let inner = ui.scope(|ui| {
                    if !problems.is_empty() {
                        mark(ui, palette.error);
                    }
                    add(self, ui)
                });
                let mut response = inner.inner.accessible_name(field.label);
                if self.focus.as_deref() == Some(field.path) {
                    response.request_focus();
                    response.scroll_to_me(Some(Align::Center));
                    *self.focus = None;
                }
                response = response.on_hover_text(hover(field, &problems));
                if !field.unit.is_empty() {
                    ui.label(RichText::new(field.unit).color(palette.weak));
                }
                response
            })
            .inner;
        for problem in &problems {
            note_ui(ui, problem, palette.error);
        }
        response
    }

    /// A line of plain language under a field.
    pub fn note(&self, ui: &mut Ui, text: &str) {
        let weak = theme::palette(ui.visuals()).weak;
        note_ui(ui, text, weak);
    }

    fn id(field: Field) -> Id {
        Id::new(("configure", field.path))
    }

    /// A number: typed, or moved with the arrow keys. Returns whether it changed.
    pub fn number<T: Number>(&mut self, ui: &mut Ui, field: Field, value: &mut T) -> bool {
        let before = *value;
        let mut text = self.entries.0.get(field.path).map_or_else(|| value.show(), |typed| typed.text.clone());
        let response = self.row(ui, field, |_, ui| {
            ui.add(
                TextEdit::singleline(&mut text).id(Self::id(field)).desired_width(VALUE - 12.0).horizontal_align(Align::RIGHT),
            )
        });
        if response.changed() {
            let error = match T::read(&text) {
                Ok(read) => {
                    *value = read;
                    None
                }
                Err(why) => Some(why),
            };
            self.entries.0.insert(field.path, Typed { text, error });
            self.touched = Some(field.path);
        } else if response.has_focus() {
            let (up, down) = ui.input(|input| (input.key_pressed(Key::ArrowUp), input.key_pressed(Key::ArrowDown)));
            if up != down {
                *value = value.step(up);
                self.entries.0.remove(field.path);
            }
        } else if self.entries.0.get(field.path).is_some_and(|typed| typed.error.is_none()) {
            self.entries.0.remove(field.path);
        }
        self.tell(field, *value != before)
    }

    /// A number that may be absent: absent shows `otherwise`, which cannot be changed. Returns whether it changed.
    pub fn optional_number<T: Number>(
        &mut self,
        ui: &mut Ui,
        (switch, field): (Field, Field),
        value: &mut Option<T>,
        otherwise: T,
    ) -> bool {
        let mut given = value.is_some();
        let response = self.row(ui, switch, |_, ui| ui.checkbox(&mut given, ""));
        let mut changed = false;
        if response.changed() {
            *value = given.then_some(otherwise);
            self.entries.forget(field.path);
            changed = self.tell(switch, true);
        }
        if let Some(value) = value {
            changed |= self.number(ui, field, value);
        }
        changed
    }

    /// A line of text. Returns whether it changed.
    pub fn text(&mut self, ui: &mut Ui, field: Field, value: &mut String, hint: &'static str) -> bool {
        let response = self.row(ui, field, |_, ui| {
            let width = (ui.available_width() - 12.0).clamp(VALUE, 260.0);
            ui.add(TextEdit::singleline(value).id(Self::id(field)).desired_width(width).hint_text(hint))
        });
        self.tell(field, response.changed())
    }

    /// A line of text that may be absent: empty is absent. Returns whether it changed.
    pub fn optional_text(&mut self, ui: &mut Ui, field: Field, value: &mut Option<String>, hint: &'static str) -> bool {
        let mut text = value.clone().unwrap_or_default();
        let changed = self.text(ui, field, &mut text, hint);
        if changed {
            *value = Some(text).filter(|text| !text.is_empty());
        }
        changed
    }

    /// One of several answers. Returns whether it changed.
    pub fn choice<T: Clone + PartialEq>(
        &mut self,
        ui: &mut Ui,
        field: Field,
        value: &mut T,
        options: &[(T, String)],
    ) -> bool {
        let before = value.clone();
        let shown = options.iter().find(|(option, _)| option == value).map_or("", |(_, label)| label.as_str());
        self.row(ui, field, |_, ui| {
            ComboBox::from_id_salt(field.path)
                .width(VALUE)
                .selected_text(shown)
                .show_ui(ui, |ui| {
                    for (option, label) in options {
                        ui.selectable_value(value, option.clone(), label.as_str());
                    }
                })
                .response
        });
        self.tell(field, *value != before)
    }

    /// A path: typed, or found with a dialog. Which dialogs: a file, a folder. Returns whether it changed.
    pub fn path(
        &mut self,
        ui: &mut Ui,
        field: Field,
        value: &mut PathBuf,
        picks: &[Pick],
        ask: impl Fn(Pick) -> Ask,
    ) -> bool {
        let mut text = value.to_string_lossy().into_owned();
        let response = self.row(ui, field, |form, ui| {
            let buttons = picks.len() as f32 * 74.0;
            let width = (ui.available_width() - buttons - 12.0).clamp(110.0, 420.0);
            let edit = TextEdit::singleline(&mut text).id(Self::id(field)).desired_width(width).hint_text("Type or paste a path");
            let edit = ui.add(edit);
            for &pick in picks {
                let (word, spoken) = match pick {
                    Pick::Folder => ("Folder…", format!("Choose a folder: {}", field.label)),
                    Pick::File | Pick::Save => ("File…", format!("Choose a file: {}", field.label)),
                };
                if ui.button(word).accessible_name(spoken).clicked() {
                    let folder = typed_path(&text, form.base_dir).parent().map(Path::to_owned);
                    form.dialogs.pick(field.path, ask(pick).folder(folder));
                }
            }
            edit
        });
        if response.changed() {
            *value = PathBuf::from(text.trim_start());
        }
        if response.lost_focus() && text.starts_with(['~', '"']) {
            *value = typed_path(&text, Path::new(""));
            return self.tell(field, true);
        }
        self.tell(field, response.changed())
    }

    fn tell(&mut self, field: Field, changed: bool) -> bool {
        if changed {
            self.touched = Some(field.path);
        }
        changed
    }
}

fn label_ui(ui: &mut Ui, field: Field) {
    ui.allocate_ui_with_layout(egui::vec2(LABEL, ROW), Layout::left_to_right(Align::Center), |ui| {
        ui.set_min_width(LABEL);
        ui.add(Label::new(field.label).truncate().selectable(false)).on_hover_text(hover(field, &[]));
    });
}

fn note_ui(ui: &mut Ui, text: &str, colour: Color32) {
    ui.horizontal_top(|ui| {
        ui.add_space(LABEL + ui.spacing().item_spacing.x);
        ui.add(Label::new(RichText::new(text).small().color(colour)).wrap());
    });
}

fn hover(field: Field, problems: &[String]) -> String {
    let mut text = field.help.to_owned();
    for problem in problems {
        text = format!("{problem}\n{text}");
    }
    format!("{text}\nIn the file: {}", field.path)
}

/// Edges of widgets in the colour of errors.
fn mark(ui: &mut Ui, colour: Color32) {
    let visuals = ui.visuals_mut();
    visuals.selection.stroke = Stroke::new(1.5, colour);
    let widgets = &mut visuals.widgets;
    for state in [&mut widgets.inactive, &mut widgets.hovered, &mut widgets.active, &mut widgets.open] {
        state.bg_stroke = Stroke::new(1.5, colour);
    }
}
