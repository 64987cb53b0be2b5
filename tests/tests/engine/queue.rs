//! Measurements that wait in the engine's queue.

use std::{path::PathBuf, time::Duration};

use headroom_engine::{
    config::from_toml,
    protocol::{Command, Event, JobCommand, JobRef, commands, events},
    speed::SweepSpec,
    store::BenchmarkId,
    worker::{Engine, EngineOptions},
};
use headroom_tests::TINY_DECODER;
use tempfile::TempDir;

#[test]
fn a_measurement_waits_for_the_run_and_can_be_taken_out_of_the_queue() {
    let folder = TempDir::new().unwrap();
    let engine = Engine::start(EngineOptions { store: folder.path().join("headroom.db"), wake: None }).unwrap();
    let config = Box::new(from_toml(TINY_DECODER).unwrap());
    let (waits, dropped) = (BenchmarkId::new(), BenchmarkId::new());
    let axis = "train.batch=1,2".parse().unwrap();
    let spec = SweepSpec { base: (*config).clone(), axes: vec![axis], steps: 2, ..SweepSpec::default() };
    let measure = |benchmark: &BenchmarkId| {
        Command::Job(JobCommand::Measure(commands::Measure {
            benchmark: benchmark.clone(),
            name: "waits".to_owned(),
            spec: Box::new(spec.clone()),
        }))
    };
    engine.send(Command::Enqueue(commands::Enqueue { config, base_dir: PathBuf::new() })).unwrap();
    engine.send(measure(&waits)).unwrap();
    engine.send(measure(&dropped)).unwrap();
    engine.send(Command::Cancel(commands::Cancel { job: JobRef::Id(dropped.clone()) })).unwrap();
    let (mut is_trained, mut was_dropped) = (false, false);
    loop {
        match engine.wait_event(Duration::from_mins(2)).map(|notice| notice.event).unwrap() {
            Event::Finished(_) => is_trained = true,
            Event::MeasuredPoint(events::MeasuredPoint { benchmark, .. }) => {
                assert!(is_trained, "measured while a run trained");
                assert_eq!(benchmark, waits);
            }
            Event::MeasureEnded(events::MeasureEnded { benchmark, complete, why, .. }) if benchmark == dropped => {
                assert!(!complete && why.is_none(), "{why:?}");
                was_dropped = true;
            }
            Event::MeasureEnded(events::MeasureEnded { complete, why, .. }) => {
                assert!(complete, "{why:?}");
                break;
            }
            _ => {}
        }
    }
    assert!(was_dropped);
    assert!(engine.shutdown(Duration::from_mins(1)));
}
