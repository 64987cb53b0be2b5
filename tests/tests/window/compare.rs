//! Comparing runs, and taking the chart home.

use std::fs;

use egui::{Color32, Key, Modifiers, Visuals};
use headroom_app::theme;
use headroom_engine::{
    protocol::{Command, Event, commands, events},
    store::{RunState, SeriesData, SeriesSummary},
};
use headroom_tests::{Screen, example_record, example_run, example_runs, fill_with_examples};
use serde_json::json;

use crate::common::{named, two_runs};

const LOSS: &str = "validation/loss";
/// Steps of an example run.
const STEPS: u64 = 600;

/// An example run as a test wants it; one with fewer than all steps still trains.
struct Sketch {
    number: u64,
    seed: u64,
    heads: usize,
    /// What its evaluations, 25 steps apart, rock around by 0.01.
    level: f64,
    steps: u64,
}

/// Of one seed, trained to its end.
fn done(number: u64, heads: usize, level: f64) -> Sketch {
    Sketch { number, seed: 1, heads, level, steps: STEPS }
}

fn evaluations(sketch: &Sketch) -> SeriesData {
    let steps: Vec<u64> = (1..=sketch.steps / 25).map(|place| 25 * place).collect();
    let value = |step: &u64| sketch.level + if step.is_multiple_of(50) { 0.01 } else { -0.01 };
    SeriesData {
        values: steps.iter().map(value).collect(),
        wall_ms: steps.iter().map(|step| 180 * step).collect(),
        tokens: steps.iter().map(|step| 1024 * step).collect(),
        steps,
        is_whole: true,
        ..SeriesData::default()
    }
}

/// Shows these runs in Compare, against the first of the examples.
fn compare(screen: &mut Screen, sketches: &[Sketch]) {
    let mut runs = example_runs();
    let mut changed = Vec::new();
    for sketch in sketches {
        let data = evaluations(sketch);
        let run = runs.iter_mut().find(|run| run.number == sketch.number).unwrap();
        (run.seed, run.steps_done) = (sketch.seed, sketch.steps);
        run.state = if sketch.steps < STEPS { RunState::Running } else { RunState::Finished };
        let loss = run.metrics.get_mut(LOSS).unwrap();
        *loss = SeriesSummary {
            last: *data.values.last().unwrap(),
            last_step: sketch.steps,
            best: Some(sketch.level - 0.01),
            best_step: Some(25),
            ..loss.clone()
        };
        let mut record = example_record(sketch.number);
        // They differ in what the sketch says alone.
        record.config = example_record(0).config;
        record.config["seed"] = sketch.seed.into();
        record.config["model"]["heads"] = sketch.heads.into();
        record.summary = run.clone();
        changed.push((record, data));
    }
    let state = screen.state();
    state.apply(Event::Runs(events::Runs { runs }));
    for (record, data) in changed {
        let run = record.summary.id.clone();
        state.apply(Event::Run(events::Run {
            record: Box::new(record),
            checkpoints: Vec::new(),
            folder: "/thesis".into(),
        }));
        state.apply(Event::Series(events::Series { run, series: LOSS.to_owned(), whole: true, data }));
    }
    state.selection.visible = sketches.iter().map(|sketch| example_run(sketch.number)).collect();
    screen.press_text(Key::Num3, "3");
    screen.settle();
}

/// The example runs, of which none is drawn yet.
fn examples() -> Screen {
    let mut screen = Screen::recorder();
    fill_with_examples(screen.state());
    screen
}

/// Points at the first difference that begins like this.
#[track_caller]
fn point_at_difference(screen: &mut Screen, begins: &str) {
    let word = screen.words().into_iter().find(|word| word.starts_with(begins)).unwrap_or_default();
    assert!(!word.is_empty(), "no {begins}: {:#?}", screen.words());
    screen.point_at(&word);
}

/// Two seeds of a config.
fn two_seeds(numbers: [u64; 2], heads: usize, levels: [f64; 2]) -> [Sketch; 2] {
    let [first, second] = numbers;
    [done(first, heads, levels[0]), Sketch { seed: 2, ..done(second, heads, levels[1]) }]
}

