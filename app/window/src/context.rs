//! What a panel is: its name and place in the rail, what it is given in every frame, what it can ask the window for.

use std::path::PathBuf;

use headroom_engine::{config::RunConfig, protocol::Command, store::RunId};

use crate::{file_dialogs::FileDialogs, messages::Level, settings::Settings, state::State};

/// The name of a panel: what is written into settings, and how others open it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PanelId(pub &'static str);

impl PanelId {
    /// Savings that a trained model offers.
    pub const ADVISER: Self = Self("adviser");
    /// Curves and tables of several runs.
    pub const COMPARE: Self = Self("compare");
    /// The form of a run.
    pub const CONFIGURE: Self = Self("configure");
    /// Text from a model.
    pub const GENERATE: Self = Self("generate");
    /// The attention maps of every head.
    pub const HEADS: Self = Self("heads");
    /// The run that trains now.
    pub const LIVE: Self = Self("live");
    /// What is known of a model, and what can be made of it.
    pub const MODELS: Self = Self("models");
    /// Attention scores restored from some of their pairs.
    pub const RECONSTRUCT: Self = Self("reconstruct");
    /// How similar heads and layers are.
    pub const REDUNDANCY: Self = Self("redundancy");
    /// The table of all runs.
    pub const RUNS: Self = Self("runs");
    /// The dimension of the space of attention scores.
    pub const SPECTRA: Self = Self("spectra");
    /// Times of training steps.
    pub const SPEED: Self = Self("speed");
}

/// The groups of the rail, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PanelGroup {
    /// What is to be trained.
    SetUp,
    /// Runs and their curves.
    Watch,
    /// What attention does.
    Understand,
    /// Times and savings.
    Measure,
}

impl PanelGroup {
    /// Its heading in the rail.
    pub fn label(self) -> &'static str {
        match self {
            Self::SetUp => "Set up",
            Self::Watch => "Watch",
            Self::Understand => "Understand",
            Self::Measure => "Measure",
        }
    }
}

/// The lines of an icon, each through these points of a square with sides of 1, y down.
pub type Icon = &'static [&'static [(f32, f32)]];

/// What the rail and the palette know of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PanelInfo {
    /// Its name in settings.
    pub id: PanelId,
    /// Its name in the rail.
    pub label: &'static str,
    /// What it is for, for tooltips and the palette.
    pub about: &'static str,
    /// Where it stands in the rail.
    pub group: PanelGroup,
    /// What is drawn beside its name.
    pub icon: Icon,
    /// Whether the inspector stands beside it.
    pub has_inspector: bool,
}

/// The digit that opens the panel at this place of the rail; none after the tenth.
pub fn panel_key(place: usize) -> Option<char> {
    "1234567890".chars().nth(place)
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
    /// Starts (queues) what the form of Configure is set to, once it is judged; opens it where something is wrong with it.
    StartForm,
    /// Asks which variants of a config are to race, or over which fields it is swept.
    SetUpRace(Box<RunConfig>, PathBuf),
    /// Queues runs with a tag, shows them alone in Compare, and pins the first as the baseline.
    StartAll(Vec<RunConfig>, PathBuf, String),
    /// Shows a run in the inspector and opens that.
    Inspect(RunId),
    /// Deletes a run; Ctrl+Z brings it back.
    Delete(RunId),
    /// Deletes several runs; one Ctrl+Z brings all of them back.
    DeleteAll(Vec<RunId>),
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
    pub dialogs: &'a mut FileDialogs,
    /// What the user wants done.
    pub actions: &'a mut Vec<Action>,
}

impl PanelContext<'_> {
    /// Sends a command to the engine after the frame's drawing.
    pub fn send(&mut self, command: impl Into<Command>) {
        self.actions.push(Action::Send(command.into()));
    }

    /// Wants something done after the frame's drawing.
    pub fn act(&mut self, action: Action) {
        self.actions.push(action);
    }
}

/// One panel of the window.
pub trait Panel {
    /// Draws it.
    fn ui(&mut self, ui: &mut egui::Ui, cx: &mut PanelContext<'_>);

    /// Whether it shows a model that is no run's: the inspector shows no run beside it.
    fn shows_directory(&self, cx: &PanelContext<'_>) -> bool {
        let _ = cx;
        false
    }

    /// `/` was pressed: the filter field, if it has one, wants the keyboard in the next `ui`.
    fn focus_filter(&mut self) {}

    /// Ctrl+Enter was pressed: does what the panel's main button does in the next `ui`. False if it has none; then the configured run
    /// starts.
    fn submit(&mut self) -> bool {
        false
    }

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
