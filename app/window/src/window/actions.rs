//! What keys, the palette and the panels ask for, carried out.

use std::path::PathBuf;

use egui::{Context, ViewportCommand};
use headroom_engine::{
    config::{RunConfig, preset},
    protocol::{Command, commands},
    store::RunId,
};

use super::headroom_window::{HeadroomWindow, Overlay, has_room_for_inspector};
use crate::{
    common::{ExportDialog, Exportable, RunOperation, perform},
    context::{Action, PanelContext, PanelId},
    file_dialogs::current_folder,
    keys::Pressed,
    race_dialog::RaceDialog,
    shell::{HelpDialog, PaletteAction, PaletteDialog, PurgeDialog},
    state::PurgeState,
};

impl HeadroomWindow {
    pub(super) fn press(&mut self, ctx: &Context, pressed: Pressed) {
        match pressed {
            Pressed::Palette => {
                if let Some(run) = self.state.selection.focused.clone() {
                    self.state.want_record(&run);
                }
                self.over = Overlay::Palette(PaletteDialog::new(&self.state, self.panels.infos()));
            }
            Pressed::Help => {
                let is_open = matches!(self.over, Overlay::Help(_));
                self.over = if is_open { Overlay::Nothing } else { Overlay::Help(HelpDialog::default()) };
            }
            Pressed::Filter => {
                let open = self.open_panel();
                self.panels.get(open).focus_filter();
            }
            Pressed::Undo => self.actions.push(Action::Undo),
            Pressed::Redo => {
                if !self.panels.configure.redo() {
                    self.state.messages.push_info("There is nothing to redo.");
                }
            }
            Pressed::Start => {
                if !self.with_panel(|panel, _| panel.submit()) {
                    self.panels.configure.request_start();
                }
            }
            Pressed::Export => {
                let exported = self.with_panel(|panel, cx| panel.export(cx));
                if !exported {
                    self.state.messages.push_info("There is nothing here that is exported with this key. Panels with figures have Export in their toolbars.");
                }
            }
            Pressed::Rail => self.settings.rail_open = !self.settings.rail_open,
            Pressed::Inspector => {
                let is_open = self.inspector_open(ctx);
                *is_open = !*is_open;
            }
            Pressed::FullScreen => {
                let full = ctx.input(|input| input.viewport().fullscreen.unwrap_or(false));
                ctx.send_viewport_cmd(ViewportCommand::Fullscreen(!full));
            }
            Pressed::Panel(place) => {
                if let Some(id) = self.panels.infos().get(place).map(|info| info.id) {
                    self.open(id);
                }
            }
        }
    }

    /// A start works from every panel: Configure judges it even while it is not drawn.
    pub(super) fn poll_configure(&mut self, ctx: &Context) {
        let mut cx = PanelContext {
            state: &mut self.state,
            settings: &mut self.settings,
            dialogs: &mut self.dialogs,
            actions: &mut self.actions,
        };
        if let Some(again) = self.panels.configure.poll(&mut cx) {
            ctx.request_repaint_after(again);
        }
    }

    pub(super) fn do_it(&mut self, ctx: &Context, does: PaletteAction) {
        match does {
            PaletteAction::Press(pressed) => self.press(ctx, pressed),
            PaletteAction::Open(panel) => self.open(panel),
            PaletteAction::Preset(name) => match preset(name).map(headroom_engine::config::Preset::config) {
                Some(Ok(config)) => self.actions.push(Action::Configure(Box::new(config), current_folder())),
                Some(Err(error)) => self.state.messages.push_error(error.to_string(), ""),
                None => {}
            },
            PaletteAction::Help(page, section) => self.over = Overlay::Help(HelpDialog::at(page, section)),
            PaletteAction::Inspect(run) => self.actions.push(Action::Inspect(run)),
            PaletteAction::SetUpRace => {
                let configure = &self.panels.configure;
                let (config, base_dir) = (configure.config().clone(), configure.base_dir().to_owned());
                self.actions.push(Action::SetUpRace(Box::new(config), base_dir));
            }
            PaletteAction::Pause => self.actions.push(Action::Send(Command::Pause)),
            PaletteAction::Resume => self.actions.push(Action::Send(Command::Resume)),
            PaletteAction::Stop => self.actions.push(Action::Send(Command::Stop)),
            PaletteAction::Checkpoint => self.actions.push(Action::Send(Command::Checkpoint)),
            PaletteAction::Operate(operation, run) => self.operate(operation, &run),
            PaletteAction::ExportCheckpoint(run) => {
                let name = self.state.run(&run).map(|run| run.name.clone()).unwrap_or_default();
                self.export(Exportable::Checkpoint { run, name, step: None });
            }
            PaletteAction::ExportRun(run) => {
                let name = self.state.run(&run).map(|run| run.name.clone()).unwrap_or_default();
                self.export(Exportable::Run { run, name });
            }
            PaletteAction::Theme(theme) => self.settings.theme = theme,
            PaletteAction::Log => self.log_open = !self.log_open,
            PaletteAction::Purge => self.actions.push(Action::Purge),
            PaletteAction::Zoom(percent) => {
                let zoom = if percent == 0 { 1.0 } else { ctx.zoom_factor() * percent as f32 / 100.0 };
                ctx.set_zoom_factor(zoom.clamp(0.5, 3.0));
            }
        }
    }

