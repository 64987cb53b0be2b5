//! The four questions of the Configure panel: the head map, what an answer costs, matching of parameters.

use egui::{Key, Modifiers};
use headroom_engine::{
    config::{Collaborative, Compatibility, CustomReuse, FirstReuse, PartialReuse, Reuse, RunConfig, preset},
    protocol::{Event, events},
};
use headroom_tests::{Screen, example_record, example_runs};
use tempfile::TempDir;

use crate::common::{open_config, store, write_tiny};

/// The form on the usual config: a decoder of 4 layers and 4 heads.
fn form() -> Screen {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Go to the form");
    screen.fill("Layers", "5");
    screen.fill("Layers", "4");
    assert_eq!(screen.value("Heads"), "4", "the first preset is another one now");
    screen
}

/// The draft, as the settings keep it.
fn config(screen: &mut Screen) -> RunConfig {
    // A frame that writes the last change into the settings.
    screen.settle();
    let kept: serde_json::Value = screen.window().settings.of_panel("configure");
    serde_json::from_value(kept["config"].clone()).unwrap()
}

fn rows(screen: &mut Screen) -> Vec<String> {
    let reuse = config(screen).attention.reuse;
    assert_eq!(reuse.kind(), "custom");
    if let Reuse::Custom(CustomReuse { rows }) = reuse { rows } else { Vec::new() }
}

fn does(screen: &Screen, head: &str) -> String {
    screen.description(head).0
}

#[test]
fn a_click_makes_a_table_of_ones_own_and_goes_round_and_back() {
    let mut screen = form();
    assert_eq!(does(&screen, "Layer 2 head 1"), "Layer 2 head 1 computes its own map");
    screen.click("Layer 2 head 1");
    assert_eq!(rows(&mut screen), ["c c c c", "c c c c", "c 1.1 c c", "c c c c"]);
    assert_eq!(screen.value("Which heads score"), "Custom reuse: a table of your own");
    assert_eq!(does(&screen, "Layer 2 head 1"), "Layer 2 head 1 borrows the map of layer 1 head 1");
    screen.click("Layer 2 head 1");
    assert_eq!(rows(&mut screen)[2], "c - c c");
    screen.click("Layer 0 head 3");
    assert_eq!(rows(&mut screen)[0], "c c c -");
    assert!(screen.is_enabled("Start"), "every table that clicks make is sound: {:#?}", screen.words());
    // Each click is a step, however fast they come.
    for expected in ["c - c c", "c 1.1 c c"] {
        screen.press(Modifiers::COMMAND, Key::Z);
        assert_eq!(rows(&mut screen)[2], expected);
    }
    screen.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(config(&mut screen).attention.reuse, Reuse::default());
    screen.click("Redo the change");
    assert_eq!(rows(&mut screen)[2], "c 1.1 c c");
}

#[test]
fn sliders_redraw_the_map_and_undo_brings_it_back() {
    let mut screen = form();
    screen.choose("Which heads score", "First: early layers borrow some");
    let Reuse::First(FirstReuse { layers, heads }) = config(&mut screen).attention.reuse else { panic!() };
    assert_eq!((layers, heads), (2, 2), "half of what the model allows");
    assert_eq!(does(&screen, "Layer 2 head 2"), "Layer 2 head 2 borrows the map of layer 1 head 0");
    assert_eq!(does(&screen, "Layer 3 head 2"), "Layer 3 head 2 computes its own map");
    assert!(screen.says("0.0 is layer 0 head 0"), "what the numbers in cells are: {:#?}", screen.words());
    screen.focus("Layers that borrow");
    screen.press(Modifiers::NONE, Key::ArrowRight);
    let Reuse::First(FirstReuse { layers, .. }) = config(&mut screen).attention.reuse else { panic!() };
    assert_eq!(layers, 3);
    assert_eq!(does(&screen, "Layer 3 head 2"), "Layer 3 head 2 borrows the map of layer 2 head 0");
    screen.focus("Heads that borrow");
    screen.press(Modifiers::NONE, Key::ArrowRight);
    screen.press(Modifiers::NONE, Key::ArrowRight);
    assert_eq!(
        does(&screen, "Layer 2 head 0"),
        "Layer 2 head 0 borrows from layer 1 head 0, computed in layer 0 head 0"
    );
    screen.click("Undo the change");
    screen.click("Undo the change");
    assert_eq!(does(&screen, "Layer 3 head 2"), "Layer 3 head 2 computes its own map");
    // A smaller model: the slider's number stays and is marked, the map shows what fits.
    screen.fill("Layers", "2");
    assert!(screen.description("Layers that borrow").1 && !screen.is_enabled("Start"));
    assert!(screen.has("Layer 1 head 0") && !screen.has("Layer 2 head 0"));
}

