//! The Adviser: what follows the sliders, what is trained, and its four states.

use egui::{Key, Modifiers};
use headroom_app::{context::PanelId, link::Link};
use headroom_engine::{
    advise::{Adviser, Wishes},
    analysis::Analysis,
    attention::ModelFacts,
    config::{from_toml, to_toml},
    protocol::{Command, Event, Request, Target, commands, events},
    store::{AdviceRecord, Advised, AnalysisId, AnalysisSummary, RunState},
};
use headroom_tests::{
    EXAMPLE_STEPS, Screen, example_analysis, example_record, example_run, example_runs, fill_with_analyses,
    fill_with_control, fill_with_examples,
};
use tempfile::TempDir;

use crate::common::{store, train, write_tiny};

/// On the baseline of the examples, of whose model there are analyses of its own size.
fn full() -> Screen {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_analyses(screen.state());
    let config = from_toml(&example_record(0).config_toml).unwrap();
    let analysis = example_analysis(config.model.layers, config.model.heads, 400);
    screen.state().analysis.take_steps(example_run(0), vec![400]);
    screen.state().analysis.take(example_run(0), 400, analysis);
    screen.state().selection.focused = Some(example_run(0));
    screen.click("Adviser");
    assert_eq!(screen.window().open_panel(), PanelId::ADVISER);
    screen
}

fn adviser() -> Adviser {
    let record = example_record(0);
    let config = from_toml(&record.config_toml).unwrap();
    let analysis = example_analysis(config.model.layers, config.model.heads, 400);
    let facts = ModelFacts::of_parameters(&config, record.summary.parameters);
    Adviser::new(&config, record.summary.id.as_str(), &facts, &analysis, None).unwrap()
}

/// Moves a slider by so many hundredths.
fn slide(screen: &mut Screen, name: &str, hundredths: i32) {
    screen.focus(name);
    let key = if hundredths < 0 { Key::ArrowLeft } else { Key::ArrowRight };
    for _ in 0..hundredths.abs() {
        screen.press(Modifiers::NONE, key);
    }
}

#[test]
fn while_anything_is_read_and_where_there_is_nothing_it_says_so() {
    let mut screen = Screen::recorder();
    screen.click("Adviser");
    assert!(screen.has("Reading the runs…"), "{:#?}", screen.words());
    screen.state().apply(Event::Runs(events::Runs { runs: Vec::new() }));
    screen.settle();
    assert!(screen.has("No runs yet"));
    fill_with_examples(screen.state());
    screen.settle();
    assert!(screen.has("Reading the analysis…"), "{:#?}", screen.words());
    fill_with_analyses(screen.state());
    screen.state().selection.focused = Some(example_run(3));
    screen.settle();
    assert!(screen.says("No analysis of \"grammar decoder, 1 head\" yet") && screen.says("could borrow"));
    assert!(screen.has("Analyse its best checkpoint now"));
    // An analysis of another model, and one without its parts.
    screen.state().selection.focused = Some(example_run(0));
    screen.settle();
    assert!(screen.says("The analysis is of 6 layers of 8 heads, the run has"), "{:#?}", screen.words());
    let mut bare = example_analysis(6, 8, 100);
    bare.similarity.clear();
    bare.captured = None;
    screen.state().analysis.take_steps(example_run(0), EXAMPLE_STEPS.to_vec());
    screen.state().analysis.take(example_run(0), 400, bare);
    screen.settle();
    assert!(screen.says("did not compare the heads' maps") && screen.says("Analyse reconstruction first"));
    assert!(!screen.is_enabled("Train what is advised"));
}

