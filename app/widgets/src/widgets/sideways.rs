use egui::{ScrollArea, Ui, scroll_area::ScrollBarVisibility};

/// Height of what has to be in sight, in points, for its scroll bar to be.
const LEAST: f32 = 60.0;

/// Draws what scrolls sideways where it is wider than the panel. The bar of what begins below the visible part of the panel is
/// not shown: it would stand at the end of that part, over what is there.
pub fn sideways_ui<R>(ui: &mut Ui, salt: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    let is_in_sight = ui.cursor().top() + LEAST < ui.clip_rect().bottom();
    let bar = if is_in_sight { ScrollBarVisibility::VisibleWhenNeeded } else { ScrollBarVisibility::AlwaysHidden };
    ScrollArea::horizontal().id_salt(salt).scroll_bar_visibility(bar).show(ui, add).inner
}

#[cfg(test)]
mod tests {
    use egui::{Context, RawInput, Rect, Sense, Vec2, style::ScrollStyle, vec2};

    use super::*;

    /// Whether a bar is painted in a panel of 200 points, where something wide begins below this much else.
    fn paints_bar(before: f32) -> bool {
        let ctx = Context::default();
        ctx.all_styles_mut(|style| style.spacing.scroll = ScrollStyle::solid());
        let screen = Rect::from_min_size(egui::Pos2::ZERO, vec2(300.0, 200.0));
        let mut has_bar = false;
        for _ in 0..4 {
            let input = RawInput { screen_rect: Some(screen), ..RawInput::default() };
            let output = ctx.run_ui(input, |ui| {
                ScrollArea::vertical().show(ui, |ui| {
                    ui.allocate_exact_size(vec2(10.0, before), Sense::hover());
                    sideways_ui(ui, "wide", |ui| ui.allocate_exact_size(vec2(900.0, 100.0), Sense::hover()));
                });
            });
            let is_bar = |size: Vec2| size.x > 40.0 && (2.0..20.0).contains(&size.y);
            has_bar = output.shapes.iter().any(|shape| is_bar(shape.shape.visual_bounding_rect().size()));
            output.drop_without_applying_deltas();
        }
        has_bar
    }

    #[test]
    fn the_bar_of_what_is_out_of_sight_is_not_painted_over_what_is_there() {
        assert!(paints_bar(20.0), "it is in sight, and wider than the panel");
        assert!(paints_bar(90.0), "most of it is in sight");
        assert!(!paints_bar(400.0));
    }
}
