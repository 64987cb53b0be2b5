//! The panel in its four states, driven by the names of its controls.

use egui::{Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, PointerButton, TouchPhase, vec2};
use headroom_engine::{
    protocol::{Command, commands},
    store::RunState,
};

use super::{ComparePanel, View, lines::tests::state, view::Shape};
use crate::{
    common::driver::Driver,
    context::{Action, PanelId},
    examples,
    state::State,
};

/// With every run alone.
fn open(state: State) -> (Driver, ComparePanel) {
    opened(state, &View { group_repeats: false, ..View::default() })
}

fn opened(state: State, view: &View) -> (Driver, ComparePanel) {
    let (mut driver, mut panel) = (Driver::new(state), ComparePanel::default());
    driver.settings.set_panel("compare", view);
    driver.settle(&mut panel);
    (driver, panel)
}

#[test]
fn empty_it_says_how_to_fill_it() {
    let mut none = State::default();
    none.runs_loaded = true;
    assert!(open(none).0.has("No runs yet"));
    let mut hidden = state();
    hidden.selection.visible.clear();
    let (mut driver, mut panel) = open(hidden);
    assert!(driver.has("No run is shown"));
    driver.click(&mut panel, "Choose in the table of runs");
    assert!(matches!(driver.actions.as_slice(), [Action::Open(PanelId::RUNS)]));
    driver.click(&mut panel, "Show the newest runs");
    assert_eq!(driver.state.selection.visible.len(), 4);
    assert!(driver.has("Compared runs"));
}

#[test]
fn working_it_counts_what_is_loading() {
    assert!(open(State::default()).0.has("Reading the runs…"));
    let mut fresh = state();
    fresh.series = crate::state::SeriesCache::default();
    fresh.records.clear();
    let (driver, _) = open(fresh);
    assert!(driver.has("Loading 4 curves…"));
    assert!(driver.has("Loading 4 configs…"));
}

#[test]
fn a_metric_that_comes_later_is_turned_to_once_it_is_there() {
    let full = state();
    let mut early = state();
    for run in &mut early.runs {
        run.metrics.retain(|name, _| name == "train/loss");
    }
    let (mut driver, mut panel) = open(early);
    assert!(driver.has("Chart: Training loss"), "{:#?}", driver.names());
    driver.state.runs = full.runs;
    driver.settle(&mut panel);
    assert!(driver.has("Chart: Validation loss"), "{:#?}", driver.names());
}

#[test]
fn a_run_that_failed_without_points_is_counted_not_hidden_in_silence() {
    let mut failed = state();
    let run = examples::summary(9, "failed");
    failed.series.want(&run.id, "validation/loss");
    failed.series.take(
        run.id.clone(),
        "validation/loss".to_owned(),
        true,
        headroom_engine::store::SeriesData::default(),
    );
    failed.selection.visible.insert(run.id.clone());
    failed.runs.push(run);
    let (driver, _) = open(failed);
    assert!(driver.has("1 run has no points of this metric."), "{:#?}", driver.names());
}

#[test]
fn full_it_compares_with_the_pinned_baseline() {
    let mut full = state();
    full.runs[3].metrics.get_mut("validation/loss").unwrap().best = Some(1.0);
    let (mut driver, mut panel) = open(full);
    assert!(driver.has("Pin a baseline to see deltas (p)"));
    driver.state.selection.focused = Some(driver.state.runs[0].id.clone());
    driver.key(&mut panel, Key::P);
    assert_eq!(driver.state.selection.baseline, Some(driver.state.runs[0].id.clone()));
    driver.click(&mut panel, "Unpin the baseline");
    assert_eq!(driver.state.selection.baseline, None);
    driver.click(&mut panel, "Pin base, seed 0 as the baseline");
    assert!(driver.has("1 seed each: not tested."), "{:#?}", driver.names());
    assert!(driver.has("Δ: against the baseline \"base, seed 0\""), "{:#?}", driver.names());
    assert!(driver.has("−0.2500 (−20 %)"), "{:#?}", driver.names());
    assert!(driver.has("model.layers") && driver.has("seed"), "the config differences");
    assert!(!driver.has("model.heads"));
    driver.click(&mut panel, "Only differences");
    assert!(driver.has("model.heads"));
}

