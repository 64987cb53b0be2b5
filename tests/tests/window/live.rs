//! Watching a run, and the queue.

use std::time::Duration;

use egui::{Key, Modifiers, vec2};
use headroom_app::{
    context::PanelId,
    state::{ConversionRequest, CurrentRun, Question, RunSeries},
};
use headroom_engine::{
    convert::{Conversion, ToGrouped},
    protocol::{Command, Event, JobLabel, Target, events},
    store::{Direction, RunId, RunState, RunSummary, SeriesData, SeriesSummary, TextSample, series_names},
    train::{Activity, Health},
};
use headroom_tests::{Screen, example_record, example_run, example_runs, fill_with_examples};
use serde_json::json;
use tempfile::TempDir;

use crate::common::{ends, open_config, steps_read_out, store, write_tiny};

#[test]
fn a_run_is_set_up_in_the_form_started_paused_resumed_and_finished() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    screen.click("Use preset grammar-decoder");
    for (field, value) in [
        ("Name", "by hand"),
        ("Words", "1000"),
        ("Sequence length", "64"),
        ("Layers", "2"),
        ("Heads", "2"),
        ("Width", "32"),
        ("Feed-forward width", "64"),
        // Steps of a millisecond or more, and seconds of them: a frame that comes late still finds it running.
        ("Steps", "4,000"),
        ("Batch", "4"),
        ("Warm-up", "10"),
        ("Evaluate every", "2000"),
        ("Evaluate on", "1"),
        ("Checkpoint every", "0"),
        ("Analyse every", "2000"),
        ("Threads", "1"),
    ] {
        screen.fill(field, value);
        assert_eq!(screen.value(field), value);
    }
    screen.choose("Tokenizer", "Bytes");
    let config = screen.window().panels.configure.config().clone();
    assert_eq!((config.name.as_str(), config.data.sequence_length, config.model.width), ("by hand", 64, 32));
    assert_eq!((config.train.steps, config.train.batch, config.threads), (Some(4_000), 4, 1));
    screen.wait("Start", |screen| screen.is_enabled("Start"));
    screen.click("Start");

    // Paused as soon as it is seen to run: what is left then does not depend on how fast the machine is.
    screen.wait("the first steps", |screen| steps_read_out(screen) > 0);
    screen.click("Pause");
    screen.wait("the pause", |screen| screen.state().current.as_ref().is_some_and(|current| current.is_paused));
    screen.settle();
    assert!(screen.has("Paused"));
    let held = steps_read_out(&screen);
    assert!(0 < held && held < 4_000, "paused at step {held}");
    let run = screen.state().current.clone().unwrap().run;
    let points = |screen: &mut Screen| screen.state().series.get(&run, "train/loss").map_or(0, RunSeries::len);
    screen.wait("the curve so far", |screen| points(screen) as u64 == held);
    assert!(screen.has("Chart: Loss"), "{:#?}", screen.words());
    for _ in 0..20 {
        screen.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(steps_read_out(&screen), held, "a paused run stands still");
    assert_eq!(points(&mut screen) as u64, held);

    screen.click("Resume");
    screen.wait("the curve to move", |screen| steps_read_out(screen) > held && points(screen) as u64 > held);
    screen.wait("the end", |screen| screen.state().runs.iter().any(|run| run.state == RunState::Finished));
    screen.wait("the last point", |screen| points(screen) == 4_000);
    screen.settle();
    assert!(screen.has("Finished") && screen.has("Step: 4,000 / 4,000"), "{:#?}", screen.words());
    // What the grammar's checker measures is a curve like any other.
    for chart in ["Chart: Agreement", "Chart: Sentences right"] {
        assert!(screen.has(chart), "{:#?}", screen.words());
        assert!(screen.description(chart).0.starts_with("1 line."), "{:?}", screen.description(chart));
    }
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
        [("Steps", "100000000"), ("Evaluate every", "100000"), ("Checkpoint every", "0"), ("Analyse every", "0")]
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
    assert!(["seed 10", "seed 11", "seed 12"].iter().all(|seed| screen.says(seed)), "{:#?}", screen.words());
    screen.click("Later: seeds, seed 10, place 1");
    let swapped = [waiting[1].clone(), waiting[0].clone(), waiting[2].clone()];
    screen.wait("the new order", |screen| screen.state().waiting == swapped);
    screen.settle();
    screen.click("Cancel: seeds, seed 12, place 3");
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
fn the_queue_tells_of_whatever_was_asked_for_and_ends_it() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let target = Target::Directory("/models/m".into());
    screen.state().models.convert(ConversionRequest {
        target: target.clone(),
        name: "m".to_owned(),
        conversion: Conversion::Grouped(ToGrouped { kv_heads: 2 }),
        to: "/models/g".into(),
        data: None,
        examples: 8,
        tokens: None,
    });
    let question = Question { target, name: "m".to_owned(), texts: vec!["a".to_owned()], images: None };
    screen.state().answers.ask(question);
    let job = |number: u64| JobLabel::train(example_run(number), "");
    let queue = |current, waiting| Event::Queue(events::Queue { current: Some(current), is_paused: false, waiting });
    screen.state().apply(queue(job(8), vec![job(9), job(7)]));
    screen.settle();
    screen.recorded();
    screen.click("Queue, 4 wait");
    screen.click("Cancel: Conversion of m, place 1");
    screen.click("Cancel: Answers of m, place 2");
    let sent = screen.recorded();
    assert!(sent.iter().any(|command| matches!(command, Command::Cancel(_))), "{sent:?}");
    assert!(sent.iter().any(|command| matches!(command, Command::Cancel(_))), "{sent:?}");
    screen.click("Cancel all waiting runs");
    let sent = screen.recorded();
    assert_eq!(sent.iter().filter(|command| matches!(command, Command::Cancel(_))).count(), 2, "{sent:?}");
    // While the pointer is at the rows, the others keep their places where one begins.
    let later = format!("Later: {}, place 1", screen.state().run_name(&example_run(9)));
    screen.click(&later);
    screen.state().apply(queue(job(9), vec![job(7)]));
    screen.settle();
    assert!(screen.has("has begun"), "{:#?}", screen.words());
}

