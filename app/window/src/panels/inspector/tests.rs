//! The inspector, driven by the names of its controls.

use egui::Key;
use headroom_engine::{
    protocol::{Command, Event, Notice, Request, RunEdit, Which, commands, events},
    store::{RunState, RunSummary, series_names},
};

use super::Inspector;
use crate::{common::driver::Driver, examples};
use crate::{
    context::{Action, Panel, PanelContext, PanelId},
    state::{CurrentRun, State},
};

fn open(with_record: bool) -> (Driver, Inspector) {
    let mut state = State::default();
    state.runs_loaded = true;
    let record = examples::record(1, "my run");
    state.runs.push(record.summary.clone());
    state.selection.focused = Some(record.summary.id.clone());
    if with_record {
        state.checkpoints.insert(record.summary.id.clone(), examples::checkpoints());
        state.folders.insert(record.summary.id.clone(), "/store/runs/x".into());
        state.records.insert(record.summary.id.clone(), record);
    }
    let (mut driver, mut panel) = (Driver::new(state), Inspector::default());
    driver.settle(&mut panel);
    (driver, panel)
}

fn edits(driver: &Driver) -> Vec<RunEdit> {
    let edit = |action: &Action| match action {
        Action::Send(Command::Edit(commands::Edit { edit, .. })) => Some(edit.clone()),
        _ => None,
    };
    driver.actions.iter().filter_map(edit).collect()
}

#[test]
fn while_the_record_is_read_it_says_so() {
    let (driver, _) = open(false);
    assert!(driver.has("Loading the run's record…"));
}

#[test]
fn full_it_shows_what_reproduces_the_run() {
    let (mut driver, mut panel) = open(true);
    for text in [
        "Finished",
        "Finished all 100 steps.",
        "Data hash",
        "feedbeef",
        "Seed",
        "Config as TOML",
        "best, kept",
        "recent",
    ] {
        assert!(driver.has(text), "{text} is missing in {:#?}", driver.names());
    }
    driver.click(&mut panel, "Repeat this run");
    assert!(matches!(driver.actions.pop(), Some(Action::Start(config, _)) if config.seed == 1));
    driver.click(&mut panel, "Copy config");
    assert!(matches!(driver.actions.pop(), Some(Action::Copy(_, text)) if text.contains("[model]")));
    driver.click(&mut panel, "feedbeef");
    assert!(matches!(driver.actions.pop(), Some(Action::Copy(_, text)) if text == "feedbeef"));
    driver.click(&mut panel, "Folder of the run");
    assert!(matches!(driver.actions.pop(), Some(Action::Copy(_, text)) if text == "/store/runs/x"));
    driver.click(&mut panel, "Export the checkpoint of step 90");
    assert!(driver.has("Export a checkpoint of \"my run\""));
    driver.click(&mut panel, "Export");
    let exported = |request: &Request| matches!(&request.command, Command::Export(commands::Export { which: Which::Step(90), to, .. }) if to.ends_with("my-run-step-90"));
    let asked: Vec<Request> = driver.state.take_requests().into_iter().filter(exported).collect();
    let [request] = asked.as_slice() else { panic!("{asked:?}") };
    // It stays until the model is there, with the reason where it cannot be written.
    let why = "Cannot make the folder (permission denied): /nope";
    let failed = Event::Failed(events::Failed { run: None, why: why.to_owned(), what_to_do: String::new() });
    driver.state.apply(Notice { ticket: Some(request.ticket), event: failed });
    driver.settle(&mut panel);
    assert!(driver.has(why) && driver.has("Export a checkpoint of \"my run\""), "{:#?}", driver.names());
    driver.click(&mut panel, "Export");
    let asked: Vec<Request> = driver.state.take_requests().into_iter().filter(exported).collect();
    let event = Event::Exported(events::Exported {
        run: driver.state.runs[0].id.clone(),
        step: 90,
        path: "/x".into(),
        opens_in_transformers: true,
        reason: String::new(),
    });
    driver.state.apply(Notice { ticket: Some(asked[0].ticket), event });
    driver.settle(&mut panel);
    assert!(!driver.has("Export a checkpoint of \"my run\""));
}

