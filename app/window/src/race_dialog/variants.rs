//! The list of variants of a race, with their numbers.

use egui::{Checkbox, Grid, Rect, RichText, Role, Sense, TextStyle, TextWrapMode, Ui, WidgetInfo, WidgetText, vec2};
use headroom_engine::{
    attention::{ModelFacts, ParameterMatch},
    config::{About, Answer, Number, NumberValue, Race, RunConfig, Side, counted, fields_of},
};

use super::{
    place::right_edge,
    priced::{Price, Priced},
};
use crate::{format, theme, widgets::number_ui};

/// The least room for a reason beside what cannot be trained, in points; it stands below where there is less.
const REASON: f32 = 220.0;
/// Rows from which on a reason that they have in common is said once, above the list.
const SHARED: usize = 3;
/// What is left free at its right, for the scroll bar.
const MARGIN: f32 = 16.0;

/// A variant that can be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What it changes.
    pub answer: Answer,
    /// Whether it races.
    pub chosen: bool,
}

/// The variants that a race of this config can have.
#[derive(Clone, Debug, PartialEq)]
pub struct Variants {
    base: RunConfig,
    /// Facts about its model.
    facts: ModelFacts,
    all: Vec<Variant>,
    /// The baseline and, where it is another, the config as it is.
    fixed: Vec<Priced>,
    /// What each variant comes to, in the order of `all`.
    priced: Vec<Priced>,
}

