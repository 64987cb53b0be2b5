//! Setting up a run: the first page, the form, config files.

use std::{
    fs,
    time::{Duration, Instant},
};

use egui::{Key, Modifiers};
use headroom_app::context::PanelId;
use headroom_engine::{
    config::{
        ModelKind, ModelPart, RunConfig, Source, SpanTask, StopEarly, TaskConfig, TranslationTask, from_toml, preset,
    },
    protocol::{Command, Event, commands, events},
};
use headroom_tests::Screen;
use tempfile::TempDir;

use crate::common::{open_config, store, train, write_tiny};

#[test]
fn two_clicks_from_the_first_window_start_a_preset() {
    let mut screen = Screen::recorder();
    assert!(screen.has("Opening the store…"));
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    assert!(screen.has("Nothing has been trained in this store yet."));
    screen.recorded();
    screen.click("Use preset grammar-encoder");
    screen.click("Start");
    let asked = screen.recorded();
    let revision = asked.iter().rev().find_map(|command| match command {
        Command::Check(commands::Check { revision, .. }) => Some(*revision),
        _ => None,
    });
    assert!(!asked.iter().any(|command| matches!(command, Command::Enqueue(_))), "not before it was checked");
    screen.state().apply(Event::Checked(events::Checked {
        revision: revision.unwrap(),
        problems: Vec::new(),
        free_bytes: None,
        facts: Box::default(),
        preview: None,
    }));
    screen.settle();
    let configs: Vec<RunConfig> =
        screen
            .recorded()
            .into_iter()
            .filter_map(|command| {
                if let Command::Enqueue(commands::Enqueue { config, .. }) = command { Some(*config) } else { None }
            })
            .collect();
    assert_eq!(configs, [preset("grammar-encoder").unwrap().config().unwrap()]);
    assert_eq!(screen.window().open_panel(), PanelId::LIVE);
}

#[test]
fn there_is_always_a_seed_to_queue() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Use preset grammar-decoder");
    for (typed, left) in [("0", "1"), ("5", "5"), ("500", "100")] {
        screen.fill("Seeds", typed);
        assert_eq!(screen.value("Seeds"), typed, "while it is typed it stays");
        screen.focus("Name");
        screen.settle();
        assert_eq!(screen.value("Seeds"), left);
    }
}

#[test]
fn too_few_evaluations_are_told_before_the_start() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Use preset grammar-decoder");
    assert!(!screen.says("The run is evaluated"), "{:#?}", screen.words());
    screen.fill("Steps", "400");
    screen.wait("the note", |screen| screen.says("The run is evaluated 3 times: too few for a within-run spread."));
    screen.fill("Steps", "60");
    screen.wait("the note", |screen| screen.says("The run is evaluated once: too few"));
}

#[test]
fn a_double_click_on_start_starts_one_run() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Use preset grammar-encoder");
    let asked = |screen: &mut Screen| {
        screen.recorded().into_iter().fold((None, 0), |(revision, starts), command| match command {
            Command::Check(commands::Check { revision, .. }) => (Some(revision), starts),
            Command::Enqueue(_) => (revision, starts + 1),
            _ => (revision, starts),
        })
    };
    // Asked once what was typed has stood for a moment, and maybe once more: all is answered before the click.
    let quiet = std::cell::Cell::new(None);
    screen.wait("a form at rest", |screen| {
        if let Some(revision) = asked(screen).0 {
            let (problems, facts) = (Vec::new(), Box::default());
            let checked = events::Checked { revision, problems, free_bytes: None, facts, preview: None };
            screen.state().apply(Event::Checked(checked));
            screen.settle();
            quiet.set(Some(Instant::now()));
        }
        quiet.get().is_some_and(|since| since.elapsed() > Duration::from_secs(1))
    });
    // What is checked already starts with the first click.
    screen.double_click("Start");
    assert_eq!(asked(&mut screen).1, 1, "{:#?}", screen.words());
    // The panel that opens then is not what the second click was meant for either.
    assert_eq!(screen.window().open_panel(), PanelId::LIVE);
}

