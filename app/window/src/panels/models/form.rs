//! Form of a conversion.

use std::path::{Path, PathBuf};

use egui::{Button, ComboBox, RichText, TextEdit, Ui};
use headroom_engine::{
    checkpoint::DirectoryFacts,
    config::{DataConfig, Modality, Source},
    convert::{Control, ControlRange, Conversion, ConversionField, FieldValue, ModelSizes},
};
use serde::{Deserialize, Serialize};

use crate::{
    common::mark_path,
    context::PanelContext,
    file_dialogs::{Answer, Ask, Pick, current_folder, typed_path},
    format,
    state::Preview,
    theme,
    widgets::{number_ui, slider_ui, together_ui, tooltip_above},
};

/// Room for all kinds in their list, in points.
const ALL_KINDS: f32 = 320.0;

/// The form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversionForm {
    /// The conversion that is shown, by its word.
    kind: String,
    /// Those whose numbers were chosen.
    conversions: Vec<Conversion>,
    /// A text file or folder; empty: the run's own.
    text: String,
    examples: usize,
    /// Tokens of each; 0: as the model was trained, or as many as it has positions.
    tokens: usize,
    /// The folder to make; empty: by a name of its own, where files were saved last, else in the current folder.
    to: String,
    /// The folder of that name that was proposed last, one that was not there.
    #[serde(skip)]
    proposed: Option<PathBuf>,
}

impl Default for ConversionForm {
    fn default() -> Self {
        Self {
            kind: String::new(),
            conversions: Vec::new(),
            text: String::new(),
            examples: 32,
            tokens: 0,
            to: String::new(),
            proposed: None,
        }
    }
}

/// Sizes of a model that limit what it can become.
fn sizes(facts: &DirectoryFacts) -> ModelSizes {
    ModelSizes { width: facts.width, heads: facts.heads, positions: facts.positions }
}

impl ConversionForm {
    /// The conversion that is shown, with the numbers that were chosen.
    fn shown(&self) -> Conversion {
        let examples = Conversion::examples();
        let is_shown = |conversion: &&Conversion| conversion.info().word == self.kind;
        self.conversions.iter().chain(&examples).find(is_shown).unwrap_or(&examples[0]).clone()
    }

    /// Shows a conversion and keeps its numbers.
    fn keep(&mut self, conversion: Conversion) {
        self.kind.replace_range(.., conversion.info().word);
        self.conversions.retain(|other| other.info() != conversion.info());
        self.conversions.push(conversion);
    }

    /// The conversion that is asked for.
    pub fn conversion(&self, facts: &DirectoryFacts) -> Conversion {
        let mut conversion = self.shown();
        conversion.adapt(&sizes(facts));
        conversion
    }

    /// Says a conversion on examples of so many tokens, of this text where none is named yet.
    pub fn set_up(&mut self, conversion: &Conversion, tokens: usize, text: String) {
        self.keep(conversion.clone());
        self.tokens = tokens;
        self.to.clear();
        if self.text.trim().is_empty() {
            self.text = text;
        }
    }

    /// What is made next goes to a folder of its own name.
    pub fn forget_place(&mut self) {
        self.to.clear();
    }

    /// The text, read as the run reads its own where there is one; none: the run's own. `inside`: the one that is read where the model
    /// is looked into.
    pub fn data(&self, trained_on: Option<&DataConfig>, inside: &str) -> Option<Box<DataConfig>> {
        let text = [self.text.trim(), inside.trim()].into_iter().find(|text| !text.is_empty())?;
        let source = Source::of_file(Modality::Text, &typed_path(text, &current_folder()));
        Some(Box::new(DataConfig { source, ..trained_on.cloned().unwrap_or_default() }))
    }

    /// Examples of the text, and tokens of each where they are not as the model was trained.
    pub fn amount(&self) -> (usize, Option<usize>) {
        (self.examples, (self.tokens > 0).then_some(self.tokens))
    }

    /// The folder to make of a model of this name, one that is not there yet; `saved_last`: the folder that files were saved in last.
    pub fn to(&self, name: &str, saved_last: Option<&Path>) -> PathBuf {
        if !self.to.trim().is_empty() {
            return typed_path(&self.to, &current_folder());
        }
        self.proposed.clone().unwrap_or_else(|| self.plain(name, saved_last))
    }

