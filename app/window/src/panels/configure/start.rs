//! Start: judged, checked by the engine, then queued.

use std::time::Duration;

use egui::{Button, Label, RichText, Sense, Ui, Vec2};
use headroom_engine::config::{Fields, Problem, counted, fields_of};

use super::{
    draft::Draft,
    field::{in_sentence, told},
};
use crate::{
    context::{Action, PanelContext, PanelId},
    messages::Level,
    theme,
    widgets::Field,
};

/// Problems that are listed; the others are counted.
const LISTED: usize = 6;
/// Seeds that can be queued at once.
const MOST_SEEDS: u64 = 100;
/// From this width on the button and the seeds stand beside each other, the button this wide.
const LOW: f32 = 480.0;
const LOW_START: f32 = 220.0;
/// Seconds within which another click on Start belongs to the one before.
const AGAIN: f64 = 0.5;

/// The Start button and what waits for it.
pub struct Start {
    /// Runs to start, as soon as the engine has nothing against them; each with the next seed.
    wanted: Option<u64>,
    seeds: u64,
    /// When the button was clicked last, in seconds of the window's time.
    clicked_at: Option<f64>,
}

impl Default for Start {
    fn default() -> Self {
        Self { wanted: None, seeds: 3, clicked_at: None }
    }
}

impl Start {
    /// Wants so many runs started.
    pub fn request(&mut self, runs: u64) {
        self.wanted = Some(runs.clamp(1, MOST_SEEDS));
    }

    /// Asks the engine what is due, and starts what was wanted once there is nothing against it. Returns the time after
    /// which it wants to be asked again.
    pub fn poll(&mut self, draft: &mut Draft, cx: &mut PanelContext<'_>, is_drawn: bool) -> Option<Duration> {
        if !is_drawn && self.wanted.is_none() {
            return None;
        }
        draft.notice(cx.state);
        let again = match draft.question(self.wanted.is_some()) {
            Ok(command) => {
                cx.send(command);
                self.wanted.map(|_| Duration::from_secs(1))
            }
            Err(rest) => rest.or(self.wanted.map(|_| Duration::from_secs(1))),
        };
        let runs = self.wanted?;
        if draft.is_sound() && !draft.is_answered(cx.state) {
            return again;
        }
        self.wanted = None;
        let problems = draft.problems(cx.state);
        if problems.is_empty() {
            for offset in 0..runs {
                let mut config = draft.config.clone();
                config.seed = config.seed.saturating_add(offset);
                cx.act(Action::Start(Box::new(config), draft.base_dir.clone()));
            }
        } else {
            cx.act(Action::Open(PanelId::CONFIGURE));
            let fields = fields_of(&draft.config);
            let first = problems.first().map_or_else(String::new, |problem| in_sentence(problem, &fields));
            cx.act(Action::Say(
                Level::Error,
                format!("The run cannot start: {} to fix.", count(problems.len())),
                first,
            ));
        }
        again
    }

    /// Start, the seeds, and what stands against it. Returns the field to go to, if a problem was clicked.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        problems: &[Problem],
        fields: &Fields,
        cx: &mut PanelContext<'_>,
    ) -> Option<String> {
        let palette = theme::palette(ui.visuals());
        let is_free = cx.state.current.is_none() && cx.state.waiting.is_empty();
        let can_start = problems.is_empty() && self.wanted.is_none() && !cx.state.engine_ended;
        let text = match (self.wanted.is_some(), is_free) {
            (true, _) => "Checking…",
            (false, true) => "Start",
            (false, false) => "Start when free",
        };
        let fill = if can_start { palette.selection } else { palette.surface };
        let hover = if is_free { "Starts the run (Ctrl+Enter)" } else { "Puts the run into the queue (Ctrl+Enter)" };
        // Where it stands above the form there is more width than height.
        let is_low = ui.available_width() >= LOW;
        let width = if is_low { LOW_START } else { ui.available_width() };
        let button = Button::new(RichText::new(text).strong()).fill(fill).min_size(Vec2::new(width, 34.0));
        let button = |ui: &mut Ui| {
            let start = ui.add_enabled(can_start, button).on_hover_text(hover);
            let start = start.on_disabled_hover_text("Fix the problems listed below first.");
            start.clicked()
        };
        let is_wanted = if is_low {
            ui.horizontal(|ui| {
                let is_wanted = button(ui);
                ui.add_space(8.0);
                self.seeds_ui(ui, can_start);
                is_wanted
            })
            .inner
        } else {
            ui.vertical_centered(button).inner
        };
        if is_wanted {
            // A double click is meant once, whether a slow frame hears of both at a time or one after the other.
            let now = ui.input(|input| input.time);
            let is_again = self.clicked_at.replace(now).is_some_and(|last| now - last < AGAIN);
            if !is_again {
                self.request(1);
            }
        }
        let went = problems_ui(ui, problems, fields);
        if !is_low {
            ui.horizontal(|ui| self.seeds_ui(ui, can_start));
        }
        went
    }

    /// The run once for each of several seeds.
    fn seeds_ui(&mut self, ui: &mut Ui, can_start: bool) {
        let field = Field::new("Seeds").label_width(40.0).width(28.0).help("How many runs, each with the next seed");
        let typed = field.integer(ui, &mut self.seeds, 1..=MOST_SEEDS, 1);
        let seeds = self.seeds.clamp(1, MOST_SEEDS);
        // While it is typed, a number may be on its way.
        if !typed.response.has_focus() {
            self.seeds = seeds;
        }
        let button = Button::new(format!("Queue {}", counted(seeds, "seed")));
        let hover = "Queues the run once for each seed: curves of several seeds make a band in Compare";
        let response = ui.add_enabled(can_start, button).on_hover_text(hover).accessible_name("Add seeds to the queue");
        if response.clicked() {
            self.request(seeds);
        }
    }
}

