//! Panels of analyses on a model directory: over an engine, and what they ask for.

use std::{fs, path::PathBuf};

use egui::{Key, Modifiers};
use headroom_app::{context::PanelId, link::Link};
use headroom_engine::{
    analysis::Analysis,
    config::Source,
    protocol::{Command, Event, MapText, Notice, Request, Target, commands, events},
    store::{AnalysisId, AnalysisSummary},
};
use headroom_tests::{Screen, example_analysis, example_run, fill_with_analyses, fill_with_examples, model_facts};
use tempfile::TempDir;

use crate::common::store;

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/hf/bert_mlm")
}

/// A store without runs, a model directory that was dropped on the window, and a text.
fn dropped(folder: &TempDir) -> (Screen, PathBuf) {
    let model = folder.path().join("pretrained");
    fs::create_dir(&model).unwrap();
    for file in fs::read_dir(golden()).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), model.join(file.file_name())).unwrap();
    }
    let text = folder.path().join("text.txt");
    fs::write(&text, "the old river sees two teachers near her letter , and the child forgets .\n".repeat(130))
        .unwrap();
    let mut screen = Screen::engine(&store(folder));
    screen.drop_on(&model);
    screen.wait_for("Look inside: Redundancy");
    (screen, text)
}

#[test]
fn a_pretrained_model_is_looked_into_without_any_run() {
    let folder = TempDir::new().unwrap();
    let (mut screen, text) = dropped(&folder);
    screen.click("Look inside: Redundancy");
    assert_eq!(screen.window().open_panel(), PanelId::REDUNDANCY);
    screen.wait_for_words("No analysis of \"pretrained\" yet");
    assert!(!screen.is_enabled("Analyse now"), "it has no text: {:#?}", screen.words());
    screen.fill("Text file", text.to_str().unwrap());
    assert!(screen.is_enabled("Analyse now"), "{:#?}", screen.words());
    assert!(screen.says("Of 256 examples of ") && screen.says("above takes others"), "{:#?}", screen.words());
    screen.click("Analyse now");
    screen.wait_for("Map: similarity of layers");
    screen.wait("the list of analyses", |screen| screen.has("Which analysis"));
    assert!(screen.says("text.txt") && !screen.says("step 0"), "{:#?}", screen.words());

    screen.click("Spectra");
    screen.wait_for("Chart: Energy in the first components");
    assert!(!screen.has("Step of the analysis"), "it was not analysed while it trained");

    screen.click("Heads");
    screen.wait_for("Map: L0H0");
    assert!(screen.has("Text") && !screen.has("Checkpoint"), "{:#?}", screen.words());
    screen.choose("Text", "Example 2");
    screen.wait_for("Map: L0H0");
    screen.fill("Your own text", "the river");
    screen.press(Modifiers::NONE, Key::Enter);
    screen.wait("the text that was written", |screen| {
        screen.says("tokens; rows are queries") && !screen.says("64 tokens")
    });

    screen.click("Reconstruct");
    screen.wait_for_words("No reconstruction of \"pretrained\" yet");
    screen.click("Reconstruct the scores of a checkpoint");
    assert!(!screen.has("Checkpoint to reconstruct"), "a directory has one model");
    screen.fill("Tokens", "12");
    screen.click("Start the reconstruction");
    screen.wait_for("Chart: Error of restored scores");
    screen.wait("the map that is rebuilt", |screen| screen.has("Map: Rebuilt map"));

    // What it was looked into on is what another model is compared on.
    screen.click("Models");
    screen.wait_for("Convert");
    screen.choose("Conversion", "Symmetric");
    assert_eq!(screen.value("Text"), "");
    screen.fill("Write to", folder.path().join("symmetric").to_str().unwrap());
    screen.wait("the model", |screen| screen.is_enabled("Convert"));
    screen.click("Convert");
    screen.wait_for("Show it");
    assert!(screen.says("Compared on 32 examples of ") && screen.says("text.txt."), "{:#?}", screen.words());
    screen.close();
}

#[test]
fn a_pretrained_model_is_advised_conversions_and_one_is_made() {
    let folder = TempDir::new().unwrap();
    let (mut screen, text) = dropped(&folder);
    // Maps of random weights are less alike than those of a trained model.
    screen.window().settings.set_panel("adviser", &serde_json::json!({ "similarity": 0.7 }));
    screen.click("Look inside: Adviser");
    screen.wait_for_words("No analysis of \"pretrained\" yet");
    screen.fill("Text file", text.to_str().unwrap());
    screen.click("Analyse now");
    screen.wait_for_words("What that would save");
    assert!(!screen.says("Train this run again"), "there is no run: {:#?}", screen.words());
    screen
        .wait("a conversion", |screen| screen.is_enabled("Set it up in Models") || screen.says("No head could borrow"));
    assert!(screen.says("1. maps borrowed where they are at least"), "{:#?}", screen.words());
    assert!(screen.has("Analyse reconstruction now"), "{:#?}", screen.words());
    screen.click("Set it up in Models");
    assert_eq!(screen.window().open_panel(), PanelId::MODELS);
    screen.wait_for("Convert");
    assert_eq!(
        (screen.value("Conversion"), screen.value("Text")),
        ("Borrowed maps".to_owned(), text.display().to_string())
    );
    let made = folder.path().join("borrowed");
    screen.fill("Write to", made.to_str().unwrap());
    screen.wait("what it depends on", |screen| screen.is_enabled("Convert"));
    screen.click("Convert");
    screen.wait_for("Show it");
    assert!(made.join("model.safetensors").is_file());
    screen.close();
}