#[test]
fn what_was_not_tested_gets_two_more_seeds_by_a_button() {
    let mut two = state();
    // One run of each config, of one race.
    two.selection.visible.retain(|run| [two.runs[0].id.clone(), two.runs[3].id.clone()].contains(run));
    two.selection.baseline = Some(two.runs[0].id.clone());
    for run in &mut two.runs {
        run.seed = 7;
        run.tags = vec!["race:base".to_owned(), format!("of run {}", run.number)];
    }
    let (mut driver, mut panel) = open(two);
    assert!(driver.has("1 seed each: not tested."), "{:#?}", driver.names());
    driver.click(&mut panel, "Queue 2 more");
    let queued = driver.actions.iter().find_map(|action| match action {
        Action::Send(Command::EnqueueAll(commands::EnqueueAll { configs, tags, .. })) => {
            Some((configs.clone(), tags.clone()))
        }
        _ => None,
    });
    let (configs, tags) = queued.unwrap();
    let told: Vec<(&str, u64)> = configs.iter().map(|config| (config.name.as_str(), config.seed)).collect();
    assert_eq!(told, [("base", 8), ("other", 8), ("base", 9), ("other", 9)], "all take their turn");
    assert_eq!(tags, ["race:base"], "the tag of all");
    // It is asked for once.
    driver.settle(&mut panel);
    assert!(!driver.has("Queue 2 more") && driver.has("Queueing…"), "{:#?}", driver.names());
    // The new runs wait: nothing more is to be queued, and nothing is tested yet.
    let mut runs = driver.state.runs.clone();
    for (place, config) in configs.iter().enumerate() {
        let of = runs.iter().find(|run| run.name == config.name).unwrap().id.clone();
        let mut record = driver.state.records[&of].clone();
        record.summary = examples::summary(20 + place as u64, &config.name);
        (record.summary.seed, record.summary.state) = (config.seed, RunState::Queued);
        record.config["seed"] = config.seed.into();
        runs.push(record.summary.clone());
        driver.state.records.insert(record.summary.id.clone(), record);
    }
    driver.state.runs = runs;
    driver.settle(&mut panel);
    assert!(driver.has("The seeds that are missing wait or train."), "{:#?}", driver.names());
    assert!(!driver.has("Queue 2 more"), "{:#?}", driver.names());
}

#[test]
fn seeds_of_one_config_alone_are_offered_no_more() {
    let mut one = state();
    one.selection.visible.retain(|run| *run != one.runs[3].id);
    one.selection.baseline = Some(one.runs[0].id.clone());
    let (driver, _) = open(one);
    assert!(driver.has("1 seed each: not tested."), "{:#?}", driver.names());
    assert!(!driver.says("Queue ") && !driver.says("more"), "{:#?}", driver.names());
}

#[test]
fn what_is_hovered_in_the_table_is_hovered_everywhere() {
    let (mut driver, mut panel) = open(state());
    driver.click(&mut panel, "other");
    let other = driver.state.runs[3].id.clone();
    assert_eq!(driver.state.selection.hovered, Some(other.clone()));
    assert_eq!(driver.state.selection.focused, Some(other));
}

#[test]
fn seeds_are_grouped_and_it_says_how() {
    let (mut driver, mut panel) = open(state());
    driver.click(&mut panel, "Group by");
    driver.click(&mut panel, "seed: same config otherwise");
    assert!(driver.has("base (n = 3)"), "{:#?}", driver.names());
    assert!(driver.has("Band"));
    assert!(driver.says("nothing was interpolated"));
    driver.click(&mut panel, "Copy table");
    driver.click(&mut panel, "Copy as Markdown");
    let Some(Action::Copy(_, text)) = driver.actions.pop() else { panic!("nothing copied") };
    assert!(text.starts_with("| Run | n |"), "{text}");
    assert_eq!(text.lines().count(), 4);
}

#[test]
fn seeds_that_repeat_are_together_until_the_user_wants_otherwise() {
    let (mut driver, mut panel) = opened(state(), &View::default());
    assert!(driver.has("base (n = 3)"), "{:#?}", driver.names());
    driver.click(&mut panel, "Group by");
    driver.click(&mut panel, "Nothing");
    assert!(driver.has("base, seed 0") && !driver.has("base (n = 3)"));
    driver.click(&mut panel, "Group by");
    driver.click(&mut panel, "seeds that repeat");
    assert!(driver.has("base (n = 3)"));
    let mut alone = state();
    alone.runs.retain(|run| run.number == 0 || run.number == 3);
    let (driver, _) = opened(alone, &View::default());
    assert!(!driver.has("Band"), "nothing repeats");
}

#[test]
fn a_run_on_other_text_is_named_and_one_click_hides_it() {
    let mut mixed = state();
    mixed.runs[3].held_out_hash = Some("other text".to_owned());
    mixed.selection.baseline = Some(mixed.runs[0].id.clone());
    let other = mixed.runs[3].id.clone();
    let (mut driver, mut panel) = open(mixed);
    assert!(driver.says("Not to be held against \"base, seed 0\": other."), "{:#?}", driver.names());
    assert!(driver.says("The others are compared with it."), "{:#?}", driver.names());
    driver.click(&mut panel, "Hide it");
    assert!(!driver.state.selection.is_visible(&other) && !driver.says("Not to be held against"));
}

