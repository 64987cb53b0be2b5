//! The widget as a whole, without a screen.

use egui::{Color32, Context, Event, Key, Modifiers, PointerButton, Pos2, RawInput, Rect, pos2, vec2};

use super::*;
use crate::plot::{HeatAxis, HeatData};

/// Draws a map and feeds it input.
struct Bench {
    ctx: Context,
    data: HeatData,
    state: HeatState,
    shown: Option<HeatResponse>,
    repaint: std::time::Duration,
    time: f64,
}

impl Bench {
    fn new(data: HeatData) -> Self {
        let ctx = Context::default();
        let mut bench =
            Self { ctx, data, state: HeatState::default(), shown: None, repaint: std::time::Duration::ZERO, time: 0.0 };
        bench.rest();
        bench
    }

    fn frame(&mut self, events: Vec<Event>) {
        self.time += 0.5;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(900.0, 700.0))),
            time: Some(self.time),
            focused: true,
            events,
            ..RawInput::default()
        };
        let (data, state, shown) = (&self.data, &mut self.state, &mut self.shown);
        let mut output = self.ctx.clone().run_ui(input, |ui| {
            let axis = HeatAxis::numbered("Layer", "L");
            let map = HeatMap::new("test", data).axes(&axis, &axis).room(vec2(600.0, 500.0));
            *shown = Some(map.show(ui, state));
        });
        output.textures_delta.clear();
        self.repaint = output.viewport_output.values().map(|viewport| viewport.repaint_delay).min().unwrap();
    }

    /// Frames until the map wants no more.
    fn rest(&mut self) {
        for _ in 0..40 {
            self.frame(Vec::new());
            if self.repaint > std::time::Duration::from_secs(1) {
                return;
            }
        }
        panic!("the map never rests");
    }

    fn plot(&self) -> Rect {
        self.shown.as_ref().unwrap().response.rect
    }

    fn click(&mut self, at: Pos2) -> Option<(usize, usize)> {
        let press = |pressed| Event::PointerButton {
            pos: at,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        self.frame(vec![Event::PointerMoved(at)]);
        self.frame(vec![press(true), press(false)]);
        self.shown.as_ref().unwrap().clicked
    }

    fn key(&mut self, key: Key) -> Option<(usize, usize)> {
        let press =
            |pressed| Event::Key { key, physical_key: None, pressed, repeat: false, modifiers: Modifiers::NONE };
        self.frame(vec![press(true)]);
        let clicked = self.shown.as_ref().unwrap().clicked;
        self.frame(vec![press(false)]);
        clicked
    }
}

fn counting(side: usize) -> HeatData {
    HeatData::new(side, side, (0..side * side).map(|value| value as f32).collect())
}

/// The texts that a map of so many cells a side draws into them.
fn texts_in_cells(side: usize) -> Vec<(String, Color32)> {
    let ctx = Context::default();
    let (data, mut state) = (counting(side), HeatState::default());
    let text = |row: usize, column: usize| format!("at {row} {column}");
    let axis = HeatAxis::default();
    let input =
        RawInput { screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(900.0, 700.0))), ..RawInput::default() };
    let mut output = ctx.run_ui(input, |ui| {
        let map = HeatMap::new("counts", &data).axes(&axis, &axis).cell_text(&text).room(vec2(600.0, 500.0));
        map.show(ui, &mut state);
    });
    output.textures_delta.clear();
    let texts = output.shapes.iter().filter_map(|clipped| match &clipped.shape {
        egui::Shape::Text(text) => Some((text.galley.text().to_owned(), text.fallback_color)),
        _ => None,
    });
    texts.filter(|(text, _)| text.starts_with("at ")).collect()
}

#[test]
fn what_stands_in_cells_is_read_on_their_colours_and_left_out_where_it_does_not_fit() {
    let texts = texts_in_cells(3);
    assert_eq!(texts.len(), 9, "{texts:?}");
    let of = |wanted: &str| texts.iter().find(|(text, _)| text == wanted).unwrap().1;
    // The lowest value is dark, the highest bright.
    let brightness = |colour: Color32| u32::from(colour.r()) + u32::from(colour.g()) + u32::from(colour.b());
    assert!(brightness(of("at 0 0")) > 600 && brightness(of("at 2 2")) < 200, "{texts:?}");
    assert!(texts_in_cells(60).is_empty(), "cells of ten points hold no word");
}