#[test]
fn characters_that_no_font_has_are_dots_and_no_boxes() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let run = example_runs()[1].id.clone();
    let sample = TextSample { step: 50, text: "half \u{fffd} a \u{1}character, 語".to_owned(), created_ms: 0 };
    screen.state().apply(Event::Samples(events::Samples { run, samples: vec![sample.clone()] }));
    screen.press_text(Key::Num2, "2");
    assert!(screen.has("half · a ·character, ·"), "{:#?}", screen.words());
    assert!(screen.says("· stands for a character that cannot be shown"));
    assert_eq!(screen.click_to_copy("Copy sample"), Some(sample.text), "what is copied is whole");
}

/// The name of the run that Live shows.
fn watched(screen: &Screen) -> String {
    screen.value("Run")
}

#[test]
fn live_follows_what_trains_unless_another_run_is_pinned() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::LIVE);
    let trains = screen.state().current.clone().unwrap();
    // What is looked at elsewhere does not take Live away from what trains.
    let other = example_runs().into_iter().find(|run| run.state == RunState::Finished).unwrap();
    screen.state().selection.focused = Some(other.id.clone());
    screen.settle();
    assert_eq!(watched(&screen), screen.state().run_name(&trains.run));
    assert!(!screen.has("Follow what trains"));
    let name = screen.state().run_name(&other.id);
    screen.choose("Run", &format!("{name} (finished)"));
    screen.settle();
    assert_eq!(watched(&screen), name);
    // Another panel and back: it stays.
    screen.press(Modifiers::NONE, Key::Num1);
    screen.window().open(PanelId::LIVE);
    screen.settle();
    assert_eq!(watched(&screen), name);
    screen.click("Follow what trains");
    screen.settle();
    assert_eq!(watched(&screen), screen.state().run_name(&trains.run));
    // The name in the top bar goes to the run that it names.
    screen.choose("Run", &format!("{name} (finished)"));
    screen.press(Modifiers::NONE, Key::Num1);
    let current = screen.state().run_name(&trains.run);
    screen.click(&format!("Current run: {current}"));
    screen.settle();
    assert_eq!(screen.window().open_panel(), PanelId::LIVE);
    assert_eq!(watched(&screen), current);
    // The next run begins: Live shows it, unless another one is pinned.
    let next = example_runs().into_iter().find(|run| run.state == RunState::Queued).unwrap();
    let begin = |screen: &mut Screen, run: &RunSummary| {
        screen.state().current = Some(CurrentRun::named(run.id.clone(), run.name.clone()));
        screen.settle();
    };
    begin(&mut screen, &next);
    assert_eq!(watched(&screen), screen.state().run_name(&next.id));
    screen.choose("Run", &format!("{name} (finished)"));
    let first = example_runs().into_iter().find(|run| run.id == trains.run).unwrap();
    begin(&mut screen, &first);
    assert_eq!(watched(&screen), name, "it was pinned");
}

