//! The fields of a sweep and their values.

use egui::{Grid, RichText, ScrollArea, TextEdit, Ui};
use headroom_engine::config::{Axis, Combine, RunConfig, SpecError, Sweep};

use super::{priced::Priced, variants::costs_ui};
use crate::{
    panels::configure::{Labels, in_labels, labels_of},
    theme,
};

/// Fields that are offered; any other can be typed.
const OFFERED: [&str; 12] = [
    "attention.compatibility.kind",
    "attention.reuse.kind",
    "attention.reuse.layers",
    "attention.reuse.heads",
    "model.heads",
    "model.layers",
    "model.width",
    "model.feed_forward",
    "train.batch",
    "train.learning_rate",
    "train.weight_decay",
    "seed",
];

/// What the user wrote, and what comes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepForm {
    base: RunConfig,
    axes: Vec<(String, String)>,
    combine: Combine,
    /// The entrants, or why there are none.
    outcome: Result<Vec<Priced>, String>,
}

impl SweepForm {
    /// A sweep of a config over its number of heads, to begin with.
    pub fn new(base: &RunConfig) -> Self {
        let axes = vec![("model.layers".to_owned(), format!("{}, {}", base.model.layers, base.model.layers * 2))];
        let mut new = Self { base: base.clone(), axes, combine: Combine::Grid, outcome: Ok(Vec::new()) };
        new.price();
        new
    }

    /// The sweep is called this.
    pub fn rename(&mut self, name: &str) {
        if self.base.name != name {
            name.clone_into(&mut self.base.name);
            self.price();
        }
    }

    /// Every config, also those that cannot be trained; why there are none.
    pub fn entrants(&self) -> Result<&[Priced], &str> {
        self.outcome.as_deref().map_err(String::as_str)
    }

    /// Whether the seeds are swept.
    pub fn sweeps_seeds(&self) -> bool {
        self.axes.iter().any(|(field, _)| field.trim() == "seed")
    }

    fn price(&mut self) {
        let labels = labels_of(&self.base);
        let axes = self.axes.iter().map(|(field, values)| axis(field.trim(), values, &labels));
        let entrants = axes.collect::<Result<Vec<_>, _>>().and_then(|axes| {
            let sweep = Sweep { base: self.base.clone(), axes, combine: self.combine };
            // Paths stand in marks of code there, labels in quotes.
            sweep.entrants().map_err(|error| in_labels(&error.to_string().replace('`', ""), &labels))
        });
        self.outcome = entrants.map(|all| all.into_iter().map(|entrant| Priced::of(entrant, &labels)).collect());
    }

    /// Draws it.
    pub fn ui(&mut self, ui: &mut Ui, height: f32) {
        let mut changed = false;
        let mut gone = None;
        let count = self.axes.len();
        for (place, (field, values)) in self.axes.iter_mut().enumerate() {
            ui.push_id(place, |ui| {
                ui.horizontal(|ui| {
                    let number = place + 1;
                    let typed = ui.add(TextEdit::singleline(field).desired_width(230.0));
                    changed |= typed.accessible_name(format!("Field {number}")).changed();
                    let menu = ui.menu_button("Fields", |ui| {
                        for name in OFFERED {
                            if ui.button(name).clicked() {
                                name.clone_into(field);
                                changed = true;
                                ui.close();
                            }
                        }
                    });
                    menu.response.accessible_name(format!("Fields for {number}"));
                    ui.label("=");
                    let typed = ui.add(TextEdit::singleline(values).desired_width(220.0).hint_text("2, 4, 6"));
                    changed |= typed.accessible_name(format!("Values {number}")).changed();
                    if count > 1 && ui.button("Remove").accessible_name(format!("Remove field {number}")).clicked() {
                        gone = Some(place);
                    }
                });
            });
        }
        if let Some(place) = gone {
            self.axes.remove(place);
            changed = true;
        }
        ui.horizontal(|ui| {
            if ui.button("Add a field").clicked() {
                let field = OFFERED.iter().find(|name| self.axes.iter().all(|(field, _)| field != *name));
                self.axes.push((field.copied().unwrap_or_default().to_owned(), String::new()));
                changed = true;
            }
            if count > 1 {
                for (combine, words, help) in [
                    (Combine::Grid, "Every combination", "Each value with each value of the other fields"),
                    (Combine::List, "Values together", "The first values of all fields, then the second, and so on"),
                ] {
                    let radio = ui.radio_value(&mut self.combine, combine, words).on_hover_text(help);
                    changed |= radio.changed();
                }
            }
        });
        if changed {
            self.price();
        }
        ui.add_space(4.0);
        let palette = theme::palette(ui.visuals());
        match &self.outcome {
            Err(why) => drop(ui.label(RichText::new(why).color(palette.error))),
            Ok(all) => {
                let base = all.iter().find_map(|priced| priced.cost);
                let scroll = ScrollArea::vertical().max_height(height).min_scrolled_height(height);
                scroll.auto_shrink([false, true]).show(ui, |ui| {
                    Grid::new("configs").num_columns(4).spacing([14.0, 5.0]).show(ui, |ui| {
                        for title in ["Config", "Parameters", "FLOPs per step", ""] {
                            ui.label(RichText::new(title).small().color(palette.weak));
                        }
                        ui.end_row();
                        for priced in all {
                            ui.label(&priced.entrant.name);
                            costs_ui(ui, priced, base);
                            ui.end_row();
                        }
                    });
                });
            }
        }
    }
}

/// A field with its values, or why they are none.
fn axis(field: &str, values: &str, labels: &Labels) -> Result<Axis, String> {
    format!("{field}={values}").parse::<Axis>().map_err(|error| match error {
        SpecError::Axis { .. } if field.is_empty() => {
            "Choose a field, or type its name in a config file, such as model.heads.".to_owned()
        }
        SpecError::Axis { why, .. } => {
            let named = labels.get(field).map_or_else(|| field.to_owned(), |label| format!("{label} ({field})"));
            format!("{named}: {why}. Put commas between the values, as in 2, 4, 8.")
        }
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::preset;

    use super::*;

    #[test]
    fn what_is_typed_becomes_configs_or_a_reason() {
        let base = preset("grammar-decoder").unwrap().config().unwrap();
        let mut form = SweepForm::new(&base);
        assert_eq!(form.entrants().unwrap().len(), 2);
        form.axes.push(("model.heads".to_owned(), "2, 3".to_owned()));
        form.price();
        let all = form.entrants().unwrap();
        let sound: Vec<bool> = all.iter().map(|priced| priced.cost.is_some()).collect();
        assert_eq!(sound, [true, false, true, false]);
        let why = &all[1].why_not;
        assert!(why.starts_with("Width: ") && why.contains("not divisible by 3 heads"), "{why}");
        let refused = |form: &mut SweepForm, field: &str, values: &str| {
            form.axes[1] = (field.to_owned(), values.to_owned());
            form.price();
            form.entrants().unwrap_err().to_owned()
        };
        let why = refused(&mut form, "model.heads", "");
        assert!(why.starts_with("Heads (model.heads): one of its values is empty."), "{why}");
        assert!(refused(&mut form, " ", "2").starts_with("Choose a field"));
        let why = refused(&mut form, "model.layers", "2, 3");
        assert_eq!(why, "\u{201C}Layers\u{201D} is there twice. Put all its values together.");
        form.axes[1] = ("model.heads".to_owned(), "2, three".to_owned());
        form.price();
        let why = &form.entrants().unwrap()[1].why_not;
        assert!(why.starts_with("Heads: \"three\" is not a whole number"), "{why}");
    }
}
