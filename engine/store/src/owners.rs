//! Owners of unfinished runs.

use std::collections::HashMap;

use super::StorePaths;
use super::instance::{self, InstanceId};

/// The programs that answer for active runs, each looked at once.
pub(crate) struct Owners<'a> {
    paths: &'a StorePaths,
    known: HashMap<String, bool>,
}

impl<'a> Owners<'a> {
    pub(crate) fn new(paths: &'a StorePaths) -> Self {
        Self { paths, known: HashMap::new() }
    }

    pub(crate) fn is_alive(&mut self, owner: Option<&str>) -> bool {
        let Some(owner) = owner else { return false };
        if let Some(is_alive) = self.known.get(owner) {
            return *is_alive;
        }
        // An owner that is no program's name is no living program.
        let is_alive = owner.parse::<InstanceId>().is_ok_and(|owner| instance::is_alive(self.paths, &owner));
        self.known.insert(owner.to_owned(), is_alive);
        is_alive
    }
}
