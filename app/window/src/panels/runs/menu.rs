//! The menu of a run.

use egui::{Button, Event, Key, Pos2, TextEdit, Ui};
use headroom_engine::{
    protocol::{RunEdit, commands},
    store::{RunId, RunSummary},
};

use super::tags::{TagWish, tag_menu_ui};
use crate::{
    common::{Exportable, RunOperation, offered, perform},
    context::{Action, PanelContext},
};

/// What the user wants of a run and the panel has to ask more about.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    /// A new name, typed in place.
    Rename(RunId),
    /// Something of it as a file.
    Export(Exportable),
    /// The runs of one of its tags.
    Tag(TagWish),
}

/// In a lower window the entries stand closer together, so that all of them have room in it.
const LOW: f32 = 700.0;

/// How far the pointer has to move, in points, before what deletes can be clicked.
const AIM: f32 = 6.0;

/// Whether the pointer was moved since the menu was opened, or a key or a screen reader is used in it: the menu can open with any of
/// its entries under the pointer, and a second click is quickly made. That something has the keyboard says nothing: the table has it
/// after every click on a row.
fn has_aimed(ui: &Ui) -> bool {
    let id = ui.scope_id().with("opened at");
    let now = ui.input(|input| input.pointer.latest_pos());
    let (frame, known) =
        (ui.ctx().cumulative_frame_nr(), ui.data(|data| data.get_temp::<(u64, Option<Pos2>, bool)>(id)));
    // A frame without the menu lies between two that have it: it was closed meanwhile.
    let (opened_at, has_moved) = match known {
        Some((seen, at, has_moved)) if seen + 2 >= frame => (at, has_moved),
        _ => (now, false),
    };
    let is_far = opened_at.zip(now).is_none_or(|(at, now)| at.distance(now) > AIM);
    let is_typed = ui.input(|input| {
        let by_hand =
            |event: &Event| matches!(event, Event::Key { pressed: true, .. } | Event::AccessKitActionRequest(_));
        input.events.iter().any(by_hand)
    });
    let has_moved = has_moved || is_far || is_typed;
    ui.data_mut(|data| data.insert_temp(id, (frame, opened_at, has_moved)));
    has_moved
}

/// Draws the menu of a run, with the tag that is being typed into it; closes it when something was chosen.
pub(super) fn run_menu_ui(
    ui: &mut Ui,
    run: &RunSummary,
    tag: &mut String,
    cx: &mut PanelContext<'_>,
) -> Option<Wanted> {
    let mut wanted = None;
    cx.state.want_record(&run.id);
    let has_record = cx.state.records.contains_key(&run.id);
    let is_baseline = cx.state.selection.baseline.as_ref() == Some(&run.id);
    let named = || run.name.clone();
    ui.set_min_width(210.0);
    if ui.ctx().content_rect().height() < LOW {
        ui.spacing_mut().item_spacing.y = 2.0;
    }
    if ui.button("Inspect").on_hover_text("Shows config, machine, tags and note (Enter)").clicked() {
        cx.act(Action::Inspect(run.id.clone()));
        ui.close();
    }
    if ui.add(Button::new("Rename").shortcut_text("F2")).clicked() {
        wanted = Some(Wanted::Rename(run.id.clone()));
        ui.close();
    }
    ui.horizontal(|ui| {
        // A field among the entries looks like a field elsewhere.
        ui.set_style(ui.ctx().global_style());
        let typed = ui.add(TextEdit::singleline(tag).desired_width(110.0).hint_text("New tag"));
        let typed = typed.accessible_name("New tag");
        let enter = typed.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
        let add = ui.add_enabled(!tag.trim().is_empty(), Button::new("Add tag"));
        if (enter || add.clicked()) && !tag.trim().is_empty() {
            let edit = RunEdit::AddTag(std::mem::take(tag).trim().to_owned());
            cx.send(commands::Edit { run: run.id.clone(), edit });
            ui.close();
        }
    });
    for own in &run.tags {
        ui.menu_button(format!("Tag {own}"), |ui| {
            wanted = wanted.take().or_else(|| tag_menu_ui(ui, own).map(Wanted::Tag));
        });
    }
    ui.separator();
    let aimed = has_aimed(ui);
    for operation in offered(run) {
        if operation == RunOperation::Delete {
            ui.separator();
            if ui.button("Export checkpoint…").clicked() {
                wanted =
                    Some(Wanted::Export(Exportable::Checkpoint { run: run.id.clone(), name: named(), step: None }));
                ui.close();
            }
            if ui.button("Export run as JSON…").clicked() {
                wanted = Some(Wanted::Export(Exportable::Run { run: run.id.clone(), name: named() }));
                ui.close();
            }
            // It is told with the record: the entries below stay under the pointer when it comes.
            let path = cx.state.folders.get(&run.id).map(|folder| folder.display().to_string());
            let button = ui.add_enabled(path.is_some(), Button::new("Copy folder path"));
            let button = button.on_hover_text(path.as_deref().unwrap_or_default());
            if button.on_disabled_hover_text("The run's record is being loaded").clicked() {
                cx.act(Action::Copy("The path of the run's folder".to_owned(), path.unwrap_or_default()));
                ui.close();
            }
            if ui.button("Copy id").on_hover_text("The command line takes it").clicked() {
                cx.act(Action::Copy("The run's id".to_owned(), run.id.to_string()));
                ui.close();
            }
            ui.separator();
        }
        let is_delete = operation == RunOperation::Delete;
        let ready = (has_record || !operation.needs_record()) && (!is_delete || aimed);
        let button = ui.add_enabled(ready, Button::new(operation.label(run, is_baseline)));
        let why_not = if is_delete { "Move the pointer first" } else { "The run's config is being loaded" };
        // The second click of a double click on what opened the menu is meant for nothing in it.
        if button.on_hover_text(operation.about()).on_disabled_hover_text(why_not).clicked() && aimed {
            perform(operation, &run.id, cx);
            ui.close();
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use egui::{Context, Id, Modifiers, RawInput, pos2};

    use super::*;

    #[test]
    fn what_deletes_waits_for_the_pointer_to_be_moved_in_a_menu_just_opened() {
        let ctx = Context::default();
        let frame = |events: Vec<Event>, is_open: bool| {
            let mut found = false;
            let output = ctx.run_ui(RawInput { events, ..RawInput::default() }, |ui| {
                // As after a click on a row of the table.
                ui.memory_mut(|memory| memory.request_focus(Id::unique("table")));
                found = is_open && has_aimed(ui);
            });
            output.drop_without_applying_deltas();
            found
        };
        let to = |x: f32| vec![Event::PointerMoved(pos2(x, 100.0))];
        assert!(!frame(to(100.0), true), "just opened");
        assert!(!frame(Vec::new(), true) && !frame(to(103.0), true), "a tremble is no aim");
        assert!(frame(to(120.0), true) && frame(Vec::new(), true), "it was moved");
        for _ in 0..4 {
            frame(Vec::new(), false);
        }
        assert!(!frame(Vec::new(), true), "opened again");
        let down = Event::Key {
            key: Key::ArrowDown,
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers: Modifiers::NONE,
        };
        assert!(frame(vec![down], true), "by the keyboard");
    }
}
