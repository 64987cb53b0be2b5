//! The page of a store that cannot be opened: what, why, where, and what can be done.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use egui::{Button, Context, Key, Label, RichText, ScrollArea, TextEdit, Ui};
use headroom_engine::{store::StoreError, worker::EngineError};

use crate::{
    file_dialogs::{Answer, Ask, FileDialogs, Pick, current_folder, typed_path},
    theme,
};

const PICK: &str = "trouble.pick";

/// What the user wants instead.
pub(super) enum Wish {
    /// The same store once more.
    Retry,
    /// The store at another path.
    Open(PathBuf),
    /// The end of the program.
    Quit,
}

/// The page that is shown where a store cannot be opened.
pub(super) struct StoreErrorPage {
    words: Words,
    path: PathBuf,
    typed: String,
    /// A dialog was asked for and could not be shown.
    without_dialog: bool,
    dialogs: FileDialogs,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Words {
    title: &'static str,
    why: String,
    what_to_do: &'static str,
}

impl StoreErrorPage {
    pub fn new(ctx: &Context, store: &Path, error: &EngineError) -> Self {
        let waking = ctx.clone();
        Self {
            words: words(error),
            path: store.to_owned(),
            typed: String::new(),
            without_dialog: false,
            dialogs: FileDialogs::new(Arc::new(move || waking.request_repaint())),
        }
    }

    /// Draws the page.
    pub fn ui(&mut self, ui: &mut Ui) -> Option<Wish> {
        self.dialogs.drain();
        let mut wish = None;
        if let Some(Answer::Picked(path)) = self.dialogs.take(PICK) {
            wish = Some(Wish::Open(path));
        }
        self.without_dialog |= self.dialogs.take_not_shown();
        let palette = theme::palette(ui.visuals());
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            ui.add_space((ui.available_height() * 0.16).min(120.0));
            let margin = ((ui.available_width() - 620.0) / 2.0).max(12.0);
            ui.horizontal_top(|ui| {
                ui.add_space(margin);
                ui.vertical(|ui| {
                    ui.set_max_width(620.0_f32.min(ui.available_width() - 12.0));
                    ui.label(RichText::new(self.words.title).heading().color(palette.strong));
                    ui.add_space(4.0);
                    ui.label(RichText::new(&self.words.why).color(palette.error));
                    ui.label(self.words.what_to_do);
                    ui.add_space(6.0);
                    let path = self.path.display().to_string();
                    ui.horizontal_wrapped(|ui| {
                        ui.label(RichText::new("The store").color(palette.weak));
                        ui.add(Label::new(RichText::new(&path).monospace()).wrap());
                        if ui.button("Copy").accessible_name("Copy the path").clicked() {
                            ui.ctx().copy_text(path.clone());
                        }
                    });
                    ui.add_space(10.0);
                    ui.horizontal_wrapped(|ui| {
                        if ui.add(Button::new("Try again").fill(palette.selection)).clicked() {
                            wish = Some(Wish::Retry);
                        }
                        let busy = self.dialogs.is_busy(PICK);
                        if ui.add_enabled(!busy, Button::new("Choose another store…")).clicked() {
                            let folder = self.path.parent().map(Path::to_owned);
                            let ask = Ask::new(Pick::File, "Open a store").kind("Store", &["db"]).folder(folder);
                            self.dialogs.pick(PICK, ask);
                        }
                        if ui.button("Quit").clicked() {
                            wish = Some(Wish::Quit);
                        }
                    });
                    ui.add_space(10.0);
                    if self.without_dialog {
                        ui.label(
                            RichText::new("This system shows no file dialog. Type the path:").color(palette.warning),
                        );
                    }
                    ui.label(
                        RichText::new("Or type the path of a store, or of a folder for a new one:").color(palette.weak),
                    );
                    ui.horizontal(|ui| {
                        let field = TextEdit::singleline(&mut self.typed).desired_width(ui.available_width() - 90.0);
                        let field = ui.add(field).accessible_name("Path of another store");
                        let is_entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
                        let is_typed = !self.typed.trim().is_empty();
                        let is_opened =
                            ui.add_enabled(is_typed, Button::new("Open")).accessible_name("Open that store").clicked();
                        if is_typed && (is_entered || is_opened) {
                            wish = Some(Wish::Open(typed_path(&self.typed, &current_folder())));
                        }
                    });
                });
            });
        });
        wish
    }
}

