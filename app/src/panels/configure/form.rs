use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use egui::{Align, Label, Response, RichText, SliderClamping, TextEdit, Ui};
use headroom_engine::config::Problem;

use super::field::{Labels, Words, in_sentence};
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
    /// Labels of the fields that were drawn.
    pub labels: &'a mut Labels,
    /// The field that has the keyboard in this frame.
    pub attended: Option<&'static str>,
    /// The field that changed in this frame.
    pub touched: Option<&'static str>,
    /// The change is a step of its own: clicks in quick succession are not one edit, as typing is.
    pub is_step: bool,
}

impl Form<'_> {
    /// A field with its problems; `add` chooses the control. Returns whether the value changed.
    fn field(&mut self, ui: &mut Ui, words: Words, add: impl FnOnce(Field<'_>, &mut Ui) -> FieldResponse) -> bool {
        self.labels.insert(words.path, words.label);
        let problem: Vec<String> = self
            .problems
            .iter()
            .filter(|problem| problem.field == words.path)
            .map(|problem| in_sentence(problem, self.labels))
            .collect();
        let problem = problem.join(" ");
        let help = format!("{}\nIn the file: {}", words.help, words.path);
        let field = Field::new(words.label)
            .unit(words.unit)
            .help(&help)
            .hint(words.empty)
            .label_width(LABEL)
            .width(VALUE)
            .problem(Some(problem.as_str()).filter(|problem| !problem.is_empty()));
        let out = add(field, ui);
        match out.unreadable {
            Some(why) => self.unreadable.insert(words.path, why),
            None => drop(self.unreadable.0.remove(words.path)),
        }
        if self.focus.as_deref() == Some(words.path) {
            out.response.request_focus();
            out.response.scroll_to_me(Some(Align::Center));
            *self.focus = None;
        }
        if out.response.has_focus() {
            self.attended = Some(words.path);
        }
        if out.changed {
            self.touched = Some(words.path);
        }
        out.changed
    }

    /// A whole number; the buttons and arrow keys move it by `step`.
    pub fn whole(&mut self, ui: &mut Ui, words: Words, value: &mut u64, step: u64) -> bool {
        self.field(ui, words, |field, ui| field.width(VALUE - 56.0).integer(ui, value, 0..=u64::MAX, step))
    }

    /// The same for sizes.
    pub fn size(&mut self, ui: &mut Ui, words: Words, value: &mut usize, step: u64) -> bool {
        let mut number = *value as u64;
        let changed = self.whole(ui, words, &mut number, step);
        if changed {
            *value = usize::try_from(number).unwrap_or(usize::MAX);
        }
        changed
    }

    /// A size that may be absent: an empty field.
    pub fn optional_size(&mut self, ui: &mut Ui, words: Words, value: &mut Option<usize>) -> bool {
        let mut number = value.map(|value| value as u64);
        let changed = self.field(ui, words, |field, ui| field.optional_integer(ui, &mut number));
        if changed {
            *value = number.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        }
        changed
    }

    /// A decimal number.
    pub fn decimal(&mut self, ui: &mut Ui, words: Words, value: &mut f64) -> bool {
        self.field(ui, words, |field, ui| field.float(ui, value))
    }

    /// A line of text.
    pub fn text(&mut self, ui: &mut Ui, words: Words, value: &mut String) -> bool {
        let width = (ui.available_width() - LABEL - 24.0).clamp(VALUE, 260.0);
        self.field(ui, words, |field, ui| field.width(width).text(ui, value))
    }

    /// A value that is written as text, half typed until `parse` can read it.
    pub fn written<T: Clone>(
        &mut self,
        ui: &mut Ui,
        words: Words,
        value: &mut T,
        parse: impl Fn(&str) -> Result<T, String>,
        write: impl Fn(&T) -> String,
    ) -> bool {
        let width = (ui.available_width() - LABEL - 24.0).clamp(VALUE, 260.0);
        self.field(ui, words, |field, ui| field.width(width).written(ui, value, parse, write))
    }

    /// A line of text that may be absent: empty is absent.
    pub fn optional_text(&mut self, ui: &mut Ui, words: Words, value: &mut Option<String>) -> bool {
        let mut text = value.clone().unwrap_or_default();
        let changed = self.text(ui, words, &mut text);
        if changed {
            *value = Some(text).filter(|text| !text.is_empty());
        }
        changed
    }

    /// One of several answers.
    pub fn choice<T: Clone + PartialEq>(
        &mut self,
        ui: &mut Ui,
        words: Words,
        value: &mut T,
        choices: &[(T, &str)],
    ) -> bool {
        let width = (ui.available_width() - LABEL - 24.0).clamp(VALUE, 260.0);
        self.field(ui, words, |field, ui| field.width(width).combo(ui, value, choices))
    }

    /// The same with a note at the right of each answer, asked for only while the list is open.
    pub fn choice_noted<T: Clone + PartialEq>(
        &mut self,
        ui: &mut Ui,
        words: Words,
        value: &mut T,
        choices: &[(T, &str)],
        note: impl Fn(&T) -> String,
    ) -> bool {
        let width = (ui.available_width() - LABEL - 24.0).clamp(VALUE, 260.0);
        self.field(ui, words, |field, ui| field.width(width).combo_noted(ui, value, choices, note))
    }

    /// A size on a slider from 0 to `most`. What is beyond stays until it is changed.
    pub fn slider(&mut self, ui: &mut Ui, words: Words, value: &mut usize, most: usize) -> bool {
        self.slider_from(ui, words, value, 0..=most)
    }

    /// The same from another least value on.
    pub fn slider_from(&mut self, ui: &mut Ui, words: Words, value: &mut usize, range: RangeInclusive<usize>) -> bool {
        let most = *range.end();
        self.field(ui, words, |field, ui| {
            field.custom(ui, |ui| {
                ui.spacing_mut().slider_width = (ui.available_width() - 90.0).clamp(50.0, 140.0);
                slider_ui(ui, value, range, |slider| {
                    slider.clamping(SliderClamping::Edits).suffix(format!(" of {most}"))
                })
            })
        })
    }

    /// The same where none stands for all of them.
    pub fn optional_slider(&mut self, ui: &mut Ui, words: Words, value: &mut Option<usize>, most: usize) -> bool {
        let mut number = value.unwrap_or(most);
        let changed = self.slider(ui, words, &mut number, most);
        if changed {
            *value = Some(number).filter(|number| *number != most);
        }
        changed
    }

    /// Any other control; it marks its response as changed.
    pub fn custom(&mut self, ui: &mut Ui, words: Words, add: impl FnOnce(&mut Ui) -> Response) -> bool {
        self.field(ui, words, |field, ui| field.custom(ui, add))
    }

    /// A path: typed, or found with one of the dialogs `picks`.
    pub fn path(
        &mut self,
        ui: &mut Ui,
        words: Words,
        value: &mut PathBuf,
        picks: &[Pick],
        ask: impl Fn(Pick) -> Ask,
    ) -> bool {
        let mut text = value.to_string_lossy().into_owned();
        let mut picked = None;
        let mut settled = false;
        let changed = self.field(ui, words, |field, ui| {
            field.custom(ui, |ui| {
                let buttons = picks.len() as f32 * 76.0;
                let room = ui.available_width();
                // A path is the longest text of the form.
                let is_narrow = room < buttons + 240.0;
                let width = if is_narrow { room - 16.0 } else { (room - buttons - 16.0).min(420.0) };
                let mut buttons_ui = |ui: &mut Ui| {
                    for &pick in picks {
                        let (word, spoken) = match pick {
                            Pick::Folder => ("Folder…", format!("Folder for {}", words.label)),
                            Pick::File | Pick::Save => ("File…", format!("File for {}", words.label)),
                        };
                        if ui.button(word).accessible_name(spoken).clicked() {
                            picked = Some(pick);
                        }
                    }
                };
                let hint = if words.empty.is_empty() { "Type or paste a path" } else { words.empty };
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
            self.dialogs.pick(words.path, ask(pick).folder(folder));
        }
        if changed {
            *value = PathBuf::from(text.trim_start());
        } else if settled && text.starts_with(['~', '"']) {
            // The engine reads paths as they are; the home folder and quotes are the window's courtesy.
            *value = typed_path(&text, Path::new(""));
            self.touched = Some(words.path);
            return true;
        }
        changed
    }
}