impl Variants {
    /// Every answer with numbers that suit the model. A config that is its own baseline races against symmetric
    /// attention and full reuse unless told otherwise.
    pub fn new(base: &RunConfig) -> Self {
        let answers: Vec<Answer> = Answer::all(base);
        let is_own = base.attention == base.attention.baseline(headroom_engine::config::Baseline::Standard);
        let chosen = |answer: &Answer| is_own && ["symmetric", "full"].contains(&answer.kind());
        let all = answers.into_iter().map(|answer| Variant { chosen: chosen(&answer), answer }).collect();
        let mut new =
            Self { base: base.clone(), facts: ModelFacts::default(), all, fixed: Vec::new(), priced: Vec::new() };
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

    /// The race is called this.
    pub fn rename(&mut self, name: &str) {
        if self.base.name != name {
            name.clone_into(&mut self.base.name);
            self.price();
        }
    }

    /// What races: baseline, config as it is, chosen variants.
    pub fn chosen(&self) -> Vec<&Priced> {
        let chosen = self.all.iter().zip(&self.priced).filter(|(variant, _)| variant.chosen);
        self.fixed.iter().chain(chosen.map(|(_, priced)| priced)).collect()
    }

    fn price(&mut self) {
        let race = |variants: Vec<Side>| Race { base: self.base.clone(), variants }.entrants().unwrap_or_default();
        let labels = fields_of(&self.base);
        let known = (&self.base, &self.facts);
        self.fixed = race(Vec::new()).into_iter().map(|entrant| Priced::of(entrant, known, &labels)).collect();
        let one = |variant: &Variant| {
            let side = Side { name: variant.answer.words(), overrides: vec![variant.answer.to_override()] };
            let entrants = Race { base: self.base.clone(), variants: vec![side] }.entrants();
            // A variant of the name of one that races anyway is that one.
            let known = || self.fixed.iter().find(|entrant| entrant.entrant.name == variant.answer.words()).cloned();
            let labels = fields_of(&with(&self.base, &variant.answer));
            let priced = |entrant| Priced::of(entrant, (&self.base, &self.facts), &labels);
            entrants.map_or_else(|_| known(), |mut entrants| entrants.pop().map(priced))
        };
        self.priced = self.all.iter().filter_map(one).collect();
    }

    /// Draws the list.
    pub fn ui(&mut self, ui: &mut Ui) {
        let weak = theme::palette(ui.visuals()).weak;
        let base = self.fixed.first().and_then(|priced| priced.cost);
        let fixed = self.fixed.clone();
        let priced = self.priced.clone();
        let mut changed = false;
        ui.label(RichText::new(self.symbols()).small().color(weak));
        let shared = shared_reasons(fixed.iter().chain(&priced));
        for reason in &shared {
            let error = theme::palette(ui.visuals()).error;
            ui.label(RichText::new(reason.sentence(shared.len())).small().color(error));
        }
        Grid::new("variants").num_columns(5).spacing([14.0, 5.0]).show(ui, |ui| {
            for title in ["Variant", "", "Parameters", "FLOPs per step", ""] {
                ui.label(RichText::new(title).small().color(weak));
            }
            ui.end_row();
            for (index, entrant) in fixed.iter().enumerate() {
                let words = if index == 0 { "baseline" } else { "as configured" };
                ui.label(RichText::new(&entrant.entrant.name).strong());
                ui.label(RichText::new(words).color(weak));
                variant_costs_ui(ui, entrant, if index == 0 { None } else { base }, &shared);
                ui.end_row();
            }
            let mut question = "";
            for (variant, priced) in self.all.iter_mut().zip(&priced) {
                let asks = match variant.answer {
                    Answer::Compatibility(_) => "How a pair is scored",
                    Answer::Reuse(_) => "Which heads score",
                    Answer::Coverage(_) => "How many pairs",
                };
                if asks != question {
                    question = asks;
                    ui.label(RichText::new(asks).small().color(weak));
                    ui.end_row();
                }
                let is_there = fixed.iter().any(|entrant| entrant.entrant.name == variant.answer.words());
                variant.chosen &= !is_there;
                let About { name, title, note, .. } = variant.answer.about();
                let check = ui.add_enabled(!is_there, Checkbox::new(&mut variant.chosen, title));
                check.on_hover_text(note).on_disabled_hover_text("It is in the race already");
                let config = &self.base;
                ui.horizontal(|ui| changed |= numbers_ui(ui, &mut variant.answer, config, &name.to_lowercase()));
                variant_costs_ui(ui, priced, base, &shared);
                ui.end_row();
            }
        });
        if changed {
            self.price();
        }
    }

    /// What the letters stand for: "P: layers that borrow, or layers without attention".
    fn symbols(&mut self) -> String {
        let mut told: Vec<(&str, Vec<String>)> = Vec::new();
        for variant in &mut self.all {
            for Number { symbol, field, .. } in variant.answer.numbers(&self.base) {
                let mut letters = field.label.chars();
                let label: String = letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
                match told.iter_mut().find(|(own, _)| *own == symbol) {
                    Some((_, labels)) if labels.contains(&label) => {}
                    Some((_, labels)) => labels.push(label),
                    None => told.push((symbol, vec![label])),
                }
            }
        }
        let words = told.into_iter().map(|(symbol, labels)| format!("{symbol}: {}", labels.join(", or ")));
        words.collect::<Vec<_>>().join(", ") + "."
    }
}

/// The config with this answer in the place of its own.
fn with(base: &RunConfig, answer: &Answer) -> RunConfig {
    let mut config = base.clone();
    match answer {
        Answer::Compatibility(own) => config.attention.compatibility.clone_from(own),
        Answer::Reuse(own) => config.attention.reuse.clone_from(own),
        Answer::Coverage(own) => config.attention.coverage.clone_from(own),
    }
    config
}

/// A reason that several rows of a list have in common.
struct SharedReason<'a> {
    why_not: &'a str,
    rows: usize,
    /// Number among such reasons, from 1.
    number: usize,
}

impl SharedReason<'_> {
    /// The reason once for all its rows, with its number where there are several reasons.
    fn sentence(&self, count: usize) -> String {
        let number = if count > 1 { format!("({}) ", self.number) } else { String::new() };
        format!("{number}{} cannot be trained. {}", counted(self.rows, "variant"), self.why_not)
    }
}

