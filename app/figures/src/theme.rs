//! Every colour, text size and distance of the window. No other file names a colour.
//!
//! Runs are coloured with Paul Tol's "vibrant" set (<https://sros.nl/~ptol>, technical note SRON/EPS/TN/09-002), which
//! stays distinct for the common kinds of colour blindness and on both backgrounds. Runs take them as they are shown, the
//! first free one each; when the set is used up the dash pattern changes ([`run_style`]). The baseline has its own
//! ([`LineStyle::BASELINE`]).

use egui::epaint::{CornerRadius, Shadow};
use egui::style::{HandleShape, ScrollStyle, Selection, WidgetVisuals, Widgets};
use egui::{Color32, Context, FontFamily, FontId, Margin, Stroke, Style, TextStyle, Theme, Vec2, Visuals};

mod colour_maps;
mod dash;
mod line_style;

pub use colour_maps::ColourMap;
pub use dash::Dash;
pub use line_style::LineStyle;

/// Opacity of numbers that belong to an earlier config.
pub const OUTDATED_OPACITY: f32 = 0.5;

/// Height of body text in points.
pub const BODY_POINTS: f32 = 14.0;

/// Paul Tol's "vibrant" set without its grey, ordered so that neighbours differ most.
pub const RUN_COLOURS: [Color32; 6] = [
    Color32::from_rgb(0x00, 0x77, 0xBB), // blue
    Color32::from_rgb(0xEE, 0x77, 0x33), // orange
    Color32::from_rgb(0x00, 0x99, 0x88), // teal
    Color32::from_rgb(0xEE, 0x33, 0x77), // magenta
    Color32::from_rgb(0x33, 0xBB, 0xEE), // cyan
    Color32::from_rgb(0xCC, 0x33, 0x11), // red
];

/// The grey of Tol's set: for runs that are only a backdrop, and for the wait state.
pub const BACKDROP: Color32 = Color32::from_rgb(0xBB, 0xBB, 0xBB);

/// The colour at this place in a list.
pub fn run_colour(number: u64) -> Color32 {
    let index = usize::try_from(number % RUN_COLOURS.len() as u64).unwrap_or_default();
    RUN_COLOURS.get(index).copied().unwrap_or(BACKDROP)
}

/// The colour and dash pattern at this place in a list: 6 colours x 4 patterns before a pair repeats.
pub fn run_style(number: u64) -> (Color32, Dash) {
    let dash = match (number / RUN_COLOURS.len() as u64) % 4 {
        0 => Dash::Solid,
        1 => Dash::Dashed,
        2 => Dash::Dotted,
        _ => Dash::DashDotted,
    };
    (run_colour(number), dash)
}

/// From the lowest to the highest of many values: blue, teal, gold. Each step can be told from both backgrounds, and the
/// order is kept for the common kinds of colour blindness.
const RAMP: [Color32; 3] =
    [Color32::from_rgb(0x4A, 0x6F, 0xD1), Color32::from_rgb(0x2F, 0xA0, 0x8C), Color32::from_rgb(0xE0, 0x8A, 0x1E)];

/// The colour of a place between lowest (0) and highest (1).
pub fn ramp(place: f32) -> Color32 {
    let [low, middle, high] = RAMP;
    let place = place.clamp(0.0, 1.0) * 2.0;
    if place <= 1.0 { mix(low, middle, place) } else { mix(middle, high, place - 1.0) }
}

/// The colour and dash pattern of one of several lines that have an order, such as layers: neighbours on the ramp are alike where
/// there are many, so that every second one is broken. Dashes and dots alone mean other things in the same charts.
pub fn ordered_style(place: usize, count: usize) -> (Color32, Dash) {
    let colour = ramp(place as f32 / count.saturating_sub(1).max(1) as f32);
    let is_broken = count > RAMP.len() && place % 2 == 1;
    (colour, if is_broken { Dash::DashDotted } else { Dash::Solid })
}

