//! Reconstruct: its four states, the slider and what follows it, what is asked and what leaves.

use std::time::Duration;

use egui::{Key, Modifiers};
use headroom_app::{context::PanelId, link::Link};
use headroom_engine::{
    protocol::{Command, Event, JobCommand, MapText, Notice, Which, commands, events},
    store::{AnalysisId, AnalysisSummary},
};
use headroom_tests::{Screen, answer_maps, answer_rebuilt, example_run, fill_with_examples, fill_with_reconstruction};
use tempfile::TempDir;

use crate::common::{store, train, write_tiny};

/// The panel on the run that trains, whose scores were restored.
fn full() -> Screen {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_reconstruction(screen.state(), &example_run(8));
    screen.state().selection.focused = Some(example_run(8));
    screen.click("Reconstruct");
    answered(&mut screen);
    screen
}

/// Lets the engine's answers come until nothing more is asked; what was asked.
fn answered(screen: &mut Screen) -> Vec<Command> {
    let mut all = Vec::new();
    for _ in 0..4 {
        let asked = screen.recorded();
        answer_maps(screen.state(), &asked);
        answer_rebuilt(screen.state(), &asked);
        all.extend(asked);
        screen.settle();
    }
    all
}

fn rebuilt_for(asked: &[Command]) -> Vec<usize> {
    asked
        .iter()
        .filter_map(|command| {
            if let Command::RebuildMap(commands::RebuildMap { rebuild, .. }) = command { Some(rebuild.k) } else { None }
        })
        .collect()
}

#[test]
fn while_anything_is_read_it_says_so_and_where_there_is_nothing_it_offers_an_analysis() {
    let mut screen = Screen::recorder();
    screen.click("Reconstruct");
    assert_eq!(screen.window().open_panel(), PanelId::RECONSTRUCT);
    assert!(screen.has("Reading the runs…"), "{:#?}", screen.words());
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    assert!(screen.has("No runs yet"));
    fill_with_examples(screen.state());
    screen.state().selection.focused = Some(example_run(8));
    screen.settle();
    assert!(screen.has("Reading the analyses…"), "{:#?}", screen.words());
    screen.state().apply(Event::Analyses(events::Analyses { analyses: Vec::new() }));
    screen.settle();
    assert!(screen.says("No reconstruction of \"grammar encoder"), "{:#?}", screen.words());
    screen.recorded();
    screen.click("Reconstruct its best checkpoint now");
    let asked = screen.recorded().into_iter().find_map(|command| match command {
        Command::Job(JobCommand::Analyse(commands::Analyse { spec, .. })) => spec.reconstruction,
        _ => None,
    });
    assert!(asked.is_some_and(|spec| spec.layers && spec.whole));
    assert!(screen.says("is waiting in the queue") && !screen.has("Reconstruct its best checkpoint now"));
    // It failed: why, and the offer again.
    let analysis = screen.state().analysis.pending[0].analysis.clone();
    let why = Some("The second moments of rows of scores need 16384 MiB of memory, and 900 MiB are free.".to_owned());
    screen.state().apply(Event::AnalyseEnded(events::AnalyseEnded {
        analysis,
        complete: false,
        why,
        is_refusal: false,
        unwritten: None,
    }));
    screen.settle();
    assert!(
        screen.says("need 16384 MiB") && screen.has("Reconstruct its best checkpoint now"),
        "{:#?}",
        screen.words()
    );
    screen.state().selection.focused = Some(example_run(9));
    screen.settle();
    assert!(screen.says("one is written at evaluations"), "{:#?}", screen.words());
}

