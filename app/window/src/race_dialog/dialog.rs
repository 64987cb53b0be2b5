//! The dialog itself.

use std::{collections::BTreeSet, path::PathBuf};

use egui::{Button, Context, Frame, Id, RichText, ScrollArea, TextEdit, Ui};
use headroom_engine::config::{Entrant, Fields, Problem, Race, RunConfig, fields_of, free_tag, runs_of};

use super::{
    begin_form::BeginForm,
    control_form::ControlForm,
    place::width,
    priced::{Priced, flops_of},
    sweep_form::SweepForm,
    variants::Variants,
};
use crate::{
    common::{Expected, dialog_ui, left_by_key},
    context::{Action, PanelContext, PanelId},
    format,
    panels::configure::told,
    state::State,
    theme,
    widgets::number_ui,
};

/// Seeds that can be queued at once.
const MOST_SEEDS: u64 = 100;

/// What a race of this config is called: one of a run of a race as that race is, and not as the run.
fn race_name(base: &RunConfig) -> String {
    let entrants = Race { base: base.clone(), variants: Vec::new() }.entrants().unwrap_or_default();
    let own = entrants.iter().find_map(|entrant| base.name.strip_suffix(&format!(": {}", entrant.name)));
    own.unwrap_or(&base.name).to_owned()
}

/// What is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Race,
    Models,
    Sweep,
    Control,
}

/// The dialog in which a race, a sweep or a control is set up; keep it while it is open.
pub struct RaceDialog {
    kind: Kind,
    name: String,
    seeds: u64,
    variants: Variants,
    begin: BeginForm,
    sweep: SweepForm,
    control: ControlForm,
    /// What is wrong with the config whatever its attention is; none of its variants can be trained then.
    unfit: Vec<Problem>,
    /// Its fields.
    fields: Fields,
    /// The config that it was opened with.
    base: RunConfig,
    base_dir: PathBuf,
}

impl RaceDialog {
    /// A dialog for variants of this config, whose relative paths start at the folder.
    pub fn new(base: RunConfig, base_dir: PathBuf) -> Self {
        let (variants, sweep) = (Variants::new(&base), SweepForm::new(&base));
        let (begin, control) = (BeginForm::new(&base), ControlForm::new(&base));
        let problems = base.clone().with_image_tokens().validate();
        let unfit = problems.into_iter().filter(|problem| !problem.field.starts_with("attention")).collect();
        let (name, fields) = (race_name(&base), fields_of(&base));
        Self { kind: Kind::Race, name, seeds: 1, variants, begin, sweep, control, unfit, fields, base, base_dir }
    }

    /// Draws it over the window; false once it is closed.
    pub fn ui(&mut self, ctx: &Context, cx: &mut PanelContext<'_>) -> bool {
        let mut open = true;
        if let Some(facts) = cx.state.models.of_config(&self.base, &self.base_dir) {
            self.variants.know(facts);
            self.begin.know(facts);
            self.sweep.know(facts);
            self.control.know(facts);
        }
        let frame = Frame::window(&ctx.global_style());
        let modal = dialog_ui(ctx, Id::unique("race"), frame, width(ctx), |ui| {
            let most = (ctx.content_rect().height() - 280.0).clamp(160.0, 620.0);
            self.head_ui(ui);
            ui.add_space(4.0);
            match self.kind {
                Kind::Race => {
                    // As high as it needs at once, and not a bit more in every frame.
                    let scroll = ScrollArea::vertical().max_height(most).min_scrolled_height(most);
                    scroll.auto_shrink([false, true]).show(ui, |ui| self.variants.ui(ui));
                }
                Kind::Models => {
                    let scroll = ScrollArea::vertical().max_height(most).min_scrolled_height(most);
                    scroll.auto_shrink([false, true]).show(ui, |ui| self.begin.ui(ui, cx));
                }
                Kind::Sweep => self.sweep.ui(ui, most - 80.0),
                Kind::Control => self.control.ui(ui),
            }
            ui.add_space(6.0);
            ui.separator();
            open = self.foot_ui(ui, cx);
        });
        open && !left_by_key(&modal)
    }