fn words(error: &EngineError) -> Words {
    const LEFT: &str = "Nothing was changed in the file.";
    let EngineError::Store(error) = error else {
        return Words { title: "The engine could not be started", why: error.to_string(), what_to_do: "Try again." };
    };
    match error {
        StoreError::Locked { .. } => Words {
            title: "The store is locked",
            why: "Another program has locked the file, so its runs can be neither read nor written.".to_owned(),
            what_to_do: "Close that program, or wait until it is done, and try again. Several windows of Headroom \
                         on one store do not lock each other out.",
        },
        StoreError::Corrupt { reason, .. } => Words {
            title: "The store is damaged",
            why: format!("The database cannot be read: {reason}."),
            what_to_do: "Restore a backup of the file and try again, or open another store. The checkpoints are \
                         separate files in the folder \"runs\" beside it and stay usable. Nothing was changed in the \
                         file.",
        },
        StoreError::Newer { found, known, .. } => Words {
            title: "The store was made by a newer Headroom",
            why: format!("Its format is {found}; this program knows formats up to {known}. {LEFT}"),
            what_to_do: "Update Headroom, or open another store.",
        },
        StoreError::NotADatabase { .. } => Words {
            title: "The file is not a store",
            why: format!("It is not an SQLite database. {LEFT}"),
            what_to_do: "Open another file, or type the path of a folder: a new store is made there.",
        },
        StoreError::OtherProgram { .. } => Words {
            title: "The file is not a store",
            why: format!("It is the database of another program. {LEFT}"),
            what_to_do: "Open another file, or type the path of a folder: a new store is made there.",
        },
        StoreError::Linked { path, kind } => Words {
            title: "A file of the store is a link",
            why: format!("{} is {kind}, so that another file would be changed with it. {LEFT}", path.display()),
            what_to_do: "Put the file itself in its place and try again, or open another store.",
        },
        StoreError::SuperJournal { path, name } => Words {
            title: "Opening the store would delete a file",
            why: format!(
                "The journal {} names another file ({name}), which SQLite would delete. Headroom writes no such journal. \
                 Nothing was changed.",
                path.display()
            ),
            what_to_do: "Ask whoever made the store for a copy that was closed properly. If the last change to it can be \
                         given up, remove the journal and try again.",
        },
        StoreError::NotWritable { reason, .. } => Words {
            title: "The store cannot be written",
            why: format!("{}.", sentence(reason)),
            what_to_do: "Make the file and its folder writable and try again, or open another store.",
        },
        StoreError::Folder { reason, .. } => Words {
            title: "The folder of the store cannot be made",
            why: format!("{}.", sentence(reason)),
            what_to_do: "Make the folder above it writable and try again, or choose another place.",
        },
        StoreError::Full { .. } => Words {
            title: "The disk is full",
            why: "The store cannot grow.".to_owned(),
            what_to_do: "Free some space and try again, or open a store on another disk.",
        },
        other => Words {
            title: "The store cannot be opened",
            why: other.to_string(),
            what_to_do: "Try again once the cause is gone, or open another store.",
        },
    }
}

fn sentence(reason: &str) -> String {
    let reason = reason.trim_end_matches('.');
    let mut letters = reason.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_says_why_and_what_to_do() {
        let path = || PathBuf::from("/x/headroom.db");
        let reason = || "attempt to write a readonly database".to_owned();
        let all = [
            StoreError::Locked { path: path() },
            StoreError::Corrupt { path: path(), reason: reason() },
            StoreError::Newer { path: path(), found: 9, known: 1 },
            StoreError::NotADatabase { path: path() },
            StoreError::OtherProgram { path: path() },
            StoreError::Linked { path: path(), kind: "a link" },
            StoreError::SuperJournal { path: path(), name: "/x/thesis.tex".to_owned() },
            StoreError::NotWritable { path: path(), reason: reason() },
            StoreError::Folder { path: path(), reason: reason() },
            StoreError::Full { path: path() },
            StoreError::Database { path: path(), reason: reason() },
        ];
        for error in all {
            let words = words(&EngineError::Store(error));
            let said = |text: &str| text.ends_with('.') || text.ends_with("headroom.db");
            assert!(said(&words.why) && said(words.what_to_do), "{words:?}");
            assert!(!words.title.ends_with('.') && !words.what_to_do.contains("--store"), "{words:?}");
        }
    }
}