#[test]
fn a_zoom_belongs_to_its_run_and_the_chart_says_so() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().current = None;
    let ended: Vec<_> = example_runs().into_iter().filter(|run| run.state == RunState::Finished).collect();
    screen.state().selection.focused = Some(ended[0].id.clone());
    screen.window().open(PanelId::LIVE);
    screen.settle();
    assert!(!screen.has("Reset the zoom of Loss"));
    let whole = screen.description("Chart: Loss").0;
    screen.focus("Chart: Loss");
    screen.press(Modifiers::NONE, Key::Plus);
    screen.settle();
    assert!(screen.has("Reset the zoom of Loss"), "{:#?}", screen.words());
    assert!(screen.rect("Chart: Loss").contains_rect(screen.rect("Reset the zoom of Loss")), "inside of the chart");
    let zoomed = screen.description("Chart: Loss").0;
    assert_ne!(zoomed, whole);
    screen.state().selection.focused = Some(ended[1].id.clone());
    screen.settle();
    assert!(!screen.has("Reset the zoom of Loss"), "another run is shown whole");
    screen.state().selection.focused = Some(ended[0].id.clone());
    screen.settle();
    assert_eq!(screen.description("Chart: Loss").0, zoomed, "the zoom is there again");
    screen.click("Reset the zoom of Loss");
    screen.settle();
    assert_eq!(screen.description("Chart: Loss").0, whole);
}

#[test]
fn what_is_wrong_stands_above_the_numbers() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::LIVE);
    screen.settle();
    assert!(!screen.says("are free on the disk"));
    let load = |memory: u64, disk: u64| {
        Event::System(events::System {
            cpu_percent: 1.0,
            memory_bytes: 1 << 27,
            free_bytes: memory,
            disk_free_bytes: Some(disk),
            gpus: Vec::new(),
        })
    };
    screen.state().apply(load(8 << 30, 200 << 20));
    screen.settle();
    is_above_the_numbers(&screen, "Only 200 MiB are free on the disk of the store", true);
    screen.state().apply(load(100 << 20, 8 << 30));
    screen.settle();
    is_above_the_numbers(&screen, "Only 100 MiB of memory are free", true);
    is_above_the_numbers(&screen, "on the disk of the store", false);
    screen.state().apply(load(8 << 30, 8 << 30));
    screen.settle();
    is_above_the_numbers(&screen, "Only 100 MiB of memory are free", false);
    let run = screen.state().current.clone().unwrap().run;
    let health = Health::Plateau { since_step: 200, loss: 2.3 };
    screen.state().apply(Event::Health(events::Health { run: run.clone(), step: 400, health, message: health.why() }));
    screen.settle();
    is_above_the_numbers(
        &screen,
        "Plateau. No improvement of the validation loss beyond its noise since step 200",
        true,
    );
    let health = Health::Diverged { since_step: 390, loss: 9.0, best: 2.1, best_step: 300 };
    screen.state().apply(Event::Health(events::Health { run, step: 410, health, message: health.why() }));
    screen.settle();
    assert!(!screen.says("Plateau."));
    is_above_the_numbers(&screen, &health.why(), true);
    assert!(screen.says(health.what_to_do()), "{:#?}", screen.words());
}

