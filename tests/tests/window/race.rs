//! Setting a race up in the window, and watching it.

use std::collections::BTreeSet;

use egui::{Key, Modifiers};
use headroom_app::context::PanelId;
use headroom_engine::{
    config::Answer,
    protocol::{Command, Event, commands, events},
    store::{RunId, RunState, RunSummary},
};
use headroom_tests::Screen;
use tempfile::TempDir;

use crate::common::{open_config, store, train, write_tiny};

#[test]
fn a_race_is_set_up_queued_and_compared_with_its_baseline() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    open_config(&mut screen, &write_tiny(folder.path(), "tiny", 1));
    screen.click("Race or sweep");
    assert!(screen.has("standard") && screen.says("1 seed = "), "{:#?}", screen.words());
    assert!(!screen.has("Full: early layers borrow all"), "one layer has nobody to borrow from");
    screen.click("Grouped: heads share keys and values");
    screen.fill("Name of the race", "heads");
    screen.fill("Seeds per config", "2");
    screen.settle();
    assert!(screen.says("3 configs × 2 seeds = 6 runs"), "{:#?}", screen.words());
    screen.click("Queue the runs");
    assert!(!screen.has("Cancel"), "the box is closed");
    assert_eq!(screen.window().open_panel(), PanelId::COMPARE);
    screen.wait("all runs", |screen| {
        let state = screen.state();
        state.runs.len() == 6 && state.runs.iter().all(|run| run.state == RunState::Finished)
    });
    screen.settle();
    let mut runs = screen.state().runs.clone();
    runs.sort_by_key(|run| run.number);
    assert!(runs.iter().all(|run| run.tags == ["race:heads"]), "{:?}", runs[0].tags);
    let told: Vec<_> = runs.iter().map(|run| (run.name.as_str(), run.seed)).collect();
    assert_eq!(told[..2], [("heads: standard", 1), ("heads: symmetric", 1)]);
    assert_eq!(told[3], ("heads: standard", 2), "all take their turn before the next seed");
    assert_eq!(screen.state().selection.baseline, Some(runs[0].id.clone()), "the baseline is pinned");
    // Two seeds each: the panel opens grouped.
    screen.wait("the difference", |screen| {
        screen.has("Chart: Δ Validation loss")
            && screen.description("Chart: Δ Validation loss").0.starts_with("3 lines.")
    });
    // The second seed's curves may come a moment after the first's.
    screen.wait("the intervals", |screen| screen.says("The difference has 95 % intervals"));
    screen.click("Parallel coordinates");
    screen.wait_for("Parallel coordinates: config and results");
    assert!(screen.has("Brush compatibility.kind") && screen.has("Brush Parameters"), "{:#?}", screen.words());
    let csv = folder.path().join("parallel.csv");
    screen.click("Export figure…");
    screen.click("CSV");
    screen.fill("File", &csv.display().to_string());
    screen.click("Export");
    screen.wait("the file", |_| csv.is_file());
    let rows = std::fs::read_to_string(&csv).unwrap();
    assert!(rows.starts_with("run,") && rows.contains("compatibility.kind"), "{rows}");
    assert_eq!(rows.lines().count(), 1 + 3, "a row for each group of seeds\n{rows}");

    // A run that begins beside it leaves the race as it stands.
    open_config(&mut screen, &write_tiny(folder.path(), "beside", 1));
    screen.press(Modifiers::COMMAND, Key::Enter);
    screen.wait("the run beside the race", |screen| {
        let runs = &screen.state().runs;
        runs.len() == 7 && runs.iter().all(|run| run.state == RunState::Finished)
    });
    let visible = screen.state().selection.visible.clone();
    assert_eq!(visible, runs.iter().map(|run| run.id.clone()).collect(), "the runs of the race alone");
    let told = "\"beside\" is not drawn: charts show the runs of \"race:heads\" alone.";
    assert!(screen.state().messages.newest_first().any(|message| message.what == told));
    screen.close();
}

