//! Which model a panel is about: of the run that it shows, of another one, or of a model directory.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use egui::{ComboBox, Id, TextEdit, Ui};
use headroom_engine::{
    protocol::{Target, Which},
    store::{RunId, RunSummary},
};
use serde::{Deserialize, Serialize};

use crate::{
    context::{PanelContext, PanelId},
    file_dialogs::{Answer, Ask, Pick, current_folder, typed_path},
    panels::{
        analysis::which_words,
        run_picker::{chosen_name, run_choices_ui, run_combo},
    },
    state::{Selection, folder_name},
    widgets::{entered, tooltip_above},
};

/// Width of the list, in points.
const WIDTH: f32 = 150.0;

/// Which model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelChoice {
    /// What kind of model.
    kind: Kind,
    /// Another run than the one that is shown.
    run: Option<RunId>,
    /// A model directory, as typed.
    folder: String,
    /// Whether the keyboard goes to the path next.
    #[serde(skip)]
    wants_path: bool,
    /// What the selection was when it was last followed.
    #[serde(skip)]
    followed: Option<(Option<PathBuf>, Option<RunId>)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// The run that the panel shows.
    #[default]
    Shown,
    Run,
    Folder,
}

impl ModelChoice {
    /// A model directory, still to be named.
    pub fn folder() -> Self {
        Self { kind: Kind::Folder, wants_path: true, ..Self::default() }
    }

    /// This model directory.
    pub fn of_folder(folder: &Path) -> Self {
        Self { kind: Kind::Folder, folder: folder.display().to_string(), ..Self::default() }
    }

    /// Another run than the one that the panel shows.
    pub fn of_run(run: RunId) -> Self {
        Self { kind: Kind::Run, run: Some(run), ..Self::default() }
    }

    /// Whether the run that the panel shows has a say.
    pub fn is_of_run(&self) -> bool {
        self.kind == Kind::Shown
    }

    /// Follows what is chosen elsewhere after this was: a model directory, or a run in its place.
    pub fn follow(&mut self, selection: &Selection) {
        let now = (selection.directory().map(Path::to_owned), selection.focused.clone());
        let before = self.followed.replace(now.clone());
        match (now, before) {
            (now, Some(before)) if now == before => {}
            // What was chosen here just now, or in a session before, stays.
            (_, None) if !self.is_of_run() => {}
            ((Some(folder), _), _) => *self = Self { followed: self.followed.take(), ..Self::of_folder(&folder) },
            ((None, Some(_)), _) if self.kind == Kind::Folder => self.kind = Kind::Shown,
            _ => {}
        }
    }

    /// The model and its name, or what is missing.
    pub fn target(
        &self,
        shown: Option<(&RunSummary, Which)>,
        cx: &PanelContext<'_>,
    ) -> Result<(Target, String), String> {
        match (self.kind, &self.run, shown) {
            (Kind::Folder, ..) if self.folder.trim().is_empty() => {
                Err("Type the path of a model directory.".to_owned())
            }
            (Kind::Folder, ..) => {
                let path: PathBuf = typed_path(&self.folder, &current_folder());
                let name = folder_name(&path);
                Ok((Target::Directory(path), name))
            }
            (Kind::Run, Some(run), _) if cx.state.run(run).is_some() => {
                let target = Target::Run { run: run.clone(), which: Which::Best };
                Ok((target, cx.state.run_name(run)))
            }
            (Kind::Run, ..) => Err("Choose a run.".to_owned()),
            (Kind::Shown, _, Some((run, which))) => {
                if cx.state.checkpoints.get(&run.id).is_some_and(Vec::is_empty) {
                    return Err(if run.state.is_ended() {
                        format!("\"{}\" has no checkpoint: it ended before the first was written.", run.name)
                    } else {
                        format!(
                            "\"{}\" has no checkpoint yet: one is written at evaluations, or by Checkpoint in the top bar.",
                            run.name
                        )
                    });
                }
                let name = match which {
                    Which::Best => run.name.clone(),
                    which => format!("{}, {}", run.name, which_words(which).to_lowercase()),
                };
                Ok((Target::Run { run: run.id.clone(), which }, name))
            }
            (Kind::Shown, _, None) => Err("There is no run yet.".to_owned()),
        }
    }

