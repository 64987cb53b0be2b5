//! Redundancy and Spectra: their four states, what is chosen in them, what leaves.

use std::{path::Path, thread, time::Duration};

use egui::{Key, Modifiers, vec2};
use headroom_app::{context::PanelId, link::Link};
use headroom_engine::{
    analysis::{AnalysisSpec, Measure, Projection, Topic},
    protocol::{Command, Event, JobCommand, Notice, Target, Which, commands, events},
    store::{AnalysisId, AnalysisSummary, OpenMode, Store},
};
use headroom_tests::{
    EXAMPLE_STEPS, Screen, answer_maps, example_analysis, example_run, fill_with_analyses, fill_with_control,
    fill_with_examples,
};
use tempfile::TempDir;

use crate::common::{store, train, write_tiny};

const PANELS: [(PanelId, &str); 2] = [(PanelId::REDUNDANCY, "Redundancy"), (PanelId::SPECTRA, "Spectra")];

/// A panel on the run that trains, of which there are analyses.
fn full(panel: &str) -> Screen {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_analyses(screen.state());
    screen.state().selection.focused = Some(example_run(8));
    screen.click(panel);
    screen
}

#[test]
fn while_anything_is_read_the_panels_say_so() {
    for (panel, name) in PANELS {
        let mut screen = Screen::recorder();
        screen.click(name);
        assert_eq!(screen.window().open_panel(), panel);
        assert!(screen.has("Reading the runs…"), "{:#?}", screen.words());
        fill_with_examples(screen.state());
        screen.settle();
        assert!(screen.has("Reading the analysis…"), "{:#?}", screen.words());
        screen.state().selection.focused = Some(example_run(8));
        screen.state().analysis.take_steps(example_run(8), EXAMPLE_STEPS.to_vec());
        screen.settle();
        assert!(screen.has("Reading the analysis…") && !screen.has("Play the steps"));
    }
}

#[test]
fn empty_panels_say_what_would_fill_them_and_offer_it() {
    for (_, name) in PANELS {
        let mut screen = Screen::recorder();
        screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
        screen.click(name);
        assert!(screen.has("No runs yet") && screen.has("Set up a run"), "{:#?}", screen.words());
        fill_with_examples(screen.state());
        fill_with_analyses(screen.state());
        screen.state().selection.focused = Some(example_run(3));
        screen.settle();
        assert!(screen.says("No analysis of \"grammar decoder, 1 head\" yet"), "{:#?}", screen.words());
        screen.click("Set up the same run with analyses during training");
        assert_eq!(screen.window().open_panel(), PanelId::CONFIGURE);
    }
}

#[test]
fn an_analysis_without_a_part_says_so() {
    for (_, name) in PANELS {
        let mut screen = Screen::recorder();
        fill_with_examples(screen.state());
        let mut analysis = example_analysis(2, 2, 100);
        analysis.similarity.clear();
        (analysis.spectra, analysis.captured) = (None, None);
        analysis.notes = vec!["Scores of layer 1 are not finite from example 3 on.".to_owned()];
        screen.state().selection.focused = Some(example_run(8));
        screen.state().analysis.take_steps(example_run(8), vec![100]);
        screen.state().analysis.take(example_run(8), 100, analysis);
        screen.click(name);
        assert!(screen.says("did not compare") || screen.says("has no spectra of scores"), "{:#?}", screen.words());
        assert!(screen.says("are not finite from example 3 on"));
    }
}

#[test]
fn a_pair_of_layers_names_its_heads_and_a_head_names_its_like() {
    let mut screen = full("Redundancy");
    assert!(screen.says("S(A, B) = 1 - mean over p"), "the formula is on the screen: {:#?}", screen.words());
    assert!(screen.says("Neighbouring layers 0.") && screen.says("step 400") || screen.says("Step 400"));
    let map = "Map: similarity of layers";
    assert!(screen.description(map).0.starts_with("6 × 6"), "{:?}", screen.description(map));
    // With the keyboard: the first arrow shows where one is, two more go right, Enter chooses L0 and L2.
    screen.focus(map);
    for key in [Key::ArrowRight, Key::ArrowRight, Key::ArrowRight, Key::Enter] {
        screen.press(Modifiers::NONE, key);
    }
    assert!(screen.has("L0 and L2:"), "{:#?}", screen.words());
    let best = example_analysis(6, 8, 400 + 240).similarity[0].best_pair(0, 2).unwrap();
    let name = format!("L0H{}", best.0.head);
    screen.click(&name);
    assert!(screen.has(&format!("Heads similar to {name}")), "{:#?}", screen.words());
    let like = example_analysis(6, 8, 400 + 240).similarity[0].like(best.0)[0];
    let first = format!("L{}H{}, similarity {:.3}", like.0.layer, like.0.head, like.1);
    screen.click(&first);
    assert!(screen.has(&format!("Heads similar to L{}H{}", like.0.layer, like.0.head)), "{:#?}", screen.words());
    // Esc frees the head, then the pair.
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.says("Heads similar to") && screen.has("L0 and L2:"));
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("L0 and L2:"));
    // A head of the map is chosen by a click.
    screen.click("Layer 3 head 5");
    assert!(screen.has("Heads similar to L3H5"), "{:#?}", screen.words());
}