/// What was asked of the engine.
fn requests(screen: &mut Screen) -> Vec<Request> {
    screen.settle();
    screen.window().link().map(Link::take_requests).unwrap_or_default()
}

/// Answers what is asked of models and lists.
fn answered(screen: &mut Screen, analyses: &[AnalysisSummary]) -> Vec<Command> {
    let mut all = Vec::new();
    for _ in 0..4 {
        for Request { ticket, command } in requests(screen) {
            let event = match &command {
                Command::DescribeModel(commands::DescribeModel { target }) => {
                    let facts = headroom_engine::checkpoint::DirectoryFacts { config: None, ..model_facts() };
                    Some(Event::ModelDescribed(events::ModelDescribed {
                        target: target.clone(),
                        facts: Box::new(facts),
                    }))
                }
                Command::ListAnalyses => Some(Event::Analyses(events::Analyses { analyses: analyses.to_vec() })),
                Command::LoadAnalysis(commands::LoadAnalysis { analysis }) => {
                    let result = Analysis { step: None, ..example_analysis(6, 8, 400) };
                    Some(Event::Analysed(events::Analysed { analysis: analysis.clone(), result: Box::new(result) }))
                }
                _ => None,
            };
            if let Some(event) = event {
                screen.state().apply(Notice { ticket: Some(ticket), event });
            }
            all.push(command);
        }
    }
    all
}

fn analysed(number: u64, target: &str) -> AnalysisSummary {
    AnalysisSummary {
        id: format!("d1rect0ry{number}").parse().unwrap(),
        number,
        run: None,
        target: target.to_owned(),
        step: None,
        data: "the text file text.txt".to_owned(),
        shuffled: None,
        examples: 256,
        tokens: 64,
        created_ms: 0,
        reconstructs: false,
    }
}

#[test]
fn a_directory_that_was_analysed_is_chosen_beside_the_runs() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_analyses(screen.state());
    screen.state().selection.focused = Some(example_run(8));
    let known = [analysed(1, "/models/minilm"), analysed(2, "/models/other"), analysed(3, "/models/minilm")];
    screen.click("Redundancy");
    let _ = answered(&mut screen, &known);
    assert!(!screen.has("Which analysis"), "analyses of directories are not the run's: {:#?}", screen.words());
    screen.choose("Run", "minilm");
    let asked = answered(&mut screen, &known);
    let wanted: AnalysisId = known[0].id.clone();
    let loads = |command: &Command| matches!(command, Command::LoadAnalysis(commands::LoadAnalysis { analysis }) if *analysis == wanted);
    assert!(asked.iter().any(loads), "its first in the list: {asked:?}");
    assert!(screen.has("Which analysis") && screen.has("Map: similarity of layers"), "{:#?}", screen.words());
    assert_eq!(screen.value("Run"), "minilm");

    // The pair of heads of a directory is the directory's in Heads too.
    screen.focus("Map: similarity of layers");
    for key in [Key::ArrowRight, Key::ArrowRight, Key::Enter] {
        screen.press(Modifiers::NONE, key);
    }
    screen.click("Show their maps");
    assert_eq!((screen.window().open_panel(), screen.value("Run").as_str()), (PanelId::HEADS, "minilm"));
    assert!(screen.says("Nothing to read yet"), "{:#?}", screen.words());
    screen.fill("Text file", "/texts/old.txt");
    let asked = answered(&mut screen, &known);
    let maps = asked.iter().rev().find_map(|command| match command {
        Command::LoadMaps(commands::LoadMaps { target, data, text, .. }) => Some((target, data, text)),
        _ => None,
    });
    let Some((target, Some(data), MapText::Example(0))) = maps else { panic!("{asked:?}") };
    assert_eq!(*target, Target::Directory("/models/minilm".into()));
    assert!(matches!(&data.source, Source::File(file) if file.path.to_str() == Some("/texts/old.txt")), "{data:?}");

    // A run that is chosen afterwards takes its place.
    screen.click("Redundancy");
    let name = screen.state().run_name(&example_run(0));
    let label = screen.words().into_iter().find(|word| word.starts_with(&name));
    assert!(label.is_none(), "the list is closed");
    screen.state().selection.focused = Some(example_run(0));
    screen.settle();
    assert_eq!(screen.value("Run"), name);
}

#[test]
fn a_model_that_cannot_be_read_says_why() {
    let mut screen = Screen::recorder();
    screen.state().runs_loaded = true;
    screen.state().selection.set_directory(Some("/models/gone".into()));
    screen.click("Spectra");
    let asked = requests(&mut screen);
    let asked = asked.iter().find(|request| matches!(request.command, Command::DescribeModel(_))).unwrap();
    let why = "There is no folder /models/gone.".to_owned();
    screen.state().apply(Notice { ticket: Some(asked.ticket), event: Event::Refused(events::Refused { why }) });
    screen.settle();
    assert!(screen.has("The model cannot be read") && screen.says("no folder /models/gone"), "{:#?}", screen.words());
    screen.click("Try again");
    assert!(requests(&mut screen).iter().any(|request| matches!(request.command, Command::DescribeModel(_))));
}
