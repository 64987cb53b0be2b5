//! The window over an open store: puts the panels and what stands around them on the screen.

use std::{path::PathBuf, sync::Arc, time::Instant};

use egui::{CentralPanel, Context, Frame, Margin, Panel as Side, ThemePreference, Ui, UiBuilder};
use headroom_engine::protocol::Command;

use super::drop_hint::dropping_ui;
use crate::{
    common::ExportDialog,
    context::{Action, Panel as _, PanelContext, PanelId},
    file_dialogs::FileDialogs,
    keys::{self, Pressed},
    link::Link,
    messages::Level,
    panels::Panels,
    race_dialog::RaceDialog,
    settings::{Settings, ThemeChoice},
    shell::{
        HelpDialog, Outcome, PaletteAction, PaletteDialog, PurgeDialog, interrupted_ui, log_ui, rail_ui, strip_ui,
        top_bar_ui, view_menu_ui,
    },
    state::{State, Styles},
    theme,
};

/// What is over the panels.
#[derive(Default)]
pub(super) enum Overlay {
    #[default]
    Nothing,
    Help(HelpDialog),
    Palette(PaletteDialog),
    Race(Box<RaceDialog>),
    Purge(PurgeDialog),
    Export(Box<ExportDialog>),
}

/// The whole window, apart from the platform's part of it: tests draw it without one.
pub struct HeadroomWindow {
    pub(super) link: Option<Link>,
    /// What the panels show.
    pub state: State,
    /// What is remembered between starts.
    pub settings: Settings,
    /// The panels.
    pub panels: Panels,
    pub(super) dialogs: FileDialogs,
    pub(super) settings_path: Option<PathBuf>,
    pub(super) settings_saved: Settings,
    pub(super) settings_changed: Option<Instant>,
    pub(super) actions: Vec<Action>,
    pub(super) over: Overlay,
    pub(super) log_open: bool,
    pub(super) closing: Closing,
    themed: Option<ThemeChoice>,
    /// Whether the inspector was opened in a window that has little room for it.
    pub(super) narrow_inspector: bool,
}

/// Width of the inspector, unless it is dragged.
const INSPECTOR: f32 = 330.0;
/// In a window of less width the inspector stands beside the panel only when it is asked for.
const ROOMY: f32 = 1100.0;

/// Whether the window is wide enough for the inspector to stand beside the panel.
pub(super) fn has_room_for_inspector(ctx: &Context) -> bool {
    ctx.content_rect().width() >= ROOMY
}

/// What is said where a button for a file did nothing that can be seen.
const NO_DIALOG: &str = "No file dialog could be shown: this system offers none (on Linux a desktop portal shows it).";

impl HeadroomWindow {
    /// A window over an engine. `ctx` is woken by answers of file errands.
    pub fn new(ctx: &Context, link: Link, settings: Settings, settings_path: Option<PathBuf>) -> Self {
        let mut state = State::default();
        match &settings.shown_tag {
            Some(tag) => state.selection.hold(tag.clone(), settings.visible.iter().cloned()),
            None => state.selection.show_only(settings.visible.iter().cloned()),
        }
        state.selection.styles = Styles::with_places(settings.styles.clone());
        state.selection.baseline.clone_from(&settings.baseline);
        for command in [Command::ListRuns, Command::Devices] {
            link.send(&mut state, command);
        }
        theme::install(ctx);
        ctx.set_zoom_factor(settings.zoom);
        let waking = ctx.clone();
        Self {
            link: Some(link),
            state,
            settings_saved: settings.clone(),
            settings,
            panels: Panels::default(),
            dialogs: FileDialogs::new(Arc::new(move || waking.request_repaint())),
            settings_path,
            settings_changed: None,
            actions: Vec::new(),
            over: Overlay::default(),
            log_open: false,
            closing: Closing::default(),
            themed: None,
            narrow_inspector: false,
        }
    }

    /// The link to the engine, until the window was closed.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// From now on no file dialog can be shown, as on a system that offers none. For tests.
    pub fn offer_no_file_dialogs(&mut self) {
        self.dialogs.offer_none();
    }

    /// What happens whether the window is seen or not: events come in, at most 8 ms of them.
    pub fn logic(&mut self, ctx: &Context) {
        self.dialogs.drain();
        if self.dialogs.take_not_shown() {
            self.state.messages.push(
                Level::Warning,
                NO_DIALOG,
                "Type the path into the field beside the button.",
                None,
            );
        }
        if let Some(link) = &self.link
            && link.drain(&mut self.state)
        {
            ctx.request_repaint();
        }
        self.keep_settings(ctx);
        self.watch_closing(ctx);
    }

