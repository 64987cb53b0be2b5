//! Every panel in a small, a usual and a large window: nothing that is read or clicked is cut off at a side.

use egui::{Vec2, vec2};
use headroom_app::context::PanelId;
use headroom_tests::{
    EVERY_PANEL, Screen, answer_all, example_run, fill_with_analyses, fill_with_benchmarks, fill_with_examples,
    fill_with_reconstruction,
};

/// The smallest window that is promised, a usual and a large one.
const SIZES: [Vec2; 3] = [vec2(900.0, 600.0), vec2(1280.0, 800.0), vec2(2560.0, 1440.0)];

/// A window in which every panel has something to show, of the run that trains.
fn full() -> Screen {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_analyses(screen.state());
    fill_with_benchmarks(screen.state());
    fill_with_reconstruction(screen.state(), &example_run(8));
    screen.state().selection.focused = Some(example_run(8));
    screen.settle();
    screen
}

/// What stands over the edge of the window or is cut off there.
fn over_the_edge(screen: &Screen, size: Vec2) -> Vec<String> {
    let controls = screen.controls().into_iter().filter(|(_, rect)| {
        let is_there = rect.is_positive() && rect.left() < size.x && rect.top() < size.y && rect.bottom() > 0.0;
        is_there && (rect.right() > size.x + 1.0 || rect.left() < -1.0)
    });
    let texts = screen.painted().into_iter().filter(|text| text.is_cut && text.rect.height() > 4.0);
    controls.map(|(name, _)| format!("control {name}")).chain(texts.map(|cut| format!("text {}", cut.text))).collect()
}

/// Shows the inspector, or hides it.
fn toggle_inspector(screen: &mut Screen) {
    screen.click("View: theme and size");
    screen.click("Show or hide the inspector");
    screen.settle();
}

#[test]
fn the_form_of_a_decoder_has_room_beside_the_inspector() {
    // What fills in hidden words, as the run of the other windows does, has no such form.
    let mut screen = full();
    screen.state().selection.focused = Some(example_run(0));
    screen.window().open(PanelId::GENERATE);
    let mut found = Vec::new();
    for size in SIZES {
        screen.resize(size);
        if !screen.has("Name of the run") {
            toggle_inspector(&mut screen);
        }
        assert!(screen.has("Name of the run") && screen.has("Top-p"), "{:#?}", screen.words());
        let edge = screen.rect("Name of the run").left();
        let form =
            ["Number format", "Least tokens", "Length penalty", "Diversity", "Temperature", "Top-p", "Stop early"];
        for field in form {
            let rect = screen.rect(field);
            if rect.right() > edge {
                found.push(format!("{field} at {} x {}: {rect:?} is under the inspector", size.x, size.y));
            }
        }
        for what in over_the_edge(&screen, size) {
            found.push(format!("{} x {}: {what}", size.x, size.y));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn nothing_is_cut_off_at_a_side_in_small_and_in_large_windows() {
    let mut screen = full();
    let mut found = Vec::new();
    for size in SIZES {
        screen.resize(size);
        for panel in EVERY_PANEL {
            screen.window().open(panel);
            answer_all(&mut screen);
            screen.settle();
            for what in over_the_edge(&screen, size) {
                found.push(format!("{panel:?} at {} x {}: {what}", size.x, size.y));
            }
        }
        screen.window().open(PanelId::COMPARE);
        for form in ["Workspace", "Scatter", "Parallel coordinates", "Curves"] {
            screen.settle();
            screen.click(form);
            for what in over_the_edge(&screen, size) {
                found.push(format!("{form} at {} x {}: {what}", size.x, size.y));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