#[test]
fn the_map_stays_under_the_pointer_when_a_click_takes_the_sliders_away() {
    let mut screen = form();
    screen.choose("Which heads score", "First: early layers borrow some");
    assert!(screen.has("Layers that borrow"));
    let places = |screen: &Screen| ["Layer 3 head 0", "Layer 2 head 1"].map(|head| screen.rect(head));
    let before = places(&screen);
    let stay = |screen: &Screen| {
        let moved = places(screen).into_iter().zip(before).map(|(now, before)| now.min.distance(before.min));
        moved.fold(0.0_f32, f32::max) < 0.5
    };
    let at = before[1].center();
    screen.click_at(at);
    screen.settle();
    assert!(!screen.has("Layers that borrow"), "a table has no sliders");
    assert!(stay(&screen), "{before:?} {:?}", places(&screen));
    assert_eq!(rows(&mut screen)[2], "c 1.1 1.0 1.1");
    // What is clicked next at the same place is the same head.
    screen.click_at(at);
    screen.settle();
    assert!(stay(&screen), "{before:?} {:?}", places(&screen));
    assert_eq!(rows(&mut screen)[2], "c - 1.0 1.1");
}

#[test]
fn the_width_that_heads_share_is_on_a_slider() {
    let mut screen = form();
    screen.choose("How a pair is scored", "Collaborative: shared queries and keys");
    let d_k = |screen: &mut Screen| match config(screen).attention.compatibility {
        Compatibility::Collaborative(Collaborative { d_k }) => d_k,
        other => panic!("{other:?}"),
    };
    let before = d_k(&mut screen);
    screen.focus("Shared width");
    screen.press(Modifiers::NONE, Key::ArrowRight);
    assert_eq!(d_k(&mut screen), before + 1);
    screen.press(Modifiers::NONE, Key::ArrowLeft);
    screen.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(d_k(&mut screen), before - 1);
}

#[test]
fn a_lender_is_chosen_by_dragging_and_by_menu() {
    let mut screen = form();
    screen.drag("Layer 3 head 0", "Layer 1 head 2");
    assert_eq!(rows(&mut screen)[3], "1.2 c c c");
    // Downwards and sideways nothing can be borrowed.
    screen.drag("Layer 1 head 0", "Layer 2 head 0");
    screen.drag("Layer 1 head 0", "Layer 1 head 1");
    assert_eq!(rows(&mut screen)[1], "c c c c");
    screen.click("Layer 3 head 1");
    assert_eq!(rows(&mut screen)[3], "1.2 2.1 c c");
    screen.choose("Layer of the lender", "L0");
    screen.choose("Head of the lender", "H3");
    assert_eq!(rows(&mut screen)[3], "1.2 0.3 c c");
    screen.click("Off");
    assert_eq!(rows(&mut screen)[3], "1.2 - c c");
    screen.click("Borrows");
    assert_eq!(rows(&mut screen)[3], "1.2 2.1 c c");
    screen.click("Computes");
    assert_eq!(rows(&mut screen)[3], "1.2 c c c");
}