#[test]
fn escape_leaves_a_field_before_its_form() {
    let mut screen = full("Redundancy");
    screen.click("Analyse a checkpoint");
    screen.focus("Examples");
    assert!(screen.has("Tokens"), "{:#?}", screen.words());
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(screen.has("Examples"), "the form stays: what is typed next would choose panels");
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("Examples"), "{:#?}", screen.words());
}

#[test]
fn groups_follow_the_threshold() {
    let mut screen = full("Redundancy");
    let groups = |screen: &Screen| screen.words().into_iter().find(|word| word.contains("could come from"));
    let before = groups(&screen).expect("groups at the usual threshold");
    screen.focus("Threshold");
    for _ in 0..10 {
        screen.press(Modifiers::NONE, Key::ArrowLeft);
    }
    let after = groups(&screen).unwrap();
    assert_ne!(before, after, "heads that are less similar are grouped too");
    for _ in 0..200 {
        screen.press(Modifiers::NONE, Key::ArrowRight);
    }
    assert!(screen.says("No two heads are that similar."), "{:#?}", groups(&screen));
}

#[test]
fn the_scrubber_goes_through_the_steps_and_follows_the_run() {
    for (_, name) in PANELS {
        let mut screen = full(name);
        assert!(screen.says("Step 400 (8 of 8, the newest)"), "{:#?}", screen.words());
        screen.focus("Step of the analysis");
        screen.press(Modifiers::NONE, Key::ArrowLeft);
        assert!(screen.says("Step 350 (7 of 8)"), "{:#?}", screen.words());
        screen.press(Modifiers::NONE, Key::ArrowRight);
        let run = example_run(8);
        screen.state().analysis.take_step(&run, 450);
        screen.state().analysis.take(run, 450, example_analysis(6, 8, 450));
        screen.settle();
        assert!(screen.says("Step 450 (9 of 9, the newest)"), "it follows: {:#?}", screen.words());
        screen.click("Play the steps");
        assert!(!screen.says("(9 of 9"), "from the last it begins at the first: {:#?}", screen.words());
        assert!(screen.repaint_delay() < Duration::from_secs(1), "the next step comes by itself");
        screen.wait("the end", |screen| screen.says("(9 of 9, the newest)"));
        screen.settle();
        assert!(screen.repaint_delay() >= Duration::from_secs(1), "and then it rests");
    }
}

#[test]
fn idle_panels_ask_for_no_frame() {
    for (_, name) in PANELS {
        let mut screen = full(name);
        for _ in 0..4 {
            screen.step();
        }
        assert!(screen.repaint_delay() >= Duration::from_secs(1), "{name} wants {:?}", screen.repaint_delay());
    }
}

#[test]
fn spectra_show_curves_numbers_and_what_is_not_known() {
    let mut screen = full("Spectra");
    let lines = |screen: &Screen| screen.description("Chart: Energy in the first components").0;
    assert!(lines(&screen).starts_with("8 lines."), "network, without means, six layers: {}", lines(&screen));
    screen.choose("Curves beside the network", "several steps");
    assert!(lines(&screen).starts_with("8 lines."), "seven steps and without means: {}", lines(&screen));
    screen.choose("Curves beside the network", "shown runs");
    assert!(lines(&screen).starts_with("3 lines."), "the baseline is shown: {}", lines(&screen));
    screen.click("Share of n²");
    assert!(lines(&screen).contains("Share of all n² components"), "{}", lines(&screen));
    screen.click("Per query");
    assert!(lines(&screen).starts_with("4 lines."), "{}", lines(&screen));
    for words in [
        "by iteration, right to 0.1 % (up to 384 directions)",
        "There were 768 samples for 1,024 dimensions",
        "known eigenvalues hold",
        "34 % of the energy is in the means of rows",
        "90 % of W_Q W_K^T:",
        "12 of 16 examples were shorter",
    ] {
        assert!(screen.says(words), "nothing says \"{words}\": {:#?}", screen.words());
    }
    assert!(screen.says("The largest components: ") && screen.has("Map: layers in the network's components"));
    screen.focus("Map: component 2");
    screen.press(Modifiers::NONE, Key::ArrowRight);
    screen.press(Modifiers::NONE, Key::Enter);
    assert!(screen.has("Map: component 2, large"), "{:#?}", screen.words());
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("Map: component 2, large"));
    screen.choose("Layer of the captured variance", "L4");
    assert!(screen.description("Chart: Captured variance of keys").0.starts_with("10 lines."));
    let table = screen.click_to_copy("Copy table").expect("a table");
    assert!(table.starts_with(",80 %,90 %,95 %,") && table.contains("\nL5,"), "{table}");
}

