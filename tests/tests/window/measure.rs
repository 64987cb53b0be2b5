//! Measuring training steps and texts in the window.

use egui::{Key, Modifiers};
use headroom_app::context::PanelId;
use headroom_engine::{
    protocol::{Command, Event, JobCommand, commands, events},
    speed::{GenerationPreset, PointResult},
    store::{BenchmarkRecord, MeasuredDevice},
};
use headroom_tests::{Program, Screen, fill_with_benchmarks, fill_with_generation};
use tempfile::TempDir;

use crate::common::store;

#[test]
fn a_tiny_sweep_comes_in_and_is_there_after_a_restart() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    screen.click("Speed");
    screen.wait_for("Nothing has been measured yet");
    screen.click("New measurement");
    screen.fill("Field of axis 1", "data.sequence_length");
    screen.fill("Values of axis 1", "8, 12, 16");
    screen.click("Compare sides");
    screen.fill("Fields of side 2", "model.hedas=2");
    assert!(screen.says("`heads`") && !screen.is_enabled("Start measuring"));
    screen.fill("Fields of side 2", "model.heads=2");
    screen.click("Start measuring");
    screen.wait("the first point", |screen| {
        let speed = &screen.state().speed;
        speed.measuring.iter().any(|measuring| !measuring.points.is_empty()) || !speed.benchmarks.is_empty()
    });
    screen.wait("the end", |screen| {
        let speed = &screen.state().speed;
        speed.measuring.is_empty() && speed.benchmarks.iter().any(|known| known.points == 3)
    });
    screen.wait_for("data.sequence_length=16, base");
    assert!(screen.says("Roofline of data.sequence_length=8, base"), "{:#?}", screen.words());
    screen.click("data.sequence_length=16, side 2");
    assert!(screen.says("Roofline of data.sequence_length=16, side 2"));
    screen.close();

    let mut screen = Screen::engine(&store(&folder));
    assert_eq!(screen.window().open_panel(), PanelId::SPEED);
    screen.wait_for("data.sequence_length=12, side 2");
    let csv = screen.click_to_copy("Copy CSV").unwrap();
    assert_eq!(csv.lines().count(), 7, "{csv}");
    let json = folder.path().join("measured.json");
    screen.click("Export data…");
    screen.fill("File", &json.display().to_string());
    screen.click("Export");
    screen.wait("the file", |screen| json.is_file() && !screen.has("Cancel"));
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(written["results"]["points"].as_array().unwrap().len(), 3);
    assert_eq!(written["spec"]["axes"][0]["field"], "data.sequence_length");
    let name = screen.state().speed.benchmarks[0].name.clone();
    screen.click(&format!("Delete {name}"));
    screen.wait("an empty list", |screen| screen.state().speed.benchmarks.is_empty());
    screen.press(Modifiers::COMMAND, Key::Z);
    screen.wait("it to come back", |screen| screen.state().speed.benchmarks.len() == 1);
    screen.close();
}

#[test]
fn a_measurement_can_be_cancelled() {
    let folder = TempDir::new().unwrap();
    let mut screen = Screen::engine(&store(&folder));
    screen.click("Speed");
    screen.wait_for("Measure sequence lengths 64 to 512");
    screen.click("Measure sequence lengths 64 to 512");
    screen.wait("the measurement's start", |screen| {
        screen.state().speed.measuring.iter().any(|measuring| measuring.at.is_some())
    });
    assert!(screen.says("Measuring grammar decoder: data.sequence_length"), "{:#?}", screen.words());
    screen.click("Cancel the measurement");
    screen.wait("its end", |screen| screen.state().speed.measuring.is_empty());
    screen.close();
    // It is there only if a point was measured before.
    let mut screen = Screen::engine(&store(&folder));
    screen.wait("the list", |screen| screen.state().speed.loaded);
    assert!(screen.state().speed.benchmarks.iter().all(|known| known.points > 0 && !known.is_complete()));
    screen.close();
}

