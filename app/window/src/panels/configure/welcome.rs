//! The first page: ready configs as cards, two clicks from a moving curve.

use egui::{
    Align, Button, Color32, Frame, Layout, Margin, RichText, ScrollArea, Sense, Stroke, TextStyle, Ui, UiBuilder, Vec2,
};
use headroom_engine::{
    config::counted,
    config::{Preset, PresetGroup, RunConfig, Source, presets},
};

use super::Estimate;
use crate::{common::Expected, format, state::State, theme};

/// Size of a card.
const CARD: Vec2 = Vec2::new(300.0, 200.0);
/// What its frame takes of both, and the size of its title, in points.
const INSIDE: f32 = 26.0;
const TITLE: f32 = 15.0;

/// What was chosen on the first page.
pub enum Choice {
    /// A preset's config.
    Preset(Box<RunConfig>),
    /// The draft as it is.
    Draft,
}

/// Draws the page. Returns what was chosen.
pub fn welcome_ui(ui: &mut Ui, state: &State) -> Option<Choice> {
    let palette = theme::palette(ui.visuals());
    let mut chosen = None;
    // A place of its own: the form, which may stand here too, is scrolled by itself.
    ScrollArea::vertical().id_salt("presets").auto_shrink(false).show(ui, |ui| {
        ui.add_space(8.0);
        ui.heading("How much of attention is redundant?");
        ui.colored_label(
            palette.weak,
            "Train a small transformer, watch it learn, and compare it with others. Choose a starting point; \
             everything in it can be changed before it starts.",
        );
        ui.add_space(4.0);
        if ui.button("Go to the form").on_hover_text("Shows every field of the config as it stands").clicked() {
            chosen = Some(Choice::Draft);
        }
        ui.add_space(6.0);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = Vec2::new(12.0, 12.0);
            let starts = presets().iter().filter(|preset| preset.group == PresetGroup::Start);
            let cards: Vec<Card<'_>> = starts.filter_map(|preset| Card::of(preset, state)).collect();
            // Cards are as high as the one that says most.
            let height = cards.iter().map(|card| card.height(ui)).fold(CARD.y, f32::max);
            for card in cards {
                if card.ui(ui, height) {
                    chosen = Some(Choice::Preset(Box::new(card.config)));
                }
            }
        });
        for group in PresetGroup::ALL {
            let Some(title) = title(group) else { continue };
            ui.add_space(10.0);
            ui.label(RichText::new(title).strong());
            ui.horizontal_wrapped(|ui| {
                for preset in presets().iter().filter(|preset| preset.group == group) {
                    let Ok(config) = preset.config() else { continue };
                    let button = ui.button(sentence_case(&config.name)).on_hover_ui(|ui| {
                        ui.set_max_width(CARD.x);
                        ui.label(preset.about());
                        ui.colored_label(palette.weak, facts(&config, state));
                    });
                    if button.accessible_name(format!("Use preset {}", preset.name)).clicked() {
                        chosen = Some(Choice::Preset(Box::new(config)));
                    }
                }
            });
        }
        if state.current.is_none() && state.runs.is_empty() {
            ui.add_space(6.0);
            ui.colored_label(palette.weak, "Nothing has been trained in this store yet.");
        }
    });
    chosen
}

/// One preset.
struct Card<'a> {
    preset: &'a Preset,
    config: RunConfig,
    /// Its size and the time that it takes.
    facts: String,
}

impl<'a> Card<'a> {
    fn of(preset: &'a Preset, state: &State) -> Option<Self> {
        let config = preset.config().ok()?;
        Some(Self { preset, facts: facts(&config, state), config })
    }

    /// How high it has to be for all that it says, in points.
    fn height(&self, ui: &Ui) -> f32 {
        let wrapped = |text: &str, style: TextStyle| {
            let galley =
                ui.painter().layout(text.to_owned(), style.resolve(ui.style()), Color32::WHITE, CARD.x - INSIDE);
            galley.size().y
        };
        let (title, button) = (TITLE * 1.4, ui.spacing().interact_size.y);
        let gaps = 3.0 * ui.spacing().item_spacing.y;
        wrapped(&self.preset.about(), TextStyle::Body)
            + wrapped(&self.facts, TextStyle::Small)
            + title
            + button
            + gaps
            + INSIDE
    }

    /// Draws it. Returns whether it was chosen.
    fn ui(&self, ui: &mut Ui, height: f32) -> bool {
        let palette = theme::palette(ui.visuals());
        let (preset, size) = (self.preset, Vec2::new(CARD.x, height));
        let mut clicked = false;
        ui.allocate_ui_with_layout(size, Layout::top_down(Align::Min), |ui| {
            let card = ui.scope_builder(UiBuilder::new().id_salt(preset.name).sense(Sense::CLICK), |ui| {
                let hovered = ui.response().hovered();
                let edge = if hovered { palette.accent } else { palette.line };
                let frame = Frame::new()
                    .fill(palette.surface)
                    .stroke(Stroke::new(1.0, edge))
                    .corner_radius(8.0)
                    .inner_margin(Margin::same(12));
                frame.show(ui, |ui| {
                    ui.set_min_size(size - Vec2::splat(INSIDE));
                    ui.set_max_width(size.x - INSIDE);
                    ui.label(RichText::new(sentence_case(&self.config.name)).strong().size(TITLE));
                    let about = ui.add(egui::Label::new(preset.about()).wrap().selectable(false));
                    about.on_hover_text(preset.name);
                    ui.with_layout(Layout::bottom_up(Align::Min), |ui| {
                        let button = Button::new("Use this").fill(palette.selection);
                        clicked |= ui.add(button).accessible_name(format!("Use preset {}", preset.name)).clicked();
                        ui.label(RichText::new(&self.facts).small().color(palette.weak));
                    });
                });
            });
            clicked |= card.response.clicked();
        });
        clicked
    }
}

/// Size and expected time.
fn facts(config: &RunConfig, state: &State) -> String {
    let shape =
        format!("{} of width {}", counted(config.model.layers, "layer"), format::count(config.model.width as u64));
    // A preset for the user's own text names no file yet; its cost is known all the same.
    let mut known = config.clone();
    let source = &known.data.source;
    let generated = Source::generated(source.facts().modality).filter(|_| source.reads_files() && !source.has_labels());
    if let Some(generated) = generated {
        known.data.source = generated;
    }
    match Estimate::of(&known) {
        Ok(estimate) => {
            let steps = estimate.steps.unwrap_or_default();
            let time = Expected::of(
                estimate.cost.flops_per_step as f64 * steps as f64,
                estimate.cost.flops_per_step,
                config,
                state,
            )
            .map(|time| format!(", {}", time.words()));
            let parameters = format::parameters(estimate.cost.parameters);
            format!("{parameters}, {shape}, {}{}", counted(steps, "step"), time.unwrap_or_default())
        }
        Err(_) => shape,
    }
}

/// What stands over presets that are no cards.
fn title(group: PresetGroup) -> Option<&'static str> {
    match group {
        PresetGroup::Start => None,
        PresetGroup::Attention => Some("Kinds of attention, in minutes on two cores"),
        PresetGroup::Paper => Some("Set-ups of the papers, most of them for a GPU"),
    }
}

fn sentence_case(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_says_size_and_time() {
        for preset in presets() {
            let facts = facts(&preset.config().unwrap(), &State::default());
            for part in ["params", "layers of width", "steps"] {
                assert!(facts.contains(part), "{facts}");
            }
        }
        assert_eq!(sentence_case("grammar decoder"), "Grammar decoder");
    }
}