/// A run that trains an initial model further was proposed a config that was refused when it started.
#[test]
fn a_run_that_was_trained_further_is_set_up_as_a_conversion() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_analyses(screen.state());
    let mut record = example_record(0);
    let mut config = from_toml(&record.config_toml).unwrap();
    config.model.initial = Some("m".to_owned());
    (record.config_toml, record.config) = (to_toml(&config), serde_json::to_value(&config).unwrap());
    screen.state().records.insert(example_run(0), record);
    let analysis = example_analysis(config.model.layers, config.model.heads, 400);
    screen.state().analysis.take_steps(example_run(0), vec![400]);
    screen.state().analysis.take(example_run(0), 400, analysis);
    screen.state().selection.focused = Some(example_run(0));
    screen.window().settings.set_panel("adviser", &serde_json::json!({ "similarity": 0.0 }));
    screen.click("Adviser");
    assert!(
        screen.says("keeps the attention of that model") && screen.says("1. maps borrowed"),
        "{:#?}",
        screen.words()
    );
    assert!(!screen.has("Train what is advised"));
    screen.click("Set it up in Models");
    assert_eq!(screen.window().open_panel(), PanelId::MODELS);
    screen.settle();
    let asked = screen.window().link().map(Link::take_requests).unwrap_or_default();
    let is_it = |request: &Request| {
        let Command::DescribeModel(commands::DescribeModel { target: Target::Run { run, .. } }) = &request.command
        else {
            return false;
        };
        *run == example_run(0)
    };
    assert!(asked.iter().any(is_it), "{asked:?}");
}

#[test]
fn dragging_a_slider_changes_plan_and_numbers() {
    let mut screen = full();
    let adviser = adviser();
    let borrowing = adviser.borrowing().unwrap();
    let computing = adviser.plan().layers() * adviser.plan().heads();
    let words = |similarity: f64| match borrowing.count(similarity) {
        0 => format!("None of {computing} heads could borrow"),
        1 => format!("1 of {computing} heads could borrow"),
        more => format!("{more} of {computing} heads could borrow"),
    };
    assert!(screen.says(&words(0.9)), "{:#?}", screen.words());
    slide(&mut screen, "Similarity from", -40);
    assert!(borrowing.count(0.5) > borrowing.count(0.9), "the example is no example");
    assert!(screen.says(&words(0.5)), "{:#?}", screen.words());
    let predicted = adviser.advise(Wishes { similarity: Some(0.5), ..Wishes::default() }).prediction.unwrap();
    let parameters = headroom_app::format::count(predicted.proposed.parameters);
    assert!(screen.has(&parameters), "{parameters}: {:#?}", screen.words());
    // A head says why.
    screen.click("Layer 1 head 0");
    assert!(screen.says("L1H0 would use the map of") || screen.says("L1H0 goes on computing"));
    screen.press(Modifiers::NONE, Key::Escape);
    assert!(!screen.says("L1H0 goes on") && !screen.says("L1H0 would"));

    // The other sections have a say only when they are switched on.
    let found = adviser.dimensions(0.95).unwrap();
    assert!(screen.says(&format!("d_k = {}: layer {}", found.d_k, found.layer)), "{:#?}", screen.words());
    screen.click("How many dimensions heads could share");
    let both = adviser.advise(Wishes { similarity: Some(0.5), energy: Some(0.95), error: None }).prediction.unwrap();
    let parameters = headroom_app::format::count(both.proposed.parameters);
    assert!(screen.has(&parameters), "{parameters}: {:#?}", screen.words());
    slide(&mut screen, "Energy kept", -30);
    let fewer = adviser.dimensions(0.65).unwrap();
    assert!(fewer.d_k < found.d_k && screen.says(&format!("d_k = {}:", fewer.d_k)), "{:#?}", screen.words());
    assert!(!screen.is_enabled("Error allowed"), "nothing was measured of pairs");

    // Into the queue.
    let _ = screen.recorded();
    screen.click("Train this run again beside it");
    screen.click("Train what is advised");
    let sent = screen.recorded();
    let Some(Command::TrainAdvice(commands::TrainAdvice { config, again, tag, advised, .. })) =
        sent.into_iter().find(|command| matches!(command, Command::TrainAdvice(_)))
    else {
        panic!("nothing was sent");
    };
    assert_eq!((tag.as_str(), &advised.source), ("advice:grammar decoder", &example_run(0)));
    let wishes = advised.prediction.wishes;
    assert!((wishes.similarity.unwrap() - 0.5).abs() < 1e-9 && (wishes.energy.unwrap() - 0.65).abs() < 1e-9);
    let record = from_toml(&example_record(0).config_toml).unwrap();
    assert_eq!((config.seed, &config.train, &config.data), (record.seed, &record.train, &record.data));
    assert_eq!(config.attention.compatibility.kind(), "collaborative");
    assert!(again.is_some_and(|again| again.attention == record.attention && again.name.ends_with(": again")));
    screen.click("Open the plan in Configure");
    assert_eq!(screen.window().open_panel(), PanelId::CONFIGURE);
    assert_eq!(screen.window().panels.configure.config().attention, config.attention);
}