#[test]
fn a_sweep_says_what_it_leaves_out() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    open_config(&mut screen, &write_tiny(folder.path(), "tiny", 1));
    screen.click("Race or sweep");
    screen.click("Sweep");
    screen.fill("Field 1", "model.heads");
    screen.fill("Values 1", "1, 3");
    screen.settle();
    assert!(screen.says("1 config cannot be trained") && screen.says("Width: 16 is not divi"), "{:#?}", screen.words());
    screen.fill("Values 1", "1, three");
    screen.settle();
    assert!(screen.says("Heads: \"three\" is not a whole number; it must be from 1"), "{:#?}", screen.words());
    screen.fill("Values 1", "1, 1");
    screen.settle();
    assert!(screen.says("Heads (model.heads): 1 is there twice. Give each value once."), "{:#?}", screen.words());
    // Both mistakes of an axis are told, the field's first.
    screen.fill("Field 1", "model.haeds");
    screen.settle();
    assert!(screen.says("There is no field model.haeds. Did you mean heads?"), "{:#?}", screen.words());
    assert!(screen.says("model.haeds: 1 is there twice. Give each value once."), "{:#?}", screen.words());
    assert!(!screen.says("Put commas") && !screen.is_enabled("Queue the runs"), "{:#?}", screen.words());
    screen.fill("Field 1", "attention.reuse.kind");
    screen.fill("Values 1", "");
    screen.settle();
    let example = "Put commas between the values, as in none, first, partial.";
    assert!(screen.says(example), "the names that it takes: {:#?}", screen.words());
    screen.fill("Field 1", "seed");
    screen.settle();
    assert!(screen.says("as in 2, 4, 8.") && !screen.is_enabled("Queue the runs"), "{:#?}", screen.words());
    screen.fill("Values 1", "5,6");
    screen.settle();
    screen.click("Queue the runs");
    screen.wait("both runs", |screen| {
        let state = screen.state();
        state.runs.len() == 2 && state.runs.iter().all(|run| run.state == RunState::Finished)
    });
    let mut seeds: Vec<u64> = screen.state().runs.iter().map(|run| run.seed).collect();
    seeds.sort_unstable();
    assert_eq!(seeds, [5, 6]);
    let is_named = |run: &RunSummary| run.tags == ["sweep:tiny"] && run.name == format!("tiny: seed {}", run.seed);
    assert!(screen.state().runs.iter().all(is_named), "{:?}", screen.state().runs);
    screen.close();
}

#[test]
fn a_variant_that_cannot_be_trained_is_left_out_by_a_button_that_does_so() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Go to the form");
    screen.click("Race or sweep");
    screen.click("Grouped: heads share keys and values");
    screen.fill("kv_heads of grouped", "3");
    screen.settle();
    assert!(screen.says("1 config cannot be trained"), "{:#?}", screen.words());
    // Under the label that the form has for it.
    assert!(screen.says("Key and value heads: ") && !screen.says("attention.compatibility"), "{:#?}", screen.words());
    assert!(screen.is_enabled("Queue the runs"));
    screen.recorded();
    screen.click("Queue the runs");
    let queued = screen.recorded().into_iter().find_map(|command| match command {
        Command::EnqueueAll(commands::EnqueueAll { configs, .. }) => Some(configs),
        _ => None,
    });
    let names: Vec<String> = queued.unwrap().into_iter().map(|config| config.name).collect();
    assert!(names.len() >= 2 && !names.iter().any(|name| name.contains("grouped")), "{names:?}");
}

#[test]
fn a_click_outside_the_form_of_a_sweep_loses_nothing() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Go to the form");
    screen.click("Race or sweep");
    screen.click("Sweep");
    screen.fill("Values 1", "1, 2, 3, 5");
    screen.click_at(egui::pos2(6.0, 400.0));
    screen.settle();
    assert_eq!(screen.value("Values 1"), "1, 2, 3, 5");
    screen.press(Modifiers::NONE, Key::Escape);
    screen.settle();
    assert!(!screen.has("Values 1"));
}

