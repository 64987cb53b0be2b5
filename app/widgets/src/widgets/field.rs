//! Form fields: a label of fixed width, the control, the unit, and under it what is wrong.

use std::fmt::Display;
use std::ops::RangeInclusive;

use egui::accesskit::Invalid;
use egui::{Align, Key, Layout, Response, RichText, Sense, Stroke, StrokeKind, TextEdit, Ui, Vec2};

use super::tooltip::tooltip_above;
use crate::{format, keys, theme};

/// A field of a form, to be finished with the control it holds: `Field::new("Layers").help("...").integer(ui, &mut n, 1..=96, 1)`.
#[derive(Clone, Copy, Debug)]
#[must_use = "call the method of the control that it shall hold"]
pub struct Field<'a> {
    label: &'a str,
    help: &'a str,
    unit: &'a str,
    hint: &'a str,
    problem: Option<&'a str>,
    label_width: f32,
    width: f32,
    enabled: bool,
}

/// What happened to a field.
#[derive(Clone, Debug)]
pub struct FieldResponse {
    /// The control.
    pub response: Response,
    /// The value was changed this frame.
    pub changed: bool,
    /// The text in the field is no value (the value is still the last good one): why. Keep Start off meanwhile.
    pub unreadable: Option<String>,
}

/// What a list of choices has beside the chosen one: its arrow and its margins.
const BESIDE_CHOICE: f32 = 36.0;
/// Frames in which a form is not drawn, from which on it is another visit.
const UNSEEN: u64 = 1;

/// The line below a field.
#[derive(Clone, Copy, Debug)]
struct Line {
    height: f32,
    /// The frame in which it was drawn last.
    frame: u64,
}

/// Height beyond which a list of choices scrolls.
const LIST: f32 = 340.0;

/// Text being typed, and the value that it stood for when it was last read.
#[derive(Clone, Debug)]
struct Draft {
    text: String,
    value: String,
}

impl<'a> Field<'a> {
    /// A field called `label`, which is also its accessible name.
    pub fn new(label: &'a str) -> Self {
        Self { label, help: "", unit: "", hint: "", problem: None, label_width: 150.0, width: 120.0, enabled: true }
    }

    /// What the value means, its formula, its usual range: shown on hover and read to screen readers.
    pub fn help(mut self, help: &'a str) -> Self {
        self.help = help;
        self
    }

    /// The unit, shown behind the control.
    pub fn unit(mut self, unit: &'a str) -> Self {
        self.unit = unit;
        self
    }

    /// What an empty text or number means, shown in its place.
    pub fn hint(mut self, hint: &'a str) -> Self {
        self.hint = hint;
        self
    }

    /// Why the value cannot be used: the field is outlined and the reason shown under it.
    pub fn problem(mut self, problem: Option<&'a str>) -> Self {
        self.problem = problem;
        self
    }

    /// Width of the label column in points.
    pub fn label_width(mut self, width: f32) -> Self {
        self.label_width = width;
        self
    }

    /// Width of the control in points.
    pub fn width(mut self, width: f32) -> Self {
        self.width = width;
        self
    }

    /// Greyed out when false.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// A whole number. The arrow keys and the two buttons change it by `step` within `range`; typing may leave the range
    /// (the owner of the config then says so as the `problem`). Accepts `1,000`, `1_000` and `1e3`.
    pub fn integer(self, ui: &mut Ui, value: &mut u64, range: RangeInclusive<u64>, step: u64) -> FieldResponse {
        self.row(ui, |field, ui| {
            let mut out = field.draft_ui(ui, value, parse_integer, ToString::to_string);
            let keys = |key| out.response.has_focus() && ui.input(|i| i.key_pressed(key));
            let (mut up, mut down) = (keys(Key::ArrowUp), keys(Key::ArrowDown));
            ui.spacing_mut().item_spacing.x = 2.0;
            ui.spacing_mut().button_padding = Vec2::new(7.0, 3.0);
            let button = |ui: &mut Ui, sign: &str, verb: &str| {
                // The next stop of Tab is the next field: the arrow keys do what the buttons do.
                let button = egui::Button::new(sign).min_size(Vec2::new(24.0, 0.0)).sense(Sense::CLICK);
                let button = ui.add(button);
                button.accessible_name(format!("{verb} {}", field.label)).clicked()
            };
            down |= button(ui, &format::MINUS.to_string(), "Decrease");
            up |= button(ui, "+", "Increase");
            // To the next multiple of the step, so that a typed 100 goes to 128 by 64.
            let wanted = match (up, down) {
                (true, false) => (*value / step.max(1)).saturating_add(1).saturating_mul(step.max(1)),
                (false, true) => (value.saturating_sub(1) / step.max(1)) * step.max(1),
                _ => *value,
            };
            if wanted != *value {
                *value = wanted.clamp(*range.start(), *range.end());
                out.changed = true;
                out.unreadable = None;
            }
            out
        })
    }