/// What a colour means, for the two themes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Palette {
    /// Names the theme: dark background.
    pub dark: bool,
    /// Window and panel background.
    pub background: Color32,
    /// Slightly raised surfaces: cards, the top bar.
    pub surface: Color32,
    /// Wells: text fields, chart backgrounds.
    pub well: Color32,
    /// Hairlines between things.
    pub line: Color32,
    /// Grid lines of charts, fainter than `line`.
    pub grid: Color32,
    /// Body text.
    pub text: Color32,
    /// Headings and what is under the pointer.
    pub strong: Color32,
    /// Secondary text: units, notes, tick labels. At least 4.5:1 against `background`.
    pub weak: Color32,
    /// Selection, focus, primary buttons, links.
    pub accent: Color32,
    /// Fill of selected rows and text.
    pub selection: Color32,
    /// A delta in the good direction.
    pub better: Color32,
    /// A delta in the bad direction.
    pub worse: Color32,
    /// Something that deserves attention.
    pub warning: Color32,
    /// Something that failed.
    pub error: Color32,
    /// A run that is active now.
    pub running: Color32,
    /// Heads that compute their map; [`ink`] writes on it.
    pub computes: Color32,
    /// Heads that borrow their map: lighter, so that it is told apart without colour.
    pub borrows: Color32,
}

/// The dark palette.
pub const DARK: Palette = Palette {
    dark: true,
    background: Color32::from_rgb(0x1A, 0x1C, 0x20),
    surface: Color32::from_rgb(0x22, 0x25, 0x2A),
    well: Color32::from_rgb(0x12, 0x14, 0x17),
    line: Color32::from_rgb(0x3A, 0x3F, 0x47),
    grid: Color32::from_rgb(0x2C, 0x30, 0x37),
    text: Color32::from_rgb(0xD3, 0xD7, 0xDD),
    strong: Color32::from_rgb(0xF5, 0xF7, 0xFA),
    weak: Color32::from_rgb(0x9A, 0xA2, 0xAD),
    accent: Color32::from_rgb(0x5A, 0xA9, 0xE6),
    selection: Color32::from_rgb(0x1F, 0x4B, 0x70),
    better: Color32::from_rgb(0x4F, 0xC1, 0xB0),
    worse: Color32::from_rgb(0xF2, 0x8B, 0x5B),
    warning: Color32::from_rgb(0xE8, 0xC1, 0x5A),
    error: Color32::from_rgb(0xF4, 0x7C, 0x7C),
    running: Color32::from_rgb(0x5A, 0xA9, 0xE6),
    computes: Color32::from_rgb(0x1F, 0x6F, 0xAE),
    borrows: Color32::from_rgb(0xE8, 0xA8, 0x6C),
};

/// The light palette.
pub const LIGHT: Palette = Palette {
    dark: false,
    background: Color32::from_rgb(0xF7, 0xF8, 0xFA),
    surface: Color32::from_rgb(0xFF, 0xFF, 0xFF),
    well: Color32::from_rgb(0xFF, 0xFF, 0xFF),
    line: Color32::from_rgb(0xCF, 0xD4, 0xDB),
    grid: Color32::from_rgb(0xE6, 0xE9, 0xED),
    text: Color32::from_rgb(0x2A, 0x2F, 0x36),
    strong: Color32::from_rgb(0x0B, 0x0E, 0x12),
    weak: Color32::from_rgb(0x5E, 0x67, 0x73),
    accent: Color32::from_rgb(0x00, 0x66, 0xAA),
    selection: Color32::from_rgb(0xC9, 0xE2, 0xF5),
    better: Color32::from_rgb(0x00, 0x7A, 0x6C),
    worse: Color32::from_rgb(0xB8, 0x4A, 0x0C),
    warning: Color32::from_rgb(0x8A, 0x64, 0x00),
    error: Color32::from_rgb(0xC0, 0x1F, 0x2E),
    running: Color32::from_rgb(0x00, 0x66, 0xAA),
    computes: Color32::from_rgb(0x00, 0x70, 0xB4),
    borrows: Color32::from_rgb(0xF7, 0xBE, 0x8E),
};

/// The colours of exported figures: black on white, as a paper wants them.
pub const PAPER: Palette = Palette {
    background: Color32::WHITE,
    well: Color32::WHITE,
    line: Color32::from_rgb(0x55, 0x5B, 0x63),
    grid: Color32::from_rgb(0xE8, 0xEA, 0xED),
    text: Color32::from_rgb(0x22, 0x26, 0x2B),
    strong: Color32::from_rgb(0x0B, 0x0E, 0x12),
    weak: Color32::from_rgb(0x55, 0x5B, 0x63),
    ..LIGHT
};

/// The palette of the theme that `visuals` belong to.
pub fn palette(visuals: &Visuals) -> &'static Palette {
    if visuals.dark_mode { &DARK } else { &LIGHT }
}

/// Installs both themes. egui follows the system unless `Context::set_theme` says otherwise.
pub fn install(ctx: &Context) {
    ctx.set_style_of(Theme::Dark, style(&DARK));
    ctx.set_style_of(Theme::Light, style(&LIGHT));
}