/// The reasons that at least [`SHARED`] rows have in common, in their order.
fn shared_reasons<'a>(rows: impl Iterator<Item = &'a Priced>) -> Vec<SharedReason<'a>> {
    let mut reasons: Vec<SharedReason<'a>> = Vec::new();
    for Priced { why_not, .. } in rows.filter(|priced| priced.cost.is_none()) {
        match reasons.iter_mut().find(|reason| reason.why_not == why_not) {
            Some(reason) => reason.rows += 1,
            None => reasons.push(SharedReason { why_not, rows: 1, number: 0 }),
        }
    }
    reasons.retain(|reason| reason.rows >= SHARED);
    for (place, reason) in reasons.iter_mut().enumerate() {
        reason.number = place + 1;
    }
    reasons
}

/// Costs of a variant, or that it cannot be trained: with the reason where that is not a shared one.
fn variant_costs_ui(ui: &mut Ui, priced: &Priced, base: Option<Price>, shared: &[SharedReason<'_>]) {
    match shared.iter().find(|reason| priced.cost.is_none() && reason.why_not == priced.why_not) {
        Some(reason) => {
            let number = if shared.len() > 1 { format!(" ({})", reason.number) } else { String::new() };
            untrainable_ui(ui, &number, &priced.why_not);
        }
        None => costs_ui(ui, priced, base),
    }
}

fn untrainable_ui(ui: &mut Ui, number: &str, why_not: &str) {
    let error = theme::palette(ui.visuals()).error;
    ui.label(RichText::new(format!("cannot be trained{number}")).color(error)).on_hover_text(why_not);
}

/// Parameters and FLOPs against the baseline, or why there are none.
pub(super) fn costs_ui(ui: &mut Ui, priced: &Priced, base: Option<Price>) {
    let palette = theme::palette(ui.visuals());
    let Some(cost) = priced.cost else {
        untrainable_ui(ui, "", &priced.why_not);
        reason_ui(ui, &priced.why_not, &priced.why_not);
        return;
    };
    let number = |ui: &mut Ui, shown: String, own: u64, base: Option<u64>, matched: Option<&ParameterMatch>| {
        ui.horizontal(|ui| {
            ui.label(shown);
            if let Some(base) = base.filter(|base| *base > 0) {
                let share = (own as f64 - base as f64) / base as f64;
                ui.label(RichText::new(format::delta_percent(share)).small().color(palette.weak));
            }
            if let Some(matched) = matched {
                let words = match matched.added {
                    0 => "no layer added".to_owned(),
                    added => format!("+{}", counted(added, "layer")),
                };
                ui.label(RichText::new(words).small().color(palette.weak)).on_hover_text(format!("{matched}."));
            }
        });
    };
    let of = |pick: fn(Price) -> u64| base.map(pick);
    let matched = priced.matched.as_ref();
    number(ui, format::si(cost.parameters as f64, ""), cost.parameters, of(|base| base.parameters), matched);
    let flops = cost.flops_per_step;
    number(ui, format::flops(flops as f64), flops, of(|base| base.flops_per_step), None);
}

/// Draws the reason why something takes no part: over the columns that are free at its right, to where the dialog ends, or below it in a row of its
/// own where little is free. It makes no column wider.
pub(super) fn reason_ui(ui: &mut Ui, words: &str, about: &str) {
    let error = theme::palette(ui.visuals()).error;
    let free = |ui: &Ui| right_edge(ui.ctx()) - ui.cursor().left() - MARGIN;
    if free(ui) < REASON {
        ui.end_row();
    }
    let room = free(ui);
    let text = WidgetText::from(RichText::new(words).small().color(error));
    let galley = text.into_galley(ui, Some(TextWrapMode::Wrap), room, TextStyle::Small);
    let (rect, _) = ui.allocate_exact_size(vec2(1.0, galley.size().y), Sense::empty());
    let seen = Rect::from_min_size(rect.min, galley.size());
    let response = ui.interact(seen, ui.next_auto_id().with("reason"), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, words));
    response.on_hover_text(about);
    ui.painter().galley(rect.min, galley, error);
}

