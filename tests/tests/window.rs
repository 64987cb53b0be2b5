//! The real window, driven by the names that a screen reader is told: first over an engine that trains, then over
//! example runs.
#![expect(clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use egui::{Key, Modifiers};
use headroom_app::{panels::PanelId, state::RunSeries};
use headroom_engine::{
    config::{RunConfig, from_toml, preset},
    store::{RunId, RunState, RunSummary, TextSample},
    worker::{Command, Event},
};
use headroom_tests::{Screen, example_runs, fill_with_examples};
use tempfile::TempDir;

/// A run of two dozen steps; the rest by `set`.
const TINY: &str = r#"
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

fn store(folder: &TempDir) -> PathBuf {
    folder.path().join("headroom.db")
}

fn write_tiny(folder: &Path, name: &str, seed: u64) -> PathBuf {
    let path = folder.join(format!("{name}-{seed}.toml"));
    fs::write(&path, TINY.replace("NAME", name).replace("SEED", &seed.to_string())).unwrap();
    path
}

/// Opens a config file through its typed path.
fn open_config(screen: &mut Screen, path: &Path) {
    screen.click("Configure");
    if screen.has("Go to the form") {
        screen.click("Go to the form");
    }
    screen.fill("Config file path", &path.display().to_string());
    screen.click("Open TOML");
    let written = from_toml(&fs::read_to_string(path).unwrap()).unwrap();
    screen.wait("the file's config", |screen| *screen.window().panels.configure.config() == written);
    screen.settle();
}

/// Runs a config to its end by Ctrl+Enter.
fn train(screen: &mut Screen, path: &Path) {
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
fn two_runs() -> (TempDir, Screen) {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    train(&mut screen, &write_tiny(folder.path(), "one", 1));
    train(&mut screen, &write_tiny(folder.path(), "two", 2));
    (folder, screen)
}

/// The steps done that Live reads out.
fn steps_read_out(screen: &Screen) -> u64 {
    let readout = screen.words().into_iter().find_map(|word| word.strip_prefix("Step: ").map(str::to_owned));
    let digits: String = readout.iter().flat_map(|text| text.chars()).take_while(|c| *c != '/').collect();
    digits.replace([',', ' '], "").parse().unwrap_or(0)
}

fn named<'a>(screen: &'a mut Screen, name: &str) -> &'a RunSummary {
    screen.state().runs.iter().find(|run| run.name == name).unwrap()
}

fn ends(screen: &mut Screen) -> Vec<(String, RunState)> {
    let mut all: Vec<_> = screen.state().runs.iter().map(|run| (run.number, run.name.clone(), run.state)).collect();
    all.sort_by_key(|(number, ..)| *number);
    all.into_iter().map(|(_, name, state)| (name, state)).collect()
}

// --- over an engine ---

#[test]
fn two_clicks_from_the_first_window_start_a_preset() {
    let mut screen = Screen::recorder();
    assert!(screen.has("Opening the store…"));
    screen.state().apply(Event::Runs { runs: Vec::new() });
    screen.settle();
    assert!(screen.has("Nothing has been trained in this store yet."));
    screen.recorded();
    screen.click("Use preset grammar-encoder");
    screen.click("Start");
    let asked = screen.recorded();
    let ticket = asked.iter().rev().find_map(|command| match command {
        Command::Check { ticket, .. } => Some(*ticket),
        _ => None,
    });
    assert!(!asked.iter().any(|command| matches!(command, Command::Enqueue { .. })), "not before it was checked");
    screen.state().apply(Event::Checked { ticket: ticket.unwrap(), problems: Vec::new(), free_bytes: None });
    screen.settle();
    let configs: Vec<RunConfig> = screen
        .recorded()
        .into_iter()
        .filter_map(|command| if let Command::Enqueue { config, .. } = command { Some(*config) } else { None })
        .collect();
    assert_eq!(configs, [preset("grammar-encoder").unwrap().config().unwrap()]);
    assert_eq!(screen.window().settings.panel, PanelId::Live);
}