/// Whether these words are there, and then above the numbers of the run.
#[track_caller]
fn is_above_the_numbers(screen: &Screen, words: &str, is_there: bool) {
    // The last message is told in the status bar too.
    let is_meant = |found: &String| found.contains(words) && !found.starts_with("Messages: ");
    let found = screen.words().into_iter().filter(is_meant).collect::<Vec<_>>();
    assert_eq!(!found.is_empty(), is_there, "{words}: {:#?}", screen.words());
    let numbers = screen.rect("Step: 410 / 600").top();
    for found in found {
        assert!(screen.rect(&found).bottom() <= numbers, "{found}: {:?} {numbers}", screen.rect(&found));
    }
}

#[test]
fn what_runs_out_is_told_beside_another_run_too() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let other = example_runs().into_iter().find(|run| run.state == RunState::Finished).unwrap();
    screen.state().selection.live = Some(other.id.clone());
    screen.window().open(PanelId::LIVE);
    screen.state().apply(Event::System(events::System {
        cpu_percent: 1.0,
        memory_bytes: 1 << 27,
        free_bytes: 8 << 30,
        disk_free_bytes: Some(200 << 20),
        gpus: Vec::new(),
    }));
    screen.settle();
    assert_eq!(watched(&screen), screen.state().run_name(&other.id));
    assert!(screen.says("Only 200 MiB are free on the disk of the store"), "{:#?}", screen.words());
    // Nothing trains: nothing is ended by it.
    screen.state().current = None;
    for run in &mut screen.state().runs {
        run.state = RunState::Finished;
    }
    screen.settle();
    assert!(!screen.says("are free on the disk"), "{:#?}", screen.words());
}

#[test]
fn a_stalled_run_is_told_between_its_name_and_its_numbers() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::LIVE);
    screen.press_text(Key::CloseBracket, "]");
    let run = screen.state().current.clone().unwrap().run;
    let health = Health::Stalled { after_step: 410, secs: 75.0, during: Activity::Step };
    let told = format!("Training: 410 of 600 steps are done. {}", health.why());
    assert!(!screen.has(&told));
    screen.state().apply(Event::Health(events::Health { run, step: 410, health, message: health.why() }));
    screen.settle();
    assert!(screen.has(&told) && screen.has(health.what_to_do()), "{:#?}", screen.words());
    let (name, alert, numbers) = (screen.rect("Run"), screen.rect(&told), screen.rect("Step: 410 / 600"));
    assert!(name.bottom() <= alert.top() && alert.bottom() <= numbers.top(), "{name:?} {alert:?} {numbers:?}");
}

/// Gives the run that trains what analyses find on the way.
fn probe(screen: &mut Screen) {
    let run = screen.state().current.clone().unwrap().run;
    let mut runs = example_runs();
    let summary = runs.iter_mut().find(|one| one.id == run).unwrap();
    for (series, value) in [
        (series_names::PROBE_ADJACENT_SIMILARITY, 0.5),
        (series_names::PROBE_FAR_SIMILARITY, 0.4),
        (series_names::PROBE_ENERGY_IN_1_PERCENT, 0.7),
    ] {
        let steps: Vec<u64> = (1..=8).map(|part| 50 * part).collect();
        let data = SeriesData {
            values: vec![value; steps.len()],
            wall_ms: steps.iter().map(|step| step * 181).collect(),
            tokens: steps.iter().map(|step| step * 1024).collect(),
            steps,
            is_whole: true,
            ..SeriesData::default()
        };
        screen.state().apply(Event::Series(events::Series {
            run: run.clone(),
            series: series.to_owned(),
            whole: true,
            data,
        }));
        let told = SeriesSummary {
            last: value,
            last_step: 400,
            best: None,
            best_step: None,
            direction: Direction::None,
            count: 8,
        };
        summary.metrics.insert(series.to_owned(), told);
    }
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.settle();
}

