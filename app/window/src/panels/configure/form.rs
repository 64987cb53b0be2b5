use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use egui::{Align, Label, Response, RichText, SliderClamping, TextEdit, Ui};
use headroom_engine::config::{FieldSpec, Fields, Problem};
use serde::Serialize;

use super::field::{in_sentence, name_of};
use crate::{
    file_dialogs::{Ask, FileDialogs, Pick, typed_path},
    theme,
    widgets::{Field, FieldResponse, slider_ui},
};

/// Width of the labels.
const LABEL: f32 = 150.0;
/// Letters of a path from which on its field may be too narrow.
const LONG_PATH: usize = 24;
/// Width of a number or choice.
const VALUE: f32 = 130.0;

/// Why the text in a field is no value, by the field's path.
#[derive(Debug, Default)]
pub struct Unreadable(BTreeMap<&'static str, String>);

impl Unreadable {
    /// The reasons as problems.
    pub fn problems(&self) -> impl Iterator<Item = Problem> + '_ {
        self.0.iter().map(|(path, why)| Problem::new(*path, why.clone()))
    }

    /// Whether the text of every field is a value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text in this field is no value, for this reason.
    pub fn insert(&mut self, path: &'static str, why: String) {
        self.0.insert(path, why);
    }

    /// Whether the text in this field is no value.
    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Forgets fields whose path begins so: they are gone, or have new values.
    pub fn forget(&mut self, prefix: &str) {
        self.0.retain(|path, _| !path.starts_with(prefix));
    }
}

/// A line of plain language under a field.
pub fn note_ui(ui: &mut Ui, text: &str) {
    let weak = theme::palette(ui.visuals()).weak;
    under_ui(ui, |ui| {
        ui.add(Label::new(RichText::new(text).small().color(weak)).wrap());
    });
}

/// Something under the control of a field.
pub fn under_ui(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    ui.horizontal_top(|ui| {
        ui.add_space(LABEL + ui.spacing().item_spacing.x);
        add(ui);
    });
}

/// One frame of the form.
pub struct Form<'a> {
    /// Fields whose text is no value.
    pub unreadable: &'a mut Unreadable,
    /// Everything that is wrong.
    pub problems: &'a [Problem],
    /// The field that shall have the keyboard.
    pub focus: &'a mut Option<String>,
    /// Relative paths start here.
    pub base_dir: &'a Path,
    /// For file dialogs.
    pub dialogs: &'a mut FileDialogs,
    /// The fields that were drawn.
    pub fields: &'a mut Fields,
    /// The field that has the keyboard in this frame.
    pub attended: Option<&'static str>,
    /// The field that changed in this frame.
    pub touched: Option<&'static str>,
    /// The change is a step of its own: clicks in quick succession are not one edit, as typing is.
    pub is_step: bool,
}

