//! The panel in its four states, driven by the names of its controls.

use egui::{Key, PointerButton};
use headroom_engine::{
    store::RunState,
    worker::{Command, Event, Notice, Request, RunEdit},
};

use super::RunsPanel;
use crate::{
    common::driver::Driver,
    context::{Action, Panel},
    examples,
    state::State,
};

fn loaded(count: u64) -> State {
    let mut state = State::default();
    state.runs_loaded = true;
    state.runs = (0..count).rev().map(|number| examples::summary(number, &format!("run {number}"))).collect();
    state
}

fn open(state: State) -> (Driver, RunsPanel) {
    let (mut driver, mut panel) = (Driver::new(state), RunsPanel::default());
    driver.settle(&mut panel);
    (driver, panel)
}

#[test]
fn empty_it_says_what_would_fill_it_and_offers_to_start() {
    let (mut driver, mut panel) = open(loaded(0));
    assert!(driver.has("No runs yet"));
    driver.click(&mut panel, "Start the preset \"grammar decoder\"");
    assert!(matches!(driver.actions.as_slice(), [Action::Start(config, _)] if config.name == "grammar decoder"));
}

#[test]
fn working_it_says_so() {
    let (driver, _) = open(State::default());
    assert!(driver.has("Reading the runs…"));
}

#[test]
fn failed_it_says_what_can_still_be_done() {
    let mut state = loaded(2);
    state.engine_ended = true;
    let (driver, _) = open(state);
    assert!(driver.says("The engine has ended"));
    assert!(driver.has("run 1"), "the runs are still there");
}

#[test]
fn ten_thousand_runs_draw_only_what_is_seen() {
    let (driver, _) = open(loaded(10_000));
    assert!(driver.has("10,000 runs"));
    let rows = driver.names().iter().filter(|name| name.starts_with("Actions for run ")).count();
    assert!((10..100).contains(&rows), "{rows} rows were drawn");
}

#[test]
fn the_filter_narrows_and_tells_what_is_wrong_with_it() {
    let (mut driver, mut panel) = open(loaded(12));
    panel.focus_filter();
    driver.settle(&mut panel);
    driver.frame(&mut panel, vec![egui::Event::Text("number>=10".to_owned())]);
    driver.settle(&mut panel);
    assert!(driver.has("2 of 12 runs"), "{:#?}", driver.names());
    driver.frame(&mut panel, vec![egui::Event::Text(" and (".to_owned())]);
    driver.settle(&mut panel);
    assert!(driver.says("At letter 17"), "{:#?}", driver.names());
    assert!(driver.has("2 of 12 runs"), "the last good filter stays");
    driver.click(&mut panel, "Clear filter");
    assert!(driver.has("12 runs"));
    driver.type_into(&mut panel, "Filter runs", "nothing like it");
    assert!(driver.has("No run matches"));
    driver.click(&mut panel, "Show all runs");
    assert!(driver.has("12 runs"));
}

#[test]
fn a_filter_on_configs_reads_them_first() {
    let (mut driver, mut panel) = open(loaded(3));
    driver.type_into(&mut panel, "Filter runs", "model.layers=4");
    assert!(driver.says("Reading the configs of 3 runs"));
    for number in 0..3 {
        let record = examples::record(number, "run");
        driver.state.records.insert(record.summary.id.clone(), record);
    }
    driver.settle(&mut panel);
    assert!(driver.has("3 runs"));
    assert!(!driver.says("Reading the configs"));
}

#[test]
fn eyes_open_and_close_and_a_click_focuses() {
    let (mut driver, mut panel) = open(loaded(3));
    driver.click(&mut panel, "Show run 1 in charts");
    let id = examples::summary(1, "").id;
    assert!(driver.state.selection.is_visible(&id));
    driver.click(&mut panel, "Show run 1 in charts");
    assert!(!driver.state.selection.is_visible(&id));
    driver.click(&mut panel, "run 2");
    assert_eq!(driver.state.selection.focused, Some(examples::summary(2, "").id));
    assert!(driver.state.selection.visible.is_empty(), "focusing shows nothing");
}

#[test]
fn the_menu_stands_beside_the_name_and_hidden_columns_stay_hidden() {
    let (mut driver, mut panel) = open(loaded(3));
    assert!(driver.has("Actions for run 2") && !driver.has("Tokens"));
    driver.click(&mut panel, "Columns");
    driver.click(&mut panel, "Tokens");
    driver.key(&mut panel, Key::Escape);
    let remembered: serde_json::Value = driver.settings.of_panel("runs");
    assert_eq!(remembered["chose_columns"], true);
    assert!(!remembered["table"]["hidden"].as_array().unwrap().iter().any(|title| title == "Tokens"));
}