    fn head_ui(&mut self, ui: &mut Ui) {
        let weak = theme::palette(ui.visuals()).weak;
        ui.horizontal(|ui| {
            ui.label(RichText::new("Train several configs").heading());
            ui.selectable_value(&mut self.kind, Kind::Race, "Race");
            let models = ui.selectable_value(&mut self.kind, Kind::Models, "Models");
            // The panel beside it has this name.
            models.accessible_name("Race models");
            ui.selectable_value(&mut self.kind, Kind::Sweep, "Sweep");
            ui.selectable_value(&mut self.kind, Kind::Control, "Control");
        });
        let words = match self.kind {
            Kind::Race => "The baseline and its variants, with the same seeds, data order and schedule.",
            Kind::Models => {
                "Trained models trained further on this config's data and task, such as a model and what was made of it."
            }
            Kind::Sweep => "One config with several values of its fields, such as 2, 4 and 8 heads.",
            Kind::Control => {
                "One config trained on its text and on the same text shuffled: which findings are due to language?"
            }
        };
        ui.label(RichText::new(words).color(weak));
        if let Some(unfit) = self.unfit() {
            let error = theme::palette(ui.visuals()).error;
            ui.label(RichText::new(format!("This config cannot be trained. {unfit}")).color(error));
        }
        ui.horizontal(|ui| {
            ui.label("Name");
            let typed = ui.add(TextEdit::singleline(&mut self.name).desired_width(300.0));
            typed.accessible_name("Name of the race");
            if self.has_seeds() {
                ui.label("Seeds");
                let seeds = number_ui(ui, &mut self.seeds, 1..=MOST_SEEDS, |drag| drag.speed(0.05));
                seeds.accessible_name("Seeds per config").on_hover_text(
                    "With how many seeds each config is trained; with one, differences are shown and not tested",
                );
            }
        });
        let name = self.name.trim();
        if !name.is_empty() {
            self.variants.rename(name);
            self.begin.rename(name);
            self.sweep.rename(name);
            self.control.rename(name);
        }
    }

    /// Why nothing of the config can be trained, unless what is set up may change that.
    fn unfit(&self) -> Option<String> {
        let counts = |problem: &&Problem| match self.kind {
            Kind::Race | Kind::Control => true,
            // The shape is that of the models.
            Kind::Models => !problem.field.starts_with("model"),
            Kind::Sweep => false,
        };
        let told: Vec<String> = self.unfit.iter().filter(counts).map(|problem| told(problem, &self.fields)).collect();
        (!told.is_empty()).then(|| told.join(" "))
    }

    fn has_seeds(&self) -> bool {
        match self.kind {
            Kind::Race | Kind::Models => true,
            Kind::Sweep => !self.sweep.sweeps_seeds(),
            Kind::Control => false,
        }
    }

    fn seeds(&self) -> u64 {
        if self.has_seeds() { self.seeds } else { 1 }
    }

    /// What takes part, also what cannot be trained.
    fn chosen(&self) -> Vec<&Priced> {
        match self.kind {
            Kind::Race => self.variants.chosen(),
            Kind::Models => self.begin.entrants(),
            Kind::Sweep => self.sweep.entrants().map(|all| all.iter().collect()).unwrap_or_default(),
            Kind::Control => self.control.entrants(),
        }
    }