#[test]
fn in_a_small_window_one_area_scrolls_what_the_run_takes_with_the_form() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Use preset grammar-decoder");
    screen.resize(egui::vec2(900.0, 600.0));
    let start = screen.rect("Start");
    assert!(screen.rect("What it takes").top() > start.bottom(), "{start:?}");
    for button in ["Open TOML", "Save TOML", "Browse for a TOML file", "Copy TOML"] {
        let rect = screen.rect(button);
        assert!(rect.top() > start.bottom() && rect.bottom() < 560.0 && rect.right() < 890.0, "{button}: {rect:?}");
    }
    let before = screen.value("Batch");
    screen.click("Increase Batch");
    assert_ne!(screen.value("Batch"), before);
    assert_eq!(screen.rect("Start"), start, "what starts it is there wherever one is");
    let numbers = screen.rect("What it takes");
    assert!(numbers.bottom() < start.top(), "the numbers give the form their room: {numbers:?}");
}

#[test]
fn undo_works_while_a_list_of_the_form_has_the_keyboard() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Use preset grammar-encoder");
    let steps = |screen: &mut Screen| screen.window().panels.configure.config().train.steps;
    let before = steps(&mut screen);
    screen.fill("Steps", "321");
    screen.focus("Schedule");
    assert_eq!(steps(&mut screen), Some(321));
    screen.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(steps(&mut screen), before);
}

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
    assert!(!screen.is_enabled("Start") && screen.has("1 problem to fix:"));
    screen.fill("Heads", "4");
    assert!(screen.is_enabled("Start") && !screen.says("to fix"));

    screen.fill("Learning rate", "fast");
    assert!(screen.description("Learning rate").1 && screen.says("“fast” is no number."), "{:#?}", screen.words());
    assert!(!screen.is_enabled("Start"));
    screen.fill("Learning rate", "1e-3");
    assert!(screen.is_enabled("Start"));

    screen.choose("Source", "Your own files");
    let missing = folder.path().join("nothing.txt");
    screen.fill("File or folder", &missing.display().to_string());
    screen.wait("the engine's answer", |screen| screen.description("File or folder").1);
    screen.settle();
    assert!(!screen.is_enabled("Start"));
    assert!(screen.says("Go to File or folder: "), "{:#?}", screen.words());
    // Ctrl+Enter from elsewhere is refused with the reason, and leads to the form.
    screen.click("Live");
    screen.press(Modifiers::COMMAND, Key::Enter);
    screen.wait_for_words("The run cannot start: 1 problem to fix.");
    assert_eq!(screen.window().open_panel(), PanelId::CONFIGURE);
    // There now, but with too little in it for the vocabulary: that is marked where it is chosen.
    fs::write(&missing, "Some text.\n\n".repeat(400)).unwrap();
    screen.fill("Sequence length", "32");
    screen.wait("what the text has room for", |screen| screen.description("Vocabulary").1);
    assert!(screen.says("The training text yields only") && !screen.is_enabled("Start"), "{:#?}", screen.words());
    screen.choose("Tokenizer", "Bytes");
    screen.wait("Start", |screen| screen.is_enabled("Start"));
    assert!(screen.state().runs.is_empty(), "nothing was queued");
    screen.close();
}

#[test]
fn a_config_file_with_an_unknown_field_is_refused_with_a_suggestion() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
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
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
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

#[test]
fn saving_writes_over_no_file_but_that_of_the_config_unless_the_user_says_so() {
    let mut screen = form();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mine.toml");
    let holds = |path: &std::path::Path| from_toml(&fs::read_to_string(path).unwrap()).unwrap();
    screen.fill("Layers", "3");
    screen.fill("Config file path", &path.display().to_string());
    screen.click("Save TOML");
    screen.wait("the file", |screen| path.exists() && screen.says("Saved the config to"));
    // Its own file takes what is changed without a question.
    screen.fill("Layers", "4");
    screen.click("Save TOML");
    screen.wait("the change in the file", |_| holds(&path).model.layers == 4);
    // Another config has no file yet.
    screen.click("Show the presets");
    screen.click("Use preset grammar-encoder");
    assert_eq!(screen.value("Config file path"), "");
    screen.fill("Config file path", &path.display().to_string());
    screen.click("Save TOML");
    screen.wait_for_words("mine.toml is there already");
    assert_eq!(holds(&path).model.layers, 4);
    screen.click("Replace the file");
    let chosen = preset("grammar-encoder").unwrap().config().unwrap();
    screen.wait("the other config in the file", |_| holds(&path) == chosen);
    screen.settle();
    assert!(!screen.says("is there already"), "{:#?}", screen.words());
    // Undo leads back to the config before, of which the file no longer is.
    screen.click("Undo the change");
    assert_eq!(screen.value("Layers"), "4");
    screen.click("Save TOML");
    screen.wait_for_words("mine.toml is there already");
    assert!(holds(&path) == chosen);
}