#[test]
fn an_analysis_that_knows_the_errors_of_pairs_is_offered_and_never_the_one_that_is_shown() {
    let mut screen = full();
    let record = example_record(0);
    let config = from_toml(&record.config_toml).unwrap();
    // Both restored scores, of some other text: the one that is shown knows no errors for this plan.
    let ids = ["an0thera0a", "an0thera0b"].map(|id| id.parse::<AnalysisId>().unwrap());
    let summary = |number: u64| AnalysisSummary {
        id: ids[number as usize - 1].clone(),
        number,
        run: Some(example_run(0)),
        target: "the best checkpoint".to_owned(),
        step: Some(100 * number),
        data: "held-out text".to_owned(),
        shuffled: None,
        examples: 256,
        tokens: 32,
        created_ms: number as i64,
        reconstructs: true,
    };
    screen.state().apply(Event::Analyses(events::Analyses { analyses: vec![summary(2), summary(1)] }));
    for (id, step) in ids.iter().zip([100, 200]) {
        let analysis = example_analysis(config.model.layers, config.model.heads, step);
        screen.state().apply(Event::Analysed(events::Analysed { analysis: id.clone(), result: Box::new(analysis) }));
    }
    screen.state().analysis.open(&example_run(0).into(), Some(ids[1].clone()));
    screen.settle();
    assert!(screen.says("but in that of step 100") && !screen.says("but in that of step 200"), "{:#?}", screen.words());
    screen.click("Show the analysis that has it");
    assert!(screen.says("but in that of step 200") && !screen.says("but in that of step 100"), "{:#?}", screen.words());
    screen.state().apply(Event::Analyses(events::Analyses { analyses: vec![summary(1)] }));
    screen.settle();
    assert!(!screen.has("Show the analysis that has it"), "{:#?}", screen.words());
    assert!(screen.has("Analyse reconstruction now"));
}

#[test]
fn what_came_out_stands_beside_what_was_predicted() {
    let mut screen = full();
    let prediction = adviser().advise(Wishes { similarity: Some(0.5), ..Wishes::default() }).prediction.unwrap();
    let advised =
        Advised { source: example_run(0), beside: None, step: Some(400), words: "step 400".to_owned(), prediction };
    let record = AdviceRecord { run: example_run(1), created_ms: 0, advised };
    screen.state().apply(Event::Advice(events::Advice { advice: vec![record] }));
    screen.settle();
    for words in ["Predicted and measured: grammar decoder", "Measured", "Time of a step", "no loss is predicted"] {
        assert!(screen.says(words), "no {words} in {:#?}", screen.words());
    }
    assert!(screen.says("was not analysed"), "its maps: {:#?}", screen.words());
    assert!(screen.says("at different times"), "how its time was taken: {:#?}", screen.words());
    screen.click("Compare their curves");
    assert_eq!(screen.window().open_panel(), PanelId::COMPARE);
    assert_eq!(screen.state().selection.baseline, Some(example_run(0)));
}

