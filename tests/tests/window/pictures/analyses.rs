//! Pictures of the panels of analyses: Redundancy, Spectra, Heads, Reconstruct, Adviser, and what they open.

use egui::{Key, Modifiers};
use headroom_app::{context::PanelId, settings::ThemeChoice};
use headroom_engine::{
    advise::{Adviser, Wishes},
    attention::ModelFacts,
    config::from_toml,
    protocol::{Event, events},
    store::{AdviceRecord, Advised},
};
use headroom_tests::{
    Screen, answer_all, answer_maps, example_analysis, example_record, example_run, fill_with_analyses,
    fill_with_control, fill_with_directory, fill_with_reconstruction,
};

use super::{configure, full, in_a_picture, in_both_themes, laid_out};

/// A panel of analyses of the run that trains.
fn analyses(theme: ThemeChoice, panel: PanelId, height: f32) -> Screen {
    let mut screen = full(theme, PanelId::LIVE);
    fill_with_analyses(screen.state());
    screen.state().selection.focused = Some(example_run(8));
    screen.window().open(panel);
    screen.resize(egui::vec2(1280.0, height));
    screen
}

#[test]
fn redundancy_before_anything_was_analysed() {
    laid_out("redundancy_empty", |theme| {
        let mut screen = analyses(theme, PanelId::REDUNDANCY, 800.0);
        screen.state().selection.focused = Some(example_run(3));
        screen
    });
}

#[test]
fn redundancy_of_a_run_that_trains() {
    in_both_themes("redundancy", |theme| {
        let mut screen = analyses(theme, PanelId::REDUNDANCY, 900.0);
        screen.focus("Map: similarity of layers");
        for key in [Key::ArrowDown, Key::ArrowDown, Key::ArrowDown, Key::ArrowRight, Key::Enter] {
            screen.press(Modifiers::NONE, key);
        }
        screen.click("Layer 3 head 5");
        screen
    });
}

/// Of a model that was fetched, while another analysis of it is set up.
#[test]
fn redundancy_of_a_model_directory() {
    laid_out("redundancy_directory", |theme| {
        let mut screen = full(theme, PanelId::LIVE);
        fill_with_directory(screen.state());
        screen.window().settings.set_panel("directory_text", &"/home/ada/texts/old-stories.txt");
        screen.window().open(PanelId::REDUNDANCY);
        screen.resize(egui::vec2(1280.0, 900.0));
        screen.settle();
        screen.click("Analyse a checkpoint");
        screen
    });
}

/// What could be made of it.
#[test]
fn adviser_of_a_model_directory() {
    laid_out("adviser_directory", |theme| {
        let mut screen = full(theme, PanelId::LIVE);
        fill_with_directory(screen.state());
        let wishes = serde_json::json!({ "similarity": 0.8, "dimensions": true, "energy": 0.9 });
        screen.window().settings.set_panel("adviser", &wishes);
        screen.window().open(PanelId::ADVISER);
        screen.resize(egui::vec2(1280.0, 1180.0));
        screen
    });
}

#[test]
fn redundancy_of_a_run_beside_its_control() {
    in_a_picture("redundancy_control", |theme| {
        let mut screen = analyses(theme, PanelId::REDUNDANCY, 1000.0);
        fill_with_control(screen.state());
        screen.settle();
        screen.click("Beside its control");
        screen
    });
}

#[test]
fn groups_of_alike_heads_on_the_head_map_of_configure() {
    in_a_picture("configure_marked", |theme| {
        let mut screen = analyses(theme, PanelId::REDUNDANCY, 1000.0);
        screen.state().current = None;
        screen.state().waiting.clear();
        screen.click("Mark them in Configure");
        screen.fill("Layers", "6");
        screen.fill("Heads", "8");
        screen.settle();
        screen
    });
}

#[test]
fn setting_up_a_control() {
    laid_out("control", |theme| {
        let mut screen = configure(theme);
        screen.click("Race or sweep");
        screen.click("Control");
        screen
    });
}

#[test]
fn spectra_of_a_run_that_trains() {
    in_a_picture("spectra", |theme| analyses(theme, PanelId::SPECTRA, 1640.0));
}

#[test]
fn spectra_of_several_steps_with_a_component_large() {
    laid_out("spectra_steps", |theme| {
        let mut screen = analyses(theme, PanelId::SPECTRA, 1300.0);
        screen.choose("Curves beside the network", "several steps");
        screen.click("Map: component 2");
        screen
    });
}

