//! How long a frame takes: `cargo bench -p headroom-app --bench frames`.
//!
//! 200 runs of 10,000 points overlaid, smoothed, with the unsmoothed lines behind, on 1,600 x 900 points; then a workspace of
//! 12 charts of 17 such runs each, as many points in all. Counts what the processor does for a frame (layout, meshes,
//! tessellation), not the graphics card.

use std::time::Instant;

use egui::{Context, Event, RawInput, Rect, pos2, vec2};
use headroom_app::{
    plot::{Series, XAxis},
    theme::{self, Dash},
    widgets::{Chart, ChartLine, ChartState, Multiples, SharedX, Tile},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: u64 = 200;
const POINTS: usize = 10_000;
const FRAMES: usize = 60;
/// Charts of the workspace, and runs in each.
const CHARTS: usize = 12;
const RUNS_OF_CHART: u64 = 17;

fn main() {
    let ctx = Context::default();
    theme::install(&ctx);
    let mut series: Vec<Series> = (0..RUNS).map(curve).collect();
    let mut state = ChartState::default();
    let mut shared = SharedX::default();

    let first = frame(&ctx, &series, &mut state, &mut shared);
    println!("first frame: {:.1} ms", first * 1e3);
    report("nothing changed", (0..FRAMES).map(|_| frame(&ctx, &series, &mut state, &mut shared)).collect());
    report(
        "one run gets a point a frame",
        (0..FRAMES)
            .map(|n| {
                if let Some(live) = series.first_mut() {
                    live.push((POINTS + n) as f64, 2.0);
                }
                frame(&ctx, &series, &mut state, &mut shared)
            })
            .collect(),
    );
    let end = series.first().map_or(POINTS, Series::len);
    report(
        "one run grows by a half per cent a frame",
        (1..=FRAMES)
            .map(|n| {
                if let Some(live) = series.first_mut() {
                    live.push((end + n * POINTS / 200) as f64, 2.0);
                }
                frame(&ctx, &series, &mut state, &mut shared)
            })
            .collect(),
    );
    report(
        "zooming with the wheel, the view changes every frame",
        (0..FRAMES)
            .map(|n| {
                let zoom = if n % 30 < 15 { 1.05 } else { 1.0 / 1.05 };
                let events = vec![Event::PointerMoved(pos2(800.0, 450.0)), Event::Zoom(zoom)];
                let before = state.rebuilt();
                let secs = frame_after(&ctx, &series, &mut state, &mut shared, events);
                assert!(n == 0 || state.rebuilt() > before, "the view moved");
                secs
            })
            .collect(),
    );
    workspace();
}

/// The same of a workspace.
fn workspace() {
    let ctx = Context::default();
    theme::install(&ctx);
    let runs = |chart: u64| (0..RUNS_OF_CHART).map(move |run| curve(chart * RUNS_OF_CHART + run));
    let mut series: Vec<Vec<Series>> = (0..CHARTS as u64).map(|chart| runs(chart).collect()).collect();
    let mut states: Vec<ChartState> = (0..CHARTS).map(|_| ChartState::default()).collect();
    let mut shared = SharedX::default();
    let first = workspace_frame(&ctx, &series, &mut states, &mut shared, Vec::new());
    println!("workspace of {CHARTS} charts, first frame: {:.1} ms", first * 1e3);
    let still = (0..FRAMES).map(|_| workspace_frame(&ctx, &series, &mut states, &mut shared, Vec::new()));
    report("workspace, nothing changed", still.collect());
    let growing = (0..FRAMES).map(|n| {
        for chart in &mut series {
            if let Some(live) = chart.first_mut() {
                live.push((POINTS + n) as f64, 2.0);
            }
        }
        workspace_frame(&ctx, &series, &mut states, &mut shared, Vec::new())
    });
    report("workspace, one run gets a point a frame in every chart", growing.collect());
    let zooming = (0..FRAMES).map(|n| {
        let zoom = if n % 30 < 15 { 1.05 } else { 1.0 / 1.05 };
        let events = vec![Event::PointerMoved(pos2(300.0, 200.0)), Event::Zoom(zoom)];
        workspace_frame(&ctx, &series, &mut states, &mut shared, events)
    });
    report("workspace, zooming all charts with the wheel", zooming.collect());
}

fn workspace_frame(
    ctx: &Context,
    series: &[Vec<Series>],
    states: &mut [ChartState],
    shared: &mut SharedX,
    events: Vec<Event>,
) -> f64 {
    let keys: Vec<String> = (0..series.len()).map(|chart| format!("metric {chart}")).collect();
    let tiles: Vec<Tile<'_>> = keys.iter().map(|key| Tile { key, title: key.clone() }).collect();
    let names: Vec<String> = (0..RUNS_OF_CHART).map(|run| format!("run {run}")).collect();
    let start = Instant::now();
    let output = ctx.run_ui(input(events), |ui| {
        let grid = Multiples::new("workspace", 260.0).across(Some(4));
        let draw = |ui: &mut egui::Ui, place: usize, height: f32| {
            let (Some(of_chart), Some(state)) = (series.get(place), states.get_mut(place)) else { return };
            let lines = lines(of_chart, &names);
            let chart = Chart::new("chart", "Loss", &lines).x(XAxis::Step).smoothing(0.6).without_title();
            let _ = chart.among(CHARTS).height(height).show(ui, state, shared);
        };
        let _ = grid.show(ui, &tiles, draw, |_, _| ());
    });
    let shapes = ctx.tessellate(output.shapes, output.pixels_per_point);
    let secs = start.elapsed().as_secs_f64();
    assert!(!shapes.is_empty(), "something was drawn");
    secs
}

fn lines<'a>(series: &'a [Series], names: &'a [String]) -> Vec<ChartLine<'a>> {
    let styled = |(run, (series, name)): (usize, (&'a Series, &'a String))| {
        let (colour, dash): (_, Dash) = theme::run_style(run as u64);
        ChartLine { colour, dash, ..ChartLine::new(run as u64, name, series) }
    };
    series.iter().zip(names).enumerate().map(styled).collect()
}

fn input(events: Vec<Event>) -> RawInput {
    let screen = Rect::from_min_size(pos2(0.0, 0.0), vec2(1600.0, 900.0));
    RawInput { screen_rect: Some(screen), events, ..RawInput::default() }
}

/// A noisy falling curve.
fn curve(run: u64) -> Series {
    let mut noise = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(run + 1);
    (0..POINTS)
        .map(|step| {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            let jitter = (noise >> 11) as f64 / (1_u64 << 53) as f64;
            (step as f64, 7.0 / (1.0 + step as f64 / 800.0) + 0.3 * jitter + run as f64 * 0.01)
        })
        .collect()
}

/// Draws one frame; returns its seconds.
fn frame(ctx: &Context, series: &[Series], state: &mut ChartState, shared: &mut SharedX) -> f64 {
    frame_after(ctx, series, state, shared, Vec::new())
}

/// Draws one frame after something was done with mouse or keys; returns its seconds.
fn frame_after(
    ctx: &Context,
    series: &[Series],
    state: &mut ChartState,
    shared: &mut SharedX,
    events: Vec<Event>,
) -> f64 {
    let names: Vec<String> = (0..series.len()).map(|run| format!("run {run}")).collect();
    let lines = lines(series, &names);
    let start = Instant::now();
    let output = ctx.run_ui(input(events), |ui| {
        let _ = Chart::new("bench", "Loss", &lines).x(XAxis::Step).smoothing(0.6).height(860.0).show(ui, state, shared);
    });
    let shapes = ctx.tessellate(output.shapes, output.pixels_per_point);
    let secs = start.elapsed().as_secs_f64();
    assert!(!shapes.is_empty(), "something was drawn");
    secs
}

fn report(name: &str, mut secs: Vec<f64>) {
    secs.sort_by(f64::total_cmp);
    let at = |share: f64| secs.get(((secs.len() - 1) as f64 * share) as usize).copied().unwrap_or(f64::NAN) * 1e3;
    println!("{name}: median {:.1} ms, 95 % {:.1} ms, most {:.1} ms", at(0.5), at(0.95), at(1.0));
}
