//! Tests of the chart as a whole: frames are run, the pointer is moved.

use egui::{Event, Modifiers, PointerButton, Pos2, RawInput, Rect, pos2, vec2};

use super::*;
use crate::plot::Series;

#[test]
fn percentiles_leave_out_the_tails() {
    let mut values: Vec<f64> = (0..=100).map(f64::from).rev().collect();
    assert_eq!(percentiles(&mut values, 0.05, 0.95), Some((5.0, 95.0)));
    assert_eq!(percentiles(&mut [], 0.05, 0.95), None);
    assert_eq!(percentiles(&mut [2.0; 9], 0.05, 0.95), None);
}

#[test]
fn ranges_are_always_drawable() {
    for range in [None, Some((1.0, 1.0)), Some((0.0, 0.0)), Some((-1e308, 1e308)), Some((f64::MAX, f64::MAX))] {
        for scale in [Scale::Linear, Scale::Log] {
            for quantity in [Quantity::Number, Quantity::Count, Quantity::Fraction, Quantity::UnixTime] {
                let (lo, hi) = widened(range, 0.05, &Axis::new("y").scale(scale).quantity(quantity));
                assert!(lo.is_finite() && hi.is_finite() && lo < hi, "{range:?}");
            }
        }
    }
}

#[test]
fn around_one_value_the_range_stays_where_values_can_be() {
    let around = |at: f64, quantity| widened(Some((at, at)), 0.05, &Axis::new("y").quantity(quantity));
    for at in [0.0, 0.004, 0.6, 0.99, 1.0] {
        let (lo, hi) = around(at, Quantity::Fraction);
        assert!(lo < at && at < hi && lo > -0.01 && hi < 1.01, "{at}: {lo} to {hi}");
    }
    let (lo, hi) = around(3e-4, Quantity::Number);
    assert!(lo > 2e-4 && hi < 4e-4, "a learning rate is not shown as a line at zero: {lo} to {hi}");
    assert!(around(0.0, Quantity::Bytes).0 > -0.05);
    // A share that is the whole but for rounding is drawn as a straight line.
    let (lo, hi) = widened(Some((1.0 - 3e-14, 1.0)), 0.05, &Axis::new("y").quantity(Quantity::Fraction));
    assert!(hi - lo > 0.01 && hi < 1.01, "{lo} to {hi}");
    assert!(around(-2.0, Quantity::Number).0 < -2.0);
}

#[test]
fn a_view_between_two_points_is_of_the_line_there() {
    let series: Series = [(0.0, 0.1), (100.0, 0.3), (200.0, 0.9)].into_iter().collect();
    let lines = [ChartLine::new(0, "a", &series)];
    let (mut state, mut shared) = (ChartState::default(), SharedX::default());
    let chart = Chart::new("c", "C", &lines).smoothing(0.0).y_axis(Axis::new("C").quantity(Quantity::Fraction));
    chart.update(&mut state);
    let mut at = |range| {
        shared.set_range(XAxis::Step, Some(range));
        chart.bounds(&mut state, &shared).1
    };
    assert!(close(at((25.0, 75.0)), (0.145, 0.255)), "{:?}", at((25.0, 75.0)));
    assert!(close(at((50.0, 150.0)), (0.18, 0.62)), "{:?}", at((50.0, 150.0)));
    assert!(close(at((300.0, 400.0)), (0.06, 0.94)), "beyond its end all of it: {:?}", at((300.0, 400.0)));
}

#[test]
fn the_tick_of_a_single_point_is_at_its_step() {
    let labels = |steps: &[f64], log: bool| -> Vec<String> {
        let series: Series = steps.iter().map(|step| (*step, 0.5)).collect();
        let lines = [ChartLine::new(0, "a", &series)];
        let (mut state, shared) = (ChartState::default(), SharedX::default());
        let chart = Chart::new("c", "C", &lines).smoothing(0.0).log_x(log);
        let figure = chart.figure(&mut state, &shared, std::collections::BTreeMap::new());
        let ((lo, hi), _) = chart.bounds(&mut state, &shared);
        let axis = chart.x_axis_of(&state);
        let ticks = axis.ticks(axis.scale.inverse(lo), axis.scale.inverse(hi), 5);
        assert_eq!(figure.x.axis, axis, "the figure has the same");
        ticks.into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
    };
    for log in [false, true] {
        assert_eq!(labels(&[437.0], log), ["437"]);
        assert_eq!(labels(&[1.0], log), ["1"]);
        assert!(labels(&[437.0, 500.0], log).len() > 2, "two tell a scale");
    }
}

