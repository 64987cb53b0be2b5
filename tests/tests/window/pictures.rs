//! Scenes of every panel: where everything stands (`tests/layouts`), and for some of them the picture (`tests/snapshots`), in one
//! theme or, where themes differ most, in both. Of colours there are tests that read them.
//!
//! The renderer is Mesa's lavapipe (`WGPU_BACKEND=vulkan`, `VK_DRIVER_FILES` naming its file, as `.ci/run` sets them). Where
//! there is none, pictures fail. After a wanted change: `UPDATE_SNAPSHOTS=1 cargo test -p headroom-tests --test window
//! pictures`, then look at every picture and line that changed, and pack the pictures with `oxipng -o 4`: `house` allows 40 of
//! them and 4 MB.
//! The pictures of the README are of real runs: `tools/src/bin/readme_pictures.rs` draws them.

use std::time::{Duration, SystemTime};

use egui::{Key, Modifiers};
use egui_kittest::{SnapshotOptions, SnapshotResults};
use headroom_app::{
    context::PanelId,
    messages::{Level, Message},
    settings::ThemeChoice,
};
use headroom_engine::{
    config::{Problem, RunConfig},
    protocol::{Command, Event, commands, events},
    speed::GenerationPreset,
    store::{NewSnapshot, RunId, RunState, SnapshotData, SnapshotRecord, snapshot_kinds},
};
use headroom_tests::{
    Screen, example_record, example_runs, fill_with_benchmarks, fill_with_examples, fill_with_generation,
};

mod analyses;
mod generate;
mod models;

/// Another version of Mesa or of the processor's vector units rounds blended edges of letters and lines differently, by
/// one or two steps of a channel: far below 0.6. A handful of edge pixels may flip between two neighbours. A letter that
/// changes or a line that moves by a pixel is hundreds of pixels.
fn tolerance() -> SnapshotOptions {
    SnapshotOptions::new().threshold(0.6).max_failed_pixels(24)
}

/// The window on the example runs, with a message that stays "3 min ago" long enough.
fn full(theme: ThemeChoice, panel: PanelId) -> Screen {
    let mut screen = Screen::picture(theme);
    fill_with_examples(screen.state());
    screen.state().messages.push_message(Message {
        level: Level::Info,
        what: "Best checkpoint so far of \"grammar encoder\" at step 400 (10.9 MiB).".to_owned(),
        what_to_do: String::new(),
        run: None,
        at: SystemTime::now() - Duration::from_secs(200),
        times: 1,
    });
    screen.window().open(panel);
    screen.window().settings.inspector_open = false;
    screen.settle();
    screen
}

/// A scene whose layout alone is kept.
fn laid_out(name: &str, draw: impl FnOnce(ThemeChoice) -> Screen) {
    draw(ThemeChoice::Dark).check_layout(name);
}

/// A scene whose layout is kept, and its picture in the dark theme.
fn in_a_picture(name: &str, draw: impl FnMut(ThemeChoice) -> Screen) {
    in_themes(name, &[("dark", ThemeChoice::Dark)], draw);
}

/// A scene whose layout is kept, and its pictures in both themes.
fn in_both_themes(name: &str, draw: impl FnMut(ThemeChoice) -> Screen) {
    in_themes(name, &[("dark", ThemeChoice::Dark), ("light", ThemeChoice::Light)], draw);
}

fn in_themes(name: &str, themes: &[(&str, ThemeChoice)], mut draw: impl FnMut(ThemeChoice) -> Screen) {
    let mut results = SnapshotResults::new();
    for &(word, theme) in themes {
        let mut screen = draw(theme);
        screen.check_layout(name);
        screen.snapshot(&format!("{name}_{word}"), &tolerance(), &mut results);
    }
}

/// Runs that were measured with as many threads as there are cores make the expected times the same on every machine.
fn measured_here(screen: &mut Screen) {
    let threads = RunConfig::default().threads_used() as u32;
    for run in &mut screen.state().runs {
        run.threads = threads;
    }
}

fn welcome(theme: ThemeChoice) -> Screen {
    let mut screen = full(theme, PanelId::CONFIGURE);
    measured_here(&mut screen);
    screen.click("Show the presets");
    screen
}

fn configure(theme: ThemeChoice) -> Screen {
    let mut screen = full(theme, PanelId::CONFIGURE);
    measured_here(&mut screen);
    screen.state().current = None;
    screen.state().waiting.clear();
    screen
}

