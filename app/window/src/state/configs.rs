//! The configs of many runs, flat.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use headroom_engine::store::RunId;
use serde_json::Value;

use crate::compare::flatten;

/// Flat configs by run. A run's config never changes, so each is flattened once.
#[derive(Default)]
pub struct FlatConfigs {
    pub(super) known: BTreeMap<RunId, Arc<BTreeMap<String, Value>>>,
    pub(super) asked: BTreeSet<RunId>,
    /// How many runs there were when none was missing, and the newest of them.
    pub(super) complete: Option<(usize, RunId)>,
}

impl FlatConfigs {
    /// Takes in the config of a run that was read elsewhere.
    pub fn insert(&mut self, run: RunId, config: &Value) {
        self.known.insert(run, Arc::new(flatten(config)));
    }

    /// A run's config, once loaded.
    pub fn get(&self, run: &RunId) -> Option<&Arc<BTreeMap<String, Value>>> {
        self.known.get(run)
    }

    /// How many are loaded.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether none is loaded.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}
