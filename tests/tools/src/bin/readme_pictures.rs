//! Draws the pictures of the README: trains the runs that they show, opens the panels and saves them.
//!
//! ```text
//! cargo run --release -p headroom-tools --bin readme_pictures
//! ```
//!
//! The runs are those of `headroom race grammar-decoder --families symmetric,shared_weight,collaborative,tied_kv` in the store
//! `target/readme/headroom.db`; where that is there, its runs are drawn as they are. `--store FILE` names another one, `--out
//! FOLDER` writes elsewhere than `assets/screenshots`. `--panels` draws every panel at three sizes instead, to be looked at: into
//! `target/readme/panels` unless `--out` says another folder. The first run of the store is the baseline; Live shows it, Compare all
//! of them.
#![expect(clippy::unwrap_used, reason = "a script: what is broken is to end it")]

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use headroom_app::{context::PanelId, settings::ThemeChoice};
use headroom_tests::{EVERY_PANEL, Screen, carry_out_commands, text};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/screenshots");

const STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/readme/headroom.db");

const RACE: [&str; 4] = ["race", "grammar-decoder", "--families", "symmetric,shared_weight,collaborative,tied_kv"];

/// Trains the runs of the pictures; this program is the one that trains.
fn train(store: &Path) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(RACE).arg("--store").arg(store).status().unwrap().success()
}

/// What Compare shows beside curves.
const SHAPES: [&str; 3] = ["Workspace", "Scatter", "Parallel coordinates"];

/// Sizes of windows that every panel is looked at in.
const SIZES: [(f32, f32); 3] = [(900.0, 600.0), (1280.0, 800.0), (2560.0, 1440.0)];

/// The window on the store, with every run shown and the first one pinned.
fn opened(store: &Path, theme: ThemeChoice, panel: PanelId, (width, height): (f32, f32)) -> Screen {
    let mut screen = Screen::engine(store);
    screen.resize(egui::vec2(width, height));
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
    if panel == PanelId::COMPARE {
        // What a window before this one showed is remembered.
        screen.click("Curves");
    }
    screen
}

/// Turns of 50 ms that a picture waits, and the most where a model is still read.
const TURNS: usize = 40;
const MOST_TURNS: usize = 1200;

/// Waits until curves and maps have come from the store.
fn filled(screen: &mut Screen) {
    for turn in 0..MOST_TURNS {
        if turn >= TURNS && !screen.says("Reading") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        screen.settle();
    }
}

/// Draws every panel at every size.
fn panels(store: &Path, folder: &Path) {
    for (width, height) in SIZES {
        for panel in EVERY_PANEL {
            let mut screen = opened(store, ThemeChoice::Dark, panel, (width, height));
            filled(&mut screen);
            let save = |screen: &mut Screen, name: &str| {
                let path = folder.join(format!("{name}_{width}x{height}.png"));
                screen.save(&path);
                println!("{}", path.display());
            };
            save(&mut screen, panel.0);
            for shape in SHAPES.into_iter().filter(|_| panel == PanelId::COMPARE) {
                screen.click(shape);
                filled(&mut screen);
                save(&mut screen, &format!("{}_{}", panel.0, shape.to_lowercase().replace(' ', "_")));
            }
            screen.close();
        }
    }
}

const USAGE: &str = "usage: readme_pictures [--store target/readme/headroom.db] [--panels] [--out FOLDER]";

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
    let wants_panels = std::env::args().any(|argument| argument == "--panels");
    let usual = if wants_panels { store.with_file_name("panels") } else { PathBuf::from(FOLDER) };
    let folder = text("--out").map_or(usual, PathBuf::from);
    std::fs::create_dir_all(&folder).unwrap();
    if wants_panels {
        panels(&store, &folder);
        return ExitCode::SUCCESS;
    }
    let pictures = [
        // So high that the curve of agreement is in sight.
        ("live", ThemeChoice::Dark, PanelId::LIVE, "Chart: Loss", 1120.0),
        ("compare", ThemeChoice::Light, PanelId::COMPARE, "Chart: Validation loss", 800.0),
        ("redundancy", ThemeChoice::Light, PanelId::REDUNDANCY, "Export", 800.0),
    ];
    for (name, theme, panel, shown, height) in pictures {
        let mut screen = opened(&store, theme, panel, (1280.0, height));
        screen.wait_for(shown);
        filled(&mut screen);
        screen.save(&folder.join(format!("{name}.png")));
        screen.close();
        println!("{}", folder.join(format!("{name}.png")).display());
    }
    ExitCode::SUCCESS
}
