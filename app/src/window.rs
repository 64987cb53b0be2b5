//! The window: puts the panels and what stands around them on the screen, and carries out what they ask for.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use egui::{CentralPanel, Context, Frame, Margin, Panel as Side, ThemePreference, Ui, ViewportCommand};
use headroom_engine::{
    config::{RunConfig, preset},
    store::RunId,
    worker::Command,
};

use crate::{
    dialogs::{Answer, Dialogs},
    keys::{self, Pressed},
    link::Link,
    messages::Level,
    palette::Does,
    panels::{Action, PanelContext, PanelId, Panels},
    settings::{Settings, ThemeChoice},
    shell::{Outcome, PaletteBox, help_ui, log_ui, rail_ui, strip_ui, top_bar_ui, view_menu_ui},
    state::State,
    theme,
};

/// Time that a run in progress gets to write its checkpoint when the window closes.
const CLOSING_PATIENCE: Duration = Duration::from_secs(20);
/// Settings are written when they have not changed for so long.
const SETTLED: Duration = Duration::from_secs(2);
/// Shortest time between two frames that the engine asks for.
const ENGINE_FRAME: Duration = Duration::from_millis(33);
/// The key of the settings' write errand.
const SETTINGS_KEY: &str = "window.settings";

/// What is over the panels.
#[derive(Default)]
enum Over {
    #[default]
    Nothing,
    Help,
    Palette(PaletteBox),
}

/// The whole window, apart from the platform's part of it: tests draw it without one.
pub struct HeadroomWindow {
    link: Option<Link>,
    /// What the panels show.
    pub state: State,
    /// What is remembered between starts.
    pub settings: Settings,
    /// The panels.
    pub panels: Panels,
    dialogs: Dialogs,
    settings_path: Option<PathBuf>,
    settings_saved: Settings,
    settings_changed: Option<Instant>,
    actions: Vec<Action>,
    over: Over,
    log_open: bool,
    themed: Option<ThemeChoice>,
}