/// The texts around a map of so many rows with these names of columns, and where they stand.
fn texts_around(rows: usize, columns: &[&str]) -> Vec<(String, Rect)> {
    let ctx = Context::default();
    let (data, mut state) = (HeatData::new(rows, columns.len(), vec![0.5; rows * columns.len()]), HeatState::default());
    let names = |names: Vec<String>, title: &str| HeatAxis::names(title, names);
    let row_axis = names((0..rows).map(|row| format!("r{row}")).collect(), "Generated token");
    let column_axis = names(columns.iter().map(|&name| name.to_owned()).collect(), "Source");
    let input =
        RawInput { screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(900.0, 700.0))), ..RawInput::default() };
    let mut output = ctx.run_ui(input, |ui| {
        let map = HeatMap::new("attention", &data).axes(&row_axis, &column_axis).room(vec2(600.0, 320.0));
        map.show(ui, &mut state);
    });
    output.textures_delta.clear();
    let texts = output.shapes.iter().filter_map(|clipped| match &clipped.shape {
        egui::Shape::Text(text) => Some((text.galley.text().to_owned(), text.visual_bounding_rect())),
        _ => None,
    });
    texts.collect()
}

#[test]
fn names_of_columns_do_not_run_into_the_title_of_their_axis() {
    // So many rows make columns narrower than their names; letters may be wider than the room that is left for each.
    let cases = [("ordinary", 20), ("ordinary", 2), ("WWWWWWWWWWWW", 20), ("</s>", 60)];
    for (name, rows) in cases {
        let texts = texts_around(rows, &[name; 8]);
        let title = texts.iter().find(|(text, _)| text.starts_with("Source")).map(|(_, rect)| *rect).unwrap();
        let begins = &name[..3];
        let names: Vec<&Rect> =
            texts.iter().filter(|(text, _)| text.starts_with(begins)).map(|(_, rect)| rect).collect();
        assert!(!names.is_empty(), "{name}, {rows} rows: {texts:?}");
        assert!(names.iter().all(|rect| rect.top() >= title.bottom() - 1.0), "{name}, {rows} rows: {texts:?}");
    }
}

#[test]
fn clicks_and_keys_find_cells() {
    let mut bench = Bench::new(counting(6));
    let plot = bench.plot();
    let cell = plot.width() / 6.0;
    let of = |row: f32, column: f32| plot.min + vec2((column + 0.5) * cell, (row + 0.5) * cell);
    assert_eq!(bench.click(of(4.0, 1.0)), Some((4, 1)));
    assert_eq!(bench.key(Key::ArrowRight), None, "moving is not choosing");
    assert_eq!(bench.key(Key::Enter), Some((4, 2)), "a click gave the map the keyboard");
    bench.key(Key::ArrowDown);
    bench.key(Key::ArrowDown);
    assert_eq!(bench.key(Key::Space), Some((5, 2)), "the edge holds");
    assert_eq!(bench.click(pos2(890.0, 690.0)), None);
}

#[test]
fn a_texture_is_made_once_and_again_only_when_values_change() {
    let mut bench = Bench::new(counting(200));
    assert_eq!(bench.state.made(), 1, "a map is one texture");
    for _ in 0..5 {
        bench.frame(vec![Event::PointerMoved(pos2(200.0, 200.0))]);
    }
    bench.rest();
    assert_eq!(bench.state.made(), 1);
    bench.data = counting(200);
    bench.rest();
    assert_eq!(bench.state.made(), 2);
}

#[test]
fn large_maps_show_a_pooled_level_and_tiles_where_they_are_zoomed() {
    let mut bench = Bench::new(counting(4096));
    assert_eq!(bench.state.made(), 1, "from afar one pooled texture is enough");
    let plot = bench.plot();
    bench.click(plot.center());
    for _ in 0..20 {
        bench.key(Key::Plus);
    }
    bench.rest();
    assert!(bench.state.is_zoomed());
    let made = bench.state.made();
    assert!((2..=12).contains(&made), "{made} textures");
    let (rows, columns) = bench.state.seen(&bench.data);
    assert!(rows.len() < 20 && columns.len() < 20 && rows.contains(&2048), "{rows:?} {columns:?}");
    // The cell with the keyboard stays in sight, to the far edge of the map.
    for _ in 0..20 {
        bench.key(Key::ArrowLeft);
    }
    assert!(bench.state.seen(&bench.data).1.contains(&(2048 - 20)));
    bench.key(Key::Home);
    assert!(!bench.state.is_zoomed());
}

#[test]
fn maps_of_nothing_and_of_gaps_are_drawn() {
    for (rows, columns) in [(0, 0), (0, 5), (5, 0), (1, 1), (3, 1000)] {
        let bench = Bench::new(HeatData::new(rows, columns, vec![f32::NAN; rows * columns]));
        assert_eq!(bench.shown.unwrap().clicked, None, "{rows} x {columns}");
    }
}