#[test]
fn while_the_advised_run_trains_numbers_say_of_which_step_they_are() {
    let mut screen = full();
    let prediction = adviser().advise(Wishes { similarity: Some(0.5), ..Wishes::default() }).prediction.unwrap();
    let advised =
        Advised { source: example_run(0), beside: None, step: Some(400), words: "step 400".to_owned(), prediction };
    let run = example_run(8);
    let record = AdviceRecord { run: run.clone(), created_ms: 0, advised };
    let config = from_toml(&example_record(0).config_toml).unwrap();
    let looked = |screen: &mut Screen, step: u64| {
        let analysis = example_analysis(config.model.layers, config.model.heads, step);
        screen.state().analysis.take_steps(run.clone(), vec![step]);
        screen.state().analysis.take(run.clone(), step, analysis);
        screen.settle();
    };
    looked(&mut screen, 0);
    screen.state().apply(Event::Advice(events::Advice { advice: vec![record] }));
    screen.settle();
    assert!(screen.says("Trains now: step ") && screen.says("the run trains now: step "), "{:#?}", screen.words());
    assert!(!screen.says("(step 0)") && !screen.says("1 by construction"), "nothing came out: {:#?}", screen.words());
    looked(&mut screen, 200);
    assert!(screen.says("(step 200)") && screen.says("1 by construction"), "{:#?}", screen.words());
    let difference = screen.words().iter().any(|word| word.contains("below 0: a lower loss than before"));
    assert!(!difference, "half a training is not compared with a whole one: {:#?}", screen.words());
}

#[test]
fn while_the_run_of_before_still_trains_no_loss_is_judged() {
    let mut screen = full();
    let prediction = adviser().advise(Wishes { similarity: Some(0.5), ..Wishes::default() }).prediction.unwrap();
    let advised =
        Advised { source: example_run(0), beside: None, step: Some(400), words: "step 400".to_owned(), prediction };
    let record = AdviceRecord { run: example_run(1), created_ms: 0, advised };
    screen.state().apply(Event::Advice(events::Advice { advice: vec![record] }));
    screen.settle();
    let judged = "1 seed each: not tested";
    assert!(screen.says(judged), "both are done: {:#?}", screen.words());
    let mut runs = example_runs();
    let source = runs.iter_mut().find(|run| run.number == 0).unwrap();
    (source.state, source.steps_done) = (RunState::Running, 400);
    let mut record = example_record(0);
    record.summary = source.clone();
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.state().apply(Event::Run(events::Run {
        record: Box::new(record),
        checkpoints: Vec::new(),
        folder: "/thesis".into(),
    }));
    screen.settle();
    assert!(!screen.says(judged), "{:#?}", screen.words());
    assert!(screen.says("the run that it is held against trains now"), "{:#?}", screen.words());
}

/// An analysis in which the first head of layer 1 has the map of the first head of layer 0.
fn borrowed(step: u64) -> Analysis {
    let mut analysis = example_analysis(6, 8, step);
    for similarity in &mut analysis.similarity {
        let count = similarity.layers * similarity.heads;
        similarity.origins = (0..count).map(|head| if head == 8 { 0 } else { head }).collect();
        (similarity.mean[8], similarity.mean[8 * count]) = (1.0, 1.0);
    }
    analysis
}

#[test]
fn borrowed_maps_are_no_find_and_it_is_said() {
    let words = "1 of 48 heads borrows its map: equal to the lender's by construction";
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let run = example_run(8);
    screen.state().analysis.take_steps(run.clone(), vec![400]);
    screen.state().analysis.take(run.clone(), 400, borrowed(400));
    screen.state().selection.focused = Some(run);
    screen.click("Redundancy");
    assert!(screen.says(words), "{:#?}", screen.words());
    // The first arrow shows where one is, the second goes to the cell of layers 0 and 1.
    screen.focus("Map: similarity of layers");
    for key in [Key::ArrowRight, Key::ArrowRight, Key::Enter] {
        screen.press(Modifiers::NONE, key);
    }
    assert!(screen.has("L0 and L1:"), "{:#?}", screen.words());
    let (a, b, value) = borrowed(400).similarity[0].best_pair(0, 1).unwrap();
    assert!((a.head, b.head) != (0, 0) && value < 0.999, "the example is no example");
    assert!(screen.has(&format!("with {value:.3}")) && !screen.has("with 1.000"), "{:#?}", screen.words());

    // Beside a control too.
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    fill_with_analyses(screen.state());
    fill_with_control(screen.state());
    let first: AnalysisId = "0c0ntr01x0".parse().unwrap();
    screen.state().apply(Event::Analysed(events::Analysed { analysis: first, result: Box::new(borrowed(420)) }));
    screen.state().selection.focused = Some(example_run(8));
    screen.click("Redundancy");
    screen.click("Beside its control");
    assert!(screen.says(words), "{:#?}", screen.words());
}