#[test]
fn charts_below_each_other_show_the_same_x() {
    let series: Series = [(100.0, 0.1), (150.0, 0.3)].into_iter().collect();
    let lines = [ChartLine::new(0, "a", &series)];
    let x = |spans, zoomed| {
        let (mut state, mut shared) = (ChartState::default(), SharedX::default());
        shared.set_range(XAxis::Step, zoomed);
        let chart = Chart::new("c", "C", &lines).smoothing(0.0).spanning(spans);
        chart.update(&mut state);
        chart.bounds(&mut state, &shared).0
    };
    let (alone, among) = (x(None, None), x(Some((50.0, 300.0)), None));
    assert!(alone.0 > 50.0 && alone.1 < 200.0, "{alone:?}");
    assert!(among.0 <= 50.0 && among.1 >= 300.0, "{among:?}");
    assert_eq!(x(Some((50.0, 300.0)), Some((110.0, 120.0))), (110.0, 120.0), "zoomed it is what was chosen");
}

#[test]
fn the_room_left_of_charts_that_share_x_is_that_of_the_one_that_needs_most() {
    let mut shared = SharedX::default();
    assert_eq!([48.0, 71.0, 50.0].map(|needed| shared.gutter(needed, 1)), [48.0, 71.0, 71.0]);
    // The first one has it, too, from the next frame on, and gives it back once nobody needs it.
    assert_eq!([48.0, 71.0, 50.0].map(|needed| shared.gutter(needed, 2)), [71.0; 3]);
    assert_eq!([48.0, 50.0].map(|needed| shared.gutter(needed, 3)), [71.0; 2]);
    assert_eq!([48.0, 50.0].map(|needed| shared.gutter(needed, 4)), [50.0; 2]);
}

#[test]
fn outliers_are_ignored_only_when_asked() {
    let series: Series = (0..1000).map(|i| (f64::from(i), if i == 500 { 1e6 } else { f64::from(i % 10) })).collect();
    let lines = [ChartLine::new(0, "a", &series)];
    let mut state = ChartState::default();
    for (ignore, most) in [(false, 2e6), (true, 12.0)] {
        let chart = Chart::new("c", "C", &lines).smoothing(0.0).ignore_outliers(ignore);
        chart.update(&mut state);
        let (_, y) = chart.bounds(&mut state, &SharedX::default());
        assert!(y.1 < most && y.1 >= 9.0, "{y:?}");
    }
}

#[test]
fn bands_that_reach_far_beyond_the_lines_do_not_flatten_them() {
    let line: Series = (0..20).map(|i| (f64::from(i), 0.1 * f64::from(i % 2))).collect();
    let edge = |at: f64| -> Series { (0..20).map(|i| (f64::from(i), at)).collect() };
    let (low, high) = (edge(-5.0), edge(5.0));
    let lines =
        [ChartLine { band: Some(crate::widgets::Band { low: &low, high: &high }), ..ChartLine::new(0, "a", &line) }];
    let y = |within: Option<f64>| {
        let mut state = ChartState::default();
        let chart = Chart::new("c", "C", &lines).smoothing(0.0);
        let chart = if let Some(spans) = within { chart.bands_within(spans) } else { chart };
        chart.update(&mut state);
        chart.bounds(&mut state, &SharedX::default()).1
    };
    assert!(y(None).0 < -4.9 && y(None).1 > 4.9, "{:?}", y(None));
    assert!(close(y(Some(2.0)), (-0.225, 0.325)), "{:?}", y(Some(2.0)));
}

#[test]
fn what_other_lines_have_at_the_same_x_is_told_too() {
    let flat = |y: f64| -> Series { (0..=10).map(|i| (10.0 * f64::from(i), y)).collect() };
    let other_steps: Series = [(0.0, 50.0), (65.0, 50.0), (100.0, 50.0)].into_iter().collect();
    let all = [flat(10.0), flat(90.0), flat(60.0), other_steps];
    let lines: Vec<ChartLine<'_>> =
        all.iter().enumerate().map(|(id, series)| ChartLine::new(id as u64, "a", series)).collect();
    let (mut state, mut shared) = (ChartState::default(), SharedX::default());
    let mut output = egui::Context::default().run_ui(RawInput::default(), |ui| {
        let _ = Chart::new("c", "C", &lines).smoothing(0.0).show(ui, &mut state, &mut shared);
    });
    output.textures_delta.clear();
    let frame = Rect::from_min_size(pos2(0.0, 0.0), vec2(100.0, 100.0));
    let bounds = PlotBounds::from_min_max([0.0, 0.0], [100.0, 100.0]);
    let (transform, pointer) = (PlotTransform::new(frame, bounds, false), pos2(41.0, 88.0));
    let near = hover::near(&lines[..3], &state, &transform, pointer);
    assert_eq!(near.iter().map(|near| near.line).collect::<Vec<_>>(), [0], "within reach");
    let told = hover::others(&lines, &near, (&state, &transform, pointer));
    let told: Vec<_> = told.iter().map(|near| (near.line, near.point.x, near.point.y)).collect();
    assert_eq!(told, [(2, 40.0, 60.0), (1, 40.0, 90.0)], "the fourth has no point there");
    assert!(hover::others(&lines, &[], (&state, &transform, pointer)).is_empty());
}

