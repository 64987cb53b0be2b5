//! Every figure that the panels of analyses offer leaves with the same title, texts, lines and numbers as before.

use std::{fmt::Write as _, fs, path::Path};

use egui::{Key, Modifiers};
use headroom_engine::speed::GenerationPreset;
use headroom_tests::{
    Screen, answer_maps, answer_rebuilt, example_run, fill_with_analyses, fill_with_benchmarks, fill_with_control,
    fill_with_examples, fill_with_generation, fill_with_reconstruction,
};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// Digests of all files, a line each; written anew where `UPDATE_EXPORTS` is set.
const KNOWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/exports.txt");

/// What is drawn of an example: the panel, and what is clicked or chosen in it first.
struct Shown {
    name: &'static str,
    panel: &'static str,
    prepare: fn(&mut Screen),
    /// The button over the figures; the only figure, where it opens the dialog at once.
    menu: &'static str,
}

const ALL: [Shown; 12] = [
    Shown { name: "redundancy", panel: "Redundancy", prepare: |_| (), menu: "Export" },
    Shown { name: "control", panel: "Redundancy", prepare: beside_control, menu: "Export" },
    Shown { name: "spectra", panel: "Spectra", prepare: |_| (), menu: "Export" },
    Shown { name: "spectra-steps", panel: "Spectra", prepare: several_steps, menu: "Export" },
    Shown { name: "reconstruct", panel: "Reconstruct", prepare: reconstruct, menu: "Export" },
    Shown { name: "reconstruct-scores", panel: "Reconstruct", prepare: scores, menu: "Export" },
    Shown { name: "heads", panel: "Heads", prepare: beside_another, menu: "Export" },
    Shown { name: "speed", panel: "Speed", prepare: |_| (), menu: "Export chart…" },
    Shown { name: "roofline", panel: "Speed", prepare: |_| (), menu: "Export roofline…" },
    Shown { name: "speed-length", panel: "Speed", prepare: over_lengths, menu: "Export chart…" },
    Shown { name: "speed-batch", panel: "Speed", prepare: over_batches, menu: "Export chart…" },
    Shown { name: "roofline-groups", panel: "Speed", prepare: over_lengths, menu: "Export roofline…" },
];

fn over_lengths(screen: &mut Screen) {
    fill_with_generation(screen.state(), GenerationPreset::Length);
    screen.settle();
}

fn over_batches(screen: &mut Screen) {
    fill_with_generation(screen.state(), GenerationPreset::Batch);
    screen.settle();
}

fn beside_control(screen: &mut Screen) {
    fill_with_control(screen.state());
    screen.settle();
    screen.click("Beside its control");
}

fn several_steps(screen: &mut Screen) {
    screen.choose("Curves beside the network", "several steps");
    screen.click("Share of n²");
    screen.click("Per query");
    screen.choose("Layer of the captured variance", "L4");
    screen.choose("Colours", "Magma");
    screen.click("0 to 1");
}

fn reconstruct(screen: &mut Screen) {
    fill_with_reconstruction(screen.state(), &example_run(8));
    answered(screen);
}

fn scores(screen: &mut Screen) {
    reconstruct(screen);
    screen.choose("Whose scores", "L5");
    screen.choose("Horizontal axis of the errors", "share of all pairs");
    screen.click("Scores");
    answered(screen);
}

fn beside_another(screen: &mut Screen) {
    answered(screen);
    screen.click("Hide special tokens");
    screen.choose("Beside the head", "another head: click it");
    screen.focus("Map: L3H0");
    screen.press(Modifiers::NONE, Key::Enter);
    answered(screen);
}

/// Lets the engine's answers about maps come until nothing more is asked.
fn answered(screen: &mut Screen) {
    for _ in 0..4 {
        let asked = screen.recorded();
        answer_maps(screen.state(), &asked);
        answer_rebuilt(screen.state(), &asked);
        screen.settle();
    }
}

fn open(shown: &Shown) -> Screen {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_analyses(screen.state());
    fill_with_benchmarks(screen.state());
    screen.state().selection.focused = Some(example_run(8));
    screen.click(shown.panel);
    (shown.prepare)(&mut screen);
    screen.settle();
    screen
}

/// The titles of the menu that opens, which is closed again; none where the button opens the dialog itself.
fn titles(screen: &mut Screen, menu: &str) -> Vec<String> {
    let before = screen.words();
    screen.click(menu);
    let is_title = |word: &String| word.ends_with('…') && *word != "Browse…" && !before.contains(word);
    let mut all: Vec<String> = screen.words().into_iter().filter(is_title).collect();
    all.dedup();
    screen.press(Modifiers::NONE, Key::Escape);
    screen.settle();
    all
}

/// Numbers to six digits: the last bits of a logarithm depend on the processor.
fn rounded(csv: &str) -> String {
    let cell = |cell: &str| cell.parse::<f64>().map_or_else(|_| cell.to_owned(), |value| format!("{value:.5e}"));
    csv.lines().map(|line| line.split(',').map(cell).collect::<Vec<_>>().join(",")).collect::<Vec<_>>().join("\n")
}

fn digest(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = if path.extension().is_some_and(|ending| ending == "csv") { rounded(&text) } else { text };
    let digest = Sha256::digest(text.as_bytes());
    let first = digest.iter().take(8).fold(0_u64, |first, byte| first << 8 | u64::from(*byte));
    format!("{first:016x}")
}

#[test]
fn every_figure_leaves_as_before() {
    let temporary = TempDir::new().unwrap();
    // A place to keep the files, to compare those of two versions byte by byte.
    let folder = std::env::var_os("KEEP_EXPORTS").map_or_else(|| temporary.path().to_owned(), Into::into);
    fs::create_dir_all(&folder).unwrap();
    let mut found = String::new();
    for shown in &ALL {
        let mut screen = open(shown);
        let titles = titles(&mut screen, shown.menu);
        for place in 0..titles.len().max(1) {
            for format in ["SVG", "CSV"] {
                let path = folder.join(format!("{}-{place}.{}", shown.name, format.to_lowercase()));
                screen.click(shown.menu);
                if let Some(title) = titles.get(place) {
                    screen.click(title);
                }
                screen.click(format);
                screen.fill("File", &path.display().to_string());
                screen.press(Modifiers::NONE, Key::Enter);
                screen.wait("the file", |screen| path.exists() && !screen.has("Cancel"));
                let title = titles.get(place).map_or("", |title| title.trim_end_matches('…'));
                writeln!(found, "{} {} {title}", digest(&path), path.file_name().unwrap().display()).unwrap();
            }
        }
    }
    if std::env::var_os("UPDATE_EXPORTS").is_some() {
        fs::write(KNOWN, &found).unwrap();
    }
    let known = fs::read_to_string(KNOWN).unwrap();
    let changed: Vec<&str> = found.lines().filter(|line| !known.lines().any(|other| other == *line)).collect();
    assert!(changed.is_empty(), "figures that changed: {changed:#?}");
    assert_eq!(found.lines().count(), known.lines().count(), "figures that are no longer offered");
}
