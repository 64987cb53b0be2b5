use std::path::PathBuf;

use headroom_engine::{config::RunConfig, store::RunId, worker::Command};
use serde::{Deserialize, Serialize};

use crate::{dialogs::Dialogs, messages::Level, settings::Settings, state::State};

/// The panels of the rail, in its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PanelId {
    /// Set a run up.
    #[default]
    Configure,
    /// Watch the current run.
    Live,
    /// Curves and tables of several runs.
    Compare,
    /// The table of all runs.
    Runs,
    /// How long steps take.
    Speed,
    /// Which heads and layers attend alike.
    Redundancy,
    /// In how small a space the scores live.
    Spectra,
    /// The attention maps of every head.
    Heads,
    /// Which pairs say what the others are.
    Reconstruct,
    /// What a trained model could save.
    Adviser,
}

impl PanelId {
    /// Every panel, in the order of the rail; the keys 1 to 9 and 0 open them.
    pub const ALL: [Self; 10] = [
        Self::Configure,
        Self::Live,
        Self::Compare,
        Self::Runs,
        Self::Speed,
        Self::Redundancy,
        Self::Spectra,
        Self::Heads,
        Self::Reconstruct,
        Self::Adviser,
    ];

    /// The name in the rail.
    pub fn name(self) -> &'static str {
        match self {
            Self::Configure => "Configure",
            Self::Live => "Live",
            Self::Compare => "Compare",
            Self::Runs => "Runs",
            Self::Speed => "Speed",
            Self::Redundancy => "Redundancy",
            Self::Spectra => "Spectra",
            Self::Heads => "Heads",
            Self::Reconstruct => "Reconstruct",
            Self::Adviser => "Adviser",
        }
    }

    /// What it is for, for tooltips and the palette.
    pub fn about(self) -> &'static str {
        match self {
            Self::Configure => "Set a run up and start it",
            Self::Live => "Watch the run that computes now",
            Self::Compare => "Overlay runs, against a baseline",
            Self::Runs => "Every run in the store",
            Self::Speed => "Measure how long training steps take",
            Self::Redundancy => "See which heads and layers attend alike",
            Self::Heads => "Look at the attention map of every head",
            Self::Reconstruct => "Restore attention scores from some of their pairs",
            Self::Adviser => "See what a trained model could save, and train that beside it",
            Self::Spectra => "See in how small a space attention scores live",
        }
    }
}

/// What a panel wants done; carried out by the window after the frame's drawing, in order.
#[derive(Clone, Debug)]
pub enum Action {
    /// Sends a command to the engine.
    Send(Command),
    /// Opens a panel.
    Open(PanelId),
    /// Puts a config into the Configure panel (undoable there) and opens it. Relative paths in it start at the folder.
    Configure(Box<RunConfig>, PathBuf),
    /// Starts (queues) a config as it is and opens the Live panel.
    Start(Box<RunConfig>, PathBuf),
    /// Asks which variants of a config are to race, or over which fields it is swept.
    Contest(Box<RunConfig>, PathBuf),
    /// Queues runs with a tag, shows them alone in Compare, and pins the first as the baseline.
    StartAll(Vec<RunConfig>, PathBuf, String),
    /// Shows a run in the inspector and opens that.
    Inspect(RunId),
    /// Deletes a run; Ctrl+Z brings it back.
    Delete(RunId),
    /// Puts text on the clipboard and says so: what it is ("The config"), the text.
    Copy(String, String),
    /// Adds a message: level, what happened, what to do (may be empty).
    Say(Level, String, String),
    /// Undoes what was done last.
    Undo,
    /// Lists what was deleted, to remove it for good.
    Purge,
}

/// What a panel is given in every frame.
pub struct PanelContext<'a> {
    /// What to show.
    pub state: &'a mut State,
    /// What is remembered between starts; panels keep theirs with [`Settings::of_panel`].
    pub settings: &'a mut Settings,
    /// File dialogs, reads and writes.
    pub dialogs: &'a mut Dialogs,
    /// What the user wants done.
    pub actions: &'a mut Vec<Action>,
}

impl PanelContext<'_> {
    /// Sends a command to the engine after the frame's drawing.
    pub fn send(&mut self, command: Command) {
        self.actions.push(Action::Send(command));
    }

    /// Wants something done after the frame's drawing.
    pub fn act(&mut self, action: Action) {
        self.actions.push(action);
    }
}

/// One panel of the window.
pub trait Panel {
    /// Its name, in sentence case.
    fn title(&self) -> &'static str;

    /// Draws it.
    fn ui(&mut self, ui: &mut egui::Ui, cx: &mut PanelContext<'_>);

    /// `/` was pressed: the filter field, if it has one, wants the keyboard in the next `ui`.
    fn focus_filter(&mut self) {}

    /// Ctrl+E was pressed: exports what is shown, or opens its export menu. False if it has nothing to export.
    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let _ = cx;
        false
    }

    /// Ctrl+Z was pressed: undoes its last change. False if it has none to undo.
    fn undo(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let _ = cx;
        false
    }

    /// Esc was pressed and nothing of the window's own was open: closes or frees what is open or locked in it. False if
    /// nothing was.
    fn back(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let _ = cx;
        false
    }
}