#[test]
fn curves_pairs_and_a_map_beside_itself_rebuilt() {
    let mut screen = full();
    let lines = |screen: &Screen| screen.description("Chart: Error of restored scores").0;
    assert!(lines(&screen).starts_with("6 lines."), "{}", lines(&screen));
    for map in ["Map: computed pairs", "Map: True map", "Map: Rebuilt map", "Map: Rebuilt minus true"] {
        assert!(screen.description(map).0.starts_with("27 × 27"), "{map}");
    }
    for words in [
        "256 examples of 27 tokens",
        "chosen from 128, measured on 128 others",
        "on held-out examples",
        "with as many eigenvectors, which need all scores first",
        "with random pairs",
        "of the FLOPs of all pairs",
        "differ by 0.",
    ] {
        assert!(screen.says(words), "nothing says \"{words}\": {:#?}", screen.words());
    }
    screen.click("Fitted");
    assert!(lines(&screen).starts_with("3 lines."), "{}", lines(&screen));
    screen.choose("Horizontal axis of the errors", "share of all pairs");
    assert!(lines(&screen).starts_with("4 lines."), "with those of whole maps: {}", lines(&screen));
    screen.choose("Horizontal axis of the errors", "FLOPs of scores");
    assert!(lines(&screen).starts_with("3 lines."), "eigenvectors have no FLOPs: {}", lines(&screen));
    screen.choose("Whose scores", "L5");
    answered(&mut screen);
    screen.click("Scores");
    screen.settle();
    assert!(screen.description("Map: True map").0.contains(" to "), "{:?}", screen.description("Map: True map"));
    let table = screen.click_to_copy("Copy table").expect("a table");
    assert!(table.starts_with("k for an error of,10 %,") && table.contains("\nL2H1,"), "{table}");
    for _ in 0..4 {
        screen.step();
    }
    assert!(screen.repaint_delay() >= Duration::from_secs(1), "and it rests");
}

#[test]
fn errors_and_maps_are_made_higher_and_lower_by_their_handles() {
    let mut screen = full();
    let chart = "Chart: Error of restored scores";
    let before = screen.rect(chart).height();
    screen.focus("Height of errors and pairs");
    for _ in 0..3 {
        screen.press(Modifiers::NONE, Key::ArrowDown);
    }
    screen.settle();
    let after = screen.rect(chart).height();
    assert!((after - before - 60.0).abs() < 1.0, "{before} {after}");
    // Maps are as wide as they are high, so that they grow only where there is room.
    let before = screen.rect("Map: True map").height();
    screen.focus("Height of restored maps");
    for _ in 0..9 {
        screen.press(Modifiers::NONE, Key::ArrowUp);
    }
    screen.settle();
    let after = screen.rect("Map: True map").height();
    assert!(after < before - 20.0, "{before} {after}");
    let kept: serde_json::Value = screen.window().settings.of_panel("reconstruct");
    assert_eq!((kept["height"].as_f64(), kept["height_of_maps"].as_f64()), (Some(360.0), Some(200.0)), "{kept}");
}

#[test]
fn errors_of_too_few_samples_are_told_apart_and_marked() {
    let mut screen = full();
    assert!(!screen.says("are not reliable"), "{:#?}", screen.words());
    let mut found = headroom_tests::example_reconstruction();
    found.scopes[0].samples = 20;
    let run = example_run(8);
    let summary = screen.state().analysis.on_demand(&(&run).into())[0].clone();
    let shown = screen.state().analysis.result(&summary.id).unwrap();
    let analysis = headroom_engine::analysis::Analysis { reconstruction: Some(found), ..(*shown).clone() };
    screen.state().apply(Event::Analysed(events::Analysed { analysis: summary.id, result: Box::new(analysis) }));
    answered(&mut screen);
    assert!(
        screen.says("Errors beyond k = 10 are not reliable: pairs were chosen from 20 maps"),
        "{:#?}",
        screen.words()
    );
    let told = screen.description("Chart: Error of restored scores").0;
    assert!(told.starts_with("8 lines."), "two of six end as lines of their own: {told}");
    let table = screen.click_to_copy("Copy all errors").expect("a table");
    assert!(table.starts_with("scope,k,samples,reliable,"), "{table}");
    assert!(table.contains("\nnetwork,10,20,true,") && table.contains("\nnetwork,11,20,false,"), "{table}");
    assert!(table.contains("\nL0,11,6144,true,"), "{table}");
}