#[test]
fn a_run_is_set_up_in_the_form_started_paused_resumed_and_finished() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    screen.click("Use preset grammar-decoder");
    for (field, value) in [
        ("Name", "by hand"),
        ("Words", "1000"),
        ("Sequence length", "16"),
        ("Layers", "1"),
        ("Heads", "2"),
        ("Width", "16"),
        ("Feed-forward width", "32"),
        // Seconds of work, so that a frame that comes late still finds it running.
        ("Steps", "25,000"),
        ("Batch", "2"),
        ("Warm-up", "10"),
        ("Evaluate every", "5000"),
        ("Evaluate on", "1"),
        ("Checkpoint every", "0"),
        ("Look every", "5000"),
        ("Threads", "1"),
    ] {
        screen.fill(field, value);
        assert_eq!(screen.value(field), value);
    }
    screen.choose("Tokenizer", "Bytes");
    let config = screen.window().panels.configure.config().clone();
    assert_eq!((config.name.as_str(), config.data.sequence_length, config.model.width), ("by hand", 16, 16));
    assert_eq!((config.train.steps, config.train.batch, config.threads), (Some(25_000), 2, 1));
    screen.wait("Start", |screen| screen.is_enabled("Start"));
    screen.click("Start");

    screen.wait("the first steps", |screen| steps_read_out(screen) > 0);
    let run = screen.state().current.clone().unwrap().run;
    let points = |screen: &mut Screen| screen.state().series.get(&run, "train/loss").map_or(0, RunSeries::len);
    screen.wait("points of the curve", |screen| points(screen) > 0);
    assert!(screen.has("Running") && screen.has("Chart: Loss"), "{:#?}", screen.words());
    let (step, drawn) = (steps_read_out(&screen), points(&mut screen));
    screen.wait("the curve to move", |screen| steps_read_out(screen) > step && points(screen) > drawn);

    screen.click("Pause");
    screen.wait("the pause", |screen| screen.state().current.as_ref().is_some_and(|current| current.is_paused));
    screen.settle();
    assert!(screen.has("Paused"));
    let held = steps_read_out(&screen);
    assert!(held < 25_000, "it was over before it could be paused");
    for _ in 0..20 {
        screen.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(steps_read_out(&screen), held, "a paused run stands still");
    screen.click("Resume");
    screen.wait("the end", |screen| screen.state().runs.iter().any(|run| run.state == RunState::Finished));
    screen.wait("the last point", |screen| points(screen) == 25_000);
    screen.settle();
    assert!(screen.has("Finished") && screen.has("Step: 25,000 / 25,000"), "{:#?}", screen.words());
    assert!(screen.says(" » "), "the sample shows what the model writes: {:#?}", screen.words());
    screen.close();
}

#[test]
fn queued_runs_change_places_and_are_cancelled() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    open_config(&mut screen, &write_tiny(folder.path(), "seeds", 10));
    screen.fill("Name", "long");
    for (field, value) in
        [("Steps", "1000000"), ("Evaluate every", "10000"), ("Checkpoint every", "0"), ("Look every", "0")]
    {
        screen.fill(field, value);
    }
    screen.press(Modifiers::COMMAND, Key::Enter);
    screen.wait("the long run", |screen| screen.state().current.as_ref().is_some_and(|current| current.step > 0));

    open_config(&mut screen, &write_tiny(folder.path(), "seeds", 10));
    assert!(screen.has("Start when free"));
    screen.click("Add seeds to the queue");
    screen.wait("three waiting runs", |screen| {
        let state = screen.state();
        state.waiting.len() == 3 && state.waiting.iter().all(|run| state.run(run).is_some())
    });
    let waiting = screen.state().waiting.clone();
    screen.settle();
    screen.click("Queue, 3 runs wait");
    assert!(screen.has("Waiting runs"));
    assert!(["seed 10", "seed 11", "seed 12"].iter().all(|seed| screen.has(seed)), "{:#?}", screen.words());
    screen.click("Later: seeds, place 1");
    let swapped = [waiting[1].clone(), waiting[0].clone(), waiting[2].clone()];
    screen.wait("the new order", |screen| screen.state().waiting == swapped);
    screen.settle();
    screen.click("Cancel: seeds, place 3");
    screen.wait("two waiting runs", |screen| screen.state().waiting == swapped[..2]);
    screen.press(Modifiers::NONE, Key::Escape);
    screen.click("Stop the current run");
    screen.wait("the end of the queue", |screen| {
        let state = screen.state();
        state.current.is_none() && state.waiting.is_empty() && state.runs.iter().all(|run| run.state.is_ended())
    });
    let named = |name: &str, state| (name.to_owned(), state);
    let expected = [
        named("long", RunState::Stopped),
        named("seeds", RunState::Finished),
        named("seeds", RunState::Finished),
        named("seeds", RunState::Cancelled),
    ];
    assert_eq!(ends(&mut screen), expected);
    let started = |screen: &mut Screen, run: &RunId| screen.state().run(run).unwrap().started_ms;
    assert!(started(&mut screen, &swapped[0]) <= started(&mut screen, &swapped[1]), "the second went first");
    screen.close();
}

