//! The columns of the table as the user arranged them.

use std::collections::BTreeSet;

use headroom_engine::store::RunSummary;

use super::{Column, memory::Memory};
use crate::{
    compare::{common_keys, plain},
    state::FlatConfigs,
    widgets,
};

/// Ids of the columns that are no data.
pub(super) const EYE: &str = "eye";
pub(super) const MENU: &str = "menu";

/// As wide as the table lets a name grow, in points.
const NAME: f32 = 420.0;
/// So many times their usual width are columns where there is room, at most: eyes must find the way from one to the next.
const MOST_SPREAD: f32 = 2.2;
/// The table keeps its widths while the panel's changes by less than this, in points.
const STEP: f32 = 8.0;

/// A column with what stands over it.
pub(super) struct Titled {
    pub title: String,
    pub heading: String,
    pub column: Column,
    is_number: bool,
    is_pinned: bool,
}

/// What the columns depend on: the runs, how many configs are known, and what the user chose.
type Key = (u64, usize, Vec<String>, Vec<Column>);

/// Every column that there is; those that are pinned stand first.
#[derive(Default)]
pub(super) struct Columns {
    key: Option<Key>,
    all: Vec<Titled>,
    /// Whether any run has a tag.
    has_tags: bool,
    /// Keys of the known configs: those that differ first.
    config_keys: Vec<String>,
    known_of: usize,
}

impl Columns {
    /// Brings the columns up to date.
    pub fn update(&mut self, runs: &[RunSummary], print: u64, configs: &FlatConfigs, memory: &Memory) {
        if self.known_of != configs.len() {
            self.known_of = configs.len();
            self.config_keys = keys_of(runs, configs);
        }
        let is_same =
            |(a, b, c, d): &Key| (*a, *b, c, d) == (print, self.known_of, &memory.config_keys, &memory.pinned);
        if self.key.as_ref().is_some_and(is_same) {
            return;
        }
        self.key = Some((print, self.known_of, memory.config_keys.clone(), memory.pinned.clone()));
        self.has_tags = runs.iter().any(|run| !run.tags.is_empty());
        let mut all = Column::all(runs);
        let chosen = memory.config_keys.iter().cloned().map(Column::Config);
        let behind = all.iter().position(|column| *column == Column::Seed).map_or(all.len(), |place| place + 1);
        all.splice(behind..behind, chosen);
        let place = |column: &Column| {
            let pinned = memory.pinned.iter().position(|pinned| pinned == column);
            (*column != Column::Name, pinned.is_none(), pinned)
        };
        all.sort_by_key(place);
        let titled = |column: Column| Titled {
            title: column.to_string(),
            heading: column.heading(),
            is_number: is_number(&column, runs, configs),
            is_pinned: memory.pinned.contains(&column),
            column,
        };
        self.all = all.into_iter().map(titled).collect();
    }

    /// Whether the keys are those of all these configs: the last ones may have come in this frame.
    pub fn is_of(&self, configs: &FlatConfigs) -> bool {
        self.known_of == configs.len()
    }

    /// Keys of the known configs, those that differ among the runs first.
    pub fn config_keys(&self) -> &[String] {
        &self.config_keys
    }

    /// Every column.
    pub fn all(&self) -> &[Titled] {
        &self.all
    }

    /// The column of this title.
    pub fn of_title(&self, title: &str) -> Option<&Column> {
        self.all.iter().find(|own| own.title == title).map(|own| &own.column)
    }

    /// How many of the shown columns stay on the left: eye, name, menu, and those that are pinned.
    pub fn frozen(&self, hidden: &BTreeSet<String>) -> usize {
        3 + self.all.iter().filter(|own| own.is_pinned && !hidden.contains(&own.title)).count()
    }