#[test]
fn an_unchanged_frame_builds_nothing() {
    let series: Series = (0..10_000).map(|i| (f64::from(i), f64::from(i).sin())).collect();
    let other: Series = (0..50).map(|i| (f64::from(i), f64::from(i))).collect();
    let (mut state, mut shared) = (ChartState::default(), SharedX::default());
    let ctx = egui::Context::default();
    let frame = |state: &mut ChartState, shared: &mut SharedX, highlight| {
        let lines = [ChartLine::new(0, "a", &series), ChartLine::new(1, "b", &other)];
        let mut output = ctx.run_ui(RawInput::default(), |ui| {
            let _ = Chart::new("c", "C", &lines).highlight(highlight).show(ui, state, shared);
        });
        output.textures_delta.clear();
    };
    for _ in 0..3 {
        frame(&mut state, &mut shared, None);
    }
    let built = state.rebuilt();
    assert!(built >= 4);
    for _ in 0..5 {
        frame(&mut state, &mut shared, None);
    }
    assert_eq!(state.rebuilt(), built);
    frame(&mut state, &mut shared, Some(1));
    assert_eq!(state.rebuilt(), built + 1, "only the highlighted line is built anew");
}

#[test]
fn while_one_of_many_runs_grows_only_its_line_is_made_anew() {
    let count = 40;
    let mut series: Vec<Series> = (0..count)
        .map(|run| (0..4000).map(|i| (f64::from(i), f64::from(i * 37 % 11) + f64::from(run))).collect())
        .collect();
    let (mut state, mut shared) = (ChartState::default(), SharedX::default());
    let ctx = egui::Context::default();
    let frame = |series: &[Series], state: &mut ChartState, shared: &mut SharedX| {
        let lines: Vec<_> = (0..).zip(series).map(|(id, series)| ChartLine::new(id, "a", series)).collect();
        let mut output = ctx.run_ui(RawInput::default(), |ui| {
            let _ = Chart::new("c", "C", &lines).show(ui, state, shared);
        });
        output.textures_delta.clear();
        output.viewport_output.get(&egui::ViewportId::ROOT).map(|viewport| viewport.repaint_delay)
    };
    for _ in 0..4 {
        frame(&series, &mut state, &mut shared);
    }
    for i in 0..10 {
        let built = state.rebuilt();
        series[0].push(f64::from(4000 + i), 3.0);
        frame(&series, &mut state, &mut shared);
        assert_eq!(state.rebuilt(), built + 2, "the line and its unsmoothed one");
    }
    // It grows by a half: in the end everything is made for the new view, and the chart rests.
    let built = state.rebuilt();
    series[0].push(6000.0, 3.0);
    frame(&series, &mut state, &mut shared);
    assert!(state.rebuilt() < built + 2 * count as u64, "not all in one frame");
    let rests = (0..50).any(|_| frame(&series, &mut state, &mut shared).is_some_and(|delay| delay.as_secs() > 3600));
    assert!(rests && state.rebuilt() == built + 2 * count as u64, "{built} {}", state.rebuilt());
}

#[test]
fn few_lines_among_many_charts_move_along_as_many_lines_of_one_chart_do() {
    let mut series: Vec<Series> = (0..8)
        .map(|run| (0..4000).map(|i| (f64::from(i), f64::from(i * 37 % 11) + f64::from(run))).collect())
        .collect();
    let (mut state, mut shared) = (ChartState::default(), SharedX::default());
    let ctx = egui::Context::default();
    let frame = |series: &[Series], state: &mut ChartState, shared: &mut SharedX, among| {
        let lines: Vec<_> = (0..).zip(series).map(|(id, series)| ChartLine::new(id, "a", series)).collect();
        let output = ctx.run_ui(RawInput::default(), |ui| {
            let _ = Chart::new("c", "C", &lines).among(among).show(ui, state, shared);
        });
        output.drop_without_applying_deltas();
    };
    for (among, built_anew) in [(1, 16), (12, 2)] {
        for _ in 0..4 {
            frame(&series, &mut state, &mut shared, among);
        }
        let built = state.rebuilt();
        let last = series[0].len() as f64;
        series[0].push(last, 3.0);
        frame(&series, &mut state, &mut shared, among);
        assert_eq!(state.rebuilt() - built, built_anew, "{among} charts");
    }
    // Grown by a half: some lines in a frame, in the end all.
    let built = state.rebuilt();
    series[0].push(6000.0, 3.0);
    frame(&series, &mut state, &mut shared, 12);
    assert!((2..12).contains(&(state.rebuilt() - built)), "{}", state.rebuilt() - built);
    for _ in 0..20 {
        frame(&series, &mut state, &mut shared, 12);
    }
    assert_eq!(state.rebuilt() - built, 16);
}

