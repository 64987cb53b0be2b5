//! The config as a file: open, save, copy.

use std::path::{Path, PathBuf};

use egui::{Button, Label, RichText, TextEdit, Ui};
use headroom_engine::{
    config::{RunConfig, from_toml, to_toml},
    hub::is_fetched,
};

use super::draft::Draft;
use crate::{
    context::{Action, PanelContext},
    file_dialogs::{Answer, Ask, FileDialogs, Pick, typed_path},
    messages::Level,
    theme,
};

const OPEN: &str = "configure.open";
const SAVE: &str = "configure.save";
const READ: &str = "configure.read";
const WRITE: &str = "configure.write";

/// From this width on all of it stands in one row.
const ROW: f32 = 480.0;
/// Room for the buttons in that row.
const BUTTONS: f32 = 290.0;

/// The part of the summary that is about the config file.
#[derive(Default)]
pub struct ConfigFile {
    path: String,
    /// The file that the config of this origin was opened from or saved to last: that one is written over without a question.
    own: Option<(PathBuf, u64)>,
    /// Of which origin the config is that is being written.
    writing: Option<u64>,
    /// Another one that is there already, where the config was to be saved.
    in_the_way: Option<PathBuf>,
    trouble: Option<String>,
}

impl ConfigFile {
    /// The config is no longer that of the file.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Path, open, save, copy.
    pub fn ui(&mut self, ui: &mut Ui, draft: &Draft, cx: &mut PanelContext<'_>) {
        let palette = theme::palette(ui.visuals());
        let title = RichText::new("Config file").strong();
        if ui.available_width() >= ROW {
            ui.horizontal(|ui| {
                ui.label(title);
                let width = ui.available_width() - BUTTONS;
                let is_entered = self.path_ui(ui, width);
                self.buttons_ui(ui, is_entered, draft, cx);
            });
        } else {
            ui.label(title);
            let is_entered = self.path_ui(ui, f32::INFINITY);
            ui.horizontal(|ui| self.buttons_ui(ui, is_entered, draft, cx));
        }
        if let Some(trouble) = &self.trouble {
            ui.add(Label::new(RichText::new(trouble).small().color(palette.error)).wrap());
        }
        if let Some(path) = &self.in_the_way {
            let replace = ui.button("Replace the file").on_hover_text("Writes this config over what the file holds");
            if replace.clicked() {
                self.writing = Some(draft.origin);
                write(draft, cx.dialogs, path.clone(), true);
                self.in_the_way = None;
                self.trouble = None;
            }
        }
    }

    /// The field for the path; true when Enter was pressed in it.
    fn path_ui(&mut self, ui: &mut Ui, width: f32) -> bool {
        let field = TextEdit::singleline(&mut self.path).hint_text("Path of a .toml file").desired_width(width);
        let field = ui.add(field).accessible_name("Config file path");
        if field.changed() && self.in_the_way.take().is_some() {
            self.trouble = None;
        }
        field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter))
    }

    fn buttons_ui(&mut self, ui: &mut Ui, is_entered: bool, draft: &Draft, cx: &mut PanelContext<'_>) {
        let typed = !self.path.trim().is_empty();
        let busy = [OPEN, SAVE, READ, WRITE].iter().any(|key| cx.dialogs.is_busy(key));
        let open = ui
            .add_enabled(!busy, Button::new("Open"))
            .on_hover_text("Opens the file of this path, or asks for one")
            .accessible_name("Open TOML");
        if open.clicked() || (is_entered && typed) {
            self.trouble = None;
            self.in_the_way = None;
            if typed {
                cx.dialogs.read(READ, typed_path(&self.path, &draft.base_dir));
            } else {
                cx.dialogs.pick(OPEN, ask(Pick::File, "Open a run config").folder(Some(draft.base_dir.clone())));
            }
        }
        let save = ui
            .add_enabled(!busy, Button::new("Save"))
            .on_hover_text("Saves under this path, or asks for one")
            .accessible_name("Save TOML");
        if save.clicked() {
            self.trouble = None;
            self.in_the_way = None;
            if typed {
                let path = typed_path(&self.path, &draft.base_dir);
                let is_own = self.own.as_ref().is_some_and(|own| (&own.0, own.1) == (&path, draft.origin));
                self.writing = Some(draft.origin);
                write(draft, cx.dialogs, path, is_own);
            } else {
                let name = format!("{}.toml", file_name(&draft.config.name));
                let ask = ask(Pick::Save, "Save the run config").file_name(name);
                cx.dialogs.pick(SAVE, ask.folder(Some(draft.base_dir.clone())));
            }
        }
        let browse = ui
            .add_enabled(!busy, Button::new("Browse…"))
            .on_hover_text("Finds a file to open")
            .accessible_name("Browse for a TOML file");
        if browse.clicked() {
            cx.dialogs.pick(OPEN, ask(Pick::File, "Open a run config").folder(Some(draft.base_dir.clone())));
        }
        let copy = ui.button("Copy").on_hover_text("Puts the whole config on the clipboard as TOML");
        if copy.accessible_name("Copy TOML").clicked() {
            cx.act(Action::Copy("The config".to_owned(), to_toml(&draft.config)));
        }
    }

    /// Takes the answers of dialogs and files in.
    pub fn poll(&mut self, draft: &mut Draft, cx: &mut PanelContext<'_>) {
        if let Some(Answer::Picked(path)) = cx.dialogs.take(OPEN) {
            self.path = path.display().to_string();
            cx.dialogs.read(READ, path);
        }
        if let Some(Answer::Picked(path)) = cx.dialogs.take(SAVE) {
            self.path = path.display().to_string();
            // The dialog has asked already whether to replace a file.
            self.writing = Some(draft.origin);
            write(draft, cx.dialogs, path, true);
        }
        match cx.dialogs.take(READ) {
            Some(Answer::Read { path, text }) => match from_toml(&text) {
                Ok(config) => {
                    self.trouble = None;
                    // In full: what is relative starts at the file's own folder from here on.
                    self.path = path.display().to_string();
                    draft.load(config, path.parent().map(Path::to_owned).unwrap_or_default());
                    self.own = Some((path.clone(), draft.origin));
                    cx.act(Action::Say(Level::Info, format!("Opened {}", path.display()), String::new()));
                }
                Err(error) => self.fail(cx, format!("Cannot use {}: {error}", path.display())),
            },
            Some(Answer::Failed(why)) => self.fail(cx, why),
            _ => {}
        }
        match cx.dialogs.take(WRITE) {
            Some(Answer::Written { path, .. }) => {
                cx.act(Action::Say(Level::Info, format!("Saved the config to {}", path.display()), String::new()));
                // Meanwhile another config may have been chosen, or another path typed.
                if typed_path(&self.path, &draft.base_dir) == path {
                    // The config that was written, whatever was undone since.
                    self.own = Some((path, self.writing.unwrap_or(draft.origin)));
                }
            }
            Some(Answer::Failed(why)) => {
                let path = typed_path(&self.path, &draft.base_dir);
                if why == exists_message(&path) {
                    self.trouble = Some(why);
                    self.in_the_way = Some(path);
                } else {
                    self.fail(cx, why);
                }
            }
            _ => {}
        }
    }

    fn fail(&mut self, cx: &mut PanelContext<'_>, why: String) {
        self.trouble = Some(why.clone());
        cx.act(Action::Say(Level::Error, why, "The config in the window stays as it was.".to_owned()));
    }
}

