//! Runs for tests.
#![expect(clippy::expect_used, reason = "test code: a broken premise is to end the test")]

use std::collections::BTreeMap;

use headroom_engine::{
    config::{RunConfig, to_toml},
    store::{
        AttemptRecord, CheckpointKind, CheckpointRecord, Direction, Machine, RunRecord, RunState, RunSummary,
        SeriesSummary, series_names,
    },
    train::Numerics,
};

/// 2025-03-09 14:05:09 UTC.
const CREATED_MS: i64 = 1_741_529_109_000;

/// A finished run.
pub fn summary(number: u64, name: &str) -> RunSummary {
    let metric = |last: f64, best: f64, direction| SeriesSummary {
        last,
        last_step: 100,
        best: Some(best),
        best_step: Some(90),
        direction,
        count: 100,
    };
    RunSummary {
        id: format!("{number:010}").parse().unwrap_or_default(),
        number,
        name: name.to_owned(),
        state: RunState::Finished,
        seed: 1,
        device: "cpu".to_owned(),
        threads: 2,
        flops_per_step: Some(1_000_000),
        train_tokens: Some(51_200),
        held_out_hash: Some("beefcafe".to_owned()),
        evaluated_hash: Some("5eed".to_owned()),
        evaluated_examples: Some(256),
        validation_examples: Some(1_024),
        parameters: Some(1_240_000),
        created_ms: CREATED_MS + number as i64,
        started_ms: Some(CREATED_MS + 1000),
        ended_ms: Some(CREATED_MS + 61_000),
        steps_done: 100,
        steps_total: Some(100),
        tokens: 102_400,
        train_secs: 60.0,
        failure: None,
        diverged: None,
        health: None,
        parent: None,
        note: String::new(),
        tags: vec!["paper".to_owned()],
        archived: false,
        deleted_ms: None,
        metrics: BTreeMap::from([
            (series_names::TRAIN_LOSS.to_owned(), metric(1.75, 1.5, Direction::Lower)),
            (series_names::VALIDATION_LOSS.to_owned(), metric(1.5, 1.25, Direction::Lower)),
        ]),
    }
}

/// The same run, whole.
pub fn record(number: u64, name: &str) -> RunRecord {
    let config = RunConfig { name: name.to_owned(), ..RunConfig::default() };
    RunRecord {
        summary: summary(number, name),
        config_toml: to_toml(&config),
        config: serde_json::to_value(&config).expect("a config is plain data"),
        program_version: "0.1.0".to_owned(),
        git_commit: Some("0123456789abcdef".to_owned()),
        git_dirty: Some(true),
        numerics: Numerics::CURRENT,
        data_hash: Some("feedbeef".to_owned()),
        machine: Machine { cpu: "a processor".to_owned(), cores: 2, os: "an operating system".to_owned() },
        attempts: vec![AttemptRecord { attempt: 1, first_step: 0, started_ms: CREATED_MS + 1000, ended_ms: None }],
    }
}

/// Checkpoints of a run: the best at step 90, the last at step 100.
pub fn checkpoints() -> Vec<CheckpointRecord> {
    let kept = |step: u64, kind, value| CheckpointRecord {
        step,
        path: format!("/store/runs/x/checkpoints/step-{step}").into(),
        kind,
        metric: Some(series_names::VALIDATION_LOSS.to_owned()),
        value,
        bytes: 5 << 20,
        created_ms: CREATED_MS,
        problem: None,
    };
    vec![
        kept(90, CheckpointKind::Best, Some(1.25)),
        kept(90, CheckpointKind::Kept, None),
        kept(100, CheckpointKind::Last, Some(1.5)),
    ]
}