/// The whole egui style of a palette.
pub fn style(palette: &Palette) -> Style {
    let mut style = Style { visuals: visuals(palette), ..Style::default() };
    style.text_styles = [
        (TextStyle::Small, FontId::new(12.0, FontFamily::Proportional)),
        (TextStyle::Body, FontId::new(BODY_POINTS, FontFamily::Proportional)),
        (TextStyle::Button, FontId::new(BODY_POINTS, FontFamily::Proportional)),
        (TextStyle::Heading, FontId::new(19.0, FontFamily::Proportional)),
        (TextStyle::Monospace, FontId::new(13.0, FontFamily::Monospace)),
    ]
    .into();
    let spacing = &mut style.spacing;
    spacing.item_spacing = Vec2::new(8.0, 6.0);
    spacing.button_padding = Vec2::new(10.0, 4.0);
    spacing.interact_size = Vec2::new(40.0, 26.0);
    spacing.window_margin = Margin::same(12);
    spacing.menu_margin = Margin::same(6);
    spacing.indent = 18.0;
    spacing.icon_width = 16.0;
    spacing.icon_width_inner = 9.0;
    spacing.icon_spacing = 6.0;
    spacing.combo_width = 120.0;
    spacing.slider_width = 140.0;
    spacing.text_edit_width = 240.0;
    spacing.tooltip_width = 420.0;
    // Only the handle is seen, in the text's colour: a track would be one more line in the picture.
    spacing.scroll = ScrollStyle {
        foreground_color: true,
        dormant_background_opacity: 0.0,
        dormant_handle_opacity: 0.25,
        active_background_opacity: 0.0,
        active_handle_opacity: 0.4,
        interact_background_opacity: 0.15,
        interact_handle_opacity: 0.7,
        ..ScrollStyle::thin()
    };
    style.animation_time = 0.08;
    style
}

fn visuals(p: &Palette) -> Visuals {
    let base = if p.dark { Visuals::dark() } else { Visuals::light() };
    let shadow =
        Shadow { offset: [0, 4], blur: 16, spread: 0, color: Color32::from_black_alpha(if p.dark { 110 } else { 36 }) };
    Visuals {
        dark_mode: p.dark,
        widgets: widgets(p),
        selection: Selection { bg_fill: p.selection, stroke: Stroke::new(1.0, p.strong) },
        hyperlink_color: p.accent,
        faint_bg_color: mix(p.background, p.text, 0.035),
        extreme_bg_color: p.well,
        code_bg_color: mix(p.background, p.text, 0.08),
        warn_fg_color: p.warning,
        error_fg_color: p.error,
        weak_text_color: Some(p.weak),
        window_corner_radius: CornerRadius::same(8),
        menu_corner_radius: CornerRadius::same(6),
        window_fill: p.surface,
        panel_fill: p.background,
        window_stroke: Stroke::new(1.0, p.line),
        window_shadow: shadow,
        popup_shadow: shadow,
        slider_trailing_fill: true,
        handle_shape: HandleShape::Circle,
        striped: false,
        ..base
    }
}

fn widgets(p: &Palette) -> Widgets {
    let radius = CornerRadius::same(5);
    let state = |tint: f32, edge: Color32, text: Color32, text_width: f32| {
        let fill = mix(p.surface, p.text, tint);
        WidgetVisuals {
            bg_fill: fill,
            weak_bg_fill: fill,
            bg_stroke: Stroke::new(1.0, edge),
            fg_stroke: Stroke::new(text_width, text),
            corner_radius: radius,
            expansion: 0.0,
        }
    };
    Widgets {
        noninteractive: WidgetVisuals {
            bg_fill: p.background,
            weak_bg_fill: p.background,
            bg_stroke: Stroke::new(1.0, p.line),
            fg_stroke: Stroke::new(1.0, p.text),
            corner_radius: radius,
            expansion: 0.0,
        },
        inactive: state(if p.dark { 0.07 } else { 0.05 }, p.line, p.text, 1.0),
        hovered: state(0.13, p.accent, p.strong, 1.25),
        active: state(0.20, p.accent, p.strong, 1.5),
        open: state(0.10, p.line, p.strong, 1.0),
    }
}

/// A colour made pale, on light and dark alike: of what is drawn and not to be relied on.
pub fn pale(colour: Color32) -> Color32 {
    mix(colour, Color32::from_gray(0x88), 0.6)
}

