//! The roofline: what each operation does a second over how much it does with each byte, under what the machine can do.

use std::collections::BTreeMap;

use egui::{Align2, Pos2, Rect, RichText, Sense, Stroke, Ui, Vec2, pos2, vec2};
use headroom_engine::{
    config::Cache,
    speed::{AttentionGroup, GroupTime, MachineLimits, Measurement, PointResult},
};

use crate::{
    export::{Figure, FigureAxis, FigureSeries},
    format,
    measured::{PAST_PRODUCTS, millis, passes_products},
    plot::{Axis, Quantity, Scale},
    theme,
};

/// Radius of the bubble of an operation that takes the whole step, in points.
const WHOLE_RADIUS: f32 = 46.0;
/// The least radius that can be seen and met with the pointer.
const LEAST_RADIUS: f32 = 4.0;
/// Room for the labels of the axes.
const LEFT: f32 = 74.0;
const BELOW: f32 = 40.0;

/// Operations that are shown together.
pub struct Operations {
    all: Vec<Operation>,
    /// What they are shares of.
    whole: &'static str,
}

/// What some operations of one kind took.
struct Operation {
    name: String,
    seconds: f64,
    flops: f64,
    bytes: f64,
    /// The line in the chart that it belongs to, and what stands at its bubble; none where all are of one line.
    of_line: Option<(u64, &'static str)>,
}

impl Operations {
    /// The operations of a training step.
    pub fn of_step(found: &Measurement) -> Self {
        let operation = |operation: &headroom_engine::ops::profile::OperationTime| Operation {
            name: operation.name.clone(),
            seconds: operation.seconds,
            flops: operation.flops as f64,
            bytes: operation.bytes as f64,
            of_line: None,
        };
        Self { all: found.operations.iter().map(operation).collect(), whole: "the step" }
    }

    /// The groups of operations of attention to the source, with each cache that was measured at a point. Keys and values that
    /// are built once, while sources are read, are shown as that.
    pub fn of_texts(point: &PointResult) -> Self {
        let mut all = Vec::new();
        for (line, side) in point.sides.iter().enumerate() {
            let Some(found) = side.outcome.generation() else { continue };
            let label = side.side.parse::<Cache>().map_or(side.side.clone(), |cache| cache.label().to_owned());
            let operation = |group: &GroupTime, when: &str| Operation {
                name: format!("{label}, {}{when}", group.group.name()),
                seconds: group.seconds,
                flops: group.flops,
                bytes: group.bytes,
                of_line: Some((line as u64, short(group.group))),
            };
            all.extend(found.groups.iter().map(|group| operation(group, "")));
            let is_built_once = found.group(AttentionGroup::BuildKeysValues).is_none_or(|group| group.flops == 0.0);
            let built = found.reading_groups.iter().filter(|group| group.group == AttentionGroup::BuildKeysValues);
            all.extend(built.filter(|_| is_built_once).map(|group| operation(group, " once, while reading")));
        }
        Self { all, whole: "what is shown" }
    }

    fn bubbles(&self) -> Vec<Bubble<'_>> {
        let all: f64 = self.all.iter().map(|operation| operation.seconds).sum();
        let with_products = self
            .all
            .iter()
            .filter(|operation| operation.flops > 0.0 && operation.bytes > 0.0 && operation.seconds > 0.0);
        with_products
            .map(|operation| Bubble {
                operation,
                intensity: operation.flops / operation.bytes,
                rate: operation.flops / operation.seconds,
                share: operation.seconds / all,
            })
            .collect()
    }

    /// Whether they are of several lines.
    fn is_of_lines(&self) -> bool {
        self.all.iter().any(|operation| operation.of_line.is_some())
    }
}

/// A group in a word.
fn short(group: AttentionGroup) -> &'static str {
    match group {
        AttentionGroup::BuildKeysValues => "build",
        AttentionGroup::BuildQuery => "query",
        AttentionGroup::Attend => "attend",
    }
}

/// An operation with products.
struct Bubble<'a> {
    operation: &'a Operation,
    /// FLOPs for each byte.
    intensity: f64,
    /// FLOPs a second.
    rate: f64,
    /// Share of the time of all operations.
    share: f64,
}

/// What the machine allows at an intensity.
fn roof(limits: &MachineLimits, intensity: f64) -> f64 {
    (intensity * limits.copy_bytes_per_sec).min(limits.product_flops_per_sec)
}

