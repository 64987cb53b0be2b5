//! A model on its way to a hub: what would be sent and to whom, before anything is, and what became of it.

use egui::{Button, CollapsingHeader, Grid, RichText, TextEdit, Ui};
use headroom_engine::{
    config::counted,
    hub::{HubError, HubFacts, PushContents, Pushed, RepoName},
    protocol::{Target, Ticket},
    text::listed,
};

use super::transfer::{framed_ui, host, progress_ui};
use crate::{
    context::{Action, PanelContext},
    format,
    state::{Phase, UploadRequest, UploadRun},
    theme,
};

/// Files that name others of this machine.
const TELLING: [&str; 2] = ["headroom.toml", "headroom.json"];

/// What is typed. It is about one model, and remembered no longer: the next one goes elsewhere, and is private again.
#[derive(Clone, Debug, Default)]
pub struct UploadForm {
    /// Whether it is shown.
    pub is_open: bool,
    model: Option<Target>,
    name: String,
    public: bool,
}

/// What is wanted of an upload that ended or goes on.
enum Wish {
    Stop(Ticket),
    Again(UploadRequest),
    Dismiss(Ticket),
    Copy(String),
}

/// Whether both are the same model, at whatever step.
fn is_same(a: &Target, b: &Target) -> bool {
    match (a, b) {
        (Target::Run { run: a, .. }, Target::Run { run: b, .. }) => a == b,
        (Target::Directory(a), Target::Directory(b)) => a == b,
        (Target::Run { .. }, Target::Directory(_)) | (Target::Directory(_), Target::Run { .. }) => false,
    }
}

impl UploadForm {
    /// Begins anew with the model that is shown.
    pub fn begin(&mut self) {
        *self = Self { is_open: true, ..Self::default() };
    }

    /// Draws the form where it is open, and the uploads of this window. `shown`: the model and its name, or what is missing.
    pub fn ui(&mut self, ui: &mut Ui, shown: &Result<(Target, String), String>, cx: &mut PanelContext<'_>) {
        if !self.is_open && cx.state.uploads.runs.is_empty() {
            return;
        }
        let heading = match shown {
            Ok((_, name)) if self.is_open => format!("Upload {name} to a hub"),
            _ => "Uploads to a hub".to_owned(),
        };
        ui.add_space(4.0);
        framed_ui(ui, &heading, |ui| {
            match shown {
                Ok((target, name)) if self.is_open => self.form_ui(ui, (target, name), cx),
                Err(_) if self.is_open => drop(ui.label("No model is shown.")),
                _ => {}
            }
            runs_ui(ui, cx);
        });
        ui.add_space(4.0);
    }

