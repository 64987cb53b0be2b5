//! The fields of a sweep and their values.

use egui::{Grid, RichText, ScrollArea, TextEdit, Ui};
use headroom_engine::config::{Axis, Combine, RunConfig, Sweep};

use super::{priced::Priced, variants::costs_ui};
use crate::theme;

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
        let axis = |(field, values): &(String, String)| format!("{}={values}", field.trim()).parse::<Axis>();
        let axes = self.axes.iter().map(axis).collect::<Result<Vec<_>, _>>();
        let entrants = axes.and_then(|axes| Sweep { base: self.base.clone(), axes, combine: self.combine }.entrants());
        self.outcome = entrants.map(|all| all.into_iter().map(Priced::of).collect()).map_err(|error| error.to_string());
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
        assert!(all[1].why_not().contains("model.width"), "{}", all[1].why_not());
        form.axes[1].1.clear();
        form.price();
        assert!(form.entrants().unwrap_err().contains("model.heads="));
    }
}
