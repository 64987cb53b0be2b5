//! The form of a measurement.

use egui::{ComboBox, RichText, TextEdit, Ui};
use headroom_engine::{
    config::{RunConfig, counted, preset, presets},
    speed::{GenerationPreset, SweepSpec},
};
use serde::{Deserialize, Serialize};

use crate::{
    theme,
    widgets::{number_ui, together_ui, tooltip_beside},
};

/// Fields that are offered for an axis; any other can be typed.
const OFFERED: [&str; 9] = [
    "attention.compatibility",
    "attention.reuse",
    "data.sequence_length",
    "model.feed_forward",
    "model.heads",
    "model.layers",
    "model.width",
    "threads",
    "train.batch",
];

/// What is measured where nothing was chosen.
pub const FIRST_FIELD: &str = "data.sequence_length";
/// Its values.
pub const FIRST_VALUES: &str = "64, 128, 256, 512";

/// What the user wrote; remembered between starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Form {
    /// The preset that is the base; none = the draft of Configure.
    pub preset: Option<String>,
    /// Field and values of the axes.
    pub axes: Vec<(String, String)>,
    /// Name and changed fields of the sides.
    pub sides: Vec<(String, String)>,
    /// Steps that count.
    pub steps: usize,
    /// Steps before them.
    pub warmup: usize,
    /// How often each point is measured again.
    pub repeats: usize,
    /// Whether the largest batch is looked for too.
    pub largest_batch: bool,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            preset: presets().first().map(|preset| preset.name.to_owned()),
            axes: vec![(FIRST_FIELD.to_owned(), FIRST_VALUES.to_owned())],
            sides: Vec::new(),
            steps: 10,
            warmup: 2,
            repeats: 1,
            largest_batch: false,
        }
    }
}

impl Form {
    /// What is to be measured, or everything that is wrong with what was typed; `draft` is the config of the Configure panel.
    pub fn spec(&self, draft: Option<&RunConfig>) -> Result<SweepSpec, Vec<String>> {
        let known = self.preset.as_deref().and_then(preset).and_then(|preset| preset.config().ok());
        let base = match &self.preset {
            Some(_) => known,
            None => draft.cloned(),
        };
        let base = base.ok_or_else(|| vec!["Choose the config to measure.".to_owned()])?;
        let axis = |(field, values): &(String, String)| format!("{}={values}", field.trim());
        let side = |(name, fields): &(String, String)| format!("{}:{fields}", name.trim());
        let axes: Vec<String> = self.axes.iter().map(axis).collect();
        let sides: Vec<String> = self.sides.iter().map(side).collect();
        let spec = SweepSpec {
            base,
            warmup: self.warmup,
            steps: self.steps,
            repeats: self.repeats,
            largest_batch: self.largest_batch,
            ..SweepSpec::default()
        };
        spec.typed(&axes, &sides).map(|(spec, _)| spec).map_err(|mistakes| mistakes.told())
    }

    /// What a measurement is called: the swept fields and their values.
    pub fn name(spec: &SweepSpec) -> String {
        let base = if spec.base.name.is_empty() { String::new() } else { format!("{}: ", spec.base.name) };
        let axes: Vec<String> =
            spec.axes.iter().map(|axis| format!("{} {}", axis.field, axis.values.join(", "))).collect();
        base + &axes.join(" x ")
    }

    /// Draws it; true when the measurement is to start.
    pub fn ui(&mut self, ui: &mut Ui, verdict: &Result<SweepSpec, Vec<String>>) -> bool {
        let mut start = false;
        ui.horizontal_wrapped(|ui| {
            ui.label("Measure");
            let chosen = self.preset.clone().unwrap_or_else(|| "Draft in Configure".to_owned());
            let combo = ComboBox::from_id_salt("base").selected_text(chosen).show_ui(ui, |ui| {
                ui.selectable_value(&mut self.preset, None, "Draft in Configure");
                for preset in presets() {
                    let value = Some(preset.name.to_owned());
                    tooltip_beside(ui.selectable_value(&mut self.preset, value, preset.name), preset.about());
                }
            });
            combo
                .response
                .accessible_name("Config to measure")
                .on_hover_text("Its text is never read: tokens are random");
            named_ui(ui, "Steps", &mut self.steps, 1..=1000, "Measured steps per side");
            named_ui(ui, "Warm-up", &mut self.warmup, 0..=100, "Warm-up steps before them");
            named_ui(ui, "Repeats", &mut self.repeats, 1..=20, "How often each point is built and measured again");
            let help = "The largest batch that fits into free memory, at every point and for every side; a step is \
                        taken with it, which fills the memory and takes a while";
            ui.checkbox(&mut self.largest_batch, "Largest batch").on_hover_text(help);
        });
        self.axes_ui(ui);
        self.sides_ui(ui);
        ui.horizontal_wrapped(|ui| {
            let label = match verdict {
                Ok(spec) => format!("Start: {}", counted(spec.point_count(), "point")),
                Err(_) => "Start".to_owned(),
            };
            let button = ui.add_enabled(verdict.is_ok(), egui::Button::new(label));
            start = button.accessible_name("Start measuring").clicked();
            if verdict.is_ok() {
                let text = "Runs when its turn in the queue comes: nothing trains while it measures.";
                ui.label(RichText::new(text).color(theme::palette(ui.visuals()).weak));
            }
        });
        for mistake in verdict.as_ref().err().into_iter().flatten() {
            ui.label(RichText::new(mistake).color(theme::palette(ui.visuals()).error));
        }
        start
    }