impl Form<'_> {
    /// A field with its problems; `add` chooses the control. Returns whether the value changed.
    fn field(&mut self, ui: &mut Ui, spec: FieldSpec, add: impl FnOnce(Field<'_>, &mut Ui) -> FieldResponse) -> bool {
        self.fields.insert(spec.path, spec);
        let problem: Vec<String> = self
            .problems
            .iter()
            .filter(|problem| spec.is_at(&problem.field))
            .map(|problem| in_sentence(problem, self.fields))
            .collect();
        let problem = problem.join(" ");
        let help = format!("{}\nIn the file: {}", spec.help, spec.path);
        let field = Field::new(spec.label)
            .unit(spec.unit)
            .help(&help)
            .hint(spec.empty)
            .label_width(LABEL)
            .width(VALUE)
            .problem(Some(problem.as_str()).filter(|problem| !problem.is_empty()));
        let out = add(field, ui);
        match out.unreadable {
            Some(why) => self.unreadable.insert(spec.path, why),
            None => drop(self.unreadable.0.remove(spec.path)),
        }
        if self.focus.as_deref().is_some_and(|field| spec.is_at(field)) {
            out.response.request_focus();
            out.response.scroll_to_me(Some(Align::Center));
            *self.focus = None;
        }
        if out.response.has_focus() {
            self.attended = Some(spec.path);
        }
        if out.changed {
            self.touched = Some(spec.path);
        }
        out.changed
    }

    /// A whole number; the buttons and arrow keys move it by the field's step.
    pub fn whole(&mut self, ui: &mut Ui, spec: FieldSpec, value: &mut u64) -> bool {
        self.field(ui, spec, |field, ui| field.width(VALUE - 56.0).integer(ui, value, 0..=u64::MAX, spec.step))
    }

    /// The same for sizes.
    pub fn size(&mut self, ui: &mut Ui, spec: FieldSpec, value: &mut usize) -> bool {
        let mut number = *value as u64;
        let changed = self.whole(ui, spec, &mut number);
        if changed {
            *value = usize::try_from(number).unwrap_or(usize::MAX);
        }
        changed
    }

    /// A size that may be absent: an empty field.
    pub fn optional_size(&mut self, ui: &mut Ui, spec: FieldSpec, value: &mut Option<usize>) -> bool {
        let mut number = value.map(|value| value as u64);
        let changed = self.field(ui, spec, |field, ui| field.optional_integer(ui, &mut number));
        if changed {
            *value = number.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        }
        changed
    }

    /// A decimal number.
    pub fn decimal(&mut self, ui: &mut Ui, spec: FieldSpec, value: &mut f64) -> bool {
        self.field(ui, spec, |field, ui| field.float(ui, value))
    }

    /// A line of text.
    pub fn text(&mut self, ui: &mut Ui, spec: FieldSpec, value: &mut String) -> bool {
        let width = (ui.available_width() - LABEL - 24.0).clamp(VALUE, 260.0);
        self.field(ui, spec, |field, ui| field.width(width).text(ui, value))
    }

    /// A value that is written as text, half typed until `parse` can read it.
    pub fn written<T: Clone>(
        &mut self,
        ui: &mut Ui,
        spec: FieldSpec,
        value: &mut T,
        parse: impl Fn(&str) -> Result<T, String>,
        write: impl Fn(&T) -> String,
    ) -> bool {
        let width = (ui.available_width() - LABEL - 24.0).clamp(VALUE, 260.0);
        self.field(ui, spec, |field, ui| field.width(width).written(ui, value, parse, write))
    }

    /// A line of text that may be absent: empty is absent.
    pub fn optional_text(&mut self, ui: &mut Ui, spec: FieldSpec, value: &mut Option<String>) -> bool {
        let mut text = value.clone().unwrap_or_default();
        let changed = self.text(ui, spec, &mut text);
        if changed {
            *value = Some(text).filter(|text| !text.is_empty());
        }
        changed
    }

    /// One of several answers.
    pub fn choice<T: Clone + PartialEq>(
        &mut self,
        ui: &mut Ui,
        spec: FieldSpec,
        value: &mut T,
        choices: &[(T, &str)],
    ) -> bool {
        let width = (ui.available_width() - LABEL - 24.0).clamp(VALUE, 260.0);
        self.field(ui, spec, |field, ui| field.width(width).combo(ui, value, choices))
    }

    /// One of some values that the field has labels for.
    pub fn named<T: Clone + PartialEq + Serialize>(
        &mut self,
        ui: &mut Ui,
        spec: FieldSpec,
        value: &mut T,
        all: &[T],
    ) -> bool {
        let label = |value: &T| spec.choice(&name_of(value)).unwrap_or_default();
        let choices: Vec<(T, &str)> = all.iter().map(|value| (value.clone(), label(value))).collect();
        self.choice(ui, spec, value, &choices)
    }

    /// One of several answers with a note at the right of each, asked for only while the list is open.
    pub fn choice_noted<T: Clone + PartialEq>(
        &mut self,
        ui: &mut Ui,
        spec: FieldSpec,
        value: &mut T,
        choices: &[(T, &str)],
        note: impl Fn(&T) -> String,
    ) -> bool {
        let width = (ui.available_width() - LABEL - 24.0).clamp(VALUE, 260.0);
        self.field(ui, spec, |field, ui| field.width(width).combo_noted(ui, value, choices, note))
    }

    /// A size on a slider from 0 to `most`. What is beyond stays until it is changed.
    pub fn slider(&mut self, ui: &mut Ui, spec: FieldSpec, value: &mut usize, most: usize) -> bool {
        self.slider_from(ui, spec, value, 0..=most)
    }

    /// The same from another least value on.
    pub fn slider_from(
        &mut self,
        ui: &mut Ui,
        spec: FieldSpec,
        value: &mut usize,
        range: RangeInclusive<usize>,
    ) -> bool {
        let most = *range.end();
        self.field(ui, spec, |field, ui| {
            field.custom(ui, |ui| {
                ui.spacing_mut().slider_width = (ui.available_width() - 90.0).clamp(50.0, 140.0);
                slider_ui(ui, value, range, |slider| {
                    slider.clamping(SliderClamping::Edits).suffix(format!(" of {most}"))
                })
            })
        })
    }

    /// The same where none stands for all of them.
    pub fn optional_slider(&mut self, ui: &mut Ui, spec: FieldSpec, value: &mut Option<usize>, most: usize) -> bool {
        let mut number = value.unwrap_or(most);
        let changed = self.slider(ui, spec, &mut number, most);
        if changed {
            *value = Some(number).filter(|number| *number != most);
        }
        changed
    }

    /// Any other control; it marks its response as changed.
    pub fn custom(&mut self, ui: &mut Ui, spec: FieldSpec, add: impl FnOnce(&mut Ui) -> Response) -> bool {
        self.field(ui, spec, |field, ui| field.custom(ui, add))
    }

    /// A path that may be absent: empty is absent.
    pub fn optional_path(
        &mut self,
        ui: &mut Ui,
        spec: FieldSpec,
        value: &mut Option<PathBuf>,
        picks: &[Pick],
        ask: impl Fn(Pick) -> Ask,
    ) -> bool {
        let mut written = value.clone().unwrap_or_default();
        let changed = self.path(ui, spec, &mut written, picks, ask);
        if changed {
            *value = Some(written).filter(|path| !path.as_os_str().is_empty());
        }
        changed
    }

    /// A path: typed, or found with one of the dialogs `picks`.
    pub fn path(
        &mut self,
        ui: &mut Ui,
        spec: FieldSpec,
        value: &mut PathBuf,
        picks: &[Pick],
        ask: impl Fn(Pick) -> Ask,
    ) -> bool {
        let mut text = value.to_string_lossy().into_owned();
        let mut picked = None;
        let mut settled = false;
        let changed = self.field(ui, spec, |field, ui| {
            field.custom(ui, |ui| {
                let buttons = picks.len() as f32 * 76.0;
                let room = ui.available_width();
                // A path is the longest text of the form.
                let is_narrow = room < buttons + 240.0;
                let width = if is_narrow { room - 16.0 } else { (room - buttons - 16.0).min(420.0) };
                let mut buttons_ui = |ui: &mut Ui| {
                    for &pick in picks {
                        let (word, spoken) = match pick {
                            Pick::Folder => ("Folder…", format!("Folder for {}", spec.label)),
                            Pick::File | Pick::Save => ("File…", format!("File for {}", spec.label)),
                        };
                        if ui.button(word).accessible_name(spoken).clicked() {
                            picked = Some(pick);
                        }
                    }
                };
                let hint = if spec.empty.is_empty() { "Type or paste a path" } else { spec.empty };
                let edit = TextEdit::singleline(&mut text).desired_width(width).hint_text(hint);
                let edit = if is_narrow {
                    ui.vertical(|ui| {
                        let edit = ui.add(edit);
                        ui.horizontal(&mut buttons_ui);
                        edit
                    })
                    .inner
                } else {
                    let edit = ui.add(edit);
                    buttons_ui(ui);
                    edit
                };
                settled = edit.lost_focus();
                edit
            })
        });
        // A long one is seen by its beginning: its name stands below.
        let is_long = text.chars().count() > LONG_PATH;
        if let Some(name) = Path::new(text.trim()).file_name().filter(|_| is_long) {
            note_ui(ui, &name.to_string_lossy());
        }
        if let Some(pick) = picked {
            let near = typed_path(&text, self.base_dir);
            let folder = if near.is_dir() { Some(near) } else { near.parent().map(Path::to_owned) };
            self.dialogs.pick(spec.path, ask(pick).folder(folder));
        }
        if changed {
            *value = PathBuf::from(text.trim_start());
        } else if settled && text.starts_with(['~', '"']) {
            // The engine reads paths as they are; the home folder and quotes are the window's courtesy.
            *value = typed_path(&text, Path::new(""));
            self.touched = Some(spec.path);
            return true;
        }
        changed
    }
}