    fn form_ui(&mut self, ui: &mut Ui, (target, model): (&Target, &str), cx: &mut PanelContext<'_>) {
        let palette = theme::palette(ui.visuals());
        if !self.model.as_ref().is_some_and(|known| is_same(known, target)) {
            *self = Self { is_open: self.is_open, model: Some(target.clone()), ..Self::default() };
            cx.state.uploads.look_again(target);
        }
        ui.horizontal_wrapped(|ui| {
            let label = ui.label("Name on the hub");
            let edit = TextEdit::singleline(&mut self.name).desired_width(330.0);
            let edit = ui.add(edit.hint_text("owner/name; without an owner it is your own")).labelled_by(label.id);
            edit.on_hover_text("The repository is made where it is not there");
            ui.radio_value(&mut self.public, false, "Private").on_hover_text("You, and whom you let in, can read it");
            ui.radio_value(&mut self.public, true, "Public").on_hover_text("Everybody can read it");
        });
        let name: Result<RepoName, String> = self.name.trim().parse();
        if let Err(why) = &name
            && !self.name.trim().is_empty()
        {
            ui.label(RichText::new(why).color(palette.error));
        }
        let here = cx.state.hub.here().map(Option::<&HubFacts>::cloned);
        let obstacle = obstacle_ui(ui, &here, cx);
        let contents = match cx.state.uploads.contents(target) {
            Ok(Some(contents)) => contents.clone(),
            Ok(None) => {
                ui.label(RichText::new("Looking at what would be sent…").color(palette.weak));
                return;
            }
            Err(why) => {
                ui.label(RichText::new(why).color(palette.error));
                if ui.button("Look again").accessible_name("Look at the files again").clicked() {
                    cx.state.uploads.look_again(target);
                }
                return;
            }
        };
        contents_ui(ui, &contents);
        let button = format!("Upload {}", format::bytes(contents.bytes()));
        if let Ok(Some(here)) = &here {
            let token = if here.has_token { " with your token" } else { "" };
            let text = format!(
                "Nothing leaves this machine before you press {button}: it goes to {}{token}.",
                host(&here.endpoint)
            );
            ui.label(RichText::new(text).small().color(palette.weak));
        }
        if self.public {
            let text = "Everybody will be able to read it at once.";
            ui.label(RichText::new(text).small().color(palette.warning));
        }
        let is_going = name.as_ref().is_ok_and(|name| cx.state.uploads.is_uploading(name));
        let why = match (&name, obstacle, is_going) {
            (_, Some(why), _) => Some(why),
            (Err(_), ..) if self.name.trim().is_empty() => Some("Type a name".to_owned()),
            (Err(why), ..) => Some(why.clone()),
            (Ok(_), None, true) => Some("It is being uploaded".to_owned()),
            (Ok(_), None, false) => None,
        };
        let shown = ui.add_enabled(why.is_none(), Button::new(button)).on_hover_text("Goes on beside runs");
        let is_clicked = shown.on_disabled_hover_text(why.as_deref().unwrap_or_default()).clicked();
        if let (true, None, Ok(name)) = (is_clicked, why, name) {
            let (target, model, public) = (target.clone(), model.to_owned(), self.public);
            cx.state.uploads.upload(UploadRequest { target, model, name, public });
        }
    }
}

/// Says what stands in the way of any upload, and gives it.
fn obstacle_ui(ui: &mut Ui, here: &Result<Option<HubFacts>, String>, cx: &mut PanelContext<'_>) -> Option<String> {
    let palette = theme::palette(ui.visuals());
    let why = match here {
        Ok(None) => return Some("Looking where the hub is".to_owned()),
        Ok(Some(here)) if here.is_offline => HubError::OfflineMode { doing: "uploading".to_owned() }.to_string(),
        Ok(Some(here)) if !here.has_token => HubError::NoToken { doing: "Uploading".to_owned() }.to_string(),
        Ok(Some(_)) => return None,
        Err(why) => why.clone(),
    };
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(&why).color(palette.warning));
        let again = ui.small_button("Look again").on_hover_text("A token that `hf auth login` leaves is found then");
        if again.accessible_name("Look for a token again").clicked() {
            cx.state.hub.look_again();
        }
    });
    Some(why)
}

fn contents_ui(ui: &mut Ui, contents: &PushContents) {
    let palette = theme::palette(ui.visuals());
    let count = counted(contents.files.len(), "file");
    let heading = format!("Will be sent: {count}, {}", format::bytes(contents.bytes()));
    CollapsingHeader::new(heading).id_salt("contents").default_open(true).show(ui, |ui| {
        Grid::new("contents").num_columns(2).spacing([16.0, 2.0]).min_row_height(18.0).show(ui, |ui| {
            for file in &contents.files {
                ui.label(RichText::new(&file.name).small().monospace());
                ui.label(RichText::new(format::bytes(file.bytes)).small().color(palette.weak));
                ui.end_row();
            }
        });
    });
    let mut notes = Vec::new();
    if !contents.left_out.is_empty() {
        notes.push(format!("Stays here: {}.", listed(&contents.left_out)));
    }
    let telling: Vec<&str> =
        TELLING.into_iter().filter(|name| contents.files.iter().any(|file| file.name == *name)).collect();
    if !telling.is_empty() {
        let (verb, names) = (if telling.len() == 1 { "says" } else { "say" }, telling.join(" and "));
        notes.push(format!(
            "{names} {verb} on which files, by their paths on this machine, the model was trained and from what it was made."
        ));
    }
    for note in notes {
        ui.label(RichText::new(note).small().color(palette.weak));
    }
}