#[test]
fn an_empty_panel_starts_the_form_once_it_was_touched() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.press_text(Key::Num8, "8");
    assert!(screen.has("Start the preset \"grammar decoder\""), "{:#?}", screen.words());
    screen.press_text(Key::Num1, "1");
    screen.click("Go to the form");
    screen.fill("Name", "my test");
    screen.fill("Steps", "200");
    screen.fill("Layers", "abc");
    screen.click("Reconstruct");
    screen.recorded();
    screen.click("Start \"my test\"");
    assert_eq!(screen.window().open_panel(), PanelId::CONFIGURE, "what is wrong with it is to be seen");
    assert!(screen.says("1 problem to fix"), "{:#?}", screen.words());
    assert!(!screen.recorded().iter().any(|command| matches!(command, Command::Enqueue(_))));
    screen.fill("Layers", "2");
    screen.click("Reconstruct");
    screen.click("Start \"my test\"");
    let asked = screen.recorded();
    let revision = asked.iter().rev().find_map(|command| match command {
        Command::Check(commands::Check { revision, .. }) => Some(*revision),
        _ => None,
    });
    screen.state().apply(Event::Checked(events::Checked {
        revision: revision.unwrap(),
        problems: Vec::new(),
        free_bytes: None,
        facts: Box::default(),
        preview: None,
    }));
    screen.settle();
    let started = screen.recorded().into_iter().find_map(|command| match command {
        Command::Enqueue(commands::Enqueue { config, .. }) => Some(config),
        _ => None,
    });
    let config = started.unwrap();
    assert_eq!((config.name.as_str(), config.train.steps, config.model.layers), ("my test", Some(200), 2));
}

#[test]
fn tab_goes_from_field_to_field_and_what_is_typed_there_opens_no_panel() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Go to the form");
    screen.fill("Steps", "200");
    screen.press(Modifiers::NONE, Key::Tab);
    screen.press_text(Key::Num8, "8");
    assert_eq!(screen.window().open_panel(), PanelId::CONFIGURE);
    assert!(screen.is_focused("Batch"), "the next field, past the buttons");
    // A list is no text field, but it stands in the form.
    screen.focus("Schedule");
    screen.press_text(Key::Num8, "8");
    assert_eq!(screen.window().open_panel(), PanelId::CONFIGURE);
    // The buttons are there for the pointer.
    screen.fill("Batch", "16");
    screen.click("Increase Batch");
    assert_eq!(screen.value("Batch"), "20");
}

