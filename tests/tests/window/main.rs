//! The real window, driven by the names that a screen reader is told: over an engine that trains, over example runs,
//! over a store that cannot be opened.
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "test code: a broken premise is to end the test")]

mod adviser;
mod analyses;
mod closing;
mod common;
mod compare;
mod configure;
mod control;
mod directories;
mod exports;
mod generate;
mod heads;
mod live;
mod measure;
mod models;
mod opening;
mod pictures;
mod race;
mod reconstruct;
mod runs;
mod shell;
mod sizes;
mod speed;
mod states;
mod tasks;
mod upload;
