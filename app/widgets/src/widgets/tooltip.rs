//! Tooltips that leave in sight what is read next.

use egui::{Label, RectAlign, Response, Tooltip, WidgetText};

/// Says it on hover above the control: what stands below stays in sight, such as the line that says what is wrong with a field.
pub fn tooltip_above(response: Response, text: impl Into<WidgetText>) -> Response {
    shown(response, text.into(), RectAlign::TOP_START)
}

/// Says it on hover beside the control: the next entries of its menu or list stay in sight.
pub fn tooltip_beside(response: Response, text: impl Into<WidgetText>) -> Response {
    shown(response, text.into(), RectAlign::RIGHT_START)
}

/// As egui's own tooltips are, but for the place.
fn shown(response: Response, text: WidgetText, align: RectAlign) -> Response {
    if response.ctx.has_accesskit_node(response.id) {
        response.ctx.accesskit_node_builder(response.id, |node| {
            if node.description().is_none() {
                node.set_description(text.text());
            }
        });
    }
    let mut tooltip = Tooltip::for_enabled(&response);
    tooltip.popup = tooltip.popup.align(align);
    tooltip.show(|ui| {
        ui.set_max_width(ui.spacing().tooltip_width);
        ui.add(Label::new(text));
    });
    response
}

#[cfg(test)]
mod tests {
    use egui::{Button, Context, Event, RawInput, Rect, Shape, Ui, UiBuilder, pos2, vec2};

    use super::*;

    /// Where a button stands, and where its tooltip does once the pointer has rested on it.
    fn places(add: impl Fn(&mut Ui) -> Response) -> (Rect, Rect) {
        let ctx = Context::default();
        let place = Rect::from_min_size(pos2(100.0, 200.0), vec2(80.0, 24.0));
        let (mut button, mut told) = (Rect::NOTHING, Rect::NOTHING);
        for frame in 0..40 {
            let events = if frame == 2 { vec![Event::PointerMoved(place.min + vec2(10.0, 8.0))] } else { Vec::new() };
            let input = RawInput {
                screen_rect: Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(800.0, 600.0))),
                time: Some(f64::from(frame) * 0.1),
                events,
                ..RawInput::default()
            };
            let mut output = ctx.run_ui(input, |ui| {
                button = ui.scope_builder(UiBuilder::new().max_rect(place), &add).inner.rect;
            });
            output.textures_delta.clear();
            for shape in output.shapes {
                if let Shape::Text(text) = &shape.shape
                    && text.galley.text() == "About it"
                {
                    told = text.visual_bounding_rect();
                }
            }
        }
        assert!(told.is_positive(), "nothing was told");
        (button, told)
    }

    #[test]
    fn it_stands_above_or_beside_what_it_tells_of() {
        let (button, told) = places(|ui| tooltip_above(ui.add(Button::new("a field")), "About it"));
        assert!(told.bottom() <= button.top(), "{button:?} {told:?}");
        let (button, told) = places(|ui| tooltip_beside(ui.add(Button::new("an entry")), "About it"));
        assert!(told.left() >= button.right() && told.top() < button.bottom(), "{button:?} {told:?}");
    }
}