#[test]
fn keys_move_select_pin_and_rename() {
    let (mut driver, mut panel) = open(loaded(3));
    driver.click(&mut panel, "run 2");
    driver.key(&mut panel, Key::ArrowDown);
    let one = examples::summary(1, "").id;
    assert_eq!(driver.state.selection.focused, Some(one.clone()));
    driver.key(&mut panel, Key::Space);
    assert!(driver.state.selection.is_visible(&one));
    driver.key(&mut panel, Key::P);
    assert_eq!(driver.state.selection.baseline, Some(one.clone()));
    driver.key(&mut panel, Key::F2);
    assert!(driver.has("New name"));
    driver.frame(&mut panel, vec![egui::Event::Text("p!".to_owned())]);
    driver.key(&mut panel, Key::Enter);
    let renamed = |action: &Action| matches!(action, Action::Send(Command::Edit { run, edit: RunEdit::Rename(name) }) if *run == one && name.contains("p!"));
    assert!(driver.actions.iter().any(renamed), "{:?}", driver.actions);
    assert_eq!(driver.state.selection.baseline, Some(one), "a typed p pins nothing");
}

#[test]
fn a_double_click_renames_and_escape_gives_it_up() {
    let (mut driver, mut panel) = open(loaded(2));
    driver.click_with(&mut panel, "run 1", PointerButton::Primary, 2);
    assert!(driver.has("New name"));
    driver.frame(&mut panel, vec![egui::Event::Text("x".to_owned())]);
    driver.key(&mut panel, Key::Escape);
    assert!(!driver.has("New name"));
    assert!(driver.actions.is_empty(), "{:?}", driver.actions);
}

#[test]
fn the_menu_offers_what_fits_the_run() {
    let mut state = loaded(2);
    state.runs[0].state = RunState::Interrupted;
    let record = examples::record(1, "run 1");
    state.records.insert(record.summary.id.clone(), record);
    let (mut driver, mut panel) = open(state);
    driver.click_with(&mut panel, "run 1", PointerButton::Secondary, 1);
    assert!(driver.has("Resume training"), "{:#?}", driver.names());
    driver.click(&mut panel, "Resume training");
    assert!(matches!(driver.actions.pop(), Some(Action::Send(Command::ResumeRun { .. }))));
    driver.click(&mut panel, "Actions for run 1");
    driver.click(&mut panel, "Repeat with the next seed");
    assert!(matches!(driver.actions.pop(), Some(Action::Start(config, _)) if config.seed == 2));
    driver.click(&mut panel, "Actions for run 0");
    driver.type_into(&mut panel, "New tag", "ablation");
    driver.click(&mut panel, "Add tag");
    let tagged = |action: &Action| matches!(action, Action::Send(Command::Edit { edit: RunEdit::AddTag(tag), .. }) if tag == "ablation");
    assert!(driver.actions.pop().is_some_and(|action| tagged(&action)));
    driver.click(&mut panel, "Actions for run 0");
    driver.click(&mut panel, "Delete");
    assert!(matches!(driver.actions.pop(), Some(Action::Delete(_))));
}

#[test]
fn a_checkpoint_is_exported_to_a_typed_path() {
    let (mut driver, mut panel) = open(loaded(1));
    driver.click(&mut panel, "Actions for run 0");
    driver.click(&mut panel, "Export checkpoint…");
    assert!(driver.has("Export a checkpoint of \"run 0\""));
    driver.click(&mut panel, "The last: step 100");
    driver.click(&mut panel, "Export");
    let is_export = |request: &Request| matches!(request.command, Command::Export { .. });
    let Some(request) = driver.state.take_requests().into_iter().find(is_export) else { panic!("nothing exported") };
    let Command::Export { run, which, to } = request.command else { panic!("another command") };
    assert_eq!(which, headroom_engine::worker::Which::Last);
    assert!(to.ends_with("run-0-last"), "{}", to.display());
    driver.settle(&mut panel);
    assert!(driver.has("Writing the model directory…"), "it is not there yet");
    let (opens_in_transformers, reason) = (true, String::new());
    let event = Event::Exported { run, step: 100, path: to, opens_in_transformers, reason };
    driver.state.apply(Notice { ticket: Some(request.ticket), event });
    driver.settle(&mut panel);
    assert!(!driver.has("Export a checkpoint of \"run 0\""), "the box is closed");
}

#[test]
fn the_table_is_copied_as_it_is_shown() {
    let (mut driver, mut panel) = open(loaded(3));
    driver.type_into(&mut panel, "Filter runs", "number=1");
    driver.click(&mut panel, "Copy table");
    driver.click(&mut panel, "Copy as CSV");
    let Some(Action::Copy(_, text)) = driver.actions.pop() else { panic!("nothing copied") };
    assert_eq!(text.lines().count(), 2);
    assert!(text.starts_with("Name,State,Steps,Seed,"), "{text}");
    assert!(text.contains("run 1,finished,100,"), "{text}");
}

#[test]
fn idle_it_asks_for_no_repaint() {
    let (mut driver, mut panel) = open(loaded(30));
    for _ in 0..10 {
        driver.frame(&mut panel, Vec::new());
    }
    assert!(driver.rests());
}
