//! Closing the window while a run trains, and what the next start says.

use egui::{Key, Modifiers};
use headroom_engine::{
    protocol::{Command, Event, commands, events},
    store::{RunId, RunState},
};
use headroom_tests::{Screen, example_runs, fill_with_examples};
use tempfile::TempDir;

use crate::common::{open_config, store, write_tiny};

/// A window in which a run of hours trains.
fn training(folder: &TempDir) -> Screen {
    let mut screen = Screen::engine(&store(folder));
    open_config(&mut screen, &write_tiny(folder.path(), "long", 1));
    for (field, value) in
        [("Steps", "100000000"), ("Evaluate every", "100000"), ("Checkpoint every", "0"), ("Analyse every", "0")]
    {
        screen.fill(field, value);
    }
    screen.wait("Start", |screen| screen.is_enabled("Start"));
    screen.click("Start");
    screen.wait("the first steps", |screen| screen.state().current.as_ref().is_some_and(|current| current.step > 3));
    screen.settle();
    screen
}

#[test]
fn an_idle_window_closes_without_a_question() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    assert!(screen.request_close(), "nothing holds it");
    assert!(!screen.says("is training"));
    screen.close();
}

#[test]
fn closing_asks_writes_a_checkpoint_and_the_next_start_goes_on_in_one_click() {
    let folder = TempDir::new().unwrap();
    let mut screen = training(&folder);
    assert!(!screen.request_close(), "it is held while a run trains");
    screen.settle();
    assert!(screen.has("\"long\" is training") && screen.says("writes a checkpoint"), "{:#?}", screen.words());
    screen.click("Keep training");
    assert!(!screen.has("Stop and close"));
    let step = screen.state().current.as_ref().unwrap().step;
    screen.wait("it to go on", |screen| screen.state().current.as_ref().is_some_and(|current| current.step > step));

    assert!(!screen.request_close());
    screen.settle();
    screen.press(Modifiers::NONE, Key::Enter);
    screen.wait("the window to go", Screen::wants_to_close);
    assert!(screen.state().engine_ended, "it waited for the checkpoint");
    assert!(screen.request_close(), "now nothing holds it");
    screen.close();

    let mut again = Screen::engine(&store(&folder));
    let run = again.state().runs[0].clone();
    assert_eq!(run.state, RunState::Stopped);
    again.wait_for_words("was stopped at step");
    again.wait_for_words("Resume goes on from there. The window was closed.");
    assert_eq!(again.state().checkpoints[&run.id].iter().map(|record| record.step).max(), Some(run.steps_done));
    again.click("Resume long");
    again.wait("the run to go on", |screen| {
        screen.state().current.as_ref().is_some_and(|current| current.step > run.steps_done)
    });
    assert!(!again.says("was stopped at step"), "it is told once");
    again.click("Stop the current run");
    again.wait("the end", |screen| screen.state().current.is_none());
    again.close();

    let last = Screen::engine(&store(&folder));
    assert!(
        !last.says("The window was closed.") && !last.says("was stopped at step"),
        "the user stopped it: {:#?}",
        last.words()
    );
    last.close();
}

#[test]
fn a_run_that_the_programs_death_cut_short_is_told_until_it_is_put_off() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let mut runs = example_runs();
    let cut: Vec<RunId> = runs
        .iter_mut()
        .rev()
        .take(2)
        .map(|run| {
            (run.state, run.steps_done, run.steps_total) = (RunState::Interrupted, 345, Some(600));
            run.id.clone()
        })
        .collect();
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.settle();
    assert!(
        screen.says("was interrupted at step 345 of 600, Resume goes on from its checkpoint of step 600. The program"),
        "{:#?}",
        screen.words()
    );
    assert!(screen.has("and 1 more"));
    let name = screen.words().into_iter().find_map(|word| word.strip_prefix("Not now: ").map(str::to_owned)).unwrap();
    screen.click(&format!("Not now: {name}"));
    assert!(!screen.has("and 1 more") && screen.says("was interrupted at step 345"), "the other one is left");
    screen.recorded();
    let name = screen.words().into_iter().find_map(|word| word.strip_prefix("Not now: ").map(str::to_owned)).unwrap();
    screen.click(&format!("Resume {name}"));
    let resumed = screen.recorded();
    assert!(
        resumed
            .iter()
            .any(|command| matches!(command, Command::ResumeRun(commands::ResumeRun { run }) if cut.contains(run)))
    );
    assert!(!screen.says("was interrupted at step 345"));
    let told = &screen.window().settings.told;
    assert!(cut.iter().all(|run| told.contains_key(run)), "{told:?}");
}
