//! The row that heads a group of runs: its name, how many it holds, an eye for all of them, and what they come to.

use std::cell::OnceCell;

use egui::{Button, Color32, Label, RichText, Sense, Shape, Stroke, TextStyle, Ui, Vec2};
use headroom_engine::{
    objective::Metric,
    store::{RunSummary, series_names},
};

use super::{
    Column, Order, RunFields,
    groups::{Rows, main_column, summary_words},
    table_columns::EYE,
};
use crate::{common::paint_eye, format, state::State, theme, widgets::elided};

/// The least room for the name of a group, in points.
const NAME: f32 = 72.0;
/// What is of one kind of run alone.
const LOSSES: [&str; 2] = [series_names::VALIDATION_LOSS, series_names::TRAIN_LOSS];

/// What is wanted of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadWish {
    /// To fold or unfold it.
    Fold(usize),
    /// To show or hide all its runs.
    Eye(usize),
}

/// What the head of a group is drawn of.
pub(super) struct HeadRow<'a> {
    pub place: usize,
    pub state: &'a State,
    pub order: &'a Order,
}

impl HeadRow<'_> {
    fn run(&self, number: u64) -> Option<&RunSummary> {
        self.order.place(number).and_then(|at| self.state.runs.get(at))
    }

    /// Whether some of these runs learn something else than others, so that a mean of their losses says nothing.
    fn mixes(&self, numbers: &[u64]) -> bool {
        let learns = |run: &RunSummary| -> Vec<&'static str> {
            let known = Metric::own_of_objectives().map(|metric| metric.series);
            known.filter(|series| run.metrics.contains_key(*series)).collect()
        };
        let judged = |run: &&RunSummary| run.metrics.contains_key(series_names::VALIDATION_LOSS);
        let mut all = numbers.iter().filter_map(|&number| self.run(number)).filter(judged).map(learns);
        all.next().is_some_and(|first| all.any(|other| other != first))
    }

    fn number(&self, column: &Column, number: u64) -> Option<f64> {
        column.number(&RunFields::of(self.run(number)?, &self.state.configs))
    }
}

/// Draws a cell of the head.
pub(super) fn head_cell_ui(
    ui: &mut Ui,
    head: &HeadRow<'_>,
    (id, column): (&str, Option<&Column>),
    rows: &mut Rows,
) -> Option<HeadWish> {
    let palette = theme::palette(ui.visuals());
    let group = rows.groups().get(head.place)?.clone();
    if id == EYE {
        let shown = |number: &&u64| head.run(**number).is_some_and(|run| head.state.selection.is_visible(&run.id));
        let count = group.numbers.iter().filter(shown).count();
        let all = count == group.numbers.len();
        let size = egui::vec2(26.0, 20.0);
        let button = ui.add(Button::selectable(all, "").frame_when_inactive(false).min_size(size));
        let colour = if count > 0 { palette.text } else { palette.weak.gamma_multiply(0.5) };
        paint_eye(ui.painter(), button.rect, count > 0, colour);
        let name = format!("Show all of {} in charts", group.label);
        button.widget_info(|| egui::WidgetInfo::selected(egui::Role::CheckBox, true, all, &name));
        if count > 0 && !all {
            ui.label(RichText::new(format!("{count}/{}", group.numbers.len())).small().color(palette.weak));
        }
        return button.clicked().then_some(HeadWish::Eye(head.place));
    }
    let column = column?;
    if *column == Column::Name {
        triangle_ui(ui, group.is_folded, palette.text);
        let main = main_column();
        let title = main.to_string();
        let mixes = OnceCell::new();
        let best = rows.summary(head.place, (&title, &main), |number| {
            if *mixes.get_or_init(|| head.mixes(&group.numbers)) { None } else { head.number(&main, number) }
        });
        let best = best.and_then(|summary| summary.best).map(|best| format!(", best {}", format::number(best)));
        let words = format!("n = {}{}", group.numbers.len(), best.unwrap_or_default());
        let font = TextStyle::Small.resolve(ui.style());
        let beside = ui.painter().layout_no_wrap(words.clone(), font, palette.weak).size().x;
        // A long name gives way to how many there are.
        let room = (ui.available_width() - beside - ui.spacing().item_spacing.x).max(NAME);
        let font = TextStyle::Body.resolve(ui.style());
        let short = elided(ui, &group.label, rows.names(), &font, room - 1.0);
        let name = RichText::new(short.as_deref().unwrap_or(&group.label)).strong().color(palette.strong);
        let shown = ui.scope(|ui| {
            ui.set_max_width(room);
            ui.add(Label::new(name).selectable(false).truncate())
        });
        let shown = shown.inner.on_hover_text(format!("{}: {words}", group.label));
        if short.is_some() {
            shown.accessible_name(&group.label);
        }
        ui.add(Label::new(RichText::new(words).small().color(palette.weak)).selectable(false).truncate());
        return None;
    }
    let is_summed = matches!(column, Column::Metric(..) | Column::Steps | Column::Duration | Column::Config(_));
    if is_summed {
        let title = column.to_string();
        let is_loss = matches!(column, Column::Metric(series, _) if LOSSES.contains(&series.as_str()));
        let mixes = OnceCell::new();
        let summary = rows.summary(head.place, (&title, column), |number| {
            let is_none = is_loss && *mixes.get_or_init(|| head.mixes(&group.numbers));
            if is_none { None } else { head.number(column, number) }
        })?;
        let (short, whole) = summary_words(&summary, column);
        let label = Label::new(RichText::new(short).small().color(palette.weak)).selectable(false).truncate();
        ui.add(label).on_hover_text(whole);
    }
    None
}