#[test]
fn maps_and_charts_leave_as_files() {
    let folder = TempDir::new().unwrap();
    for (name, figures) in [
        ("Redundancy", &["Layers by their most similar heads…", "Similarity to the layer before, ranked…"][..]),
        (
            "Spectra",
            &[
                "Energy in the first components…",
                "The largest components…",
                "Component 3…",
                "Energy of each layer in the network's first components…",
                "Energy in each query's rows…",
                "Captured variance of queries and keys…",
            ][..],
        ),
    ] {
        let mut screen = full(name);
        for (place, figure) in figures.iter().enumerate() {
            for (format, ending, begins) in [("SVG", "svg", "<svg"), ("CSV", "csv", ""), ("PNG", "png", "")] {
                let path = folder.path().join(format!("{name}{place}.{ending}"));
                screen.click("Export");
                screen.click(figure);
                screen.click(format);
                screen.fill("File", &path.display().to_string());
                screen.press(Modifiers::NONE, Key::Enter);
                screen.wait("the file", |screen| path.exists() && !screen.has("Cancel"));
                let bytes = std::fs::read(&path).unwrap();
                assert!(bytes.len() > 200, "{figure} as {format}");
                match ending {
                    "svg" => {
                        let text = String::from_utf8(bytes).unwrap();
                        assert!(text.starts_with(begins) && text.contains("<text") && text.contains("analysis"));
                    }
                    "csv" => assert!(String::from_utf8(bytes).unwrap().lines().count() > 5, "{figure}"),
                    _ => assert!(bytes.starts_with(b"\x89PNG")),
                }
            }
        }
    }
}

#[test]
fn a_checkpoint_is_analysed_on_demand_and_shown_once_it_is_there() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_analyses(screen.state());
    screen.state().selection.focused = Some(example_run(3));
    screen.click("Redundancy");
    screen.recorded();
    screen.click("Analyse its best checkpoint now");
    let asked = screen.recorded().into_iter().find_map(|command| match command {
        Command::Job(JobCommand::Analyse(commands::Analyse { analysis, target, spec, .. })) => {
            Some((analysis, target, spec))
        }
        _ => None,
    });
    let (analysis, target, spec) = asked.expect("the engine is asked");
    assert_eq!((target, spec.examples), (Target::Run { run: example_run(3), which: Which::Best }, 256));
    assert!(screen.says("is waiting in the queue") && !screen.has("Analyse its best checkpoint now"));
    let event = Event::Analysing(events::Analysing {
        analysis: analysis.clone(),
        stage: "Reading examples".to_owned(),
        fraction: 0.25,
    });
    screen.state().apply(event);
    screen.settle();
    assert!(screen.has("Progress of the analysis") && screen.says("Reading examples"), "{:#?}", screen.words());
    // How long it will take is told once that is known, after two seconds.
    let tells = |screen: &Screen| screen.words().iter().any(|told| told.starts_with("Time left: about "));
    thread::sleep(Duration::from_millis(2_050));
    let event =
        Event::Analysing(events::Analysing { analysis: analysis.clone(), stage: "Spectra".to_owned(), fraction: 0.5 });
    screen.state().apply(event);
    screen.settle();
    assert!(tells(&screen) && screen.says("Spectra"), "{:#?}", screen.words());
    let mut found = example_analysis(3, 4, 600);
    found.projections = vec![Projection {
        onto: "the best of \"grammar decoder\"".to_owned(),
        network: vec![0.5, 0.75],
        layers: vec![vec![0.4, 0.7], Vec::new(), vec![0.6, 0.8]],
    }];
    let result = Box::new(found);
    screen.state().apply(Event::Analysed(events::Analysed { analysis: analysis.clone(), result }));
    screen.state().apply(Event::AnalyseEnded(events::AnalyseEnded {
        analysis: analysis.clone(),
        complete: true,
        why: None,
        is_refusal: false,
        unwritten: None,
    }));
    let summary = AnalysisSummary {
        id: analysis.clone(),
        number: 1,
        run: Some(example_run(3)),
        target: "the best checkpoint".to_owned(),
        step: Some(600),
        data: "held-out text".to_owned(),
        shuffled: None,
        examples: 256,
        tokens: 32,
        created_ms: 0,
        reconstructs: false,
    };
    screen.state().apply(Event::Analyses(events::Analyses { analyses: vec![summary.clone()] }));
    screen.settle();
    assert!(screen.has("Map: similarity of layers") && !screen.has("Play the steps"), "{:#?}", screen.words());
    assert!(screen.description("Map: similarity of layers").0.starts_with("3 × 3"));
    screen.click("Spectra");
    assert!(screen.has("Chart: Energy in the space of the best of \"grammar decoder\""), "{:#?}", screen.words());
    assert!(screen.value("Which analysis").contains("256 × 32 tokens"), "{}", screen.value("Which analysis"));
    // Its form asks for more.
    screen.click("Analyse a checkpoint");
    screen.click("Cosine");
    screen.click("Spectra of heads");
    screen.choose("Space to project on", "grammar decoder, seed 1 (finished)");
    screen.recorded();
    screen.click("Start the analysis");
    let spec = screen.recorded().into_iter().find_map(|command| match command {
        Command::Job(JobCommand::Analyse(commands::Analyse { spec, subspaces, .. })) => Some((spec, subspaces)),
        _ => None,
    });
    let (spec, subspaces) = spec.expect("the engine is asked");
    assert_eq!(spec.similarity, [Measure::TotalVariation, Measure::Cosine]);
    assert!(spec.spectrum.is_some_and(|spectrum| spectrum.heads));
    assert_eq!(subspaces[0].target, Target::Run { run: example_run(0), which: Which::Best });
    screen.click("Cancel the analysis");
    assert!(screen.recorded().iter().any(|command| matches!(command, Command::Cancel(_))));
    // Deleted, and brought back by Undo.
    screen.click("Delete the analysis");
    assert!(screen.says("No analysis of"), "{:#?}", screen.words());
    screen.press(Modifiers::COMMAND, Key::Z);
    let back =
        |command: &Command| matches!(command, Command::DeleteAnalysis(commands::DeleteAnalysis { deleted: false, .. }));
    assert!(screen.recorded().iter().any(back));
}