#[test]
fn the_map_is_worked_with_the_keyboard() {
    let mut screen = form();
    screen.focus("Layer 1 head 1");
    screen.press(Modifiers::NONE, Key::Enter);
    assert_eq!(rows(&mut screen)[1], "c 0.1 c c");
    screen.press(Modifiers::NONE, Key::Space);
    assert_eq!(rows(&mut screen)[1], "c - c c");
    screen.press(Modifiers::COMMAND, Key::Z);
    assert!(screen.is_focused("Layer 1 head 1"), "Undo leaves the keyboard where it was");
    screen.press(Modifiers::NONE, Key::ArrowDown);
    assert!(screen.is_focused("Layer 2 head 1"));
    screen.press(Modifiers::NONE, Key::ArrowRight);
    assert!(screen.is_focused("Layer 2 head 2"));
    screen.press(Modifiers::NONE, Key::Enter);
    assert_eq!(rows(&mut screen)[2], "c c 1.2 c");
}

#[test]
fn a_head_that_goes_leaves_no_borrower_behind() {
    let mut screen = form();
    screen.choose("Which heads score", "Full: early layers borrow all");
    screen.click("Layer 1 head 0");
    assert_eq!(rows(&mut screen)[1], "- 0.1 0.2 0.3");
    assert_eq!(does(&screen, "Layer 2 head 0"), "Layer 2 head 0 borrows the map of layer 0 head 0");
    assert!(screen.says("1 head borrowed from it"), "{:#?}", screen.words());
    assert!(screen.is_enabled("Start"));
}

#[test]
fn a_table_that_no_longer_fits_the_model_says_so_and_is_made_to() {
    let mut screen = form();
    screen.click("Layer 3 head 3");
    screen.fill("Layers", "6");
    let (reason, is_bad) = screen.description("Table of heads");
    assert!(is_bad && reason.contains("4 rows"), "{reason}");
    assert!(!screen.is_enabled("Start"));
    assert!(screen.description("Layer 5 head 0").1, "heads without a place in the table are marked");
    screen.click("Fit the table to the model");
    assert_eq!(rows(&mut screen).len(), 6);
    assert_eq!(rows(&mut screen)[3], "c c c 2.3");
    assert!(screen.is_enabled("Start") && !screen.has("Fit the table to the model"));
    screen.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(rows(&mut screen).len(), 4);
    screen.fill("Layers", "2");
    screen.click("Fit the table to the model");
    assert_eq!(rows(&mut screen), ["c c c c", "c c c c"]);
}

#[test]
fn answers_show_what_they_cost_against_the_baseline() {
    let mut screen = form();
    let of_all_answers = screen.count("Costs what the baseline costs.");
    assert!(of_all_answers >= 4, "{of_all_answers}");
    screen.click("Which heads score");
    let (note, _) = screen.description("Full: early layers borrow all");
    assert!(note.contains('\u{2212}') && note.contains("parameters") && note.contains("% FLOPs"), "{note}");
    assert_eq!(screen.description("No reuse: every head scores").0, "as the baseline");
    screen.press(Modifiers::NONE, Key::Escape);
    screen.choose("How a pair is scored", "Symmetric: query · query");
    assert_eq!(screen.count("Costs what the baseline costs."), of_all_answers / 4 * 3);
    // 4 layers lose a key projection of 128 x 128 with its bias.
    assert!(screen.says("\u{2212}66.0 k parameters"), "{:#?}", screen.words());
}

