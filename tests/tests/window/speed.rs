//! The panel Speed over an engine.

use headroom_engine::store::{MeasuredDevice, OpenMode, Store};
use headroom_tests::{Screen, example_benchmark};
use tempfile::TempDir;

use super::common::store;

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
