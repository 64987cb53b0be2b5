use std::collections::BTreeSet;

use headroom_engine::store::RunSummary;
use serde::{Deserialize, Serialize};

use super::{Column, GroupBy, RunFields};
use crate::{settings::Settings, state::State, widgets::TableState};

/// Under which name it is kept.
const NAME: &str = "runs";

/// What the panel remembers between starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Memory {
    pub table: TableState,
    pub filter: String,
    pub show_archived: bool,
    /// Whether columns were hidden or shown by the user; until then those of the usual ones are shown that there is room
    /// for.
    pub chose_columns: bool,
    /// Keys of configs that have a column.
    pub config_keys: Vec<String>,
    /// Columns that stand beside the name, here and in lists of runs.
    pub pinned: Vec<Column>,
    /// How runs are grouped.
    pub group: Option<GroupBy>,
    /// Groups that are folded, by their labels.
    pub folded: BTreeSet<String>,
}

impl Memory {
    /// What was remembered.
    pub fn of(settings: &Settings) -> Self {
        settings.of_panel(NAME)
    }

    /// Remembers it.
    pub fn keep(&self, settings: &mut Settings) {
        settings.set_panel(NAME, self);
    }

    /// Pins a column, or unpins it.
    pub fn toggle_pin(&mut self, column: &Column) {
        if let Some(place) = self.pinned.iter().position(|pinned| pinned == column) {
            self.pinned.remove(place);
        } else {
            self.pinned.push(column.clone());
        }
    }
}

/// The columns that are pinned in the table of runs: lists of runs show them too.
pub fn pinned_columns(settings: &Settings) -> Vec<Column> {
    Memory::of(settings).pinned
}

/// By which column the table of runs is sorted, and whether the largest come first; none: the newest come first. Lists of runs
/// follow it.
pub fn chosen_sorting(settings: &Settings, runs: &[RunSummary]) -> Option<(Column, bool)> {
    let memory = Memory::of(settings);
    let sorting = memory.table.sorting?;
    let keys = memory.config_keys.into_iter().map(Column::Config);
    let column = Column::all(runs).into_iter().chain(keys).find(|column| column.to_string() == sorting.column)?;
    Some((column, sorting.descending))
}

/// What these columns say of a run, as a list of runs shows it: `loss 1.25, layers 4`.
pub fn column_words(columns: &[Column], state: &State, run: &RunSummary) -> String {
    let fields = RunFields::of(run, &state.configs);
    let word = |column: &Column| {
        let shown = column.cell(&fields).shown;
        (!shown.is_empty()).then(|| format!("{} {shown}", column.heading()))
    };
    columns.iter().filter_map(word).collect::<Vec<_>>().join(", ")
}
