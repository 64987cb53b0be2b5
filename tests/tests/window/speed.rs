//! The panel Speed over an engine.

use egui::{Key, Modifiers, Visuals, vec2};
use headroom_app::theme;
use headroom_engine::{
    protocol::{Event, events},
    speed::Outcome,
    store::{BenchmarkRecord, MeasuredDevice, OpenMode, Store},
};
use headroom_tests::{Screen, example_benchmark};
use tempfile::TempDir;

use super::common::store;

/// The panel with one stored benchmark.
fn shown(record: BenchmarkRecord) -> Screen {
    let mut screen = Screen::recorder();
    screen.state().apply(Event::Benchmarks(events::Benchmarks { benchmarks: vec![record.summary.clone()] }));
    screen.state().apply(Event::Benchmark(events::Benchmark { record: Box::new(record) }));
    screen.click("Speed");
    screen.settle();
    screen
}

#[test]
fn a_measurement_that_others_disturbed_says_so_and_calls_neither_side_faster() {
    let mut record = example_benchmark(2, "disturbed", 1.0);
    record.results.points[0].others_cores = Some(1.2);
    let mut screen = shown(record);
    let words = "data.sequence_length=64: other programs used 1.2 cores meanwhile, so these times may be too long.";
    assert!(screen.says(words), "{:#?}", screen.words());
    assert!(!screen.says("data.sequence_length=128: other programs"), "{:#?}", screen.words());
    // The ratio of its second side, then that of a point that nobody disturbed.
    screen.point_at("1.092");
    let words = "Other programs used the machine meanwhile: neither is called faster";
    assert!(screen.says(words), "{:#?}", screen.words());
    screen.point_at("1.124");
    assert!(screen.says("Slower: their quartiles do not overlap"), "{:#?}", screen.words());
}

#[test]
fn where_quartiles_overlap_neither_side_is_called_faster() {
    let mut record = example_benchmark(2, "overlapping", 1.0);
    let Outcome::Measured(found) = &mut record.results.points[0].sides[1].outcome else { panic!("it is measured") };
    found.step_secs.lower = 0.0;
    let mut screen = shown(record);
    screen.point_at("1.092");
    assert!(screen.says("Their quartiles overlap: neither is called faster"), "{:#?}", screen.words());
}

#[test]
fn an_operation_above_the_roof_is_told_as_impossible() {
    let words = "An operation is faster than the compute limit, which cannot be";
    let mut record = example_benchmark(2, "measured while something else ran", 1.0);
    let screen = shown(record.clone());
    assert!(screen.says("Roofline of data.sequence_length=64, 4 heads") && !screen.says(words));
    record.results.limits.as_mut().unwrap().product_flops_per_sec = 1e9;
    let screen = shown(record);
    assert!(screen.says(words), "{:#?}", screen.words());
}

#[test]
fn the_chart_is_made_higher_by_its_handle_and_stays_so() {
    let mut screen = shown(example_benchmark(2, "high", 1.0));
    let before = screen.rect("Chart: Step time").height();
    screen.focus("Height of chart and roofline");
    for _ in 0..3 {
        screen.press(Modifiers::NONE, Key::ArrowDown);
    }
    screen.settle();
    let after = screen.rect("Chart: Step time").height();
    assert!((after - before - 60.0).abs() < 1.0, "{before} {after}");
    let kept: serde_json::Value = screen.window().settings.of_panel("speed");
    // From the least one, or from what a window so high leaves to it.
    assert!(kept["height"].as_f64().is_some_and(|height| height >= 310.0), "{kept}");
}

#[test]
fn the_chart_fills_a_high_window_and_keeps_its_least_height_in_a_low_one() {
    let mut screen = shown(example_benchmark(2, "of any height", 1.0));
    let [low, high, higher] = [800.0, 1300.0, 1400.0].map(|height| {
        screen.resize(vec2(1280.0, height));
        screen.rect("Chart: Step time").height()
    });
    assert!(high > low + 60.0, "{low} {high}");
    assert!((higher - high - 100.0).abs() < 2.0, "{high} {higher}");
    screen.resize(vec2(1280.0, 800.0));
    let again = screen.rect("Chart: Step time").height();
    assert!((again - low).abs() < 1.0, "{low} {again}");
}