#[test]
fn the_slider_rebuilds_the_map_and_the_pairs() {
    let mut screen = full();
    screen.recorded();
    let told = |screen: &Screen, map: &str| screen.description(map).0;
    let before =
        (told(&screen, "Map: Rebuilt map"), told(&screen, "Map: Rebuilt minus true"), told(&screen, "Map: True map"));
    screen.focus("Pairs per query");
    screen.press(Modifiers::NONE, Key::ArrowLeft);
    screen.press(Modifiers::NONE, Key::ArrowLeft);
    let asked = answered(&mut screen);
    assert!(!rebuilt_for(&asked).is_empty());
    let after =
        (told(&screen, "Map: Rebuilt map"), told(&screen, "Map: Rebuilt minus true"), told(&screen, "Map: True map"));
    assert!(before.0 != after.0 && before.1 != after.1, "{before:?}");
    assert_eq!(before.2, after.2, "the true one stays");
    screen.press(Modifiers::NONE, Key::End);
    let asked = answered(&mut screen);
    assert_eq!(rebuilt_for(&asked), [27], "one question for where it ends");
    assert!(screen.says("The 27 computed pairs of each query"), "{:#?}", screen.words());
    assert!(screen.says("This map restored from 27 pairs") && screen.says("differ by 0.000 in total variation"));
    screen.press(Modifiers::NONE, Key::Home);
    assert_eq!(rebuilt_for(&answered(&mut screen)), [0]);
    let choice = screen.words().into_iter().find(|word| word.starts_with("90 %: k = ")).unwrap();
    screen.click(&choice);
    let k: usize = choice.rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(rebuilt_for(&answered(&mut screen)), [k]);
    // Another head, another example.
    screen.choose("Head of the map", "H3");
    screen.choose("Text", "Held-out example 2");
    let asked = answered(&mut screen);
    let text = asked.iter().find_map(|command| {
        if let Command::LoadMaps(commands::LoadMaps { text, .. }) = command { Some(text) } else { None }
    });
    assert_eq!(text, Some(&MapText::HeldOut { number: 1, tokens: 27, examples: 256 }));
    assert!(asked.iter().any(
        |command| matches!(command, Command::RebuildMap(commands::RebuildMap { rebuild, .. }) if rebuild.head == 3)
    ));
}

#[test]
fn a_map_that_cannot_be_rebuilt_says_why() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_reconstruction(screen.state(), &example_run(8));
    screen.state().selection.focused = Some(example_run(8));
    screen.click("Reconstruct");
    let why = "The maps of a run cannot be shown. The run has no checkpoint at step 400.".to_owned();
    let requests = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let asked = requests.iter().find(|request| matches!(request.command, Command::LoadMaps(_))).unwrap();
    let event = Event::Failed(events::Failed { run: None, why, what_to_do: String::new() });
    screen.state().apply(Notice { ticket: Some(asked.ticket), event });
    screen.settle();
    assert!(screen.says("no checkpoint at step 400") && screen.has("Chart: Error of restored scores"));
    screen.click("Try again");
    let asked = screen.recorded();
    answer_maps(screen.state(), &asked);
    screen.settle();
    let asked = screen.recorded();
    let Some(Command::RebuildMap(commands::RebuildMap { view, rebuild })) =
        asked.into_iter().find(|command| matches!(command, Command::RebuildMap(_)))
    else {
        panic!("the map is asked for")
    };
    let why = Some("Its scores are not finite. Choose an earlier checkpoint.".to_owned());
    screen.state().apply(Event::Rebuilt(events::Rebuilt { view, rebuild, rebuilt: None, why }));
    screen.settle();
    assert!(screen.says("Its scores are not finite"), "{:#?}", screen.words());
}

