//! Keys, rest, floods, names: what holds for the whole window.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use egui::{Key, Modifiers, Rect, vec2};
use headroom_app::{
    context::{Panel, PanelContext, PanelGroup, PanelId, PanelInfo},
    link::Link,
    state::State,
};
use headroom_engine::{
    protocol::{Command, Event, JobLabel, commands, events},
    store::{AnalysisId, RunId, RunSummary},
};
use headroom_tests::{Screen, example_run, example_runs, fill_with_examples};

use crate::common::PANELS;

#[test]
fn the_keyboard_reaches_everything() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.settle();
    screen.press(Modifiers::COMMAND, Key::K);
    assert!(screen.is_focused("Find an action"));
    screen.type_text("open compare");
    screen.settle();
    screen.press(Modifiers::NONE, Key::Enter);
    assert_eq!(screen.window().open_panel(), PanelId::COMPARE);
    assert!(!screen.has("Find an action"), "it closes");
    screen.recorded();
    screen.press(Modifiers::COMMAND, Key::K);
    screen.type_text("pause");
    screen.settle();
    screen.press(Modifiers::NONE, Key::Enter);
    assert!(screen.recorded().iter().any(|command| matches!(command, Command::Pause)));
    screen.press(Modifiers::COMMAND, Key::K);
    screen.type_text("zzzz");
    screen.settle();
    assert!(screen.has("Nothing matches."));
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("Find an action"));

    screen.press_text(Key::Questionmark, "?");
    assert!(screen.has("Close the help") && screen.has("Zoom into a box"));
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("Close the help"));

    screen.press_text(Key::Num4, "4");
    screen.press_text(Key::Slash, "/");
    assert!(screen.is_focused("Filter runs"));
    screen.type_text("1");
    screen.settle();
    assert_eq!(screen.window().open_panel(), PanelId::RUNS, "a digit in a field is text");
    assert_eq!(screen.value("Filter runs"), "1");
    screen.fill("Filter runs", "");
    screen.press(Modifiers::NONE, Key::Escape);

    // In the table: move, show and hide, pin.
    screen.click("grammar decoder, 8 heads");
    let wide = example_runs().into_iter().find(|run| run.number == 4).unwrap().id;
    assert_eq!(screen.state().selection.focused.as_ref(), Some(&wide));
    let shown = screen.state().selection.is_visible(&wide);
    screen.press_text(Key::Space, " ");
    assert_ne!(screen.state().selection.is_visible(&wide), shown);
    screen.press_text(Key::P, "p");
    assert_eq!(screen.state().selection.baseline.as_ref(), Some(&wide));
    screen.press(Modifiers::NONE, Key::ArrowDown);
    assert_ne!(screen.state().selection.focused.as_ref(), Some(&wide));

    assert!(screen.has("Reproduction"));
    screen.press_text(Key::CloseBracket, "]");
    assert!(!screen.has("Reproduction"), "the inspector is hidden");
    screen.press_text(Key::OpenBracket, "[");
    assert!(!screen.has("Understand"), "the rail shows icons alone");
    screen.click("Live");
    assert_eq!(screen.window().open_panel(), PanelId::LIVE);
}

#[test]
fn the_palette_exports_the_run_in_the_inspector_from_any_panel() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::SPEED);
    let run = example_runs().into_iter().find(|run| run.number == 4).unwrap();
    screen.state().selection.focused = Some(run.id);
    screen.settle();
    screen.press(Modifiers::COMMAND, Key::K);
    screen.type_text("export json");
    screen.settle();
    screen.press(Modifiers::NONE, Key::Enter);
    screen.settle();
    assert!(screen.says("Export the run \"grammar decoder, 8 heads\" as JSON"), "{:#?}", screen.words());
    // A digit is no key of the window's while it is open.
    screen.focus("Cancel");
    screen.press(Modifiers::NONE, Key::Num2);
    assert_eq!(screen.window().open_panel(), PanelId::SPEED);
    screen.click("Cancel");
    assert!(!screen.says("Export the run"));
    screen.press(Modifiers::NONE, Key::Num2);
    assert_eq!(screen.window().open_panel(), PanelId::LIVE);
}

