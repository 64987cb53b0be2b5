//! Models of a hub: what is known of one before anything is downloaded, what is being fetched, and what is here already.

use std::path::PathBuf;

use egui::{Button, Grid, Key, Label, Response, RichText, ScrollArea, Spinner, TextEdit, Ui};
use headroom_engine::{
    config::counted,
    hub::{FetchRequest, Gating, HubFacts, RemoteArchitecture, RepoFacts, RepoName, Revision},
    protocol::Ticket,
};
use serde::{Deserialize, Serialize};

use super::transfer::{framed_ui, host, progress_ui};
use crate::{
    context::PanelContext,
    format,
    state::{FetchRun, HubState, Phase},
    theme::{self, Palette},
};

/// Height beyond which the list of what is here scrolls.
const LIST: f32 = 150.0;

/// What is typed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HubForm {
    name: String,
    revision: String,
}

/// What is wanted of a fetch that ended or goes on.
enum Wish {
    Stop(Ticket),
    GoOn(FetchRequest),
    Dismiss(Ticket),
}

impl HubForm {
    /// What is asked for, or why that is no name.
    fn request(&self) -> Result<FetchRequest, String> {
        let name: RepoName = self.name.trim().parse()?;
        let revision = match self.revision.trim() {
            "" => Revision::default(),
            text => text.parse()?,
        };
        Ok(FetchRequest { revision, ..FetchRequest::of(name) })
    }

    /// Draws the form and what follows from it; gives the folder of a model that is to be shown.
    pub fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Option<PathBuf> {
        let palette = theme::palette(ui.visuals());
        let here = cx.state.hub.here().map(Option::<&HubFacts>::cloned);
        let mut opened = None;
        framed_ui(ui, "Bring a model from a hub", |ui| {
            self.fields_ui(ui, &here, &mut cx.state.hub);
            self.inspection_ui(ui, &mut cx.state.hub);
            fetches_ui(ui, &mut cx.state.hub);
            match &here {
                Ok(Some(here)) => opened = self.here_ui(ui, here, &mut cx.state.hub),
                Ok(None) => {
                    ui.label(RichText::new("Looking at what is here…").color(palette.weak));
                }
                Err(why) => {
                    ui.label(RichText::new(why).color(palette.error));
                    if ui.button("Look again").clicked() {
                        cx.state.hub.look_again();
                    }
                }
            }
        });
        opened
    }

    fn fields_ui(&mut self, ui: &mut Ui, here: &Result<Option<HubFacts>, String>, hub: &mut HubState) {
        let palette = theme::palette(ui.visuals());
        let here = here.as_ref().ok().and_then(Option::as_ref);
        let is_offline = here.is_some_and(|here| here.is_offline);
        let mut fields: Vec<Response> = Vec::new();
        let mut is_clicked = false;
        let request = self.request();
        ui.horizontal_wrapped(|ui| {
            for (label, width, hint, help) in [
                ("Name", 330.0, "owner/name, as in google-bert/bert-base-uncased", "As the hub calls it"),
                ("Revision", 110.0, "main", "A branch, a tag or a commit; main where nothing is typed"),
            ] {
                let text = if label == "Name" { &mut self.name } else { &mut self.revision };
                let name = ui.label(label);
                let edit = TextEdit::singleline(text).desired_width(width).hint_text(hint);
                fields.push(ui.add(edit).labelled_by(name.id).on_hover_text(help));
            }
            let (label, help) = if is_offline {
                ("Take it from the cache", "Opens it where it was fetched before")
            } else {
                ("Look it up", "Asks the hub what it is, and downloads nothing but its config.json")
            };
            let why = request.as_ref().err().filter(|_| !self.name.trim().is_empty()).map_or("Type a name", |why| why);
            let button = ui.add_enabled(request.is_ok(), Button::new(label)).on_hover_text(help);
            is_clicked = button.on_disabled_hover_text(why).clicked();
        });
        let is_typing = fields.iter().any(Response::has_focus);
        let is_entered = fields.iter().any(Response::lost_focus) && ui.input(|input| input.key_pressed(Key::Enter));
        match request {
            // Half a name is no mistake.
            Err(why) if !is_typing && !self.name.trim().is_empty() => {
                ui.label(RichText::new(why).color(palette.error));
            }
            Ok(request) if is_clicked || is_entered => {
                if is_offline {
                    hub.fetch(request);
                } else {
                    hub.inspect(request);
                }
            }
            _ => {}
        }
        let Some(here) = here else { return };
        if is_offline {
            let text = "HF_HUB_OFFLINE is set: no hub is asked. What is in the cache can be opened.";
            ui.label(RichText::new(text).small().color(palette.warning));
        } else {
            let token = if here.has_token { " with your token" } else { "" };
            let text = format!(
                "Nothing is sent while you type. Look it up asks {}{token} about this name; weights are downloaded when you press \
                 Fetch, not before.",
                host(&here.endpoint)
            );
            ui.label(RichText::new(text).small().color(palette.weak));
        }
    }