/// Draws what is being uploaded, and what ended.
fn runs_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let mut wish = None;
    for run in &cx.state.uploads.runs {
        ui.push_id(run.asked.name.as_str(), |ui| {
            if let Some(wished) = run_ui(ui, run) {
                wish = Some(wished);
            }
        });
    }
    match wish {
        None => {}
        Some(Wish::Stop(ticket)) => cx.state.uploads.stop(ticket),
        Some(Wish::Dismiss(ticket)) => cx.state.uploads.dismiss(ticket),
        Some(Wish::Again(asked)) => cx.state.uploads.upload(asked),
        Some(Wish::Copy(address)) => cx.act(Action::Copy("The address".to_owned(), address)),
    }
}

fn run_ui(ui: &mut Ui, run: &UploadRun) -> Option<Wish> {
    let palette = theme::palette(ui.visuals());
    let UploadRequest { model, name, public, .. } = &run.asked;
    let mut wish = None;
    ui.add_space(6.0);
    if run.phase.is_open() {
        ui.horizontal_wrapped(|ui| {
            let who = if *public { "public" } else { "private" };
            ui.label(RichText::new(format!("Uploading {model} to {name}, {who}")).color(palette.strong));
            let stop = ui.add_enabled(!run.is_stopping, Button::new("Stop"));
            let stop = stop.on_hover_text("The repository stays as it was");
            if stop.accessible_name(format!("Stop uploading {name}")).clicked() {
                wish = Some(Wish::Stop(run.ticket));
            }
        });
        progress_ui(ui, run.progress.as_ref(), "Reading the files, and asking the hub how it wants them…");
        return wish;
    }
    if let Some(pushed) = &run.pushed {
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new(format!("Uploaded {model} to")).color(palette.strong));
            ui.hyperlink_to(&pushed.url, &pushed.url);
        });
        ui.label(pushed_words(pushed));
        if !pushed.left_out.is_empty() {
            let text = format!("Stayed here: {}.", listed(&pushed.left_out));
            ui.label(RichText::new(text).small().color(palette.weak));
        }
    }
    match &run.phase {
        Phase::Failed(why) => drop(ui.label(RichText::new(why).color(palette.error))),
        Phase::Done { stopped: true } => drop(ui.label(format!("{name}: stopped. The repository is as it was."))),
        Phase::Done { stopped: false } | Phase::Going | Phase::Waiting => {}
    }
    ui.horizontal(|ui| {
        if let Some(pushed) = &run.pushed {
            let copy = ui.button("Copy the address").accessible_name(format!("Copy the address of {name}"));
            if copy.clicked() {
                wish = Some(Wish::Copy(pushed.url.clone()));
            }
        } else {
            let again = ui.button("Try again").on_hover_text("What is there already is not sent again");
            if again.accessible_name(format!("Try again to upload {name}")).clicked() {
                wish = Some(Wish::Again(run.asked.clone()));
            }
        }
        if ui.button("Leave it").accessible_name(format!("Leave the upload of {name}")).clicked() {
            wish = Some(Wish::Dismiss(run.ticket));
        }
    });
    wish
}

/// What is there now.
fn pushed_words(pushed: &Pushed) -> String {
    let who = if pushed.public { "everybody can read it" } else { "it is private" };
    let size = format!("{}, {}", counted(pushed.files.len(), "file"), format::bytes(pushed.bytes));
    match pushed.commit {
        None => format!("{size}; all of it was there already; {who}."),
        Some(_) => format!("{size}, of which {} had to be sent; {who}.", format::bytes(pushed.sent)),
    }
}