    /// As the table takes them.
    pub fn table(&self) -> Vec<widgets::Column<'_>> {
        let eye = widgets::Column::text(EYE, "Shown", 66.0)
            .help("Whether charts show the run (Space), and the colour it has there")
            .always()
            .unsorted();
        let menu = widgets::Column::text(MENU, "", 34.0).help("What can be done with the run").always().unsorted();
        let mut all = vec![eye];
        for Titled { title, heading, column, is_number, is_pinned } in &self.all {
            let width = column.width();
            let shown = if *is_number {
                widgets::Column::number(title, title, width)
            } else {
                widgets::Column::text(title, title, width)
            };
            let rank = if *is_pinned { 0 } else { column.rank(self.has_tags) };
            let shown = shown.short(heading).rank(rank);
            // Words are cut where there is no room, not beside room that nothing takes.
            let shown = if *column == Column::Note { shown.grows() } else { shown };
            if *column == Column::Name {
                all.extend([shown.always().grows(), menu.clone()]);
            } else {
                all.push(shown);
            }
        }
        all
    }

    /// As the table takes them, those that are shown wider by what they leave over of `width` points with `gap` between two. The
    /// widths are known before the table is drawn: nothing moves under the pointer.
    pub fn spread(&self, hidden: &BTreeSet<String>, width: f32, gap: f32) -> Vec<widgets::Column<'_>> {
        let mut columns = self.table();
        let is_shown = |column: &widgets::Column<'_>| !column.hideable || !hidden.contains(column.id);
        let is_data = |column: &widgets::Column<'_>| column.hideable && !column.grows && is_shown(column);
        let (mut needed, mut data) = (0.0, 0.0);
        for column in &columns {
            if is_shown(column) {
                needed += gap + if column.grows { NAME } else { column.width };
            }
            if is_data(column) {
                data += column.width;
            }
        }
        let left_over = (width / STEP).floor() * STEP - needed;
        if left_over > 0.0 && data > 0.0 {
            let factor = (1.0 + left_over / data).min(MOST_SPREAD);
            for column in &mut columns {
                if is_data(column) {
                    column.width *= factor;
                }
            }
        }
        columns
    }

    /// Of the usual columns, and of those that the user chose, the titles of those for which there is no room, and of all others.
    pub fn without_room(&self, memory: &Memory, width: f32, gap: f32) -> BTreeSet<String> {
        let usual = Column::usual();
        let is_wanted = |title: &str| {
            let own = self.of_title(title);
            own.is_none_or(|column| {
                usual.contains(column) || matches!(column, Column::Config(_)) || memory.pinned.contains(column)
            })
        };
        let (mine, others): (Vec<_>, Vec<_>) = self.table().into_iter().partition(|column| is_wanted(column.id));
        let without = widgets::without_room(&mine, width, gap);
        without.into_iter().chain(others.iter().map(|column| column.id)).map(str::to_owned).collect()
    }
}

/// Whether a column holds numbers, set to the right: of a config key, where all values are.
fn is_number(column: &Column, runs: &[RunSummary], configs: &FlatConfigs) -> bool {
    let Column::Config(key) = column else { return column.is_number() };
    let mut values = runs.iter().filter_map(|run| configs.get(&run.id)?.get(key)).peekable();
    values.peek().is_some() && values.all(serde_json::Value::is_number)
}

/// All keys of the known configs: those whose values differ first.
fn keys_of(runs: &[RunSummary], configs: &FlatConfigs) -> Vec<String> {
    let known: Vec<_> = runs.iter().filter_map(|run| configs.get(&run.id)).map(AsRef::as_ref).collect();
    let mut keys: Vec<String> = common_keys(&known).into_iter().filter(|key| key != "seed").collect();
    let others: BTreeSet<&String> = known.iter().flat_map(|config| config.keys()).collect();
    let is_said = ["format", "name", "seed"];
    let others = others.into_iter().filter(|key| !is_said.contains(&key.as_str()) && !keys.contains(key));
    let others: Vec<String> = others.cloned().collect();
    keys.extend(others);
    keys
}

/// The values of a key among the runs, the first few, for a hint.
pub(super) fn some_values(key: &str, runs: &[RunSummary], configs: &FlatConfigs) -> String {
    const MOST: usize = 4;
    let values = runs.iter().filter_map(|run| configs.get(&run.id)?.get(key)).map(plain);
    let values: BTreeSet<String> = values.collect();
    let more = if values.len() > MOST { ", …" } else { "" };
    values.into_iter().take(MOST).collect::<Vec<_>>().join(", ") + more
}