/// `a` towards `b` by `amount` in 0..=1, in gamma space.
pub fn mix(a: Color32, b: Color32, amount: f32) -> Color32 {
    let channel =
        |from: u8, to: u8| (f32::from(from) + (f32::from(to) - f32::from(from)) * amount.clamp(0.0, 1.0)).round() as u8;
    Color32::from_rgba_premultiplied(
        channel(a.r(), b.r()),
        channel(a.g(), b.g()),
        channel(a.b(), b.b()),
        channel(a.a(), b.a()),
    )
}

/// The text colour for a fill: of the two themes' strongest the one that stands out more.
pub fn ink(fill: Color32) -> Color32 {
    if contrast(DARK.strong, fill) > contrast(LIGHT.strong, fill) { DARK.strong } else { LIGHT.strong }
}

/// `#rrggbb`, for SVG.
pub fn hex(colour: Color32) -> String {
    format!("#{:02x}{:02x}{:02x}", colour.r(), colour.g(), colour.b())
}

/// Black or white, whichever is read better on a colour.
pub fn readable_on(ground: Color32) -> Color32 {
    if contrast(ground, Color32::BLACK) > contrast(ground, Color32::WHITE) { Color32::BLACK } else { Color32::WHITE }
}

/// Relative luminance contrast of two opaque colours, 1.0 (same) to 21.0 (black on white), as WCAG 2 defines it.
pub fn contrast(a: Color32, b: Color32) -> f64 {
    let luminance = |c: Color32| {
        let linear = |v: u8| {
            let v = f64::from(v) / 255.0;
            if v <= 0.040_45 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(c.r()) + 0.7152 * linear(c.g()) + 0.0722 * linear(c.b())
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_can_be_read_in_both_themes() {
        for p in [&DARK, &LIGHT, &PAPER] {
            for (name, colour) in [
                ("text", p.text),
                ("weak", p.weak),
                ("better", p.better),
                ("worse", p.worse),
                ("warning", p.warning),
                ("error", p.error),
            ] {
                for ground in [p.background, p.surface, p.well] {
                    let ratio = contrast(colour, ground);
                    assert!(ratio >= 4.5, "{name} has only {ratio:.1}:1 on {} (dark: {})", hex(ground), p.dark);
                }
            }
            assert!(contrast(p.strong, p.selection) >= 4.5);
        }
    }

    #[test]
    fn cells_of_heads_can_be_read_and_told_apart_without_colour() {
        for p in [&DARK, &LIGHT, &PAPER] {
            for fill in [p.computes, p.borrows] {
                assert!(contrast(ink(fill), fill) >= 4.5, "{}: {:.1}", hex(fill), contrast(ink(fill), fill));
            }
            let apart = contrast(p.computes, p.borrows);
            assert!(apart >= 2.0, "computing and borrowing heads differ by {apart:.1}:1 only");
        }
    }

    #[test]
    fn run_lines_can_be_seen_on_both_grounds() {
        let ramp = (0..=10).map(|step| ramp(step as f32 / 10.0));
        for colour in RUN_COLOURS.into_iter().chain(ramp) {
            for ground in [DARK.well, LIGHT.well] {
                let ratio = contrast(colour, ground);
                assert!(ratio >= 2.0, "{} has only {ratio:.1}:1 on {}", hex(colour), hex(ground));
            }
        }
    }

    #[test]
    fn neighbours_in_an_order_are_told_apart() {
        for count in 1..=48 {
            let styles: Vec<_> = (0..count).map(|place| ordered_style(place, count)).collect();
            for pair in styles.windows(2) {
                let [(a, dash), (b, other)] = [pair[0], pair[1]];
                let apart: u32 =
                    a.to_array().into_iter().zip(b.to_array()).map(|(a, b)| u32::from(a.abs_diff(b))).sum();
                assert!(dash != other || apart >= 120, "{count}: {} {}", hex(a), hex(b));
            }
        }
        // From the first colour to the last, whatever their number.
        assert_eq!([ordered_style(0, 2).0, ordered_style(1, 2).0], [ramp(0.0), ramp(1.0)]);
        assert_eq!([ordered_style(0, 12).0, ordered_style(11, 12).0], [ramp(0.0), ramp(1.0)]);
    }

    #[test]
    fn run_styles_are_stable_and_repeat_only_after_all_pairs() {
        let styles: Vec<_> = (0..24).map(run_style).collect();
        for (i, a) in styles.iter().enumerate() {
            for b in styles.iter().skip(i + 1) {
                assert_ne!(a, b);
            }
        }
        assert_eq!(run_style(24), run_style(0));
        assert_eq!(run_style(u64::MAX), run_style(u64::MAX));
    }
}