    /// What the hub said about the name in the field.
    fn inspection_ui(&self, ui: &mut Ui, hub: &mut HubState) {
        let palette = theme::palette(ui.visuals());
        let Some(inspection) = &hub.inspection else { return };
        if self.request().as_ref() != Ok(&inspection.request) {
            return;
        }
        let request = inspection.request.clone();
        match inspection.answer.clone() {
            None => {
                let mut is_stopped = false;
                ui.horizontal(|ui| {
                    ui.add(Spinner::new().size(14.0));
                    ui.label("Asking the hub…");
                    is_stopped = ui.button("Stop").accessible_name("Stop asking").clicked();
                });
                if is_stopped {
                    hub.stop_inspection();
                }
            }
            Some(Err(why)) => {
                ui.label(RichText::new(why).color(palette.error));
            }
            Some(Ok(facts)) => {
                remote_ui(ui, &facts, *palette);
                let is_fetching = hub.is_fetching(&request);
                let left = facts.bytes.saturating_sub(facts.bytes_here);
                let label = match (facts.bytes_here, left) {
                    (0, 0) => "Fetch".to_owned(),
                    (0, left) => format!("Fetch {}", format::bytes(left)),
                    (_, 0) => "Open it: all of it is here".to_owned(),
                    (_, left) => format!("Fetch the other {}", format::bytes(left)),
                };
                let why = if is_fetching { "It is being fetched" } else { "See above why not" };
                let can = facts.problem.is_none() && !is_fetching;
                let button = ui.add_enabled(can, Button::new(label)).on_disabled_hover_text(why);
                if button.on_hover_text("Goes on beside runs; it is opened here when all of it came").clicked() {
                    hub.fetch(request);
                }
            }
        }
    }

    /// What is in the cache.
    fn here_ui(&mut self, ui: &mut Ui, here: &HubFacts, hub: &mut HubState) -> Option<PathBuf> {
        let palette = theme::palette(ui.visuals());
        let mut opened = None;
        ui.add_space(6.0);
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new("On this machine").color(palette.strong));
            let text = format!("in {}, which other tools share", here.cache.display());
            ui.label(RichText::new(text).small().color(palette.weak));
            let again = ui.small_button("Look again").on_hover_text("Other programs fetch into it too");
            if again.accessible_name("Look at the cache again").clicked() {
                hub.look_again();
            }
        });
        if here.models.is_empty() && here.interrupted.is_empty() {
            ui.label(RichText::new("No models yet.").color(palette.weak));
            return None;
        }
        ScrollArea::vertical().id_salt("cached").max_height(LIST).auto_shrink([false, true]).show(ui, |ui| {
            Grid::new("cached").num_columns(3).spacing([16.0, 3.0]).show(ui, |ui| {
                for cut in &here.interrupted {
                    let is_coming = hub.fetches.iter().any(|run| run.request.name == cut.name && run.phase.is_open());
                    if is_coming {
                        continue;
                    }
                    ui.label(cut.name.as_str());
                    ui.label(
                        RichText::new(format!("cut off, {} came", format::bytes(cut.bytes))).color(palette.warning),
                    );
                    let go_on = ui.small_button("Go on…").on_hover_text("Puts its name above");
                    if go_on.accessible_name(format!("Go on with {}", cut.name)).clicked() {
                        *self = Self { name: cut.name.to_string(), revision: String::new() };
                    }
                    ui.end_row();
                }
                for model in &here.models {
                    if ui.link(model.name.as_str()).on_hover_text(model.path.display().to_string()).clicked() {
                        opened = Some(model.path.clone());
                    }
                    let revisions: Vec<&str> = model.revisions.iter().map(Revision::as_str).collect();
                    let at = if revisions.is_empty() {
                        format!("commit {}", model.commit.as_str().get(..12).unwrap_or_default())
                    } else {
                        revisions.join(", ")
                    };
                    ui.label(RichText::new(at).color(palette.weak));
                    ui.label(RichText::new(format::bytes(model.bytes)).color(palette.weak));
                    ui.end_row();
                }
            });
        });
        opened
    }
}

