//! Every key of the window in one place: what is pressed, and the table that the help shows.

use egui::{Context, Event, FocusDirection, Id, InputState, Key, LayerId, Modifiers, Popup, Response};

/// What a key asks the window for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    /// Opens the palette.
    Palette,
    /// Opens the help.
    Help,
    /// Puts the keyboard into the panel's filter.
    Filter,
    /// Undoes.
    Undo,
    /// Does again what was undone.
    Redo,
    /// Starts the run that is set up.
    Start,
    /// Exports what is shown.
    Export,
    /// Shows or hides the rail.
    Rail,
    /// Shows or hides the inspector.
    Inspector,
    /// Full screen and back.
    FullScreen,
    /// Opens the panel at this place of the rail, from 0.
    Panel(usize),
}

/// The keys and what they do, in groups, for the help.
pub const HELP: &[(&str, &[(&str, &str)])] = &[
    (
        "Everywhere",
        &[
            ("Ctrl+K", "Palette: panels, presets, runs and actions by name"),
            ("?", "This help"),
            ("Esc", "Close, or go back"),
            ("1 to 9, 0", "Open a panel"),
            ("[ and ]", "Show or hide the panels' names and the inspector"),
            ("F11", "Full screen and back"),
            ("Ctrl++ and Ctrl+-", "Zoom in and out; Ctrl+0 resets the size"),
        ],
    ),
    (
        "Runs",
        &[
            ("Ctrl+Enter", "Start the configured run; in Generate: ask the model"),
            ("Ctrl+Z", "Undo: a change of the config, the deletion of a run"),
            ("Ctrl+Shift+Z, Ctrl+Y", "Redo a change of the config"),
            ("/", "Filter"),
            ("Up and Down", "Select another row"),
            ("Shift+Up, Shift+Down", "Select several rows; Ctrl+click and Shift+click too"),
            ("Ctrl+A", "Select every run that the filter finds"),
            ("Delete", "Delete the selected runs; several after a question"),
            ("Space", "Show or hide the run in charts"),
            ("P", "Pin the run as the baseline"),
        ],
    ),
    (
        "Charts",
        &[
            ("Drag", "Zoom into a box"),
            ("Double click", "Show the whole range"),
            ("Shift+drag", "Move"),
            ("Ctrl+wheel", "Zoom"),
            ("Y", "Logarithmic values"),
            ("Ctrl+E", "Export the figure"),
        ],
    ),
    (
        "Maps",
        &[
            ("Click", "Choose a cell"),
            ("Arrows, Enter", "Move from cell to cell and choose"),
            ("Ctrl+wheel, + and -", "Zoom"),
            ("Drag", "Pan a zoomed map"),
            ("Double click, Home", "Show the whole map"),
            ("Esc", "Clear the selection"),
        ],
    ),
];

/// Whether a field has the keyboard: then plain keys are text, or meant for the field.
pub fn typing(ctx: &Context) -> bool {
    let focused = ctx.memory(egui::Memory::focused);
    ctx.text_edit_focused() || (focused.is_some() && ctx.data(|data| data.get_temp::<Id>(in_field())) == focused)
}

/// Notes that a control which stands in a form has the keyboard.
pub fn note_field(ctx: &Context, control: &Response) {
    if control.has_focus() {
        ctx.data_mut(|data| data.insert_temp(in_field(), control.id));
    }
}

fn in_field() -> Id {
    Id::unique("a field has the keyboard")
}

/// The modifiers that a key was pressed with since the last frame; none where it was not. Those that are held when the frame
/// is drawn may be others: after a quick Ctrl+A, Ctrl is up again.
pub fn pressed_with(input: &InputState, key: Key) -> Option<Modifiers> {
    input.events.iter().find_map(|event| match event {
        Event::Key { key: own, pressed: true, modifiers, .. } if *own == key => Some(*modifiers),
        _ => None,
    })
}

/// Whether Tab was pressed while nothing has the keyboard: what is drawn from now on does not get it until [`give_tab`]. So the
/// form of a panel comes before what is drawn earlier, such as the top bar.
pub fn take_tab(ctx: &Context) -> bool {
    let is_pressed = ctx.input(|input| pressed_with(input, Key::Tab).is_some_and(|held| held.is_none()));
    let is_taken = is_pressed && !is_over_panels(ctx) && ctx.memory(|memory| memory.focused().is_none());
    if is_taken {
        ctx.memory_mut(|memory| memory.move_focus(FocusDirection::None));
    }
    is_taken
}

/// The next control that is drawn gets the keyboard.
pub fn give_tab(ctx: &Context) {
    ctx.memory_mut(|memory| memory.move_focus(FocusDirection::Next));
}

/// Whether a dialog stands over the panels: keys are meant for it then.
pub fn is_over_panels(ctx: &Context) -> bool {
    !ctx.memory(|memory| memory.is_above_modal_layer(LayerId::background()))
}

