//! Model directories that were looked into before.

use std::path::{Path, PathBuf};

use egui::{RichText, Ui};
use serde::{Deserialize, Serialize};

use crate::{state::folder_name, theme};

/// Folders that are remembered.
const MOST: usize = 12;

/// Model directories, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recent(Vec<PathBuf>);

impl Recent {
    /// Puts a folder first.
    pub fn remember(&mut self, folder: &Path) {
        if self.0.first().is_some_and(|first| first == folder) {
            return;
        }
        self.0.retain(|known| known != folder);
        self.0.insert(0, folder.to_owned());
        self.0.truncate(MOST);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Draws the list; gives the folder that was clicked.
    pub fn ui(&mut self, ui: &mut Ui) -> Option<PathBuf> {
        let palette = theme::palette(ui.visuals());
        let (mut opened, mut forgotten) = (None, None);
        for folder in &self.0 {
            ui.push_id(folder, |ui| {
                ui.horizontal(|ui| {
                    let forget = ui.small_button("×").on_hover_text("Takes it off this list; its files stay");
                    let name = folder_name(folder);
                    if forget.accessible_name(format!("Forget {name}")).clicked() {
                        forgotten = Some(folder.clone());
                    }
                    if ui.link(&name).on_hover_text(folder.display().to_string()).clicked() {
                        opened = Some(folder.clone());
                    }
                    if let Some(parent) = folder.parent().filter(|_| !name.contains('/')) {
                        ui.label(RichText::new(parent.display().to_string()).small().color(palette.weak));
                    }
                });
            });
        }
        if let Some(forgotten) = forgotten {
            self.0.retain(|known| *known != forgotten);
        }
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_comes_first_and_none_twice() {
        let mut recent = Recent::default();
        for folder in ["/a", "/b", "/a"] {
            recent.remember(Path::new(folder));
        }
        assert_eq!(recent.0, [Path::new("/a"), Path::new("/b")]);
        for number in 0..MOST + 3 {
            recent.remember(&Path::new("/many").join(number.to_string()));
        }
        assert_eq!((recent.0.len(), recent.0[0].ends_with("14")), (MOST, true));
    }
}