#[test]
fn two_runs_are_compared_and_their_chart_leaves_as_a_file() {
    let (folder, mut screen) = two_runs();
    screen.press_text(Key::Num3, "3");
    screen.wait("both curves and configs", |screen| {
        screen.has("Compared runs") && screen.has("seed") && !screen.says("Loading")
    });
    screen.settle();
    assert!(screen.has("Pin a baseline to see deltas (p)"));
    screen.wait("both lines", |screen| screen.description("Chart: Validation loss").0.starts_with("2 lines."));
    assert!(!screen.has("model.layers"), "only what differs is listed: {:#?}", screen.words());
    screen.click("Pin one as the baseline");
    assert!(screen.has("Δ: against the baseline \"one\""));
    let deltas = |screen: &Screen| {
        let is_delta = |word: &String| word.starts_with(['+', '−']) && word.contains('%');
        screen.words().into_iter().filter(is_delta).collect::<Vec<_>>()
    };
    assert!(deltas(&screen).len() >= 2, "deltas beside the values: {:#?}", screen.words());
    let losses = ["one", "two"].map(|name| named(&mut screen, name).metrics["validation/loss"].last);
    let sign = if losses[1] > losses[0] { '+' } else { '−' };
    assert!(deltas(&screen)[0].starts_with(sign), "{losses:?}: {:?}", deltas(&screen));

    for (format, ending) in [("PNG", "png"), ("SVG", "svg"), ("CSV", "csv")] {
        let path = folder.path().join(format!("figure.{ending}"));
        screen.press(Modifiers::COMMAND, Key::E);
        screen.click(format);
        screen.fill("File", &path.display().to_string());
        screen.click("Export");
        screen.wait("the file", |screen| path.exists() && !screen.has("Cancel"));
        screen.settle();
        assert!(screen.says("Exported ") && screen.says(&format!("figure.{ending}")), "{:#?}", screen.words());
        let bytes = fs::read(&path).unwrap();
        match ending {
            "png" => assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 5_000),
            "svg" => {
                let text = String::from_utf8(bytes).unwrap();
                assert!(text.contains("<svg") && text.contains(">one</text>") && text.contains("Validation loss"));
            }
            _ => {
                let text = String::from_utf8(bytes).unwrap();
                let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
                assert!(lines[0].contains("one") && lines[0].contains("two"), "{text}");
                assert_eq!(lines.len(), 1 + 3, "evaluations at steps 8, 16 and 24: {text}");
                let last: Vec<f64> = lines[3].split(',').map(|cell| cell.parse().unwrap()).collect();
                assert_eq!(last[0], 24.0);
                assert!(losses.iter().all(|loss| last.contains(loss)), "{losses:?} in {text}");
            }
        }
    }
    screen.close();
}

#[test]
fn checkpoints_and_runs_leave_through_a_typed_path() {
    let (folder, mut screen) = two_runs();
    screen.press_text(Key::Num4, "4");
    screen.click("one");
    screen
        .wait("the checkpoints", |screen| screen.has("Export checkpoint…") && screen.is_enabled("Export checkpoint…"));
    let model = folder.path().join("model of one");
    screen.click("Export checkpoint…");
    screen.fill("New folder", &model.display().to_string());
    screen.click("Export");
    screen.wait_for_words("Exported \"one\" at step");
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        assert!(model.join(file).is_file(), "{file} is missing");
    }
    let config: serde_json::Value = serde_json::from_slice(&fs::read(model.join("config.json")).unwrap()).unwrap();
    assert_eq!((&config["model_type"], &config["n_embd"]), (&"gpt2".into(), &16.into()));

    let json = folder.path().join("one.json");
    screen.click("Export run as JSON…");
    screen.fill("File", &json.display().to_string());
    screen.click("Export");
    screen.wait("the file", |screen| json.exists() && !screen.has("Cancel"));
    let run: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!((&run["name"], &run["state"]), (&"one".into(), &"finished".into()), "{run}");

    // A folder with something in it is not written over.
    screen.click("Export checkpoint…");
    screen.fill("New folder", &folder.path().display().to_string());
    screen.click("Export");
    screen.wait_for_words("Error: ");
    assert!(store(&folder).exists());
    screen.close();
}