/// A chart that is driven frame by frame.
struct Bench {
    ctx: egui::Context,
    state: ChartState,
    shared: SharedX,
    series: Series,
    time: f64,
    shown: Option<ChartResponse>,
    repaint_delay: Duration,
    modifiers: Modifiers,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self {
            ctx: egui::Context::default(),
            state: ChartState::default(),
            shared: SharedX::default(),
            series: (0..=100).map(|i| (f64::from(i), f64::from(i))).collect(),
            time: 0.0,
            shown: None,
            repaint_delay: Duration::ZERO,
            modifiers: Modifiers::NONE,
        };
        bench.frames(&[vec![], vec![], vec![]]);
        bench
    }

    fn frames(&mut self, frames: &[Vec<Event>]) {
        self.frames_with(Modifiers::NONE, frames);
    }

    fn frames_with(&mut self, modifiers: Modifiers, frames: &[Vec<Event>]) {
        for events in frames {
            self.time += 0.05;
            let changed = (modifiers != self.modifiers).then_some(Event::ModifiersChanged(modifiers));
            self.modifiers = modifiers;
            let input = RawInput {
                screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(600.0, 400.0))),
                time: Some(self.time),
                // Any event asks for a repaint, so only send a change.
                events: changed.into_iter().chain(events.iter().cloned()).collect(),
                ..RawInput::default()
            };
            let lines = [ChartLine::new(7, "a", &self.series)];
            let mut output = self.ctx.run_ui(input, |ui| {
                let chart = Chart::new("c", "Loss", &lines).smoothing(0.0);
                self.shown = Some(chart.show(ui, &mut self.state, &mut self.shared));
            });
            output.textures_delta.clear();
            if let Some(viewport) = output.viewport_output.get(&egui::ViewportId::ROOT) {
                self.repaint_delay = viewport.repaint_delay;
            }
        }
    }

    fn shown(&self) -> &ChartResponse {
        self.shown.as_ref().unwrap()
    }

    /// The place at these fractions of the plot area, from the lower left.
    fn at(&self, x: f32, y: f32) -> Pos2 {
        let rect = self.shown().response.rect;
        pos2(rect.left() + x * rect.width(), rect.bottom() - y * rect.height())
    }

    fn drag(&mut self, modifiers: Modifiers, from: Pos2, to: Pos2) {
        let button = |pos, pressed| Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers };
        self.frames_with(
            modifiers,
            &[
                vec![Event::PointerMoved(from)],
                vec![button(from, true)],
                vec![Event::PointerMoved(from + (to - from) * 0.5)],
                vec![Event::PointerMoved(to)],
                vec![button(to, false)],
                vec![],
            ],
        );
    }

    fn click(&mut self, at: Pos2) {
        let button = |pressed| Event::PointerButton {
            pos: at,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        self.frames(&[vec![Event::PointerMoved(at)], vec![button(true)], vec![button(false)]]);
    }
}

fn close(a: (f64, f64), b: (f64, f64)) -> bool {
    let slack = 0.02 * (b.1 - b.0);
    (a.0 - b.0).abs() < slack && (a.1 - b.1).abs() < slack
}

#[test]
fn a_drag_zooms_to_the_box_and_a_double_click_resets() {
    let mut bench = Bench::new();
    let all = (bench.shown().x_range, bench.shown().y_range);
    assert!(close(all.0, (-1.5, 101.5)) && close(all.1, (-5.0, 105.0)), "{all:?}");
    bench.drag(Modifiers::NONE, bench.at(0.25, 0.75), bench.at(0.75, 0.5));
    let (x, y) = (bench.shown().x_range, bench.shown().y_range);
    assert!(close(x, (24.25, 75.75)), "{x:?}");
    assert!(close(y, (50.0, 77.5)), "{y:?}");
    assert_eq!(bench.shared.range(XAxis::Step), Some(x), "other charts of this kind follow");
    bench.click(bench.at(0.9, 0.1));
    bench.click(bench.at(0.9, 0.1));
    bench.frames(&[vec![]]);
    assert_eq!((bench.shown().x_range, bench.shown().y_range), all);
}