#[test]
fn a_table_is_mapped_by_its_columns_and_seen_before_it_is_trained_on() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    screen.wait("the runs", |screen| screen.state().runs_loaded);
    screen.settle();
    screen.click("Go to the form");
    screen.choose("Source", "A table with labels");
    assert!(screen.has("Text column") && screen.has("Answer"), "{:#?}", screen.words());
    assert!(screen.has("Held-out rows") && !screen.has("Held-out text"), "{:#?}", screen.words());
    let path = folder.path().join("films.tsv");
    fs::write(&path, "id\tsentence\tmark\n1\tA fine film\tgood\n2\tA long film\tpoor\n3\tAnother film\tgood\n")
        .unwrap();
    screen.fill("Table", &path.display().to_string());
    screen.wait_for_words("There is no column `text`");
    // A name that nobody chose follows the data, and columns that look right are offered.
    assert_eq!(screen.window().panels.configure.config().name, "text classifier");
    screen.click("Take the columns that look right");
    screen.wait_for_words("3 rows.");
    let Source::Table(taken) = &screen.window().panels.configure.config().data.source.clone() else { panic!() };
    assert_eq!(taken.text[0].to_string(), "sentence");
    screen.press(Modifiers::COMMAND, Key::Z);
    screen.wait_for_words("There is no column `text`");
    screen.choose("Text column", "sentence");
    screen.wait_for_words("There is no column `label`");
    screen.choose("Label column", "mark");
    screen.wait_for_words("3 rows.");
    assert!(screen.says("good  2 (67 %)") && screen.says("poor  1 (33 %)"), "{:#?}", screen.words());
    assert!(screen.says("[CLS] A fine film [SEP]"), "{:#?}", screen.words());
    screen.choose("Loss counts", "Each class as much");
    assert!(screen.says("good: 0.75, poor: 1.5"), "{:#?}", screen.words());
    screen.choose("Loss counts", "Each example as much");
    assert!(!screen.says("Weights in the loss"));
    screen.choose("Tokenizer", "Bytes");
    screen.wait_for_words("[CLS] A ");
    screen.choose("Answer", "A number");
    screen.wait_for_words("the label is");
    screen.choose("Answer", "A class");
    let config = screen.window().panels.configure.config().clone();
    let Source::Table(table) = &config.data.source else { panic!("{:?}", config.data.source) };
    assert_eq!((table.text[0].to_string(), table.label.to_string()), ("sentence".to_owned(), "mark".to_owned()));
    assert_eq!(config.task.as_ref().map(TaskConfig::kind), Some("classification"));
    assert_eq!(config.model.kind, ModelKind::Encoder);
    // What is held out of it is evaluated as a whole, unless somebody asks for less.
    assert_eq!(config.evaluation_size(), 0);
    // Another text has no task, and this one has it again.
    screen.choose("Source", "Built-in English");
    let config = screen.window().panels.configure.config().clone();
    assert_eq!((&config.task, config.evaluation_size()), (&None, config.train.default_evaluation_size()));
    screen.choose("Source", "A table with labels");
    let config = screen.window().panels.configure.config().clone();
    assert!(config.task.is_some() && config.evaluation_size() == 0);
    screen.fill("Evaluate on", "20");
    screen.fill("Batch", "2");
    let train = screen.window().panels.configure.config().train.clone();
    assert_eq!((train.batch, train.evaluate_examples, train.evaluate_batches), (2, Some(20), None));
    screen.close();
}

#[test]
fn translations_are_scored_where_the_form_says_how_many() {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Go to the form");
    screen.choose("Architecture", "Encoder and decoder, as BART");
    let scored = |screen: &mut Screen| screen.window().panels.configure.config().task.clone();
    assert_eq!(scored(&mut screen), None);
    screen.fill("Scored translations", "32");
    let Some(TaskConfig::Translation(task)) = scored(&mut screen) else { panic!("{:?}", scored(&mut screen)) };
    assert_eq!(task.scored_pairs, 32);
    screen.fill("Scored translations", "0");
    assert!(screen.says("it must be from 1"), "{:#?}", screen.words());
    screen.fill("Scored translations", "");
    assert_eq!(scored(&mut screen), None);
}

/// The form on the first preset.
fn form() -> Screen {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    screen.click("Go to the form");
    screen
}

/// The draft.
fn drafted(screen: &mut Screen) -> RunConfig {
    screen.settle();
    screen.window().panels.configure.config().clone()
}

#[test]
fn a_number_that_is_deleted_costs_what_its_field_held_before() {
    let mut screen = form();
    let old = "Numbers of the last valid config";
    let parameters = |screen: &Screen| {
        let words = screen.words();
        let name = words.iter().position(|word| word == "Parameters").unwrap();
        words[name..].iter().find(|word| *word != "Parameters").unwrap().clone()
    };
    let before = parameters(&screen);
    screen.fill("Layers", "1");
    assert!(parameters(&screen) != before && !screen.says(old), "{:#?}", screen.words());
    screen.press(Modifiers::NONE, Key::Backspace);
    assert!(screen.says(old), "{:#?}", screen.words());
    assert_eq!(parameters(&screen), before, "not those of one layer, which nobody asked for");
}

#[test]
fn below_a_head_map_nothing_moves_up_while_another_number_of_layers_is_typed() {
    let mut screen = form();
    let below = |screen: &Screen| screen.rect("Match parameters").top();
    let before = below(&screen);
    screen.fill("Layers", "1");
    assert!((below(&screen) - before).abs() < 0.5, "{} and {before}", below(&screen));
    screen.unfocus();
    assert!(below(&screen) < before - 20.0, "{} and {before}", below(&screen));
}