#[test]
fn a_benchmark_of_another_program_reaches_an_open_window() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    screen.click("Speed");
    screen.settle();
    assert!(!screen.says("measured elsewhere"), "{:#?}", screen.words());
    let other = Store::open(&store(&folder), OpenMode::ReadWrite).unwrap();
    let record = example_benchmark(1, "measured elsewhere", 1.0);
    let id = &record.summary.id;
    other.create_benchmark(id, &record.summary.name, &record.spec, MeasuredDevice::default()).unwrap();
    other.update_benchmark(id, &record.results, true).unwrap();
    screen.wait_for_words("measured elsewhere");
    // And its going.
    other.set_benchmark_deleted(id, true).unwrap();
    screen.wait("its going", |screen| !screen.says("measured elsewhere"));
    screen.close();
}

#[test]
fn a_ratio_is_coloured_only_where_quartiles_lie_apart() {
    let mut record = example_benchmark(2, "coloured", 1.0);
    let Outcome::Measured(found) = &mut record.results.points[0].sides[1].outcome else { panic!("it is measured") };
    found.step_secs.lower = 0.0;
    let screen = shown(record);
    let palette = theme::palette(&if screen.is_dark() { Visuals::dark() } else { Visuals::light() });
    let colour = |ratio: &str| screen.painted().into_iter().find(|text| text.text == ratio).map(|text| text.color);
    assert_eq!(colour("1.092"), Some(palette.weak), "its quartiles overlap");
    assert_eq!(colour("1.124"), Some(palette.worse));
}

#[test]
fn the_largest_batch_is_a_column_only_where_it_was_looked_for() {
    let mut record = example_benchmark(2, "with batches", 1.0);
    let mut screen = shown(record.clone());
    screen.resize(vec2(2200.0, 1900.0));
    let heading = screen.painted().into_iter().find(|text| text.text == "Largest\nbatch");
    assert!(heading.is_some_and(|text| text.rect.width() < 50.0), "it takes two lines");
    for side in record.results.points.iter_mut().flat_map(|point| &mut point.sides) {
        side.largest_batch = None;
    }
    // The choice in the form stays.
    assert_eq!(shown(record).count("Largest batch") + 1, screen.count("Largest batch"), "{:#?}", screen.words());
}

#[test]
fn no_control_of_the_form_is_cut_in_a_narrow_window() {
    let mut screen = shown(example_benchmark(2, "narrow", 1.0));
    for width in [900.0, 1280.0] {
        screen.resize(vec2(width, 800.0));
        let all = screen.painted();
        for words in ["Largest batch", "Repeats", "Warm-up"] {
            let text = all.iter().find(|text| text.text == words);
            assert!(text.is_some_and(|text| !text.is_cut && text.rect.right() < width), "{words}, {width}: {text:?}");
        }
        // A number stands beside its name.
        let name = all.iter().find(|text| text.text == "Repeats").unwrap().rect;
        let number = screen.rect("Repeats");
        assert!((name.center().y - number.center().y).abs() < 4.0, "{width}: {name:?} {number:?}");
    }
}

#[test]
fn another_quantity_is_shown_whole() {
    let mut screen = shown(example_benchmark(2, "zoomed", 1.0));
    screen.focus("Chart: Step time");
    screen.press(Modifiers::NONE, Key::Plus);
    assert!(screen.has("Reset the zoom of Step time"));
    screen.choose("Quantity", "Tokens per second");
    assert!(screen.has("Chart: Tokens per second") && !screen.says("Reset the zoom of"), "{:#?}", screen.words());
    screen.choose("Quantity", "Step time");
    assert!(screen.has("Reset the zoom of Step time"), "the zoom is there again");
}