    fn export(&mut self, what: Exportable) {
        let mut cx = PanelContext {
            state: &mut self.state,
            settings: &mut self.settings,
            dialogs: &mut self.dialogs,
            actions: &mut self.actions,
        };
        self.over = Overlay::Export(Box::new(ExportDialog::new("window", what, &mut cx)));
    }

    fn operate(&mut self, operation: RunOperation, run: &RunId) {
        if operation.needs_record() && !self.state.records.contains_key(run) {
            let name = self.state.run_name(run);
            let why = format!("The config of \"{name}\" is still being read. Choose it again in a moment.");
            self.state.messages.push_info(why);
        }
        let mut cx = PanelContext {
            state: &mut self.state,
            settings: &mut self.settings,
            dialogs: &mut self.dialogs,
            actions: &mut self.actions,
        };
        perform(operation, run, &mut cx);
    }

    /// Esc: the log first, then what the panel has open.
    pub(super) fn go_back(&mut self) {
        if self.log_open {
            self.log_open = false;
        } else {
            self.with_panel(|panel, cx| panel.back(cx));
        }
    }

    fn with_panel<T>(&mut self, ask: impl FnOnce(&mut dyn crate::context::Panel, &mut PanelContext<'_>) -> T) -> T {
        let open = self.open_panel();
        let mut cx = PanelContext {
            state: &mut self.state,
            settings: &mut self.settings,
            dialogs: &mut self.dialogs,
            actions: &mut self.actions,
        };
        ask(self.panels.get(open), &mut cx)
    }

    /// Carries out what was asked for in this frame.
    pub(super) fn carry_out(&mut self, ctx: &Context) {
        while !self.actions.is_empty() {
            for action in std::mem::take(&mut self.actions) {
                self.act(ctx, action);
            }
        }
    }

    fn act(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Send(command) => {
                if matches!(command, Command::Stop)
                    && let Some(current) = &mut self.state.current
                {
                    current.is_stopping = true;
                }
                if matches!(command, Command::CompareDomains(_)) {
                    self.state.analysis.beside_control = true;
                }
                if let Some(link) = &self.link {
                    link.send(&mut self.state, command);
                }
            }
            Action::Open(panel) => self.open(panel),
            Action::Configure(config, base_dir) => {
                self.panels.configure.load(*config, base_dir);
                self.open(PanelId::CONFIGURE);
            }
            Action::Start(config, base_dir) => self.start(config, base_dir),
            Action::StartForm => self.panels.configure.request_start(),
            Action::SetUpRace(config, base_dir) => {
                self.over = Overlay::Race(Box::new(RaceDialog::new(*config, base_dir)));
            }
            Action::StartAll(configs, base_dir, tag) => self.start_all(configs, base_dir, tag),
            Action::Inspect(run) => {
                *self.inspector_open(ctx) = true;
                // A model directory that panels of analyses showed gives way, also to the run that was focused before.
                self.state.selection.set_directory(None);
                self.state.selection.focused = Some(run);
            }
            Action::Delete(run) => self.state.delete_runs(&[run]),
            Action::DeleteAll(runs) => self.state.delete_runs(&runs),
            Action::Copy(what, text) => {
                ctx.copy_text(text);
                self.state.messages.push_info(format!("{what} is on the clipboard."));
            }
            Action::Say(level, what, what_to_do) => self.state.messages.push(level, what, what_to_do, None),
            Action::Purge => {
                self.state.purge = PurgeState::asked();
                self.over = Overlay::Purge(PurgeDialog::default());
                self.actions.push(Action::Send(commands::ListDeleted { before_ms: self.state.purge.before_ms }.into()));
            }
            Action::Undo => self.undo(),
        }
    }

    fn start(&mut self, config: Box<RunConfig>, base_dir: PathBuf) {
        if let Some(link) = &self.link {
            link.send(&mut self.state, commands::Enqueue { config, base_dir });
        }
        self.state.selection.live = None;
        self.open(PanelId::LIVE);
    }

    fn start_all(&mut self, configs: Vec<RunConfig>, base_dir: PathBuf, tag: String) {
        if let Some(link) = &self.link {
            self.state.expect_race(tag.clone());
            link.send(&mut self.state, commands::EnqueueAll { configs, base_dir, tags: vec![tag] });
        }
        self.open(PanelId::COMPARE);
    }

    /// Whether the inspector is open, to be changed: in a narrow window that is not remembered.
    fn inspector_open(&mut self, ctx: &Context) -> &mut bool {
        if has_room_for_inspector(ctx) { &mut self.settings.inspector_open } else { &mut self.narrow_inspector }
    }

    /// The open panel first, then deleted runs.
    fn undo(&mut self) {
        if !self.with_panel(|panel, cx| panel.undo(cx)) && self.state.undo_delete().is_none() {
            self.state.messages.push_info("There is nothing to undo.");
        }
    }
}