    /// The same, whether it is there or not.
    fn plain(&self, name: &str, saved_last: Option<&Path>) -> PathBuf {
        let words = name.split(|c: char| !c.is_alphanumeric() && !"_.".contains(c)).filter(|word| !word.is_empty());
        let name = words.collect::<Vec<&str>>().join("-");
        let stem = format!("{}-{}", name.trim_matches(['.', '-']), self.shown().info().word);
        saved_last.map_or_else(current_folder, Path::to_owned).join(stem)
    }

    /// Draws the form. `preview`: what it would come to, or why it cannot be.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        (name, facts): (&str, &DirectoryFacts),
        preview: &Result<Option<Preview>, String>,
        (is_of_run, inside): (bool, &str),
        cx: &mut PanelContext<'_>,
    ) {
        let palette = theme::palette(ui.visuals());
        let mut conversion = self.conversion(facts);
        ui.horizontal_wrapped(|ui| {
            ui.label("Make it");
            let label = conversion.info().label;
            let combo = ComboBox::from_id_salt("kind").width(190.0).height(ALL_KINDS).selected_text(label);
            let combo = combo.show_ui(ui, |ui| {
                for info in Conversion::examples().iter().map(|conversion| conversion.info()) {
                    let is_shown = info == conversion.info();
                    if ui.selectable_label(is_shown, info.label).on_hover_text(info.note).clicked() {
                        self.kind.replace_range(.., info.word);
                    }
                }
            });
            combo.response.accessible_name("Conversion");
            if self.kind != conversion.info().word {
                conversion = self.conversion(facts);
            }
            for field in conversion.fields(&sizes(facts)) {
                field_ui(ui, field);
            }
        });
        let (note, needs_text) = (conversion.info().note, conversion.needs_text());
        self.keep(conversion);
        ui.label(RichText::new(note).small().color(palette.weak));
        match preview {
            Ok(Some(preview)) => {
                ui.label(preview_words(preview));
            }
            Ok(None) => {
                ui.label(RichText::new("Counting…").color(palette.weak));
            }
            Err(why) => {
                // Said before anything was asked for: no fault of the user's.
                ui.label(RichText::new(why).color(palette.warning));
            }
        }
        self.places_ui(ui, (name, facts), (is_of_run, needs_text, inside), cx);
    }

    fn places_ui(
        &mut self,
        ui: &mut Ui,
        (name, facts): (&str, &DirectoryFacts),
        (is_of_run, needs_text, inside): (bool, bool, &str),
        cx: &mut PanelContext<'_>,
    ) {
        let of_inside = format!("{inside}, as in Look inside");
        let hint = match (is_of_run, needs_text) {
            (true, _) => "the text that was held out of the run",
            (false, _) if !inside.is_empty() => of_inside.as_str(),
            (false, true) => "path of a text: it depends on one",
            (false, false) => "path of a text, to compare both on it",
        };
        let plain = self.plain(name, cx.settings.last_folder.as_deref());
        self.proposed = cx.dialogs.look("models.proposed", &plain, free).flatten();
        let suggested = self.proposed.as_ref().unwrap_or(&plain).display().to_string();
        let rows = [
            (
                "Text",
                "models.text",
                hint,
                "The text on which both models are compared, and from which heads and pairs are chosen",
            ),
            ("Write to", "models.to", suggested.as_str(), "The model directory to make; must not exist or be empty"),
        ];
        // As wide as there is room for, with its label and its button: paths differ at their ends.
        let width = (ui.available_width() - 430.0).clamp(200.0, 720.0);
        for (number, (label, key, hint, help)) in rows.into_iter().enumerate() {
            let field = if number == 0 { &mut self.text } else { &mut self.to };
            if let Some(Answer::Picked(path)) = cx.dialogs.take(key) {
                *field = path.display().to_string();
            }
            ui.horizontal_wrapped(|ui| {
                let name = ui.label(label);
                let edit = TextEdit::singleline(field).desired_width(width).hint_text(hint);
                let edit = tooltip_above(ui.add(edit).labelled_by(name.id), help);
                if number == 0 {
                    mark_path(ui, edit, field, key, cx.dialogs);
                }
                let browse = ui.add_enabled(!cx.dialogs.is_busy(key), Button::new("Browse…"));
                if browse.accessible_name(format!("Browse: {label}")).clicked() {
                    let pick = if number == 0 { Pick::File } else { Pick::Folder };
                    cx.dialogs.pick(key, Ask::new(pick, label));
                }
                if number == 0 {
                    together_ui(ui, "examples", |ui| {
                        let label = ui.label("Examples");
                        let drag = number_ui(ui, &mut self.examples, 1..=100_000, |drag| drag);
                        drag.labelled_by(label.id).on_hover_text("Of the text, spread evenly over it");
                    });
                    together_ui(ui, "tokens", |ui| {
                        let label = ui.label("Tokens");
                        let help =
                            "Of an example; as trained where the run says so, else as many as the model has positions";
                        let drag = number_ui(ui, &mut self.tokens, 0..=facts.positions, |drag| {
                            drag.custom_formatter(|tokens, _| {
                                if tokens < 1.0 { "as trained".to_owned() } else { format!("{tokens:.0}") }
                            })
                        });
                        drag.labelled_by(label.id).on_hover_text(help);
                    });
                }
            });
        }
    }
}

