use std::ops::RangeInclusive;

use egui::{ComboBox, Grid, RichText, TextEdit, Ui};
use headroom_engine::{
    config::{Cache, Precision, counted},
    generate::Search,
    protocol::GenerateSource,
};
use serde::{Deserialize, Serialize};

use super::known::Known;
use crate::{
    context::{PanelContext, PanelId},
    panels::model_choice::ModelChoice,
    theme,
    widgets::{number_ui, tooltip_beside},
};

/// Examples that can be chosen.
const EXAMPLES: usize = 16;
/// From this width on, in points, two fields of a setting stand in one row.
const PAIRS: f32 = 500.0;

/// What a model reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// Whether it is the beginning of an example of the held-out text.
    pub is_example: bool,
    /// Which one, from 0.
    pub example: usize,
    /// How many tokens of it.
    pub tokens: usize,
    /// What the user wrote.
    pub written: String,
}

impl Default for Source {
    fn default() -> Self {
        Self { is_example: false, example: 0, tokens: 32, written: String::new() }
    }
}

impl Source {
    /// What is asked of the engine, or what is missing.
    pub fn source(&self) -> Result<GenerateSource, String> {
        if self.is_example {
            Ok(GenerateSource::HeldOut { number: self.example, tokens: self.tokens })
        } else if self.written.trim().is_empty() {
            Err("Write a text, or take one of the held-out ones.".to_owned())
        } else {
            Ok(GenerateSource::Text(self.written.clone()))
        }
    }

    /// Draws the choice; `fills_in`: for a model that fills in hidden words.
    pub fn ui(&mut self, ui: &mut Ui, fills_in: bool) {
        ui.horizontal_wrapped(|ui| {
            ui.label("Source");
            let text = if self.is_example { "Held-out example" } else { "Text" };
            let combo = ComboBox::from_id_salt("source").width(140.0).selected_text(text).show_ui(ui, |ui| {
                ui.selectable_value(&mut self.is_example, false, "Text");
                ui.selectable_value(&mut self.is_example, true, "Held-out example");
            });
            combo.response.accessible_name("What the model reads");
            if self.is_example {
                let mut number = self.example.saturating_add(1);
                let example = number_ui(ui, &mut number, 1..=EXAMPLES, |drag| drag.suffix(format!(" of {EXAMPLES}")));
                example.on_hover_text("Spread evenly over the held-out text").accessible_name("Example");
                self.example = number - 1;
                let label = ui.label("first tokens");
                let tokens = number_ui(ui, &mut self.tokens, 1..=1_000_000, |drag| drag);
                tokens.labelled_by(label.id).on_hover_text(if fills_in {
                    "How many tokens of the example the encoder reads; every seventh of them is hidden from it"
                } else {
                    "How many tokens of the example a decoder goes on with; a model that translates reads the whole source"
                });
            }
        });
        if !self.is_example {
            let hint = if fills_in {
                "A text with [MASK], or the mask token of the model, in place of each word that is to be filled in"
            } else {
                "The text that a decoder goes on with, or that the encoder before it reads"
            };
            let typed = TextEdit::multiline(&mut self.written).desired_rows(3).desired_width(f32::INFINITY);
            ui.add(typed.hint_text(hint)).accessible_name("Text");
        }
    }
}

/// How a text is generated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setting {
    /// The model.
    pub model: ModelChoice,
    /// How is searched.
    pub search: Search,
    /// The number format.
    pub precision: Precision,
}

fn cache_about(cache: &Cache) -> &'static str {
    match cache {
        Cache::None(_) => "Every token computes the whole text before it again",
        Cache::KeyValue(_) => "Of every position what its keys and values are made of",
        Cache::Hidden(_) => "Of the prompt or the source the hidden states, which all heads and beams share",
    }
}