/// Points right where the group is folded, else down.
fn triangle_ui(ui: &mut Ui, is_folded: bool, colour: Color32) {
    let (rect, _) = ui.allocate_exact_size(Vec2::splat(12.0), Sense::hover());
    let rect = rect.shrink(2.0);
    let points = if is_folded {
        vec![rect.left_top(), rect.right_center(), rect.left_bottom()]
    } else {
        vec![rect.left_top(), rect.right_top(), rect.center_bottom()]
    };
    ui.painter().add(Shape::convex_polygon(points, colour, Stroke::NONE));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use egui::{Context, Pos2, RawInput, Rect, vec2};

    use super::*;
    use crate::{
        examples,
        panels::runs::{GroupBy, Wish, fingerprint},
        state::FlatConfigs,
    };

    #[test]
    fn labels_of_groups_give_way_where_they_are_the_same() {
        let labels = ["standard against collaborative heads", "standard against reused heads"]
            .map(|what| format!("race:grammar decoder of six layers, 512 wide, {what}, three seeds"));
        let run = |(number, label): (u64, &String)| RunSummary {
            tags: vec![label.clone()],
            ..examples::summary(number, "run")
        };
        let mut state = State::default();
        state.runs = (0..).zip(&labels).map(run).collect();
        let (mut order, mut rows) = (Order::default(), Rows::default());
        let wish = Wish { filter: String::new(), sorting: None, show_archived: false };
        order.update(&state.runs, fingerprint(&state.runs), &FlatConfigs::default(), &wish);
        rows.update(1, &order, &state.runs, &FlatConfigs::default(), Some(&GroupBy::Race), &BTreeSet::new());
        let ctx = Context::default();
        theme::install(&ctx);
        let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, vec2(700.0, 500.0)));
        let output = ctx.run_ui(RawInput { screen_rect, ..RawInput::default() }, |ui| {
            ui.set_max_width(360.0);
            for place in 0..labels.len() {
                let head = HeadRow { place, state: &state, order: &order };
                ui.horizontal(|ui| head_cell_ui(ui, &head, ("Name", Some(&Column::Name)), &mut rows));
            }
        });
        let mut shown = Vec::new();
        for shape in &output.shapes {
            if let Shape::Text(text) = &shape.shape {
                assert!(!text.galley.elided, "cut at its end: {}", text.galley.text());
                shown.push(text.galley.text().to_owned());
            }
        }
        output.drop_without_applying_deltas();
        shown.retain(|text| !text.starts_with("n = "));
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(shown.iter().all(|text| text.contains('…')), "there is no room for all of it: {shown:?}");
        assert_ne!(shown[0], shown[1]);
    }
}