#[test]
fn an_analysis_that_failed_says_why() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_analyses(screen.state());
    screen.state().selection.focused = Some(example_run(3));
    screen.click("Spectra");
    screen.click("Analyse its best checkpoint now");
    let analysis = screen.state().analysis.pending[0].analysis.clone();
    let why = Some("An exact covariance of 16,384 dimensions needs 2 GiB, and 1 GiB is free.".to_owned());
    screen.state().apply(Event::AnalyseEnded(events::AnalyseEnded {
        analysis,
        complete: false,
        why,
        is_refusal: false,
        unwritten: None,
    }));
    screen.settle();
    assert!(screen.says("needs 2 GiB") && screen.has("Analyse its best checkpoint now"), "{:#?}", screen.words());
}

#[test]
fn an_analysis_that_waits_is_moved_in_the_queue() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    for number in [0, 3] {
        screen.state().analysis.analyse_beside(&example_run(number), "a run", false, std::path::PathBuf::new());
    }
    screen.settle();
    screen.recorded();
    let order = |screen: &mut Screen| -> Vec<String> {
        screen.state().analysis.pending.iter().map(|pending| pending.analysis.to_string()).collect()
    };
    let [first, second]: [String; 2] = order(&mut screen).try_into().unwrap();
    let moved = |screen: &mut Screen| {
        screen.recorded().into_iter().find_map(|command| match command {
            Command::Move(commands::Move { run, position }) => Some((run.to_string(), position)),
            _ => None,
        })
    };
    // A run waits, too.
    screen.click("Queue, 3 wait");
    let button = |screen: &Screen, start: &str, end: &str| {
        screen.words().into_iter().find(|word| word.starts_with(start) && word.ends_with(end)).unwrap()
    };
    let last = button(&screen, "Last: Analysis of ", ", place 1");
    screen.click(&last);
    assert_eq!(moved(&mut screen), Some((first.clone(), usize::MAX)));
    assert_eq!(order(&mut screen), [second.clone(), first.clone()]);
    let back = button(&screen, "First: Analysis of ", ", place 2");
    screen.click(&back);
    assert_eq!(moved(&mut screen), Some((first.clone(), 0)));
    assert_eq!(order(&mut screen), [first, second]);
}

/// Lets the request fail that `is_meant`.
fn fail(screen: &mut Screen, is_meant: impl Fn(&Command) -> bool) {
    let requests = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let asked = requests.iter().find(|request| is_meant(&request.command)).unwrap();
    let why = "The arrays of this analysis are damaged.".to_owned();
    let event = Event::Failed(events::Failed { run: None, why, what_to_do: String::new() });
    screen.state().apply(Notice { ticket: Some(asked.ticket), event });
    screen.settle();
}