#[test]
fn runs_are_found_changed_deleted_and_there_again_after_a_restart() {
    let (folder, mut screen) = two_runs();
    let losses = ["one", "two"].map(|name| named(&mut screen, name).metrics["validation/loss"].last);
    let (better, worse) = if losses[0] < losses[1] { ("one", "two") } else { ("two", "one") };
    screen.press_text(Key::Num4, "4");
    screen.press_text(Key::Slash, "/");
    assert!(screen.is_focused("Filter runs"));
    screen.type_text(&format!("loss<{}", f64::midpoint(losses[0], losses[1])));
    screen.settle();
    assert!(screen.has("1 of 2 runs"), "{:#?}", screen.words());
    let listed = |screen: &Screen, run: &str| screen.has(&format!("Show {run} in charts"));
    assert!(listed(&screen, better) && !listed(&screen, worse));
    screen.fill("Filter runs", "model.layers=1 seed=2");
    screen.wait_for("1 of 2 runs");
    screen.fill("Filter runs", "loss<");
    assert!(
        screen.says("At letter 5: Expected a value"),
        "a filter that cannot be read says where: {:#?}",
        screen.words()
    );
    screen.click("Clear filter");
    assert!(screen.has("2 runs"));

    screen.click("one");
    screen.press(Modifiers::NONE, Key::F2);
    assert!(screen.is_focused("New name"));
    screen.press(Modifiers::COMMAND, Key::A);
    screen.type_text("the first");
    screen.press(Modifiers::NONE, Key::Enter);
    screen.wait("the new name", |screen| screen.state().runs.iter().any(|run| run.name == "the first"));
    screen.settle();
    assert_eq!(screen.value("Name of the run"), "the first");
    screen.fill("New tag", "paper");
    screen.click("Add tag");
    screen.wait("the tag", |screen| named(screen, "the first").tags == ["paper"]);
    screen.fill("Note", "Look again.");
    screen.click("Save note");
    screen.wait("the note", |screen| named(screen, "the first").note == "Look again.");

    screen.click("Archive");
    screen.wait("the archive", |screen| named(screen, "the first").archived && screen.has("1 of 2 runs"));
    screen.click("Show archived");
    assert!(screen.has("2 runs"));
    screen.click("Take out of the archive");
    screen.wait("the way back", |screen| !named(screen, "the first").archived);

    screen.settle();
    screen.click("Delete");
    screen.wait("the deletion", |screen| screen.state().runs.len() == 1);
    screen.settle();
    assert!(screen.says("Deleted the run \"the first\". Undo brings it back."));
    screen.press(Modifiers::COMMAND, Key::Z);
    screen.wait("the undo", |screen| screen.state().runs.len() == 2);

    let mut before = screen.state().runs.clone();
    screen.close();
    let mut again = Screen::engine(&store(&folder));
    assert_eq!(again.window().settings.panel, PanelId::Runs, "the window remembers where it was");
    let mut after = again.state().runs.clone();
    for runs in [&mut before, &mut after] {
        runs.sort_by_key(|run| run.number);
    }
    assert_eq!(after, before);
    assert!(again.has("the first") && again.has("two"));
    assert_eq!(again.count("Finished"), 2, "{:#?}", again.words());
    again.close();
}

// --- bad input ---

