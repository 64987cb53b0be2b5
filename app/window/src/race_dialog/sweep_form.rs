//! The fields of a sweep and their values.

use egui::{Grid, RichText, ScrollArea, TextEdit, Ui};
use headroom_engine::{
    attention::ModelFacts,
    config::{Axis, Combine, Fields, RunConfig, Sweep, SweepMistake, fields_of, names_taken},
};

use super::{priced::Priced, variants::costs_ui};
use crate::{panels::configure::told, theme};

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

/// Values of a field that takes numbers, as they are typed.
const NUMBERS: &str = "2, 4, 8";
/// So many names of those that a field takes are an example.
const NAMES: usize = 3;

/// How values are typed, with some that the field takes.
fn commas(example: &str) -> String {
    format!("Put commas between the values, as in {example}.")
}

/// Values of a field as they are typed.
fn example_of(base: &RunConfig, field: &str) -> String {
    let names = names_taken(base, field);
    if names.len() < 2 { NUMBERS.to_owned() } else { names.into_iter().take(NAMES).collect::<Vec<_>>().join(", ") }
}

/// What the user wrote, and what comes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepForm {
    base: RunConfig,
    /// Facts about its model.
    facts: ModelFacts,
    axes: Vec<(String, String)>,
    /// Values of each field as they are typed.
    examples: Vec<String>,
    combine: Combine,
    /// The entrants, or everything for which there are none.
    outcome: Result<Vec<Priced>, Vec<String>>,
}

impl SweepForm {
    /// A sweep of a config over its number of heads, to begin with.
    pub fn new(base: &RunConfig) -> Self {
        let axes = vec![("model.layers".to_owned(), format!("{}, {}", base.model.layers, base.model.layers * 2))];
        let (examples, outcome) = (Vec::new(), Ok(Vec::new()));
        let mut new =
            Self { base: base.clone(), facts: ModelFacts::default(), axes, examples, combine: Combine::Grid, outcome };
        new.price();
        new
    }

    /// Takes in what was found out about the model of the config.
    pub fn know(&mut self, facts: &ModelFacts) {
        if self.facts != *facts {
            self.facts = facts.clone();
            self.price();
        }
    }

    /// The sweep is called this.
    pub fn rename(&mut self, name: &str) {
        if self.base.name != name {
            name.clone_into(&mut self.base.name);
            self.price();
        }
    }

    /// Every config, also those that cannot be trained; why there are none.
    pub fn entrants(&self) -> Result<&[Priced], &[String]> {
        self.outcome.as_deref().map_err(Vec::as_slice)
    }

    /// Whether the seeds are swept.
    pub fn sweeps_seeds(&self) -> bool {
        self.axes.iter().any(|(field, _)| field.trim() == "seed")
    }

    fn price(&mut self) {
        let fields = fields_of(&self.base);
        self.examples = self.axes.iter().map(|(field, _)| example_of(&self.base, field.trim())).collect();
        let axes = self.axes.iter().map(|(field, values)| Axis::as_typed(&format!("{}={values}", field.trim())));
        let sweep = Sweep { base: self.base.clone(), axes: axes.collect(), combine: self.combine };
        self.outcome = match sweep.entrants() {
            Ok(all) => {
                Ok(all.into_iter().map(|entrant| Priced::of(entrant, (&self.base, &self.facts), &fields)).collect())
            }
            Err(mistakes) => Err(mistakes.iter().map(|mistake| mistake_told(mistake, &self.base, &fields)).collect()),
        };
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
                    let example = self.examples.get(place).map_or(NUMBERS, String::as_str);
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
                    let typed = ui.add(TextEdit::singleline(values).desired_width(220.0).hint_text(example));
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
            Err(mistakes) => {
                for mistake in mistakes {
                    ui.label(RichText::new(mistake).color(palette.error));
                }
            }
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

/// A mistake as the dialog tells it: fields under the labels of the form, and what to do in its words.
fn mistake_told(mistake: &SweepMistake, base: &RunConfig, fields: &Fields) -> String {
    let label = |path: &str| fields.get(path).map(|field| field.label);
    let named = |path: &str| label(path).map_or_else(|| path.to_owned(), |label| format!("{label} ({path})"));
    let quoted = |path: &str| label(path).map_or_else(|| path.to_owned(), |label| format!("\u{201C}{label}\u{201D}"));
    match mistake {
        SweepMistake::NoField { .. } => {
            "Choose a field, or type its name in a config file, such as model.heads.".to_owned()
        }
        SweepMistake::UnknownField(problem) => told(problem, fields),
        SweepMistake::NoValues { field } => {
            format!("{}: it has no values. {}", named(field), commas(&example_of(base, field)))
        }
        SweepMistake::EmptyValue { axis } => {
            let how = commas(&example_of(base, &axis.field));
            format!("{}: one of its values is empty. {how}", named(&axis.field))
        }
        SweepMistake::SameValue { axis, value } => {
            format!("{}: {value} is there twice. Give each value once.", named(&axis.field))
        }
        SweepMistake::Value { value, problem } => {
            let told = told(problem, fields);
            if is_several(value) { format!("{told} {}", commas(NUMBERS)) } else { told }
        }
        SweepMistake::SameField(field) => format!("{} is there twice. Put all its values together.", quoted(field)),
        SweepMistake::Lengths(lengths) => SweepMistake::of_lengths(lengths, quoted),
        SweepMistake::NoAxes | SweepMistake::TooMany { .. } => mistake.to_string(),
    }
}

/// Whether a value looks like several that were divided by something else than commas.
fn is_several(value: &str) -> bool {
    value.split([' ', ';', '/']).filter(|part| part.parse::<f64>().is_ok()).count() > 1
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
            form.entrants().unwrap_err().join(" ")
        };
        let why = refused(&mut form, "model.heads", "");
        assert!(why.starts_with("Heads (model.heads): one of its values is empty."), "{why}");
        assert!(refused(&mut form, " ", "2").starts_with("Choose a field"));
        let why = refused(&mut form, "attention.reuse.kind", "");
        assert!(why.ends_with("as in none, first, partial."), "names where it takes names: {why}");
        assert_eq!(form.examples, ["2, 4, 8", "none, first, partial"]);
        let why = refused(&mut form, "model.layers", "2, 3");
        assert_eq!(why, "\u{201C}Layers\u{201D} is there twice. Put all its values together.");
        // Every mistake is told, fields first, and how to type values where that helps.
        form.axes.insert(0, ("model.haeds".to_owned(), "2, 2".to_owned()));
        form.axes.push(("train.batch".to_owned(), "2 4, 8".to_owned()));
        form.axes[2] = ("seed".to_owned(), "1,,2".to_owned());
        form.price();
        let mistakes = form.entrants().unwrap_err();
        for (mistake, words) in mistakes.iter().zip([
            "model.haeds: There is no field model.haeds. Did you mean heads?",
            "model.haeds: 2 is there twice. Give each value once.",
            "seed): one of its values is empty. Put commas between the values",
            "\"2 4\" is not a whole number",
        ]) {
            assert!(mistake.contains(words), "{words} is not told in {mistake}");
        }
        assert_eq!(mistakes.len(), 4, "{mistakes:?}");
        assert!(!mistakes[1].contains("commas") && mistakes[3].contains("commas"), "{mistakes:?}");
        form.axes.pop();
        form.axes.remove(0);
        form.axes[1] = ("model.heads".to_owned(), "2, three".to_owned());
        form.price();
        let why = &form.entrants().unwrap()[1].why_not;
        assert!(why.starts_with("Heads: \"three\" is not a whole number"), "{why}");
    }
}