    /// A decimal number. Accepts scientific notation such as `1e-3`.
    pub fn float(self, ui: &mut Ui, value: &mut f64) -> FieldResponse {
        self.row(ui, |field, ui| field.draft_ui(ui, value, parse_float, |value| write_float(*value)))
    }

    /// An optional whole number: an empty field is none.
    pub fn optional_integer(self, ui: &mut Ui, value: &mut Option<u64>) -> FieldResponse {
        let parse = |text: &str| if text.trim().is_empty() { Ok(None) } else { parse_integer(text).map(Some) };
        let write = |value: &Option<u64>| value.map(|n| n.to_string()).unwrap_or_default();
        self.row(ui, |field, ui| field.draft_ui(ui, value, parse, write))
    }

    /// A value that is written as text. What is half typed stays, with the reason why it is none yet.
    pub fn written<T: Clone>(
        self,
        ui: &mut Ui,
        value: &mut T,
        parse: impl Fn(&str) -> Result<T, String>,
        write: impl Fn(&T) -> String,
    ) -> FieldResponse {
        self.row(ui, |field, ui| field.draft_ui(ui, value, parse, write))
    }

    /// A line of text.
    pub fn text(self, ui: &mut Ui, value: &mut String) -> FieldResponse {
        self.row(ui, |field, ui| {
            let response = ui.add(TextEdit::singleline(value).desired_width(field.width).hint_text(field.hint));
            FieldResponse { changed: response.changed(), response, unreadable: None }
        })
    }

    /// Yes or no.
    pub fn toggle(self, ui: &mut Ui, value: &mut bool) -> FieldResponse {
        self.row(ui, |_, ui| {
            let response = ui.checkbox(value, "");
            FieldResponse { changed: response.changed(), response, unreadable: None }
        })
    }

    /// One of several named choices.
    pub fn combo<T: PartialEq + Clone>(self, ui: &mut Ui, value: &mut T, choices: &[(T, &str)]) -> FieldResponse {
        self.combo_noted(ui, value, choices, |_| String::new())
    }

    /// The same with a note at the right of each choice, asked for only while the list is open.
    pub fn combo_noted<T: PartialEq + Clone>(
        self,
        ui: &mut Ui,
        value: &mut T,
        choices: &[(T, &str)],
        note: impl Fn(&T) -> String,
    ) -> FieldResponse {
        self.row(ui, |field, ui| {
            let current = choices.iter().find(|(choice, _)| choice == value).map_or("", |(_, name)| *name);
            let current = fitting(ui, current, field.width - BESIDE_CHOICE);
            let mut changed = false;
            let combo = egui::ComboBox::from_id_salt(field.label).selected_text(current);
            let combo = combo.width(field.width).height(LIST).truncate();
            let response = combo.show_ui(ui, |ui| {
                for (choice, name) in choices {
                    let weak = theme::palette(ui.visuals()).weak;
                    let note = note(choice);
                    let mut button = egui::Button::selectable(choice == value, *name);
                    if !note.is_empty() {
                        button = button.right_text(RichText::new(&note).small().color(weak));
                    }
                    let button = ui.add(button).accessible_name(*name);
                    if !note.is_empty() {
                        ui.ctx().accesskit_node_builder(button.id, |node| node.set_description(note));
                    }
                    if button.clicked() && choice != value {
                        *value = choice.clone();
                        changed = true;
                    }
                }
            });
            FieldResponse { response: response.response, changed, unreadable: None }
        })
    }

