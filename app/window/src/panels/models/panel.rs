//! The panel itself.

use egui::{Button, Popup, PopupCloseBehavior, RichText, ScrollArea, Ui};
use headroom_engine::{
    checkpoint::DirectoryFacts,
    protocol::{Target, Which},
    store::{RunId, RunSummary},
};
use serde::{Deserialize, Serialize};

use super::{
    bring::HubForm,
    exported,
    facts::facts_ui,
    form::ConversionForm,
    inside::inside_ui,
    outcome::{Clicked, outcome_ui},
    recent::Recent,
    upload::UploadForm,
};
use crate::{
    common::{ExportDialog, Exportable, blank_ui, working_ui},
    context::{Action, Panel, PanelContext, PanelId},
    file_dialogs::current_folder,
    panels::{
        analysis::typed_text,
        live::{picker_ui, shown_run},
        model_choice::{ModelChoice, checkpoint_ui},
    },
    state::{ConversionRequest, SubjectId},
    theme,
};

/// From this width on what a model is stands beside what can be made of it.
const TWO_COLUMNS: f32 = 1300.0;

/// What the panel remembers between starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    model: ModelChoice,
    form: ConversionForm,
    /// Whether what brings a model from a hub is open.
    brings: bool,
    hub: HubForm,
    recent: Recent,
}

/// Looks into a model and makes others of it.
#[derive(Default)]
pub struct ModelsPanel {
    memory: Option<Memory>,
    run: Option<RunId>,
    which: Which,
    upload: UploadForm,
    export: Option<ExportDialog>,
}

impl Panel for ModelsPanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut memory = self.memory.take().unwrap_or_else(|| cx.settings.of_panel("models"));
        let run = shown_run(cx);
        let opened = cx.state.models.take_opened();
        if let Some((conversion, tokens)) = cx.state.models.take_set_up() {
            // A run has a text of its own.
            let text = if matches!(opened, Some(SubjectId::Run(_))) { String::new() } else { typed_text(cx) };
            memory.form.set_up(&conversion, tokens, text);
        }
        match opened {
            Some(SubjectId::Directory(folder)) => memory.model = ModelChoice::of_folder(&folder),
            Some(SubjectId::Run(opened)) if run.as_ref().is_some_and(|run| run.id == opened) => {
                memory.model = ModelChoice::default();
            }
            Some(SubjectId::Run(opened)) => memory.model = ModelChoice::of_run(opened),
            None => {}
        }
        if !cx.state.runs_loaded && cx.state.current.is_none() {
            working_ui(ui, "Reading the runs…");
        } else if run.is_none() && memory.model.is_of_run() && !memory.brings {
            Self::blank_ui(ui, &mut memory, cx);
        } else {
            let scroll = ScrollArea::vertical().auto_shrink([false, false]);
            scroll.show(ui, |ui| self.full_ui(ui, run.as_ref(), &mut memory, cx));
        }
        if let Some(mut export) = self.export.take()
            && export.ui(ui, cx)
        {
            self.export = Some(export);
        }
        cx.settings.set_panel("models", &memory);
        self.memory = Some(memory);
    }

    fn shows_directory(&self, _cx: &PanelContext<'_>) -> bool {
        self.memory.as_ref().is_some_and(|memory| !memory.model.is_of_run())
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let last = cx.state.models.conversions.iter().rev().find_map(exported::outcome);
        let Some(data) = last else { return false };
        self.export = Some(ExportDialog::new("models", Exportable::Data(Box::new(data)), cx));
        true
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.export.take().is_some()
            || std::mem::take(&mut self.upload.is_open)
            || self.memory.as_mut().is_some_and(|memory| std::mem::take(&mut memory.brings))
    }
}

impl ModelsPanel {
    fn blank_ui(ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        let sentence = "A model is looked into here, and others are made of it: of a run with a checkpoint, of a model directory, or \
                        of a hub. A folder or a file of a model can be dropped on the window.";
        blank_ui(ui, "No model yet", sentence, |ui| {
            if ui.button("Bring a model from a hub").clicked() {
                memory.brings = true;
                cx.state.hub.look_again();
            }
            if ui.button("Use a model directory").clicked() {
                memory.model = ModelChoice::folder();
            }
        });
        if !memory.recent.is_empty() {
            let margin = ((ui.available_width() - 460.0) / 2.0).max(0.0);
            ui.add_space(12.0);
            ui.horizontal_top(|ui| {
                ui.add_space(margin);
                ui.vertical(|ui| Self::recent_ui(ui, memory));
            });
        }
    }