fn live(theme: ThemeChoice) -> Screen {
    let mut screen = full(theme, PanelId::LIVE);
    let running = example_runs().into_iter().find(|run| run.number == 8).map(|run| run.id);
    screen.state().selection.focused = running;
    screen.state().selection.baseline = None;
    screen
}

fn compare(theme: ThemeChoice) -> Screen {
    full(theme, PanelId::COMPARE)
}

fn runs(theme: ThemeChoice) -> Screen {
    full(theme, PanelId::RUNS)
}

#[test]
fn welcome_page() {
    in_a_picture("welcome", welcome);
}

#[test]
fn configure_a_sound_run() {
    in_a_picture("configure", configure);
}

#[test]
fn configure_with_problems() {
    in_a_picture("configure_problems", |theme| {
        let mut screen = configure(theme);
        screen.choose("Source", "Your own files");
        screen.fill("File or folder", "/home/ada/corpus/none.txt");
        screen.fill("Heads", "3");
        screen.fill("Learning rate", "fast");
        // The engine says what it finds, once the form has rested.
        screen.wait("the form's question", |screen| {
            let asked = screen.recorded();
            let revision = asked.iter().rev().find_map(|command| match command {
                Command::Check(commands::Check { revision, .. }) => Some(*revision),
                _ => None,
            });
            let Some(revision) = revision else { return false };
            let problems = vec![Problem::new("data.path", "there is no file or folder of that name")];
            screen.state().apply(Event::Checked(events::Checked {
                revision,
                problems,
                free_bytes: Some(9 << 30),
                facts: Box::default(),
                preview: None,
            }));
            true
        });
        screen.click("Name");
        screen
    });
}

/// The form with room for the whole map of heads.
fn heads(theme: ThemeChoice) -> Screen {
    let mut screen = configure(theme);
    screen.resize(egui::vec2(1280.0, 900.0));
    screen
}

#[test]
fn heads_that_borrow_with_the_lenders_of_one() {
    in_both_themes("heads", |theme| {
        let mut screen = heads(theme);
        screen.choose("Which heads score", "First: early layers borrow some");
        screen.focus("Layers that borrow");
        screen.press(Modifiers::NONE, Key::ArrowRight);
        screen.focus("Heads that borrow");
        screen.press(Modifiers::NONE, Key::ArrowRight);
        screen.choose("How a pair is scored", "Collaborative: shared queries and keys");
        screen.point_at("Layer 3 head 3");
        screen
    });
}

#[test]
fn heads_changed_by_hand_and_a_model_that_grew() {
    in_a_picture("heads_misfit", |theme| {
        let mut screen = heads(theme);
        for head in ["Layer 1 head 1", "Layer 2 head 1", "Layer 2 head 3", "Layer 2 head 3", "Layer 3 head 0"] {
            screen.click(head);
        }
        screen.drag("Layer 3 head 2", "Layer 0 head 1");
        screen.fill("Layers", "6");
        screen.click("Name");
        screen
    });
}

#[test]
fn heads_of_a_large_model() {
    laid_out("heads_large", |theme| {
        let mut screen = heads(theme);
        screen.resize(egui::vec2(1280.0, 1300.0));
        screen.fill("Layers", "24");
        screen.fill("Heads", "16");
        screen.choose("Which heads score", "Partial: inner layers borrow some");
        screen.click("Match parameters");
        screen.point_at("Layer 20 head 13");
        screen
    });
}

#[test]
fn what_the_answers_cost() {
    laid_out("heads_menu", |theme| {
        let mut screen = configure(theme);
        screen.choose("How a pair is scored", "Symmetric: query · query");
        screen.click("Which heads score");
        screen
    });
}

#[test]
fn live_while_a_run_trains() {
    in_both_themes("live", live);
}

#[test]
fn compare_three_runs_with_a_baseline() {
    in_both_themes("compare", compare);
}

#[test]
fn compare_seeds_with_their_difference() {
    in_a_picture("compare_seeds", |theme| {
        let mut screen = full(theme, PanelId::COMPARE);
        let shown: Vec<_> = example_runs().into_iter().filter(|run| run.number < 5).map(|run| run.id).collect();
        screen.state().selection.visible = shown.into_iter().collect();
        screen.settle();
        screen.choose("Group by", "seed: same config otherwise");
        screen
    });
}

