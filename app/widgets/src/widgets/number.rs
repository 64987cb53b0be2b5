//! Numbers in rows and grids, to be dragged or typed: what is typed and cannot be read is told in the words of [`Field`].
//!
//! [`Field`]: super::Field

use std::{cell::RefCell, ops::RangeInclusive};

use egui::{DragValue, Id, Key, Label, Response, RichText, Slider, Tooltip, Ui, emath::Numeric};

use super::field::{mark_invalid, parse_float, parse_integer, quoted};
use crate::{format, theme};

/// A number within a range; `style` gives its looks. It stays the last one that could be read, and what is outside the range
/// becomes its nearest end.
pub fn number_ui<'a, N: Numeric>(
    ui: &mut Ui,
    value: &'a mut N,
    range: RangeInclusive<N>,
    style: impl FnOnce(DragValue<'a>) -> DragValue<'a>,
) -> Response {
    let drag = style(DragValue::new(value)).range(range.clone());
    told_ui(ui, &range, |ui, parse| ui.add(drag.custom_parser(parse)))
}

/// The same on a slider.
pub fn slider_ui<'a, N: Numeric>(
    ui: &mut Ui,
    value: &'a mut N,
    range: RangeInclusive<N>,
    style: impl FnOnce(Slider<'a>) -> Slider<'a>,
) -> Response {
    let slider = style(Slider::new(value, range.clone()));
    told_ui(ui, &range, |ui, parse| ui.add(slider.custom_parser(parse)))
}

/// Adds a control that reads text by the function which it is given, and says below it what is wrong with the text: while it is
/// typed, and after that until the next click.
fn told_ui<N: Numeric>(
    ui: &mut Ui,
    range: &RangeInclusive<N>,
    add: impl FnOnce(&mut Ui, &dyn Fn(&str) -> Option<f64>) -> Response,
) -> Response {
    let id: Id = ui.next_auto_id().with("what is wrong");
    let read = RefCell::new(None);
    let response = add(ui, &|text| {
        let (number, problem) = judged(text, range);
        read.replace(Some(problem));
        number
    });
    let mut problem = ui.data(|data| data.get_temp::<String>(id));
    let typed = read.into_inner().filter(|_| response.has_focus());
    let is_left = !response.has_focus() && !response.lost_focus();
    let (is_clicked, is_given_up) = ui.input(|i| (i.pointer.any_pressed(), i.key_pressed(Key::Escape)));
    if let Some(typed) = typed {
        problem = typed;
    } else if response.gained_focus() || is_given_up || (is_left && (is_clicked || response.changed())) {
        problem = None;
    }
    let Some(problem) = problem else {
        ui.data_mut(|data| data.remove::<String>(id));
        return response;
    };
    mark_invalid(ui, &response);
    ui.ctx().accesskit_node_builder(response.id, |node| node.set_description(problem.as_str()));
    let error = theme::palette(ui.visuals()).error;
    // Over what is around it, which stays where it is; help on hover comes below.
    Tooltip::for_widget(&response).show(|ui| ui.add(Label::new(RichText::new(problem.as_str()).color(error)).wrap()));
    ui.data_mut(|data| data.insert_temp(id, problem));
    response
}

/// The number that a text stands for, and what is wrong with it.
fn judged<N: Numeric>(text: &str, range: &RangeInclusive<N>) -> (Option<f64>, Option<String>) {
    let (least, most) = (range.start().to_f64(), range.end().to_f64());
    let read = if N::INTEGRAL { parse_integer(text).map(|whole| whole as f64) } else { parse_float(text) };
    match read {
        Err(why) => (None, Some(why)),
        Ok(number) if number < least || number > most => {
            let words = |end: f64| if N::INTEGRAL { format::count(end as u64) } else { end.to_string() };
            let why = format!("{} is outside {} to {}.", quoted(text), words(least), words(most));
            (Some(number), Some(why))
        }
        Ok(number) => (Some(number), None),
    }
}

#[cfg(test)]
mod tests {
    use egui::{Event, Modifiers, PointerButton, Pos2, RawInput, Rect, pos2, vec2};

    use super::*;

