//! The panel in its four states, driven by the names of its controls.

use egui::{Key, Modifiers, PointerButton};
use headroom_engine::{
    protocol::{Command, Event, Notice, Request, RunEdit, commands, events},
    store::RunState,
};

use super::RunsPanel;
use crate::{
    common::driver::Driver,
    context::{Action, Panel, PanelId},
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
    driver.type_into(&mut panel, "Search columns", "tok");
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
    let renamed = |action: &Action| matches!(action, Action::Send(Command::Edit(commands::Edit { run, edit: RunEdit::Rename(name) })) if *run == one && name.contains("p!"));
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
    assert!(matches!(driver.actions.pop(), Some(Action::Send(Command::ResumeRun(_)))));
    driver.click(&mut panel, "Actions for run 1");
    driver.click(&mut panel, "Repeat with the next seed");
    assert!(matches!(driver.actions.pop(), Some(Action::Start(config, _)) if config.seed == 2));
    driver.click(&mut panel, "Actions for run 0");
    driver.type_into(&mut panel, "New tag", "ablation");
    driver.click(&mut panel, "Add tag");
    let tagged = |action: &Action| matches!(action, Action::Send(Command::Edit(commands::Edit { edit: RunEdit::AddTag(tag), .. })) if tag == "ablation");
    assert!(driver.actions.pop().is_some_and(|action| tagged(&action)));
    driver.click(&mut panel, "Actions for run 0");
    driver.click(&mut panel, "Delete");
    assert!(matches!(driver.actions.pop(), Some(Action::Delete(_))));
}

#[test]
fn the_menu_of_any_row_lies_within_the_window_and_stays_when_the_record_comes() {
    for (height, tags) in [(800.0, 1), (800.0, 20), (600.0, 3)] {
        let mut state = loaded(40);
        for run in &mut state.runs {
            run.tags = (0..tags).map(|tag| format!("tag {tag}")).collect();
        }
        let (mut driver, mut panel) = (Driver::new(state), RunsPanel::default());
        driver.size = egui::vec2(1280.0, height);
        driver.settle(&mut panel);
        let rows = driver.in_order("Actions for run ");
        let rows: Vec<String> =
            rows.into_iter().take_while(|row| driver.top(&format!("Actions for run {row}")) < height).collect();
        for row in rows.iter().rev().take(8) {
            driver.click(&mut panel, &format!("Actions for run {row}"));
            let opened_at = driver.top("Inspect");
            assert!(opened_at > 0.0, "run {row} in {height}, {tags} tags: {opened_at}");
            let record = examples::record(row.parse().unwrap(), "run");
            driver.state.folders.insert(record.summary.id.clone(), "/store/runs/x".into());
            driver.state.records.insert(record.summary.id.clone(), record);
            driver.settle(&mut panel);
            assert_eq!(driver.top("Inspect"), opened_at, "run {row} in {height}, {tags} tags");
            // What there is no room for is scrolled to.
            let (unit, delta) = (egui::MouseWheelUnit::Point, egui::vec2(0.0, -5000.0));
            let (phase, source) = (egui::TouchPhase::Move, egui::MouseWheelSource::Unknown);
            let wheel = egui::Event::MouseWheel { unit, delta, phase, source, modifiers: Modifiers::NONE };
            driver.frame(&mut panel, vec![egui::Event::PointerMoved(driver.place("Inspect")), wheel]);
            for _ in 0..6 {
                driver.settle(&mut panel);
            }
            let last = driver.top("Delete");
            assert!(last < height - 20.0, "run {row} in {height}, {tags} tags: {last}");
            driver.key(&mut panel, Key::Escape);
            driver.back(&mut panel);
        }
    }
}