impl HeadroomWindow {
    /// A window over an engine. `ctx` is woken by answers of file errands.
    pub fn new(ctx: &Context, link: Link, settings: Settings, settings_path: Option<PathBuf>) -> Self {
        let mut state = State::default();
        state.selection.visible = settings.visible.iter().cloned().collect();
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
            dialogs: Dialogs::new(Arc::new(move || waking.request_repaint())),
            settings_path,
            settings_changed: None,
            actions: Vec::new(),
            over: Over::default(),
            log_open: false,
            themed: None,
        }
    }

    /// The link to the engine, until the window was closed.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// What happens whether the window is seen or not: events come in, at most 8 ms of them.
    pub fn logic(&mut self, ctx: &Context) {
        self.dialogs.drain();
        if let Some(link) = &self.link
            && link.drain(&mut self.state)
        {
            ctx.request_repaint();
        }
        self.keep_settings(ctx);
    }

    /// Draws the window.
    pub fn ui(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        self.state.begin_frame();
        self.show_theme(&ctx);
        if matches!(self.over, Over::Palette(_)) {
            // Its keys are its own.
        } else {
            for pressed in keys::pressed(&ctx) {
                self.press(&ctx, pressed);
            }
        }
        self.poll_configure(&ctx);
        self.top_ui(ui);
        self.foot_ui(ui);
        self.sides_ui(ui);
        self.panel_ui(ui);
        self.over_ui(&ctx);
        if keys::back(&ctx) {
            self.go_back();
        }
        self.carry_out(&ctx);
        if let Some(link) = &self.link {
            link.send_wishes(&mut self.state);
        }
        if let Some(due) = self.state.series.next_due(Instant::now()) {
            ctx.request_repaint_after(due);
        }
    }

    /// Writes the settings and ends the engine; a run in progress is stopped with a checkpoint.
    pub fn close(&mut self) {
        self.remember();
        if let Some(path) = &self.settings_path
            && self.settings != self.settings_saved
        {
            // Nobody is left to be told of a failure.
            let _ = self.settings.save(path);
        }
        if let Some(link) = self.link.take() {
            link.shutdown(CLOSING_PATIENCE);
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
                    chosen = Some(Does::Press(Pressed::Help));
                }
                let palette = ui.button("Actions").on_hover_text("Every action by name (Ctrl+K)");
                if palette.accessible_name("Open the palette").clicked() {
                    chosen = Some(Does::Press(Pressed::Palette));
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

    fn sides_ui(&mut self, ui: &mut Ui) {
        let surface = theme::palette(ui.visuals()).surface;
        if self.settings.rail_open {
            let frame = Frame::new().fill(surface).inner_margin(Margin::same(6));
            let ids = self.panels.ids();
            let open = self.open_panel();
            let is_training = self.state.current.is_some();
            let clicked = Side::left("rail")
                .exact_size(122.0)
                .resizable(false)
                .frame(frame)
                .show(ui, |ui| rail_ui(ui, &ids, open, is_training))
                .inner;
            if let Some(panel) = clicked {
                self.settings.panel = panel;
            }
        }
        // Configure has a column of its own there, and Speed is not about runs.
        if self.settings.inspector_open
            && ![PanelId::Configure, PanelId::Speed].contains(&self.open_panel())
            && let Some(inspector) = &mut self.panels.inspector
        {
            let mut cx = PanelContext {
                state: &mut self.state,
                settings: &mut self.settings,
                dialogs: &mut self.dialogs,
                actions: &mut self.actions,
            };
            let frame = Frame::new().fill(surface).inner_margin(Margin::same(12));
            Side::right("inspector")
                .default_size(300.0)
                .size_range(220.0..=560.0)
                .resizable(true)
                .frame(frame)
                .show(ui, |ui| inspector.ui(ui, &mut cx));
        }
    }

    fn panel_ui(&mut self, ui: &mut Ui) {
        let open = self.open_panel();
        if open == PanelId::Speed {
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

    fn over_ui(&mut self, ctx: &Context) {
        match &mut self.over {
            Over::Nothing => {}
            Over::Help => {
                if !help_ui(ctx) {
                    self.over = Over::Nothing;
                }
            }
            Over::Palette(palette) => match palette.ui(ctx) {
                Outcome::Open => {}
                Outcome::Closed => self.over = Over::Nothing,
                Outcome::Chosen(does) => {
                    self.over = Over::Nothing;
                    self.do_it(ctx, does);
                }
            },
        }
    }

    /// The panel that is open: of those that exist.
    fn open_panel(&self) -> PanelId {
        let wanted = self.settings.panel;
        if self.panels.ids().contains(&wanted) { wanted } else { PanelId::Configure }
    }

    fn press(&mut self, ctx: &Context, pressed: Pressed) {
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
    fn poll_configure(&mut self, ctx: &Context) {
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

    fn do_it(&mut self, ctx: &Context, does: Does) {
        match does {
            Does::Press(pressed) => self.press(ctx, pressed),
            Does::Open(panel) => self.settings.panel = panel,
            Does::Preset(name) => match preset(name).map(headroom_engine::config::Preset::config) {
                Some(Ok(config)) => self.actions.push(Action::Configure(Box::new(config), current_folder())),
                Some(Err(error)) => self.state.messages.push_error(error.to_string(), ""),
                None => {}
            },
            Does::Inspect(run) => self.actions.push(Action::Inspect(run)),
            Does::Pause => self.actions.push(Action::Send(Command::Pause)),
            Does::Resume => self.actions.push(Action::Send(Command::Resume)),
            Does::Stop => self.actions.push(Action::Send(Command::Stop)),
            Does::Checkpoint => self.actions.push(Action::Send(Command::Checkpoint)),
            Does::ResumeRun(run) => self.actions.push(Action::Send(Command::ResumeRun { run })),
            Does::Theme(theme) => self.settings.theme = theme,
            Does::Log => self.log_open = !self.log_open,
            Does::Zoom(percent) => {
                let zoom = if percent == 0 { 1.0 } else { ctx.zoom_factor() * percent as f32 / 100.0 };
                ctx.set_zoom_factor(zoom.clamp(0.5, 3.0));
            }
        }
    }

    /// Esc: the log first, then what the panel has open.
    fn go_back(&mut self) {
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
    fn carry_out(&mut self, ctx: &Context) {
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
            Action::Inspect(run) => self.inspect(run),
            Action::Delete(run) => self.state.delete_run(&run),
            Action::Copy(what, text) => {
                ctx.copy_text(text);
                self.state.messages.push_info(format!("{what} is on the clipboard."));
            }
            Action::Say(level, what, what_to_do) => self.state.messages.push(level, what, what_to_do, None),
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

    /// Copies into the settings what lives elsewhere while the window is open.
    fn remember(&mut self) {
        if self.state.runs_loaded {
            let selection = &self.state.selection;
            if !selection.visible.iter().eq(self.settings.visible.iter()) {
                self.settings.visible = selection.visible.iter().cloned().collect();
            }
            if selection.baseline != self.settings.baseline {
                self.settings.baseline.clone_from(&selection.baseline);
            }
        }
    }

    /// Writes the settings, apart from the window's thread, when they have settled.
    fn keep_settings(&mut self, ctx: &Context) {
        self.remember();
        if let Some(Answer::Failed(why)) = self.dialogs.take(SETTINGS_KEY) {
            // Said once; the next change tries again.
            self.state.messages.push(Level::Warning, why, "The window will not remember how it looked.", None);
        }
        let Some(path) = &self.settings_path else { return };
        if self.settings == self.settings_saved {
            self.settings_changed = None;
            return;
        }
        let since = *self.settings_changed.get_or_insert_with(Instant::now);
        if since.elapsed() < SETTLED {
            ctx.request_repaint_after(SETTLED.saturating_sub(since.elapsed()));
            return;
        }
        let settings = self.settings.clone();
        self.settings_saved.clone_from(&settings);
        self.settings_changed = None;
        self.dialogs.write(SETTINGS_KEY, path.clone(), move || {
            serde_json::to_vec_pretty(&settings).map_err(|error| error.to_string())
        });
    }
}

/// The folder that the program was started in.
pub(crate) fn current_folder() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// The window as the platform sees it.
struct App(HeadroomWindow);

impl eframe::App for App {
    fn logic(&mut self, ctx: &Context, _: &mut eframe::Frame) {
        self.0.logic(ctx);
    }

    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        self.0.ui(ui);
    }

    fn on_exit(&mut self) {
        self.0.close();
    }
}

/// Opens the window on a store and stays until it is closed.
///
/// # Errors
/// One line that says why there is no window and names the headless command; or why the store cannot be used.
pub fn run_window(store: PathBuf) -> anyhow::Result<()> {
    if cfg!(target_os = "linux") && !has_display(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        anyhow::bail!("There is no display to open a window on. Train without one: headroom train CONFIG.toml");
    }
    let ctx = Context::default();
    let waking = ctx.clone();
    let link = Link::start(store.clone(), Arc::new(move || waking.request_repaint_after(ENGINE_FRAME)))
        .context("The window cannot start")?;
    let settings_path = Settings::path_beside(&store);
    let (settings, trouble) = Settings::load(&settings_path);
    let mut window = HeadroomWindow::new(&ctx, link, settings, Some(settings_path));
    window.state.store_name = store_name(&store);
    if let Some(trouble) = trouble {
        window.state.messages.push_warning(trouble, "");
    }
    let options = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("Headroom")
            .with_app_id("headroom")
            .with_inner_size([1280.0, 820.0])
            .with_min_inner_size([760.0, 480.0]),
        persistence_path: Some(store.with_file_name("window.ron")),
        ..Default::default()
    };
    eframe::run_native_ext("Headroom", options, Some(ctx), Box::new(|_| Ok(Box::new(App(window))))).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().next().unwrap_or_default();
        anyhow::anyhow!("The window cannot be opened ({reason}). Train without one: headroom train CONFIG.toml")
    })
}

/// Whether a Linux session says where its display is.
fn has_display(is_set: impl Fn(&str) -> bool) -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"].into_iter().any(is_set)
}

/// The store's name for people: its file's name, or its folder's where the file has the usual one.
fn store_name(store: &Path) -> String {
    let stem = store.file_stem().unwrap_or_default().to_string_lossy();
    let folder = store.parent().and_then(Path::file_name).map(|name| name.to_string_lossy());
    match folder {
        Some(folder) if stem == "headroom" && folder != "headroom" => folder.into_owned(),
        _ if stem == "headroom" => "my runs".to_owned(),
        _ => stem.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_is_found_in_either_variable() {
        assert!(!has_display(|_| false));
        assert!(has_display(|name| name == "DISPLAY"));
        assert!(has_display(|name| name == "WAYLAND_DISPLAY"));
    }

    #[test]
    fn stores_are_named_for_people() {
        assert_eq!(store_name(Path::new("/home/a/.local/share/headroom/headroom.db")), "my runs");
        assert_eq!(store_name(Path::new("/data/thesis/headroom.db")), "thesis");
        assert_eq!(store_name(Path::new("/data/thesis/sweep.db")), "sweep");
    }
}