#[test]
fn matching_says_what_it_did_and_the_map_has_the_added_layers() {
    let mut screen = form();
    screen.fill("Layers", "12");
    screen.choose("Which heads score", "Partial: inner layers borrow some");
    assert_eq!(config(&mut screen).attention.reuse, Reuse::Partial(PartialReuse { heads: 2 }));
    assert!(!screen.has("Baseline of the match") && !screen.has("Layer 12 head 0"));
    screen.click("Match parameters");
    assert!(screen.says("13 layers instead of 12: "), "{:#?}", screen.words());
    assert!(screen.has("Layer 12 head 0"));
    screen.choose("Baseline of the match", "Of the same without reuse");
    screen.click("Match parameters");
    assert!(!screen.has("Layer 12 head 0"));
}

#[test]
fn the_inspector_shows_the_heads_of_a_run_that_borrows() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: example_runs() }));
    let mut record = example_record(0);
    let run = record.summary.id.clone();
    screen.state().apply(Event::Run(events::Run {
        record: Box::new(record.clone()),
        checkpoints: Vec::new(),
        folder: "/".into(),
    }));
    screen.window().settings.inspector_open = true;
    screen.state().selection.focused = Some(run);
    screen.click("Runs");
    // The panel of that name stands in the rail.
    assert!(screen.has("Copy config") && screen.count("Heads") == 1, "every head computes: no map");
    let mut config = preset("grammar-decoder").unwrap().config().unwrap();
    config.attention.reuse = Reuse::First(FirstReuse { layers: 2, heads: 4 });
    record.config = serde_json::to_value(&config).unwrap();
    screen.state().apply(Event::Run(events::Run {
        record: Box::new(record),
        checkpoints: Vec::new(),
        folder: "/".into(),
    }));
    screen.settle();
    assert!(screen.has("Layer 2 head 1 borrows from layer 1 head 1, computed in layer 0 head 1"));
    screen.click("Layer 2 head 1 borrows from layer 1 head 1, computed in layer 0 head 1");
    assert!(screen.has("Heads"), "looking changes nothing");
}

#[test]
fn mixing_matrices_are_shown_while_the_run_trains_and_exported() {
    let folder = TempDir::new().unwrap();
    let path = write_tiny(folder.path(), "mixed", 1);
    let toml = std::fs::read_to_string(&path).unwrap().replace("steps = 24", "steps = 100000")
        + "[attention]\ncompatibility = { kind = \"collaborative\", d_k = 6 }\n";
    std::fs::write(&path, toml).unwrap();
    let mut screen = Screen::engine(&store(&folder));
    screen.window().settings.inspector_open = true;
    open_config(&mut screen, &path);
    screen.press(Modifiers::COMMAND, Key::Enter);
    screen.wait("the run", |screen| !screen.state().runs.is_empty());
    let run = screen.state().runs[0].id.clone();
    screen.state().selection.focused = Some(run.clone());
    screen.wait_for("Map: mixing of layer 0");
    assert!(screen.description("Map: mixing of layer 0").0.starts_with("2 × 6"), "heads x shared columns");
    let step = |screen: &mut Screen| screen.state().mixing[&run][0].record.step;
    let first = step(&mut screen);
    screen.wait("newer ones while it trains", |screen| step(screen) > first);
    // What stands above it grows while a run trains: nothing moves under the pointer once it pauses.
    screen.click("Pause the current run");
    screen.wait("the pause", |screen| screen.state().current.as_ref().is_some_and(|current| current.is_paused));
    screen.settle();
    let csv = folder.path().join("mixing.csv");
    // The last values of the run may still come in and move it once more.
    for _ in 0..50 {
        if screen.has("CSV") {
            break;
        }
        screen.click("Export the mixing matrix of layer 0");
        screen.settle();
    }
    screen.click("CSV");
    screen.fill("File", &csv.display().to_string());
    screen.press(Modifiers::NONE, Key::Enter);
    screen.wait("the file", |screen| csv.is_file() && !screen.has("Cancel"));
    let rows = std::fs::read_to_string(&csv).unwrap();
    assert!(rows.contains("H0") && rows.contains("H1"), "{rows}");
    screen.click("Stop");
    screen.wait("the end", |screen| screen.state().current.is_none());
    screen.close();
}