#[test]
fn a_checkpoint_is_exported_to_a_typed_path() {
    let (mut driver, mut panel) = open(loaded(1));
    driver.click(&mut panel, "Actions for run 0");
    driver.click(&mut panel, "Export checkpoint…");
    assert!(driver.has("Export a checkpoint of \"run 0\""));
    driver.click(&mut panel, "The last: step 100");
    driver.click(&mut panel, "Export");
    let is_export = |request: &Request| matches!(request.command, Command::Export(_));
    let Some(request) = driver.state.take_requests().into_iter().find(is_export) else { panic!("nothing exported") };
    let Command::Export(commands::Export { run, which, to }) = request.command else { panic!("another command") };
    assert_eq!(which, headroom_engine::protocol::Which::Last);
    assert!(to.ends_with("run-0-last"), "{}", to.display());
    driver.settle(&mut panel);
    assert!(driver.has("Writing the model directory…"), "it is not there yet");
    let (opens_in_transformers, reason) = (true, String::new());
    let event = Event::Exported(events::Exported { run, step: 100, path: to, opens_in_transformers, reason });
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

/// Clicks with these keys held down.
fn click_holding(driver: &mut Driver, panel: &mut RunsPanel, name: &str, modifiers: Modifiers) {
    driver.modifiers = modifiers;
    driver.click(panel, name);
    driver.modifiers = Modifiers::NONE;
}

fn visible(driver: &Driver) -> Vec<u64> {
    let is_visible = |number: &u64| driver.state.selection.is_visible(&examples::summary(*number, "").id);
    (0..40).filter(is_visible).collect()
}

#[test]
fn the_filter_decides_what_charts_show() {
    let (mut driver, mut panel) = open(loaded(12));
    driver.state.selection.visible.insert(examples::summary(0, "").id);
    driver.type_into(&mut panel, "Filter runs", "number>=9");
    driver.click(&mut panel, "Show all these too");
    assert_eq!(visible(&driver), [0, 9, 10, 11]);
    driver.click(&mut panel, "Show only these");
    assert_eq!(visible(&driver), [9, 10, 11]);
    driver.click(&mut panel, "Hide all");
    assert_eq!(visible(&driver), [0; 0]);
}

#[test]
fn filters_are_kept_chosen_and_removed() {
    let (mut driver, mut panel) = open(loaded(12));
    driver.type_into(&mut panel, "Filter runs", "number=3");
    driver.click(&mut panel, "Filters");
    driver.type_into(&mut panel, "Name for this filter", "the third");
    driver.click(&mut panel, "Keep this filter");
    assert_eq!(driver.settings.filters.get("the third").map(String::as_str), Some("number=3"));
    driver.key(&mut panel, Key::Escape);
    driver.click(&mut panel, "Clear filter");
    assert!(driver.has("12 runs"));
    driver.click(&mut panel, "Filters");
    driver.click(&mut panel, "Filter the third");
    assert!(driver.has("1 of 12 runs"), "{:#?}", driver.names());
    driver.click(&mut panel, "Filters");
    driver.click(&mut panel, "Remove the filter the third");
    assert!(driver.settings.filters.is_empty() && driver.has("1 of 12 runs"), "the filter in use stays");
}

#[test]
fn the_runs_of_a_tag_are_compared_and_listed_from_its_chip() {
    let mut state = loaded(6);
    state.runs[0].tags = vec!["race:a".to_owned()];
    state.runs[2].tags = vec!["race:a".to_owned(), "paper".to_owned()];
    state.selection.visible.insert(examples::summary(1, "").id);
    let (mut driver, mut panel) = open(state);
    driver.click(&mut panel, "Tag race:a of run 3");
    driver.click(&mut panel, "Compare \"race:a\"");
    assert_eq!(visible(&driver), [3, 5]);
    assert_eq!(driver.state.selection.baseline, Some(examples::summary(3, "").id), "the first of the race");
    assert!(matches!(driver.actions.pop(), Some(Action::Open(PanelId::COMPARE))));
    driver.click_with(&mut panel, "run 3", PointerButton::Secondary, 1);
    driver.click(&mut panel, "Tag race:a");
    driver.click(&mut panel, "List only \"race:a\"");
    assert!(driver.has("2 of 6 runs"), "{:#?}", driver.names());
}

#[test]
fn several_runs_are_selected_with_the_mouse_and_the_keyboard() {
    let (mut driver, mut panel) = open(loaded(12));
    driver.click(&mut panel, "run 10");
    assert!(!driver.says("selected"));
    click_holding(&mut driver, &mut panel, "run 7", Modifiers::COMMAND);
    assert!(driver.has("2 selected"), "{:#?}", driver.names());
    assert!(driver.state.selection.visible.is_empty(), "selecting shows nothing");
    click_holding(&mut driver, &mut panel, "run 4", Modifiers::SHIFT);
    assert!(driver.has("4 selected"), "from the one that was clicked last: {:#?}", driver.names());
    driver.click(&mut panel, "run 6");
    assert!(!driver.says("selected"));
    driver.modifiers = Modifiers::SHIFT;
    driver.key(&mut panel, Key::ArrowDown);
    driver.key(&mut panel, Key::ArrowDown);
    driver.modifiers = Modifiers::NONE;
    assert!(driver.has("3 selected"), "{:#?}", driver.names());
    assert_eq!(driver.state.selection.focused, Some(examples::summary(6, "").id), "the inspector stays where it is");
    driver.key(&mut panel, Key::ArrowUp);
    assert!(!driver.says("selected"), "without Shift the arrows only move");
    driver.type_into(&mut panel, "Filter runs", "number<5");
    driver.click(&mut panel, "run 2");
    driver.modifiers = Modifiers::COMMAND;
    driver.key(&mut panel, Key::A);
    driver.modifiers = Modifiers::NONE;
    assert!(driver.has("5 selected"), "what the filter shows: {:#?}", driver.names());
    // Quick hands let go of Shift and Ctrl before the frame is drawn.
    driver.click(&mut panel, "run 2");
    let quick = |key: Key, modifiers: Modifiers| {
        let event = |pressed| egui::Event::Key { key, physical_key: None, pressed, repeat: false, modifiers };
        vec![event(true), event(false)]
    };
    driver.frame(&mut panel, quick(Key::ArrowDown, Modifiers::SHIFT));
    driver.settle(&mut panel);
    assert!(driver.has("2 selected"), "{:#?}", driver.names());
    driver.frame(&mut panel, quick(Key::A, Modifiers::COMMAND));
    driver.settle(&mut panel);
    assert!(driver.has("5 selected"), "{:#?}", driver.names());
    driver.type_into(&mut panel, "Filter runs", " number<3");
    assert!(driver.has("3 selected"), "what is not in sight is not meant: {:#?}", driver.names());
    assert!(driver.back(&mut panel));
    driver.settle(&mut panel);
    assert!(!driver.says("selected"));
}

#[test]
fn several_runs_are_tagged_archived_shown_and_resumed() {
    let mut state = loaded(4);
    state.runs[1].state = RunState::Interrupted;
    state.runs[0].tags = vec!["old".to_owned()];
    let (mut driver, mut panel) = open(state);
    driver.click(&mut panel, "run 3");
    click_holding(&mut driver, &mut panel, "run 2", Modifiers::COMMAND);
    click_holding(&mut driver, &mut panel, "run 0", Modifiers::COMMAND);
    let edits = |driver: &mut Driver| -> Vec<(u64, RunEdit)> {
        let number = |run: &headroom_engine::store::RunId| run.to_string().parse().unwrap();
        let all = std::mem::take(&mut driver.actions).into_iter();
        let edit = all.filter_map(|action| match action {
            Action::Send(Command::Edit(commands::Edit { run, edit })) => Some((number(&run), edit)),
            _ => None,
        });
        edit.collect()
    };
    driver.click(&mut panel, "Tag…");
    driver.type_into(&mut panel, "Tag for all of these", "ablation");
    driver.click(&mut panel, "Tag them");
    let tag = || RunEdit::AddTag("ablation".to_owned());
    assert_eq!(edits(&mut driver), [(3, tag()), (2, tag()), (0, tag())]);
    driver.click(&mut panel, "Untag…");
    assert!(driver.has("paper (2)"));
    driver.click(&mut panel, "old (1)");
    assert_eq!(edits(&mut driver), [(3, RunEdit::RemoveTag("old".to_owned()))]);
    driver.state.selection.visible = driver.state.runs.iter().map(|run| run.id.clone()).collect();
    driver.click(&mut panel, "Archive");
    assert_eq!(edits(&mut driver), [3, 2, 0].map(|number| (number, RunEdit::Archive(true))));
    assert_eq!(visible(&driver), [1], "what is archived leaves the charts");
    driver.state.selection.visible.clear();
    driver.click(&mut panel, "Resume");
    assert!(
        matches!(driver.actions.as_slice(), [Action::Send(Command::ResumeRun(commands::ResumeRun { run }))] if *run == examples::summary(2, "").id),
        "{:?}",
        driver.actions
    );
    driver.actions.clear();
    driver.click(&mut panel, "Show these");
    assert_eq!(visible(&driver), [0, 2, 3]);
    driver.click(&mut panel, "Hide these");
    driver.click(&mut panel, "Compare these");
    assert_eq!(visible(&driver), [0, 2, 3]);
    assert!(matches!(driver.actions.pop(), Some(Action::Open(PanelId::COMPARE))));
    // The menu of one of them is about all of them.
    driver.click_with(&mut panel, "run 2", PointerButton::Secondary, 1);
    assert!(driver.has("Actions for 3 selected runs"), "{:#?}", driver.names());
    driver.key(&mut panel, Key::Escape);
    driver.back(&mut panel);
    driver.click_with(&mut panel, "run 1", PointerButton::Secondary, 1);
    assert!(driver.has("Actions for run 1") && driver.has("Inspect"), "another one is alone: {:#?}", driver.names());
}

#[test]
fn keys_are_about_the_run_that_is_marked_and_about_none_that_is_out_of_sight() {
    let mut state = loaded(4);
    let trains = state.runs.iter_mut().find(|run| run.name == "run 1").unwrap();
    trains.state = RunState::Running;
    let (mut driver, mut panel) = open(state);
    driver.click(&mut panel, "run 3");
    driver.click_with(&mut panel, "run 2", PointerButton::Secondary, 1);
    driver.key(&mut panel, Key::Escape);
    driver.back(&mut panel);
    driver.key(&mut panel, Key::Delete);
    let two = examples::summary(2, "").id;
    let asked = driver.actions.pop();
    assert!(matches!(&asked, Some(Action::Delete(run)) if *run == two), "the one whose menu was opened: {asked:?}");
    // One that trains is kept, and that is said.
    driver.click(&mut panel, "run 1");
    driver.key(&mut panel, Key::Delete);
    let told = driver.actions.pop();
    assert!(matches!(&told, Some(Action::Say(_, what, _)) if what.contains("stop it first")), "{told:?}");
    // The filter takes the focused one away.
    driver.click(&mut panel, "run 3");
    driver.type_into(&mut panel, "Filter runs", "run 2");
    // The keyboard leaves the field.
    driver.click(&mut panel, "Show archived");
    driver.actions.clear();
    driver.key(&mut panel, Key::Delete);
    assert!(driver.actions.is_empty(), "{:?}", driver.actions);
    driver.click(&mut panel, "Clear filter");
    driver.actions.clear();
    driver.key(&mut panel, Key::Delete);
    let three = examples::summary(3, "").id;
    let asked = driver.actions.pop();
    assert!(matches!(&asked, Some(Action::Delete(run)) if *run == three), "in sight again: {asked:?}");
}

#[test]
fn in_a_narrow_window_what_is_done_with_several_runs_stands_in_a_menu() {
    let (mut driver, mut panel) = (Driver::new(loaded(4)), RunsPanel::default());
    driver.size.x = 760.0;
    driver.settle(&mut panel);
    let top = driver.top("run 0");
    driver.click(&mut panel, "run 3");
    click_holding(&mut driver, &mut panel, "run 2", Modifiers::SHIFT);
    assert!(driver.has("2 selected") && !driver.has("Compare these"), "{:#?}", driver.names());
    assert_eq!(driver.top("run 0"), top, "rows stay where they are under the pointer");
    driver.click(&mut panel, "Do with them…");
    driver.click(&mut panel, "Compare these");
    assert_eq!(visible(&driver), [2, 3]);
    assert!(matches!(driver.actions.as_slice(), [.., Action::Open(PanelId::COMPARE)]), "{:?}", driver.actions);
    // What asks more is asked from there as well.
    driver.click(&mut panel, "Do with them…");
    driver.click(&mut panel, "Delete…");
    assert!(driver.has("Delete 2 runs?"), "{:#?}", driver.names());
}

#[test]
fn a_baseline_of_another_race_is_not_compared_with_what_was_selected() {
    let mut state = loaded(4);
    for (run, tag) in state.runs.iter_mut().zip(["race:b", "race:b", "race:b", "race:a"]) {
        run.tags = vec![tag.to_owned()];
    }
    let id = |number: u64| examples::summary(number, "").id;
    state.selection.baseline = Some(id(0));
    let (mut driver, mut panel) = open(state);
    driver.click(&mut panel, "run 3");
    click_holding(&mut driver, &mut panel, "run 2", Modifiers::SHIFT);
    driver.click(&mut panel, "Compare these");
    assert_eq!((visible(&driver), &driver.state.selection.baseline), (vec![2, 3], &Some(id(2))));
    let told = driver.state.messages.latest().unwrap();
    assert!(told.what.contains("\"run 0\", which was pinned, is not of their race"), "{told:?}");
    // The first of their race is its baseline, and stays.
    driver.state.selection.baseline = Some(id(1));
    driver.click(&mut panel, "Compare these");
    assert_eq!((visible(&driver), &driver.state.selection.baseline), (vec![2, 3], &Some(id(1))));
    let told = driver.state.messages.latest().unwrap();
    assert!(told.what.contains("\"run 1\" stays beside these runs"), "{told:?}");
}

#[test]
fn several_runs_are_deleted_after_a_question_that_names_them() {
    let mut state = loaded(4);
    state.runs[1].state = RunState::Running;
    let (mut driver, mut panel) = open(state);
    driver.click(&mut panel, "run 3");
    click_holding(&mut driver, &mut panel, "run 1", Modifiers::SHIFT);
    driver.key(&mut panel, Key::Delete);
    assert!(driver.has("Delete 2 runs?"), "{:#?}", driver.names());
    assert!(driver.has("run 3 (#3, finished)") && driver.has("run 1 (#1, finished)"));
    assert!(driver.has("run 2 stays: it is running: stop it first."));
    driver.click(&mut panel, "Keep them");
    assert!(driver.actions.is_empty() && !driver.has("Delete 2 runs?"));
    driver.click(&mut panel, "Delete…");
    driver.click(&mut panel, "Delete 2 runs");
    let Some(Action::DeleteAll(runs)) = driver.actions.pop() else { panic!("nothing deleted") };
    assert_eq!(runs, [3, 1].map(|number| examples::summary(number, "").id));
    // All of them come back at once.
    driver.state.delete_runs(&runs);
    assert_eq!(driver.state.undo_delete().as_deref(), Some("2 runs"));
    assert_eq!(driver.state.undo_delete(), None);
}

#[test]
fn checkpoints_of_several_runs_go_to_a_folder_each() {
    let mut state = loaded(3);
    for run in &mut state.runs {
        run.name = "same name".to_owned();
    }
    let runs = state.runs.clone();
    state.apply(Event::Runs(events::Runs { runs }));
    let (mut driver, mut panel) = open(state);
    driver.click(&mut panel, "same name");
    click_holding(&mut driver, &mut panel, "same name (3)", Modifiers::SHIFT);
    driver.click(&mut panel, "Export checkpoints…");
    assert!(driver.has("same name (2): same-name-2"), "{:#?}", driver.names());
    driver.click(&mut panel, "The last of each");
    driver.click(&mut panel, "Export 3 checkpoints");
    let exports: Vec<Request> = driver.state.take_requests();
    let exports: Vec<_> = exports
        .into_iter()
        .filter_map(|request| match request.command {
            Command::Export(commands::Export { run, which, to }) => Some((request.ticket, run, which, to)),
            _ => None,
        })
        .collect();
    let folders: std::collections::BTreeSet<_> =
        exports.iter().map(|(.., to)| to.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(folders.into_iter().collect::<Vec<_>>(), ["same-name", "same-name-2", "same-name-3"]);
    assert!(driver.has("0 of 3 written…"));
    for (place, (ticket, run, which, path)) in exports.into_iter().enumerate() {
        assert_eq!(which, headroom_engine::protocol::Which::Last);
        let event = if place == 1 {
            Event::Failed(events::Failed {
                run: Some(run),
                why: "The disk is full.".to_owned(),
                what_to_do: String::new(),
            })
        } else {
            Event::Exported(events::Exported {
                run,
                step: 100,
                path,
                opens_in_transformers: true,
                reason: String::new(),
            })
        };
        driver.state.apply(Notice { ticket: Some(ticket), event });
    }
    driver.settle(&mut panel);
    assert!(driver.says("The disk is full.") && driver.says("written to same-name"), "{:#?}", driver.names());
    driver.click(&mut panel, "Close");
    assert!(!driver.says("The disk is full."));
}

/// Runs whose configs differ in their layers: 4, 4, 8, 8.
fn with_configs() -> State {
    let mut state = loaded(4);
    for number in 0..4 {
        let mut record = examples::record(number, "run");
        record.config["model"]["layers"] = if number < 2 { 4.into() } else { 8.into() };
        state.records.insert(record.summary.id.clone(), record);
    }
    state
}

#[test]
fn any_key_of_the_config_becomes_a_column_that_is_pinned_and_sorted() {
    let (mut driver, mut panel) = open(with_configs());
    driver.click(&mut panel, "Columns");
    driver.type_into(&mut panel, "Search columns", "lay");
    assert!(!driver.has("model.heads") && driver.has("model.layers"), "{:#?}", driver.names());
    driver.click(&mut panel, "Pin the column model.layers");
    driver.key(&mut panel, Key::Escape);
    let pinned: serde_json::Value = driver.settings.of_panel("runs");
    assert_eq!(
        (&pinned["config_keys"][0], &pinned["pinned"][0]["config"]),
        (&"model.layers".into(), &"model.layers".into())
    );
    assert_eq!(driver.names().iter().filter(|name| *name == "8").count(), 2, "{:#?}", driver.names());
    driver.click(&mut panel, "model.layers");
    driver.click(&mut panel, "Copy table");
    driver.click(&mut panel, "Copy as CSV");
    let Some(Action::Copy(_, text)) = driver.actions.pop() else { panic!("nothing copied") };
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("Name,model.layers,State"), "it stands beside the name: {text}");
    assert!(lines[1].contains(",4,") && lines[4].contains(",8,"), "{text}");
    // As before after a restart.
    let mut again = RunsPanel::default();
    driver.settle(&mut again);
    assert!(driver.has("model.layers"));
    driver.click(&mut again, "Columns");
    driver.click(&mut again, "The usual columns");
    driver.key(&mut again, Key::Escape);
    assert!(!driver.has("model.layers"), "{:#?}", driver.names());
}

#[test]
fn the_list_of_columns_keeps_its_order_while_it_is_open() {
    let (mut driver, mut panel) = open(with_configs());
    driver.click(&mut panel, "Columns");
    driver.type_into(&mut panel, "Search columns", "ed");
    let before = driver.in_order("Pin the column ");
    assert_eq!(before[..4], ["Seed", "Created", "data.text_seed", "model.feed_forward"], "{before:?}");
    driver.click(&mut panel, "model.feed_forward");
    driver.click(&mut panel, "Pin the column Created");
    assert_eq!(driver.in_order("Pin the column "), before);
    driver.key(&mut panel, Key::Escape);
    driver.click(&mut panel, "Columns");
    let now = driver.in_order("Pin the column ");
    assert_eq!(
        now[..3],
        ["Created", "Seed", "model.feed_forward"],
        "opened again, what is shown stands first: {now:?}"
    );
}

#[test]
fn enter_takes_the_first_column_or_key_that_is_found() {
    let (mut driver, mut panel) = open(with_configs());
    driver.click(&mut panel, "Columns");
    driver.type_into(&mut panel, "Search columns", "model.la");
    driver.key(&mut panel, Key::Enter);
    let keys = |driver: &Driver| driver.settings.of_panel::<serde_json::Value>("runs")["config_keys"].clone();
    assert_eq!(keys(&driver), serde_json::json!(["model.layers"]));
    // The keyboard is still in the field.
    driver.frame(&mut panel, vec![egui::Event::Text("yers".to_owned())]);
    driver.key(&mut panel, Key::Enter);
    assert_eq!(keys(&driver), serde_json::json!([]));
    driver.key(&mut panel, Key::Escape);
    driver.click(&mut panel, "Group");
    driver.click(&mut panel, "Search config keys");
    driver.key(&mut panel, Key::Enter);
    assert!(driver.has("8  (layers)") && !driver.has("Search config keys"), "{:#?}", driver.names());
}

#[test]
fn groups_fold_and_their_eye_is_that_of_all_their_runs() {
    let (mut driver, mut panel) = open(with_configs());
    driver.click(&mut panel, "Group");
    driver.type_into(&mut panel, "Search config keys", "layers");
    driver.click(&mut panel, "Group by model.layers");
    assert!(driver.has("8  (layers)") && driver.has("4  (layers)") && driver.has("run 1"), "{:#?}", driver.names());
    assert!(driver.has("n = 2, best 1.250"), "{:#?}", driver.names());
    driver.click(&mut panel, "Show all of 8  (layers) in charts");
    assert_eq!(visible(&driver), [2, 3]);
    driver.click(&mut panel, "Show all of 8  (layers) in charts");
    assert_eq!(visible(&driver), [0; 0]);
    driver.click(&mut panel, "4  (layers)");
    assert!(!driver.has("run 1") && driver.has("run 2"), "it is folded: {:#?}", driver.names());
    let remembered: serde_json::Value = driver.settings.of_panel("runs");
    assert_eq!(remembered["folded"][0], "4  (layers)");
    driver.click(&mut panel, "run 3");
    driver.modifiers = Modifiers::COMMAND;
    driver.key(&mut panel, Key::A);
    driver.modifiers = Modifiers::NONE;
    assert!(driver.has("2 selected"), "heads are no runs: {:#?}", driver.names());
    driver.click(&mut panel, "4  (layers)");
    assert!(driver.has("run 1"));
    driver.click(&mut panel, "Group: model.layers");
    driver.click(&mut panel, "No groups");
    assert!(!driver.has("4  (layers)"));
}

#[test]
fn a_hidden_run_has_no_colour_and_shown_ones_have_the_first() {
    let (mut driver, mut panel) = open(loaded(30));
    driver.click(&mut panel, "Show run 25 in charts");
    driver.click(&mut panel, "Show run 19 in charts");
    driver.settle(&mut panel);
    let style = |driver: &Driver, number| driver.state.selection.style_of(&examples::summary(number, "").id);
    assert_eq!([25, 19].map(|number| style(&driver, number)), [0, 1].map(crate::theme::LineStyle::of_place));
}