    /// Draws the window.
    pub fn ui(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        self.state.begin_frame(&self.settings);
        self.show_theme(&ctx);
        if matches!(self.over, Overlay::Palette(_) | Overlay::Race(_) | Overlay::Purge(_) | Overlay::Export(_)) {
            // Their keys are their own.
        } else {
            // So are those of every other dialog; only what closes the help, and the size of the window, are the window's.
            let is_over = keys::is_over_panels(&ctx);
            let is_help = matches!(self.over, Overlay::Help(_));
            let pressed = if is_over && !is_help { Vec::new() } else { keys::pressed(&ctx) };
            for pressed in pressed {
                if !is_over || matches!(pressed, Pressed::Help | Pressed::FullScreen) {
                    self.press(&ctx, pressed);
                }
            }
        }
        let tab = keys::take_tab(&ctx);
        self.poll_configure(&ctx);
        self.take_dropped(&ctx);
        self.top_ui(ui);
        self.foot_ui(ui);
        self.interrupted_ui(ui);
        self.sides_ui(ui);
        if tab {
            keys::give_tab(&ctx);
        }
        self.panel_ui(ui);
        self.over_ui(ui);
        self.closing_ui(&ctx);
        dropping_ui(&ctx);
        if keys::back(&ctx) {
            self.go_back();
        }
        self.carry_out(&ctx);
        if let Some(link) = &self.link {
            link.send_requests(&mut self.state);
        }
        if let Some(due) = self.state.series.next_due(Instant::now()) {
            ctx.request_repaint_after(due);
        }
    }

    fn top_ui(&mut self, ui: &mut Ui) {
        let surface = theme::palette(ui.visuals()).surface;
        let frame = Frame::new().fill(surface).inner_margin(Margin::symmetric(12, 4));
        let mut chosen = None;
        Side::top("top bar").exact_size(40.0).frame(frame).show(ui, |ui| {
            let mut cx = PanelContext {
                state: &mut self.state,
                settings: &mut self.settings,
                dialogs: &mut self.dialogs,
                actions: &mut self.actions,
            };
            top_bar_ui(ui, &mut cx, |ui, cx| {
                if ui.button("?").on_hover_text("Keys and help").accessible_name("Help: keys").clicked() {
                    chosen = Some(PaletteAction::Press(Pressed::Help));
                }
                let palette = ui.button("Actions").on_hover_text("Panels, presets, runs and actions by name (Ctrl+K)");
                if palette.accessible_name("Open the palette").clicked() {
                    chosen = Some(PaletteAction::Press(Pressed::Palette));
                }
                chosen = view_menu_ui(ui, cx.settings).or(chosen.take());
            });
        });
        if let Some(does) = chosen {
            self.do_it(&ui.ctx().clone(), does);
        }
    }

    fn foot_ui(&mut self, ui: &mut Ui) {
        let surface = theme::palette(ui.visuals()).surface;
        let frame = Frame::new().fill(surface).inner_margin(Margin::symmetric(12, 1));
        Side::bottom("messages").exact_size(28.0).frame(frame).show(ui, |ui| {
            ui.horizontal_centered(|ui| {
                if strip_ui(ui, &self.state.messages) {
                    self.log_open = !self.log_open;
                }
            });
        });
        if self.log_open {
            let frame = Frame::new().fill(surface).inner_margin(Margin::symmetric(12, 8));
            Side::bottom("log").default_size(220.0).min_size(120.0).resizable(true).frame(frame).show(ui, |ui| {
                self.log_open = log_ui(ui, &mut self.state.messages);
            });
        }
    }

    /// What was training when the program ended last, above the panels.
    fn interrupted_ui(&mut self, ui: &mut Ui) {
        let mut cx = PanelContext {
            state: &mut self.state,
            settings: &mut self.settings,
            dialogs: &mut self.dialogs,
            actions: &mut self.actions,
        };
        interrupted_ui(ui, &mut cx);
    }