impl Setting {
    /// The setting in a few words: what differs from greedy search.
    pub fn words(search: &Search, precision: Precision) -> String {
        let kept = match &search.cache {
            Cache::None(_) => "keeps nothing",
            Cache::KeyValue(_) => "keeps keys and values",
            Cache::Hidden(_) => "keeps hidden states (EL)",
        };
        let mut words = vec![kept.to_owned()];
        if search.beams > 1 {
            words.push(format!("{} beams", search.beams));
        }
        if search.groups > 1 {
            words.push(format!("{} groups", search.groups));
        }
        if search.temperature > 0.0 {
            words.push(format!("temperature {}", search.temperature));
        }
        if search.no_repeat > 0 {
            words.push(format!("no {} tokens twice", search.no_repeat));
        }
        if precision != Precision::F32 {
            words.push(precision.name().to_owned());
        }
        words.join(", ")
    }

    /// Draws it; `second` where it stands beside the first one. With an encoder nothing is searched for.
    pub fn ui(&mut self, ui: &mut Ui, second: bool, known: Known, cx: &mut PanelContext<'_>) {
        ui.horizontal_wrapped(|ui| {
            ui.label(if second { "Second setting" } else { "Model" });
            self.model.ui(ui, PanelId::GENERATE, second, cx);
        });
        if known.fills_in {
            return;
        }
        // Of the model of the first setting; a second one may be another.
        let positions = known.positions.filter(|_| !second || self.model.is_of_run());
        let suffix = if second { ", second setting" } else { "" };
        let has_pairs = ui.available_width() >= PAIRS;
        let next = |ui: &mut Ui| {
            if !has_pairs {
                ui.end_row();
            }
        };
        let grid = Grid::new(("setting", second, has_pairs)).num_columns(if has_pairs { 4 } else { 2 });
        grid.spacing([12.0, 4.0]).show(ui, |ui| {
            ui.label("Keep between tokens").on_hover_text("It changes time and memory, and no token");
            let chosen = self.search.cache.label();
            let combo =
                ComboBox::from_id_salt(("cache", second)).width(150.0).selected_text(chosen).show_ui(ui, |ui| {
                    for cache in Cache::ALL {
                        let (name, about) = (cache.label(), cache_about(&cache));
                        tooltip_beside(ui.selectable_value(&mut self.search.cache, cache, name), about);
                    }
                });
            combo.response.accessible_name(format!("Keep between tokens{suffix}"));
            next(ui);
            ui.label("Number format");
            let chosen = self.precision.name();
            let combo = ComboBox::from_id_salt(("precision", second)).width(70.0).selected_text(chosen);
            let combo = combo.show_ui(ui, |ui| {
                for precision in Precision::FORMATS {
                    ui.selectable_value(&mut self.precision, precision, precision.name());
                }
            });
            combo.response.accessible_name(format!("Number format{suffix}"));
            ui.end_row();
            let search = &mut self.search;
            let most = (1..=100_000, "New tokens at most, the end token included");
            whole_ui(ui, "Most tokens", suffix, &mut search.max_new_tokens, most);
            next(ui);
            let least = (0..=100_000, "The end token may come after that many");
            whole_ui(ui, "Least tokens", suffix, &mut search.min_new_tokens, least);
            ui.end_row();
            let beams = (1..=1024, "Texts that are followed at the same time; the best one is the result");
            whole_ui(ui, "Beams", suffix, &mut search.beams, beams);
            next(ui);
            let penalty = (-10.0..=10.0, "Beams are compared by log-probability / length^this");
            decimal_ui(ui, "Length penalty", suffix, &mut search.length_penalty, penalty);
            ui.end_row();
            let groups = (1..=1024, "Groups of beams that avoid each other's tokens; they must divide the beams");
            whole_ui(ui, "Groups", suffix, &mut search.groups, groups);
            next(ui);
            let help = "What a token loses in log-probability for every beam of an earlier group that chose it";
            decimal_ui(ui, "Diversity", suffix, &mut search.diversity, (0.0..=100.0, help));
            ui.end_row();
            let repeat = (0..=1000, "No sequence of so many tokens comes twice; 0: any may");
            whole_ui(ui, "No repeat", suffix, &mut search.no_repeat, repeat);
            next(ui);
            let help = "Logits are divided by it before a token is drawn; 0: the most probable token is taken";
            decimal_ui(ui, "Temperature", suffix, &mut search.temperature, (0.0..=100.0, help));
            ui.end_row();
            let mut top_k = search.top_k.unwrap_or(0);
            whole_ui(
                ui,
                "Top-k",
                suffix,
                &mut top_k,
                (0..=1_000_000, "Drawn from that many most probable tokens; 0: from all"),
            );
            search.top_k = (top_k > 0).then_some(top_k);
            next(ui);
            let mut top_p = search.top_p.unwrap_or(1.0);
            let help =
                "Drawn from the most probable tokens that have this share of the probability together; 1: from all";
            decimal_ui(ui, "Top-p", suffix, &mut top_p, (0.0..=1.0, help));
            search.top_p = (top_p < 1.0).then_some(top_p);
            ui.end_row();
            let label = ui.label("Seed");
            let seed = number_ui(ui, &mut search.seed, 0..=u64::MAX, |drag| drag);
            seed.labelled_by(label.id)
                .on_hover_text("The same seed draws the same tokens")
                .accessible_name(format!("Seed{suffix}"));
            next(ui);
            let early = ui.checkbox(&mut search.early_stopping, "Stop early");
            early
                .on_hover_text(
                    "Stop as soon as as many texts as beams have ended, not when no running one can be better",
                )
                .accessible_name(format!("Stop early{suffix}"));
            ui.end_row();
        });
        if let Some(positions) = positions.filter(|positions| self.search.max_new_tokens > *positions) {
            let words = format!(
                "The model has {}: a text ends there, with what it was given, however many tokens are asked for.",
                counted(positions as u64, "position")
            );
            ui.label(RichText::new(words).small().color(theme::palette(ui.visuals()).weak));
        }
    }
}