#[test]
fn the_room_of_an_error_is_given_back_once_the_keyboard_leaves_its_section() {
    let mut screen = form();
    let below = |screen: &Screen| screen.rect("Schedule").top();
    let before = below(&screen);
    screen.fill("Learning rate", "fast");
    screen.focus("Batch");
    let told = below(&screen);
    assert!(told > before + 5.0, "{told} and {before}");
    screen.fill("Learning rate", "1e-3");
    assert!((below(&screen) - told).abs() < 1.0, "nothing moves while somebody types");
    screen.focus("Batch");
    assert!((below(&screen) - told).abs() < 1.0, "it is in the same section");
    screen.focus("Name");
    assert!((below(&screen) - before).abs() < 1.0, "{} and {before}", below(&screen));
}

#[test]
fn undo_past_a_file_finds_relative_paths_where_they_were_before() {
    let mut screen = form();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, "format = 1\n[model]\nlayers = 3\n").unwrap();
    let base = |screen: &mut Screen| screen.window().panels.configure.base_dir().to_owned();
    let before = base(&mut screen);
    screen.fill("Config file path", &path.display().to_string());
    screen.click("Open TOML");
    screen.wait("the file", |screen| screen.value("Layers") == "3");
    assert_eq!(base(&mut screen), folder.path());
    screen.click("Undo the change");
    assert_eq!(base(&mut screen), before);
    screen.click("Redo the change");
    assert_eq!(base(&mut screen), folder.path());
}

#[test]
fn translations_of_a_table_have_columns_and_beams() {
    let mut screen = form();
    screen.choose("Architecture", "Encoder and decoder, as BART");
    screen.choose("Source", "Your own pairs, to translate");
    assert!(!screen.has("Text column") && !screen.has("Beams"), "{:#?}", screen.words());
    screen.fill("Or a table", "pairs.tsv");
    screen.fill("Text column", "en");
    let columns = |screen: &mut Screen| match drafted(screen).data.source {
        Source::Pairs(pairs) => pairs.text,
        other => panic!("{other:?}"),
    };
    assert!(screen.description("Text column").1 && screen.says("Name two columns"), "{:#?}", screen.words());
    screen.fill("Translation column", "2");
    assert_eq!(columns(&mut screen), Some(["en".to_owned(), "2".to_owned()]));
    assert!(!screen.description("Text column").1);
    screen.fill("Text column", "");
    screen.fill("Translation column", "");
    assert_eq!(columns(&mut screen), None);
    screen.fill("Scored translations", "16");
    screen.fill("Beams", "4");
    let task = |scored_pairs, beams| Some(TaskConfig::Translation(TranslationTask { scored_pairs, beams }));
    assert_eq!(drafted(&mut screen).task, task(16, 4));
    screen.fill("Beams", "65");
    assert!(screen.description("Beams").1 && screen.says("it must be from 1 to 64"), "{:#?}", screen.words());
    screen.fill("Beams", "5");
    // Another number that is typed in between does not take the beams along.
    screen.fill("Scored translations", "");
    assert!(!screen.has("Beams"));
    screen.fill("Scored translations", "8");
    assert_eq!(drafted(&mut screen).task, task(8, 5));
}

#[test]
fn questions_are_read_and_answered_as_the_form_says() {
    let mut screen = form();
    screen.choose("Source", "Questions about paragraphs");
    assert!(screen.has("SQuAD file"), "{:#?}", screen.words());
    let task = |screen: &mut Screen| match drafted(screen).task {
        Some(TaskConfig::Span(task)) => task,
        other => panic!("{other:?}"),
    };
    assert_eq!(task(&mut screen), SpanTask::default());
    screen.fill("Window step", "64");
    screen.fill("Longest answer", "12");
    screen.fill("No answer from", "-1.5");
    let expected = SpanTask { doc_stride: 64, max_answer: 12, no_answer_threshold: -1.5 };
    assert_eq!(task(&mut screen), expected);
    screen.click("Undo the change");
    assert_eq!(task(&mut screen), SpanTask { no_answer_threshold: 0.0, ..expected });
    screen.click("Redo the change");
    assert_eq!(task(&mut screen), expected);
    screen.fill("Window step", "0");
    assert!(screen.description("Window step").1 && !screen.is_enabled("Start"), "{:#?}", screen.words());
    assert!(screen.says("Go to Window step: 0 is too small"), "{:#?}", screen.words());
    screen.fill("Longest answer", "few");
    assert!(screen.description("Longest answer").1);
    // Fields that go take their problems along.
    screen.choose("Source", "Built-in English");
    assert!(!screen.has("Window step") && !screen.says("to fix"), "{:#?}", screen.words());
}