/// A panel that says its name.
struct Named(&'static str);

impl Panel for Named {
    fn ui(&mut self, ui: &mut egui::Ui, _: &mut PanelContext<'_>) {
        ui.label(format!("This is {}", self.0));
    }
}

fn add_two_panels(screen: &mut Screen) {
    for (id, label) in [("13th", "Thirteenth"), ("14th", "Fourteenth")] {
        let about = "One panel more than there are digits";
        let group = PanelGroup::Measure;
        let info = PanelInfo { id: PanelId(id), group, label, about, icon: &[], has_inspector: true };
        screen.window().panels.add(info, Box::new(Named(label)));
    }
    screen.settle();
}

#[test]
fn fourteen_panels_are_reached_by_key_rail_palette_and_settings() {
    let mut screen = Screen::recorder();
    add_two_panels(&mut screen);
    let ids: Vec<PanelId> = screen.window().panels.infos().iter().map(|info| info.id).collect();
    assert_eq!(ids.len(), 14);
    let digits = [
        (Key::Num1, "1"),
        (Key::Num2, "2"),
        (Key::Num3, "3"),
        (Key::Num4, "4"),
        (Key::Num5, "5"),
        (Key::Num6, "6"),
        (Key::Num7, "7"),
        (Key::Num8, "8"),
        (Key::Num9, "9"),
        (Key::Num0, "0"),
    ];
    for ((key, text), id) in digits.into_iter().zip(&ids) {
        screen.press_text(key, text);
        assert_eq!(screen.window().open_panel(), *id);
    }
    screen.click("Thirteenth");
    assert!(screen.has("This is Thirteenth"));
    screen.press(Modifiers::COMMAND, Key::K);
    screen.type_text("open fourteenth");
    screen.settle();
    screen.press(Modifiers::NONE, Key::Enter);
    assert!(screen.has("This is Fourteenth"));

    // The next start remembers it; a program without that panel opens the first one.
    let settings = screen.window().settings.clone();
    assert_eq!(settings.panel, "14th");
    let mut again = Screen::new(Link::recorder(), settings, None, vec2(1500.0, 1900.0));
    assert_eq!(again.window().open_panel(), PanelId::CONFIGURE);
    add_two_panels(&mut again);
    assert!(again.has("This is Fourteenth"));
}

#[test]
fn the_help_shows_every_page_of_the_handbook_and_the_palette_finds_its_sections() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/handbook");
    let mut screen = Screen::recorder();
    screen.press_text(Key::Questionmark, "?");
    let pages = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let titles: Vec<String> = pages
        .filter(|path| !path.ends_with("README.md"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            text.lines().find_map(|line| line.strip_prefix("# ")).unwrap().to_owned()
        })
        .collect();
    let left = screen.rect("Configs").left();
    for title in &titles {
        screen.click(title);
        assert_eq!(screen.rect("Configs").left(), left, "the dialog keeps its place on \"{title}\"");
        // Links to a page and rows of the list of pages have its title too, but only its heading is a plain label.
        let headings: Vec<&String> = titles.iter().filter(|other| screen.labels(other) > 0).collect();
        assert_eq!((headings, screen.labels(title)), (vec![title], 1), "the page and no other");
    }
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("Close the help"));
    screen.press(Modifiers::COMMAND, Key::K);
    screen.type_text("help exit codes");
    screen.settle();
    screen.press(Modifiers::NONE, Key::Enter);
    assert!(screen.has("Close the help") && screen.has("Exit codes"));
}

#[test]
fn the_help_fits_into_a_low_window() {
    let mut screen = Screen::recorder();
    screen.resize(vec2(900.0, 600.0));
    screen.press_text(Key::Questionmark, "?");
    assert!(screen.rect("Close the help").top() > 0.0, "{:?}", screen.rect("Close the help"));
    // The last pages are reached by scrolling.
    screen.click("Models of a hub");
    assert!(screen.labels("Models of a hub") > 0, "{:#?}", screen.words());
    screen.click("Close the help");
    assert!(!screen.has("Close the help"));
}