    /// Draws the cost of all runs and the buttons; false when the dialog closes.
    fn foot_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> bool {
        let state = &*cx.state;
        let palette = theme::palette(ui.visuals());
        let chosen = self.chosen();
        let sound = chosen.iter().filter(|priced| priced.cost.is_some()).count();
        let (seeds, left_out) = (self.seeds(), chosen.len() - sound);
        let runs = sound as u64 * seeds;
        let flops = flops_of(chosen.iter().copied(), seeds);
        // A race needs an opponent; variants that cannot be trained are left out, which the button says.
        let why_not = match self.kind {
            _ if self.name.trim().is_empty() => Some("Give it a name."),
            _ if state.engine_ended => Some("The engine has ended."),
            _ if self.unfit().is_some() => Some("Fix the config first."),
            Kind::Race if sound < 2 => Some("There is nothing to race against: add a variant."),
            Kind::Models if self.begin.is_reading() => Some("A model is being read."),
            Kind::Models if sound < 2 => Some("There is nothing to race: add two models."),
            Kind::Sweep if sound == 0 => Some("There is nothing to train."),
            Kind::Control if left_out > 0 => Some("Fix the config first."),
            _ => None,
        };
        let of = |n: usize, one: &str, many: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {many}") };
        let mut words = of(sound, "config", "configs");
        words += &[" × ", &of(seeds as usize, "seed", "seeds"), " = ", &of(runs as usize, "run", "runs")].concat();
        words += &flops.map(|flops| format!(", {} in all", format::flops(flops))).unwrap_or_default();
        let first =
            chosen.iter().find_map(|priced| Some((priced.entrant.config.as_ref().ok()?, priced.cost?.flops_per_step)));
        let time = flops.zip(first).filter(|_| runs > 0);
        let time = time.and_then(|(flops, (config, of_step))| Expected::of(flops, of_step, config, state));
        ui.horizontal_wrapped(|ui| {
            ui.label(words);
            if let Some(time) = time {
                ui.label(RichText::new("Expected time").color(palette.weak));
                ui.label(RichText::new(time.words()).strong()).on_hover_text(time.about());
            }
            if left_out > 0 {
                let left_out = of(left_out, "config", "configs");
                let text = format!("{left_out} cannot be trained, for the reason given.");
                ui.label(RichText::new(text).color(palette.error));
            }
        });
        let mut open = true;
        ui.horizontal(|ui| {
            let label = match left_out {
                0 if self.kind == Kind::Control => "Queue 2 runs and 4 analyses".to_owned(),
                0 => format!("Queue {}", of(runs as usize, "run", "runs")),
                n => format!(
                    "Queue {} without {}",
                    of(runs as usize, "run", "runs"),
                    if n == 1 { "this config".to_owned() } else { format!("these {n}") }
                ),
            };
            let button = ui.add_enabled(why_not.is_none(), Button::new(RichText::new(label).strong()));
            let button = button.accessible_name("Queue the runs");
            if button.on_disabled_hover_text(why_not.unwrap_or_default()).clicked() {
                let actions = self.start(state);
                cx.actions.extend(actions);
                open = false;
            }
            if ui.button("Cancel").clicked() {
                open = false;
            }
            if let Some(why) = why_not {
                ui.label(RichText::new(why).color(palette.weak));
            }
        });
        open
    }

    fn start(&self, state: &State) -> Vec<Action> {
        let entrants: Vec<Entrant> = self.chosen().into_iter().map(|priced| priced.entrant.clone()).collect();
        let taken: BTreeSet<&str> = state.runs.iter().flat_map(|run| run.tags.iter().map(String::as_str)).collect();
        let kind = match self.kind {
            Kind::Race | Kind::Models => "race",
            Kind::Sweep => "sweep",
            Kind::Control => {
                let command = self.control.command(&self.base_dir, &taken);
                return vec![Action::Send(command), Action::Open(PanelId::REDUNDANCY)];
            }
        };
        let tag = free_tag(kind, self.name.trim(), &taken);
        vec![Action::StartAll(runs_of(&entrants, self.seeds()), self.base_dir.clone(), tag)]
    }
}

#[cfg(test)]
mod tests {
    use egui::{Event, PointerButton, Pos2, RawInput, Rect, pos2, vec2};
    use headroom_engine::{
        attention::{ModelFacts, ModelPlan},
        config::preset,
    };

    use super::super::place::right_edge;
    use super::*;
    use crate::{file_dialogs::FileDialogs, settings::Settings};

    /// The dialog in a window without a screen.
    struct Shown {
        ctx: Context,
        dialog: RaceDialog,
        size: egui::Vec2,
        frames: u32,
    }

    impl Shown {
        fn new(size: egui::Vec2) -> Self {
            let ctx = Context::default();
            ctx.enable_accesskit();
            theme::install(&ctx);
            let base = preset("grammar-decoder").unwrap().config().unwrap();
            Self { ctx, dialog: RaceDialog::new(base, PathBuf::new()), size, frames: 0 }
        }