/// A baseline of 4 heads, one head that is better, 2 heads that differ from it by no more than the noise, and 8 heads that are worse: two
/// seeds each.
fn four_configs() -> Vec<Sketch> {
    let all = [
        two_seeds([0, 1], 4, [2.30, 2.50]),
        two_seeds([3, 4], 1, [2.10, 2.31]),
        two_seeds([2, 7], 2, [2.305, 2.50]),
        two_seeds([5, 6], 8, [2.60, 2.81]),
    ];
    all.into_iter().flatten().collect()
}

#[test]
fn a_difference_is_called_better_only_where_it_clears_its_noise() {
    let mut screen = examples();
    compare(&mut screen, &four_configs());
    let (better, noise) = ("Better than the baseline.", "Within the noise: neither better nor worse.");
    point_at_difference(&mut screen, "\u{2212}0.1950 (");
    assert!(screen.says(better) && !screen.says(noise), "{:#?}", screen.words());
    assert!(screen.says("over 2 pairs of the same seed; evaluation noise not recorded"), "{:#?}", screen.words());
    point_at_difference(&mut screen, "+0.002500 (");
    assert!(screen.says(noise) && !screen.says(better), "{:#?}", screen.words());
    assert!(!screen.says("not tested") && !screen.has("Queue 2 more"), "{:#?}", screen.words());
}

#[test]
fn one_seed_each_is_not_tested_and_a_button_queues_two_more() {
    let mut screen = examples();
    compare(&mut screen, &[done(0, 4, 2.30), done(3, 1, 2.10), done(4, 8, 2.60)]);
    assert!(screen.has("1 seed each: not tested."), "{:#?}", screen.words());
    // The differences are told, in no colour, with the spread of each run and without a verdict.
    let palette = if screen.is_dark() { Visuals::dark() } else { Visuals::light() };
    let palette = theme::palette(&palette);
    for difference in ["\u{2212}0.2000 (", "+0.3000 ("] {
        assert_eq!(colour_of(&screen, difference), palette.weak, "{difference}");
        point_at_difference(&mut screen, difference);
        assert!(screen.says("1 seed each: not tested. Within-run spread 0.01"), "{:#?}", screen.words());
        let is_verdict =
            |word: &String| ["Better", "Worse", "Within the noise"].iter().any(|verdict| word.contains(verdict));
        assert!(!screen.words().iter().any(is_verdict), "{:#?}", screen.words());
    }
    screen.click("Scatter");
    assert!(screen.says("1 seed each: not tested") && !screen.says("beats"), "{:#?}", screen.words());
    screen.click("Curves");
    screen.recorded();
    screen.click("Queue 2 more");
    let queued = screen.recorded().into_iter().find_map(|command| match command {
        Command::EnqueueAll(commands::EnqueueAll { configs, tags, .. }) => Some((configs, tags)),
        _ => None,
    });
    let (configs, tags) = queued.unwrap();
    let seeds: Vec<(usize, u64)> = configs.iter().map(|config| (config.model.heads, config.seed)).collect();
    assert_eq!(seeds, [(4, 2), (8, 2), (1, 2), (4, 3), (8, 3), (1, 3)], "two more of each, seed by seed");
    assert_eq!(tags, ["paper"], "the tag of all");
}

#[test]
fn a_run_that_diverged_is_named_so_and_nothing_says_that_it_does_not_differ() {
    let mut screen = examples();
    let all = [two_seeds([0, 1], 4, [2.30, 2.50]), two_seeds([3, 4], 1, [2.305, 2.49])];
    compare(&mut screen, &all.into_iter().flatten().collect::<Vec<_>>());
    let noise = "No difference clears its noise.";
    assert!(screen.says(noise) && !screen.says("(diverged)"), "{:#?}", screen.words());
    let mut runs = screen.state().runs.clone();
    runs.iter_mut().filter(|run| [3, 4].contains(&run.number)).for_each(|run| run.state = RunState::Diverged);
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.settle();
    assert!(!screen.says(noise) && screen.says("(diverged)"), "{:#?}", screen.words());
}