#[test]
fn a_double_click_that_resets_the_zoom_chooses_no_line() {
    let mut bench = Bench::new();
    let zoom = |bench: &mut Bench| {
        bench.drag(Modifiers::NONE, bench.at(0.25, 0.25), bench.at(0.75, 0.75));
        // A click soon after the drag would be the second of two.
        bench.frames(&vec![vec![]; 10]);
        assert!(bench.state.is_zoomed());
    };
    zoom(&mut bench);
    let on = bench.at(0.5, 0.5);
    for _ in 0..2 {
        bench.click(on);
        assert_eq!(bench.shown().clicked, None);
    }
    assert!(!bench.state.is_zoomed());
    for _ in 0..10 {
        bench.frames(&[vec![]]);
        assert_eq!(bench.shown().clicked, None);
    }
    // A single click chooses it, as soon as it is known to be one.
    zoom(&mut bench);
    bench.click(on);
    assert_eq!((bench.shown().hovered, bench.shown().clicked), (Some(7), None));
    let chosen = (0..10).filter(|_| {
        bench.frames(&[vec![]]);
        bench.shown().clicked == Some(7)
    });
    assert_eq!(chosen.count(), 1);
}

#[test]
fn a_reset_in_another_chart_takes_the_cut_along_y_with_it() {
    let mut bench = Bench::new();
    let all = (bench.shown().x_range, bench.shown().y_range);
    bench.drag(Modifiers::NONE, bench.at(0.25, 0.75), bench.at(0.75, 0.5));
    assert!(bench.state.is_zoomed());
    bench.shared.set_range(XAxis::Step, None);
    bench.frames(&[vec![]]);
    assert_eq!((bench.shown().x_range, bench.shown().y_range), all);
    // A cut along y alone is the chart's own.
    bench.drag(Modifiers::NONE, bench.at(0.5, 0.75), bench.at(0.5, 0.5));
    let cut = bench.shown().y_range;
    assert_ne!(cut, all.1);
    bench.shared.set_range(XAxis::Step, None);
    bench.frames(&[vec![]]);
    assert_eq!(bench.shown().y_range, cut);
}

#[test]
fn shift_drag_pans() {
    let mut bench = Bench::new();
    let (before, width) = (bench.shown().x_range, 103.0);
    bench.drag(Modifiers::SHIFT, bench.at(0.75, 0.5), bench.at(0.5, 0.5));
    let after = bench.shown().x_range;
    assert!((after.1 - after.0 - width).abs() < 0.1, "the span stays: {after:?}");
    let moved = after.0 - before.0;
    assert!((moved - 0.25 * width).abs() < 0.05 * width, "{moved}");
}

#[test]
fn ctrl_wheel_zooms_around_the_pointer() {
    let mut bench = Bench::new();
    let at = bench.at(0.5, 0.5);
    bench.frames(&[vec![Event::PointerMoved(at)], vec![Event::Zoom(2.0)], vec![]]);
    let x = bench.shown().x_range;
    assert!(close(x, (24.25, 75.75)), "{x:?}");
}

#[test]
fn hover_names_the_line_and_a_click_reports_it() {
    let mut bench = Bench::new();
    let on = bench.at(0.5, 0.5);
    bench.frames(&[vec![Event::PointerMoved(on)], vec![]]);
    assert_eq!(bench.shown().hovered, Some(7));
    bench.click(on);
    assert_eq!(bench.shown().clicked, Some(7));
    let off = bench.at(0.1, 0.9);
    bench.frames(&[vec![Event::PointerMoved(off)], vec![]]);
    assert_eq!(bench.shown().hovered, None);
}

#[test]
fn a_growing_run_extends_its_curve_without_a_rebuild_from_scratch() {
    let mut bench = Bench::new();
    let generation = bench.series.version().generation;
    bench.series.push(200.0, 50.0);
    bench.frames(&[vec![]]);
    assert_eq!(bench.series.version().generation, generation);
    assert!(close(bench.shown().x_range, (-3.0, 203.0)), "{:?}", bench.shown().x_range);
    assert_eq!(bench.state.lines.len(), 1);
}

#[test]
fn an_idle_chart_asks_for_no_repaint() {
    let mut bench = Bench::new();
    bench.frames(&vec![vec![]; 20]);
    assert!(bench.repaint_delay.as_secs() > 3600, "{:?}", bench.repaint_delay);
}