#[test]
fn runs_that_did_not_train_equally_long_are_told_above_the_table() {
    let mut unequal = state();
    assert!(!open(state()).0.says("They trained for different numbers of steps"));
    unequal.runs[3].steps_done = 800;
    let (driver, _) = open(unequal);
    assert!(driver.says("They trained for different numbers of steps: 100, 800."), "{:#?}", driver.names());
}

#[test]
fn the_configs_of_a_group_are_those_of_all_its_seeds() {
    let (driver, _) = opened(state(), &View::default());
    assert!(driver.has("0, 1, 2"), "{:#?}", driver.names());
}

#[test]
fn no_band_is_offered_where_points_have_intervals() {
    let (mut driver, mut panel) = opened(state(), &View::default());
    assert!(driver.has("Band"), "{:#?}", driver.names());
    driver.click(&mut panel, "Scatter");
    assert!(!driver.has("Band") && driver.has("Race from here"), "{:#?}", driver.names());
}

#[test]
fn the_table_compares_at_a_typed_x() {
    let (mut driver, mut panel) = open(state());
    assert!(driver.says("at step 100"), "the furthest that all reach");
    driver.type_into(&mut panel, "Column at", "50");
    assert!(driver.says("at step 50"), "{:#?}", driver.names());
}

#[test]
fn what_is_typed_brings_its_column_where_there_is_no_room_for_all() {
    let (mut driver, mut panel) = open(state());
    driver.size = vec2(420.0, 1800.0);
    driver.settle(&mut panel);
    assert!(!driver.says("at step 100"), "{:#?}", driver.names());
    assert!(driver.says("Add a column at step") && driver.says(" hidden"), "{:#?}", driver.names());
    driver.type_into(&mut panel, "Column at", "50");
    driver.settle(&mut panel);
    assert!(driver.says("at step 50") && !driver.says("Add a column"), "{:#?}", driver.names());
}

#[test]
fn the_group_of_a_pinned_run_is_named_as_that_is() {
    let mut mixed = state();
    mixed.runs[2].name = "again".to_owned();
    mixed.selection.baseline = Some(mixed.runs[2].id.clone());
    let (mut driver, mut panel) = opened(mixed, &View::default());
    assert!(driver.says("Δ: against the mean of \"again\""), "{:#?}", driver.names());
    assert!(driver.has("again (n = 3)"), "{:#?}", driver.names());
    driver.state.selection.baseline = None;
    driver.settle(&mut panel);
    assert!(driver.has("base (n = 3)"), "{:#?}", driver.names());
}

#[test]
fn the_chart_is_exported_with_its_alignment() {
    let (mut driver, mut panel) = open(state());
    driver.click(&mut panel, "Export chart…");
    assert!(driver.has("Export the chart \"Validation loss\""));
    for control in ["PNG", "SVG", "CSV", "Browse…", "Export", "Cancel", "File"] {
        assert!(driver.has(control), "{control}");
    }
}

/// The titles of the workspace's charts, in their order.
fn charts(driver: &Driver) -> Vec<String> {
    driver.in_order("Move ")
}

#[test]
fn a_workspace_shows_several_metrics_in_an_order_that_is_dragged_and_remembered() {
    let mut recorded = state();
    for run in &mut recorded.runs {
        let norm = run.metrics["train/loss"].clone();
        run.metrics.insert("train/grad_norm".to_owned(), norm);
    }
    let (mut driver, mut panel) = open(recorded);
    driver.click(&mut panel, "Workspace");
    let usual = charts(&driver);
    assert_eq!(usual[..2], ["Validation loss", "Training loss"], "{:#?}", driver.names());
    assert!(usual.len() >= 3, "{usual:?}");
    for title in &usual {
        assert!(driver.has(&format!("Chart: {title}")), "{title}");
    }
    // Before the first one, from the right.
    driver.drag(&mut panel, &format!("Move {}", usual[2]), "Chart: Validation loss", 0.2);
    assert_eq!(charts(&driver)[..3], [usual[2].clone(), usual[0].clone(), usual[1].clone()]);
    // Behind the last of them, from the left.
    driver.drag(&mut panel, &format!("Move {}", usual[2]), "Chart: Training loss", 0.8);
    assert_eq!(charts(&driver)[..3], [usual[0].clone(), usual[1].clone(), usual[2].clone()]);
    // With the keyboard.
    driver.click(&mut panel, "Move Validation loss");
    driver.key(&mut panel, Key::ArrowRight);
    assert_eq!(charts(&driver)[..2], [usual[1].clone(), usual[0].clone()]);
    driver.key(&mut panel, Key::ArrowLeft);
    assert_eq!(charts(&driver)[0], usual[0]);
    driver.click(&mut panel, "Chart Training loss");
    driver.click(&mut panel, "To the front");
    driver.click(&mut panel, "Chart Validation loss");
    driver.click(&mut panel, "Leave out");
    let left = charts(&driver);
    assert_eq!(left[0], usual[1]);
    assert!(!left.contains(&usual[0]) && left.len() == usual.len() - 1);
    // Another window finds it as it was left.
    let mut other = ComparePanel::default();
    driver.settle(&mut other);
    assert_eq!(charts(&driver), left);
    driver.click(&mut other, "Charts");
    driver.click(&mut other, "The usual ones");
    assert_eq!(charts(&driver), usual);
}