#[test]
fn the_best_value_of_a_run_that_trains_is_never_worse_than_the_last() {
    let (mut driver, mut panel) = open(true);
    let run = &mut driver.state.runs[0];
    run.metrics.get_mut(series_names::TRAIN_LOSS).unwrap().best = Some(1.625);
    let current = CurrentRun { step: 95, ..CurrentRun::named(run.id.clone(), "my run") };
    let mut shown = |loss: f64| {
        driver.state.current = Some(CurrentRun { loss: Some(loss), ..current.clone() });
        driver.settle(&mut panel);
        ["1.625", "1.125", "1.875"].map(|value| driver.has(value))
    };
    assert_eq!(shown(1.875), [true, false, true], "what is worse is the last alone");
    assert_eq!(shown(1.125), [false, true, false], "what is better is both");
}

#[test]
fn name_tags_and_note_are_written_down() {
    let (mut driver, mut panel) = open(true);
    driver.type_into(&mut panel, "New tag", "ablation");
    driver.click(&mut panel, "Add tag");
    driver.click(&mut panel, "Remove the tag paper");
    driver.type_into(&mut panel, "Note", "as in table 3");
    driver.click(&mut panel, "Save note");
    driver.type_into(&mut panel, "Name of the run", " b");
    driver.key(&mut panel, Key::Enter);
    let edits = edits(&driver);
    assert!(edits.contains(&RunEdit::AddTag("ablation".to_owned())), "{edits:?}");
    assert!(edits.contains(&RunEdit::RemoveTag("paper".to_owned())), "{edits:?}");
    assert!(edits.contains(&RunEdit::Note("as in table 3".to_owned())), "{edits:?}");
    assert!(edits.iter().any(|edit| matches!(edit, RunEdit::Rename(name) if name.contains(" b"))), "{edits:?}");
    assert_eq!(edits.len(), 4, "each once: {edits:?}");
}

#[test]
fn idle_it_asks_for_no_repaint() {
    let (mut driver, mut panel) = open(true);
    for _ in 0..10 {
        driver.frame(&mut panel, Vec::new());
    }
    assert!(driver.rests());
}

/// The inspector beside a panel, which shows the model of a folder or not.
struct Beside(Inspector, PanelId, bool);

impl Panel for Beside {
    fn ui(&mut self, ui: &mut egui::Ui, cx: &mut PanelContext<'_>) {
        self.0.stand_beside(self.1, self.2, cx);
        self.0.ui(ui, cx);
    }
}

#[test]
fn beside_the_model_of_a_folder_it_shows_no_run() {
    let (mut driver, inspector) = open(true);
    let mut beside = Beside(inspector, PanelId::MODELS, false);
    let mut shows = |driver: &mut Driver, panel: PanelId, shows_directory: bool| {
        (beside.1, beside.2) = (panel, shows_directory);
        driver.settle(&mut beside);
        driver.has("Config as TOML")
    };
    assert!(shows(&mut driver, PanelId::MODELS, false));
    assert!(!shows(&mut driver, PanelId::MODELS, true));
    assert!(shows(&mut driver, PanelId::REDUNDANCY, false));
    driver.state.selection.set_directory(Some("/models/bert".into()));
    assert!(!shows(&mut driver, PanelId::REDUNDANCY, false));
    assert!(shows(&mut driver, PanelId::LIVE, false), "that is about runs");
}

#[test]
fn a_second_click_on_resume_does_nothing_where_another_button_stands_then() {
    let (mut driver, mut panel) = open(true);
    let is_of = |wanted: RunState| move |run: &mut RunSummary| (run.state, run.steps_done) = (wanted, 50);
    is_of(RunState::Stopped)(&mut driver.state.runs[0]);
    driver.settle(&mut panel);
    let press = |driver: &mut Driver, panel: &mut Inspector, name: &str| {
        let pos = driver.place(name);
        let button = |pressed| egui::Event::PointerButton {
            pos,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        };
        driver.frame(panel, vec![egui::Event::PointerMoved(pos), button(true), button(false)]);
    };
    press(&mut driver, &mut panel, "Resume training");
    assert!(matches!(driver.actions.as_slice(), [Action::Send(Command::ResumeRun(_))]), "{:?}", driver.actions);
    is_of(RunState::Finished)(&mut driver.state.runs[0]);
    driver.frame(&mut panel, Vec::new());
    press(&mut driver, &mut panel, "Repeat with the next seed");
    assert_eq!(driver.actions.len(), 1, "{:?}", driver.actions);
    driver.settle(&mut panel);
    press(&mut driver, &mut panel, "Repeat with the next seed");
    assert_eq!(driver.actions.len(), 2, "{:?}", driver.actions);
}