    /// The models that were looked into before, below a heading. Whether one was chosen.
    fn recent_ui(ui: &mut Ui, memory: &mut Memory) -> bool {
        ui.label(RichText::new("Looked into before").color(theme::palette(ui.visuals()).weak));
        let chosen = memory.recent.ui(ui);
        if let Some(folder) = &chosen {
            memory.model = ModelChoice::of_folder(folder);
        }
        chosen.is_some()
    }

    /// What leads to other models: those of before, and those of a hub.
    fn sources_ui(ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        let button = ui.add_enabled(!memory.recent.is_empty(), Button::new("Recent"));
        let button = button.on_hover_text("Model directories that were looked into before");
        let button =
            button.on_disabled_hover_text("No model directory was looked into yet").accessible_name("Recent models");
        let popup = Popup::menu(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        popup.accessible_name("Recent models").show(|ui| {
            if Self::recent_ui(ui, memory) {
                ui.close();
            }
        });
        let bring = Button::selectable(memory.brings, "From a hub…").frame_when_inactive(true);
        let bring = ui.add(bring).on_hover_text("Looks a pretrained model up and fetches it");
        if bring.accessible_name("Bring a model from a hub").clicked() {
            memory.brings = !memory.brings;
            if memory.brings {
                cx.state.hub.look_again();
            }
        }
    }

    fn full_ui(&mut self, ui: &mut Ui, run: Option<&RunSummary>, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        let palette = theme::palette(ui.visuals());
        ui.horizontal_wrapped(|ui| {
            // Beside the model of a folder a run would say nothing.
            if let Some(run) = run.filter(|_| memory.model.is_of_run()) {
                cx.state.want_record(&run.id);
                if self.run.as_ref() != Some(&run.id) {
                    (self.run, self.which) = (Some(run.id.clone()), Which::Best);
                }
                picker_ui(ui, run, cx);
                checkpoint_ui(ui, &mut self.which, run, cx);
            }
            ui.label("Model");
            memory.model.ui(ui, PanelId::MODELS, false, cx);
            Self::sources_ui(ui, memory, cx);
            upload_ui(ui, &mut self.upload, cx);
        });
        if memory.brings {
            ui.add_space(4.0);
            if let Some(folder) = memory.hub.ui(ui, cx) {
                memory.model = ModelChoice::of_folder(&folder);
            }
            ui.add_space(4.0);
        }
        let target = memory.model.target(run.map(|run| (run, self.which)), cx);
        self.upload.ui(ui, &target, cx);
        match target {
            Err(why) => {
                ui.label(RichText::new(why).color(palette.weak));
                if !memory.recent.is_empty() {
                    ui.add_space(6.0);
                    Self::recent_ui(ui, memory);
                }
            }
            Ok((target, name)) => Self::model_ui(ui, (&target, &name), memory, cx),
        }
        self.outcomes_ui(ui, memory, cx);
    }

    fn model_ui(ui: &mut Ui, (target, name): (&Target, &str), memory: &mut Memory, cx: &mut PanelContext<'_>) {
        let palette = theme::palette(ui.visuals());
        let facts = match cx.state.models.facts(target) {
            Ok(Some(facts)) => facts.clone(),
            Ok(None) => return working_ui(ui, "Reading the model…"),
            Err(why) => {
                ui.label(RichText::new(why).color(palette.error));
                if ui.button("Try again").clicked() {
                    cx.state.models.read_again(target);
                }
                return;
            }
        };
        if let Target::Directory(folder) = target {
            memory.recent.remember(folder);
        }
        let about_ui = |ui: &mut Ui, cx: &mut PanelContext<'_>| {
            facts_ui(ui, &facts);
            inside_ui(ui, target, cx, |ui, cx| further_ui(ui, target, &facts, cx));
        };
        if ui.available_width() >= TWO_COLUMNS {
            ui.columns_const(|[about, make]| {
                // Columns set their text to both edges; what stands in one of them does not.
                about.vertical(|ui| about_ui(ui, cx));
                make.vertical(|ui| Self::make_ui(ui, (target, name), &facts, memory, cx));
            });
        } else {
            about_ui(ui, cx);
            ui.separator();
            Self::make_ui(ui, (target, name), &facts, memory, cx);
        }
    }