    /// A number and a slider in a window without a screen.
    struct Form {
        ctx: egui::Context,
        values: (usize, f64),
        places: [Rect; 2],
    }

    impl Form {
        fn new() -> Self {
            let ctx = egui::Context::default();
            ctx.enable_accesskit();
            theme::install(&ctx);
            let mut new = Self { ctx, values: (30, 0.5), places: [Rect::NOTHING; 2] };
            new.frame(Vec::new());
            new
        }

        /// A frame; the labels and descriptions in it.
        fn frame(&mut self, events: Vec<Event>) -> Vec<String> {
            let size = Rect::from_min_size(Pos2::ZERO, vec2(800.0, 600.0));
            let input = RawInput { events, screen_rect: Some(size), ..RawInput::default() };
            let Self { ctx, values, places } = self;
            let mut output = ctx.run_ui(input, |ui| {
                let number = number_ui(ui, &mut values.0, 1..=100, |drag| drag);
                let slider = slider_ui(ui, &mut values.1, 0.0..=1.0, |slider| slider);
                *places = [number.rect, slider.rect];
            });
            output.textures_delta.clear();
            let nodes = output.platform_output.accesskit_update.unwrap().nodes;
            nodes.iter().filter_map(|(_, node)| node.value().or(node.label()).map(str::to_owned)).collect()
        }

        fn click(&mut self, pos: Pos2) -> Vec<String> {
            let press = |pressed| Event::PointerButton {
                pos,
                button: PointerButton::Primary,
                pressed,
                modifiers: Modifiers::NONE,
            };
            self.frame(vec![Event::PointerMoved(pos)]);
            self.frame(vec![press(true)]);
            self.frame(vec![press(false)]);
            self.frame(Vec::new())
        }

        fn type_text(&mut self, text: &str) -> Vec<String> {
            self.frame(vec![Event::Text(text.to_owned())]);
            self.frame(Vec::new())
        }

        fn says(words: &[String], wanted: &str) -> bool {
            words.iter().any(|word| word.contains(wanted))
        }
    }

    #[test]
    fn what_is_no_number_is_told_while_it_is_typed_and_until_the_next_click() {
        let mut form = Form::new();
        let (number, elsewhere) = (form.places[0].center(), pos2(700.0, 500.0));
        form.click(number);
        let words = form.type_text("abc");
        assert!(Form::says(&words, "\u{201C}abc\u{201D} is no number"), "{words:?}");
        assert_eq!(form.values.0, 30, "it is still the last number");
        let words = form.click(elsewhere);
        assert!(Form::says(&words, "abc"), "the field is left, the value is back, and why is still told: {words:?}");
        let words = form.click(elsewhere);
        assert!(!Form::says(&words, "abc"), "{words:?}");
        form.click(number);
        assert!(!Form::says(&form.type_text("40"), "is no"));
        assert_eq!(form.values.0, 40);
        form.click(elsewhere);
        form.click(number);
        let words = form.type_text("500");
        assert!(Form::says(&words, "\u{201C}500\u{201D} is outside 1 to 100."), "{words:?}");
        assert_eq!(form.values.0, 100);
    }

    #[test]
    fn a_slider_tells_the_same_of_what_is_typed_beside_it() {
        let mut form = Form::new();
        let slider = form.places[1];
        form.click(pos2(slider.right() - 12.0, slider.center().y));
        let words = form.type_text("much");
        assert!(Form::says(&words, "\u{201C}much\u{201D} is no number"), "{words:?}");
        assert!((form.values.1 - 0.5).abs() < 1e-12);
    }

    #[test]
    fn numbers_are_read_as_fields_of_a_form_read_them() {
        assert_eq!(judged("1,000", &(1..=5000_usize)), (Some(1000.0), None));
        assert_eq!(judged("1e3", &(1..=5000_usize)).0, Some(1000.0));
        assert_eq!(judged("2.5", &(1..=5000_usize)).0, None);
        assert_eq!(judged("2.5", &(0.0..=9.0)), (Some(2.5), None));
        assert!(judged("-3", &(-2.0..=9.5)).1.is_some_and(|why| why.contains("outside -2 to 9.5")));
    }
}