#[test]
fn the_interval_of_groups_says_over_how_many_pairs_of_seeds_it_is() {
    let mut screen = examples();
    let seed = |seed: u64, sketch: Sketch| Sketch { seed, ..sketch };
    let base = [done(0, 4, 2.30), seed(2, done(1, 4, 2.50))];
    let other = [done(3, 1, 2.20), seed(2, done(4, 1, 2.41))];
    compare(&mut screen, &base.into_iter().chain(other).collect::<Vec<_>>());
    assert!(screen.says("(n = 2)"), "seeds that repeat are put together: {:#?}", screen.words());
    point_at_difference(&mut screen, "\u{2212}0.09500 (");
    assert!(screen.says("over 2 pairs of the same seed"), "{:#?}", screen.words());
    assert!(screen.says("Better than the baseline."), "{:#?}", screen.words());
}

#[test]
fn values_that_are_written_alike_have_a_sign_of_equality_for_their_difference() {
    let mut screen = examples();
    compare(&mut screen, &[done(0, 4, 2.30), done(3, 1, 2.40)]);
    // Parameters are the same in any case.
    let before = screen.labels("=");
    assert!(screen.words().iter().any(|word| word.starts_with("+0.1000 (")), "{:#?}", screen.words());
    compare(&mut screen, &[done(0, 4, 2.30), done(3, 1, 2.300_001)]);
    assert!(screen.labels("=") >= before + 2, "last and best: {:#?}", screen.words());
    assert!(!screen.words().iter().any(|word| word.starts_with("+0.00000")), "{:#?}", screen.words());
}

#[test]
fn a_run_that_still_trains_is_judged_at_the_last_step_that_both_reached() {
    let mut screen = examples();
    compare(&mut screen, &[done(0, 4, 2.30), Sketch { steps: 50, ..done(3, 1, 2.10) }]);
    let difference = screen.words().into_iter().find(|word| word.ends_with(" at 50"));
    let difference = difference.unwrap_or_default();
    assert!(difference.starts_with("\u{2212}0.2000 ("), "{difference}: {:#?}", screen.words());
    screen.point_at(&difference);
    assert!(screen.says("At step 50, the last that all of them reached"), "{:#?}", screen.words());
    assert!(!screen.says("Better than the baseline."), "one seed each: {:#?}", screen.words());
}

#[test]
fn a_race_of_several_seeds_opens_grouped_whatever_was_chosen_for_other_runs() {
    let mut screen = examples();
    screen.window().settings.set_panel("compare", &json!({ "group_repeats": false }));
    let mut runs = example_runs();
    for run in runs.iter_mut().filter(|run| run.number < 3) {
        run.tags = vec!["race:seeds".to_owned()];
    }
    let state = screen.state();
    state.apply(Event::Runs(events::Runs { runs: runs.clone() }));
    for run in runs.into_iter().filter(|run| run.number < 3) {
        let mut record = example_record(run.number);
        record.summary = run;
        state.apply(Event::Run(events::Run {
            record: Box::new(record),
            checkpoints: Vec::new(),
            folder: "/thesis".into(),
        }));
    }
    screen.press_text(Key::Num3, "3");
    screen.settle();
    screen.state().show_tag("race:seeds");
    screen.settle();
    assert!(screen.says("(n = 3)"), "{:#?}", screen.words());
    screen.choose("Group by", "Nothing");
    screen.settle();
    assert!(!screen.says("(n = 3)"), "what is chosen for the race stays: {:#?}", screen.words());
}