#[test]
fn pairs_that_would_come_from_another_checkpoint_say_so() {
    let mut screen = full();
    let config = from_toml(&example_record(0).config_toml).unwrap();
    let mut analysis = example_analysis(config.model.layers, config.model.heads, 150);
    let mut restored = headroom_tests::example_reconstruction();
    (analysis.is_own_text, analysis.tokens) = (true, config.data.sequence_length);
    restored.scopes[0].samples = 20;
    analysis.reconstruction = Some(restored);
    screen.state().analysis.take_steps(example_run(0), vec![150]);
    screen.state().analysis.take(example_run(0), 150, analysis);
    screen.settle();
    assert!(screen.says("was measured at step 150; the advised run would take its pairs"), "{:#?}", screen.words());
    assert!(screen.says("Errors beyond k = 10 are not reliable"), "{:#?}", screen.words());
}

#[test]
fn a_trained_model_is_advised_trained_and_compared_in_the_window() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    let path = write_tiny(folder.path(), "one", 1);
    let text = std::fs::read_to_string(&path).unwrap().replace("layers = 1", "layers = 2");
    std::fs::write(&path, text).unwrap();
    train(&mut screen, &path);
    screen.click("Adviser");
    screen.wait_for("Train what is advised");
    screen.settle();
    slide(&mut screen, "Similarity from", -90);
    assert!(screen.says("2 of 4 heads could borrow"), "{:#?}", screen.words());
    screen.click("Train what is advised");
    screen.wait("the advised run's end", |screen| {
        let state = screen.state();
        state.runs.len() == 2 && state.current.is_none() && state.runs.iter().all(|run| run.state.is_ended())
    });
    screen.wait_for_words("Predicted and measured: one: 2 heads borrow");
    screen.wait_for_words("1 by construction");
    let source = screen.state().runs.iter().find(|run| run.name == "one").unwrap();
    assert_eq!(source.tags, ["advice:one"]);
    // What was predicted goes and comes back with the run.
    let advised = screen.state().runs.iter().find(|run| run.name != "one").unwrap().id.clone();
    screen.state().delete_runs(std::slice::from_ref(&advised));
    screen.wait("the run's end", |screen| !screen.says("Predicted and measured"));
    screen.state().undo_delete();
    let source = screen.state().runs.iter().find(|run| run.name == "one").unwrap().id.clone();
    screen.state().selection.focused = Some(source);
    screen.wait_for_words("Predicted and measured: one: 2 heads borrow");
    screen.close();
}

#[test]
fn charts_leave_as_figures_and_esc_closes_the_box() {
    let folder = TempDir::new().unwrap();
    for (chart, column) in [("Heads that could borrow…", "heads"), ("Energy of W_Q W_K^T, all heads of a layer…", "L1")]
    {
        let mut screen = full();
        let csv = folder.path().join("chart.csv");
        screen.click("Export");
        screen.click(chart);
        screen.click("CSV");
        screen.fill("File", &csv.display().to_string());
        screen.press(Modifiers::NONE, Key::Enter);
        screen.wait("the file", |screen| csv.exists() && !screen.has("Cancel"));
        let rows = std::fs::read_to_string(&csv).unwrap();
        assert!(rows.contains(column) && rows.lines().count() > 3, "{rows}");
        std::fs::remove_file(&csv).unwrap();
        screen.click("Export");
        screen.click(chart);
        screen.press(Modifiers::NONE, Key::Escape);
        assert!(!screen.has("CSV"), "{:#?}", screen.words());
    }
}