/// The Adviser on the baseline, of whose model there is an analysis of its own size.
fn adviser(theme: ThemeChoice) -> Screen {
    let mut screen = full(theme, PanelId::LIVE);
    let run = example_run(0);
    let config = from_toml(&example_record(0).config_toml).expect("a config");
    let analysis = example_analysis(config.model.layers, config.model.heads, 400);
    screen.state().analysis.take_steps(run.clone(), vec![400]);
    screen.state().analysis.take(run.clone(), 400, analysis.clone());
    let adviser = Adviser::new(
        &config,
        run.as_str(),
        &ModelFacts::of_parameters(&config, example_record(0).summary.parameters),
        &analysis,
        None,
    );
    let wishes = Wishes { similarity: Some(0.6), energy: Some(0.9), error: None };
    let prediction = adviser.expect("a sound config").advise(wishes).prediction.expect("a sound plan");
    let words = "step 400, 16 examples of 32 tokens".to_owned();
    let advised = Advised { source: run.clone(), beside: None, step: Some(400), words, prediction };
    let record = AdviceRecord { run: example_run(1), created_ms: 0, advised };
    screen.state().apply(Event::Advice(events::Advice { advice: vec![record] }));
    screen.state().analysis.take_steps(example_run(1), Vec::new());
    screen.state().apply(Event::Analyses(events::Analyses { analyses: Vec::new() }));
    screen.state().selection.focused = Some(run);
    screen.window().open(PanelId::ADVISER);
    screen.resize(egui::vec2(1280.0, 1440.0));
    screen
}

#[test]
fn adviser_of_a_trained_model_with_what_came_out() {
    in_a_picture("adviser", |theme| {
        let mut screen = adviser(theme);
        screen.focus("Similarity from");
        for _ in 0..28 {
            screen.press(Modifiers::NONE, Key::ArrowLeft);
        }
        screen.click("How many dimensions heads could share");
        screen
    });
}

#[test]
fn adviser_before_anything_was_analysed() {
    laid_out("adviser_empty", |theme| {
        let mut screen = analyses(theme, PanelId::ADVISER, 800.0);
        screen.state().selection.focused = Some(example_run(3));
        screen
    });
}

/// Attention maps of the run that trains.
fn heads_panel(theme: ThemeChoice) -> Screen {
    let mut screen = analyses(theme, PanelId::HEADS, 900.0);
    for _ in 0..4 {
        let asked = screen.recorded();
        answer_maps(screen.state(), &asked);
        screen.settle();
    }
    screen
}

#[test]
fn heads_of_a_model_with_one_large() {
    in_both_themes("maps", |theme| {
        let mut screen = heads_panel(theme);
        screen.press(Modifiers::NONE, Key::Escape);
        screen
    });
}

#[test]
fn two_heads_side_by_side_and_their_difference() {
    laid_out("maps_pair", |theme| {
        let mut screen = heads_panel(theme);
        screen.choose("Beside the head", "another head: click it");
        screen.focus("Map: L1H1");
        screen.press(Modifiers::NONE, Key::Enter);
        for _ in 0..4 {
            let asked = screen.recorded();
            answer_maps(screen.state(), &asked);
            screen.settle();
        }
        screen
    });
}

/// Reconstruct on the run that trains.
fn reconstruct(theme: ThemeChoice) -> Screen {
    let mut screen = analyses(theme, PanelId::LIVE, 1180.0);
    fill_with_reconstruction(screen.state(), &example_run(8));
    screen.window().open(PanelId::RECONSTRUCT);
    answer_all(&mut screen);
    screen
}

#[test]
fn reconstruct_before_anything_was_restored() {
    laid_out("reconstruct_empty", |theme| {
        let mut screen = analyses(theme, PanelId::RECONSTRUCT, 800.0);
        screen.state().apply(Event::Analyses(events::Analyses { analyses: Vec::new() }));
        screen
    });
}

#[test]
fn reconstruct_of_a_run_with_a_map_rebuilt() {
    in_a_picture("reconstruct", reconstruct);
}

#[test]
fn reconstruct_scores_of_a_layer_over_flops() {
    laid_out("reconstruct_scores", |theme| {
        let mut screen = reconstruct(theme);
        screen.choose("Horizontal axis of the errors", "FLOPs of scores");
        screen.choose("Whose scores", "L5");
        answer_all(&mut screen);
        screen.click("Scores");
        screen.focus("Pairs per query");
        screen.press(Modifiers::NONE, Key::Home);
        for _ in 0..4 {
            screen.press(Modifiers::NONE, Key::ArrowRight);
        }
        answer_all(&mut screen);
        screen
    });
}