#[test]
fn an_idle_window_asks_for_no_frame() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    for (panel, key, text) in PANELS {
        screen.press_text(key, text);
        // The form asks the engine once it has rested.
        std::thread::sleep(Duration::from_millis(350));
        for _ in 0..4 {
            screen.step();
        }
        let delay = screen.repaint_delay();
        assert!(delay >= Duration::from_secs(1), "{panel:?} wants to be drawn again after {delay:?}");
    }
}

/// The window sleeps until it is woken: by an input, a file errand or an event. An engine with nothing to do sends none.
#[test]
fn an_idle_engine_sends_nothing_that_would_wake_the_window() {
    let folder = tempfile::TempDir::new().unwrap();
    let wakes = Arc::new(AtomicUsize::new(0));
    let wake = {
        let wakes = Arc::clone(&wakes);
        Arc::new(move || {
            wakes.fetch_add(1, Ordering::Relaxed);
        })
    };
    let link = Link::start(folder.path().join("headroom.db"), wake).unwrap();
    let mut state = State::default();
    link.send(&mut state, Command::ListRuns);
    link.send(&mut state, Command::Devices);
    let start = Instant::now();
    while !state.runs_loaded || state.system.is_none() || start.elapsed() < Duration::from_secs(3) {
        link.drain(&mut state);
        std::thread::sleep(Duration::from_millis(20));
        assert!(start.elapsed() < Duration::from_mins(1), "no answer");
    }
    wakes.store(0, Ordering::Relaxed);
    std::thread::sleep(Duration::from_secs(6));
    // At most one: where the memory of the machine changed by much, the window shows it.
    let woken = wakes.load(Ordering::Relaxed);
    assert!(woken <= 1, "woken {woken} times in 6 s without a reason");
    link.shutdown(Duration::from_mins(1));
}

#[test]
fn a_reading_of_the_machine_asks_for_no_second_frame() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.settle();
    let reading = Event::System(events::System {
        cpu_percent: 1.0,
        memory_bytes: 1 << 27,
        free_bytes: 1 << 33,
        disk_free_bytes: None,
        gpus: Vec::new(),
    });
    screen.window().link().unwrap().feed([reading]);
    screen.step();
    assert!(screen.repaint_delay() >= Duration::from_secs(1));
}

#[test]
fn a_flood_of_events_is_taken_in_over_many_frames() {
    const FLOOD: usize = 10_000;
    let few: Vec<RunSummary> = example_runs().into_iter().take(6).collect();
    let mut events: Vec<Event> = (1..FLOOD).map(|_| Event::Runs(events::Runs { runs: few.clone() })).collect();
    events.push(Event::Runs(events::Runs { runs: example_runs() }));
    let mut screen = Screen::recorder();
    screen.window().link().unwrap().feed(events);
    let left = |screen: &mut Screen| screen.window().link().unwrap().waiting();
    screen.step();
    assert!(left(&mut screen) > 0, "ten thousand lists of runs were taken in within one frame");
    let mut frames = 0;
    while left(&mut screen) > 0 {
        assert_eq!(screen.repaint_delay(), Duration::ZERO, "more waits, so the next frame comes at once");
        screen.step();
        frames += 1;
        assert!(frames < FLOOD, "it never ends");
    }
    screen.settle();
    assert_eq!(screen.state().runs.len(), 10, "the last word counts");
}

#[test]
fn every_control_has_a_name() {
    // Each step of a screen ends the test when a control has none.
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    for (_, key, text) in PANELS {
        screen.press_text(key, text);
    }
    fill_with_examples(screen.state());
    screen.state().selection.focused = Some(example_runs()[1].id.clone());
    for (_, key, text) in PANELS {
        screen.press_text(key, text);
    }
    for opener in
        ["Columns", "Copy table", "View: theme and size", "Queue, 1 run waits", "Actions for wikitext decoder"]
    {
        screen.click(opener);
        screen.press(Modifiers::NONE, Key::Escape);
    }
    screen.press(Modifiers::COMMAND, Key::K);
    screen.press(Modifiers::NONE, Key::Escape);
    screen.press_text(Key::Questionmark, "?");
    screen.press(Modifiers::NONE, Key::Escape);
    screen.click("Export checkpoint…");
    screen.press(Modifiers::NONE, Key::Escape);
    screen.press_text(Key::Num3, "3");
    for list in ["Metric", "Second metric", "X axis", "Group by"] {
        screen.click(list);
        screen.press(Modifiers::NONE, Key::Escape);
    }
    screen.press(Modifiers::COMMAND, Key::E);
    assert!(screen.says("Export the chart"));
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.says("Export the chart"), "Esc closes it");
    screen.click("Messages: Ready.");
    assert!(screen.has("Nothing has happened yet."));
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("Close the messages"));
    screen.press_text(Key::Num1, "1");
    screen.choose("Source", "Your own files");
    screen.choose("Tokenizer", "A tokenizer.json");
    screen.choose("Architecture", "Encoder, as BERT");
    screen.choose("Length in", "Epochs");
    assert!(screen.has("Masked share") && screen.has("Epochs") && screen.has("tokenizer.json"));
}

