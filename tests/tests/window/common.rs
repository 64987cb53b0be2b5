//! What these tests share: a run of two dozen steps, and what a user does again and again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use egui::{Key, Modifiers};
use headroom_app::context::PanelId;
use headroom_engine::{
    config::from_toml,
    store::{RunState, RunSummary},
};
use headroom_tests::Screen;
use tempfile::TempDir;

/// A run of two dozen steps; the rest by `set`.
pub const TINY: &str = r#"
format = 1
name = "NAME"
seed = SEED
threads = 1
[data]
kind = "grammar"
words = 1000
sequence_length = 16
tokenizer = { kind = "bytes" }
[model]
kind = "decoder"
layers = 1
heads = 2
width = 16
feed_forward = 32
[train]
steps = 24
batch = 2
learning_rate = 1e-2
schedule = { kind = "cosine", warmup_steps = 4 }
evaluate_every = 8
evaluate_batches = 1
checkpoint_every = 8
[probe]
every = 8
examples = 1
"#;

/// The panels with the keys that open them.
pub const PANELS: [(PanelId, Key, &str); 4] = [
    (PanelId::CONFIGURE, Key::Num1, "1"),
    (PanelId::LIVE, Key::Num2, "2"),
    (PanelId::COMPARE, Key::Num3, "3"),
    (PanelId::RUNS, Key::Num4, "4"),
];

pub fn store(folder: &TempDir) -> PathBuf {
    folder.path().join("headroom.db")
}

pub fn write_tiny(folder: &Path, name: &str, seed: u64) -> PathBuf {
    let path = folder.join(format!("{name}-{seed}.toml"));
    fs::write(&path, TINY.replace("NAME", name).replace("SEED", &seed.to_string())).unwrap();
    path
}

/// Opens a config file through its typed path.
pub fn open_config(screen: &mut Screen, path: &Path) {
    screen.click("Configure");
    if screen.has("Go to the form") {
        screen.click("Go to the form");
    }
    screen.fill("Config file path", &path.display().to_string());
    screen.click("Open TOML");
    // Configure counts the examples of an evaluation whatever the batch.
    let written = from_toml(&fs::read_to_string(path).unwrap()).unwrap().with_evaluation_size();
    screen.wait("the file's config", |screen| *screen.window().panels.configure.config() == written);
    screen.settle();
}

/// Runs a config to its end by Ctrl+Enter.
pub fn train(screen: &mut Screen, path: &Path) {
    let before = screen.state().runs.len();
    open_config(screen, path);
    screen.press(Modifiers::COMMAND, Key::Enter);
    screen.wait("the run's end", |screen| {
        let state = screen.state();
        state.runs.len() > before && state.current.is_none() && state.runs.iter().all(|run| run.state.is_ended())
    });
    screen.settle();
}

/// A store with two finished runs that differ in name and seed, and a window on it.
pub fn two_runs() -> (TempDir, Screen) {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    train(&mut screen, &write_tiny(folder.path(), "one", 1));
    train(&mut screen, &write_tiny(folder.path(), "two", 2));
    (folder, screen)
}

/// The steps done that Live reads out.
pub fn steps_read_out(screen: &Screen) -> u64 {
    let readout = screen.words().into_iter().find_map(|word| word.strip_prefix("Step: ").map(str::to_owned));
    let digits: String = readout.iter().flat_map(|text| text.chars()).take_while(|c| *c != '/').collect();
    digits.replace([',', ' '], "").parse().unwrap_or(0)
}

pub fn named<'a>(screen: &'a mut Screen, name: &str) -> &'a RunSummary {
    screen.state().runs.iter().find(|run| run.name == name).unwrap()
}

pub fn ends(screen: &mut Screen) -> Vec<(String, RunState)> {
    let mut all: Vec<_> = screen.state().runs.iter().map(|run| (run.number, run.name.clone(), run.state)).collect();
    all.sort_by_key(|(number, ..)| *number);
    all.into_iter().map(|(_, name, state)| (name, state)).collect()
}

pub fn every_panel_says(screen: &mut Screen, expected: [&[&str]; 4]) {
    for ((panel, key, text), words) in PANELS.into_iter().zip(expected) {
        screen.press_text(key, text);
        assert_eq!(screen.window().open_panel(), panel);
        for word in words {
            assert!(screen.says(word), "{panel:?} does not say \"{word}\": {:#?}", screen.words());
        }
    }
}