#[test]
fn the_scatter_holds_a_metric_against_any_cost_and_any_number_of_the_configs() {
    let mut screen = examples();
    let mut runs = example_runs();
    let shown = [0, 3, 4];
    for run in runs.iter_mut().filter(|run| shown.contains(&run.number)) {
        let peak = SeriesSummary { last: 3e8 + run.number as f64, ..run.metrics[LOSS].clone() };
        run.metrics.insert("system/peak_memory_bytes".to_owned(), peak);
    }
    let state = screen.state();
    state.apply(Event::Runs(events::Runs { runs: runs.clone() }));
    for run in runs.into_iter().filter(|run| shown.contains(&run.number)) {
        let (number, mut record) = (run.number, example_record(run.number));
        let words = (0..12).map(|key| (format!("k{key:02}"), serde_json::Value::from(format!("of run {number}"))));
        // More keys than have room as axes, before those of attention in the alphabet.
        record.config["a"] = serde_json::Value::Object(words.collect());
        record.config["attention"]["compatibility"] = json!({ "kind": "collaborative", "d_k": 16 * (number + 1) });
        record.config["attention"]["reuse"] = json!({ "kind": "partial", "layers": number + 1, "heads": number + 2 });
        record.summary = run;
        state.apply(Event::Run(events::Run {
            record: Box::new(record),
            checkpoints: Vec::new(),
            folder: "/thesis".into(),
        }));
    }
    screen.press_text(Key::Num3, "3");
    screen.click("Scatter");
    for cost in ["d_k", "reuse.layers", "reuse.heads", "Peak memory"] {
        screen.choose("Against", cost);
        let told = screen.description("Chart: Quality against cost").0;
        assert!(told.contains(&format!("{cost} ")), "{cost}: {told}");
    }
    screen.point_at("Against");
    assert!(screen.says("12 keys whose values are words are left out."), "{:#?}", screen.words());
}

#[test]
fn no_button_stands_alone_on_a_line_of_a_narrow_window() {
    let mut screen = examples();
    screen.state().selection.baseline = None;
    screen.resize(egui::vec2(900.0, 700.0));
    let apart = |screen: &Screen, a: &str, b: &str| (screen.rect(a).center().y - screen.rect(b).center().y).abs();
    screen.press_text(Key::Num4, "4");
    assert!(apart(&screen, "Filters", "Copy table") < 4.0, "{:?}", screen.rect("Copy table"));
    screen.press_text(Key::Num3, "3");
    assert!(apart(&screen, "Ignore outliers", "Export chart…") < 4.0, "{:?}", screen.rect("Export chart…"));
}

#[test]
fn no_control_stands_alone_on_a_line_of_a_usual_window() {
    let mut screen = examples();
    screen.resize(egui::vec2(1280.0, 800.0));
    let seed = |seed: u64, sketch: Sketch| Sketch { seed, ..sketch };
    compare(&mut screen, &[done(0, 4, 2.30), seed(2, done(1, 4, 2.50)), done(3, 1, 2.20)]);
    let names = [
        "Curves",
        "Scatter",
        "Metric",
        "Second metric",
        "Group by",
        "Band",
        "Race from here",
        "X axis",
        "Log x",
        "Smoothing",
        "Ignore outliers",
        "Difference to the baseline",
        "Charts beside each other",
        "Export chart…",
    ];
    for group in ["seeds that repeat", "Nothing"] {
        screen.choose("Group by", group);
        for shape in ["Curves", "Workspace", "Scatter", "Parallel coordinates"] {
            screen.click(shape);
            // Points have intervals, whatever the band.
            assert_eq!(screen.has("Band"), group != "Nothing" && shape != "Scatter");
            let there = names.into_iter().filter(|name| screen.has(name));
            let lines: Vec<(&str, f32)> = there.map(|name| (name, screen.rect(name).center().y)).collect();
            for (name, y) in &lines {
                let beside = lines.iter().filter(|(other, at)| other != name && (at - y).abs() < 6.0).count();
                assert!(beside > 0, "{name} stands alone in {shape}, grouped by {group}: {lines:?}");
            }
        }
    }
}

#[test]
fn a_group_says_how_many_of_its_runs_have_a_value() {
    let mut screen = examples();
    let seed = |seed: u64, sketch: Sketch| Sketch { seed, ..sketch };
    let third = Sketch { steps: 50, ..seed(3, done(2, 4, 2.40)) };
    compare(&mut screen, &[done(0, 4, 2.30), seed(2, done(1, 4, 2.50)), third, done(3, 1, 2.20)]);
    // The third still trains: it does not count beside those that are done.
    assert!(screen.has("2 of 3"), "{:#?}", screen.words());
    let mut runs = screen.state().runs.clone();
    for run in runs.iter_mut().filter(|run| run.number < 3) {
        run.metrics.remove(LOSS);
    }
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.settle();
    assert!(screen.has("0 of 3"), "{:#?}", screen.words());
}