#[test]
fn an_analysis_that_cannot_be_read_says_why_and_is_asked_for_again() {
    for name in ["Redundancy", "Spectra", "Adviser"] {
        let mut screen = Screen::recorder();
        fill_with_examples(screen.state());
        let run = example_run(8);
        screen.state().selection.focused = Some(run.clone());
        screen.click(name);
        // The steps at which the run kept one, then the one of a step.
        fail(&mut screen, |command| matches!(command, Command::LoadLiveAnalyses(_)));
        assert!(screen.has("The analysis cannot be read") && screen.says("are damaged"), "{:#?}", screen.words());
        assert!(screen.repaint_delay() >= Duration::from_secs(1), "and it rests");
        screen.recorded();
        screen.click("Try again");
        assert!(screen.recorded().iter().any(|command| matches!(command, Command::LoadLiveAnalyses(_))));
        screen.state().analysis.take_steps(run.clone(), vec![100]);
        screen.settle();
        fail(&mut screen, |command| {
            matches!(command, Command::LoadLiveAnalysis(commands::LoadLiveAnalysis { step: 100, .. }))
        });
        assert!(screen.has("The analysis cannot be read"), "{name}: {:#?}", screen.words());
        screen.click("Try again");
        assert!(screen.has("Reading the analysis…"), "{name}: {:#?}", screen.words());
        screen.state().analysis.take(run, 100, example_analysis(6, 8, 100));
        screen.settle();
        assert!(screen.has("Export") && !screen.has("Try again"), "{name}: {:#?}", screen.words());
    }
}

#[test]
fn a_run_that_trains_is_analysed_and_its_panels_fill() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    let path = write_tiny(folder.path(), "tiny", 1);
    let text = std::fs::read_to_string(&path).unwrap().replace("layers = 1", "layers = 2");
    std::fs::write(&path, text).unwrap();
    train(&mut screen, &path);
    screen.click("Redundancy");
    screen.wait_for("Map: similarity of layers");
    screen.settle();
    // Analyses in between may have been left out, where they took too much of the time.
    assert!(screen.says("Step 24 (") && screen.says(", the newest)"), "{:#?}", screen.words());
    assert!(screen.description("Map: similarity of layers").0.starts_with("2 × 2"));
    screen.click("Spectra");
    screen.wait_for("Chart: Energy in the first components");
    screen.click("Analyse a checkpoint");
    screen.click("Start the analysis");
    screen.wait("the analysis on demand", |screen| {
        screen.has("Which analysis") && screen.state().analysis.pending.is_empty()
    });
    screen.wait_for("Chart: Energy in each query's rows");
    // The same of another text than the run's own.
    let other = folder.path().join("other.txt");
    std::fs::write(&other, "the old men see a river that they fear. ".repeat(200)).unwrap();
    screen.click("Analyse a checkpoint");
    screen.fill("Text file", &other.display().to_string());
    // What is typed for a run stands in the forms of all panels.
    screen.click("Redundancy");
    screen.click("Analyse a checkpoint");
    assert_eq!(screen.value("Text file"), other.display().to_string());
    screen.click("Spectra");
    screen.click("Start the analysis");
    screen.wait("the analysis of another text", |screen| screen.says("other.txt"));
    assert!(screen.state().analysis.pending.is_empty());
    screen.close();
}

/// Lets the engine's answers about maps come until nothing more is asked.
fn answered(screen: &mut Screen) {
    for _ in 0..4 {
        let asked = screen.recorded();
        answer_maps(screen.state(), &asked);
        screen.settle();
    }
}

#[test]
fn heads_show_every_map_and_one_with_its_tokens() {
    let mut screen = Screen::recorder();
    screen.click("Heads");
    assert!(screen.has("Reading the runs…"));
    fill_with_examples(screen.state());
    screen.state().selection.focused = Some(example_run(9));
    screen.settle();
    assert!(screen.says("has no checkpoint yet"), "{:#?}", screen.words());
    screen.state().selection.focused = Some(example_run(8));
    screen.settle();
    assert!(screen.has("Reading the text with the model…"), "{:#?}", screen.words());
    answered(&mut screen);
    assert!(screen.has("Map: L5H3") && screen.says("Step 400, 27 tokens"), "{:#?}", screen.words());
    screen.focus("Map: L2H1");
    screen.press(Modifiers::NONE, Key::Enter);
    answered(&mut screen);
    assert_eq!(screen.count("Map: L2H1"), 2, "the thumbnail and the large one");
    screen.click("Hide special tokens");
    // Another head beside it, with their difference.
    screen.choose("Beside the head", "another head: click it");
    screen.focus("Map: L3H0");
    screen.press(Modifiers::NONE, Key::Enter);
    answered(&mut screen);
    assert!(screen.has("Map: L2H1 minus L3H0"), "{:#?}", screen.words());
    let (told, _) = screen.description("Map: L2H1 minus L3H0");
    assert!(told.starts_with("25 × 25"), "without the two special ones: {told}");
    let help = "Point at a row to see what its query attends to, at the name of a key to see what attends to it. A click \
                locks it, Esc releases it.";
    assert_eq!(screen.labels(help), 1, "once for the three maps");
    screen.focus("Map: L2H1 minus L3H0");
    screen.press(Modifiers::NONE, Key::Enter);
    assert!(screen.says("1 \"the\": ") && screen.says("sum of the row"), "{:#?}", screen.words());
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.says("sum of the row"), "Esc frees the row");
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.has("Map: L2H1 minus L3H0"), "then what stands beside it");
    assert!(screen.repaint_delay() >= Duration::from_secs(1), "and it rests");
}