    /// What can be made of a model.
    fn make_ui(
        ui: &mut Ui,
        (target, name): (&Target, &str),
        facts: &DirectoryFacts,
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) {
        let palette = theme::palette(ui.visuals());
        ui.label(RichText::new("Make another model of it").color(palette.strong));
        let conversion = memory.form.conversion(facts);
        let preview = cx.state.models.preview(target, &conversion);
        let of_run = matches!(target, Target::Run { .. });
        // What is looked into on a text is compared on it, too, unless another one is named.
        let inside = if of_run { String::new() } else { typed_text(cx).trim().to_owned() };
        memory.form.ui(ui, (name, facts), &preview, (of_run, &inside), cx);
        let conversion = memory.form.conversion(facts);
        let trained_on = match target {
            Target::Run { .. } => facts.config.as_ref().map(|config| &config.data),
            Target::Directory(_) => None,
        };
        let data = memory.form.data(trained_on, &inside);
        let lacks_text = conversion.needs_text() && data.is_none() && !of_run;
        let is_busy = cx.state.models.is_converting();
        ui.horizontal_wrapped(|ui| {
            let can = preview.is_ok() && !lacks_text && !is_busy;
            let button =
                ui.add_enabled(can, Button::new("Convert")).on_hover_text("Runs when its turn in the queue comes");
            let why = if lacks_text { "It depends on a text: name one" } else { "See above why not" };
            if button.on_disabled_hover_text(why).clicked() {
                let (to, (examples, tokens)) =
                    (memory.form.to(name, cx.settings.last_folder.as_deref()), memory.form.amount());
                let (target, name) = (target.clone(), name.to_owned());
                cx.state.models.convert(ConversionRequest { target, name, conversion, to, data, examples, tokens });
            }
            if is_busy && ui.button("Stop").on_hover_text("Nothing is written then").clicked() {
                cx.state.models.stop();
            }
            if lacks_text {
                ui.label(RichText::new("It depends on what the model does with a text: name one.").color(palette.weak));
            }
        });
    }

    fn outcomes_ui(&mut self, ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>) {
        let mut clicked = None;
        for (number, run) in cx.state.models.conversions.iter().enumerate().rev() {
            ui.separator();
            ui.push_id(("conversion", number), |ui| {
                if let Some(what) = outcome_ui(ui, run) {
                    clicked = Some((number, what));
                }
            });
        }
        let Some((number, what)) = clicked else { return };
        let Some(run) = cx.state.models.conversions.get(number) else { return };
        match what {
            Clicked::Open => {
                memory.model = ModelChoice::of_folder(&run.asked.to);
                // It is there now, and what is made of it goes elsewhere.
                memory.form.forget_place();
            }
            Clicked::Dismiss => cx.state.models.dismiss(number),
            Clicked::Export => {
                if let Some(data) = exported::outcome(run) {
                    self.export = Some(ExportDialog::new("models", Exportable::Data(Box::new(data)), cx));
                }
            }
        }
    }
}

/// The button that shows what would be uploaded, and where to.
fn upload_ui(ui: &mut Ui, upload: &mut UploadForm, cx: &mut PanelContext<'_>) {
    let button = ui.add(Button::selectable(upload.is_open, "Upload to a hub…").frame_when_inactive(true));
    let button = button.on_hover_text("Shows what of this model would be sent, and sends nothing yet");
    if button.accessible_name("Upload this model to a hub").clicked() {
        upload.is_open = !upload.is_open;
        if upload.is_open {
            upload.begin();
            cx.state.hub.look_again();
        }
    }
}

/// The button that opens Configure with what trains the model further.
fn further_ui(ui: &mut Ui, target: &Target, facts: &DirectoryFacts, cx: &mut PanelContext<'_>) {
    let button = ui.add_enabled(facts.further.is_some(), Button::new("Train further"));
    let button = button.on_hover_text("Opens Configure with a run that begins with these weights");
    let button = button.accessible_name("Train further in Configure");
    let why = facts.why_not_further.as_deref().unwrap_or_default();
    if button.on_disabled_hover_text(format!("It cannot be trained further: {why}")).clicked()
        && let Some(further) = &facts.further
    {
        let mut config = further.clone();
        // A run's folders come and go with its checkpoints; its best one is meant by its name.
        if let Target::Run { run, which: Which::Best } = target {
            config.model.initial = Some(run.to_string());
        }
        cx.act(Action::Configure(Box::new(config), current_folder()));
    }
}