    fn axes_ui(&mut self, ui: &mut Ui) {
        let mut gone = None;
        let count = self.axes.len();
        for (place, (field, values)) in self.axes.iter_mut().enumerate() {
            ui.push_id(("axis", place), |ui| {
                ui.horizontal_wrapped(|ui| {
                    ui.label(if place == 0 { "Over" } else { "and over" });
                    let typed = ui.add(TextEdit::singleline(field).desired_width(190.0));
                    typed.accessible_name(format!("Field of axis {}", place + 1));
                    let menu = ui.menu_button("Fields", |ui| {
                        for name in OFFERED {
                            if ui.button(name).clicked() {
                                name.clone_into(field);
                                ui.close();
                            }
                        }
                    });
                    menu.response.accessible_name(format!("Fields for axis {}", place + 1));
                    ui.label("=");
                    let typed = ui.add(TextEdit::singleline(values).desired_width(260.0).hint_text("64, 128, 256"));
                    typed.accessible_name(format!("Values of axis {}", place + 1));
                    if count > 1 && ui.button("Remove").clicked() {
                        gone = Some(place);
                    }
                    if count == 1 && ui.button("Add a second axis").clicked() {
                        gone = Some(usize::MAX);
                    }
                });
            });
        }
        match gone {
            Some(usize::MAX) => self.axes.push(("train.batch".to_owned(), "1, 4, 16".to_owned())),
            Some(place) => drop(self.axes.remove(place)),
            None => {}
        }
    }

    fn sides_ui(&mut self, ui: &mut Ui) {
        let mut gone = None;
        for (place, (name, fields)) in self.sides.iter_mut().enumerate() {
            ui.push_id(("side", place), |ui| {
                ui.horizontal_wrapped(|ui| {
                    ui.label(if place == 0 { "Side" } else { "against" });
                    let typed = ui.add(TextEdit::singleline(name).desired_width(110.0));
                    typed.accessible_name(format!("Name of side {}", place + 1));
                    ui.label("with");
                    let hint = "nothing changed; or model.heads=8, model.norm=post";
                    let typed = ui.add(TextEdit::singleline(fields).desired_width(340.0).hint_text(hint));
                    typed.accessible_name(format!("Fields of side {}", place + 1));
                    if ui.button("Remove").clicked() {
                        gone = Some(place);
                    }
                });
            });
        }
        if let Some(place) = gone {
            self.sides.remove(place);
        }
        let help = "Sides take steps in turn, A B A B, so that drift of the machine favours none";
        let label = if self.sides.is_empty() { "Compare sides" } else { "Add a side" };
        if ui.button(label).on_hover_text(help).clicked() {
            if self.sides.is_empty() {
                self.sides.push(("base".to_owned(), String::new()));
            }
            self.sides.push((format!("side {}", self.sides.len() + 1), "model.heads=8".to_owned()));
        }
    }
}

/// Offers the measurements of generation; the one that was clicked is to start.
pub fn generation_ui(ui: &mut Ui) -> Option<GenerationPreset> {
    let mut clicked = None;
    ui.horizontal_wrapped(|ui| {
        ui.label("Measure generation with each cache").on_hover_text(
            "An encoder-decoder with random weights generates from random sources: with no cache, with keys and values, and with \
             hidden states (EL-attention), in turns",
        );
        for preset in GenerationPreset::ALL {
            if ui.button(preset.name()).on_hover_text(preset.about()).clicked() {
                clicked = Some(preset);
            }
        }
    });
    clicked
}

fn named_ui(ui: &mut Ui, name: &str, value: &mut usize, range: std::ops::RangeInclusive<usize>, help: &str) {
    together_ui(ui, name, |ui| {
        ui.label(name);
        number_ui(ui, value, range, |drag| drag).on_hover_text(help).accessible_name(name);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_can_be_measured_and_a_wrong_one_says_why() {
        let mut form = Form::default();
        let spec = form.spec(None).unwrap();
        assert_eq!(spec.axes[0].values, ["64", "128", "256", "512"]);
        assert!(Form::name(&spec).contains("data.sequence_length 64, 128"));
        assert!(!spec.largest_batch);
        form.largest_batch = true;
        assert!(form.spec(None).unwrap().largest_batch);
        form.axes[0].0 = "model.haeds".to_owned();
        form.sides.push((String::new(), String::new()));
        let told = form.spec(None).unwrap_err();
        assert!(told.len() == 2 && told[0].contains("`heads`") && told[1].contains("it has no name"), "{told:?}");
        form.preset = None;
        assert!(form.spec(None).is_err());
    }
}