#[test]
fn an_error_that_was_looked_at_stands_in_the_strip_no_longer() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().messages.push_error("The disk is full.", "Free some space.");
    screen.settle();
    screen.click("Messages: Error: The disk is full. Free some space.");
    assert!(screen.has("Close the messages"), "{:#?}", screen.words());
    screen.press(Modifiers::NONE, Key::Escape);
    screen.settle();
    assert!(screen.has("Messages: Ready.") && !screen.says("The disk is full."), "{:#?}", screen.words());
}

#[test]
fn the_current_run_leaves_the_buttons_their_room() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let current = screen.state().current.clone().unwrap().run;
    let mut runs = example_runs();
    let named = |name: &str, runs: &mut Vec<RunSummary>| {
        runs.iter_mut().filter(|run| run.id == current).for_each(|run| name.clone_into(&mut run.name));
    };
    for name in ["a", &"very_long_name_".repeat(30)] {
        named(name, &mut runs);
        screen.state().apply(Event::Runs(events::Runs { runs: runs.clone() }));
        for size in [vec2(1500.0, 900.0), vec2(1280.0, 820.0), vec2(1000.0, 700.0), vec2(800.0, 500.0)] {
            screen.resize(size);
            let buttons =
                ["Write a checkpoint now", "Pause the current run", "Stop the current run", "Open the palette"];
            let buttons = buttons.map(|name| screen.rect(name));
            assert!(buttons.windows(2).all(|two| two[0].right() <= two[1].left()), "{size} {buttons:?}");
            assert!(buttons[3].right() < size.x && buttons[0].left() > 100.0, "{size} {buttons:?}");
            let told = screen.words();
            let told = |begin: &str| told.iter().find(|words| words.starts_with(begin));
            assert!(told("Current run: ").is_some() && told("Step 410 of 600").is_some(), "{size}");
            for begin in ["Current run: ", "Step 410 of 600", "Time left "] {
                if let Some(words) = told(begin) {
                    let rect = screen.rect(words);
                    assert!(rect.right() <= buttons[0].left(), "{begin}, {size}: {rect:?} {buttons:?}");
                }
            }
        }
    }
}

#[test]
fn the_inspector_has_one_width_and_takes_none_where_it_is_empty() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().selection.focused = None;
    screen.press_text(Key::Num4, "4");
    assert!(!screen.has("Reproduction") && !screen.has("Name of the run"), "no run is chosen");
    // A panel of one run: that one.
    screen.press_text(Key::Num2, "2");
    let name = screen.rect("Name of the run");
    for run in example_runs() {
        screen.state().selection.focused = Some(run.id);
        screen.settle();
        assert_eq!(screen.rect("Name of the run").x_range(), name.x_range(), "{}", run.name);
    }
    // In a narrow window it opens when it is asked for, which is not remembered.
    screen.resize(vec2(900.0, 700.0));
    assert!(!screen.has("Name of the run"));
    screen.press_text(Key::CloseBracket, "]");
    assert!(screen.has("Name of the run"));
    screen.press_text(Key::CloseBracket, "]");
    assert!(screen.window().settings.inspector_open);
    screen.resize(vec2(1280.0, 820.0));
    assert!(screen.has("Name of the run"));
}