    /// Any other control in the frame of a field.
    pub fn custom(self, ui: &mut Ui, add: impl FnOnce(&mut Ui) -> Response) -> FieldResponse {
        self.row(ui, |_, ui| {
            let response = add(ui);
            FieldResponse { changed: response.changed(), response, unreadable: None }
        })
    }

    fn row(self, ui: &mut Ui, control: impl FnOnce(&Self, &mut Ui) -> FieldResponse) -> FieldResponse {
        let palette = theme::palette(ui.visuals());
        let spacing = ui.spacing().item_spacing.x;
        let shown = ui.push_id(self.label, |ui| {
            ui.add_enabled_ui(self.enabled, |ui| {
                ui.horizontal(|ui| {
                    let size = Vec2::new(self.label_width, ui.spacing().interact_size.y);
                    let label = ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
                        ui.set_min_width(self.label_width);
                        ui.add(egui::Label::new(self.label).truncate())
                    });
                    let mut out = control(&self, ui);
                    out.response = out.response.labelled_by(label.inner.id);
                    if !self.unit.is_empty() {
                        ui.add_space(4.0);
                        ui.label(RichText::new(self.unit).color(palette.weak));
                    }
                    if !self.help.is_empty() {
                        // Below stands what is wrong with it.
                        tooltip_above(label.inner, self.help);
                        out.response = tooltip_above(out.response, self.help);
                    }
                    out
                })
                .inner
            })
            .inner
        });
        let out = shown.inner;
        keys::note_field(ui.ctx(), &out.response);
        if out.response.has_focus() {
            let (place, frame) = (keyboard_at(ui), ui.ctx().cumulative_frame_nr());
            ui.data_mut(|data| data.insert_temp(place, frame));
        }
        let problem = out.unreadable.as_deref().or(self.problem);
        if problem.is_some() {
            mark_invalid(ui, &out.response);
        }
        self.problem_ui(ui, &out.response, problem, spacing);
        ui.ctx().accesskit_node_builder(out.response.id, |node| {
            let mut description = String::new();
            for part in [problem.unwrap_or_default(), self.help, self.unit] {
                if !part.is_empty() {
                    description.push_str(if description.is_empty() { "" } else { " " });
                    description.push_str(part);
                }
            }
            if !description.is_empty() {
                node.set_description(description);
            }
        });
        out
    }

    /// Says below the control what is wrong with it. While one types or clicks, nothing is moved: a problem that is new is told over
    /// what is below. The line of one that is gone stays empty as long as somebody is at work there, so that nothing moves under a
    /// pointer that is on its way.
    fn problem_ui(&self, ui: &mut Ui, response: &Response, problem: Option<&str>, spacing: f32) {
        let id = response.id.with("line of the problem");
        let error = theme::palette(ui.visuals()).error;
        let frame = ui.ctx().cumulative_frame_nr();
        let known = ui.data(|data| data.get_temp::<Line>(id)).filter(|line| frame - line.frame <= UNSEEN);
        let is_settled = !response.has_focus() && !ui.input(|input| input.pointer.any_down());
        let height = match (problem, known) {
            (Some(problem), known) if is_settled || known.is_some() => Some(self.line_ui(ui, problem, spacing)),
            (Some(problem), _) => {
                if response.has_focus() {
                    let told = |ui: &mut Ui| ui.add(egui::Label::new(RichText::new(problem).color(error)).wrap());
                    egui::Tooltip::for_widget(response).show(told);
                }
                None
            }
            (None, Some(Line { height, .. })) if is_at_work(ui, response, frame) => {
                ui.allocate_space(Vec2::new(1.0, height));
                Some(height)
            }
            (None, _) => None,
        };
        match height {
            Some(height) => {
                ui.data_mut(|data| data.insert_temp(id, Line { height, frame }));
            }
            // With a line or without one, what comes below is the same to the pointer and the keyboard.
            None => ui.skip_ahead_auto_ids(1),
        }
    }

    /// The line below the control; how high it is.
    fn line_ui(&self, ui: &mut Ui, problem: &str, spacing: f32) -> f32 {
        let error = theme::palette(ui.visuals()).error;
        let shown = ui.scope(|ui| {
            // As low as the text is: it belongs to the control above.
            ui.spacing_mut().interact_size.y = 0.0;
            ui.horizontal(|ui| {
                ui.add_space(self.label_width + spacing);
                ui.add(egui::Label::new(RichText::new(problem).small().color(error)).wrap());
            });
        });
        shown.response.rect.height()
    }

    /// A value edited as text: every readable keystroke is taken over at once; unreadable text stays, with the reason,
    /// until it is corrected or the value changes from outside.
    fn draft_ui<T: Clone>(
        &self,
        ui: &mut Ui,
        value: &mut T,
        parse: impl Fn(&str) -> Result<T, String>,
        write: impl Fn(&T) -> String,
    ) -> FieldResponse {
        let id = ui.scope_id().with("draft");
        let written = write(value);
        let draft = ui.data(|data| data.get_temp::<Draft>(id)).filter(|draft| draft.value == written);
        let mut text = draft.as_ref().map_or_else(|| written.clone(), |draft| draft.text.clone());
        let response = ui.add(TextEdit::singleline(&mut text).desired_width(self.width).hint_text(self.hint));
        let mut changed = false;
        let parsed = parse(&text);
        if response.changed()
            && let Ok(read) = &parsed
        {
            changed = write(read) != written;
            *value = read.clone();
        }
        let settled = parsed.is_ok() && !response.has_focus();
        ui.data_mut(|data| {
            if settled {
                data.remove::<Draft>(id);
            } else {
                data.insert_temp(id, Draft { text, value: write(value) });
            }
        });
        FieldResponse { response, changed, unreadable: parsed.err() }
    }
}