/// Draws what the hub says about a model.
fn remote_ui(ui: &mut Ui, facts: &RepoFacts, palette: Palette) {
    let commit = facts.commit.as_str().get(..12).unwrap_or_default();
    let access = match (facts.private, facts.gated) {
        (true, _) => ("those who may see it: it is private".to_owned(), palette.text),
        (false, Gating::Open) => ("everybody".to_owned(), palette.text),
        (false, Gating::Terms) => ("whoever agrees to its terms on its page".to_owned(), palette.warning),
        (false, Gating::Owner) => ("those whom its owner lets in; ask on its page".to_owned(), palette.warning),
    };
    let opens = match (facts.opens, &facts.refusal) {
        (Some(true), _) => ("yes, as far as its config.json says".to_owned(), palette.better),
        (_, Some(why)) => (format!("no. {why}"), palette.error),
        (None | Some(false), None) => ("not known: its config.json may not be read".to_owned(), palette.warning),
    };
    let left_out = match facts.other_files as u64 {
        0 => String::new(),
        files => format!("; left out: {}", counted(files, "file")),
    };
    let files = counted(facts.files.len() as u64, "file");
    let to_fetch = format!("{} in {files}{left_out}", format::bytes(facts.bytes));
    let plain = |text: String| (text, palette.text);
    let rows = [
        ("Model", Some(plain(format!("{} at {}, commit {commit}", facts.name, facts.revision)))),
        ("Architecture", facts.architecture.as_ref().map(|of| plain(architecture_words(of)))),
        ("Opens here", Some(opens)),
        ("Parameters", facts.parameters.map(|count| plain(format::count(count)))),
        ("Licence", Some(plain(facts.licence.clone().unwrap_or_else(|| "not said".to_owned())))),
        ("Open to", Some(access)),
        ("Made for", facts.task.clone().map(plain)),
        ("To fetch", Some(plain(to_fetch)).filter(|_| facts.problem.is_none())),
        ("Here already", (facts.bytes_here > 0).then(|| plain(format::bytes(facts.bytes_here)))),
        ("Will lie in", Some(plain(facts.folder.display().to_string()))),
        ("Cannot be fetched", facts.problem.clone().map(|why| (why, palette.error))),
    ];
    let files: Vec<String> = facts
        .files
        .iter()
        .map(|file| format!("{}  {}", file.path, file.bytes.map_or_else(|| "size not said".to_owned(), format::bytes)))
        .collect();
    Grid::new("remote").num_columns(2).spacing([16.0, 4.0]).show(ui, |ui| {
        for (name, value) in rows {
            let Some((text, colour)) = value else { continue };
            ui.label(RichText::new(name).color(palette.weak));
            ui.horizontal_wrapped(|ui| {
                ui.set_max_width(ui.available_width().max(200.0));
                let label = ui.add(Label::new(RichText::new(text).color(colour)).wrap());
                if name == "To fetch" {
                    label.on_hover_text(files.join("\n"));
                }
            });
            ui.end_row();
        }
    });
}

fn architecture_words(of: &RemoteArchitecture) -> String {
    let name = match (&of.class, &of.model_type) {
        (Some(class), Some(kind)) => format!("{class} ({kind})"),
        (Some(one), None) | (None, Some(one)) => one.clone(),
        (None, None) => "not said".to_owned(),
    };
    let mut words = vec![name];
    words.extend(of.layers.map(|count| counted(count, "layer")));
    words.extend(of.heads.map(|count| counted(count, "head")));
    words.extend(of.width.map(|width| format!("width {}", format::count(width))));
    words.extend(of.vocabulary.map(|count| counted(count, "token")));
    words.join(", ")
}

/// Draws what is being fetched, and what did not come to its end.
fn fetches_ui(ui: &mut Ui, hub: &mut HubState) {
    let mut wish = None;
    for run in &hub.fetches {
        ui.push_id(run.request.name.as_str(), |ui| {
            if let Some(wished) = fetch_ui(ui, run) {
                wish = Some(wished);
            }
        });
    }
    match wish {
        None => {}
        Some(Wish::Stop(ticket)) => hub.stop(ticket),
        Some(Wish::Dismiss(ticket)) => hub.dismiss(ticket),
        Some(Wish::GoOn(request)) => hub.fetch(request),
    }
}

fn fetch_ui(ui: &mut Ui, run: &FetchRun) -> Option<Wish> {
    let palette = theme::palette(ui.visuals());
    let mut wish = None;
    let name = &run.request.name;
    ui.add_space(6.0);
    if run.phase.is_open() {
        ui.horizontal(|ui| {
            ui.label(RichText::new(format!("Fetching {name}")).color(palette.strong));
            let stop = ui.add_enabled(!run.is_stopping, Button::new("Stop")).on_hover_text("What came is kept");
            if stop.accessible_name(format!("Stop fetching {name}")).clicked() {
                wish = Some(Wish::Stop(run.ticket));
            }
        });
        progress_ui(ui, run.progress.as_ref(), "Asking for its files…");
        return wish;
    }
    match &run.phase {
        Phase::Failed(why) => ui.label(RichText::new(why).color(palette.error)),
        _ => ui.label(format!("{name}: stopped. What came is kept.")),
    };
    ui.horizontal(|ui| {
        let go_on = ui.button("Go on").on_hover_text("Fetches what is missing");
        if go_on.accessible_name(format!("Go on fetching {name}")).clicked() {
            wish = Some(Wish::GoOn(run.request.clone()));
        }
        if ui.button("Leave it").accessible_name(format!("Leave {name}")).clicked() {
            wish = Some(Wish::Dismiss(run.ticket));
        }
    });
    wish
}
