//! The program in its window: the store is opened beside it, so that the window is there at once; one that cannot be
//! opened is told of in the window.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crossbeam_channel::{Receiver, bounded};
use egui::{CentralPanel, Context, Ui, ViewportCommand};
use headroom_engine::{store::StorePaths, worker::EngineError};

use super::{
    HeadroomWindow,
    store_error::{StoreErrorPage, Wish},
};
use crate::{common::working_ui, fonts, link::Link, settings::Settings, theme};

/// Shortest time between two frames that the engine asks for.
const ENGINE_FRAME: Duration = Duration::from_millis(33);
/// An opening that is over sooner says nothing.
const SILENT: Duration = Duration::from_millis(300);

/// What the window shows.
enum Page {
    /// The store is being opened.
    Opening(Receiver<Opened>, std::time::Instant),
    /// The store cannot be opened.
    Trouble(Box<StoreErrorPage>),
    /// The panels.
    Window(Box<HeadroomWindow>),
}

/// What came of opening a store.
struct Opened {
    link: Result<Link, EngineError>,
    settings: Settings,
    settings_path: PathBuf,
    /// What was wrong with the settings.
    settings_trouble: Option<String>,
}

/// The window from the first frame on.
pub struct Program {
    store: PathBuf,
    page: Page,
}

impl Program {
    /// Opens a store, on a thread of its own, and the window on it. `ctx` is woken when something happens.
    pub fn open(ctx: &Context, store: PathBuf) -> Self {
        theme::install(ctx);
        fonts::install(ctx);
        Self { page: opening(ctx, &store), store }
    }

    /// A window that is open already.
    pub fn over(window: HeadroomWindow) -> Self {
        Self { store: PathBuf::new(), page: Page::Window(Box::new(window)) }
    }

    /// The window, once the store is open.
    pub fn window(&mut self) -> Option<&mut HeadroomWindow> {
        match &mut self.page {
            Page::Window(window) => Some(window),
            _ => None,
        }
    }

    /// What happens whether the window is seen or not.
    pub fn logic(&mut self, ctx: &Context) {
        if let Page::Opening(answer, since) = &self.page {
            match answer.try_recv() {
                Ok(opened) => self.page = page_of(ctx, &self.store, opened),
                Err(_) if since.elapsed() < SILENT => {
                    ctx.request_repaint_after(SILENT.saturating_sub(since.elapsed()));
                }
                Err(_) => {}
            }
        }
        if let Page::Window(window) = &mut self.page {
            window.logic(ctx);
        }
    }

    /// Draws the window.
    pub fn ui(&mut self, ui: &mut Ui) {
        let ctx = ui.ctx().clone();
        let wish = match &mut self.page {
            Page::Window(window) => return window.ui(ui),
            Page::Opening(_, since) => {
                let is_long = since.elapsed() >= SILENT;
                CentralPanel::default().show(ui, |ui| {
                    if is_long {
                        working_ui(ui, "Opening the store…");
                    }
                });
                return;
            }
            Page::Trouble(trouble) => CentralPanel::default().show(ui, |ui| trouble.ui(ui)).inner,
        };
        match wish {
            None => {}
            Some(Wish::Retry) => self.page = opening(&ctx, &self.store),
            Some(Wish::Open(path)) => {
                self.store = StorePaths::database_at(&path);
                self.page = opening(&ctx, &self.store);
            }
            Some(Wish::Quit) => ctx.send_viewport_cmd(ViewportCommand::Close),
        }
    }

    /// Writes the settings and ends the engine; a run in progress is stopped with a checkpoint.
    pub fn close(&mut self) {
        if let Page::Window(window) = &mut self.page {
            window.close();
        }
    }
}

/// Opens a store on a thread of its own: one that another program holds takes seconds.
fn opening(ctx: &Context, store: &Path) -> Page {
    let (sender, answer) = bounded(1);
    let (store_there, waking) = (store.to_owned(), ctx.clone());
    let work = move || {
        let woken = waking.clone();
        let link = Link::start(store_there.clone(), Arc::new(move || woken.request_repaint_after(ENGINE_FRAME)));
        let settings_path = Settings::path_beside(&store_there);
        // A folder that is not a store's gets no settings put aside in it.
        let (settings, settings_trouble) =
            if link.is_ok() { Settings::load(&settings_path) } else { (Settings::default(), None) };
        // Nobody waits where the window was closed meanwhile; then the engine ends with the answer.
        let _ = sender.send(Opened { link, settings, settings_path, settings_trouble });
        waking.request_repaint();
    };
    match std::thread::Builder::new().name("headroom-open".to_owned()).spawn(work) {
        Ok(_) => Page::Opening(answer, std::time::Instant::now()),
        Err(error) => Page::Trouble(Box::new(StoreErrorPage::new(ctx, store, &EngineError::Thread(error)))),
    }
}

fn page_of(ctx: &Context, store: &Path, opened: Opened) -> Page {
    match opened.link {
        Err(error) => Page::Trouble(Box::new(StoreErrorPage::new(ctx, store, &error))),
        Ok(link) => {
            let mut window = HeadroomWindow::new(ctx, link, opened.settings, Some(opened.settings_path));
            window.state.store_name = store_name(store);
            if let Some(trouble) = opened.settings_trouble {
                window.state.messages.push_warning(trouble, "");
            }
            Page::Window(Box::new(window))
        }
    }
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
    fn stores_are_named_for_people() {
        assert_eq!(store_name(Path::new("/home/a/.local/share/headroom/headroom.db")), "my runs");
        assert_eq!(store_name(Path::new("/data/thesis/headroom.db")), "thesis");
        assert_eq!(store_name(Path::new("/data/thesis/sweep.db")), "sweep");
    }
}
