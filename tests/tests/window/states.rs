//! The four states of every panel: working, empty, full, failed.

use egui::Key;
use headroom_app::context::PanelId;
use headroom_engine::worker::Event;
use headroom_tests::{Screen, example_runs, fill_with_examples};

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
    screen.state().apply(Event::Runs { runs: Vec::new() });
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