#[test]
fn bad_values_are_marked_at_their_fields_and_start_says_why() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    screen.click("Go to the form");
    screen.wait("Start", |screen| screen.is_enabled("Start"));

    screen.fill("Heads", "3");
    let (reason, is_bad) = screen.description("Heads");
    let (other, other_is_bad) = screen.description("Width");
    assert!(is_bad || other_is_bad, "{reason} {other}");
    assert!(screen.says("128") && screen.says("divi"), "the reason is on the screen: {:#?}", screen.words());
    assert!(!screen.is_enabled("Start") && screen.has("1 problem to mend:"));
    screen.fill("Heads", "4");
    assert!(screen.is_enabled("Start") && !screen.says("to mend"));

    screen.fill("Learning rate", "fast");
    assert!(screen.description("Learning rate").1 && screen.says("“fast” is no number."), "{:#?}", screen.words());
    assert!(!screen.is_enabled("Start"));
    screen.fill("Learning rate", "1e-3");
    assert!(screen.is_enabled("Start"));

    screen.choose("Text", "Your own files");
    let missing = folder.path().join("nothing.txt");
    screen.fill("File or folder", &missing.display().to_string());
    screen.wait("the engine's answer", |screen| screen.description("File or folder").1);
    screen.settle();
    assert!(!screen.is_enabled("Start"));
    assert!(screen.says("Go to File or folder: "), "{:#?}", screen.words());
    // Ctrl+Enter from elsewhere is refused with the reason, and leads to the form.
    screen.click("Live");
    screen.press(Modifiers::COMMAND, Key::Enter);
    screen.wait_for_words("The run cannot start: 1 problem to mend.");
    assert_eq!(screen.window().settings.panel, PanelId::Configure);
    fs::write(&missing, "Some text. ".repeat(400)).unwrap();
    screen.fill("Sequence length", "32");
    screen.wait("Start", |screen| screen.is_enabled("Start"));
    assert!(screen.state().runs.is_empty(), "nothing was queued");
    screen.close();
}

#[test]
fn a_config_file_with_an_unknown_field_is_refused_with_a_suggestion() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs { runs: Vec::new() });
    screen.settle();
    screen.click("Go to the form");
    screen.fill("Layers", "7");
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("typo.toml");
    fs::write(&path, "format = 1\n[model]\nlayer = 3\n").unwrap();
    screen.fill("Config file path", &path.display().to_string());
    screen.click("Open TOML");
    screen.wait_for_words("typo.toml");
    screen.settle();
    assert!(screen.says("layer") && screen.says("layers"), "{:#?}", screen.words());
    assert!(screen.says("The config in the window stays as it was."));
    assert_eq!(screen.value("Layers"), "7");
    let missing = folder.path().join("none.toml");
    screen.fill("Config file path", &missing.display().to_string());
    screen.click("Open TOML");
    screen.wait_for_words("there is no such file");
    assert_eq!(screen.value("Layers"), "7");
}

#[test]
fn the_form_saves_opens_and_takes_changes_back() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs { runs: Vec::new() });
    screen.settle();
    screen.click("Go to the form");
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mine.toml");
    screen.fill("Layers", "3");
    screen.fill("Config file path", &path.display().to_string());
    screen.click("Save TOML");
    screen.wait("the file", |screen| path.exists() && screen.says("Saved the config to"));
    assert!(fs::read_to_string(&path).unwrap().contains("layers = 3"));
    screen.fill("Layers", "5");
    screen.click("Open TOML");
    screen.wait("the old value", |screen| screen.value("Layers") == "3");
    screen.click("Undo the change");
    assert_eq!(screen.value("Layers"), "5");
    screen.click("Redo the change");
    assert_eq!(screen.value("Layers"), "3");
}

// --- four states of every panel ---

const PANELS: [(PanelId, Key, &str); 4] = [
    (PanelId::Configure, Key::Num1, "1"),
    (PanelId::Live, Key::Num2, "2"),
    (PanelId::Compare, Key::Num3, "3"),
    (PanelId::Runs, Key::Num4, "4"),
];

fn every_panel_says(screen: &mut Screen, expected: [&[&str]; 4]) {
    for ((panel, key, text), words) in PANELS.into_iter().zip(expected) {
        screen.press_text(key, text);
        assert_eq!(screen.window().settings.panel, panel);
        for word in words {
            assert!(screen.says(word), "{panel:?} does not say \"{word}\": {:#?}", screen.words());
        }
    }
}