fn whole_ui(ui: &mut Ui, name: &str, suffix: &str, value: &mut usize, (range, help): (RangeInclusive<usize>, &str)) {
    ui.label(name).on_hover_text(help);
    let drag = number_ui(ui, value, range, |drag| drag);
    drag.on_hover_text(help).accessible_name(format!("{name}{suffix}"));
}

fn decimal_ui(ui: &mut Ui, name: &str, suffix: &str, value: &mut f64, (range, help): (RangeInclusive<f64>, &str)) {
    ui.label(name).on_hover_text(help);
    let drag = number_ui(ui, value, range, |drag| drag.speed(0.02).max_decimals(3));
    drag.on_hover_text(help).accessible_name(format!("{name}{suffix}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_survives_its_memory_and_is_named_by_what_it_changes() {
        let mut setting = Setting::default();
        assert_eq!(Setting::words(&setting.search, setting.precision), "keeps keys and values");
        (setting.search.beams, setting.search.top_k, setting.precision) = (4, Some(3), Precision::Bf16);
        assert_eq!(Setting::words(&setting.search, setting.precision), "keeps keys and values, 4 beams, bf16");
        let kept = serde_json::to_value(&setting).unwrap();
        assert_eq!(serde_json::from_value::<Setting>(kept).unwrap(), setting);
    }

    #[test]
    fn a_source_says_what_is_missing() {
        let mut source = Source::default();
        assert!(source.source().unwrap_err().contains("Write a text"));
        source.written = "the ".to_owned();
        assert_eq!(source.source(), Ok(GenerateSource::Text("the ".to_owned())));
        (source.is_example, source.example) = (true, 3);
        assert_eq!(source.source(), Ok(GenerateSource::HeldOut { number: 3, tokens: 32 }));
    }
}