/// Ranges that hold the bubbles and the corner of the roof, in powers of ten.
fn ranges(limits: &MachineLimits, bubbles: &[Bubble<'_>]) -> ((f64, f64), (f64, f64)) {
    let corner = limits.product_flops_per_sec / limits.copy_bytes_per_sec;
    let x = bubbles.iter().map(|bubble| bubble.intensity).chain([corner, corner * 10.0, corner / 10.0]);
    let y = bubbles.iter().map(|bubble| bubble.rate).chain([limits.product_flops_per_sec, roof(limits, corner / 10.0)]);
    let whole = |values: &mut dyn Iterator<Item = f64>| {
        let (lo, hi) = values.fold((f64::INFINITY, 0.0_f64), |(lo, hi), value| (lo.min(value), hi.max(value)));
        (10f64.powf((lo.log10() - 0.15).floor()), 10f64.powf((hi.log10() + 0.15).ceil()))
    };
    (whole(&mut { x }), whole(&mut { y }))
}

/// Draws it.
pub fn roofline_ui(ui: &mut Ui, name: &str, limits: &MachineLimits, found: &Operations, height: f32) {
    let palette = theme::palette(ui.visuals());
    let bubbles = found.bubbles();
    ui.label(RichText::new(format!("Roofline of {name}")).strong());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let plot = Rect::from_min_max(rect.min + vec2(LEFT, 6.0), rect.max - vec2(12.0, BELOW));
    if !ui.is_rect_visible(rect) || plot.width() < 40.0 {
        return;
    }
    let (x, y) = ranges(limits, &bubbles);
    let along = |value: f64, (lo, hi): (f64, f64)| ((value.log10() - lo.log10()) / (hi.log10() - lo.log10())) as f32;
    let at = |intensity: f64, rate: f64| -> Pos2 {
        pos2(plot.left() + plot.width() * along(intensity, x), plot.bottom() - plot.height() * along(rate, y))
    };
    let painter = ui.painter();
    painter.rect_filled(plot, 2.0, palette.well);
    let font = egui::FontId::proportional(11.0);
    for power in x.0.log10() as i32..=x.1.log10().round() as i32 {
        let value = 10f64.powi(power);
        let place = at(value, y.0);
        painter.line_segment([pos2(place.x, plot.top()), pos2(place.x, plot.bottom())], Stroke::new(1.0, palette.grid));
        let text = format::significant(value, 1);
        painter.text(place + vec2(0.0, 4.0), Align2::CENTER_TOP, text, font.clone(), palette.weak);
    }
    for power in y.0.log10().round() as i32..=y.1.log10().round() as i32 {
        let value = 10f64.powi(power);
        let place = at(x.0, value);
        painter.line_segment([pos2(plot.left(), place.y), pos2(plot.right(), place.y)], Stroke::new(1.0, palette.grid));
        let text = format!("{}/s", format::flops(value));
        painter.text(place - vec2(6.0, 0.0), Align2::RIGHT_CENTER, text, font.clone(), palette.weak);
    }
    let middle = pos2(plot.center().x, rect.bottom());
    painter.text(middle, Align2::CENTER_BOTTOM, "FLOP for each byte read or written", font.clone(), palette.weak);
    let corner = limits.product_flops_per_sec / limits.copy_bytes_per_sec;
    let clipped = ui.painter().with_clip_rect(plot);
    let roof_stroke = Stroke::new(2.0, palette.warning);
    let flat = at(corner, limits.product_flops_per_sec);
    clipped.line_segment([at(x.0, roof(limits, x.0)), flat], roof_stroke);
    clipped.line_segment([flat, at(x.1, limits.product_flops_per_sec)], roof_stroke);
    let pointer = response.hover_pos();
    let radius = |bubble: &Bubble<'_>| (WHOLE_RADIUS * bubble.share.sqrt() as f32).max(LEAST_RADIUS);
    let met = pointer.and_then(|pointer| {
        let reach = |bubble: &&Bubble<'_>| at(bubble.intensity, bubble.rate).distance(pointer) <= radius(bubble);
        bubbles.iter().filter(reach).min_by(|a, b| radius(a).total_cmp(&radius(b)))
    });
    for bubble in &bubbles {
        let is_met = met.is_some_and(|met| std::ptr::eq(met, bubble));
        let colour = match bubble.operation.of_line {
            Some((line, _)) => theme::run_style(line).0,
            None => palette.accent,
        };
        let fill = colour.gamma_multiply(if is_met { 0.6 } else { 0.3 });
        let centre = at(bubble.intensity, bubble.rate);
        clipped.circle(centre, radius(bubble), fill, Stroke::new(1.0, colour));
    }
    // Over the bubbles, so that they can be read.
    let label = |text: String, place: &dyn Fn(Vec2) -> Rect| {
        let galley = clipped.layout_no_wrap(text, font.clone(), palette.warning);
        let rect = within(place(galley.size()), plot);
        clipped.rect_filled(rect.expand(2.0), 2.0, palette.well.gamma_multiply(0.85));
        clipped.galley(rect.min, galley, palette.warning);
    };
    for bubble in &bubbles {
        if let Some((line, short)) = bubble.operation.of_line {
            // The same group of several caches is often at one place: each has a row of its own.
            let row = 11.0 * (line as f32 - 1.0);
            let place = at(bubble.intensity, bubble.rate) + vec2(radius(bubble) + 3.0, row);
            clipped.text(place, Align2::LEFT_CENTER, short, font.clone(), palette.text);
        }
    }
    let compute = format!("compute limit {}/s", format::flops(limits.product_flops_per_sec));
    let end = at(x.1, limits.product_flops_per_sec) - vec2(6.0, 5.0);
    label(compute, &|size| Align2::RIGHT_BOTTOM.anchor_size(end, size));
    let bandwidth = format!("memory bandwidth {}/s", format::bytes(limits.copy_bytes_per_sec as u64));
    label(bandwidth, &|size| above_slope(size, plot, at(x.0, roof(limits, x.0)), flat));
    let words: Vec<String> = bubbles.iter().map(|bubble| words(limits, bubble, found.whole)).collect();
    let told = met.map(|met| self::words(limits, met, found.whole));
    let response = response.accessible_name(format!("Roofline of {name}. {}", words.join(". ")));
    if let Some(told) = told {
        response.on_hover_text_at_pointer(told);
    }
    if !found.is_of_lines() {
        ui.label(RichText::new(without_products(limits, found)).color(palette.weak));
    }
    if has_impossible(limits, found) {
        ui.label(RichText::new(PAST_PRODUCTS).color(palette.warning));
    } else if passes_limit(limits, found) {
        ui.label(RichText::new(PAST_LIMIT).color(palette.weak));
    }
}

/// As near to where it is as leaves all of it in the plot.
fn within(rect: Rect, plot: Rect) -> Rect {
    let room = plot.shrink(3.0);
    let left = rect.left().min(room.right() - rect.width()).max(room.left());
    let top = rect.top().min(room.bottom() - rect.height()).max(room.top());
    Rect::from_min_size(pos2(left, top), rect.size())
}

/// The place of words of this size above the slope from `start` to `corner`, where the slope comes into sight.
fn above_slope(size: Vec2, plot: Rect, start: Pos2, corner: Pos2) -> Rect {
    let slope = (start.y - corner.y).max(1.0) / (corner.x - start.x).max(1.0);
    let left = start.x + ((start.y - plot.bottom()) / slope).max(0.0) + 8.0;
    // Clear of the line at their right end, where it is highest.
    let bottom = start.y - slope * ((left + size.x).min(corner.x) - start.x) - 4.0;
    within(Rect::from_min_size(pos2(left, bottom - size.y), size), plot)
}

/// Why an operation can be faster than the limits.
pub const PAST_LIMIT: &str = "The limits were measured with one large product and one large copy: operations whose data stay in \
                              the processor's caches can pass them.";

/// Whether a product was faster than the limit of products.
fn has_impossible(limits: &MachineLimits, found: &Operations) -> bool {
    found.all.iter().any(|operation| passes_products(limits, operation.flops, operation.seconds))
}

/// Whether an operation is faster than the limits allow.
fn passes_limit(limits: &MachineLimits, found: &Operations) -> bool {
    let mut timed = found.all.iter().filter(|operation| operation.seconds > 0.0 && operation.bytes > 0.0);
    timed.any(|operation| {
        if operation.flops > 0.0 {
            operation.flops / operation.seconds > roof(limits, operation.flops / operation.bytes)
        } else {
            operation.bytes / operation.seconds > limits.copy_bytes_per_sec
        }
    })
}

fn words(limits: &MachineLimits, bubble: &Bubble<'_>, whole: &str) -> String {
    format!(
        "{}: {}, {} of {whole}, {}/s, {} of the limit",
        bubble.operation.name,
        millis(bubble.operation.seconds),
        format::percent(bubble.share),
        format::flops(bubble.rate),
        format::percent(bubble.rate / roof(limits, bubble.intensity)),
    )
}

/// The operations that have no place in the plot, since they only move bytes.
fn without_products(limits: &MachineLimits, found: &Operations) -> String {
    let mut moved: Vec<&Operation> =
        found.all.iter().filter(|operation| operation.flops == 0.0 && operation.seconds > 0.0).collect();
    moved.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let all: f64 = found.all.iter().map(|operation| operation.seconds).sum();
    let seconds: f64 = moved.iter().map(|operation| operation.seconds).sum();
    let named: Vec<String> = moved
        .iter()
        .take(4)
        .map(|operation| {
            let rate = operation.bytes / operation.seconds / limits.copy_bytes_per_sec;
            format!("{} {} at {} of the copy rate", operation.name, millis(operation.seconds), format::percent(rate))
        })
        .collect();
    if named.is_empty() {
        return "Every operation has products.".to_owned();
    }
    format!("Without products, {} of the time: {}.", format::percent(seconds / all), named.join("; "))
}

/// What stands below the exported figure.
fn notes(limits: &MachineLimits, found: &Operations) -> Vec<String> {
    let mut notes = Vec::new();
    if has_impossible(limits, found) {
        // A line of a figure has no room for all of it.
        notes.extend(PAST_PRODUCTS.split_inclusive(": ").map(|part| part.trim_end().to_owned()));
    }
    if !found.is_of_lines() {
        notes.push(without_products(limits, found));
    }
    notes
}

/// The plot as a figure: the roof as a line, each operation a lozenge whose area grows with its time.
pub fn figure(name: &str, limits: &MachineLimits, found: &Operations, metadata: BTreeMap<String, String>) -> Figure {
    let bubbles = found.bubbles();
    let (x, y) = ranges(limits, &bubbles);
    let corner = limits.product_flops_per_sec / limits.copy_bytes_per_sec;
    let mut series = vec![FigureSeries {
        name: "limit of the machine".to_owned(),
        colour: theme::BACKDROP,
        width: 2.0,
        points: [x.0, corner, x.1].map(|intensity| (intensity, roof(limits, intensity))).to_vec(),
        ..FigureSeries::default()
    }];
    let decades = (y.1 / y.0).log10() / (x.1 / x.0).log10();
    series.extend(bubbles.iter().enumerate().map(|(place, bubble)| {
        let reach = 0.28 * bubble.share.sqrt().max(0.12);
        let (across, up) = (10f64.powf(reach), 10f64.powf(reach * decades * 1.4));
        let line = bubble.operation.of_line.map_or(place as u64, |(line, _)| line);
        let (colour, dash) = theme::run_style(line);
        FigureSeries {
            name: format!("{} ({})", bubble.operation.name, millis(bubble.operation.seconds)),
            colour,
            dash,
            width: 1.5,
            points: vec![(bubble.intensity, bubble.rate)],
            band: vec![
                (bubble.intensity / across, bubble.rate, bubble.rate),
                (bubble.intensity, bubble.rate / up, bubble.rate * up),
                (bubble.intensity * across, bubble.rate, bubble.rate),
            ],
            ..FigureSeries::default()
        }
    }));
    Figure {
        title: format!("Roofline of {name}"),
        subtitle: "The area of a lozenge grows with the operation's time".to_owned(),
        x: FigureAxis { axis: Axis::new("Intensity").unit("FLOP/byte").scale(Scale::Log), range: x },
        y: FigureAxis { axis: Axis::new("Rate").unit("FLOP/s").scale(Scale::Log).quantity(Quantity::Flops), range: y },
        series,
        notes: notes(limits, found),
        metadata,
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::{ops::profile::OperationTime, speed::Spread};

    use super::*;
    use crate::export::to_svg;

    fn measured() -> (MachineLimits, Measurement) {
        let operation = |name: &str, seconds, flops, bytes| OperationTime {
            name: name.to_owned(),
            calls: 1,
            seconds,
            flops,
            bytes,
        };
        let found = Measurement {
            step_joules: None,
            times: Vec::new(),
            step_secs: Spread { lower: 0.01, median: 0.01, upper: 0.01 },
            forward_secs: 0.004,
            backward_secs: 0.005,
            optimiser_secs: 0.001,
            tokens: 64,
            parameters: 10,
            predicted_flops: 1_000_000_000,
            predicted_memory_bytes: 1 << 20,
            peak_memory_bytes: None,
            program_memory_bytes: None,
            memory_source: headroom_engine::speed::MemorySource::OwnProcess,
            device_memory_bytes: None,
            operations: vec![
                operation("feed-forward", 0.006, 600_000_000, 10_000_000),
                operation("attention: mix", 0.002, 40_000_000, 8_000_000),
                operation("optimiser", 0.002, 0, 10_000_000),
            ],
        };
        (MachineLimits { product_flops_per_sec: 2e11, copy_bytes_per_sec: 1e10, threads: 1 }, found)
    }

    #[test]
    fn operations_stand_under_the_roof_by_what_they_do() {
        let (limits, found) = measured();
        let found = Operations::of_step(&found);
        let bubbles = found.bubbles();
        assert_eq!(bubbles.len(), 2, "the optimiser has no products");
        let first = &bubbles[0];
        assert!((first.intensity - 60.0).abs() < 1e-9 && (first.rate - 1e11).abs() < 1.0);
        assert!((first.share - 0.6).abs() < 1e-9);
        assert!((roof(&limits, 60.0) - 2e11).abs() < 1.0 && (roof(&limits, 5.0) - 5e10).abs() < 1.0);
        assert!(
            words(&limits, first, found.whole).ends_with("50 % of the limit"),
            "{}",
            words(&limits, first, found.whole)
        );
        let others = without_products(&limits, &found);
        assert!(others.contains("20 % of the time") && others.contains("optimiser 2.000 ms at 50 %"), "{others}");
        let (x, y) = ranges(&limits, &bubbles);
        assert!(x.0 < 5.0 && x.1 > 60.0 && y.0 < 2e10 && y.1 > 2e11);
    }

    #[test]
    fn the_words_at_the_slope_are_in_the_plot_and_above_it() {
        let plot = Rect::from_min_max(pos2(74.0, 6.0), pos2(534.0, 210.0));
        let size = vec2(148.0, 14.0);
        // From the lower left corner, from within, and from below the plot.
        for (start, corner) in [
            (pos2(74.0, 208.0), pos2(290.0, 80.0)),
            (pos2(74.0, 150.0), pos2(120.0, 60.0)),
            (pos2(74.0, 400.0), pos2(500.0, 80.0)),
        ] {
            let place = above_slope(size, plot, start, corner);
            assert!(plot.contains_rect(place), "{place} of {plot}");
            let along = (place.right().min(corner.x) - start.x) / (corner.x - start.x);
            assert!(place.bottom() <= start.y + along * (corner.y - start.y), "{place} crosses the line");
        }
        // A slope that leaves no room above it.
        assert!(plot.contains_rect(above_slope(size, plot, pos2(74.0, 20.0), pos2(290.0, 7.0))));
    }

    #[test]
    fn the_exported_figure_names_every_operation() {
        let (limits, found) = measured();
        let figure = figure("a point", &limits, &Operations::of_step(&found), BTreeMap::new());
        assert_eq!(figure.series.len(), 3);
        let svg = to_svg(&figure);
        assert!(svg.contains("feed-forward (6.000 ms)") && svg.contains("limit of the machine"), "{svg}");
    }

    #[test]
    fn an_operation_above_the_roof_is_told_in_the_figure_in_full() {
        let (limits, found) = measured();
        let found = Operations::of_step(&found);
        let figure = |rate: f64| {
            let limits = MachineLimits { product_flops_per_sec: rate, ..limits };
            figure("a point", &limits, &found, BTreeMap::new())
        };
        // The feed-forward network multiplies at 100 GFLOP/s.
        let (sound, impossible) = (figure(9.9e10), figure(9e10));
        assert_eq!(sound.notes.len(), 1, "within chance: {:?}", sound.notes);
        assert_eq!(impossible.notes[..2].join(" "), PAST_PRODUCTS);
        let svg = to_svg(&impossible);
        for part in &impossible.notes[..2] {
            assert!(svg.contains(part), "\"{part}\" is cut: {svg}");
        }
    }
}
