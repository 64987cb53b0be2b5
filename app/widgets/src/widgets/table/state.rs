use std::collections::BTreeSet;

use egui::Ui;

use super::{Column, Sorting};

/// What the user did to a table. Serialisable, to be kept in the settings; the caller may change it at any time.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct TableState {
    /// None: the order in which the rows are given.
    pub sorting: Option<Sorting>,
    /// Ids of hidden columns.
    pub hidden: BTreeSet<String>,
    /// Keys of selected rows.
    #[serde(skip)]
    pub selected: BTreeSet<u64>,
    /// Key of the row that the keyboard is at.
    #[serde(skip)]
    pub cursor: Option<u64>,
    /// How far the rows are scrolled, where some columns stay while others scroll sideways.
    #[serde(skip)]
    pub offset: f32,
    /// Where a Shift-click or Shift-arrow extends from.
    #[serde(skip)]
    pub anchor: Option<u64>,
}

impl TableState {
    /// True when this column is shown.
    pub fn shows(&self, column: &Column<'_>) -> bool {
        !(column.hideable && self.hidden.contains(column.id))
    }

    /// Sorts by a column: ascending, then descending, then not at all.
    pub fn toggle_sorting(&mut self, column: &str) {
        self.sorting = match self.sorting.take() {
            Some(Sorting { column: by, descending: false }) if by == column => {
                Some(Sorting { column: by, descending: true })
            }
            Some(Sorting { column: by, .. }) if by == column => None,
            _ => Some(Sorting { column: column.to_owned(), descending: false }),
        };
    }

    /// A click on the row `key` among `rows`: alone selects it, with `toggle` adds or removes it, with `extend` selects
    /// everything from the last plain click to here.
    pub fn click(&mut self, rows: &[u64], key: u64, toggle: bool, extend: bool) {
        let place = |key: u64| rows.iter().position(|&row| row == key);
        match (extend, self.anchor.and_then(place), place(key)) {
            (true, Some(from), Some(to)) => {
                let range = from.min(to)..=from.max(to);
                self.selected = rows.get(range).unwrap_or_default().iter().copied().collect();
            }
            _ if toggle => {
                if !self.selected.remove(&key) {
                    self.selected.insert(key);
                }
                self.anchor = Some(key);
            }
            _ => {
                self.selected = BTreeSet::from([key]);
                self.anchor = Some(key);
            }
        }
        self.cursor = Some(key);
    }

    /// Moves the keyboard by `by` rows, staying inside. Returns the new row.
    pub fn step(&mut self, rows: &[u64], by: isize) -> Option<u64> {
        let last = rows.len().checked_sub(1)?;
        let at = self.cursor.and_then(|key| rows.iter().position(|&row| row == key));
        let to = match at {
            Some(at) => at.saturating_add_signed(by).min(last),
            None if by < 0 => last,
            None => 0,
        };
        self.cursor = rows.get(to).copied();
        self.cursor
    }

    /// A menu button with a check mark per column.
    pub fn columns_menu_ui(&mut self, ui: &mut Ui, columns: &[Column<'_>]) {
        let config =
            egui::containers::menu::MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
        egui::containers::menu::MenuButton::new("Columns").config(config).ui(ui, |ui| self.columns_ui(ui, columns));
    }

    pub(super) fn columns_ui(&mut self, ui: &mut Ui, columns: &[Column<'_>]) {
        for column in columns.iter().filter(|column| column.hideable) {
            let mut shown = !self.hidden.contains(column.id);
            if ui.checkbox(&mut shown, column.title).changed() {
                if shown {
                    self.hidden.remove(column.id);
                } else {
                    self.hidden.insert(column.id.to_owned());
                }
            }
        }
        ui.separator();
        if ui.button("Show all columns").clicked() {
            self.hidden.clear();
        }
    }
}
