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

/// The part of the summary that is about the config file.
#[derive(Default)]
pub struct ConfigFile {
    path: String,
    trouble: Option<String>,
}

impl ConfigFile {
    /// Path, open, save, copy.
    pub fn ui(&mut self, ui: &mut Ui, draft: &mut Draft, cx: &mut PanelContext<'_>) {
        let palette = theme::palette(ui.visuals());
        ui.label(RichText::new("Config file").strong());
        let field = TextEdit::singleline(&mut self.path).hint_text("Path of a .toml file").desired_width(f32::INFINITY);
        let field = ui.add(field).accessible_name("Config file path");
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let typed = !self.path.trim().is_empty();
        let busy = [OPEN, SAVE, READ, WRITE].iter().any(|key| cx.dialogs.is_busy(key));
        ui.horizontal(|ui| {
            let open = ui
                .add_enabled(!busy, Button::new("Open"))
                .on_hover_text("Opens the file named above, or asks for one")
                .accessible_name("Open TOML");
            if open.clicked() || (entered && typed) {
                self.trouble = None;
                if typed {
                    cx.dialogs.read(READ, typed_path(&self.path, &draft.base_dir));
                } else {
                    cx.dialogs.pick(OPEN, ask(Pick::File, "Open a run config").folder(Some(draft.base_dir.clone())));
                }
            }
            let save = ui
                .add_enabled(!busy, Button::new("Save"))
                .on_hover_text("Saves under the name above, or asks for one")
                .accessible_name("Save TOML");
            if save.clicked() {
                self.trouble = None;
                if typed {
                    write(draft, cx.dialogs, typed_path(&self.path, &draft.base_dir));
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
        });
        if let Some(trouble) = &self.trouble {
            ui.add(Label::new(RichText::new(trouble).small().color(palette.error)).wrap());
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
            write(draft, cx.dialogs, path);
        }
        match cx.dialogs.take(READ) {
            Some(Answer::Read { path, text }) => match from_toml(&text) {
                Ok(config) => {
                    self.trouble = None;
                    draft.load(config, path.parent().map(Path::to_owned).unwrap_or_default());
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
            }
            Some(Answer::Failed(why)) => self.fail(cx, why),
            _ => {}
        }
    }

    fn fail(&mut self, cx: &mut PanelContext<'_>, why: String) {
        self.trouble = Some(why.clone());
        cx.act(Action::Say(Level::Error, why, "The config in the window stays as it was.".to_owned()));
    }
}

fn write(draft: &Draft, dialogs: &mut FileDialogs, path: PathBuf) {
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let (config, base_dir) = (draft.config.clone(), draft.base_dir.clone());
    // Whether a model to begin with is a folder only the disk knows.
    dialogs.write(WRITE, path, move || Ok(to_toml(&rebased(&config, &base_dir, &folder, is_fetched)).into_bytes()));
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