/// Where it is kept in which frame a field of this scope, such as a section of a form, had the keyboard last.
fn keyboard_at(ui: &Ui) -> egui::Id {
    ui.scope_id().with("keyboard in a field")
}

/// Whether somebody is at work on the fields of this scope, or on the way to what stands below the control: a button of the pointer
/// is down, a field of the scope has the keyboard, or the pointer is below, and the keyboard nowhere else.
fn is_at_work(ui: &Ui, response: &Response, frame: u64) -> bool {
    let (pointer, is_down) = ui.input(|input| (input.pointer.hover_pos(), input.pointer.any_down()));
    let place = keyboard_at(ui);
    let last = ui.data(|data| data.get_temp::<u64>(place));
    let has_keyboard = last.is_some_and(|last| frame.saturating_sub(last) <= UNSEEN);
    let is_elsewhere = ui.memory(|memory| memory.focused().is_some());
    let column = ui.max_rect().x_range();
    let is_below = pointer.is_some_and(|at| column.contains(at.x) && at.y > response.rect.top());
    is_down || has_keyboard || (is_below && !is_elsewhere)
}

/// What a list shows of the chosen one: where "No reuse: every head scores" has no room, "No reuse".
fn fitting<'a>(ui: &Ui, choice: &'a str, width: f32) -> &'a str {
    let Some((name, _)) = choice.split_once(": ") else { return choice };
    let font = egui::TextStyle::Button.resolve(ui.style());
    let galley = ui.painter().layout_no_wrap(choice.to_owned(), font, egui::Color32::WHITE);
    if galley.size().x > width { name } else { choice }
}

/// Outlines a control whose value cannot be used, and says so to screen readers.
pub fn mark_invalid(ui: &Ui, response: &Response) {
    let error = theme::palette(ui.visuals()).error;
    ui.painter().rect_stroke(response.rect, 5.0, Stroke::new(1.5, error), StrokeKind::Outside);
    ui.ctx().accesskit_node_builder(response.id, |node| node.set_invalid(Invalid::True));
}

fn clean(text: &str) -> String {
    text.trim()
        .chars()
        .filter(|c| !matches!(c, ',' | '_' | ' '))
        .map(|c| if c == format::MINUS { '-' } else { c })
        .collect()
}

pub(super) fn parse_integer(text: &str) -> Result<u64, String> {
    let clean = clean(text);
    if clean.is_empty() {
        return Err("Enter a whole number.".to_owned());
    }
    if let Ok(number) = clean.parse() {
        return Ok(number);
    }
    match clean.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && (0.0..1e15).contains(&number) => Ok(number as u64),
        Ok(number) if number < 0.0 => Err(format!("{} is negative. Enter zero or more.", quoted(text))),
        Ok(number) if number >= 1e15 => Err(format!("{} is too large.", quoted(text))),
        Ok(_) => Err(format!("{} is no whole number.", quoted(text))),
        Err(_) => Err(format!("{} is no number. Enter a whole number such as 64.", quoted(text))),
    }
}