    fn sides_ui(&mut self, ui: &mut Ui) {
        let surface = theme::palette(ui.visuals()).surface;
        let frame = Frame::new().fill(surface).inner_margin(Margin::same(6));
        let (open, has_names) = (self.open_panel(), self.settings.rail_open);
        let is_training = self.state.current.is_some();
        let clicked = Side::left("rail")
            .exact_size(if has_names { 150.0 } else { 42.0 })
            .resizable(false)
            .frame(frame)
            .show(ui, |ui| rail_ui(ui, self.panels.infos(), open, is_training, has_names))
            .inner;
        if let Some(panel) = clicked {
            self.open(panel);
        }
        let is_open =
            if has_room_for_inspector(ui.ctx()) { self.settings.inspector_open } else { self.narrow_inspector };
        let has_inspector = self.panels.named(&self.settings.panel).has_inspector;
        let mut cx = PanelContext {
            state: &mut self.state,
            settings: &mut self.settings,
            dialogs: &mut self.dialogs,
            actions: &mut self.actions,
        };
        // While it is closed too: the palette acts on its run.
        let shows_directory = self.panels.get(open).shows_directory(&cx);
        self.panels.inspector.stand_beside(open, shows_directory, &mut cx);
        if is_open && has_inspector && !self.panels.inspector.is_empty(&cx) {
            let frame = Frame::new().fill(surface).inner_margin(Margin::same(12));
            let side = Side::right("inspector").default_size(INSPECTOR).size_range(220.0..=560.0).resizable(true);
            side.frame(frame).show(ui, |ui| {
                // What stands in it makes it no wider.
                let rect = ui.available_rect_before_wrap();
                let mut inner = ui.new_child(UiBuilder::new().max_rect(rect));
                inner.set_clip_rect(rect.expand(6.0).intersect(ui.clip_rect()));
                self.panels.inspector.ui(&mut inner, &mut cx);
                ui.advance_cursor_after_rect(rect);
            });
        }
    }

    fn panel_ui(&mut self, ui: &mut Ui) {
        let open = self.open_panel();
        if open == PanelId::SPEED {
            self.state.speed.draft = Some(self.panels.configure.config().clone());
        }
        let frame = Frame::central_panel(ui.style()).inner_margin(Margin::same(12));
        CentralPanel::default().frame(frame).show(ui, |ui| {
            let mut cx = PanelContext {
                state: &mut self.state,
                settings: &mut self.settings,
                dialogs: &mut self.dialogs,
                actions: &mut self.actions,
            };
            ui.push_id(open, |ui| self.panels.get(open).ui(ui, &mut cx));
        });
    }

    fn over_ui(&mut self, ui: &mut Ui) {
        let ctx = &ui.ctx().clone();
        match &mut self.over {
            Overlay::Nothing => {}
            Overlay::Help(help) => {
                if !help.ui(ctx) {
                    self.over = Overlay::Nothing;
                }
            }
            Overlay::Race(race) => {
                let mut cx = PanelContext {
                    state: &mut self.state,
                    settings: &mut self.settings,
                    dialogs: &mut self.dialogs,
                    actions: &mut self.actions,
                };
                if !race.ui(ctx, &mut cx) {
                    self.over = Overlay::Nothing;
                }
            }
            Overlay::Purge(purge) => {
                if !purge.ui(ctx, &mut self.state, &mut self.actions) {
                    self.over = Overlay::Nothing;
                }
            }
            Overlay::Export(export) => {
                let mut cx = PanelContext {
                    state: &mut self.state,
                    settings: &mut self.settings,
                    dialogs: &mut self.dialogs,
                    actions: &mut self.actions,
                };
                if !export.ui(ui, &mut cx) {
                    self.over = Overlay::Nothing;
                }
            }
            Overlay::Palette(palette) => match palette.ui(ctx) {
                Outcome::Open => {}
                Outcome::Closed => self.over = Overlay::Nothing,
                Outcome::Chosen(does) => {
                    self.over = Overlay::Nothing;
                    self.do_it(ctx, does);
                }
            },
        }
    }

    /// The panel that is open.
    pub fn open_panel(&self) -> PanelId {
        self.panels.named(&self.settings.panel).id
    }

    /// Opens a panel.
    pub fn open(&mut self, panel: PanelId) {
        panel.0.clone_into(&mut self.settings.panel);
    }

    fn show_theme(&mut self, ctx: &Context) {
        if self.themed != Some(self.settings.theme) {
            self.themed = Some(self.settings.theme);
            ctx.set_theme(match self.settings.theme {
                ThemeChoice::System => ThemePreference::System,
                ThemeChoice::Dark => ThemePreference::Dark,
                ThemeChoice::Light => ThemePreference::Light,
            });
        }
        self.settings.zoom = ctx.zoom_factor();
    }
}

/// How far the closing is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Closing {
    /// The window stays open.
    #[default]
    No,
    /// The user is asked whether a run that trains is to be stopped.
    Asked,
    /// The run is being stopped.
    Stopping {
        /// When the wait is over.
        deadline: Instant,
    },
    /// The next request is granted.
    Granted,
}