fn count(problems: usize) -> String {
    counted(problems, "problem")
}

fn problems_ui(ui: &mut Ui, problems: &[Problem], fields: &Fields) -> Option<String> {
    let palette = theme::palette(ui.visuals());
    if problems.is_empty() {
        return None;
    }
    let mut went = None;
    ui.label(RichText::new(format!("{} to fix:", count(problems.len()))).color(palette.error));
    for problem in problems.iter().take(LISTED) {
        let text = told(problem, fields);
        let label = Label::new(RichText::new(&text).small().color(palette.error)).wrap().sense(Sense::CLICK);
        let response = ui.add(label).on_hover_text("Click to go to the field");
        if response.accessible_name(format!("Go to {text}")).clicked() {
            went = Some(problem.field.clone());
        }
    }
    if problems.len() > LISTED {
        ui.label(RichText::new(format!("and {} more", problems.len() - LISTED)).small().color(palette.error));
    }
    went
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headroom_engine::protocol::{Command, Event, commands, events};

    use super::*;
    use crate::{file_dialogs::FileDialogs, settings::Settings, state::State};

    fn poll(start: &mut Start, draft: &mut Draft, state: &mut State) -> Vec<Action> {
        let (mut settings, mut dialogs, mut actions) =
            (Settings::default(), FileDialogs::new(Arc::new(|| ())), Vec::new());
        let mut cx = PanelContext { state, settings: &mut settings, dialogs: &mut dialogs, actions: &mut actions };
        start.poll(draft, &mut cx, false);
        actions
    }

    #[test]
    fn a_start_waits_for_the_engine_and_each_seed_is_a_run() {
        let (mut start, mut draft, mut state) = (Start::default(), Draft::default(), State::default());
        assert!(poll(&mut start, &mut draft, &mut state).is_empty(), "nothing is wanted");
        start.request(3);
        let asked = poll(&mut start, &mut draft, &mut state);
        let [Action::Send(Command::Check(commands::Check { revision, .. }))] = asked.as_slice() else {
            panic!("{asked:?}")
        };
        assert!(poll(&mut start, &mut draft, &mut state).is_empty(), "no answer yet");
        state.apply(Event::Checked(events::Checked {
            revision: *revision,
            problems: Vec::new(),
            free_bytes: None,
            facts: Box::default(),
            preview: None,
        }));
        let seeds: Vec<u64> = poll(&mut start, &mut draft, &mut state)
            .iter()
            .filter_map(|action| if let Action::Start(config, _) = action { Some(config.seed) } else { None })
            .collect();
        assert_eq!(seeds, [1, 2, 3]);
        assert!(poll(&mut start, &mut draft, &mut state).is_empty(), "started once");
    }

    #[test]
    fn a_start_is_refused_with_the_reason() {
        let (mut start, mut draft, mut state) = (Start::default(), Draft::default(), State::default());
        start.request(1);
        let asked = poll(&mut start, &mut draft, &mut state);
        let [Action::Send(Command::Check(commands::Check { revision, .. }))] = asked.as_slice() else {
            panic!("{asked:?}")
        };
        let problems = vec![Problem::new("data.path", "there is no such file")];
        state.apply(Event::Checked(events::Checked {
            revision: *revision,
            problems,
            free_bytes: None,
            facts: Box::default(),
            preview: None,
        }));
        let done = poll(&mut start, &mut draft, &mut state);
        assert!(
            matches!(done.as_slice(), [Action::Open(PanelId::CONFIGURE), Action::Say(Level::Error, ..)]),
            "{done:?}"
        );
        let before = draft.config.clone();
        draft.config.model.layers = 0;
        draft.edited(before, "model.layers");
        start.request(1);
        let done = poll(&mut start, &mut draft, &mut state);
        assert!(
            done.iter().any(|action| matches!(action, Action::Say(_, what, _) if what.contains("2 problems"))),
            "{done:?}"
        );
    }
}