pub(super) fn parse_float(text: &str) -> Result<f64, String> {
    let clean = clean(text);
    if clean.is_empty() {
        return Err("Enter a number.".to_owned());
    }
    match clean.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("{} is no number. Enter one such as 0.001 or 1e-3.", quoted(text))),
    }
}

pub(super) fn quoted(text: &(impl Display + ?Sized)) -> String {
    let text: String = text.to_string().chars().take(24).collect();
    format!("\u{201C}{text}\u{201D}")
}

/// The shortest text that reads back as the same number; scientific where plain digits would be long.
fn write_float(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-3..1e7).contains(&size) { value.to_string() } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_people_write_them() {
        for (text, expected) in
            [("64", 64), (" 1,000 ", 1000), ("1_000", 1000), ("1e3", 1000), ("18446744073709551615", u64::MAX)]
        {
            assert_eq!(parse_integer(text), Ok(expected));
        }
        for (text, reason) in
            [("", "Enter"), ("-3", "negative"), ("2.5", "whole"), ("abc", "no number"), ("1e30", "large")]
        {
            assert!(parse_integer(text).unwrap_err().contains(reason), "{text}");
        }
    }

    #[test]
    fn floats_take_scientific_notation_and_read_back() {
        assert_eq!(parse_float("1e-3"), Ok(0.001));
        assert_eq!(parse_float(" −0.5 "), Ok(-0.5));
        for bad in ["", "1e", "nan", "inf", "x", "1e999"] {
            assert!(parse_float(bad).is_err(), "{bad}");
        }
        for value in [0.0, 1e-3, 3e-4, 0.1, 123_456.789, 1e7, 6.02e23, -1e-9, f64::MIN_POSITIVE] {
            assert_eq!(parse_float(&write_float(value)), Ok(value));
        }
        assert_eq!(write_float(3e-4), "3e-4");
        assert_eq!(write_float(0.001), "0.001");
    }

    #[test]
    fn a_choice_that_has_no_room_is_shown_by_its_name_alone() {
        let shown = |choice: &str, width: f32| {
            let mut found = String::new();
            let mut output = egui::Context::default().run_ui(egui::RawInput::default(), |ui| {
                fitting(ui, choice, width).clone_into(&mut found);
            });
            output.textures_delta.clear();
            found
        };
        let choice = "No reuse: every head scores";
        assert_eq!([2_000.0, 30.0].map(|width| shown(choice, width)), [choice, "No reuse"]);
        assert_eq!(shown("A name without an explanation", 30.0), "A name without an explanation");
    }

    /// Types into the only text field of a form, a frame per text.
    fn typed(keys: &[&str], value: &mut f64) -> (Vec<f64>, Option<String>) {
        let ctx = egui::Context::default();
        let mut unreadable = None;
        let mut frame = |events: Vec<egui::Event>, value: &mut f64, focus: bool| {
            let input = egui::RawInput { events, ..egui::RawInput::default() };
            let mut output = ctx.run_ui(input, |ui| {
                let out = Field::new("Rate").float(ui, value);
                if focus {
                    out.response.request_focus();
                }
                unreadable = out.unreadable;
            });
            output.textures_delta.clear();
            *value
        };
        frame(Vec::new(), value, true);
        frame(Vec::new(), value, true);
        let mut seen = Vec::new();
        let select_all = egui::Event::Key {
            key: Key::A,
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers: egui::Modifiers::COMMAND,
        };
        frame(vec![select_all], value, false);
        for text in keys {
            seen.push(frame(vec![egui::Event::Text((*text).to_owned())], value, false));
        }
        (seen, unreadable)
    }

    #[test]
    fn nothing_moves_while_one_types_or_clicks() {
        let ctx = egui::Context::default();
        let mut value = 0.5;
        let down = |pressed| egui::Event::PointerButton {
            pos: egui::pos2(300.0, 300.0),
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        };
        // Where what stands below the field begins; `focus`: whether the keyboard goes there or elsewhere.
        let mut below = |events: Vec<egui::Event>, focus: Option<bool>| {
            let input = egui::RawInput { events, ..egui::RawInput::default() };
            let mut top = 0.0;
            let mut output = ctx.run_ui(input, |ui| {
                let out = Field::new("Rate").float(ui, &mut value);
                match focus {
                    Some(true) => out.response.request_focus(),
                    Some(false) => out.response.surrender_focus(),
                    None => {}
                }
                top = ui.label("below").rect.top();
            });
            output.textures_delta.clear();
            top
        };
        below(Vec::new(), Some(true));
        let before = below(Vec::new(), None);
        let text = |text: &str| vec![egui::Event::Text(text.to_owned())];
        assert_eq!(below(text("x"), None), before, "typed");
        assert_eq!(below(vec![egui::Event::PointerMoved(egui::pos2(300.0, 300.0)), down(true)], Some(false)), before);
        assert_eq!(below(Vec::new(), None), before, "the button is down");
        below(vec![down(false)], None);
        let told = below(Vec::new(), None);
        assert!(told > before + 5.0, "{told} and {before}");
        // While it is mended its line stays, too, and afterwards, as long as the form is there.
        below(Vec::new(), Some(true));
        let key = egui::Event::Key {
            key: Key::Backspace,
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers: egui::Modifiers::COMMAND,
        };
        below(vec![key], None);
        assert!((below(text("2"), None) - told).abs() < 1.0);
        below(Vec::new(), Some(false));
        below(Vec::new(), None);
        assert!((below(Vec::new(), None) - told).abs() < 1.0);
        for _ in 0..2 {
            let mut output = ctx.run_ui(egui::RawInput::default(), |_| ());
            output.textures_delta.clear();
        }
        assert_eq!(below(Vec::new(), None), before, "another visit");
    }

    #[test]
    fn the_line_of_a_problem_that_is_gone_is_given_back_once_nobody_is_at_work_there() {
        let ctx = egui::Context::default();
        let below = |problem: Option<&str>, focus: &str, events: Vec<egui::Event>| {
            let mut top = 0.0;
            let number = |ui: &mut Ui, label: &str, problem: Option<&str>| {
                let out = Field::new(label).problem(problem).float(ui, &mut 1.0);
                if focus == label {
                    out.response.request_focus();
                } else if focus == "nothing" {
                    out.response.surrender_focus();
                }
            };
            let input = egui::RawInput { events, ..egui::RawInput::default() };
            let mut output = ctx.run_ui(input, |ui| {
                ui.push_id("a section", |ui| {
                    number(ui, "Width", problem);
                    number(ui, "Heads", None);
                    top = ui.label("below").rect.top();
                });
                ui.push_id("another", |ui| number(ui, "Batch", None));
            });
            output.textures_delta.clear();
            top
        };
        let wrong = Some("It is wrong.");
        below(None, "", Vec::new());
        let before = below(None, "", Vec::new());
        below(wrong, "Heads", Vec::new());
        let told = below(wrong, "", Vec::new());
        assert!(told > before + 5.0, "{told} and {before}");
        let is_kept = |top: f32| (top - told).abs() < 1.0;
        assert!(is_kept(below(None, "", Vec::new())), "another field of the section has the keyboard");
        assert!(is_kept(below(None, "Batch", Vec::new())));
        below(None, "", Vec::new());
        assert_eq!(below(None, "", Vec::new()), before, "the keyboard is in another section");
        // Where the keyboard is nowhere, it is the pointer that must not miss what it goes to.
        below(wrong, "nothing", Vec::new());
        below(wrong, "", vec![egui::Event::PointerMoved(egui::pos2(40.0, 300.0))]);
        assert!(is_kept(below(None, "", Vec::new())));
        assert_eq!(below(None, "", vec![egui::Event::PointerGone]), before);
    }

    #[test]
    fn every_readable_keystroke_counts_and_the_rest_is_explained() {
        let mut value = 0.5;
        let (seen, unreadable) = typed(&["3", "e", "-", "4"], &mut value);
        assert_eq!(seen, [3.0, 3.0, 3.0, 3e-4]);
        assert_eq!(unreadable, None);
        let (_, unreadable) = typed(&["1", "x"], &mut value);
        assert_eq!(value, 1.0);
        assert!(unreadable.is_some_and(|reason| reason.contains("1x")));
    }
}
