//! The four states of every panel: working, empty, full, failed.

use egui::Key;
use headroom_app::context::PanelId;
use headroom_engine::{
    protocol::{Command, Event, commands, events},
    store::{RunId, RunState},
};
use headroom_tests::{Screen, example_run, example_runs, fill_with_examples};

use crate::common::every_panel_says;

#[test]
fn while_the_store_is_read_every_panel_says_so() {
    let mut screen = Screen::recorder();
    let reading: &[&str] = &["Reading the runs…"];
    every_panel_says(&mut screen, [&["Opening the store…"], reading, reading, reading]);
}

#[test]
fn empty_panels_say_what_would_fill_them() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    let empty: &[&str] = &["No runs yet", "Set up a run", "Start the preset \"grammar decoder\""];
    every_panel_says(&mut screen, [&["Nothing has been trained in this store yet."], empty, empty, empty]);
    screen.click("Set up a run");
    assert_eq!(screen.window().open_panel(), PanelId::CONFIGURE);
}

#[test]
fn full_panels_show_everything() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let expected: [&[&str]; 4] = [
        &["What it takes", "Start when free"],
        &["Step: 410 / 600", "Time left", "Chart: Loss", "Chart: Masked accuracy", "What the model writes"],
        &["Compared runs", "Δ: against the baseline", "Config differences", "model.heads", "Chart: Validation loss"],
        &["10 runs", "Diverged", "Failed", "Queued", "Running", "Stopped"],
    ];
    screen.state().selection.focused = None;
    every_panel_says(&mut screen, expected);
    screen.click("grammar decoder, 8 heads");
    for words in ["Checkpoints", "Metrics", "Reproduction", "Data hash", "Config as TOML", "Repeat with the next seed"]
    {
        assert!(screen.says(words), "the inspector does not say \"{words}\"");
    }
}

#[test]
fn failures_are_told_with_what_to_do() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let of = |number: u64| example_runs().into_iter().find(|run| run.number == number).map(|run| run.id);
    screen.press_text(Key::Num2, "2");
    screen.state().selection.focused = of(7);
    screen.settle();
    assert!(screen.says("the disk is full") && screen.says("Free 12 MiB"));
    assert!(screen.has("Resume training"));
    screen.state().selection.focused = of(6);
    screen.settle();
    assert!(screen.says("non-finite at step 87, first in layer 2, head 3"));
    assert!(screen.says("Lower the learning rate") && screen.has("Open in Configure"));
    // The engine itself is gone: nothing can be started, everything can be read.
    screen.state().apply(Event::Ended);
    let gone: &[&str] = &["The engine has ended"];
    every_panel_says(&mut screen, [gone, gone, gone, gone]);
    screen.press_text(Key::Num1, "1");
    assert!(!screen.is_enabled("Start"));
}

#[test]
fn runs_that_only_waited_when_the_program_ended_say_so_and_all_are_resumed_in_their_order() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let mut runs = example_runs();
    for run in runs.iter_mut().filter(|run| run.number < 3) {
        run.state = RunState::Interrupted;
        // The last of them is the one that trained.
        if run.number == 2 {
            (run.steps_done, run.steps_total) = (120, Some(200));
        } else {
            (run.steps_done, run.started_ms) = (0, None);
        }
    }
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.settle();
    assert!(screen.says("was interrupted at step 120 of 200"), "what trained is told first: {:#?}", screen.words());
    assert!(screen.has("and 2 more"));
    screen.recorded();
    screen.click("Resume all 3");
    let resumed = screen.recorded().into_iter().filter_map(|command| match command {
        Command::ResumeRun(commands::ResumeRun { run }) => Some(run),
        _ => None,
    });
    assert_eq!(resumed.collect::<Vec<RunId>>(), [2, 0, 1].map(example_run));
    assert!(!screen.says("was interrupted at step") && !screen.says("waited in the queue when"), "all are told");
    screen.window().settings.told.remove(&example_run(1));
    screen.settle();
    assert!(screen.says("waited in the queue when the program ended. Resume puts it there again."));
    assert!(!screen.has("Resume all 1"));
}