/// The same of a model whose queries see no later token.
fn answered_causally(screen: &mut Screen) {
    const TOKENS: usize = 27;
    for _ in 0..4 {
        let is_map = |command: &Command| matches!(command, Command::LoadMap(_));
        let (maps, others): (Vec<Command>, Vec<Command>) = screen.recorded().into_iter().partition(is_map);
        answer_maps(screen.state(), &others);
        for command in maps {
            if let Command::LoadMap(commands::LoadMap { view, layer, head }) = command {
                // More to the first token, the deeper the layer.
                let weight = |query: usize, key: usize| match (query, key) {
                    (0, 0) => 1.0,
                    (_, 0) => 0.5 + 0.1 * layer as f32,
                    (query, key) if key <= query => (0.5 - 0.1 * layer as f32) / query as f32,
                    _ => 0.0,
                };
                let values = (0..TOKENS * TOKENS).map(|at| weight(at / TOKENS, at % TOKENS)).collect();
                screen.state().apply(Event::Map(events::Map { view, layer, head, values }));
            }
        }
        screen.settle();
    }
}

#[test]
fn cells_that_a_query_does_not_see_are_told_as_masked() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().selection.focused = Some(example_run(8));
    screen.click("Heads");
    answered_causally(&mut screen);
    screen.choose("Beside the head", "another head: click it");
    screen.focus("Map: L3H0");
    screen.press(Modifiers::NONE, Key::Enter);
    answered_causally(&mut screen);
    // The cell of the keyboard is told where the pointer is elsewhere.
    screen.point_at("Hide special tokens");
    let map = "Map: L0H0 minus L3H0";
    screen.focus(map);
    screen.press(Modifiers::NONE, Key::ArrowRight);
    let told = screen.description(map).0;
    assert!(told.contains("0 \"[CLS]\" attends to 0 \"[CLS]\": 0"), "{told}");
    screen.press(Modifiers::NONE, Key::ArrowRight);
    let told = screen.description(map).0;
    assert!(told.contains("0 \"[CLS]\" does not attend to 1 \"the\": masked, a later token"), "{told}");
    screen.press(Modifiers::NONE, Key::ArrowDown);
    let told = screen.description(map).0;
    assert!(told.contains("1 \"the\" attends to 1 \"the\": 0.3") && !told.contains("masked"), "{told}");
}

#[test]
fn tokens_are_clicked_and_all_heads_of_a_layer_are_arcs_between_them() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().selection.focused = Some(example_run(8));
    screen.click("Heads");
    answered(&mut screen);
    // The name of a query, then that of a key, stays told of while the pointer is elsewhere; Esc frees it.
    for (names, told) in [("Query names of L0H0", "sum of the row"), ("Key names of L0H0", "\" attend: ")] {
        screen.click(names);
        screen.point_at("Arcs");
        assert!(screen.says(told), "{:#?}", screen.words());
        screen.press(Modifiers::NONE, Key::Escape);
        assert!(!screen.says(told), "{:#?}", screen.words());
    }
    screen.click("Arcs");
    answered(&mut screen);
    assert!(screen.has("Layer 0") && screen.has("Draw L0H7") && screen.has("Query 1 \"the\""), "{:#?}", screen.words());
    screen.click("Query 1 \"the\"");
    assert!(screen.says("1 \"the\" attends to · H0: ") && screen.says("· H7: "), "{:#?}", screen.words());
    screen.click("Draw L0H7");
    assert!(!screen.says("· H7: "), "a head that is not drawn is not told of");
    screen.click("Key 2 \"old\"");
    assert!(screen.says("2 \"old\" is attended to by · H0: "), "{:#?}", screen.words());
    // Another layer by its thumbnail.
    screen.focus("Map: L2H1");
    screen.press(Modifiers::NONE, Key::Enter);
    answered(&mut screen);
    screen.point_at("Arcs");
    assert!(screen.has("Layer 2") && !screen.says("is attended to by"), "{:#?}", screen.words());
    for (figure, title) in [("The arcs…", "Attention in layer 2"), ("All heads…", "Attention of all heads")] {
        screen.click("Export");
        screen.click(figure);
        assert!(screen.says(title), "{:#?}", screen.words());
        screen.press(Modifiers::NONE, Key::Escape);
    }
}