/// Compare with runs whose costs differ.
fn with_costs(theme: ThemeChoice) -> Screen {
    let mut screen = full(theme, PanelId::COMPARE);
    let mut runs = example_runs();
    for run in &mut runs {
        // What differs in heads only has the same count; a made-up cost makes the axes worth looking at.
        let more = run.number * 41_000;
        run.parameters = run.parameters.map(|count| count + more);
        run.flops_per_step = run.flops_per_step.map(|count| count + more * 6_400);
    }
    let shown: Vec<_> = runs.iter().filter(|run| run.number < 8).map(|run| run.id.clone()).collect();
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.state().selection.visible = shown.into_iter().collect();
    screen.settle();
    screen
}

#[test]
fn parallel_coordinates_of_config_and_results() {
    in_a_picture("parallel", |theme| {
        let mut screen = with_costs(theme);
        screen.choose("Group by", "Nothing");
        screen.click("Parallel coordinates");
        screen
    });
}

#[test]
fn quality_against_cost() {
    in_a_picture("scatter", |theme| {
        let mut screen = with_costs(theme);
        screen.click("Scatter");
        screen
    });
}

#[test]
fn setting_up_a_race() {
    laid_out("race", |theme| {
        let mut screen = configure(theme);
        screen.click("Race or sweep");
        screen
    });
}

#[test]
fn setting_up_a_sweep() {
    laid_out("sweep", |theme| {
        let mut screen = configure(theme);
        screen.click("Race or sweep");
        screen.click("Sweep");
        screen.click("Add a field");
        screen.fill("Field 2", "model.heads");
        screen.fill("Values 2", "2, 3, 4");
        screen
    });
}

#[test]
fn speed_before_anything_was_measured() {
    laid_out("speed_empty", |theme| {
        let mut screen = full(theme, PanelId::SPEED);
        screen.state().apply(Event::Benchmarks(events::Benchmarks { benchmarks: Vec::new() }));
        screen
    });
}

#[test]
fn speed_of_a_stored_sweep() {
    in_a_picture("speed", |theme| {
        let mut screen = full(theme, PanelId::SPEED);
        fill_with_benchmarks(screen.state());
        screen.settle();
        screen.resize(egui::vec2(1280.0, 960.0));
        screen
    });
}

#[test]
fn speed_of_attention_over_lengths() {
    laid_out("speed_length", |theme| speed_of_generation(theme, GenerationPreset::Length));
}

#[test]
fn speed_of_generation_over_batches() {
    laid_out("speed_batch", |theme| speed_of_generation(theme, GenerationPreset::Batch));
}

fn speed_of_generation(theme: ThemeChoice, preset: GenerationPreset) -> Screen {
    let mut screen = full(theme, PanelId::SPEED);
    fill_with_generation(screen.state(), preset);
    screen.settle();
    screen.resize(egui::vec2(1280.0, 1180.0));
    screen
}

#[test]
fn table_of_runs() {
    in_both_themes("runs", runs);
}

#[test]
fn table_of_runs_in_groups_with_several_selected() {
    laid_out("runs_groups", |theme| {
        let mut screen = full(theme, PanelId::RUNS);
        screen.click("Group");
        screen.fill("Search config keys", "heads");
        screen.click("Group by model.heads");
        screen.click("Columns");
        screen.fill("Search columns", "rate");
        screen.click("Pin the column train.learning_rate");
        screen.press(Modifiers::NONE, Key::Escape);
        screen.click("grammar encoder, seed 1");
        screen.press(Modifiers::SHIFT, Key::ArrowDown);
        screen.press(Modifiers::SHIFT, Key::ArrowDown);
        screen
    });
}

#[test]
fn columns_of_runs_are_chosen_from_a_list() {
    laid_out("runs_columns", |theme| {
        let mut screen = full(theme, PanelId::RUNS);
        screen.click("Columns");
        screen
    });
}

#[test]
fn inspector_of_a_finished_run() {
    in_both_themes("inspector", |theme| {
        let mut screen = full(theme, PanelId::RUNS);
        screen.window().settings.inspector_open = true;
        let baseline = screen.state().selection.baseline.clone();
        screen.state().selection.focused = baseline;
        screen
    });
}

#[test]
fn inspector_of_a_run_that_borrows() {
    laid_out("inspector_heads", |theme| {
        let mut screen = full(theme, PanelId::RUNS);
        screen.window().settings.inspector_open = true;
        let mut record = example_record(0);
        record.config["attention"]["reuse"] = serde_json::json!({ "kind": "first", "layers": 3, "heads": 2 });
        screen.state().selection.focused = Some(record.summary.id.clone());
        screen.state().apply(Event::Run(events::Run {
            record: Box::new(record),
            checkpoints: Vec::new(),
            folder: "/home/ada".into(),
        }));
        screen.resize(egui::vec2(1280.0, 1000.0));
        screen
    });
}