#[test]
fn stored_benchmarks_are_opened_and_compared() {
    let mut screen = Screen::recorder();
    fill_with_benchmarks(screen.state());
    screen.click("Speed");
    assert!(screen.says("Out of memory") && screen.says("needs 11"), "{:#?}", screen.words());
    screen.click("Compare with before the change");
    assert!(screen.says("Here / there") && screen.says("0.763"), "{:#?}", screen.words());
    assert!(
        screen.says("There: cpu, 2 threads, f32; Example 7 CPU") && screen.says("c40a77b1e2"),
        "{:#?}",
        screen.words()
    );
    screen.choose("Quantity", "Largest batch");
    screen.choose("Quantity", "Energy per token");
    screen.choose("Quantity", "Tokens per second");
    screen.recorded();
    screen.press(Modifiers::COMMAND, Key::E);
    assert!(screen.has("Export"));
    assert!(!screen.recorded().iter().any(|command| matches!(command, Command::Job(JobCommand::Measure(_)))));
}

#[test]
fn generation_is_offered_and_shown_beside_what_is_published() {
    let mut screen = Screen::recorder();
    fill_with_generation(screen.state(), GenerationPreset::Length);
    screen.click("Speed");
    for words in ["Beside the published ratios", "1.4 at 64", "5 at 1,024", "Hidden states (EL)", "build query"] {
        assert!(screen.says(words), "{words}: {:#?}", screen.words());
    }
    screen.choose("Quantity", "Samples per second");
    screen.choose("Quantity", "Kept between tokens");
    screen.click("source=64, No cache");
    assert!(screen.says("Roofline of attention to the source, source=64"), "{:#?}", screen.words());
    screen.recorded();
    screen.click("Attention over beams");
    let asked = screen.recorded();
    let measures = |command: &Command| match command {
        Command::Job(JobCommand::Measure(commands::Measure { name, spec, .. })) => {
            name == "Attention over beams" && **spec == GenerationPreset::Beams.spec()
        }
        _ => false,
    };
    assert!(asked.iter().any(measures), "{asked:?}");
}

#[test]
fn published_ratios_beside_disturbed_times_are_marked_in_the_window_and_on_the_command_line() {
    let mut screen = Screen::recorder();
    fill_with_generation(screen.state(), GenerationPreset::Length);
    let id = screen.state().speed.benchmarks[0].id.clone();
    let mut record = BenchmarkRecord::clone(&screen.state().speed.record(&id).unwrap());
    record.results.points[0].others_cores = Some(1.2);
    let ratio = |point: &PointResult| {
        let sides = point.sides.iter();
        let of = |name: &str| sides.clone().find(|side| side.side == name).unwrap().outcome.generation().unwrap();
        headroom_app::format::significant(of("key_value").attention_secs() / of("hidden").attention_secs(), 3)
    };
    let [first, last] =
        [record.results.points.first(), record.results.points.last()].map(|point| ratio(point.unwrap()));
    screen.state().apply(Event::Benchmark(events::Benchmark { record: Box::new(record.clone()) }));
    screen.click("Speed");
    screen.settle();
    for (shown, is_disturbed) in [(last, false), (first, true)] {
        screen.point_at(&shown);
        let words = "Other programs used the machine meanwhile: neither is called faster";
        assert_eq!(screen.says(words), is_disturbed, "{shown}: {:#?}", screen.words());
    }

    let program = Program::new(env!("CARGO_BIN_EXE_headroom-under-test"));
    program.store().create_benchmark(&id, "texts", &record.spec, MeasuredDevice::default()).unwrap();
    let told = |record: &BenchmarkRecord| {
        program.store().update_benchmark(&id, &record.results, true).unwrap();
        program.run(&["bench", "show", "1"]).expect_code(0).stdout
    };
    let words = told(&record);
    let is_marked = |of: &str| words.lines().find(|line| line.contains(of)).unwrap().contains("disturbed");
    let marked = ["states, 64 source tokens", "states, 1024 source tokens", "at most"].map(is_marked);
    assert_eq!(marked, [true, false, true], "the most is found among all lengths: {words}");
    assert!(words.contains("disturbed: other programs used the machine meanwhile"), "{words}");
    record.results.points[0].others_cores = Some(0.02);
    assert!(!told(&record).contains("disturbed"), "nobody used the machine");
}