        /// A frame with these events: names of the controls and where they are.
        fn frame(&mut self, events: Vec<Event>) -> Vec<(String, Rect)> {
            self.frames += 1;
            let input = RawInput {
                screen_rect: Some(Rect::from_min_size(Pos2::ZERO, self.size)),
                time: Some(f64::from(self.frames) * 0.1),
                events,
                ..RawInput::default()
            };
            let (mut state, mut settings, mut actions) = (State::default(), Settings::default(), Vec::new());
            let mut dialogs = FileDialogs::new(std::sync::Arc::new(|| ()));
            let mut output = self.ctx.clone().run_ui(input, |ui| {
                let (state, settings) = (&mut state, &mut settings);
                let mut cx = PanelContext { state, settings, dialogs: &mut dialogs, actions: &mut actions };
                self.dialog.ui(ui.ctx(), &mut cx);
            });
            output.textures_delta.clear();
            let nodes = output.platform_output.accesskit_update.unwrap().nodes;
            let place = |node: &egui::accesskit::Node| {
                let bounds = node.bounds()?;
                let rect = Rect::from_min_max(
                    pos2(bounds.x0 as f32, bounds.y0 as f32),
                    pos2(bounds.x1 as f32, bounds.y1 as f32),
                );
                Some((node.label().or(node.value())?.to_owned(), rect))
            };
            nodes.iter().filter_map(|(_, node)| place(node)).collect()
        }

        fn click(&mut self, name: &str) {
            let pos = place(&self.frame(Vec::new()), name).center();
            let press = |pressed| Event::PointerButton {
                pos,
                button: PointerButton::Primary,
                pressed,
                modifiers: egui::Modifiers::NONE,
            };
            self.frame(vec![Event::PointerMoved(pos), press(true)]);
            self.frame(vec![press(false)]);
        }
    }

    fn place(nodes: &[(String, Rect)], name: &str) -> Rect {
        nodes.iter().find(|(own, _)| own == name).map_or_else(|| panic!("{name}: {nodes:#?}"), |(_, rect)| *rect)
    }

    #[test]
    fn nothing_moves_under_the_pointer_once_it_is_open() {
        for size in [vec2(1024.0, 640.0), vec2(1280.0, 800.0), vec2(2560.0, 1440.0)] {
            let mut shown = Shown::new(size);
            for kind in ["Race", "Race models", "Sweep", "Control"] {
                if kind != "Race" {
                    shown.click(kind);
                }
                // It is laid out once before it is seen.
                shown.frame(Vec::new());
                let places =
                    |nodes: &[(String, Rect)]| ["Sweep", "Cancel", "Queue the runs"].map(|name| place(nodes, name));
                let first = places(&shown.frame(Vec::new()));
                for frame in 0..8 {
                    assert_eq!(places(&shown.frame(Vec::new())), first, "{kind} at {size:?}, frame {frame}");
                }
            }
        }
    }

    #[test]
    fn a_reason_makes_the_dialog_no_wider() {
        for size in [vec2(900.0, 600.0), vec2(1280.0, 800.0)] {
            let mut shown = Shown::new(size);
            let base = preset("number-words").unwrap().config().unwrap();
            shown.dialog = RaceDialog::new(base, PathBuf::new());
            shown.frame(Vec::new());
            let nodes = shown.frame(Vec::new());
            assert!(nodes.iter().any(|(name, _)| name == "cannot be trained"), "{nodes:#?}");
            let first = place(&nodes, "Cancel");
            for _ in 0..8 {
                let nodes = shown.frame(Vec::new());
                assert_eq!(place(&nodes, "Cancel"), first);
                let (_, widest) = nodes.iter().max_by(|a, b| a.1.right().total_cmp(&b.1.right())).unwrap();
                assert!(widest.right() <= size.x && place(&nodes, "Name of the race").left() >= 0.0, "{widest:?}");
            }
        }
    }

    /// A dialog that was laid out, and its controls.
    fn laid_out(base: RunConfig, facts: &ModelFacts, size: egui::Vec2) -> (Shown, Vec<(String, Rect)>) {
        let mut shown = Shown::new(size);
        shown.dialog = RaceDialog::new(base, PathBuf::new());
        shown.dialog.variants.know(facts);
        for _ in 0..3 {
            shown.frame(Vec::new());
        }
        let nodes = shown.frame(Vec::new());
        (shown, nodes)
    }

