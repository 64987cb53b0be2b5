//! What keys, the palette and the panels ask for, carried out.

use std::path::PathBuf;

use egui::{Context, ViewportCommand};
use headroom_engine::{
    config::{RunConfig, preset},
    store::RunId,
    worker::Command,
};

use super::{
    current_folder,
    headroom_window::{HeadroomWindow, Over},
};
use crate::{
    contest::ContestBox,
    keys::Pressed,
    palette::Does,
    panels::{Action, PanelContext, PanelId},
    shell::{PaletteBox, PurgeBox},
    state::PurgeState,
};

impl HeadroomWindow {
    pub(super) fn press(&mut self, ctx: &Context, pressed: Pressed) {
        match pressed {
            Pressed::Palette => self.over = Over::Palette(PaletteBox::new(&self.state, &self.panels.ids())),
            Pressed::Help => {
                self.over = if matches!(self.over, Over::Help) { Over::Nothing } else { Over::Help };
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
            Pressed::Start => self.panels.configure.request_start(),
            Pressed::Export => {
                let exported = self.with_panel(|panel, cx| panel.export(cx));
                if !exported {
                    self.state.messages.push_info("There is nothing to export here. Open Live or Compare.");
                }
            }
            Pressed::Rail => self.settings.rail_open = !self.settings.rail_open,
            Pressed::Inspector => self.settings.inspector_open = !self.settings.inspector_open,
            Pressed::FullScreen => {
                let full = ctx.input(|input| input.viewport().fullscreen.unwrap_or(false));
                ctx.send_viewport_cmd(ViewportCommand::Fullscreen(!full));
            }
            Pressed::Panel(panel) => {
                if self.panels.ids().contains(&panel) {
                    self.settings.panel = panel;
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

    pub(super) fn do_it(&mut self, ctx: &Context, does: Does) {
        match does {
            Does::Press(pressed) => self.press(ctx, pressed),
            Does::Open(panel) => self.settings.panel = panel,
            Does::Preset(name) => match preset(name).map(headroom_engine::config::Preset::config) {
                Some(Ok(config)) => self.actions.push(Action::Configure(Box::new(config), current_folder())),
                Some(Err(error)) => self.state.messages.push_error(error.to_string(), ""),
                None => {}
            },
            Does::Inspect(run) => self.actions.push(Action::Inspect(run)),
            Does::Contest => {
                let configure = &self.panels.configure;
                let (config, base_dir) = (configure.config().clone(), configure.base_dir().to_owned());
                self.actions.push(Action::Contest(Box::new(config), base_dir));
            }
            Does::Pause => self.actions.push(Action::Send(Command::Pause)),
            Does::Resume => self.actions.push(Action::Send(Command::Resume)),
            Does::Stop => self.actions.push(Action::Send(Command::Stop)),
            Does::Checkpoint => self.actions.push(Action::Send(Command::Checkpoint)),
            Does::ResumeRun(run) => self.actions.push(Action::Send(Command::ResumeRun { run })),
            Does::Theme(theme) => self.settings.theme = theme,
            Does::Log => self.log_open = !self.log_open,
            Does::Purge => self.actions.push(Action::Purge),
            Does::Zoom(percent) => {
                let zoom = if percent == 0 { 1.0 } else { ctx.zoom_factor() * percent as f32 / 100.0 };
                ctx.set_zoom_factor(zoom.clamp(0.5, 3.0));
            }
        }
    }

    /// Esc: the log first, then what the panel has open.
    pub(super) fn go_back(&mut self) {
        if self.log_open {
            self.log_open = false;
        } else {
            self.with_panel(|panel, cx| panel.back(cx));
        }
    }

    fn with_panel<T>(&mut self, ask: impl FnOnce(&mut dyn crate::panels::Panel, &mut PanelContext<'_>) -> T) -> T {
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
                if matches!(command, Command::CompareDomains { .. }) {
                    self.state.analysis.beside_control = true;
                }
                if let Some(link) = &self.link {
                    link.send(&mut self.state, command);
                }
            }
            Action::Open(panel) => self.settings.panel = panel,
            Action::Configure(config, base_dir) => {
                self.panels.configure.load(*config, base_dir);
                self.settings.panel = PanelId::Configure;
            }
            Action::Start(config, base_dir) => self.start(config, base_dir),
            Action::Contest(config, base_dir) => {
                self.over = Over::Contest(Box::new(ContestBox::new(*config, base_dir)));
            }
            Action::StartAll(configs, base_dir, tag) => self.start_all(configs, base_dir, tag),
            Action::Inspect(run) => self.inspect(run),
            Action::Delete(run) => self.state.delete_run(&run),
            Action::Copy(what, text) => {
                ctx.copy_text(text);
                self.state.messages.push_info(format!("{what} is on the clipboard."));
            }
            Action::Say(level, what, what_to_do) => self.state.messages.push(level, what, what_to_do, None),
            Action::Purge => {
                self.state.purge = PurgeState::asked();
                self.over = Over::Purge(PurgeBox::default());
                self.actions.push(Action::Send(Command::ListDeleted { before_ms: self.state.purge.before_ms }));
            }
            Action::Undo => self.undo(),
        }
    }

    fn start(&mut self, config: Box<RunConfig>, base_dir: PathBuf) {
        if let Some(link) = &self.link {
            link.send(&mut self.state, Command::Enqueue { config, base_dir });
        }
        if self.panels.ids().contains(&PanelId::Live) {
            self.settings.panel = PanelId::Live;
        }
    }

    fn start_all(&mut self, configs: Vec<RunConfig>, base_dir: PathBuf, tag: String) {
        if let Some(link) = &self.link {
            self.state.await_race(tag.clone());
            link.send(&mut self.state, Command::EnqueueAll { configs, base_dir, tags: vec![tag] });
        }
        if self.panels.ids().contains(&PanelId::Compare) {
            self.settings.panel = PanelId::Compare;
        }
    }

    fn inspect(&mut self, run: RunId) {
        self.state.selection.focused = Some(run);
        self.settings.inspector_open = true;
    }

    /// The open panel first, then deleted runs.
    fn undo(&mut self) {
        if !self.with_panel(|panel, cx| panel.undo(cx)) && self.state.undo_delete().is_none() {
            self.state.messages.push_info("There is nothing to undo.");
        }
    }
}