/// The mixing matrices of two layers that look like ones that learn: each head in columns of its own, some of them shared.
fn mixing(run: &RunId, step: u64) -> Vec<Event> {
    let (heads, width) = (4_u64, 64_u64);
    let matrix = |layer: u64| {
        let value = |head: u64, column: u64| {
            let own = if column / 16 == head { 1.0 } else { 0.0 };
            let wave = ((column * (layer + 2) + 11 * head) as f32 * 0.7).sin();
            0.6 * own + 0.35 * wave * if layer == 0 { 0.4 } else { 1.0 }
        };
        let values: Vec<f32> = (0..heads).flat_map(|head| (0..width).map(move |column| value(head, column))).collect();
        let new = NewSnapshot::f32(step, snapshot_kinds::MIXING, vec![heads, width], &values);
        let record = SnapshotRecord {
            id: layer as i64,
            step,
            kind: new.kind.clone(),
            layer: Some(layer as u32),
            head: None,
            dtype: new.dtype.clone(),
            shape: new.shape.clone(),
            created_ms: 0,
            bytes: new.data.len() as u64,
        };
        SnapshotData { record, data: new.data }
    };
    let kind = snapshot_kinds::MIXING.to_owned();
    let matrices = [matrix(0), matrix(1)];
    let snapshots = matrices.iter().map(|matrix| matrix.record.clone()).collect();
    let listed = Event::Snapshots(events::Snapshots { run: run.clone(), kind, snapshots });
    let loaded =
        matrices.into_iter().map(|matrix| Event::SnapshotData(events::SnapshotData { snapshot: Box::new(matrix) }));
    std::iter::once(listed).chain(loaded).collect()
}

#[test]
fn inspector_of_a_collaborative_run() {
    laid_out("inspector_mixing", |theme| {
        let mut screen = full(theme, PanelId::RUNS);
        screen.window().settings.inspector_open = true;
        let mut record = example_record(0);
        record.config["attention"]["compatibility"] = serde_json::json!({ "kind": "collaborative", "d_k": 64 });
        let run = record.summary.id.clone();
        screen.state().selection.focused = Some(run.clone());
        screen.state().apply(Event::Run(events::Run {
            record: Box::new(record),
            checkpoints: Vec::new(),
            folder: "/home/ada".into(),
        }));
        for event in mixing(&run, 400) {
            screen.state().apply(event);
        }
        screen.resize(egui::vec2(1280.0, 1000.0));
        screen
    });
}

#[test]
fn help_over_the_window() {
    laid_out("help", |theme| {
        let mut screen = full(theme, PanelId::RUNS);
        screen.press_text(Key::Questionmark, "?");
        screen
    });
}

#[test]
fn palette_over_the_window() {
    in_a_picture("palette", |theme| {
        let mut screen = full(theme, PanelId::RUNS);
        screen.press(Modifiers::COMMAND, Key::K);
        screen.type_text("dec");
        screen
    });
}

#[test]
fn export_over_the_window() {
    laid_out("export", |theme| {
        let mut screen = full(theme, PanelId::COMPARE);
        screen.window().settings.last_folder = Some("/home/ada/figures".into());
        screen.press(Modifiers::COMMAND, Key::E);
        screen
    });
}

/// The small charts, which stand below the fold of the usual window.
#[test]
fn live_charts_in_a_tall_window() {
    laid_out("live_tall", |theme| {
        let mut screen = live(theme);
        screen.resize(egui::vec2(1280.0, 1160.0));
        screen
    });
}

#[test]
fn a_run_that_diverged() {
    laid_out("diverged", |theme| {
        let mut screen = full(theme, PanelId::LIVE);
        let run = example_runs().into_iter().find(|run| run.number == 6).map(|run| run.id);
        screen.state().selection.live = run;
        screen
    });
}

#[test]
fn closing_while_a_run_trains() {
    in_a_picture("closing", |theme| {
        let mut screen = full(theme, PanelId::LIVE);
        screen.request_close();
        screen
    });
}

#[test]
fn a_run_that_was_interrupted() {
    laid_out("interrupted", |theme| {
        let mut screen = full(theme, PanelId::CONFIGURE);
        let mut runs = example_runs();
        for run in runs.iter_mut().filter(|run| run.number == 5) {
            (run.state, run.steps_done, run.steps_total) = (RunState::Interrupted, 345, Some(600));
        }
        screen.state().apply(Event::Runs(events::Runs { runs }));
        screen.click("Show the presets");
        screen
    });
}
