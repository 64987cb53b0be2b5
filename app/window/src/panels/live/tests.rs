//! The panel in its four states, driven by the names of its controls.

use egui::{Key, PointerButton};
use headroom_engine::{
    protocol::Command,
    store::{Failure, RunState, SeriesData, TextSample, series_names},
};

use super::LivePanel;
use crate::{
    common::driver::Driver,
    context::{Action, Panel},
    examples,
    state::{CurrentRun, State},
};

fn with_run(state_of_run: RunState) -> State {
    let mut state = State::default();
    state.runs_loaded = true;
    let mut run = examples::summary(1, "my run");
    run.state = state_of_run;
    for series in [series_names::TRAIN_LOSS, series_names::VALIDATION_LOSS] {
        state.series.want(&run.id, series);
        let data = SeriesData {
            steps: vec![1, 2, 3],
            values: vec![3.0, 2.0, 1.0],
            wall_ms: vec![100, 200, 300],
            tokens: vec![10, 20, 30],
            is_whole: true,
            ..SeriesData::default()
        };
        state.series.take(run.id.clone(), series.to_owned(), true, data);
    }
    let samples = (1..=3).map(|step| TextSample { step: step * 10, text: format!("text {step}"), created_ms: 0 });
    state.samples.insert(run.id.clone(), samples.collect());
    state.runs.push(run);
    state
}

fn live() -> State {
    let mut state = with_run(RunState::Running);
    let mut current = CurrentRun::named(state.runs[0].id.clone(), "my run");
    (current.step, current.steps, current.tokens_per_sec) = (150, 600, Some(12_300.0));
    (current.eta_secs, current.loss) = (Some(130.0), Some(2.5));
    state.current = Some(current);
    state
}

fn open(state: State) -> (Driver, LivePanel) {
    let (mut driver, mut panel) = (Driver::new(state), LivePanel::default());
    driver.settle(&mut panel);
    (driver, panel)
}

#[test]
fn empty_it_offers_a_preset() {
    let mut state = State::default();
    state.runs_loaded = true;
    let (mut driver, mut panel) = open(state);
    assert!(driver.has("No runs yet"));
    driver.click(&mut panel, "Start the preset \"grammar decoder\"");
    assert!(matches!(driver.actions.as_slice(), [Action::Start(..)]));
}

#[test]
fn working_it_says_so() {
    let (driver, _) = open(State::default());
    assert!(driver.has("Reading the runs…"));
    let mut state = live();
    state.current.as_mut().unwrap().preparing = Some(("Training the tokenizer".to_owned(), 0.4));
    let (driver, _) = open(state);
    assert!(driver.says("Training the tokenizer 40 %"), "{:#?}", driver.names());
}

#[test]
fn failed_it_says_why_and_what_to_do() {
    let mut state = with_run(RunState::Failed);
    let failure = Failure { why: "The disk is full.".to_owned(), what_to_do: "Free some space.".to_owned() };
    state.runs[0].failure = Some(failure);
    let (mut driver, mut panel) = open(state);
    assert!(driver.has("The disk is full.") && driver.has("Free some space."));
    driver.click(&mut panel, "Resume training");
    assert!(matches!(driver.actions.pop(), Some(Action::Send(Command::ResumeRun(_)))));
}

#[test]
fn full_it_shows_the_numbers_and_governs_the_run() {
    let (mut driver, mut panel) = open(live());
    for text in
        ["Step: 150 / 600", "Loss: 2.500", "Speed: 12.3 k tokens/s", "Time left: 2:10", "Best validation: 1.250 at 90"]
    {
        assert!(driver.has(text), "{text} is missing in {:#?}", driver.names());
    }
    driver.click(&mut panel, "Pause");
    assert!(matches!(driver.actions.pop(), Some(Action::Send(Command::Pause))));
    driver.state.current.as_mut().unwrap().is_paused = true;
    driver.settle(&mut panel);
    driver.click(&mut panel, "Resume");
    assert!(matches!(driver.actions.pop(), Some(Action::Send(Command::Resume))));
    driver.click(&mut panel, "Checkpoint now");
    assert!(matches!(driver.actions.pop(), Some(Action::Send(Command::Checkpoint))));
    driver.click(&mut panel, "Stop");
    assert!(matches!(driver.actions.pop(), Some(Action::Send(Command::Stop))));
    // The second click of a double click was meant for the button that stood there before.
    driver.actions.clear();
    driver.click_with(&mut panel, "Stop", PointerButton::Primary, 2);
    assert!(!driver.actions.iter().any(|action| matches!(action, Action::Send(Command::Stop))));
}

#[test]
fn a_finished_run_is_shown_without_buttons_that_govern() {
    let (driver, _) = open(with_run(RunState::Finished));
    assert!(driver.has("Step: 100 / 100") && driver.has("Duration: 1:00"));
    assert!(!driver.has("Pause") && !driver.has("Stop"));
}

#[test]
fn the_newest_sample_shows_until_the_slider_goes_back() {
    let (mut driver, mut panel) = open(with_run(RunState::Finished));
    assert!(driver.has("text 3") && !driver.has("text 1"));
    driver.click(&mut panel, "Copy sample");
    assert!(matches!(driver.actions.pop(), Some(Action::Copy(_, text)) if text == "text 3"));
}

#[test]
fn the_y_key_makes_y_logarithmic_and_a_chart_is_exported() {
    let (mut driver, mut panel) = open(with_run(RunState::Finished));
    driver.key(&mut panel, Key::Y);
    let remembered: serde_json::Value = driver.settings.of_panel("live");
    assert_eq!(remembered["log_y"], true);
    let mut driver_cx = crate::context::PanelContext {
        state: &mut driver.state,
        settings: &mut driver.settings,
        dialogs: &mut crate::file_dialogs::FileDialogs::new(std::sync::Arc::new(|| ())),
        actions: &mut driver.actions,
    };
    assert!(panel.export(&mut driver_cx));
    driver.settle(&mut panel);
    assert!(driver.has("Export the chart \"my run: Loss\""), "{:#?}", driver.names());
    driver.click(&mut panel, "Cancel");
    assert!(!driver.says("Export the chart"));
}

#[test]
fn idle_it_asks_for_no_repaint() {
    let (mut driver, mut panel) = open(with_run(RunState::Finished));
    for _ in 0..10 {
        driver.frame(&mut panel, Vec::new());
    }
    assert!(driver.rests());
}