#[test]
fn while_the_store_is_read_every_panel_says_so() {
    let mut screen = Screen::recorder();
    let reading: &[&str] = &["Reading the runs…", "The runs are being read…"];
    every_panel_says(&mut screen, [&["Opening the store…"], reading, reading, reading]);
}

#[test]
fn empty_panels_say_what_would_fill_them() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs { runs: Vec::new() });
    let empty: &[&str] =
        &["No runs yet", "Set up a run", "Start \"grammar decoder\"", "Click a run in a table or chart"];
    every_panel_says(&mut screen, [&["Nothing has been trained in this store yet."], empty, empty, empty]);
    screen.click("Set up a run");
    assert_eq!(screen.window().settings.panel, PanelId::Configure);
}

#[test]
fn full_panels_show_everything() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let expected: [&[&str]; 4] = [
        &["What it takes", "Start when free"],
        &["Step: 410 / 600", "Time left", "Chart: Loss", "Chart: Masked accuracy", "What the model writes"],
        &["Compared runs", "Δ: against the baseline", "Config differences", "model.heads", "Chart: Validation loss"],
        &["10 runs", "Diverged", "Failed", "Queued", "Running", "Stopped"],
    ];
    screen.state().selection.focused = None;
    every_panel_says(&mut screen, expected);
    screen.click("grammar decoder, 8 heads");
    for words in ["Checkpoints", "Metrics", "Reproduction", "Data hash", "Config as TOML", "Repeat with the next seed"]
    {
        assert!(screen.says(words), "the inspector does not say \"{words}\"");
    }
}

#[test]
fn characters_that_no_font_has_are_dots_and_no_boxes() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let run = example_runs()[1].id.clone();
    let sample = TextSample { step: 50, text: "half \u{fffd} a \u{1}character, 語".to_owned(), created_ms: 0 };
    screen.state().apply(Event::Samples { run, samples: vec![sample.clone()] });
    screen.press_text(Key::Num2, "2");
    assert!(screen.has("half · a ·character, ·"), "{:#?}", screen.words());
    assert!(screen.says("· stands for a character that cannot be shown"));
    assert_eq!(screen.click_to_copy("Copy sample"), Some(sample.text), "what is copied is whole");
}

#[test]
fn failures_are_told_with_what_to_do() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let of = |number: u64| example_runs().into_iter().find(|run| run.number == number).map(|run| run.id);
    screen.press_text(Key::Num2, "2");
    screen.state().selection.focused = of(7);
    screen.settle();
    assert!(screen.says("the disk is full") && screen.says("Free 12 MiB"));
    assert!(screen.has("Resume training"));
    screen.state().selection.focused = of(6);
    screen.settle();
    assert!(screen.says("non-finite at step 87, first in layer 2, head 3"));
    assert!(screen.says("Lower the learning rate") && screen.has("Open in Configure"));
    // The engine itself is gone: nothing can be started, everything can be read.
    screen.state().apply(Event::Ended);
    let gone: &[&str] = &["The engine has ended"];
    every_panel_says(&mut screen, [gone, gone, gone, gone]);
    screen.press_text(Key::Num1, "1");
    assert!(!screen.is_enabled("Start"));
}

// --- keys, rest, names ---

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
    assert_eq!(screen.window().settings.panel, PanelId::Compare);
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
    assert!(screen.has("Nothing is called that."));
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
    assert_eq!(screen.window().settings.panel, PanelId::Runs, "a digit in a field is text");
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
    assert!(!screen.has("Live"), "the rail is hidden");
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

#[test]
fn a_flood_of_events_is_taken_in_over_many_frames() {
    const FLOOD: usize = 10_000;
    let few: Vec<RunSummary> = example_runs().into_iter().take(6).collect();
    let mut events: Vec<Event> = (1..FLOOD).map(|_| Event::Runs { runs: few.clone() }).collect();
    events.push(Event::Runs { runs: example_runs() });
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
    screen.state().apply(Event::Runs { runs: Vec::new() });
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
    screen.choose("Text", "Your own files");
    screen.choose("Tokenizer", "A tokenizer.json");
    screen.choose("Architecture", "Encoder, as BERT");
    screen.choose("Length in", "Epochs");
    assert!(screen.has("Hidden share") && screen.has("Epochs") && screen.has("tokenizer.json"));
}