/// Whether a plain key was pressed while no text field has the keyboard and no dialog stands over the panels; takes the key.
/// For panels.
pub fn plain(ctx: &Context, key: Key) -> bool {
    !typing(ctx) && !is_over_panels(ctx) && ctx.input_mut(|input| input.consume_key(Modifiers::NONE, key))
}

/// What was pressed since the last frame; takes those keys. Esc is not among them: it is asked for last, with
/// [`back`], when everything that is open had its chance to take it.
pub fn pressed(ctx: &Context) -> Vec<Pressed> {
    let (typing, in_text) = (typing(ctx), ctx.text_edit_focused());
    ctx.input_mut(|input| {
        let mut found = Vec::new();
        // The longer ones first: a shortcut is also taken with an extra Shift.
        for (modifiers, key, pressed) in [
            (Modifiers::COMMAND | Modifiers::SHIFT, Key::Z, Pressed::Redo),
            (Modifiers::COMMAND, Key::Y, Pressed::Redo),
            (Modifiers::COMMAND, Key::Z, Pressed::Undo),
        ] {
            // A text field undoes its own typing; a list that has the keyboard has nothing to undo.
            if !in_text && input.consume_key(modifiers, key) {
                found.push(pressed);
            }
        }
        for (modifiers, key, pressed) in [
            (Modifiers::COMMAND, Key::K, Pressed::Palette),
            (Modifiers::COMMAND, Key::Enter, Pressed::Start),
            (Modifiers::COMMAND, Key::E, Pressed::Export),
            (Modifiers::NONE, Key::F11, Pressed::FullScreen),
        ] {
            if input.consume_key(modifiers, key) {
                found.push(pressed);
            }
        }
        if typing {
            return found;
        }
        for (text, key, pressed) in [
            ("?", Key::Questionmark, Pressed::Help),
            ("/", Key::Slash, Pressed::Filter),
            ("[", Key::OpenBracket, Pressed::Rail),
            ("]", Key::CloseBracket, Pressed::Inspector),
        ] {
            // By the character where the keyboard gives it: these keys move with the layout.
            let typed = input.events.iter().any(|event| matches!(event, Event::Text(typed) if typed == text));
            let by_key = input.consume_key(Modifiers::NONE, key);
            if typed || by_key {
                input.events.retain(|event| !matches!(event, Event::Text(typed) if typed == text));
                found.push(pressed);
            }
        }
        let digits =
            [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9, Key::Num0];
        for (place, key) in digits.into_iter().enumerate() {
            // With Shift a digit is another character on many layouts.
            let is_plain = |event: &Event| {
                matches!(event, Event::Key { key: pressed, modifiers, .. } if *pressed == key && modifiers.is_none())
            };
            if input.events.iter().any(is_plain) && input.consume_key(Modifiers::NONE, key) {
                found.push(Pressed::Panel(place));
            }
        }
        found
    })
}

/// Whether Esc was pressed and nobody took it. Called once a frame, at its end: an Esc that leaves the text which is typed, or a
/// list that hangs open, is of that alone.
pub fn back(ctx: &Context) -> bool {
    let id = Id::unique("Esc is of a field or a list");
    let is_now = ctx.text_edit_focused() || Popup::is_any_open(ctx);
    let was = ctx.data_mut(|data| {
        let was = data.get_temp::<bool>(id).unwrap_or(false);
        data.insert_temp(id, is_now);
        was
    });
    ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape)) && !was
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(keys: &[(Modifiers, Key)], text: Option<&str>) -> Vec<Pressed> {
        let ctx = Context::default();
        let mut events: Vec<Event> = keys
            .iter()
            .map(|&(modifiers, key)| Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers })
            .collect();
        events.extend(text.map(|text| Event::Text(text.to_owned())));
        let mut found = Vec::new();
        let input = egui::RawInput { events, ..Default::default() };
        let output = ctx.run_ui(input, |ui| found.extend(pressed(ui.ctx())));
        output.drop_without_applying_deltas();
        found
    }

    #[test]
    fn each_key_asks_for_one_thing() {
        assert_eq!(press(&[(Modifiers::COMMAND, Key::K)], None), [Pressed::Palette]);
        assert_eq!(press(&[(Modifiers::COMMAND, Key::Z)], None), [Pressed::Undo]);
        assert_eq!(press(&[(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z)], None), [Pressed::Redo]);
        assert_eq!(press(&[(Modifiers::COMMAND, Key::Y)], None), [Pressed::Redo]);
        assert_eq!(press(&[(Modifiers::NONE, Key::Num2)], None), [Pressed::Panel(1)]);
        assert_eq!(press(&[(Modifiers::SHIFT, Key::Questionmark)], Some("?")), [Pressed::Help]);
        assert_eq!(press(&[(Modifiers::SHIFT, Key::Num7)], Some("/")), [Pressed::Filter]);
        assert_eq!(press(&[(Modifiers::NONE, Key::K)], Some("k")), []);
    }
}
