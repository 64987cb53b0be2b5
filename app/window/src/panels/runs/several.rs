//! What can be done with several runs at once: the bar above the table and the menu of a row among them.

use std::collections::BTreeMap;

use egui::{
    Button, Key, TextEdit, Ui,
    containers::menu::{MenuButton, MenuConfig},
};
use headroom_engine::{
    config::counted,
    protocol::{RunEdit, commands},
    store::{RunId, RunSummary},
};

use crate::{
    context::{Action, PanelContext, PanelId},
    messages::Level,
    widgets::focus_when_opened,
};

/// What the user wants of several runs and the panel has to ask more about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedOfSeveral {
    /// Their checkpoints in a folder.
    Export,
    /// To delete them.
    Delete,
    /// Nothing of them: they are selected no longer.
    Deselect,
}

/// Why a run cannot be deleted as it stands.
pub fn why_kept(run: &RunSummary) -> Option<String> {
    (!run.state.is_ended()).then(|| match run.state {
        headroom_engine::store::RunState::Queued => "it waits in the queue: take it out first".to_owned(),
        state => format!("it is {state}: stop it first"),
    })
}

/// Draws the operations on these runs, into a bar or a menu.
pub fn several_ui(
    ui: &mut Ui,
    runs: &[RunSummary],
    tag: &mut String,
    cx: &mut PanelContext<'_>,
) -> Option<WantedOfSeveral> {
    let mut wanted = None;
    let ids = || runs.iter().map(|run| run.id.clone()).collect::<Vec<RunId>>();
    let about = "Shows only these runs, with a pinned baseline that they can be held against, and opens Compare";
    if ui.button("Compare these").on_hover_text(about).clicked() {
        cx.state.compare_only(&ids());
        cx.act(Action::Open(PanelId::COMPARE));
        ui.close();
    }
    let all_shown = runs.iter().all(|run| cx.state.selection.is_visible(&run.id));
    if ui.button(if all_shown { "Hide these" } else { "Show these" }).on_hover_text("In charts").clicked() {
        for run in ids() {
            if all_shown {
                cx.state.selection.visible.remove(&run);
            } else {
                cx.state.selection.visible.insert(run);
            }
        }
        ui.close();
    }
    // Done there, the menu that these menus stand in is done, too.
    if tag_menu_ui(ui, runs, tag, cx) || untag_menu_ui(ui, runs, cx) {
        ui.close();
    }
    let all_archived = runs.iter().all(|run| run.archived);
    let verb = if all_archived { "Take out of the archive" } else { "Archive" };
    if ui.button(verb).on_hover_text("Archived runs leave the everyday list and charts; nothing is lost").clicked() {
        if !all_archived {
            for run in runs.iter().filter(|run| !run.archived) {
                cx.state.selection.put_away(&run.id);
            }
        }
        edit_each(runs.iter().filter(|run| run.archived == all_archived), cx, || RunEdit::Archive(!all_archived));
        let what = if all_archived { "Took out of the archive" } else { "Archived" };
        cx.act(Action::Say(Level::Info, format!("{what}: {}.", counted(runs.len() as u64, "run")), String::new()));
        ui.close();
    }
    let export = ui.button("Export checkpoints…").on_hover_text("A folder with a model directory for each run");
    if export.clicked() {
        wanted = Some(WantedOfSeveral::Export);
        ui.close();
    }
    resume_ui(ui, runs, cx);
    if ui.button("Delete…").on_hover_text("Says which, and asks first").clicked() {
        wanted = Some(WantedOfSeveral::Delete);
        ui.close();
    }
    if ui.button("Deselect").on_hover_text("Esc").clicked() {
        wanted = Some(WantedOfSeveral::Deselect);
        ui.close();
    }
    wanted
}

fn edit_each<'a>(runs: impl Iterator<Item = &'a RunSummary>, cx: &mut PanelContext<'_>, edit: impl Fn() -> RunEdit) {
    for run in runs {
        cx.send(commands::Edit { run: run.id.clone(), edit: edit() });
    }
}

/// Goes on with those that can be; says how many cannot.
fn resume_ui(ui: &mut Ui, runs: &[RunSummary], cx: &mut PanelContext<'_>) {
    let resumable: Vec<RunId> = runs.iter().filter(|run| run.is_worth_resuming()).map(|run| run.id.clone()).collect();
    let left = runs.len() - resumable.len();
    let about = match left {
        0 => "Queues the rest of each run".to_owned(),
        left => format!("Queues the rest of {}; {left} cannot be resumed", counted(resumable.len() as u64, "run")),
    };
    let button = ui.add_enabled(!resumable.is_empty(), Button::new("Resume"));
    let button = button.on_hover_text(about).on_disabled_hover_text("None of these was interrupted, stopped or failed");
    if button.clicked() {
        for run in resumable {
            cx.send(commands::ResumeRun { run });
        }
        ui.close();
    }
}

/// Whether runs were tagged.
fn tag_menu_ui(ui: &mut Ui, runs: &[RunSummary], tag: &mut String, cx: &mut PanelContext<'_>) -> bool {
    let mut is_done = false;
    let config = MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let content = |ui: &mut Ui| {
        ui.set_style(ui.ctx().global_style());
        ui.horizontal(|ui| {
            let typed = ui.add(TextEdit::singleline(tag).desired_width(140.0).hint_text("Tag for all of these"));
            let typed = typed.accessible_name("Tag for all of these");
            focus_when_opened(ui, &typed);
            let enter = typed.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
            let add = ui.add_enabled(!tag.trim().is_empty(), Button::new("Tag them"));
            if (enter || add.clicked()) && !tag.trim().is_empty() {
                let new = std::mem::take(tag).trim().to_owned();
                edit_each(runs.iter().filter(|run| !run.tags.contains(&new)), cx, || RunEdit::AddTag(new.clone()));
                is_done = true;
                ui.close();
            }
        });
    };
    MenuButton::new("Tag…").config(config).ui(ui, content);
    is_done
}

/// Whether a tag was taken away.
fn untag_menu_ui(ui: &mut Ui, runs: &[RunSummary], cx: &mut PanelContext<'_>) -> bool {
    let mut is_done = false;
    let mut tags: BTreeMap<&str, u64> = BTreeMap::new();
    for tag in runs.iter().flat_map(|run| &run.tags) {
        *tags.entry(tag).or_default() += 1;
    }
    ui.add_enabled_ui(!tags.is_empty(), |ui| {
        ui.menu_button("Untag…", |ui| {
            for (tag, count) in tags {
                if ui.button(format!("{tag} ({count})")).on_hover_text("Takes the tag from all of these").clicked() {
                    let tagged = runs.iter().filter(|run| run.tags.iter().any(|own| own == tag));
                    edit_each(tagged, cx, || RunEdit::RemoveTag(tag.to_owned()));
                    is_done = true;
                    ui.close();
                }
            }
        });
    });
    is_done
}