/// What is on the screen once this was clicked and was not before.
fn opened_by(screen: &mut Screen, name: &str) -> BTreeSet<String> {
    let before: BTreeSet<String> = screen.words().into_iter().collect();
    screen.click(name);
    screen.settle();
    screen.words().into_iter().filter(|word| !before.contains(word)).collect()
}

#[test]
fn race_and_configure_call_an_answer_the_same() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Go to the form");
    let mut configure = BTreeSet::new();
    for question in ["Which heads score", "How a pair is scored", "How many pairs"] {
        configure.extend(opened_by(&mut screen, question));
        screen.press(Modifiers::NONE, Key::Escape);
    }
    let race = opened_by(&mut screen, "Race or sweep");
    let both: BTreeSet<&String> = configure.intersection(&race).collect();
    let variants = Answer::all(screen.window().panels.configure.config());
    // Each variant has one name in the race, and the lists of the form have it too.
    assert_eq!(both.len(), variants.len(), "race: {race:#?}, configure: {configure:#?}");
}

#[test]
fn trained_models_are_raced_on_the_data_of_a_config() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    train(&mut screen, &write_tiny(folder.path(), "one", 1));
    train(&mut screen, &write_tiny(folder.path(), "two", 2));
    let id = |screen: &mut Screen, name: &str| {
        let runs = &screen.state().runs;
        runs.iter().find(|run| run.name == name).unwrap().id.clone()
    };
    let (one, two) = (id(&mut screen, "one"), id(&mut screen, "two"));
    screen.state().want_record(&two);
    screen.wait("the checkpoints", |screen| screen.state().checkpoints.get(&two).is_some_and(|all| !all.is_empty()));
    let directory = screen.state().checkpoints[&two][0].path.clone();
    open_config(&mut screen, &write_tiny(folder.path(), "further", 3));
    screen.click("Race or sweep");
    screen.click("Race models");
    assert!(screen.has("There is nothing to race: add two models."), "{:#?}", screen.words());
    screen.click("Add a run");
    screen.wait_for("Search runs");
    screen.click("one (finished)");
    screen.wait("the run's model", |screen| screen.has("baseline"));
    screen.fill("Model directory", "/no/such/model");
    screen.click("Add the model directory");
    screen.wait("why there is none", |screen| screen.says("/no/such/model"));
    assert!(!screen.is_enabled("Queue the runs"));
    screen.click("Take model out, place 2");
    screen.fill("Model directory", &directory.display().to_string());
    screen.click("Add the model directory");
    screen.wait("both models", |screen| screen.is_enabled("Queue the runs"));
    assert!(screen.says("2 configs × 1 seed = 2 runs"), "{:#?}", screen.words());
    screen.click("Queue the runs");
    screen.wait("both runs", |screen| {
        let runs = &screen.state().runs;
        runs.len() == 4 && runs.iter().all(|run| run.state == RunState::Finished)
    });
    let mut runs = screen.state().runs.clone();
    runs.sort_by_key(|run| run.number);
    let raced: Vec<_> = runs.iter().skip(2).map(|run| run.id.clone()).collect();
    for run in &raced {
        screen.state().want_record(run);
    }
    screen.wait("their records", |screen| raced.iter().all(|run| screen.state().records.contains_key(run)));
    let begins = |screen: &mut Screen, run: &RunId| {
        screen.state().records[run].config.pointer("/model/initial").unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(begins(&mut screen, &raced[0]), one.to_string());
    assert_eq!(begins(&mut screen, &raced[1]), directory.display().to_string());
    assert_eq!(screen.state().selection.baseline, Some(raced[0].clone()));
    screen.close();
}
