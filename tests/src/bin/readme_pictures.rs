//! Draws the pictures of the README: trains the runs that they show, opens the panels and saves them.
//!
//! ```text
//! cargo run --release -p headroom-tests --bin readme_pictures
//! ```
//!
//! The runs are those of `headroom race grammar-decoder --families symmetric,shared_weight,collaborative,tied_kv` in the store
//! `target/readme/headroom.db`; where that is there, its runs are drawn as they are. `--store FILE` names another one, `--out
//! FOLDER` writes elsewhere than `assets/screenshots`. The first run of the store is the baseline; Live shows it, Compare all
//! of them.
#![expect(clippy::unwrap_used, reason = "a script: what is broken is to end it")]

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use headroom_app::{context::PanelId, settings::ThemeChoice};
use headroom_tests::{Screen, carry_out_commands, text};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/screenshots");

const STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/readme/headroom.db");

const RACE: [&str; 4] = ["race", "grammar-decoder", "--families", "symmetric,shared_weight,collaborative,tied_kv"];

/// Trains the runs of the pictures; this program is the one that trains.
fn train(store: &Path) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(RACE).arg("--store").arg(store).status().unwrap().success()
}

/// The window on the store, with every run shown and the first one pinned.
fn opened(store: &Path, theme: ThemeChoice, panel: PanelId) -> Screen {
    let mut screen = Screen::engine(store);
    screen.resize(egui::vec2(1280.0, 800.0));
    screen.wait("the runs of the store", |screen| !screen.state().runs.is_empty());
    let mut runs: Vec<_> = screen.state().runs.iter().map(|run| (run.number, run.id.clone())).collect();
    runs.sort();
    let first = runs.first().map(|(_, run)| run.clone());
    let state = screen.state();
    state.selection.visible = runs.into_iter().map(|(_, run)| run).collect();
    (state.selection.focused, state.selection.baseline) = (first.clone(), first);
    let settings = &mut screen.window().settings;
    (settings.theme, settings.inspector_open) = (theme, false);
    screen.window().open(panel);
    screen.settle();
    screen
}

const USAGE: &str = "usage: readme_pictures [--store target/readme/headroom.db] [--out FOLDER]";

fn main() -> ExitCode {
    if let Some(code) = carry_out_commands() {
        return code;
    }
    if std::env::args().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let store = text("--store").map_or_else(|| PathBuf::from(STORE), PathBuf::from);
    if !store.is_file() && !train(&store) {
        eprintln!("The runs of the pictures could not be trained in {}.", store.display());
        return ExitCode::FAILURE;
    }
    let folder = text("--out").map_or_else(|| PathBuf::from(FOLDER), PathBuf::from);
    std::fs::create_dir_all(&folder).unwrap();
    let pictures = [
        ("live", ThemeChoice::Dark, PanelId::LIVE, "Chart: Loss"),
        ("compare", ThemeChoice::Light, PanelId::COMPARE, "Chart: Validation loss"),
        ("redundancy", ThemeChoice::Light, PanelId::REDUNDANCY, "Export"),
    ];
    for (name, theme, panel, shown) in pictures {
        let mut screen = opened(&store, theme, panel);
        screen.wait_for(shown);
        // Curves and maps come from the store in their time.
        for _ in 0..40 {
            std::thread::sleep(std::time::Duration::from_millis(50));
            screen.settle();
        }
        screen.save(&folder.join(format!("{name}.png")));
        screen.close();
        println!("{}", folder.join(format!("{name}.png")).display());
    }
    ExitCode::SUCCESS
}