#[test]
fn an_analysis_that_cannot_be_read_says_why_and_is_asked_for_again() {
    let mut screen = full();
    let run = example_run(8);
    let summary = screen.state().analysis.on_demand(&(&run).into())[0].clone();
    let found = screen.state().analysis.result(&summary.id).unwrap();
    screen.state().apply(Event::Analyses(events::Analyses { analyses: Vec::new() }));
    let other = AnalysisSummary { id: AnalysisId::new(), ..summary };
    screen.state().apply(Event::Analyses(events::Analyses { analyses: vec![other.clone()] }));
    screen.settle();
    let requests = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let is_meant = |command: &Command| matches!(command, Command::LoadAnalysis(_));
    let asked = requests.iter().find(|request| is_meant(&request.command)).unwrap();
    let why = "The arrays of this analysis are damaged.".to_owned();
    let event = Event::Failed(events::Failed { run: None, why, what_to_do: String::new() });
    screen.state().apply(Notice { ticket: Some(asked.ticket), event });
    screen.settle();
    assert!(screen.has("The analysis cannot be read") && screen.says("are damaged"), "{:#?}", screen.words());
    screen.click("Try again");
    assert!(screen.recorded().iter().any(is_meant));
    screen.state().apply(Event::Analysed(events::Analysed { analysis: other.id, result: Box::new((*found).clone()) }));
    answered(&mut screen);
    assert!(screen.has("Map: computed pairs"), "{:#?}", screen.words());
}

#[test]
fn its_form_asks_for_what_it_says_and_delete_comes_back() {
    let mut screen = full();
    screen.click("Reconstruct the scores of a checkpoint");
    screen.click("L0H0 alone");
    screen.recorded();
    // The button, not the panel in the rail.
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("L0H0 alone"), "Esc closes the form");
    screen.click("Delete the analysis");
    assert!(screen.says("No reconstruction of"), "{:#?}", screen.words());
    screen.press(Modifiers::COMMAND, Key::Z);
    let back =
        |command: &Command| matches!(command, Command::DeleteAnalysis(commands::DeleteAnalysis { deleted: false, .. }));
    assert!(screen.recorded().iter().any(back));
}

#[test]
fn figures_leave_as_files() {
    let folder = TempDir::new().unwrap();
    for figure in ["Error of restored scores…", "Computed pairs…", "Rebuilt map…", "Rebuilt minus true…"] {
        for (format, ending) in [("SVG", "svg"), ("CSV", "csv"), ("PNG", "png")] {
            let mut screen = full();
            let path = folder.path().join(format!("{}.{ending}", figure.len()));
            screen.click("Export");
            screen.click(figure);
            screen.click(format);
            screen.fill("File", &path.display().to_string());
            screen.press(Modifiers::NONE, Key::Enter);
            screen.wait("the file", |screen| path.exists() && !screen.has("Cancel"));
            let bytes = std::fs::read(&path).unwrap();
            assert!(bytes.len() > 200, "{figure} as {format}");
            if ending == "svg" {
                let text = String::from_utf8(bytes).unwrap();
                assert!(text.starts_with("<svg") && text.contains("<text"));
            }
        }
    }
}

#[test]
fn a_trained_run_is_reconstructed_and_its_maps_are_rebuilt() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    let path = write_tiny(folder.path(), "tiny", 1);
    let text = std::fs::read_to_string(&path).unwrap().replace("layers = 1", "layers = 2");
    std::fs::write(&path, text).unwrap();
    train(&mut screen, &path);
    screen.click("Reconstruct");
    screen.wait_for("Reconstruct its best checkpoint now");
    screen.click("Reconstruct its best checkpoint now");
    screen.wait_for("Map: Rebuilt map");
    screen.settle();
    assert!(screen.description("Map: Rebuilt map").0.starts_with("16 × 16"));
    let error = |screen: &Screen| screen.words().into_iter().find(|word| word.starts_with("This map restored from"));
    screen.focus("Pairs per query");
    screen.press(Modifiers::NONE, Key::Home);
    screen.wait("the map from nothing", |screen| {
        error(screen).is_some_and(|word| word.starts_with("This map restored from 0 pairs"))
    });
    assert!(screen.says("squared error of its scores is 100 %"), "{:?}", error(&screen));
    screen.press(Modifiers::NONE, Key::End);
    screen.wait("the map from all pairs", |screen| screen.says("This map restored from 16 pairs"));
    assert!(screen.says("differ by 0.000 in total variation"), "{:?}", error(&screen));
    let run = screen.state().runs[0].id.clone();
    let analysis = screen.state().analysis.on_demand(&(&run).into())[0].clone();
    assert!(analysis.reconstructs && analysis.run == Some(run));
    assert_eq!(Which::default(), Which::Best);
    screen.close();
}