#[test]
fn similarity_and_energy_stand_beside_the_loss_on_the_same_x() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::LIVE);
    screen.settle();
    let charts = ["Chart: Similarity of layers", "Chart: Energy in the largest 1 % of n² eigenvalues"];
    assert!(charts.iter().all(|chart| !screen.has(chart)), "nothing was analysed");
    probe(&mut screen);
    let loss = screen.rect("Chart: Loss");
    for chart in charts {
        let beside = screen.rect(chart);
        assert!(loss.right() <= beside.left() && beside.top() < loss.bottom(), "{chart}: {loss:?} {beside:?}");
    }
    assert!(!screen.says("by construction"), "no head borrows");
    let lines = charts.map(|chart| screen.description(chart).0);
    assert!(lines[0].starts_with("2 lines. ") && lines[1].starts_with("1 line. "), "{lines:?}");
    // Zoomed in one of them, all show the same steps.
    let steps = |screen: &Screen, chart: &str| screen.description(chart).0.split(". ").nth(1).map(str::to_owned);
    let whole = steps(&screen, "Chart: Loss");
    screen.focus("Chart: Loss");
    screen.press(Modifiers::NONE, Key::Plus);
    let zoomed = steps(&screen, "Chart: Loss");
    assert!(zoomed.as_ref().is_some_and(|steps| steps.starts_with("Step ")), "{zoomed:?}");
    assert_ne!(zoomed, whole);
    for chart in charts {
        assert_eq!(steps(&screen, chart), zoomed, "{chart}");
    }
}

#[test]
fn live_says_that_borrowed_maps_are_left_out() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let run = screen.state().current.clone().unwrap().run;
    let number = example_runs().into_iter().find(|one| one.id == run).unwrap().number;
    let mut record = example_record(number);
    record.config["attention"]["reuse"] = json!({ "kind": "full", "layers": 1 });
    let heads = record.config["model"]["heads"].as_u64().unwrap();
    screen.state().apply(Event::Run(events::Run {
        record: Box::new(record),
        checkpoints: Vec::new(),
        folder: "/thesis".into(),
    }));
    screen.window().open(PanelId::LIVE);
    probe(&mut screen);
    assert!(screen.says(&format!("Similarity: {heads} of ")), "{:#?}", screen.words());
    assert!(screen.says("equal to the lender's by construction, so such pairs are left out."));
}

#[test]
fn which_values_are_the_good_ones_is_told_and_what_a_task_is_judged_by() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::LIVE);
    screen.press_text(Key::CloseBracket, "]");
    for (chart, direction) in [("Loss", "Lower is better."), ("Masked accuracy", "Higher is better.")] {
        let told = screen.description(&format!("Chart: {chart}")).0;
        assert!(told.ends_with(direction), "{chart}: {told}");
    }
    assert!(!screen.description("Chart: Learning rate").0.contains("is better"));
    assert_eq!(screen.description("Masked accuracy").0, "Higher is better");
    assert!(!screen.says("Higher is better"));
    screen.point_at("Masked accuracy");
    assert!(screen.says("Higher is better"), "{:#?}", screen.words());
    assert!(!screen.says(", best: ") && !screen.says("Padding: "), "language is told by its loss");

    screen.state().current = None;
    let run = example_run(0);
    let config = "format = 1\n[data]\nkind = \"table\"\npath = \"x.tsv\"\n[task]\nkind = \"classification\"\n[model]\nkind = \"encoder\"";
    let config = serde_json::to_value(headroom_engine::config::from_toml(config).unwrap()).unwrap();
    screen.state().records.get_mut(&run).unwrap().config = config;
    let told = |last: f64, best: Option<f64>| SeriesSummary {
        last,
        last_step: 600,
        best,
        best_step: best.map(|_| 550),
        direction: Direction::Higher,
        count: 12,
    };
    let summary = screen.state().runs.iter_mut().find(|one| one.id == run).unwrap();
    summary.metrics.insert("validation/accuracy".to_owned(), told(0.8, Some(0.875)));
    summary.metrics.insert(series_names::DATA_PADDING_SHARE.to_owned(), told(0.25, None));
    screen.state().selection.focused = Some(run);
    screen.settle();
    assert!(screen.has("Accuracy, best: 87.5 % at 550") && screen.has("Padding: 25.0 %"), "{:#?}", screen.words());
}