#[test]
fn maps_that_cannot_be_shown_say_why_and_can_be_tried_again() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().selection.focused = Some(example_run(8));
    screen.click("Heads");
    screen.settle();
    let requests = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let asked = requests.iter().find(|request| matches!(request.command, Command::LoadMaps(_))).unwrap();
    let why = "The maps of a run cannot be shown. The text has 900 tokens, the model reads at most 64.".to_owned();
    let event = Event::Failed(events::Failed { run: None, why, what_to_do: String::new() });
    screen.state().apply(Notice { ticket: Some(asked.ticket), event });
    screen.settle();
    assert!(screen.says("reads at most 64"), "{:#?}", screen.words());
    screen.click("Try again");
    answered(&mut screen);
    assert!(screen.has("Map: L0H0"), "{:#?}", screen.words());
}

#[test]
fn a_pair_of_layers_opens_its_heads_side_by_side() {
    let mut screen = full("Redundancy");
    screen.focus("Map: similarity of layers");
    for key in [Key::ArrowRight, Key::ArrowRight, Key::Enter] {
        screen.press(Modifiers::NONE, key);
    }
    screen.click("Show their maps");
    assert_eq!(screen.window().open_panel(), PanelId::HEADS);
    answered(&mut screen);
    assert!(
        screen.words().iter().any(|word| word.starts_with("Map: L0H") && word.contains(" minus L1H"))
            || screen.says("The other model has no"),
        "{:#?}",
        screen.words()
    );
}

#[test]
fn groups_are_marked_on_the_head_map_of_configure() {
    let mut screen = full("Redundancy");
    screen.click("Mark them in Configure");
    assert_eq!(screen.window().open_panel(), PanelId::CONFIGURE);
    if screen.has("Go to the form") {
        screen.click("Go to the form");
    }
    assert!(screen.says("are of 6 × 8 heads and are not shown on other maps"), "{:#?}", screen.words());
    screen.fill("Layers", "6");
    screen.fill("Heads", "8");
    screen.settle();
    assert!(screen.says("Stripes: groups of heads that are similar in"), "{:#?}", screen.words());
    let marked = |screen: &Screen| {
        let all = (0..6).flat_map(|layer| (0..8).map(move |head| format!("Layer {layer} head {head}")));
        all.filter(|name| screen.description(name).0.contains("group A, similar in")).count()
    };
    let group = screen.state().analysis.marked.as_ref().unwrap().marks.groups[0].len();
    assert_eq!((marked(&screen), group > 1), (group, true));
    screen.click("Remove the marks");
    assert_eq!(marked(&screen), 0);
    assert!(!screen.says("Stripes:"), "{:#?}", screen.words());
}

#[test]
fn analyses_of_other_texts_and_lengths_stand_beside_each_other() {
    let mut screen = full("Spectra");
    fill_with_control(screen.state());
    screen.settle();
    screen.choose("Curves beside the network", "analyses on demand");
    let lines = screen.description("Chart: Energy in the first components").0;
    assert!(lines.starts_with("4 lines."), "the network, without means, two on demand: {lines}");
    // Another length and order are asked for where everything else is.
    screen.recorded();
    screen.click("Analyse a checkpoint");
    screen.fill("Tokens", "16");
    screen.choose("Order of the text", "text shuffled");
    screen.click("Start the analysis");
    let spec = screen.recorded().into_iter().find_map(|command| match command {
        Command::Job(JobCommand::Analyse(commands::Analyse { spec, .. })) => Some(spec),
        _ => None,
    });
    let spec = spec.expect("the engine is asked");
    assert_eq!((spec.tokens, spec.shuffled), (Some(16), Some(true)));
}

#[test]
fn nothing_is_wider_than_the_panel() {
    let mut screen = full("Spectra");
    // Beside an open inspector, and in a small window.
    for size in [vec2(1280.0, 820.0), vec2(1120.0, 1900.0), vec2(820.0, 500.0)] {
        screen.resize(size);
        let end = if screen.has("Name of the run") { screen.rect("Name of the run").left() } else { size.x };
        let maps = ["Map: layers in the network's components", "Chart: Energy in the first components"];
        let components = (1..=12).map(|place| format!("Map: component {place}"));
        let charts = ["queries", "keys", "queries and keys"].map(|kind| format!("Chart: Captured variance of {kind}"));
        for name in maps.map(str::to_owned).into_iter().chain(charts).chain(components).filter(|name| screen.has(name))
        {
            let rect = screen.rect(&name);
            assert!(rect.right() <= end, "{name} at {size}: {rect:?} beyond {end}");
        }
        assert!(screen.has(maps[0]) && screen.has("Map: component 4"), "{:#?}", screen.words());
    }
}