#[test]
fn a_chart_of_the_workspace_gives_the_table_its_metric_and_leaves_as_a_figure() {
    let (mut driver, mut panel) = open(state());
    driver.click(&mut panel, "Workspace");
    driver.click(&mut panel, "Chart Training loss");
    driver.click(&mut panel, "Compare by it");
    let view: View = driver.settings.of_panel("compare");
    assert_eq!(view.metric, "train/loss");
    driver.click(&mut panel, "Chart Validation loss");
    driver.click(&mut panel, "Export…");
    assert!(driver.has("Export the chart \"Validation loss\""), "{:#?}", driver.names());
}

#[test]
fn axes_on_which_all_runs_agree_are_left_out_until_they_are_chosen() {
    let view = View { shape: Shape::Parallel, group_repeats: false, ..View::default() };
    let (mut driver, mut panel) = opened(state(), &view);
    let cost = "Brush FLOPs per step";
    assert!(driver.has("Brush layers") && driver.has("Brush seed"), "{:#?}", driver.names());
    assert!(driver.has("Brush Validation loss, best"), "what was chosen stays");
    assert!(!driver.has(cost));
    driver.click(&mut panel, "Axes");
    driver.click(&mut panel, "FLOPs per step");
    driver.click(&mut panel, "seed");
    assert!(driver.has(cost) && !driver.has("Brush seed"), "{:#?}", driver.names());
    assert!(driver.says("Without 1 more key that differs."), "{:#?}", driver.names());
    driver.key(&mut panel, Key::Escape);
    // Another window finds them as they were left.
    let mut other = ComparePanel::default();
    driver.settle(&mut other);
    assert!(driver.has(cost) && !driver.has("Brush seed"));
    driver.click(&mut other, "Axes");
    driver.click(&mut other, "The usual ones");
    assert!(!driver.has(cost) && driver.has("Brush seed"));
}

#[test]
fn many_axes_keep_their_distance_and_are_brushed_where_they_are_scrolled_to() {
    let mut many = state();
    for (place, run) in many.runs.iter_mut().enumerate() {
        let words = (0..12).map(|key| (format!("k{key:02}"), serde_json::Value::from(format!("of run {place}"))));
        many.records.get_mut(&run.id).unwrap().config["aaa"] = serde_json::Value::Object(words.collect());
        run.metrics.get_mut("validation/loss").unwrap().best = Some(1.0 + place as f64);
    }
    let view = View { shape: Shape::Parallel, group_repeats: false, ..View::default() };
    let (mut driver, mut panel) = opened(many, &view);
    driver.size = vec2(900.0, 700.0);
    driver.settle(&mut panel);
    let between = driver.place("Brush k01").x - driver.place("Brush k00").x;
    assert!(between > 80.0, "{between}");
    let loss = "Brush Validation loss, best";
    assert!(driver.place(loss).x > 900.0, "it is to be scrolled to");
    let wheel = Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(-5000.0, 0.0),
        phase: TouchPhase::Move,
        source: MouseWheelSource::Unknown,
        modifiers: Modifiers::NONE,
    };
    let over = driver.place("Brush k01");
    driver.frame(&mut panel, vec![Event::PointerMoved(over), wheel]);
    for _ in 0..6 {
        driver.settle(&mut panel);
    }
    assert!(driver.place(loss).x < 880.0, "{}", driver.place(loss));
    // From below the middle to above the upper end: of the losses 1 to 4 those of 3 and 4.
    let start = driver.place(loss);
    let end = start - vec2(0.0, 250.0);
    let press = |pos, pressed| Event::PointerButton {
        pos,
        button: PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    driver.frame(&mut panel, vec![Event::PointerMoved(start)]);
    driver.frame(&mut panel, vec![press(start, true)]);
    for share in [0.3, 0.7, 1.0] {
        driver.frame(&mut panel, vec![Event::PointerMoved(start + (end - start) * share)]);
    }
    driver.frame(&mut panel, vec![press(end, false)]);
    driver.settle(&mut panel);
    assert!(driver.says("2 of 4 pass; the table shows these."), "{:#?}", driver.names());
}

#[test]
fn idle_it_asks_for_no_repaint() {
    let (mut driver, mut panel) = open(state());
    for _ in 0..10 {
        driver.frame(&mut panel, Vec::new());
    }
    assert!(driver.rests());
}