    /// Draws the choice into a row, for the panel of this name; `second` where it stands beside the first one.
    pub fn ui(&mut self, ui: &mut Ui, panel: PanelId, second: bool, cx: &mut PanelContext<'_>) {
        let (part, suffix) = if second { ("folder.second", ", second setting") } else { ("folder", "") };
        let key = format!("{}.{part}", panel.0);
        let key = key.as_str();
        if let Some(Answer::Picked(path)) = cx.dialogs.take(key) {
            (self.kind, self.folder) = (Kind::Folder, path.display().to_string());
        }
        let of_shown = match self.kind {
            _ if second => "The same model",
            Kind::Shown => "The run above",
            // Its list comes with it.
            Kind::Run | Kind::Folder => "A run",
        };
        let text = match (self.kind, &self.run) {
            (Kind::Shown, _) => of_shown.to_owned(),
            (Kind::Run, Some(run)) => chosen_name(ui, &cx.state.run_name(run), WIDTH, cx),
            (Kind::Run, None) => "Another run".to_owned(),
            (Kind::Folder, _) => "A model directory".to_owned(),
        };
        let before = self.kind;
        let combo = run_combo(key, WIDTH).selected_text(text).truncate().show_ui(ui, |ui| {
            let shown = ui.selectable_value(&mut self.kind, Kind::Shown, of_shown);
            let folder = ui.selectable_value(&mut self.kind, Kind::Folder, "A model directory");
            if shown.clicked() || folder.clicked() {
                ui.close();
            }
            if second {
                ui.separator();
                let chosen = self.run.as_ref().filter(|_| self.kind == Kind::Run).cloned();
                if let Some(run) = run_choices_ui(ui, chosen.as_ref(), |_| true, cx) {
                    (self.kind, self.run) = (Kind::Run, Some(run));
                }
            }
        });
        combo.response.accessible_name(format!("Model{suffix}"));
        self.wants_path |= self.kind == Kind::Folder && before != Kind::Folder;
        if self.kind == Kind::Folder {
            // An id of its own: what stands before it in the panel changes with the choice, and the keyboard would be lost.
            let edit = TextEdit::singleline(&mut self.folder).id(Id::unique(("model directory", key)));
            let typed = ui.add(edit.desired_width(190.0).hint_text("path of a folder"));
            if std::mem::take(&mut self.wants_path) {
                typed.request_focus();
            }
            // Who goes on typing after Enter means the path, and no key of the window.
            let _ = entered(ui, &typed);
            tooltip_above(
                typed.accessible_name(format!("Model directory{suffix}")),
                "A folder with config.json, weights and tokenizer: exported here, or one of Hugging Face's",
            );
            let browse = ui.add_enabled(!cx.dialogs.is_busy(key), egui::Button::new("Browse…"));
            if browse.accessible_name(format!("Browse for a model directory{suffix}")).clicked() {
                cx.dialogs.pick(key, Ask::new(Pick::Folder, "A model directory"));
            }
        }
    }
}

/// Draws the choice of a checkpoint of a run.
pub fn checkpoint_ui(ui: &mut Ui, which: &mut Which, run: &RunSummary, cx: &PanelContext<'_>) {
    let steps: BTreeSet<u64> = cx.state.checkpoints.get(&run.id).into_iter().flatten().map(|kept| kept.step).collect();
    if matches!(which, Which::Step(step) if !steps.contains(step)) {
        *which = Which::Best;
    }
    let combo = ComboBox::from_id_salt("checkpoint").width(110.0).selected_text(which_words(*which));
    let combo = combo.show_ui(ui, |ui| {
        for each in [Which::Best, Which::Last].into_iter().chain(steps.into_iter().map(Which::Step)) {
            ui.selectable_value(which, each, which_words(each));
        }
    });
    combo.response.accessible_name("Checkpoint");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn the_last_thing_that_was_chosen_is_followed() {
        let mut selection = Selection::default();
        let mut choice = ModelChoice::default();
        choice.follow(&selection);
        assert!(choice.is_of_run());
        selection.set_directory(Some("/models/a".into()));
        choice.follow(&selection);
        assert_eq!((choice.kind, choice.folder.as_str()), (Kind::Folder, "/models/a"));
        // Looked into elsewhere, and then a run was chosen.
        selection.set_directory(Some("/models/b".into()));
        selection.focused = Some(examples::summary(1, "").id);
        choice.follow(&selection);
        assert!(choice.is_of_run());
        // A directory that is chosen here stays until something else is chosen elsewhere.
        choice = ModelChoice::of_folder(Path::new("/models/c"));
        choice.follow(&selection);
        choice.follow(&selection);
        assert_eq!(choice.folder, "/models/c");
        selection.focused = None;
        choice.follow(&selection);
        assert!(!choice.is_of_run(), "a run that is deleted is no choice");
        selection.focused = Some(examples::summary(2, "").id);
        choice.follow(&selection);
        assert!(choice.is_of_run());
    }

    #[test]
    fn a_folder_that_is_typed_after_a_run_was_chosen_stays() {
        let mut selection = Selection::default();
        selection.focused = Some(examples::summary(1, "").id);
        let mut choice = ModelChoice::default();
        choice.follow(&selection);
        (choice.kind, choice.folder) = (Kind::Folder, "/models/a".to_owned());
        choice.follow(&selection);
        assert!(!choice.is_of_run());
    }
}
