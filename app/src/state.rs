//! The view model: what the panels show, filled from the engine's events and changed by nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use headroom_engine::{
    store::{RunId, RunRecord, RunSummary, TextSample},
    worker::{Command, DeviceInfo, Event},
};

use crate::messages::Messages;

/// Everything that the panels show.
#[derive(Default)]
pub struct State {
    /// All runs, newest first.
    pub runs: Vec<RunSummary>,
    /// Whether the first list of runs has come.
    pub runs_loaded: bool,
    /// Whole records of runs that were asked for.
    pub records: BTreeMap<RunId, RunRecord>,
    /// Text samples of runs that were asked for.
    pub samples: BTreeMap<RunId, Vec<TextSample>>,
    /// Which runs are shown, pinned, hovered.
    pub selection: Selection,
    /// What computes now.
    pub current: Option<CurrentRun>,
    /// Runs that wait, in order.
    pub waiting: Vec<RunId>,
    /// What happened.
    pub messages: Messages,
    /// The machine's load.
    pub system: Option<SystemLoad>,
    /// Devices, once asked for.
    pub devices: Vec<DeviceInfo>,
    /// Commands that follow from events (a tail to load, a record to refresh); sent after draining.
    wishes: Vec<Command>,
}

/// Which runs every panel shows.
#[derive(Clone, Default)]
pub struct Selection {
    /// Runs whose eye is open.
    pub visible: BTreeSet<RunId>,
    /// The run in the inspector.
    pub focused: Option<RunId>,
    /// The pinned baseline.
    pub baseline: Option<RunId>,
    /// The run under the mouse, in whichever chart or table.
    pub hovered: Option<RunId>,
}

/// The run that computes now.
#[derive(Clone, Debug, Default)]
pub struct CurrentRun {
    /// The run.
    pub run: String,
    /// Its name.
    pub name: String,
    /// Steps done.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Paused by the user.
    pub is_paused: bool,
    /// What is prepared, before the first step, with the share done.
    pub preparing: Option<(String, f64)>,
    /// Last training loss.
    pub loss: Option<f64>,
    /// Training speed.
    pub tokens_per_sec: Option<f64>,
    /// Time left.
    pub eta_secs: Option<f64>,
}

/// The machine's load.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLoad {
    /// 100 = one core.
    pub cpu_percent: f64,
    /// Resident memory of this program.
    pub memory_bytes: u64,
    /// Memory that is free on the machine.
    pub free_bytes: u64,
}

impl State {
    /// Takes one event in.
    pub fn apply(&mut self, event: Event) {
        let _ = event;
    }

    /// Commands that follow from events.
    pub fn take_wishes(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.wishes)
    }
}