#[test]
fn two_runs_are_compared_and_their_chart_leaves_as_a_file() {
    let (folder, mut screen) = two_runs();
    // A metric that was looked at before, and that runs of text do not have.
    screen.window().settings.set_panel("compare", &json!({ "metric": "validation/accuracy" }));
    screen.press_text(Key::Num3, "3");
    screen.wait("both curves and configs", |screen| {
        screen.has("Compared runs") && screen.says("another group of runs") && !screen.says("Loading")
    });
    screen.settle();
    // They differ in the seed alone and were put together.
    screen.choose("Group by", "Nothing");
    assert!(screen.has("seed"), "{:#?}", screen.words());
    assert!(screen.has("Pin a baseline to see deltas (p)"));
    screen.wait("both lines", |screen| screen.description("Chart: Validation loss").0.starts_with("2 lines."));
    assert!(screen.says("None of these runs has \"Accuracy") && screen.says("\"Validation loss\" is shown until"));
    assert!(!screen.has("model.layers"), "only what differs is listed: {:#?}", screen.words());
    screen.click("Pin one as the baseline");
    assert!(screen.says("Δ: against the baseline \"one\""));
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
        assert!(screen.is_focused("File"), "a path can be typed at once");
        screen.click(format);
        screen.fill("File", &path.display().to_string());
        if format == "CSV" {
            screen.press(Modifiers::NONE, Key::Enter);
        } else {
            screen.click("Export");
        }
        screen.wait("the file", |screen| path.exists() && !screen.has("Cancel"));
        screen.settle();
        assert!(screen.says("Exported ") && screen.says(&format!("figure.{ending}")), "{:#?}", screen.words());
        let bytes = fs::read(&path).unwrap();
        match ending {
            "png" => assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 5_000),
            "svg" => {
                let text = String::from_utf8(bytes).unwrap();
                let has = ["<svg", ">one</text>", "Validation loss"].map(|words| text.contains(words));
                assert_eq!(has, [true; 3], "{text}");
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

    screen.choose("Group by", "seed: same config otherwise");
    screen.wait_for_words("Δ: against the mean of");
    screen.choose("Metric", "Training loss");
    assert!(!screen.says("None of these runs has"), "it was chosen: {:#?}", screen.words());
    screen.close();
}

/// The colour of the first text that begins like this, as it is drawn.
#[track_caller]
fn colour_of(screen: &Screen, begins: &str) -> Color32 {
    let painted = screen.painted();
    let found = painted.iter().find(|text| text.text.starts_with(begins));
    assert!(found.is_some(), "no {begins} is drawn: {painted:#?}");
    found.map_or(Color32::PLACEHOLDER, |text| text.color)
}

#[test]
fn a_difference_within_the_noise_is_grey_and_one_that_clears_it_has_its_colour() {
    let mut screen = examples();
    compare(&mut screen, &four_configs());
    let palette = if screen.is_dark() { Visuals::dark() } else { Visuals::light() };
    let palette = theme::palette(&palette);
    assert_eq!(colour_of(&screen, "\u{2212}0.1950 ("), palette.better);
    assert_eq!(colour_of(&screen, "+0.3050 ("), palette.worse);
    assert_eq!(colour_of(&screen, "+0.002500 ("), palette.weak);
    assert!(palette.better != palette.worse && palette.weak != palette.better && palette.weak != palette.worse);
}

/// What a chart says of its y.
#[track_caller]
fn shown_y(screen: &Screen, chart: &str) -> String {
    let told = screen.description(chart).0;
    let (_, y) = told.rsplit_once(" to ").unwrap_or_default();
    let low = told.rsplit_once(" to ").and_then(|(before, _)| before.rsplit_once(' ')).unwrap_or_default().1;
    format!("{low} to {y}")
}

#[test]
fn a_zoom_belongs_to_the_metric_that_it_was_made_in() {
    let mut screen = examples();
    compare(&mut screen, &[done(0, 4, 2.30), done(3, 1, 2.10)]);
    let whole = shown_y(&screen, "Chart: Validation loss");
    screen.focus("Chart: Validation loss");
    screen.press(Modifiers::NONE, Key::Plus);
    let zoomed = shown_y(&screen, "Chart: Validation loss");
    assert_ne!(zoomed, whole);
    screen.choose("Metric", "Training loss");
    assert_ne!(shown_y(&screen, "Chart: Training loss"), zoomed);
    screen.choose("Metric", "Validation loss");
    assert_eq!(shown_y(&screen, "Chart: Validation loss"), zoomed, "the zoom is there again");
}

#[test]
fn a_scatter_shows_all_points_of_another_cost() {
    let mut screen = examples();
    compare(&mut screen, &[done(0, 4, 2.30), done(3, 1, 2.10), done(4, 8, 2.305)]);
    screen.click("Scatter");
    let reset = "Reset the zoom of Quality against cost";
    assert!(!screen.has(reset));
    screen.focus("Chart: Quality against cost");
    screen.press(Modifiers::NONE, Key::Plus);
    assert!(screen.has(reset));
    screen.choose("Against", "Step time");
    assert!(!screen.has(reset), "{:#?}", screen.words());
}

#[test]
fn charts_of_compare_and_of_its_workspace_are_made_higher() {
    let mut screen = examples();
    compare(&mut screen, &[done(0, 4, 2.30), done(3, 1, 2.10)]);
    for (shape, handle) in [("Curves", "Height of charts"), ("Workspace", "Height of charts")] {
        screen.click(shape);
        let before = screen.rect("Chart: Validation loss").height();
        screen.focus(handle);
        for _ in 0..3 {
            screen.press(Modifiers::NONE, Key::ArrowDown);
        }
        let after = screen.rect("Chart: Validation loss").height();
        assert!(after > before + 30.0, "{shape}: {before} {after}");
    }
}

#[test]
fn how_fast_runs_were_is_told_without_a_verdict() {
    let mut screen = examples();
    compare(&mut screen, &[done(0, 4, 2.30), done(3, 1, 2.10)]);
    screen.choose("Metric", "Training speed");
    let words = screen.words();
    let difference = words.iter().find(|word| word.contains(" (+") || word.contains(" (\u{2212}"));
    assert!(difference.is_some(), "{words:#?}");
    screen.point_at(&difference.cloned().unwrap_or_default());
    assert!(screen.says("What else the machine did then is not known"), "{:#?}", screen.words());
    assert!(!screen.says("Better than the baseline.") && !screen.says("Worse than the baseline."));
}

#[test]
fn a_run_on_other_text_is_named_above_the_charts_and_hidden_with_one_click() {
    let mut screen = examples();
    compare(&mut screen, &[done(0, 4, 2.30), done(3, 1, 2.10)]);
    assert!(!screen.says("Not to be held against"));
    let mut runs = screen.state().runs.clone();
    let hashes = [(0, "one text"), (3, "another text")];
    for (number, hash) in hashes {
        let run = runs.iter_mut().find(|run| run.number == number).unwrap();
        run.held_out_hash = Some(hash.to_owned());
    }
    screen.state().apply(Event::Runs(events::Runs { runs }));
    screen.settle();
    assert!(screen.says("Not to be held against"), "{:#?}", screen.words());
    screen.click("Hide it");
    assert!(!screen.says("Not to be held against"));
    assert!(!screen.state().selection.is_visible(&example_run(3)));
}

#[test]
fn columns_that_have_no_room_are_counted_and_nothing_is_said_of_one_that_is_not_there() {
    let mut screen = examples();
    let second = Sketch { seed: 2, ..done(1, 4, 2.50) };
    compare(&mut screen, &[done(0, 4, 2.30), second, done(3, 1, 2.10)]);
    let counts = |screen: &Screen| {
        let is_count = |word: &String| word.strip_suffix(" hidden").is_some_and(|n| n.parse::<usize>().is_ok());
        screen.words().iter().any(is_count)
    };
    screen.resize(egui::vec2(900.0, 1000.0));
    assert!(counts(&screen) && screen.has("Add a column at step"), "{:#?}", screen.words());
    assert!(!screen.has("Column at step"), "{:#?}", screen.words());
    screen.resize(egui::vec2(2600.0, 1000.0));
    assert!(!counts(&screen) && screen.has("Column at step"), "{:#?}", screen.words());
    assert!(!screen.has("Add a column at step"), "{:#?}", screen.words());
}
