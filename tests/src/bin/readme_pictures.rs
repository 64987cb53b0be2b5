//! Draws the pictures of the README from a store of real runs.
//!
//! ```text
//! headroom race grammar-decoder --families symmetric,shared_weight,collaborative,tied_kv --store race/headroom.db
//! cargo run -p headroom-tests --bin readme_pictures -- --store race/headroom.db
//! ```
//!
//! The first run of the store is the baseline; Live shows it, Compare all of them. `--out FOLDER` writes elsewhere than
//! `assets/screenshots`. A store that is not there is refused.
#![expect(clippy::unwrap_used, reason = "a script: what is broken is to end it")]

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use headroom_app::{context::PanelId, settings::ThemeChoice};
use headroom_tests::{Screen, text};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/screenshots");

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

const USAGE: &str = "usage: readme_pictures [--store race/headroom.db] [--out FOLDER]";

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let store = text("--store").map_or_else(|| PathBuf::from("race/headroom.db"), PathBuf::from);
    if !store.is_file() {
        eprintln!(
            "There is no store {}. Train its runs first, as the head of this file says.\n{USAGE}",
            store.display()
        );
        return ExitCode::from(2);
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