#[test]
fn keys_are_meant_for_the_dialog_that_is_open() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::LIVE);
    screen.settle();
    screen.press(Modifiers::COMMAND, Key::E);
    screen.settle();
    assert!(screen.says("Export the chart"), "{:#?}", screen.words());
    // No field has the keyboard: a digit would open another panel, and y would turn the axis, behind the dialog.
    screen.focus("SVG");
    screen.press(Modifiers::NONE, Key::Num3);
    screen.press(Modifiers::NONE, Key::Y);
    screen.settle();
    assert_eq!(screen.window().open_panel(), PanelId::LIVE);
    let view: serde_json::Value = screen.window().settings.of_panel("live");
    assert_eq!(view["log_y"], false);
    assert!(screen.says("Export the chart"), "it stays");
    screen.press(Modifiers::NONE, Key::Escape);
    screen.settle();
    assert!(!screen.says("Export the chart"));
    screen.press(Modifiers::NONE, Key::Num3);
    assert_ne!(screen.window().open_panel(), PanelId::LIVE);
}

#[test]
fn the_first_tab_reaches_the_form() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Go to the form");
    screen.settle();
    screen.window().open(PanelId::CONFIGURE);
    screen.settle();
    screen.unfocus();
    screen.press(Modifiers::NONE, Key::Tab);
    screen.settle();
    assert!(screen.is_focused("Name"), "{:#?}", screen.words());
}

#[test]
fn what_runs_out_is_told_in_the_top_bar_whatever_is_shown() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::COMPARE);
    let load = |memory: u64, disk: u64| {
        Event::System(events::System {
            cpu_percent: 1.0,
            memory_bytes: 1 << 27,
            free_bytes: memory,
            disk_free_bytes: Some(disk),
            gpus: Vec::new(),
        })
    };
    screen.state().apply(load(8 << 30, 8 << 30));
    screen.settle();
    assert!(!screen.has("Disk low"), "{:#?}", screen.words());
    screen.state().apply(load(8 << 30, 200 << 20));
    screen.settle();
    let told = screen.description("Disk low").0;
    assert!(told.starts_with("Only 200 MiB are free on the disk of the store"), "{told}");
    screen.point_at("Disk low");
    assert!(screen.says("Only 200 MiB are free on the disk of the store"), "{:#?}", screen.words());
    screen.state().apply(load(100 << 20, 200 << 20));
    screen.settle();
    let told = screen.description("Disk and memory low").0;
    assert!(told.contains("on the disk of the store") && told.contains("Only 100 MiB of memory are free"), "{told}");
    let (warning, stop) = (screen.rect("Disk and memory low"), screen.rect("Stop the current run"));
    assert!(stop.right() <= warning.left() && warning.bottom() < 40.0, "{stop:?} {warning:?}");
    // With nothing that trains there is nothing to be ended by it.
    screen.state().current = None;
    screen.state().runs.retain(|run| run.state.is_ended());
    screen.settle();
    assert!(!screen.has("Disk and memory low"));
}

#[test]
fn number_keys_do_not_get_through_any_dialog() {
    type Opens = fn(&mut Screen);
    fn select_all(screen: &mut Screen) {
        screen.press_text(Key::Num4, "4");
        screen.press_text(Key::CloseBracket, "]");
        screen.click("grammar decoder, 8 heads");
        screen.press(Modifiers::COMMAND, Key::A);
    }
    // What opens a dialog, and what stands in it.
    let dialogs: [(Opens, &str); 7] = [
        (|screen| screen.press(Modifiers::COMMAND, Key::K), "Find an action"),
        (|screen| screen.press_text(Key::Questionmark, "?"), "Close the help"),
        (
            |screen| {
                screen.click("View: theme and size");
                screen.click("Purge deleted runs…");
            },
            "Close the purge",
        ),
        (|screen| screen.click("Race or sweep"), "Name of the race"),
        (
            |screen| {
                select_all(screen);
                screen.press(Modifiers::NONE, Key::Delete);
            },
            "Keep them",
        ),
        (
            |screen| {
                select_all(screen);
                screen.click("Export checkpoints…");
            },
            "The best of each",
        ),
        (
            |screen| {
                screen.request_close();
                screen.settle();
            },
            "Keep training",
        ),
    ];
    for (open, inside) in dialogs {
        let mut screen = Screen::recorder();
        fill_with_examples(screen.state());
        screen.settle();
        open(&mut screen);
        assert!(screen.has(inside), "{inside}: {:#?}", screen.words());
        let panel = screen.window().open_panel();
        screen.unfocus();
        screen.press(Modifiers::NONE, Key::Num3);
        assert_eq!(screen.window().open_panel(), panel, "{inside}");
        assert!(screen.has(inside), "{inside} is gone: {:#?}", screen.words());
        assert_ne!(panel, PanelId::COMPARE, "which the key opens");
    }
}