    /// A config that trains an initial model further keeps its attention: every variant was refused beside its row, in the same
    /// words, which reached 40 points beyond the dialog.
    #[test]
    fn a_reason_of_several_variants_is_said_once_within_the_dialog() {
        let text = "format = 1\n[data]\nsequence_length = 16\n[model]\nkind = \"encoder\"\nlayers = 4\nheads = 4\nwidth = 32\n";
        let mut base = headroom_engine::config::from_toml(text).unwrap();
        let model = ModelPlan::resolve(&base, 77).unwrap();
        base.model.initial = Some("m".to_owned());
        let facts = ModelFacts { initial: Some(model), ..ModelFacts::default() };
        for size in [vec2(900.0, 600.0), vec2(1400.0, 900.0)] {
            let (shown, nodes) = laid_out(base.clone(), &facts, size);
            let edge = right_edge(&shown.ctx);
            let named = |words: &str| nodes.iter().filter(|(name, _)| name.contains(words)).collect::<Vec<_>>();
            // One sentence, and a row each.
            let refused = named("cannot be trained");
            assert!(refused.len() > 8, "{refused:#?}");
            // A label and the first of its lines begin at the same height.
            let told = named("Training further keeps the attention of the initial model.");
            let heights: BTreeSet<i32> = told.iter().map(|(_, rect)| rect.top().round() as i32).collect();
            assert_eq!(heights.len(), 1, "{told:#?}");
            for (name, rect) in refused {
                assert!(rect.right() <= edge, "{name}: {rect:?} beyond {edge} at {size:?}");
            }
        }
    }

    #[test]
    fn a_refusal_is_read_in_full_within_the_dialog_and_covers_no_other_row() {
        let base = preset("number-words").unwrap().config().unwrap();
        for width in [560.0, 680.0, 760.0, 900.0, 1400.0] {
            let (shown, nodes) = laid_out(base.clone(), &ModelFacts::default(), vec2(width, 600.0));
            let edge = right_edge(&shown.ctx);
            let rows: Vec<Rect> =
                nodes.iter().filter(|(name, _)| name == "cannot be trained").map(|(_, rect)| *rect).collect();
            assert!(!rows.is_empty(), "{nodes:#?}");
            for row in rows {
                // Beside it, or below it where little is free.
                let is_its = |(name, rect): &&(String, Rect)| {
                    let is_beside = rect.left() >= row.right() && rect.y_range().intersects(row.y_range());
                    name.len() > 20 && (is_beside || (0.0..12.0).contains(&(rect.top() - row.bottom())))
                };
                let (why, reason) = nodes.iter().find(is_its).unwrap_or_else(|| panic!("{row:?} of {nodes:#?}"));
                assert!(reason.right() <= edge, "{why}: {reason:?} beyond {edge} at {width}");
                let covered = nodes
                    .iter()
                    .find(|(name, rect)| !why.contains(name.as_str()) && rect.intersects(reason.shrink(1.0)));
                assert_eq!(covered, None, "{why}: {reason:?}");
            }
        }
    }

    #[test]
    fn a_config_that_nothing_can_be_trained_of_says_which_field_is_wrong() {
        let mut base = preset("grammar-decoder").unwrap().config().unwrap();
        base.model.dropout = 256.0;
        let mut shown = Shown::new(vec2(1280.0, 800.0));
        shown.dialog = RaceDialog::new(base, PathBuf::new());
        shown.frame(Vec::new());
        let nodes = shown.frame(Vec::new());
        let told = |words: &str| nodes.iter().any(|(name, _)| name.contains(words));
        let words = "This config cannot be trained. Dropout: 256 is too large; it must be at least 0 and less than 1.";
        assert!(told(words) && told("Fix the config first."), "{nodes:#?}");
    }

    #[test]
    fn a_race_of_a_run_of_a_race_is_called_as_that_race() {
        let mut base = preset("grammar-decoder").unwrap().config().unwrap();
        for (given, called) in [("mine", "mine"), ("mine: standard", "mine"), ("mine: other", "mine: other")] {
            given.clone_into(&mut base.name);
            assert_eq!(RaceDialog::new(base.clone(), PathBuf::new()).name, called);
        }
    }

    #[test]
    fn what_cannot_be_trained_is_told_in_a_line_that_is_there_anyway() {
        let mut shown = Shown::new(vec2(1280.0, 800.0));
        let mut base = preset("grammar-decoder").unwrap().config().unwrap();
        base.model.heads = 3;
        shown.dialog.kind = Kind::Sweep;
        shown.dialog.sweep = SweepForm::new(&base);
        shown.frame(Vec::new());
        let nodes = shown.frame(Vec::new());
        let told = place(&nodes, "2 configs cannot be trained, for the reason given.");
        let count = place(&nodes, "0 configs × 1 seed = 0 runs, 0 FLOP in all");
        assert_eq!(told.center().y, count.center().y);
    }
}