/// The numbers of an answer; true when one changed.
fn numbers_ui(ui: &mut Ui, answer: &mut Answer, base: &RunConfig, name: &str) -> bool {
    // More would be no saving.
    let widest = if let Answer::Compatibility(_) = answer { base.model.width } else { usize::MAX };
    let mut changed = false;
    for Number { symbol, field, most, value, .. } in answer.numbers(base) {
        let value = match value {
            NumberValue::Always(value) | NumberValue::Optional(Some(value)) => value,
            NumberValue::Optional(None) => continue,
        };
        let most = most.min(widest);
        let about = format!("{}: {}", field.label, field.help);
        ui.label(RichText::new(symbol).weak()).on_hover_text(&about);
        let field = number_ui(ui, value, 1.min(most)..=most, |drag| drag.speed(0.1)).on_hover_text(about);
        changed |= field.accessible_name(format!("{symbol} of {name}")).changed();
    }
    changed
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::{Compatibility, Symmetric, preset};

    use super::*;

    #[test]
    fn every_variant_is_priced_against_the_baseline() {
        let base = preset("grammar-decoder").unwrap().config().unwrap();
        let variants = Variants::new(&base);
        assert_eq!(variants.priced.len(), variants.all.len());
        let names: Vec<&str> = variants.chosen().iter().map(|priced| priced.entrant.name.as_str()).collect();
        assert_eq!(names[..2], ["standard", "symmetric"], "{names:?}");
        let cost = |priced: &Priced| priced.cost.unwrap();
        let baseline = cost(&variants.fixed[0]);
        for (variant, priced) in variants.all.iter().zip(&variants.priced) {
            let own = cost(priced);
            let may_be_as_large = ["collaborative", "some_pairs"].contains(&variant.answer.kind());
            assert!(own.parameters < baseline.parameters || may_be_as_large, "{variant:?}");
        }
    }

    /// A table of four classes and a tokenizer that was trained before: every entrant costs what its run would.
    #[test]
    fn variants_are_priced_by_what_is_known_of_the_model() {
        let text = "format = 1\n[data]\nkind = \"table\"\npath = \"rows.tsv\"\ntext = \"text\"\nlabel = \"label\"\nsequence_length = 16\n\
                    [task]\nkind = \"classification\"\n[model]\nkind = \"encoder\"\nlayers = 4\nheads = 4\nwidth = 32\n\
                    [attention]\nmatch_parameters = \"standard\"\nreuse = { kind = \"partial\", heads = 1 }\n";
        let base = headroom_engine::config::from_toml(text).unwrap();
        let mut variants = Variants::new(&base);
        let facts = ModelFacts { vocabulary: Some(77), outputs: Some(4), ..ModelFacts::default() };
        variants.know(&facts);
        for priced in variants.fixed.iter().chain(&variants.priced) {
            let Ok(config) = &priced.entrant.config else { continue };
            let cost = facts.training_cost(config).unwrap();
            let Price { parameters, flops_per_step, .. } = priced.cost.unwrap();
            assert_eq!((parameters, flops_per_step), (cost.parameters, cost.flops_per_step), "{}", priced.entrant.name);
        }
        assert_eq!(
            variants.fixed[1].matched.map(|matched| matched.added),
            Some(0),
            "one head is far less than a layer"
        );
    }

    #[test]
    fn a_variant_that_is_the_config_itself_races_once() {
        let mut base = preset("grammar-decoder").unwrap().config().unwrap();
        base.attention.compatibility = Compatibility::Symmetric(Symmetric {});
        let mut variants = Variants::new(&base);
        assert_eq!(variants.priced.len(), variants.all.len());
        variants.rename("other");
        let chosen = variants.chosen();
        let names: Vec<String> =
            chosen.iter().map(|priced| priced.entrant.config.as_ref().unwrap().name.clone()).collect();
        assert_eq!(names, ["other: standard", "other: symmetric"]);
    }
}