#[test]
fn a_run_is_stopped_early_by_a_metric_that_its_evaluations_find() {
    let mut screen = form();
    assert_eq!(screen.value("Stop early"), "Never");
    assert!(!screen.has("Patience"));
    screen.click("Stop early");
    assert!(screen.has("Perplexity") && screen.has("Agreement"), "{:#?}", screen.words());
    assert!(!screen.has("F1"), "nothing is classified");
    screen.press(Modifiers::NONE, Key::Escape);
    screen.choose("Stop early", "Perplexity");
    assert_eq!(screen.value("Patience"), StopEarly::default().patience.to_string());
    screen.fill("Patience", "5");
    let stop = Some(StopEarly { metric: "validation/perplexity".to_owned(), patience: 5 });
    assert_eq!(drafted(&mut screen).train.stop_early, stop);
    screen.choose("Stop early", "Agreement");
    let stop = Some(StopEarly { metric: "validation/agreement".to_owned(), patience: 5 });
    assert_eq!(drafted(&mut screen).train.stop_early, stop);
    screen.fill("Patience", "0");
    assert!(screen.description("Patience").1 && !screen.is_enabled("Start"));
    screen.fill("Patience", "5");
    screen.fill("Evaluate every", "0");
    assert!(screen.says("A run that is to stop early is evaluated between its steps"), "{:#?}", screen.words());
    screen.fill("Evaluate every", "100");
    // A table has no agreement: what was chosen is still told, until something else is.
    screen.choose("Source", "A table with labels");
    assert_eq!(screen.value("Stop early"), "validation/agreement (not found)");
    screen.choose("Stop early", "F1");
    assert_eq!(drafted(&mut screen).train.stop_early.map(|stop| stop.metric), Some("validation/f1".to_owned()));
    screen.choose("Stop early", "Never");
    assert_eq!(drafted(&mut screen).train.stop_early, None);
    assert!(!screen.has("Patience"));
}

#[test]
fn parts_of_a_model_that_was_trained_before_are_frozen_by_their_names() {
    let mut screen = form();
    assert!(!screen.has("Frozen parts") && !screen.has("Rate of lower layers"), "{:#?}", screen.words());
    screen.fill("Begins with", "my run");
    assert!(screen.has("Rate of lower layers"));
    screen.fill("Frozen parts", "embeddings, laye");
    assert!(screen.description("Frozen parts").1 && !screen.is_enabled("Start"));
    assert!(screen.says("\"laye\" names no part of a model"), "{:#?}", screen.words());
    assert_eq!(screen.value("Frozen parts"), "embeddings, laye", "what is half typed stays");
    assert!(drafted(&mut screen).train.freeze.is_empty());
    screen.fill("Frozen parts", "embeddings,layers.0-1");
    let parts = vec![ModelPart::Embeddings, ModelPart::Layers { first: 0, last: 1 }];
    assert_eq!(drafted(&mut screen).train.freeze, parts);
    screen.fill("Rate of lower layers", "0.9");
    assert_eq!(drafted(&mut screen).train.layer_decay, 0.9);
    assert_eq!(screen.value("Frozen parts"), "embeddings, layers.0-1", "as it is written");
    screen.fill("Frozen parts", "layers.9");
    assert!(screen.description("Frozen parts").1 && screen.says("There is no layer 9"), "{:#?}", screen.words());
    screen.click("Undo the change");
    assert_eq!(drafted(&mut screen).train.freeze, parts);
    // What a config says is shown whatever it begins with, also while it is typed away.
    screen.fill("Begins with", "");
    screen.fill("Frozen parts", "");
    screen.fill("Rate of lower layers", "1");
    assert!(screen.has("Rate of lower layers"), "the keyboard is there");
    screen.unfocus();
    assert!(!screen.has("Rate of lower layers") && !screen.has("Frozen parts"), "{:#?}", screen.words());
}