#[test]
fn where_no_file_dialog_can_be_shown_that_is_told_and_a_typed_path_works() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Go to the form");
    screen.choose("Source", "Your own files");
    screen.window().offer_no_file_dialogs();
    screen.click("File for File or folder");
    screen.wait_for_words("No file dialog could be shown");
    assert!(screen.says("Type the path into the field beside the button."), "{:#?}", screen.words());
    screen.fill("File or folder", "/texts/mine.txt");
    screen.unfocus();
    let config = serde_json::to_value(screen.window().panels.configure.config()).unwrap();
    assert_eq!(config["data"]["path"], "/texts/mine.txt", "{config}");
}

#[test]
fn what_ctrl_z_takes_back_ctrl_y_makes_again() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Use preset grammar-encoder");
    let steps = |screen: &mut Screen| screen.window().panels.configure.config().train.steps;
    let before = steps(&mut screen);
    assert_ne!(before, Some(321));
    screen.fill("Steps", "321");
    screen.unfocus();
    for redo in [(Modifiers::COMMAND, Key::Y), (Modifiers::COMMAND | Modifiers::SHIFT, Key::Z)] {
        assert_eq!(steps(&mut screen), Some(321));
        screen.press(Modifiers::COMMAND, Key::Z);
        assert_eq!((steps(&mut screen), screen.value("Steps") == "321"), (before, false));
        screen.press(redo.0, redo.1);
        assert_eq!((steps(&mut screen), screen.value("Steps").as_str()), (Some(321), "321"), "{redo:?}");
    }
}

#[test]
fn the_palette_acts_on_the_run_that_the_inspector_shows_beside_a_panel() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let run = example_runs().into_iter().find(|run| run.number == 4).unwrap().id;
    screen.state().selection.focused = None;
    screen.state().selection.live = Some(run);
    screen.press_text(Key::Num2, "2");
    assert_eq!(screen.value("Name of the run"), "grammar decoder, 8 heads", "no run was clicked");
    screen.press(Modifiers::COMMAND, Key::K);
    screen.type_text("repeat this");
    screen.settle();
    assert!(screen.has("Repeat this run: grammar decoder, 8 heads"), "{:#?}", screen.words());
    screen.press(Modifiers::NONE, Key::Escape);
    // The table of runs shows many: the inspector is empty.
    screen.press_text(Key::Num4, "4");
    screen.settle();
    screen.press(Modifiers::COMMAND, Key::K);
    screen.type_text("repeat this");
    screen.settle();
    assert!(!screen.says("Repeat this run: "), "{:#?}", screen.words());
}

#[test]
fn the_palette_finds_the_run_of_the_panel_while_the_inspector_is_closed() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let run = example_runs().into_iter().find(|run| run.number == 4).unwrap().id;
    screen.state().selection.focused = None;
    screen.state().selection.live = Some(run);
    screen.press_text(Key::Num2, "2");
    screen.press_text(Key::CloseBracket, "]");
    assert!(!screen.has("Name of the run"), "{:#?}", screen.words());
    screen.press(Modifiers::COMMAND, Key::K);
    screen.type_text("repeat this");
    screen.settle();
    assert!(screen.has("Repeat this run: grammar decoder, 8 heads"), "{:#?}", screen.words());
}

#[test]
fn the_view_menu_brings_the_inspector_in_a_narrow_window() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.resize(vec2(900.0, 600.0));
    screen.press_text(Key::Num2, "2");
    assert!(!screen.has("Name of the run"));
    for is_shown in [true, false] {
        screen.click("View: theme and size");
        screen.click("Show or hide the inspector");
        screen.settle();
        assert_eq!(screen.has("Name of the run"), is_shown, "{:#?}", screen.words());
    }
}