/// A number or switch of a conversion.
fn field_ui(ui: &mut Ui, field: ConversionField<'_>) {
    let Some(Control { label, help, range }) = field.control else { return };
    if let FieldValue::Switch(value) = field.value {
        ui.checkbox(value, label).on_hover_text(help);
        return;
    }
    together_ui(ui, label, |ui| {
        let name = ui.label(label);
        let control = match (range, field.value) {
            (ControlRange::Whole, FieldValue::Number(value) | FieldValue::Share(value)) => {
                slider_ui(ui, value, 0.0..=1.0, |slider| slider.fixed_decimals(2).step_by(0.01))
            }
            (range, value) => {
                let Some(value) = value.whole() else { return };
                match range {
                    ControlRange::Slider(range) => slider_ui(ui, value, range, |slider| slider),
                    ControlRange::Drag(range) => number_ui(ui, value, range, |drag| drag),
                    ControlRange::OneOf(counts) => {
                        let combo = ComboBox::from_id_salt(label).width(60.0).selected_text(value.to_string());
                        let combo = combo.show_ui(ui, |ui| {
                            for count in counts {
                                ui.selectable_value(value, count, count.to_string());
                            }
                        });
                        combo.response.accessible_name(label);
                        return;
                    }
                    ControlRange::Whole => return,
                }
            }
        };
        control.labelled_by(name.id).on_hover_text(help);
    });
}

fn preview_words(preview: &Preview) -> String {
    let before = preview.before;
    let Some(after) = preview.after else {
        return format!(
            "{} now; what it saves follows from who borrows, which the text says",
            format::parameters(before.parameters)
        );
    };
    let change = |before: u64, after: u64| {
        let share = if before > 0 { after as f64 / before as f64 - 1.0 } else { 0.0 };
        format::delta_percent(share)
    };
    format!(
        "{} instead of {} ({}), {} instead of {} to read {} tokens ({})",
        format::parameters(after.parameters),
        format::parameters(before.parameters),
        change(before.parameters, after.parameters),
        format::flops(after.forward_flops as f64),
        format::flops(before.forward_flops as f64),
        format::count(after.tokens as u64),
        change(before.forward_flops, after.forward_flops),
    )
}
/// A path that nothing is at yet: this one, or this one with the least number from 2 that is free behind it.
fn free(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    let numbered = (2..1000).map(|number| path.with_file_name(format!("{name}-{number}")));
    std::iter::once(path.to_owned()).chain(numbered).find(|path| !path.exists())
}

#[cfg(test)]
mod tests {
    use headroom_engine::protocol::ModelCost;

    use super::*;

    #[test]
    fn what_is_proposed_is_not_there_yet() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(free(&folder.join("src")), Some(folder.join("src-2")));
        assert_eq!(free(&folder.join("model")), Some(folder.join("model")));
    }

    #[test]
    fn parameters_are_named_once() {
        let before = ModelCost { parameters: 166_128, forward_flops: 1, tokens: 8 };
        let words = preview_words(&Preview { before, after: None });
        assert!(words.starts_with("166 k params now;"), "{words}");
    }
}