/// Writes the config; over a file that is there already only if it `may_replace` it.
fn write(draft: &Draft, dialogs: &mut FileDialogs, path: PathBuf, may_replace: bool) {
    let target = path.clone();
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let (config, base_dir) = (draft.config.clone(), draft.base_dir.clone());
    // What is there, and whether a model to begin with is a folder, only the disk knows.
    dialogs.write(WRITE, path, move || {
        if !may_replace && target.exists() {
            return Err(exists_message(&target));
        }
        Ok(to_toml(&rebased(&config, &base_dir, &folder, is_fetched)).into_bytes())
    });
}

fn exists_message(path: &Path) -> String {
    format!("{} is there already. Replace it, or type another path.", path.display())
}

fn ask(pick: Pick, title: &str) -> Ask {
    Ask::new(pick, title).kind("Run config", &["toml"])
}

/// A file name from a run's name: letters, digits and hyphens.
fn file_name(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let parts: Vec<&str> = name.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "run".to_owned() } else { parts.join("-") }
}

/// The config with its relative paths written out where the file goes to another folder than they start at.
/// `is_fetched`: whether a path names a file of a data set that was fetched, which means the same from everywhere.
fn rebased(config: &RunConfig, from: &Path, to: &Path, is_fetched: impl Fn(&Path) -> bool) -> RunConfig {
    let mut config = config.clone();
    if from == to {
        return config;
    }
    for path in config.data.paths_mut() {
        let there = from.join(&*path);
        if path.is_relative() && !path.as_os_str().is_empty() && (there.exists() || !is_fetched(path)) {
            *path = there;
        }
    }
    if let Some(initial) = &mut config.model.initial {
        let there = from.join(&*initial);
        if there.is_dir() {
            *initial = there.display().to_string();
        }
    }
    config
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::{FileSource, Source};

    use super::*;

    #[test]
    fn file_names_come_from_run_names() {
        assert_eq!(file_name("grammar decoder, half"), "grammar-decoder-half");
        assert_eq!(file_name(" / "), "run");
    }

    #[test]
    fn relative_paths_keep_their_meaning_in_another_folder() {
        let mut config = RunConfig::default();
        let source =
            FileSource { path: "a.txt".into(), validation_path: Some("/b.txt".into()), ..FileSource::default() };
        config.data.source = Source::File(source);
        let here = rebased(&config, Path::new("/x"), Path::new("/x"), |_| false);
        assert_eq!(here, config);
        let there = rebased(&config, Path::new("/x"), Path::new("/y"), |_| false);
        let Source::File(file) = there.data.source else { panic!("another source") };
        assert_eq!(file.path, Path::new("/x/a.txt"));
        assert_eq!(file.validation_path.as_deref(), Some(Path::new("/b.txt")));
        // A name of the hub is no path.
        let named = rebased(&config, Path::new("/x"), Path::new("/y"), |path| path == Path::new("a.txt"));
        let Source::File(file) = named.data.source else { panic!("another source") };
        assert_eq!(file.path, Path::new("a.txt"));
    }
}