#[test]
fn charts_of_spectra_are_made_higher_by_their_handles() {
    let mut screen = full("Spectra");
    for (chart, handle, field, height) in [
        ("Chart: Energy in the first components", "Height of cumulative energy", "energy", 360.0),
        ("Chart: Captured variance of keys", "Height of captured variance", "captured", 280.0),
    ] {
        screen.focus(handle);
        screen.settle();
        let before = screen.rect(chart).height();
        for _ in 0..3 {
            screen.press(Modifiers::NONE, Key::ArrowDown);
        }
        screen.settle();
        let after = screen.rect(chart).height();
        assert!((after - before - 60.0).abs() < 1.0, "{chart}: {before} {after}");
        let kept: serde_json::Value = screen.window().settings.of_panel("spectra");
        // From the usual one, or from what a window so high leaves to it.
        assert!(kept["heights"][field].as_f64().is_some_and(|kept| kept >= height), "{kept}");
    }
}

#[test]
fn charts_of_spectra_fill_a_high_window() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let mut analysis = example_analysis(2, 2, 100);
    analysis.spectra = None;
    screen.state().selection.focused = Some(example_run(8));
    screen.state().analysis.take_steps(example_run(8), vec![100]);
    screen.state().analysis.take(example_run(8), 100, analysis);
    screen.click("Spectra");
    let [low, high, higher] = [480.0, 900.0, 1000.0].map(|height| {
        screen.resize(vec2(1900.0, height));
        screen.rect("Chart: Captured variance of keys").height()
    });
    assert!(high > low + 150.0, "{low} {high}");
    assert!((higher - high - 100.0).abs() < 2.0, "{high} {higher}");
}

#[test]
fn every_layer_of_the_groups_is_seen_wherever_they_begin() {
    // Below the matrix, and below what is seen: what is left of the panel there says nothing of the room.
    let mut screen = full("Redundancy");
    let mut height = |size| {
        screen.resize(size);
        screen.rect("Mark them in Configure").top() - screen.rect("Threshold").bottom()
    };
    let seen = height(vec2(800.0, 3000.0));
    assert!(seen > 6.0 * 14.0, "six layers: {seen}");
    for low in [400.0, 600.0, 800.0] {
        let found = height(vec2(800.0, low));
        assert!((found - seen).abs() < 2.0, "{found} of {seen} points in a window of {low}");
    }
}

#[test]
fn a_curve_that_an_analysis_lacks_cannot_be_ticked() {
    let mut screen = full("Spectra");
    assert!(screen.is_enabled("Without row means"));
    let mut analysis = example_analysis(6, 8, 450);
    if let Some(spectra) = &mut analysis.spectra {
        spectra.row_mean_subtracted = None;
    }
    let run = example_run(8);
    screen.state().analysis.take_step(&run, 450);
    screen.state().analysis.take(run, 450, analysis);
    screen.settle();
    assert!(!screen.is_enabled("Without row means"));
}

#[test]
fn a_note_stands_in_the_panel_that_it_is_about() {
    let mut screen = full("Spectra");
    let mut analysis = example_analysis(6, 8, 450);
    analysis.note(Topic::Spectra, ["There are few samples.".to_owned()]);
    analysis.note(Topic::Reconstruction, ["Pairs were left out.".to_owned()]);
    let run = example_run(8);
    screen.state().analysis.take_step(&run, 450);
    screen.state().analysis.take(run, 450, analysis);
    screen.settle();
    assert!(screen.says("12 of 16 examples") && screen.says("few samples") && !screen.says("Pairs were left out"));
    screen.click("Redundancy");
    assert!(screen.says("12 of 16 examples") && !screen.says("few samples") && !screen.says("Pairs were left out"));
    screen.click("Adviser");
    assert!(!screen.says("few samples") && !screen.says("Pairs were left out"), "{:#?}", screen.words());
    screen.click("Reconstruct");
    assert!(!screen.says("few samples"), "{:#?}", screen.words());
}

#[test]
fn an_analysis_of_another_program_reaches_an_open_window() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    screen.click("Spectra");
    let directories = |screen: &mut Screen| screen.state().analysis.directories();
    assert!(directories(&mut screen).is_empty());
    screen.wait("the list", |screen| screen.state().analysis.has_list());
    let other = Store::open(&store(&folder), OpenMode::ReadWrite).unwrap();
    let mut found = example_analysis(2, 2, 1);
    found.target = "/models/elsewhere".to_owned();
    let id = AnalysisId::new();
    other.record_analysis(&id, None, &AnalysisSpec::default(), &found).unwrap();
    screen.wait("the analysis", |screen| !directories(screen).is_empty());
    assert_eq!(directories(&mut screen), [Path::new("/models/elsewhere")]);
    // And its going.
    other.set_analysis_deleted(&id, true).unwrap();
    screen.wait("its going", |screen| directories(screen).is_empty());
    screen.close();
}