#[test]
fn nothing_in_the_top_bar_moves_with_the_load_or_with_what_waits() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let current = screen.state().current.clone().unwrap().run;
    let train = |run: RunId| JobLabel::train(run, "");
    let places = |screen: &mut Screen, (cpu_percent, memory_bytes): (f64, u64), waiting: usize, is_paused: bool| {
        screen.state().apply(Event::System(events::System {
            cpu_percent,
            memory_bytes,
            free_bytes: 8 << 30,
            disk_free_bytes: None,
            gpus: Vec::new(),
        }));
        let waiting = (0..waiting).map(|_| train(RunId::new())).collect();
        screen.state().apply(Event::Queue(events::Queue { current: Some(train(current.clone())), is_paused, waiting }));
        screen.state().current.as_mut().unwrap().is_paused = is_paused;
        screen.settle();
        let controls = screen.controls().into_iter().filter(|(_, rect)| rect.bottom() < 40.0);
        controls.map(|(_, rect)| rect).collect::<Vec<_>>()
    };
    for size in [vec2(1280.0, 820.0), vec2(900.0, 600.0)] {
        screen.resize(size);
        let before = places(&mut screen, (5.0, 90 << 20), 1, false);
        assert!(before.len() >= 7, "{before:?}");
        assert_eq!(places(&mut screen, (100.0, 1000 << 20), 12, false), before, "{size}");
        assert_eq!(places(&mut screen, (5.0, 3 << 30), 0, false), before, "{size}");
        // The name, its bar and what is told of a run that is paused stand at the left of the buttons.
        let of_buttons = |all: Vec<Rect>| all.into_iter().filter(|rect| rect.left() > 0.4 * size.x).collect();
        let (paused, before): (Vec<Rect>, Vec<Rect>) =
            (of_buttons(places(&mut screen, (5.0, 90 << 20), 1, true)), of_buttons(before));
        assert_eq!(paused, before, "{size}");
    }
}

#[test]
fn the_name_of_the_current_run_tells_something_in_a_narrow_window() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let current = screen.state().current.clone().unwrap().run;
    let mut runs = example_runs();
    runs.iter_mut().filter(|run| run.id == current).for_each(|run| run.name = "a wide decoder of grammar".to_owned());
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.resize(vec2(1280.0, 820.0));
    assert!(screen.says("Time left "), "{:#?}", screen.words());
    screen.resize(vec2(900.0, 600.0));
    assert!(!screen.says("Time left "), "the time gives way: {:#?}", screen.words());
    let name = screen.rect("Current run: a wide decoder of grammar");
    assert!(name.width() > 90.0, "{name:?}");
}

#[test]
fn the_queue_says_that_a_paused_run_holds_it() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.settle();
    screen.click("Queue, 1 run waits");
    assert!(screen.has("Waiting runs") && !screen.says("is paused: what waits begins"), "{:#?}", screen.words());
    let run = screen.state().current.clone().unwrap().run;
    screen.state().apply(Event::Paused(events::Paused { run, step: 410 }));
    screen.settle();
    assert!(screen.says("is paused: what waits begins once it was resumed"), "{:#?}", screen.words());
}

#[test]
fn runs_change_places_with_each_other_where_an_analysis_stands_before_them() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let (first, second, analysis) = (example_run(8), example_run(9), AnalysisId::new());
    let train = |run: &RunId, name: &str| JobLabel::train(run.clone(), name);
    let analyse = JobLabel::analyse(analysis, "first, best checkpoint");
    screen.state().apply(Event::Queue(events::Queue {
        current: None,
        is_paused: false,
        waiting: vec![analyse, train(&first, "first"), train(&second, "second")],
    }));
    screen.settle();
    screen.recorded();
    let names = [&first, &second].map(|run| screen.state().run_name(run));
    screen.click("Queue, 2 runs wait");
    screen.click(&format!("Later: {}, place 1", names[0]));
    screen.click(&format!("Earlier: {}, place 2", names[1]));
    let moves = screen.recorded().into_iter().filter_map(|command| match command {
        Command::Move(commands::Move { run, position }) => Some((run, position)),
        _ => None,
    });
    // Among all that waits: the analysis keeps its place.
    assert_eq!(moves.collect::<Vec<_>>(), [(first, 2), (second, 1)]);
}