#[test]
fn charts_are_made_higher_by_their_handle() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::LIVE);
    screen.settle();
    let before = screen.rect("Chart: Loss").height();
    screen.focus("Height of loss");
    for _ in 0..3 {
        screen.press(Modifiers::NONE, Key::ArrowDown);
    }
    screen.settle();
    let after = screen.rect("Chart: Loss").height();
    assert!((after - before - 60.0).abs() < 1.0, "{before} {after}");
    let kept: serde_json::Value = screen.window().settings.of_panel("live");
    assert!(kept["height"].as_f64().is_some_and(|height| height > f64::from(before)), "{kept}");
}

#[test]
fn nothing_moves_when_the_bar_of_progress_leaves() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let run = screen.state().current.clone().unwrap().run;
    screen.state().selection.focused = Some(run.clone());
    screen.window().open(PanelId::LIVE);
    // Room for all buttons of its heading in one row.
    screen.press_text(Key::CloseBracket, "]");
    let top = |screen: &Screen| screen.rect("Chart: Loss").top();
    let while_it_trains = top(&screen);
    screen.state().current = None;
    screen.state().runs.iter_mut().filter(|one| one.id == run).for_each(|one| one.state = RunState::Finished);
    screen.settle();
    assert!(screen.has("Finished"), "{:#?}", screen.words());
    assert!((top(&screen) - while_it_trains).abs() < 0.5, "{while_it_trains} {}", top(&screen));
    // Whoever comes back to it finds no empty place.
    screen.window().open(PanelId::RUNS);
    screen.settle();
    screen.window().open(PanelId::LIVE);
    screen.settle();
    assert!(top(&screen) < while_it_trains - 10.0, "{while_it_trains} {}", top(&screen));
}

#[test]
fn the_charts_fill_a_large_window() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::LIVE);
    probe(&mut screen);
    let height = |screen: &Screen, chart: &str| screen.rect(&format!("Chart: {chart}")).height();
    screen.resize(vec2(1280.0, 800.0));
    let low = height(&screen, "Loss");
    screen.resize(vec2(2560.0, 1600.0));
    assert!(height(&screen, "Similarity of layers") > 250.0 && height(&screen, "Loss") > low + 250.0);
    // Higher than the usual 150 points, of which its axis is a part.
    let small = height(&screen, "Learning rate");
    assert!(small > 150.0, "{small}");
    let end = screen.rect("Height of small charts").bottom();
    assert!((1500.0..1580.0).contains(&end), "{end} of 1600");
    screen.resize(vec2(1280.0, 800.0));
    let again = height(&screen, "Loss");
    assert!((low - again).abs() < 1.0, "{low} {again}");
}

#[test]
fn what_is_cancelled_together_is_told_together() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    let job = |number: u64| JobLabel::train(example_run(number), "");
    let queue = |waiting| Event::Queue(events::Queue { current: Some(job(8)), is_paused: false, waiting });
    let runs = |state: RunState| {
        let mut runs = example_runs();
        runs.iter_mut().filter(|run| [7, 9].contains(&run.number)).for_each(|run| run.state = state);
        Event::Runs(events::Runs { runs })
    };
    screen.state().apply(runs(RunState::Queued));
    screen.state().apply(queue(vec![job(9), job(7)]));
    screen.settle();
    screen.click("Queue, 2 runs wait");
    screen.click("Cancel all waiting runs");
    screen.state().apply(queue(Vec::new()));
    for number in [9, 7] {
        let run = example_run(number);
        let name = screen.state().run_name(&run);
        screen.state().apply(Event::Finished(events::Finished {
            run,
            name,
            state: RunState::Cancelled,
            step: 0,
            loss: None,
            best_validation_loss: None,
            best_step: None,
            train_secs: 0.0,
            why: None,
            unwritten: None,
        }));
    }
    screen.settle();
    screen.state().apply(runs(RunState::Cancelled));
    screen.settle();
    let [last, first] = [9, 7].map(|number| screen.state().run_name(&example_run(number)));
    let told = format!("Took 2 runs out of the queue: {last}, {first}.");
    assert!(screen.says(&told), "\"{told}\": {:#?}", screen.words());
}