#[test]
fn a_table_with_labels_hides_no_tokens_and_smooths_no_labels() {
    let mut screen = form();
    screen.choose("Architecture", "Encoder, as BERT");
    assert!(screen.has("Masked share") && !screen.has("Label smoothing"));
    screen.choose("Architecture", "Encoder and decoder, as BART");
    assert!(!screen.has("Masked share") && screen.has("Label smoothing"));
    screen.choose("Architecture", "Encoder, as BERT");
    screen.choose("Source", "A table with labels");
    assert!(screen.has("Batch"), "{:#?}", screen.words());
    assert!(!screen.has("Masked share") && !screen.has("Label smoothing"), "{:#?}", screen.words());
}

/// An IDX file of bytes.
fn idx(dimensions: &[u32], content: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, dimensions.len() as u8];
    bytes.extend(dimensions.iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend(content);
    bytes
}

#[test]
fn images_are_counted_and_seen_and_squares_that_do_not_cut_them_are_marked_at_once() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("t-images-idx3-ubyte"), idx(&[12, 28, 28], (0..12 * 784).map(|at| (at % 251) as u8)))
        .unwrap();
    fs::write(folder.path().join("t-labels-idx1-ubyte"), idx(&[12], (0..12).map(|image| image % 3))).unwrap();
    let mut screen = Screen::engine(&store(&folder));
    screen.wait("the runs", |screen| screen.state().runs_loaded);
    screen.settle();
    screen.click("Go to the form");
    screen.choose("Source", "Images with classes");
    screen.fill("File or folder", &folder.path().join("t-images-idx3-ubyte").display().to_string());
    screen.wait_for_words("12 images of 28 x 28 pixels, grey: 50 tokens");
    assert!(screen.says("2  4 (33 %)") && screen.has("Image: 2"), "{:#?}", screen.words());
    screen.fill("Square", "5");
    screen.wait_for_words("take one of 1, 2, 4, 7, 14, 28");
    assert!(!screen.is_enabled("Start"));
    screen.fill("Square", "7");
    screen.wait_for_words("grey: 17 tokens");
    screen.wait("that it can start", |screen| screen.is_enabled("Start"));
    // Another source of images has other ones.
    screen.choose("Source", "Pathfinder images");
    screen.wait("curves", |screen| screen.has("Image: connected") || screen.has("Image: not connected"));
    screen.close();
}

#[test]
fn costs_of_a_config_that_begins_with_a_run_are_those_of_its_vocabulary() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    let path = write_tiny(folder.path(), "one", 1);
    train(&mut screen, &path);
    let [run] = screen.state().runs.as_slice() else { panic!("not one run") };
    let (id, parameters) = (run.id.clone(), run.parameters.unwrap());
    // Of another width: what does not fit is told, and costs are known all the same.
    let written = fs::read_to_string(&path).unwrap().replace("tokenizer = { kind = \"bytes\" }\n", "");
    let further = written.replace("[model]\n", &format!("[model]\ninitial = \"{id}\"\n"));
    let [wide, same] = ["wide.toml", "same.toml"].map(|name| folder.path().join(name));
    fs::write(&wide, further.replace("width = 16", "width = 32")).unwrap();
    fs::write(&same, &further).unwrap();
    open_config(&mut screen, &wide);
    screen.wait_for_words("It is 32 here, and 16 in the model to begin with");
    screen.wait("the vocabulary", |screen| !screen.says("For a vocabulary of"));
    open_config(&mut screen, &same);
    screen.wait("the vocabulary", |screen| !screen.says("For a vocabulary of"));
    let parameters = headroom_app::format::si(parameters as f64, "");
    screen.wait("the parameters of the run itself", |screen| screen.has(&parameters));
    screen.close();
}

#[test]
fn examples_of_the_data_are_seen_as_long_as_they_are_of_its_kind() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    let config = folder.path().join("words.toml");
    fs::write(&config, "format = 1\n[data]\nkind = \"number_words\"\n[model]\nkind = \"encoder_decoder\"\n").unwrap();
    open_config(&mut screen, &config);
    screen.wait_for_words("The first of 20,000 pairs.");
    assert!(screen.says("= dreiundneunzig"), "{:#?}", screen.words());
    let other = folder.path().join("expressions.toml");
    fs::write(
        &other,
        "format = 1\n[data]\nkind = \"listops\"\n[task]\nkind = \"classification\"\n[model]\nkind = \"encoder\"\n",
    )
    .unwrap();
    open_config(&mut screen, &other);
    assert!(!screen.says("20,000 pairs"), "{:#?}", screen.words());
    screen.wait_for_words("The first of 22,000 expressions");
    screen.close();
}