#[test]
fn the_first_frame_of_compare_changes_no_colour() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    // The first three differ in nothing but the seed.
    screen.state().selection.visible = (0..5).map(example_run).collect();
    screen.state().selection.baseline = None;
    screen.window().open(PanelId::LIVE);
    screen.settle();
    let styles = |screen: &mut Screen| -> Vec<_> {
        (0..5).map(|number| screen.state().selection.style_of(&example_run(number))).collect()
    };
    let before = styles(&mut screen);
    assert!(before[0] == before[1] && before[1] == before[2], "one line in Compare: {before:?}");
    assert!(before[2] != before[3] && before[3] != before[4] && before[2] != before[4], "{before:?}");
    screen.window().open(PanelId::COMPARE);
    screen.step();
    assert_eq!(styles(&mut screen), before);
    screen.settle();
    assert!(screen.says("(n = 3)"), "{:#?}", screen.words());
    assert_eq!(styles(&mut screen), before);
    // What is chosen there holds everywhere, and stays.
    screen.choose("Group by", "Nothing");
    let alone = styles(&mut screen);
    assert!(alone[0] != alone[1] && alone[1] != alone[2], "{alone:?}");
    screen.window().open(PanelId::LIVE);
    screen.settle();
    assert_eq!(styles(&mut screen), alone);
}

#[test]
fn a_run_that_ended_before_its_first_step_says_that_no_points_come() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.state().current = None;
    let run = example_run(9);
    screen.state().selection.focused = Some(run.clone());
    screen.state().selection.live = Some(run.clone());
    screen.window().open(PanelId::LIVE);
    screen.settle();
    assert_eq!(screen.description("Chart: Loss").0, "No points yet", "it waits");
    assert!(screen.has("None yet: they come with the first step."), "{:#?}", screen.words());
    let summary = screen.state().runs.iter_mut().find(|one| one.id == run).unwrap();
    summary.state = RunState::Cancelled;
    screen.settle();
    let told = screen.description("Chart: Loss").0;
    assert!(told.starts_with("It ended before its first step.") && told.contains("\"Repeat this run\""), "{told}");
    assert_eq!(screen.description("Chart: Learning rate").0, "It ended before its first step");
    assert!(screen.says("None: it ended before its first step.") && screen.has("Repeat this run"));
    // One that trained too briefly for what is read from time to time.
    let summary = screen.state().runs.iter_mut().find(|one| one.id == run).unwrap();
    (summary.state, summary.steps_done) = (RunState::Stopped, 3);
    screen.settle();
    assert_eq!(screen.description("Chart: Processor use").0, "It ended before this was recorded");
}

#[test]
fn the_speed_of_a_run_is_one_number_wherever_it_is_called_so() {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen.window().open(PanelId::LIVE);
    screen.state().current.as_mut().unwrap().tokens_per_sec = Some(7_000.0);
    screen.settle();
    let shown = ["Speed: 7.00 k tokens/s", "Training speed, last step", "7.00 k/s"];
    assert!(shown.iter().all(|words| screen.has(words)), "{:#?}", screen.words());
    // Of one that ended, the mean; in the inspector under the same name.
    screen.state().current = None;
    screen.state().selection.live = Some(example_run(0));
    screen.state().selection.focused = Some(example_run(0));
    screen.settle();
    let words = screen.words();
    let mean = words.iter().find_map(|words| words.strip_prefix("Mean speed: ")).unwrap_or_default();
    assert!(mean.ends_with("tokens/s") && screen.has("Mean speed") && screen.has(mean), "{mean}: {words:#?}");
}
